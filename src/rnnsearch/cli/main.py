"""`rnnsearch COMMAND ...`: finds the command, runs it, and turns whatever goes wrong into one line and an exit status.

Exit statuses: 0 done, 1 it could not be done, 2 the command line was not understood.
"""

import argparse
import contextlib
import importlib
import io
import logging
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

from rnnsearch import __version__
from rnnsearch.errors import UserError

#: command -> its line in `rnnsearch --help`; the module rnnsearch.cli.COMMAND (a hyphen is an underscore there) is
#: imported when the command is asked for
COMMANDS = {
    "train": "learn to translate from two text files",
    "translate": "translate standard input, line for line",
    "align": "link the words of sentence pairs that are given",
    "dictionary": "learn from sentence pairs what --replace-unk puts for unknown words",
    "heatmap": "draw which source words each target word looked at",
    "evaluate": "score a model on a test set (BLEU, chrF)",
    "evaluate-alignment": "score word links by gold ones (precision, recall, AER)",
    "reproduce": "the paper's experiments: five models, its tables and figures",
    "demo": "train a small model in about two minutes, translate, and draw an alignment",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (default: the process's own) and return its exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _open_closed_streams()
    _speak_utf8()
    _log_to_stderr()
    if not arguments or arguments[0].startswith("-"):
        return _without_command(arguments)
    command = arguments[0]
    if command not in COMMANDS:
        _front_page().error(f"unknown command {command!r}{_nearest(command, COMMANDS)}")
    return _guarded(command, arguments[1:])


class Parser(argparse.ArgumentParser):
    """argparse that takes flags in full only, and answers an unknown one with the nearest that it knows."""

    def __init__(self, prog: str, description: str) -> None:
        super().__init__(prog=prog, description=description, allow_abbrev=False)

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Like parse_args. An unknown flag is named before anything that is missing: it is mostly the cause."""
        flags = self._option_string_actions
        for argument in arguments:
            flag = argument.partition("=")[0]
            if flag == "--":
                break
            if flag.startswith("--") and " " not in flag and flag not in flags:
                self.error(f"unknown flag {flag}{_nearest(flag, flags)}")
        return self.parse_args(arguments)


def _without_command(arguments: Sequence[str]) -> int:
    page = _front_page()
    page.add_argument("--version", action="version", version=f"rnnsearch {__version__}")
    page.parse(arguments)
    page.error("which command? " + ", ".join(COMMANDS))


def _front_page() -> Parser:
    width = max(map(len, COMMANDS))
    page = Parser("rnnsearch", "Learn to align and translate.")
    page.usage = "rnnsearch COMMAND ..."
    page.formatter_class = argparse.RawDescriptionHelpFormatter
    page.epilog = "commands:\n" + "".join(f"  {name:{width}}  {line}\n" for name, line in COMMANDS.items())
    page.epilog += "\nrnnsearch COMMAND --help says more about one of them."
    return page


def _guarded(command: str, arguments: Sequence[str]) -> int:
    """Run a command; every way to fail is one line on standard error (with RNNSEARCH_DEBUG set: the traceback too)."""
    try:
        module = importlib.import_module(f"rnnsearch.cli.{command.replace('-', '_')}")
        parser = Parser(f"rnnsearch {command}", f"{COMMANDS[command][0].upper()}{COMMANDS[command][1:]}.")
        module.add_arguments(parser)
        status: int = module.run(parser.parse(arguments))
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _failed("interrupted")
    except BrokenPipeError:
        # Whoever read us has what it wanted. What is still buffered must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except Exception as error:  # noqa: BLE001 - a user gets one sentence, whatever it was
        return _failed(_sentence(error))
    return status


def _sentence(error: Exception) -> str:
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, MemoryError) or "out of memory" in str(error) or "can't allocate memory" in str(error):
        return (
            "out of memory: make the batches smaller (train: --batch-tokens, translate: --batch-size), or train a "
            "smaller model (--hidden-size)"
        )
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror
    return (
        f"this is a fault of rnnsearch, not yours: {type(error).__name__}: {' '.join(str(error).split())}"
        " (please report it with the traceback that the environment variable RNNSEARCH_DEBUG=1 shows)"
    )


def _failed(sentence: str) -> int:
    if os.environ.get("RNNSEARCH_DEBUG"):
        traceback.print_exc()
    with contextlib.suppress(OSError):  # whoever read it may be gone; the status tells
        print(f"rnnsearch: error: {sentence}", file=sys.stderr)
    return 1


def _nearest(name: str, known: Mapping[str, Any]) -> str:
    from rnnsearch.config import nearest  # here, because it costs more time than all the rest of this file

    return nearest(name, known)


def _open_closed_streams() -> None:
    """A standard stream that we were started without is empty, or takes what nobody will read."""
    for name, mode in ("stdin", "r"), ("stdout", "w"), ("stderr", "w"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115


def _speak_utf8() -> None:
    """UTF-8 on every system; what no encoding can hold (bytes of a file name) passes as it came."""
    for stream, errors in (sys.stdout, "surrogateescape"), (sys.stderr, "backslashreplace"):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)


class _StderrHandler(logging.Handler):
    """Log lines on whatever sys.stderr is at that moment (a progress bar stands in for it while it is drawn)."""

    def emit(self, record: logging.LogRecord) -> None:
        level = f"{record.levelname.lower()}: " if record.levelno >= logging.WARNING else ""
        with contextlib.suppress(OSError):  # a reader that has gone away, or a full disk, must not end a training
            print(f"rnnsearch: {level}{record.getMessage()}", file=sys.stderr)


def _log_to_stderr() -> None:
    logger = logging.getLogger("rnnsearch")
    logger.setLevel(logging.INFO)
    logger.handlers = [_StderrHandler()]
