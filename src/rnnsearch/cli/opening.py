"""What commands share that open a model: its flags, its opening, and a look at where they are to write."""

import argparse
import contextlib
import errno
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnsearch.errors import UserError

if TYPE_CHECKING:
    from rnnsearch.translator import Translator


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--threads, --precision and --device."""
    add = parser.add_argument
    add("--threads", type=int, metavar="N", help="processor threads (default: as many as there are processors)")
    add("--precision", default="auto", choices=("auto", "float32", "int8"),
        help="int8 is the fastest (default: auto, int8 where the processor is made for it)")  # fmt: skip
    add("--device", default="cpu", help="cpu, cuda, cuda:1 ...; all but cpu need PyTorch (default: cpu)")


#: How --model is read: as often as there are models.
MODEL: dict[str, Any] = {
    "type": Path,
    "action": "append",
    "metavar": "DIR",
    "help": "model folder; given several times: their ensemble",
}


def add_model(parser: argparse.ArgumentParser) -> None:
    """--model, which a command cannot do without."""
    parser.add_argument("--model", required=True, **MODEL)


def add_batch_size(parser: argparse.ArgumentParser) -> None:
    """--batch-size, for commands that translate many lines."""
    parser.add_argument("--batch-size", type=_batch_size, default=16, metavar="N",
        help="most sentences that a thread searches at once (default: 16)")  # fmt: skip


def add_encoding(parser: argparse.ArgumentParser) -> None:
    """--encoding and --errors, for commands that read text."""
    add = parser.add_argument
    add("--encoding", default="utf-8", help="encoding of the text (default: utf-8)")
    add("--errors", default="strict", choices=("strict", "replace", "ignore"),
        help="what to do with bytes that are none of it (default: strict, stop)")  # fmt: skip


def _batch_size(text: str) -> int:
    from rnnsearch.translator import LARGEST_BATCH

    if not text.isdecimal() or not 1 <= int(text) <= LARGEST_BATCH:
        raise argparse.ArgumentTypeError(f"a whole number from 1 to {LARGEST_BATCH:,} is needed, not {text!r}")
    return int(text)


def check_output(path: Path) -> None:
    """Raise UserError where no file can be written at `path`. Only its folder is tried, by a file without a name."""
    import tempfile

    try:
        with contextlib.suppress(FileNotFoundError):
            mode = path.stat().st_mode
            if stat.S_ISDIR(mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if not stat.S_ISREG(mode):  # a device or pipe, which would notice more than a question
                if not os.access(path, os.W_OK):
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
                return
        with tempfile.TemporaryFile(dir=Path(os.path.realpath(path)).parent):
            pass
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}; name a file that can be written") from None


def open_translator(args: argparse.Namespace) -> "Translator":
    """The translator that the flags ask for."""
    from rnnsearch.translator import Translator

    return Translator.load(*args.model, threads=args.threads, device=args.device, precision=args.precision)
