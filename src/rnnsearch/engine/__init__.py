"""Engines: who answers the questions that search asks of a model. Each is numpy in, numpy out."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rnnsearch.errors import UserError
from rnnsearch.model_folder import ModelFolder

Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]
Scores = NDArray[np.float64]


class Engine(Protocol):
    """What search needs of a model; memory, state, log p and alpha are the engine's own and opaque to search.

    The grid: a state has R = B * beam rows, row = sentence * beam + slot.
    """

    def encode(self, x: Ids, x_mask: Mask) -> Any:
        """Memory of B source sentences, x [B, T_x] with their sentence ends."""

    def start(self, memory: Any, beam: int) -> Any:
        """State with `beam` rows a sentence and nothing generated yet."""

    def step(self, state: Any, words: Ids, parents: Ids) -> tuple[Any, Any, Any]:
        """State, log p [R, K_y] and alpha [R, T_x] for the next word of each row of the next grid.

        New row r continues old row parents[r] with words[r], or with -1 where no word stands yet (the first step).
        The next grid may have fewer sentences; all rows of one come from one old sentence.
        """

    def best(self, log_p: Any, scores: Scores, banned: Mapping[int, Mask], k: int) -> tuple[Scores, Ids, Ids]:
        """The k best of scores [B, beam] + log p in each sentence: scores, slots they continue and words, all [B, k].

        `banned` maps a word to the sentences [B] where it gets -inf. Best first; equal ones in no stated order.
        """

    def score(self, log_p: Any, words: Ids) -> Scores:
        """log p of given words [R]."""

    def alpha(self, alpha: Any) -> NDArray[np.float32]:
        """The alignment as an array [R, T_x]."""

    def close(self) -> None:
        """Give back what the engine holds."""


def open_engine(folder: ModelFolder, *, device: str = "cpu", threads: int | None = None) -> Engine:
    """An engine for a model folder. Raises UserError where PyTorch is missing or the device is not there."""
    try:
        from rnnsearch.engine.torch_engine import TorchEngine
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise UserError('translating needs PyTorch, which is not installed: pip install "rnnsearch[train]"') from None
    return TorchEngine.open(folder, device=device, threads=threads)
