"""The measurements of a run, written down as each is made, so that an interrupted run can go on."""

import json
import statistics
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rnnsearch.files import write_whole


@dataclass(frozen=True)
class Measurement:
    """One value of one program."""

    part: str
    about: str  # the conditions
    program: str
    measure: str  # what the value is, with its unit
    value: float


class Results:
    """Measurements in a JSON file; `failed` says by program why it was left out."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._found: list[Measurement] = []
        self.failed: dict[str, str] = {}
        if path.exists():
            content = json.loads(path.read_text(encoding="utf-8"))
            self._found = [Measurement(**one) for one in content["measurements"]]
            self.failed = content["failed"]

    def add(self, part: str, about: str, program: str, measure: str, value: float) -> None:
        """Write down one value."""
        self._found.append(Measurement(part, about, program, measure, value))
        print(f"{part} | {about} | {program} | {measure}: {shown(value)}", flush=True)
        self._save()

    def fail(self, program: str, why: str) -> None:
        """Write down that a program could not be measured."""
        self.failed[program] = why
        print(f"{program} is left out: {why}", flush=True)
        self._save()

    def values(self, part: str, about: str, program: str, measure: str) -> list[float]:
        """The values of one measure, in the order in which they were made."""
        wanted = (part, about, program, measure)
        return [one.value for one in self._found if (one.part, one.about, one.program, one.measure) == wanted]

    def has(self, part: str, about: str, program: str, rounds: int = 1) -> bool:
        """Whether a program was measured so many times."""
        counts: dict[str, int] = {}
        for one in self._found:
            if (one.part, one.about, one.program) == (part, about, program):
                counts[one.measure] = counts.get(one.measure, 0) + 1
        return bool(counts) and max(counts.values()) >= rounds

    def rows(self) -> list[dict[str, Any]]:
        """A row for each measure of each program: median, least, most, values, and ours over it where both are."""
        keys = list(dict.fromkeys((one.part, one.about, one.measure, one.program) for one in self._found))
        medians = {key: statistics.median(self.values(key[0], key[1], key[3], key[2])) for key in keys}
        rows = []
        for part, about, measure, program in keys:
            values = self.values(part, about, program, measure)
            ours = medians.get((part, about, measure, OURS))
            mine = medians[part, about, measure, program]
            compared = program != OURS and any(word in measure for word in _COMPARED)
            ratio = ours / mine if compared and ours is not None and mine else None
            rows.append({
                "part": part, "conditions": about, "measure": measure, "program": program, "median": mine,
                "least": min(values), "most": max(values), "values": values, "ours_over_it": ratio,
            })  # fmt: skip
        return rows

    def _save(self) -> None:
        content = {"measurements": [asdict(one) for one in self._found], "failed": self.failed}
        write_whole(self._path, json.dumps(content, indent=1, ensure_ascii=False).encode())


#: the program that the others are compared with
OURS = "rnnsearch"
#: in the measures of which a ratio says something
_COMPARED = ("second", "memory")


def shown(value: float) -> str:
    """A number with about four digits that count."""
    size = abs(value)
    return f"{value:,.0f}" if size >= 1000 else f"{value:.1f}" if size >= 10 else f"{value:.3g}"
