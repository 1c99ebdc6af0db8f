"""The paper's equations, in the paper's symbols: the slow, plain reference that every fast path is tested against.

Bahdanau, Cho and Bengio, "Neural Machine Translation by Jointly Learning to Align and Translate" (ICLR 2015).
Shapes: B sentences, k hypotheses of each (1 in training), T_x and T_y words; m, n, n', l as in docs/paper.md.
A matrix W is stored as printed, [rows, columns], so that `linear(x, W)` is W x. Biases, which the paper leaves
out, stand where the authors' code has them.
"""

import torch
from torch import Tensor
from torch.nn.functional import linear, log_softmax

from rnnsearch.parameters import Attention, Output, Unit


def gated_unit(p: Unit, Ey: Tensor, s: Tensor, c: Tensor | None = None) -> Tensor:
    """s_i = f(s_{i-1}, y_{i-1}, c_i): [..., n] from Ey [..., m], s [..., n], c [..., 2n]. Appendix A.1."""
    Cc = C_zc = C_rc = torch.zeros((), dtype=s.dtype, device=s.device)
    if c is not None and p.C is not None and p.C_z is not None and p.C_r is not None:
        Cc, C_zc, C_rc = linear(c, p.C), linear(c, p.C_z), linear(c, p.C_r)
    z = torch.sigmoid(linear(Ey, p.W_z) + linear(s, p.U_z) + C_zc)
    r = torch.sigmoid(linear(Ey, p.W_r) + linear(s, p.U_r) + C_rc)
    s_tilde = torch.tanh(linear(Ey, p.W, p.b) + linear(r * s, p.U) + Cc)
    return (1 - z) * s + z * s_tilde


def states(p: Unit, Ex: Tensor, mask: Tensor, *, backward: bool = False) -> Tensor:
    """One direction of the encoder, from zero: [B, T_x, n] from Ex [B, T_x, m]; a masked step keeps its state."""
    h = Ex.new_zeros(Ex.shape[0], p.U.shape[0])
    steps = range(Ex.shape[1])
    found: dict[int, Tensor] = {}
    for j in reversed(steps) if backward else steps:
        h = torch.where(mask[:, j, None], gated_unit(p, Ex[:, j], h), h)
        found[j] = h
    return torch.stack([found[j] for j in steps], dim=1)


def annotations(Ex: Tensor, mask: Tensor, forward: Unit, backward: Unit) -> Tensor:
    """h_j = [h->_j ; h<-_j]: [B, T_x, 2n]. Section 3.2, equation (7)."""
    return torch.cat([states(forward, Ex, mask), states(backward, Ex, mask, backward=True)], dim=-1)


def align(p: Attention, s: Tensor, U_a_h: Tensor, mask: Tensor) -> Tensor:
    """alpha_ij = softmax_j v_a^T tanh(W_a s_{i-1} + U_a h_j), 0 on padding: [B, k, T_x] from s [B, k, n]. Eq. (6)."""
    e = torch.tanh(linear(s, p.W_a).unsqueeze(2) + U_a_h.unsqueeze(1)) @ p.v_a
    return torch.softmax(e.masked_fill(~mask.unsqueeze(1), -torch.inf), dim=-1)


def search_recursion(
    unit: Unit, attention: Attention, Ey: Tensor, s_0: Tensor, h: Tensor, mask: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """RNNsearch's decoder. Returns s_0 .. s_{T_y} [B, T_y + 1, n], c [B, T_y, 2n] and alpha [B, T_y, T_x].

    Ey [B, T_y, m] is what each update consumes: y_{i-1} in the printed order, y_i in the order of the authors' code.
    """
    U_a_h = linear(h, attention.U_a)
    s = [s_0.unsqueeze(1)]
    c, alpha = [], []
    for i in range(Ey.shape[1]):
        alpha.append(align(attention, s[-1], U_a_h, mask))
        c.append(alpha[-1] @ h)  # c_i = sum_j alpha_ij h_j, equation (5)
        s.append(gated_unit(unit, Ey[:, i : i + 1], s[-1], c[-1]))
    return torch.cat(s, 1), torch.cat(c, 1), torch.cat(alpha, 1)


def fixed_recursion(unit: Unit, Ey: Tensor, s_0: Tensor, c: Tensor) -> Tensor:
    """RNNencdec's decoder: the same c [B, n] at every step. Returns s_0 .. s_{T_y} [B, T_y + 1, n]."""
    s = [s_0]
    for i in range(Ey.shape[1]):
        s.append(gated_unit(unit, Ey[:, i], s[-1], c))
    return torch.stack(s, 1)


def readout(p: Output, s: Tensor, Ey: Tensor, c: Tensor) -> Tensor:
    """t_i = [max(t~_{i,2k-1}, t~_{i,2k})], k = 1 .. l, of t~_i = U_o s_i + V_o E y_{i-1} + C_o c_i: [..., l]. A.2.2."""
    t_tilde = linear(s, p.U_o, p.b_o) + linear(Ey, p.V_o) + linear(c, p.C_o)
    return t_tilde.view(*t_tilde.shape[:-1], -1, 2).amax(-1)


def log_p(p: Output, t: Tensor) -> Tensor:
    """log p(y_i | y_1 .. y_{i-1}, x) = log softmax(W_o t_i): [..., K_y]."""
    return log_softmax(linear(t if p.W_t is None else linear(t, p.W_t), p.W_o, p.b_y), dim=-1)


def loss(p: Output, t: Tensor, y: Tensor, label_smoothing: float = 0.0) -> tuple[Tensor, Tensor]:
    """Sums over N tokens of the training loss and of -log p(y): scalars, from t [N, l] and y [N].

    With label smoothing the target is (1 - epsilon) on y plus epsilon / K_y on every word (not in the paper).
    """
    log_py = log_p(p, t)
    nll = -log_py.gather(1, y.unsqueeze(1)).sum()
    return (1 - label_smoothing) * nll - label_smoothing * log_py.mean(1).sum(), nll.detach()
