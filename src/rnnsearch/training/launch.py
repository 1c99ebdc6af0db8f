"""How a run begins: a new one from text files, or an interrupted one from its folder, with all that is refused."""

import logging
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rnnsearch.config import LEFT_OPEN, RESUMABLE, Settings, with_values
from rnnsearch.errors import UserError
from rnnsearch.model_folder import ModelFolder, Weights
from rnnsearch.text.corpus import check_language, check_paths, language_codes
from rnnsearch.text.prepare import CorpusFiles, Prepared, prepare
from rnnsearch.training.run_folder import Record, RunFolder, fingerprints

logger = logging.getLogger("rnnsearch")


@dataclass
class Run:
    """Everything that the trainer needs. `weights`: those to start from (None: random ones, or the checkpoint's)."""

    folder: RunFolder
    record: Record
    settings: Settings
    text: Prepared
    weights: Weights | None = None


def start(
    settings: Settings,
    corpus: Sequence[Path],
    model: Path,
    *,
    dev: Sequence[Path] | None = None,
    languages: tuple[str | None, str | None] = (None, None),
    init_from: Path | None = None,
    overwrite: bool = False,
    encoding: str = "utf-8",
    errors: str = "strict",
    preset: str = "",
    guided_alignment: Path | None = None,
) -> Run:
    """Read the text into a new run folder. Raises UserError, and leaves nothing behind, where that cannot be."""
    if guided_alignment is not None and settings.model.architecture != "rnnsearch":
        raise UserError(
            f"--guided-alignment teaches an attention, and {settings.model.architecture} has none; leave it out, or "
            "train with --architecture rnnsearch"
        )
    folder = RunFolder(model)
    for paths in (corpus, dev or corpus):
        check_paths(paths)
    initial = None if init_from is None else ModelFolder.open(init_from)
    spoken = _languages(corpus, languages, initial)
    files = fingerprints(corpus), fingerprints(dev or ())
    links = fingerprints([guided_alignment] if guided_alignment else [])
    record = Record(settings.model_dump(), preset, *files, spoken, ready=False, links=links)
    weights = initial.weights() if initial else None
    folder.create(overwrite=overwrite)
    try:
        folder.write_record(record)
        with folder.alone(), folder.logging():
            text = prepare(
                CorpusFiles(tuple(corpus), encoding, errors, guided_alignment),
                CorpusFiles(tuple(dev), encoding, errors) if dev else None,
                settings.data,
                folder.corpus,
                spoken,
                (initial.source, initial.target) if initial else None,
                settings.training.seed,
            )
            for line in text.report.lines():
                logger.info("%s", line)
            if not text.dev_pairs:
                raise UserError("there is no pair to validate on; name development files with --dev")
            settings = settings.of_text(text.report.target.tokens)
            record = replace(record, settings=settings.model_dump())
            folder.write_record(record)
    except BaseException:
        shutil.rmtree(folder.path, ignore_errors=True)
        raise
    return Run(folder, record, settings, text, weights)


def resume(
    model: Path,
    values: Mapping[str, Any],
    *,
    preset: str | None = None,
    corpus: Sequence[Path] = (),
    dev: Sequence[Path] | None = None,
    languages: tuple[str | None, str | None] = (None, None),
    guided_alignment: Path | None = None,
) -> Run:
    """The run of `model` as it was left. What is named again must be the same, but for the limits in `values`."""
    folder = RunFolder(model)
    record = folder.read_record()
    if not record.ready:
        raise UserError(f"{folder.path} was left before its first update; leave out --resume to start it again")
    _check_languages(languages)
    _same_files("training", record.corpus, corpus)
    _same_links(record.links, guided_alignment)
    _same_files("development", record.dev, dev or ())
    for name, old, new in (
        ("preset", record.preset, preset),
        ("source_language", record.languages[0], languages[0]),
        ("target_language", record.languages[1], languages[1]),
    ):
        if new is not None and new != old:
            raise _changed(name, old, new)
    settings = _resumed_settings(folder, record, values)
    if settings.model_dump() != record.settings:
        record = replace(record, settings=settings.model_dump())
        with folder.alone():
            folder.write_record(record)
    return Run(folder, record, settings, Prepared.open(folder.corpus))


def model_settings_of(init_from: Path, settings: Settings, explicit: Mapping[str, Any]) -> Settings:
    """`settings` with the model and tokeniser of the folder `init_from`; refuses an `explicit` value that conflicts."""
    folder = ModelFolder.open(init_from)
    given = folder.model.model_dump() | {"tokeniser": folder.source.tokeniser.kind}
    for name, value in explicit.items():
        if name in given and value != given[name]:
            raise UserError(f"{_flag(name)} {value} conflicts with {init_from}, which has {given[name]}; leave it out")
    if "vocabulary_size" in explicit:
        logger.info("--vocabulary-size changes nothing: the vocabularies come from %s", init_from)
    return with_values(settings, given, str(init_from))


def _languages(
    corpus: Sequence[Path], named: tuple[str | None, str | None], initial: ModelFolder | None
) -> tuple[str, str]:
    """Languages by flag, else of the initial model, else by the endings of the files."""
    _check_languages(named)
    if initial:
        known: tuple[str | None, str | None] = (initial.source.language, initial.target.language)
        for flag, name, language in zip(("source", "target"), named, known, strict=True):
            if name is not None and name != language:
                raise UserError(f"--{flag}-language {name} conflicts with {initial.path}, which has {language}")
    else:
        known = language_codes(corpus)
    source, target = (name or language for name, language in zip(named, known, strict=True))
    if source is None or target is None:
        raise UserError(
            f"the languages of {' and '.join(map(str, corpus))} cannot be told from the file names; "
            "name them with --source-language and --target-language"
        )
    return source, target


def _check_languages(named: tuple[str | None, str | None]) -> None:
    for flag, name in zip(("--source-language", "--target-language"), named, strict=True):
        if name is not None:
            check_language(flag, name)


def _resumed_settings(folder: RunFolder, record: Record, values: Mapping[str, Any]) -> Settings:
    try:
        old = Settings.model_validate(record.settings)
    except ValidationError as error:
        raise UserError(f"{folder.record} has settings that this version does not know: {error.errors()[0]}") from None
    # What is left open was chosen when the run began.
    values = {name: value for name, value in values.items() if name not in LEFT_OPEN or value != LEFT_OPEN[name]}
    new = with_values(old, values, "")
    was, now = _flat(old), _flat(new)
    for name in values:
        if was[name] != now[name] and name not in RESUMABLE:
            raise _changed(name, was[name], now[name])
    return new


def _same_files(kind: str, before: Sequence[Mapping[str, str]], paths: Sequence[Path]) -> None:
    """Refuse files that are not those of the run; none named is the same."""
    if not paths:
        return
    now = fingerprints(paths)
    if len(now) != len(before):
        raise UserError(
            f"the run was started from {len(before)} {kind} files, not from {' and '.join(map(str, paths))}: name the "
            "same or none, or start anew with --overwrite"
        )
    for old, new in zip(before, now, strict=True):
        if old["sha256"] != new["sha256"]:
            raise UserError(
                f"{new['path']} is not the file that the run was started from ({old['path']} as it was then): "
                "bring that back, or start anew with --overwrite"
            )


def _same_links(before: Sequence[Mapping[str, str]], path: Path | None) -> None:
    """Refuse another file of links than that of the run, or any where it has none; none named is the same."""
    if path is not None and not before:
        raise UserError(
            f"the run was started without --guided-alignment {path}: leave it out, or start anew with --overwrite"
        )
    _same_files("alignment", before, () if path is None else (path,))


def _changed(name: str, old: object, new: object) -> UserError:
    return UserError(
        f"{_flag(name)} was {old} and cannot become {new} in a run that is resumed; --overwrite starts anew"
    )


def _flat(settings: Settings) -> dict[str, Any]:
    return {name: value for group in settings.model_dump().values() for name, value in group.items()}


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
