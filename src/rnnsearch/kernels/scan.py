"""The recurrent parts: what does not recur stands outside the loop, and the gradients are written by hand.

Products are made in the type of the words handed in (Ex, Ey), which may be bfloat16; states, sums and the softmax
stay in the type of the weights. Inside, tensors are time-major. Each backward stands under its forward; weight
gradients are one product over all steps. The hidden layer of the alignment model, B x T_x x n' at every step, is
computed again in the backward pass instead of kept, so that memory does not grow with T_x x T_y x n'. It is gone
over element by element only: a product deals rows to the cores in another way, and fetching them costs more.
"""

from collections.abc import Iterator
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
        """[D, T + 1, B, n] from the inputs of the gates and the proposal X [D, T, B, 3n] and mask [D, T, B, 1]."""
        D, T, B, n = *X.shape[:3], s_0.shape[-1]
        S, ZR, St = s_0.new_empty(D, T + 1, B, n), s_0.new_empty(D, T, B, 2 * n), s_0.new_empty(D, T, B, n)
        V = X.new_empty(D, T, B, 2 * n)  # what the matrices see: s, then r s
        S[:, 0] = s_0
        U_zr_T, U_T = U_zr.mT, U.mT
        for (s, s_next, m), (x_zr, x), (zr, z, r, s_tilde), (seen, rs) in zip(
            _steps(1, S[:, :-1], S[:, 1:], mask),
            _steps(1, *torch.split(X, [2 * n, n], dim=-1)),
            _steps(1, ZR, *ZR.chunk(2, -1), St),
            _steps(1, *V.chunk(2, -1)),
            strict=True,
        ):
            seen.copy_(s)
            zr.copy_(torch.baddbmm(x_zr, seen, U_zr_T)).sigmoid_()
            torch.mul(r, s, out=rs)
            s_tilde.copy_(torch.baddbmm(x, rs, U_T)).tanh_()
            torch.lerp(s, s_tilde, z * m, out=s_next)
        ctx.save_for_backward(mask, U_zr, U, S, ZR, St, V)
        return S

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dS: Tensor) -> tuple[Tensor | None, ...]:
        mask, U_zr, U, S, ZR, St, V = ctx.saved_tensors
        D, T, B, n = St.shape
        dX = V.new_empty(D, T, B, 3 * n)
        to_z, to_r, to_tilde, to_s = _slopes(S[:, :-1], ZR, St)
        to_z, to_tilde, to_s = to_z.mul_(mask), to_tilde.mul_(mask), to_s.sub_(1).mul_(mask).add_(1)
        ds = dS[:, T].clone()
        for (dx_zr, dx_z, dx_r, dx), (z_slope, r_slope, slope, s_slope), (r, ds_out) in zip(
            _steps(1, dX[..., : 2 * n], *dX.chunk(3, -1), back=True),
            _steps(1, to_z, to_r, to_tilde, to_s, back=True),
            _steps(1, ZR[..., n:], dS[:, :-1], back=True),
            strict=True,
        ):
            torch.mul(ds, slope, out=dx)
            drs = torch.bmm(dx, U).to(ds.dtype)
            torch.mul(ds, z_slope, out=dx_z)
            torch.mul(drs, r_slope, out=dx_r)
            ds.mul_(s_slope).addcmul_(drs, r).add_(torch.bmm(dx_zr, U_zr)).add_(ds_out)
        # one product for each unit: a batched one would copy dX
        pairs = list(zip(dX.flatten(1, 2), V.flatten(1, 2), strict=True))
        dU_zr = torch.stack([dx[:, : 2 * n].T @ v[:, :n] for dx, v in pairs])
        dU = torch.stack([dx[:, 2 * n :].T @ v[:, n:] for dx, v in pairs])
        return dX, None, ds, dU_zr, dU


def _steps(dim: int, *tensors: Tensor, back: bool = False) -> Iterator[tuple[Tensor, ...]]:
    """The slices of all `tensors` along `dim`, step by step: cut at once, which costs less than at every step."""
    cut = [tensor.unbind(dim) for tensor in tensors]
    return zip(*(map(reversed, cut) if back else cut), strict=True)


def _slopes(s: Tensor, zr: Tensor, s_tilde: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What the unit's backward pass multiplies by, for all steps at once, from the states before each step.

    With ds the gradient at the new state and drs that at r s: ds to_z, drs to_r and ds to_tilde are the gradients at
    the inputs of z, r and s~, and ds to_s is what reaches the old state directly.
    """
    z, r = zr.chunk(2, dim=-1)
    to_z = torch.addcmul(z, z, z, value=-1).mul_(s_tilde - s)
    to_r = torch.addcmul(r, r, r, value=-1).mul_(s)
    to_tilde = torch.addcmul(z, z * s_tilde, s_tilde, value=-1)
    return to_z, to_r, to_tilde, 1 - z


class _SearchScan(Function):
    """RNNsearch's decoder over T steps: alignment, context, gated unit."""

    @staticmethod
    def forward(
        ctx: Any, Y: Tensor, s_0: Tensor, h: Tensor, U_a_h: Tensor, mask: Tensor, W_a: Tensor, v_a: Tensor,
        UC_zr: Tensor, CU: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
        """S [T + 1, B, n], c [T, B, 2n], alpha [T, B, T_x] from the inputs of the unit Y [T, B, 3n].

        UC_zr [2n, n + 2n] is what the gates see of s and c, CU [n, 2n + n] what the proposal sees of c and r s.
        """
        T, B, n, (T_x, width) = *Y.shape[:2], s_0.shape[-1], h.shape[1:]
        S, ZR, St = s_0.new_empty(T + 1, B, n), s_0.new_empty(T, B, 2 * n), s_0.new_empty(T, B, n)
        alpha, Q = s_0.new_empty(T, B, T_x), s_0.new_empty(T, B, W_a.shape[0])
        V = Y.new_empty(T, B, n + width + n)  # what the matrices see: s, c, r s
        a_h, W_2, v_2 = _doubled(U_a_h, W_a, v_a)
        hidden = torch.empty_like(a_h)
        S[0] = s_0
        padding = ~mask
        W_2T, UC_zr_T, CU_T = W_2.T, UC_zr.T, CU.T
        for (s, s_next), (y_zr, y), (zr, z, r, s_tilde), (a, q), (seen, c, rs), (to_zr, to_tilde) in zip(
            _steps(0, S[:-1], S[1:]),
            _steps(0, *torch.split(Y, [2 * n, n], dim=-1)),
            _steps(0, ZR, *ZR.chunk(2, -1), St),
            _steps(0, alpha, Q.unsqueeze(2)),
            _steps(0, *torch.split(V, [n, width, n], dim=-1)),
            _steps(0, V[..., : n + width], V[..., n:]),
            strict=True,
        ):
            seen.copy_(s)
            q.squeeze(1).copy_(torch.mm(seen, W_2T))
            e = torch.add(a_h, q, out=hidden).sigmoid_().mul_(v_2).sum(2)
            torch.softmax(e.masked_fill_(padding, -torch.inf), dim=-1, out=a)
            c.copy_(torch.bmm(a.to(h.dtype).unsqueeze(1), h).squeeze(1))
            zr.copy_(torch.addmm(y_zr, to_zr, UC_zr_T)).sigmoid_()
            torch.mul(r, s, out=rs)
            s_tilde.copy_(torch.addmm(y, to_tilde, CU_T)).tanh_()
            torch.lerp(s, s_tilde, z, out=s_next)
        ctx.save_for_backward(h, U_a_h, W_a, v_a, UC_zr, CU, S, ZR, St, alpha, Q, V)
        return S, V[..., n : n + width], alpha

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dS: Tensor, dc_out: Tensor, dalpha_out: Tensor) -> tuple[Tensor | None, ...]:
        h, U_a_h, W_a, v_a, UC_zr, CU, S, ZR, St, alpha, Q, V = ctx.saved_tensors
        (T, B, n), width = St.shape, h.shape[2]
        dY, dc, dQ = V.new_empty(T, B, 3 * n), V.new_empty(T, B, width), V.new_empty(*Q.shape)
        a_h, W_2, v_2 = _doubled(U_a_h, W_a, v_a)
        da_h, dv, hidden, hT = torch.zeros_like(a_h), torch.zeros_like(a_h), torch.empty_like(a_h), h.transpose(1, 2)
        to_z, to_r, to_tilde, to_s = _slopes(S[:-1], ZR, St)
        ds = dS[T].clone()
        for (dy_zr, dy_z, dy_r, dy), (z_slope, r_slope, slope, s_slope), (r, a, q), (dc_i, dq), outer in zip(
            _steps(0, dY[..., : 2 * n], *dY.chunk(3, -1), back=True),
            _steps(0, to_z, to_r, to_tilde, to_s, back=True),
            _steps(0, ZR[..., n:], alpha, Q.unsqueeze(2), back=True),
            _steps(0, dc, dQ, back=True),
            _steps(0, dS[:-1], dc_out, dalpha_out, back=True),
            strict=True,
        ):
            ds_out, dc_out_i, dalpha_out_i = outer
            torch.mul(ds, slope, out=dy)
            of_c, drs = torch.split(torch.mm(dy, CU).to(ds.dtype), [width, n], dim=1)
            torch.mul(ds, z_slope, out=dy_z)
            torch.mul(drs, r_slope, out=dy_r)
            of_s, of_c_too = torch.split(torch.mm(dy_zr, UC_zr), [n, width], dim=1)
            ds.mul_(s_slope).addcmul_(drs, r).add_(of_s).add_(ds_out)
            dc_i.copy_(of_c.add_(of_c_too).add_(dc_out_i))
            dalpha = dalpha_out_i + torch.bmm(dc_i.unsqueeze(1), hT).squeeze(1)
            de = (a * (dalpha - (a * dalpha).sum(1, keepdim=True))).unsqueeze(2)
            torch.add(a_h, q, out=hidden).sigmoid_()
            dv.addcmul_(hidden, de)
            torch.ops.aten.sigmoid_backward.grad_input(de.expand_as(hidden), hidden, grad_input=hidden)
            da_h += hidden
            torch.mul(hidden.sum(1), v_2, out=dq)
            ds.add_(torch.mm(dq, W_2))
        seen, dY_flat = V.flatten(0, 1), dY.flatten(0, 1)
        return (
            dY,
            ds,
            torch.bmm(alpha.permute(1, 2, 0).to(h.dtype), dc.transpose(0, 1)),
            (da_h * (2 * v_2)).to(U_a_h.dtype),
            None,
            dQ.flatten(0, 1).T @ seen[:, :n] * 2,
            dv.sum((0, 1)) * 2,
            dY_flat[:, : 2 * n].T @ seen[:, : n + width],
            dY_flat[:, 2 * n :].T @ seen[:, n:],
        )


def _doubled(U_a_h: Tensor, W_a: Tensor, v_a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The alignment model by way of tanh(a) = 2 sigma(2a) - 1: processors make sigma three times as fast.

    So e = v^T tanh(a) = 2 v^T sigma(2a) - sum(v), and the softmax over j does not see what is the same for all j.
    """
    return 2 * U_a_h.to(v_a.dtype), 2 * W_a, 2 * v_a


def states(p: Unit, Ex: Tensor, mask: Tensor, *, backward: bool = False) -> Tensor:
    """Twin of paper.states."""
    return _scan_directions(Ex, mask, [(p, backward)])


def annotations(Ex: Tensor, mask: Tensor, forward: Unit, backward: Unit) -> Tensor:
    """Twin of paper.annotations: both directions in one loop, the backward one on reversed time."""
    return _scan_directions(Ex, mask, [(forward, False), (backward, True)])


def search_recursion(
    unit: Unit, attention: Attention, Ey: Tensor, s_0: Tensor, h: Tensor, mask: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Twin of paper.search_recursion."""
    assert unit.C is not None and unit.C_z is not None and unit.C_r is not None
    h = h.contiguous()  # the products of every step would copy it
    U, U_z, U_r, C, C_z, C_r = _low([unit.U, unit.U_z, unit.U_r, unit.C, unit.C_z, unit.C_r], h.dtype)
    S, c, alpha = _SearchScan.apply(  # type: ignore[no-untyped-call]
        _inputs([unit], Ey.transpose(0, 1).unsqueeze(0)).squeeze(0),
        s_0,
        h,
        linear(h, attention.U_a.to(h.dtype)),
        mask,
        attention.W_a.to(h.dtype),
        attention.v_a,
        torch.cat([torch.cat([U_z, C_z], dim=1), torch.cat([U_r, C_r], dim=1)]),
        torch.cat([C, U], dim=1),
    )
    return S.transpose(0, 1), c.transpose(0, 1), alpha.transpose(0, 1)


def fixed_recursion(unit: Unit, Ey: Tensor, s_0: Tensor, c: Tensor) -> Tensor:
    """Twin of paper.fixed_recursion."""
    assert unit.C is not None and unit.C_z is not None and unit.C_r is not None
    C = torch.cat(_low([unit.C_z, unit.C_r, unit.C], c.dtype))
    X = _inputs([unit], Ey.transpose(0, 1).unsqueeze(0)) + linear(c, C)
    mask = s_0.new_ones(()).expand(*X.shape[:2], 1, 1)
    return _scan(X, mask, s_0.unsqueeze(0), [unit]).squeeze(0).transpose(0, 1)


def _scan_directions(Ex: Tensor, mask: Tensor, directions: list[tuple[Unit, bool]]) -> Tensor:
    """States [B, T_x, D n] of D units, each reading forward or backward, from zero."""
    units = [p for p, _ in directions]
    x, m = Ex.transpose(0, 1), mask.T.to(units[0].U.dtype).unsqueeze(-1)
    X = _inputs(units, torch.stack([_turn(x, backward) for _, backward in directions]))
    M = torch.stack([_turn(m, backward) for _, backward in directions])
    s_0 = M.new_zeros(len(units), Ex.shape[0], units[0].U.shape[0])
    S = _scan(X, M, s_0, units)[:, 1:]
    return torch.cat([_turn(S[d], backward) for d, (_, backward) in enumerate(directions)], dim=-1).transpose(0, 1)


def _scan(X: Tensor, mask: Tensor, s_0: Tensor, units: list[Unit]) -> Tensor:
    D, n = len(units), s_0.shape[-1]
    U_zr = torch.cat(_low([U for p in units for U in (p.U_z, p.U_r)], X.dtype)).view(D, 2 * n, n)
    U = torch.cat(_low([p.U for p in units], X.dtype)).view(D, n, n)
    S: Tensor = _GatedScan.apply(X, mask, s_0, U_zr, U)  # type: ignore[no-untyped-call]
    return S


def _inputs(units: list[Unit], x: Tensor) -> Tensor:
    """What D units see of x [D, T, B, m], for all steps at once: [D, T, B, 3n] in the order z, r, proposal."""
    W = torch.cat(_low([W for p in units for W in (p.W_z, p.W_r, p.W)], x.dtype)).view(len(units), -1, x.shape[-1])
    b = torch.stack([torch.cat([torch.zeros_like(p.b), torch.zeros_like(p.b), p.b]) for p in units])
    X = torch.baddbmm(b.unsqueeze(1).to(x.dtype), x.flatten(1, 2), W.mT)
    return X.view(*x.shape[:3], -1)


def _low(weights: list[Tensor], kind: torch.dtype) -> list[Tensor]:
    """Weights in the type of the products; before they are joined, so that joining copies half as much."""
    return [weight.to(kind) for weight in weights]


def _turn(x: Tensor, backward: bool) -> Tensor:
    return x.flip(0) if backward else x
