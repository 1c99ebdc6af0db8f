"""The recurrent parts: what does not recur stands outside the loop, and the gradients are written by hand.

Inside, tensors are time-major. Each backward stands under its forward; weight gradients are one product over all
steps. The tanh of the alignment model, B x T_x x n' at every step, is computed again in the backward pass instead of
kept, so that memory does not grow with T_x x T_y x n'.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear

from rnnsearch.parameters import Attention, Unit


class _GatedScan(Function):
    """D independent gated units over T steps: s_0 [D, B, n], then s_1 .. s_T."""

    @staticmethod
    def forward(ctx: Any, X: Tensor, mask: Tensor, s_0: Tensor, U_zr: Tensor, U: Tensor) -> Tensor:
        """[T + 1, D, B, n] from the inputs of the gates and the proposal X [T, D, B, 3n] and mask [T, D, B, 1]."""
        T, D, B, n = *X.shape[:3], s_0.shape[-1]
        S = X.new_empty(T + 1, D, B, n)
        ZR, St = X.new_empty(T, D, B, 2 * n), X.new_empty(T, D, B, n)
        S[0] = s_0
        for i in range(T):
            zr = torch.baddbmm(X[i, ..., : 2 * n], S[i], U_zr.mT, out=ZR[i]).sigmoid_()
            rs = zr[..., n:] * S[i]
            torch.baddbmm(X[i, ..., 2 * n :], rs, U.mT, out=St[i]).tanh_()
            torch.lerp(S[i], St[i], zr[..., :n] * mask[i], out=S[i + 1])
        ctx.save_for_backward(mask, U_zr, U, S, ZR, St)
        return S

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dS: Tensor) -> tuple[Tensor | None, ...]:
        mask, U_zr, U, S, ZR, St = ctx.saved_tensors
        T, D, B, n = St.shape
        dX = St.new_empty(T, D, B, 3 * n)
        ds = dS[T].clone()
        for i in reversed(range(T)):
            ds = _unit_backward(ds, S[i], ZR[i], St[i], U_zr, U, dX[i], mask[i]).add_(dS[i])
        RS = ZR[..., n:] * S[:-1]
        dU_zr = torch.bmm(_flat(dX[..., : 2 * n]).mT, _flat(S[:-1]))
        dU = torch.bmm(_flat(dX[..., 2 * n :]).mT, _flat(RS))
        return dX, None, ds, dU_zr, dU


def _unit_backward(
    ds_next: Tensor, s: Tensor, zr: Tensor, s_tilde: Tensor, U_zr: Tensor, U: Tensor, dx: Tensor, mask: Tensor | None
) -> Tensor:
    """Gradient at s of one gated unit; fills dx [..., 3n], the gradient at the inputs of z, r and the proposal."""
    n = s.shape[-1]
    z, r = zr[..., :n], zr[..., n:]
    kept = ds_next if mask is None else ds_next * mask
    dz, dr, d_tilde = dx[..., :n], dx[..., n : 2 * n], dx[..., 2 * n :]
    dz_out = kept * z
    torch.mul(dz_out, 1 - s_tilde * s_tilde, out=d_tilde)
    drs = d_tilde @ U
    torch.mul(kept * (s_tilde - s), z * (1 - z), out=dz)
    torch.mul(drs * s, r * (1 - r), out=dr)
    return (ds_next - dz_out).addcmul_(drs, r).add_(dx[..., : 2 * n] @ U_zr)


class _SearchScan(Function):
    """RNNsearch's decoder over T steps: alignment, context, gated unit."""

    @staticmethod
    def forward(
        ctx: Any,
        Y: Tensor,
        s_0: Tensor,
        h: Tensor,
        U_a_h: Tensor,
        mask: Tensor,
        W_a: Tensor,
        v_a: Tensor,
        U_zr: Tensor,
        U: Tensor,
        C: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """S [T + 1, B, n], c [T, B, 2n], alpha [T, B, T_x] from the inputs of the unit Y [T, B, 3n]; C is [3n, 2n]."""
        T, B, n = *Y.shape[:2], s_0.shape[-1]
        S, ZR, St = Y.new_empty(T + 1, B, n), Y.new_empty(T, B, 2 * n), Y.new_empty(T, B, n)
        c, alpha = Y.new_empty(T, B, h.shape[2]), Y.new_empty(T, B, h.shape[1])
        Q = Y.new_empty(T, B, W_a.shape[0])
        S[0] = s_0
        hidden = torch.empty_like(U_a_h)
        for i in range(T):
            torch.mm(S[i], W_a.T, out=Q[i])
            e = torch.add(U_a_h, Q[i].unsqueeze(1), out=hidden).tanh_() @ v_a
            torch.softmax(e.masked_fill_(~mask, -torch.inf), dim=-1, out=alpha[i])
            torch.bmm(alpha[i].unsqueeze(1), h, out=c[i].unsqueeze(1))
            x = torch.addmm(Y[i], c[i], C.T)
            zr = torch.addmm(x[:, : 2 * n], S[i], U_zr.T, out=ZR[i]).sigmoid_()
            torch.addmm(x[:, 2 * n :], zr[:, n:] * S[i], U.T, out=St[i]).tanh_()
            torch.lerp(S[i], St[i], zr[:, :n], out=S[i + 1])
        ctx.save_for_backward(h, U_a_h, W_a, v_a, U_zr, U, C, S, ZR, St, c, alpha, Q)
        return S, c, alpha

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dS: Tensor, dc_out: Tensor, dalpha_out: Tensor) -> tuple[Tensor | None, ...]:
        h, U_a_h, W_a, v_a, U_zr, U, C, S, ZR, St, c, alpha, Q = ctx.saved_tensors
        T, B, n = St.shape
        dY, dc, dQ = St.new_empty(T, B, 3 * n), torch.empty_like(c), torch.empty_like(Q)
        dU_a_h, dv_a = torch.zeros_like(U_a_h), torch.zeros_like(v_a)
        hidden = torch.empty_like(U_a_h)
        ds = dS[T].clone()
        for i in reversed(range(T)):
            ds = _unit_backward(ds, S[i], ZR[i], St[i], U_zr, U, dY[i], None).add_(dS[i])
            torch.addmm(dc_out[i], dY[i], C, out=dc[i])
            dalpha = torch.bmm(h, dc[i].unsqueeze(2)).squeeze(2).add_(dalpha_out[i])
            de = alpha[i] * (dalpha - (alpha[i] * dalpha).sum(1, keepdim=True))
            torch.add(U_a_h, Q[i].unsqueeze(1), out=hidden).tanh_()
            dv_a.addmv_(hidden.flatten(0, 1).T, de.flatten())
            dhidden = hidden.square_().neg_().add_(1).mul_(v_a).mul_(de.unsqueeze(2))
            dU_a_h += dhidden
            torch.sum(dhidden, 1, out=dQ[i])
            ds.addmm_(dQ[i], W_a)
        S_before, dX = S[:-1].flatten(0, 1), dY.flatten(0, 1)
        RS = (ZR[..., n:] * S[:-1]).flatten(0, 1)
        dh = torch.bmm(alpha.permute(1, 2, 0), dc.transpose(0, 1))
        return (
            dY,
            ds,
            dh,
            dU_a_h,
            None,
            dQ.flatten(0, 1).T @ S_before,
            dv_a,
            dX[:, : 2 * n].T @ S_before,
            dX[:, 2 * n :].T @ RS,
            dX.T @ c.flatten(0, 1),
        )


def states(p: Unit, Ex: Tensor, mask: Tensor, *, backward: bool = False) -> Tensor:
    """Twin of paper.states."""
    order = -1 if backward else 1
    return _scan_directions(Ex, mask, [(p, order)])


def annotations(Ex: Tensor, mask: Tensor, forward: Unit, backward: Unit) -> Tensor:
    """Twin of paper.annotations: both directions in one loop, the backward one on reversed time."""
    return _scan_directions(Ex, mask, [(forward, 1), (backward, -1)])


def search_recursion(
    unit: Unit, attention: Attention, Ey: Tensor, s_0: Tensor, h: Tensor, mask: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Twin of paper.search_recursion."""
    assert unit.C is not None and unit.C_z is not None and unit.C_r is not None
    S, c, alpha = _SearchScan.apply(  # type: ignore[no-untyped-call]
        _inputs(unit, Ey.transpose(0, 1)),
        s_0,
        h,
        linear(h, attention.U_a),
        mask,
        attention.W_a,
        attention.v_a,
        torch.cat([unit.U_z, unit.U_r]),
        unit.U,
        torch.cat([unit.C_z, unit.C_r, unit.C]),
    )
    return S.transpose(0, 1), c.transpose(0, 1), alpha.transpose(0, 1)


def fixed_recursion(unit: Unit, Ey: Tensor, s_0: Tensor, c: Tensor) -> Tensor:
    """Twin of paper.fixed_recursion."""
    assert unit.C is not None and unit.C_z is not None and unit.C_r is not None
    X = _inputs(unit, Ey.transpose(0, 1)) + linear(c, torch.cat([unit.C_z, unit.C_r, unit.C]))
    mask = X.new_ones(()).expand(X.shape[0], 1, 1, 1)
    S = _scan(X.unsqueeze(1), mask, s_0.unsqueeze(0), [unit])
    return S.squeeze(1).transpose(0, 1)


def _scan_directions(Ex: Tensor, mask: Tensor, directions: list[tuple[Unit, int]]) -> Tensor:
    x, m = Ex.transpose(0, 1), mask.T.to(Ex.dtype).unsqueeze(-1)
    X = torch.stack([_turn(_inputs(p, x), order) for p, order in directions], dim=1)
    M = torch.stack([_turn(m, order) for _, order in directions], dim=1)
    s_0 = Ex.new_zeros(len(directions), Ex.shape[0], directions[0][0].U.shape[0])
    S = _scan(X, M, s_0, [p for p, _ in directions])[1:]
    return torch.cat([_turn(S[:, d], order) for d, (_, order) in enumerate(directions)], dim=-1).transpose(0, 1)


def _scan(X: Tensor, mask: Tensor, s_0: Tensor, units: list[Unit]) -> Tensor:
    U_zr = torch.stack([torch.cat([p.U_z, p.U_r]) for p in units])
    S: Tensor = _GatedScan.apply(X, mask, s_0, U_zr, torch.stack([p.U for p in units]))  # type: ignore[no-untyped-call]
    return S


def _inputs(p: Unit, x: Tensor) -> Tensor:
    """What the unit sees of the words, for all steps at once: [T, B, 3n] in the order z, r, proposal."""
    zero = torch.zeros_like(p.b)
    return linear(x, torch.cat([p.W_z, p.W_r, p.W]), torch.cat([zero, zero, p.b]))


def _turn(x: Tensor, order: int) -> Tensor:
    return x if order == 1 else x.flip(0)


def _flat(x: Tensor) -> Tensor:
    """[D, T * B, width] from [T, D, B, width]."""
    return x.transpose(0, 1).flatten(1, 2)
