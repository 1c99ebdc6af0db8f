"""`Translator`: lines in, translations out; its options; how it ends."""

import copy
import functools
import itertools
import os
import pickle
import signal
import threading
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from mock_engine import MockEngine
from mock_translator import (
    SOURCE_WORDS,
    TARGET_WORDS,
    mock_translator,
    sides,
)
from rnnsearch.errors import UserError
from rnnsearch.text.side import Side
from rnnsearch.text.tokenise import MosesTokeniser, SubwordTokeniser, train_subwords
from rnnsearch.text.vocabulary import Vocabulary
from rnnsearch.translator import GRID_CELLS, READ_AHEAD, Translation
from rnnsearch.translator import translator as translator_module

MODEL = Path(__file__).parent / "models" / "format-1"


def same(one: Translation, other: Translation):
    return one.text == other.text and abs(one.score - other.score) < 1e-4


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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that can fork")
def test_a_translator_does_not_go_along_into_a_fork(python):
    done = python("-c", """if True:
        import os
        from rnnsearch import Translator
        from rnnsearch.errors import UserError
        translator = Translator.load(os.environ["MODEL"], threads=1)
        translator.translate("a")
        if os.fork():
            os.wait()
        else:
            try:
                translator.translate("a")
            except UserError as error:
                print(error)
            print(Translator.load(os.environ["MODEL"], threads=1).translate("a").source == "a")
        """, MODEL=str(MODEL))  # fmt: skip
    assert done.stdout == (
        f"the translator of {MODEL} belongs to another process; load it again where it is needed: "
        f"Translator.load('{MODEL}')\nTrue\n"
    )


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
