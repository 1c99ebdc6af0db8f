"""Dropout with cheap random numbers: on a CPU those of PyTorch's own cost a twentieth of an update."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn.functional import dropout

#: Four of these 16-bit numbers are drawn at once; a probability is rounded to a multiple of 1 / LEVELS.
LEVELS = 1 << 16


class _Dropout(Function):
    """x times a random factor, 0 or 1 / (1 - p), in the type asked for."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float, kind: torch.dtype) -> Tensor:
        """Of any shape; kind is the type of the result."""
        bits = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
        drawn = bits.view(torch.int16)[: x.numel()].view(x.shape)
        factor = drawn.ge(round(p * LEVELS) - LEVELS // 2).to(kind).mul_(1 / (1 - p))
        ctx.save_for_backward(factor)
        ctx.kind = x.dtype
        return x.to(kind) * factor

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dx: Tensor) -> tuple[Tensor | None, ...]:
        (factor,) = ctx.saved_tensors
        return (dx * factor).to(ctx.kind), None, None


def drop(x: Tensor, p: float, kind: torch.dtype) -> Tensor:
    """Dropout with probability p, the result in the type `kind`."""
    if not p:
        return x.to(kind)
    if x.device.type != "cpu":
        return dropout(x.to(kind), p)
    dropped: Tensor = _Dropout.apply(x, p, kind)  # type: ignore[no-untyped-call]
    return dropped
