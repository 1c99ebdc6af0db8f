"""The demo, very small: every file it promises, what it prints, and a second run on the same folder."""

import importlib
import shlex

import pytest

from rnnsearch.cli.demo import MARK, Plan, demo
from rnnsearch.cli.main import Parser, main
from rnnsearch.errors import UserError

TINY = Plan(pairs=200, dev=10, test=10, longest=8, minutes=0.03)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("somewhere") / "demo"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder.parent)
        demo(folder.relative_to(folder.parent), TINY)
    return folder


def lines(path):
    return path.read_text(encoding="utf-8").splitlines()


def test_no_sentence_is_in_two_files(made):
    parts = [lines(made / f"{name}.en") for name in ("train", "dev", "test")]
    assert [len(part) for part in parts] == [TINY.pairs, TINY.dev, TINY.test]
    assert [len(lines(made / f"{name}.fr")) for name in ("train", "dev", "test")] == [len(part) for part in parts]
    assert len(set().union(*parts)) == TINY.pairs + TINY.dev + TINY.test


def test_pictures_and_page_are_there(made):
    for name in ("heatmap.png", "curve.png"):
        assert (made / name).read_bytes().startswith(b"\x89PNG\r\n")
    page = (made / "heatmap.html").read_text(encoding="utf-8")
    assert page.count("<figure") == 1
    assert "http" not in page, "a self-contained page loads nothing"


def test_the_model_translates_afterwards(made, capsys):
    assert main(["evaluate", "--model", str(made / "en-fr"), str(made / "test.en"), str(made / "test.fr")]) == 0
    assert "BLEU" in capsys.readouterr().out


def test_a_second_run_starts_anew_and_its_advice_is_understood(made, capsys, monkeypatch):
    monkeypatch.chdir(made.parent)
    monkeypatch.setattr("sys.argv", [".venv/bin/rnnsearch", "demo"])
    (made / "mine.txt").write_text("a file of the user's")
    before = (made / "en-fr.run" / "log.txt").stat().st_mtime_ns
    demo(made.relative_to(made.parent), TINY)
    assert (made / "en-fr.run" / "log.txt").stat().st_mtime_ns > before
    assert (made / "mine.txt").read_text() == "a file of the user's"
    shown = capsys.readouterr().out
    assert "made anew" in shown
    assert f"BLEU on {TINY.test} such sentences:" in shown
    advice = [line.split("<")[0] for line in shown.splitlines() if line.startswith("  .venv/bin/rnnsearch ")]
    commands = [shlex.split(line)[1:] for line in advice]
    assert [command[0] for command in commands] == ["train", "translate", "heatmap", "evaluate"]
    for name, *flags in commands:
        parser = Parser(name, "")
        importlib.import_module(f"rnnsearch.cli.{name}").add_arguments(parser)
        parser.parse(flags)


def test_a_folder_of_somebody_else_is_left_alone(tmp_path):
    (tmp_path / "train.en").write_text("mine")
    with pytest.raises(UserError, match="was not made by a demo"):
        demo(tmp_path, TINY)
    assert (tmp_path / "train.en").read_text() == "mine"
    assert not (tmp_path / MARK).exists()
