"""The tables of a report, each once for all of its forms."""

from collections.abc import Callable, Sequence
from itertools import islice

from rnnsearch.evaluation.bootstrap import Estimate
from rnnsearch.evaluation.examples import Example
from rnnsearch.evaluation.faults import Faults
from rnnsearch.evaluation.metrics import Score, Scores
from rnnsearch.evaluation.report import Judged, Report
from rnnsearch.evaluation.tables import Table

#: Line numbers of a fault that are shown.
_SHOWN = 10
_LABELS = {
    "bleu": "BLEU",
    "chrf": "chrF",
    "tokenised_bleu": "BLEU, tokenised",
    "length_ratio": "length ratio",
    "unknown_output": "unknown words, output",
    "unknown_source": "unknown words, source",
}
_FAULTS: dict[str, Callable[[Faults], list[int] | None]] = {
    "loops": lambda faults: faults.loops,
    "too short": lambda faults: faults.too_short,
    "too long": lambda faults: faults.too_long,
    "empty": lambda faults: faults.empty,
    "copies of the source": lambda faults: faults.copies,
}
_FAULTS_NOTES = (
    "loops: a phrase of one to eight words at least three times in succession, which the reference does not loop; "
    "too short, too long: less than half, more than twice as many characters as the reference, spaces left out; "
    "empty: nothing for a line that is not empty; copies: the source unchanged, where the reference is not the same.",
)


def systems(report: Report) -> Table:
    """Where the outputs came from."""
    rows = [[judged.system.name, judged.system.translator or "translations from a file"] for judged in report.systems]
    return Table("Systems", ["", "translated by"], rows, left=(0, 1))


def scores(report: Report) -> Table:
    """Every score of every system, with its signature."""
    return _scores(
        "Scores", [judged.system.name for judged in report.systems], [judged.scores for judged in report.systems]
    )


def bootstrap(report: Report) -> Table:
    """BLEU with its confidence, and the other systems against the main one."""
    main, *others = report.systems
    header = ["", "BLEU", "95 % interval"]
    rows = [
        [judged.system.name, f"{judged.estimate.bleu:.2f}", _interval(judged.estimate)] for judged in report.systems
    ]
    notes = [f"bootstrap{', paired for the differences' if others else ''}: {main.estimate.bleu.signature}"]
    if others:
        header += [f"against {main.system.name}", "p"]
        rows = [row + _comparison(judged) for row, judged in zip(rows, report.systems, strict=True)]
    return Table("BLEU with its confidence", header, rows, notes=notes)


def known(report: Report) -> Table | None:
    """The scores of the sentences without unknown words, or why there are none; None without a main model."""
    text, main = report.text, report.systems[0]
    if text.known is None:
        return None
    count, total = len(text.known), len(text.references)
    title = f"No [UNK]: {count:,} of {total:,} sentences"
    if main.known is None:
        return Table(title, [], [], notes=["Every sentence holds a word outside of the main model's vocabularies."])
    if count == total and all(judged.system.without_unk is None for judged in report.systems):
        return Table(title, [], [], notes=["No sentence holds an unknown word: the scores are those above."])
    found = [judged.known for judged in report.systems if judged.known is not None]
    notes = ["Sentences without a word outside of the main model's vocabularies, translated without [UNK]."]
    return _scores(title, [judged.system.name for judged in report.systems], found, notes)


def bands(report: Report) -> Table | None:
    """BLEU by the length of the source; None without sources."""
    if not report.bands:
        return None
    header = [report.length_unit, "sentences"]
    for judged in report.systems:
        header += [judged.system.name, "95 % interval"]
    rows = []
    for number, band in enumerate(report.bands):
        row = [band.label, f"{len(band.sentences):,}{' (few)' if band.few else ''}"]
        for judged in report.systems:
            found = judged.bands[number]
            row += [f"{found.bleu:.2f}", _interval(found)]
        rows.append(row)
    signature = report.systems[0].bands[0].bleu.signature
    return Table(f"BLEU by source length, in {report.length_unit}", header, rows, notes=[f"bootstrap: {signature}"])


def faults(report: Report) -> Table:
    """How many outputs have which fault, and the first lines that have it."""
    rows = []
    for label, of in _FAULTS.items():
        for judged in report.systems:
            lines = of(judged.faults)
            if lines is not None:
                rows.append([label, judged.system.name, f"{len(lines):,}", _first(lines)])
    return Table("Faults", ["", "system", "sentences", "lines"], rows, left=(0, 1, 3), notes=_FAULTS_NOTES)


def example(report: Report, chosen: Example) -> Table:
    """A sentence with its source, its reference and all outputs."""
    number, sources = chosen.sentence, report.text.sources
    rows = [] if sources is None else [["source", "", sources[number]]]
    rows.append(["reference", "", report.text.references[number]])
    for judged, chrf in zip(report.systems, chosen.chrf, strict=True):
        rows.append([judged.system.name, f"{chrf:.1f}", judged.system.outputs[number]])
    return Table(f"Line {number + 1:,}", ["", "chrF", "text"], rows, left=(0, 2))


def examples_title(report: Report) -> str:
    """What the examples are."""
    if len(report.systems) == 1:
        return f"The {len(report.examples)} sentences with the lowest chrF"
    return (
        f"The {len(report.examples)} sentences where {report.systems[0].system.name} differs most from another in chrF"
    )


def _scores(title: str, names: Sequence[str], found: Sequence[Scores], notes: Sequence[str] = ()) -> Table:
    header = ["", *(["score"] if len(names) == 1 else names), "signature"]
    rows = []
    for name, label in _LABELS.items():
        values = [getattr(scores, name) for scores in found]
        signatures = [value.signature for value in values if value is not None]
        if signatures:
            rows.append([label, *(_shown(name, value) for value in values), signatures[0]])
    return Table(title, header, rows, left=(0, len(header) - 1), notes=notes)


def _shown(name: str, score: Score | None) -> str:
    if score is None:
        return ""
    return f"{100 * score:.2f} %" if name.startswith("unknown") else f"{score:.{3 if 'ratio' in name else 2}f}"


def _interval(of: Estimate) -> str:
    return "{:.2f} to {:.2f}".format(*of.interval())


def _comparison(judged: Judged) -> list[str]:
    found = judged.comparison
    if found is None:
        return ["", ""]
    return [f"{found.difference:+.2f}", "" if found.p_value is None else f"{found.p_value:.3f}"]


def _first(lines: Sequence[int]) -> str:
    more = f" and {len(lines) - _SHOWN:,} more" if len(lines) > _SHOWN else ""
    return ", ".join(f"{number}" for number in islice(lines, _SHOWN)) + more
