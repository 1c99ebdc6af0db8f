"""What is measured: the sizes of the network, how long and how often, and where the files lie."""

import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: all that a run makes; git ignores it
FOLDER = ROOT / "build" / "benchmark"
RNNSEARCH = (sys.executable, "-m", "rnnsearch")
#: what preset `base` trains with, so that the others can do the same
DROPOUT, LABEL_SMOOTHING, CLIP_NORM, LEARNING_RATE, BATCH_TOKENS, SENTENCES = 0.3, 0.1, 1.0, 1e-3, 2400, 80


@dataclass(frozen=True)
class Sizes:
    """Widths of the network: m, n, n', l; the vocabulary is that of the setting, a text may have fewer words."""

    name: str
    embedding: int
    hidden: int
    attention: int
    maxout: int
    vocabulary: int
    tokeniser: str

    def flags(self) -> list[str]:
        """The same as flags of `rnnsearch train`."""
        named = {
            "--embedding-size": self.embedding,
            "--hidden-size": self.hidden,
            "--attention-size": self.attention,
            "--maxout-size": self.maxout,
            "--vocabulary-size": self.vocabulary,
            "--tokeniser": self.tokeniser,
        }
        return [str(part) for pair in named.items() for part in pair]


S = Sizes("S", 256, 512, 512, 256, 8_000, "subword")
P = Sizes("P", 620, 1000, 1000, 500, 30_000, "none")
TINY = Sizes("S", 32, 48, 48, 32, 800, "subword")


@dataclass(frozen=True)
class Plan:
    """How long and how often."""

    name: str
    sizes: Sizes
    large: Sizes | None  # the paper's sizes; None leaves them out
    rounds: int
    warm_up: float  # seconds of training that are not counted
    seconds: float  # seconds of training that are
    learn: int  # target tokens that each program trains the model on that it decodes with
    sentences: int  # of the test set
    probe: int  # sentences on which the batch size is chosen
    beams: tuple[int, ...]
    batches: tuple[int, ...]
    pairs: int  # generated pairs whose preparing is timed
    few: int  # pairs between which the memory is compared
    many: int


FULL = Plan(
    "full", S, P, 3, 10, 20, 500_000, 1000, 200, (5, 12), (1, 8, 16, 32, 64, 128), 1_000_000, 100_000, 12_000_000
)
QUICK = Plan("quick", TINY, None, 1, 1, 2, 50_000, 20, 10, (2,), (1, 8), 5_000, 1_000, 5_000)
