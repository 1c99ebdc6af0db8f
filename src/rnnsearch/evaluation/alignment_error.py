"""Precision, recall and alignment error rate of word links against those that people have drawn (Och and Ney, 2003)."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from rnnsearch.errors import UserError
from rnnsearch.text.links import Links


@dataclass(frozen=True)
class AlignmentScores:
    """Counts over all sentences together: A are the links judged, S the sure ones of the gold, P all of the gold's.

    A share of nothing is nan.
    """

    sentences: int
    links: int  # |A|
    sure: int  # |S|
    possible: int  # |P|, S counted too
    links_sure: int  # |A & S|
    links_possible: int  # |A & P|

    @property
    def precision(self) -> float:
        """|A & P| / |A|."""
        return _share(self.links_possible, self.links)

    @property
    def recall(self) -> float:
        """|A & S| / |S|."""
        return _share(self.links_sure, self.sure)

    @property
    def aer(self) -> float:
        """1 - (|A & S| + |A & P|) / (|A| + |S|), the alignment error rate."""
        return 1 - _share(self.links_sure + self.links_possible, self.links + self.sure)

    def as_dict(self) -> dict[str, Any]:
        """Shares (None for nan) and counts by name, for JSON."""
        shares = {"precision": self.precision, "recall": self.recall, "aer": self.aer}
        return {name: None if math.isnan(share) else share for name, share in shares.items()} | vars(self)

    def table(self) -> str:
        """What a person reads: the counts, then a line for each share."""
        return (
            f"{self.sentences:,} sentences, {self.links:,} links; gold: {self.sure:,} sure, {self.possible:,} in all\n"
            f"precision  {self.precision:.4f}\nrecall     {self.recall:.4f}\nAER        {self.aer:.4f}\n"
        )


def compare(
    gold: Iterable[Links], links: Iterable[Links], names: tuple[str, str] = ("the gold", "the links")
) -> AlignmentScores:
    """Judge links, all of them taken for sure, by the gold ones of the same sentences.

    names: of gold and links, for the UserError that different numbers of sentences raise.
    """
    counts = [0] * 5
    sentences = 0
    for expected, found in zip_longest(gold, links):
        if expected is None or found is None:
            short, long = names if expected is None else names[::-1]
            raise UserError(
                f"{short} ends after {sentences:,} sentences and {long} goes on: they must be of the same sentences"
            )
        sentences += 1
        a, s, p = found.possible, expected.sure, expected.possible
        counts = [old + len(new) for old, new in zip(counts, (a, s, p, a & s, a & p), strict=True)]
    return AlignmentScores(sentences, *counts)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else math.nan
