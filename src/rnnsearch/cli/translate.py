"""`rnnsearch translate`: standard input to standard output, line for line."""

import argparse
import json
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from rnnsearch.cli import opening, writing

if TYPE_CHECKING:
    from rnnsearch.translator import Translation

#: Version of the objects that --json writes; a change that could break their reader raises it.
JSON_VERSION = 1
_EPILOG = """\
Every input line gives one output line (N with --n-best), an empty one an empty one. A line over the limit is translated
in parts, with a warning. With --alignment an output line is `text ||| alignment`, words counted from 0 at the spaces
of the two lines; with --n-best it is `line ||| text ||| F0= log p ||| score`, lines counted from 0, the
alignment after the text."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the command."""
    parser.epilog = _EPILOG
    add = parser.add_argument
    opening.add_model(parser)
    add("--beam-size", type=_count, metavar="N", help="width of the beam (default: the model's)")
    add("--n-best", type=_count, nargs="?", const=0, metavar="N", help="the N best of each line (default: the beam)")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--alignment", type=writing.alignment_rule, metavar="hard|soft|THRESHOLD",
                      help="the best source word of each target word, all weights, or links from a weight")  # fmt: skip
    form.add_argument("--json", action="store_true", help="a JSON object a line: text, tokens, scores, alignment")
    add("--no-unk", action="store_true", help="never choose the unknown word (presets paper and groundhog allow it "
        "again where nothing is found without)")  # fmt: skip
    add("--replace-unk", action="store_true", help="put for an unknown word the source word that it looked at most, "
        "translated where the model folder has a dictionary with it (see rnnsearch dictionary)")  # fmt: skip
    add("--max-length", type=_count, metavar="N", help="longest line in tokens (default: the model's)")
    opening.add_batch_size(parser)
    opening.add_arguments(parser)
    opening.add_encoding(parser)


def run(args: argparse.Namespace) -> int:
    """Translate standard input with the flags given."""
    from rnnsearch.translator import READ_AHEAD

    room = READ_AHEAD * args.batch_size
    lines = _start_reading(args.encoding, args.errors, room)
    translator = opening.open_translator(args)
    if args.alignment is not None:
        translator.require_alignment()
    n_best = 1 if args.n_best is None else args.n_best or args.beam_size or translator.folder.search.beam_size
    form = _form(args)
    done = 0
    if sys.stdin.isatty():
        print("rnnsearch: type a sentence a line; Ctrl-D ends", file=sys.stderr)
    for chunk in _chunks(lines, room):
        translations = translator.translate_chunk(
            chunk, done + 1, beam_size=args.beam_size, n_best=n_best, no_unk=args.no_unk,
            replace_unk=args.replace_unk, max_length=args.max_length, batch_size=args.batch_size,
        )  # fmt: skip
        for number, translation in enumerate(translations, done):
            writing.write(form(number, translation) + "\n")
        done += len(chunk)
    return 0


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a whole number from 1 is needed, not {text!r}")
    return int(text)


_Lines = queue.Queue[str | Exception | None]


def _start_reading(encoding: str, errors: str, room: int) -> _Lines:
    """A queue of at most `room` lines of standard input, filled by a thread; None ends it, an error ends it too.

    So a line that somebody types is answered at once, while the lines of a file wait there for one another.
    """
    from rnnsearch.text.corpus import open_lines

    # A file object of the thread's own: at exit Python closes sys.stdin, which it cannot while a thread waits in it.
    stream = open(sys.stdin.fileno(), "rb", closefd=False)  # noqa: SIM115
    lines: _Lines = queue.Queue(room)

    def read() -> None:
        try:
            for line in open_lines(stream, encoding=encoding, errors=errors):
                lines.put(line)
            lines.put(None)
        except Exception as error:  # noqa: BLE001 - raised again by the reader of the queue
            lines.put(error)

    threading.Thread(target=read, daemon=True, name="standard input").start()
    return lines


def _chunks(lines: _Lines, room: int) -> Iterator[list[str]]:
    """Lines as they come: all that wait already, at least one and at most `room`. Raises what reading raised."""
    while True:
        chunk: list[str] = []
        entry = lines.get()
        while isinstance(entry, str):
            chunk.append(entry)
            if len(chunk) == room or lines.empty():
                break
            entry = lines.get()
        if chunk:
            yield chunk
        if isinstance(entry, Exception):
            raise entry
        if entry is None:
            return


def _form(args: argparse.Namespace) -> Callable[[int, "Translation"], str]:
    """How a translation is written: line number from 0 and translation -> output line or lines."""
    if args.json:
        return lambda _, translation: _json(translation)

    def fields(translation: "Translation") -> str:
        if args.alignment is None:
            return translation.text
        return f"{translation.text} ||| {writing.links(translation.alignment, args.alignment)}"

    if args.n_best is None:
        return lambda _, translation: fields(translation)
    return lambda number, translation: "\n".join(
        f"{number} ||| {fields(one)} ||| F0= {one.log_p:.4f} ||| {one.score:.4f}"
        for one in translation.n_best or [translation]
    )


def _json(translation: "Translation") -> str:
    whole: dict[str, Any] = {
        "version": JSON_VERSION,
        "source": translation.source,
        "source_words": translation.source_words,
        "source_tokens": translation.source_tokens,
        **_json_target(translation),
    }
    if translation.n_best:
        whole["n_best"] = [_json_target(one) for one in translation.n_best]
    return json.dumps(whole, ensure_ascii=False)


def _json_target(translation: "Translation") -> dict[str, Any]:
    return {
        "text": translation.text,
        "words": translation.words,
        "tokens": translation.tokens,
        "log_p": writing.number(translation.log_p),
        "score": writing.number(translation.score),
        "alignment": translation.alignment.round(6).tolist(),
        "token_alignment": translation.token_alignment.round(6).tolist(),
    }
