"""The bilingual grammar: exact lengths, true alignments, agreement, elision, and a long tail of rare words."""

import itertools
from collections import Counter
from random import Random

import pytest

from rnnsearch.text.grammar import GrammarPair, clauses, generate, lexicon, node, phrases, verbs
from rnnsearch.text.grammar.phrases import Agreement
from rnnsearch.text.grammar.verbs import CLITICS, Extras, Style

MUTE_H = ("homme", "hôtel", "hôpital", "huile", "huître", "histoire", "hypothèse", "horloge", "hirondelle", "héroïne")
ASPIRATED_H = ("hache", "harpe", "hibou", "hérisson", "haricot", "homard", "hamster", "héros", "hall", "hangar")
MASCULINE, FEMININE = Agreement(), Agreement(feminine=True)
PAST, NOT_PAST = Style("past", "", 1), Style("past", "not", 3)


@pytest.fixture(scope="module")
def sample() -> list[GrammarPair]:
    return list(generate(4000, seed=1))


def verb(base: str, group: str = "transitive") -> lexicon.Verb:
    return next(v for v in lexicon.VERBS[group].items if v.base == base)


def finish(phrase: node.Phrase) -> tuple[str, str, set[tuple[int, int]]]:
    english = " ".join(w.text for w in phrase.en)
    return english, " ".join(w.text for w in node.elide(phrase.fr)), set(node.links(phrase))


def test_the_seed_decides_everything() -> None:
    first = list(generate(50, seed=7))
    assert first == list(generate(50, seed=7))
    assert first[:20] == list(generate(20, seed=7))
    assert first != list(generate(50, seed=8))


@pytest.mark.parametrize("length", range(3, 81))
def test_every_length_is_reached_exactly_and_every_token_is_linked(length: int) -> None:
    for pair in generate(25, seed=length, length=length):
        assert len(pair.source) == length
        assert {i for i, _ in pair.alignment} == set(range(length)), pair
        assert {j for _, j in pair.alignment} == set(range(len(pair.target))), pair
        assert pair.alignment == tuple(sorted(set(pair.alignment)))
        assert pair.source[-1] == pair.target[-1] == "."
        assert (length - 1, len(pair.target) - 1) in pair.alignment


def test_lengths_keep_to_the_range_and_are_about_12_by_default(sample: list[GrammarPair]) -> None:
    lengths = [len(pair.source) for pair in sample]
    assert 11 < sum(lengths) / len(lengths) < 13
    assert min(lengths) == 3
    assert max(lengths) > 30
    narrow = {len(p.source) for p in generate(300, seed=2, min_length=5, max_length=9)}
    assert narrow == {5, 6, 7, 8, 9}


@pytest.mark.parametrize("wrong", [{"length": 2}, {"length": 81}, {"min_length": 9, "max_length": 8}])
def test_a_length_outside_is_refused_at_once(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="between 3 and 80"):
        generate(1, seed=0, **wrong)


def test_some_hundreds_of_lemmas_a_side() -> None:
    nouns = {(n.en[0], n.fr[0]) for r in lexicon.NOUNS.values() for n in r.items}
    adjectives = {(a.en, a.masculine[0]) for d in (lexicon.BEFORE, lexicon.AFTER) for r in d.values() for a in r.items}
    verb_lemmas = {(v.base, v.infinitive) for r in lexicon.VERBS.values() for v in r.items}
    for side in (0, 1):
        assert len({pair[side] for pair in nouns | adjectives | verb_lemmas}) >= 300
    assert len(nouns) == sum(len(r.items) for r in lexicon.NOUNS.values()), "a noun stands in two kinds"


def test_sentences_are_nearly_all_distinct_and_unseen(sample: list[GrammarPair]) -> None:
    seen = {pair.source for pair in sample if len(pair.source) >= 7}
    assert len(seen) == sum(len(pair.source) >= 7 for pair in sample)
    assert not seen & {pair.source for pair in generate(1000, seed=99)}


def test_words_have_a_head_and_a_long_tail(sample: list[GrammarPair]) -> None:
    for side in ("source", "target"):
        counts = Counter(token for pair in sample for token in getattr(pair, side))
        ranked = [count for _, count in counts.most_common()]
        assert len(ranked) > 1200
        assert sum(count == 1 for count in ranked) > 150
        assert sum(ranked[:50]) > 0.4 * sum(ranked)


def test_text_is_what_one_writes(sample: list[GrammarPair]) -> None:
    for pair in sample:
        for text, tokens in ((pair.source_text, pair.source), (pair.target_text, pair.target)):
            assert not text[0].islower()
            assert text.endswith(".")
            assert not any(bad in text for bad in (" .", " ,", "' ", "  "))
            assert text.replace(" ", "").casefold() == "".join(tokens).casefold()
    pair = GrammarPair(("Anna", "'s", "man", "."), ("l'", "homme", "d'", "Anna", "."), ())
    assert (pair.source_text, pair.target_text) == ("Anna's man.", "L'homme d'Anna.")


def test_elision_and_contraction_everywhere(sample: list[GrammarPair]) -> None:
    for pair in sample:
        for left, right in itertools.pairwise(pair.target):
            assert not (left in node.ELIDED and node.elides(right)), pair.target_text
            assert not (left.endswith("'") and not node.elides(right) and (left, right[:2]) != ("s'", "il"))
            assert (left, right) not in {("si", "il"), ("ce", "homme"), ("de", "les"), ("à", "les"), ("de", "des")}


def test_mute_and_aspirated_h_are_told_apart() -> None:
    nouns = {n.fr[0]: n for r in lexicon.NOUNS.values() for n in r.items}
    for word in (*MUTE_H, *ASPIRATED_H):
        assert nouns[word].fr[0] == word
        assert node.elides(word) == node.elides(nouns[word].fr[1]) == (word in MUTE_H)
    initial_h = {w for w in nouns if w.startswith("h")}
    assert {w for w in initial_h if not node.elides(w)} == set(ASPIRATED_H) | {"hamac", "hameau"}
    assert all(node.elides(w) for w in nouns if w[0] in "aeiouéèêîâœ")


def test_every_noun_takes_the_right_article_and_preposition() -> None:
    for noun in (n for r in lexicon.NOUNS.values() for n in r.items):
        article = "la" if noun.feminine else "le"
        for plural, head in ((False, article), (True, "les")):
            phrase = node.introduce(node.unit("of", "de"), node.unit("the", head) + node.unit("x", noun.fr[plural]))
            french = finish(phrase)[1]
            vowel = node.elides(noun.fr[0])
            start = "des " if plural else "de l' " if vowel else "de la " if noun.feminine else "du "
            assert french == start + noun.fr[plural]


def test_plurals_and_feminines_of_the_whole_lexicon() -> None:
    for noun in (n for r in lexicon.NOUNS.values() for n in r.items):
        one, many = noun.fr
        assert many[-1] in "sxz"
        assert (many == one) == (one[-1] in "sxz")
        assert not many.endswith("eaus")
        assert many != one + "s" or not one.endswith("al") or one in {"chacal", "festival"}
        assert noun.en[0] != noun.en[1]
    everything = [a for d in (lexicon.BEFORE, lexicon.AFTER) for r in d.values() for a in r.items]
    for adjective in everything:
        feminine = adjective.feminine[0]
        assert feminine.endswith("e")
        assert adjective.feminine[1] == feminine + "s"
        assert (adjective.masculine[0] == feminine) == adjective.masculine[0].endswith("e")
        ending = adjective.masculine[0]
        assert not ending.endswith(("eux", "f", "er", "el", "en", "on")) or feminine != ending + "e"


def test_known_forms() -> None:
    forms = {a.en: a for d in (lexicon.BEFORE, lexicon.AFTER) for r in d.values() for a in r.items}
    assert forms["old"].agree(True, True) == "vieilles"
    assert forms["old"].before_vowel == "vieil"
    assert forms["beautiful"].masculine == ("beau", "beaux")
    assert forms["social"].masculine == ("social", "sociaux")
    assert forms["blue"].masculine == ("bleu", "bleus")
    assert forms["European"].feminine == ("européenne", "européennes")
    assert verb("eat").present[2] == "mangeons"
    assert verb("eat").imperfect == ("mangeais", "mangeait", "mangions", "mangiez", "mangeaient")
    assert verb("finance").present[2] == "finançons"
    assert verb("buy").future[1] == "achètera"
    assert verb("see").future[4] == "verront"
    assert verb("understand").participle(False, True) == "compris"
    assert verb("understand").participle(True, True) == "comprises"
    assert (verb("study").third, verb("study").past, verb("study").ing) == ("studies", "studied", "studying")
    assert (verb("watch").third, verb("write").ing) == ("watches", "writing")


def test_a_noun_chain_is_wholly_reversed() -> None:
    seen = set()
    for seed in range(300):
        made = phrases.core(Random(seed), 5, "institution").phrase
        english, french, links = finish(made)
        nouns = {(n.en[p], n.fr[p]) for n in lexicon.NOUNS["institution"].items for p in (0, 1)}
        back = [(i, j) for i, j in sorted(links) if i >= 2 and english.split()[i] not in BEFORE_NOUNS]
        assert [j for _, j in back] == sorted((j for _, j in back), reverse=True), (english, french)
        assert any(english.endswith(" " + en) for en, _ in nouns)
        seen.add(len(back))
    assert {3, 4} & seen


BEFORE_NOUNS = {a.en for a in lexicon.BEFORE["institution"].items} | {en for en, _ in phrases.NUMBERS.items}


def test_places_chain_with_de_and_inner_articles() -> None:
    chains = (finish(phrases.core(Random(seed), 4, "room").phrase) for seed in range(600))
    found = {(en, fr): links for en, fr, links in chains if en.endswith("school garden")}
    with_articles = {(en, fr): x for (en, fr), x in found.items() if "le jardin de l' école d" in fr}
    assert with_articles
    for (english, french), links in with_articles.items():
        the, village, school, garden = range(4)
        assert english.split()[3] == "garden"
        assert {(the, 0), (garden, 1), (school, 2), (school, 3), (school, 4), (village, 5)} <= links, french


@pytest.mark.parametrize(
    ("english", "french", "links"),
    [
        ("every day", "chaque jour", {(0, 0), (1, 1)}),
        ("last year", "l' année dernière", {(0, 2), (1, 0), (1, 1)}),
        ("next week", "la semaine prochaine", {(0, 2), (1, 0), (1, 1)}),
        ("in winter", "en hiver", {(0, 0), (1, 1)}),
        ("yesterday", "hier", {(0, 0)}),
    ],
)
def test_words_of_time_are_linked_each_to_its_own(english: str, french: str, links: set[tuple[int, int]]) -> None:
    assert finish(clauses._when(english, french)) == (english, french, links)


def test_a_comma_before_a_connective_is_linked_to_the_comma_alone(sample: list[GrammarPair]) -> None:
    seen = 0
    for pair in sample:
        for at, (word, following) in enumerate(itertools.pairwise(pair.source)):
            if word == "," and following in {"but", "and", "so"}:
                (comma,) = (j for i, j in pair.alignment if i == at)
                (connective,) = (j for i, j in pair.alignment if i == at + 1)
                assert pair.target[comma] == ","
                assert pair.target[connective] == {"but": "mais", "and": "et", "so": "donc"}[following]
                seen += 1
    assert seen > 100


def test_negation_has_two_parts_both_linked_to_not() -> None:
    english, french, links = finish(
        verbs.verb_group(verb("sleep", "intransitive"), MASCULINE, Style("present", "not", 3))
    )
    assert (english, french) == ("does not sleep", "ne dort pas")
    assert links == {(0, 1), (1, 0), (1, 2), (2, 1)}
    english, french, links = finish(verbs.verb_group(verb("love"), MASCULINE, Style("present", "no longer", 3)))
    assert (english, french) == ("no longer loves", "n' aime plus")
    assert links == {(0, 0), (1, 0), (0, 2), (1, 2), (2, 1)}
    never = finish(verbs.verb_group(verb("see"), FEMININE, Style("past", "never", 2)))
    assert never[:2] == ("never saw", "n' a jamais vu")
    nothing = finish(verbs.verb_group(verb("see"), FEMININE, PAST, Extras(nothing=True)))
    assert nothing == ("saw nothing", "n' a rien vu", {(0, 1), (0, 3), (1, 0), (1, 2)})


@pytest.mark.parametrize(
    ("base", "style", "clitic", "english", "french"),
    [
        ("see", Style("present", "", 1), 2, "sees them", "les voit"),
        ("see", NOT_PAST, 1, "did not see her", "ne l' a pas vue"),
        ("wait", PAST, 2, "waited for them", "les a attendus"),
        ("love", Style("present", "not", 3), 3, "does not love me", "ne m' aime pas"),
        ("see", Style("can", "not", 2), 0, "cannot see him", "ne peut pas le voir"),
        ("help", Style("want", "", 3), 4, "wants to help us", "veut nous aider"),
    ],
)
def test_clitic_pronouns(base: str, style: Style, clitic: int, english: str, french: str) -> None:
    group = verbs.verb_group(verb(base), MASCULINE, style, Extras(clitic=CLITICS[clitic]))
    made = finish(group)
    assert made[:2] == (english, french)
    pronouns = {"les", "l'", "m'", "le", "nous"}
    place = next(j for j, token in enumerate(french.split()) if token in pronouns)
    assert [i for i, j in made[2] if j == place] == [len(english.split()) - 1]


def test_participles_agree() -> None:
    came = verb("come", "intransitive")
    queens = Agreement(plural=True, feminine=True)
    assert finish(verbs.verb_group(came, queens, PAST))[1] == "sont venues"
    assert finish(verbs.verb_group(came, FEMININE, NOT_PAST))[1] == "n' est pas venue"
    assert finish(verbs.verb_group(verb("see"), queens, PAST))[1] == "ont vu"
    assert finish(verbs.verb_group(verb("see"), MASCULINE, PAST, Extras(preceding=queens)))[1] == "a vues"
    indirect = Extras(clitic=CLITICS[1], indirect=True)
    assert finish(verbs.verb_group(verb("give", "giving"), MASCULINE, PAST, indirect))[1] == "lui a donné"


def test_determiners_and_adjectives_agree_throughout() -> None:
    articles = {
        "le": (0, 0),
        "la": (1, 0),
        "un": (0, 0),
        "une": (1, 0),
        "cet": (0, 0),
        "cette": (1, 0),
        "les": (None, 1),
    }
    for kind, seed in itertools.product(lexicon.NOUNS, range(60)):
        made = phrases.core(Random(seed), 3, kind)
        first, *rest = (word.text for word in made.phrase.fr)
        gender, number = articles.get(first, (None, None))
        assert gender in (None, made.agreement.feminine)
        assert number in (None, made.agreement.plural)
        forms = {
            n.fr[made.agreement.plural] for n in lexicon.NOUNS[kind].items if n.feminine == made.agreement.feminine
        }
        assert forms & set(rest), (first, rest)


def test_what_the_grammar_must_show_does_occur(sample: list[GrammarPair]) -> None:
    tokens = Counter(token for pair in sample for token in pair.target)
    wanted = (
        "qui que qu' dont et mais parce quand pas jamais plus rien personne lui leur les l' d' du des au aux vieil bel"
    )
    assert {word for word in wanted.split() if not tokens[word]} == set()
