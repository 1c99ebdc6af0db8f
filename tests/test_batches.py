"""Batches: padding and ends, the paper's pools, cost limits, and orders that are fixed by seed and epoch."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rnnsearch.text import batches
from rnnsearch.text.batches import AREA_PER_TOKEN, collate, cost, cost_batches, paper_batches, survey
from rnnsearch.text.vocabulary import EOS_ID


def lengths(count: int, seed: int = 0, longest: int = 60) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    rng = np.random.default_rng(seed)
    x = rng.integers(1, longest, count, dtype=np.int32)
    return x, np.maximum(1, x + rng.integers(-5, 6, count, dtype=np.int32))


def test_a_batch_is_padded_behind_a_real_sentence_end() -> None:
    batch = collate([([5, 6, 7], [8]), ([], [9, 2]), (np.array([4], np.int32), np.array([3, 3], np.int32))])
    assert batch.x.tolist() == [[5, 6, 7, EOS_ID], [EOS_ID] * 4, [4, EOS_ID, EOS_ID, EOS_ID]]
    assert batch.x_mask.tolist() == [[True] * 4, [True, False, False, False], [True, True, False, False]]
    assert batch.y.tolist() == [[8, EOS_ID, EOS_ID], [9, 2, EOS_ID], [3, 3, EOS_ID]]
    assert batch.y_mask.tolist() == [[True, True, False], [True] * 3, [True] * 3]
    assert (batch.x.dtype, batch.y_mask.dtype) == (np.int64, np.bool_)


@pytest.mark.parametrize("count", [0, 1, 2, 79, 80, 81, 1600, 1601, 5000])
def test_every_pair_is_in_one_batch(count: int) -> None:
    x, y = lengths(count)
    for found in (list(paper_batches(x, y, 1, 0)), list(cost_batches(x, y, 1, 0, 2400))):
        assert sorted(i for batch in found for i in batch) == list(range(count))


def test_the_papers_batches() -> None:
    x, y = lengths(4000)
    found = list(paper_batches(x, y, 7, 0))
    assert [len(batch) for batch in found] == [80] * 50
    longer = np.maximum(x, y)
    for pool in (found[:20], found[20:40], found[40:]):
        run = np.concatenate(pool)
        assert (np.diff(longer[run]) >= 0).all()
    assert longer[found[19]].max() > longer[found[20]].min()  # each pool starts short again


def test_ties_keep_their_order_in_the_shuffled_corpus() -> None:
    same = np.full(1600, 5, np.int32)
    varied = np.arange(1600, dtype=np.int32) % 2
    shuffled = np.concatenate(list(paper_batches(same, same, 3, 0)))
    by_parity = np.concatenate(list(paper_batches(varied, varied, 3, 0)))
    assert by_parity.tolist() == [*shuffled[shuffled % 2 == 0], *shuffled[shuffled % 2 == 1]]


def test_the_paper_shuffles_once_and_cost_batches_anew_each_epoch() -> None:
    x, y = lengths(3000)

    def paper(seed: int, epoch: int) -> list[int]:
        return np.concatenate(list(paper_batches(x, y, seed, epoch))).tolist()

    def by_cost(seed: int, epoch: int) -> list[int]:
        return np.concatenate(list(cost_batches(x, y, seed, epoch, 2400))).tolist()

    assert paper(1, 0) == paper(1, 5) != paper(2, 0)
    assert by_cost(1, 0) == by_cost(1, 0)
    assert len({tuple(by_cost(seed, epoch)) for seed in (1, 2) for epoch in (0, 1, 2)}) == 6


@given(
    st.lists(st.tuples(st.integers(1, 120), st.integers(1, 120)), min_size=1, max_size=200),
    st.integers(2, 600),
)
def test_cost_limits_hold_unless_a_pair_is_alone(pairs: list[tuple[int, int]], tokens: int) -> None:
    x, y = np.array(pairs, np.int32).T
    for batch in cost_batches(x, y, 0, 0, tokens):
        widest_x, widest_y = int(x[batch].max()) + 1, int(y[batch].max()) + 1
        if len(batch) > 1:
            assert len(batch) * (widest_x + widest_y) <= tokens
            assert len(batch) * widest_x * widest_y <= AREA_PER_TOKEN * tokens


def test_the_limit_counts_sentence_ends_and_is_used_up() -> None:
    five = np.full(12, 5, np.int32)
    assert sorted(len(batch) for batch in cost_batches(five, five, 0, 0, 48)) == [4, 4, 4]
    assert sorted(len(batch) for batch in cost_batches(five, five, 0, 0, 47)) == [3, 3, 3, 3]
    hundred = np.full(40, 99, np.int32)
    assert max(len(batch) for batch in cost_batches(hundred, hundred, 0, 0, 4000)) == 10  # by area; by tokens 20


def test_large_batches_are_of_a_multiple_of_eight() -> None:
    x, y = lengths(10_000)
    sizes = [len(batch) for batch in cost_batches(x, y, 0, 0, 2400)]
    assert sum(sizes) == 10_000
    large = [size for size in sizes if size > 32]
    assert len(large) > 50
    assert sum(size % 8 > 0 for size in large) <= 1  # the last of the pool
    assert any(size % 8 for size in sizes if size < 32)


@pytest.mark.parametrize(("folder", "name"), [("multi30k/tok", "train.lc.norm.tok"), ("laws", "train")])
def test_little_of_real_text_is_padding(data: Path, folder: str, name: str) -> None:
    """Under 8 % of all tokens of both sides; words stand here for tokens of any kind."""
    sides = [(data / folder / f"{name}.{end}").open(encoding="utf-8") for end in ("en", "fr")]
    pairs = np.array([[len(line.split()) for line in pair] for pair in zip(*sides, strict=True)], np.int32)
    x, y = pairs[(pairs.max(axis=1) <= 100) & (pairs.min(axis=1) > 0)].T
    found = list(cost_batches(x, y, 1234, 0, 2400))
    padded = sum(len(batch) * int(x[batch].max() + y[batch].max() + 2) for batch in found)
    assert (x.sum() + y.sum() + 2 * len(x)) / padded > 0.92


def test_sentences_of_like_length_go_together_and_batches_do_not_come_sorted() -> None:
    x, y = lengths(10_000)
    found = list(cost_batches(x, y, 0, 0, 2400))
    padded = sum(len(batch) * int(x[batch].max() + y[batch].max() + 2) for batch in found)
    assert (x.sum() + y.sum() + 2 * len(x)) / padded > 0.93
    means = [float(y[batch].mean()) for batch in found]
    assert abs(np.corrcoef(means, range(len(means)))[0, 1]) < 0.2


def test_pools_bound_what_is_sorted_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "COST_POOL", 100)
    x, y = lengths(1000)
    whole = [batch.tolist() for batch in cost_batches(x, y, 0, 0, 300)]
    assert sorted(i for batch in whole for i in batch) == list(range(1000))
    assert len(whole) > 10


@given(st.integers(1, 3000), st.integers(0, 100), st.integers(0, 3))
def test_the_shuffle_is_a_permutation(count: int, seed: int, epoch: int) -> None:
    order = np.concatenate(list(batches._pools(count, 700, seed, epoch)))
    assert sorted(order.tolist()) == list(range(count))


def test_the_shuffle_moves_every_pair_anywhere() -> None:
    orders = np.array([np.concatenate(list(batches._pools(50, 50, seed, 0))) for seed in range(2000)])
    seen = np.array([np.bincount(column, minlength=50) for column in orders.T])
    assert seen.sum(axis=1).tolist() == [2000] * 50
    # 40 are expected in each of 2,500 cells, with a standard deviation of 6.3
    assert seen.min() > 10
    assert seen.max() < 75
    neighbours = np.mean(np.abs(np.diff(orders, axis=1)) == 1)
    assert 0.02 < neighbours < 0.06  # 2/50 by chance


def test_the_survey_counts_and_finds_the_dearest_batch() -> None:
    x, y = lengths(2000)
    x[77] = y[77] = 500
    found = list(cost_batches(x, y, 0, 0, 2400))
    count, dearest = survey(iter(found), x, y)
    assert count == len(found)
    assert dearest.tolist() == [77]
    assert cost(dearest, x, y) == 501 * 501 // AREA_PER_TOKEN
    assert cost(np.array([0, 1]), np.array([3, 5], np.int32), np.array([9, 2], np.int32)) == 2 * (6 + 10)
