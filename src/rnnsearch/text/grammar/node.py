"""Bilingual phrases: the words of both sides, tied together by shared meanings, and French spelling rules.

A word carries the meanings that it expresses. Two words, one on each side, are linked when they share a meaning;
so phrases can be joined, reordered and split without ever counting positions, and links are read off at the end.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from rnnsearch.text.grammar.words import ASPIRATED

VOWELS = frozenset("aeiouâàéèêëîïôöûüœæ")
NO_ELISION = tuple(ASPIRATED.split())
ELIDED = {"le": "l'", "la": "l'", "de": "d'", "ne": "n'", "que": "qu'", "je": "j'", "me": "m'"}
CONTRACTED = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}
# After the preposition "de" the indefinite article falls away: "près de maisons".
ABSORBED = {("de", "des"), ("de", "de")}


class Word(NamedTuple):
    """One token and the meanings that it expresses (compared by identity only)."""

    text: str
    meanings: tuple[object, ...]


@dataclass(slots=True)
class Phrase:
    """The same phrase in both languages."""

    en: list[Word] = field(default_factory=list)
    fr: list[Word] = field(default_factory=list)

    def __add__(self, other: "Phrase") -> "Phrase":
        """This phrase, then the other, on both sides."""
        return Phrase(self.en + other.en, self.fr + other.fr)


def words(text: str, *meanings: object) -> list[Word]:
    """The space-separated tokens of `text`, all with the same meanings."""
    return [Word(token, meanings) for token in text.split()]


def unit(en: str, fr: str) -> Phrase:
    """A phrase that means one thing: every English token is linked to every French one."""
    meaning = object()
    return Phrase(words(en, meaning), words(fr, meaning))


def counterparts(en: str, fr: str) -> Phrase:
    """Each word linked to the one in its place on the other side; one `unit` where one side has more words."""
    english, french = en.split(), fr.split()
    if len(english) != len(french):
        return unit(en, fr)
    each = [unit(*both) for both in zip(english, french, strict=True)]
    return sum(each[1:], start=each[0])


def reverse(first: Phrase, second: Phrase) -> Phrase:
    """The two phrases in this order in English and in the other order in French."""
    return Phrase(first.en + second.en, second.fr + first.fr)


def elides(word: str) -> bool:
    """Whether "le", "de", "que" ... lose their vowel before this French word."""
    first = word[0].lower()
    return (first in VOWELS or first == "h") and not word.lower().startswith(NO_ELISION)


def elide(french: list[Word]) -> list[Word]:
    """The French words with "le", "la", "de", "ne", "que", "je", "me" elided where the next word asks for it."""
    return [
        Word("s'", word.meanings)
        if word.text == "si" and french[i + 1].text in ("il", "ils")
        else Word(ELIDED[word.text], word.meanings)
        if word.text in ELIDED and i + 1 < len(french) and elides(french[i + 1].text)
        else word
        for i, word in enumerate(french)
    ]


def introduce(preposition: Phrase, noun_phrase: Phrase) -> Phrase:
    """A preposition before a noun phrase: "de" and "à" merge with the article (du, des, au, aux)."""
    head, article = preposition.fr[-1], noun_phrase.fr[0]
    shared = head.meanings + article.meanings
    pair = (head.text, article.text)
    if pair in ABSORBED:
        merged = [Word("de", shared)]
    elif pair in CONTRACTED and not (article.text == "le" and elides(noun_phrase.fr[1].text)):
        merged = [Word(CONTRACTED[pair], shared)]
    else:
        merged = [head, article]
    return Phrase(preposition.en + noun_phrase.en, preposition.fr[:-1] + merged + noun_phrase.fr[1:])


def links(phrase: Phrase) -> tuple[tuple[int, int], ...]:
    """The sorted (source index, target index) pairs of the words that share a meaning."""
    places: dict[object, list[int]] = {}
    for i, word in enumerate(phrase.en):
        for meaning in word.meanings:
            places.setdefault(meaning, []).append(i)
    found = {(i, j) for j, word in enumerate(phrase.fr) for meaning in word.meanings for i in places.get(meaning, ())}
    return tuple(sorted(found))


def typeset(tokens: Iterable[str]) -> str:
    """Tokens as a written line: capital at the start, no space before , . and 's, nor after an apostrophe."""
    text = ""
    for token in tokens:
        glued = not text or text.endswith("'") or token in {",", ".", "'s"}
        text += token if glued else " " + token
    return text[:1].upper() + text[1:]
