"""The alignment of given translations, step by step through the model's own `step`."""

import torch
from torch import Tensor

from rnnsearch.model import Model


def alignment(model: Model, x: Tensor, x_mask: Tensor, y: Tensor) -> Tensor:
    """alpha [B, T_y, T_x] of translations y [B, T_y] of x [B, T_x]."""
    memory = model.encode(x, x_mask)
    state, found = model.start(memory, 1), []
    for i in range(y.shape[1]):
        state, _, alpha = model.step(memory, state, y[:, i - 1 : i] if i else None)
        found.append(alpha[:, 0])
    return torch.stack(found, 1)
