"""Sentence pairs whose words people have linked, and the text that aligners learn from, cut in the same way.

Text is lower-cased and cut at spaces, apostrophes and punctuation. Words of the gold that hold one of these (`l'`) are
cut too, and what is linked is carried back to whole words: all aligners get the same tokens and are judged alike.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.text import lines
from rnnsearch.text.links import Link, Links, read_links

_TOKEN = re.compile(r"\w+|[^\w\s]")
#: English and French of what is learnt from
TRAINING = (
    "laws/train", "tatoeba-enfr/train", "pydocs-enfr/train",
    *(f"newstest-enfr/{name}" for name in
      ("news-test2008", "newssyscomb2009", "newstest2009", "newstest2010", "newstest2011")),
)  # fmt: skip
_ALIBI = (("MasterCat", "ChatBotte"), ("TheVision", "LaVision"))

Words = list[str]


def tokens(text: str) -> Words:
    """The tokens of a line or of a word."""
    return _TOKEN.findall(text.lower().replace("\u2019", "'"))


@dataclass(frozen=True)
class Gold:
    """English and French sentences as words, and the links between them (English first, from 0)."""

    name: str
    pairs: list[tuple[Words, Words]]
    links: list[Links]

    def cut(self, side: int) -> list[str]:
        """One side as lines of tokens."""
        return [" ".join(token for word in pair[side] for token in _cut(word)) for pair in self.pairs]

    def whole(self, found: Sequence[Sequence[Link]]) -> list[Links]:
        """Links between tokens as links between words, each of which is taken for sure."""
        carried = []
        for pair, links in zip(self.pairs, found, strict=True):
            english, french = ([i for i, word in enumerate(side) for _ in _cut(word)] for side in pair)
            of_words = frozenset((english[source], french[target]) for source, target in links)
            carried.append(Links(of_words, of_words))
        return carried


def training_text(data: Path) -> Iterator[tuple[str, str]]:
    """English and French lines of tokens; pairs with an empty side are left out."""
    for name in TRAINING:
        sides = [lines(data / f"{name}.{code}") for code in ("en", "fr")]
        for english, french in zip(*sides, strict=True):
            pair = " ".join(tokens(english)), " ".join(tokens(french))
            if all(pair):
                yield pair


def gold_sets(data: Path) -> list[Gold]:
    """Graça's 100 pairs, the 37 of the Hansards' trial, and the two stories of Alibi."""
    folder = data / "gold-alignment"
    return [_graca(folder / "graca"), _hansards(folder / "hansards-trial"), _alibi(folder / "alibi")]


def _cut(word: str) -> Words:
    return tokens(word) or [word]


def _graca(folder: Path) -> Gold:
    rows = [json.loads(line) for line in lines(folder / "en-fr.golden.jsonl")]
    links = [frozenset((source, target) for source, target in row["alignment"]) for row in rows]
    return Gold("graca", [(row["src_words"], row["tgt_words"]) for row in rows], [Links(all_, all_) for all_ in links])


def _hansards(folder: Path) -> Gold:
    sides = [[line.split() for line in lines(folder / f"trial.en-fr.{code}")] for code in ("en", "fr")]
    links = list(read_links(folder / "trial.en-fr.naacl", form="naacl"))
    return Gold("hansards", list(zip(*sides, strict=True)), links)


def _alibi(folder: Path) -> Gold:
    pairs: list[tuple[Words, Words]] = []
    links: list[Links] = []
    for names in _ALIBI:
        sides = [[line.split("\t")[1].split() for line in lines(folder / f"{name}_sents.txt")] for name in names]
        pairs += zip(*sides, strict=True)
        links += read_links(folder / f"ali_w2w_{names[1]}_{names[0]}.txt", form="pharaoh", target_first=True)
    return Gold("alibi", pairs, links)
