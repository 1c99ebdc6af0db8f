"""`Translator` over an exact mock model, and over a tiny random model of the real kind."""

import copy
import dataclasses
import functools
import itertools
import logging
import pickle
import signal
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from mock_engine import MockEngine
from rnnsearch.config import ModelSettings, SearchSettings
from rnnsearch.engine import open_engine
from rnnsearch.errors import UserError
from rnnsearch.model_folder import ModelFolder, save_dictionary, save_model
from rnnsearch.search import force, search
from rnnsearch.search.alignment import block_diagonal, by_words, hard_links, links_by, links_from
from rnnsearch.text.batches import collate, pad
from rnnsearch.text.parts import cut
from rnnsearch.text.side import Side
from rnnsearch.text.tokenise import MosesTokeniser, SpaceTokeniser, SubwordTokeniser, train_subwords
from rnnsearch.text.vocabulary import EOS_ID, UNK_ID, Vocabulary
from rnnsearch.translator import GRID_CELLS, READ_AHEAD, Translation, Translator
from rnnsearch.translator import lines as translator_lines
from rnnsearch.translator import translator as translator_module

SOURCE_WORDS = ["the", "a", "cat", "dog", "sleeps", "sees", ".", ",", "?", "!", "-", "café", "naïve"]
TARGET_WORDS = ["le", "un", "chat", "chien", "dort", "voit", "."]


def sides(one=None, other=None):
    one, other = one or SpaceTokeniser(), other or SpaceTokeniser()
    return Side("source", "en", one, Vocabulary(SOURCE_WORDS)), Side("target", "fr", other, Vocabulary(TARGET_WORDS))


def mock_translator(engine=None, *, search=None, max_length=20, both=None, path=Path("mock")):
    source, target = both or sides()
    settings = search or SearchSettings(beam_size=4)
    folder = ModelFolder(path, ModelSettings(), settings, max_length, source, target, {})
    return Translator(folder, lambda: engine or MockEngine(len(target.vocabulary), 1, eos_bias=1.0))


class CopyEngine(MockEngine):
    """Says what it is told by `script` (words then the sentence end), looking at `looks` (source columns)."""

    def __init__(self, vocabulary, script, looks):
        super().__init__(vocabulary, 0)
        self.script, self.looks, self.at = [*script, EOS_ID], looks, -1

    def start(self, memory, beam):
        self.at = -1
        return super().start(memory, beam)

    def step(self, state, words, parents):
        state, log_p, alpha = super().step(state, words, parents)
        self.at += 1
        log_p = np.full_like(log_p, -50.0)
        log_p[:, self.script[min(self.at, len(self.script) - 1)]] = -0.5
        look = np.zeros_like(alpha)
        weights = self.looks[self.at] if self.at < len(self.looks) else [1.0]
        look[:, : len(weights)] = weights
        return state, log_p, look


def same(one: Translation, other: Translation):
    return one.text == other.text and abs(one.score - other.score) < 1e-4


# --- lines


def test_a_string_gives_one_translation_and_an_iterable_many_in_order():
    translator = mock_translator()
    lines = ["the cat sleeps .", "a dog", "", "the dog sees a cat .", "a"]
    many = list(translator.translate(lines))
    assert [t.source for t in many] == lines
    assert all(same(translator.translate(line), t) for line, t in zip(lines, many, strict=True))
    assert str(many[0]) == many[0].text == " ".join(many[0].words)


@pytest.mark.parametrize("empty", ["", " ", "\t", "\u200b", "\u00a0 \u2028", "\u200b \ufeff"])
def test_a_line_without_text_is_empty_and_does_not_ask_the_model(empty):
    engine = MockEngine(9, 1)
    result = mock_translator(engine).translate(empty, n_best=3)
    assert (result.text, result.words, result.tokens, engine.steps) == ("", [], [], 0)
    assert result.alignment.shape == (0, len(result.source_words))
    assert [one.text for one in result.n_best] == [""]


def test_it_streams_and_reads_ahead_only_so_far():
    read = []

    def endless() -> Iterable[str]:
        for number in itertools.count():
            read.append(number)
            yield "the cat"

    results = mock_translator().translate(endless(), batch_size=2)
    assert read == []
    for _ in range(3 * READ_AHEAD):
        assert next(results).text
        assert len(read) <= 4 * READ_AHEAD


def test_blank_lines_at_the_edges_of_batches_shift_nothing():
    words = ["a cat", "the dog sees", "a", "the cat sleeps ."]
    for period in range(1, 6):
        lines = ["" if i % period == 0 else words[i % 4] for i in range(40)]
        results = list(mock_translator().translate(lines, batch_size=2))
        assert [t.source for t in results] == lines
        assert all((t.text == "") == (line == "") or line for line, t in zip(lines, results, strict=True))
        assert all(t.text == "" for line, t in zip(lines, results, strict=True) if not line)


@pytest.mark.parametrize("batch_size", [1, 3, 7, 200])
def test_the_batch_size_changes_nothing(batch_size):
    rng = np.random.default_rng(3)
    lines = [" ".join(rng.choice(SOURCE_WORDS, rng.integers(1, 18))) for _ in range(50)]
    expected = [mock_translator().translate(line) for line in lines]
    assert all(map(same, expected, mock_translator().translate(lines, batch_size=batch_size)))


def test_batches_are_bounded_in_rows_and_in_cells():
    engine = MockEngine(9, 1, eos_bias=3.0)
    translator = mock_translator(engine, max_length=400)
    list(translator.translate(["a cat"] * 50 + ["the dog " * 190] * 12, batch_size=20, beam_size=10))
    assert max(engine.batches) == 20
    assert engine.cells <= GRID_CELLS
    assert sum(engine.batches) == 62
    engine.batches.clear()
    list(translator.translate(["a cat"] * 5, beam_size=1000))
    assert engine.batches == [2, 2, 1]


def test_composed_and_decomposed_accents_are_the_same_text():
    translator = mock_translator()
    one, other = translator.translate(["cafe\u0301 na\u00efve", "caf\u00e9 nai\u0308ve"])
    assert one.source_tokens == other.source_tokens == ["café", "naïve"]
    assert (one.text, one.score) == (other.text, other.score)


@pytest.mark.parametrize(
    "line", ["...", "?!", "-", "-n", "--help", "|||", "</s>", "[UNK]", "<unk>", "@@", "\U0001f469\u200d\U0001f680",
             "Open https://example.org/a?b=1&c=2 and pay 1,250.00 EUR to {name} (%1$s)", "日本語", "\x00\x07"]
)  # fmt: skip
@pytest.mark.parametrize("kind", ["none", "moses", "subword"])
def test_whatever_the_line_is_it_is_text(line, kind):
    for result in (translators()[kind].translate(line), translators()[kind].align(line, line)):
        assert "\n" not in result.text
        assert result.source == line
        assert result.alignment.shape == (len(result.words), len(result.source_words))
        np.testing.assert_allclose(result.alignment.sum(1), 1 if result.source_words else 0)


@functools.cache
def translators():
    model = train_subwords(["the cat sleeps . a dog sees", "le chat dort . un chien voit"] * 9, 60)
    subwords = SubwordTokeniser(model)
    pieces = Vocabulary(sorted({piece for word in TARGET_WORDS + SOURCE_WORDS for piece in subwords.tokenise(word)}))
    return {
        "none": mock_translator(),
        "moses": mock_translator(both=sides(MosesTokeniser("en"), MosesTokeniser("fr"))),
        "subword": mock_translator(
            both=(Side("source", "en", subwords, pieces), Side("target", "fr", subwords, pieces))
        ),
    }


# --- long lines


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


# --- alignment of words


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


# --- unknown words


def test_an_unknown_word_is_printed_or_replaced_by_the_raw_source_word_it_looked_at():
    looks = [[0.5, 0.1, 0.0, 0.4], [0.1, 0.2, 0.1, 0.6], [0.0, 0.2, 0.3, 0.5]]
    engine = CopyEngine(9, [UNK_ID, 4, UNK_ID], looks)
    translator = mock_translator(engine)
    plain = translator.translate("Zürich cat McDonald", beam_size=1)
    copied = translator.translate("Zürich cat McDonald", beam_size=1, replace_unk=True)
    assert (plain.text, copied.text) == ("[UNK] chat [UNK]", "Zürich chat McDonald")
    assert copied.words == ["Zürich", "chat", "McDonald"]


def test_unknown_words_are_copied_from_their_own_part_of_a_long_line():
    engine = CopyEngine(9, [UNK_ID], [[0.2, 0.3, 0.5]])
    result = mock_translator(engine, max_length=2).translate("A B C D", beam_size=1, replace_unk=True, batch_size=1)
    assert result.text == "B D"


def test_unknown_words_are_translated_where_the_dictionary_has_what_they_looked_at(tmp_path):
    """Known words stay, a spelling that the dictionary lacks is copied, and so is one of another case."""
    save_dictionary(tmp_path, {"Zürich": "Zurique", "cat": "minou", "mcdonald": "faux"})
    looks = [[0.5, 0.1, 0.0, 0.4], [0.1, 0.7, 0.1, 0.1], [0.0, 0.2, 0.3, 0.5], [0.0, 0.8, 0.0, 0.2]]
    translator = mock_translator(CopyEngine(9, [UNK_ID, 4, UNK_ID, UNK_ID], looks), path=tmp_path)
    plain = translator.translate("Zürich cat McDonald", beam_size=1)
    replaced = translator.translate("Zürich cat McDonald", beam_size=1, replace_unk=True)
    assert (plain.text, replaced.text) == ("[UNK] chat [UNK] [UNK]", "Zurique chat McDonald minou")
    assert replaced.tokens == replaced.words == ["Zurique", "chat", "McDonald", "minou"]
    np.testing.assert_array_equal(replaced.alignment, plain.alignment)


def test_words_of_the_dictionary_are_joined_as_the_target_language_writes_them(tmp_path):
    save_dictionary(tmp_path, {"the": "l'", "tax": "impôt"})
    engine = CopyEngine(9, [UNK_ID, UNK_ID, 8], [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    translator = mock_translator(engine, both=sides(MosesTokeniser("en"), MosesTokeniser("fr")), path=tmp_path)
    result = translator.translate("the tax.", beam_size=1, replace_unk=True)
    assert (result.text, result.words) == ("l'impôt.", ["l'impôt."])


def test_every_part_of_a_long_line_and_all_of_the_best_use_the_dictionary(tmp_path):
    save_dictionary(tmp_path, {"B": "bé", "D": "dé"})
    engine = CopyEngine(9, [UNK_ID], [[0.2, 0.3, 0.5]])
    translator = mock_translator(engine, max_length=2, path=tmp_path)
    result = translator.translate("A B C D", beam_size=2, n_best=2, replace_unk=True, batch_size=1)
    assert result.text == "bé dé"
    assert not any("[UNK]" in one.text for one in result.n_best)


def test_the_dictionary_is_read_once_and_only_for_those_who_ask(tmp_path):
    (tmp_path / "dictionary.json").write_text("broken")
    translator = mock_translator(path=tmp_path)
    lines = ["the cat", "a dog"]
    assert len(list(translator.translate(lines))) == 2
    for ask in (
        lambda: translator.translate("", replace_unk=True),
        lambda: translator.translate_chunk(lines, replace_unk=True),
    ):
        with pytest.raises(UserError, match=r"dictionary\.json is damaged"):
            ask()
    save_dictionary(tmp_path, {})
    translator.translate("the cat", replace_unk=True)
    (tmp_path / "dictionary.json").write_text("broken again")
    assert len(list(translator.translate(lines, replace_unk=True))) == 2


def test_no_unk_and_its_last_resort(caplog):
    engine = MockEngine(9, 1)
    engine.table[..., UNK_ID] += 5
    translator = mock_translator(engine)
    assert "[UNK]" in translator.translate("the cat").text
    assert "[UNK]" not in translator.translate("the cat", no_unk=True).text
    never = MockEngine(9, 1, eos_bias=-np.inf)
    never.table[:, :, UNK_ID] = np.log([0.92] + [0.01] * 8)
    translator = mock_translator(never, search=SearchSettings(beam_size=4, retry=True))
    results = list(translator.translate(["", "the cat"], no_unk=True))
    assert "[UNK]" in results[1].text
    assert "line 2: nothing was found without unknown words" in caplog.text


# --- options


@pytest.mark.parametrize("option", ["beam_size", "n_best", "max_length", "batch_size"])
def test_impossible_options_are_refused_before_anything_is_read(option):
    with pytest.raises(UserError, match=f"{option} must be at least 1, not 0"):
        mock_translator().translate(iter(()), **{option: 0})
    with pytest.raises(UserError, match="a beam of 4 cannot hold the 5 best"):
        mock_translator().translate("a", n_best=5)


@pytest.mark.parametrize("option", ["beam_size", "n_best", "max_length", "batch_size"])
@pytest.mark.parametrize("value", [2.5, "3", True, float("nan"), np.zeros(2)])
def test_what_is_no_whole_number_is_refused_by_its_name(option, value):
    with pytest.raises(TypeError) as refused:
        mock_translator().translate(iter(()), **{option: value})
    assert str(refused.value) == f"{option} must be a whole number, not {value!r}"


def test_whole_numbers_of_numpy_are_whole_numbers():
    few, one = np.int64(2), np.uint8(1)
    found = list(
        mock_translator().translate(["the cat"] * 3, beam_size=few, n_best=few, max_length=few, batch_size=one)
    )
    assert [len(translation.n_best) for translation in found] == [2, 2, 2]


def test_an_unknown_option_is_named_with_the_nearest_and_all_there_are():
    for translate in (mock_translator().translate, mock_translator().translate_chunk):
        with pytest.raises(TypeError) as refused:
            translate(["a"], beam_sise=None)
        assert str(refused.value) == (
            "there is no option 'beam_sise' (did you mean beam_size?); "
            "there are beam_size, n_best, no_unk, replace_unk, max_length, batch_size"
        )


@pytest.mark.parametrize("take", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_translator_that_is_pickled_or_copied_says_what_to_do_instead(take):
    with pytest.raises(TypeError, match=r"^a Translator cannot be pickled or copied; .*: Translator\.load\('mock'\)$"):
        take(mock_translator())


@pytest.mark.parametrize("lines", [[1], ["a", None], b"ab"])
def test_what_is_no_text_is_refused_by_its_value(lines):
    with pytest.raises(TypeError, match=r"a line to translate must be a str, not (1|None|97)"):
        list(mock_translator().translate(lines))


def test_n_best_are_sorted_distinct_and_begin_with_the_best():
    result = mock_translator().translate("the dog sees a cat", n_best=4)
    assert result.n_best[0].text == result.text == mock_translator().translate("the dog sees a cat").text
    assert [t.score for t in result.n_best] == sorted((t.score for t in result.n_best), reverse=True)
    assert len({tuple(t.tokens) for t in result.n_best}) == 4


def test_a_given_translation_gets_the_score_and_alignment_of_the_search():
    translator = mock_translator(search=SearchSettings(beam_size=12))
    found = translator.translate("the dog sees a cat")
    forced = translator.align("the dog sees a cat", found.text)
    assert (forced.log_p, forced.score) == pytest.approx((found.log_p, found.score))
    np.testing.assert_allclose(forced.alignment, found.alignment, atol=1e-6)
    assert (forced.words, forced.tokens) == (found.words, found.tokens)
    assert translator.align("a", " ").alignment.shape == (0, 1)
    assert translator.align("", "un").alignment.shape == (1, 0)


def random_pairs(count, seed=4):
    rng = np.random.default_rng(seed)
    return [
        tuple(" ".join(rng.choice(words, rng.integers(0, 15))) for words in (SOURCE_WORDS, TARGET_WORDS))
        for _ in range(count)
    ]


def assert_same_alignment(one: Translation, other: Translation, atol: float):
    assert (one.source, one.text, one.words, one.source_words) == (
        other.source,
        other.text,
        other.words,
        other.source_words,
    )
    assert (one.tokens, one.source_tokens) == (other.tokens, other.source_tokens)
    assert (one.log_p, one.score) == pytest.approx((other.log_p, other.score), abs=atol)
    np.testing.assert_allclose(one.alignment, other.alignment, atol=atol)
    np.testing.assert_allclose(one.token_alignment, other.token_alignment, atol=atol)


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


@pytest.mark.parametrize(
    "ask",
    [
        lambda translator: list(translator.align_pairs([("the cat", "le chat " * 10)] * 50)),
        lambda translator: translator.translate("the cat " * 10),
    ],
    ids=["align", "translate"],
)
def test_an_interruption_stops_the_work_and_the_translator_goes_on(monkeypatch, ask):
    engine = MockEngine(9, 1, eos_bias=-np.inf)
    translator, step, guards = mock_translator(engine), engine.step, []

    class Guard(translator_module.Stoppable):
        def __init__(self, guarded):
            super().__init__(guarded)
            guards.append(self)

    monkeypatch.setattr(translator_module, "Stoppable", Guard)

    def interrupt(state, words, parents):
        if engine.steps == 3:
            guard = guards[-1]  # the next call has one of its own
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            for _ in range(3000):  # until the main thread has been told, however busy the machine
                if guard.stopped:
                    break
                time.sleep(0.01)
        return step(state, words, parents)

    engine.step = interrupt
    with pytest.raises(KeyboardInterrupt):
        ask(translator)
    assert translator.align("the", "le").log_p < 0
    assert engine.steps < 9
    assert translator.translate("the cat").text


@pytest.mark.parametrize("option", ["beam_size", "batch_size"])
@pytest.mark.parametrize("value", [10_001, 10**30])
def test_what_no_memory_holds_is_refused(option, value):
    with pytest.raises(UserError, match=f"{option} must be at most 10000, not {value}"):
        mock_translator().translate(["a"], **{option: value})


def test_the_end_of_a_line_is_no_part_of_its_last_word():
    translator = mock_translator()
    for line in ("the cat\n", "the cat\r\n", "the cat"):
        (found,) = translator.translate([line])
        assert (found.source, found.source_words) == ("the cat", ["the", "cat"])
        assert translator.align(line, "le chat\n").words == ["le", "chat"]
    (empty,) = translator.translate(["\n"])
    assert (empty.source, empty.text, empty.source_words) == ("", "", [])


def test_close_closes_the_engine():
    engine = MockEngine(9, 1)
    with mock_translator(engine) as translator:
        translator.translate("a")
        translator.close()
    assert engine.closed
    for use in (
        lambda: translator.translate("a"),
        lambda: list(translator.translate(["a"])),
        lambda: translator.align("a", "b"),
    ):
        with pytest.raises(UserError, match="is closed; load it again"):
            use()


def test_a_result_draws_itself_in_a_notebook():
    page = mock_translator().translate("<b> the & cat")._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page


# --- a real model, trained for some seconds to name the words of its source one by one


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    torch = pytest.importorskip("torch")
    from rnnsearch.model import Model

    source, target = sides(MosesTokeniser("en"), MosesTokeniser("fr"))
    settings = ModelSettings(embedding_size=16, hidden_size=24, attention_size=16, maxout_size=16)
    model = Model(settings, len(source.vocabulary), len(target.vocabulary))
    model.initialise("scaled", 5)
    optimiser, rng = torch.optim.Adam(model.parameters(), 0.01), np.random.default_rng(7)
    for _ in range(80):
        rows = [rng.integers(2, 9, length).tolist() for length in rng.integers(1, 8, 32)]
        batch = collate([(row, row) for row in rows])
        loss = model.loss(*(torch.from_numpy(part) for part in (batch.x, batch.x_mask, batch.y, batch.y_mask)))
        optimiser.zero_grad()
        (loss.total / loss.tokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    path = tmp_path_factory.mktemp("model")
    weights = {name: p.detach().numpy() for name, p in model.named_parameters()}
    save_model(path, model=settings, search=SearchSettings(beam_size=5), max_length=30, source=source, target=target,
               weights=weights, about={}, metadata={})  # fmt: skip
    return path


LINES = ["The cat sleeps.", "", "...", "?!", "-", "-n", "the dog " * 100, "a cat sees, a dog sleeps.", "cafe\u0301"] * 2


def test_a_real_model_is_the_same_alone_in_batches_and_from_four_threads(folder):
    translator = Translator.load(folder, threads=1)
    alone = [translator.translate(line) for line in LINES]
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda size: list(translator.translate(LINES, batch_size=size)), (1, 2, 5, 32)))
    for run in runs:
        for one, other in zip(alone, run, strict=True):
            assert one.source == other.source
            assert abs(one.score - other.score) < 1e-4
            assert one.text == other.text
            np.testing.assert_allclose(one.alignment, other.alignment, atol=1e-4)


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_a_real_model_aligns_many_pairs_as_each_alone(folder, precision):
    translator = Translator.load(folder, threads=2, precision=precision)
    pairs = [("", "un"), *random_pairs(40), ("the dog sees " * 30, "le chien . " * 20), ("a", "")]
    for one, pair in zip(translator.align_pairs(pairs, 7), pairs, strict=True):
        assert_same_alignment(one, translator.align(*pair), 1e-4)


@pytest.mark.parametrize("normalise", [False, True])
def test_the_mean_score_of_a_trained_model_does_not_fall_as_the_beam_widens(folder, normalise):
    opened = ModelFolder.open(folder)
    opened = dataclasses.replace(opened, search=SearchSettings(normalise=normalise))
    translator = Translator(opened, lambda: open_engine(opened, threads=1))
    rng = np.random.default_rng(1)
    lines = [" ".join(rng.choice(SOURCE_WORDS[:7], rng.integers(3, 11))) for _ in range(40)]
    scores, ratios = [], []
    for beam in (1, 4, 12, 50):
        found = list(translator.translate(lines, beam_size=beam))
        scores.append(np.mean([t.score for t in found]))
        ratios.append(sum(len(t.tokens) for t in found) / sum(len(t.source_tokens) for t in found))
    print("mean score", scores, "length ratio", ratios)  # noqa: T201 - pytest -rP shows it
    assert (np.diff(scores) >= -1e-6).all()
    assert scores[-1] > scores[0]
    assert 0.5 < min(ratios) <= max(ratios) < 1.5


def test_a_beam_as_wide_as_the_space_is_exhaustive_on_a_trained_model(folder):
    engine = open_engine(ModelFolder.open(folder), threads=1)
    words = [*range(1, 9)]
    every = [list(body) for length in range(4) for body in itertools.product(words, repeat=length)]
    y, y_mask = pad(every)
    (x, x_mask), one = pad([[3]]), np.zeros(len(every), int)
    forced = force(engine, x[one], x_mask[one], y, y_mask)
    settings = SearchSettings(beam_size=9**4, retry=True)
    (found,) = search(engine, x, x_mask, settings, n_best=settings.beam_size)
    best = {h.ids: h.score for h in found if len(h.ids) <= 4}
    assert len(best) == len(every)
    assert all(abs(best[h.ids] - h.score) < 1e-4 for h in forced)
    assert found[0].score >= max(h.score for h in forced) - 1e-5


def test_alignments_of_a_real_model_are_distributions(folder):
    for result in Translator.load(folder, threads=1).translate(LINES, n_best=3):
        for one in result.n_best:
            assert one.alignment.shape == (len(one.words), len(one.source_words))
            assert (one.token_alignment >= 0).all()
            np.testing.assert_allclose(one.alignment.sum(1), 1)


@pytest.mark.parametrize("threads", [0, -1, 99999999999])
def test_an_impossible_number_of_threads_is_refused(folder, threads):
    with pytest.raises(UserError, match=f"threads must be from 1 to 1,024, not {threads}"):
        Translator.load(folder, threads=threads)


@pytest.mark.parametrize("threads", [1.5, "2", True])
def test_a_number_of_threads_that_is_no_whole_number_is_refused(folder, threads):
    with pytest.raises(TypeError, match=f"^threads must be a whole number, not {threads!r}$"):
        Translator.load(folder, threads=threads)


def test_nothing_global_is_changed(folder):
    torch = pytest.importorskip("torch")
    threads, grad, numpy_state = torch.get_num_threads(), torch.is_grad_enabled(), np.random.get_state()[1].copy()
    errors, generator = np.geterr(), torch.random.get_rng_state()
    elsewhere = []

    def look_elsewhere():
        other = threading.Thread(target=lambda: elsewhere.append(torch.get_num_threads()))
        other.start()
        other.join()

    look_elsewhere()
    translator = Translator.load(folder, threads=threads + 1)
    translator.translate("The cat sleeps.")
    look_elsewhere()
    assert torch.get_num_threads() == threads
    assert elsewhere[0] == elsewhere[1]
    assert torch.is_grad_enabled() == grad
    assert np.geterr() == errors
    assert (np.random.get_state()[1] == numpy_state).all()
    assert torch.equal(torch.random.get_rng_state(), generator)
