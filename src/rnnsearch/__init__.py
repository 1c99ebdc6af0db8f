"""RNNsearch: translation by jointly learning to align and translate.

>>> from rnnsearch import Translator
>>> translator = Translator.load("en-fr")
>>> print(translator.translate("the little cat sleeps .").text)
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rnnsearch.translator import Translator

__version__ = "0.1.0"
__all__ = ["Translator", "__version__"]


def __getattr__(name: str) -> Any:
    """`Translator`, imported when it is first asked for, so that `import rnnsearch` costs nothing (PEP 562)."""
    if name == "Translator":
        return importlib.import_module("rnnsearch.translator").Translator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
