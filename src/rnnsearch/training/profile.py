"""Where the time of an update goes: shares by part of the network and by kind of work."""

import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any, Self, cast

from torch.autograd.profiler_util import FunctionEvent
from torch.profiler import ProfilerActivity, profile, record_function

from rnnsearch.model import Model

#: Functions of paper.py and its twins, and the part of the table that each belongs to.
PARTS = {
    "states": "encoder",
    "annotations": "encoder",
    "search_recursion": "decoder and alignment",
    "fixed_recursion": "decoder",
    "readout": "maxout layer",
    "loss": "output layer and loss",
}
OPTIMISER, WORDS, BETWEEN = "clip and optimiser", "embeddings, dropout and the rest", "batches, and Python between"
#: The optimiser announces itself so; the clip is the only other that works on lists.
MARKS_OF_OPTIMISER = ("Optimizer.step", "aten::_foreach_", "aten::linalg_vector_norm")
#: Names that begin a part of the backward pass.
NODE = "autograd::engine::evaluate_function"
PRODUCTS = {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::mv", "aten::addmv_", "aten::dot"}
COPIES = {"aten::copy_", "aten::cat", "aten::fill_", "aten::zero_", "aten::index_select", "aten::flip", "aten::index"}


class Watch:
    """Watches updates of `model` between `with Watch(model) as watch:` and its end; then `lines` tells of them."""

    def __init__(self, model: Model) -> None:
        self._model, self._equations = model, model.equations
        os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # PyTorch's profiler would speak between our lines
        self._profile = profile(activities=[ProfilerActivity.CPU])
        self._seconds = 0.0

    def __enter__(self) -> Self:
        self._model.equations = cast(ModuleType, SimpleNamespace(**{
            name: _marked(getattr(self._equations, name), part) for name, part in PARTS.items()
        }))  # fmt: skip
        self._started = time.perf_counter()
        self._profile.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._seconds = time.perf_counter() - self._started
        self._profile.stop()
        self._model.equations = self._equations

    def lines(self, updates: int, tokens: int) -> Iterator[str]:
        """The table, as shares of the time of `updates` updates of `tokens` target tokens in all."""
        total = 1e6 * self._seconds
        parts, kinds = shares(list(self._profile.events() or []))  # type: ignore[no-untyped-call]
        parts[BETWEEN] = [max(0.0, total - sum(map(sum, parts.values()))), 0.0]
        each = f"{tokens / updates:,.0f} target tokens and {self._seconds / updates:.3f} seconds each, watched"
        yield f"where the time of {updates} updates went ({each}; the gradient of the loss is made with it)"
        yield f"  {'':34s}{'forward':>10s}{'backward':>10s}"
        for part, both in sorted(parts.items(), key=lambda entry: -sum(entry[1])):
            yield f"  {part:34s}" + "".join(f"{100 * share / total:8.1f} %" for share in both)
        yield "  of all: " + ", ".join(f"{kind} {100 * share / total:.1f} %" for kind, share in kinds.items())


def shares(events: list[FunctionEvent]) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Microseconds by part [forward, backward], and by kind of work; an event counts without what it calls."""
    parts: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    kinds = {"matrix products": 0.0, "copies": 0.0, "the rest": 0.0}
    part_of: dict[int, str] = {}  # by the number that a step of the backward pass shares with its forward one
    for event in events:
        if (part := _part(event)) and event.sequence_nr >= 0 and not _node(event):
            part_of[event.sequence_nr] = part
    for event in events:
        took = float(event.self_cpu_time_total)
        node = _node(event)
        part = _part(event) or (part_of.get(node.sequence_nr) if node else None) or WORDS
        parts[part][node is not None] += took
        kind = "matrix products" if event.name in PRODUCTS else "copies" if event.name in COPIES else "the rest"
        kinds[kind] += took
    return parts, kinds


def _part(event: FunctionEvent | None) -> str | None:
    """The part in whose forward call, or in the optimiser, an event lies."""
    while event is not None:
        if event.name in PARTS.values():
            return event.name
        if event.name.startswith(MARKS_OF_OPTIMISER):
            return OPTIMISER
        event = event.cpu_parent
    return None


def _node(event: FunctionEvent | None) -> FunctionEvent | None:
    """The step of the backward pass in which an event lies."""
    while event is not None and not event.name.startswith(NODE):
        event = event.cpu_parent
    return event


def _marked(function: Callable[..., Any], part: str) -> Callable[..., Any]:
    def marked(*args: Any, **kwargs: Any) -> Any:
        with record_function(part):
            return function(*args, **kwargs)

    return marked
