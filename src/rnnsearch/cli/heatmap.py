"""`rnnsearch heatmap`: the alignment of a sentence as text, PNG or HTML page."""

import argparse
import logging
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rnnsearch.cli import opening, writing
from rnnsearch.errors import UserError

if TYPE_CHECKING:
    from rnnsearch.translator import Translation

log = logging.getLogger("rnnsearch")

_KINDS = (".png", ".html")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the command."""
    parser.epilog = (
        "Without --output the alignment is drawn here, as text. Source words stand across, target words down; "
        "black is 0, white is 1."
    )
    add = parser.add_argument
    add("sentence", nargs="?", metavar="SENTENCE", help="source sentence (default: the lines of standard input)")
    opening.add_model(parser)
    add("--target", metavar="TEXT", help="draw this translation of SENTENCE rather than the model's own")
    add("--output", type=Path, action="append", default=[], metavar="FILE",
        help="a .png of one sentence or an .html page of any number; may be given more than once")  # fmt: skip
    add("--beam-size", type=int, metavar="N", help="width of the beam (default: the model's)")
    opening.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Draw the alignments asked for."""
    for path in args.output:
        if path.suffix.lower() not in _KINDS:
            raise UserError(f"--output {path}: the name must end in {' or '.join(_KINDS)}")
        opening.check_output(path)
    if args.target is not None and args.sentence is None:
        raise UserError("--target needs the source sentence on the command line too")
    sentences = [args.sentence] if args.sentence is not None else _standard_input()
    if len(sentences) != 1 and any(path.suffix.lower() == ".png" for path in args.output):
        raise UserError(f"a PNG shows one sentence, and there are {len(sentences)} lines; write an .html page")
    _draw(_translations(args, sentences), args.output)
    return 0


def _standard_input() -> list[str]:
    from rnnsearch.text.corpus import open_lines

    return list(open_lines(sys.stdin.buffer))


def _translations(args: argparse.Namespace, sentences: Sequence[str]) -> "list[Translation]":

    translator = opening.open_translator(args)
    translator.require_alignment()
    if args.target is not None:
        return [translator.align(sentences[0], args.target)]
    return list(translator.translate(sentences, beam_size=args.beam_size))


def _draw(translations: "Sequence[Translation]", outputs: Sequence[Path]) -> None:
    from rnnsearch.evaluation import heatmap
    from rnnsearch.files import write_whole

    for path in outputs:
        if path.suffix.lower() == ".png":
            (only,) = translations
            heatmap.png(path, only.words, only.source_words, only.alignment)
        else:
            page = heatmap.html(
                [(f"{t.source} \u2192 {t.text}", t.words, t.source_words, t.alignment) for t in translations]
            )
            write_whole(path, page.encode("utf-8", errors="replace"))
        log.info("wrote %s", path)
    if not outputs:
        style, width = heatmap.terminal_style(sys.stdout), shutil.get_terminal_size().columns
        pictures = [
            heatmap.terminal(t.words, t.source_words, t.alignment, style=style, width=width) for t in translations
        ]
        writing.write("\n".join(pictures))
