"""Sentences in bands by the length of their source, as in the paper's Figure 2."""

from collections.abc import Sequence
from dataclasses import dataclass

from rnnsearch.evaluation.bootstrap import FEW

_WIDTH, _LAST = 10, 60


@dataclass(frozen=True)
class Band:
    """Sentences of like length: of `first` to `last` words (None: no limit), by their numbers from 0."""

    first: int
    last: int | None
    sentences: list[int]

    @property
    def label(self) -> str:
        """The range, as an axis shows it."""
        return f"{self.first}-{self.last}" if self.last else f"over {self.first - 1}"

    @property
    def few(self) -> bool:
        """Whether a score of so few sentences says little."""
        return len(self.sentences) < FEW


def by_length(lengths: Sequence[int]) -> list[Band]:
    """Bands of 1-10, 11-20 ... 51-60 and over 60 words, those without sentences left out; empty sources are in none."""
    ranges = [(first, first + _WIDTH - 1) for first in range(1, _LAST, _WIDTH)]
    bands = [Band(a, b, [i for i, length in enumerate(lengths) if a <= length <= b]) for a, b in ranges]
    bands.append(Band(_LAST + 1, None, [i for i, length in enumerate(lengths) if length > _LAST]))
    return [band for band in bands if band.sentences]
