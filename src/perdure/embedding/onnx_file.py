"""Writes an ONNX model file: the small part of the format (protocol buffers) that our one graph needs.

Field numbers are those of `onnx.proto`, IR version 10. Writing them here saves the 60 MB package `onnx` and its
dependencies, which would serve to write one file once per machine.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

import numpy as np

Attribute = int | float | Sequence[int]

_IR_VERSION = 10
_OPSETS = (("", 20), ("com.microsoft", 1))
_TYPES = {
    np.dtype(np.float32): 1,
    np.dtype(np.uint8): 2,
    np.dtype(np.int8): 3,
    np.dtype(np.int32): 6,
    np.dtype(np.int64): 7,
}
_VARINT, _BYTES, _FLOAT = 0, 2, 5


class Graph:
    """Nodes and constants, added in order of computation; `model` gives the bytes of the file."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes: list[bytes] = []
        self._constants: dict[str, bytes] = {}
        self._ends: list[bytes] = []

    def constant(self, name: str, values: np.ndarray | np.generic) -> str:
        """A constant tensor; adding the same name again keeps the first."""
        if name not in self._constants:
            array = np.ascontiguousarray(values)
            dims = b"".join(_number(1, size) for size in np.shape(values))
            body = dims + _number(2, _TYPES[array.dtype]) + _text(8, name) + _block(9, array.tobytes())
            self._constants[name] = _block(5, body)
        return name

    def node(
        self,
        kind: str,
        inputs: Sequence[str],
        output: str,
        *,
        domain: str = "",
        more_outputs: Sequence[str] = (),
        **attributes: Attribute,
    ) -> str:
        """One operator; returns the name of its first output."""
        body = b"".join(_text(1, name) for name in inputs)
        body += b"".join(_text(2, name) for name in (output, *more_outputs))
        body += _text(4, kind) + _attributes(attributes) + (_text(7, domain) if domain else b"")
        self._nodes.append(_block(1, body))
        return output

    def input(self, name: str, kind: type[np.generic], shape: Sequence[int | str]) -> str:
        self._ends.append(_block(11, _described(name, kind, shape)))
        return name

    def output(self, name: str, kind: type[np.generic], shape: Sequence[int | str]) -> None:
        self._ends.append(_block(12, _described(name, kind, shape)))

    def model(self) -> bytes:
        graph = b"".join([*self._nodes, _text(2, self._name), *self._constants.values(), *self._ends])
        opsets = b"".join(_block(8, (_text(1, domain) if domain else b"") + _number(2, v)) for domain, v in _OPSETS)
        return _number(1, _IR_VERSION) + _block(7, graph) + opsets


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:  # noqa: PLR2004
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3 | _VARINT) + _varint(value)


def _block(field: int, body: bytes) -> bytes:
    return _varint(field << 3 | _BYTES) + _varint(len(body)) + body


def _text(field: int, text: str) -> bytes:
    return _block(field, text.encode())


def _attributes(attributes: Mapping[str, Attribute]) -> bytes:
    out = b""
    for name, value in attributes.items():
        if isinstance(value, float):
            body = _varint(2 << 3 | _FLOAT) + struct.pack("<f", value) + _number(20, 1)
        elif isinstance(value, int):
            body = _number(3, value) + _number(20, 2)
        else:
            body = b"".join(_number(8, item) for item in value) + _number(20, 7)
        out += _block(5, _text(1, name) + body)
    return out


def _described(name: str, kind: type[np.generic], shape: Sequence[int | str]) -> bytes:
    sizes = (_number(1, size) if isinstance(size, int) else _text(2, size) for size in shape)
    dims = b"".join(_block(1, size) for size in sizes)
    tensor = _number(1, _TYPES[np.dtype(kind)]) + _block(2, dims)
    return _text(1, name) + _block(2, _block(1, tensor))
