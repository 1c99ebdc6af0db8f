"""`rnnsearch evaluate` and `rnnsearch heatmap` from the command line, over a mock model."""

import errno
import gzip
import io
import json
import os
import subprocess
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
    first, empty, title, _, *rest = out.splitlines()
    table = rest[: rest.index("")]
    assert (empty, title) == ("", "Scores")
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
    assert (printed["version"], printed["sentences"], printed["language"]) == (2, 1, "fr")
    (system,) = printed["systems"]
    assert system["translator"].endswith("|model:m|beam:4|norm:length|unk:kept")
    assert system["scores"]["bleu"]["signature"].startswith("nrefs:1|")
    assert main(["evaluate", "--model", "m", source, reference, "--json", str(tmp_path / "s.json")]) == 0
    assert json.loads((tmp_path / "s.json").read_text()) == printed
    assert "BLEU" in capsys.readouterr().out


def test_evaluate_scores_an_output_without_a_model(files, capsys):
    hypotheses, reference = files("out", "le chat dort bien .\n"), files("test.fr", "le chat dort bien .\n")
    assert main(["evaluate", "--hypotheses", hypotheses, reference, "--tokenised"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("1 sentences\n\nScores\n")
    assert [line.split()[1] for line in out.splitlines() if line.startswith(("BLEU  ", "chrF"))] == ["100.00"] * 2
    assert "by source length" not in out
    assert "tokens:as-given" in out
    assert main(["evaluate", "--hypotheses", hypotheses, reference]) == 0
    out, err = capsys.readouterr()
    assert "tokens:moses-fr" in out
    assert err.count("--tokenised") == 1


def test_evaluate_sets_systems_side_by_side(model, files, tmp_path, capsys):
    source = files("t.en", "the cat sleeps .\n" * 20 + "the dog sleeps . " * 4 + "\n")
    reference = files("t.fr", "le chat dort.\n" * 20 + "le chien\n")
    other = files("other.fr", "le chat dort bien.\n" * 20 + "le chien\n")
    for name in "ab":
        (tmp_path / name / "m").mkdir(parents=True)
    main_model, second = str(tmp_path / "a/m"), str(tmp_path / "b/m")
    flags = ["--model", main_model, "--against", second, "--against", other, "--json", str(tmp_path / "s.json")]
    assert main(["evaluate", *flags, source, reference, "--beam-size", "3"]) == 0
    out = capsys.readouterr().out
    first, model_line, file_line, *_ = out.splitlines()
    assert first.endswith("|model:m|beam:3|norm:length|unk:kept")
    assert model_line.startswith("b/m: rnnsearch:") and "|beam:3|" in model_line
    assert file_line == "other.fr: translations from a file"
    assert [call[0] for call in model] == [main_model, second]
    found = json.loads((tmp_path / "s.json").read_text())
    assert [system["name"] for system in found["systems"]] == ["a/m", "b/m", "other.fr"]
    mine, same, better = found["systems"]
    assert mine["scores"] == same["scores"] != better["scores"]
    assert same["against_first"]["difference"] == 0 and same["against_first"]["p_value"] is None
    assert better["against_first"]["difference"] > 10
    assert "a/m" in out and "BLEU by source length" in out
    assert [(band["from"], band["to"], band["sentences"]) for band in found["bands"]] == [(1, 10, 20), (11, 20, 1)]
    assert found["examples"][0]["alignment"]["source_words"] == found["examples"][0]["source"].split()


def test_evaluate_bands_a_given_output_by_its_source(files, capsys):
    source, reference, output = (files(name, "a b c\n" * 20) for name in ("t.en", "t.fr", "out"))
    assert main(["evaluate", "--hypotheses", output, source, reference]) == 0
    out = capsys.readouterr().out
    assert "BLEU by source length, in words" in out
    assert "No [UNK]" not in out
    assert any(line.split()[:2] == ["1-10", "20"] for line in out.splitlines())


def test_a_line_that_is_too_long_is_named_once_though_it_is_translated_twice(model, files, caplog, capsys):
    source = files("test.en", "the zebra .\n" + "the cat sleeps . " * 7 + "\n")
    reference = files("test.fr", "le chien dort .\n" + "le chat dort . " * 7 + "\n")
    assert main(["evaluate", "--model", "en-fr", source, reference]) == 0
    assert "No [UNK]: 1 of 2 sentences" in capsys.readouterr().out
    assert caplog.text.count("line 2: 28 tokens, over the limit of 20") == 1


def test_evaluate_translates_known_sentences_again_without_unk(model, files, tmp_path, monkeypatch, capsys):
    asked = []
    translate = Translator.translate

    def watched(self, lines, **options):
        asked.append((list(lines), options["no_unk"]))
        return translate(self, lines, **options)

    monkeypatch.setattr(Translator, "translate", watched)
    source = files("t.en", "the cat sleeps .\nthe zebra sleeps .\nthe dog\n")
    reference = files("t.fr", "le chat dort.\nle chien dort.\nle zèbre\n")
    (tmp_path / "n").mkdir()
    flags = ["--model", "m", "--against", str(tmp_path / "n"), source, reference]
    assert main(["evaluate", *flags]) == 0
    # A sentence stands where it stood, so that warnings name its line.
    once = [(["the cat sleeps .", "the zebra sleeps .", "the dog"], False), (["the cat sleeps .", "", ""], True)]
    assert asked == once * 2
    assert "No [UNK]: 1 of 3 sentences" in capsys.readouterr().out
    asked.clear()
    assert main(["evaluate", *flags, "--no-unk"]) == 0
    assert [no_unk for _, no_unk in asked] == [True, True]
    assert "No [UNK]: 1 of 3 sentences" in capsys.readouterr().out


def test_evaluate_does_not_translate_twice_where_nothing_is_unknown(files, tmp_path, monkeypatch, capsys):
    searched = []

    def load(path, **_):
        sides = [Side(role, code, MosesTokeniser(code), Vocabulary(["a", "."])) for role, code in
                 (("source", "en"), ("target", "fr"))]  # fmt: skip
        folder = ModelFolder(Path(path), ModelSettings(), SearchSettings(beam_size=4), 20, *sides, {})
        engine = MockEngine(4, 1)
        engine.table[..., 1] = -50.0  # never [UNK]
        engine.batches = searched
        return Translator(folder, lambda: engine)

    monkeypatch.setattr(Translator, "load", load)
    source, reference = files("t.en", "a .\na\n"), files("t.fr", "a .\na\n")
    assert main(["evaluate", "--model", "m", source, reference]) == 0
    assert "No sentence holds an unknown word" in capsys.readouterr().out
    assert sum(searched) == 2


def test_evaluate_writes_reports(model, files, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="the plot needs the extra [plot]")
    source, reference = files("t.en", "<b>the cat|dog\n" * 3), files("t.fr", "le chat dort.\n" * 3)
    names = [str(tmp_path / name) for name in ("r.html", "r.MD")]
    assert main(["evaluate", "--model", "m", source, reference, "--report", names[0], "--report", names[1]]) == 0
    out, err = capsys.readouterr()
    assert "BLEU by source length" in out
    assert err.count("rnnsearch: wrote ") == 2
    page = Path(names[0]).read_text(encoding="utf-8")
    assert page.count("<figure") == 3 and "<svg" in page and "&lt;b&gt;the cat|dog" in page and "<b>" not in page
    text = Path(names[1]).read_text(encoding="utf-8")
    assert "![BLEU by source length](r.png)" in text and r"\<b\>the cat\|dog" in text
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")


def test_evaluate_writes_reports_without_matplotlib(model, files, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    source, reference = files("t.en", "the cat\n"), files("t.fr", "le chat\n")
    names = [str(tmp_path / name) for name in ("r.html", "r.md")]
    assert main(["evaluate", "--model", "m", source, reference, "--report", names[0], "--report", names[1]]) == 0
    assert capsys.readouterr().err.count('pip install "rnnsearch[plot]"') == 2
    assert "![" not in Path(names[1]).read_text(encoding="utf-8")
    assert not (tmp_path / "r.png").exists()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--report", "r.pdf"], "--report r.pdf: the name must end in .html or .md"),
        (["--report", "nowhere/r.html"], "cannot write nowhere/r.html: No such file"),
        (["--report", "folder.md"], "cannot write folder.png: Is a directory"),
        (["--language", "French"], "--language 'French' is no language code; name one such as en"),
        (["--language", ""], "--language '' is no language code"),
        (["--language", "fr/../x"], "is no language code"),
        (["--against", "nothing"], "cannot read nothing: No such file"),
        (["--against", "long.fr"], "long.fr has 2 lines and t.fr has 1"),
    ],
)
def test_evaluate_refuses_in_one_sentence_before_any_work(model, files, tmp_path, monkeypatch, capsys, flags, said):
    monkeypatch.chdir(tmp_path)
    for name, text in ("t.en", "a\n"), ("t.fr", "b\n"), ("long.fr", "b\nc\n"):
        files(name, text)
    (tmp_path / "folder.png").mkdir()
    before = set(tmp_path.iterdir())
    assert main(["evaluate", "--model", "m", "t.en", "t.fr", *flags]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert said in err
    assert not model
    assert set(tmp_path.iterdir()) == before


def test_evaluate_needs_a_source_for_every_model(model, files, tmp_path, capsys):
    reference = files("t.fr", "b\n")
    assert main(["evaluate", "--hypotheses", reference, "--against", str(tmp_path), reference]) == 1
    assert "SOURCE and REFERENCE" in capsys.readouterr().err


def test_evaluate_names_the_file_that_a_full_disk_refuses(model, files, tmp_path, monkeypatch, capsys):
    source, reference = files("t.en", "the cat\n"), files("t.fr", "le chat\n")
    page = tmp_path / "r.html"

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    assert main(["evaluate", "--model", "m", source, reference, "--report", str(page)]) == 1
    out, err = capsys.readouterr()
    assert f"cannot write {page}: No space left on device" in err
    assert "BLEU" in out  # what took the time is not lost
    assert not page.exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device /dev/full")
def test_evaluate_names_the_device_that_is_full(files, capsys):
    reference = files("t.fr", "le chat\n")
    assert main(["evaluate", "--hypotheses", reference, reference, "--json", "/dev/full"]) == 1
    assert "cannot write /dev/full: No space left" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device /dev/full")
def test_a_full_disk_is_named_as_standard_output_and_the_report_is_written(files, tmp_path, capsys, monkeypatch):
    reference, page = files("t.fr", "le chat\n"), tmp_path / "report.md"
    with Path("/dev/full").open("wb", buffering=0) as full:
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(full))
        assert main(["evaluate", "--hypotheses", reference, reference, "--report", str(page)]) == 1
    assert "rnnsearch: error: cannot write to standard output: No space left on device\n" in capsys.readouterr().err
    assert "BLEU" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(("flag", "tokeniser"), [(None, "zh"), ("ja", "char"), ("ko", "char"), ("pt-BR", "13a")])
def test_evaluate_chooses_the_tokeniser_by_language(files, capsys, flag, tokeniser):
    output, reference = files("out", "我今天去学校看书。\n"), files("t.zh", "我今天去学校读书。\n")
    assert main(["evaluate", "--hypotheses", output, reference, *(["--language", flag] if flag else [])]) == 0
    assert next(line for line in capsys.readouterr().out.splitlines() if line.startswith("BLEU")).count(
        f"tok:{tokeniser}|"
    )


def test_evaluate_warns_of_tokenised_output_beside_plain_text(files, capsys):
    plain, cut = files("t.fr", "Le chat dort, bien.\n"), files("out", "Le chat dort , bien .\n")
    assert main(["evaluate", "--hypotheses", cut, plain]) == 0
    assert "the translations of out seem to be tokenised" in capsys.readouterr().err
    assert main(["evaluate", "--hypotheses", plain, "--tokenised", cut]) == 0
    assert "the translations of t.fr seem to be plain" in capsys.readouterr().err
    assert main(["evaluate", "--hypotheses", cut, "--against", plain, "--tokenised", cut]) == 0
    assert capsys.readouterr().err.count("warning") == 1


@pytest.mark.parametrize(
    ("flags", "tokeniser", "label"), [([], "13a", "BLEU  "), (["--tokenised"], "none", "BLEU, tok")]
)
def test_evaluate_prints_the_bleu_of_sacrebleus_own_command(files, capsys, flags, tokeniser, label):
    output = files("out", "Le chat dort, très bien.\nL'école , ici !\nune maison\u00a0bleue\n")
    reference = files("t.fr", "Le chat dort, bien.\nL'école , là !\nune maison\u00a0bleue et grise\n")
    assert main(["evaluate", "--hypotheses", output, reference, *flags]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith(label)][:1]
    printed, signature = line.removeprefix("BLEU, tokenised").removeprefix("BLEU").split()
    command = [sys.executable, "-m", "sacrebleu", reference, "-i", output, "-tok", tokeniser, "-w", "2"]
    theirs = json.loads(subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout)
    assert float(printed) == theirs["score"]
    assert signature.removesuffix("|tokens:as-given") == theirs["signature"]


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
