"""Lines over the limit: cut into parts, translated, put together."""

import logging

import numpy as np
import pytest

from mock_translator import mock_translator
from rnnsearch.config import SearchSettings
from rnnsearch.search.alignment import block_diagonal
from rnnsearch.text.parts import cut


def test_a_long_line_is_translated_in_parts_and_the_warning_names_it(caplog):
    translator = mock_translator(max_length=100, search=SearchSettings(beam_size=4, minimum_length=True))
    lines = ["the cat", "the dog sees a cat , " * 66, "a dog"]
    with caplog.at_level(logging.WARNING, "rnnsearch"):
        results = list(translator.translate(lines))
    assert [t.source for t in results] == lines
    assert [r.getMessage() for r in caplog.records] == [
        "line 2: 396 tokens, over the limit of 100; translated in 5 parts"
    ]
    assert results[1].alignment.shape == (len(results[1].words), 396)
    assert len(results[1].words) >= 396 / 2


def test_many_long_lines_are_named_in_one_warning(caplog):
    lines = ["the cat " * 5, "the cat", "a dog " * 9, ""] * 2
    with caplog.at_level(logging.WARNING, "rnnsearch"):
        mock_translator(max_length=6).translate_chunk(lines, first=11)
    assert [r.getMessage() for r in caplog.records] == [
        "lines 11, 13, 15, 17: over the limit of 6 tokens; translated in parts"
    ]


@pytest.mark.parametrize("limit", [1, 2, 7, 50, 396, 1000])
def test_every_limit_translates_a_long_line(limit):
    line = "the dog sees a cat , " * 66
    result = mock_translator().translate(line, max_length=limit)
    np.testing.assert_allclose(result.alignment.sum(1), 1)
    assert len(result.source_tokens) == 396


def test_the_parts_of_a_line_are_aligned_block_by_block():
    translator = mock_translator(max_length=6)
    line = "the cat sleeps . the dog sees a cat ."
    whole, parts = translator.translate(line), [translator.translate(p) for p in ("the cat sleeps .", line[17:])]
    assert whole.text == " ".join(part.text for part in parts)
    expected = block_diagonal([part.alignment for part in parts])
    np.testing.assert_allclose(whole.alignment, expected, atol=1e-6)
    assert whole.log_p == pytest.approx(sum(part.log_p for part in parts))
    ranked = translator.translate(line, n_best=4).n_best
    assert [t.score for t in ranked] == sorted((t.score for t in ranked), reverse=True)
    assert len({tuple(t.tokens) for t in ranked}) == 4


def test_parts_end_where_a_reader_would_pause():
    words = ["a", "b", ".", "c", "d", ",", "e", "f", "g", "h"]
    assert cut(words, range(10), 4) == [slice(0, 3), slice(3, 6), slice(6, 10)]
    assert cut(words, range(10), 10) == [slice(0, 10)]
    assert cut([], [], 5) == []
    pieces, of_word = ["▁a", "b", "c", "▁d", "e", "f", "▁3", ".", "5"], [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert cut(pieces, of_word, 5) == [slice(0, 3), slice(3, 6), slice(6, 9)]
    assert cut(["x"] * 9, [0] * 9, 4) == [slice(0, 4), slice(4, 8), slice(8, 9)]
    assert cut(list("日本。語日本語"), [0] * 7, 4) == [slice(0, 3), slice(3, 7)]


def test_parts_cover_any_line_within_the_limit():
    rng = np.random.default_rng(2)
    for _ in range(200):
        n, limit = rng.integers(1, 60), rng.integers(1, 20)
        tokens = rng.choice(["a", ".", ",", "▁b", "。"], n).tolist()
        parts = cut(tokens, np.cumsum(rng.integers(0, 2, n)).tolist(), int(limit))
        assert [token for part in parts for token in tokens[part]] == tokens
        assert all(0 < part.stop - part.start <= limit for part in parts)
