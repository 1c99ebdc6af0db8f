"""What is trained: five models with everything equal but what the paper changes, at the size of one machine or another.

A folder holds one plan. It may be given more time; whatever else would change the models is refused.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rnnsearch.config import Settings, load_settings, with_values
from rnnsearch.errors import UserError
from rnnsearch.files import write_whole
from rnnsearch.text.corpus import language_codes
from rnnsearch.training.run_folder import fingerprints

FORMAT = 1
#: How many times as long RNNsearch-50* is trained in all as each other model: in the paper 252 hours to 111.
LONGER = 2.25


@dataclass(frozen=True)
class Variant:
    """One of the five.

    longest: words of the longest side of a training pair; times: how long it is trained in all, in the time of a model;
    further: whose run it goes on with.
    """

    name: str
    folder: str
    architecture: str
    longest: int
    times: float = 1.0
    further: str = ""


#: In the order in which they are trained.
VARIANTS = (
    Variant("RNNencdec-30", "RNNencdec-30", "rnnencdec", 30),
    Variant("RNNsearch-30", "RNNsearch-30", "rnnsearch", 30),
    Variant("RNNencdec-50", "RNNencdec-50", "rnnencdec", 50),
    Variant("RNNsearch-50", "RNNsearch-50", "rnnsearch", 50),
    # A star is no character for the name of a folder.
    Variant("RNNsearch-50*", "RNNsearch-50-longer", "rnnsearch", 50, LONGER, "RNNsearch-50"),
)
#: Words of the longest side over all variants: of the text that the vocabularies are counted on.
LONGEST = max(variant.longest for variant in VARIANTS)
#: All of the training, counted in that of one model.
_TIMES = sum(variant.times for variant in VARIANTS) - sum(1.0 for variant in VARIANTS if variant.further)


@dataclass(frozen=True)
class Scale:
    """Sizes for a kind of machine. `minutes`: training of all five together."""

    name: str
    preset: str
    settings: Settings
    minutes: float


SCALES = {
    "laptop": Scale(
        "laptop",
        "base",
        load_settings("base", None, {
            "embedding_size": 160, "hidden_size": 256, "attention_size": 192, "maxout_size": 160,
            "tokeniser": "moses", "vocabulary_size": 10_000, "dropout": 0.3,
        }),
        100,
    ),
    # The paper's hours, on whatever machine.
    "paper": Scale("paper", "paper", load_settings("paper", None, {}), 60 * 111 * _TIMES),
}  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """What is asked. `minutes` are of all models together; `updates` (of one model, 0: no limit) bound them too."""

    corpus: Sequence[Path]
    dev: Sequence[Path]
    output: Path
    scale: Scale
    seed: int = 1234
    minutes: float = 0.0
    updates: int = 0

    @property
    def languages(self) -> tuple[str, str]:
        """Codes of the source and the target. Raises UserError where the file names do not tell them."""
        source, target = language_codes(self.corpus)
        if source is None or target is None:
            raise UserError(
                f"the languages of {' and '.join(map(str, self.corpus))} cannot be told from the file names; let them "
                "end in their codes, as train.en and train.fr do"
            )
        return source, target

    def minutes_of(self, variant: Variant) -> float:
        """Minutes that a model is trained in all, those of a run that it goes on with counted; 0: no limit."""
        return self.minutes * variant.times / _TIMES

    def updates_of(self, variant: Variant) -> int:
        """Updates after which a model ends; 0: no limit."""
        return round(self.updates * variant.times)

    @property
    def common(self) -> Settings:
        """What all models have in common; architecture, longest pair and limits in it are nobody's."""
        return with_values(self.scale.settings, {"seed": self.seed}, "")

    def settings(self, variant: Variant) -> Settings:
        """The settings of one model. All get the same time: none ends because it learns no more."""
        return with_values(
            self.common, self.limits(variant) | {
                "architecture": variant.architecture, "max_length": variant.longest, "patience": 0,
            }, ""
        )  # fmt: skip

    def limits(self, variant: Variant) -> dict[str, Any]:
        """The settings that say when the training of a model ends; they may change when it is resumed."""
        return {"max_minutes": self.minutes_of(variant), "max_updates": self.updates_of(variant)}

    def model(self, variant: Variant) -> Path:
        """The folder of a model; its run lies beside it."""
        return self.output / "models" / variant.folder

    @property
    def file(self) -> Path:
        """Where it is written down."""
        return self.output / "plan.json"


def settle(plan: Plan) -> None:
    """Write the plan into its folder, or raise UserError where that holds another one."""
    now = _asked(plan)
    if not plan.file.exists():
        _refuse_strange(plan.output)
        plan.output.mkdir(parents=True, exist_ok=True)
        names = {"files": [str(path) for path in (*plan.corpus, *plan.dev)]}
        write_whole(plan.file, (json.dumps({"format": FORMAT} | names | now, indent=1) + "\n").encode())
        return
    before = _read(plan.file)
    for name, value in now.items():
        if before.get(name) != value:
            was = f"other {name}" if isinstance(value, list) else f"{name} {before.get(name)} and not {value}"
            raise UserError(
                f"{plan.output} was begun with {was.replace('_', ' ')}: give the same again, or another --output"
            )


def _asked(plan: Plan) -> dict[str, Any]:
    """What the models depend on. Files by their bytes: where they lie may change."""
    values = {name: value for group in plan.scale.settings.model_dump().values() for name, value in group.items()}
    return {
        "scale": plan.scale.name,
        "training files": [found["sha256"] for found in fingerprints(plan.corpus)],
        "development files": [found["sha256"] for found in fingerprints(plan.dev)],
        "languages": list(plan.languages),
    } | values | {"seed": plan.seed}  # fmt: skip


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] > FORMAT:
            raise UserError(f"{path} was written by a newer version of rnnsearch; update rnnsearch to go on")
        return dict(content)
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is damaged ({error}); give another --output") from None


def _refuse_strange(folder: Path) -> None:
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise UserError(f"{folder} is there already and was not made by reproduce; give --output another name")
