"""The public noun `Translator`: lines -> what the model reads -> search -> `Translation`, with its alignment."""

from rnnsearch.translator.lines import GRID_CELLS, READ_AHEAD
from rnnsearch.translator.options import LARGEST_BATCH, Options
from rnnsearch.translator.translation import Translation
from rnnsearch.translator.translator import Translator

__all__ = ["GRID_CELLS", "LARGEST_BATCH", "READ_AHEAD", "Options", "Translation", "Translator"]
