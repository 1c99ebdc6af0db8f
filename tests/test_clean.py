"""Cleaning of lines: NFC, spaces, controls, emoji, and that words keep their place."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnsearch.text.clean import CleanCounts, clean_line, clean_words

# Letters, marks, emoji and everything that cleaning touches, dense enough for them to meet.
AWKWARD = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("ae\u0301\u0308 \t\n\r\x00\x1f\x85\xa0\xad\u200b\u200c\u200d\u200e\u2028\u3000\ufeff\ufe0f"),
        st.sampled_from("\U0001f468\U0001f469\u2764\U0001f3fd\U0001f3f4\U000e0067\U000e007f\ufdd0\uffff"),
    )
)


def cleaned(text: str) -> str:
    return clean_line(text, CleanCounts())


@pytest.mark.parametrize(
    "space",
    [chr(c) for c in range(0x110000) if unicodedata.category(chr(c)) in {"Zs", "Zl", "Zp"} and c != 0x20]
    + ["\t", "\v", "\f", "\r", "\n", "\x1c", "\x1d", "\x1e", "\x1f", "\x85"],
)
def test_what_is_like_a_space_becomes_one_and_is_counted(space: str) -> None:
    counts = CleanCounts()
    assert clean_line(f"a{space}b", counts) == "a b"
    assert counts == CleanCounts(spaces=1)


CONTROLS = (
    "\x00\x07\x1a\x7f\x80\x9f\xad\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202e\u2060\u2066\u2069"
    "\ufeff\ud800\ufdd0\uffff\U000e0041"
)


@pytest.mark.parametrize("control", list(CONTROLS))
def test_controls_and_invisible_characters_are_removed_and_counted(control: str) -> None:
    counts = CleanCounts()
    assert clean_line(f"so{control}me", counts) == "some"
    assert counts == CleanCounts(removed=1)


@pytest.mark.parametrize(
    "emoji",
    [
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",  # a family of three
        "\u2764\ufe0f\u200d\U0001f525",  # a heart on fire, joined behind a variation selector
        "\U0001f9d1\U0001f3fd\u200d\U0001f680",  # joined behind a skin tone
        "\U0001f3f3\ufe0f\u200d\U0001f308",
        "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",  # a flag spelled with tags
    ],
)
def test_joiners_and_tags_inside_emoji_stay(emoji: str) -> None:
    counts = CleanCounts()
    assert clean_line(f"x {emoji}!", counts) == f"x {emoji}!"
    assert counts == CleanCounts()


def test_joiners_at_the_edge_of_emoji_go() -> None:
    assert cleaned("\u200d\U0001f468\u200d x\u200dy \U0001f468\u200d\u200d\U0001f469") == (
        "\U0001f468 xy \U0001f468\U0001f469"
    )


def test_composed_and_decomposed_text_become_the_same() -> None:
    assert cleaned("cafe\u0301 na\u00efve") == cleaned("caf\u00e9 nai\u0308ve") == "caf\u00e9 na\u00efve"


def test_compatibility_characters_stay() -> None:
    assert cleaned("\ufb01n \u2026 \u00bd \uff21") == "\ufb01n \u2026 \u00bd \uff21"


def test_spaces_collapse_and_leave_the_edges_without_being_counted() -> None:
    counts = CleanCounts()
    assert clean_line("   a    b ", counts) == "a b"
    assert counts == CleanCounts()


def test_nothing_that_is_printable_is_replaced_or_removed() -> None:
    printable = "".join(filter(str.isprintable, map(chr, range(0x110000))))
    counts = CleanCounts()
    assert clean_line("\t" + printable, counts) == unicodedata.normalize("NFC", printable).strip()
    assert counts == CleanCounts(spaces=1)


def test_counts_add_up_over_lines() -> None:
    counts = CleanCounts()
    for line in ("a\xa0b\u200b", "\tc\x00", "plain"):
        clean_line(line, counts)
    assert counts == CleanCounts(spaces=2, removed=2)


@given(AWKWARD)
def test_a_cleaned_line_is_clean(text: str) -> None:
    line = cleaned(text)
    assert cleaned(line) == line
    assert unicodedata.is_normalized("NFC", line)
    assert len(line.splitlines()) <= 1
    assert line == " ".join(line.split())
    line.encode("utf-8")


@given(AWKWARD)
def test_words_are_those_of_the_cleaned_line_and_know_the_word_they_came_from(text: str) -> None:
    words, origins = clean_words(text)
    assert words == cleaned(text).split()
    given_words = [word for word in text.split(" ") if word]
    assert len(origins) == len(words)
    assert origins == sorted(origins)
    assert all(word in cleaned(given_words[at]).split() for word, at in zip(words, origins, strict=True))


def test_words_keep_their_given_place_past_words_that_vanish_or_fall_apart() -> None:
    assert clean_words("a \u200b b\xa0c  d") == (["a", "b", "c", "d"], [0, 2, 2, 3])


@pytest.mark.parametrize("word", ["می\u200cخواهم", "क्\u200dष", "ක්\u200dෂ"])
def test_joiners_that_spell_a_word_stay(word: str) -> None:
    counts = CleanCounts()
    assert clean_line(word, counts) == word
    assert counts.removed == 0
    assert clean_line(f"a\u200cb {word}\u200c", counts) == f"ab {word}"
    assert counts.removed == 2
