"""`rnnsearch evaluate`: translates a test set and scores it, or scores translations that are there already."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rnnsearch import __version__
from rnnsearch.cli import opening
from rnnsearch.errors import UserError

if TYPE_CHECKING:
    from rnnsearch.evaluation.metrics import Scores
    from rnnsearch.translator import Translator

#: Version of the object that --json writes; a change that could break a reader raises it.
JSON_VERSION = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the command."""
    parser.epilog = "With --hypotheses neither --model nor SOURCE is needed: evaluate --hypotheses out.fr test.fr"
    add = parser.add_argument
    add("source", type=Path, nargs="?", metavar="SOURCE", help="text to translate, plain or .gz")
    add("reference", type=Path, metavar="REFERENCE", help="its translation by people, line for line")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--model", **opening.MODEL)
    what.add_argument("--hypotheses", type=Path, metavar="FILE", help="score these translations, line for line")
    add("--tokenised", action="store_true", help="the text is tokenised already: its tokens are what spaces separate")
    add("--language", help="code of the target language (default: the model's, or the ending of REFERENCE)")
    add("--beam-size", type=int, metavar="N", help="width of the beam (default: the model's)")
    add("--no-unk", action="store_true", help="never choose the unknown word")
    add("--replace-unk", action="store_true", help="copy the source word that an unknown word looked at most")
    opening.add_batch_size(parser)
    opening.add_arguments(parser)
    add(
        "--json",
        type=Path,
        metavar="FILE",
        help="write the scores as JSON too; - is standard output, in place of the table",
    )
    add("--encoding", default="utf-8", help="encoding of the files (default: utf-8)")
    add("--errors", default="strict", choices=("strict", "replace", "ignore"),
        help="what to do with bytes that are none of it (default: strict, stop)")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Score, and print a table or JSON."""
    if args.model is not None and args.source is None:
        raise UserError(
            "evaluate needs two files, SOURCE and REFERENCE, to translate one and compare it with the other"
        )
    if args.json not in (None, Path("-")):
        opening.check_output(args.json)
    files = [path for path in (args.source, args.hypotheses, args.reference) if path is not None]
    texts = dict(zip(files, _read(files, args.encoding, args.errors), strict=True))
    if args.model is None:
        signature = None
        scores = _scores_of_text(args, texts[args.hypotheses], texts[args.reference])
    else:
        signature, scores = _scores_of_model(args, texts[args.source], texts[args.reference])
    _show(scores, signature, args.json)
    return 0


def _read(paths: Sequence[Path], encoding: str, errors: str) -> list[list[str]]:
    """The lines of files that must have equally many. Raises UserError where they have not."""
    from rnnsearch.text.corpus import open_lines

    texts = [list(open_lines(path, encoding=encoding, errors=errors)) for path in paths]
    for path, text in zip(paths, texts, strict=True):
        if len(text) != len(texts[-1]):
            raise UserError(
                f"{path} has {len(text):,} lines and {paths[-1]} has {len(texts[-1]):,}: they must go line by line"
            )
    return texts


def _scores_of_text(args: argparse.Namespace, hypotheses: list[str], references: list[str]) -> "Scores":
    from rnnsearch.evaluation.metrics import evaluate
    from rnnsearch.text.corpus import language_codes

    language = args.language or language_codes([args.hypotheses, args.reference])[1] or ""
    return evaluate(hypotheses, references, language=language, tokenised=args.tokenised)


def _scores_of_model(args: argparse.Namespace, sources: list[str], references: list[str]) -> "tuple[str, Scores]":
    from rnnsearch.evaluation.metrics import evaluate, unknown_share

    translator = opening.open_translator(args)
    source, target = translator.folder.source, translator.folder.target
    translations = translator.translate(
        sources, beam_size=args.beam_size, no_unk=args.no_unk, replace_unk=args.replace_unk, batch_size=args.batch_size
    )
    scores = evaluate(
        [translation.text for translation in translations],
        references,
        language=args.language or target.language,
        tokenised=args.tokenised or target.tokeniser.kind == "none",
        unknown_source=unknown_share(sources, source),
    )
    return _signature(args, translator), scores


def _signature(args: argparse.Namespace, translator: "Translator") -> str:
    """What the translations depend on, in the form of sacreBLEU's signatures."""
    search = translator.folder.search
    rule = [name for name, used in (("avoided", args.no_unk), ("replaced", args.replace_unk)) if used]
    return "|".join([
        f"rnnsearch:{__version__}",
        f"model:{'+'.join(folder.path.resolve().name for folder in translator.folders)}",
        f"beam:{args.beam_size or search.beam_size}",
        f"norm:{'length' if search.normalise else 'none'}",
        f"unk:{'+'.join(rule) or 'kept'}",
    ])  # fmt: skip


def _show(scores: "Scores", signature: str | None, json_file: Path | None) -> None:
    from rnnsearch.files import write_whole

    content = json.dumps({"version": JSON_VERSION, "translator": signature, **scores.as_dict()}, indent=2) + "\n"
    if json_file == Path("-"):
        sys.stdout.write(content)
        return
    print(f"{scores.sentences:,} sentences" + (f", translated by {signature}" if signature else ""))
    print(scores.table(), end="")
    if json_file is not None:
        write_whole(json_file, content.encode())
