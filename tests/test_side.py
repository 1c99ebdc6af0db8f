"""A side: lines to ids and back, its files and checks; and which word a token belongs to."""

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnsearch.errors import UserError
from rnnsearch.text.clean import CleanCounts, clean_line
from rnnsearch.text.side import Side, token_words
from rnnsearch.text.tokenise import MosesTokeniser, SpaceTokeniser, SubwordTokeniser, Tokeniser, train_subwords
from rnnsearch.text.vocabulary import UNK_ID, Vocabulary

WORDS = ["caf\u00e9", "na\u00efve", "l'", "homme", ".", "le", "chat"]
LINES = ["caf\u00e9 na\u00efve l'homme .", "le chat \u2581 dort"] * 20


def side(kind: str, role: Any = "source") -> Side:
    if kind == "subword":
        tokeniser = SubwordTokeniser(train_subwords(LINES, 60))
        pieces = {piece: None for line in LINES for piece in tokeniser.tokenise(line)}
        return Side(role, "fr", tokeniser, Vocabulary(list(pieces)))
    plain: Tokeniser = MosesTokeniser("fr") if kind == "moses" else SpaceTokeniser()
    return Side(role, "fr", plain, Vocabulary(WORDS))


KINDS = pytest.mark.parametrize("kind", ["moses", "subword", "none"])


@KINDS
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cafe\u0301 na\u00efve", "caf\u00e9 nai\u0308ve"),
        ("le\u00a0chat\t.", " le chat\u200b . "),
        ("\ufeffle chat", "le chat\r"),
        ("le\u0001 cha\u00adt", "le chat"),
    ],
)
def test_lines_that_read_the_same_are_the_same(kind: str, one: str, other: str) -> None:
    codec = side(kind)
    first, second = codec.encode(one), codec.encode(other)
    assert first == second
    assert len(first.ids) == len(first.tokens)
    assert UNK_ID not in first.ids
    assert codec.decode(first.tokens) == codec.decode(second.tokens)
    assert codec.decode(first.tokens).replace(" .", ".") == clean_line(one, CleanCounts()).replace(" .", ".")


@KINDS
def test_a_line_without_text_has_no_tokens(kind: str) -> None:
    for line in ("", "  ", "\u200b\u00a0"):
        assert side(kind).encode(line).tokens == []
    assert side(kind).decode([]) == ""


def test_a_subword_that_only_the_other_language_has_is_cut_into_known_ones() -> None:
    tokeniser = SubwordTokeniser(train_subwords(["schadenfreude ist"] * 50 + ["a sad fred ended, rich us"] * 20, 80))
    assert tokeniser.tokenise("schadenfreude") == ["\u2581schadenfreude"]
    letters = [*"\u2581,abcdefhinrstu", "\u2581s", "fre", "de", "den"]
    codec = Side("source", "en", tokeniser, Vocabulary(letters))
    encoded = codec.encode("schadenfreude \u6f22 us")
    assert encoded.tokens == [
        "\u2581s",
        "c",
        "h",
        "a",
        "den",
        "fre",
        "u",
        "de",
        "\u2581",
        "\u6f22",
        *encoded.tokens[10:],
    ]
    assert codec.decode(encoded.tokens) == "schadenfreude \u6f22 us"
    assert encoded.ids.count(UNK_ID) == 1


def test_words_outside_the_vocabulary_keep_their_spelling() -> None:
    encoded = side("moses").encode("le Chien dort.")
    assert encoded.tokens == ["le", "Chien", "dort", "."]
    assert encoded.ids == [7, UNK_ID, UNK_ID, 6]


def save(codec: Side, folder: Path) -> dict[str, Any]:
    for name, data in codec.files().items():
        (folder / name).write_bytes(data)
    return codec.config()


@KINDS
@pytest.mark.parametrize("role", ["source", "target"])
def test_the_files_hold_all_that_is_needed(tmp_path: Path, kind: str, role: str) -> None:
    codec = side(kind, role)
    config = save(codec, tmp_path)
    assert set(config["files"]) == {p.name for p in tmp_path.iterdir()}
    assert f"{role}.vocabulary.json" in config["files"]
    assert ("subwords.model" in config["files"]) == (kind == "subword")
    again = Side.load(config, tmp_path)
    assert (again.role, again.language, again.tokeniser.kind) == (role, "fr", kind)
    assert again.encode("le chat na\u00efve, l'homme x") == codec.encode("le chat na\u00efve, l'homme x")
    assert again.config() == config


def test_both_sides_share_one_subword_file() -> None:
    source, target = side("subword"), side("subword", "target")
    assert source.files()["subwords.model"] == target.files()["subwords.model"]
    assert len(source.files() | target.files()) == 3


def test_every_damaged_or_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    config = save(side("subword"), tmp_path)
    for name in config["files"]:
        whole = (tmp_path / name).read_bytes()
        for damaged in (whole[:-1], whole + b" ", b"", bytes([whole[0] ^ 1]) + whole[1:]):
            (tmp_path / name).write_bytes(damaged)
            with pytest.raises(UserError, match=rf"{name} is damaged"):
                Side.load(config, tmp_path)
        (tmp_path / name).unlink()
        with pytest.raises(UserError, match=rf"cannot read .*{name}: No such file"):
            Side.load(config, tmp_path)
        (tmp_path / name).write_bytes(whole)
    assert Side.load(config, tmp_path).language == "fr"


@pytest.mark.parametrize("change", [{"role": "middle"}, {"tokeniser": "bpe"}, {"files": {}}, {"files": 3}])
def test_a_description_that_makes_no_sense_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    config = save(side("moses"), tmp_path) | change
    with pytest.raises(UserError, match="does not describe its text files"):
        Side.load(config, tmp_path)
    with pytest.raises(UserError, match="does not describe its text files"):
        Side.load({key: value for key, value in config.items() if key not in change}, tmp_path)


@KINDS
@pytest.mark.parametrize(
    "line", ["l'homme na\u00efve .", "le chat, l'homme.", "a\u2581b \u2581 c", "\u6f22\u5b57 x\u6f22 y", "x"]
)
def test_tokens_know_their_word(kind: str, line: str) -> None:
    tokens, words = side(kind).encode(line).tokens, line.split(" ")
    found = token_words(tokens, words)
    assert len(found) == len(tokens)
    for index, group in itertools.groupby(zip(found, tokens, strict=True), key=lambda pair: pair[0]):
        spelled = side(kind).decode([token for _, token in group])
        assert spelled.replace(" ", "") == words[index]


def test_tokens_of_one_word_and_words_of_one_token() -> None:
    words = ["l'homme", "est", "l\u00e0."]
    assert token_words(["l'", "homme", "est", "l\u00e0", "."], words) == [0, 0, 1, 2, 2]
    assert token_words(["\u2581l", "'ho", "mme", "\u2581", "est", "\u2581l\u00e0", "."], words) == [0, 0, 0, 1, 1, 2, 2]
    assert token_words(["l'hommeest", "l\u00e0."], words) == [0, 2]


def test_characters_that_differ_do_not_shift_what_follows() -> None:
    assert token_words(["le", "[UNK]", "noir", "dort"], ["le", "gros", "chat", "noir", "dort"])[2:] == [3, 4]
    assert token_words(["a", "&apos;", "b"], ["a", "'", "b"])[0] == 0
    assert token_words(["a"], []) == [0]
    assert token_words([], ["a"]) == []


@given(st.lists(st.text(max_size=6), max_size=8), st.lists(st.text(min_size=1, max_size=6), max_size=8))
def test_whatever_the_tokens_the_words_exist_and_never_fall(tokens: list[str], words: list[str]) -> None:
    found = token_words(tokens, words)
    assert len(found) == len(tokens)
    assert found == sorted(found)
    assert all(0 <= word < max(len(words), 1) for word in found)


@given(st.lists(st.text("ab.'\u00e9", min_size=1, max_size=6), min_size=1, max_size=8), st.data())
def test_any_cutting_of_the_words_is_found_again(words: list[str], data: st.DataObject) -> None:
    cuts = [data.draw(st.lists(st.integers(1, len(word)), unique=True).map(sorted)) for word in words]
    tokens, expected = [], []
    for index, (word, places) in enumerate(zip(words, cuts, strict=True)):
        for start, end in itertools.pairwise([0, *[p for p in places if p < len(word)], len(word)]):
            tokens.append(word[start:end])
            expected.append(index)
    assert token_words(tokens, words) == expected
