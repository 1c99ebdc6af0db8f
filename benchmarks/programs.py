"""What is asked of every program that is measured, and how a peer is installed."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchmarks.setting import FOLDER, Sizes
from benchmarks.text import Text
from benchmarks.watch import Failed

Command = list[str | Path]
#: target tokens and seconds of a stretch of training
Stretch = tuple[float, float]


@dataclass(frozen=True)
class Training:
    """How a program is started to train, and the file in which it says how far it is.

    `printed`: it writes no such file, which holds what it prints instead.
    """

    command: Command
    log: Path
    printed: bool = False


class Program(Protocol):
    """A program that trains and translates."""

    name: str
    about: str  # what it does differently, for the reader of the table

    def install(self) -> None:
        """Make it ready. Raises Failed where that cannot be."""

    def training(self, text: Text, sizes: Sizes, folder: Path) -> Training:
        """How to train in `folder` without end; SIGTERM ends it."""

    def progress(self, log: str) -> list[Stretch]:
        """The stretches of training that a log tells of; target tokens, sentence ends counted."""

    def translating(self, text: Text, source: Path, folder: Path, beam: int, batch: int) -> Command:
        """How to translate the file `source`, with the model in `folder`, on two cores."""

    def source(self, text: Text) -> Path:
        """The test set as the program takes it."""

    def output(self, lines: Sequence[str], folder: Path) -> list[str]:
        """The translations as text, from standard output or from what was written to `folder`."""


def install(name: str, requirements: Sequence[str]) -> Path:
    """The folder of programs of a virtual environment with `requirements`. Raises Failed where pip cannot."""
    folder = FOLDER / "peers" / name
    binaries = folder / ("Scripts" if sys.platform == "win32" else "bin")
    mark = folder / "installed.txt"
    wanted = "\n".join(requirements)
    if mark.exists() and mark.read_text(encoding="utf-8") == wanted:
        return binaries
    print(f"installing {' '.join(requirements)} into {folder} (some minutes)", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    for command in (
        [sys.executable, "-m", "venv", str(folder)],
        [str(binaries / "python"), "-m", "pip", "install", "--quiet", *requirements],
    ):
        done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()
            raise Failed(f"it could not be installed: {said[-1] if said else 'pip failed'}")
    mark.write_text(wanted, encoding="utf-8")
    return binaries


def speed(stretches: Sequence[Stretch], warm_up: float) -> float:
    """Tokens a second after the first `warm_up` seconds. Raises Failed where there is nothing left."""
    passed = tokens = seconds = 0.0
    for some, duration in stretches:
        if passed >= warm_up:
            tokens, seconds = tokens + some, seconds + duration
        passed += duration
    if not seconds:
        raise Failed("it told of no speed after the warm-up")
    return tokens / seconds


def measured(stretches: Sequence[Stretch], warm_up: float, seconds: float) -> bool:
    """Whether the stretches after `warm_up` are `seconds` long together."""
    passed = after = 0.0
    for _, duration in stretches:
        if passed >= warm_up:
            after += duration
        passed += duration
    return after >= seconds
