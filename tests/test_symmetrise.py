"""Links of two directions joined: worked by hand, against a walk over the whole matrix, and what always holds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnsearch.search.symmetrise import METHODS, agreed, symmetrise

SIZE = 5
GROWN = "grow-diag-final-and"
LINKS = st.sets(st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)), max_size=14)


def turned(links):
    return {(target, source) for source, target in links}


def walked(forward, reverse):
    """grow-diag-final-and over matrices [target, source], every cell looked at in every round."""
    one, other = np.zeros((SIZE, SIZE), bool), np.zeros((SIZE, SIZE), bool)
    for matrix, links in (one, forward), (other, reverse):
        for source, target in links:
            matrix[target, source] = True
    found, union = one & other, one | other
    steps = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]
    before = -1
    while before != found.sum():
        before = found.sum()
        for cell in np.ndindex(found.shape):
            for step in steps if found[cell] else []:
                t, s = np.add(cell, step)
                inside = 0 <= t < SIZE and 0 <= s < SIZE
                if inside and union[t, s] and not (found[t].any() and found[:, s].any()):
                    found[t, s] = True
    for matrix in (one, other):
        for t, s in zip(*np.nonzero(matrix), strict=True):
            if not found[t].any() and not found[:, s].any():
                found[t, s] = True
    return sorted(turned(map(tuple, np.argwhere(found).tolist())))


def test_intersection_and_union():
    forward, reverse = [(2, 1), (0, 0), (1, 2)], [(0, 0), (2, 1), (3, 1)]
    assert symmetrise(forward, reverse, "intersection") == [(0, 0), (2, 1)]
    assert symmetrise(forward, reverse, "union") == [(0, 0), (1, 2), (2, 1), (3, 1)]


@pytest.mark.parametrize(
    ("forward", "reverse", "expected"),
    [
        ([], [], []),
        # Nothing to grow from: words that are both free are linked, the forward link before the reverse one.
        ([(0, 0), (1, 0)], [(1, 1)], [(0, 0), (1, 1)]),
        ([(3, 5)], [(3, 6)], [(3, 5)]),
        ([(3, 6)], [(3, 5)], [(3, 6)]),
        # (1, 2) lies beside (1, 1) and target word 2 is free; then (2, 2) joins because source word 2 is.
        ([(0, 0), (1, 1), (1, 2)], [(0, 0), (1, 1), (2, 2)], [(0, 0), (1, 1), (1, 2), (2, 2)]),
        # What lies beside a link goes before what lies across: (2, 2) finds both its words taken.
        ([(1, 1), (2, 2), (1, 2)], [(1, 1), (2, 1)], [(1, 1), (1, 2), (2, 1)]),
        # Across alone is near enough.
        ([(1, 1), (2, 2)], [(1, 1)], [(1, 1), (2, 2)]),
        # (2, 0) and (0, 2) lie two steps away with one word taken each; (4, 4) has both words free.
        ([(0, 0), (0, 2), (4, 4)], [(0, 0), (2, 0)], [(0, 0), (4, 4)]),
        # (3, 1) adds (2, 1) behind the walk and (2, 2) ahead of it, which takes source word 1 before (2, 1) can.
        ([(1, 2), (2, 2), (3, 1)], [(1, 1), (2, 1), (3, 1)], [(1, 2), (2, 1), (2, 2), (3, 1)]),
        # A link added behind the walk grows in the next round: (1, 2) -> (2, 1), (3, 0).
        ([(1, 2), (2, 1), (3, 0)], [(1, 2)], [(1, 2), (2, 1), (3, 0)]),
    ],
)
def test_growing_worked_by_hand(forward, reverse, expected):
    assert symmetrise(forward, reverse, GROWN) == expected


def test_mary_did_not_slap_the_green_witch():
    # Maria no daba una bofetada a la bruja verde: Spanish is the target, so forward gives each of its words one.
    forward = [(0, 0), (2, 1), (3, 2), (3, 3), (3, 4), (4, 5), (4, 6), (6, 7), (5, 8)]
    reverse = [(0, 0), (1, 1), (2, 1), (3, 4), (4, 6), (5, 8), (6, 7)]
    assert symmetrise(forward, reverse, "intersection") == [(0, 0), (2, 1), (3, 4), (4, 6), (5, 8), (6, 7)]
    assert symmetrise(forward, reverse, GROWN) == sorted({*forward, (1, 1)})


@given(LINKS, LINKS)
def test_it_is_the_walk_over_the_matrix(forward, reverse):
    assert symmetrise(forward, reverse, GROWN) == walked(forward, reverse)


@given(LINKS, LINKS)
def test_what_always_holds(forward, reverse):
    inner, grown, union = (set(symmetrise(forward, reverse, method)) for method in ("intersection", GROWN, "union"))
    assert inner <= grown <= union
    sources, targets = {source for source, _ in grown}, {target for _, target in grown}
    assert all(source in sources or target in targets for source, target in union)
    for method in METHODS:
        assert symmetrise(forward, forward, method) == sorted(forward)
        assert symmetrise(list(forward)[::-1] * 2, sorted(reverse), method) == symmetrise(forward, reverse, method)


@given(LINKS, LINKS)
def test_intersection_and_union_do_not_know_which_side_is_which(forward, reverse):
    for method in ("intersection", "union"):
        there = symmetrise(forward, reverse, method)
        assert symmetrise(reverse, forward, method) == there
        assert sorted(turned(symmetrise(turned(reverse), turned(forward), method))) == there


def test_growing_does_know():
    # Source word 3 is linked by one model to target word 5 and by the other to 6: the forward one wins on either side.
    forward, reverse = [(0, 0), (3, 5)], [(0, 0), (3, 6)]
    assert symmetrise(forward, reverse, GROWN) == [(0, 0), (3, 5)]
    assert turned(symmetrise(turned(reverse), turned(forward), GROWN)) == {(0, 0), (3, 6)}


def test_agreement_worked_by_hand():
    # Geometric means, source words by target words: 0.6, 0.3; 0, 0.2; sqrt(0.15) = 0.387, 0.4.
    forward = np.array([[0.9, 0.0, 0.3], [0.1, 0.5, 0.4]])
    reverse = np.array([[0.4, 0.9], [0.5, 0.08], [0.5, 0.4]])
    assert agreed(forward, reverse, 0.39) == [(0, 0), (2, 1)]
    assert agreed(forward, reverse, 0.38) == [(0, 0), (2, 0), (2, 1)]
    assert agreed(forward, reverse, 0.25) == [(0, 0), (0, 1), (2, 0), (2, 1)]
    assert agreed(forward, reverse) == agreed(forward, reverse, 0.4)
    turned_round = agreed(reverse, forward, 0.25)
    assert turned(turned_round) == {(0, 0), (0, 1), (2, 0), (2, 1)}


def test_an_unknown_method_is_refused():
    with pytest.raises(ValueError, match="intersection, union, grow-diag-final-and, not 'grow'"):
        symmetrise([], [], "grow")
