"""llama.cpp's own HTTP server, in this process, over a model of random weights: what a grammar really constrains.

The model knows nothing, so all sense in an answer comes from the grammar. Its vocabulary is all bytes, the printable
ASCII characters and a few of other scripts; how fond it is of closing a text is chosen when it is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import xllamacpp

CONTEXT = 16384
_WIDTH, _LAYERS, _HEADS, _FEED = 32, 1, 4, 64
_OTHER_SCRIPTS = "éßñЖя日本語한عกअ🙂𠀀"
_TEMPLATE = "{% for m in messages %}[{{ m['role'] }}] {{ m['content'] }}\n{% endfor %}[assistant] "


def make_model(path: Path, *, closing: float = 4.0, seed: int = 0) -> Path:
    """Writes a random llama of some 200 kB.

    Args:
        closing: what is added to the odds (as a logarithm) of the signs that end a text and an answer; much below
            zero, the model talks as long as it is let.
        seed: of the weights.
    """
    rng = np.random.default_rng(seed)
    controls = [b"<unk>", b"<s>", b"</s>"]
    plain = ["▁", *map(chr, range(33, 127)), *_OTHER_SCRIPTS]
    tokens = [*controls, *(f"<0x{byte:02X}>".encode() for byte in range(256)), *(sign.encode() for sign in plain)]
    kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL]
    kinds += [gguf.TokenType.BYTE] * 256 + [gguf.TokenType.NORMAL] * len(plain)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("random")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(_WIDTH)
    writer.add_block_count(_LAYERS)
    writer.add_feed_forward_length(_FEED)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(_WIDTH // _HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * (len(controls) + 256) + [-1.0] * len(plain))
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(_TEMPLATE)

    def weights(*shape: int) -> np.ndarray[Any, np.dtype[np.float32]]:
        return (rng.standard_normal(shape) * 0.05).astype(np.float32)

    # One dimension is the same for every token, so that the output weights along it are a bias.
    embedding, output = weights(len(tokens), _WIDTH), weights(len(tokens), _WIDTH)
    embedding[:, 0] = 1.0
    output[:, 0] = 0.0
    ends = [controls.index(b"</s>"), len(controls) + ord('"'), len(controls) + 256 + plain.index('"')]
    output[ends, 0] = closing / np.sqrt(_WIDTH)
    # Never written: signs that a server leaves out of its answer, bytes that are no character by themselves, and white
    # space, which a JSON schema (other than a grammar) allows without end.
    output[:2, 0] = output[len(controls) + 0x80 : len(controls) + 0x100, 0] = -100.0
    output[[len(controls) + 256, *(len(controls) + ord(sign) for sign in " \t\n\r")], 0] = -100.0
    writer.add_tensor("token_embd.weight", embedding)
    writer.add_tensor("output_norm.weight", np.ones(_WIDTH, np.float32))
    writer.add_tensor("output.weight", output)
    for layer in range(_LAYERS):
        block = f"blk.{layer}."
        for norm in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"{block}{norm}.weight", np.ones(_WIDTH, np.float32))
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            writer.add_tensor(f"{block}{part}.weight", weights(_WIDTH, _WIDTH))
        writer.add_tensor(f"{block}ffn_gate.weight", weights(_FEED, _WIDTH))
        writer.add_tensor(f"{block}ffn_up.weight", weights(_FEED, _WIDTH))
        writer.add_tensor(f"{block}ffn_down.weight", weights(_WIDTH, _FEED))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@contextmanager
def serving(model: Path, *, slots: int = 1, context: int = CONTEXT) -> Iterator[str]:
    """The URL (with /v1) of a server of that model, on one thread."""
    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.n_ctx = context * slots
    params.n_parallel = slots
    params.verbosity = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    server = xllamacpp.Server(params)
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server
