"""How commands write what they found: to standard output at once, links and numbers as text."""

import argparse
import math
import sys
from typing import TYPE_CHECKING, Any

from rnnsearch.errors import UserError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def alignment_rule(text: str) -> str | float:
    """The value of --alignment: `hard`, `soft`, or the least weight of a link."""
    try:
        number = text if text in {"hard", "soft"} else float(text)
    except ValueError:
        number = math.nan
    if isinstance(number, float) and not 0 < number <= 1:
        raise argparse.ArgumentTypeError(f"hard, soft or a number above 0 and up to 1 is needed, not {text!r}")
    return number


def write(text: str) -> None:
    """To standard output, at once. Raises UserError where that fails; BrokenPipeError where nobody reads any more."""
    try:
        sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UserError(f"cannot write to standard output: {error.strerror or error}") from None


def links(matrix: "NDArray[Any]", form: str | float) -> str:
    """An alignment [target words, source words] as Marian writes it; soft: weights over the source by target word."""
    from rnnsearch.search.alignment import links_by
    from rnnsearch.text.links import pharaoh

    if form == "soft":
        return " ".join(",".join(f"{weight:.4f}" for weight in row) for row in matrix.tolist())
    return pharaoh(links_by(matrix, form))


def number(value: float) -> float | None:
    """A number for JSON, which has no infinity."""
    return round(value, 6) if math.isfinite(value) else None
