"""The paper's Figure 3: an alignment as squares from black (0) to white (1), source across and target down.

Three drawings of one matrix [target words, source words]: a PNG, a self-contained HTML page, and text for a terminal.
"""

import io
import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TextIO

import numpy as np
from numpy.typing import NDArray

from rnnsearch.errors import UserError
from rnnsearch.evaluation.markup import html_text, printable
from rnnsearch.files import write_whole

Style = Literal["colour", "blocks", "ascii"]

#: Sizes of the PNG: a square stays larger than its label is high, so the figure grows with the sentence.
_SQUARE_INCHES = 0.2
_LABEL_POINTS = 9
_DPI = 150
#: Pixels that a PNG may have: 50 million take 200 MB while it is drawn. Beyond (300 x 300 words) it gets coarser.
_MOST_PIXELS = 50e6
#: Longest label, in characters as the eye counts them: of the PNG, above and beside the squares in a terminal.
_LONGEST_PNG, _LONGEST_ABOVE, _LONGEST_BESIDE = 32, 12, 20
_SHADES = {"blocks": " ░▒▓█", "ascii": " .:-=+*#%@"}


class Picture(NamedTuple):
    """An alignment to draw."""

    title: str
    rows: Sequence[str]  #: target words
    columns: Sequence[str]  #: source words
    matrix: NDArray[np.floating[Any]]  #: [target words, source words], each from 0 to 1


def png(
    path: Path, rows: Sequence[str], columns: Sequence[str], matrix: NDArray[np.floating[Any]], title: str = ""
) -> None:
    """Write a PNG of `matrix` [rows, columns]. Raises UserError without matplotlib, OSError for a bad `path`."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise UserError('a PNG needs matplotlib: pip install "rnnsearch[plot]"') from None
    grid = _grid(rows, columns, matrix)
    down, across = [_shorten(w, _LONGEST_PNG) for w in rows], [_shorten(w, _LONGEST_PNG) for w in columns]
    title = _shorten(title, 100)
    # The figure is the squares alone; saving "tight" adds what the labels need. A Figure of one's own, without pyplot,
    # touches no state that others could see.
    size = (max(1, len(columns)) * _SQUARE_INCHES, max(1, len(rows)) * _SQUARE_INCHES)
    figure = Figure(figsize=size)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    from rnnsearch.evaluation.fonts import fonts_for

    reason = _nothing(rows, columns)
    text: dict[str, Any] = {
        "fontfamily": fonts_for("".join([*down, *across, title, reason])),
        "fontsize": _LABEL_POINTS,
        "parse_math": False,
    }
    if reason:
        axes.set_axis_off()
        axes.text(0.5, 0.5, reason, ha="center", va="center", **text)
    else:
        axes.imshow(grid, cmap="gray", vmin=0, vmax=1, interpolation="nearest", aspect="auto")
        axes.xaxis.tick_top()
        axes.tick_params(length=0, pad=3)
        axes.set_xticks(range(len(across)), across, rotation=90, **text)
        axes.set_yticks(range(len(down)), down, **text)
    if title:
        axes.set_title(title, loc="left", pad=8, **text)
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=_dpi(size), bbox_inches="tight", pad_inches=0.15, facecolor="white")
    write_whole(path, data.getvalue())


def _dpi(size: tuple[float, float]) -> float:
    margin = 2.5  # inches, about what the longest labels take
    return min(_DPI, math.sqrt(_MOST_PIXELS / ((size[0] + margin) * (size[1] + margin))))


def html(pictures: Iterable[tuple[str, Sequence[str], Sequence[str], NDArray[np.floating[Any]]]]) -> str:
    """One page with every (title, rows, columns, matrix) on it: no scripts, nothing from the network, text escaped.

    Its styles apply to its own elements only, so it may also be put into another page, as notebooks do.
    """
    figures = "\n".join(html_figure(Picture(*picture)) for picture in pictures)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>Alignment</title>\n'
        f'</head>\n<body class="rnnsearch-page">\n<style>{_STYLE}</style>\n{figures}\n</body>\n</html>\n'
    )


def html_style() -> str:
    """The style element that a page needs once for all of its figures."""
    return f"<style>{_STYLE}</style>"


def html_figure(picture: Picture) -> str:
    """The figure element of one alignment, for a page that holds other things too and `html_style()` once."""
    title, rows, columns, matrix = picture
    caption = f'<figcaption dir="auto">{html_text(title)}</figcaption>\n' if title else ""
    if reason := _nothing(rows, columns):
        return f'<figure class="rnnsearch">{caption}<p class="nothing">{html_text(reason)}</p></figure>'
    head = "".join(
        f'<th scope="col"><span dir="auto" title="{html_text(w)}">{html_text(w)}</span></th>' for w in columns
    )
    body = []
    for row, weights in zip(rows, _grid(rows, columns, matrix), strict=True):
        cells = "".join(_html_square(w, row, v) for w, v in zip(columns, weights.tolist(), strict=True))
        label = f'<th scope="row"><span dir="auto" title="{html_text(row)}">{html_text(row)}</span></th>'
        body.append(f"<tr>{label}{cells}</tr>")
    table = f"<table>\n<thead><tr><td></td>{head}</tr></thead>\n<tbody>\n" + "\n".join(body) + "\n</tbody>\n</table>"
    meaning = "weight of each source word (across) for each target word (down)"
    scale = f'<p class="scale">0 <i></i> 1 <small>{meaning}</small></p>'
    return f'<figure class="rnnsearch">{caption}<div tabindex="0">{table}</div>\n{scale}</figure>'


def _html_square(source: str, target: str, weight: float) -> str:
    # Isolates keep a right-to-left word from pulling its neighbour and the number into its direction.
    title = f"{weight:.3f}  \u2068{html_text(source)}\u2069 \u2192 \u2068{html_text(target)}\u2069"
    return f'<td style="--v:{100 * weight:.3g}%" title="{title}"></td>'


_STYLE = """
.rnnsearch-page, .rnnsearch { --paper: #fff; --ink: #1c1c1e; --faint: #6b6b70; --line: #d5d5da; --mark: #b3400b; }
@media (prefers-color-scheme: dark) {
  .rnnsearch-page, .rnnsearch { --paper: #1d1f23; --ink: #ececee; --faint: #a0a0a6; --line: #44474d; --mark: #ffa05c; }
}
.rnnsearch-page { color-scheme: light dark; margin: 0; padding: 1.5rem; background: var(--paper); }
.rnnsearch { margin: 0 0 2.5rem; color: var(--ink); background: var(--paper); font: 15px/1.4 system-ui, sans-serif; }
.rnnsearch figcaption { margin: 0 0 .75rem; font-weight: 600; max-width: 60rem; }
.rnnsearch > div { overflow: auto; max-width: 100%; max-height: 88vh; }
.rnnsearch table { border-collapse: separate; border-spacing: 0; margin: 0; font-size: 14px; }
.rnnsearch tr { background: none; }
.rnnsearch th { font-weight: 400; padding: 0; background: var(--paper); color: var(--ink); border: 0; }
.rnnsearch thead th, .rnnsearch thead td { position: sticky; top: 0; z-index: 1; vertical-align: bottom; }
.rnnsearch tbody th, .rnnsearch thead td { position: sticky; left: 0; z-index: 2; text-align: right; }
.rnnsearch thead td { z-index: 3; background: var(--paper); border: 0; }
.rnnsearch th span { display: inline-block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.rnnsearch thead span { writing-mode: vertical-rl; text-orientation: sideways; transform: rotate(180deg);
  max-height: 13em; padding: .3rem 0; line-height: 22px; text-align: left; }
.rnnsearch tbody span { max-width: 13em; padding: 0 .5rem 0 .3rem; line-height: 22px; vertical-align: middle; }
.rnnsearch tbody td { width: 22px; min-width: 22px; height: 22px; padding: 0; border: 0;
  background: hsl(0 0% var(--v)); box-shadow: inset 0 0 0 .5px rgb(128 128 128 / .35); }
.rnnsearch tbody td:hover { outline: 3px solid var(--mark); outline-offset: -1px; }
.rnnsearch tr:hover > th { color: var(--mark); font-weight: 600; }
.rnnsearch .scale, .rnnsearch .nothing { margin: .75rem 0 0; color: var(--faint); font-size: 13px; }
.rnnsearch .scale i { display: inline-block; width: 8rem; height: .8em; vertical-align: -1px;
  background: linear-gradient(90deg, #000, #fff); box-shadow: 0 0 0 1px var(--line); }
.rnnsearch .scale small { margin-left: 1.5em; font-size: inherit; }
"""


def terminal_style(stream: TextIO) -> Style:
    """How to draw on `stream`: greys on a terminal with colour, else block characters where it can write them."""
    if stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb":
        return "colour"
    try:
        (_SHADES["blocks"] + "…").encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return "ascii"
    return "blocks"


def terminal(
    rows: Sequence[str],
    columns: Sequence[str],
    matrix: NDArray[np.floating[Any]],
    *,
    style: Style = "blocks",
    width: int = 80,
) -> str:
    """`matrix` [rows, columns] as lines of text, two columns of the terminal a square, source words written downwards.

    Where `width` columns do not hold all source words, panels of equal size follow one another. In `colour` 1 is white
    as in the paper; in `blocks` and `ascii` it is the densest character.
    """
    from rich.cells import cell_len

    if reason := _nothing(rows, columns):
        return f"({reason})\n"
    grid = _grid(rows, columns, matrix)
    labels = [_shorten(word, max(4, min(_LONGEST_BESIDE, width // 3))) for word in rows]
    margin = max(map(cell_len, labels))
    panels = -(-len(columns) // max(1, (width - margin - 1) // 2))
    size = -(-len(columns) // panels)
    lines: list[str] = []
    for start in range(0, len(columns), size):
        part = columns[start : start + size]
        if size < len(columns):
            lines.append(f"source words {start + 1}-{start + len(part)} of {len(columns)}")
        lines += [f"{'':{margin}} {line}" for line in _downwards(part)]
        for label, weights in zip(labels, grid[:, start : start + size], strict=True):
            lines.append(" " * (margin - cell_len(label)) + f"{label} {_squares(weights, style)}")
        lines.append("")
    scale = f"0 {_squares(np.linspace(0, 1, 6), style)} 1"
    lines.append(" " * max(0, min(margin + 1, width - 16)) + scale)
    return "\n".join(lines) + "\n"


def _downwards(words: Sequence[str]) -> list[str]:
    """Words written from top to bottom side by side, ending at the same line; each takes two columns."""
    letters = [_letters(_shorten(word, _LONGEST_ABOVE)) for word in words]
    height = max(map(len, letters))
    padded = [[("", 0)] * (height - len(word)) + word for word in letters]
    lines = ["".join(letter + " " * (2 - size) for letter, size in line) for line in zip(*padded, strict=True)]
    return [line.rstrip() for line in lines]


def _squares(weights: NDArray[np.floating[Any]], style: Style) -> str:
    if style != "colour":
        shades = _SHADES[style]
        return "".join(shades[min(int(w * len(shades)), len(shades) - 1)] * 2 for w in weights.tolist()).rstrip()
    # Of the 256 colours of terminals, 232 to 255 are greys; 16 is black and 231 white.
    steps = [16, *range(232, 256), 231]
    return "".join(f"\x1b[48;5;{steps[round(w * 25)]}m  " for w in weights.tolist()) + "\x1b[0m"


def _letters(word: str) -> list[tuple[str, int]]:
    """The characters of a word as the eye counts them (marks stay with their letter), each with its columns."""
    from rich.cells import split_graphemes

    return [(word[start:end], size) for start, end, size in split_graphemes(word)[0]]


def _shorten(word: str, longest: int) -> str:
    """`word` without control characters, which would steer a terminal, and cut to `longest` columns."""
    from rich.cells import cell_len

    word = printable(word)
    if cell_len(word) <= longest:
        return word
    kept, used = "", 0
    for letter, size in _letters(word):
        if used + size >= longest:
            break
        kept, used = kept + letter, used + size
    return kept + "…"


def _nothing(rows: Sequence[str], columns: Sequence[str]) -> str:
    """Why there is nothing to draw, or ''."""
    sides = [name for name, words in (("source", columns), ("target", rows)) if not words]
    return (
        f"nothing to align: the {' and the '.join(sides)} {'is' if len(sides) == 1 else 'are'} empty" if sides else ""
    )


def _grid(rows: Sequence[str], columns: Sequence[str], matrix: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """`matrix` checked against its labels and held between 0 and 1. Raises ValueError for another shape."""
    if not rows or not columns:
        return np.zeros((len(rows), len(columns)))
    grid = np.asarray(matrix, dtype=np.float64)
    if grid.shape != (len(rows), len(columns)):
        raise ValueError(f"an alignment of shape {grid.shape} for {len(rows)} target and {len(columns)} source words")
    return np.clip(np.nan_to_num(grid), 0, 1)
