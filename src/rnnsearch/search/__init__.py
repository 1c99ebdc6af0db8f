"""Search for the best translation, over any `Engine`; numpy only."""

from rnnsearch.search.beam import force, search
from rnnsearch.search.hypothesis import Hypothesis

__all__ = ["Hypothesis", "force", "search"]
