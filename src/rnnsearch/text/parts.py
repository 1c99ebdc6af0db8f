"""Cutting a line that is too long for a model into parts, where a reader would pause if possible."""

from collections.abc import Sequence

_SENTENCE_ENDS = ".!?…。！？।؟"
_PAUSES = ",;:，；：、،"


def cut(tokens: Sequence[str], words: Sequence[int], limit: int) -> list[slice]:
    """Parts of at most `limit` tokens that make up the whole line; none of an empty one.

    words: the word that each token belongs to. Within the second half of what a part may hold the best place is
    taken: behind the end of a sentence, behind another pause, between words, anywhere; of equal ones the last.
    """
    parts, start = [], 0
    while len(tokens) - start > limit:
        places = range(start + limit // 2 + 1, start + limit + 1)
        end = max(places, key=lambda place: (_worth(tokens[place - 1], words[place] != words[place - 1]), place))
        parts.append(slice(start, end))
        start = end
    return [*parts, slice(start, len(tokens))] if tokens else []


def _worth(before: str, between_words: bool) -> int:
    """How good a place behind the token `before` is. A point inside a word, as in 3.5, is no sentence end."""
    if between_words or not before[-1:].isascii():
        if before[-1:] in _SENTENCE_ENDS:
            return 3
        if before[-1:] in _PAUSES:
            return 2
    return int(between_words)
