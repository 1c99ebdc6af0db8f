"""What the reproduction concludes: its claims, by numbers made by hand, and the rules by which it chooses sentences."""

from dataclasses import replace

import numpy as np
import pytest

from rnnsearch.reproduction import claims, sentences
from rnnsearch.reproduction.claims import FAILS, HOLDS, OPEN, Duel, Slope
from rnnsearch.reproduction.sentences import Candidate, Looked, agreeing, astray, for_pictures, side_by_side, turn


@pytest.mark.parametrize(
    ("bleu", "p_value", "verdict"),
    [((26.0, 18.0), 0.001, HOLDS), ((18.0, 26.0), 0.001, FAILS), ((19.0, 18.5), 0.2, OPEN), ((30.0, 9.0), None, OPEN),
     ((0.5, 0.1), 0.001, OPEN)],
)  # fmt: skip
def test_one_is_above_the_other_only_if_chance_seldom_makes_it(bleu, p_value, verdict):
    claim = claims.above("it is", Duel(("soft", "fixed"), bleu, p_value, 500))
    assert claim.verdict == verdict
    assert f"{bleu[0] - bleu[1]:+.2f}" in claim.evidence


def slope(name, short, long, margin=1.0, sentences=300):
    return Slope(name, 30, short, margin, long, margin, sentences)


@pytest.mark.parametrize(
    ("fixed", "soft", "breaks", "steeper"),
    [
        ((20, 10), (26, 26), HOLDS, HOLDS),  # 50 % and 100 %
        ((20, 20), (26, 26), FAILS, OPEN),  # nobody falls
        ((20, 10), (26, 13), FAILS, OPEN),  # both fall alike
        ((20, 17.5), (26, 26), OPEN, HOLDS),  # 88 %, give or take 7
        ((20, 10), (26, 23.5), OPEN, HOLDS),  # 90 %, give or take 5
        ((20, 20), (26, 13), FAILS, FAILS),
    ],
)
def test_long_sentences_break_one_and_not_the_other(fixed, soft, breaks, steeper):
    pair = slope("fixed", *fixed), slope("soft", *soft)
    assert claims.breaks("", *pair).verdict == breaks
    assert claims.steeper("", *pair).verdict == steeper


def test_few_sentences_and_noise_tell_nothing():
    for odd in (slope("fixed", 20, 10, sentences=10), slope("fixed", 0.0, 0.0)):
        assert claims.breaks("", odd, slope("soft", 26, 26)).verdict == OPEN
        assert claims.steeper("", odd, slope("soft", 26, 26)).verdict == OPEN
    assert "noise" in claims.breaks("", slope("fixed", 0.0, 0.0), slope("soft", 26, 26)).evidence


def test_the_margin_of_what_is_kept():
    kept = Slope("x", 30, 20.0, 1.0, 10.0, 1.0, 100)
    assert (kept.kept, kept.margin) == (0.5, pytest.approx(np.hypot(0.1, 0.05) * 0.5))


# The rules by which sentences are chosen


@pytest.mark.parametrize(
    ("sources", "longest"),
    [
        ([0, 1, 2], 1),
        ([0, 3, 2, 1, 4], 3),  # zone, then économique, then européenne
        ([0, 4, 4, 2, 5], 2),  # with a "de" that looks where the word before it looked
        ([14, 1, 2, 3], 1),  # one word that looked far away turns nothing around
        ([2, 2, 2], 1),
    ],
)
def test_a_turn_is_a_phrase_said_backwards(sources, longest):
    links = [(x, y) for y, x in enumerate(sources)]
    assert turn(links) == longest
    assert turn([]) == 0


@pytest.mark.parametrize(
    ("alpha", "count"),
    [
        ([[0.4, 0.5, 0.1], [0.1, 0.4, 0.5], [0.0, 1.0, 0.0]], 2),  # the article and its noun, twice
        ([[0.5, 0.0, 0.5]], 0),  # they are no neighbours
        ([[0.7, 0.2, 0.1]], 0),  # the second hardly counts
        ([[1.0]], 0),
    ],
)
def test_agreement_is_a_word_that_looked_at_two_neighbours(alpha, count):
    assert agreeing(np.array(alpha)) == count
    assert agreeing(np.zeros((0, 3))) == 0


def test_sentences_for_pictures_are_found_by_their_rules():
    plain, turned = Looked([(i, i) for i in range(8)], 0), Looked([(i, 7 - i) for i in range(8)], 0)
    candidates = [
        Candidate(0, 8, 80, replace(plain, agreeing=1)), Candidate(1, 8, 85, turned), Candidate(2, 8, 90, plain),
        Candidate(3, 8, 10, Looked([(0, 9), *turned.links], 5)), Candidate(4, 43, 60, plain),
        Candidate(5, 52, 55, plain), Candidate(6, 50, 5, plain), Candidate(7, 25, 30, plain),
        Candidate(8, 22, 12, plain), Candidate(9, 70, 99, replace(plain, agreeing=3)),
    ]  # fmt: skip
    chosen = for_pictures(candidates)
    assert [each.number for each in chosen] == [1, 0, 5, 8]
    assert [each.rule.partition(":")[0] for each in chosen] == ["turned around", "agreement", "long", "gone wrong"]
    nobody = [Candidate(i, 8, 50, plain) for i in range(4)]
    assert for_pictures(nobody) == [], "where nothing turns or agrees, nothing is shown"
    assert for_pictures([]) == []


def test_long_sentences_are_those_that_differ_most_either_way():
    lengths = [10, 35, 40, 45, 31, 60, 55, 51, 52, 30]
    soft = [99, 50, 60, 40, 20, 10, 80, 50, 50, 90]
    fixed = [0, 10, 90, 39, 5, 50, 20, 49, 45, 0]
    chosen = side_by_side(lengths, soft, fixed)
    assert [(each.number, each.rule) for each in chosen] == [
        *((i, "more than 30 words") for i in (1, 2, 4)), *((i, "more than 50 words") for i in (6, 5, 8)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("output", "reference", "found"),
    [
        ("le chat dort bien ici", "le chat dort bien ici", ("le chat dort bien ici", "")),
        ("le chat dort sur sur sur sur", "le chat dort bien", ("le chat dort", "sur sur sur sur")),
        ("Le chat, dort mal ici", "le chat dort bien", ("Le chat, dort mal ici", "")),  # two words are no going astray
        ("un deux trois quatre", "rien de tel", ("", "un deux trois quatre")),
        ("x y le chat z", "le chat dort", ("x y le chat z", "")),  # it came back
        ("le chat le chat le chat", "le chat dort", ("le chat", "le chat le chat")),  # said more often than there
        ("", "le chat", ("", "")),
    ],
)
def test_where_a_translation_went_astray(output, reference, found):
    assert astray(output, reference, "fr") == found


def test_going_astray_without_spaces_between_words():
    assert astray("今天天气很很很很", "今天天气好", "zh") == ("今天天气", "很很很很")


def test_chrf_is_of_each_sentence():
    assert sentences.chrf(["chat", "xyz"], ["chat", "abc"]) == [pytest.approx(100), 0]
