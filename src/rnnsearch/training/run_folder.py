"""The run folder beside a model, MODEL.run: what a run was started from, its metrics, log, samples and checkpoints.

All of the user's text that a training keeps lies here, so that the model folder can be passed on.
"""

import contextlib
import hashlib
import json
import logging
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rnnsearch.errors import UserError
from rnnsearch.files import write_whole

FORMAT = 1

logger = logging.getLogger("rnnsearch")


@dataclass(frozen=True)
class Record:
    """What a run was started from, in run.json; `ready` is true once its first checkpoint is there."""

    settings: Mapping[str, Any]
    preset: str
    corpus: Sequence[Mapping[str, str]]
    dev: Sequence[Mapping[str, str]]
    languages: Sequence[str]
    ready: bool
    links: Sequence[Mapping[str, str]] = ()  # the file that teaches the attention, if any


class RunFolder:
    """The paths of a run, and how its small files are read and written."""

    def __init__(self, model: Path) -> None:
        if not model.name or model.name == "..":
            raise UserError(f"--model {model} names no folder of its own; give it a name such as en-fr")
        self.model = model
        self.path = model.with_name(model.name + ".run")
        self.corpus = self.path / "corpus"
        self.checkpoints = self.path / "checkpoints"
        self.last = self.path / "last"
        self.metrics = self.path / "metrics.jsonl"
        self.log = self.path / "log.txt"
        self.samples = self.path / "samples.txt"
        self.curve = self.path / "curve.png"
        self.record = self.path / "run.json"

    def create(self, *, overwrite: bool) -> None:
        """Make the folder anew. A model or a run that is there already is only given up where `overwrite` says so."""
        self._refuse_strange(self.model, "config.json", "model folder")
        self._refuse_strange(self.path, self.record.name, "run folder")
        there = (path for path in (self.model, self.path) if path.exists() and not self._never_begun(path))
        if not overwrite and (found := next(there, None)):
            can = "--resume goes on with it, " if self.record.exists() else ""
            raise UserError(f"{found} is there already: {can}--overwrite starts anew, or give --model another name")
        if self.path.exists():
            with self.alone():
                shutil.rmtree(self.path)
        self.path.mkdir(parents=True)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """While it is open no other process may train here. Raises UserError where one does (on Windows it may)."""
        if sys.platform == "win32":
            yield
            return
        import fcntl

        handle = os.open(self.path, os.O_RDONLY)  # the system lets go of it when the process ends, however it does
        try:
            with contextlib.suppress(OSError):  # a file system without locks
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise UserError(
                        f"another training is at work in {self.path}: let it end first, or give --model another name"
                    ) from None
            yield
        finally:
            os.close(handle)

    def write_record(self, record: Record) -> None:
        """Write run.json."""
        write_whole(self.record, json.dumps({"format": FORMAT} | asdict(record), indent=1).encode())

    def read_record(self) -> Record:
        """Read run.json. Raises UserError where there is nothing to resume."""
        if not self.record.exists():
            raise UserError(f"there is no run to resume at {self.path}; leave out --resume to start one")
        try:
            content = json.loads(self.record.read_text(encoding="utf-8"))
            if content.pop("format") > FORMAT:
                raise UserError(f"{self.path} was written by a newer version of rnnsearch; update rnnsearch to resume")
            return Record(**content)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{self.record} is damaged ({error}); start anew with --overwrite") from None

    def add_metrics(self, event: Mapping[str, Any]) -> None:
        """Append one event to metrics.jsonl."""
        with self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(event) + "\n")

    def cut_metrics(self, update: int, validated: int) -> None:
        """Drop what metrics.jsonl tells of later than `update` (validations: than `validated`), or only in part."""
        if not self.metrics.exists():
            return
        kept = []
        for line in self.metrics.read_text(encoding="utf-8", errors="replace").splitlines():
            with contextlib.suppress(ValueError, KeyError, TypeError):
                event = json.loads(line)
                if event["update"] <= (validated if event["event"] == "validation" else update):
                    kept.append(line + "\n")
        write_whole(self.metrics, "".join(kept).encode())

    def add_samples(self, text: str) -> None:
        """Append to samples.txt."""
        with self.samples.open("a", encoding="utf-8") as file:
            file.write(text)

    @contextlib.contextmanager
    def logging(self) -> Iterator[None]:
        """While it is open, log.txt gets what the log "rnnsearch" gets."""
        handler = logging.FileHandler(self.log, encoding="utf-8")
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        level = logger.level
        logger.addHandler(handler)
        logger.setLevel(min(level or logging.INFO, logging.INFO))
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)
            handler.close()

    def note(self, text: str) -> None:
        """A line for log.txt alone."""
        record = logger.makeRecord(logger.name, logging.INFO, "", 0, text, (), None)
        for handler in logger.handlers:
            if isinstance(handler, logging.FileHandler) and Path(handler.baseFilename) == self.log.absolute():
                handler.handle(record)

    def _never_begun(self, path: Path) -> bool:
        """Whether `path` is nothing but the remains of a run that was interrupted before its first update."""
        if path != self.path:
            return not any(path.iterdir())
        return not any(path.iterdir()) or not self.read_record().ready

    @staticmethod
    def _refuse_strange(path: Path, mark: str, kind: str) -> None:
        """Never write over, or remove, what this program did not write."""
        there = path.exists() or path.is_symlink()
        if there and not (path.is_dir() and ((path / mark).exists() or not any(path.iterdir()))):
            raise UserError(f"{path} is there already and is no {kind}; give --model another name")


def fingerprints(paths: Sequence[Path]) -> list[dict[str, str]]:
    """Path and SHA-256 of the bytes of each file."""
    found = []
    for path in paths:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise UserError(f"{path} can be read only once, and training reads its text twice; put it in a file first")
        try:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror or error}") from None
        found.append({"path": str(path), "sha256": digest})
    return found
