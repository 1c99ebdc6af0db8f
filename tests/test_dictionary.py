"""The dictionary: what is counted of alignments made by hand; `rnnsearch dictionary` over mocks and a real model."""

import gzip
import json
import shutil
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from mock_engine import MockEngine
from rnnsearch.cli import dictionary as command
from rnnsearch.cli.main import main
from rnnsearch.config import ModelSettings, SearchSettings
from rnnsearch.model_folder import ModelFolder, save_dictionary, save_model
from rnnsearch.search.dictionary import learn
from rnnsearch.text.side import Side
from rnnsearch.text.tokenise import SpaceTokeniser
from rnnsearch.text.vocabulary import UNK_ID, Vocabulary
from rnnsearch.translator import Translator

FORMAT_1 = Path(__file__).parent / "models" / "format-1"


def pair(source, target, *rows):
    """A pair with the rows of its alpha, one a target word."""
    words = source.split(), target.split()
    return (*words, np.array(rows, float).reshape(len(words[1]), len(words[0])))


CAT = pair("the Zog sleeps", "le Zogue dort", [0.9, 0.1, 0], [0.2, 0.7, 0.1], [0, 0.1, 0.6])
KNOWN = {"the", "sleeps"}


# --- counting


def test_each_word_gets_its_most_frequent_translation():
    other = pair("the Zog", "le Zug", [1, 0], [0, 1])
    assert learn([CAT, other, other, CAT, CAT], KNOWN).words == {"the": "le", "Zog": "Zogue", "sleeps": "dort"}
    assert learn([CAT, other, other, CAT, other], KNOWN).words["Zog"] == "Zug"


def test_what_was_linked_once_is_chance():
    once = pair("the Zog", "le Zug", [1, 0], [0, 1])
    assert learn([CAT, once], KNOWN).words == {"the": "le"}


def test_a_word_is_linked_twice_by_one_pair_too():
    assert learn([pair("Zog Zog", "Zug Zug", [1, 0], [0, 1])], KNOWN).words == {"Zog": "Zug"}


def test_ties_go_by_spelling_whatever_came_first():
    one, other = pair("Zog", "b", [1]), pair("Zog", "a", [1])
    assert learn([one, one, other, other], KNOWN).words == {"Zog": "a"}
    assert learn([other, other, one, one], KNOWN).words == {"Zog": "a"}


@pytest.mark.parametrize(("weight", "words"), [(0.49, {}), (0.5, {"Zog": "Zug"})])
def test_a_link_needs_half_of_the_weight(weight, words):
    """The row sums to less than 1: the rest went to the sentence end."""
    assert learn([pair("the Zog", "Zug", [0.1, weight])] * 2, KNOWN).words == words


def test_unknown_words_are_counted_by_what_the_text_has_of_them():
    empty = (["Zog", "Nix", "the"], [], np.zeros((0, 3)))
    no_source = ([], ["le"], np.zeros((1, 0)))
    found = learn([CAT, empty, no_source, CAT], KNOWN)
    assert found.unknown == {"Zog": 3, "Nix": 1}
    assert found.words["Zog"] == "Zogue"


def test_an_empty_text_gives_nothing():
    assert learn([], KNOWN).words == {}


def test_memory_is_bounded_and_frequent_words_survive():
    """10,000 chance links pass through a table of 50; the word between them is met often enough to stay in it."""
    noise = [pair(f"s{i}", f"t{i}", [1]) for i in range(10_000)]
    frequent = pair("Zog", "Zug", [1])
    mixed = [each for i, one in enumerate(noise) for each in ((one, frequent) if i % 5 == 0 else (one,))]
    found = learn(mixed, set(), limit=50)
    assert found.words == {"Zog": "Zug"}
    assert len(found.unknown) <= 50
    assert 1900 <= found.unknown["Zog"] <= 2000


# --- the command over mocks


def mock(path, architecture="rnnsearch", kind="none"):
    tokeniser = SpaceTokeniser()
    tokeniser.kind = kind
    sides = (Side("source", "en", tokeniser, Vocabulary(["the", "sleeps"])),
             Side("target", "fr", tokeniser, Vocabulary(["le", "dort"])))  # fmt: skip
    folder = ModelFolder(path, ModelSettings(architecture=architecture), SearchSettings(), 20, *sides, {})
    return Translator(folder, lambda: DiagonalEngine(4, 1))


class DiagonalEngine(MockEngine):
    """The k-th target word looks at the k-th source word."""

    def start(self, memory, beam):
        self.at = -1
        return super().start(memory, beam)

    def step(self, state, words, parents):
        state, log_p, alpha = super().step(state, words, parents)
        self.at += 1
        look = np.zeros_like(alpha)
        look[:, min(self.at, look.shape[1] - 1)] = 1
        return (*state[:-1], look), log_p, look


@pytest.fixture
def asked(monkeypatch):
    """Makes Translator.load give mocks by the name of the folder; returns what it was asked for."""
    calls = []

    def load(*paths, **options):
        calls.append((*(path.name for path in paths), options))
        name = paths[0].name
        return mock(paths[0], "rnnencdec" if "encdec" in name else "rnnsearch", "subword" if "bpe" in name else "none")

    monkeypatch.setattr(Translator, "load", load)
    return calls


@pytest.fixture
def files(tmp_path):
    (tmp_path / "m").mkdir()
    (tmp_path / "a.en").write_text("the Zog sleeps\n\nthe Zog Nix\n", encoding="utf-8")
    (tmp_path / "a.fr").write_text("le Zögue dort\nle\nle Zögue\n", encoding="utf-8")
    return tmp_path


def run(folder, *flags, model="m", source="a.en", target="a.fr"):
    return main(["dictionary", "--model", str(folder / model), str(folder / source), str(folder / target), *flags])


def failure(capsys):
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    return captured.err.removeprefix("rnnsearch: error: ").removesuffix("\n")


def test_the_dictionary_is_written_sorted_and_the_command_says_what_it_covers(asked, files, capsys):
    assert run(files, "--threads", "3", "--precision", "float32") == 0
    written = (files / "m" / "dictionary.json").read_bytes()
    assert written.decode() == ('{\n  "format": 1,\n  "words": {\n    "Zog": "Zögue",\n    "the": "le"\n  }\n}\n')
    assert capsys.readouterr() == ("", (
        f"rnnsearch: wrote {files}/m/dictionary.json: 2 words; of 2 words of the text that the source vocabulary lacks "
        "it has 1, 66.7% of their occurrences\n"
    ))  # fmt: skip
    assert asked == [("m", {"threads": 3, "device": "cpu", "precision": "float32"})]


def test_a_text_without_unknown_words_is_said_to_be_one(asked, files, capsys):
    (files / "a.en").write_text("the sleeps\n" * 3)
    (files / "a.fr").write_text("le dort\n" * 3)
    assert run(files) == 0
    assert "2 words; the source vocabulary lacks no word of the text" in capsys.readouterr().err


def test_an_older_dictionary_is_replaced_whole(asked, files):
    save_dictionary(files / "m", {"old": "vieux", "Zog": "faux"})
    assert run(files) == 0
    assert json.loads((files / "m" / "dictionary.json").read_bytes())["words"] == {"the": "le", "Zog": "Zögue"}


def test_packed_files_and_other_encodings_are_read(asked, files):
    for name in ("a.en", "a.fr"):
        data = (files / name).read_text(encoding="utf-8").encode("cp1252")
        (files / f"{name}.gz").write_bytes(gzip.compress(data))
    assert run(files, "--encoding", "cp1252", source="a.en.gz", target="a.fr.gz") == 0
    assert json.loads((files / "m" / "dictionary.json").read_bytes())["words"]["Zog"] == "Zögue"


def test_of_an_ensemble_the_first_model_gets_it(asked, files):
    (files / "other").mkdir()
    assert run(files, "--model", str(files / "other")) == 0
    assert asked[0][:2] == ("m", "other")
    assert (files / "m" / "dictionary.json").exists()
    assert not (files / "other" / "dictionary.json").exists()


def test_a_long_text_says_how_far_it_is(asked, files, capsys, monkeypatch):
    monkeypatch.setattr(command, "TOLD_EVERY", 2)
    assert run(files) == 0
    assert capsys.readouterr().err.count("pairs aligned") == 1


@pytest.mark.parametrize(
    ("model", "said"), [("encdec", "no alignment to show"), ("bpe", "a dictionary is for models of whole words")]
)
def test_models_that_have_no_use_for_it_are_refused(asked, files, capsys, model, said):
    (files / model).mkdir()
    assert run(files, model=model) == 1
    assert said in failure(capsys)
    assert list((files / model).iterdir()) == []


@pytest.mark.parametrize(
    ("source", "said"), [("one line\n", "they must be translations line by line"), ("a\nb\nc\n", "nothing was written")]
)
def test_where_nothing_can_be_learnt_the_older_one_stays(asked, files, capsys, source, said):
    save_dictionary(files / "m", {"Zog": "Zug"})
    before = (files / "m" / "dictionary.json").read_bytes()
    (files / "a.en").write_text(source)
    assert run(files) == 1
    assert said in failure(capsys)
    assert (files / "m" / "dictionary.json").read_bytes() == before


def test_a_folder_that_cannot_be_written_is_named_before_the_work(asked, files, capsys, monkeypatch):
    (files / "m" / "dictionary.json").mkdir()
    monkeypatch.setattr(Translator, "align_pairs", lambda *_: pytest.fail("it aligned first"))
    assert run(files) == 1
    assert "dictionary.json: Is a directory" in failure(capsys)


# --- a real model of whole words


PAIRS = [("the Zog sleeps .", "le Zogue dort ."), ("a Nix sees the Zog", "un Nixe voit le Zogue"),
         ("the Nix sleeps", "le Nixe dort"), ("", "vide"), ("Zog .", "Zogue ."), ("a Zog", "")] * 3  # fmt: skip


def test_a_subword_model_of_a_real_folder_is_refused_in_one_sentence(tmp_path, files, capsys):
    shutil.copytree(FORMAT_1, tmp_path / "real")
    assert run(files, model="real") == 1
    assert "spells with subwords" in failure(capsys)


@pytest.fixture
def real(tmp_path):
    """The weights of format 1 with words for subwords: it looks sharply, and writes [UNK] nearly always."""
    old = ModelFolder.open(FORMAT_1)
    weights = old.weights()
    weights["attention.v_a"] = weights["attention.v_a"] * 30
    weights["output.W_o"] = weights["output.W_o"] / 10
    weights["output.b_y"] = np.where(np.arange(len(old.target.vocabulary)) == UNK_ID, 6, 0).astype(np.float32)
    known = {"source": ["the", "a", "sleeps", "sees", "."], "target": ["le", "un", "dort", "voit", "."]}
    source, target = (
        Side(side.role, side.language, SpaceTokeniser(), vocabulary(known[side.role], len(side.vocabulary)))
        for side in (old.source, old.target)
    )
    save_model(tmp_path / "real", model=old.model, search=old.search, max_length=40, source=source, target=target,
               weights=weights, about={}, metadata={})  # fmt: skip
    for column, name in enumerate(("text.en", "text.fr")):
        (tmp_path / name).write_text("".join(f"{pair[column]}\n" for pair in PAIRS))
    (tmp_path / "new.en").write_text("the Zog sleeps .\nXanadu Zog\n")
    return tmp_path


def vocabulary(words, size):
    return Vocabulary([*words, *(f"word{i}" for i in range(size - 2 - len(words)))])


def by_hand(folder):
    """The same dictionary, pair by pair and link by link."""
    counts: dict[str, Counter[str]] = {}
    with Translator.load(folder, threads=1, precision="float32") as translator:
        for source, target in PAIRS:
            found = translator.align(source, target, posterior=True)
            for t, word in enumerate(found.tokens):
                for s, other in enumerate(found.source_tokens):
                    if found.token_alignment[t, s] >= 0.5:
                        counts.setdefault(other, Counter())[word] += 1
    most = {source: max(each.values()) for source, each in counts.items()}
    return {s: min(t for t in each if each[t] == most[s]) for s, each in counts.items() if most[s] >= 2}


def test_a_real_model_learns_what_its_alignments_say_and_replace_unk_uses_it(real, capsysbinary, monkeypatch):
    def translated(*flags):
        with (real / "new.en").open() as lines:
            monkeypatch.setattr(sys, "stdin", lines)
            assert main(["translate", "--model", str(real / "real"), "--precision", "float32", *flags]) == 0
        return [line.split() for line in capsysbinary.readouterr().out.decode().splitlines()]

    copied, plain = translated("--replace-unk"), translated()
    assert run(real, "--precision", "float32", "--threads", "2", model="real", source="text.en", target="text.fr") == 0
    capsysbinary.readouterr()
    words = by_hand(real / "real")
    assert ModelFolder.open(real / "real").dictionary() == words
    assert {"Zog", "the"} & set(words)
    assert translated() == plain
    replaced = translated("--replace-unk")
    assert replaced != copied
    for line, before, after in zip(plain, copied, replaced, strict=True):
        assert "[UNK]" in line and "[UNK]" not in after
        expected = [words.get(old, old) if word == "[UNK]" else word for word, old in zip(line, before, strict=True)]
        assert after == expected
