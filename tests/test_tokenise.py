"""The three tokenisers and vocabularies: text is text, round trips, shrinking, determinism."""

import itertools
import logging
import random
from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sentencepiece import SentencePieceProcessor

from rnnsearch.errors import UserError
from rnnsearch.text.clean import CleanCounts, clean_line
from rnnsearch.text.tokenise import (
    MosesTokeniser,
    SpaceTokeniser,
    SubwordTokeniser,
    Tokeniser,
    open_tokeniser,
    subwords_for,
    train_subwords,
)
from rnnsearch.text.vocabulary import EOS_ID, UNK_ID, Vocabulary, count_words, most_frequent

SPECIAL = [
    "<unk>",
    "</s>",
    "<s>",
    "[UNK]",
    "|||",
    "@@",
    "x@@",
    "@-@",
    "&apos;",
    "&amp;",
    "\u2581",
    "a\u2581b",
    "DOTMULTI",
]
EMOJI = ["\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f44d\U0001f3fd", "\U0001f1eb\U0001f1f7", "\u2764\ufe0f"]
LINES = [
    "le chat noir dort .",
    "les chats noirs dorment bien , n'est-ce pas ?",
    *(f"voir {word} ici" for word in SPECIAL),
]

MOSES = {language: MosesTokeniser(language) for language in ("en", "fr", "de", "cs", "xx")}
SUBWORDS = SubwordTokeniser(train_subwords(LINES * 20, 200))
ALL: list[Tokeniser] = [*MOSES.values(), SUBWORDS, SpaceTokeniser()]


def bare(text: str) -> str:
    return text.replace(" ", "")


@pytest.mark.parametrize("tokeniser", ALL, ids=[*MOSES, "subword", "none"])
@pytest.mark.parametrize("word", SPECIAL + EMOJI)
def test_whatever_text_holds_is_text(tokeniser: Tokeniser, word: str) -> None:
    for line in (word, f"a {word} b", f"{word} {word}", f"x{word}y"):
        tokens = tokeniser.tokenise(line)
        assert all(token and " " not in token for token in tokens)
        assert bare(tokeniser.detokenise(tokens)) == bare(line)
        if tokeniser.kind != "moses":
            assert tokeniser.detokenise(tokens) == line


@settings(max_examples=40, deadline=None)
@given(st.text(st.one_of(st.characters(), st.sampled_from(" '\u2019.,-&<>[]|@\u2581\u200d\u2764\ufe0fabs"))))
def test_no_character_is_lost_on_the_way_and_back(text: str) -> None:
    line = clean_line(text, CleanCounts())
    for tokeniser in ALL:
        tokens = tokeniser.tokenise(line)
        assert bool(tokens) == bool(line)
        assert bare(tokeniser.detokenise(tokens)) == bare(line)
    assert SUBWORDS.detokenise(SUBWORDS.tokenise(line)) == line


# What Moses' rules look at: stops and what follows them, commas and apostrophes at the edges of words, its own marks.
PART = st.one_of(
    st.sampled_from(
        [".", ",", "'", "\u2019", "..", "(", "-", "_", "a", "A", "\u00df", "\u00c9", "5", "\u0661", "\u4e2d"]
    ),
    st.sampled_from(["\u0301", "DOT", "MULTI", "DOTMULTI", *EMOJI]),
    st.characters(),
)
WORD = st.one_of(st.sampled_from(["cat.", "No.", "Mr.", "U.S.", "5", "a", ",5", "'s"]), st.lists(PART).map("".join))


@pytest.mark.parametrize("language", MOSES)
@settings(max_examples=60, deadline=None)
@given(st.lists(WORD))
@example([",5", "No.", "5", "cat.", "a", "No.", "A", "a_b"])
@example(["1'", "'2", "a"])
@example(["DOTMULTI", "a"])
def test_moses_word_by_word_is_moses_on_the_line(language: str, words: list[str]) -> None:
    moses, text = MOSES[language], " ".join(words)
    for line in (text, clean_line(text, CleanCounts())):
        assert moses.tokenise(line) == (moses._cut(line) or SpaceTokeniser().tokenise(line))


def test_only_words_that_may_come_again_are_remembered() -> None:
    for tokeniser, remembered in (
        (MosesTokeniser("en"), "_alone"),
        (SubwordTokeniser(SUBWORDS.files()["subwords.model"]), "_word"),
    ):
        for line in ("le chat noir", "le chat", "\u6f22" * 100, "\u5b57" * 100):
            tokeniser.tokenise(line)
        assert getattr(tokeniser, remembered).cache_info()[:2] == (2, 3)  # hits, misses


@pytest.mark.parametrize("size", [4, 200])
@settings(max_examples=100, deadline=None)
@given(st.text(st.one_of(st.characters(), st.sampled_from("  \u2581\u6f22\u5b57abelchatsnoir'.,"))))
def test_subwords_word_by_word_are_those_of_the_line(size: int, text: str) -> None:
    model = train_subwords(LINES * 20, size)
    line = clean_line(text, CleanCounts())
    whole = SentencePieceProcessor(model_proto=model).encode(line.replace("\u2581", "\ufdd0"), out_type=str)
    assert SubwordTokeniser(model).tokenise(line) == whole


@pytest.mark.parametrize(
    ("language", "line", "tokens"),
    [
        ("fr", "L'homme d'aujourd'hui, n'est-ce pas ?", "L' homme d' aujourd' hui , n' est-ce pas ?"),
        ("fr", "l\u2019homme qu\u2019il", "l\u2019 homme qu\u2019 il"),
        ("en", "The dog's bone isn't Mr. Smith's.", "The dog 's bone isn 't Mr. Smith 's ."),
        ("en", "It\u2019s well-known (1,250.00).", "It \u2019s well-known ( 1,250.00 ) ."),
        ("en", "-n", "-n"),
        ("en", "Hi \U0001f468\u200d\U0001f469!", "Hi \U0001f468\u200d\U0001f469 !"),
    ],
)
def test_moses_cuts_words_as_moses_does(language: str, line: str, tokens: str) -> None:
    assert MOSES[language].tokenise(line) == tokens.split(" ")


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("fr", "L'homme d'aujourd'hui a dit : « Bonjour », n'est-ce pas ?"),
        ("fr", "l\u2019homme d\u2019ici qu\u2019il voit"),
        ("fr", 'Il a dit "oui" (deux fois) et 50 % ; voilà !'),
        ("fr", "chez les parents'"),
        ("en", "The dogs' bone isn't here; he said \"hello\" and 'bye'... done."),
        ("en", "\u201cHello,\u201d he said. \u2018Quoted\u2019, it\u2019s fine."),
        ("en", "He kept on rockin' all night."),
        ("de", "Wie geht's?"),
        ("de", "\u201eHallo\u201c, sagte der Jungs' Ball."),
        ("cs", "máš-li e-mail"),
    ],
)
def test_moses_puts_together_what_a_person_writes(language: str, line: str) -> None:
    assert MOSES[language].detokenise(MOSES[language].tokenise(line)) == line


def test_a_construction_that_the_library_cannot_join_is_still_joined() -> None:
    assert bare(MOSES["cs"].detokenise(["je", "a'", "-", "li", "x"])) == "jea'-lix"


def test_none_splits_at_spaces_and_joins_with_them() -> None:
    assert SpaceTokeniser().tokenise("l' homme 's @-@ .") == ["l'", "homme", "'s", "@-@", "."]
    assert SpaceTokeniser().tokenise("") == []
    assert SpaceTokeniser().detokenise(["a", "@@", "."]) == "a @@ ."


def test_subwords_mark_word_starts_and_split_rare_words() -> None:
    tokens = SUBWORDS.tokenise("le chatdort")
    assert tokens[0] == "\u2581le"
    assert sum(token.startswith("\u2581") for token in tokens) == 2
    assert len(tokens) > 2


def test_characters_unknown_to_the_subwords_come_as_they_are() -> None:
    tokens = SUBWORDS.tokenise("le \u6f22\u5b57")
    assert not all(map(SUBWORDS.knows, tokens))
    assert SUBWORDS.detokenise(tokens) == "le \u6f22\u5b57"


def test_the_subword_model_depends_on_the_text_alone_and_is_silent(capfd: pytest.CaptureFixture[str]) -> None:
    models = {train_subwords(iter(LINES * 20), 120) for _ in range(3)}
    assert len(models) == 1
    assert train_subwords([*LINES[1:], "autre"] * 20, 120) not in models
    assert train_subwords((LINES * 20)[::-1], 120) in models
    SubwordTokeniser(models.pop()).tokenise("le chat \u6f22")
    assert capfd.readouterr() == ("", "")


def test_lines_of_any_length_teach_subwords() -> None:
    rng = random.Random(3)
    words = ["zyx" + "".join(rng.choices("qwk", k=2)) for _ in range(3000)]
    together, apart = train_subwords([" ".join(words)], 60), train_subwords(words, 60)
    assert together == apart
    assert SubwordTokeniser(train_subwords(["x" * 50_000 + "y"], 60)).knows("y")


def test_a_subword_vocabulary_too_large_shrinks_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "rnnsearch"):
        tokeniser = SubwordTokeniser(train_subwords(LINES, 32_000))
    assert len(caplog.messages) == 1
    assert "subword vocabulary shrank from 32,000 to " in caplog.text
    assert tokeniser.tokenise("le chat") == ["\u2581le", "\u2581chat"]


def test_an_alphabet_too_large_leaves_the_rarest_characters_out(caplog: pytest.LogCaptureFixture) -> None:
    lines = [chr(0x4E00 + i) * (3 if i < 20 else 1) + "\u2581" for i in range(400)]
    with caplog.at_level(logging.WARNING, "rnnsearch"):
        tokeniser = SubwordTokeniser(train_subwords(lines, 40))
    assert "401 different characters: only the 20 most frequent" in caplog.text
    assert tokeniser.knows("\u4e00")
    assert not tokeniser.knows(chr(0x4E00 + 399))


@pytest.mark.parametrize(
    ("letters", "expected"),
    [(2, 1000), (219_917, 2000), (1_102_722, 5000), (3_168_131, 8000), (37_914_985, 8000)],
)
def test_little_text_gets_few_subwords(letters: int, expected: int) -> None:
    assert subwords_for(letters) == expected


def test_how_many_subwords_goes_by_the_letters_of_the_text(caplog: pytest.LogCaptureFixture) -> None:
    words = ["".join(letters) for letters in itertools.product("abcdefghij", repeat=4)]
    with caplog.at_level(logging.WARNING, "rnnsearch"):
        chosen = train_subwords([" ".join(words)] * 4)  # 160,000 letters
    assert chosen == train_subwords([" ".join(words)] * 4, 2000)
    assert chosen != train_subwords([" ".join(words)] * 2)  # 80,000
    train_subwords(["a b"])
    assert not caplog.messages  # what nobody asked for does not shrink


@pytest.mark.parametrize("size", [4, 5, 10])
def test_tiny_vocabularies_are_possible(size: int) -> None:
    tokeniser = SubwordTokeniser(train_subwords(LINES, size))
    assert tokeniser.detokenise(tokeniser.tokenise("le chat")) == "le chat"


def test_no_text_teaches_no_subwords() -> None:
    with pytest.raises(UserError, match="no text to learn subwords from"):
        train_subwords([""], 100)


def test_only_subwords_need_a_file() -> None:
    assert [list(tokeniser.files()) for tokeniser in (MOSES["fr"], SpaceTokeniser(), SUBWORDS)] == [
        [],
        [],
        ["subwords.model"],
    ]
    again = open_tokeniser("subword", "fr", SUBWORDS.files()["subwords.model"])
    assert again.tokenise("les chats") == SUBWORDS.tokenise("les chats")
    for kind, data in (("subword", None), ("subword", b"damaged"), ("bpe", None)):
        with pytest.raises(ValueError, match=r"tokeniser|SentencePiece"):
            open_tokeniser(kind, "fr", data)


def test_ids_follow_frequency_and_ties_spelling() -> None:
    vocabulary = most_frequent(Counter({"b": 2, "a": 2, "c": 5, "d": 1}), 5, "source")
    assert vocabulary.ids(["c", "a", "b", "d", "x"]) == [2, 3, 4, UNK_ID, UNK_ID]
    assert vocabulary.tokens([2, 3, 4, UNK_ID, EOS_ID]) == ["c", "a", "b", "[UNK]", "</s>"]
    assert len(vocabulary) == 5


def test_special_spellings_are_ordinary_words() -> None:
    vocabulary = Vocabulary(["[UNK]", "</s>", "", " "])
    assert vocabulary.ids(["[UNK]", "</s>", "", " ", "<unk>"]) == [2, 3, 4, 5, UNK_ID]
    assert Vocabulary.from_bytes(vocabulary.to_bytes()) == vocabulary


def test_the_papers_vocabulary_counts_the_two_special_entries() -> None:
    counts = Counter({f"w{i}": 1 + i for i in range(50_000)})
    assert len(most_frequent(counts, 30_000, "source")) == 30_000
    assert len(most_frequent(counts, 30_000, "source").words) == 29_998


def test_a_word_vocabulary_too_large_shrinks_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "rnnsearch"):
        assert len(most_frequent(Counter("abc"), 30_000, "target")) == 5
    assert caplog.messages == ["the target vocabulary shrank from 30,000 to 5: the text has no more words"]


@pytest.mark.parametrize("data", [b"{}", b"[1]", b"\xff", b'["a", "a"]', b"["])
def test_what_is_no_vocabulary_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Vocabulary.from_bytes(data)


def test_counting_words_is_bounded_and_keeps_the_frequent() -> None:
    lines = [["often", f"rare{i}", "often"] for i in range(5000)]
    counts = count_words(lines, limit=100)
    assert len(counts) <= 100
    assert counts["often"] == 10_000
    assert count_words(lines)["rare7"] == 1
