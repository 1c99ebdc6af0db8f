"""`rnnsearch align`: word links of given sentence pairs, line for line."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING

from rnnsearch.cli import opening, writing
from rnnsearch.errors import UserError

if TYPE_CHECKING:
    from rnnsearch.translator import Translation, Translator

    Pairs = Iterator[tuple[str, str]]

#: Version of the objects that --json writes; a change that could break their reader raises it.
JSON_VERSION = 1
_EPILOG = """\
Every pair gives one output line of links source-target, words counted from 0 at the spaces of the given lines; a pair
with an empty side an empty one. Links of both directions are joined by align --model en-fr --reverse-model fr-en."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the command."""
    parser.epilog = _EPILOG
    add = parser.add_argument
    add("files", type=Path, nargs="*", metavar="FILE", help="SOURCE and TARGET, line for line, or one file (default: "
        "standard input) of lines `source ||| target`; plain or .gz")  # fmt: skip
    opening.add_model(parser)
    add("--reverse-model", **opening.MODEL | {"help": "a model from TARGET to SOURCE, whose links are joined with "
        "those of --model; given several times: an ensemble too"})  # fmt: skip
    add("--symmetrise", choices=("agreement", "intersection", "union", "grow-diag-final-and"),
        help="agreement: links for which the mean of both directions' weights is large; else the links of each are "
        "joined (default: agreement)")  # fmt: skip
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--alignment", type=writing.alignment_rule, default="hard", metavar="hard|soft|THRESHOLD",
                      help="the best source word of each target word, all weights, or links from a weight "
                      "(default: hard; agreement: 0.4)")  # fmt: skip
    form.add_argument("--json", action="store_true", help="a JSON object a pair: words, alignment, hard links, log p")
    add("--weights", choices=("posterior", "attention"), default="posterior",
        help="posterior: where the model looked, judged with the target word known, which links best; attention: where "
        "it looked before it knew the word (default: posterior)")  # fmt: skip
    opening.add_batch_size(parser)
    opening.add_arguments(parser)
    opening.add_encoding(parser)


def run(args: argparse.Namespace) -> int:
    """Align the pairs given."""
    _check(args)
    translator = _open(args)
    lines = _forward(args, translator) if args.reverse_model is None else _both_ways(args, translator)
    for line in lines:
        writing.write(line + "\n")
    return 0


def _check(args: argparse.Namespace) -> None:
    if len(args.files) > 2:
        raise UserError(f"align needs two files, SOURCE and TARGET, or one of both, not {len(args.files)}")
    if args.reverse_model is None and args.symmetrise is not None:
        raise UserError("--symmetrise joins the links of two models: name the other with --reverse-model")
    if args.reverse_model is not None and (args.json or args.alignment == "soft"):
        form = "--json" if args.json else "--alignment soft"
        raise UserError(f"two models are joined by their links: leave out {form} or --reverse-model")


def _open(args: argparse.Namespace) -> "Translator":
    translator = opening.open_translator(args)
    translator.require_alignment()
    return translator


def _pairs(args: argparse.Namespace) -> "Pairs":
    """The sentence pairs, as they are read."""
    from rnnsearch.text.clean import CleanCounts
    from rnnsearch.text.corpus import open_lines, read_pairs
    from rnnsearch.text.links import joint_pairs

    if len(args.files) == 2:
        return read_pairs(args.files, encoding=args.encoding, errors=args.errors, counts=CleanCounts())
    if not args.files and sys.stdin.isatty():
        print("rnnsearch: type `source ||| target` a line; Ctrl-D ends", file=sys.stderr)
    source = args.files[0] if args.files else sys.stdin.buffer
    name = str(args.files[0]) if args.files else "standard input"
    return joint_pairs(open_lines(source, encoding=args.encoding, errors=args.errors), name)


def _forward(args: argparse.Namespace, translator: "Translator") -> Iterator[str]:
    form: Callable[[Translation], str] = _json if args.json else lambda found: _text(found, args.alignment)
    return map(form, _aligned(args, translator, _pairs(args)))


def _aligned(args: argparse.Namespace, translator: "Translator", pairs: "Pairs") -> "Iterator[Translation]":
    return translator.align_pairs(pairs, args.batch_size, posterior=args.weights == "posterior")


def _both_ways(args: argparse.Namespace, forward: "Translator") -> Iterator[str]:
    """Links of both directions joined; each model reads as far ahead as the other."""
    from rnnsearch.text.links import pharaoh

    reverse = _open(argparse.Namespace(**vars(args) | {"model": args.reverse_model}))
    _require_reverse(forward, reverse)
    pairs, again = tee(_pairs(args))
    turned = ((target, source) for source, target in again)
    for one, other in zip(_aligned(args, forward, pairs), _aligned(args, reverse, turned), strict=True):
        yield pharaoh(_joined(one, other, args.alignment, args.symmetrise or "agreement"))


def _joined(one: "Translation", other: "Translation", rule: str | float, method: str) -> list[tuple[int, int]]:
    """The links of a pair by both directions."""
    from rnnsearch.search.symmetrise import AGREED, agreed, symmetrise

    if method == "agreement":
        both = one.tokens and other.tokens
        return agreed(one.alignment, other.alignment, AGREED if isinstance(rule, str) else rule) if both else []
    turned = [(source, target) for target, source in _chosen(other, rule)]
    return symmetrise(_chosen(one, rule), turned, method)


def _require_reverse(forward: "Translator", reverse: "Translator") -> None:
    """Raise UserError unless one model reads what the other writes."""
    one, other = forward.folder, reverse.folder
    if (one.source.language, one.target.language) != (other.target.language, other.source.language):
        raise UserError(
            f"--reverse-model {other.path} translates from {other.source.language} to {other.target.language}; the "
            f"reverse of {one.path} must translate from {one.target.language} to {one.source.language}"
        )


def _chosen(translation: "Translation", rule: str | float) -> list[tuple[int, int]]:
    """The links of a pair; none where a side is empty."""
    from rnnsearch.search.alignment import links_by

    both = translation.tokens and translation.source_tokens
    return links_by(translation.alignment, rule) if both else []


def _text(translation: "Translation", form: str | float) -> str:
    return writing.links(translation.alignment, form) if translation.tokens and translation.source_tokens else ""


def _json(translation: "Translation") -> str:
    whole = {
        "version": JSON_VERSION,
        "source_words": translation.source_words,
        "words": translation.words,
        "alignment": translation.alignment.round(6).tolist(),
        "links": _chosen(translation, "hard"),
        "log_p": writing.number(translation.log_p),
    }
    return json.dumps(whole, ensure_ascii=False)
