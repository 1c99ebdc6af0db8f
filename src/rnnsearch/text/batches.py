"""Batches: the paper's (pools of 1,600 pairs, sorted, 20 batches of 80), and by a cost of padded tokens and area."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rnnsearch.text.vocabulary import EOS_ID

Ids = NDArray[np.int64]

#: pairs that are sorted together by `cost_batches`; a pool is what it holds in memory at a time
COST_POOL = 100_000
#: B x T_x x T_y may be at most so many times the token limit: it binds where both sides are longer than about 50
AREA_PER_TOKEN = 25
#: Batches of a multiple of so many pairs: matrix products are fastest so, and fewer shapes of them occur.
ROWS = 8


@dataclass(frozen=True)
class Batch:
    """x [B, T_x], y [B, T_y] int64, each closed by EOS_ID; x_mask, y_mask bool, False on padding (id EOS_ID there).

    guide [B, T_y, T_x]: where links are given, the alpha that they ask for; a row sums to 1, or is 0 without links.
    """

    x: Ids
    x_mask: NDArray[np.bool_]
    y: Ids
    y_mask: NDArray[np.bool_]
    guide: NDArray[np.float32] | None = None


def pad(rows: Sequence[Sequence[int] | NDArray[np.int32]]) -> tuple[Ids, NDArray[np.bool_]]:
    """ids [B, T] and mask [B, T] of `rows`, each closed by a real EOS_ID; T is the longest row and its EOS."""
    width = max((len(row) for row in rows), default=0) + 1
    ids = np.full((len(rows), width), EOS_ID, dtype=np.int64)
    mask = np.zeros((len(rows), width), dtype=np.bool_)
    for b, row in enumerate(rows):
        ids[b, : len(row)] = row
        mask[b, : len(row) + 1] = True
    return ids, mask


def collate(
    pairs: Sequence[tuple[Sequence[int] | NDArray[np.int32], Sequence[int] | NDArray[np.int32]]],
    links: Sequence[NDArray[np.int32]] | None = None,
) -> Batch:
    """The batch of `pairs` (source ids, target ids), none with a sentence end of its own; `links`: [L, 2] of each."""
    x, x_mask = pad([source for source, _ in pairs])
    y, y_mask = pad([target for _, target in pairs])
    return Batch(x, x_mask, y, y_mask, None if links is None else _guide(links, (*y.shape, x.shape[1])))


def _guide(links: Sequence[NDArray[np.int32]], shape: tuple[int, int, int]) -> NDArray[np.float32]:
    """[B, T_y, T_x]: uniform over the source tokens that a target token is linked to."""
    guide = np.zeros(shape, dtype=np.float32)
    for rows, found in zip(guide, links, strict=True):
        rows[found[:, 1], found[:, 0]] = 1
    guide /= np.maximum(guide.sum(axis=2, keepdims=True), 1)
    return guide


def paper_batches(
    lengths_x: NDArray[np.int32],
    lengths_y: NDArray[np.int32],
    seed: int,
    epoch: int,
    batch: int = 80,
    pool: int = 20,
) -> Iterator[Ids]:
    """Indices [<= batch] of each mini-batch, as the authors' code took them (docs/paper.md).

    The pairs are shuffled once by `seed`, so every `epoch` is the same; `pool` batches are read at a time, sorted by
    the longer side (ties keep their order) and emitted short to long.
    """
    del epoch  # the corpus is shuffled once, not once an epoch
    for taken in _pools(len(lengths_x), batch * pool, seed, 0):
        ordered = taken[np.argsort(np.maximum(lengths_x[taken], lengths_y[taken]), kind="stable")]
        yield from (ordered[at : at + batch] for at in range(0, len(ordered), batch))


def cost_batches(
    lengths_x: NDArray[np.int32],
    lengths_y: NDArray[np.int32],
    seed: int,
    epoch: int,
    tokens: int,
) -> Iterator[Ids]:
    """Indices of each batch, with B (T_x + T_y) <= `tokens` and B T_x T_y <= AREA_PER_TOKEN x `tokens`, padding
    and sentence ends counted; a pair beyond that is a batch alone.

    Each `epoch` has its own order: pools of COST_POOL pairs are sorted by length, cut, and their batches shuffled.
    """
    for number, taken in enumerate(_pools(len(lengths_x), COST_POOL, seed, epoch)):
        x, y = lengths_x[taken] + 1, lengths_y[taken] + 1
        # x rises and falls by turns: a batch that crosses from one y to the next meets like x on both sides.
        order = np.lexsort((np.where(y % 2, x, -x), y))
        cuts = _cut(x[order].tolist(), y[order].tolist(), tokens)
        batches = np.split(taken[order], cuts)
        for index in np.random.default_rng((seed, epoch, number)).permutation(len(batches)):
            yield batches[index]


def cost(indices: Ids, lengths_x: NDArray[np.int32], lengths_y: NDArray[np.int32]) -> int:
    """What a batch costs, in padded tokens: the larger of B (T_x + T_y) and B T_x T_y / AREA_PER_TOKEN."""
    x, y = int(lengths_x[indices].max()) + 1, int(lengths_y[indices].max()) + 1
    return max(len(indices) * (x + y), len(indices) * x * y // AREA_PER_TOKEN)


def survey(batches: Iterable[Ids], lengths_x: NDArray[np.int32], lengths_y: NDArray[np.int32]) -> tuple[int, Ids]:
    """How many batches there are, at least one, and the first of the highest cost, to be tried before all others."""
    count, most, dearest = 0, -1, np.zeros(0, np.int64)
    for indices in batches:
        count += 1
        if (found := cost(indices, lengths_x, lengths_y)) > most:
            most, dearest = found, indices
    return count, dearest


def _cut(x: list[int], y: list[int], tokens: int) -> list[int]:
    """Where to cut a sorted run of pairs of lengths x, y so that no batch costs more than `tokens`.

    A batch of more than 4 ROWS pairs is cut to a multiple of ROWS, where what is cut off fits into a batch itself.
    """

    def fits(start: int, end: int) -> bool:
        rows, widest_x, widest_y = end - start, max(x[start:end]), max(y[start:end])
        return rows * (widest_x + widest_y) <= tokens and rows * widest_x * widest_y <= AREA_PER_TOKEN * tokens

    cuts: list[int] = []
    start = widest_x = widest_y = 0
    for at, (length_x, length_y) in enumerate(zip(x, y, strict=True)):
        widest_x, widest_y = max(widest_x, length_x), max(widest_y, length_y)
        rows = at - start + 1
        if rows > 1 and (rows * (widest_x + widest_y) > tokens or rows * widest_x * widest_y > AREA_PER_TOKEN * tokens):
            even = at - (rows - 1) % ROWS if rows > 4 * ROWS else at
            start = even if fits(even, at + 1) else at
            cuts.append(start)
            widest_x, widest_y = max(x[start : at + 1]), max(y[start : at + 1])
    return cuts


def _pools(count: int, size: int, seed: int, epoch: int) -> Iterator[Ids]:
    """The numbers 0 .. count-1 in a random order fixed by (seed, epoch), `size` at a time."""
    keys = np.random.default_rng((seed, epoch)).integers(0, 2**63, size=6, dtype=np.uint64)
    for start in range(0, count, size):
        yield _shuffled(np.arange(start, min(start + size, count), dtype=np.uint64), count, keys)


def _shuffled(places: NDArray[np.uint64], count: int, keys: NDArray[np.uint64]) -> Ids:
    """Which number stands at each of `places` in a permutation of 0 .. count-1.

    A Feistel network over the next even power of two, walked until it falls below `count`: it needs no table, so
    memory does not grow with the corpus.
    """
    half = np.uint64(max((count - 1).bit_length() + 1, 2) // 2)
    numbers = _feistel(places, half, keys)
    while (outside := numbers >= count).any():
        numbers[outside] = _feistel(numbers[outside], half, keys)
    return numbers.astype(np.int64)


def _feistel(numbers: NDArray[np.uint64], half: np.uint64, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A permutation of the numbers of 2 x `half` bits, one round a key."""
    low_bits = (np.uint64(1) << half) - np.uint64(1)
    left, right = numbers >> half, numbers & low_bits
    for key in keys:
        mixed = (right ^ key) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        left, right = right, left ^ ((mixed >> np.uint64(32)) & low_bits)
    return (left << half) | right
