"""How sure a BLEU is, and whether two systems differ: sacreBLEU's bootstrap, over sentences drawn anew."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rnnsearch.evaluation.metrics import Score, bleu_metric

SAMPLES = 1000
#: Fewer sentences than these say little, and draws from them say nothing of others.
FEW = 20
#: samples x sentences that are drawn at once, 44 bytes each
_MOST_DRAWN = 20_000_000
_FEWEST_SAMPLES = 100


class Estimate(NamedTuple):
    """A BLEU with the confidence that it deserves."""

    bleu: Score
    mean: float  #: of the samples
    margin: float  #: 95 % of the samples lie within mean - margin and mean + margin

    def interval(self) -> tuple[float, float]:
        """From where to where 95 % of the samples lie, within 0 and 100."""
        return max(0.0, self.mean - self.margin), min(100.0, self.mean + self.margin)


@dataclass(frozen=True)
class Comparison:
    """Another system against the main one.

    difference: its BLEU less that of the main one. p_value: how probable so large a difference is by chance alone;
    None where nothing differs or the sentences are few.
    """

    difference: float
    p_value: float | None
    signature: str


def estimate(hypotheses: Sequence[str], references: Sequence[str], tokeniser: str) -> Estimate:
    """BLEU of some sentences, at least one, with its 95 % interval."""
    metric = bleu_metric(tokeniser)
    score = metric.corpus_score(hypotheses, [references], n_bootstrap=_samples(len(references)))
    return Estimate(Score(score.score, str(metric.get_signature())), score._mean, score._ci)


def compare(outputs: Sequence[Sequence[str]], references: Sequence[str], tokeniser: str) -> list[Comparison]:
    """The second and further systems against the first, by paired bootstrap."""
    from sacrebleu.significance import PairedTest

    named: list[tuple[str, Sequence[str]]] = [(str(number), list(lines)) for number, lines in enumerate(outputs)]
    test = PairedTest(named, {"BLEU": bleu_metric(tokeniser)}, [references], "bs", _samples(len(references)))
    signatures, found = test()
    main, *others = found["BLEU"]
    return [_comparison(other.score - main.score, other.p_value, len(references), str(signatures["BLEU"]))
            for other in others if not isinstance(main, str) and not isinstance(other, str)]  # fmt: skip


def _comparison(difference: float, p_value: float | None, sentences: int, signature: str) -> Comparison:
    # Where no sample differs, sacreBLEU's count gives the smallest p-value there is.
    says_something = difference != 0 and sentences >= FEW
    return Comparison(difference, p_value if says_something else None, signature)


def _samples(sentences: int) -> int:
    return max(_FEWEST_SAMPLES, min(SAMPLES, _MOST_DRAWN // sentences))
