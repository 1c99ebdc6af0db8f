"""BLEU by source length as a picture, like the paper's Figure 2; the number of sentences of each length below it."""

import io
from itertools import cycle
from typing import Any

from rnnsearch.evaluation.bootstrap import FEW
from rnnsearch.evaluation.markup import printable
from rnnsearch.evaluation.report import Report

#: Told apart by every kind of colour vision, and seen on white and on near-black alike (Okabe and Ito's).
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
_MARKERS, _DASHES = "osD^v", ("-", "--", "-.", ":")
#: Ink of the SVG while it is drawn, which then becomes the colour of the text around it.
_INK = "#010203"
_SIZE = (8.0, 4.6)


def bands_svg(report: Report) -> str:
    """An svg element for a page; its ink is the colour of the text around it. Raises ImportError without matplotlib."""
    svg = _draw(report, _INK, "svg").decode()
    return svg[svg.index("<svg") :].replace(_INK, "currentColor").strip()


def bands_png(report: Report) -> bytes:
    """A PNG on white. Raises ImportError without matplotlib."""
    return _draw(report, "#1c1c1e", "png")


def _draw(report: Report, ink: str, form: str) -> bytes:
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from rnnsearch.evaluation.fonts import fonts_for

    names = "".join(printable(judged.system.name) for judged in report.systems)
    # Text stays text in an SVG; with a salt of its own the same report gives the same file.
    style: Any = {"svg.fonttype": "none", "svg.hashsalt": "rnnsearch", "text.color": ink, "axes.labelcolor": ink,
             "axes.edgecolor": ink, "xtick.color": ink, "ytick.color": ink,
             "font.family": fonts_for(names)}  # fmt: skip
    with mpl.rc_context(style):
        figure = Figure(figsize=_SIZE, layout="constrained")
        FigureCanvasAgg(figure)
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
        _lines(above, report)
        _bars(below, report, ink)
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


def _lines(axes: Any, report: Report) -> None:
    """A line with its confidence band for each system; hollow where the sentences are few."""
    styles = zip(report.systems, cycle(_COLOURS), cycle(_MARKERS), cycle(_DASHES), strict=False)
    for number, (judged, colour, marker, dashes) in enumerate(styles):
        # Side by side, so that the intervals of several systems do not hide each other.
        places = [i + 0.1 * (number - (len(report.systems) - 1) / 2) for i in range(len(report.bands))]
        scores = [float(found.bleu) for found in judged.bands]
        low, high = zip(*(found.interval() for found in judged.bands), strict=True)
        axes.fill_between(places, low, high, color=colour, alpha=0.15, linewidth=0)
        axes.vlines(places, low, high, color=colour, linewidth=1.2)
        axes.plot(places, scores, color=colour, linestyle=dashes, linewidth=1.8, marker=marker, markevery=[],
                  label=f"{number}")  # fmt: skip
        for few in (False, True):
            chosen = [i for i, band in enumerate(report.bands) if band.few == few]
            axes.plot([places[i] for i in chosen], [scores[i] for i in chosen], linestyle="", marker=marker,
                      color=colour, markersize=7, markeredgewidth=1.6, fillstyle="none" if few else "full")  # fmt: skip
    axes.set_ylabel("BLEU")
    axes.set_ylim(bottom=max(0.0, axes.get_ylim()[0]))
    axes.grid(axis="y", color="#808080", alpha=0.3)
    axes.tick_params(axis="x", length=0)
    if len(report.systems) > 1:
        # Names are put in afterwards: a label that begins with "_" would be left out, and "$" begins a formula.
        for text, judged in zip(axes.legend(frameon=False).get_texts(), report.systems, strict=True):
            text.set_parse_math(False)
            text.set_text(printable(judged.system.name))


def _bars(axes: Any, report: Report, ink: str) -> None:
    counts = [len(band.sentences) for band in report.bands]
    bars = axes.bar(range(len(counts)), counts, width=0.5, color="#808080", alpha=0.6)
    axes.bar_label(bars, [f"{count:,}" for count in counts], padding=2, fontsize=9, color=ink)
    axes.set_xticks(range(len(counts)), [band.label for band in report.bands])
    hollow = f" (hollow: fewer than {FEW} sentences)" if any(band.few for band in report.bands) else ""
    axes.set_xlabel(f"length of the source, in {report.length_unit}{hollow}")
    axes.set_ylabel("sentences")
    axes.set_yticks([])
    axes.set_ylim(top=1.45 * max(counts))
