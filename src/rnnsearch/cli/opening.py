"""The flags of every command that opens a model to translate with it, and the opening."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rnnsearch.translator import Translator


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--threads, --precision and --device."""
    add = parser.add_argument
    add("--threads", type=int, metavar="N", help="processor threads (default: as many as there are processors)")
    add("--precision", default="auto", choices=("auto", "float32", "int8"),
        help="int8 is the fastest (default: auto, int8 where the processor is made for it)")  # fmt: skip
    add("--device", default="cpu", help="cpu, cuda, cuda:1 ...; all but cpu need PyTorch (default: cpu)")


def open_translator(args: argparse.Namespace) -> "Translator":
    """The translator that the flags ask for."""
    from rnnsearch.translator import Translator

    return Translator.load(args.model, threads=args.threads, device=args.device, precision=args.precision)
