"""How to translate: the keywords of `Translator.translate`, and what they come to with the model's own settings."""

from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np

from rnnsearch.config import WIDEST_BEAM, SearchSettings, nearest
from rnnsearch.errors import UserError
from rnnsearch.model_folder import ModelFolder

BATCH_SIZE = 16
#: Largest batch that may be asked for: READ_AHEAD times as many lines are held in memory.
LARGEST_BATCH = 10_000


class Options(TypedDict, total=False):
    """How to translate, as keywords: `translator.translate(lines, beam_size=5)`.

    beam_size: width of the beam (default: the model's).
    n_best: translations wanted of each line, at most the beam (1).
    no_unk: never choose the unknown word (False). Models of the presets `paper` and `groundhog` allow it again where
        they find no translation without it.
    replace_unk: put the source token that was looked at most in the place of an unknown word, or its translation where
        the dictionary of the model folder has it (False).
    max_length: longest line in tokens; a longer one is translated in parts (default: the model's).
    batch_size: most sentences searched at once by one thread (16).
    """

    beam_size: int | None
    n_best: int
    no_unk: bool
    replace_unk: bool
    max_length: int | None
    batch_size: int


@dataclass(frozen=True)
class Plan:
    """`Options` with nothing left open."""

    search: SearchSettings
    n_best: int
    no_unk: bool
    replace_unk: bool
    max_length: int
    batch_size: int


def plan_of(options: Options, folder: ModelFolder) -> Plan:
    """The options, the model's own settings where they are left open. Raises as `Translator.translate` says."""
    defaults = {"beam_size": folder.search.beam_size, "n_best": 1, "no_unk": False, "replace_unk": False,
                "max_length": folder.max_length, "batch_size": BATCH_SIZE}  # fmt: skip
    for name in options:
        if name not in defaults:
            raise TypeError(f"there is no option {name!r}{nearest(name, defaults)}; there are {', '.join(defaults)}")
    values: dict[str, Any] = defaults | {name: value for name, value in options.items() if value is not None}
    for name in ("beam_size", "n_best", "max_length", "batch_size"):
        values[name] = integer(name, values[name])
        if values[name] < 1:
            raise UserError(f"{name} must be at least 1, not {values[name]}")
    for name, most in ("beam_size", WIDEST_BEAM), ("batch_size", LARGEST_BATCH):
        if values[name] > most:
            raise UserError(f"{name} must be at most {most}, not {values[name]}")
    beam = values.pop("beam_size")
    if values["n_best"] > beam:
        raise UserError(f"a beam of {beam} cannot hold the {values['n_best']} best; widen it (beam_size, --beam-size)")
    return Plan(search=folder.search.model_copy(update={"beam_size": beam}), **values)


def integer(name: str, value: object) -> int:
    """The argument `name` as an int, numpy's integers too. Raises TypeError for all else."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be a whole number, not {value!r}")
    return int(value)
