"""Nouns, adjectives and verbs with all their forms, inflected from the lists in `words`."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import Generic, TypeVar

from rnnsearch.text.grammar import words as lists

ZIPF_SHIFT = 4  # flattens the head of the distribution, so that the commonest nouns do not fill every sentence

T = TypeVar("T")


class Ranked(Generic[T]):
    """Items, commonest first, drawn in proportion to 1 / (rank + shift)."""

    def __init__(self, items: Iterable[T]) -> None:
        self.items = tuple(items)
        self._cumulative = list(accumulate(1 / (rank + ZIPF_SHIFT) for rank in range(len(self.items))))

    def draw(self, rng: Random) -> T:
        """One item."""
        return rng.choices(self.items, cum_weights=self._cumulative)[0]


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun: (singular, plural) on each side, the French gender, and its kind."""

    en: tuple[str, str]
    fr: tuple[str, str]
    feminine: bool
    kind: str


@dataclass(frozen=True, slots=True)
class Adjective:
    """An adjective: English; French masculine and feminine, each (singular, plural); masculine before a vowel."""

    en: str
    masculine: tuple[str, str]
    feminine: tuple[str, str]
    before_vowel: str

    def agree(self, feminine: bool, plural: bool) -> str:
        """The French form for a gender and number."""
        return (self.feminine if feminine else self.masculine)[plural]


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb. French persons are je, il, nous, vous, ils in this order."""

    base: str
    third: str
    past: str
    participle_en: str
    ing: str
    particle: str
    infinitive: str
    present: tuple[str, ...]
    imperfect: tuple[str, ...]
    future: tuple[str, ...]
    participle_fr: str
    kinds: tuple[str, ...]
    with_be: bool
    state: bool
    momentary: bool

    def participle(self, feminine: bool, plural: bool) -> str:
        """The French past participle for a gender and number."""
        return self.participle_fr + "e" * feminine + "s" * (plural and (feminine or self.participle_fr[-1] != "s"))


def english_s(word: str) -> str:
    """The plural of a noun, or the third person of a verb."""
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    return word + ("es" if re.search(r"(s|sh|ch|x|z|o)$", word) and not word.endswith("piano") else "s")


def french_plural(word: str) -> str:
    """The plural of a French noun, or of a masculine adjective."""
    if word[-1] in "sxz":
        return word
    if word.endswith("al"):
        return word[:-1] + "ux"
    return word + ("x" if word.endswith(("eau", "neveu")) else "s")


def _past(base: str) -> str:
    if re.search(r"[^aeiou]y$", base):
        return base[:-1] + "ied"
    return base + ("d" if base.endswith("e") else "ed")


def _ing(base: str) -> str:
    return (base[:-1] if base.endswith("e") and not base.endswith("ee") else base) + "ing"


def _noun(entry: str, kind: str) -> Noun:
    en, fr, gender = entry.split()
    one_en, _, many_en = en.partition("/")
    one_fr, _, many_fr = fr.partition("/")
    return Noun((one_en, many_en or english_s(one_en)), (one_fr, many_fr or french_plural(one_fr)), gender == "f", kind)


def _adjective(entry: str) -> Adjective:
    en, fr = entry.split()
    masculine, feminine, before_vowel = (*fr.split("/"), "", "")[:3]
    feminine = feminine or masculine + "e" * (masculine[-1] != "e")
    return Adjective(en, (masculine, french_plural(masculine)), (feminine, feminine + "s"), before_vowel or masculine)


def _present(infinitive: str) -> tuple[list[str], str]:
    """The present and the participle of a regular verb in -er, -ir or -re."""
    stem, ending = infinitive[:-2], infinitive[-2:]
    if ending == "er":
        soft = stem + "e" if stem.endswith("g") else stem[:-1] + "ç" if stem.endswith("c") else stem
        return [stem + "e", stem + "e", soft + "ons", stem + "ez", stem + "ent"], stem + "é"
    if ending == "ir":
        return [stem + e for e in ("is", "it", "issons", "issez", "issent")], stem + "i"
    return [stem + e for e in ("s", "", "ons", "ez", "ent")], stem + "u"


def _imperfect(infinitive: str, we: str) -> tuple[str, ...]:
    stem = "ét" if infinitive == "être" else we.removesuffix("ons")
    light = stem[:-1] + "c" if stem.endswith("ç") else stem.removesuffix("e") if stem.endswith("ge") else stem
    return stem + "ais", stem + "ait", light + "ions", light + "iez", stem + "aient"


IRREGULAR = {line.partition(":")[0]: line.partition(":")[2].split() for line in lists.IRREGULAR.strip().splitlines()}


def _verb(entry: str) -> Verb:
    english, infinitive, letters, flags = (*(part.strip() for part in entry.split("|")), "", "")[:4]
    forms, _, particle = english.partition(" ")
    base, past, participle, ing = (*forms.split(","), "", "", "")[:4]
    stem = infinitive.removesuffix("e")
    if infinitive in IRREGULAR:
        *present, participle_fr = IRREGULAR[infinitive][:6]
        stem = (IRREGULAR[infinitive][6:] or [stem])[0]
    else:
        present, participle_fr = _present(infinitive)
    past = past or _past(base)
    return Verb(
        base=base,
        third=english_s(base),
        past=past,
        participle_en=participle or past,
        ing=ing or _ing(base),
        particle=particle,
        infinitive=infinitive,
        present=tuple(present),
        imperfect=_imperfect(infinitive, present[2]),
        future=tuple(stem + ending for ending in ("ai", "a", "ons", "ez", "ont")),
        participle_fr=participle_fr,
        kinds=tuple(kind for letter in letters for kind in lists.KINDS[letter]),
        with_be="e" in flags,
        state="s" in flags,
        momentary="m" in flags,
    )


def entries(text: str) -> list[str]:
    """The items of a list that is separated by semicolons."""
    return [" ".join(item.split()) for item in text.split(";")]


def pairs(text: str) -> list[tuple[str, str]]:
    """The (English, French) items of a list; an underscore stands for a space within the English."""
    return [(en.replace("_", " "), fr.replace("_", " ")) for en, fr in (item.split(" ", 1) for item in entries(text))]


NOUNS = {kind: Ranked(_noun(entry, kind) for entry in entries(text)) for kind, text in lists.NOUNS.items()}
BEFORE = {kind: Ranked(map(_adjective, entries(text))) for kind, text in lists.BEFORE.items()}
AFTER = {kind: Ranked(map(_adjective, entries(text))) for kind, text in lists.AFTER.items()}
VERBS = {kind: Ranked(map(_verb, entries(text))) for kind, text in lists.VERBS.items()}
BE = _verb("be,was,been,being | être")
ETRE, AVOIR = BE, _verb("have,had,had | avoir")
WOMEN, MEN = Ranked(lists.WOMEN.split()), Ranked(lists.MEN.split())
COUNTRIES = Ranked(pairs(lists.COUNTRIES))


def _towns() -> Sequence[str]:
    """Some real towns, then the invented ones, in an order that mixes beginnings and endings."""
    beginnings, endings = lists.TOWN_BEGINNINGS.split(), lists.TOWN_ENDINGS.split()
    mixed = [
        beginnings[i % len(beginnings)] + endings[(i + i // len(beginnings)) % len(endings)]
        for i in range(len(beginnings) * len(endings))
    ]
    doubled = {beginning + beginning.lower() for beginning in beginnings}
    return [town for town in dict.fromkeys(lists.TOWNS.split() + mixed) if town not in doubled]


TOWNS = Ranked(_towns())
