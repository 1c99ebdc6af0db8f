"""The output layer and its loss in one pass over chunks of tokens: [tokens x vocabulary] is never held whole."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear

from rnnsearch.parameters import Output

#: Numbers in one chunk of [tokens x vocabulary]: 16 MiB in float32, small beside the weights of any real model.
CHUNK = 1 << 22


class _SoftmaxLoss(Function):
    """Sum over tokens of the smoothed loss; the gradients are made while the probabilities are at hand."""

    @staticmethod
    def forward(ctx: Any, t: Tensor, W: Tensor, b: Tensor, y: Tensor, label_smoothing: float) -> tuple[Tensor, Tensor]:
        """Loss and unsmoothed loss, scalars, from t [N, l], W [K_y, l], b [K_y] and y [N]."""
        total, nll = t.new_zeros(()), t.new_zeros(())
        learn = any(ctx.needs_input_grad[:3])
        dt, dW, db = (torch.empty_like(t), torch.zeros_like(W), torch.zeros_like(b)) if learn else (t, W, b)
        K = W.shape[0]
        step = max(1, CHUNK // K)
        for start in range(0, t.shape[0], step):
            part, gold = t[start : start + step], y[start : start + step].unsqueeze(1)
            a = torch.addmm(b, part, W.T)
            log_Z = torch.logsumexp(a, 1, keepdim=True)
            part_nll = (log_Z - a.gather(1, gold)).sum()
            nll += part_nll
            total += (1 - label_smoothing) * part_nll
            if label_smoothing:
                total += label_smoothing * (log_Z.sum() - a.sum() / K)
            if learn:
                # d loss / d a = softmax(a) - epsilon / K - (1 - epsilon) at the true word
                da = a.sub_(log_Z).exp_().sub_(label_smoothing / K)
                da.scatter_add_(1, gold, a.new_full(gold.shape, label_smoothing - 1))
                torch.mm(da, W, out=dt[start : start + step])
                dW.addmm_(da.T, part)
                db += da.sum(0)
        if learn:
            ctx.save_for_backward(dt, dW, db)
        ctx.mark_non_differentiable(nll)
        return total, nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dtotal: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        dt, dW, db = ctx.saved_tensors
        return dt * dtotal, dW * dtotal, db * dtotal, None, None


def loss(p: Output, t: Tensor, y: Tensor, label_smoothing: float = 0.0) -> tuple[Tensor, Tensor]:
    """Twin of paper.loss."""
    inner = t if p.W_t is None else linear(t, p.W_t)
    total, nll = _SoftmaxLoss.apply(inner, p.W_o, p.b_y, y, label_smoothing)  # type: ignore[no-untyped-call]
    return total, nll
