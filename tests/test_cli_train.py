"""`rnnsearch train` as a command: flags, interruptions of real processes, and what a user reads."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from rnnsearch.cli.main import main
from rnnsearch.config import GROUP_OF
from rnnsearch.model_folder import ModelFolder

SOURCE = Path(__file__).parents[1] / "src"
TINY = [
    *("--preset", "small", "--embedding-size", "12", "--hidden-size", "12", "--attention-size", "8"),
    *("--maxout-size", "8", "--tokeniser", "none", "--batch-tokens", "300", "--validate-every", "25"),
    *("--patience", "0", "--checkpoint-minutes", "0.0005"),
]

#: Ends soon, should a mistake in the flags that follow go unnoticed.
ONE_UPDATE = ["train.en", "train.fr", *TINY, "--max-updates", "1"]

#: Runs the command, and kills its own process in the second save of a checkpoint: before the renaming, or while the
#: weights are written.
KILLED_IN_SAVE = """
import os, signal, sys
from pathlib import Path
from rnnsearch.cli.main import main
from rnnsearch.training import checkpoint

saves, replace, save_file = [], os.replace, checkpoint.save_file

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def counted_save(tensors, path):
    save_file(tensors, path)
    saves.append(path)
    if sys.argv[1] == "writing" and len(saves) == 2:
        os.truncate(path, os.path.getsize(path) // 2)
        die()

def counted_replace(old, new):
    if sys.argv[1] == "renaming" and len(saves) == 2 and Path(new).parent.name == "checkpoints":
        die()
    replace(old, new)

checkpoint.save_file, os.replace = counted_save, counted_replace
sys.exit(main(sys.argv[2:]))
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with train and dev, .en and .fr."""
    folder = tmp_path_factory.mktemp("text")
    dice = random.Random(5)
    lines = sorted({" ".join(dice.choices("abcdefgh", k=dice.randint(2, 7))) for _ in range(300)})
    dice.shuffle(lines)
    for name, part in ("dev", lines[:10]), ("train", lines[10:]):
        (folder / f"{name}.en").write_text("".join(line + "\n" for line in part))
        (folder / f"{name}.fr").write_text("".join(line.upper() + "\n" for line in part))
    return folder


def begin(folder, *arguments, program=("-m", "rnnsearch")):
    environment = os.environ | {"PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, *program, "train", *arguments],
        cwd=folder,
        env=environment,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def new(model, *arguments):
    return ("train.en", "train.fr", "--dev", "dev.en", "dev.fr", "--model", model, *TINY, *arguments)


def wait_for_update(process, folder, model, update):
    metrics = folder / f"{model}.run" / "metrics.jsonl"
    while not (metrics.exists() and f'"update": {update},' in metrics.read_text()):
        assert process.poll() is None
        time.sleep(0.01)


def updates(folder, model):
    lines = (folder / f"{model}.run" / "metrics.jsonl").read_text().splitlines()
    return [line.partition(', "epoch"')[0] for line in lines]


def test_a_run_that_is_killed_again_and_again_gives_the_weights_of_one_that_is_not(files):
    limit = ("--max-updates", "250")
    broken = begin(files, *new("broken", *limit))
    wait_for_update(broken, files, "broken", 20)
    time.sleep(random.random() / 10)
    broken.kill()
    assert broken.wait() == -signal.SIGKILL

    for moment in ("renaming", "writing"):
        program = ("-c", KILLED_IN_SAVE, moment)
        broken = begin(files, "--model", "broken", "--resume", program=program)
        assert broken.wait() == -signal.SIGKILL
        assert list((files / "broken.run" / "checkpoints").glob("*.part"))

    newest = max((files / "broken.run" / "checkpoints").glob("[0-9]" * 8))
    os.truncate(newest / "state.safetensors", 1000)
    broken = begin(files, *new("broken", *limit), "--resume")
    told = broken.communicate()[1]
    assert broken.returncode == 0, told
    assert f"warning: checkpoint broken.run/checkpoints/{newest.name} is damaged" in told

    unbroken = begin(files, *new("whole", *limit))
    told = unbroken.communicate()[1]
    assert unbroken.returncode == 0, told
    for folder in ("", ".run/last"):
        a, b = (ModelFolder.open(files / f"{name}{folder}").weights() for name in ("whole", "broken"))
        assert a.keys() == b.keys()
        assert all(np.array_equal(a[name], b[name]) for name in a)
    assert updates(files, "broken") == updates(files, "whole")
    assert len(updates(files, "whole")) == 25 + 10


def test_a_signal_ends_it_after_the_update_and_says_how_to_go_on(files):
    for number, name in (signal.SIGTERM, "terminated"), (signal.SIGINT, "interrupted"):
        process = begin(files, *new(name))
        wait_for_update(process, files, name, 10)
        process.send_signal(number)
        told = process.communicate()[1]
        assert process.returncode == 1, told
        assert told.splitlines()[-1].endswith(f"to go on: rnnsearch train --model {name} --resume")
        assert "Traceback" not in told
        assert (files / f"{name}.run" / "last" / "config.json").exists()
    again = begin(files, "--model", "interrupted", "--resume", "--max-updates", "1")
    told = again.communicate()[1]
    assert again.returncode == 0, told
    assert "training ended because" in told.splitlines()[-1]
    assert "rnnsearch translate --model interrupted" in told.splitlines()[-1]


@pytest.mark.parametrize(
    ("flag", "nearest"),
    [("--dropuot", "--dropout"), ("--hiden-size", "--hidden-size"), ("--initfrom", "--init-from")],
)
def test_an_unknown_flag_is_refused_with_the_nearest_known_one(capsys, flag, nearest):
    with pytest.raises(SystemExit) as end:
        main(["train", "a.en", "a.fr", "--model", "m", flag, "1"])
    assert end.value.code == 2
    assert f"unknown flag {flag} (did you mean {nearest}?)" in capsys.readouterr().err


@pytest.mark.parametrize("threads", ["0", "x", "99999999999"])
def test_a_number_of_threads_that_makes_no_sense_is_refused(capsys, threads):
    with pytest.raises(SystemExit) as ended:
        main(["train", "a", "b", "--model", "m", "--threads", threads])
    assert ended.value.code == 2
    assert f"a whole number from 1 to 1,024 is needed, not '{threads}'" in capsys.readouterr().err


def test_every_setting_has_a_flag(capsys):
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    told = capsys.readouterr().out
    assert [name for name in GROUP_OF if "--" + name.replace("_", "-") not in told] == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--resume"], "no run to resume at m.run; leave out --resume"),
        (["--resume", "--encoding", "utf-8"], "--encoding and --errors say how text is read"),
        (["--resume", "--errors", "strict"], "--encoding and --errors say how text is read"),
        ([], "name the text to train on"),
        (["absent.en", "absent.fr"], "cannot read absent.en"),
        (["train.en", "train.fr", "--config", "bad.toml"], "bad.toml: unknown setting 'hiden_size' in [model]"),
        (["train.en", "train.fr", "--config", "astray.toml"], "in [model]; it belongs under [training]"),
        (["train.en", "train.fr", "--config", "typed.toml"], "typed.toml: learning_rate: "),
        (["train.en", "train.fr", "--hidden-size", "-1"], "--hidden-size: "),
        (["train.en", "train.fr", "--hidden-size", "99999999999999999999"], "--hidden-size: "),
        (["train.en", "train.fr", "--vocabulary-size", "99999999999999"], "--vocabulary-size: "),
        (["train.en", "train.fr", "--vocabulary-size", "3"], "size: input should be 0, or 4 at least, got 3"),
        (["train.en", "train.fr", "--seed", str(2**64)], "--seed: "),
        (["train.en", "train.fr", "--dev", "dev.en", "dev.fr", "x", "y"], "--dev takes one or two files"),
        (["train.en", "train.fr", "--device", "abacus"], "--device abacus cannot be used"),
        (["train.en", "train.fr", "--device", "meta"], "--device meta cannot be used"),
        (["train.en", "train.fr", "--init-from", "nowhere"], "nowhere"),
        ([*ONE_UPDATE, "--guided-alignment", "absent"], "cannot read absent: "),
        ([*ONE_UPDATE, "--guided-alignment", "train.en"], "train.en, line 1: "),
        ([*ONE_UPDATE, "--guided-alignment", "train.en", "--architecture", "rnnencdec"], "and rnnencdec has none"),
        (["--resume", "--guided-alignment", "train.en"], "no run to resume"),
        ([*ONE_UPDATE, "--source-language", ""], "--source-language '' is no language code; name one such"),
        ([*ONE_UPDATE, "--target-language", "fr\n"], "--target-language 'fr\\n' is no language code"),
        ([*ONE_UPDATE, "--target-language", "../x"], "--target-language '../x' is no language code"),
        ([*ONE_UPDATE, "--source-language", "English"], "--source-language 'English' is no language code"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_sentence(files, tmp_path, monkeypatch, capsys, arguments, told):
    for path in files.glob("*.??"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "bad.toml").write_text("[model]\nhiden_size = 3\n")
    (tmp_path / "astray.toml").write_text("[model]\nlearning_rate = 0.1\n")
    (tmp_path / "typed.toml").write_text("[training]\nlearning_rate = true\n")
    monkeypatch.chdir(tmp_path)
    assert main(["train", "--model", "m", *arguments]) == 1
    lines = [line for line in capsys.readouterr().err.splitlines() if "error: " in line]
    assert len(lines) == 1
    assert told in lines[0]
    assert "fault of rnnsearch" not in lines[0]
    assert not list(tmp_path.glob("m*"))


@pytest.mark.parametrize(
    ("source", "target"),
    [("gsw", "pt_BR"), ("zh-Hans", "es-419"), ("sr-Latn-RS", "ca-valencia"), ("eng_Latn", "de_AT")],
)
def test_language_codes_are_taken_as_people_write_them(files, monkeypatch, source, target):
    monkeypatch.chdir(files)
    arguments = ["--source-language", source, "--target-language", target, "--max-updates", "1", "--overwrite"]
    assert main(["train", *new("spoken"), *arguments]) == 0
    model = ModelFolder.open(files / "spoken")
    assert (model.source.language, model.target.language) == (source, target)


def test_a_language_is_refused_in_one_sentence_when_a_run_is_resumed(files, monkeypatch, capsys):
    monkeypatch.chdir(files)
    assert main(["train", *new("resumed"), "--max-updates", "1"]) == 0
    capsys.readouterr()
    assert main(["train", "--model", "resumed", "--resume", "--source-language", "e\nn"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "--source-language 'e\\nn' is no language code" in line


def test_flags_win_over_the_toml_file_and_that_over_the_preset(files, monkeypatch, tmp_path):
    monkeypatch.chdir(files)
    toml = tmp_path / "settings.toml"
    toml.write_text("[model]\nhidden_size = 20\nattention_size = 9\n[search]\nbeam_size = 7\n")
    arguments = ["train", *new("ordered"), "--config", str(toml), "--max-updates", "1", "--no-minimum-length"]
    assert main(arguments) == 0
    model = ModelFolder.open(files / "ordered")
    assert (model.model.hidden_size, model.model.attention_size, model.search.beam_size) == (12, 8, 7)
    assert main(["train", "--model", "ordered", "--resume", "--config", str(toml)]) == 1


def test_given_links_are_taken_told_and_kept_to(files, monkeypatch, capsys):
    monkeypatch.chdir(files)
    lines = (files / "train.en").read_text().splitlines()
    links = [" ".join(f"{i}-{i}" for i in range(len(line.split()))) for line in lines]
    (files / "links").write_text("\n".join(["", *links[1:]]) + "\n")
    assert main(["train", *new("guided"), "--guided-alignment", "links", "--max-updates", "10"]) == 0
    count = sum(len(line.split()) for line in lines[1:])
    assert f"links between words of the pairs kept: {count:,}; pairs without any: 1" in capsys.readouterr().err
    assert '"guided": ' in (files / "guided.run" / "metrics.jsonl").read_text()
    again = ["train", "--model", "guided", "--resume", "--max-updates", "12", "--guided-alignment"]
    assert main([*again, "train.en"]) == 1
    assert "train.en is not the file that the run was started from (links as it was then)" in capsys.readouterr().err
    assert main([*again, "links"]) == 0
