"""Noun phrases without clauses: determiners, adjectives, noun chains, names, pronouns; each of an exact length."""

from dataclasses import dataclass
from random import Random

from rnnsearch.text.grammar import lexicon
from rnnsearch.text.grammar import words as lists
from rnnsearch.text.grammar.lexicon import AFTER, BEFORE, NOUNS, Adjective, Noun, Ranked
from rnnsearch.text.grammar.node import Phrase, Word, elides, introduce, reverse, unit, words


@dataclass(frozen=True, slots=True)
class Agreement:
    """What verbs, participles and adjectives need to know of a noun phrase."""

    person: int = 3
    plural: bool = False
    feminine: bool = False
    kind: str = "person"

    @property
    def french_person(self) -> int:
        """The index of the French verb form: je, il, nous, vous, ils."""
        return {1: 2 * self.plural, 2: 3, 3: 4 if self.plural else 1}[self.person]


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A bilingual noun phrase and its agreement."""

    phrase: Phrase
    agreement: Agreement


LIVING = ("person", "animal")
MASS = ("food", "drink")
CHAIN = ("settlement", "building", "room")  # each may stand before any later one: "village school garden"
DEPTH = {"settlement": 0, "building": 1, "room": 2, "part": 3, "opening": 3}  # how many of CHAIN may stand before it
PLACES = ("building", "room", "settlement", "nature")
COLOURED = ("animal", "thing", "part", "opening")
PRONOUNS = (  # English, French, person, plural, feminine
    ("he", "il", 3, False, False),
    ("she", "elle", 3, False, True),
    ("they", "ils", 3, True, False),
    ("I", "je", 1, False, False),
    ("we", "nous", 1, True, False),
    ("you", "vous", 2, True, False),
)
# Determiners: English; French masculine, feminine; before a vowel (masculine, feminine).
SINGULAR = {
    "the": ("le", "la", "le", "la"),
    "a": ("un", "une", "un", "une"),
    "this": ("ce", "cette", "cet", "cette"),
    "my": ("mon", "ma", "mon", "mon"),
    "his": ("son", "sa", "son", "son"),
    "her": ("son", "sa", "son", "son"),
    "our": ("notre",) * 4,
    "your": ("votre",) * 4,
    "their": ("leur",) * 4,
    "every": ("chaque",) * 4,
}
PLURAL = {
    "the": "les",
    "some": "des",
    "these": "ces",
    "my": "mes",
    "his": "ses",
    "her": "ses",
    "our": "nos",
    "your": "vos",
    "their": "leurs",
    "many": "beaucoup de",
    "several": "plusieurs",
}
PARTITIVE = ("du", "de la", "de l'", "de l'")
SINGULAR_WEIGHTS = (40, 24, 6, 4, 3, 3, 2, 2, 3, 3)
PLURAL_WEIGHTS = (34, 14, 5, 4, 3, 3, 2, 2, 3, 4, 3)
NUMBERS = Ranked(lexicon.pairs(lists.NUMBERS))


def pieces(kind: str) -> tuple[str, ...]:
    """What a noun of this kind may carry beside its determiner, one English token each."""
    if kind in MASS:
        return ("before", "after")
    if kind == "institution":
        return ("scope", "field", "before", "after", "wide")
    return ("before", "after", "wide") + ("colour",) * (kind in COLOURED) + ("chain",) * DEPTH.get(kind, 0)


def core_limit(kind: str) -> int:
    """The most English tokens of `core`."""
    return 2 + min(3, len(pieces(kind)))


def core(
    rng: Random, length: int, kind: str, *, negated: bool = False, indefinite: bool = False, singular: bool = False
) -> NounPhrase:
    """A determiner, adjectives and a noun of `kind`, of exactly `length` (2 to `core_limit`) English tokens.

    `negated`: it is the direct object of a negated verb, where French turns "un", "des", "du" into "de".
    `indefinite`: "a", "several", "three" ... only. `singular`: no plural. Either takes at most 4 tokens.
    """
    able = [p for p in pieces(kind) if not ((indefinite and p in ("wide", "chain")) or (singular and p == "wide"))]
    chosen = rng.sample(able, length - 2)
    noun = NOUNS[kind].draw(rng)
    plural = not (singular or kind in MASS) and ("wide" in chosen or rng.random() < 0.28)
    definite = "chain" in chosen and rng.random() < 0.75
    bare = _bare(rng, noun, plural, chosen, definite)
    agreement = Agreement(plural=plural, feminine=noun.feminine, kind=kind)
    if "wide" in chosen:
        return NounPhrase(_wide(rng, noun.feminine) + bare, agreement)
    if indefinite:
        determiner = rng.choice(("some", "many", "several", "number")) if plural else "a"
    else:
        determiner = "the" if definite else _choose(rng, plural, kind, "chain" in chosen)
    return NounPhrase(_determine(rng, determiner, bare, agreement, negated, "before" in chosen), agreement)


def possessive(rng: Random, owner: NounPhrase, kind: str, adjective: bool) -> NounPhrase:
    """ "Anna 's [old] house", "la [vieille] maison d' Anna": "'s" is linked to the article and to "de"."""
    noun = NOUNS[kind].draw(rng)
    plural = kind not in MASS and rng.random() < 0.2
    bare = _bare(rng, noun, plural, ["before"] if adjective else [], False)
    of = object()
    article = "les" if plural else "la" if noun.feminine else "le"
    owned = introduce(Phrase(words("'s", of), words("de", of)), owner.phrase)
    english = owner.phrase.en + words("'s", of) + bare.en
    phrase = Phrase(english, words(article, of) + bare.fr + owned.fr)
    return NounPhrase(phrase, Agreement(plural=plural, feminine=noun.feminine, kind=kind))


def name(rng: Random) -> NounPhrase:
    """A first name."""
    feminine = rng.random() < 0.5
    text = (lexicon.WOMEN if feminine else lexicon.MEN).draw(rng)
    return NounPhrase(unit(text, text), Agreement(feminine=feminine))


def pronoun(rng: Random, *, they: bool = False) -> NounPhrase:
    """A subject pronoun, "they" only where asked for; "you" is the polite "vous", taken as plural."""
    en, fr, person, plural, feminine = rng.choices(PRONOUNS, (6, 6, 8 * they, 4, 3, 2))[0]
    return NounPhrase(unit(en, fr), Agreement(person, plural, feminine))


def somewhere(rng: Random) -> Phrase:
    """ "in" and a town or a country: "à Lyon", "en France", "au Japon"; always two tokens a side."""
    if rng.random() < 0.6:
        town = lexicon.TOWNS.draw(rng)
        return unit("in", "à") + unit(town, town)
    english, french = lexicon.COUNTRIES.draw(rng)
    preposition, country = french.split()
    return unit("in", preposition) + unit(english, country)


def _bare(rng: Random, noun: Noun, plural: bool, chosen: list[str], definite: bool) -> Phrase:
    """The noun with its adjectives and its chain: all that stands behind the noun in French is in reversed order."""
    head = unit(noun.en[plural], noun.fr[plural])
    behind = Phrase()
    for piece in ("after", "colour", "scope", "field"):
        if piece in chosen:
            adjective = _adjective_lists(noun.kind, piece).draw(rng)
            behind = reverse(behind, unit(adjective.en, adjective.agree(noun.feminine, plural)))
    chain = _chain(rng, noun.kind, chosen.count("chain"), definite)
    phrase = Phrase(behind.en + chain.en + head.en, head.fr + behind.fr + chain.fr)
    if "before" in chosen:
        adjective = BEFORE[_adjective_kind(noun.kind)].draw(rng)
        vowel = elides(noun.fr[plural]) and not (plural or noun.feminine)
        french = adjective.before_vowel if vowel else adjective.agree(noun.feminine, plural)
        phrase = unit(adjective.en, french) + phrase
    return phrase


def _adjective_kind(kind: str) -> str:
    kinds = {"part": "thing", "opening": "thing", "drink": "food"}
    return "place" if kind in PLACES or kind == "surface" else kinds.get(kind, kind)


def _adjective_lists(kind: str, piece: str) -> Ranked[Adjective]:
    return AFTER[_adjective_kind(kind) if piece == "after" else piece]


def quality(rng: Random, kind: str) -> Adjective:
    """An adjective that may be said of a noun of this kind ("is ...")."""
    return _adjective_lists(kind, "after").draw(rng)


def _chain(rng: Random, kind: str, count: int, definite: bool) -> Phrase:
    """`count` nouns before a head of `kind`: "village school" (garden), (jardin) "de l' école du village".

    Without `definite` there are no articles inside: "d' école de village". What French inserts is linked to the noun
    that it introduces.
    """
    phrase = Phrase()
    for place in sorted(rng.sample(range(DEPTH[kind]), count)) if count else ():
        noun = NOUNS[CHAIN[place]].draw(rng)
        modifier = unit(noun.en[0], noun.fr[0])
        inserted = modifier.en[0].meanings
        if definite:
            modifier.fr.insert(0, Word("la" if noun.feminine else "le", inserted))
        phrase = reverse(phrase, introduce(Phrase(fr=[Word("de", inserted)]), modifier))
    return phrase


def _choose(rng: Random, plural: bool, kind: str, chained: bool) -> str:
    """The English determiner; a chain without inner articles does not take "the"."""
    if kind in MASS:
        return rng.choices(("some", "the", "my", "this"), (5, 4, 1, 1))[0]
    if plural and rng.random() < 0.18:
        return "number"
    options, weights = (tuple(PLURAL), PLURAL_WEIGHTS) if plural else (tuple(SINGULAR), SINGULAR_WEIGHTS)
    return rng.choices(options[chained:], weights[chained:])[0]


def _determine(rng: Random, en: str, bare: Phrase, noun: Agreement, negated: bool, before: bool) -> Phrase:
    """The determiner `en` before a noun phrase; `before`: an adjective stands before the French noun."""
    vowel = 2 * elides(bare.fr[0].text)
    if en == "number":
        return unit(*_number(rng)) + bare
    if en == "some":
        mass = PARTITIVE[vowel + noun.feminine]
        fr = "de" if negated or (noun.plural and before) else PLURAL[en] if noun.plural else mass
        return unit("any" if negated else en, fr) + bare
    if noun.plural:
        return unit(en, PLURAL[en]) + bare
    if en == "a":
        article = "de" if negated else SINGULAR[en][noun.feminine]
        return unit(_article(bare.en[0].text), article) + bare
    return unit(en, SINGULAR[en][vowel + noun.feminine]) + bare


def _wide(rng: Random, feminine: bool) -> Phrase:
    """A determiner of two tokens: "all the", "the three", "my two"."""
    if rng.random() < 0.4:
        return unit("all", "toutes" if feminine else "tous") + unit("the", "les")
    en = rng.choices(("the", "my", "his", "their", "these"), (6, 1, 1, 1, 1))[0]
    return unit(en, PLURAL[en]) + unit(*_number(rng))


def _article(word: str) -> str:
    """The English indefinite article before a word."""
    sounded = word[0].lower() in "aeiou" and word not in lists.ARTICLE_A.split()
    return "an" if sounded or word in lists.ARTICLE_AN.split() else "a"


def _number(rng: Random) -> tuple[str, str]:
    """A small number in words or, now and then, any number in figures."""
    if rng.random() < 0.15:
        figure = str(min(999, int(13 * 1.6 ** rng.expovariate(0.5))))
        return figure, figure
    return NUMBERS.draw(rng)
