"""Beam search over many sentences at once, and forced decoding of given translations; numpy only.

The grid is [B, slots]: a line of slots for each sentence still searched, as many as the sentence with the most
hypotheses has; a slot without one carries -inf. As in the authors' code, a sentence's beam shrinks by one with each
hypothesis that finishes, and it leaves the grid when none is left or its limit of steps is reached.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rnnsearch.config import SearchSettings
from rnnsearch.engine import Engine
from rnnsearch.search.hypothesis import Bools, Ends, Floats, History, Hypothesis, Ints, join, rank
from rnnsearch.text.vocabulary import EOS_ID, UNK_ID

#: A search that must not give up doubles its beam only below this width (authors' code), so it ends after few rounds.
RETRY_BELOW = 500
#: Steps beyond three times the source length, where the authors' own limit is not asked for: short sources need room.
SPARE_STEPS = 10


def search(
    engine: Engine, x: Ints, x_mask: Bools, settings: SearchSettings, *, n_best: int = 1, no_unk: bool = False
) -> list[list[Hypothesis]]:
    """The `n_best` best translations of each sentence, best first; always at least one.

    x: int64 [B, T_x], sentence end included; x_mask: bool [B, T_x], True at real positions. With `no_unk` the unknown
    word is banned. Where nothing finishes within the limit, `settings.retry` searches again (see `_retry`); in the
    end the best unfinished hypotheses stand.
    """
    found = _search_once(engine, x, x_mask, settings, n_best, no_unk)
    if settings.retry:
        for i, hypotheses in enumerate(found):
            if not hypotheses[0].finished:
                length = int(x_mask[i].sum())
                one = slice(i, i + 1), slice(0, length)
                found[i] = _retry(engine, x[one], x_mask[one], settings, n_best, no_unk, hypotheses)
    return found


def force(
    engine: Engine, x: Ints, x_mask: Bools, y: Ints, y_mask: Bools, *, normalise: bool = True, posterior: bool = False
) -> list[Hypothesis]:
    """Log-probability and alignment of given translations y [B, T_y] of x [B, T_x], sentence ends included.

    posterior: instead of alpha, which the model gives out before it knows y_i, where it must have looked now that y_i
    is known (`Engine.posterior`).
    """
    rows = np.arange(len(x))[:, None]
    state = engine.start(engine.encode(x, x_mask), 0)
    log_p, alphas = np.zeros(y.shape), []
    for step in range(y.shape[1]):
        words = y[:, step - 1 : step] if step else np.full((len(x), 1), -1)
        state, scores, alpha = engine.step(state, words, rows)
        log_p[:, step] = engine.score(scores, y[:, step])
        alphas.append(engine.posterior(state, words, y[:, step]) if posterior else engine.alpha(alpha))
    log_p = np.where(y_mask, log_p, 0.0)
    return [
        _hypothesis(y[i, :n], np.stack([a[i] for a in alphas[:n]]), log_p[i].sum(), x_mask[i].sum(), True, normalise)
        for i, n in enumerate(y_mask.sum(axis=1))
    ]


def step_limits(lengths: Ints, settings: SearchSettings) -> Ints:
    """Most words of a translation, sentence end counted, by source length: 3 T_x, as in the authors' code, or more."""
    return 3 * lengths + (0 if settings.retry else SPARE_STEPS)


@dataclass(frozen=True)
class _Grid:
    """The sentences still searched: their index in the batch, and their slots."""

    sentence: Ints  # [B]
    width: Ints  # [B] hypotheses still to finish
    scores: Floats  # [B, slots] log p so far, -inf in a slot without a hypothesis


def _search_once(
    engine: Engine, x: Ints, x_mask: Bools, settings: SearchSettings, n_best: int, no_unk: bool
) -> list[list[Hypothesis]]:
    lengths, B = x_mask.sum(axis=1), len(x)
    limits, beam = step_limits(lengths, settings), settings.beam_size
    grid, history, ends = _Grid(np.arange(B), np.full(B, beam), np.zeros((B, 1))), History(), []
    state = engine.start(engine.encode(x, x_mask), beam)
    words, parents = np.full((B, 1), -1), np.arange(B)[:, None]
    while len(grid.sentence):
        step = len(history.words)
        state, log_p, alpha = engine.step(state, words, parents)
        history.append(words.ravel(), parents.ravel(), engine.alpha(alpha))
        banned = _banned(lengths[grid.sentence], step, settings.minimum_length, no_unk)
        choice = engine.best(log_p, grid.scores, banned, beam)
        grid, words, parents, ended = _advance(grid, *choice, step, limits[grid.sentence])
        ends += ended
    return _collect(history, join(ends), lengths, settings.normalise, n_best)


def _banned(lengths: Ints, step: int, minimum_length: bool, no_unk: bool) -> dict[int, Bools]:
    """Words that must not be chosen now, for each sentence [B]: the unknown word; an end before half the source."""
    banned: dict[int, Bools] = {}
    if minimum_length and np.any(step < lengths // 2):
        banned[EOS_ID] = step < lengths // 2
    if no_unk:
        banned[UNK_ID] = np.ones(len(lengths), bool)
    return banned


def _advance(
    grid: _Grid, scores: Floats, slots: Ints, words: Ints, step: int, limits: Ints
) -> tuple[_Grid, Ints, Ints, list[Ends]]:
    """The next grid with the word and the parent row of its rows [B, slots], and the hypotheses that end at this step.

    scores, slots, words: [B, beam] the best continuations of each sentence, best first: log p, the slot they
    continue and the word they add.
    """
    rows = slots + np.arange(len(scores))[:, None] * grid.scores.shape[1]
    live = (np.arange(scores.shape[1]) < grid.width[:, None]) & (scores > -np.inf)
    finished = live & (words == EOS_ID)
    last = step + 1 >= limits
    if live.all() and not finished.any() and not last.any():  # nothing ends: the most frequent case, and a quick one
        return _Grid(grid.sentence, grid.width, scores), words, rows, []
    live &= ~finished
    width = grid.width - finished.sum(axis=1)
    stay = live.any(axis=1) & ~last
    ended = finished | (live & last[:, None])
    at, _ = np.nonzero(ended)
    ends = Ends(grid.sentence[at], np.full(len(at), step), rows[ended], words[ended], scores[ended], finished[ended])
    live = live[stay]
    scores, words, rows = _packed(live, np.where(live, scores[stay], -np.inf), words[stay], rows[stay])
    return _Grid(grid.sentence[stay], width[stay], scores), words, rows, [ends]


def _packed(live: Bools, scores: Floats, words: Ints, rows: Ints) -> tuple[Floats, Ints, Ints]:
    """The live slots of each sentence first, in their order, and no more slots than one sentence needs.

    At least two, though: products with a single row are summed in another order, and a sentence should not depend on
    what its neighbours need.
    """
    order = np.argsort(~live, axis=1, kind="stable")[:, : max(live.sum(axis=1).max(initial=0), 2)]
    at = np.arange(len(live))[:, None]
    return scores[at, order], words[at, order], rows[at, order]


def _collect(history: History, ends: Ends, lengths: Ints, normalise: bool, n_best: int) -> list[list[Hypothesis]]:
    ends = rank(ends, normalise, n_best)
    ids, alpha = history.trace(ends)
    found: list[list[Hypothesis]] = [[] for _ in lengths]
    for i, (sentence, step) in enumerate(zip(ends.sentence, ends.step, strict=True)):
        n, finished = step + 1, bool(ends.finished[i])
        found[sentence].append(
            _hypothesis(ids[i, :n], alpha[i, :n], ends.log_p[i], lengths[sentence], finished, normalise)
        )
    return [hypotheses or [_nothing(n)] for hypotheses, n in zip(found, lengths, strict=True)]


def _hypothesis(
    ids: Ints, alpha: NDArray[np.float32], log_p: float, length: int, finished: bool, normalise: bool
) -> Hypothesis:
    score = log_p / len(ids) if normalise else log_p
    return Hypothesis(tuple(ids.tolist()), float(log_p), float(score), alpha[:, :length].copy(), finished)


def _nothing(length: int) -> Hypothesis:
    """Where the model gives every word probability 0 (or every word is banned): still a line, an empty one."""
    return Hypothesis((), -np.inf, -np.inf, np.zeros((0, length), np.float32), False)


def _retry(
    engine: Engine, x: Ints, x_mask: Bools, settings: SearchSettings, n_best: int, no_unk: bool, last: list[Hypothesis]
) -> list[Hypothesis]:
    """One sentence again, in which nothing finished: the unknown word allowed, then a beam twice as wide, below 500.

    Alone rather than with others of its batch, so that the wide beams cost no more memory than one sentence's.
    """
    if no_unk:
        return search(engine, x, x_mask, settings, n_best=n_best)[0]
    if settings.beam_size < RETRY_BELOW:
        wider = settings.model_copy(update={"beam_size": 2 * settings.beam_size})
        return search(engine, x, x_mask, wider, n_best=n_best)[0]
    return last
