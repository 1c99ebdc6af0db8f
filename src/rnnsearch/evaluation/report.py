"""Everything that is measured of one or several systems on a test set, to be shown as text, page, Markdown or JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rnnsearch.evaluation.bands import Band, by_length
from rnnsearch.evaluation.bootstrap import Comparison, Estimate, compare, estimate
from rnnsearch.evaluation.examples import Example, choose
from rnnsearch.evaluation.faults import Faults, find_faults
from rnnsearch.evaluation.form import warn_of_form
from rnnsearch.evaluation.metrics import Scores, bleu_tokeniser, evaluate, has_spaces, words_of
from rnnsearch.evaluation.sentences import Sentences, System

#: Version of the object that `Report.as_dict` gives; a change that could break a reader raises it.
JSON_VERSION = 2
#: Decimals of the weights of an alignment in JSON, as many as a page shows and one more.
_DECIMALS = 4


@dataclass(frozen=True)
class Judged:
    """A system, and what was measured of it.

    estimate, bands and comparison are of one BLEU: of text as it is, or of the tokens of tokenised text. comparison:
    with the main system, None for that one itself. known: the scores of the sentences without unknown words.
    """

    system: System
    scores: Scores
    estimate: Estimate
    comparison: Comparison | None
    bands: list[Estimate]
    known: Scores | None
    faults: Faults


@dataclass(frozen=True)
class Report:
    """A test set and the systems that were judged on it, the main one first.

    length_unit: what the length of a source is counted in. examples: as `examples.choose` chose them.
    """

    text: Sentences
    length_unit: str
    bands: list[Band]
    systems: list[Judged]
    examples: list[Example]

    def as_dict(self) -> dict[str, Any]:
        """For JSON: all of it."""
        return {
            "version": JSON_VERSION,
            "sentences": len(self.text.references),
            "language": self.text.language,
            "tokenised": self.text.tokenised,
            "no_unk_sentences": None if self.text.known is None else len(self.text.known),
            "systems": [self._system(judged) for judged in self.systems],
            "length_unit": self.length_unit,
            "bands": [self._band(number) for number in range(len(self.bands))],
            "examples": [self._example(example) for example in self.examples],
        }

    def _system(self, judged: Judged) -> dict[str, Any]:
        return {
            "name": judged.system.name,
            "translator": judged.system.translator,
            "scores": judged.scores.as_dict(),
            "bootstrap": _estimate(judged.estimate),
            "against_first": None if judged.comparison is None else vars(judged.comparison),
            "no_unk": None if judged.known is None else judged.known.as_dict(),
            "faults": vars(judged.faults),
        }

    def _band(self, number: int) -> dict[str, Any]:
        band = self.bands[number]
        return {
            "from": band.first,
            "to": band.last,
            "sentences": len(band.sentences),
            "few": band.few,
            "systems": {judged.system.name: _estimate(judged.bands[number]) for judged in self.systems},
        }

    def _example(self, example: Example) -> dict[str, Any]:
        number, sources, alignments = example.sentence, self.text.sources, self.systems[0].system.alignments
        outputs = {
            judged.system.name: {"text": judged.system.outputs[number], "chrf": chrf}
            for judged, chrf in zip(self.systems, example.chrf, strict=True)
        }
        picture = None if alignments is None else alignments[number]
        return {
            "line": number + 1,
            "source": None if sources is None else sources[number],
            "reference": self.text.references[number],
            "outputs": outputs,
            "alignment": None if picture is None else {
                "words": list(picture.rows),
                "source_words": list(picture.columns),
                "weights": picture.matrix.round(_DECIMALS).tolist(),
            },
        }  # fmt: skip


def measure(text: Sentences, systems: Sequence[System]) -> Report:
    """Measure all there is to measure; the first of `systems` is the main one. Raises UserError as `evaluate` does."""
    warn_of_form(text, systems)
    scores = [evaluate(system.outputs, text.references, language=text.language, tokenised=text.tokenised,
                       unknown_source=system.unknown_source) for system in systems]  # fmt: skip
    unit, bands = _bands(text)
    tokeniser = bleu_tokeniser(text.language, text.tokenised)
    compared = compare([system.outputs for system in systems], text.references, tokeniser) if systems[1:] else []
    judged = [
        Judged(
            system,
            score,
            estimate(system.outputs, text.references, tokeniser),
            comparison,
            [_part(system.outputs, text, band.sentences, tokeniser) for band in bands],
            _known(system, text),
            find_faults(system.outputs, text),
        )
        for system, score, comparison in zip(systems, scores, [None, *compared], strict=True)
    ]
    return Report(text, unit, bands, judged, choose(text, systems))


def _bands(text: Sentences) -> tuple[str, list[Band]]:
    if text.sources is None:
        return "", []
    if not text.tokenised and not has_spaces(text.source_language):
        return "characters", by_length([len("".join(line.split())) for line in text.sources])
    return "words", by_length([len(words) for words in words_of(text.sources, text.source_language, text.tokenised)])


def _part(outputs: Sequence[str], text: Sentences, numbers: Sequence[int], tokeniser: str) -> Estimate:
    return estimate([outputs[i] for i in numbers], [text.references[i] for i in numbers], tokeniser)


def _known(system: System, text: Sentences) -> Scores | None:
    """The scores of the sentences without unknown words, or None where there are none of these."""
    numbers = [i for i in text.known or () if text.references[i].strip()]
    if not numbers:
        return None
    outputs = system.outputs if system.without_unk is None else system.without_unk
    return evaluate([outputs[i] for i in numbers], [text.references[i] for i in numbers],
                    language=text.language, tokenised=text.tokenised)  # fmt: skip


def _estimate(of: Estimate) -> dict[str, Any]:
    low, high = of.interval()
    return {"score": float(of.bleu), "low": low, "high": high, "mean": of.mean, "signature": of.bleu.signature}
