"""`rnnsearch evaluate`: translates a test set and scores it, or scores translations that are there already."""

import argparse
import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rnnsearch import __version__
from rnnsearch.cli import opening, writing
from rnnsearch.errors import UserError

if TYPE_CHECKING:
    from rnnsearch.evaluation.heatmap import Picture
    from rnnsearch.evaluation.report import Report
    from rnnsearch.evaluation.sentences import Sentences, System
    from rnnsearch.translator import Translation, Translator

log = logging.getLogger("rnnsearch")

_KINDS = (".html", ".md")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the command."""
    parser.epilog = (
        "With --hypotheses neither --model nor SOURCE is needed: evaluate --hypotheses out.fr test.fr. "
        "With SOURCE there are scores by its length too."
    )
    add = parser.add_argument
    add("source", type=Path, nargs="?", metavar="SOURCE", help="text to translate, plain or .gz")
    add("reference", type=Path, metavar="REFERENCE", help="its translation by people, line for line")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--model", **opening.MODEL)
    what.add_argument("--hypotheses", type=Path, metavar="FILE", help="score these translations, line for line")
    add("--against", type=Path, action="append", default=[], metavar="PATH",
        help="another system: a model folder or a file of translations; may be given more than once")  # fmt: skip
    add("--tokenised", action="store_true", help="the text is tokenised already: its tokens are what spaces separate")
    add("--language", help="code of the target language (default: the model's, or the ending of REFERENCE)")
    add("--beam-size", type=int, metavar="N", help="width of the beam (default: the model's)")
    add("--no-unk", action="store_true", help="never choose the unknown word")
    add("--replace-unk", action="store_true", help="put for an unknown word the source word that it looked at most, "
        "translated where the model folder has a dictionary with it (see rnnsearch dictionary)")  # fmt: skip
    opening.add_batch_size(parser)
    opening.add_arguments(parser)
    add("--report", type=Path, action="append", default=[], metavar="FILE",
        help="write all that was found as an .html page or as .md; may be given more than once")  # fmt: skip
    add("--json", type=Path, metavar="FILE",
        help="write all that was found as JSON; - is standard output, in place of the table")  # fmt: skip
    opening.add_encoding(parser)


def run(args: argparse.Namespace) -> int:
    """Score, print a table or JSON, and write the reports."""
    from rnnsearch.evaluation.report import measure

    _check(args)
    names = [args.source, args.hypotheses, *(path for path in args.against if not path.is_dir()), args.reference]
    files = [path for path in names if path is not None]
    texts = dict(zip(files, _read(files, args.encoding, args.errors), strict=True))
    report = measure(*_systems(args, texts))
    try:
        _print(report, args.json == Path("-"))
    finally:  # whoever reads the table may be gone: the files are written all the same
        _write_all(report, args)
    return 0


def _check(args: argparse.Namespace) -> None:
    """Raise UserError for what can be refused before any work."""
    from rnnsearch.text.corpus import check_language

    if args.source is None and (args.model is not None or any(path.is_dir() for path in args.against)):
        raise UserError(
            "evaluate needs two files, SOURCE and REFERENCE, to translate one and compare it with the other"
        )
    if args.language is not None:
        check_language("--language", args.language)
    for path in args.report:
        if path.suffix.lower() not in _KINDS:
            raise UserError(f"--report {path}: the name must end in {' or '.join(_KINDS)}")
        opening.check_output(path)
        if path.suffix.lower() == ".md":
            opening.check_output(_picture(path))
    if args.json not in (None, Path("-")):
        opening.check_output(args.json)


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


def _systems(args: argparse.Namespace, texts: dict[Path, list[str]]) -> "tuple[Sentences, list[System]]":
    """The test set and all systems, the main one first. Every model is opened before the first one translates."""
    from rnnsearch.evaluation.sentences import System, short_names

    paths = [args.model or [args.hypotheses], *([path] for path in args.against)]
    models = [bool(args.model), *(path.is_dir() for path in args.against)]
    opened = [_open(args, each) if is_model else None for each, is_model in zip(paths, models, strict=True)]
    text = _sentences(args, texts, opened[0])
    systems = []
    for name, (path, *_), translator in zip(short_names(paths), paths, opened, strict=True):
        if translator is None:
            systems.append(System(name, texts[path]))
        else:
            with translator:
                systems.append(_translated(args, name, translator, text))
    return text, systems


def _open(args: argparse.Namespace, folders: Sequence[Path]) -> "Translator":
    return opening.open_translator(argparse.Namespace(**(vars(args) | {"model": folders})))


def _sentences(args: argparse.Namespace, texts: dict[Path, list[str]], main: "Translator | None") -> "Sentences":
    from rnnsearch.evaluation.sentences import Sentences
    from rnnsearch.text.corpus import language_codes

    source_language, language = language_codes([args.source or args.reference, args.reference])
    tokenised = args.tokenised
    if main is not None:
        source_language, language = main.folder.source.language, main.folder.target.language
        tokenised = tokenised or main.folder.target.tokeniser.kind == "none"
    references, sources = texts[args.reference], None if args.source is None else texts[args.source]
    known = None if main is None or sources is None else _known(main, sources, references)
    return Sentences(references, sources, args.language or language or "", source_language or "", tokenised, known)


def _known(translator: "Translator", sources: Sequence[str], references: Sequence[str]) -> list[int]:
    """Numbers, from 0, of the sentences that the vocabularies hold whole."""
    from rnnsearch.text.vocabulary import UNK_ID

    sides = (translator.folder.source, sources), (translator.folder.target, references)
    whole = [[UNK_ID not in side.encode(line).ids for line in lines] for side, lines in sides]
    return [i for i, both in enumerate(zip(*whole, strict=True)) if all(both)]


def _translated(args: argparse.Namespace, name: str, translator: "Translator", text: "Sentences") -> "System":
    from rnnsearch.evaluation.metrics import unknown_share
    from rnnsearch.evaluation.sentences import System

    assert text.sources is not None
    translations = _translate(args, translator, text.sources, args.no_unk)
    return System(
        name,
        [translation.text for translation in translations],
        _signature(args, translator),
        None if args.no_unk else _without_unk(args, translator, text, translations),
        unknown_share(text.sources, translator.folder.source),
        _pictures(translator, translations),
    )


def _translate(
    args: argparse.Namespace, translator: "Translator", sources: Sequence[str], no_unk: bool
) -> "list[Translation]":
    found = translator.translate(
        sources, beam_size=args.beam_size, no_unk=no_unk, replace_unk=args.replace_unk, batch_size=args.batch_size
    )
    return list(found)


def _without_unk(
    args: argparse.Namespace, translator: "Translator", text: "Sentences", translations: "Sequence[Translation]"
) -> list[str] | None:
    """The known sentences translated without the unknown word; None where that is what they were."""
    from rnnsearch.text.vocabulary import UNK

    written = args.replace_unk or any(UNK in translation.tokens for translation in translations)
    if not text.known or text.sources is None or (len(text.known) == len(text.sources) and not written):
        return None
    kept = set(text.known)
    # An empty line in the place of each other one costs nothing, and warnings name the right lines.
    lines = [line if number in kept else "" for number, line in enumerate(text.sources)]
    log.addFilter(_is_new)
    try:
        return [translation.text for translation in _translate(args, translator, lines, no_unk=True)]
    finally:
        log.removeFilter(_is_new)


def _is_new(record: logging.LogRecord) -> bool:
    """Whether it was not said when the lines were translated first: that one is too long was."""
    return "translated in" not in record.msg


def _pictures(translator: "Translator", translations: "Sequence[Translation]") -> "list[Picture] | None":
    from rnnsearch.evaluation.heatmap import Picture

    try:
        translator.require_alignment()
    except UserError:
        return None
    return [Picture("", t.words, t.source_words, t.alignment) for t in translations]


def _signature(args: argparse.Namespace, translator: "Translator") -> str:
    """What the translations depend on, in the form of sacreBLEU's signatures."""
    search = translator.folder.search
    replaced = "dictionary" if args.replace_unk and translator.folder.dictionary() else "replaced"
    rule = [name for name, used in (("avoided", args.no_unk), (replaced, args.replace_unk)) if used]
    return "|".join([
        f"rnnsearch:{__version__}",
        f"model:{'+'.join(folder.path.resolve().name for folder in translator.folders)}",
        f"beam:{args.beam_size or search.beam_size}",
        f"norm:{'length' if search.normalise else 'none'}",
        f"unk:{'+'.join(rule) or 'kept'}",
    ])  # fmt: skip


def _print(report: "Report", as_json: bool) -> None:
    """The short tables, or all of it as JSON."""
    from rnnsearch.evaluation import report_tables

    if as_json:
        writing.write(_json(report))
        return
    main, *others = (judged.system for judged in report.systems)
    count = f"{len(report.text.references):,} sentences"
    about = [count + (f", translated by {main.translator}" if main.translator else "")]
    about += [f"{system.name}: {system.translator or 'translations from a file'}" for system in others]
    tables = [report_tables.scores, report_tables.bootstrap, report_tables.known, report_tables.bands]
    shown = [table.as_text() for table in (of(report) for of in tables) if table is not None]
    writing.write("\n".join([*about, "", *shown]))


def _json(report: "Report") -> str:
    return json.dumps(report.as_dict(), indent=2) + "\n"


def _write_all(report: "Report", args: argparse.Namespace) -> None:
    """The reports and the JSON file, each whole."""
    from rnnsearch.evaluation.report_html import report_html

    for path in args.report:
        if path.suffix.lower() == ".html":
            _write(path, report_html(report).encode("utf-8", errors="replace"))
        else:
            _write_markdown(report, path)
        log.info("wrote %s", path)
    if args.json not in (None, Path("-")):
        _write(args.json, _json(report).encode())


def _write_markdown(report: "Report", path: Path) -> None:
    """The text, and the plot beside it. Without matplotlib there is no plot, and a warning says so."""
    from rnnsearch.evaluation import bands_plot
    from rnnsearch.evaluation.report_markdown import report_markdown

    picture = _picture(path) if report.bands else None
    if picture is not None:
        try:
            _write(picture, bands_plot.png(bands_plot.plot_of(report)))
        except ImportError:
            log.warning('the report has no plot, which needs matplotlib: pip install "rnnsearch[plot]"')
            picture = None
    content = report_markdown(report, None if picture is None else picture.name)
    _write(path, content.encode("utf-8", errors="replace"))


def _picture(path: Path) -> Path:
    return path.with_suffix(".png")


def _write(path: Path, data: bytes) -> None:
    """Write a file. Raises UserError with its name where the disk is full, or whatever else is wrong."""
    from rnnsearch.files import write_whole

    try:
        write_whole(path, data)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from None
