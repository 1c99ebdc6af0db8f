"""The report as Markdown, text escaped; its figures are pictures beside it."""

from collections.abc import Sequence
from pathlib import Path

from rnnsearch.evaluation import bands_plot, heatmap
from rnnsearch.evaluation.markup import markdown_text
from rnnsearch.evaluation.tables import Table
from rnnsearch.files import write_whole
from rnnsearch.reproduction import figure2
from rnnsearch.reproduction.document import Block, Heading, Heatmap, Line, Passage, Plot, Text

#: Name of the picture of Figure 2.
FIGURE_2 = "figure-2.png"


def write_markdown(folder: Path, title: str, blocks: Sequence[Block]) -> None:
    """Write report.md and its pictures. Raises ImportError without matplotlib, OSError for a bad folder."""
    for left in folder.glob("figure-3-*.png"):  # of an earlier report
        left.unlink()
    text = "\n".join([f"# {markdown_text(title)}\n", *(_block(block, folder) for block in blocks)])
    write_whole(folder / "report.md", text.encode("utf-8", errors="replace"))


def _block(block: Block, folder: Path) -> str:
    match block:
        case Heading():
            return f"{'#' * block.level} {markdown_text(block.text)}\n"
        case Text():
            return f"{markdown_text(block.text)}\n"
        case Plot():
            write_whole(folder / FIGURE_2, bands_plot.png(figure2.plot_of(block.curves)))
            return f"![BLEU against the length of the source]({FIGURE_2})\n"
        case Heatmap():
            heatmap.png(folder / f"{block.name}.png", block.picture.rows, block.picture.columns, block.picture.matrix)
            return f"![Alignment]({block.name}.png)\n"
        case Passage():
            return "".join(map(_line, block.lines))
        case Table():
            return block.as_markdown()


def _line(line: Line) -> str:
    astray = f"**{markdown_text(line.astray.strip())}**" if line.astray.strip() else ""
    text = " ".join(filter(None, [markdown_text(line.good), astray]))
    return f"- {markdown_text(line.label)}: {text}\n"
