"""The results as pictures: bars of the speed of each program, in training and in decoding."""

import io
from pathlib import Path
from typing import Any

from benchmarks.results import OURS, shown
from rnnsearch.files import write_whole

_OURS, _OTHERS, _ROOF = "#b3400b", "#8a8f98", "#d9dbe0"
_SPEED = " a second"


def draw(rows: list[dict[str, Any]], png: Path) -> None:
    """Draw all that is measured by the second, one row of bars under each condition, with the spread."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    speeds = [row for row in rows if row["part"] in {"training", "decoding"} and row["measure"].endswith(_SPEED)]
    groups = list(dict.fromkeys((row["part"], row["conditions"], row["measure"]) for row in speeds))
    if not groups:
        return
    members = [[row for row in speeds if (row["part"], row["conditions"], row["measure"]) == g] for g in groups]
    heights = [len(member) for member in members]
    figure = Figure(figsize=(9, 0.34 * sum(heights) + 0.9 * len(groups)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(groups), 1, height_ratios=heights, squeeze=False)[:, 0]
    for axis, (part, conditions, measure), member in zip(axes, groups, members, strict=True):
        _bars(axis, member)
        axis.set_title(f"{part}, {measure}: {_short(conditions)}", loc="left", fontsize=9)
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=130)
    write_whole(png, data.getvalue())


def _short(conditions: str) -> str:
    """The conditions without what stands in brackets."""
    before, _, after = conditions.partition(" (")
    return before + after.partition(")")[2]


def _bars(axis: Any, rows: list[dict[str, Any]]) -> None:
    ordered = sorted(rows, key=lambda row: row["median"])
    colours = [_colour(row["program"]) for row in ordered]
    medians = [row["median"] for row in ordered]
    spread = [[r["median"] - r["least"] for r in ordered], [r["most"] - r["median"] for r in ordered]]
    axis.barh([row["program"] for row in ordered], medians, xerr=spread, color=colours, ecolor="#40434a", height=0.7)
    reach = max(row["most"] for row in ordered)
    for place, row in enumerate(ordered):
        axis.text(row["most"] + 0.012 * reach, place, shown(row["median"]), va="center", fontsize=8)
    axis.set_xlim(0, 1.12 * reach)
    axis.tick_params(labelsize=8)
    axis.xaxis.set_major_formatter("{x:,.6g}")
    axis.spines[["top", "right"]].set_visible(False)


def _colour(program: str) -> str:
    if program.startswith("matrix products"):
        return _ROOF
    return _OURS if program.startswith(OURS) else _OTHERS
