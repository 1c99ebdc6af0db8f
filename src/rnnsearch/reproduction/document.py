"""The report as a row of blocks, which `page` and `markdown` put into their forms."""

from collections.abc import Sequence
from dataclasses import dataclass

from rnnsearch.evaluation.heatmap import Picture
from rnnsearch.evaluation.tables import Table
from rnnsearch.reproduction import tables
from rnnsearch.reproduction.findings import Drawn, Findings, Long
from rnnsearch.reproduction.measures import Curves
from rnnsearch.reproduction.plan import VARIANTS, Plan


@dataclass(frozen=True)
class Heading:
    """Of a chapter, or (level 3) of a part of one."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Plot:
    """Figure 2."""

    curves: Curves


@dataclass(frozen=True)
class Heatmap:
    """An alignment. `name`: for a file."""

    name: str
    picture: Picture


@dataclass(frozen=True)
class Line:
    """A line of a passage: whose it is, what is good in it, and what went astray."""

    label: str
    good: str
    astray: str = ""


@dataclass(frozen=True)
class Passage:
    """The same sentence in several versions."""

    lines: Sequence[Line]


Block = Heading | Text | Plot | Heatmap | Passage | Table


def document(findings: Findings) -> list[Block]:
    """The whole report."""
    return [
        *_opening(findings), *_table1(findings), *_table2(findings), *_figure2(findings), *_figure3(findings),
        *_long(findings), Heading("Settings of all models"), tables.settings(findings),
    ]  # fmt: skip


def title(findings: Findings) -> str:
    """Its title."""
    source, target = findings.plan.languages
    return f"Learning to align and translate, {source} to {target}: the paper's experiments"


def _opening(findings: Findings) -> list[Block]:
    blocks: list[Block] = [Text(_introduction(findings.plan))]
    if len(findings.trained) < len(VARIANTS) or not all(trained.ended for trained in findings.trained):
        there = ", ".join(trained.name + ("" if trained.ended else " (not ended)") for trained in findings.trained)
        blocks.append(Text(f"This report is not the last: so far there are {there}."))
    if findings.claims:
        blocks += [Heading("Do the paper's claims hold here?"), tables.verdicts(findings), Text(
            "The first is asked of the first test set, the others of all test sets together. A difference is taken for "
            "one where chance makes it less often than 5 times in 100 (paired bootstrap). Short sentences are those of "
            "11 to 30 words; a model is level if it keeps at least 90 % of its BLEU of them, the uncertainty of both "
            "numbers considered."
        )]  # fmt: skip
    return blocks


def _introduction(plan: Plan) -> str:
    minutes = plan.minutes_of(VARIANTS[0])
    time = f" for {minutes:.3g} minutes each ({plan.minutes_of(VARIANTS[-1]):.3g} in all RNNsearch-50*)"
    return (
        "Five models, trained alike"
        + (time if minutes else "")
        + " but for what the paper changes: whether the decoder sees one fixed vector (RNNencdec) or searches softly "
        "in the source (RNNsearch), and whether training pairs have up to 30 or up to 50 words. All share their "
        f"vocabularies, optimiser and seed. Scale: {plan.scale.name}."
    )


def _table1(findings: Findings) -> list[Block]:
    blocks: list[Block] = []
    for number, table in enumerate(findings.tables):
        blocks += [
            Heading("Table 1: BLEU" if not number else f"Table 1 for {table.test.name}"),
            tables.scores(table, first=not number), Heading("Faults", 3), tables.faults(table),
        ]  # fmt: skip
    blocks.append(Text(
        "Loops: a phrase at least three times in succession, which the reference does not loop. Too short, too long: "
        "less than half, more than twice as many characters as the reference."
    ))  # fmt: skip
    return blocks


def _table2(findings: Findings) -> list[Block]:
    return [
        Heading("Table 2: training"), tables.training(findings),
        Heading("Table 2 in the paper", 3), tables.training_published(),
    ]  # fmt: skip


def _figure2(findings: Findings) -> list[Block]:
    names = ", ".join(table.test.name for table in findings.tables)
    many = len(findings.tables) > 1
    which = f"{names} together, repeated pairs once" if many else names
    return [
        Heading("Figure 2: BLEU against the length of the source"),
        Plot(findings.curves),
        Text(f"Of {which}. Bands are 95 % intervals by bootstrap; vertical lines stand where training pairs ended."),
        tables.bands(findings.curves),
    ]


def _figure3(findings: Findings) -> list[Block]:
    if not findings.drawn:
        return []
    blocks: list[Block] = [
        Heading("Figure 3: where it looked"),
        Text(
            f"By {findings.drawn_by}: source across, target down, from 0 (black) to 1 (white). A link is clear if a "
            "target word gave it at least half of its weight."
        ),
    ]
    for number, drawn in enumerate(findings.drawn, start=1):
        blocks += [Heading(_where(drawn), 3), Passage(_versions(drawn)), Heatmap(f"figure-3-{number}", drawn.picture)]
    return blocks


def _where(drawn: Drawn) -> str:
    rule, _, how = drawn.rule.partition(": ")
    place = "" if drawn.origin is None else f" ({drawn.origin[0]}, line {drawn.origin[1]:,}; {how})"
    return f"{rule[0].upper()}{rule[1:]}{place}"


def _versions(drawn: Drawn) -> list[Line]:
    lines = [Line("source", drawn.source)]
    if drawn.reference is not None:
        lines.append(Line("reference", drawn.reference))
    score = "" if drawn.chrf is None else f", chrF {drawn.chrf:.1f}"
    return [*lines, Line(f"output{score}", drawn.output)]


def _long(findings: Findings) -> list[Block]:
    if not findings.long:
        return []
    blocks: list[Block] = [
        Heading("Long sentences side by side"),
        Text(
            "Where RNNsearch-50 and RNNencdec-50 differ most in chrF, either way. Marked is where a translation went "
            "astray: from the first word after which no two successive words stand so in the reference (as often as "
            "that), if at least three words are left."
        ),
    ]
    for long in findings.long:
        blocks += [
            Heading(f"{long.words} words ({long.origin[0]}, line {long.origin[1]:,})", 3),
            Passage(_all_of(long)),
        ]
    return blocks


def _all_of(long: Long) -> list[Line]:
    outputs = [Line(f"{output.name}, chrF {output.chrf:.1f}", output.good, output.astray) for output in long.outputs]
    return [Line("source", long.source), Line("reference", long.reference), *outputs]
