"""Trainings that are taught links: what they log, how they go on, what they refuse."""

import json
import logging
from itertools import pairwise

import numpy as np
import pytest

from rnnsearch.errors import UserError
from rnnsearch.model import GUIDED_WEIGHT, Model
from rnnsearch.model_folder import ModelFolder
from rnnsearch.text.links import pharaoh
from rnnsearch.text.prepare import CorpusFiles
from rnnsearch.training import resume, train
from rnnsearch.training.trainer import Trainer
from tiny_training import settings, write_text

pytestmark = pytest.mark.usefixtures("quick_training")


@pytest.fixture
def files(tmp_path):
    """train with links, and dev."""
    text, links = write_text(tmp_path), tmp_path / "train.links"
    lengths = [len(line.split()) for line in text["train"][0].read_text().splitlines()]
    links.write_text("".join(pharaoh((i, n - 1 - i) for i in range(n)) + "\n" for n in lengths))
    return CorpusFiles(tuple(text["train"]), links=links), CorpusFiles(tuple(text["dev"]))


def updates(model):
    lines = (model.with_name(model.name + ".run") / "metrics.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == "update"]


def last(model):
    return ModelFolder.open(model.with_name(model.name + ".run") / "last").weights()


def test_a_run_with_links_logs_their_loss_and_validates_without_it(tmp_path, files, monkeypatch, caplog):
    corpus, dev = files
    losses, asked, batch_loss, whole = [], set(), Trainer._loss, Model.loss

    def noted(self, indices, p):
        objective, loss = batch_loss(self, indices, p)
        losses.append((objective.item(), loss))
        return objective, loss

    def watched(self, *arrays, **options):
        asked.add((self.training, options.get("guide") is not None))
        return whole(self, *arrays, **options)

    monkeypatch.setattr(Trainer, "_loss", noted)
    monkeypatch.setattr(Model, "loss", watched)
    given_files = {"dev": dev.paths, "guided_alignment": corpus.links}
    with caplog.at_level(logging.INFO, "rnnsearch"):
        train(settings(max_updates=60, label_smoothing=0.0), corpus.paths, tmp_path / "m", **given_files)
    assert asked == {(True, True), (False, False)}
    assert "links between words of the pairs kept: " in caplog.text
    events = updates(tmp_path / "m")
    for event, part in zip(events, (losses[i : i + 10] for i in range(1, 61, 10)), strict=True):  # the first is a trial
        tokens = sum(loss.tokens for _, loss in part)
        assert event["guided"] == pytest.approx(sum(loss.guided.item() for _, loss in part) / tokens)
        assert event["loss"] == pytest.approx(sum(loss.nll.item() for _, loss in part) / tokens)
        for objective, loss in part:
            whole_loss = loss.nll.item() + GUIDED_WEIGHT * loss.guided.item()
            assert objective == pytest.approx(whole_loss / loss.tokens, rel=1e-4)
    guided = [event["guided"] for event in events]
    assert all(later < earlier for earlier, later in pairwise(guided))


def test_a_run_with_links_goes_on_with_them_and_takes_no_others(tmp_path, files):
    corpus, dev = files
    links = corpus.links
    for name, limit in ("whole", 20), ("halves", 10):
        train(settings(max_updates=limit), corpus.paths, tmp_path / name, dev=dev.paths, guided_alignment=links)
    other = tmp_path / "other.links"
    other.write_text(links.read_text().replace("0-", "1-", 1))
    with pytest.raises(UserError, match=r"other.links is not the file that the run was started from \(.*train.links"):
        resume(tmp_path / "halves", {}, guided_alignment=other)
    resume(tmp_path / "halves", {"max_updates": 15}, corpus=corpus.paths, guided_alignment=links)
    links.unlink()
    resume(tmp_path / "halves", {"max_updates": 20}, corpus=corpus.paths)
    whole, halves = last(tmp_path / "whole"), last(tmp_path / "halves")
    assert all(np.array_equal(whole[name], halves[name]) for name in whole)


def test_a_run_without_links_has_none_of_it_and_takes_none_later(tmp_path, files):
    corpus, dev = files
    train(settings(), corpus.paths, tmp_path / "m", dev=dev.paths)
    assert "guided" not in updates(tmp_path / "m")[0]
    with pytest.raises(UserError, match=r"started without --guided-alignment .*train.links: leave it out, or start"):
        resume(tmp_path / "m", {}, guided_alignment=corpus.links)
    assert resume(tmp_path / "m", {"max_updates": 14}).updates == 14
    train(settings(max_updates=14), corpus.paths, tmp_path / "taught", dev=dev.paths, guided_alignment=corpus.links)
    plain, taught = last(tmp_path / "m"), last(tmp_path / "taught")
    assert not np.array_equal(plain["attention.v_a"], taught["attention.v_a"])


def test_a_network_without_attention_is_refused(tmp_path, files):
    corpus, dev = files
    with pytest.raises(UserError, match="--guided-alignment teaches an attention, and rnnencdec has none; leave it"):
        train(settings(architecture="rnnencdec"), corpus.paths, tmp_path / "m", dev=dev.paths,
              guided_alignment=corpus.links)  # fmt: skip
    assert not list(tmp_path.glob("m*"))
