"""The part of the grammar that recurs: noun phrases, verb phrases and clauses of an exact number of English tokens."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

from rnnsearch.text.grammar import lexicon, phrases
from rnnsearch.text.grammar import words as lists
from rnnsearch.text.grammar.lexicon import VERBS, Verb
from rnnsearch.text.grammar.node import Phrase, counterparts, introduce, reverse, unit, words
from rnnsearch.text.grammar.phrases import LIVING, MASS, PLACES, Agreement, NounPhrase
from rnnsearch.text.grammar.verbs import (
    CLITICS,
    ING,
    MODALS,
    SIMPLE,
    Clitic,
    Extras,
    Style,
    be_group,
    choose_style,
    verb_group,
)

MANNER = lexicon.Ranked(lexicon.pairs(lists.MANNER))
ADVERBS = lexicon.Ranked(lexicon.pairs(lists.ADVERBS))
ADVERBS_WITH_NOT = lexicon.Ranked(lexicon.pairs(lists.ADVERBS_WITH_NOT))
TIMES = {time: lexicon.Ranked(lexicon.pairs(text)) for time, text in lists.TIMES.items()}
THINGS_MANNER = lexicon.Ranked(lexicon.pairs(lists.MANNER_OF_THINGS))
SUBJECT_KINDS = (
    ("person", "animal", "thing", "institution", "building", "writing", "opening", "part", "room"),
    (20, 12, 5, 3, 2, 2, 1, 1, 1),
)
OWNED = ("person", "animal", "thing", "writing", "abstract", "building", "dish", "food")
Frame = tuple[Callable[..., Phrase], int, int, float]  # who builds it; least and most tokens; weight
LONGEST = 1000


def noun_phrase(
    rng: Random, n: int, kind: str, time: str, *, negated: bool = False, governed: bool = False
) -> NounPhrase:
    """A noun phrase of `kind` and `n` English tokens (2 or more; 1 only for a person, by name).

    `negated`: the object of a negated verb. `governed`: a preposition stands before it, which French would have to
    repeat before each member of a co-ordination, so there is none.
    """
    if n == 1:
        return phrases.name(rng)
    options: list[tuple[Callable[[], NounPhrase], float]] = []
    if n <= phrases.core_limit(kind):
        options.append((lambda: phrases.core(rng, n, kind, negated=negated), 12 if n < 5 else 4))
    if 3 <= n <= 6 and kind in OWNED and not negated:
        options.append((lambda: _owned(rng, n, kind), 1.5 if n < 5 else 1))
    if n >= 5:
        options.append((lambda: _placed(rng, n, kind, time), 2))
        if not (negated or governed):
            options.append((lambda: _coordinated(rng, n, kind, time), 1.5))
    if n >= 4:
        options.append((lambda: _subject_relative(rng, n, kind, time), 1 + n / 5))
    if 5 <= n <= 9:
        options.append((lambda: _object_relative(rng, n, kind, time), 2))
    if n >= 6 and kind == "person":
        options.append((lambda: _whose(rng, n, kind, time), 1.5))
    makers, weights = zip(*options, strict=True)
    made: NounPhrase = rng.choices(makers, weights)[0]()
    return made


def verb_phrase(rng: Random, n: int, subject: Agreement, time: str, ne: tuple[object, ...] = ()) -> Phrase:
    """A verb with its objects and complements in `n` English tokens (1 or more).

    `ne`: the meanings of a negative subject ("nobody"): the verb takes "ne" alone.
    """
    least = 1 + (time == "future")
    if n >= 2 * least + 1 and not ne and rng.random() < 0.03 * min(n, 8):
        first = rng.randint(least, n - 1 - least)
        conjunction = unit("and", "et")
        return verb_phrase(rng, first, subject, time) + conjunction + verb_phrase(rng, n - first - 1, subject, time)
    if not ne and rng.random() < (0.12 if subject.kind in LIVING else 0.55):
        phrase = _copula(rng, n, subject, time)
        if phrase:
            return phrase
    frames = LIVING_FRAMES if subject.kind in LIVING else LIFELESS_FRAMES
    style = choose_style(rng, time, n, positive=bool(ne))
    if subject.kind not in LIVING and style.tense in MODALS:
        style = choose_style(rng, time, 1, positive=True)
    return _framed(rng, n - style.length, frames, subject, style, time, ne)


def clause(rng: Random, n: int, time: str, *, opening: bool = False) -> Phrase:
    """A subject and a verb phrase, perhaps with an adverb of time, in `n` English tokens (2 or more).

    `opening`: it begins the sentence, so that an adverb may come first, and "they" can only mean "ils".
    """
    if n >= 5 and rng.random() < 0.12:
        when = _when(*TIMES[time].draw(rng))
        left = n - len(when.en)
        if opening and left >= 3 and rng.random() < 0.6:
            return when + unit(",", ",") + _plain_clause(rng, left - 1, time, opening)
        return _plain_clause(rng, left, time, opening) + when
    return _plain_clause(rng, n, time, opening)


def _when(en: str, fr: str) -> Phrase:
    """An adverb of time, each word linked to its counterpart: "last year" with "l' année dernière" too."""
    french = fr.split()
    if len(french) == 3:
        article, noun, adjective = french
        qualifier, head = en.split()
        return reverse(unit(qualifier, adjective), unit(head, f"{article} {noun}"))
    return counterparts(en, fr)


def _plain_clause(rng: Random, n: int, time: str, opening: bool) -> Phrase:
    """A clause without an adverb of time."""
    if n >= 7 and time != "future" and rng.random() < 0.06:
        return _existence(rng, n, time)
    length = _subject_length(rng, n)
    if length > 1:
        kind = rng.choices(*SUBJECT_KINDS)[0]
        subject = noun_phrase(rng, length, kind, time)
    elif rng.random() < 0.05:
        nobody = unit("nobody", "personne")
        return nobody + verb_phrase(rng, n - 1, Agreement(), time, nobody.en[0].meanings)
    else:
        subject = phrases.pronoun(rng, they=opening) if rng.random() < 0.5 else phrases.name(rng)
    return subject.phrase + verb_phrase(rng, n - length, subject.agreement, time)


def _subject_length(rng: Random, n: int) -> int:
    """How many of the `n` tokens of a clause are its subject's; the verb phrase is left at most 14."""
    lengths = range(max(1, n - 14), n)
    return rng.choices(lengths, [(5, 5, 2.5, 1.3, 0.8, 0.5, 0.4)[min(s, 7) - 1] for s in lengths])[0]


def _existence(rng: Random, n: int, time: str) -> Phrase:
    """ "there is a cat in the garden", "il y a un chat dans le jardin"."""
    kind = rng.choice(("person", "animal", "thing", "building"))
    length = rng.randint(2, min(n - 5, 4))
    noun = phrases.core(rng, length, kind, indefinite=True)
    be = {"present": ("is", "are", "a"), "past": ("was", "were", "avait")}[time]
    there = unit("there", "il y") + unit(be[noun.agreement.plural], be[2])
    return there + noun.phrase + prepositional(rng, n - length - 2, time, company=False)


def prepositional(rng: Random, n: int, time: str, *, company: bool = True) -> Phrase:
    """A preposition and what it governs, in `n` English tokens (2 or more); "with" somebody only for `company`."""
    if n == 2:
        alone = not company or rng.random() < 0.7
        return phrases.somewhere(rng) if alone else unit("with", "avec") + phrases.name(rng).phrase
    if n >= 5 and rng.random() < 0.15:
        kind = rng.choice(("building", "person", "opening"))
        return introduce(unit("in front of", "devant"), noun_phrase(rng, n - 3, kind, time, governed=True).phrase)
    if company and rng.random() < 0.25:
        return unit("with", "avec") + noun_phrase(rng, n - 1, rng.choice(LIVING), time, governed=True).phrase
    place = rng.choice((*PLACES, "surface"))
    options = (("on", "sur") if place == "surface" else ("in", "dans"), ("near", "près de"), ("behind", "derrière"))
    preposition = unit(*rng.choices(options, (6, 2, 1))[0])
    return introduce(preposition, noun_phrase(rng, n - 1, place, time, governed=True).phrase)


# --- noun phrases ---


def _head_length(rng: Random, kind: str, longest: int) -> int:
    return rng.choices((2, 3, 4), (5, 3, 1))[0] if longest >= min(4, phrases.core_limit(kind)) else 2


def _owned(rng: Random, n: int, kind: str) -> NounPhrase:
    """ "Anna 's house", "the king 's old house"; the owner is singular, so that "'s" is right."""
    adjective = (n == 4 and rng.random() < 0.5) or (n > 4 and rng.random() < 0.4) or n == 6
    length = n - 2 - adjective
    owner = phrases.name(rng) if length == 1 else phrases.core(rng, length, "person", singular=True)
    return phrases.possessive(rng, owner, kind, adjective)


def _placed(rng: Random, n: int, kind: str, time: str) -> NounPhrase:
    """ "the man in the garden"; of a part, "the door of the house"."""
    head = phrases.core(rng, 2, kind)
    if kind in ("part", "opening"):
        inner = noun_phrase(rng, n - 3, rng.choice(("building", "room")), time, governed=True)
        rest = introduce(unit("of", "de"), inner.phrase)
    else:
        rest = prepositional(rng, n - 2, time, company=kind in LIVING)
    return NounPhrase(head.phrase + rest, head.agreement)


def _coordinated(rng: Random, n: int, kind: str, time: str) -> NounPhrase:
    """ "the king and the old queen"; three members or more have commas: "Anna , the king and the queen"."""
    kinds = {"person": LIVING, "animal": LIVING}.get(kind, (kind,))
    first = rng.randint(2, min(n - 3, 4, phrases.core_limit(kind)))
    one = phrases.core(rng, first, kind)
    if n - first - 1 >= 5 and rng.random() < 0.4:
        two, joint = _coordinated(rng, n - first - 1, rng.choice(kinds), time), unit(",", ",")
    else:
        two, joint = noun_phrase(rng, n - first - 1, rng.choice(kinds), time), unit("and", "et")
    feminine = one.agreement.feminine and two.agreement.feminine
    return NounPhrase(one.phrase + joint + two.phrase, Agreement(plural=True, feminine=feminine, kind=kind))


def _subject_relative(rng: Random, n: int, kind: str, time: str) -> NounPhrase:
    """ "the man who sleeps", "l' homme qui dort"."""
    head = phrases.core(rng, length := _head_length(rng, kind, n - 2), kind)
    who = unit("who" if kind == "person" else "that", "qui")
    verb = verb_phrase(rng, n - length - 1, head.agreement, time)
    return NounPhrase(head.phrase + who + verb, head.agreement)


def _object_relative(rng: Random, n: int, kind: str, time: str) -> NounPhrase:
    """ "the woman that I saw", "la femme que j' ai vue"."""
    head = phrases.core(rng, length := _head_length(rng, kind, n - 3), kind)
    style = choose_style(rng, time, min(5, n - length - 2), positive=rng.random() < 0.7)
    left = n - length - 1 - style.length
    verb = _draw_verb(rng, "transitive", style, kind, particle=left >= 2)
    left -= bool(verb.particle)
    subject = phrases.core(rng, left, "person") if left > 1 else phrases.pronoun(rng)
    group = verb_group(verb, subject.agreement, style, Extras(preceding=head.agreement))
    return NounPhrase(head.phrase + unit("that", "que") + subject.phrase + group, head.agreement)


def _whose(rng: Random, n: int, kind: str, time: str) -> NounPhrase:
    """ "the man whose dog sleeps", "l' homme dont le chien dort"."""
    head = phrases.core(rng, length := _head_length(rng, kind, n - 3), kind)
    noun = lexicon.NOUNS[rng.choice(LIVING)].draw(rng)
    owner = object()
    whose = Phrase(words("whose", owner), words("dont la" if noun.feminine else "dont le", owner))
    owned = Agreement(feminine=noun.feminine, kind=noun.kind)
    rest = unit(noun.en[0], noun.fr[0]) + verb_phrase(rng, n - length - 2, owned, time)
    return NounPhrase(head.phrase + whose + rest, head.agreement)


# --- verb phrases ---


def _draw_verb(rng: Random, group: str, style: Style, kind: str = "", *, particle: bool = True) -> Verb:
    """A verb of the group that can stand in this style and take an object of this kind."""
    while True:
        verb = VERBS[group].draw(rng)
        fits = not kind or kind in verb.kinds
        if fits and (particle or not verb.particle) and not (style.tense in ING and (verb.state or verb.momentary)):
            return verb


def _framed(
    rng: Random,
    n: int,
    frames: tuple[Frame, ...],
    subject: Agreement,
    style: Style,
    time: str,
    ne: tuple[object, ...],
) -> Phrase:
    """A verb in this style with complements of `n` English tokens, in one of the frames that can have so many."""
    adverb = None
    if n >= 1 and style.tense in SIMPLE and style.negation in ("", "not") and rng.random() < 0.1:
        adverb = unit(*(ADVERBS_WITH_NOT if style.negation or ne else ADVERBS).draw(rng))
        n -= 1
    able = [frame for frame in frames if frame[1] <= n <= frame[2]]
    build = rng.choices([frame[0] for frame in able], [frame[3] for frame in able])[0]
    return build(rng, n, subject, style, time, Extras(adverb=adverb, ne=ne))


def _intransitive(rng: Random, n: int, subject: Agreement, style: Style, time: str, extras: Extras) -> Phrase:
    """ "sleeps", "sleeps quietly", "sleeps in the garden"."""
    living = subject.kind in LIVING
    verb = _draw_verb(rng, "intransitive", style) if living else _draw_verb(rng, "lifeless", style, subject.kind)
    group = verb_group(verb, subject, style, extras)
    if n and (n == 1 or (n >= 3 and rng.random() < 0.15)):
        group += unit(*(MANNER if living else THINGS_MANNER).draw(rng))
        n -= 1
    return group + prepositional(rng, n, time, company=living) if n else group


def _clitic(rng: Random, subject: Agreement) -> Clitic:
    """A pronoun that is not the subject's own."""
    return rng.choices([c for c in CLITICS if c.agreement.person == 3 or c.agreement.person != subject.person])[0]


def _transitive(rng: Random, n: int, subject: Agreement, style: Style, time: str, extras: Extras) -> Phrase:
    """ "sees them", "reads the book slowly", "waits for the king in the garden"."""
    kind = rng.choice(("person", "animal", "thing", "opening", "writing", "dish")) if n == 1 else ""
    verb = _draw_verb(rng, "transitive", style, kind, particle=n >= 2)
    n -= bool(verb.particle)
    kind = kind or rng.choice(verb.kinds)
    if n == 1 or (n >= 3 and kind not in MASS and rng.random() < 0.12):
        return _pronoun_object(rng, n, verb, subject, style, time, extras)
    manner = Phrase()
    if n >= 3 and rng.random() < 0.1 and not (extras.adverb or verb.state or verb.momentary or style.tense in MODALS):
        manner, n = unit(*MANNER.draw(rng)), n - 1
    place = Phrase()
    if n >= 4 and rng.random() < 0.35:
        length = rng.randint(2, n - 2)
        place, n = prepositional(rng, length, time), n - length
    negated = bool(style.negation or extras.ne)
    thing = noun_phrase(rng, n, kind, time, negated=negated).phrase
    group = verb_group(verb, subject, style, extras)
    return Phrase(group.en + thing.en + manner.en, group.fr + manner.fr + thing.fr) + place


def _pronoun_object(
    rng: Random, n: int, verb: Verb, subject: Agreement, style: Style, time: str, extras: Extras
) -> Phrase:
    """ "sees them", "sees nothing", "sees Anna"; then an adverb or a place, if tokens are left."""
    draw = rng.random()
    if draw < 0.1 and not (style.negation or extras.ne or extras.adverb or style.tense in MODALS):
        phrase = verb_group(verb, subject, style, replace(extras, nothing=True))
    elif draw < 0.45 and "person" in verb.kinds:
        phrase = verb_group(verb, subject, style, extras) + phrases.name(rng).phrase
    else:
        third = "person" not in verb.kinds
        clitic = CLITICS[2] if third else _clitic(rng, subject)
        phrase = verb_group(verb, subject, style, replace(extras, clitic=clitic))
    if n == 2:
        return phrase + unit(*MANNER.draw(rng))
    return phrase + prepositional(rng, n - 1, time) if n > 2 else phrase


def _indirect(rng: Random, n: int, subject: Agreement, style: Style, time: str, extras: Extras) -> Phrase:
    """ "speaks to the king", "parle au roi"; "answers him", "lui répond"."""
    verb = _draw_verb(rng, "indirect", style, particle=n >= 2)
    n -= bool(verb.particle)
    if n == 1:
        return verb_group(verb, subject, style, replace(extras, clitic=_clitic(rng, subject), indirect=True))
    group = verb_group(verb, subject, style, extras)
    meaning = group.en[-1].meanings
    receiver = noun_phrase(rng, n, rng.choice(verb.kinds) if n > 1 else "person", time, governed=True)
    return group + introduce(Phrase(fr=words("à", *meaning)), receiver.phrase)


def _giving(rng: Random, n: int, subject: Agreement, style: Style, time: str, extras: Extras) -> Phrase:
    """ "gives them a book", "leur donne un livre"; "gives a book to the king"."""
    verb = _draw_verb(rng, "giving", style)
    kind = rng.choice(verb.kinds)
    negated = bool(style.negation or extras.ne)
    if n < 5 or rng.random() < 0.4:
        group = verb_group(verb, subject, style, replace(extras, clitic=_clitic(rng, subject), indirect=True))
        return group + noun_phrase(rng, n - 1, kind, time, negated=negated).phrase
    length = rng.randint(2, min(n - 2, 5))
    gift = noun_phrase(rng, length, kind, time, negated=negated)
    receiver = noun_phrase(rng, n - length - 1, "person", time, governed=True)
    return verb_group(verb, subject, style, extras) + gift.phrase + introduce(unit("to", "à"), receiver.phrase)


def _saying(rng: Random, n: int, subject: Agreement, style: Style, time: str, extras: Extras) -> Phrase:
    """ "says that Anna slept", "dit qu' Anna a dormi"; only in the present, where both languages agree on tenses."""
    if style.tense != "present" or style.negation or extras.ne:
        return _transitive(rng, n, subject, style, time, extras)
    verb = _draw_verb(rng, "saying", style)
    said = clause(rng, n - 1, rng.choice(("present", "past", "future")))
    return verb_group(verb, subject, style, extras) + unit("that", "que") + said


def _linking(rng: Random, n: int, subject: Agreement, style: Style, time: str, extras: Extras) -> Phrase:
    """ "seems happy", "became very old"."""
    if style.tense in ING:
        return _intransitive(rng, n, subject, style, time, extras)
    verb = _draw_verb(rng, "linking", style)
    return verb_group(verb, subject, style, extras) + _quality(rng, subject, n == 2)


def _quality(rng: Random, subject: Agreement, very: bool) -> Phrase:
    adjective = phrases.quality(rng, subject.kind)
    phrase = unit(adjective.en, adjective.agree(subject.feminine, subject.plural))
    return unit("very", "très") + phrase if very else phrase


def _copula(rng: Random, n: int, subject: Agreement, time: str) -> Phrase | None:
    """ "is happy", "was never very old", "is in the garden", "was painted by Anna"; None if `n` has no room for it."""
    negation = rng.choices(("", "not", "never", "no longer"), (6, 2, 1, 1))[0]
    n -= 1 + len(negation.split()) + (time == "future")
    if n < 1:
        return None
    if (n >= 3 and rng.random() < 0.5) or (n == 1 and subject.kind not in LIVING and rng.random() < 0.4):
        return _passive(rng, n, subject, time, negation)
    be = be_group(subject, time, negation)
    if n <= 2 and not (n == 2 and rng.random() < 0.4):
        return be + _quality(rng, subject, n == 2)
    if n >= 4 and subject.kind == "person" and negation != "no longer" and rng.random() < 0.4:
        than = noun_phrase(rng, n - 3, "person", time, governed=True).phrase
        return be + unit("more", "plus") + _quality(rng, subject, False) + unit("than", "que") + than
    return be + prepositional(rng, n, time, company=subject.kind in LIVING)


def _passive(rng: Random, n: int, subject: Agreement, time: str, negation: str) -> Phrase:
    """ "was painted by Anna", "a été peinte par Anna"; the participle agrees with the subject."""
    verb = _draw_verb(rng, "transitive", Style("imperfect", "", 1), subject.kind, particle=False)
    participle = unit(verb.participle_en, verb.participle(subject.feminine, subject.plural))
    phrase = be_group(subject, time, negation, compound=True) + participle
    if n == 1:
        return phrase
    return phrase + unit("by", "par") + noun_phrase(rng, n - 2, "person", time, governed=True).phrase


LIVING_FRAMES: tuple[Frame, ...] = (
    (_intransitive, 0, 1, 3),
    (_intransitive, 3, 8, 2),
    (_intransitive, 2, 2, 2),
    (_transitive, 1, LONGEST, 6),
    (_indirect, 1, LONGEST, 1),
    (_giving, 3, LONGEST, 1.5),
    (_saying, 3, LONGEST, 2),
    (_linking, 1, 2, 1),
)
LIFELESS_FRAMES: tuple[Frame, ...] = ((_intransitive, 0, LONGEST, 1),)
