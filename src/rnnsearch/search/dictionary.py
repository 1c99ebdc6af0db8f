"""A dictionary from alignments: for each source word the target word that it was linked with most often."""

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field

from rnnsearch.search.alignment import Matrix
from rnnsearch.text.vocabulary import MAX_COUNTED, count_words

#: Least weight of the source word that a target word looked at most: below it the model was not sure.
LEAST_WEIGHT = 0.5
#: Links of two words that are no chance.
LEAST_LINKS = 2

#: Source tokens, target tokens and alpha [T_y, T_x], sentence ends left out of all: what a row lacks to 1 went there.
Aligned = tuple[Sequence[str], Sequence[str], Matrix]


@dataclass(frozen=True)
class Dictionary:
    """words: source token -> target token; unknown: how often the text has each source token outside the vocabulary."""

    words: dict[str, str] = field(default_factory=dict)
    unknown: Counter[str] = field(default_factory=Counter)


def learn(aligned: Iterable[Aligned], vocabulary: Container[str], limit: int = MAX_COUNTED) -> Dictionary:
    """The most frequent translation of each source token that has one; ties in order of spelling.

    vocabulary: that of the source. At most `limit` pairs of tokens and unknown tokens are held while counting, the
    rarest are forgotten (see `count_words`): only words that are rare in a large text can be missed.
    """
    found, best = Dictionary(), dict[str, tuple[int, str]]()
    for seen, count in count_words((_seen(*pair, vocabulary) for pair in aligned), limit).items():
        source, _, target = seen.partition(" ")
        if not target:
            found.unknown[source] = count
        elif count >= LEAST_LINKS:
            best[source] = min(best.get(source, (0, "")), (-count, target))
    found.words.update((source, target) for source, (_, target) in best.items())
    return found


def _seen(source: Sequence[str], target: Sequence[str], alpha: Matrix, vocabulary: Container[str]) -> list[str]:
    """What one pair adds to the counts: `source target` for each link, and each source token that is unknown alone.

    No token has a space in it, so they share one table and its limit.
    """
    unknown = [token for token in source if token not in vocabulary]
    if not alpha.size:
        return unknown
    best, weights = alpha.argmax(axis=1).tolist(), alpha.max(axis=1).tolist()
    links = zip(target, best, weights, strict=True)
    return unknown + [f"{source[at]} {token}" for token, at, weight in links if weight >= LEAST_WEIGHT]
