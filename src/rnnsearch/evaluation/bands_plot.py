"""BLEU by source length as a picture, like the paper's Figure 2; the number of sentences of each length below it."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any, NamedTuple

from rnnsearch.evaluation.bands import Band
from rnnsearch.evaluation.bootstrap import FEW, Estimate
from rnnsearch.evaluation.markup import printable
from rnnsearch.evaluation.report import Report

#: Told apart by every kind of colour vision, and seen on white and on near-black alike (Okabe and Ito's).
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
_MARKERS, _DASHES = "osD^v", ("-", "--", "-.", ":")
#: Ink of the SVG while it is drawn, which then becomes the colour of the text around it.
_INK = "#010203"
_SIZE = (8.2, 5.0)


class Curve(NamedTuple):
    """A system's line: an estimate for each band, and how it is drawn."""

    name: str
    estimates: Sequence[Estimate]
    colour: str
    dashes: str
    marker: str


@dataclass(frozen=True)
class Plot:
    """What is drawn. unit: of the lengths; limits: lengths to be marked, such as those that were trained on."""

    bands: Sequence[Band]
    curves: Sequence[Curve]
    unit: str = "words"
    score: str = "BLEU"
    limits: Sequence[int] = ()


def plot_of(report: Report) -> Plot:
    """The plot of a report with at least one band."""
    styles = zip(report.systems, cycle(_COLOURS), cycle(_DASHES), cycle(_MARKERS), strict=False)
    curves = [Curve(printable(judged.system.name), judged.bands, *style) for judged, *style in styles]
    return Plot(report.bands, curves, report.length_unit)


def svg(plot: Plot) -> str:
    """An svg element for a page; its ink is the colour of the text around it. Raises ImportError without matplotlib."""
    drawn = _draw(plot, _INK, "svg").decode()
    return drawn[drawn.index("<svg") :].replace(_INK, "currentColor").strip()


def png(plot: Plot) -> bytes:
    """A PNG on white. Raises ImportError without matplotlib."""
    return _draw(plot, "#1c1c1e", "png")


def _draw(plot: Plot, ink: str, form: str) -> bytes:
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from rnnsearch.evaluation.fonts import fonts_for

    # Text stays text in an SVG; with a salt of its own the same report gives the same file.
    style: Any = {"svg.fonttype": "none", "svg.hashsalt": "rnnsearch", "text.color": ink, "axes.labelcolor": ink,
             "axes.edgecolor": ink, "xtick.color": ink, "ytick.color": ink,
             "font.family": fonts_for("".join(curve.name for curve in plot.curves))}  # fmt: skip
    with mpl.rc_context(style):
        figure = Figure(figsize=_SIZE, layout="constrained")
        FigureCanvasAgg(figure)
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
        for number, curve in enumerate(plot.curves):
            _line(above, plot, curve, number - (len(plot.curves) - 1) / 2)
        _dress(above, plot, ink)
        _bars(below, plot, ink)
        for axes in (above, below):
            axes.set_facecolor("none")
            axes.spines[["top", "right"]].set_visible(False)
        data = io.BytesIO()
        options: dict[str, Any] = (
            {"metadata": {"Creator": None, "Date": None, "Format": None, "Type": None}, "transparent": True}
            if form == "svg"
            else {"dpi": 130, "facecolor": "white"}
        )
        figure.savefig(data, format=form, **options)
    return data.getvalue()


def _line(axes: Any, plot: Plot, curve: Curve, aside: float) -> None:
    """A line with its confidence band; hollow where the sentences are few."""
    # Side by side, so that the intervals of several systems do not hide each other.
    places = [i + 0.08 * aside for i in range(len(plot.bands))]
    scores = [float(each.bleu) for each in curve.estimates]
    low, high = zip(*(each.interval() for each in curve.estimates), strict=True)
    axes.fill_between(places, low, high, color=curve.colour, alpha=0.14, linewidth=0)
    axes.vlines(places, low, high, color=curve.colour, linewidth=1.2)
    # The name is put in afterwards: a label that begins with "_" would be left out, and "$" begins a formula.
    axes.plot(places, scores, color=curve.colour, linestyle=curve.dashes, linewidth=1.9, marker=curve.marker,
              markevery=[], label="name")  # fmt: skip
    for few in (False, True):
        chosen = [i for i, band in enumerate(plot.bands) if band.few == few]
        axes.plot([places[i] for i in chosen], [scores[i] for i in chosen], linestyle="", marker=curve.marker,
                  color=curve.colour, markersize=6.5, markeredgewidth=1.6,
                  fillstyle="none" if few else "full")  # fmt: skip


def _dress(axes: Any, plot: Plot, ink: str) -> None:
    axes.set_ylabel(plot.score)
    low, high = max(0.0, axes.get_ylim()[0]), axes.get_ylim()[1]
    axes.set_ylim(low, high + (0.07 * (high - low) if plot.limits else 0.0))  # what marks the limits needs room
    axes.grid(axis="y", color="#808080", alpha=0.3)
    axes.tick_params(axis="x", length=0)
    for limit in plot.limits:
        before = sum(band.last is not None and band.last <= limit for band in plot.bands)
        if 0 < before < len(plot.bands):
            axes.axvline(before - 0.5, color=ink, linewidth=0.9, linestyle=(0, (2, 3)))
            axes.text(before - 0.53, 0.985, f"trained to {limit}", transform=axes.get_xaxis_transform(), fontsize=8,
                      ha="right", va="top", color=ink)  # fmt: skip
    if len(plot.curves) > 1:
        legend = axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), fontsize=9,
                             ncols=min(len(plot.curves), 5), handlelength=2.8, columnspacing=1.4)  # fmt: skip
        for text, curve in zip(legend.get_texts(), plot.curves, strict=True):
            text.set_parse_math(False)
            text.set_text(curve.name)


def _bars(axes: Any, plot: Plot, ink: str) -> None:
    counts = [len(band.sentences) for band in plot.bands]
    bars = axes.bar(range(len(counts)), counts, width=0.5, color="#808080", alpha=0.6)
    axes.bar_label(bars, [f"{count:,}" for count in counts], padding=2, fontsize=9, color=ink)
    axes.set_xticks(range(len(counts)), [band.label for band in plot.bands])
    hollow = f" (hollow: fewer than {FEW} sentences)" if any(band.few for band in plot.bands) else ""
    axes.set_xlabel(f"length of the source, in {plot.unit}{hollow}")
    axes.set_ylabel("sentences")
    axes.set_yticks([])
    axes.set_ylim(top=1.45 * max(counts))
