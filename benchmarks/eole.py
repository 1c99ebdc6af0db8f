"""eole, the successor of OpenNMT-py, with its recurrent network."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.programs import Command, Stretch, Training, install
from benchmarks.setting import CLIP_NORM, DROPOUT, LABEL_SMOOTHING, LEARNING_RATE, SENTENCES, Sizes
from benchmarks.text import Text, spell

#: eole does not say itself that it needs aiohttp.
REQUIREMENTS = ("torch==2.13.0", "eole==0.6.4", "aiohttp")
#: Step 10/100000; ...; sents: 800; bsz: 1107/1436/80; 1069/1388 tok/s; 10 sec;
_PROGRESS = re.compile(r"\d+/ *(\d+) tok/s; +(\d+) sec")


class Eole:
    """A bidirectional GRU encoder, a GRU decoder, attention of the perceptron kind."""

    name = "eole"
    about = (
        "eole 0.6.4 on PyTorch 2.13: its encoder is half as wide (both directions together have the hidden size), the "
        "attention stands behind the GRU, no maxout: less work than RNNsearch; 80 pairs a batch, sorted by length; "
        "text that is cut into subwords already; it writes its translations at the end"
    )

    def install(self) -> None:
        """From the package index. Raises Failed."""
        self._program = install("eole", REQUIREMENTS) / "eole"

    def training(self, text: Text, sizes: Sizes, folder: Path) -> Training:
        """It saves its model now and then, not on SIGTERM."""
        folder.mkdir(parents=True, exist_ok=True)
        rnn = {"layers": 1, "hidden_size": sizes.hidden, "rnn_type": "GRU"}
        settings = {
            "seed": 1,
            "data": {
                "corpus": {
                    "path_src": str(text.pieces("train", "en")),
                    "path_tgt": str(text.pieces("train", "fr")),
                    "transforms": [],
                }
            },
            "src_vocab": str(text.folder / "vocabulary.en.txt"),
            "tgt_vocab": str(text.folder / "vocabulary.fr.txt"),
            "save_data": str(folder / "data"),
            "overwrite": True,
            "report_every": 5,
            "training": {
                "model_path": str(folder / "model"),
                "train_steps": 1_000_000,
                "valid_steps": 1_000_000,
                "save_checkpoint_steps": 50 if sizes.hidden > 100 else 10,  # a trial is over soon
                "keep_checkpoint": 1,
                "batch_type": "sents",
                "batch_size": SENTENCES,
                "bucket_size": 100 * SENTENCES,
                "num_workers": 0,
                "world_size": 1,
                "gpu_ranks": [],
                "optim": "adam",
                "learning_rate": LEARNING_RATE,
                "max_grad_norm": CLIP_NORM,
                "dropout": [DROPOUT],
                "label_smoothing": LABEL_SMOOTHING,
                "normalization": "tokens",
            },
            "model": {
                "architecture": "custom",
                "embeddings": {"word_vec_size": sizes.embedding},
                "encoder": {"encoder_type": "brnn", "src_word_vec_size": sizes.embedding} | rnn,
                "decoder": {
                    "decoder_type": "rnn",
                    "tgt_word_vec_size": sizes.embedding,
                    "global_attention": "mlp",
                    "bidirectional_encoder": True,
                }
                | rnn,
            },
        }
        # JSON is YAML too.
        (folder / "train.yaml").write_text(json.dumps(settings), encoding="utf-8")
        return Training([self._program, "train", "-config", folder / "train.yaml"], folder / "log.txt", printed=True)

    def progress(self, log: str) -> list[Stretch]:
        """From its lines of progress, whose target tokens count the sentence ends; whole seconds since the start."""
        found: list[Stretch] = []
        before = 0.0
        for pace, seconds in _PROGRESS.findall(log):
            duration = float(seconds) - before
            found.append((float(pace) * duration, duration))
            before = float(seconds)
        return found

    def translating(self, text: Text, source: Path, folder: Path, beam: int, batch: int) -> Command:
        """Scores are divided by the length, as ours are."""
        del text
        settings = {
            "model_path": [str(folder / "model")],
            "src": str(source),
            "output": str(folder / "output.txt"),
            "beam_size": beam,
            "batch_size": batch,
            "batch_type": "sents",
            "world_size": 1,
            "gpu_ranks": [],
            "length_penalty": "avg",
            "max_length": 100,
        }
        (folder / "predict.yaml").write_text(json.dumps(settings), encoding="utf-8")
        return [self._program, "predict", "-config", folder / "predict.yaml"]

    def source(self, text: Text) -> Path:
        """Subwords with spaces between."""
        return text.pieces("test", "en")

    def output(self, lines: Sequence[str], folder: Path) -> list[str]:
        """The file that it wrote, in subwords."""
        del lines
        return [spell(line) for line in (folder / "output.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")]
