"""The engine without PyTorch: graphs of our own making, run by ONNX Runtime."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from rnnsearch.config import ModelSettings
from rnnsearch.engine import LIKELY, Ids, Mask, Precision, Scores, checked_weights, fill
from rnnsearch.engine.graph import Graph
from rnnsearch.engine.network import (
    BLOCK,
    LESS,
    WHOLE,
    Weights,
    WordTable,
    encoder,
    largest_product,
    posterior,
    shapes,
    step,
    words_added,
)
from rnnsearch.model_folder import ModelFolder

#: Words given out beyond the beam, because so many may be banned: the sentence end and the unknown word.
SPARE = 2
#: Source positions are padded to a multiple of this, so that not even the last bit depends on the batch.
ALIGNED = 4


class Memory(NamedTuple):
    """What the decoder sees of B source sentences."""

    s_0: NDArray[np.float32]  # [B, n]
    look: dict[str, NDArray[np.float32]]  # contexts [B, T_x, .]; U_a_h [B, 1, T_x, n'], padding [B, 1, T_x]
    mask: Mask  # [B, T_x], T_x padded to a multiple of ALIGNED
    width: int  # T_x as it was given


class Rows(NamedTuple):
    """The memory of the sentences in the grid and the state of its rows."""

    memory: Memory
    beam: int  # most words that are asked for of a row; 0: log p of all are
    slots: int  # rows of a sentence
    state: dict[str, NDArray[np.float32]]  # s [R, n] and, in the authors' order, c: [C; C_z; C_r] c_i [R, 3n]
    said: dict[str, NDArray[np.float32]]  # log_p and alpha of the last step, where log p of all words is asked for


class Words(NamedTuple):
    """What a step says of the next word."""

    log_p: NDArray[np.float32]  # of the best words of each row [R, beam + SPARE]
    words: Ids  # the same words
    inputs: dict[str, NDArray[Any]]  # of the step: run it again for log p of all words


class AllWords(NamedTuple):
    """What a step says of the next word, to one who asks for all of them."""

    log_p: NDArray[np.float32]  # [R, K_y]


class OnnxEngine:
    """Answers search with two sessions; any number of threads may use it at once, each call runs in its caller's."""

    def __init__(self, settings: ModelSettings, weights: Weights, *, int8: bool) -> None:
        self._size = len(weights["E_y"])
        added = _Session(words_added(weights))
        self._table = WordTable(settings, weights, lambda Ey: added.run({"Ey": Ey}, ["rows"])["rows"])
        whole = (WHOLE if adds_exactly() else LESS) if int8 else 0
        self._made_of = settings, weights
        self._posterior: _Session | None = None  # made when it is first asked for
        self._encoder = _Session(encoder(settings, weights, whole=whole))
        self._step = _Session(step(settings, weights, whole=whole))
        self._all = [name for name in self._step.outputs if name not in {"best", "place", "block"}]
        self._best = [name for name in self._step.outputs if name != "log_p"]

    @classmethod
    def open(cls, folder: ModelFolder, precision: Precision = "auto") -> "OnnxEngine":
        """The engine of a model folder."""
        sizes = len(folder.source.vocabulary), len(folder.target.vocabulary)
        weights = checked_weights(folder, shapes(folder.model, *sizes))
        return cls(folder.model, weights, int8=precision == "int8" or (precision == "auto" and adds_exactly()))

    def encode(self, x: Ids, x_mask: Mask) -> Memory:
        spare = ((0, 0), (0, -x.shape[1] % ALIGNED))
        width = x.shape[1]
        x, x_mask = np.pad(x, spare), np.pad(x_mask, spare)
        inputs: dict[str, NDArray[Any]] = {"x": x}
        if "mask" in self._encoder.inputs:
            inputs["mask"] = np.ascontiguousarray(x_mask.T, np.float32)[:, :, None]
        else:
            inputs["lengths"] = x_mask.sum(axis=1, dtype=np.int32)
        found = self._encoder.run(inputs, self._encoder.outputs)
        s_0 = found.pop("s_0")
        look = dict(found)
        if "U_a_h" in look:
            look["U_a_h"] = look["U_a_h"][:, None]
            look["padding"] = np.where(x_mask, np.float32(0), np.float32(-np.inf))[:, None]
        return Memory(s_0, look, x_mask, width)

    def start(self, memory: Memory, beam: int) -> Rows:
        state = {"s": memory.s_0}
        if "c" in self._step.inputs:
            state["c"] = np.zeros((len(memory.s_0), 3 * memory.s_0.shape[1]), np.float32)
        return Rows(memory, beam, 1, state, {})

    def step(self, state: Rows, words: Ids, parents: Ids) -> tuple[Rows, Words | AllWords, NDArray[np.float32]]:
        memory, k = state.memory, min(state.beam + SPARE, self._size)
        sentences = parents[:, 0] // state.slots
        if len(sentences) != len(memory.mask):
            look = {name: part[sentences] for name, part in memory.look.items()}
            memory = memory._replace(look=look, mask=memory.mask[sentences])
        flat = words.ravel()
        flat = np.where(flat < 0, self._size, flat)
        self._table.prepare(flat)
        inputs: dict[str, NDArray[Any]] = {
            "words": flat,
            "parents": parents.ravel(),
            "table": self._table.rows,
            "k": np.array([k]),
        }
        inputs |= {"blocks": np.array([min(k, -(-self._size // BLOCK))])} | state.state | memory.look
        if "ones" in self._step.inputs:
            inputs["ones"] = np.ones((*words.shape, 1), np.float32)
        else:
            inputs["grid"] = np.array([*words.shape, 1, memory.look["U_a_h"].shape[3]])
            inputs["cells"] = np.array([*words.shape, memory.mask.shape[1]])
        found = self._step.run(inputs, self._best if state.beam else self._all)
        new = {name: found["new_" + name] for name in state.state}
        alpha = found["alpha"].reshape(len(flat), -1) if "alpha" in found else _even(memory.mask, words.shape[1])
        said = {name: found[name] for name in found if name in {"log_p", "alpha"} and not state.beam}
        rows = Rows(memory, state.beam, words.shape[1], new, said)
        if "log_p" in found:
            return rows, AllWords(found["log_p"][:, : self._size]), alpha[:, : memory.width]
        place = found["place"]
        numbers = found["block"][np.arange(len(flat))[:, None], place // BLOCK] * BLOCK + place % BLOCK
        return rows, Words(found["best"], numbers, inputs), alpha[:, : memory.width]

    def posterior(self, state: Rows, words: Ids, given: Ids) -> NDArray[np.float32]:
        flat = np.where(words[:, 0] < 0, self._size, words[:, 0])
        alpha = state.said["alpha"][:, 0]
        inputs: dict[str, NDArray[Any]] = {"words": flat, "table": self._table.rows, "given": given, "alpha": alpha}
        inputs |= {"s": state.state["s"], "contexts": state.memory.look["contexts"], "log_p": state.said["log_p"]}
        inputs["k"] = np.array([min(LIKELY, alpha.shape[1])])
        if self._posterior is None:
            self._posterior = _Session(posterior(*self._made_of))
        found = self._posterior.run(inputs, self._posterior.outputs)
        weights = np.zeros_like(alpha)
        np.put_along_axis(weights, found["places"], found["weights"], axis=1)
        return weights[:, : state.memory.width]

    def best(self, log_p: Words, scores: Scores, banned: Mapping[int, Mask], k: int) -> tuple[Scores, Ids, Ids]:
        B, slots = scores.shape
        width = log_p.log_p.shape[1]
        flat = (scores[:, :, None] + log_p.log_p.reshape(B, slots, width)).reshape(B, -1)
        words = log_p.words.reshape(B, -1)
        for word, sentences in banned.items():
            flat[sentences[:, None] & (words == word)] = -np.inf
        top = np.argsort(-flat, axis=1, kind="stable")[:, :k]
        rows = np.arange(B)[:, None]
        return fill(flat[rows, top], top // width, words[rows, top], k)

    def score(self, log_p: Words | AllWords, words: Ids) -> Scores:
        found: Scores = self.every(log_p)[np.arange(len(words)), words].astype(np.float64)
        return found

    def every(self, log_p: Words | AllWords) -> NDArray[np.float32]:
        if isinstance(log_p, AllWords):
            return log_p.log_p
        return self._step.run(log_p.inputs, ["log_p"])["log_p"][:, : self._size]

    def alpha(self, alpha: NDArray[np.float32]) -> NDArray[np.float32]:
        return alpha

    def close(self) -> None:
        del self._encoder, self._step, self._table, self._posterior, self._made_of


def adds_exactly() -> bool:
    """Whether this processor has the instructions that int8 is fast with.

    Those before them add pairs of products in 16 bits, which overflow: the largest product of all shows it.
    """
    ones = np.ones((8, 64), np.float32)
    return bool((_Session(largest_product()).run({"x": ones}, ["y"])["y"] > 63.9).all())


class _Session:
    """A graph that is run in the thread of whoever asks."""

    def __init__(self, graph: Graph) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        values = [ort.OrtValue.ortvalue_from_numpy(array) for array in graph.weights.values()]
        options.add_external_initializers(list(graph.weights), values)
        self._session = ort.InferenceSession(graph.model(), options, providers=["CPUExecutionProvider"])
        self.inputs = {item.name for item in self._session.get_inputs()}
        self.outputs = graph.outputs  # our name of an output -> the session's

    def run(self, inputs: Mapping[str, NDArray[Any]], outputs: Iterable[str]) -> dict[str, NDArray[Any]]:
        """The outputs asked for, by our names."""
        names = list(outputs)
        found = self._session.run([self.outputs[name] for name in names], inputs)
        return dict(zip(names, found, strict=True))


def _even(mask: Mask, beam: int) -> NDArray[np.float32]:
    """The alignment of a model that aligns nothing: spread evenly, [R, T_x]."""
    return np.repeat((mask / mask.sum(axis=1, keepdims=True)).astype(np.float32), beam, axis=0)
