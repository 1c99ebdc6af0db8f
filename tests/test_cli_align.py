"""`rnnsearch align` and `rnnsearch evaluate-alignment`, over mock models and over a real one that is kept here."""

import gzip
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mock_engine import MockEngine
from rnnsearch.cli.main import main
from rnnsearch.config import ModelSettings, SearchSettings
from rnnsearch.model_folder import ModelFolder
from rnnsearch.search.alignment import hard_links, links_from
from rnnsearch.search.symmetrise import METHODS, agreed, symmetrise
from rnnsearch.text.links import pharaoh
from rnnsearch.text.side import Side
from rnnsearch.text.tokenise import SpaceTokeniser
from rnnsearch.text.vocabulary import Vocabulary
from rnnsearch.translator import Translator

FORMAT_1 = Path(__file__).parent / "models" / "format-1"
WORDS = {"en": ["the", "a", "cat", "dog", "sleeps", "."], "fr": ["le", "un", "chat", "chien", "dort", "."]}
PAIRS = [("the cat sleeps .", "le chat dort ."), ("", "un chat"), ("a  dog", " un chien "), ("a dog", ""), ("", ""),
         ("the dog", "le chien .")]  # fmt: skip
SOURCE, TARGET = ("".join(f"{pair[side]}\n" for pair in PAIRS) for side in (0, 1))
JOINT = "".join(f"{source} ||| {target}\n" for source, target in PAIRS)


def mock(name: str, architecture="rnnsearch") -> Translator:
    """A model by its name: en-fr, fr-en, en-fr-2 ..."""
    source, target = name.split("-")[:2]
    sides = (
        Side(role, code, SpaceTokeniser(), Vocabulary(WORDS[code]))
        for role, code in (("source", source), ("target", target))
    )
    settings = ModelSettings(architecture=architecture)
    folder = ModelFolder(Path(name), settings, SearchSettings(), 20, *sides, {})

    def engine() -> MockEngine:
        made = MockEngine(8, len(name))
        made.seen = np.random.default_rng(len(name)).uniform(0, 1, (40, 8)) ** 4
        return made

    return Translator(folder, engine)


@pytest.fixture
def models(monkeypatch):
    """Makes Translator.load give mocks; returns what it was asked for."""
    asked = []

    def load(*paths, **options):
        asked.append((*map(str, paths), options))
        return mock(str(paths[0]), "rnnencdec" if "encdec" in str(paths[0]) else "rnnsearch")

    monkeypatch.setattr(Translator, "load", load)
    return asked


@pytest.fixture
def file(tmp_path):
    def write(name, text):
        data = text if isinstance(text, bytes) else text.encode()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return str(tmp_path / name)

    return write


@pytest.fixture
def align(models, file, capsysbinary):
    """Runs the command on the pairs (or on the files given) and returns its lines."""

    def run(*flags, files=None):
        files = [file("a.en", SOURCE), file("a.fr", TARGET)] if files is None else files
        status = main(["align", "--model", "en-fr", *files, *flags])
        out, errors = capsysbinary.readouterr()
        assert (status, errors) == (0, b"")
        return out.decode().split("\n")[:-1]

    return run


def failure(capsysbinary, *arguments):
    """The sentence with which a command fails."""
    assert main(list(arguments)) == 1
    _, errors = capsysbinary.readouterr()
    assert errors.count(b"\n") == 1
    return errors.decode().removeprefix("rnnsearch: error: ").removesuffix("\n")


# --- align


def test_every_pair_gives_a_line_of_hard_links_and_an_empty_side_an_empty_one(align):
    translator = mock("en-fr")
    out = align()
    found = (translator.align(*pair, posterior=True).alignment if all(pair) else None for pair in PAIRS)
    assert out == ["" if matrix is None else pharaoh(hard_links(matrix)) for matrix in found]
    assert [len(line.split()) for line in out] == [4, 0, 2, 0, 0, 3]


@pytest.mark.parametrize("name", ["all", "all.gz", None])
def test_the_joint_form_gives_the_same(align, file, monkeypatch, name):
    expected = align()
    if name is None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(JOINT.encode())))
    assert align(files=[file(name, JOINT)] if name else []) == expected


def test_soft_alignment_and_thresholds(align):
    soft = align("--alignment", "soft")
    matrix = np.array([[float(weight) for weight in row.split(",")] for row in soft[0].split(" ")])
    np.testing.assert_allclose(matrix, mock("en-fr").align(*PAIRS[0], posterior=True).alignment, atol=6e-5)
    assert [soft[1], soft[3], soft[4]] == [""] * 3
    chosen = align("--alignment", "0.2")
    assert chosen[0] == pharaoh(links_from(matrix, 0.2))
    assert [chosen[1], chosen[3], chosen[4]] == [""] * 3


def test_the_weights_of_the_attention_itself(align):
    translator = mock("en-fr")
    looked = align("--weights", "attention")
    assert looked == ["" if not (s and t) else pharaoh(hard_links(translator.align(s, t).alignment)) for s, t in PAIRS]
    assert looked != align()
    assert align("--weights", "posterior") == align()


def test_json(align):
    found = [json.loads(line) for line in align("--json")]
    expected = mock("en-fr").align(*PAIRS[2], posterior=True)
    assert found[2] == {
        "version": 1,
        "source_words": ["a", "dog"],
        "words": ["un", "chien"],
        "alignment": expected.alignment.round(6).tolist(),
        "links": [list(link) for link in hard_links(expected.alignment)],
        "log_p": pytest.approx(expected.log_p, abs=1e-6),
    }
    assert found[3] == {
        "version": 1, "source_words": ["a", "dog"], "words": [], "alignment": [], "links": [], "log_p": 0.0,
    }  # fmt: skip
    assert (found[1]["words"], found[1]["links"]) == (["un", "chat"], [])


@pytest.mark.parametrize("rule", ["hard", "0.25"])
@pytest.mark.parametrize("method", [None, "agreement", *METHODS])
def test_both_directions_joined(align, method, rule):
    forward, reverse = mock("en-fr"), mock("fr-en")
    expected = []
    for source, target in PAIRS:
        there = forward.align(source, target, posterior=True).alignment
        back = reverse.align(target, source, posterior=True).alignment
        one, other = (hard_links(m) if rule == "hard" else links_from(m, 0.25) for m in (there, back))
        other = [(s, t) for t, s in other]
        joined = (
            symmetrise(one, other, method)
            if method in METHODS
            else agreed(there, back, 0.4 if rule == "hard" else 0.25)
        )
        expected.append(pharaoh(joined) if source and target else "")
    flags = ["--symmetrise", method] if method else []
    assert align("--reverse-model", "fr-en", "--alignment", rule, *flags) == expected
    assert expected != align("--alignment", rule)


def test_many_pairs_come_in_order_whatever_the_batch(align, file):
    rng = np.random.default_rng(1)
    pairs = [[" ".join(rng.choice(WORDS[code], rng.integers(0, 9))) for code in ("en", "fr")] for _ in range(300)]
    files = [file("many.en", "".join(s + "\n" for s, _ in pairs)), file("many.fr", "".join(t + "\n" for _, t in pairs))]
    joined = ("--reverse-model", "fr-en", "--symmetrise", "union")
    small = align("--batch-size", "1", *joined, files=files)
    assert small == align("--batch-size", "64", *joined, files=files)
    assert len(small) == 300
    assert [line == "" for line in small] == [not (s and t) for s, t in pairs]


def test_flags_reach_the_models_of_both_directions(align, models):
    align("--model", "en-fr-2", "--reverse-model", "fr-en", "--reverse-model", "fr-en-2",
          "--threads", "3", "--precision", "float32")  # fmt: skip
    options = {"threads": 3, "device": "cpu", "precision": "float32"}
    assert models == [("en-fr", "en-fr-2", options), ("fr-en", "fr-en-2", options)]


def test_other_encodings(align, file):
    text = "the caf\xe9 ||| le caf\xe9\n"
    assert align("--encoding", "cp1252", files=[file("a", text.encode("cp1252"))]) == align(files=[file("a", text)])


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--symmetrise", "union"], "--symmetrise joins the links of two models: name the other with --reverse-model"),
        (["--reverse-model", "fr-en", "--json"], "leave out --json or --reverse-model"),
        (["--reverse-model", "fr-en", "--alignment", "soft"], "leave out --alignment soft or --reverse-model"),
        (["--reverse-model", "en-fr-2"], "--reverse-model en-fr-2 translates from en to fr; the reverse of en-fr must "
         "translate from fr to en"),
        (["--reverse-model", "fr-en-encdec"], "fr-en-encdec is an rnnencdec model, which looks at one fixed vector"),
        (["third"], "align needs two files, SOURCE and TARGET, or one of both, not 3"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_together_is_refused(models, capsysbinary, file, flags, said):
    files = [file("a.en", SOURCE), file("a.fr", TARGET)]
    assert said in failure(capsysbinary, "align", "--model", "en-fr", *files, *flags)


def test_a_model_without_alignment_is_refused(models, capsysbinary, file):
    assert "no alignment to show" in failure(capsysbinary, "align", "--model", "en-fr-encdec", file("a", JOINT))


def test_malformed_and_unequal_files_are_named(models, capsysbinary, file, monkeypatch):
    bad = file("bad", JOINT + "the cat\n")
    assert failure(capsysbinary, "align", "--model", "en-fr", bad).startswith(f"{bad}, line 7: 0 times ||| ")
    long, short = file("a.en", SOURCE), file("a.fr", "le chat\n")
    said = failure(capsysbinary, "align", "--model", "en-fr", long, short)
    assert said.startswith(f"{long} has 6 lines and {short} has 1:")
    said = failure(capsysbinary, "align", "--model", "en-fr", file("c", b"a ||| b\ncaf\xe9 ||| b\n"))
    assert "line 2 (byte offset 11: 0xe9)" in said
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a ||| b ||| c\n")))
    said = failure(capsysbinary, "align", "--model", "en-fr")
    assert said.startswith("standard input, line 1: 2 times ||| ")
    assert "cannot read" in failure(capsysbinary, "align", "--model", "en-fr", "/nowhere/a", "/nowhere/b")


@pytest.mark.parametrize(
    "flags",
    [["--alignment", "0"], ["--alignment", "x"], ["--json", "--alignment", "soft"], ["--symmetrise", "grow"],
     ["--batch-size", "0"], ["--beam-size", "3"]],
)  # fmt: skip
def test_a_command_line_that_makes_no_sense_is_not_understood(flags, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["align", "--model", "m", *flags])
    assert stop.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


# --- align in a process of its own, over a real model


def start(*arguments):
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1] / "src"), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "rnnsearch", "align", "--model", str(FORMAT_1), "--threads", "1", *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
    )  # fmt: skip


def test_a_real_model_end_to_end_and_its_score(file, capsys):
    """The kept model has learnt nothing, so its links are only compared with those that it gives one by one."""
    pairs = [("the cat sleeps", "le chat dort"), ("", "x"), ("a very long sentence , of words", "une phrase")] * 20
    with start() as process:
        out, errors = process.communicate("".join(f"{s} ||| {t}\n" for s, t in pairs).encode())
    assert (process.returncode, errors) == (0, b"")
    with Translator.load(FORMAT_1, threads=1) as translator:
        found = (translator.align(s, t, posterior=True).alignment if s else None for s, t in pairs)
        expected = ["" if matrix is None else pharaoh(hard_links(matrix)) for matrix in found]
    assert out.decode().split("\n")[:-1] == expected
    gold, links = file("gold", "0-0 1-1 2p2\n\n0-0\n" * 20), file("links", out)
    assert main(["evaluate-alignment", gold, links, "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert (scores["sentences"], scores["links"], scores["sure"], scores["possible"]) == (60, 100, 60, 80)


def test_a_model_is_not_its_own_reverse(file):
    with start("--reverse-model", str(FORMAT_1), file("a", JOINT)) as process:
        out, errors = process.communicate()
    assert (process.returncode, out, errors.count(b"\n")) == (1, b"", 1)
    assert b"must translate from fr to en" in errors


def test_an_interruption_while_it_waits_for_input_is_one_line():
    with start() as process:
        process.stdin.write(b"a ||| b\n" * 5000)  # more than is read ahead, so an answer shows that it waits
        process.stdin.flush()
        assert process.stdout.readline().endswith(b"\n")
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 1
        assert process.stderr.read() == b"rnnsearch: error: interrupted\n"


# --- evaluate-alignment


GOLD = "0-0 1-1 1p2\n2?0 0-1\n"
LINKS = "0-0 1-2\n2-0 2-1\n"  # 4 links, 3 possible, 1 of 3 sure


def test_the_scores_are_printed(file, capsys):
    gold, found = file("gold", GOLD), file("links", LINKS)
    assert main(["evaluate-alignment", gold, found]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "2 sentences, 4 links; gold: 3 sure, 5 in all", "precision  0.7500", "recall     0.3333", "AER        0.4286",
    ]  # fmt: skip
    assert main(["evaluate-alignment", gold, found, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "version": 1, "precision": 0.75, "recall": 1 / 3, "aer": pytest.approx(3 / 7), "sentences": 2, "links": 4,
        "sure": 3, "possible": 5, "links_sure": 1, "links_possible": 3,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("gold", "flags"),
    [
        ("1-1 2-2 2p3\n3?1 1-2\n", ["--first-index", "1"]),
        ("0-0 1-1 2p1\n0?2 1-0\n", ["--gold-order", "target-source"]),
        ("1-1 2-2 3p2\n1?3 2-1\n", ["--gold-order", "target-source", "--first-index", "1"]),
        ("1 1 1 S\n1 2 2\n1 2 3 P\n2 3 1 P\n2 1 2 S\n", []),
        ("1 1 1 S\n1 2 2\n1 3 2 P\n2 1 3 P\n2 2 1 S\n", ["--gold-form", "naacl", "--gold-order", "target-source"]),
    ],
)
def test_the_same_gold_in_every_form(file, capsys, gold, flags):
    scores = []
    for text, more in (GOLD, []), (gold, flags):
        assert main(["evaluate-alignment", file("gold", text), file("links", LINKS), *more]) == 0
        scores.append(capsys.readouterr().out)
    assert scores[0] == scores[1]


@pytest.mark.parametrize(
    ("gold", "links", "flags", "said"),
    [
        (GOLD, "0-0\n", [], "links ends after 1 sentences and .*gold goes on: they must be of the same sentences"),
        ("1 1 1\n", LINKS, [], "gold ends after 1 sentences and .*links goes on"),
        (GOLD, "0-0\n1 - 1\n", [], r"links, line 2: '1' is no link; i-j \(sure\)"),
        (GOLD, LINKS, ["--first-index", "1"], "gold, line 1: '0-0' is no link; .* words counted from 1"),
        (GOLD, LINKS, ["--gold-form", "naacl"], "gold, line 1: '0-0 1-1 1p2' is no link; `sentence source target"),
        (GOLD, "1 1 1 S\n", [], "links, line 1: '1' is no link"),
    ],
)
def test_files_that_do_not_fit_are_refused(file, capsysbinary, gold, links, flags, said):
    import re

    assert re.search(
        said, failure(capsysbinary, "evaluate-alignment", file("gold", gold), file("links", links), *flags)
    )


def test_no_link_at_all_is_no_number(file, capsys):
    assert main(["evaluate-alignment", file("gold", "\n"), file("links", "\n"), "--json"]) == 0
    scores = json.loads(capsys.readouterr().out, parse_constant=lambda _: pytest.fail("no JSON"))
    assert (scores["sentences"], scores["precision"], scores["recall"], scores["aer"]) == (1, None, None, None)


def test_gold_links_judged_by_themselves_are_without_error(data, capsys, file):
    """Of the sure links of people everything is right; and their order and form are those that the flags say."""
    naacl = data / "gold-alignment" / "hansards-trial" / "trial.en-fr.naacl"
    sure = [[] for _ in range(37)]
    for line in naacl.read_text(encoding="utf-8").splitlines():
        sentence, source, target, mark = line.split()
        if mark == "S":
            sure[int(sentence) - 1].append((int(source) - 1, int(target) - 1))
    links = file("links", "".join(pharaoh(one) + "\n" for one in sure))
    assert main(["evaluate-alignment", str(naacl), links, "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert (scores["precision"], scores["recall"], scores["aer"], scores["sure"]) == (1, 1, 0, 338)
    assert main(["evaluate-alignment", str(naacl), links, "--json", "--gold-order", "target-source"]) == 0
    assert json.loads(capsys.readouterr().out)["aer"] > 0.5
