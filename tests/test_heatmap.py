"""Drawings of alignments: what stands where, any script, any length, and nothing that steers a page or a terminal."""

import io
import logging
import re
import warnings
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from rnnsearch.evaluation import heatmap

matplotlib = pytest.importorskip("matplotlib", reason="drawing PNGs needs the extra [plot]")

NOBODYS = "\U000f1234"  # of a private plane: no font has it


def grey_image(path):
    from matplotlib.image import imread

    return np.rint(imread(path)[..., 0] * 255).astype(int)


def squares(n, m):
    return np.random.default_rng(0).dirichlet(np.ones(m), n) if m else np.zeros((n, 0))


class Tags(HTMLParser):
    """Collects (tag, attributes) and the text."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text.append(data)


def test_png_has_the_source_across_the_target_down_and_white_for_one(tmp_path):
    heatmap.png(tmp_path / "a.png", ["x", "y"], ["a", "b", "c"], np.array([[0, 0.6, 0], [0, 0, 0.3]]))
    image = grey_image(tmp_path / "a.png")
    places = [np.argwhere(image == level).mean(axis=0) for level in (153, 76)]  # 0.6 and 0.3 of 255
    sizes = [(image == level).sum() for level in (153, 76)]
    assert all(800 < size < 1000 for size in sizes)  # a square is 30 x 30
    assert np.allclose(places[1] - places[0], (30, 30), atol=3)  # one row down, one column right
    heatmap.png(tmp_path / "b.png", ["x"], ["a"], np.array([[1.0]]))
    heatmap.png(tmp_path / "c.png", ["x"], ["a"], np.array([[0.0]]))
    assert (grey_image(tmp_path / "c.png") == 0).sum() - (grey_image(tmp_path / "b.png") == 0).sum() > 600


def test_png_of_a_long_sentence_grows_so_that_labels_stay_legible(tmp_path):
    heatmap.png(tmp_path / "a.png", ["mot"] * 90, ["word"] * 80, squares(90, 80))
    height, width = grey_image(tmp_path / "a.png").shape
    assert height > 90 * 30
    assert width > 80 * 30


@pytest.mark.parametrize(
    "words",
    [
        ["我们", "今天", "翻译", "。"],
        ["שלום", "עולם", "!"],
        ["مرحبا", "بالعالم"],
        ["한국어", "नमस्ते", "ไทย"],
        ["$x_1$", "$", "\\frac", "</td>", "&amp;", "%(s)s", "{}"],
        ["👩\u200d🚀", "🇫🇷", "e\u0301", "\u200b", "\x1b[31m", "\x00", "\n"],
        [NOBODYS],
        ["long" * 100],
        [""],
    ],
)
def test_every_script_and_every_character_can_be_drawn(tmp_path, words):
    matrix = squares(len(words), len(words))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        heatmap.png(tmp_path / "a.png", words, words, matrix, title=words[0])
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert max(grey_image(tmp_path / "a.png").shape) < 1500
    page = Tags(heatmap.html([(words[0], words, words, matrix)]))
    assert sum(tag == "td" for tag, _ in page.tags) == len(words) ** 2 + 1
    text = heatmap.terminal(words, words, matrix)
    assert not re.search("[\x00-\x09\x0b-\x1f]", text)


def test_a_font_with_the_glyphs_is_chosen_without_a_notice(caplog):
    from matplotlib import font_manager

    from rnnsearch.evaluation.fonts import BOXES, DEFAULT, fonts_for

    def characters(name):
        return set(font_manager.get_font(font_manager.findfont(name)).get_charmap())

    assert fonts_for("Été, ça va ? Привет") == [DEFAULT, BOXES]
    only_elsewhere = chr(min(characters("STIXGeneral") - characters(DEFAULT)))
    first, chosen, last = fonts_for("a" + only_elsewhere)
    assert (first, last) == (DEFAULT, BOXES)
    assert ord(only_elsewhere) in characters(chosen)
    assert not caplog.records


def test_characters_that_no_font_has_are_named_in_one_notice(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        heatmap.png(tmp_path / "a.png", ["a", NOBODYS], [NOBODYS + "b"], np.ones((2, 1)))
    assert [record.name for record in caplog.records] == ["rnnsearch"]
    assert "U+F1234" in caplog.text
    assert "U+0061" not in caplog.text


@pytest.mark.parametrize(
    ("rows", "columns", "said"),
    [([], ["a"], "target is"), (["a"], [], "source is"), ([], [], "source and the target are")],
)
def test_an_empty_side_is_explained(tmp_path, rows, columns, said):
    matrix = np.zeros((len(rows), len(columns)))
    assert f"the {said} empty" in heatmap.terminal(rows, columns, matrix)
    assert f"the {said} empty" in heatmap.html([("", rows, columns, matrix)])
    heatmap.png(tmp_path / "a.png", rows, columns, matrix)
    image = grey_image(tmp_path / "a.png")
    assert (image < 128).sum() > 300  # words, not a blank picture
    assert image.shape[1] > 4 * image.shape[0]


def test_a_matrix_that_does_not_fit_its_words_is_refused():
    for draw in (heatmap.terminal, lambda *picture: heatmap.html([("", *picture)])):
        with pytest.raises(ValueError, match=r"\(2, 3\) for 3 target and 2 source words"):
            draw(["a"] * 3, ["b"] * 2, np.zeros((2, 3)))


def test_a_picture_that_cannot_be_written_leaves_the_old_one(tmp_path):
    with pytest.raises(OSError):
        heatmap.png(tmp_path / "nowhere" / "a.png", ["a"], ["b"], np.ones((1, 1)))
    (tmp_path / "a.png").write_bytes(b"old")
    heatmap.png(tmp_path / "a.png", ["a"], ["b"], np.ones((1, 1)))
    assert [p.name for p in tmp_path.iterdir()] == ["a.png"]


def test_html_stands_alone_and_escapes_text():
    evil = "<script>alert(1)</script>\"' onload=x"
    page = heatmap.html([(evil, [evil, "b"], [evil], np.array([[0.25], [1.0]])), ("two", ["c"], ["d"], np.eye(1))])
    parsed = Tags(page)
    assert not {tag for tag, _ in parsed.tags} & {"script", "link", "img", "iframe", "object", "embed", "form", "b"}
    assert not re.search(r"https?:|url\(|@import|src=|href=", page.replace("onload", ""))
    assert not any(name.startswith("on") for _, attributes in parsed.tags for name in attributes)
    assert evil in parsed.text
    cells = [attributes for tag, attributes in parsed.tags if tag == "td" and "style" in attributes]
    assert [cell["style"] for cell in cells] == ["--v:25%", "--v:100%", "--v:100%"]
    assert cells[1]["title"].startswith("1.000")
    assert evil in cells[1]["title"]
    assert "b" in cells[1]["title"]


def test_html_styles_touch_nothing_but_the_drawing():
    rules = re.sub(r"@media[^{]*\{((?:[^{}]*\{[^}]*\})*)[^}]*\}", r"\1", heatmap._STYLE)
    selectors = [s.strip() for rule in re.findall(r"([^{}]+)\{", rules) for s in rule.split(",")]
    assert len(selectors) > 10
    assert all(s.startswith(".rnnsearch") for s in selectors)


def test_terminal_draws_shades_under_upright_words():
    text = heatmap.terminal(["le", "chat"], ["the", "cat"], np.array([[1, 0], [0.5, 0.2]]))
    assert text.splitlines()[:5] == ["     t c", "     h a", "     e t", "  le ██", "chat ▒▒░░"]


def test_terminal_in_ascii_is_ascii():
    text = heatmap.terminal(["a"], ["b", "c"], np.array([[1, 0.05]]), style="ascii")
    assert text.isascii()
    assert "a @@\n" in text


def test_terminal_in_colour_goes_from_black_to_white():
    line = heatmap.terminal(["a"], ["b", "c", "d"], np.array([[0, 0.5, 1]]), style="colour").splitlines()[1]
    black, grey, white = map(int, re.findall(r"\x1b\[48;5;(\d+)m  ", line))
    assert (black, white) == (16, 231)
    assert 232 < grey < 255
    assert line.endswith("\x1b[0m")


def test_wide_characters_take_two_columns():
    lines = heatmap.terminal(["猫", "a"], ["猫", "b"], np.eye(2)).splitlines()
    assert lines[:3] == ["   猫b", "猫 ██", " a   ██"]


def test_marks_and_joined_emoji_stay_with_their_letter():
    lines = heatmap.terminal(["a"], ["e\u0301t", "👩\u200d🚀"], np.ones((1, 2))).splitlines()
    assert lines[:2] == ["  e\u0301", "  t 👩\u200d🚀"]


WORDS = st.lists(st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=30), min_size=1, max_size=30)


@settings(max_examples=60, deadline=None)
@given(WORDS, WORDS, st.integers(30, 120))
def test_no_line_is_wider_than_the_terminal_and_no_source_word_is_lost(rows, columns, width):
    text = heatmap.terminal(rows, columns, np.ones((len(rows), len(columns))), width=width)
    assert max(map(cell_len, text.split("\n"))) <= width
    assert text.count("██") >= len(rows) * len(columns)


def test_a_narrow_terminal_gets_panels_of_equal_size():
    text = heatmap.terminal(["mot"] * 2, ["w"] * 80, np.ones((2, 80)), width=60)
    assert re.findall(r"source words .*", text) == [f"source words {i + 1}-{i + 27} of 80" for i in (0, 27)] + [
        "source words 55-80 of 80"
    ]


class Stream(io.TextIOWrapper):
    def __init__(self, encoding, terminal):
        super().__init__(io.BytesIO(), encoding=encoding)
        self._terminal = terminal

    def isatty(self):
        return self._terminal


def test_the_style_follows_the_stream(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert heatmap.terminal_style(Stream("utf-8", True)) == "colour"
    assert heatmap.terminal_style(Stream("utf-8", False)) == "blocks"
    assert heatmap.terminal_style(Stream("latin-1", False)) == "ascii"
    monkeypatch.setenv("NO_COLOR", "1")
    assert heatmap.terminal_style(Stream("utf-8", True)) == "blocks"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert heatmap.terminal_style(Stream("ascii", True)) == "ascii"
