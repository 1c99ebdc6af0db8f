"""The report as one HTML page: no scripts, nothing from the network, text escaped."""

from collections.abc import Sequence

from rnnsearch.evaluation import bands_plot, heatmap
from rnnsearch.evaluation.markup import html_text
from rnnsearch.evaluation.report_html import STYLE
from rnnsearch.evaluation.tables import Table
from rnnsearch.reproduction import figure2
from rnnsearch.reproduction.document import Block, Heading, Heatmap, Line, Passage, Plot, Text

#: What this report has beside any other.
_STYLE = """
.report > p, .report h3 { max-width: 60rem; }
.passage dt { color: var(--faint); font-size: 13px; }
.passage { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1rem; margin: .5rem 0 1rem;
  max-width: 70rem; }
.passage dd { margin: 0; overflow-wrap: anywhere; }
.passage mark { background: rgb(217 119 6 / .28); color: inherit; border-radius: 2px; }
@media (max-width: 40rem) { .passage { display: block; } .passage dd { margin: 0 0 .5rem; } }
"""


def page(title: str, blocks: Sequence[Block]) -> str:
    """The whole page. Raises ImportError without matplotlib."""
    body = "\n".join(map(_block, blocks))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html_text(title)}</title>\n{heatmap.html_style()}\n<style>{STYLE}{_STYLE}</style>\n</head>\n"
        f'<body class="rnnsearch-page">\n<main class="report">\n<h1>{html_text(title)}</h1>\n{body}\n</main>\n</body>\n'
        "</html>\n"
    )


def _block(block: Block) -> str:
    match block:
        case Heading():
            return f"<h{block.level}>{html_text(block.text)}</h{block.level}>"
        case Text():
            return f"<p>{html_text(block.text)}</p>"
        case Plot():
            return f'<div class="plot">{bands_plot.svg(figure2.plot_of(block.curves))}</div>'
        case Heatmap():
            return heatmap.html_figure(block.picture)
        case Passage():
            return f'<dl class="passage">\n{"".join(map(_line, block.lines))}</dl>'
        case Table():
            return block.as_html()


def _line(line: Line) -> str:
    mark = f"<mark>{html_text(line.astray)}</mark>" if line.astray else ""
    text = " ".join(filter(None, [html_text(line.good), mark]))
    return f'<dt>{html_text(line.label)}</dt><dd dir="auto">{text}</dd>\n'
