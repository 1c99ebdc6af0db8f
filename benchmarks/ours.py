"""rnnsearch as its users run it."""

import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks.programs import Command, Stretch, Training
from benchmarks.setting import RNNSEARCH, Sizes
from benchmarks.text import Text


class Ours:
    """This package; `precision` is that of --precision, None for its default."""

    def __init__(self, precision: str | None = None) -> None:
        self.precision = precision
        self.name = "rnnsearch" if precision is None else f"rnnsearch --precision {precision}"
        self.about = (
            "preset base: batches of 2,400 padded tokens of both sides together (about 80 pairs), in plain text and "
            "out, its own segmentation and the reading of the model within the time"
            if precision is None
            else f"the same with all products in {precision}"
        )

    def install(self) -> None:
        """It is installed, or this would not run."""

    def training(self, text: Text, sizes: Sizes, folder: Path) -> Training:
        """`rnnsearch train` with preset base; it never validates, and the development set is 20 lines."""
        few = folder.parent / "few"
        few.mkdir(parents=True, exist_ok=True)
        for side in ("en", "fr"):
            lines = text.plain("dev", side).read_text(encoding="utf-8").splitlines(keepends=True)
            (few / f"dev.{side}").write_text("".join(lines[:20]), encoding="utf-8")
        command: Command = [
            *RNNSEARCH, "train", text.plain("train", "en"), text.plain("train", "fr"),
            "--dev", few / "dev.en", few / "dev.fr", "--model", folder / "model", "--overwrite",
            "--validate-every", "1000000", *sizes.flags(),
        ]  # fmt: skip
        if self.precision:
            command += ["--precision", self.precision]
        return Training(command, folder / "model.run" / "metrics.jsonl")

    def progress(self, log: str) -> list[Stretch]:
        """From the events of metrics.jsonl; a line that is not whole yet is left out."""
        found: list[Stretch] = []
        before = 0.0
        for line in log.splitlines():
            if not line.endswith("}"):
                continue
            event = json.loads(line)
            if event["event"] == "update":
                duration = event["seconds"] - before
                found.append((event["tokens_per_second"] * duration, duration))
            before = event["seconds"]
        return found

    def translating(self, text: Text, source: Path, folder: Path, beam: int, batch: int) -> Command:
        """`rnnsearch translate`."""
        del text, source
        command: Command = [
            *RNNSEARCH, "translate", "--model", folder / "model.run" / "last",
            "--beam-size", str(beam), "--batch-size", str(batch),
        ]  # fmt: skip
        if self.precision:
            command += ["--precision", self.precision]
        return command

    def source(self, text: Text) -> Path:
        """Plain lines."""
        return text.plain("test", "en")

    def output(self, lines: Sequence[str], folder: Path) -> list[str]:
        """Standard output is the text."""
        del folder
        return list(lines)
