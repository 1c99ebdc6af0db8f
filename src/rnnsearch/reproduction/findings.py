"""All that the report says, as numbers and text; its tables, pages and JSON are made of this."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rnnsearch.evaluation.form import warn_of_form
from rnnsearch.evaluation.heatmap import Picture
from rnnsearch.evaluation.sentences import Sentences, System
from rnnsearch.reproduction import claims, measures
from rnnsearch.reproduction.claims import Claim
from rnnsearch.reproduction.measures import Curves, Pool, Table1
from rnnsearch.reproduction.plan import Plan
from rnnsearch.reproduction.results import Results, TestSet, Translated
from rnnsearch.reproduction.sentences import Candidate, Chosen, astray, chrf, for_pictures, side_by_side
from rnnsearch.reproduction.training_figures import Trained

#: Version of the object that `Findings.as_dict` gives; a change that could break a reader raises it.
JSON_VERSION = 1
#: Decimals of the weights of an alignment in JSON.
_DECIMALS = 4
#: The models that the claims are about.
_FIXED, _SOFT, _SOFT_SHORT = "RNNencdec-50", "RNNsearch-50", "RNNsearch-30"
#: Whose alignments are drawn: the first that is there.
_DRAWN = ("RNNsearch-50*", _SOFT, _SOFT_SHORT)


@dataclass(frozen=True)
class Drawn:
    """A sentence of Figure 3. `rule`: why it was chosen; `origin`: test set and line, None for one that was given."""

    rule: str
    origin: tuple[str, int] | None
    source: str
    reference: str | None
    output: str
    chrf: float | None
    picture: Picture

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return vars(self) | {"picture": {
            "words": list(self.picture.rows), "source_words": list(self.picture.columns),
            "weights": self.picture.matrix.round(_DECIMALS).tolist(),
        }}  # fmt: skip


@dataclass(frozen=True)
class Output:
    """What a model made of a long sentence: the text up to where it went astray, and the rest ("": it did not)."""

    name: str
    chrf: float
    good: str
    astray: str


@dataclass(frozen=True)
class Long:
    """A long sentence and the outputs of all models side by side."""

    rule: str
    origin: tuple[str, int]
    words: int
    source: str
    reference: str
    outputs: Sequence[Output]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return vars(self) | {"outputs": [vars(output) for output in self.outputs]}


@dataclass(frozen=True)
class Findings:
    """The report. `drawn_by`: the model of Figure 3, "" where no model aligns."""

    plan: Plan
    claims: Sequence[Claim]
    tables: Sequence[Table1]
    trained: Sequence[Trained]
    curves: Curves
    drawn_by: str
    drawn: Sequence[Drawn]
    long: Sequence[Long]

    def as_dict(self) -> dict[str, Any]:
        """For JSON: every number."""
        return {
            "version": JSON_VERSION,
            "scale": self.plan.scale.name,
            "settings": self.plan.common.model_dump(),
            "minutes": self.plan.minutes,
            "claims": [vars(claim) for claim in self.claims],
            "table_1": [table.as_dict() for table in self.tables],
            "table_2": [trained.as_dict() for trained in self.trained],
            "figure_2": self.curves.as_dict(),
            "figure_3": {"model": self.drawn_by, "sentences": [drawn.as_dict() for drawn in self.drawn]},
            "long_sentences": [long.as_dict() for long in self.long],
        }


def find(
    plan: Plan,
    tests: Sequence[TestSet],
    models: Sequence[Results],
    others: Mapping[str, Sequence[str]],
    sentences: Sequence[str],
    busy: Callable[[str], None],
) -> Findings:
    """Translate what is not translated, and measure. `models` are those that are there, at least one; `others`: outputs
    of further systems for the first test set; `sentences` are drawn in place of chosen ones; `busy` is told of work."""
    made = {results.variant.name: [results.translations(test, busy) for test in tests] for results in models}
    trained = [results.trained(busy) for results in models]
    busy("measuring")
    _warn_of_form(tests[0], others)
    languages = models[0].language
    pooled = measures.pool(tests, made, languages)
    tables = [
        measures.table1(
            test, {name: found[number] for name, found in made.items()}, {} if number else others, languages
        )
        for number, test in enumerate(tests)
    ]
    drawing = next((results for name in _DRAWN for results in models if results.variant.name == name), None)
    return Findings(
        plan,
        _claims(tests[0], {name: found[0] for name, found in made.items()}, pooled),
        tables,
        trained,
        measures.curves(pooled),
        drawing.variant.name if drawing else "",
        _drawn(drawing, pooled, sentences) if drawing else [],
        _long(pooled),
    )


def _warn_of_form(test: TestSet, others: Mapping[str, Sequence[str]]) -> None:
    """Of outputs that are tokenised, where the reference is plain text."""
    systems = [System(name, outputs) for name, outputs in others.items()]
    warn_of_form(Sentences(test.references, test.sources), systems)


def _claims(test: TestSet, models: Mapping[str, Translated], pooled: Pool) -> list[Claim]:
    """Those of which both models are there."""
    found: list[Claim] = []
    if {_SOFT, _FIXED} <= models.keys():
        duel = measures.duel_on(test, models, _SOFT, _FIXED, pooled.languages[1])
        found.append(claims.above(f"{_SOFT} translates better than {_FIXED}", duel))
        fixed, soft, longest = (
            measures.slope(pooled, name, words) for name, words in ((_FIXED, 30), (_SOFT, 30), (_SOFT, 50))
        )
        if fixed and longest:
            falls = f"{_FIXED} falls on sentences of more than 30 words, {_SOFT} stays level on those of more than 50"
            found.append(claims.breaks(falls, fixed, longest))
        if fixed and soft:
            more = f"{_FIXED} loses a larger share of its BLEU on sentences of more than 30 words than {_SOFT}"
            found.append(claims.steeper(more, fixed, soft))
    if {_SOFT_SHORT, _FIXED} <= models.keys() and (short := measures.duel(pooled, _SOFT_SHORT, _FIXED, 30)):
        statement = f"{_SOFT_SHORT} translates sentences of up to 30 words better than {_FIXED}"
        found.append(claims.above(statement, short))
    return found


def _drawn(results: Results, pooled: Pool, given: Sequence[str]) -> list[Drawn]:
    if given:
        pictures = results.pictures(given)
        return [Drawn("given", None, source, None, text, None, picture)
                for source, (text, picture) in zip(given, pictures, strict=True)]  # fmt: skip
    name = results.variant.name
    scores = chrf(pooled.outputs[name], pooled.references)
    candidates = [
        Candidate(i, length, score, looked)
        for i, (length, score, looked) in enumerate(zip(pooled.lengths, scores, pooled.looked[name], strict=True))
        if pooled.outputs[name][i].strip()  # of nothing there is nothing to draw
    ]
    chosen = for_pictures(candidates)
    pictures = results.pictures([pooled.sources[each.number] for each in chosen])
    return [
        Drawn(each.rule, pooled.origins[each.number], pooled.sources[each.number], pooled.references[each.number],
              text, scores[each.number], picture)
        for each, (text, picture) in zip(chosen, pictures, strict=True)
    ]  # fmt: skip


def _long(pooled: Pool) -> list[Long]:
    if not {_SOFT, _FIXED} <= pooled.outputs.keys():
        return []
    one, other = (_scores_of_long(pooled, name) for name in (_SOFT, _FIXED))
    return [_side_by_side(pooled, chosen) for chosen in side_by_side(pooled.lengths, one, other)]


def _scores_of_long(pooled: Pool, name: str) -> list[float]:
    """chrF of the sentences that are long, 0 for the others, which are never looked at."""
    return [
        chrf([output], [reference])[0] if length > 30 else 0.0
        for output, reference, length in zip(pooled.outputs[name], pooled.references, pooled.lengths, strict=True)
    ]


def _side_by_side(pooled: Pool, chosen: Chosen) -> Long:
    number = chosen.number
    reference = pooled.references[number]
    outputs = [
        Output(name, chrf([lines[number]], [reference])[0], *astray(lines[number], reference, pooled.languages[1]))
        for name, lines in pooled.outputs.items()
    ]
    return Long(chosen.rule, pooled.origins[number], pooled.lengths[number], pooled.sources[number], reference, outputs)
