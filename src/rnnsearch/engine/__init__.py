"""Engines: who answers the questions that search asks of a model. Each is numpy in, numpy out."""

from collections.abc import Mapping
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from rnnsearch.errors import UserError
from rnnsearch.model_folder import ModelFolder

Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]
Scores = NDArray[np.float64]


class Engine(Protocol):
    """What search needs of a model; memory, state, log p and alpha are the engine's own and opaque to search.

    The grid [B, slots] holds the rows R = B * slots, row = sentence * slots + slot.
    """

    def encode(self, x: Ids, x_mask: Mask) -> Any:
        """Memory of B source sentences, x [B, T_x] with their sentence ends."""

    def start(self, memory: Any, beam: int) -> Any:
        """State of a grid with one row a sentence and nothing generated yet.

        beam: the largest k of `best`; 0 where not that will be asked but `score` or `every`.
        """

    def step(self, state: Any, words: Ids, parents: Ids) -> tuple[Any, Any, Any]:
        """State, log p [R, K_y] and alpha [R, T_x] for the next word of each row of the next grid.

        words, parents: [B, slots]. A new row continues old row `parents` with `words`, or with -1 where no word stands
        yet (the first step). The next grid may have fewer sentences, in the same order, and more or fewer slots; all
        rows of one sentence come from one old sentence.
        """

    def posterior(self, state: Any, words: Ids, given: Ids) -> NDArray[np.float32]:
        """Where a model that aligns looked, now that it is known which words [B] were `given`: [B, T_x], rows of sum 1.

        A grid of one row a sentence that was started with beam 0; state and words [B, 1] are those of the `step` to the
        given words: what it gave out and what it was given. p(j | y_i) is in proportion to
        alpha_ij p(y_i | s_i, y_{i-1}, c_i = h_j), the readout seeing one source word alone; of all but the LIKELY
        likeliest j it is 0. They are found with the sum over the vocabulary in that p linearised around the true c_i.
        """

    def best(self, log_p: Any, scores: Scores, banned: Mapping[int, Mask], k: int) -> tuple[Scores, Ids, Ids]:
        """The k best of scores [B, slots] + log p in each sentence: scores, slots they continue and words, all [B, k].

        `banned` maps a word (the sentence end or the unknown word) to the sentences [B] where it gets -inf. Best
        first; equal ones in no stated order.
        """

    def score(self, log_p: Any, words: Ids) -> Scores:
        """log p of given words [R]."""

    def every(self, log_p: Any) -> NDArray[np.float32]:
        """log p of all words [R, K_y]."""

    def alpha(self, alpha: Any) -> NDArray[np.float32]:
        """The alignment as an array [R, T_x]."""

    def close(self) -> None:
        """Give back what the engine holds."""


Precision = Literal["auto", "float32", "int8"]

#: Source words of a target word whose posterior weight is computed in full.
LIKELY = 4


def open_engine(
    *folders: ModelFolder, device: str = "cpu", threads: int | None = None, precision: Precision = "auto"
) -> Engine:
    """An engine for a model folder: on the processor ONNX Runtime's, on any other device PyTorch's.

    Several folders, which must have the same vocabularies, give the engine of their ensemble. threads: PyTorch's own;
    ONNX Runtime works in the thread that calls. Raises UserError where PyTorch is missing or the device is not there.
    """
    if len(folders) == 1:
        return _open_one(folders[0], device, threads, precision)
    from rnnsearch.engine.ensemble_engine import Ensemble

    return Ensemble([_open_one(folder, device, threads, precision) for folder in folders])


def _open_one(folder: ModelFolder, device: str, threads: int | None, precision: Precision) -> Engine:
    if precision not in get_args(Precision):
        raise UserError(f"precision must be one of {', '.join(get_args(Precision))}, not {precision!r}")
    if device == "cpu":
        try:
            from rnnsearch.engine.onnx_engine import OnnxEngine
        except ModuleNotFoundError as error:
            if error.name != "onnxruntime":
                raise
            raise UserError("translating needs ONNX Runtime, which is missing: pip install onnxruntime") from None
        return OnnxEngine.open(folder, precision)
    if not device.startswith(("cuda", "mps")):
        raise UserError(f"there is no device {device!r} to translate on; name cpu, cuda or cuda:1")
    if precision == "int8":
        raise UserError(f"int8 is for the processor only: leave out the device {device!r}, or ask for float32")
    try:
        from rnnsearch.engine.torch_engine import TorchEngine
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise UserError(
            f'the device {device!r} needs PyTorch, which is not installed: pip install "rnnsearch[train]"'
        ) from None
    return TorchEngine.open(folder, device=device, threads=threads)


def checked_weights(folder: ModelFolder, wanted: Mapping[str, tuple[int, ...]]) -> dict[str, NDArray[np.float32]]:
    """A folder's weights, which must have the names and shapes `wanted`; whatever is wrong is said in one UserError."""
    weights = folder.weights()
    wrong = [f"{name} is missing" for name in wanted.keys() - weights.keys()]
    wrong += [f"{name} is unknown" for name in weights.keys() - wanted.keys()]
    for name, array in weights.items():
        shape = wanted.get(name, array.shape)
        if array.shape != shape:
            wrong.append(f"{name} is {list(array.shape)} and not {list(shape)}")
        elif array.dtype != np.float32:
            wrong.append(f"{name} is of type {array.dtype} and not float32")
        elif not np.isfinite(array).all():
            wrong.append(f"{name} holds what is no number")
    if wrong:
        raise UserError(f"the weights in {folder.path} do not fit its config.json: {'; '.join(sorted(wrong))}")
    return weights


def fill(scores: Scores, slots: Ids, words: Ids, k: int) -> tuple[Scores, Ids, Ids]:
    """Pad to k columns with -inf, where a tiny vocabulary has fewer continuations than the beam is wide."""
    lack = k - scores.shape[1]
    if lack:
        scores = np.pad(scores, ((0, 0), (0, lack)), constant_values=-np.inf)
        slots, words = (np.pad(a, ((0, 0), (0, lack))) for a in (slots, words))
    return scores, slots, words
