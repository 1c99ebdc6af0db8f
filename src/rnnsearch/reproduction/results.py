"""Translations of the test sets, kept in files, so that a report can be made again without translating.

DIR/results/MODEL/SET/: output.txt, no-unk.txt, links.txt (the clear links of each line, source-target, tokens from 0)
and about.json, which is written last. What belongs to other weights than those of the model is made anew.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rnnsearch.errors import UserError
from rnnsearch.evaluation.heatmap import Picture
from rnnsearch.evaluation.metrics import Score, unknown_share
from rnnsearch.files import write_whole
from rnnsearch.model_folder import CONFIG, WEIGHTS, ModelFolder
from rnnsearch.reproduction.plan import Plan, Variant
from rnnsearch.reproduction.sentences import Looked, agreeing
from rnnsearch.reproduction.training_figures import Nll, Trained, development_pairs, figures, nll, training_pairs
from rnnsearch.search.alignment import links_from
from rnnsearch.text.corpus import open_lines
from rnnsearch.text.vocabulary import UNK, UNK_ID
from rnnsearch.training.run_folder import RunFolder
from rnnsearch.translator import Translation, Translator

#: No sentence is translated in parts: what becomes of long ones is what the paper is about.
WHOLE = 100_000
#: A link is clear if a target token gave so much of its weight to a source token.
CLEAR = 0.5
#: Decimals of the weights that are kept.
_DECIMALS = 4

logger = logging.getLogger("rnnsearch")


@dataclass(frozen=True)
class TestSet:
    """Sentences and their translations by people. `key`: name of a folder for what belongs to this very text."""

    __test__ = False  # nothing for pytest

    name: str
    key: str
    sources: Sequence[str]
    references: Sequence[str]


@dataclass(frozen=True)
class Translated:
    """What a model made of a test set.

    known: numbers of the sentences that its vocabularies hold whole; without_unk: their translations with the unknown
    word banned, "" for the others; looked: where it looked in each, None where the model does not align.
    """

    outputs: Sequence[str]
    without_unk: Sequence[str]
    known: Sequence[int]
    unknown_source: Score
    looked: Sequence[Looked] | None


def read_test_set(name: str, source: Path, reference: Path) -> TestSet:
    """Read two files. Raises UserError where they cannot be read, are empty, or have not equally many lines."""
    sources, references = list(open_lines(source)), list(open_lines(reference))
    if len(sources) != len(references):
        raise UserError(
            f"{source} has {len(sources):,} lines and {reference} has {len(references):,}: they must go line by line"
        )
    if not any(line.strip() for line in references):
        raise UserError(f"{reference} is empty: there is nothing to compare translations with")
    digest = hashlib.sha256("\n".join([*sources, "", *references]).encode()).hexdigest()
    return TestSet(name, f"{''.join(c if c.isalnum() or c in '-_' else '_' for c in name)}-{digest[:8]}",
                   sources, references)  # fmt: skip


class Results:
    """What is found with one model. The model is opened when something is asked for that is not kept yet."""

    def __init__(self, plan: Plan, variant: Variant, *, device: str = "cpu", threads: int | None = None) -> None:
        self._plan, self.variant = plan, variant
        self._model = plan.model(variant)
        self._folder = plan.output / "results" / variant.folder
        self._options: dict[str, Any] = {"device": device, "threads": threads}
        self._translator: Translator | None = None
        self._weights = _sha256(self._model / WEIGHTS)

    @staticmethod
    def there(plan: Plan, variant: Variant) -> bool:
        """Whether there is a model to ask."""
        return (plan.model(variant) / CONFIG).exists() and RunFolder(plan.model(variant)).record.exists()

    @property
    def language(self) -> tuple[str, str]:
        """Codes of source and target."""
        folder = ModelFolder.open(self._model)
        return folder.source.language, folder.target.language

    def translations(self, test: TestSet, busy: Callable[[str], None]) -> Translated:
        """The translations of a test set, those kept where there are any; `busy` is told of work."""
        folder = self._folder / test.key
        about = self._kept(folder / "about.json")
        if about is None:
            busy(f"{self.variant.name} translates {test.name}, {len(test.sources):,} sentences")
            about = self._translate(test, folder)
        return _read(folder, about)

    def trained(self, busy: Callable[[str], None]) -> Trained:
        """How the model was trained."""
        path = self._folder / "nll.json"
        about = self._kept(path)
        if about is None:
            busy(f"{self.variant.name} reads training and development text")
            translator = self._open()
            found = {
                "train": vars(nll(translator, training_pairs(self._plan, self.variant, translator))),
                "dev": vars(nll(translator, development_pairs(self._plan))),
                "updates": int(translator.folder.metadata().get("updates", 0)),
            }
            about = self._keep(path, found)
        return figures(
            self._plan, self.variant, Nll(**about["train"]), Nll(**about["dev"]), about["updates"] or None
        )  # fmt: skip

    def pictures(self, sources: Sequence[str]) -> list[tuple[str, Picture]]:
        """For each source its translation and the picture of its alignment."""
        path = self._folder / "pictures.json"
        about = self._kept(path) or {"pictures": {}}
        missing = [source for source in sources if source not in about["pictures"]]
        if missing:
            drawn = {t.source: _drawn(t) for t in self._open().translate(missing, max_length=WHOLE)}
            about = self._keep(path, {"pictures": about["pictures"] | drawn})
        return [_picture(about["pictures"][source]) for source in sources]

    def close(self) -> None:
        """Give the memory of the model back."""
        if self._translator:
            self._translator.close()

    def _open(self) -> Translator:
        if self._translator is None:
            self._translator = Translator.load(self._model, **self._options)
        return self._translator

    def _translate(self, test: TestSet, folder: Path) -> dict[str, Any]:
        translator = self._open()
        sides = (translator.folder.source, test.sources), (translator.folder.target, test.references)
        whole = [[UNK_ID not in side.encode(line).ids for line in lines] for side, lines in sides]
        known = [i for i, both in enumerate(zip(*whole, strict=True)) if all(both) and test.references[i].strip()]
        found = list(translator.translate(test.sources, max_length=WHOLE))
        without = [found[i].text for i in known]
        again = [place for place, i in enumerate(known) if UNK in found[i].tokens]
        # Where the unknown word was not chosen, banning it changes little; all the same it is the paper's rule.
        if again:
            lines = [test.sources[i] for i in known]
            without = [t.text for t in translator.translate(lines, max_length=WHOLE, no_unk=True)]
        folder.mkdir(parents=True, exist_ok=True)
        _write_lines(folder / "output.txt", [t.text for t in found])
        _write_lines(folder / "no-unk.txt", _in_place(without, known, len(found)))
        aligns = translator.folder.model.architecture == "rnnsearch"
        if aligns:
            links = [" ".join(f"{x}-{y}" for x, y in links_from(t.token_alignment, CLEAR)) for t in found]
            _write_lines(folder / "links.txt", links)
        share = unknown_share(test.sources, translator.folder.source)
        return self._keep(folder / "about.json", {
            "known": known, "agreeing": [agreeing(t.token_alignment) for t in found] if aligns else None,
            "unknown_source": [float(share), share.signature],
        })  # fmt: skip

    def _kept(self, path: Path) -> dict[str, Any] | None:
        """What a file holds, if it belongs to the weights of the model and is whole."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            return dict(content) if content["weights"] == self._weights else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _keep(self, path: Path, content: dict[str, Any]) -> dict[str, Any]:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(content | {"weights": self._weights}, ensure_ascii=False).encode(errors="replace"))
        return content


def _read(folder: Path, about: dict[str, Any]) -> Translated:
    outputs = _lines(folder / "output.txt")
    looked = None
    if about["agreeing"] is not None:
        lines = zip(_lines(folder / "links.txt"), about["agreeing"], strict=True)
        looked = [Looked([(int(x), int(y)) for x, y in (link.split("-") for link in line.split())], count)
                  for line, count in lines]  # fmt: skip
    value, signature = about["unknown_source"]
    return Translated(outputs, _lines(folder / "no-unk.txt"), about["known"], Score(value, signature), looked)


def _in_place(lines: Sequence[str], numbers: Sequence[int], size: int) -> list[str]:
    """`lines` at their numbers, "" elsewhere."""
    placed = [""] * size
    for line, number in zip(lines, numbers, strict=True):
        placed[number] = line
    return placed


def _write_lines(path: Path, lines: Sequence[str]) -> None:
    write_whole(path, "".join(line + "\n" for line in lines).encode("utf-8", errors="replace"))


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def _drawn(translation: Translation) -> dict[str, Any]:
    weights = translation.token_alignment.round(_DECIMALS).tolist()
    return {"text": translation.text, "words": translation.tokens, "source_words": translation.source_tokens,
            "weights": weights}  # fmt: skip


def _picture(drawn: dict[str, Any]) -> tuple[str, Picture]:
    weights = np.array(drawn["weights"]).reshape(len(drawn["words"]), len(drawn["source_words"]))
    return drawn["text"], Picture("", drawn["words"], drawn["source_words"], weights)


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
