"""Runs e5 by ONNX Runtime on one thread, from a graph that is built once per machine and kept in a cache directory.

Beside the graph lies a stamp: which weight file it was made from (its checksum was verified then), the graph's own
checksum, and the reference vector of one probe text, computed by NumPy. Every start checks both, so that a damaged
file, another processor or another ONNX Runtime that computes something else is noticed and the graph is made anew.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from perdure.embedding.e5_graph import MASK, PROBES, RESULT, STATES, Form, Peaks, exact_graph, fast_graph
from perdure.embedding.e5_numpy import Encoder, Floats, NumpyNetwork
from perdure.embedding.e5_weights import SHA256, Weights, verify
from perdure.embedding.telemetry import switch_off_telemetry

if TYPE_CHECKING:
    from perdure.embedding.e5_tokens import Tokens

GRAPH_VERSION = 1
"""Raise it whenever e5_graph.py writes different graphs."""

AGREEMENT = 0.999
"""Least cosine between a graph's vectors and NumPy's."""

_log = logging.getLogger(__name__)
_PROBE = 1


@dataclass(frozen=True, slots=True)
class _Stamp:
    weights: str
    form: Form
    crc: int
    probe: tuple[float, ...]


class OnnxNetwork:
    """The layers as a session of ONNX Runtime."""

    def __init__(self, graph: bytes) -> None:
        switch_off_telemetry()
        import onnxruntime  # noqa: PLC0415

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session: Any = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])

    def __call__(self, states: Floats, mask: Floats) -> Floats:
        (result,) = self._session.run([RESULT], {STATES: states, MASK: mask.astype(np.int32)})
        return np.asarray(result, np.float32)


def open_encoder(path: Path, weights: Weights, tokens: Tokens, cache: Path) -> Encoder:
    """The quickest encoder that agrees with NumPy here: from the cache, else made now, else NumPy itself.

    Raises ConfigurationError when the weight file is not the expected one. A cache directory that cannot be written
    costs time at every start, nothing else.
    """
    stamp = _read_stamp(cache)
    if stamp is not None and stamp.weights == _identity(path):
        network = _cached(cache, stamp)
        if network is not None:
            encoder = Encoder(weights, network)
            if _agrees(encoder, tokens, (PROBES[_PROBE],), np.array([stamp.probe], np.float32)):
                return encoder
    verify(path)
    return _made(path, weights, tokens, cache)


def _made(path: Path, weights: Weights, tokens: Tokens, cache: Path) -> Encoder:
    peaks: dict[tuple[int, str], Floats] = {}

    def watch(layer: int, site: str, values: Floats) -> None:
        found = np.abs(values).max(0)
        peaks[layer, site] = np.maximum(peaks.get((layer, site), found), found)

    plain = NumpyNetwork(weights, watch)
    reference = _unit(Encoder(weights, plain).pooled([tokens.ids("", text) for text in PROBES]))
    for form in get_args(Form):
        try:
            graph = _graph(form, weights, peaks)
            encoder = Encoder(weights, OnnxNetwork(graph))
            sound = _agrees(encoder, tokens, PROBES, reference)
        except Exception as error:  # whatever ONNX Runtime raises, NumPy still works
            _log.warning("ONNX Runtime cannot run the %s form of e5 here: %s", form, type(error).__name__)
            continue
        if not sound:
            _log.warning("The %s form of e5 is not exact enough on this processor.", form)
            continue
        probe = tuple(map(float, reference[_PROBE]))
        _keep(cache, graph, _Stamp(_identity(path), form, zlib.crc32(graph), probe))
        return encoder
    return Encoder(weights, NumpyNetwork(weights))


def _graph(form: Form, weights: Weights, peaks: Peaks) -> bytes:
    return fast_graph(weights, peaks) if form == "fast" else exact_graph(weights)


def _unit(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def _agrees(encoder: Encoder, tokens: Tokens, texts: tuple[str, ...], reference: Floats) -> bool:
    found = _unit(encoder.pooled([tokens.ids("", text) for text in texts]))
    return bool((found * reference).sum(1).min() >= AGREEMENT)


def _identity(path: Path) -> str:
    state = path.stat()
    return f"{SHA256} {path} {state.st_size} {state.st_mtime_ns}"


def _stamp_path(cache: Path) -> Path:
    return cache / f"e5-{GRAPH_VERSION}.json"


def _graph_path(cache: Path, form: str) -> Path:
    return cache / f"e5-{GRAPH_VERSION}-{form}.onnx"


def _read_stamp(cache: Path) -> _Stamp | None:
    try:
        raw = json.loads(_stamp_path(cache).read_bytes())
        form = raw["form"]
        if form not in get_args(Form):
            return None
        return _Stamp(str(raw["weights"]), form, int(raw["crc"]), tuple(map(float, raw["probe"])))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _cached(cache: Path, stamp: _Stamp) -> OnnxNetwork | None:
    try:
        graph = _graph_path(cache, stamp.form).read_bytes()
        return OnnxNetwork(graph) if zlib.crc32(graph) == stamp.crc else None
    except Exception as error:  # a cache is never a reason to fail
        _log.info("The cached e5 graph cannot be used: %s", type(error).__name__)
        return None


def _keep(cache: Path, graph: bytes, stamp: _Stamp) -> None:
    try:
        cache.mkdir(parents=True, exist_ok=True)
        _replace(_graph_path(cache, stamp.form), graph)
        raw = {"weights": stamp.weights, "form": stamp.form, "crc": stamp.crc, "probe": stamp.probe}
        _replace(_stamp_path(cache), json.dumps(raw).encode())
    except OSError as error:
        _log.warning("The prepared e5 graph could not be kept in %s: %s", cache, error.strerror)


def _replace(path: Path, content: bytes) -> None:
    """Write beside and rename, so that another process sees the whole old or the whole new file."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
