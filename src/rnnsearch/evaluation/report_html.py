"""A report as one HTML page: no scripts, nothing from the network, text escaped."""

import logging

from rnnsearch.evaluation import bands_plot, heatmap, report_tables
from rnnsearch.evaluation.examples import Example
from rnnsearch.evaluation.markup import html_text
from rnnsearch.evaluation.report import Report

log = logging.getLogger("rnnsearch")

#: How any report looks. The variables are those of the heatmaps, light and dark.
STYLE = """
.report { color: var(--ink); font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 0 auto; }
.report h1 { font-size: 1.6rem; margin: 0; } .report h2 { font-size: 1.2rem; margin: 2.5rem 0 .5rem; }
.report h3 { font-size: 1rem; margin: 2rem 0 .5rem; }
.report .wide { overflow: auto; max-width: 100%; margin: 1rem 0; }
.numbers { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.numbers th, .numbers td { padding: .25rem .75rem; text-align: right; vertical-align: top; font-weight: 400;
  border-bottom: 1px solid var(--line); white-space: nowrap; }
.numbers .text { text-align: start; white-space: normal; overflow-wrap: anywhere; }
.numbers th.text { overflow-wrap: normal; } .numbers .text:first-child { min-width: 7.5em; }
.numbers thead th { color: var(--faint); font-size: 13px; vertical-align: bottom; white-space: normal; }
.report .note { color: var(--faint); font-size: 13px; margin: .25rem 0; max-width: 60rem; overflow-wrap: anywhere; }
.report .plot text { font-family: system-ui, sans-serif !important; }
.report .plot svg { width: 100%; max-width: 50rem; height: auto; }
"""


def report_html(report: Report) -> str:
    """The whole page. Without matplotlib it lacks the plot, and a warning says so."""
    tables = report_tables
    title = html_text(f"Evaluation of {report.systems[0].system.name}")
    found = [tables.systems(report), tables.scores(report), tables.bootstrap(report), tables.known(report)]
    parts = [table.as_html() for table in found if table is not None]
    if (bands := tables.bands(report)) is not None:
        parts += [bands.as_html(), _plot(report)]
    parts.append(tables.faults(report).as_html())
    if report.examples:
        parts.append(f"<h2>{html_text(tables.examples_title(report))}</h2>")
        parts += [_example(report, example) for example in report.examples]
    body = "\n".join(filter(None, parts))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{title}</title>\n'
        f"{heatmap.html_style()}\n<style>{STYLE}</style>\n</head>\n"
        f'<body class="rnnsearch-page">\n<main class="report">\n<h1>{title}</h1>\n'
        f"<p>{len(report.text.references):,} sentences</p>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _plot(report: Report) -> str:
    try:
        return f'<div class="plot">{bands_plot.svg(bands_plot.plot_of(report))}</div>'
    except ImportError:
        log.warning('the page has no plot, which needs matplotlib: pip install "rnnsearch[plot]"')
        return ""


def _example(report: Report, example: Example) -> str:
    alignments = report.systems[0].system.alignments
    table = report_tables.example(report, example).as_html().replace("h2>", "h3>")
    return table if alignments is None else f"{table}\n{heatmap.html_figure(alignments[example.sentence])}"
