"""What a training shows while it runs: a bar on a terminal, plain lines elsewhere, and the meter behind both."""

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

#: Seconds between two plain lines.
EVERY_SECONDS = 15.0

logger = logging.getLogger("rnnsearch")


@dataclass
class Meter:
    """Loss, gradient norm and speed since the meter was last emptied."""

    nll: float = 0.0
    tokens: int = 0
    norms: list[float] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, nll: float, tokens: int, norm: float, seconds: float) -> None:
        """Count one update: summed nll, target tokens, gradient norm, seconds."""
        self.nll += nll
        self.tokens += tokens
        self.norms.append(norm)
        self.seconds += seconds

    @property
    def loss(self) -> float:
        """Nats a target token."""
        return self.nll / self.tokens if self.tokens else math.nan

    @property
    def norm(self) -> float:
        """Mean L2 norm of the gradient before the clip."""
        return sum(self.norms) / len(self.norms) if self.norms else math.nan

    @property
    def tokens_per_second(self) -> float:
        """Target tokens a second, validations not counted."""
        return self.tokens / self.seconds if self.seconds > 0 else 0.0


class Display:
    """Shows the newest figures: with `bar` a bar on standard error, and lines that go to `note` rather than the log."""

    def __init__(self, bar: bool, note: Callable[[str], None]) -> None:
        self._bar = _bar() if bar else None
        self._say = note if bar else logger.info
        self._task = self._bar.add_task("", total=1.0) if self._bar else None
        self._said = time.monotonic()
        self._meter = Meter()

    def __enter__(self) -> "Display":
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.stop()

    def show(
        self, update: int, epoch: int, figures: tuple[float, int, float, float], left: tuple[float, float, str]
    ) -> None:
        """Show the state after `update` of `epoch` (from 1).

        `figures` are those of the update, as Meter.add has them; `left` is (share done, seconds left, to what).
        """
        meter = self._meter
        meter.add(*figures)
        share, seconds, limit = left
        learnt = f"update {update}, epoch {epoch}, loss {meter.loss:.3f}, gradient {meter.norm:.2f}"
        speed = f"{meter.tokens_per_second:,.0f} tokens/s, {duration(seconds)} left"
        if self._bar and self._task is not None:
            # Two lines, short enough for 80 columns beside the bar.
            self._bar.update(self._task, completed=share, description=f"{learnt}\n{speed}")
        if time.monotonic() - self._said >= EVERY_SECONDS or update == 1:
            self._said, self._meter = time.monotonic(), Meter()
            self._say(f"{learnt}, {speed} {limit}")

    def busy(self, what: str) -> None:
        """Say on the bar what is done between two updates."""
        if self._bar and self._task is not None:
            self._bar.update(self._task, description=what)
            self._bar.refresh()


def duration(seconds: float) -> str:
    """12 s, 3 min 5 s, 2 h 10 min."""
    if not math.isfinite(seconds):
        return "unknown time"
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _bar() -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (BarColumn(bar_width=14), TextColumn("{task.percentage:>3.0f} %"), TextColumn("{task.description}"))
    return Progress(*columns, console=Console(stderr=True), transient=True)
