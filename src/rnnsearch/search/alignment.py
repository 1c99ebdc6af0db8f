"""Alignments as matrices: of parts put together, of tokens turned into that of words, and the links they stand for."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def block_diagonal(blocks: Sequence[NDArray[np.float32]]) -> Matrix:
    """The blocks one below and right of the other, 0 elsewhere."""
    whole = np.zeros((sum(block.shape[0] for block in blocks), sum(block.shape[1] for block in blocks)))
    row = column = 0
    for block in blocks:
        whole[row : row + block.shape[0], column : column + block.shape[1]] = block
        row, column = row + block.shape[0], column + block.shape[1]
    return whole


def by_words(alpha: Matrix, target: Sequence[int], source: Sequence[int], shape: tuple[int, int]) -> Matrix:
    """Alignment of words [target words, source words] from that of tokens [T_y, T_x], sentence ends left out of both.

    target, source: the word of each token (-1: of none); shape: how many words there are. The pieces of one word are
    summed over the source and averaged over the target, then each row is scaled to sum to 1 (so a sum does for the
    average). A row with nothing left, as of a word that looked at the sentence end only, becomes uniform.
    """
    rows, columns = np.asarray(target, int), np.asarray(source, int)
    at, to = np.nonzero(rows >= 0)[0], np.nonzero(columns >= 0)[0]
    matrix = np.zeros(shape)
    np.add.at(matrix, (rows[at, None], columns[None, to]), alpha[np.ix_(at, to)])
    total = matrix.sum(axis=1, keepdims=True)
    shares = np.full(shape, 1 / max(shape[1], 1))
    np.divide(matrix, total, out=shares, where=total > 0)
    return shares


def hard_links(matrix: Matrix) -> list[tuple[int, int]]:
    """For each target word the source word of the largest weight, as (source, target) in order of the source."""
    best = matrix.argmax(axis=1).tolist() if matrix.shape[1] else []
    return sorted((source, target) for target, source in enumerate(best))


def links_from(matrix: Matrix, threshold: float) -> list[tuple[int, int]]:
    """All (source, target) whose weight is at least `threshold`, in order of the source."""
    return [(int(source), int(target)) for source, target in np.argwhere(threshold <= matrix.T)]


def links_by(matrix: Matrix, rule: str | float) -> list[tuple[int, int]]:
    """Links by the rule `hard` (`hard_links`), or by a threshold (`links_from`)."""
    return hard_links(matrix) if isinstance(rule, str) else links_from(matrix, rule)
