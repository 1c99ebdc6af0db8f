"""What is shown over the whole: which model of the five, and how long all of it will take.

On a terminal a bar, into which go the lines that training says every few seconds; elsewhere those lines as they are.
"""

import logging
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from rnnsearch.reproduction.plan import VARIANTS
from rnnsearch.training.progress import duration

if TYPE_CHECKING:
    from rich.progress import Progress

logger = logging.getLogger("rnnsearch")


class View:
    """Shows how far the whole is: with `terminal` by a bar. All that is logged goes to the file `log` too."""

    def __init__(self, log: Path, *, terminal: bool) -> None:
        self._handlers = list(logger.handlers)
        self._file = logging.FileHandler(log, encoding="utf-8")
        self._file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        self._total = self._before = 0.0  # seconds of training: of all, and left when the present model was begun
        self._begun: float | None = None  # when that began to learn: reading text is not counted
        self._what = self._latest = ""
        self._level = logger.level
        self._bar = _bar(self._show) if terminal else None

    def __enter__(self) -> "View":
        logger.addHandler(self._file)
        logger.setLevel(min(self._level or logging.INFO, logging.INFO))
        if self._bar:
            for handler in self._handlers:
                handler.addFilter(self._keep)
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        logger.removeHandler(self._file)
        logger.setLevel(self._level)
        self._file.close()
        if self._bar:
            self._bar.stop()
            for handler in self._handlers:
                handler.removeFilter(self._keep)

    def model(self, number: int, name: str, seconds_left: float) -> None:
        """A model is trained from now on; so many seconds of training are left for all (0: nobody knows)."""
        self._what, self._latest = f"model {number} of {len(VARIANTS)}: {name}", ""
        self._total = max(self._total, seconds_left)
        self._before, self._begun = seconds_left, None
        logger.info("%s%s", self._what, f", {duration(seconds_left)} of training left" if seconds_left else "")

    def busy(self, what: str) -> None:
        """Training is done, something else is done from now on."""
        logger.info("%s", what)
        self._what, self._latest, self._total = what, "", 0.0

    def _left(self) -> float:
        passed = 0.0 if self._begun is None else time.monotonic() - self._begun
        return max(0.0, self._before - passed)

    def _show(self) -> tuple[float, str]:
        """Share of the training that is done, and two lines beside the bar."""
        left = f", {duration(self._left())} of training left" if self._total else ""
        share = 1 - self._left() / self._total if self._total else 1.0
        return share, f"{self._what}{left}\n{self._latest}"

    def _keep(self, record: logging.LogRecord) -> bool:
        """Whether a line is printed: those that training says every few seconds stand beside the bar instead."""
        said = record.getMessage()
        if not said.startswith("update ") or record.levelno > logging.INFO:
            return True
        self._begun = self._begun or time.monotonic()
        self._latest = said.rpartition(", ")[0]  # its end tells of the time left to one model
        return False


def _bar(show: Callable[[], tuple[float, str]]) -> "Progress":
    from rich.console import Console, RenderableType
    from rich.progress import BarColumn, Progress, TextColumn

    class Bar(Progress):
        """A bar that asks how far all is whenever it is drawn."""

        def get_renderables(self) -> Iterable[RenderableType]:
            share, said = show()
            for task in self.tasks:
                self.update(task.id, completed=share, description=said)
            yield self.make_tasks_table(self.tasks)

    columns = (BarColumn(bar_width=14), TextColumn("{task.percentage:>3.0f} %"), TextColumn("{task.description}"))
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    bar.add_task("", total=1.0)
    return bar
