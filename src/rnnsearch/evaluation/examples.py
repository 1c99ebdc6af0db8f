"""The sentences worth reading: where two systems differ most, or where one is worst.

By chrF of the sentence: BLEU of one sentence is mostly its smoothing, and 0 for many.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rnnsearch.evaluation.sentences import Sentences, System

EXAMPLES = 10


@dataclass(frozen=True)
class Example:
    """A sentence by its number from 0, and the chrF, 0 to 100, of each system's output."""

    sentence: int
    chrf: list[float]


def choose(text: Sentences, systems: Sequence[System]) -> list[Example]:
    """At most ten sentences, the most telling first: where the first system differs most from another, either way;
    of a system alone the worst. Sentences without a reference are left out, and those that are alike in all."""
    scores = [_chrf(system.outputs, text.references) for system in systems]
    judged = [Example(i, list(each)) for i, each in enumerate(zip(*scores, strict=True)) if text.references[i].strip()]
    if len(systems) == 1:
        return sorted(judged, key=lambda example: example.chrf[0])[:EXAMPLES]
    return sorted(filter(_gap, judged), key=lambda example: -_gap(example))[:EXAMPLES]


def _gap(example: Example) -> float:
    main, *others = example.chrf
    return max(abs(other - main) for other in others)


def _chrf(outputs: Sequence[str], references: Sequence[str]) -> list[float]:
    from sacrebleu.metrics.chrf import CHRF

    metric = CHRF()
    return [metric.sentence_score(output, [line]).score for output, line in zip(outputs, references, strict=True)]
