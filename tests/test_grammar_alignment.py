"""The whole road on the package's own grammar, whose true links are known: train both directions, align, judge."""

import os
import subprocess
import sys
from pathlib import Path

from conftest import SOURCE
from rnnsearch.text.grammar import generate
from rnnsearch.text.links import pharaoh

LONGEST = 25
UPDATES = "1600"


def write(folder: Path, name: str, count: int, seed: int) -> None:
    pairs = list(generate(count, seed=seed, max_length=LONGEST))
    columns = {
        "en": (" ".join(pair.source) for pair in pairs),
        "fr": (" ".join(pair.target) for pair in pairs),
        "links": (pharaoh(pair.alignment) for pair in pairs),
    }
    for ending, lines in columns.items():
        (folder / f"{name}.{ending}").write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def start(folder: Path, command: str, *arguments: str) -> "subprocess.Popen[str]":
    environment = os.environ | {"PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "rnnsearch", command, *arguments], cwd=folder, env=environment, encoding="utf-8",
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def test_links_of_preset_small_come_near_the_true_ones(tmp_path: Path) -> None:
    for seed, (name, count) in enumerate((("train", 30_000), ("dev", 200), ("test", 500)), start=5):
        write(tmp_path, name, count, seed)
    trainings = [
        start(
            tmp_path, "train", f"train.{source}", f"train.{target}", "--dev", f"dev.{source}", f"dev.{target}",
            "--model", f"{source}-{target}", "--preset", "small", "--tokeniser", "none", "--max-updates", UPDATES,
            "--validate-every", UPDATES, "--threads", "1",
        )
        for source, target in (("en", "fr"), ("fr", "en"))
    ]  # fmt: skip
    for training in trainings:  # both at once
        _, log = training.communicate()
        assert training.returncode == 0, log
    aligning = start(
        tmp_path, "align", "--model", "en-fr", "--reverse-model", "fr-en", "test.en", "test.fr",
        "--symmetrise", "grow-diag-final-and",  # every word of the grammar has a link, also where one direction sees it
    )  # fmt: skip
    links, log = aligning.communicate()
    assert aligning.returncode == 0, log
    (tmp_path / "links").write_text(links, encoding="utf-8")
    table, log = start(tmp_path, "evaluate-alignment", "test.links", "links").communicate()
    rates = dict(line.split() for line in table.splitlines()[1:])
    assert float(rates["AER"]) < 0.05, table + log
