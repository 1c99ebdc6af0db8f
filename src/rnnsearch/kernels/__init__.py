"""Fast twins of the equations in paper.py: the same signatures and values, with hand-written gradients."""

from rnnsearch.kernels.dropout import drop
from rnnsearch.kernels.loss import loss
from rnnsearch.kernels.readout import readout
from rnnsearch.kernels.scan import annotations, fixed_recursion, search_recursion, states

__all__ = ["annotations", "drop", "fixed_recursion", "loss", "readout", "search_recursion", "states"]
