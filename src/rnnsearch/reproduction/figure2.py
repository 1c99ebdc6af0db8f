"""The paper's Figure 2: BLEU against the length of the source, all models in one plot, the sentences counted below."""

import io
from typing import Any, Literal

from rnnsearch.evaluation.bootstrap import FEW
from rnnsearch.reproduction.measures import Curves

#: The soft search in warm colours and unbroken lines, the fixed vector in cold ones and dashes; pale is up to 30 words.
#: All are told apart by every kind of colour vision (after Okabe and Ito), on white and on near-black.
_STYLES = {
    "RNNencdec-30": ("#56b4e9", ":", "v"),
    "RNNencdec-50": ("#0072b2", "--", "^"),
    "RNNsearch-30": ("#e69f00", "-.", "D"),
    "RNNsearch-50": ("#d55e00", "-", "o"),
    "RNNsearch-50*": ("#cc79a7", "-", "s"),
}
#: Longest training pairs, in words.
_LIMITS = (30, 50)
#: Ink of the SVG while it is drawn, which then becomes the colour of the text around it.
_INK = "#010203"
_SIZE = (8.4, 5.4)


def svg(curves: Curves) -> str:
    """An svg element for a page; its ink is the colour of the text around it. Raises ImportError without matplotlib."""
    drawn = _draw(curves, _INK, "svg").decode()
    return drawn[drawn.index("<svg") :].replace(_INK, "currentColor").strip()


def png(curves: Curves) -> bytes:
    """A PNG on white. Raises ImportError without matplotlib."""
    return _draw(curves, "#1c1c1e", "png")


def _draw(curves: Curves, ink: str, form: Literal["svg", "png"]) -> bytes:
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    style: Any = {"svg.fonttype": "none", "svg.hashsalt": "rnnsearch", "text.color": ink, "axes.labelcolor": ink,
             "axes.edgecolor": ink, "xtick.color": ink, "ytick.color": ink}  # fmt: skip
    with mpl.rc_context(style):
        figure = Figure(figsize=_SIZE, layout="constrained")
        FigureCanvasAgg(figure)
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(5, 1))
        _lines(above, curves)
        _limits(above, curves, ink)
        _bars(below, curves, ink)
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


def _lines(axes: Any, curves: Curves) -> None:
    """A line with its confidence band for each model; hollow where the sentences are few."""
    for number, (name, found) in enumerate(curves.models.items()):
        colour, dashes, marker = _STYLES[name]
        # Side by side, so that the intervals of several models do not hide each other.
        places = [i + 0.07 * (number - (len(curves.models) - 1) / 2) for i in range(len(curves.bands))]
        scores = [float(each.bleu) for each in found]
        low, high = zip(*(each.interval() for each in found), strict=True)
        axes.fill_between(places, low, high, color=colour, alpha=0.13, linewidth=0)
        axes.vlines(places, low, high, color=colour, linewidth=1.1)
        axes.plot(places, scores, color=colour, linestyle=dashes, linewidth=2, label=name)
        for few in (False, True):
            chosen = [i for i, band in enumerate(curves.bands) if band.few == few]
            axes.plot([places[i] for i in chosen], [scores[i] for i in chosen], linestyle="", marker=marker,
                      color=colour, markersize=6, markeredgewidth=1.5, fillstyle="none" if few else "full")  # fmt: skip
    axes.set_ylabel("BLEU, tokenised")
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", color="#808080", alpha=0.3)
    axes.tick_params(axis="x", length=0)
    axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, 1.12), ncols=len(curves.models), fontsize=9,
                handlelength=2.8, columnspacing=1.4)  # fmt: skip


def _limits(axes: Any, curves: Curves, ink: str) -> None:
    """Lines where the training pairs of the models end."""
    for limit in _LIMITS:
        before = sum(band.last is not None and band.last <= limit for band in curves.bands)
        if 0 < before < len(curves.bands):
            axes.axvline(before - 0.5, color=ink, linewidth=0.9, linestyle=(0, (2, 3)))
            axes.text(before - 0.53, 0.98, f"trained to {limit}", transform=axes.get_xaxis_transform(), fontsize=8,
                      ha="right", va="top", rotation=90, color=ink)  # fmt: skip


def _bars(axes: Any, curves: Curves, ink: str) -> None:
    counts = [len(band.sentences) for band in curves.bands]
    bars = axes.bar(range(len(counts)), counts, width=0.5, color="#808080", alpha=0.6)
    axes.bar_label(bars, [f"{count:,}" for count in counts], padding=2, fontsize=9, color=ink)
    axes.set_xticks(range(len(counts)), [band.label for band in curves.bands])
    hollow = f" (hollow: fewer than {FEW} sentences)" if any(band.few for band in curves.bands) else ""
    axes.set_xlabel(f"length of the source, in words{hollow}")
    axes.set_ylabel("sentences")
    axes.set_yticks([])
    axes.set_ylim(top=1.5 * max(counts))
