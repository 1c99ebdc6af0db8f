"""The maxout layer before the output layer, as one product."""

import torch
from torch import Tensor
from torch.nn.functional import linear

from rnnsearch.parameters import Output


def readout(p: Output, s: Tensor, Ey: Tensor, c: Tensor) -> Tensor:
    """Twin of paper.readout; made in the type of Ey."""
    W = torch.cat([p.U_o, p.V_o, p.C_o], dim=1)
    t_tilde = linear(torch.cat([s.to(Ey.dtype), Ey, c.to(Ey.dtype)], -1), W.to(Ey.dtype), p.b_o.to(Ey.dtype))
    return torch.maximum(*t_tilde.view(*t_tilde.shape[:-1], -1, 2).unbind(-1))
