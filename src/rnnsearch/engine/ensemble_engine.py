"""The engine of an ensemble: several models asked together, as if they were one."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnsearch.engine import Engine, Ids, Mask, Scores, fill

#: what each model has of something, in their order
Parts = tuple[Any, ...]


class Ensemble:
    """Models that read and write the same ids: p is the mean of their probabilities, alpha that of their alignments.

    Sutskever, Vinyals and Le (2014) and all after them translate so with several models.
    """

    def __init__(self, members: Sequence[Engine]) -> None:
        self._members = tuple(members)

    def encode(self, x: Ids, x_mask: Mask) -> Parts:
        return tuple(member.encode(x, x_mask) for member in self._members)

    def start(self, memory: Parts, beam: int) -> Parts:
        return tuple(member.start(part, 0) for member, part in zip(self._members, memory, strict=True))

    def step(self, state: Parts, words: Ids, parents: Ids) -> tuple[Parts, NDArray[np.float32], NDArray[np.float32]]:
        states, log_p, alphas = [], [], []
        for member, part in zip(self._members, state, strict=True):
            new, said, looked = member.step(part, words, parents)
            states.append(new)
            log_p.append(member.every(said))
            alphas.append(member.alpha(looked))
        return tuple(states), _log_mean(log_p), np.mean(alphas, axis=0, dtype=np.float32)

    def posterior(self, state: Parts, words: Ids, given: Ids) -> NDArray[np.float32]:
        each = [member.posterior(part, words, given) for member, part in zip(self._members, state, strict=True)]
        mean: NDArray[np.float32] = np.mean(each, axis=0, dtype=np.float32)
        return mean

    def best(
        self, log_p: NDArray[np.float32], scores: Scores, banned: Mapping[int, Mask], k: int
    ) -> tuple[Scores, Ids, Ids]:
        B, slots = scores.shape
        grid = log_p.reshape(B, slots, -1)
        for word, sentences in banned.items():
            grid[sentences, :, word] = -np.inf
        few = min(k, grid.shape[2])
        words = np.argpartition(-grid, few - 1, axis=2)[:, :, :few]  # the best k of each row: sums are made over few
        sums = (scores[:, :, None] + np.take_along_axis(grid, words, axis=2)).reshape(B, -1)
        top = np.argsort(-sums, axis=1, kind="stable")[:, :k]
        rows = np.arange(B)[:, None]
        return fill(sums[rows, top], top // few, words.reshape(B, -1)[rows, top], k)

    def score(self, log_p: NDArray[np.float32], words: Ids) -> Scores:
        found: Scores = log_p[np.arange(len(words)), words].astype(np.float64)
        return found

    def every(self, log_p: NDArray[np.float32]) -> NDArray[np.float32]:
        return log_p

    def alpha(self, alpha: NDArray[np.float32]) -> NDArray[np.float32]:
        return alpha

    def close(self) -> None:
        for member in self._members:
            member.close()


def _log_mean(log_p: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """log of the mean of the probabilities, where even the smallest keep their digits."""
    most = np.maximum.reduce(log_p)
    most[np.isneginf(most)] = 0  # a word that no model allows
    mean = np.zeros_like(most)
    for part in log_p:
        mean += np.exp(part - most)
    with np.errstate(divide="ignore"):
        found: NDArray[np.float32] = np.log(mean / np.float32(len(log_p))) + most
    return found
