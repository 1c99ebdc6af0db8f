"""`rnnsearch train`: from two text files to a model folder."""

import argparse
import logging
import shlex
import sys
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic.fields import FieldInfo

from rnnsearch.config import GROUPS, PRESETS, load_settings, preset, read_toml, with_values
from rnnsearch.errors import UserError

#: What a user has who names no preset.
PRESET = "base"

logger = logging.getLogger("rnnsearch")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the command; every setting is one."""
    parser.usage = "rnnsearch train SOURCE [TARGET] --dev SOURCE [TARGET] --model MODEL [flags]"
    parser.epilog = "Settings: the preset, then the TOML file, then flags; the later one wins."
    add = parser.add_argument
    add("corpus", nargs="*", type=Path, metavar="FILE", help="two text files of as many lines, or one .tsv or .jsonl")
    add("--model", type=Path, required=True, help="folder for the model; the run has its own beside it, MODEL.run")
    add("--dev", nargs="+", type=Path, metavar="FILE", help="development files (default: a part is held out)")
    add(
        "--guided-alignment",
        type=Path,
        metavar="FILE",
        help="word links of the training text, which the attention is taught: a line a pair, such as 0-0 2-1 1-2 "
        "(source-target, from 0, words as spaces separate them)",
    )
    add("--source-language", metavar="CODE", help="such as en (default: by the ending of the file)")
    add("--target-language", metavar="CODE", help="such as fr (default: by the ending of the file)")
    add("--preset", choices=PRESETS, help=f"settings to start from (default: {PRESET})")
    add("--config", type=Path, metavar="TOML", help="settings under [model], [data], [training] and [search]")
    begin = parser.add_mutually_exclusive_group()
    begin.add_argument("--resume", action="store_true", help="go on with an interrupted run; its limits may be changed")
    begin.add_argument("--overwrite", action="store_true", help="start anew where a model or a run is there already")
    add("--init-from", type=Path, metavar="MODEL", help="start from the weights and vocabularies of a model")
    add("--encoding", help="encoding of the text files (default: utf-8)")
    add("--errors", choices=("strict", "replace", "ignore"), help="what to do with undecodable bytes (default: strict)")
    add("--device", default="cpu", help="cpu or cuda (default: cpu)")
    add("--threads", type=_positive, metavar="N", help="processor threads (default: as PyTorch decides)")
    add("--profile", action="store_true", help="say where the time of ten updates goes, then go on")
    defaults = preset(PRESET)
    for group, kind in GROUPS.items():
        section = parser.add_argument_group(f"settings: {group}", f"defaults are those of the preset {PRESET}")
        for name, field in kind.model_fields.items():
            _add_setting(section, name, field, getattr(getattr(defaults, group), name))


def run(args: argparse.Namespace) -> int:
    """Train; 0 when the run came to its end, 1 when it was interrupted."""
    from rnnsearch import training

    training.check_torch(args.device)
    if args.dev and len(args.dev) > 2:
        raise UserError("--dev takes one or two files; the training files come before it")
    explicit = _explicit(args)
    common: dict[str, Any] = {
        "dev": args.dev,
        "languages": (args.source_language, args.target_language),
        "device": args.device,
        "threads": args.threads,
        "bar": sys.stderr.isatty(),
        "profile": args.profile,
        "guided_alignment": args.guided_alignment,
    }
    if args.resume and args.init_from:
        raise UserError("--init-from says where a new run begins; leave it out with --resume")
    if args.resume and (args.encoding is not None or args.errors is not None):
        raise UserError("--encoding and --errors say how text is read, which a resumed run has done; leave them out")
    if args.resume:
        outcome = training.resume(args.model, explicit, preset=args.preset, corpus=args.corpus, **common)
    else:
        settings = _settings(args, explicit)
        outcome = training.train(
            settings,
            args.corpus,
            args.model,
            init_from=args.init_from,
            overwrite=args.overwrite,
            encoding="utf-8" if args.encoding is None else args.encoding,
            errors="strict" if args.errors is None else args.errors,
            preset=args.preset or PRESET,
            **common,
        )
    _say(outcome)
    return 1 if outcome.interrupted else 0


def _settings(args: argparse.Namespace, explicit: dict[str, Any]) -> Any:
    if len(args.corpus) not in (1, 2):
        raise UserError("name the text to train on: two files of as many lines, or one .tsv or .jsonl file")
    if args.init_from is None:
        return load_settings(args.preset or PRESET, args.config, _flags(args))
    from rnnsearch.training.launch import model_settings_of

    return with_values(model_settings_of(args.init_from, preset(args.preset or PRESET), explicit), explicit, "")


def _explicit(args: argparse.Namespace) -> dict[str, Any]:
    """The settings that were named, in the TOML file or, which counts more, by flag."""
    return (read_toml(args.config) if args.config else {}) | _flags(args)


def _flags(args: argparse.Namespace) -> dict[str, Any]:
    names = [name for kind in GROUPS.values() for name in kind.model_fields]
    return {name: getattr(args, name) for name in names if getattr(args, name) is not None}


def _add_setting(section: Any, name: str, field: FieldInfo, default: Any) -> None:
    """A flag for a setting: a switch with its --no- twin for true and false, else a value, checked by the settings."""
    flag, text = "--" + name.replace("_", "-"), f"{field.description} (default: {default})".replace("%", "%%")
    if field.annotation is bool:
        section.add_argument(flag, action=argparse.BooleanOptionalAction, help=text)
    elif get_origin(field.annotation) is not None:
        section.add_argument(flag, choices=get_args(field.annotation), help=text)
    else:
        kind = int if field.annotation is int else float
        section.add_argument(flag, type=kind, metavar="N" if kind is int else "X", help=text)


def _positive(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1024:
        raise argparse.ArgumentTypeError(f"a whole number from 1 to 1,024 is needed, not {text!r}")
    return int(text)


def _say(outcome: Any) -> None:
    """The last line: why it ended, how good it is, where it is, and what to type next."""
    model = shlex.quote(str(outcome.model))
    if outcome.interrupted:
        said = f"interrupted after update {outcome.updates}; to go on: rnnsearch train --model {model} --resume"
    else:
        said = (
            f"training ended because {outcome.reason}; best development BLEU {outcome.bleu:.2f}; the model is in "
            f"{outcome.model}; to translate: rnnsearch translate --model {model} < FILE"
        )
    logger.info("%s", said)
