"""Vocabularies: the most frequent words of one side, numbered from 2; 0 ends a sentence, 1 stands for the rest."""

import heapq
import json
import logging
from collections import Counter
from collections.abc import Iterable, Sequence

from rnnsearch.errors import UserError

EOS_ID = 0
UNK_ID = 1
#: how the two special ids are shown; text that is spelled like this is an ordinary word
EOS = "</s>"
UNK = "[UNK]"
#: distinct words held while counting: about 300 MB; beyond it the rarest are forgotten
MAX_COUNTED = 2_000_000

_log = logging.getLogger("rnnsearch")


class Vocabulary:
    """Words and their ids. Ids 0 (sentence end) and 1 (unknown) belong to no spelling."""

    def __init__(self, words: Sequence[str]) -> None:
        """`words`: distinct, in order of frequency; the first gets id 2. Raises ValueError for a repeated word."""
        self.words = tuple(words)
        self._ids = {word: index for index, word in enumerate(self.words, start=2)}
        if len(self._ids) != len(self.words):
            raise ValueError("a word occurs twice in the vocabulary")

    def __len__(self) -> int:
        """Number of ids, the two special ones counted."""
        return len(self.words) + 2

    def __contains__(self, token: object) -> bool:
        return token in self._ids

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.words == other.words

    def __hash__(self) -> int:
        return hash(self.words)

    def ids(self, tokens: Sequence[str]) -> list[int]:
        """The id of each token, UNK_ID for those outside the vocabulary."""
        return [self._ids.get(token, UNK_ID) for token in tokens]

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """The token of each id; UNK for UNK_ID, EOS for EOS_ID. Raises IndexError for an id outside the vocabulary."""
        return [self.words[i - 2] if i >= 2 else (EOS, UNK)[i] for i in ids]

    def to_bytes(self) -> bytes:
        """The words as a JSON list, one a line, in UTF-8."""
        return (json.dumps(self.words, ensure_ascii=False, indent=0) + "\n").encode("utf-8")

    @classmethod
    def from_bytes(cls, data: bytes) -> "Vocabulary":
        """The vocabulary that `to_bytes` wrote. Raises ValueError for anything else."""
        words = json.loads(data.decode("utf-8"))
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise ValueError("not a list of words")
        return cls(words)


def count_words(lines: Iterable[Sequence[str]], limit: int = MAX_COUNTED) -> Counter[str]:
    """How often each token occurs in tokenised `lines`; holds at most `limit` distinct tokens between lines.

    Beyond the limit the rarest are forgotten (lossy counting), so only counts of rare tokens can come out too low.
    """
    counts: Counter[str] = Counter()
    for tokens in lines:
        counts.update(tokens)
        if len(counts) > limit:
            _forget_rarest(counts, limit)
    return counts


def _forget_rarest(counts: Counter[str], limit: int) -> None:
    """Drop tokens with a count of 1, then 2 ..., until no more than half the limit is held."""
    threshold = 0
    while len(counts) > limit // 2:
        threshold += 1
        for word in [word for word, count in counts.items() if count <= threshold]:
            del counts[word]


def most_frequent(counts: Counter[str], size: int, side: str) -> Vocabulary:
    """The vocabulary of at most `size` entries (the two special ones counted), ties in order of spelling.

    Fewer distinct words than asked for: the vocabulary shrinks and a warning says so. `side` names it there.
    Raises UserError where `size` leaves no room for a word.
    """
    if size < 3:
        raise UserError(f"a vocabulary of {size} leaves no room for words; ask for at least 3")
    # a sorted list of all would take as much memory again as the counts
    vocabulary = Vocabulary(heapq.nsmallest(size - 2, counts, key=lambda word: (-counts[word], word)))
    if len(vocabulary) < size:
        shrunk = "the %s vocabulary shrank from %s to %s: the text has no more words"
        _log.warning(shrunk, side, f"{size:,}", f"{len(vocabulary):,}")
    return vocabulary
