"""The roof: the matrix products of a training step alone, forward and backward, those that recur step by step."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.setting import BATCH_TOKENS, Sizes
from benchmarks.text import Text
from rnnsearch.text.batches import cost_batches

if TYPE_CHECKING:
    import torch

#: batches that are timed
SAMPLE = 24


@dataclass(frozen=True)
class Shape:
    """A batch: sentences, padded lengths, and target tokens without padding."""

    B: int
    T_x: int
    T_y: int
    tokens: int


#: D products of [rows, inner] and [inner, columns], so many times one after the other
Product = tuple[int, int, int, int, int]


def products_of(shape: Shape, sizes: Sizes, target: int) -> Iterator[Product]:
    """(times, D, rows, inner, columns) of all products of a training step on one batch, RNNsearch."""
    B, T_x, T_y, N = shape.B, shape.T_x, shape.T_y, shape.tokens
    m, n, a, l = sizes.embedding, sizes.hidden, sizes.attention, sizes.maxout
    yield from _layer(2, B * T_x, m, 3 * n)  # the words into both directions of the encoder
    yield from _recurrent(T_x, 2, B, n, 2 * n)
    yield from _recurrent(T_x, 2, B, n, n)
    yield from _layer(1, B, n, n)  # s_0
    yield from _layer(1, B * T_x, 2 * n, a)  # U_a h
    yield from _layer(1, B * T_y, m, 3 * n)  # the words into the decoder
    for inner, columns in ((n, a), (2 * n, 3 * n), (n, 2 * n), (n, n)):  # W_a s, C c, the gates, the proposal
        yield from _recurrent(T_y, 1, B, inner, columns)
    yield T_y, 1, B * T_x, a, 1  # v_a tanh(...)
    yield T_y, 1, 1, B * T_x, a  # and the gradient at v_a
    yield T_y, B, 1, T_x, 2 * n  # c
    yield T_y, B, T_x, 2 * n, 1  # the gradient at alpha
    yield 1, B, T_x, T_y, 2 * n  # the gradient at h, after the loop
    yield from _layer(1, N, 3 * n + m, 2 * l)  # readout
    yield from _layer(1, N, l, target)


def _layer(D: int, rows: int, inner: int, columns: int) -> Iterator[Product]:
    """A product and its two gradients."""
    yield 1, D, rows, inner, columns
    yield 1, D, rows, columns, inner
    yield 1, D, columns, rows, inner


def _recurrent(T: int, D: int, rows: int, inner: int, columns: int) -> Iterator[Product]:
    """A product at each step, the gradient at its input too; that at the weights once for all steps."""
    yield T, D, rows, inner, columns
    yield T, D, rows, columns, inner
    yield 1, D, columns, T * rows, inner


def flops(product: Product) -> int:
    """Operations of a product, additions counted."""
    times, D, rows, inner, columns = product
    return 2 * times * D * rows * inner * columns


def shapes(text: Text, count: int = SAMPLE) -> list[Shape]:
    """Batches that `rnnsearch train` would make, from the beginning of its first epoch."""
    x, y = text.prepared.store.lengths
    found = islice(cost_batches(x, y, 1234, 0, BATCH_TOKENS), count)
    return [
        Shape(len(i), int(x[i].max()) + 1, int(y[i].max()) + 1, int(y[i].astype(np.int64).sum()) + len(i))
        for i in found
    ]


def products(sizes: Sizes, text: Text, kind: str) -> tuple[float, float]:
    """Target tokens a second and GFLOP/s where a training does nothing but its products, in bfloat16 or float32."""
    import torch

    torch.set_float32_matmul_precision("medium")
    target = len(text.prepared.sides[1].vocabulary)
    sample = shapes(text)
    seconds = operations = 0.0
    for shape in sample:
        for product in products_of(shape, sizes, target):
            seconds += _time(product, getattr(torch, kind))
            operations += flops(product)
    return sum(shape.tokens for shape in sample) / seconds, operations / seconds / 1e9


def _time(product: Product, dtype: "torch.dtype") -> float:
    """Seconds of a product, the first call (which prepares) not counted."""
    import torch

    times, D, rows, inner, columns = product
    left, right = torch.rand(D, rows, inner, dtype=dtype), torch.rand(D, inner, columns, dtype=dtype)
    out = torch.empty(D, rows, columns, dtype=dtype)
    multiply: Callable[[], object] = lambda: torch.bmm(left, right, out=out)  # noqa: E731 - two forms of one call
    if D == 1:
        multiply = lambda: torch.mm(left[0], right[0], out=out[0])  # noqa: E731
    multiply()
    started = time.perf_counter()
    for _ in range(times):
        multiply()
    return time.perf_counter() - started
