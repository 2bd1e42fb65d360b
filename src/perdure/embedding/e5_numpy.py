"""Runs e5 with NumPy alone: the reference for every other way, and what is left when ONNX Runtime is missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from perdure.embedding.e5_weights import Weights, dequantised

Floats = NDArray[np.float32]
Watcher = Callable[[int, str, Floats], None]
"""Called with layer, site ("attention" or "inner") and what enters that site, one row per token."""

_MASKED = np.float32(-1e9)


class Network(Protocol):
    """The transformer's layers: hidden states in, hidden states out, shape (texts, tokens, hidden)."""

    def __call__(self, states: Floats, mask: Floats) -> Floats:
        """`mask` is 1 for tokens and 0 for padding, shape (texts, tokens)."""
        ...


@dataclass(frozen=True, slots=True)
class _Layer:
    qkv: Floats
    qkv_bias: Floats
    out: Floats
    out_bias: Floats
    out_norm: tuple[Floats, Floats]
    up: Floats
    up_bias: Floats
    down: Floats
    down_bias: Floats
    down_norm: tuple[Floats, Floats]


class Encoder:
    """Token ids to pooled vectors; the layers themselves are a `Network`."""

    def __init__(self, weights: Weights, network: Network) -> None:
        self._weights = weights
        self._network = network
        self._words = weights.blocks("emb.word", weights.vocabulary, weights.hidden)
        self._places = (
            weights.floats("emb.pos").reshape(-1, weights.hidden) + weights.floats("emb.type")[: weights.hidden]
        )
        self._norm = weights.floats("emb.ln.w"), weights.floats("emb.ln.b")

    def pooled(self, rows: Sequence[Sequence[int]]) -> Floats:
        """The mean of the last states of every row's tokens, not normalised: shape (rows, hidden)."""
        length = max(map(len, rows))
        ids = np.full((len(rows), length), self._weights.pad)
        mask = np.zeros((len(rows), length), np.float32)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = row
            mask[number, : len(row)] = 1
        states = dequantised(self._words[ids]) + self._places[:length]
        states = layer_norm(states, self._norm, self._weights.epsilon)
        states = self._network(states, mask)
        return np.asarray((states * mask[..., None]).sum(1) / mask.sum(1, keepdims=True), np.float32)


class NumpyNetwork:
    """The layers as dense single-precision matrices (85 MB), multiplied on one thread."""

    def __init__(self, weights: Weights, watcher: Watcher | None = None) -> None:
        self._heads, self._epsilon = weights.heads, weights.epsilon
        self._watcher = watcher
        self._libraries = ThreadpoolController()
        hidden, inner, floats = weights.hidden, weights.inner, weights.floats

        def dense(name: str, rows: int, columns: int) -> Floats:
            return np.ascontiguousarray(dequantised(weights.blocks(name, rows, columns)).T)

        self._layers = [
            _Layer(
                qkv=np.concatenate([dense(f"{p}{c}.w", hidden, hidden) for c in "qkv"], 1),
                qkv_bias=np.concatenate([floats(f"{p}{c}.b") for c in "qkv"]),
                out=dense(f"{p}ao.w", hidden, hidden),
                out_bias=floats(f"{p}ao.b"),
                out_norm=(floats(f"{p}aln.w"), floats(f"{p}aln.b")),
                up=dense(f"{p}fi.w", inner, hidden),
                up_bias=floats(f"{p}fi.b"),
                down=dense(f"{p}fo.w", hidden, inner),
                down_bias=floats(f"{p}fo.b"),
                down_norm=(floats(f"{p}oln.w"), floats(f"{p}oln.b")),
            )
            for p in (f"l{number}." for number in range(weights.layers))
        ]

    def __call__(self, states: Floats, mask: Floats) -> Floats:
        with self._libraries.limit(limits=1):
            return self._run(states, mask)

    def _run(self, states: Floats, mask: Floats) -> Floats:
        texts, tokens, hidden = states.shape
        size = hidden // self._heads
        hide = ((1 - mask) * _MASKED)[:, None, None, :]
        flat = states.reshape(-1, hidden)
        for number, layer in enumerate(self._layers):
            self._watch(number, "attention", flat, mask)
            joined = (flat @ layer.qkv + layer.qkv_bias).reshape(texts, tokens, 3, self._heads, size)
            query, key, value = joined.transpose(2, 0, 3, 1, 4)
            weight = query @ key.transpose(0, 1, 3, 2) * np.float32(size**-0.5) + hide
            weight -= weight.max(-1, keepdims=True)
            np.exp(weight, weight)
            weight /= weight.sum(-1, keepdims=True)
            mixed = (weight @ value).transpose(0, 2, 1, 3).reshape(-1, hidden)
            flat = layer_norm(flat + mixed @ layer.out + layer.out_bias, layer.out_norm, self._epsilon)
            self._watch(number, "inner", flat, mask)
            raised = gelu(flat @ layer.up + layer.up_bias)
            flat = layer_norm(flat + raised @ layer.down + layer.down_bias, layer.down_norm, self._epsilon)
        return flat.reshape(texts, tokens, hidden)

    def _watch(self, layer: int, site: str, flat: Floats, mask: Floats) -> None:
        if self._watcher is not None:
            self._watcher(layer, site, flat[mask.reshape(-1) > 0])


def layer_norm(states: Floats, norm: tuple[Floats, Floats], epsilon: float) -> Floats:
    centred = states - states.mean(-1, keepdims=True)
    variance = np.einsum("...i,...i->...", centred, centred)[..., None] / states.shape[-1]
    centred *= 1 / np.sqrt(variance + epsilon)
    return np.asarray(centred * norm[0] + norm[1], np.float32)


def gelu(values: Floats) -> Floats:
    """x * Phi(x), with the error function of Abramowitz and Stegun 7.1.26 (error at most 1.5e-7)."""
    size = np.abs(values) * np.float32(0.5**0.5)
    t = 1 / (1 + np.float32(0.3275911) * size)
    tail = np.full_like(t, 1.061405429)
    for coefficient in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        tail = tail * t + np.float32(coefficient)
    tail = tail * t * np.exp(-size * size)
    return np.asarray(values * np.float32(0.5) * (1 + np.sign(values) * (1 - tail)), np.float32)
