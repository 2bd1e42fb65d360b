"""The e5 layers as an ONNX graph, in two forms.

`exact` keeps the file's 4-bit weights (MatMulNBits, products in single precision): it agrees with NumPy to 1e-6.
`fast` multiplies 8-bit integers and is twice as quick. Three things keep it sound (cosine to `exact` >= 0.999):
every token has its own scale, so that a text's vector does not depend on what else is in the batch; channels with
large values are divided by a fixed vector first and their weights multiplied by it, so that they don't eat the other
channels' precision; and what leaves GELU is stored from its lowest value (-0.17) upwards, not around zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from perdure.embedding.e5_numpy import Floats
from perdure.embedding.e5_weights import BLOCK, Weights, dequantised, unpacked
from perdure.embedding.onnx_file import Graph

Form = Literal["fast", "exact"]
Peaks = Mapping[tuple[int, str], Floats]
"""The largest value of every channel at the two sites of every layer that follow a normalisation, on `PROBES`."""

STATES, MASK, RESULT = "states", "mask", "result"

PROBES = (
    "query: What shall I cook for Maria tonight? She can't eat nuts.",
    "passage: Tom: I moved from Lisbon to Berlin in May 2023, and the new job at the hospital starts on Monday!",
    "passage: Ich habe gestern meinen alten Fahrradhelm verkauft, 35 Euro, an einen Studenten aus Köln.",
    "query: ¿Cuándo es el cumpleaños de mi hermana?",
    "passage: 我女儿每周三下午学小提琴，老师姓王。",
    "passage: Мы с Олегом летим в Тбилиси на майские праздники, билеты уже купили.",
    "query: ฉันแพ้อาหารทะเล ควรกินอะไรดี",
    "passage: أخي يعمل مهندسًا في دبي منذ ثلاث سنوات.",
    "passage: haha ok 😀 see https://example.org/x?y=1 — v2.0.1, `print(1)` + 3.5%",
    "query: hi",
)
"""What the fast form is measured on before it is used: which channels are large, and whether it agrees with NumPy."""

_SMOOTHING = 0.7
"""Share of a channel's largest value that moves into the weights. 0.3 to 0.7 gave cosines of at least 0.9994, 0.9996
and 0.9996 on dialogue turns; without it 0.9988."""
_GELU_FLOOR = 0.17
_MICROSOFT = "com.microsoft"


def exact_graph(weights: Weights) -> bytes:
    """The `exact` form as the bytes of a model file (13 MB)."""
    return _Builder(weights, None).build()


def fast_graph(weights: Weights, peaks: Peaks) -> bytes:
    """The `fast` form as the bytes of a model file (22 MB)."""
    return _Builder(weights, peaks).build()


class _Builder:
    def __init__(self, weights: Weights, peaks: Peaks | None) -> None:
        self._weights, self._peaks = weights, peaks
        self._graph = Graph("e5")

    def build(self) -> bytes:
        weights, graph = self._weights, self._graph
        hidden, inner = weights.hidden, weights.inner
        graph.input(STATES, np.float32, ("texts", "tokens", hidden))
        graph.input(MASK, np.int32, ("texts", "tokens"))
        states = STATES
        for number in range(weights.layers):
            p = f"l{number}."
            smooth = self._peaks[number, "attention"] if self._peaks else None
            joined, bias = self._product(states, [p + c for c in "qkv"], hidden, hidden, p + "qkv", smooth=smooth)
            joined = graph.node("Add", [joined, bias], p + "qkv")
            graph.node("Split", [joined], p + "q", more_outputs=[p + "k", p + "v"], axis=-1, num_outputs=3)
            mixed = graph.node(
                "MultiHeadAttention",
                [p + "q", p + "k", p + "v", "", MASK],
                p + "mixed",
                domain=_MICROSOFT,
                num_heads=weights.heads,
            )
            out, bias = self._product(mixed, [p + "ao"], hidden, hidden, p + "out")
            states = self._normalised(out, states, bias, p + "aln", p + "middle")
            smooth = self._peaks[number, "inner"] if self._peaks else None
            raised, bias = self._product(states, [p + "fi"], inner, hidden, p + "up", smooth=smooth)
            raised = graph.node("BiasGelu", [raised, bias], p + "raised", domain=_MICROSOFT)
            down, bias = self._product(raised, [p + "fo"], hidden, inner, p + "down", floor=_GELU_FLOOR)
            last = number == weights.layers - 1
            states = self._normalised(down, states, bias, p + "oln", RESULT if last else p + "states")
        graph.output(RESULT, np.float32, ("texts", "tokens", hidden))
        return graph.model()

    def _product(
        self,
        x: str,
        names: Sequence[str],
        rows: int,
        columns: int,
        out: str,
        *,
        smooth: Floats | None = None,
        floor: float = 0.0,
    ) -> tuple[str, str]:
        """`x` times the named matrices side by side: the product and the bias yet to be added."""
        weights, graph = self._weights, self._graph
        blocks = np.concatenate([weights.blocks(name + ".w", rows, columns) for name in names])
        bias = np.concatenate([weights.floats(name + ".b") for name in names])
        if self._peaks is None:
            return self._nibbles(x, blocks, columns, out), graph.constant(out + ".bias", bias)
        matrix = dequantised(blocks).T
        if smooth is not None:
            divisor = np.maximum(smooth, 1e-3) ** _SMOOTHING / np.maximum(np.abs(matrix).max(1), 1e-3) ** (
                1 - _SMOOTHING
            )
            x = graph.node("Mul", [x, graph.constant(out + ".smooth", (1 / divisor).astype(np.float32))], out + ".even")
            matrix = matrix * divisor[:, None]
        scale = np.abs(matrix).max(0) / 127
        whole = np.round(matrix / scale).astype(np.int8)
        if floor:
            bias = bias - np.float32(floor) * (whole.astype(np.float32) * scale).sum(0)
        return self._bytes(x, whole, scale, out, floor), graph.constant(out + ".bias", bias.astype(np.float32))

    def _nibbles(self, x: str, blocks: NDArray[np.void], columns: int, out: str) -> str:
        values = unpacked(blocks)
        packed = self._graph.constant(out + ".w", values[..., 0::2] | values[..., 1::2] << 4)
        scales = self._graph.constant(out + ".scale", blocks["scale"].astype(np.float32).reshape(-1))
        return self._graph.node(
            "MatMulNBits",
            [x, packed, scales],
            out + ".product",
            domain=_MICROSOFT,
            K=columns,
            N=len(blocks),
            bits=4,
            block_size=BLOCK,
            accuracy_level=1,
        )

    def _bytes(self, x: str, whole: NDArray[np.int8], scale: Floats, out: str, floor: float) -> str:
        graph = self._graph
        one = graph.constant("one", np.float32(1))
        axis = graph.constant("last_axis", np.array([-1]))
        if floor:
            shifted = graph.node("Add", [x, graph.constant("floor", np.float32(floor))], out + ".shifted")
            peak = graph.node("ReduceMax", [shifted, axis], out + ".peak", keepdims=1)
            steps, zero = graph.constant("steps_up", np.float32(1 / 255)), graph.constant("zero", np.uint8(0))
        else:
            shifted = x
            peak = graph.node("ReduceMax", [graph.node("Abs", [x], out + ".abs"), axis], out + ".peak", keepdims=1)
            steps, zero = graph.constant("steps_around", np.float32(1 / 127)), graph.constant("middle", np.uint8(128))
        safe = graph.node("Max", [peak, graph.constant("smallest", np.float32(1e-9))], out + ".safe")
        step = graph.node("Mul", [safe, steps], out + ".step")
        rounded = graph.node("Round", [graph.node("Div", [shifted, step], out + ".ratio")], out + ".rounded")
        if not floor:
            rounded = graph.node("Add", [rounded, graph.constant("half", np.float32(128))], out + ".raised")
        bytes_ = graph.node("Cast", [rounded], out + ".bytes", to=2)
        product = graph.node(
            "MatMulIntegerToFloat",
            [
                bytes_,
                graph.constant(out + ".w", whole),
                one,
                graph.constant(out + ".scale", scale.astype(np.float32)),
                zero,
            ],
            out + ".unscaled",
            domain=_MICROSOFT,
        )
        return graph.node("Mul", [product, step], out + ".product")

    def _normalised(self, product: str, residual: str, bias: str, norm: str, out: str) -> str:
        gain = self._graph.constant(norm + ".gain", self._weights.floats(norm + ".w"))
        shift = self._graph.constant(norm + ".shift", self._weights.floats(norm + ".b"))
        return self._graph.node(
            "SkipLayerNormalization",
            [product, residual, gain, shift, bias],
            out,
            domain=_MICROSOFT,
            epsilon=self._weights.epsilon,
        )
