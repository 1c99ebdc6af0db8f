"""Fast twins of the equations in paper.py: the same signatures and values, with hand-written gradients."""

from rnnsearch.kernels.loss import loss
from rnnsearch.kernels.scan import annotations, fixed_recursion, search_recursion, states

__all__ = ["annotations", "fixed_recursion", "loss", "search_recursion", "states"]
