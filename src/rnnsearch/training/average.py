"""The weights that are judged and kept: an average over the last updates, better than the last weights."""

from collections.abc import Mapping

import torch

from rnnsearch.model import Model

#: Updates between two steps of the average: each goes over all weights of both models.
EVERY = 8


class Average:
    """An exponential moving average of a model's weights that looks back over the last `share` of all updates.

    So it forgets the beginning, however long the run is (Karras et al., 2024, "Analyzing and Improving the Training
    Dynamics of Diffusion Models", section 3.1: a length of the average in proportion to that of the training).
    share 0: the weights themselves.
    """

    def __init__(self, model: Model, share: float) -> None:
        self._source, self._share = model, share
        #: what to validate and to keep
        self.model = _another(model) if share else model

    def start(self) -> None:
        """Begin with the weights as they are."""
        if self._share:
            self.model.load_state_dict(self._source.state_dict())

    @torch.no_grad()
    def follow(self, update: int) -> None:
        """Take in the weights after so many updates."""
        if self._share and update % EVERY == 0:
            kept = (1 - 1 / (1 + self._share * update)) ** EVERY
            torch._foreach_lerp_(list(self.model.parameters()), list(self._source.parameters()), 1 - kept)

    def tensors(self) -> dict[str, torch.Tensor]:
        """The averages by name, for a checkpoint."""
        return self.model.state_dict() if self._share else {}

    def restore(self, tensors: Mapping[str, torch.Tensor]) -> None:
        """Take over what `tensors` gave."""
        if self._share:
            self.model.load_state_dict(tensors)


def _another(model: Model) -> Model:
    """A model of the same kind and sizes on the same device, its weights not set."""
    sizes = len(model.E_x), len(model.E_y)
    return Model(model.settings, *sizes, model.equations, model.products).to(model.E_x.device)
