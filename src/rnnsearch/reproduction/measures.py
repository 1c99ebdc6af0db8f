"""What is measured of the translations: the rows of Table 1, and the curves of Figure 2."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rnnsearch.evaluation.bands import Band, by_length
from rnnsearch.evaluation.bootstrap import Comparison, Estimate, compare, estimate
from rnnsearch.evaluation.faults import Faults, find_faults
from rnnsearch.evaluation.metrics import Scores, bleu_tokeniser, corpus_bleu_tokens, evaluate, words_of
from rnnsearch.evaluation.sentences import Sentences
from rnnsearch.reproduction.claims import Duel, Slope
from rnnsearch.reproduction.results import TestSet, Translated
from rnnsearch.reproduction.sentences import Looked

#: Words of the source of a short sentence, which longer ones are compared with.
SHORT = (11, 30)
#: The tokeniser for BLEU of text that is tokens already.
_TOKENS = "none"


@dataclass(frozen=True)
class Row:
    """A system on a test set.

    text: sacreBLEU's BLEU of text; tokens: BLEU of Moses' tokens, as the paper's; known, known_tokens: the same of the
    sentences without unknown words, None where there are none.
    """

    name: str
    scores: Scores
    text: Estimate
    tokens: Estimate
    known: Estimate | None
    known_tokens: Estimate | None
    faults: Faults

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        named = {
            "text": self.text,
            "tokens": self.tokens,
            "no_unk_text": self.known,
            "no_unk_tokens": self.known_tokens,
        }
        told = {name: None if found is None else as_dict(found) for name, found in named.items()}
        return {"scores": self.scores.as_dict(), **told, "faults": vars(self.faults)}


@dataclass(frozen=True)
class Table1:
    """A test set and all systems on it. `known`: how many sentences hold no unknown word."""

    test: TestSet
    known: int
    rows: Sequence[Row]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"name": self.test.name, "sentences": len(self.test.references), "no_unk_sentences": self.known,
                "systems": {row.name: row.as_dict() for row in self.rows}}  # fmt: skip


@dataclass(frozen=True)
class Curves:
    """BLEU of tokens by source length: for each model an estimate a band."""

    bands: Sequence[Band]
    models: Mapping[str, Sequence[Estimate]]

    def as_dict(self) -> list[dict[str, Any]]:
        """For JSON."""
        return [
            {"from": band.first, "to": band.last, "sentences": len(band.sentences), "few": band.few,
             "models": {name: as_dict(found[number]) for name, found in self.models.items()}}
            for number, band in enumerate(self.bands)
        ]  # fmt: skip


@dataclass(frozen=True)
class Pool:
    """All test sets as one, without repeated pairs, and what each model made of them. `origins`: name of the set and
    line, from 1; `lengths`: words of each source, as Moses cuts it; `looked`: of models that align; `tokens`: each
    output as tokens, spaces between."""

    languages: tuple[str, str]
    origins: Sequence[tuple[str, int]]
    sources: Sequence[str]
    references: Sequence[str]
    lengths: Sequence[int]
    outputs: Mapping[str, Sequence[str]]
    looked: Mapping[str, Sequence[Looked]]
    reference_tokens: Sequence[str]
    tokens: Mapping[str, Sequence[str]]


def as_dict(found: Estimate) -> dict[str, Any]:
    """An estimate for JSON."""
    low, high = found.interval()
    return {"score": float(found.bleu), "low": low, "high": high, "signature": found.bleu.signature}


def table1(
    test: TestSet, models: Mapping[str, Translated], others: Mapping[str, Sequence[str]], languages: tuple[str, str]
) -> Table1:
    """Measure the models, of which there is at least one, and `others`, systems of which there are only outputs."""
    known = next(iter(models.values())).known
    rows = [
        _row(name, test, found.outputs, found.without_unk, known, languages, found) for name, found in models.items()
    ]
    rows += [_row(name, test, outputs, outputs, known, languages, None) for name, outputs in others.items()]
    return Table1(test, len(known), rows)


def _row(
    name: str, test: TestSet, outputs: Sequence[str], without_unk: Sequence[str], known: Sequence[int],
    languages: tuple[str, str], model: Translated | None,
) -> Row:  # fmt: skip
    source, target = languages
    text = Sentences(test.references, test.sources, target, source)
    all_of_it = outputs, test.references
    parts = [without_unk[i] for i in known], [test.references[i] for i in known]
    whole, whole_tokens = _both(*all_of_it, target)
    part, part_tokens = _both(*parts, target) if known else (None, None)
    return Row(
        name,
        evaluate(*all_of_it, language=target, unknown_source=None if model is None else model.unknown_source),
        whole, whole_tokens, part, part_tokens, find_faults(outputs, text),
    )  # fmt: skip


def _both(outputs: Sequence[str], references: Sequence[str], language: str) -> tuple[Estimate, Estimate]:
    """BLEU of text, and of tokens."""
    tokens = estimate(_tokens(outputs, language), _tokens(references, language), _TOKENS)
    return estimate(outputs, references, bleu_tokeniser(language)), tokens


def _tokens(lines: Sequence[str], language: str) -> list[str]:
    return [" ".join(words) for words in words_of(lines, language, tokenised=False)]


def pool(tests: Sequence[TestSet], models: Mapping[str, Sequence[Translated]], languages: tuple[str, str]) -> Pool:
    """Put test sets together; `models`: what each model made of each of them."""
    first: dict[tuple[str, str], tuple[int, int]] = {}
    for number, test in enumerate(tests):
        for line, pair in enumerate(zip(test.sources, test.references, strict=True)):
            if pair[1].strip():
                first.setdefault(pair, (number, line))
    places = list(first.values())
    outputs = {name: [found[n].outputs[i] for n, i in places] for name, found in models.items()}
    looked = {}
    for name, found in models.items():
        aligned = [each.looked for each in found if each.looked is not None]
        if len(aligned) == len(tests):
            looked[name] = [aligned[n][i] for n, i in places]
    sources, references = ([tests[n].sources[i] for n, i in places], [tests[n].references[i] for n, i in places])
    source, target = languages
    return Pool(
        languages, [(tests[n].name, i + 1) for n, i in places], sources, references,
        [len(words) for words in words_of(sources, source, tokenised=False)], outputs, looked,
        _tokens(references, target), {name: _tokens(lines, target) for name, lines in outputs.items()},
    )  # fmt: skip


def curves(pooled: Pool) -> Curves:
    """BLEU of every model by the length of the source."""
    bands = by_length(pooled.lengths)
    models = {name: [_part(pooled, name, band.sentences) for band in bands] for name in pooled.tokens}
    return Curves(bands, models)


def _part(pooled: Pool, name: str, numbers: Sequence[int]) -> Estimate:
    lines, references = pooled.tokens[name], pooled.reference_tokens
    return estimate([lines[i] for i in numbers], [references[i] for i in numbers], _TOKENS)


def _of_length(pooled: Pool, first: int, last: int | None) -> list[int]:
    return [i for i, length in enumerate(pooled.lengths) if first <= length and (last is None or length <= last)]


def slope(pooled: Pool, name: str, longer_than: int) -> Slope | None:
    """A model on short sentences and on those of more than so many words; None where either are lacking."""
    short, long = _of_length(pooled, *SHORT), _of_length(pooled, longer_than + 1, None)
    if not short or not long:
        return None
    one, other = _part(pooled, name, short), _part(pooled, name, long)
    return Slope(
        name, longer_than, float(one.bleu), one.margin, float(other.bleu), other.margin, min(len(short), len(long))
    )


def duel(pooled: Pool, one: str, other: str, longest: int | None = None) -> Duel | None:
    """Two models on all sentences, or on those of at most so many words; None where there are none."""
    numbers = _of_length(pooled, 1, longest)
    if not numbers:
        return None
    lines = [[pooled.tokens[name][i] for i in numbers] for name in (one, other)]
    references = [pooled.reference_tokens[i] for i in numbers]
    return _duel((one, other), lines, references)


def duel_on(test: TestSet, models: Mapping[str, Translated], one: str, other: str, language: str) -> Duel:
    """Two models on one test set."""
    lines = [_tokens(models[name].outputs, language) for name in (one, other)]
    return _duel((one, other), lines, _tokens(test.references, language))


def _duel(names: tuple[str, str], lines: Sequence[Sequence[str]], references: Sequence[str]) -> Duel:
    found: Comparison = compare([lines[1], lines[0]], references, _TOKENS)[0]
    base = float(corpus_bleu_tokens(*([line.split() for line in side] for side in (lines[1], references))))
    return Duel(names, (base + found.difference, base), found.p_value, len(references))
