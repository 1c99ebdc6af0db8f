"""The parameters of the equations, by the paper's names."""

from typing import NamedTuple

from torch import Tensor


class Unit(NamedTuple):
    """Parameters of a gated hidden unit; C, C_z and C_r (its view of the context) only in the decoder."""

    W: Tensor
    W_z: Tensor
    W_r: Tensor
    U: Tensor
    U_z: Tensor
    U_r: Tensor
    b: Tensor
    C: Tensor | None = None
    C_z: Tensor | None = None
    C_r: Tensor | None = None


class Attention(NamedTuple):
    """Parameters of the alignment model a(s, h)."""

    v_a: Tensor
    W_a: Tensor
    U_a: Tensor


class Output(NamedTuple):
    """Parameters of the output layer; W_o as one matrix, or as W_o W_t where the authors' code factors it."""

    U_o: Tensor
    V_o: Tensor
    C_o: Tensor
    b_o: Tensor
    W_o: Tensor
    b_y: Tensor
    W_t: Tensor | None = None
