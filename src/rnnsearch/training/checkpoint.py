"""Checkpoints: whole or not there at all, recognised when damaged; safetensors and JSON, no pickles."""

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from rnnsearch.errors import UserError

#: 2: with averaged weights, and Adam's averages in the order of its groups.
FORMAT = 2
#: The newest, and the one before it in case the newest is found damaged.
KEPT = 2
TENSORS = "state.safetensors"
STATE = "state.json"

logger = logging.getLogger("rnnsearch")


class Damaged(Exception):
    """A checkpoint that is not what was written."""


def save_checkpoint(folder: Path, tensors: Mapping[str, torch.Tensor], state: Mapping[str, Any]) -> Path:
    """Write `tensors` and `state` (JSON values) as the next checkpoint of `folder` and return its path.

    Everything is written and synced under a temporary name and then renamed, so a kill or a power cut at any moment
    leaves either the whole checkpoint or none. Older ones than the last KEPT are removed afterwards.
    """
    folder.mkdir(parents=True, exist_ok=True)
    number = int(_numbered(folder)[-1].name) + 1 if _numbered(folder) else 1
    part = folder / f"{number:08d}.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    save_file({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, part / TENSORS)
    sync(part / TENSORS)
    content = {"format": FORMAT, "state": dict(state), "tensors_sha256": _sha256(part / TENSORS)}
    (part / STATE).write_text(json.dumps(content | {"sha256": _content_sha256(content)}, indent=1), encoding="utf-8")
    sync(part / STATE)
    sync(part)
    whole = folder / f"{number:08d}"
    os.replace(part, whole)
    sync(folder)
    _prune(folder)
    return whole


def load_checkpoint(folder: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Tensors and state of the newest whole checkpoint of `folder`; a damaged one is set aside with a warning.

    Raises UserError where none is whole.
    """
    for path in reversed(_numbered(folder)):
        try:
            return _read(path)
        except Damaged as damage:
            logger.warning("checkpoint %s is damaged (%s); going on from the one before it", path, damage)
            os.replace(path, path.with_suffix(".damaged"))
    raise UserError(f"{folder} holds no usable checkpoint; start anew with --overwrite")


def sync(path: Path) -> None:
    """Force a file, or the entries of a folder, to the disk (folders: where the system can)."""
    if path.is_dir() and os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _numbered(folder: Path) -> list[Path]:
    """The finished checkpoints of `folder`, oldest first."""
    found = folder.iterdir() if folder.is_dir() else iter(())
    return sorted(path for path in found if path.name.isdigit() and path.is_dir())


def _read(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    try:
        content = json.loads((path / STATE).read_text(encoding="utf-8"))
        told = content.pop("sha256")
        if content["format"] > FORMAT:
            raise UserError(f"{path} was written by a newer version of rnnsearch; update rnnsearch to resume it")
        if content["format"] < FORMAT:
            raise UserError(f"{path} was written by an older version of rnnsearch; start anew with --overwrite")
        if told != _content_sha256(content):
            raise Damaged(f"{STATE} does not match its checksum")
        if content["tensors_sha256"] != _sha256(path / TENSORS):
            raise Damaged(f"{TENSORS} does not match its checksum")
        return load_file(path / TENSORS), content["state"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, SafetensorError) as error:
        raise Damaged(f"cannot be read: {error}") from None


def _prune(folder: Path) -> None:
    """Remove all but the last KEPT checkpoints, and what killed or damaged saves left behind."""
    kept = _numbered(folder)[-KEPT:]
    for path in folder.iterdir():
        if path not in kept:
            shutil.rmtree(path, ignore_errors=True)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _content_sha256(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
