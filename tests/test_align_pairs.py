"""Given translations: their score and alignment, one by one and many at once."""

import itertools

import numpy as np
import pytest

from mock_engine import MockEngine
from mock_translator import assert_same_alignment, mock_translator, random_pairs
from rnnsearch.config import SearchSettings
from rnnsearch.errors import UserError
from rnnsearch.translator import GRID_CELLS, READ_AHEAD
from rnnsearch.translator import lines as translator_lines


def test_a_given_translation_gets_the_score_and_alignment_of_the_search():
    translator = mock_translator(search=SearchSettings(beam_size=12))
    found = translator.translate("the dog sees a cat")
    forced = translator.align("the dog sees a cat", found.text)
    assert (forced.log_p, forced.score) == pytest.approx((found.log_p, found.score))
    np.testing.assert_allclose(forced.alignment, found.alignment, atol=1e-6)
    assert (forced.words, forced.tokens) == (found.words, found.tokens)
    assert translator.align("a", " ").alignment.shape == (0, 1)
    assert translator.align("", "un").alignment.shape == (1, 0)


@pytest.mark.parametrize("batch_size", [1, 3, 100])
def test_many_pairs_are_aligned_as_each_alone_and_in_order(batch_size):
    pairs = [("", "un chat"), *random_pairs(150), ("a cat", " "), ("", ""), ("\u200b", "un")]
    many = list(mock_translator().align_pairs(iter(pairs), batch_size))
    alone = mock_translator()
    for one, pair in zip(many, pairs, strict=True):
        assert (one.source, one.text) == pair
        assert_same_alignment(one, alone.align(*pair), 1e-6)


def test_pairs_of_which_a_side_is_empty_are_not_asked_of_the_model():
    engine = MockEngine(9, 1)
    found = list(mock_translator(engine).align_pairs([("", "un"), ("a", ""), ("\u00ad", "un"), ("", "")]))
    assert [one.log_p for one in found] == [0.0] * 4
    assert [one.alignment.shape for one in found] == [(1, 0), (0, 1), (1, 1), (0, 0)]
    assert engine.batches == []


def test_batches_of_pairs_are_bounded_in_cells_by_the_longer_side():
    engine = MockEngine(9, 1)
    pairs = [("the dog " * 150, "un"), ("a", "un chat " * 150), ("a cat", "un chat")] * 250
    list(mock_translator(engine).align_pairs(pairs, batch_size=400))
    assert engine.batches == [GRID_CELLS // 301] * 5 + [750 - GRID_CELLS // 301 * 5]
    assert engine.steps == 301 * 5 + 3


def test_pairs_are_read_ahead_only_so_far(monkeypatch):
    read = []

    def endless(pair):
        for number in itertools.count():
            read.append(number)
            yield pair

    found = mock_translator().align_pairs(endless(("the cat", "le chat")), batch_size=1)
    assert read == []
    next(found)
    assert len(read) == READ_AHEAD
    read.clear()
    monkeypatch.setattr(translator_lines, "PAIRS_AHEAD", 7 * 7 * 3)
    next(mock_translator().align_pairs(endless(("the cat", "le chat"))))
    assert len(read) == 4


def test_what_cannot_be_aligned_is_refused():
    with pytest.raises(UserError, match="batch_size must be at least 1, not 0"):
        mock_translator().align_pairs(iter(()), batch_size=0)
    with pytest.raises(TypeError, match="a given translation must be a str, not 7"):
        mock_translator().align("a", 7)
    with pytest.raises(TypeError, match="a line to translate must be a str, not None"):
        mock_translator().align(None, "un")
