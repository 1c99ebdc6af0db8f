"""Ctrl-C and SIGTERM while training: the first asks for a clean end after the update, the second stops at once."""

import signal
import threading
from types import FrameType
from typing import Any


class Interrupted(Exception):
    """The run was asked to end; its state is to be saved."""


class Interrupt:
    """While it is open, the first signal is only noted. Outside the main thread nothing is caught."""

    def __init__(self) -> None:
        self._asked = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Interrupt":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()

    def check(self) -> None:
        """Raise Interrupted where a signal came."""
        if self._asked:
            raise Interrupted

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self._asked = True
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
