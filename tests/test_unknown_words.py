"""[UNK] in a translation: printed, copied, looked up, or never chosen."""

import numpy as np
import pytest

from mock_engine import MockEngine
from mock_translator import CopyEngine, mock_translator, sides
from rnnsearch.config import SearchSettings
from rnnsearch.errors import UserError
from rnnsearch.model_folder import save_dictionary
from rnnsearch.text.tokenise import MosesTokeniser
from rnnsearch.text.vocabulary import UNK_ID


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
