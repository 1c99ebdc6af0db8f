"""A report as Markdown, text escaped; its plot is a picture beside it."""

from rnnsearch.evaluation import heatmap, report_tables
from rnnsearch.evaluation.examples import Example
from rnnsearch.evaluation.markup import markdown_text
from rnnsearch.evaluation.report import Report


def report_markdown(report: Report, picture: str | None) -> str:
    """The whole text; `picture` is the plot's address as seen from it, None where there is no plot."""
    tables = report_tables
    parts = [
        f"# Evaluation of {markdown_text(report.systems[0].system.name)}\n",
        f"{len(report.text.references):,} sentences\n",
    ]
    found = [tables.systems(report), tables.scores(report), tables.bootstrap(report), tables.known(report)]
    found.append(tables.bands(report))
    parts += [table.as_markdown() for table in found if table is not None]
    if picture is not None:
        parts.append(f"![BLEU by source length]({_address(picture)})\n")
    parts.append(tables.faults(report).as_markdown())
    if report.examples:
        parts.append(f"## {markdown_text(tables.examples_title(report))}\n")
        parts += [_example(report, example) for example in report.examples]
    return "\n".join(parts)


def _example(report: Report, example: Example) -> str:
    table = "#" + report_tables.example(report, example).as_markdown()
    alignments = report.systems[0].system.alignments
    if alignments is None:
        return table
    picture = alignments[example.sentence]
    drawn = heatmap.terminal(picture.rows, picture.columns, picture.matrix, width=120)
    # Set in by four spaces it is shown as it is, whatever its words are.
    return table + "\n" + "".join(f"    {line}".rstrip() + "\n" for line in drawn.splitlines())


def _address(name: str) -> str:
    from urllib.parse import quote

    return quote(name, errors="surrogateescape")
