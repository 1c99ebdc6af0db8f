"""Weights of tokens become weights and links of words."""

import numpy as np

from mock_translator import CopyEngine, mock_translator, sides
from rnnsearch.search.alignment import by_words, hard_links, links_by, links_from
from rnnsearch.text.tokenise import MosesTokeniser


def test_pieces_are_summed_over_the_source_and_averaged_over_the_target():
    alpha = np.array([[0.1, 0.2, 0.3], [0.3, 0.1, 0.2], [0.0, 0.6, 0.2], [0.0, 0.0, 0.0]])
    words = by_words(alpha, [0, 0, 1, 2], [0, 0, 1], (3, 2))
    np.testing.assert_allclose(words, [[0.35 / 0.6, 0.25 / 0.6], [0.75, 0.25], [0.5, 0.5]])


def test_tokens_and_words_without_a_partner():
    np.testing.assert_allclose(by_words(np.ones((2, 2)), [-1, 0], [0, 2], (1, 3)), [[0.5, 0, 0.5]])
    assert by_words(np.zeros((0, 3)), [], [0, 0, 1], (0, 2)).shape == (0, 2)
    assert by_words(np.zeros((2, 0)), [0, 1], [], (2, 0)).shape == (2, 0)


def test_links():
    matrix = np.array([[0.1, 0.9], [0.6, 0.4], [0.5, 0.5]])
    assert hard_links(matrix) == [(0, 1), (0, 2), (1, 0)]
    assert links_from(matrix, 0.5) == [(0, 1), (0, 2), (1, 0), (1, 2)]
    assert links_by(matrix, "hard") == hard_links(matrix)
    assert links_by(matrix, 0.55) == [(0, 1), (1, 0)]
    assert hard_links(np.zeros((2, 0))) == links_from(np.zeros((0, 2)), 0.1) == []


def test_the_sentence_end_is_left_out_of_the_alignment_of_words():
    engine = CopyEngine(9, [4, 5], [[0.2, 0.2, 0.6], [0.0, 0.0, 1.0], [0.1, 0.2, 0.7]])
    result = mock_translator(engine).translate("the cat", beam_size=1)
    assert result.text == "chat chien"
    np.testing.assert_allclose(result.alignment, [[0.5, 0.5], [0.5, 0.5]])
    np.testing.assert_allclose(result.token_alignment, [[0.2, 0.2], [0.0, 0.0]], atol=1e-7)


def test_words_are_those_of_the_line_as_given():
    engine = CopyEngine(9, [4], [[0.1, 0.2, 0.3, 0.4]])
    result = mock_translator(engine).translate("  the\u00a0cat \u200b sleeps ", beam_size=1)
    assert result.source_tokens == ["the", "cat", "sleeps"]
    assert result.source_words == ["the\u00a0cat", "\u200b", "sleeps"]
    np.testing.assert_allclose(result.alignment, [[0.5, 0.0, 0.5]])


def test_moses_tokens_of_one_word_count_together():
    both = sides(MosesTokeniser("en"), MosesTokeniser("fr"))
    engine = CopyEngine(9, [4, 8], [[0.1, 0.1, 0.5, 0.3, 0.0], [0.0, 0.0, 0.0, 1.0, 0.0]])
    result = mock_translator(engine, both=both).translate("The cat sleeps.", beam_size=1)
    assert result.source_tokens == ["The", "cat", "sleeps", "."]
    assert (result.text, result.words, result.tokens) == ("chat.", ["chat."], ["chat", "."])
    np.testing.assert_allclose(result.alignment, [[0.05, 0.05, 0.9]])
