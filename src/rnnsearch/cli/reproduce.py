"""`rnnsearch reproduce`: the paper's experiments from one command."""

import argparse
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rnnsearch.reproduction.results import TestSet

logger = logging.getLogger("rnnsearch")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the command."""
    parser.usage = "rnnsearch reproduce SOURCE TARGET --dev SOURCE TARGET --test SOURCE TARGET --output DIR [flags]"
    parser.epilog = (
        "Stop it whenever you like: the same command goes on where it was. More --minutes may be given later. "
        "DIR/report.html, report.md and report.json hold what was found."
    )
    add = parser.add_argument
    pair: dict[str, Any] = {"nargs": 2, "type": Path, "metavar": ("SOURCE", "TARGET")}
    add("source", type=Path, metavar="SOURCE", help="text to learn from")
    add("target", type=Path, metavar="TARGET", help="its translation, line for line")
    add("--dev", required=True, help="development files, by which the weights to keep are chosen", **pair)
    add(
        "--test",
        required=True,
        action="append",
        help="test files; given more than once, the first is Table 1's",
        **pair,
    )
    add("--output", required=True, type=Path, metavar="DIR", help="folder for the models, the results and the report")
    add("--scale", choices=("laptop", "paper"), default="laptop",
        help="sizes: those of a small machine, or the paper's (default: laptop)")  # fmt: skip
    add("--minutes", type=_minutes, metavar="M",
        help="minutes of training, all five models together (default: 100; paper: its hours)")  # fmt: skip
    add("--against", type=Path, action="append", default=[], metavar="FILE",
        help="another system's output for the first test set; may be given more than once")  # fmt: skip
    add("--sentence", action="append", default=[], metavar="TEXT",
        help="draw the alignment of this sentence instead of chosen ones; may be given more than once")  # fmt: skip
    add("--report-only", action="store_true", help="do not train: make the report of the models that are there")
    add("--seed", type=int, default=1234, metavar="N", help="seed of all models (default: 1234)")
    add("--threads", type=_threads, metavar="N", help="processor threads (default: as PyTorch decides)")
    add("--device", default="cpu", help="cpu or cuda (default: cpu)")


def run(args: argparse.Namespace) -> int:
    """Train, translate, report; 0 when the report is written, 1 when it was interrupted."""
    from rnnsearch import training
    from rnnsearch.evaluation.sentences import short_names

    training.check_torch(args.device)
    from rnnsearch.reproduction.experiments import reproduce
    from rnnsearch.reproduction.plan import SCALES, Plan
    from rnnsearch.text.corpus import open_lines

    scale = SCALES[args.scale]
    plan = Plan(
        (args.source, args.target), args.dev, args.output, scale, args.seed,
        scale.minutes if args.minutes is None else args.minutes,
    )  # fmt: skip
    others = {
        name: list(open_lines(path))
        for name, path in zip(short_names([[path] for path in args.against]), args.against, strict=True)
    }
    try:
        ended = reproduce(
            plan, _tests(args.test), others=others, sentences=args.sentence, device=args.device, threads=args.threads,
            terminal=sys.stderr.isatty(), report_only=args.report_only,
        )  # fmt: skip
    except KeyboardInterrupt:
        ended = False
    if not ended:
        logger.info("interrupted; the same command goes on where it was, with --report-only it reports what is there")
        return 1
    logger.info("the report is %s, with all numbers in report.json", args.output / "report.html")
    return 0


def _tests(pairs: list[list[Path]]) -> "list[TestSet]":
    """The test sets, each with a name that tells it from the others."""
    from rnnsearch.evaluation.sentences import short_names
    from rnnsearch.reproduction.results import read_test_set

    names = short_names([[source.with_name(source.name.partition(".")[0] or source.name)] for source, _ in pairs])
    return [read_test_set(name, *pair) for name, pair in zip(names, pairs, strict=True)]


def _minutes(text: str) -> float:
    try:
        minutes = float(text)
    except ValueError:
        minutes = 0.0
    if not 0 < minutes < float("inf"):
        raise argparse.ArgumentTypeError(f"a number of minutes above 0 is needed, not {text!r}")
    return minutes


def _threads(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1024:
        raise argparse.ArgumentTypeError(f"a whole number from 1 to 1,024 is needed, not {text!r}")
    return int(text)
