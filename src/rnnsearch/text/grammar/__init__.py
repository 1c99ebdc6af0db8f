"""A bilingual English-French grammar: sentence pairs of any length from 3 to 80 tokens, with their true alignment.

Every token of either side has at least one link. Content words are linked to their translation and function words to
their counterpart; what one language alone needs is linked to the word that calls for it: "de" and the article inside a
noun chain to the noun that they introduce, "ne" and "pas" both to "not" (to "nobody" where that is the negation), an
auxiliary to the finite verb of the other side, a merged "du" to both of what it merges.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from rnnsearch.text.grammar.clauses import clause
from rnnsearch.text.grammar.node import Phrase, counterparts, elide, links, typeset, unit

SHORTEST, LONGEST = 3, 80
TIMES = (("present", "past", "future"), (5, 4, 2))
ALWAYS = (("and", "et"), (", but", ", mais"), (", and", ", et"), ("because", "parce que"), (", so", ", donc"))
WHEN = ("when", "quand")
# Only connectives after which both languages take the same tense.
CONNECTIVES = {
    "present": (*ALWAYS, WHEN, ("while", "pendant que")),
    "past": (*ALWAYS, WHEN),
    "future": ALWAYS,
}


@dataclass(frozen=True, slots=True)
class GrammarPair:
    """Tokens of both sides, and the sorted (source index, target index) links, counted from 0."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    alignment: tuple[tuple[int, int], ...]

    @property
    def source_text(self) -> str:
        """The English sentence as one writes it."""
        return typeset(self.source)

    @property
    def target_text(self) -> str:
        """The French sentence as one writes it."""
        return typeset(self.target)


def generate(
    count: int, *, seed: int, length: int | None = None, min_length: int = SHORTEST, max_length: int = LONGEST
) -> Iterator[GrammarPair]:
    """`count` pairs, the same for the same arguments; fewer are a beginning of more.

    `length`: exactly so many English tokens, full stop included, from 3 to 80. Without it lengths are spread from
    `min_length` to `max_length`, skewed to the short side (mean about 12 with the defaults). ValueError outside 3..80.
    """
    least, most = (length, length) if length is not None else (min_length, max_length)
    if not SHORTEST <= least <= most <= LONGEST:
        raise ValueError(f"lengths must be between {SHORTEST} and {LONGEST}, in order; got {least} to {most}")
    return _generate(count, Random(seed), least, most)  # noqa: S311 (no secret)


def _generate(count: int, rng: Random, least: int, most: int) -> Iterator[GrammarPair]:
    for _ in range(count):
        yield _finish(_sentence(rng, _length(rng, least, most)))


def _length(rng: Random, least: int, most: int) -> int:
    """A length from the range: a gamma distribution above the shortest, or even where that overshoots."""
    drawn = least + int(rng.gammavariate(2.2, 4.3))
    return drawn if drawn <= most else rng.randint(least, most)


def _finish(phrase: Phrase) -> GrammarPair:
    source, target = (tuple(word.text for word in side) for side in (phrase.en, elide(phrase.fr)))
    return GrammarPair(source, target, links(phrase))


def _sentence(rng: Random, n: int) -> Phrase:
    """A sentence of exactly `n` English tokens."""
    time = rng.choices(*TIMES)[0]
    n -= 1
    if n >= 8 and rng.random() < 0.1:
        first = rng.randint(2, min(n - 4, 9))
        word, before = (("if", "si"), "present") if time == "future" else (WHEN, time)
        phrase = (
            unit(*word) + clause(rng, first, before, opening=True) + unit(",", ",") + _body(rng, n - first - 2, time)
        )
    else:
        phrase = _body(rng, n, time, opening=True)
    return phrase + unit(".", ".")


def _body(rng: Random, n: int, time: str, *, opening: bool = False, last: tuple[str, str] | None = None) -> Phrase:
    """One clause, or several joined by connectives; `last` is the connective that stood before."""
    if n <= rng.randint(8, 15):
        return clause(rng, n, time, opening=opening)
    options = [c for c in CONNECTIVES[time] if c != last]
    connective = rng.choice(options)
    joint = counterparts(*connective)
    left = n - len(joint.en)
    first = rng.randint(3, min(11, left - 3))
    start = clause(rng, first, time, opening=opening)
    return start + joint + _body(rng, left - first, time, last=connective)
