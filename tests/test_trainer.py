"""Training runs, in this process: what they write, when they end, what they refuse, and what steers them."""

import importlib.util
import json
import logging
import math
import os
import signal

import numpy as np
import pytest
import torch

from rnnsearch.config import ModelSettings, TrainingSettings, load_settings
from rnnsearch.errors import UserError
from rnnsearch.model_folder import ModelFolder
from rnnsearch.training import resume, train, trainer
from rnnsearch.training.checkpoint import load_checkpoint
from rnnsearch.training.interrupt import Interrupt, Interrupted
from rnnsearch.training.run_folder import RunFolder
from rnnsearch.training.schedule import LEAST_UPDATES, State, dropout, due, take_note, time_left
from rnnsearch.training.trainer import Trainer
from rnnsearch.training.validation import DevelopmentSet, Validation
from tiny_training import settings, write_text

pytestmark = pytest.mark.usefixtures("quick_training")


@pytest.fixture
def files(tmp_path):
    return write_text(tmp_path)


def events(model, kind):
    lines = RunFolder(model).metrics.read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == kind]


def test_a_run_leaves_a_model_and_its_own_folder(tmp_path, files, caplog, monkeypatch):
    monkeypatch.setattr(trainer, "find_spec", importlib.util.find_spec)
    model = tmp_path / "en-fr"
    with caplog.at_level(logging.INFO, "rnnsearch"):
        outcome = train(settings(max_updates=60), files["train"], model, dev=files["dev"])
    folder = ModelFolder.open(model)
    assert (folder.source.language, folder.target.language, folder.max_length) == ("en", "fr", 100)
    assert (outcome.updates, outcome.interrupted, outcome.model) == (60, False, model)
    losses = [event["loss"] for event in events(model, "update")]
    assert [event["update"] for event in events(model, "update")] == [10, 20, 30, 40, 50, 60]
    assert losses[-1] < losses[0] < math.log(20)
    first = events(model, "update")[0]
    assert first["tokens_per_second"] > 0
    assert first["gradient_norm"] > 0
    run = RunFolder(model)
    if importlib.util.find_spec("matplotlib"):
        assert run.curve.read_bytes().startswith(b"\x89PNG")
    assert max(event["bleu"] for event in events(model, "validation")) == outcome.bleu
    assert run.samples.read_text().count("source: ") == 3 * len(events(model, "validation"))
    assert "running the dearest batch first" in run.log.read_text()
    assert len(list(run.checkpoints.iterdir())) == 2
    assert ModelFolder.open(run.last).metadata()["updates"] == "60"


def test_nothing_of_the_text_is_in_the_model_but_its_words(tmp_path, files):
    train(settings(), files["train"], tmp_path / "m", dev=files["dev"])
    names = {path.name for path in (tmp_path / "m").iterdir()}
    assert names == {"config.json", "model.safetensors", "source.vocabulary.json", "target.vocabulary.json"}
    assert "train.en" not in (tmp_path / "m" / "config.json").read_text()


def test_the_same_seed_gives_the_same_weights_and_another_does_not(tmp_path, files):
    for name, seed in ("a", 1), ("b", 1), ("c", 2):
        train(settings(seed=seed), files["train"], tmp_path / name, dev=files["dev"])
    a, b, c = (ModelFolder.open(tmp_path / f"{name}.run" / "last").weights() for name in "abc")
    assert all(np.array_equal(a[name], b[name]) for name in a)
    assert not np.array_equal(a["E_x"], c["E_x"])


def test_without_a_development_set_a_part_is_held_out_and_said(tmp_path, files, caplog):
    with caplog.at_level(logging.INFO, "rnnsearch"):
        train(settings(max_updates=1), files["train"], tmp_path / "m")
    assert "held out 11" in caplog.text


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        ({"max_updates": 3}, "3 updates"),
        ({"max_updates": 0, "max_epochs": 2}, "gone through the text 2 times"),
        ({"max_updates": 0, "max_minutes": 0.01}, "run for 0.01 minutes"),
    ],
)
def test_it_ends_at_a_limit_and_a_model_is_there(tmp_path, files, limit, told):
    outcome = train(settings(validate_every=100_000, **limit), files["train"], tmp_path / "m", dev=files["dev"])
    assert told in outcome.reason
    assert len(events(tmp_path / "m", "validation")) == 1
    assert ModelFolder.open(tmp_path / "m").metadata()["updates"] == str(outcome.updates)


def scripted(monkeypatch, bleus):
    """Let validations find these BLEU values one after the other, and 0 ever after."""
    values = iter(bleus)

    def validate(self, model, check):
        return Validation(1.0, next(values, 0.0), "scripted", [str(i) for i in range(len(self.pairs))])

    monkeypatch.setattr(DevelopmentSet, "validate", validate)


def test_it_ends_when_bleu_has_stopped_rising_and_keeps_the_best(tmp_path, files, monkeypatch):
    scripted(monkeypatch, [5, 9, 8, 9, 7])
    values = {"max_updates": 0, "patience": 3, "validate_every": 2}
    outcome = train(settings(**values), files["train"], tmp_path / "m", dev=files["dev"])
    assert (outcome.updates, outcome.bleu) == (10, 9)
    assert "neither development BLEU nor loss has got better in 3 validations" in outcome.reason
    assert ModelFolder.open(tmp_path / "m").metadata()["updates"] == "4"
    assert ModelFolder.open(tmp_path / "m.run" / "last").metadata()["updates"] == "10"


def test_while_bleu_is_noise_the_loss_decides():
    found = [
        Validation(loss, bleu, "", []) for loss, bleu in [(5, 0.0), (4, 0.3), (3, 0.0), (9, 1.5), (8, 2.0), (1, 0.9)]
    ]
    order = sorted(found, key=lambda validation: validation.rank)
    assert [validation.loss for validation in order] == [5, 4, 3, 1, 9, 8]


def test_a_validation_at_a_limit_does_not_steer_what_is_resumed(tmp_path, files, monkeypatch):
    rising = {"max_updates": 0, "patience": 3, "validate_every": 4}
    scripted(monkeypatch, [3, 20, 4, 5, 6])
    train(settings(**rising | {"max_updates": 6}), files["train"], tmp_path / "m", dev=files["dev"])
    resume(tmp_path / "m", {"max_updates": 12})
    state = load_checkpoint(tmp_path / "m.run" / "checkpoints")[1]
    assert (state["run"]["bad_validations"], state["run"]["best"][0]) == (0, 5)
    assert ModelFolder.open(tmp_path / "m").metadata()["updates"] == "6"
    assert [event["update"] for event in events(tmp_path / "m", "validation")] == [4, 6, 8, 12]


@pytest.mark.parametrize(
    ("outputs", "collapsed"), [(["a"] * 20, True), (["a"] * 18 + ["b", "c"], False), (["a"] * 9, False)]
)
def test_outputs_that_are_nearly_all_the_same_are_noticed(outputs, collapsed):
    assert Validation(1.0, 0.0, "", outputs).collapsed == collapsed


def test_a_collapsed_model_is_warned_of(tmp_path, files, monkeypatch, caplog):
    monkeypatch.setattr(DevelopmentSet, "validate", lambda *_: Validation(1.0, 0.0, "", ["same"] * 20))
    train(settings(max_updates=1), files["train"], tmp_path / "m", dev=files["dev"])
    assert "nearly all outputs are the same (5 % differ)" in caplog.text


def test_what_is_never_finite_ends_with_advice_and_saved_state(tmp_path, files, monkeypatch):
    whole = Trainer._loss

    def diverge(self, indices, p):
        objective, loss = whole(self, indices, p)
        return (objective * math.nan if self._state.update >= 4 else objective), loss

    monkeypatch.setattr(Trainer, "_loss", diverge)
    with pytest.raises(UserError, match="lower --learning-rate"):
        train(settings(), files["train"], tmp_path / "m", dev=files["dev"])
    tensors, state = load_checkpoint(tmp_path / "m.run" / "checkpoints")
    assert (state["run"]["update"], state["optimiser"]["skipped"]) == (4, 5)
    assert all(torch.isfinite(t).all() for name, t in tensors.items() if name.startswith("model."))


def test_a_single_bad_update_is_skipped(tmp_path, files, monkeypatch, caplog):
    whole, calls = Trainer._loss, []

    def once(self, indices, p):
        objective, loss = whole(self, indices, p)
        calls.append(1)
        return (objective * math.inf if len(calls) == 6 else objective), loss

    monkeypatch.setattr(Trainer, "_loss", once)
    outcome = train(settings(), files["train"], tmp_path / "m", dev=files["dev"])
    assert outcome.updates == 12
    assert "update skipped" in caplog.text
    assert load_checkpoint(tmp_path / "m.run" / "checkpoints")[1]["optimiser"]["skipped"] == 1


def test_the_dearest_batch_is_run_with_all_the_dropout_that_is_to_come(tmp_path, files, monkeypatch):
    whole, seen = Trainer._loss, []

    def noted(self, indices, p):
        seen.append(p)
        return whole(self, indices, p)

    monkeypatch.setattr(Trainer, "_loss", noted)
    values = settings(max_updates=2, dropout=0.25, dropout_epochs=1e6)
    train(values, files["train"], tmp_path / "m", dev=files["dev"])
    assert seen[0] == 0.25
    assert max(seen[1:]) < 1e-4


def test_too_little_memory_shows_before_the_first_update(tmp_path, files, monkeypatch, caplog):
    def lack(self, indices, p):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 99 bytes")

    monkeypatch.setattr(Trainer, "_loss", lack)
    wanted = r"\d+ pairs, \d+ x \d+ tokens; .* --batch-tokens"
    with caplog.at_level(logging.INFO, "rnnsearch"), pytest.raises(UserError, match=wanted):
        train(settings(), files["train"], tmp_path / "m", dev=files["dev"])
    assert "running the dearest batch first: " in caplog.text
    monkeypatch.undo()
    assert train(settings(max_updates=1), files["train"], tmp_path / "m", dev=files["dev"]).updates == 1


def test_the_dearest_batch_has_no_part_in_what_is_learnt(tmp_path, files, monkeypatch):
    train(settings(dropout=0.3), files["train"], tmp_path / "with", dev=files["dev"])
    monkeypatch.setattr(Trainer, "_run_dearest", lambda self: None)
    train(settings(dropout=0.3), files["train"], tmp_path / "without", dev=files["dev"])
    a, b = (ModelFolder.open(tmp_path / f"{name}.run" / "last").weights() for name in ("with", "without"))
    assert all(np.array_equal(a[name], b[name]) for name in a)


def test_nothing_is_overwritten_without_being_told_to(tmp_path, files):
    model = tmp_path / "m"
    train(settings(), files["train"], model, dev=files["dev"])
    before = (model / "model.safetensors").read_bytes()
    with pytest.raises(UserError, match=r"--resume goes on with it, --overwrite starts anew"):
        train(settings(seed=2), files["train"], model, dev=files["dev"])
    assert (model / "model.safetensors").read_bytes() == before
    train(settings(seed=2, hidden_size=16), files["train"], model, dev=files["dev"], overwrite=True)
    assert ModelFolder.open(model).model.hidden_size == 16
    assert ModelFolder.open(model).weights()["E_x"].shape[1] == 12


@pytest.mark.parametrize(("threshold", "sizes"), [(0, (6, 10, 7, 256)), (10**9, (6, 10, 7, 192))])
def test_sizes_left_open_go_by_the_length_of_the_text(tmp_path, files, monkeypatch, threshold, sizes):
    monkeypatch.setattr("rnnsearch.config.LITTLE_TEXT", threshold)
    named = {"embedding_size": 6, "hidden_size": 10, "attention_size": 7, "maxout_size": 0, "dropout": -1.0}
    train(settings(**named, max_updates=1), files["train"], tmp_path / "m", dev=files["dev"])
    model = ModelFolder.open(tmp_path / "m").model
    assert (model.embedding_size, model.hidden_size, model.attention_size, model.maxout_size) == sizes
    monkeypatch.setattr("rnnsearch.config.LITTLE_TEXT", 1)  # a run goes on with what it has
    resume(tmp_path / "m", {"maxout_size": 0, "dropout": -1.0, "max_updates": 2})
    assert ModelFolder.open(tmp_path / "m").model == model


def test_sizes_by_the_length_of_the_text():
    whole = ModelSettings(embedding_size=256, hidden_size=512, attention_size=512, maxout_size=256)
    smaller = ModelSettings(embedding_size=192, hidden_size=384, attention_size=384, maxout_size=192)
    asked = load_settings("base", None, {})
    little, much = asked.of_text(1_499_999), asked.of_text(1_500_000)
    assert (little.model, little.training.dropout, much.model, much.training.dropout) == (smaller, 0.4, whole, 0.4)
    named = load_settings("base", None, {"hidden_size": 300, "dropout": 0.0}).of_text(5)
    assert (named.model.hidden_size, named.model.maxout_size, named.training.dropout) == (300, 192, 0.0)
    assert load_settings("base", None, {"hidden_size": 256}).of_text(5).training.dropout == 0.3
    with pytest.raises(UserError, match=r"--dropout: input should be -1, or 0 at least, got -0\.5"):
        load_settings("base", None, {"dropout": -0.5})


@pytest.mark.parametrize("name", ["m", "m.run"])
def test_a_folder_of_something_else_is_never_touched(tmp_path, files, name):
    (tmp_path / name).mkdir()
    (tmp_path / name / "thesis.tex").write_text("irreplaceable")
    with pytest.raises(UserError, match="give --model another name"):
        train(settings(), files["train"], tmp_path / "m", dev=files["dev"], overwrite=True)
    assert [path.name for path in (tmp_path / name).iterdir()] == ["thesis.tex"]


def test_a_link_to_nowhere_is_no_place_for_a_model(tmp_path, files):
    (tmp_path / "m").symlink_to("nowhere")
    with pytest.raises(UserError, match="give --model another name"):
        train(settings(), files["train"], tmp_path / "m", dev=files["dev"])
    assert not (tmp_path / "m.run").exists()


def test_a_damaged_run_can_be_started_anew(tmp_path, files):
    model = tmp_path / "m"
    train(settings(), files["train"], model, dev=files["dev"])
    RunFolder(model).record.write_text("{")
    with pytest.raises(UserError, match="start anew with --overwrite"):
        resume(model, {})
    assert train(settings(), files["train"], model, dev=files["dev"], overwrite=True).updates == 12


@pytest.mark.skipif(os.name != "posix", reason="needs locks of the system")
def test_two_trainings_of_one_model_never_meet(tmp_path, files):
    model = tmp_path / "m"
    train(settings(), files["train"], model, dev=files["dev"])
    with RunFolder(model).alone():
        with pytest.raises(UserError, match=r"another training is at work in .*m\.run"):
            resume(model, {})
        with pytest.raises(UserError, match="another training is at work"):
            train(settings(), files["train"], model, dev=files["dev"], overwrite=True)
    assert resume(model, {"max_updates": 14}).updates == 14


def test_a_full_disk_is_told_with_the_place_and_the_way_on(tmp_path, files, monkeypatch):
    model, save, saves = tmp_path / "m", trainer.save_checkpoint, []

    def full(*arguments):
        saves.append(save(*arguments))
        if len(saves) == 2:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(trainer, "save_checkpoint", full)
    with pytest.raises(UserError, match=r"cannot write to .*m\.run \(No space left on device\).*--resume"):
        train(settings(), files["train"], model, dev=files["dev"])
    assert resume(model, {"max_updates": 14}).updates == 14


@pytest.mark.skipif(os.name != "posix", reason="pipes with names")
def test_text_that_can_be_read_only_once_is_refused(tmp_path, files):
    os.mkfifo(tmp_path / "pipe.en")
    with pytest.raises(UserError, match=r"pipe\.en can be read only once.*put it in a file"):
        train(settings(), [tmp_path / "pipe.en", files["train"][1]], tmp_path / "m")


def test_text_that_is_refused_leaves_nothing_behind(tmp_path, files):
    files["train"][1].write_text("one line\n")
    with pytest.raises(UserError, match=r"220.*\b1\b"):
        train(settings(), files["train"], tmp_path / "m", dev=files["dev"])
    assert not (tmp_path / "m.run").exists()
    assert not (tmp_path / "m").exists()


def test_languages_that_nothing_tells_are_asked_for(tmp_path, files):
    plain = [path.rename(path.with_name(f"{path.suffix[1:]}_text")) for path in files["train"]]
    with pytest.raises(UserError, match="--source-language and --target-language"):
        train(settings(), plain, tmp_path / "m", dev=files["dev"])
    train(settings(max_updates=1), plain, tmp_path / "m", dev=files["dev"], languages=("pt", "de"))
    assert ModelFolder.open(tmp_path / "m").target.language == "de"


def test_what_was_changed_is_refused_by_name_on_resuming(tmp_path, files):
    model = tmp_path / "m"
    train(settings(), files["train"], model, dev=files["dev"], preset="small")
    with pytest.raises(UserError, match=r"--dropout was 0.1 and cannot become 0.5"):
        resume(model, {"dropout": 0.5})
    with pytest.raises(UserError, match=r"--preset was small and cannot become base"):
        resume(model, {}, preset="base")
    with pytest.raises(UserError, match=r"--target-language was fr and cannot become de"):
        resume(model, {}, languages=(None, "de"))
    other = tmp_path / "other.fr"
    other.write_text(files["train"][1].read_text() + "X\n")
    with pytest.raises(UserError, match=r"other.fr is not the file that the run was started from"):
        resume(model, {}, corpus=[files["train"][0], other])
    with pytest.raises(UserError, match=r"started from 2 training files, not from .*other.fr: name the same or none"):
        resume(model, {}, corpus=[other])
    with pytest.raises(UserError, match=r"dev.fr is not the file"):
        resume(model, {}, dev=[files["dev"][1], files["dev"][0]])
    assert resume(model, {"max_updates": 14, "dropout": 0.1}, corpus=files["train"], dev=files["dev"]).updates == 14
    assert resume(model, {}).updates == 14


def test_there_is_nothing_to_resume(tmp_path, files, monkeypatch):
    with pytest.raises(UserError, match="no run to resume"):
        resume(tmp_path / "m", {})
    monkeypatch.setattr(trainer, "Trainer", None)
    with pytest.raises(TypeError):
        train(settings(), files["train"], tmp_path / "m", dev=files["dev"])
    monkeypatch.undo()
    with pytest.raises(UserError, match="before its first update"):
        resume(tmp_path / "m", {})
    assert train(settings(), files["train"], tmp_path / "m", dev=files["dev"]).updates == 12


def test_the_first_ctrl_c_is_noted_and_the_second_stops_at_once():
    with Interrupt() as interrupt:
        interrupt.check()
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(Interrupted):
            interrupt.check()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_time_left_is_that_to_the_nearest_limit():
    state = State(update=30, epoch=2, batch=10)
    assert time_left(state, TrainingSettings(), 40, 60.0, 2.0) == (0.25, 60.0, "to the end of epoch 3")
    limits = {"max_updates": 90, "max_epochs": 4, "max_minutes": 1.5}
    assert time_left(state, TrainingSettings(**limits), 40, 60.0, 2.0) == (60 / 90, 30.0, "of 1.5 minutes")
    later = TrainingSettings(**limits | {"max_minutes": 9})
    assert time_left(state, later, 40, 60.0, 2.0)[1:] == (120.0, "to update 90")
    assert time_left(state, TrainingSettings(max_epochs=3), 40, 60.0, 2.0)[1:] == (60.0, "to the end of epoch 3")


def test_metrics_are_cut_to_what_a_checkpoint_knows(tmp_path):
    folder = RunFolder(tmp_path / "m")
    folder.path.mkdir()
    for update in (10, 20, 30):
        folder.add_metrics({"event": "update", "update": update})
        folder.add_metrics({"event": "validation", "update": update})
    with folder.metrics.open("a") as file:
        file.write('{"event": "upd')
    folder.cut_metrics(20, 10)
    kept = [(event["event"], event["update"]) for event in map(json.loads, folder.metrics.read_text().splitlines())]
    assert kept == [("update", 10), ("validation", 10), ("update", 20)]


def test_fine_tuning_starts_from_the_weights_and_vocabularies_of_a_model(tmp_path, files):
    train(settings(max_updates=40), files["train"], tmp_path / "old", dev=files["dev"])
    other = [tmp_path / "more.en", tmp_path / "more.fr"]
    for path, line in zip(other, ("zz a b\na b\nb a\n", "B A ZZ\nB A\nA B\n"), strict=True):
        path.write_text(line)
    values = settings(max_updates=1, learning_rate=1e-7)
    train(values, other, tmp_path / "new", dev=files["dev"], init_from=tmp_path / "old")
    old, new = ModelFolder.open(tmp_path / "old.run" / "last"), ModelFolder.open(tmp_path / "new")
    assert new.source.vocabulary == old.source.vocabulary
    best = ModelFolder.open(tmp_path / "old").weights()
    assert all(np.allclose(weights, best[name], atol=1e-6) for name, weights in new.weights().items())


@pytest.mark.parametrize("kind", ["sum", "mean"])
def test_what_is_differentiated_is_a_sum_or_a_mean_over_tokens(tmp_path, files, monkeypatch, kind):
    whole, seen = Trainer._loss, []

    def noted(self, indices, p):
        objective, loss = whole(self, indices, p)
        seen.append((objective.item(), loss.total.item(), loss.tokens))
        return objective, loss

    monkeypatch.setattr(Trainer, "_loss", noted)
    train(settings(loss=kind, max_updates=2), files["train"], tmp_path / "m", dev=files["dev"])
    assert any(tokens > 10 for _, _, tokens in seen)
    assert all(o == pytest.approx(t if kind == "sum" else t / tokens) for o, t, tokens in seen)


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [
        (50, [200, 400, 600, 800, 1000, 1200, 1400]),
        (430, [200, 400, 600, 800, 1000, 1250, 1563, 1954, 2384, 2814]),
        (9000, [200, 400, 600, 800, 1000, 1250, 1563, 1954, 2443, 3054]),
    ],
)
def test_validations_are_frequent_at_first_and_then_once_an_epoch(epoch, expected):
    training, state, found = settings(validate_every=0).training, State(), []
    for update in range(1, expected[-1] + 1):
        state.update = update
        if due(state, training, epoch):
            found.append(update)
            state.validated = state.steered = update
    assert found == expected


def test_a_run_goes_on_while_bleu_or_loss_gets_better():
    state, told = State(), []
    for bleu, loss in [(9, 3.0), (8, 2.0), (7, 2.5), (8, 1.9), (9.5, 2.4), (9, 1.9), (9.5, 1.9)]:
        take_note(state, [bleu, -loss], loss)
        told.append(state.bad_validations)
    assert told == [0, 0, 1, 0, 0, 1, 0]  # the last one ranks higher than the same BLEU with a loss of 2.4
    assert (state.best, state.least_loss) == ([9.5, -1.9], 1.9)


def test_dropout_rises_with_the_passes_over_the_text_and_then_stays():
    training = settings(dropout=0.3, dropout_epochs=2.0).training
    found = [
        dropout(State(epoch=epoch, batch=batch), training, 40)
        for epoch, batch in ((0, 0), (0, 20), (1, 0), (2, 0), (7, 39))
    ]
    assert found == pytest.approx([0.0, 0.075, 0.15, 0.3, 0.3])
    at_once = settings(dropout=0.3, dropout_epochs=0.0).training
    assert dropout(State(), at_once, 40) == 0.3


def test_a_validation_out_of_turn_shifts_none():
    training, state = settings(validate_every=0).training, State()
    for update, expected in ((LEAST_UPDATES - 1, False), (LEAST_UPDATES, True)):
        state.update = update
        assert due(state, training, 50) is expected
    take_note(state, [1.0, 0.0], 1.0)
    state.validated, state.update = state.update, 2 * LEAST_UPDATES - 1
    assert not due(state, training, 50)
    # A validation out of turn, at a limit, must not shift those that follow when the run is resumed.
    state.validated = state.update
    state.update += 1
    assert due(state, training, 50)


def test_a_forgotten_second_file_is_asked_for(tmp_path, files):
    with pytest.raises(UserError, match=r"train\.en alone is no corpus"):
        train(settings(), files["train"][:1], tmp_path / "m")
    with pytest.raises(UserError, match=r"dev\.fr alone is no corpus"):
        train(settings(), files["train"], tmp_path / "m", dev=files["dev"][1:])
    assert not (tmp_path / "m.run").exists()


def test_a_run_that_is_at_its_limit_already_says_so(tmp_path, files):
    train(settings(), files["train"], tmp_path / "m", dev=files["dev"])
    outcome = resume(tmp_path / "m", {})
    assert outcome.reason == "it has made 12 updates already (a higher limit lets it go on)"
    assert resume(tmp_path / "m", {"max_updates": 14}).updates == 14
