"""`rnnsearch evaluate` and `rnnsearch heatmap` from the command line, over a mock model."""

import gzip
import io
import json
import os
import sys
from pathlib import Path

import pytest

from mock_engine import MockEngine
from rnnsearch.cli.main import main
from rnnsearch.cli.opening import check_output
from rnnsearch.config import ModelSettings, SearchSettings
from rnnsearch.errors import UserError
from rnnsearch.model_folder import ModelFolder
from rnnsearch.text.side import Side
from rnnsearch.text.tokenise import MosesTokeniser
from rnnsearch.text.vocabulary import Vocabulary
from rnnsearch.translator import Translator

TARGET = ["le", "un", "chat", "chien", "dort", "voit", "."]


@pytest.fixture
def model(monkeypatch):
    """Makes Translator.load give a mock, whatever folder is named; returns what it was called with."""
    called = []

    def load(path, *, threads=None, device="cpu", precision="auto"):
        called.append((str(path), threads, device, precision))
        source = Side("source", "en", MosesTokeniser("en"), Vocabulary(["the", "cat", "dog", "sleeps", "."]))
        target = Side("target", "fr", MosesTokeniser("fr"), Vocabulary(TARGET))
        folder = ModelFolder(Path(path), ModelSettings(), SearchSettings(beam_size=4), 20, source, target, {})
        return Translator(folder, lambda: MockEngine(len(target.vocabulary), 1))

    monkeypatch.setattr(Translator, "load", load)
    return called


@pytest.fixture
def files(tmp_path):
    def write(name, text):
        data = text.encode()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return str(tmp_path / name)

    return write


def stdin(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_evaluate_translates_and_prints_every_score_with_signatures(model, files, capsys):
    source = files("test.en", "the cat sleeps .\n\nthe zebra sleeps .\n")
    reference = files("test.fr.gz", "le chat dort.\n\nle chien dort.\n")
    assert (
        main(["evaluate", "--model", "some/en-fr", source, reference, "--threads", "2", "--beam-size", "3", "--no-unk"])
        == 0
    )
    out, _ = capsys.readouterr()
    first, _, *table = out.splitlines()
    assert first.startswith("3 sentences, translated by rnnsearch:")
    assert first.endswith("|model:en-fr|beam:3|norm:length|unk:avoided")
    assert [line[:22].strip() for line in table] == [
        "BLEU", "chrF", "BLEU, tokenised", "length ratio", "unknown words, output", "unknown words, source",
    ]  # fmt: skip
    assert "tok:13a" in table[0]
    assert "tok:none" in table[2]
    assert "tokens:moses-fr" in table[2]
    assert "12.50 %" in table[5]  # zebra, one of eight
    assert model == [("some/en-fr", 2, "cpu", "auto")]


def test_evaluate_writes_json(model, files, tmp_path, capsys):
    source, reference = files("a.en", "the cat\n"), files("a.fr", "le chat\n")
    assert main(["evaluate", "--model", "m", source, reference, "--json", "-"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["version"] == 1
    assert printed["sentences"] == 1
    assert printed["translator"].endswith("|model:m|beam:4|norm:length|unk:kept")
    assert printed["bleu"]["signature"].startswith("nrefs:1|")
    assert main(["evaluate", "--model", "m", source, reference, "--json", str(tmp_path / "s.json")]) == 0
    assert json.loads((tmp_path / "s.json").read_text()) == printed
    assert "BLEU" in capsys.readouterr().out


def test_evaluate_scores_an_output_without_a_model(files, capsys):
    hypotheses, reference = files("out", "le chat dort bien .\n"), files("test.fr", "le chat dort bien .\n")
    assert main(["evaluate", "--hypotheses", hypotheses, reference, "--tokenised"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("1 sentences\n")
    assert out.count("100.00") == 3
    assert "tokens:as-given" in out
    assert main(["evaluate", "--hypotheses", hypotheses, reference]) == 0
    out, err = capsys.readouterr()
    assert "tokens:moses-fr" in out
    assert err.count("--tokenised") == 1


@pytest.mark.parametrize("name", ["nowhere/s.json", ".", "file/s.json", "x" * 300, "loop"])
def test_evaluate_refuses_a_file_that_cannot_be_written_before_any_work(
    model, files, tmp_path, monkeypatch, capsys, name
):
    source, reference = files("a.en", "the cat\n"), files("a.fr", "le chat\n")
    files("file", "")
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.iterdir())
    assert main(["evaluate", "--model", "m", source, reference, "--json", name]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert f"cannot write {name}: " in err
    assert not model  # refused before the model is read
    assert set(tmp_path.iterdir()) == before


def test_a_look_at_where_an_output_goes_changes_nothing_there(tmp_path):
    (tmp_path / "old").write_text("old")
    (tmp_path / "link").symlink_to("later")
    (tmp_path / "strange").symlink_to("nowhere/later")
    os.mkfifo(tmp_path / "pipe")
    before = set(tmp_path.iterdir())
    for name in ("old", "new", "link", "pipe"):
        check_output(tmp_path / name)
    check_output(Path(os.devnull))
    with pytest.raises(UserError, match=r"cannot write .*strange: No such file or directory; name a file"):
        check_output(tmp_path / "strange")
    assert set(tmp_path.iterdir()) == before
    assert (tmp_path / "old").read_text() == "old"


@pytest.mark.parametrize("flag", ["--model", "--hypotheses"])
def test_evaluate_refuses_files_of_different_length_with_both_counts_and_names(model, files, capsys, flag):
    short, long = files("short.en", "a\n" * 99), files("long.fr", "b\n" * 100)
    arguments = ["--model", "m", short, long] if flag == "--model" else ["--hypotheses", short, long]
    assert main(["evaluate", *arguments]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert all(part in line for part in (short, long, "99", "100"))
    assert not model  # refused before the model is read


def test_evaluate_says_what_is_missing(files, capsys):
    reference = files("a.fr", "a\n")
    assert main(["evaluate", "--model", "m", reference]) == 1
    assert "SOURCE and REFERENCE" in capsys.readouterr().err
    assert main(["evaluate", "--hypotheses", reference, reference + "x"]) == 1
    assert reference + "x" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main(["evaluate", reference, reference])
    assert ended.value.code == 2


def test_evaluate_names_bytes_that_are_not_utf8(tmp_path, files, capsys):
    (tmp_path / "b.fr").write_bytes(b"bon\ncaf\xe9\n")
    good, bad = files("a.fr", "a\nb\n"), str(tmp_path / "b.fr")
    assert main(["evaluate", "--hypotheses", good, bad]) == 1
    assert "line 2 (byte offset 7" in capsys.readouterr().err
    assert main(["evaluate", "--hypotheses", good, bad, "--encoding", "cp1252"]) == 0


def test_heatmap_draws_in_the_terminal(model, capsys):
    assert main(["heatmap", "--model", "m", "the cat sleeps ."]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[5].split() == ["e", "t", "s", "."]  # the last letters of the source words
    assert any("█" in line or "▓" in line for line in lines[6:-2])


def test_heatmap_draws_a_given_pair(model, capsys):
    assert main(["heatmap", "--model", "m", "the cat", "--target", "un chien voit"]) == 0
    rows = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert [row for row in rows if row in TARGET] == ["un", "chien", "voit"]


def test_heatmap_reads_lines_and_writes_one_page(model, tmp_path, monkeypatch, capsys):
    stdin(monkeypatch, b"the cat\n\n<b>the dog\n")
    page = tmp_path / "a.html"
    assert main(["heatmap", "--model", "m", "--output", str(page)]) == 0
    html = page.read_text(encoding="utf-8")
    assert html.count("<figure") == 3
    assert "<b>" not in html
    assert "source and the target are empty" in html
    out, err = capsys.readouterr()
    assert out == ""
    assert str(page) in err


def test_heatmap_writes_several_files_of_one_sentence(model, tmp_path):
    pytest.importorskip("matplotlib", reason="drawing PNGs needs the extra [plot]")
    names = [str(tmp_path / name) for name in ("a.PNG", "a.html")]
    assert main(["heatmap", "--model", "m", "the cat", "--output", names[0], "--output", names[1]]) == 0
    assert Path(names[0]).read_bytes().startswith(b"\x89PNG")
    assert "<td" in Path(names[1]).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a", "--output", "x.jpg"], "x.jpg: the name must end in .png or .html"),
        (["--target", "b"], "--target needs the source sentence"),
        (["--output", "x.png"], "there are 2 lines"),
        (["a", "--output", "nowhere/x.html"], "cannot write nowhere/x.html: No such file"),
        (["a", "--output", "good.html", "--output", "folder.png"], "cannot write folder.png: Is a directory"),
    ],
)
def test_heatmap_refuses_in_one_sentence(model, tmp_path, monkeypatch, capsys, arguments, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.png").mkdir()
    stdin(monkeypatch, b"one\ntwo\n")
    assert main(["heatmap", "--model", "m", *arguments]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert not model  # refused before the model is read
    assert list(tmp_path.iterdir()) == [tmp_path / "folder.png"]


def test_heatmap_without_matplotlib_says_what_to_install(model, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["heatmap", "--model", "m", "the cat", "--output", str(tmp_path / "a.png")]) == 1
    assert 'pip install "rnnsearch[plot]"' in capsys.readouterr().err
    assert main(["heatmap", "--model", "m", "the cat", "--output", str(tmp_path / "a.html")]) == 0
