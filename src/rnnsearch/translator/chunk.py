"""Lines that are read, searched and written together."""

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from typing import Any

from rnnsearch.engine import Engine
from rnnsearch.search import Hypothesis, search
from rnnsearch.text.batches import pad
from rnnsearch.text.side import Side
from rnnsearch.text.vocabulary import UNK_ID
from rnnsearch.translator.lines import Line, batches_of, read_line
from rnnsearch.translator.options import Plan
from rnnsearch.translator.translation import Translation

logger = logging.getLogger("rnnsearch")


class Stoppable:
    """An engine that takes no further step once `stopped` is set, from whichever thread."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.stopped = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def step(self, *args: Any) -> Any:
        """A step of the engine. Raises CancelledError once it is stopped."""
        if self.stopped:
            raise CancelledError
        return self._engine.step(*args)


class Chunk:
    """Lines that are read, searched and written together; its methods may be called in any thread."""

    def __init__(
        self, engine: Engine, plan: Plan, write: Callable[[Line, list[list[Hypothesis]]], Translation],
        text: threading.Lock,
    ) -> None:  # fmt: skip
        self._engine, self._plan, self._write, self._text = engine, plan, write, text
        self.lines: list[Line] = []
        self.of_parts: list[list[list[Hypothesis]]] = []  # line, part -> hypotheses, best first
        self._jobs: list[tuple[int, int]] = []  # every part of every line
        self._written: dict[int, Translation] = {}

    def read(self, sources: Sequence[str], first: int, side: Side) -> list[list[int]]:
        """Read the lines; `first` is the number of the first. Returns what is to be searched together."""
        with self._text:
            self.lines = [read_line(source, side, self._plan.max_length) for source in sources]
        _warn_of_parts(self.lines, first, self._plan.max_length)
        self.of_parts = [[[] for _ in line.parts] for line in self.lines]
        self._jobs = [(number, part) for number, line in enumerate(self.lines) for part in range(len(line.parts))]
        return list(batches_of([len(self._ids(job)) + 1 for job in range(len(self._jobs))], self._plan))

    def search(self, batch: Sequence[int]) -> None:
        """Search the parts of a batch, and write the lines of which all parts are found now."""
        x, x_mask = pad([self._ids(job) for job in batch])
        plan = self._plan
        found = search(self._engine, x, x_mask, plan.search, n_best=plan.n_best, no_unk=plan.no_unk)
        with self._text:
            for job, hypotheses in zip(batch, found, strict=True):
                number, part = self._jobs[job]
                self.of_parts[number][part] = hypotheses
                if all(self.of_parts[number]):
                    self._written[number] = self._write(self.lines[number], self.of_parts[number])

    def all(self, sources: Sequence[str], first: int, side: Side) -> None:
        """Read, search and write, all in this thread."""
        for batch in self.read(sources, first, side):
            self.search(batch)

    def translations(self) -> list[Translation]:
        """One of each line. An empty line has no parts, so no search has written it."""
        return [self._written.get(number) or self._write(line, []) for number, line in enumerate(self.lines)]

    def _ids(self, job: int) -> Sequence[int]:
        number, part = self._jobs[job]
        line = self.lines[number]
        return line.encoded.ids[line.parts[part]]


def _warn_of_parts(lines: Sequence[Line], first: int, limit: int) -> None:
    """One warning of all lines that are too long: of a corpus with many, one each would hide all else."""
    long = {number: line for number, line in enumerate(lines, first) if len(line.parts) > 1}
    if len(long) == 1:
        [(number, line)] = long.items()
        logger.warning("line %d: %d tokens, over the limit of %d; translated in %d parts",
                       number, len(line.encoded.tokens), limit, len(line.parts))  # fmt: skip
    elif long:
        logger.warning("lines %s: over the limit of %d tokens; translated in parts", ", ".join(map(str, long)), limit)


def warn_of_unknown(lines: Sequence[list[list[Hypothesis]]], first: int) -> None:
    """Warn of each line whose translation has an unknown word though none was wanted; lines from `first`."""
    for number, parts in enumerate(lines, first):
        if any(UNK_ID in hypotheses[0].ids for hypotheses in parts):
            logger.warning("line %d: nothing was found without unknown words, so they were allowed", number)
