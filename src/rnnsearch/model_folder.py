"""The model folder: config.json (format 1), vocabularies and model.safetensors; read and written without torch.

A dictionary.json may lie there too. Nothing in it can run code when it is opened, and nothing in it is the user's text
but the words of the vocabularies and of the dictionary.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from rnnsearch import __version__
from rnnsearch.config import SIZES, ModelSettings, SearchSettings
from rnnsearch.errors import UserError
from rnnsearch.files import write_whole
from rnnsearch.text.side import Side

FORMAT = DICTIONARY_FORMAT = 1
CONFIG, WEIGHTS, DICTIONARY = "config.json", "model.safetensors", "dictionary.json"

Weights = Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True)
class ModelFolder:
    """A model folder, opened: all but the weights, which `weights()` reads."""

    path: Path
    model: ModelSettings
    search: SearchSettings
    max_length: int  # longest side of a training pair, in tokens
    source: Side
    target: Side
    about: dict[str, Any]  # how the weights came about: preset, updates, development BLEU ...

    @classmethod
    def open(cls, path: Path | str) -> "ModelFolder":
        """Open a folder. Raises UserError, one sentence, for anything missing, damaged or newer than this program."""
        path = Path(path)
        config = _read_config(path)
        _require_format(config.get("format"), FORMAT, path / CONFIG, "model folder")
        try:
            return cls(
                path,
                _sizes_named(ModelSettings.model_validate(config["model"])),
                SearchSettings.model_validate(config["search"]),
                _max_length(config["max_length"], path / CONFIG),
                Side.load(config["source"], path),
                Side.load(config["target"], path),
                dict(config.get("about", {})),
            )
        except (KeyError, TypeError, ValueError, ValidationError) as error:
            raise UserError(f"{path / CONFIG} is damaged: {_first_line(error)}") from None

    def weights(self) -> dict[str, NDArray[np.float32]]:
        """The weights by name. Raises UserError where the file is missing or damaged."""
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        file = self.path / WEIGHTS
        try:
            return load_file(file)
        except FileNotFoundError:
            raise UserError(f"{file} is missing; the folder is no whole model") from None
        except (SafetensorError, OSError, ValueError) as error:
            raise UserError(f"{file} is damaged ({_first_line(error)}); copy the model again") from None

    def dictionary(self) -> dict[str, str]:
        """Translations of source tokens; {} where the folder has no dictionary. Raises UserError for a damaged one."""
        file = self.path / DICTIONARY
        try:
            table = _read_table(file)
            _require_format(table.get("format"), DICTIONARY_FORMAT, file, "dictionary")
            return _checked_words(table.get("words"))
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise UserError(
                f"{file} is damaged: {error}; make it again with rnnsearch dictionary, or remove it"
            ) from None

    def require_alignment(self) -> None:
        """Raise UserError for a model that has no alignment to show."""
        if self.model.architecture != "rnnsearch":
            raise UserError(f"{self.path} is an {self.model.architecture} model, which looks at one fixed vector: "
                            "it has no alignment to show")  # fmt: skip

    def require_same_text(self, other: "ModelFolder") -> None:
        """Raise UserError unless `other` turns text into the same ids as this model, as one ensemble must."""
        for mine, others in (self.source, other.source), (self.target, other.target):
            if mine.config() != others.config():
                raise UserError(
                    f"{self.path} and {other.path} have not the same {mine.role} vocabulary: the models of an ensemble "
                    "must be trained on the same text with the same [data] settings, each with another --seed"
                )

    def metadata(self) -> dict[str, str]:
        """What the training said of these weights: updates, development BLEU ... ({} where nothing)."""
        from safetensors import safe_open

        with safe_open(self.path / WEIGHTS, framework="numpy") as file:
            return dict(file.metadata() or {})


def save_model(
    path: Path,
    *,
    model: ModelSettings,
    search: SearchSettings,
    max_length: int,
    source: Side,
    target: Side,
    weights: Weights,
    about: Mapping[str, Any],
    metadata: Mapping[str, str],
) -> None:
    """Write a whole model folder. The weights come first and config.json last: a folder without it is no model.

    A dictionary that lies there was another model's, and goes.
    """
    path.mkdir(parents=True, exist_ok=True)
    (path / DICTIONARY).unlink(missing_ok=True)
    config = {
        "format": FORMAT,
        "rnnsearch": __version__,
        "model": model.model_dump(),
        "search": search.model_dump(),
        "max_length": max_length,
        "source": source.config(),
        "target": target.config(),
        "about": dict(about),
    }
    for name, content in (source.files() | target.files()).items():
        write_whole(path / name, content)
    save_weights(path, weights, metadata)
    write_whole(path / CONFIG, (json.dumps(config, indent=2, ensure_ascii=False) + "\n").encode())


def save_weights(path: Path, weights: Weights, metadata: Mapping[str, str]) -> None:
    """Replace the weights of a model folder, all or nothing."""
    from safetensors.numpy import save

    write_whole(path / WEIGHTS, save(dict(weights), dict(metadata)))


def save_dictionary(path: Path, words: Mapping[str, str]) -> None:
    """Give a model folder a dictionary, source token -> target token, in place of an older one; all or nothing."""
    table = {"format": DICTIONARY_FORMAT, "words": dict(words)}
    write_whole(path / DICTIONARY, (json.dumps(table, indent=2, ensure_ascii=False, sort_keys=True) + "\n").encode())


def _read_config(path: Path) -> dict[str, Any]:
    if not path.is_dir():
        raise UserError(f"there is no model folder {path}")
    try:
        return _read_table(path / CONFIG)
    except FileNotFoundError:
        raise UserError(f"{path} is no model folder: it has no {CONFIG}") from None
    except ValueError as error:
        raise UserError(f"{path / CONFIG} is damaged: {error}") from None


def _read_table(file: Path) -> dict[str, Any]:
    """A JSON object. Raises FileNotFoundError where there is no file, ValueError, of one line, for a damaged one."""
    try:
        table = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(_first_line(error)) from None
    if not isinstance(table, dict):
        raise ValueError("it holds no table")
    return table


def _require_format(found: object, known: int, file: Path, kind: str) -> None:
    if type(found) is int and found == known:  # true and 1.0 equal 1 too
        return
    newer = type(found) is int and found > known
    advice = "update rnnsearch to use it" if newer else f"it is no {kind} of rnnsearch"
    raise UserError(f"{file} has format {found!r}, this rnnsearch {__version__} reads {known}: {advice}")


def _checked_words(words: object) -> dict[str, str]:
    """The words of a dictionary. Raises ValueError for a translation that could not stand in a line of text."""
    if not isinstance(words, dict):
        raise ValueError("its words are no table")
    for source, target in words.items():
        if not _is_word(target):
            raise ValueError(f"the translation of {source[:40]!a} is no word: {str(target)[:40]!a}")
    return words


def _is_word(value: object) -> bool:
    """Whether `value` is text without spaces that UTF-8 can write."""
    return isinstance(value, str) and value.split() == [value] and value == value.encode(errors="ignore").decode()


def _max_length(found: object, file: Path) -> int:
    if type(found) is not int or found < 1:
        raise UserError(f"{file}: max_length must be a whole number from 1, not {found!r}")
    return found


def _sizes_named(model: ModelSettings) -> ModelSettings:
    if left := next((name for name in SIZES if not getattr(model, name)), None):
        raise ValueError(f"{left} must be at least 1")
    return model


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}, got {first['input']!r}"
    return (str(error).splitlines() or [type(error).__name__])[0]
