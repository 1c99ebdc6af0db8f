"""Marian, as the wheel pymarian has it."""

import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.programs import Command, Stretch, Training, install
from benchmarks.setting import CLIP_NORM, DROPOUT, LABEL_SMOOTHING, LEARNING_RATE, SENTENCES, Sizes
from benchmarks.text import Text, spell

REQUIREMENTS = ("pymarian==1.12.42",)
#: Ep. 1 : Up. 12 : Sen. 240 : Cost 6.40092373 : Time 5.84s : 1513.93 words/s : gNorm 0.0000
_PROGRESS = re.compile(r"Cost .* : Time ([\d.]+)s : ([\d.]+) words/s")


class Marian:
    """Type nematus: GRU with attention, a bidirectional encoder."""

    name = "Marian"
    about = (
        "pymarian 1.12.42, type nematus: a second GRU transition behind the attention, no maxout, other places of "
        "dropout: more work in the decoder, less in the output layer; --cpu-threads 2, which trains two asynchronous "
        "replicas and translates two sentences or batches at a time; 80 pairs a batch, sorted by length; text that is "
        "cut into subwords already. The wheel is built without AVX2 and AVX-512 and with an MKL of 2020: a Marian "
        "built from source would be faster"
    )

    def install(self) -> None:
        """From the package index. Raises Failed."""
        self._program = install("marian", REQUIREMENTS) / "pymarian"

    def training(self, text: Text, sizes: Sizes, folder: Path) -> Training:
        """On SIGTERM Marian saves its model."""
        folder.mkdir(parents=True, exist_ok=True)
        command: Command = [
            self._program, "train", "--type", "nematus", "--enc-cell", "gru-nematus", "--dec-cell", "gru-nematus",
            "--train-sets", text.pieces("train", "en"), text.pieces("train", "fr"), "--vocabs", *_vocabularies(text),
            "--model", folder / "model.npz", "--log", folder / "log.txt",
            "--dim-emb", str(sizes.embedding), "--dim-rnn", str(sizes.hidden), "--dropout-rnn", str(DROPOUT),
            "--label-smoothing", str(LABEL_SMOOTHING), "--clip-norm", str(CLIP_NORM), "--optimizer", "adam",
            "--learn-rate", str(LEARNING_RATE), "--mini-batch", str(SENTENCES), "--maxi-batch", "100",
            "--mini-batch-round-up", "false", "--max-length", "101", "--cost-type", "ce-mean-words",
            "--disp-freq", "4u", "--save-freq", "1000000u", "--cpu-threads", "2", "--seed", "1", "--workspace", "1000",
        ]  # fmt: skip
        return Training(command, folder / "log.txt")

    def progress(self, log: str) -> list[Stretch]:
        """From its lines of progress, whose labels count the sentence ends."""
        return [(float(time) * float(pace), float(time)) for time, pace in _PROGRESS.findall(log)]

    def translating(self, text: Text, source: Path, folder: Path, beam: int, batch: int) -> Command:
        """Scores are divided by the length, as ours are; two sentences, or batches, at a time on two cores."""
        del source
        return [
            self._program, "decode", "--models", folder / "model.npz", "--vocabs", *_vocabularies(text),
            "--beam-size", str(beam), "--mini-batch", str(batch), "--maxi-batch", "1" if batch == 1 else "100",
            "--maxi-batch-sort", "none" if batch == 1 else "src", "--normalize", "1", "--cpu-threads", "2",
            "--workspace", "500", "--quiet",
        ]  # fmt: skip

    def source(self, text: Text) -> Path:
        """Subwords with spaces between."""
        return text.pieces("test", "en")

    def output(self, lines: Sequence[str], folder: Path) -> list[str]:
        """Standard output, in subwords."""
        del folder
        return [spell(line) for line in lines]


def _vocabularies(text: Text) -> list[Path]:
    return [text.folder / f"vocabulary.{side}.yml" for side in ("en", "fr")]
