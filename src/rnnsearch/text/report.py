"""What was read, kept and dropped and why, for people and for machines."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from rnnsearch.text.clean import CleanCounts

#: Fewer pairs than these are called few.
FEW = 10_000


@dataclass
class SideReport:
    """Running tokens of one side of the training text, those in the vocabulary, and the vocabulary's size."""

    language: str
    tokens: int = 0
    known: int = 0
    vocabulary: int = 0

    @property
    def coverage(self) -> float:
        """Share of the running tokens that are in the vocabulary."""
        return self.known / self.tokens if self.tokens else 1.0


@dataclass
class Report:
    """Counts of pairs; `held_out` is None where a development set was given, `dev_blank` counts what was dropped there.

    `duplicates` were dropped, `repeated` were kept though they occur more than once. `links` are those between words
    of the pairs kept (None: no links were given), `unlinked` the pairs kept that have none.
    """

    source: SideReport
    target: SideReport
    max_length: int
    tokeniser: str
    counts: CleanCounts = field(default_factory=CleanCounts)
    read: int = 0
    blank: int = 0
    overlap: int = 0
    duplicates: int = 0
    repeated: int = 0
    too_long: int = 0
    held_out: int | None = None
    dev: int = 0
    dev_blank: int = 0
    kept: int = 0
    links: int | None = None
    unlinked: int = 0

    def as_dict(self) -> dict[str, Any]:
        """All counts, and the coverage of both sides, as JSON can hold them."""
        shares = {"source_coverage": self.source.coverage, "target_coverage": self.target.coverage}
        return asdict(self) | shares

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Report":
        """The report that `dataclasses.asdict` took apart. Raises TypeError or KeyError for anything else."""
        parts = {
            "source": SideReport(**data["source"]),
            "target": SideReport(**data["target"]),
            "counts": CleanCounts(**data["counts"]),
        }
        return cls(**{**data, **parts})

    def lines(self) -> list[str]:
        """The report in sentences."""
        told = [self._pairs(), *self._few(), *self._repeated(), *self._characters(), self._development()]
        return [*told, *self._linked(), *self._coverage()]

    def dropped(self) -> str:
        """What was dropped, as in `50: 3 blank, 47 duplicates`."""
        here = "also in the held-out part" if self.held_out is not None else "also in the development set"
        reasons = [
            (self.blank, "blank on one side or both"),
            (self.too_long, f"longer than {self.max_length} tokens"),
            (self.duplicates, "duplicates"),
            (self.overlap, here),
        ]
        told = ", ".join(f"{count:,} {reason}" for count, reason in reasons if count)
        total = sum(count for count, _ in reasons)
        return f"{total:,}: {told}" if told else "none"

    def _pairs(self) -> str:
        held_out = f"held out {self.held_out:,}; " if self.held_out is not None else ""
        kept = f"kept {self.kept:,} ({_percent(self.kept, self.read)})"
        return f"read {_pairs(self.read)}; {kept}; {held_out}dropped {self.dropped()}"

    def _few(self) -> list[str]:
        few = (
            f"{self.kept:,} pairs are few: expect little of new sentences; with {FEW:,} and more it begins to be of use"
        )
        return [few] if self.kept < FEW else []

    def _repeated(self) -> list[str]:
        return [f"of the pairs kept, {self.repeated:,} repeat an earlier one"] if self.repeated else []

    def _characters(self) -> list[str]:
        parts = [
            (self.counts.spaces, "no-break spaces, tabs and the like became spaces"),
            (self.counts.removed, "control and zero-width characters were removed"),
            (self.counts.carriage_returns, "lines ended in CR LF and were read without the CR"),
        ]
        told = "; ".join(f"{count:,} {what}" for count, what in parts if count)
        return [f"characters: {told}"] if told else []

    def _development(self) -> str:
        if self.held_out is not None:
            drawn = f"{_pairs(self.held_out)} of the training text, drawn at random"
            return f"no development set was given: {drawn}, are held out to be one"
        blank = f"; dropped {self.dev_blank:,} blank on one side or both" if self.dev_blank else ""
        return f"development set: {_pairs(self.dev)}{blank}"

    def _linked(self) -> list[str]:
        if self.links is None:
            return []
        return [f"links between words of the pairs kept: {self.links:,}; pairs without any: {self.unlinked:,}"]

    def _coverage(self) -> list[str]:
        sides = (("source", self.source), ("target", self.target))
        return [
            f"{name} ({side.language}): {side.tokens:,} tokens; a vocabulary of {side.vocabulary:,} ({self.tokeniser}) "
            f"covers {_percent(side.known, side.tokens)} of them"
            for name, side in sides
        ]


def _pairs(count: int) -> str:
    return f"{count:,} pair" if count == 1 else f"{count:,} pairs"


def _percent(part: int, whole: int) -> str:
    """A percentage that says 100 % only where nothing is missing."""
    if part == whole:
        return "100 %"
    return f"{min(100 * part / whole, 99.99):.2f} %"
