"""Checkpoints: whole or absent, damage recognised, the one before used."""

import json
import logging
import os
import shutil

import pytest
import torch

from rnnsearch.errors import UserError
from rnnsearch.training import checkpoint
from rnnsearch.training.checkpoint import load_checkpoint, save_checkpoint


def save(folder, update):
    tensors = {"a": torch.full((100,), float(update)), "random": torch.arange(5, dtype=torch.uint8)}
    return save_checkpoint(folder, tensors, {"update": update, "rate": 0.1})


def test_the_newest_comes_back_as_it_was(tmp_path):
    save(tmp_path, 1)
    save(tmp_path, 2)
    tensors, state = load_checkpoint(tmp_path)
    assert state == {"update": 2, "rate": 0.1}
    assert torch.equal(tensors["a"], torch.full((100,), 2.0))
    assert torch.equal(tensors["random"], torch.arange(5, dtype=torch.uint8))


def test_the_last_two_are_kept_and_nothing_else_lies_about(tmp_path):
    for update in range(5):
        save(tmp_path, update)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["00000004", "00000005"]


def flip(path, position):
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)


def swap_update(path):
    content = json.loads(path.read_text())
    content["state"]["update"] = 7
    path.write_text(json.dumps(content))


DAMAGE = {
    "a flipped bit in the weights": lambda path: flip(path / checkpoint.TENSORS, -9),
    "a flipped bit in the header": lambda path: flip(path / checkpoint.TENSORS, 12),
    "weights cut short": lambda path: os.truncate(path / checkpoint.TENSORS, 150),
    "no weights": lambda path: (path / checkpoint.TENSORS).unlink(),
    "another state": lambda path: swap_update(path / checkpoint.STATE),
    "state cut short": lambda path: os.truncate(path / checkpoint.STATE, 40),
    "an empty state": lambda path: os.truncate(path / checkpoint.STATE, 0),
    "no table": lambda path: (path / checkpoint.STATE).write_text("[1]"),
    "no state": lambda path: (path / checkpoint.STATE).unlink(),
    "nothing": lambda path: (shutil.rmtree(path), path.mkdir()),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_one_is_recognised_and_the_one_before_is_used_and_said(tmp_path, caplog, damage):
    save(tmp_path, 1)
    damage(save(tmp_path, 2))
    with caplog.at_level(logging.WARNING, "rnnsearch"):
        assert load_checkpoint(tmp_path)[1]["update"] == 1
    assert "00000002 is damaged" in caplog.text
    save(tmp_path, 3)
    assert load_checkpoint(tmp_path)[1]["update"] == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["00000001", "00000002"]


def test_none_usable_is_one_sentence(tmp_path):
    with pytest.raises(UserError, match="no usable checkpoint"):
        load_checkpoint(tmp_path / "absent")
    (save(tmp_path, 1) / checkpoint.STATE).unlink()
    with pytest.raises(UserError, match="no usable checkpoint"):
        load_checkpoint(tmp_path)


@pytest.mark.parametrize(("other", "told"), [(1, "newer version"), (-1, "older version")])
def test_another_format_is_refused_and_left_alone(tmp_path, monkeypatch, other, told):
    monkeypatch.setattr(checkpoint, "FORMAT", checkpoint.FORMAT + other)
    path = save(tmp_path, 1)
    monkeypatch.undo()
    with pytest.raises(UserError, match=told):
        load_checkpoint(tmp_path)
    assert path.is_dir()


@pytest.mark.parametrize("step", ["save_file", "sync", "_sha256"])
def test_a_save_that_dies_leaves_the_one_before(tmp_path, monkeypatch, step):
    save(tmp_path, 1)

    def die(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint, step, die)
    with pytest.raises(KeyboardInterrupt):
        save(tmp_path, 2)
    monkeypatch.undo()
    assert load_checkpoint(tmp_path)[1]["update"] == 1
    save(tmp_path, 2)
    assert load_checkpoint(tmp_path)[1]["update"] == 2
    assert not list(tmp_path.glob("*.part"))
