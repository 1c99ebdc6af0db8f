"""Settings: small, frozen, validated groups, and the presets `paper`, `groundhog`, `base` and `small`.

A setting is looked up in this order, the later one wins: preset, TOML file, flag. Nothing else decides.
"""

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import PydanticCustomError

from rnnsearch.errors import UserError

PRESETS = ("paper", "groundhog", "base", "small")
#: largest size of a layer or a vocabulary, beyond what any memory holds
_MOST = 10_000_000
_BY_TEXT = "0: by the length of the text"
#: widest beam; what a stranger's model folder asks for must not take all memory
WIDEST_BEAM = 10_000


class Group(BaseModel):
    """A group of settings: frozen; an unknown name and a value of another type are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), strict=True)


class ModelSettings(Group):
    """What the network is; stored in the model folder. Symbols: see docs/paper.md."""

    architecture: Literal["rnnsearch", "rnnencdec"] = Field(
        "rnnsearch", description="rnnsearch (soft search) or rnnencdec (one fixed vector)"
    )
    embedding_size: int = Field(256, ge=0, le=_MOST, description=f"m, width of the word embeddings; {_BY_TEXT}")
    hidden_size: int = Field(
        512, ge=0, le=_MOST, description=f"n, hidden units of each encoder direction and of the decoder; {_BY_TEXT}"
    )
    attention_size: int = Field(512, ge=0, le=_MOST, description=f"n', hidden units of the alignment model; {_BY_TEXT}")
    maxout_size: int = Field(256, ge=0, le=_MOST, description=f"l, maxout units before the output layer; {_BY_TEXT}")
    decoder_order: Literal["printed", "authors"] = Field(
        "authors", description="printed: as in the paper's text; authors: as in the authors' code"
    )
    factored_output: bool = Field(False, description="output matrix as two factors, l x m and m x K_y (authors' code)")
    embedding_bias: bool = Field(False, description="one bias shared by all words of an embedding (authors' code)")

    def of_text(self, tokens: int) -> "ModelSettings":
        """These settings with the sizes left open (0) chosen for a text of so many target tokens."""
        little = tokens < LITTLE_TEXT
        chosen = {name: size * 3 // 4 if little else size for name, size in SIZES.items() if getattr(self, name) == 0}
        return self.model_copy(update=chosen)


class DataSettings(Group):
    """How text becomes batches."""

    tokeniser: Literal["moses", "subword", "none"] = Field(
        "subword", description="moses: words; subword: SentencePiece; none: split at spaces"
    )
    vocabulary_size: int = Field(
        0,
        ge=0,
        le=_MOST,
        description="entries of each vocabulary (subword: of the joint one), at least 4; "
        "0: 30,000 words, or up to 8,000 subwords, fewer for little text",
    )

    @field_validator("vocabulary_size")
    @classmethod
    def _room_for_words(cls, size: int) -> int:
        if 0 < size < 4:
            raise PydanticCustomError("too_small", "Input should be 0, or 4 at least")
        return size

    max_length: int = Field(
        100, ge=1, description="longest side of a training pair, in tokens; longer pairs are left out"
    )
    keep_duplicates: bool = Field(False, description="keep pairs that occur more than once in the training text")
    batching: Literal["paper", "cost"] = Field(
        "cost", description="paper: 1,600 pairs sorted and cut into 20 batches of 80; cost: by padded tokens"
    )
    batch_sentences: int = Field(80, ge=1, description="pairs in a batch (batching: paper)")
    batch_tokens: int = Field(2400, ge=1, description="padded tokens in a batch, both sides (batching: cost)")


class TrainingSettings(Group):
    """How the weights are found."""

    optimiser: Literal["adadelta", "adam"] = Field("adam", description="adadelta (rho 0.95, epsilon 1e-6) or adam")
    learning_rate: float = Field(2e-3, gt=0, description="highest learning rate (adam)")
    warmup: int = Field(200, ge=0, description="updates over which the learning rate rises to its highest (adam)")
    decay_from: int = Field(
        600, ge=0, description="updates after which the learning rate falls as 1 / sqrt(updates) (adam); 0: it stays"
    )
    loss: Literal["sum", "mean"] = Field("mean", description="sum over the tokens of a batch, or mean over them")
    clip_norm: float = Field(1.0, gt=0, description="largest L2 norm of the gradient")
    initialisation: Literal["paper", "scaled"] = Field(
        "scaled", description="paper: as printed, for adadelta; scaled: by the width of each layer, for adam"
    )
    average: float = Field(
        0.1, ge=0, le=1, description="share of the updates so far that the weights are averaged over; 0: no average"
    )
    dropout: float = Field(
        0.4,
        ge=-1,
        lt=1,
        description="dropout on embeddings, annotations and the output layer; -1: 0.3 up to n = 256, 0.4 above",
    )

    @field_validator("dropout")
    @classmethod
    def _share(cls, share: float) -> float:
        if -1 < share < 0:
            raise PydanticCustomError("too_small", "Input should be -1, or 0 at least")
        return share

    dropout_epochs: float = Field(
        6.0, ge=0, description="passes over the text in which dropout rises from nothing to its full value"
    )
    label_smoothing: float = Field(0.1, ge=0, lt=1, description="probability spread over the whole vocabulary")
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="type of the matrix products; auto: bfloat16 where the processor has it"
    )
    seed: int = Field(1234, ge=0, lt=2**64, description="seed of initialisation, order and dropout")
    patience: int = Field(
        6, ge=0, description="stop after so many validations without a better development BLEU or loss; 0: never"
    )
    max_epochs: int = Field(0, ge=0, description="stop after so many passes over the text; 0: no limit")
    max_updates: int = Field(0, ge=0, description="stop after so many updates; 0: no limit")
    max_minutes: float = Field(
        0.0, ge=0, description="stop after so many minutes of training, then validate once more; 0: no limit"
    )
    validate_every: int = Field(
        0, ge=0, description="updates between validations; 0: a quarter of those so far, 200 at least, an epoch at most"
    )
    checkpoint_minutes: float = Field(
        5.0, ge=0, description="minutes between checkpoints, besides those at validations"
    )


class SearchSettings(Group):
    """How a translation is searched for; stored in the model folder as its default."""

    beam_size: int = Field(12, ge=1, description="width of the beam")
    normalise: bool = Field(True, description="rank by log p / length, the sentence end counted")
    minimum_length: bool = Field(
        False, description="let no translation end before half the length of its source (authors' code)"
    )
    retry: bool = Field(
        False,
        description="search again, with [UNK] or a wider beam, where no translation came to its end (authors' code)",
    )


#: Settings that may change when a run is resumed: they bound the run, they do not change its course.
RESUMABLE = ("patience", "max_epochs", "max_updates", "max_minutes", "checkpoint_minutes")


class Settings(Group):
    """All settings of a training run."""

    model: ModelSettings = ModelSettings()
    data: DataSettings = DataSettings()
    training: TrainingSettings = TrainingSettings()
    search: SearchSettings = SearchSettings()

    def of_text(self, tokens: int) -> "Settings":
        """These settings with what was left open, sizes and dropout, chosen for a text of so many target tokens."""
        model, training = self.model.of_text(tokens), self.training
        if training.dropout == -1:
            training = training.model_copy(update={"dropout": 0.3 if model.hidden_size <= 256 else 0.4})
        return self.model_copy(update={"model": model, "training": training})


GROUPS: dict[str, type[Group]] = {
    "model": ModelSettings,
    "data": DataSettings,
    "training": TrainingSettings,
    "search": SearchSettings,
}
#: setting name -> the group it belongs to (names are unique over the groups)
GROUP_OF = {name: group for group, kind in GROUPS.items() for name in kind.model_fields}

#: Sizes of the network where none are named; three quarters of each for text of fewer target tokens than LITTLE_TEXT,
#: which the smaller network learns as well, update by update, in two thirds of the time (docs/results.md).
SIZES = {"embedding_size": 256, "hidden_size": 512, "attention_size": 512, "maxout_size": 256}
LITTLE_TEXT = 1_500_000
#: Settings that `Settings.of_text` chooses where they have these values.
LEFT_OPEN: dict[str, Any] = dict.fromkeys(SIZES, 0) | {"dropout": -1.0}

_PAPER: dict[str, Any] = {
    "embedding_size": 620,
    "hidden_size": 1000,
    "attention_size": 1000,
    "maxout_size": 500,
    "decoder_order": "printed",
    "tokeniser": "moses",
    "vocabulary_size": 30000,
    "max_length": 50,
    "keep_duplicates": True,
    "batching": "paper",
    "optimiser": "adadelta",
    "loss": "sum",
    "initialisation": "paper",
    "average": 0.0,
    "dropout": 0.0,
    "label_smoothing": 0.0,
    "precision": "float32",
    "patience": 0,
    "normalise": False,
    "retry": True,
}

_PRESETS: dict[str, dict[str, Any]] = {
    "paper": _PAPER,
    "groundhog": _PAPER
    | {"decoder_order": "authors", "factored_output": True, "embedding_bias": True, "minimum_length": True},
    "base": LEFT_OPEN,
    "small": {
        "embedding_size": 128,
        "hidden_size": 192,
        "attention_size": 128,
        "maxout_size": 128,
        "tokeniser": "moses",
        "vocabulary_size": 3000,
        "batch_tokens": 1200,
        "dropout": 0.1,
        "beam_size": 5,
    },
}


def nearest(name: str, known: Mapping[str, Any] | tuple[str, ...] | list[str]) -> str:
    """' (did you mean X?)' for the known name nearest to `name`, or '' where none is near."""
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" (did you mean {found[0]}?)" if found else ""


def preset(name: str) -> Settings:
    """The settings of a preset. Raises UserError for an unknown name."""
    return with_values(Settings(), _preset_values(name), f"preset {name}")


def load_settings(preset_name: str, toml: Path | None, flags: Mapping[str, Any]) -> Settings:
    """Settings from a preset, then a TOML file (sections [model], [data], [training], [search]), then flags."""
    settings = preset(preset_name)
    if toml is not None:
        settings = with_values(settings, read_toml(toml), str(toml))
    return with_values(settings, flags, "")


def read_toml(path: Path) -> dict[str, Any]:
    """Settings of a TOML file as one flat table. Raises UserError for bad TOML, unknown sections and settings."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UserError(f"cannot read the settings file {path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 (byte offset {error.start}); save it as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path} is not TOML: {error}") from None
    flat: dict[str, Any] = {}
    for section, values in table.items():
        if section not in GROUPS:
            where = f"; it belongs under [{GROUP_OF[section]}]" if section in GROUP_OF else nearest(section, GROUPS)
            raise UserError(f"{path}: unknown section or setting {section!r}{where}")
        if not isinstance(values, dict):
            raise UserError(f"{path}: [{section}] must be a section, got {values!r}")
        for name, value in values.items():
            if name not in GROUPS[section].model_fields:
                where = f"; it belongs under [{GROUP_OF[name]}]" if name in GROUP_OF else nearest(name, GROUP_OF)
                raise UserError(f"{path}: unknown setting {name!r} in [{section}]{where}")
            flat[name] = value
    return flat


def with_values(settings: Settings, values: Mapping[str, Any], where: str) -> Settings:
    """`settings` with some values replaced and checked; `where` names their source in an error ('' for flags)."""
    changed: dict[str, dict[str, Any]] = {group: {} for group in GROUPS}
    for name, value in values.items():
        if name not in GROUP_OF:
            raise UserError(f"{where or 'flags'}: unknown setting {name!r}{nearest(name, GROUP_OF)}")
        changed[GROUP_OF[name]][name] = value
    groups: dict[str, Any] = {}
    for group, kind in GROUPS.items():
        try:
            groups[group] = kind.model_validate(getattr(settings, group).model_dump() | changed[group])
        except ValidationError as error:
            raise UserError(_sentence(error, where)) from None
    return Settings(**groups)


def _preset_values(name: str) -> dict[str, Any]:
    if name not in _PRESETS:
        raise UserError(f"unknown preset {name!r}{nearest(name, PRESETS)}; there are {', '.join(PRESETS)}")
    return _PRESETS[name]


def _sentence(error: ValidationError, where: str) -> str:
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    shown = f"{where}: {name}" if where else "--" + name.replace("_", "-")
    return f"{shown}: {first['msg'][0].lower()}{first['msg'][1:]}, got {first['input']!r}"
