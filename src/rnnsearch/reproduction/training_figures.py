"""How each model was trained: updates, epochs, hours, machine, and how probable it finds text. The paper's Table 2."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from rnnsearch.evaluation.curve import read_events
from rnnsearch.reproduction.plan import Plan, Variant
from rnnsearch.reproduction.run import finished, noted
from rnnsearch.text.batches import cost_batches, paper_batches
from rnnsearch.text.clean import CleanCounts
from rnnsearch.text.corpus import read_pairs
from rnnsearch.text.store import EncodedCorpus
from rnnsearch.training.checkpoint import STATE
from rnnsearch.training.run_folder import RunFolder
from rnnsearch.translator import Translator

#: Pairs whose probability is looked at, of the training and of the development text each.
PAIRS = 2000


@dataclass(frozen=True)
class Nll:
    """Negative log-probability of some pairs, in nats."""

    pairs: int
    a_sentence: float
    a_token: float


@dataclass(frozen=True)
class Trained:
    """A row of Table 2. `ended`: whether it was trained as long as was asked; `kept`: after how many updates the
    weights were that were kept; `loss`: the last of the training itself, nats a token, with dropout where it has it."""

    name: str
    ended: bool
    updates: int
    kept: int | None
    epochs: float
    hours: float
    machine: str
    threads: int | None
    pairs: int
    loss: float | None
    train: Nll
    dev: Nll

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return vars(self) | {"train": vars(self.train), "dev": vars(self.dev)}


def nll(translator: Translator, pairs: Iterable[tuple[str, str]]) -> Nll:
    """How probable a model finds the targets of `pairs`, whole and without dropout; the sentence end counts too."""
    found = [(-t.log_p, len(t.tokens) + 1) for t in translator.align_pairs(pairs) if t.tokens and t.source_tokens]
    total, tokens = (sum(column) for column in zip(*found, strict=True)) if found else (0.0, 0)
    return Nll(len(found), total / max(1, len(found)), total / max(1, tokens))


def development_pairs(plan: Plan) -> list[tuple[str, str]]:
    """The first pairs of the development set."""
    return list(islice(read_pairs(plan.dev, counts=CleanCounts()), PAIRS))


def training_pairs(plan: Plan, variant: Variant, translator: Translator) -> list[tuple[str, str]]:
    """Pairs that a model may have learnt from, short enough, spread over the whole text."""
    kept, sides = [], (translator.folder.source, translator.folder.target)
    every = max(1, sum(1 for _ in read_pairs(plan.corpus, counts=CleanCounts())) // (2 * PAIRS))
    for pair in islice(read_pairs(plan.corpus, counts=CleanCounts()), None, None, every):
        lengths = [len(side.encode(line).ids) for side, line in zip(sides, pair, strict=True)]
        if min(lengths) > 0 and max(lengths) <= variant.longest:
            kept.append(pair)
    return kept[:: max(1, -(-len(kept) // PAIRS))]


def figures(plan: Plan, variant: Variant, train: Nll, dev: Nll, kept: int | None) -> Trained:
    """A row of the table for a model that has a checkpoint."""
    run = RunFolder(plan.model(variant))
    state = _state(run.checkpoints)
    lengths = EncodedCorpus.open(run.corpus).lengths
    notes = noted(plan, variant)
    losses = [event["loss"] for event in read_events(run.metrics) if event.get("event") == "update"]
    return Trained(
        variant.name, finished(plan, variant), state["update"], kept,
        state["epoch"] + state["batch"] / _batches(plan, variant, lengths), state["seconds"] / 3600,
        notes.get("device", ""), notes.get("threads"), len(lengths[0]), losses[-1] if losses else None, train, dev,
    )  # fmt: skip


def _state(checkpoints: Path) -> dict[str, Any]:
    """Where the newest checkpoint stands."""
    newest = max(path for path in checkpoints.iterdir() if path.name.isdigit())
    return dict(json.loads((newest / STATE).read_text(encoding="utf-8"))["state"]["run"])


def _batches(plan: Plan, variant: Variant, lengths: Sequence[np.ndarray[Any, np.dtype[np.int32]]]) -> int:
    """Batches of an epoch."""
    data = plan.settings(variant).data
    if data.batching == "paper":
        return sum(1 for _ in paper_batches(lengths[0], lengths[1], plan.seed, 0, batch=data.batch_sentences))
    return sum(1 for _ in cost_batches(lengths[0], lengths[1], plan.seed, 0, data.batch_tokens))
