"""Beam search against exhaustive search on small exact models, and its rules one by one."""

import itertools
import math

import numpy as np
import pytest

from mock_engine import MockEngine
from rnnsearch.config import SearchSettings
from rnnsearch.search import force, search
from rnnsearch.search.beam import step_limits
from rnnsearch.text.vocabulary import EOS_ID, UNK_ID


def sentences(*rows):
    """x and x_mask of sentences of word ids; the sentence end is added."""
    width = max(map(len, rows)) + 1
    x, mask = np.zeros((len(rows), width), np.int64), np.zeros((len(rows), width), bool)
    for i, row in enumerate(rows):
        x[i, : len(row)], mask[i, : len(row) + 1] = row, True
    return x, mask


def random_sentences(count, seed, longest=9):
    rng = np.random.default_rng(seed)
    return [rng.integers(2, 30, rng.integers(1, longest + 1)).tolist() for _ in range(count)]


def exhaustive(engine, row, limit, normalise, no_unk=False, shortest=0):
    """All translations with their score, best first."""
    scored = []
    for ids in engine.every_translation(limit, no_unk):
        if len(ids) > shortest:
            log_p = engine.log_p(sum(row), ids)
            scored.append((log_p / len(ids) if normalise else log_p, ids))
    return sorted(scored, reverse=True)


@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize("no_unk", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_a_beam_as_wide_as_the_space_finds_the_best(seed, normalise, no_unk):
    engine = MockEngine(4, seed)
    rows = [[5], [2], [9], [30]]
    settings = SearchSettings(beam_size=3**6, normalise=normalise, retry=True)
    found = search(engine, *sentences(*rows), settings, n_best=5, no_unk=no_unk)
    for row, hypotheses in zip(rows, found, strict=True):
        expected = exhaustive(engine, row, 6, normalise, no_unk)[:5]
        assert [h.ids for h in hypotheses] == [ids for _, ids in expected]
        assert [h.score for h in hypotheses] == pytest.approx([score for score, _ in expected])


def test_a_wide_beam_equals_exhaustive_search_with_a_minimum_length():
    engine = MockEngine(3, 11, eos_bias=2.0)
    rows = [[5, 6, 7, 4], [8, 2]]
    settings = SearchSettings(beam_size=2**15, normalise=False, minimum_length=True, retry=True)
    found = search(engine, *sentences(*rows), settings)
    assert [h[0].ids for h in found] == [
        exhaustive(engine, rows[0], 15, False, shortest=2)[0][1],
        exhaustive(engine, rows[1], 9, False, shortest=1)[0][1],
    ]


@pytest.mark.parametrize("normalise", [False, True])
def test_mean_score_does_not_fall_as_the_beam_widens(normalise):
    engine = MockEngine(30, 3, sharpness=1.2, eos_bias=1.0)
    x = sentences(*random_sentences(60, 5))
    means = []
    for beam in (1, 4, 12, 50):
        found = search(engine, *x, SearchSettings(beam_size=beam, normalise=normalise))
        means.append(np.mean([h[0].score for h in found]))
    assert means == sorted(means)
    assert means[-1] > means[0]


def test_scores_and_hypotheses_do_not_depend_on_the_batch():
    engine = MockEngine(12, 4)
    rows = random_sentences(23, 6)
    settings = SearchSettings(beam_size=5)
    together = search(engine, *sentences(*rows), settings, n_best=3)
    alone = [search(engine, *sentences(row), settings, n_best=3)[0] for row in rows]
    halves = search(engine, *sentences(*rows[:11]), settings, n_best=3)
    for a, b in itertools.chain(zip(together, alone, strict=True), zip(together, halves, strict=False)):
        assert [h.ids for h in a] == [h.ids for h in b]
        assert [h.score for h in a] == pytest.approx([h.score for h in b], abs=1e-9)
        for one, other in zip(a, b, strict=True):
            np.testing.assert_allclose(one.alpha, other.alpha, atol=1e-6)


def test_log_p_score_and_alignment_belong_to_the_words():
    engine = MockEngine(9, 8)
    rows = random_sentences(12, 9)
    for row, hypotheses in zip(
        rows, search(engine, *sentences(*rows), SearchSettings(beam_size=4), n_best=4), strict=True
    ):
        for h in hypotheses:
            assert h.log_p == pytest.approx(engine.log_p(sum(row), h.ids))
            assert h.score == pytest.approx(h.log_p / len(h.ids))
            assert h.alpha.shape == (len(h.ids), len(row) + 1)
            np.testing.assert_allclose(h.alpha.sum(1), 1, atol=1e-6)
            weights = np.exp(engine.look[[-1, *h.ids[:-1]], : len(row) + 1])
            np.testing.assert_allclose(h.alpha, weights / weights.sum(1, keepdims=True), atol=1e-6)


@pytest.mark.parametrize("normalise", [False, True])
def test_n_best_is_sorted_distinct_and_finished(normalise):
    engine = MockEngine(6, 2)
    x = sentences(*random_sentences(20, 2))
    for hypotheses in search(engine, *x, SearchSettings(beam_size=8, normalise=normalise), n_best=8):
        scores = [h.score for h in hypotheses]
        assert scores == sorted(scores, reverse=True)
        assert len({h.ids for h in hypotheses}) == len(hypotheses) > 1
        assert all(h.finished and h.ids[-1] == EOS_ID and EOS_ID not in h.ids[:-1] for h in hypotheses)


def test_padding_changes_nothing():
    engine = MockEngine(7, 5)
    x, mask = sentences([4, 8, 3])
    wide = np.full((1, 9), 6), np.zeros((1, 9), bool)
    wide[0][:, :4], wide[1][:, :4] = x, mask
    settings = SearchSettings(beam_size=3)
    narrow, padded = (search(engine, *pair, settings)[0][0] for pair in ((x, mask), wide))
    assert narrow.ids == padded.ids and narrow.score == padded.score
    np.testing.assert_allclose(narrow.alpha, padded.alpha, atol=1e-6)


def test_no_unk_bans_the_unknown_word():
    engine = MockEngine(5, 1)
    engine.table[..., UNK_ID] += 6
    x = sentences(*random_sentences(10, 1))
    settings = SearchSettings(beam_size=4)
    assert any(UNK_ID in h[0].ids for h in search(engine, *x, settings))
    assert not any(UNK_ID in h.ids for hs in search(engine, *x, settings, n_best=4, no_unk=True) for h in hs)


def test_the_sentence_end_waits_for_half_the_source_only_with_minimum_length():
    engine = MockEngine(5, 1, eos_bias=20.0)
    rows = [[3] * n for n in range(1, 10)]
    free = search(engine, *sentences(*rows), SearchSettings(beam_size=2))
    held = search(engine, *sentences(*rows), SearchSettings(beam_size=2, minimum_length=True))
    assert [len(h[0].ids) for h in free] == [1] * 9
    assert [len(h[0].ids) for h in held] == [(n + 1) // 2 + 1 for n in range(1, 10)]


def test_step_limits():
    lengths = np.array([1, 4, 20])
    assert step_limits(lengths, SearchSettings(retry=True)).tolist() == [3, 12, 60]
    assert step_limits(lengths, SearchSettings()).tolist() == [13, 22, 70]


def test_where_nothing_finishes_the_best_unfinished_hypothesis_stands():
    engine = MockEngine(5, 1, eos_bias=-80.0)
    rows = [[3], [3, 4, 5]]
    found = search(engine, *sentences(*rows), SearchSettings(beam_size=4), n_best=3)
    for row, hypotheses in zip(rows, found, strict=True):
        assert len(hypotheses) == 3
        assert all(not h.finished and len(h.ids) == 3 * (len(row) + 1) + 10 for h in hypotheses)
        assert hypotheses[0].score > hypotheses[1].score
        assert hypotheses[0].log_p == pytest.approx(engine.log_p(sum(row), hypotheses[0].ids))


def test_unfinished_hypotheses_are_dropped_where_one_has_finished():
    engine = MockEngine(4, 0)
    engine.table[:] = np.log([1e-3, 0.3, 0.4, 0.299])  # an early end is likely only beside twelve rivals
    (hypotheses,) = search(engine, *sentences([3]), SearchSettings(beam_size=12, normalise=False), n_best=12)
    assert all(h.finished for h in hypotheses)


def widths(engine, **changes):
    """Beam sizes of the searches that one sentence took: rows of each `start`."""
    seen, start = [], engine.start

    def spy(memory, beam):
        seen.append((len(memory[0]), beam))
        return start(memory, beam)

    engine.start = spy
    no_unk = changes.pop("no_unk", False)
    settings = SearchSettings(normalise=False, **changes)
    found = search(engine, *sentences([3, 4], [5]), settings, no_unk=no_unk)
    return seen, found


def test_retry_doubles_the_beam_below_500_and_then_gives_the_best_unfinished():
    seen, found = widths(MockEngine(5, 1, eos_bias=-np.inf), beam_size=100, retry=True)
    assert seen == [(2, 100), (1, 200), (1, 400), (1, 800), (1, 200), (1, 400), (1, 800)]
    assert [(len(h[0].ids), h[0].finished) for h in found] == [(9, False), (6, False)]


def test_retry_allows_the_unknown_word_before_it_widens_the_beam():
    engine = MockEngine(5, 1, eos_bias=-np.inf)
    engine.table[:, :, UNK_ID] = np.log([0.99, 0.0025, 0.0025, 0.0025, 0.0025])  # only [UNK] leads to the end
    seen, found = widths(engine, beam_size=12, retry=True, no_unk=True)
    assert seen == [(2, 12), (1, 12), (1, 12)]
    assert all(h[0].finished and h[0].ids[-2] == UNK_ID for h in found)


def test_retry_stops_as_soon_as_something_finishes():
    engine = MockEngine(6, 1, eos_bias=-np.inf)
    engine.table[:, :, 5] = np.log([0.9, 0.02, 0.02, 0.02, 0.02, 0.02])
    engine.table[:, :, [0, 1, 2, 3, 4, 6], 5] = math.log(1e-4)  # the word that leads to the end is a rare one
    seen, found = widths(engine, beam_size=4, retry=True)
    assert len({beam for _, beam in seen}) > 1 and max(beam for _, beam in seen) < 500
    assert all(h[0].finished for h in found)


def test_without_retry_there_is_one_search():
    for no_unk in (False, True):
        seen, _ = widths(MockEngine(5, 1, eos_bias=-np.inf), beam_size=3, no_unk=no_unk)
        assert seen == [(2, 3)]


def test_a_model_without_any_probability_still_gives_a_line():
    engine = MockEngine(4, 1)
    engine.table[:] = -np.inf
    ((only,),) = search(engine, *sentences([3, 4]), SearchSettings(beam_size=3))
    assert only.ids == () and not only.finished and only.alpha.shape == (0, 3)


def test_the_beam_shrinks_by_one_with_each_finished_hypothesis():
    """Step by step in plain Python, as the authors' code is described, against the batched search."""
    engine = MockEngine(8, 21, eos_bias=0.7)
    rows = random_sentences(15, 22)
    for row, hypotheses in zip(
        rows, search(engine, *sentences(*rows), SearchSettings(beam_size=5, normalise=False), n_best=5), strict=True
    ):
        width, live, done = 5, [((), 0.0)], []
        for _ in range(3 * (len(row) + 1) + 10):
            grown = [((*ids, w), engine.log_p(sum(row), (*ids, w))) for ids, _ in live for w in range(8)]
            grown = sorted(grown, key=lambda pair: -pair[1])[:width]
            done += [pair for pair in grown if pair[0][-1] == EOS_ID]
            live = [pair for pair in grown if pair[0][-1] != EOS_ID]
            width = 5 - len(done)
            if not width or not live:
                break
        assert [h.ids for h in hypotheses] == [ids for ids, _ in sorted(done, key=lambda pair: -pair[1])]


def test_finished_sentences_leave_the_grid():
    engine = MockEngine(5, 1, eos_bias=20.0)
    rows, step = [], engine.step

    def spy(state, words, parents):
        rows.append(len(words))
        return step(state, words, parents)

    engine.step = spy
    search(engine, *sentences([3], [3] * 8), SearchSettings(beam_size=1, minimum_length=True))
    assert rows == [2, 2, 1, 1, 1]


def test_a_posterior_alignment_is_asked_with_the_known_words():
    engine, x, y = MockEngine(9, 30), sentences([3, 4, 5, 6], [7]), sentences([2, 5], [8])
    prior = force(engine, *x, *y)
    engine.seen = np.random.default_rng(1).uniform(0, 1, (5, 9))
    for before, after in zip(prior, force(engine, *x, *y, posterior=True), strict=True):
        joint = before.alpha * engine.seen[: before.alpha.shape[1], list(after.ids)].T
        np.testing.assert_allclose(after.alpha, joint / joint.sum(1, keepdims=True), atol=1e-6)
        assert (after.ids, after.log_p) == (before.ids, before.log_p)


@pytest.mark.parametrize("normalise", [False, True])
def test_forced_decoding_gives_the_search_its_own_scores_back(normalise):
    engine = MockEngine(9, 30, eos_bias=1.0)
    rows = random_sentences(9, 31)
    x = sentences(*rows)
    settings = SearchSettings(beam_size=12, normalise=normalise)
    best = [h[0] for h in search(engine, *x, settings)]
    assert all(h.finished for h in best)
    forced = force(engine, *x, *sentences(*(h.ids[:-1] for h in best)), normalise=normalise)
    for a, b in zip(best, forced, strict=True):
        assert a.ids == b.ids and b.finished
        assert (a.log_p, a.score) == pytest.approx((b.log_p, b.score))
        np.testing.assert_allclose(a.alpha, b.alpha, atol=1e-6)
