"""Updates: Adadelta as the paper has it, Adam for the other presets; the clip; and the skip of what is not finite."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from rnnsearch.config import TrainingSettings
from rnnsearch.errors import UserError

#: So many updates in a row that are not finite mean that the weights are lost, not that a batch was unlucky.
SKIPS_IN_A_ROW = 5


class Optimiser:
    """One step of learning from the gradients of `parameters`: the norm, the clip, the step or the skip.

    tables: those of them [words, m] whose numbers are about 1, where those of other matrices are about 1 / sqrt(width).
    Adam moves all numbers alike; it moves these sqrt(m) times as far, so that words are learnt as soon as all else.
    """

    def __init__(
        self,
        parameters: Iterable[torch.nn.Parameter],
        settings: TrainingSettings,
        tables: Sequence[torch.nn.Parameter] = (),
    ) -> None:
        self._parameters = list(parameters)
        self._settings = settings
        moved = tables if settings.optimiser == "adam" else ()  # Adadelta finds the units of each weight by itself
        self._torch = _torch_optimiser(_groups(self._parameters, moved), settings)
        self._updates = 0
        self.skipped = 0
        self.skipped_in_a_row = 0

    @property
    def learning_rate(self) -> float:
        """The rate in force (Adadelta: always 1)."""
        if self._settings.optimiser == "adadelta":
            return 1.0
        update, settings = self._updates + 1, self._settings
        rise = update / max(1, settings.warmup)
        fall = math.sqrt(settings.decay_from / update) if settings.decay_from else 1.0
        return settings.learning_rate * min(1.0, rise, fall)

    def step(self, loss: torch.Tensor) -> float:
        """Differentiate the scalar `loss`, clip, update; return the L2 norm of the gradient before the clip.

        Where the loss or the norm is not finite nothing is updated and the skip is counted (and NaN or inf returned).
        """
        self.forget()
        loss.backward()  # type: ignore[no-untyped-call]
        gradients = [parameter.grad for parameter in self._parameters if parameter.grad is not None]
        norm = float(torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients))))
        if not (math.isfinite(norm) and math.isfinite(float(loss.detach()))):
            self.skipped += 1
            self.skipped_in_a_row += 1
            return norm if not math.isfinite(norm) else math.nan
        if norm >= self._settings.clip_norm:
            torch._foreach_mul_(gradients, self._settings.clip_norm / norm)
        for group in self._torch.param_groups:
            group["lr"] = self.learning_rate * group["reach"]
        self._torch.step()
        self._updates += 1
        self.skipped_in_a_row = 0
        return norm

    def forget(self) -> None:
        """Drop the gradients."""
        for parameter in self._parameters:
            parameter.grad = None

    def check(self) -> None:
        """Raise UserError with advice where SKIPS_IN_A_ROW updates one after the other were not finite."""
        if self.skipped_in_a_row < SKIPS_IN_A_ROW:
            return
        advice = "a lower --clip-norm" if self._settings.optimiser == "adadelta" else "a lower --learning-rate"
        raise UserError(
            f"training has diverged: loss or gradient was not finite in {self.skipped_in_a_row} updates one after the "
            f"other; start anew with {advice} (the best model so far, if any, is kept)"
        )

    def tensors(self) -> dict[str, torch.Tensor]:
        """The running averages by "parameter index.name", for a checkpoint."""
        state = self._torch.state_dict()["state"]
        return {f"{index}.{name}": value for index, values in state.items() for name, value in values.items()}

    def state(self) -> dict[str, Any]:
        """What is no tensor, for a checkpoint."""
        return {
            "updates": self._updates,
            "skipped": self.skipped,
            "skipped_in_a_row": self.skipped_in_a_row,
        }

    def restore(self, tensors: dict[str, torch.Tensor], state: dict[str, Any]) -> None:
        """Take over what `tensors` and `state` gave."""
        by_parameter: dict[int, dict[str, torch.Tensor]] = {}
        for key, value in tensors.items():
            index, name = key.split(".")
            by_parameter.setdefault(int(index), {})[name] = value
        groups = self._torch.state_dict()["param_groups"]
        self._torch.load_state_dict({"state": by_parameter, "param_groups": groups})
        self._updates = state["updates"]
        self.skipped, self.skipped_in_a_row = state["skipped"], state["skipped_in_a_row"]


def _groups(parameters: list[torch.nn.Parameter], tables: Sequence[torch.nn.Parameter]) -> list[dict[str, Any]]:
    """The parameters by how far they move, in multiples of the learning rate."""
    apart = {id(table) for table in tables}
    groups: list[dict[str, Any]] = [{"params": [p for p in parameters if id(p) not in apart], "reach": 1.0}]
    return groups + [{"params": [table], "reach": math.sqrt(table.shape[1])} for table in tables]


def _torch_optimiser(groups: list[dict[str, Any]], settings: TrainingSettings) -> torch.optim.Optimizer:
    if settings.optimiser == "adadelta":
        # Both epsilons lie inside the square roots and there is no learning rate: the paper's Adadelta.
        return torch.optim.Adadelta(groups, lr=1.0, rho=0.95, eps=1e-6)
    # The fused step needs a third of the time of the plain one on a CPU.
    return torch.optim.Adam(groups, lr=settings.learning_rate, betas=(0.9, 0.999), fused=True)
