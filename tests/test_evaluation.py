"""What `rnnsearch evaluate` measures: confidence, bands of length, faults, examples; and how reports show it."""

import json
import logging
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from rnnsearch.evaluation import bands_plot
from rnnsearch.evaluation.bands import by_length
from rnnsearch.evaluation.bootstrap import compare, estimate
from rnnsearch.evaluation.examples import choose
from rnnsearch.evaluation.faults import find_faults, loops
from rnnsearch.evaluation.form import Form, form_of, warn_of_form
from rnnsearch.evaluation.heatmap import Picture
from rnnsearch.evaluation.markup import markdown_text
from rnnsearch.evaluation.metrics import bleu
from rnnsearch.evaluation.report import measure
from rnnsearch.evaluation.report_html import report_html
from rnnsearch.evaluation.report_markdown import report_markdown
from rnnsearch.evaluation.report_tables import bands, bootstrap, faults, known, scores
from rnnsearch.evaluation.sentences import Sentences, System, short_names
from rnnsearch.evaluation.tables import Table

NUMBERS = ("un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix")
#: 30 different sentences of six words
REFERENCES = [f"le chat {NUMBERS[i % 10]} dort {NUMBERS[i // 3]} fois" for i in range(30)]
#: the same with a word wrong in every second one, and in every one
HALF = [line.replace("dort", "rit") if i % 2 else line for i, line in enumerate(REFERENCES)]
NONE = [line.replace("dort", "rit") for line in REFERENCES]
NASTY = "a|b <b>&amp; `c` *d* [e](f) $g$\x07"


def report(*systems, **options):
    text = Sentences(REFERENCES, **{"sources": ["a b c"] * 25 + ["a " * 61] * 5, "tokenised": True} | options)
    return measure(text, systems)


def numbers(table, row):
    (line,) = [line for line in table.rows if line[0] == row]
    return list(line)


def test_the_interval_is_sacrebleus_own():
    from sacrebleu.metrics.bleu import BLEU

    found = estimate(HALF, REFERENCES, "13a")
    expected = BLEU().corpus_score(HALF, [REFERENCES], n_bootstrap=1000)
    assert float(found.bleu) == expected.score == bleu(HALF, REFERENCES)
    low, high = found.interval()
    assert (low + high) / 2 == pytest.approx(expected._mean)
    assert (high - low) / 2 == pytest.approx(expected._ci)
    assert 1 < low < found.bleu < high < 99
    assert "bs:1000|seed:12345" in found.bleu.signature


def test_an_interval_of_a_perfect_sentence_and_of_nothing():
    assert estimate(["a b c d e"], ["a b c d e"], "none").interval() == pytest.approx((100, 100))
    assert estimate(["", ""], ["", ""], "13a").interval() == (0, 0)


def test_paired_bootstrap_tells_a_difference_from_none():
    worse, same, better = compare([HALF, NONE, HALF, REFERENCES], REFERENCES, "none")
    expected = [bleu(lines, REFERENCES) - bleu(HALF, REFERENCES) for lines in (NONE, HALF, REFERENCES)]
    assert [worse.difference, same.difference, better.difference] == pytest.approx(expected)
    assert worse.p_value == better.p_value == pytest.approx(1 / 1001)  # the least that 1,000 samples can show
    assert same.p_value is None, "sacreBLEU's count would call it significant"
    assert "bs:1000|seed:12345" in worse.signature and "tok:none" in worse.signature
    one = REFERENCES[:1] + HALF[1:2] + REFERENCES[2:]
    (chance,) = compare([one, REFERENCES], REFERENCES, "none")
    assert chance.p_value > 0.1


def test_a_p_value_of_a_few_sentences_is_not_given():
    (few,) = compare([HALF[:19], NONE[:19]], REFERENCES[:19], "none")
    (enough,) = compare([HALF[:20], NONE[:20]], REFERENCES[:20], "none")
    assert few.difference < 0 and few.p_value is None
    assert enough.p_value is not None


def test_bands_hold_every_sentence_that_has_words():
    found = by_length([1, 10, 0, 11, 60, 61, 500, 20])
    assert [(band.label, band.sentences) for band in found] == [
        ("1-10", [0, 1]), ("11-20", [3, 7]), ("51-60", [4]), ("over 60", [5, 6]),
    ]  # fmt: skip
    assert all(band.few for band in found)
    assert [band.few for band in by_length([5] * 20 + [15] * 19)] == [False, True]


def test_a_band_is_scored_by_itself():
    found = report(System("a", HALF), System("b", REFERENCES))
    table = bands(found)
    assert table.header == ["words", "sentences", "a", "95 % interval", "b", "95 % interval"]
    short, long = numbers(table, "1-10"), numbers(table, "over 60")
    assert (short[1], long[1]) == ("25", "5 (few)")
    assert float(short[2]) == pytest.approx(bleu(HALF[:25], REFERENCES[:25]), abs=0.005)
    assert float(long[2]) == pytest.approx(bleu(HALF[25:], REFERENCES[25:]), abs=0.005)
    assert short[2] != long[2] and short[4] == long[4] == "100.00"
    assert "tok:none" in table.notes[0]


def test_the_length_of_a_source_is_its_words_or_what_spaces_separate():
    source = ["Don't stop, now."] * 30  # Do n't / Don 't ... stop , now .
    text = Sentences(REFERENCES, ["one two, " * 4 + "three."] * 30, source_language="en")
    assert measure(text, [System("a", HALF)]).bands[0].label == "11-20"  # 12 words, 2 marks
    assert measure(replace(text, tokenised=True), [System("a", HALF)]).bands[0].label == "1-10"
    chinese = measure(
        replace(text, sources=["我今天去学校看书我今天去学校看书"] * 30, source_language="zh"), [System("a", HALF)]
    )
    assert (chinese.length_unit, chinese.bands[0].label) == ("characters", "11-20")
    assert measure(replace(text, sources=source), [System("a", HALF)]).length_unit == "words"


def test_without_sources_there_are_no_bands():
    found = report(System("a", HALF), sources=None)
    assert found.bands == [] and bands(found) is None
    assert found.systems[0].faults.copies is None
    assert "copies of the source" not in [row[0] for row in faults(found).rows]
    assert "<svg" not in report_html(found)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("a a", []),
        ("b a a a c", ["a"]),
        ("a b a b a b", ["a b"]),
        ("x b a b a b a y", ["a b"]),
        ("a b a b a c", []),
        ("a a a a a a a a a", ["a"]),
        ("La la LA", ["la"]),
        ("a a b a a b a a b", ["a a b"]),
        ("1 2 3 4 5 6 7 8 " * 3, ["1 2 3 4 5 6 7 8"]),
        ("1 2 3 4 5 6 7 8 9 " * 3, []),
        ("", []),
    ],
)
def test_a_loop_is_a_phrase_three_times_in_succession(words, found):
    assert loops(words.split()) == {tuple(phrase.split()) for phrase in found}


def test_faults_are_found_with_their_lines():
    sources = ["the cat", "ha ha ha", "Paris", "a b c", "", "a long line of text"]
    references = ["le chat", "ha ha ha", "Paris", "d e f", "", "une longue ligne de texte"]
    outputs = ["le le le chat", "ha ha ha", "Paris", "A b  c", "quoi", ""]
    found = find_faults(outputs, Sentences(references, sources))
    assert found.loops == [1]  # in the second the reference loops too
    assert found.copies == [4]  # Paris is Paris
    assert found.empty == [6]
    assert found.too_long == [5]
    assert found.too_short == []
    assert find_faults(["ab"], Sentences(["a b c d e"])).too_short == [1]
    assert find_faults(["abc", "a b"], Sentences(["a b c d e f", "a b c d"])).too_short == []  # just half
    assert find_faults(["abcd", "abcde"], Sentences(["a b", "ab"])).too_long == [2]  # just twice is not too long
    assert find_faults(["", "", "b"], Sentences(["a", "", ""])).empty == [1]


def test_loops_are_found_where_no_spaces_separate_words():
    assert find_faults(["我我我我", "我今天"], Sentences(["我今天", "我今天"], language="zh")).loops == [1]
    assert find_faults(["我我我我"], Sentences(["我今天"], language="zh", tokenised=True)).loops == []


def test_the_table_of_faults_shows_ten_lines():
    found = faults(report(System("a", [""] * 30)))
    assert numbers(found, "empty") == ["empty", "a", "30", "1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 20 more"]


def test_examples_are_where_systems_differ_most_and_the_worst_of_one():
    text = Sentences(["abcdef", "abcdef", "", "ghijkl", "abcdef"])
    main = System("a", ["abcdef", "abcxxx", "q", "ghijkl", "xxxxxx"])
    other = System("b", ["xxxxxx", "abcdef", "abc", "ghijkl", "xxxxxx"])
    found = choose(text, [main, other])
    assert [example.sentence for example in found] == [0, 1]  # neither the empty one, nor those that are alike
    assert found[0].chrf == pytest.approx([100, 0])
    assert 0 < found[1].chrf[0] < found[1].chrf[1] == pytest.approx(100)
    assert [example.sentence for example in choose(text, [main])] == [4, 1, 0, 3]
    assert len(choose(Sentences(REFERENCES), [System("a", HALF)])) == 10
    third = System("c", ["abcdef", "abcxxx", "q", "xxxxxx", "xxxxxx"])
    assert [example.sentence for example in choose(text, [main, main, third])] == [3]


def test_known_sentences_are_scored_by_what_was_translated_without_unk():
    unk = ["[UNK] " * 6] * 30
    found = report(System("m", unk, "sig", without_unk=REFERENCES), System("f", HALF), known=range(0, 30, 2))
    table = known(found)
    assert table.title == "No [UNK]: 15 of 30 sentences"
    assert numbers(table, "BLEU, tokenised")[1:3] == ["100.00", "100.00"]  # the even lines of HALF are right
    assert numbers(table, "unknown words, output")[1] == "0.00 %"
    assert numbers(scores(found), "unknown words, output")[1] == "100.00 %"
    assert found.as_dict()["no_unk_sentences"] == 15


@pytest.mark.parametrize(
    ("which", "without_unk", "said"),
    [
        (range(30), None, "No sentence holds an unknown word: the scores are those above."),
        ([], None, "Every sentence holds a word outside"),
        (range(30), REFERENCES, "Sentences without a word outside"),
    ],
)
def test_what_is_said_of_known_sentences(which, without_unk, said):
    table = known(report(System("m", HALF, "sig", without_unk=without_unk), known=which))
    assert table.notes[0].startswith(said)
    assert bool(table.rows) == (without_unk is not None)
    assert known(report(System("f", HALF))) is None


def test_names_are_as_short_as_tells_them_apart(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def names(*systems):
        return short_names([[Path(path) for path in system.split()] for system in systems])

    assert names("models/a", "out/b.fr") == ["a", "b.fr"]
    assert names("x/m", "y/m", "n") == ["x/m", "y/m", "n"]
    assert names("1/x/m", "2/x/m") == ["1/x/m", "2/x/m"]
    assert names("m1 m2", "m1") == ["m1+m2", "m1"]
    assert names("x/m x/n", "y/m y/n") == ["x/m+x/n", "y/m+y/n"]
    assert names("x/m", "x/m", "./x/../x/m") == ["m", "m (2)", "m (3)"]
    assert names("m", "/m") == [f"{tmp_path.name}/m", "/m"]
    assert names(".") == [tmp_path.name]


PLAIN, TOKENISED = ["Le chat dort, bien."] * 10, ["Le chat dort , bien ."] * 10


def test_the_form_of_text_is_seen_by_its_punctuation():
    assert form_of(PLAIN) == (Form.PLAIN, 10)
    assert form_of(TOKENISED) == (Form.TOKENISED, 10)
    assert form_of(["M. Dupont dort ."] * 10) == (Form.TOKENISED, 10)
    for lines in ([], [""], ["我今天去学校看书。"], PLAIN[:2] + ["oui"] * 8, TOKENISED[:2] + ["oui"] * 8):
        assert form_of(lines) == (Form.UNCLEAR, 0)


@pytest.mark.parametrize(
    ("reference", "outputs", "tokenised", "said"),
    [
        (PLAIN, PLAIN, False, []),
        (TOKENISED, TOKENISED, True, []),
        (TOKENISED, TOKENISED, False, ["the reference seems to be tokenised (10 of 10 lines"]),
        (PLAIN, PLAIN, True, ["the reference seems not to be tokenised"]),
        (PLAIN, TOKENISED, False, ["the translations of out seem to be tokenised (10 of 10 lines"]),
        (TOKENISED, PLAIN, True, ["the translations of out seem to be plain (10 of 10 lines"]),
        (TOKENISED, PLAIN, False, ["the reference seems to be tokenised", "the translations of out seem to be plain"]),
        (PLAIN, ["quoi"] * 10, False, []),
    ],
)
def test_tokenised_and_plain_text_are_not_mixed_unnoticed(caplog, capfd, reference, outputs, tokenised, said):
    with caplog.at_level(logging.WARNING):
        warn_of_form(Sentences(reference, tokenised=tokenised), [System("out", outputs)])
        measure(Sentences(reference, tokenised=tokenised), [System("out", outputs)])
    assert [r.name for r in caplog.records] == ["rnnsearch"] * 2 * len(said)
    for start, record in zip(said * 2, caplog.records, strict=True):
        assert record.getMessage().startswith(start)
    assert "tokenized" not in "".join(capfd.readouterr())  # the spelling of sacreBLEU's own warning


def test_tables_of_systems_stand_side_by_side():
    share = bleu(["a"], ["a"])
    found = report(System("m", HALF, "sig", unknown_source=share), System("b", REFERENCES))
    table = scores(found)
    assert table.header == ["", "m", "b", "signature"]
    assert numbers(table, "BLEU")[1:3] == [f"{bleu(HALF, REFERENCES):.2f}", "100.00"]
    assert numbers(table, "unknown words, source")[2] == ""
    assert all(row[-1] for row in table.rows)
    against = bootstrap(found)
    assert numbers(against, "m")[3:] == ["", ""]
    assert numbers(against, "b")[3:] == [f"{100 - bleu(HALF, REFERENCES):+.2f}", "0.001"]
    assert scores(report(System("m", HALF))).header == ["", "score", "signature"]


def test_text_stands_in_columns():
    table = Table("T", ["", "a", "long"], [["x", "1.00", "y"], ["中文", "10.00", "z"]], left=(0, 2), notes=["n"])
    assert table.as_text().splitlines() == [
        "T", f"{'':22}      a  long", f"{'x':22}   1.00  y", f"{'中文':20}  10.00  z", "n",
    ]  # fmt: skip


def nasty():
    matrix = np.array([[1.0]])
    pictures = [Picture("", [NASTY.replace(" ", "")], ["<i>"], matrix)] * 30
    return report(
        System(f"m {NASTY}", [NASTY, *HALF[1:]], "sig", alignments=pictures), System("b", REFERENCES),
        sources=["<script>alert(1)</script>"] * 30,
    )  # fmt: skip


class Elements(HTMLParser):
    """Counts elements, checks that they are closed, and keeps addresses."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.loaded, self.text = [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        if tag not in {"meta", "path", "use"}:
            self.open.append(tag)
        self.loaded += [value for name, value in attributes if name in {"src", "href", "xlink:href"}]

    def handle_startendtag(self, tag, attributes):
        self.seen.append(tag)
        self.loaded += [value for name, value in attributes if name in {"src", "href", "xlink:href"}]

    def handle_endtag(self, tag):
        if tag in self.open:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_the_page_is_self_contained_and_its_text_escaped():
    pytest.importorskip("matplotlib", reason="the plot needs the extra [plot]")
    page = report_html(nasty())
    elements = Elements()
    elements.feed(page)
    assert elements.open == []
    assert {"script", "b", "link", "img", "iframe"}.isdisjoint(elements.seen)
    assert elements.seen.count("svg") == 1
    assert elements.seen.count("figure") == elements.seen.count("i") == 10  # the scale of each, and not the word <i>
    assert all(address.startswith("#") for address in elements.loaded)
    assert not re.search(r"url\((?!#)", page) and "@import" not in page
    assert "\x07" not in page
    text = "".join(elements.text)
    assert NASTY.replace("\x07", "\ufffd") in text and "<script>alert(1)</script>" in text


def test_markdown_takes_text_for_text():
    found = nasty()
    text = report_markdown(found, "a b.png")
    cells = markdown_text(NASTY)
    assert cells.startswith(r"a\|b \<b\>\&amp; \`c\` \*d\* \[e\](f) \$g\$")
    assert cells in text
    assert "](a%20b.png)" in text
    outside = "\n".join(line for line in text.splitlines() if not line.startswith("    "))  # not in a picture
    assert not re.search(r"(?<!\\)[<>`*]", outside)
    assert sum(line.startswith("### Line ") for line in text.splitlines()) == 10
    assert "![" not in report_markdown(found, None)


def test_rows_of_a_markdown_table_have_as_many_cells_as_its_header():
    lines = Table("a|b", ["x|", "y"], [["|", "||"], ["", "\n"]]).as_markdown().splitlines()
    assert lines[0] == r"## a\|b"
    assert [len(re.findall(r"(?<!\\)\|", line)) for line in lines[2:]] == [3, 3, 3, 3]


def test_json_holds_everything():
    found = json.loads(json.dumps(nasty().as_dict()))
    assert found["version"] == 2
    assert [system["name"] for system in found["systems"]] == [f"m {NASTY}", "b"]
    main, other = found["systems"]
    assert main["scores"]["bleu"]["signature"] and main["against_first"] is None
    assert other["against_first"]["difference"] > 0 and other["against_first"]["p_value"] == pytest.approx(1 / 1001)
    assert main["bootstrap"]["low"] < main["bootstrap"]["score"] < main["bootstrap"]["high"]
    assert set(main["faults"]) == {"loops", "too_short", "too_long", "empty", "copies"}
    (band,) = found["bands"]
    assert (band["from"], band["to"], band["sentences"], band["few"]) == (1, 10, 30, False)
    assert band["systems"]["b"]["score"] == pytest.approx(100)
    assert len(found["examples"]) == 10
    example = found["examples"][0]
    assert example["outputs"][f"m {NASTY}"]["text"] == NASTY and example["line"] == 1
    assert example["alignment"]["weights"] == [[1.0]]
    assert found["no_unk_sentences"] is None and main["no_unk"] is None


def test_the_plot_shows_bands_counts_and_names():
    pytest.importorskip("matplotlib", reason="the plot needs the extra [plot]")
    found = report(System("_one $x$", HALF), System("two", REFERENCES))
    plot = bands_plot.plot_of(found)
    svg = bands_plot.svg(plot)
    for text in ("_one $x$", "two", "1-10", "over 60", ">25<", ">5<", "BLEU", "length of the source, in words (hollow"):
        assert text in svg
    assert "currentColor" in svg and "#010203" not in svg and "#000000" not in svg
    assert svg == bands_plot.svg(plot)
    assert bands_plot.png(plot).startswith(b"\x89PNG")


def test_without_matplotlib_the_page_lacks_its_plot_and_says_so(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = report_html(report(System("a", HALF)))
    assert "<svg" not in page and "over 60" in page
    assert 'pip install "rnnsearch[plot]"' in caplog.text
