"""An ONNX graph, written out by hand: the few parts of the format that our graphs need, without the package `onnx`.

A graph is protocol-buffer bytes: fields of a number, a wire type and a value (https://protobuf.dev, "Encoding"). The
numbers are those of onnx.proto. Weights stay outside of the bytes: the session is given the arrays themselves.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

IR_VERSION, OPSET = 10, 21
#: The domain of ONNX Runtime's own operators.
MICROSOFT = "com.microsoft"
#: Arrays up to this many bytes are written into the graph.
INLINE = 1024

_TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "bool": 9}
_Array = NDArray[np.generic]


class Graph:
    """Collects nodes; every value is known by its name. The body of a loop is a graph within its `outer` one."""

    def __init__(self, outer: "Graph | None" = None) -> None:
        self._outer = outer
        self.weights: dict[str, _Array] = {}  # what the session must be given besides the bytes
        self.outputs: dict[str, str] = {}  # our name of an output -> its name in the graph
        self._nodes: list[bytes] = []
        self._tensors: list[bytes] = []
        self._inputs: list[bytes] = []
        self._outputs: list[bytes] = []
        self._values = 0

    def input(self, name: str, kind: str, shape: Sequence[int | str]) -> str:
        """An input: its type as numpy calls it; names in the shape stand for sizes known at each run."""
        self._inputs.append(_value(name, kind, shape))
        return name

    def output(self, value: str, name: str, kind: str, shape: Sequence[int | str]) -> None:
        """Give `value` out; `outputs` says by which of our names."""
        self.outputs[name] = value
        self._outputs.append(_value(value, kind, shape))

    def constant(self, array: _Array, name: str = "") -> str:
        """An array that is part of the graph; a large one is handed to the session and not copied."""
        if self._outer is not None:
            return self._outer.constant(array, name)
        array = np.asarray(array, order="C")
        name = name or self._name()
        large = array.nbytes > INLINE
        if large:
            self.weights[name] = array
        self._tensors.append(_tensor(name, array, external=large))
        return name

    def node(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """One operator with one result."""
        return self.nodes(1, kind, *inputs, domain=domain, **attributes)[0]

    def nodes(self, results: int, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> list[str]:
        """One operator with several results."""
        names = [self._name() for _ in range(results)]
        self._nodes.append(_node(kind, inputs, names, domain, attributes))
        return names

    def model(self) -> bytes:
        """The whole as the bytes of an ONNX model."""
        opsets = [_text(1, domain) + _number(2, version) for domain, version in (("", OPSET), (MICROSOFT, 1))]
        return _number(1, IR_VERSION) + _field(7, self.body()) + b"".join(_field(8, opset) for opset in opsets)

    def body(self) -> bytes:
        """The graph alone, as a loop takes it."""
        parts = [(1, self._nodes), (5, self._tensors), (11, self._inputs), (12, self._outputs)]
        return b"".join(_field(number, item) for number, items in parts for item in items) + _text(2, "rnnsearch")

    def _name(self) -> str:
        if self._outer is not None:
            return self._outer._name()
        self._values += 1
        return f"v{self._values}"


def _node(kind: str, inputs: Sequence[str], outputs: Sequence[str], domain: str, attributes: dict[str, Any]) -> bytes:
    parts = [_text(1, name) for name in inputs] + [_text(2, name) for name in outputs]
    parts += [_text(4, kind), _text(7, domain)]
    return b"".join(parts + [_field(5, _attribute(name, value)) for name, value in attributes.items()])


def _attribute(name: str, value: Any) -> bytes:
    if isinstance(value, Graph):
        return _text(1, name) + _field(6, value.body()) + _number(20, 5)
    if isinstance(value, int):
        return _text(1, name) + _number(3, value) + _number(20, 2)
    if isinstance(value, str):
        return _text(1, name) + _text(4, value) + _number(20, 3)
    return _text(1, name) + b"".join(_number(8, number) for number in value) + _number(20, 7)


def _tensor(name: str, array: _Array, *, external: bool) -> bytes:
    head = b"".join(_number(1, size) for size in array.shape) + _number(2, _TYPES[array.dtype.name]) + _text(8, name)
    if external:
        return head + _field(13, _text(1, "location") + _text(2, name)) + _number(14, 1)
    return head + _field(9, array.tobytes())


def _value(name: str, kind: str, shape: Sequence[int | str]) -> bytes:
    sizes = (_number(1, size) if isinstance(size, int) else _text(2, size) for size in shape)
    tensor = _number(1, _TYPES[kind]) + _field(2, b"".join(_field(1, size) for size in sizes))
    return _text(1, name) + _field(2, _field(1, tensor))


def _text(number: int, text: str) -> bytes:
    return _field(number, text.encode())


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _varint(value: int) -> bytes:
    """Seven bits a byte, the low ones first; a negative number as its two's complement of 64 bits."""
    value &= (1 << 64) - 1
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
