"""The output layer and its loss in one pass over chunks of tokens: [tokens x vocabulary] is never held whole."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear

from rnnsearch.parameters import Output

#: Numbers in one chunk of [tokens x vocabulary], as the matrix products take it: 8 MiB in bfloat16.
CHUNK = 1 << 22
#: Numbers of a chunk whose softmax is made at a time, in float32: what a processor's cache holds.
PIECE = 1 << 20


class _SoftmaxLoss(Function):
    """Sum over tokens of the smoothed loss; the gradients are made while the probabilities are at hand."""

    @staticmethod
    def forward(ctx: Any, t: Tensor, W: Tensor, b: Tensor, y: Tensor, label_smoothing: float) -> tuple[Tensor, Tensor]:
        """Loss and unsmoothed loss, scalars, from t [N, l], W [K_y, l], b [K_y] and y [N].

        Products are made in the type of t; the softmax, its sums and the gradients of W and b in that of W.
        """
        N, K, low = t.shape[0], W.shape[0], W.to(t.dtype)
        learn = any(ctx.needs_input_grad[:3])
        dt, dW, db = (W.new_empty(t.shape), torch.zeros_like(W), torch.zeros_like(b)) if learn else (t, W, b)
        nll, log_Zs = W.new_zeros(()), W.new_zeros(())
        chunk = t.new_empty(min(N, max(1, CHUNK // K)), K)
        for part, gold, dt_part in zip(*(torch.split(x, len(chunk)) for x in (t, y, dt)), strict=True):
            a = torch.mm(part, low.T, out=chunk[: len(part)])
            for piece, words in zip(*(torch.split(x, max(1, PIECE // K)) for x in (a, gold.unsqueeze(1))), strict=True):
                p, log_p, log_Z = _softmax(piece.to(W.dtype).add_(b), words)
                nll -= log_p.sum()
                log_Zs += log_Z.sum()
                if learn:
                    # d loss / d a = p - (1 - epsilon) at the true word - epsilon / K; the last is left to the end
                    p.scatter_add_(1, words, p.new_full(words.shape, label_smoothing - 1))
                    db += p.sum(0)
                    piece.copy_(p)
            if learn:
                dt_part.copy_(torch.mm(a, low))
                dW += torch.mm(a.T, part)
        total = nll.clone()
        if label_smoothing:
            sum_W, sum_t = W.sum(0), t.sum(0, dtype=W.dtype)
            total *= 1 - label_smoothing
            total += label_smoothing * (log_Zs - (sum_t @ sum_W + N * b.sum()) / K)  # less the mean of all a
            if learn:
                dt -= sum_W * (label_smoothing / K)
                dW -= sum_t * (label_smoothing / K)
                db -= N * label_smoothing / K
        if learn:
            ctx.save_for_backward(dt.to(t.dtype), dW, db)
        ctx.mark_non_differentiable(nll)
        return total, nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dtotal: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        dt, dW, db = ctx.saved_tensors
        return dt * dtotal.to(dt.dtype), dW * dtotal, db * dtotal, None, None


def _softmax(a: Tensor, words: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """softmax(a) over the columns [N, K], log p of the `words` [N, 1] and log Z [N, 1]."""
    p = torch.softmax(a, 1)
    log_Z = a.amax(1, keepdim=True) - p.amax(1, keepdim=True).log_()  # by way of the largest p, which is never 0
    return p, a.gather(1, words) - log_Z, log_Z


def loss(p: Output, t: Tensor, y: Tensor, label_smoothing: float = 0.0) -> tuple[Tensor, Tensor]:
    """Twin of paper.loss."""
    inner = t if p.W_t is None else linear(t, p.W_t.to(t.dtype))
    total, nll = _SoftmaxLoss.apply(inner, p.W_o, p.b_y, y, label_smoothing)  # type: ignore[no-untyped-call]
    return total, nll
