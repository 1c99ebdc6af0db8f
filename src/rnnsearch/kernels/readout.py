"""The maxout layer before the output layer, as one product."""

import torch
from torch import Tensor
from torch.nn.functional import linear

from rnnsearch.parameters import Output


def readout(p: Output, s: Tensor, Ey: Tensor, c: Tensor) -> Tensor:
    """Twin of paper.readout; made in the type of Ey."""
    U_o, V_o, C_o, b_o, s, c = (part.to(Ey.dtype) for part in (p.U_o, p.V_o, p.C_o, p.b_o, s, c))
    t_tilde = linear(torch.cat([s, Ey, c], -1), torch.cat([U_o, V_o, C_o], dim=1), b_o)
    return torch.maximum(*t_tilde.view(*t_tilde.shape[:-1], -1, 2).unbind(-1))
