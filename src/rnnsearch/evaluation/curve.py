"""The training curve as a picture: losses, and the development BLEU below them, over the updates."""

import io
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnsearch.errors import UserError
from rnnsearch.files import write_whole

#: Points of the training loss that are drawn; more updates are averaged into as many.
_POINTS = 400
_TRAIN, _DEV, _BLEU = "#8a8f98", "#b3400b", "#1f6f8b"

Curve = NDArray[np.float64]
"""Rows of update and value, [points, 2]."""


def draw_curve(metrics: Path, png: Path) -> None:
    """Draw the metrics.jsonl of a run. Raises UserError without matplotlib, OSError for files that cannot be used.

    Lines that are not whole (the last one of a run that was killed) and values that are not finite are left out.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise UserError('the training curve needs matplotlib: pip install "rnnsearch[plot]"') from None
    events = read_events(metrics)
    figure = Figure(figsize=(8, 6), layout="constrained")
    FigureCanvasAgg(figure)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    _plot(above, _averaged(_curve(events, "update", "loss")), color=_TRAIN, label="training")
    _plot(above, _curve(events, "validation", "loss"), color=_DEV, marker="o", markersize=3, label="development")
    if above.lines:
        above.legend(frameon=False)
    above.set_ylabel("loss, nats a token")
    scores = _curve(events, "validation", "bleu")
    _plot(below, scores, color=_BLEU, marker="o", markersize=3)
    if len(scores):
        kept = [e["update"] for e in events if e.get("event") == "validation" and e.get("best") is True]
        best = scores[scores[:, 0] == kept[-1]][-1] if kept else scores[scores[:, 1].argmax()]
        below.set_title(f"best: {best[1]:.2f} after update {best[0]:,.0f}", loc="right", fontsize=9, color=_BLEU)
    below.set_ylabel("development BLEU")
    below.set_xlabel("update")
    for axes in (above, below):
        axes.grid(color="#e4e4e8")
        axes.spines[["top", "right"]].set_visible(False)
    _label_updates(below, _curve(events, "update", "seconds"))
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=130)
    write_whole(png, data.getvalue())


def read_events(metrics: Path) -> list[dict[str, Any]]:
    """The JSON objects of a metrics.jsonl, damaged lines left out."""
    events = []
    for line in metrics.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            events.append(event)
    return events


def _curve(events: Sequence[dict[str, Any]], kind: str, value: str) -> Curve:
    """`value` by update. Where a resumed run went over an update again, the later line counts."""
    found = {e["update"]: e[value] for e in events if e.get("event") == kind and _finite(e, "update", value)}
    return np.array(sorted(found.items()), dtype=np.float64).reshape(-1, 2)


def _finite(event: dict[str, Any], *names: str) -> bool:
    return all(isinstance(event.get(name), int | float) and math.isfinite(event[name]) for name in names)


def _averaged(curve: Curve) -> Curve:
    if len(curve) <= _POINTS:
        return curve
    parts = len(curve) // -(-len(curve) // _POINTS)  # of equal size, so that all are equally smooth
    return np.array([part.mean(axis=0) for part in np.array_split(curve, parts)])


def _plot(axes: Any, curve: Curve, **style: Any) -> None:
    if len(curve):
        axes.plot(curve[:, 0], curve[:, 1], linewidth=1.2, **style)


def _label_updates(axes: Any, seconds: Curve) -> None:
    """Updates along the axis, with the minutes of training below each."""

    def label(update: float, _: Any) -> str:
        if not len(seconds) or not 0 <= update <= seconds[-1, 0]:
            return f"{update:,.0f}"
        return f"{update:,.0f}\n{np.interp(update, *seconds.T) / 60:,.1f} min"

    axes.xaxis.set_major_formatter(label)
    axes.xaxis.get_major_locator().set_params(integer=True)
