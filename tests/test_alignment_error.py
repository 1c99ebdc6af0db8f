"""Precision, recall and alignment error rate, worked by hand and by their definitions."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnsearch.errors import UserError
from rnnsearch.evaluation.alignment_error import compare
from rnnsearch.text.links import Links

LINK = st.tuples(st.integers(0, 4), st.integers(0, 4))


def links(sure, possible=()):
    return Links(frozenset(sure), frozenset(sure) | frozenset(possible))


GOLD = [links([(0, 0), (1, 1)], [(1, 2), (2, 2)]), links([(0, 0)]), links([], [(0, 1)])]
FOUND = [links([(0, 0), (1, 2), (2, 1)]), links([]), links([(0, 1)])]


def test_worked_by_hand():
    # A has 4 links: (0, 0) is sure, (1, 2) and the (0, 1) of the third sentence are possible, (2, 1) is wrong.
    scores = compare(GOLD, FOUND)
    assert vars(scores) == {
        "sentences": 3, "links": 4, "sure": 3, "possible": 6, "links_sure": 1, "links_possible": 3,
    }  # fmt: skip
    assert (scores.precision, scores.recall) == (3 / 4, 1 / 3)
    assert scores.aer == pytest.approx(1 - (1 + 3) / (4 + 3))
    assert scores.as_dict() == {"precision": 0.75, "recall": 1 / 3, "aer": scores.aer} | vars(scores)
    assert scores.table().splitlines() == [
        "3 sentences, 4 links; gold: 3 sure, 6 in all", "precision  0.7500", "recall     0.3333", "AER        0.4286",
    ]  # fmt: skip


def test_links_that_are_judged_count_whatever_they_call_themselves():
    assert compare([links([(0, 0)])], [links([], [(0, 0), (0, 1)])]).aer == pytest.approx(1 - 2 / 3)


def test_a_share_of_nothing_is_none():
    silent = compare([links([(0, 0)])], [links([])])
    assert (silent.recall, silent.aer) == (0, 1)
    assert math.isnan(silent.precision)
    assert silent.as_dict()["precision"] is None
    unsure = compare([links([], [(0, 0), (1, 1)])], [links([(0, 0), (0, 1)])])
    assert (unsure.precision, unsure.as_dict()["recall"], unsure.aer) == (0.5, None, 0.5)
    assert compare([], []).as_dict()["aer"] is None


@given(
    st.lists(st.tuples(*[st.frozensets(LINK, max_size=9)] * 3), min_size=1, max_size=4).filter(
        lambda rows: any(sure or found for sure, _, found in rows)
    )
)
def test_by_definition(rows):
    gold = [links(sure, possible) for sure, possible, _ in rows]
    S, P, A = ({(n, link) for n, row in enumerate(rows) for link in part(row)} for part in (
        lambda row: row[0], lambda row: row[0] | row[1], lambda row: row[2]))  # fmt: skip
    scores = compare(gold, [links(found) for _, _, found in rows])
    assert scores.aer == pytest.approx(1 - (len(A & S) + len(A & P)) / (len(A) + len(S)))
    assert 0 <= scores.aer <= 1
    if A:
        assert scores.precision == len(A & P) / len(A)
    if S:
        assert scores.recall == len(A & S) / len(S)
        assert compare(gold, [links(sure) for sure, _, _ in rows]).aer == 0


@pytest.mark.parametrize(
    ("gold", "found", "said"),
    [
        (2, 3, "gold.wa ends after 2 sentences and out goes on"),
        (3, 0, "out ends after 0 sentences and gold.wa goes on"),
    ],
)
def test_other_sentences_are_refused(gold, found, said):
    with pytest.raises(UserError, match=f"^{said}: they must be of the same sentences$"):
        compare([links([])] * gold, iter([links([])] * found), ("gold.wa", "out"))
