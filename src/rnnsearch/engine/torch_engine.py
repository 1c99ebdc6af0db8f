"""The reference engine: the model's own step, in PyTorch."""

import threading
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rnnsearch.engine import LIKELY, Ids, Mask, Scores, checked_weights, fill
from rnnsearch.errors import UserError
from rnnsearch.model import Memory, Model, State
from rnnsearch.model_folder import ModelFolder


class Rows(NamedTuple):
    """The memory of the sentences in the grid and the state of its rows."""

    memory: Memory
    state: State
    alpha: Tensor | None = None  # of the last step, [B, slots, T_x]


class TorchEngine:
    """Answers search with a `Model`. Use it from one thread: `threads` is set for the thread that opens it."""

    def __init__(self, model: Model, device: str = "cpu") -> None:
        self._model = model
        self._device = torch.device(device)

    @classmethod
    def open(cls, folder: ModelFolder, *, device: str = "cpu", threads: int | None = None) -> "TorchEngine":
        """The engine of a model folder."""
        if threads is not None:
            set_threads_here(threads)
        model = Model(folder.model, len(folder.source.vocabulary), len(folder.target.vocabulary))
        load_weights(model, folder)
        try:
            return cls(model.to(device), device)
        except (RuntimeError, AssertionError) as error:
            raise UserError(f"the device {device!r} cannot be used: {str(error).splitlines()[0]}") from None

    @torch.inference_mode()
    def encode(self, x: Ids, x_mask: Mask) -> Memory:
        return self._model.encode(self._tensor(x), self._tensor(x_mask))

    @torch.inference_mode()
    def start(self, memory: Memory, beam: int) -> Rows:
        return Rows(memory, self._model.start(memory, 1))

    @torch.inference_mode()
    def step(self, state: Rows, words: Ids, parents: Ids) -> tuple[Rows, Tensor, Tensor]:
        memory, (s, c), _ = state
        sentences = parents[:, 0] // s.shape[1]
        if len(sentences) != s.shape[0]:
            memory = _rows_of(memory, self._tensor(sentences))
        order = self._tensor(parents)
        s, c = _regroup(s, order), None if c is None else _regroup(c, order)
        given = None if words[0, 0] < 0 else self._tensor(words)
        new, log_p, alpha = self._model.step(memory, State(s, c), given)
        return Rows(memory, new, alpha), log_p.flatten(0, 1), alpha.flatten(0, 1)

    @torch.inference_mode()
    def posterior(self, state: Rows, words: Ids, given: Ids) -> NDArray[np.float32]:
        before = None if words[0, 0] < 0 else self._tensor(words)
        assert state.alpha is not None
        looked = self._model.posterior(state.memory, state.state, before, state.alpha, self._tensor(given), LIKELY)
        found: NDArray[np.float32] = looked.float().cpu().numpy()
        return found

    @torch.inference_mode()
    def best(self, log_p: Tensor, scores: Scores, banned: Mapping[int, Mask], k: int) -> tuple[Scores, Ids, Ids]:
        B, beam = scores.shape
        grid = log_p.view(B, beam, -1)
        for word, sentences in banned.items():
            grid[self._tensor(sentences), :, word] = -torch.inf
        width = grid.shape[2]
        # The k best of each row first: the sums in float64 are then made over few.
        row_scores, row_words = grid.topk(min(k, width), dim=2)
        sums = torch.from_numpy(scores).to(self._device).unsqueeze(2) + row_scores.double()
        top, place = sums.flatten(1).topk(min(k, sums.shape[1] * sums.shape[2]), dim=1)
        slots = place // row_words.shape[2]
        words = row_words.flatten(1).gather(1, place)
        return fill(top.cpu().numpy(), slots.cpu().numpy(), words.cpu().numpy(), k)

    @torch.inference_mode()
    def score(self, log_p: Tensor, words: Ids) -> Scores:
        found: Scores = log_p.gather(1, self._tensor(words).unsqueeze(1)).squeeze(1).double().cpu().numpy()
        return found

    def every(self, log_p: Tensor) -> NDArray[np.float32]:
        found: NDArray[np.float32] = log_p.float().cpu().numpy()
        return found

    def alpha(self, alpha: Tensor) -> NDArray[np.float32]:
        found: NDArray[np.float32] = alpha.cpu().numpy()
        return found

    def close(self) -> None:
        del self._model

    def _tensor(self, array: NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self._device)


def load_weights(model: Model, folder: ModelFolder) -> None:
    """Put a folder's weights into `model`; every missing, unknown or misshapen one is named in one UserError."""
    weights = checked_weights(folder, {name: tuple(p.shape) for name, p in model.named_parameters()})
    model.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
    model.eval()


def set_threads_here(threads: int) -> None:
    """Let PyTorch use `threads` threads for work begun in this thread, and leave every other thread's number alone.

    PyTorch keeps one number for each thread and one for threads yet to come; a second thread puts the latter back.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    restore = threading.Thread(target=torch.set_num_threads, args=(before,))
    restore.start()
    restore.join()


def _rows_of(memory: Memory, sentences: Tensor) -> Memory:
    return Memory(*(part[sentences] if part.numel() else part for part in memory))


def _regroup(x: Tensor, parents: Tensor) -> Tensor:
    """The rows `parents` [B', slots'] of x [B, slots, width] by their numbers: [B', slots', width]."""
    return x.reshape(-1, x.shape[-1])[parents]
