"""Whether the paper's claims hold, from numbers alone: "holds", "does not hold" or "cannot be told"."""

import math
from dataclasses import dataclass

from rnnsearch.evaluation.bootstrap import FEW

#: Differences that chance makes as often as this, or oftener, tell nothing.
CHANCE = 0.05
#: A model stays level if its BLEU of long sentences is at least this share of that of short ones.
LEVEL = 0.9
#: A BLEU below this is noise: the model has hardly begun to learn.
NOISE = 1.0

HOLDS, FAILS, OPEN = "holds", "does not hold", "cannot be told"


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, the verdict, and the figures that it follows from."""

    statement: str
    verdict: str
    evidence: str


@dataclass(frozen=True)
class Duel:
    """Two models on the same sentences: their BLEU, and how probable so large a difference is by chance (None: the
    sentences are too few to say, or nothing differs)."""

    names: tuple[str, str]
    bleu: tuple[float, float]
    p_value: float | None
    sentences: int


@dataclass(frozen=True)
class Slope:
    """BLEU of a model on short and on long sentences, each with the margin of its 95 % interval, and how many sentences
    the fewer of both are. `longer_than`: words that every long sentence has more of."""

    name: str
    longer_than: int
    short: float
    short_margin: float
    long: float
    long_margin: float
    sentences: int

    @property
    def telling(self) -> bool:
        """Whether there are sentences enough, and a BLEU that could fall."""
        return self.sentences >= FEW and self.short >= NOISE

    @property
    def kept(self) -> float:
        """Share of its BLEU that the model keeps on long sentences."""
        return self.long / self.short if self.short else math.nan

    @property
    def margin(self) -> float:
        """Of `kept`: the two sets have no sentence in common, so their errors add as squares."""
        if not self.short:
            return math.nan
        return math.hypot(self.long_margin, self.kept * self.short_margin) / self.short

    @property
    def falls(self) -> bool:
        """Whether it surely keeps less than a model does that stays level."""
        return self.kept + self.margin < LEVEL

    @property
    def level(self) -> bool:
        """Whether it surely keeps as much."""
        return self.kept - self.margin >= LEVEL


def above(statement: str, duel: Duel) -> Claim:
    """That the first of two models translates better than the second."""
    sure = duel.p_value is not None and duel.p_value < CHANCE and max(duel.bleu) >= NOISE
    verdict = (HOLDS if duel.bleu[0] > duel.bleu[1] else FAILS) if sure else OPEN
    (one, other), (high, low) = duel.names, duel.bleu
    chance = "which is not tested" if duel.p_value is None else f"p = {duel.p_value:.3f}"
    return Claim(
        statement,
        verdict,
        f"{one} {high:.2f}, {other} {low:.2f}: {high - low:+.2f}, {chance}, on {duel.sentences:,} sentences",
    )


def breaks(statement: str, fixed: Slope, soft: Slope) -> Claim:
    """That the model with the fixed vector falls on long sentences and the one with the soft search does not."""
    if not (fixed.telling and soft.telling):
        verdict = OPEN
    elif fixed.falls and soft.level:
        verdict = HOLDS
    elif fixed.level or soft.falls:
        verdict = FAILS
    else:
        verdict = OPEN
    return Claim(statement, verdict, f"{_told(fixed)}; {_told(soft)}")


def steeper(statement: str, fixed: Slope, soft: Slope) -> Claim:
    """That the model with the fixed vector loses a larger share of its BLEU on long sentences."""
    difference, margin = soft.kept - fixed.kept, math.hypot(soft.margin, fixed.margin)
    verdict = HOLDS if difference > margin else FAILS if difference < -margin else OPEN
    if not (fixed.telling and soft.telling):
        verdict = OPEN
    return Claim(
        statement,
        verdict,
        f"{soft.name} keeps {100 * soft.kept:.0f} %, {fixed.name} {100 * fixed.kept:.0f} %: "
        f"{100 * difference:+.0f} points (± {100 * margin:.0f})"
        if fixed.telling and soft.telling
        else f"{_told(fixed)}; {_told(soft)}",
    )


def _told(slope: Slope) -> str:
    if slope.short < NOISE:
        return f"{slope.name} {slope.short:.2f} on short sentences already, which is noise"
    if slope.sentences < FEW:
        return f"{slope.name} on only {slope.sentences} sentences of one kind"
    return (
        f"{slope.name} {slope.short:.2f} on short sentences and {slope.long:.2f} on those of more than "
        f"{slope.longer_than} words, which is {100 * slope.kept:.0f} % (± {100 * slope.margin:.0f})"
    )
