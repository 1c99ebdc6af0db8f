"""The paper's Figure 2: BLEU against the length of the source, all models in one plot, the sentences counted below."""

from rnnsearch.evaluation.bands_plot import Curve, Plot
from rnnsearch.reproduction.measures import Curves

#: The soft search in warm colours and unbroken lines, the fixed vector in cold ones and dashes; pale is up to 30 words.
#: All are told apart by every kind of colour vision (after Okabe and Ito), on white and on near-black.
_STYLES = {
    "RNNencdec-30": ("#56b4e9", ":", "v"),
    "RNNencdec-50": ("#0072b2", "--", "^"),
    "RNNsearch-30": ("#e69f00", "-.", "D"),
    "RNNsearch-50": ("#d55e00", "-", "o"),
    "RNNsearch-50*": ("#cc79a7", "-", "s"),
}
#: Longest training pairs, in words.
_LIMITS = (30, 50)


def plot_of(curves: Curves) -> Plot:
    """The plot of what was measured."""
    drawn = [Curve(name, found, *_STYLES[name]) for name, found in curves.models.items()]
    return Plot(curves.bands, drawn, score="BLEU, tokenised", limits=_LIMITS)
