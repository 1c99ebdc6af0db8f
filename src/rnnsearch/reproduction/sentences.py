"""Which sentences are shown, by rules that need no grammar of any language; and where a translation went astray."""

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rnnsearch.evaluation.metrics import has_spaces

#: A rest of fewer words than these is no going astray, only a last word or two that differ.
LEAST_REST = 3
#: Sentences side by side for each of these lengths: of more than so many words.
SIDE_BY_SIDE, LONG = 3, (30, 50)
#: A target word looks at two source words at once if it gave each of them at least so much of its weight.
SHARE = 0.3


@dataclass(frozen=True)
class Looked:
    """Where a model looked in a sentence. links: the clear ones of tokens, (source, target); agreeing: how many target
    tokens looked at two source tokens at once (the function of that name)."""

    links: Sequence[tuple[int, int]]
    agreeing: int


@dataclass(frozen=True)
class Candidate:
    """A sentence that might be shown. length: words of its source; chrf: of its translation, 0 to 100."""

    number: int
    length: int
    chrf: float
    looked: Looked


@dataclass(frozen=True)
class Chosen:
    """A sentence by its number, and by which rule."""

    number: int
    rule: str


def agreeing(alpha: NDArray[np.float64]) -> int:
    """How many target tokens looked at two neighbouring source tokens at once, as "l'" does at "the" and at "man": an
    article that must agree with its noun. alpha: float64 [T_y, T_x], the sentence end left out of both."""
    looked = alpha >= SHARE
    return int((looked[:, :-1] & looked[:, 1:]).any(axis=1).sum())


def turn(links: Sequence[tuple[int, int]]) -> int:
    """Source words of the longest turn: of the longest phrase that is said backwards, as "European Economic Area" is.

    It goes from target word to target word, those without a link left out, each time to the same source word or to one
    of the two before it. At least 1, where there are links.
    """
    longest, seen, last = 0, set[int](), None
    for _, x in sorted((y, x) for x, y in links):
        seen = seen | {x} if last is not None and last - 2 <= x <= last else {x}
        longest, last = max(longest, len(seen)), x
    return longest


def chrf(outputs: Sequence[str], references: Sequence[str]) -> list[float]:
    """chrF of each sentence, 0 to 100."""
    from sacrebleu.metrics.chrf import CHRF

    metric = CHRF()
    return [metric.sentence_score(output, [line]).score for output, line in zip(outputs, references, strict=True)]


def for_pictures(candidates: Sequence[Candidate]) -> list[Chosen]:
    """At most four sentences for Figure 3, none of them twice."""
    rules: list[tuple[str, Callable[[Sequence[Candidate]], Candidate | None]]] = [
        ("turned around: of the sentences of 5 to 20 words in the better half by chrF, the one with the longest phrase "
         "that is said backwards, word by word", _turned),
        ("agreement: of the sentences of 5 to 20 words in the better half by chrF, the one with the most words that "
         "looked at two neighbouring words at once, as an article does that must agree with its noun", _agreeing),
        ("long: of the sentences of 40 to 60 words in the better half by chrF, the one nearest to 50 words", _long),
        ("gone wrong: of the sentences of 15 to 30 words, the one with the lowest chrF", _wrong),
    ]  # fmt: skip
    chosen: list[Chosen] = []
    for rule, choose in rules:
        taken = {other.number for other in chosen}
        found = choose([candidate for candidate in candidates if candidate.number not in taken])
        if found is not None:
            chosen.append(Chosen(found.number, rule))
    return chosen


def side_by_side(lengths: Sequence[int], one: Sequence[float], other: Sequence[float]) -> list[Chosen]:
    """Sentences of more than 30 and of more than 50 words where two systems differ most in chrF, either way."""
    chosen: list[Chosen] = []
    for least in reversed(LONG):
        taken = {each.number for each in chosen}
        long = [i for i, length in enumerate(lengths) if length > least and i not in taken]
        most = sorted(long, key=lambda i: -abs(one[i] - other[i]))[:SIDE_BY_SIDE]
        chosen += [Chosen(i, f"more than {least} words") for i in most]
    return sorted(chosen, key=lambda each: each.rule)


def astray(output: str, reference: str, language: str = "") -> tuple[str, str]:
    """`output` in two: what it is up to where it went astray, and the rest ("" where it did not).

    It went astray at the first word after which no two successive words stand so in the reference, where each two count
    as often as they stand there; at least three words are left. Case and punctuation at the edges of words do not
    count. Languages without spaces: by characters.
    """
    joint = " " if has_spaces(language) else ""
    ours, theirs = (line.split() if joint else list(line) for line in (output, reference))
    left = Counter(itertools.pairwise(map(_bare, theirs)))
    good = 0
    for place, pair in enumerate(itertools.pairwise(map(_bare, ours))):
        if left[pair]:
            left[pair] -= 1
            good = place + 2
    if len(ours) - good < LEAST_REST:
        return output, ""
    return joint.join(ours[:good]), joint.join(ours[good:])


def _bare(word: str) -> str:
    """A word without case and without the punctuation around it; punctuation alone stays."""
    edges = [i for i, letter in enumerate(word) if letter.isalnum()]
    return word[edges[0] : edges[-1] + 1].casefold() if edges else word


def _good(candidates: Sequence[Candidate], least: int, most: int) -> list[Candidate]:
    """The better half by chrF of those of `least` to `most` words."""
    fit = [candidate for candidate in candidates if least <= candidate.length <= most]
    return sorted(fit, key=lambda c: -c.chrf)[: -(-len(fit) // 2)]


def _turned(candidates: Sequence[Candidate]) -> Candidate | None:
    good = _good(candidates, 5, 20)
    found = max(good, key=lambda c: (turn(c.looked.links), c.chrf, c.length), default=None)
    return found if found and turn(found.looked.links) > 1 else None


def _agreeing(candidates: Sequence[Candidate]) -> Candidate | None:
    good = _good(candidates, 5, 20)
    found = max(good, key=lambda c: (c.looked.agreeing, c.chrf), default=None)
    return found if found and found.looked.agreeing else None


def _long(candidates: Sequence[Candidate]) -> Candidate | None:
    good = _good(candidates, 40, 60)
    return min(good, key=lambda c: (abs(c.length - 50), -c.chrf), default=None)


def _wrong(candidates: Sequence[Candidate]) -> Candidate | None:
    return min((c for c in candidates if 15 <= c.length <= 30), key=lambda c: c.chrf, default=None)
