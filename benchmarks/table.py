"""The results as one table, in Markdown and as JSON."""

import json
import os
import platform
from collections.abc import Mapping
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.results import Results, shown
from rnnsearch.files import write_whole


def machine() -> dict[str, str]:
    """The class of the machine, without its name; versions."""
    return {
        "processor": _from_proc("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        "rnnsearch": version("rnnsearch"),
        "PyTorch": version("torch").partition("+")[0],
    }


def write(folder: Path, results: Results, about: Mapping[str, str], command: str) -> None:
    """Write results.json and results.md. `about`: what each program does differently."""
    whole = {
        "command": command,
        "machine": machine(),
        "programs": dict(about),
        "left_out": results.failed,
        "rows": results.rows(),
    }
    write_whole(folder / "results.json", (json.dumps(whole, indent=1, ensure_ascii=False) + "\n").encode())
    write_whole(folder / "results.md", markdown(whole).encode())


def markdown(whole: Mapping[str, Any]) -> str:
    """The table with what must be known to read it."""
    conditions = ", ".join(f"{name} {value}" for name, value in whole["machine"].items())
    lines = [f"`{whole['command']}`", "", f"Machine: {conditions}.", ""]
    lines += ["Target tokens are subwords (sizes P: words), sentence ends counted, padding not. Median of the rounds, "
              "least and most; the last column is how many times our figure is theirs.", ""]  # fmt: skip
    shown_rows = [row for row in whole["rows"] if row["part"] != "batch size"]
    for (_, conditions), group in groupby(_sorted(shown_rows), key=lambda row: (row["part"], row["conditions"])):
        lines += _section(conditions, list(group))
    lines += ["**What each program does differently**", ""]
    lines += [f"- {name}: {difference}." for name, difference in whole["programs"].items()]
    lines += [f"- {name} is left out: {why}" for name, why in whole["left_out"].items()]
    if sizes := [row for row in whole["rows"] if row["part"] == "batch size"]:
        told = "; ".join(f"{row['program']}, {row['conditions'].split(',')[0]}: {row['median']:.0f}" for row in sizes)
        lines.append(f"- Batch sizes that were best on the first sentences: {told}.")
    return "\n".join(lines) + "\n"


def _section(conditions: str, rows: list[dict[str, Any]]) -> list[str]:
    """A table of one part under the same conditions."""
    lines = [
        f"**{rows[0]['part'].capitalize()}: {conditions}**",
        "",
        "| program | measure | median | spread | ours / it |",
    ]
    lines.append("| --- | --- | ---: | ---: | ---: |")
    for row in rows:
        spread = f"{shown(row['least'])}-{shown(row['most'])}" if len(row["values"]) > 1 else ""
        ratio = "" if row["ours_over_it"] is None else f"{row['ours_over_it']:.2f}"
        lines.append(f"| {row['program']} | {row['measure']} | {shown(row['median'])} | {spread} | {ratio} |")
    return [*lines, ""]


def _sorted(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of the same conditions together, those of one measure together, in the order of their coming."""
    keys = ("part", "conditions", "measure")
    order: dict[tuple[str, ...], int] = {}
    for row in rows:
        for length in (1, 2, 3):
            order.setdefault(tuple(row[key] for key in keys[:length]), len(order))
    return sorted(rows, key=lambda row: [order[tuple(row[key] for key in keys[:length])] for length in (1, 2, 3)])


def _from_proc(file: str, name: str) -> str:
    """The value of a line `name : value` of a file of the system, or ''."""
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), "")


def _memory() -> str:
    found = _from_proc("/proc/meminfo", "MemTotal")
    return f"{int(found.split()[0]) / 1048576:.0f} GiB" if found else "unknown"
