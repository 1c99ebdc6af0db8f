"""Hypotheses: what a search hands back, and how they are ranked and traced back through its steps."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Hypothesis:
    """One translation of one sentence, in the model's terms.

    ids: target words, the sentence end (EOS_ID) last where `finished`.
    log_p: natural logarithm of the probability, the sentence end counted.
    score: what it is ranked by: log_p / len(ids) where the search normalises, else log_p.
    alpha: float32 [len(ids), T_x], the alignment of each word; T_x is the sentence's own length, its end counted.
    """

    ids: tuple[int, ...]
    log_p: float
    score: float
    alpha: NDArray[np.float32]
    finished: bool


@dataclass(frozen=True)
class Ends:
    """Hypotheses that have ended, as parallel arrays [N]: in which sentence, at which step, and how."""

    sentence: Ints
    step: Ints  # of the last word
    row: Ints  # of that step's grid, from which the last word was chosen
    word: Ints  # the last word
    log_p: Floats
    finished: Bools  # the last word is the sentence end; else the search ran into its limit

    def take(self, index: NDArray[Any]) -> "Ends":
        """The chosen ones, in the order of `index`."""
        return Ends(**{name: column[index] for name, column in vars(self).items()})

    def scores(self, normalise: bool) -> Floats:
        """log p, or log p / length (sentence end counted): [N]."""
        return self.log_p / (self.step + 1) if normalise else self.log_p


def join(parts: list[Ends]) -> Ends:
    """All ends of a list of at least one, one after the other."""
    return Ends(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in vars(parts[0])})


def rank(ends: Ends, normalise: bool, n_best: int) -> Ends:
    """The `n_best` best of each sentence, by sentence, best first; unfinished ones only where nothing has finished."""
    done = np.unique(ends.sentence[ends.finished])
    ends = ends.take(ends.finished | ~np.isin(ends.sentence, done))
    ends = ends.take(np.lexsort((-ends.scores(normalise), ends.sentence)))
    first = np.searchsorted(ends.sentence, ends.sentence)
    return ends.take(np.arange(len(first)) - first < n_best)


@dataclass
class History:
    """What every step of a search was given and looked at; rows are those of the step's own grid."""

    words: list[Ints] = field(default_factory=list)  # [R] word by which each row was reached
    parents: list[Ints] = field(default_factory=list)  # [R] row of the step before
    alpha: list[NDArray[np.float32]] = field(default_factory=list)  # [R, T_x] alignment of the word chosen next

    def append(self, words: Ints, parents: Ints, alpha: NDArray[np.float32]) -> None:
        """Add one step."""
        self.words.append(words)
        self.parents.append(parents)
        self.alpha.append(alpha)

    def trace(self, ends: Ends) -> tuple[Ints, NDArray[np.float32]]:
        """Words [N, T] and alignments [N, T, T_x] of the ends, walked back from the last step to the first."""
        steps = int(ends.step.max(initial=-1)) + 1
        ids = np.zeros((len(ends.step), steps), np.int64)
        alpha = np.zeros((len(ends.step), steps, self.alpha[0].shape[1]), np.float32)
        row, word = ends.row.copy(), ends.word.copy()
        for step in reversed(range(steps)):
            on = ends.step >= step
            at = row[on]
            ids[on, step], alpha[on, step] = word[on], self.alpha[step][at]
            word[on], row[on] = self.words[step][at], self.parents[step][at]
        return ids, alpha
