"""The verb group: tense, negation, adverb and pronouns around one verb, contiguous on both sides.

Links: the lexical verb to the lexical verb; an auxiliary to the finite verb of the other side; "not", "never", "no
longer" to both parts of the French negation.
"""

from dataclasses import dataclass
from random import Random

from rnnsearch.text.grammar.lexicon import AVOIR, BE, VERBS, Verb
from rnnsearch.text.grammar.node import Phrase, Word, unit, words
from rnnsearch.text.grammar.phrases import Agreement

NEGATIONS = {"": "", "not": "pas", "never": "jamais", "no longer": "plus"}
MODALS = dict(zip(("can", "must", "want"), VERBS["wanting"].items, strict=True))


@dataclass(frozen=True, slots=True)
class Style:
    """How a verb stands: tense, negation ("" for none), and the number of English tokens without particle."""

    tense: str
    negation: str
    length: int


# The styles of each time, with their weights.
STYLES = {
    "present": {
        Style("present", "", 1): 10.0,
        Style("present", "not", 3): 2.5,
        Style("present", "never", 2): 1.0,
        Style("present", "no longer", 3): 0.8,
        Style("progressive", "", 2): 1.5,
        Style("can", "", 2): 0.7,
        Style("can", "not", 2): 0.5,
        Style("must", "", 2): 0.7,
        Style("must", "not", 3): 0.4,
        Style("want", "", 3): 0.7,
        Style("want", "not", 5): 0.4,
    },
    "past": {
        Style("past", "", 1): 10.0,
        Style("past", "not", 3): 2.5,
        Style("past", "never", 2): 1.0,
        Style("imperfect", "", 2): 2.5,
        Style("imperfect", "not", 3): 0.8,
        Style("imperfect", "no longer", 4): 0.5,
        Style("used", "", 3): 1.0,
    },
    "future": {
        Style("future", "", 2): 8.0,
        Style("future", "not", 3): 2.0,
        Style("future", "never", 3): 1.0,
        Style("future", "no longer", 4): 0.5,
    },
}
SIMPLE = ("present", "past", "future")  # the tenses that take an adverb
ING = ("progressive", "imperfect")


@dataclass(frozen=True, slots=True)
class Clitic:
    """An object pronoun, which French puts before the verb."""

    en: str
    direct: str
    indirect: str
    agreement: Agreement


CLITICS = (
    Clitic("him", "le", "lui", Agreement()),
    Clitic("her", "la", "lui", Agreement(feminine=True)),
    Clitic("them", "les", "leur", Agreement(plural=True)),
    Clitic("me", "me", "me", Agreement(1)),
    Clitic("us", "nous", "nous", Agreement(1, plural=True)),
    Clitic("you", "vous", "vous", Agreement(2, plural=True)),
)


@dataclass(frozen=True, slots=True)
class Extras:
    """What may stand inside a verb group beside the verb.

    `ne`: the meanings of a negative subject or object outside the group ("nobody"), for which French still wants "ne".
    `nothing`: the object is "nothing". `preceding`: a direct object that stands before the verb (of a relative clause).
    """

    adverb: Phrase | None = None
    clitic: Clitic | None = None
    indirect: bool = False
    nothing: bool = False
    ne: tuple[object, ...] = ()
    preceding: Agreement | None = None


def choose_style(rng: Random, time: str, longest: int, *, positive: bool = False) -> Style:
    """A style of this time that takes at most `longest` English tokens; `positive`: without negation.

    The future has no form of one token, so there the present stands.
    """
    time = "present" if longest == 1 and time == "future" else time
    options = {
        style: weight
        for style, weight in STYLES[time].items()
        if style.length <= longest and not (positive and style.negation)
    }
    return rng.choices(tuple(options), tuple(options.values()))[0]


def verb_group(verb: Verb, subject: Agreement, style: Style, extras: Extras = Extras()) -> Phrase:
    """The verb with all that belongs inside its group; `style.length` English tokens plus particle and extras."""
    lexical, finite, negative = object(), object(), object()
    english = _english(verb, subject, style, (lexical, finite, negative), extras.adverb)
    english += words(verb.particle, lexical)
    before: list[Word] = []
    if extras.clitic:
        pronoun = unit(extras.clitic.en, extras.clitic.indirect if extras.indirect else extras.clitic.direct)
        english += pronoun.en
        before = pronoun.fr
    if extras.nothing:
        english += words("nothing", negative)
    french = _french(verb, subject, style, (lexical, finite, negative), before, extras)
    return Phrase(english, french)


def be_group(subject: Agreement, time: str, negation: str, *, compound: bool = False) -> Phrase:
    """ "is not", "n' est pas"; "was" is the imperfect, or for `compound` "a été"; "will never be"."""
    finite, negative = object(), object()
    will = words("will", finite) if time == "future" else []
    be = words("be" if will else _be(subject, time), finite)
    inner = words(negation, negative)
    english = will + inner + be if will else be + inner
    forms = {"present": BE.present, "past": BE.imperfect, "future": BE.future}[time]
    if compound and time == "past":
        forms, past = AVOIR.present, words(BE.participle_fr, finite)
    else:
        past = []
    verb = words(forms[subject.french_person], finite)
    french = words("ne" if negation else "", negative) + verb + words(NEGATIONS[negation], negative) + past
    return Phrase(english, french)


def _be(subject: Agreement, time: str) -> str:
    singular = not subject.plural
    if time == "past":
        return "was" if singular else "were"
    return ("am" if subject.person == 1 else "is") if singular else "are"


def _english(
    verb: Verb, subject: Agreement, style: Style, meanings: tuple[object, object, object], adverb: Phrase | None
) -> list[Word]:
    """The English verb with auxiliary, negation and adverb."""
    lexical, finite, negative = meanings
    third = subject.person == 3 and not subject.plural
    middle = words(style.negation, negative) + (adverb.en if adverb else [])
    if style.tense in ("present", "past") and style.negation != "not":
        form = verb.past if style.tense == "past" else verb.third if third else verb.base
        return [*middle, Word(form, (lexical, finite))]
    do = words("does" if third else "do", finite)
    if style.tense == "want":
        want = do + middle + words("want", finite) if style.negation else words("wants" if third else "want", finite)
        return want + words("to " + verb.base, lexical)
    if style.tense == "can" and style.negation:
        return [Word("cannot", (finite, negative)), Word(verb.base, (lexical,))]
    auxiliary = {
        "past": "did",
        "progressive": _be(subject, "present"),
        "imperfect": _be(subject, "past"),
        "used": "used to",
        "future": "will",
    }
    first = do if style.tense == "present" else words(auxiliary.get(style.tense, style.tense), finite)
    return first + middle + words(verb.ing if style.tense in ING else verb.base, lexical)


def _french(
    verb: Verb,
    subject: Agreement,
    style: Style,
    meanings: tuple[object, object, object],
    clitic: list[Word],
    extras: Extras,
) -> list[Word]:
    """The French verb with "ne", pronoun, auxiliary, second part of the negation, adverb and participle."""
    lexical, finite, negative = meanings
    person = subject.french_person
    second = words("rien" if extras.nothing else NEGATIONS[style.negation], negative)
    ne = [Word("ne", (negative,) if second else extras.ne)] if second or extras.ne else []
    inner = second + (extras.adverb.fr if extras.adverb else [])
    if style.tense in MODALS:
        return (
            ne + words(MODALS[style.tense].present[person], finite) + inner + clitic + words(verb.infinitive, lexical)
        )
    if style.tense == "past" and not (verb.state and style.negation != "never"):
        auxiliary = words((BE if verb.with_be else AVOIR).present[person], finite)
        agree = subject if verb.with_be else _preceding(extras)
        return ne + clitic + auxiliary + inner + words(verb.participle(agree.feminine, agree.plural), lexical)
    tense = {"present": verb.present, "progressive": verb.present, "future": verb.future}
    return ne + clitic + words(tense.get(style.tense, verb.imperfect)[person], lexical, finite) + inner


def _preceding(extras: Extras) -> Agreement:
    """With what a participle after "avoir" agrees: a direct object before it, else nothing (masculine singular)."""
    if extras.clitic and not extras.indirect:
        return extras.clitic.agreement
    return extras.preceding or Agreement()
