"""`rnnsearch reproduce` as a command: what reaches the experiments, what a user reads, a real interruption."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from rnnsearch.cli.main import main
from rnnsearch.config import load_settings
from rnnsearch.errors import UserError
from rnnsearch.reproduction import experiments, plan
from rnnsearch.reproduction.plan import SCALES
from rnnsearch.text.grammar import generate

SOURCE = Path(__file__).parents[1] / "src"

SIZES = {"embedding_size": 12, "hidden_size": 12, "attention_size": 8, "maxout_size": 8, "vocabulary_size": 300}
#: Runs the command at a tiny scale.
TINY = f"""
import sys
from dataclasses import replace
from rnnsearch.config import load_settings
from rnnsearch.reproduction.plan import SCALES
from rnnsearch.cli.main import main

SCALES["laptop"] = replace(SCALES["laptop"], settings=load_settings("small", None, {SIZES}))
sys.exit(main(["reproduce", *sys.argv[1:]]))
"""


@pytest.fixture
def text(tmp_path, monkeypatch):
    for seed, (name, count) in enumerate((("train", 60), ("dev", 5), ("test", 6), ("long", 4))):
        pairs = list(generate(count, seed=seed, max_length=12))
        (tmp_path / f"{name}.en").write_text("".join(p.source_text + "\n" for p in pairs), encoding="utf-8")
        (tmp_path / f"{name}.fr").write_text("".join(p.target_text + "\n" for p in pairs), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


FILES = ["train.en", "train.fr", "--dev", "dev.en", "dev.fr", "--test", "test.en", "test.fr", "--output", "out"]


@pytest.fixture
def asked(monkeypatch):
    """What the command asks of the experiments, which are not made."""
    found = []

    def reproduce(asked_plan, tests, **more):
        found.append((asked_plan, tests, more))
        return True

    monkeypatch.setattr(experiments, "reproduce", reproduce)
    return found


def test_flags_reach_the_experiments(text, asked, capsys):
    (text / "moses.fr").write_text("x\n" * 6)
    more = ["--test", "long.en", "long.fr", "--scale", "paper", "--minutes", "7.5", "--against", "moses.fr", "--seed",
            "3", "--sentence", "A cat.", "--sentence", "A dog.", "--threads", "2", "--report-only"]  # fmt: skip
    assert main(["reproduce", *FILES, *more]) == 0
    (found, tests, options), *_ = asked
    assert (found.scale, found.seed, found.minutes, found.output) == (SCALES["paper"], 3, 7.5, Path("out"))
    assert [list(map(str, files)) for files in (found.corpus, found.dev)] == [FILES[:2], FILES[3:5]]
    assert [(test.name, len(test.sources)) for test in tests] == [("test", 6), ("long", 4)]
    assert options == {
        "others": {"moses.fr": ["x"] * 6}, "sentences": ["A cat.", "A dog."], "device": "cpu", "threads": 2,
        "terminal": False, "report_only": True,
    }  # fmt: skip
    assert f"the report is {Path('out/report.html')}, with all numbers in report.json" in capsys.readouterr().err


def test_without_minutes_it_takes_those_of_the_scale(text, asked):
    assert main(["reproduce", *FILES]) == 0
    assert asked[0][0].minutes == SCALES["laptop"].minutes == 100


@pytest.mark.parametrize(
    ("flags", "answer"),
    [
        (["--minutes", "0"], "a number of minutes above 0 is needed, not '0'"),
        (["--minutes", "inf"], "a number of minutes above 0 is needed, not 'inf'"),
        (["--threads", "0"], "a whole number from 1 to 1,024 is needed, not '0'"),
        (["--scale", "huge"], "invalid choice: 'huge'"),
        (["--minute", "3"], "unknown flag --minute (did you mean --minutes?)"),
    ],
)
def test_what_cannot_be_is_refused(flags, answer, text, asked, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["reproduce", *FILES, *flags])
    assert exit_.value.code == 2
    assert answer in capsys.readouterr().err
    assert not asked


def test_a_mistake_is_one_sentence(text, capsys):
    assert main(["reproduce", *FILES[:-4], "test.en", "dev.fr", "--output", "out"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "rnnsearch: error: test.en has 6 lines and dev.fr has 5: they must go line by line"
    ]
    assert not (text / "out").exists()


@pytest.mark.parametrize("stop", [KeyboardInterrupt, False])
def test_an_interruption_says_how_to_go_on(stop, text, monkeypatch, capsys):
    def reproduce(*_, **__):
        if stop:
            raise stop
        return False

    monkeypatch.setattr(experiments, "reproduce", reproduce)
    assert main(["reproduce", *FILES]) == 1
    assert "interrupted; the same command goes on where it was" in capsys.readouterr().err


def test_a_plan_that_has_grown_other_sizes_is_refused_in_a_sentence(text, monkeypatch, capsys):
    first = replace(SCALES["laptop"], settings=load_settings("small", None, {"hidden_size": 12}))
    plan.settle(plan.Plan([Path("train.en"), Path("train.fr")], [Path("dev.en"), Path("dev.fr")], Path("out"), first))
    monkeypatch.setitem(SCALES, "laptop", replace(first, settings=load_settings("small", None, {"hidden_size": 13})))
    assert main(["reproduce", *FILES]) == 1
    told = "out was begun with hidden size 12 and not 13: give the same again, or another --output"
    assert capsys.readouterr().err.splitlines() == [f"rnnsearch: error: {told}"]
    with pytest.raises(UserError):
        plan.settle(plan.Plan([Path("train.en"), Path("train.fr")], [Path("dev.en"), Path("dev.fr")], Path("out"),
                              SCALES["laptop"]))  # fmt: skip


def test_a_killed_process_goes_on_where_it_was(text, monkeypatch):
    """The process is killed while the first model learns; then the same command comes to the report."""
    path = os.pathsep.join(filter(None, [str(SOURCE), os.environ.get("PYTHONPATH")]))
    flags = [*FILES, "--threads", "1", "--minutes"]
    process = subprocess.Popen(
        [sys.executable, "-c", TINY, *flags, "60"],
        env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    run = Path("out/models/RNNencdec-30.run")
    deadline = time.monotonic() + 60
    while not (run / "run.json").exists() or not json.loads((run / "run.json").read_text(encoding="utf-8"))["ready"]:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.kill()
    process.wait()
    monkeypatch.setitem(SCALES, "laptop", replace(SCALES["laptop"], settings=load_settings("small", None, SIZES)))
    monkeypatch.setattr("rnnsearch.training.trainer.find_spec", lambda name: None)
    assert main(["reproduce", *flags, "0.01"]) == 0
    assert "going on after update" in (run / "log.txt").read_text(encoding="utf-8")
    report = json.loads(Path("out/report.json").read_text(encoding="utf-8"))
    assert [row["ended"] for row in report["table_2"]] == [True] * 5
