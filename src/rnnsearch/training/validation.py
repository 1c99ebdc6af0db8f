"""Validation: loss and BLEU on the development set, a few translations, and whether they are all the same."""

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch

from rnnsearch.config import DataSettings, SearchSettings
from rnnsearch.engine import Engine
from rnnsearch.engine.onnx_engine import OnnxEngine, adds_exactly
from rnnsearch.engine.torch_engine import TorchEngine
from rnnsearch.evaluation.metrics import Score, bleu, corpus_bleu_tokens
from rnnsearch.model import Model
from rnnsearch.search.beam import search
from rnnsearch.text.batches import Batch, collate, cost_batches, pad
from rnnsearch.text.side import Side

#: Pairs of the development set that are used: enough to tell two epochs apart, translated in seconds.
PAIRS = 2000
#: The order of two sets of weights hardly depends on the beam, and a beam of 3 takes a quarter of the time of 12.
BEAM = 3
#: Sentences translated at once, by one thread.
SENTENCES = 16
#: Translations shown.
SAMPLES = 3
#: A BLEU below this says nothing: a model that has just begun to learn may have 0 for many validations.
NOISE = 1.0
#: Fewer different outputs than this share, on at least SAMENESS_SENTENCES sentences, is a model that has collapsed.
SAMENESS = 0.1
SAMENESS_SENTENCES = 10

logger = logging.getLogger("rnnsearch")


@dataclass(frozen=True)
class Validation:
    """Loss in nats a target token, BLEU and how it was computed, the translations in the set's order."""

    loss: float
    bleu: float
    signature: str
    outputs: Sequence[str]

    @property
    def rank(self) -> list[float]:
        """What is compared to find the best: BLEU; where that is mere noise still, the loss."""
        return [0.0, -self.loss] if self.by_loss else [self.bleu, 0.0]

    @property
    def by_loss(self) -> bool:
        """Whether the loss is the judge, because BLEU says nothing yet."""
        return self.bleu < NOISE

    @property
    def distinct(self) -> float:
        """Share of outputs that differ from one another."""
        return len(set(self.outputs)) / len(self.outputs)

    @property
    def collapsed(self) -> bool:
        """Whether nearly all outputs are the same."""
        return len(self.outputs) >= SAMENESS_SENTENCES and self.distinct < SAMENESS


class DevelopmentSet:
    """The pairs that a run is judged by, encoded once."""

    def __init__(
        self, pairs: Sequence[tuple[str, str]], sides: tuple[Side, Side], data: DataSettings, search: SearchSettings
    ) -> None:
        if len(pairs) > PAIRS:
            logger.info("validating on the first %d of %d development pairs", PAIRS, len(pairs))
        self.pairs = pairs[:PAIRS]
        self._target = sides[1]
        # Longer sides are cut: what they would cost in time and memory has no bound.
        self._ids = [
            tuple(
                np.asarray(side.encode(line).ids[: data.max_length], np.int32)
                for side, line in zip(sides, pair, strict=True)
            )
            for pair in self.pairs
        ]
        self._batch_tokens = data.batch_tokens
        # Doubling the beam of a model that ends nothing yet would take hours, so there is no retry.
        self._search = search.model_copy(update={"beam_size": min(BEAM, search.beam_size), "retry": False})
        self._tokenised = data.tokeniser == "none"

    def validate(self, model: Model, check: Callable[[], None]) -> Validation:
        """Judge `model`; `check` is called between batches and may raise."""
        model.eval()
        try:
            loss = self._loss(model, check)
            outputs = self._translate(model, check)
        finally:
            model.train()
        score = self._bleu(outputs)
        return Validation(loss, float(score), f"beam:{self._search.beam_size}|{score.signature}", outputs)

    def samples(self, outputs: Sequence[str]) -> Iterator[tuple[str, str, str]]:
        """A few (source, reference, output), spread over the set, the same at each validation."""
        for i in range(0, len(outputs), max(1, -(-len(outputs) // SAMPLES))):
            yield *self.pairs[i], outputs[i]

    def _loss(self, model: Model, check: Callable[[], None]) -> float:
        lengths_x, lengths_y = (
            np.array([len(side) for side in column], np.int32) for column in zip(*self._ids, strict=True)
        )
        nll, tokens = 0.0, 0
        for indices in cost_batches(lengths_x, lengths_y, 0, 0, self._batch_tokens):
            check()
            batch = to_torch(collate([self._ids[i] for i in indices]), model.E_x.device)
            with torch.inference_mode():
                loss = model.loss(*batch, dropout=0.0, label_smoothing=0.0)
            nll += float(loss.nll)
            tokens += loss.tokens
        return nll / tokens

    def _translate(self, model: Model, check: Callable[[], None]) -> list[str]:
        """Sentences of like length together, so that little is spent on padding; as `rnnsearch translate` does it."""
        engine, threads = _engine(model)
        order = sorted(range(len(self._ids)), key=lambda i: len(self._ids[i][0]))
        batches = [order[start : start + SENTENCES] for start in range(0, len(order), SENTENCES)]
        outputs = [""] * len(order)
        pool = ThreadPoolExecutor(threads)
        try:
            searches = [
                pool.submit(search, engine, *pad([self._ids[i][0] for i in batch]), self._search) for batch in batches
            ]
            for batch, found in zip(batches, searches, strict=True):
                check()
                for i, (best, *_) in zip(batch, found.result(), strict=True):
                    words = best.ids[:-1] if best.finished else best.ids
                    outputs[i] = self._target.decode(self._target.vocabulary.tokens(words))
        finally:
            pool.shutdown(cancel_futures=True)
        return outputs

    def _bleu(self, outputs: Sequence[str]) -> Score:
        """BLEU of the text, or of the tokens where they were given and not made by us."""
        references = [target for _, target in self.pairs]
        if self._tokenised:
            return corpus_bleu_tokens([line.split() for line in outputs], [line.split() for line in references])
        return bleu(outputs, references, language=self._target.language)


def _engine(model: Model) -> tuple[Engine, int]:
    """Who translates with the weights as they are now, and in how many threads at once."""
    if model.E_x.device.type != "cpu":
        return TorchEngine(model), 1
    weights = {name: p.detach().numpy() for name, p in model.named_parameters()}
    return OnnxEngine(model.settings, weights, int8=adds_exactly()), torch.get_num_threads()


def to_torch(batch: Batch, device: torch.device) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """The four arrays of a batch on a device."""
    x, x_mask, y, y_mask = (torch.from_numpy(a).to(device) for a in (batch.x, batch.x_mask, batch.y, batch.y_mask))
    return x, x_mask, y, y_mask
