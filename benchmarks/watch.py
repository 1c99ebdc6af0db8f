"""A program run and watched from outside: its wall time, when it first answered, its memory, at any moment."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

#: seconds between two looks at the memory, and between two questions whether to stop: little work beside what is timed
LOOK, ASK = 0.05, 1.0


class Failed(Exception):
    """A program ended with an error; the message is the end of what it said."""


@dataclass
class Watched:
    """What was seen. Memory in MiB, of the process and its children together; 0 where /proc does not tell."""

    seconds: float = 0.0
    first: float | None = None  # seconds until the first line of standard output
    lines: list[str] = field(default_factory=list)
    errors: str = ""
    rss: float = 0.0
    anonymous: dict[str, float] = field(default_factory=dict)  # the peak by phase
    phases: dict[str, float] = field(default_factory=dict)  # seconds by phase


def watch(
    command: Sequence[str | Path],
    *,
    standard_input: Path | None = None,
    folder: Path | None = None,
    stop: Callable[[], bool] | None = None,
    phase: Callable[[], str] = lambda: "all",
    log: Path | None = None,
) -> Watched:
    """Run a command to its end, or until `stop` says so (it is then asked to end, by SIGTERM).

    `phase` names what the program is doing, for memory and time by phase. With `log` that file gets all that it says.
    Raises Failed for an error of the program.
    """
    seen = Watched()
    with contextlib.ExitStack() as stack:
        taken = stack.enter_context(standard_input.open("rb")) if standard_input else subprocess.DEVNULL
        given = stack.enter_context(log.open("wb")) if log else subprocess.PIPE
        started = time.monotonic()
        process = subprocess.Popen(
            [str(part) for part in command],
            stdin=taken,
            stdout=given,
            stderr=subprocess.STDOUT if log else subprocess.PIPE,
            cwd=folder,
            start_new_session=True,
        )
        stack.callback(_end, process)
        readers = [] if log else _readers(process, seen, started)
        for reader in readers:
            reader.start()
        stopped = _look(process, seen, started, stop, phase)
        for reader in readers:
            reader.join()
    if process.returncode and not stopped:
        said = seen.lines + seen.errors.splitlines() if log is None else log.read_text("utf-8", "replace").splitlines()
        raise Failed(next((line[:300] for line in reversed(said) if line.strip()), "it failed and said nothing"))
    return seen


def _look(
    process: "subprocess.Popen[bytes]",
    seen: Watched,
    started: float,
    stop: Callable[[], bool] | None,
    phase: Callable[[], str],
) -> bool:
    """Look at a process until it ends; whether it was told to."""
    ended = threading.Event()

    def wait() -> None:
        process.wait()
        seen.seconds = time.monotonic() - started
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    stopped, before, asked = False, started, started
    while not ended.wait(LOOK):
        rss, anonymous = memory(process.pid)
        now, name = time.monotonic(), phase()
        seen.rss = max(seen.rss, rss)
        seen.anonymous[name] = max(seen.anonymous.get(name, 0.0), anonymous)
        seen.phases[name] = seen.phases.get(name, 0.0) + now - before
        before = now
        if stop is not None and not stopped and now - asked >= ASK:
            asked = now
            if stop():
                stopped = True
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGTERM)
    return stopped


def memory(pid: int) -> tuple[float, float]:
    """Highest resident memory so far and anonymous memory now, MiB, of a process and its children."""
    rss = anonymous = 0.0
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name == "VmHWM":
                rss += int(value.split()[0]) / 1024
            elif name == "RssAnon":
                anonymous += int(value.split()[0]) / 1024
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split():
            more = memory(int(child))
            rss, anonymous = rss + more[0], anonymous + more[1]
    return rss, anonymous


def _readers(process: "subprocess.Popen[bytes]", seen: Watched, started: float) -> list[threading.Thread]:
    return [
        threading.Thread(target=_read_lines, args=(process, seen, started), daemon=True),
        threading.Thread(target=_read_errors, args=(process, seen), daemon=True),
    ]


def _read_lines(process: "subprocess.Popen[bytes]", seen: Watched, started: float) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if seen.first is None:
            seen.first = time.monotonic() - started
        seen.lines.append(line.decode("utf-8", errors="replace").rstrip("\n"))


def _read_errors(process: "subprocess.Popen[bytes]", seen: Watched) -> None:
    assert process.stderr is not None
    seen.errors = process.stderr.read().decode("utf-8", errors="replace")


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Leave nothing running, whatever happened."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
