"""The training loop: updates, validations, checkpoints and limits, in an order that an interruption does not change."""

import logging
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from importlib.util import find_spec
from itertools import islice

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError

from rnnsearch.config import SIZES, Settings
from rnnsearch.errors import UserError
from rnnsearch.evaluation.curve import draw_curve
from rnnsearch.model import Loss, Model, parameter_count
from rnnsearch.text.batches import collate, cost_batches, paper_batches, survey
from rnnsearch.training import Outcome
from rnnsearch.training.average import Average
from rnnsearch.training.checkpoint import load_checkpoint, save_checkpoint
from rnnsearch.training.interrupt import Interrupt, Interrupted
from rnnsearch.training.keep import keep_best, keep_last
from rnnsearch.training.launch import Run
from rnnsearch.training.optimiser import Optimiser
from rnnsearch.training.precision import torch_set_up, type_of_products
from rnnsearch.training.profile import Watch
from rnnsearch.training.progress import Display, Meter
from rnnsearch.training.schedule import State, dropout, due, limit, take_note, time_left
from rnnsearch.training.validation import DevelopmentSet, Validation, to_torch

#: Updates between two lines of metrics.jsonl.
METRICS_EVERY = 10
#: With --profile: the first updates, which are slower, and those that are watched.
UNWATCHED, WATCHED = 5, 10

logger = logging.getLogger("rnnsearch")


def go_on(
    run: Run, *, device: str = "cpu", threads: int | None = None, bar: bool = False, profile: bool = False
) -> Outcome:
    """Train from where `run` stands to a limit or an interruption; `profile` logs where the time of an update goes.

    Raises UserError where training diverges, and where its files cannot be written.
    """
    try:
        with (
            run.folder.alone(),
            run.folder.logging(),
            Interrupt() as interrupt,
            Display(bar, run.folder.note) as display,
            torch_set_up(run.settings.training, device, threads),
        ):
            return Trainer(run, device, interrupt, display).run(profile=profile)
    except (OSError, SafetensorError) as error:
        told = (isinstance(error, OSError) and error.strerror) or error
        again = "go on with --resume" if run.record.ready else "start it again"
        raise UserError(f"cannot write to {run.folder.path} ({told}); mend that and {again}") from None


class Trainer:
    """A run in progress: model, optimiser and state, on one device."""

    def __init__(self, run: Run, device: str, interrupt: Interrupt, display: Display) -> None:
        self._run, self._folder, self._settings = run, run.folder, run.settings
        self._interrupt, self._display = interrupt, display
        self._device = torch.device(device)
        source, target = run.text.sides
        products = type_of_products(self._settings.training, self._device)
        self._model = Model(self._settings.model, len(source.vocabulary), len(target.vocabulary), products=products)
        self._model.to(self._device)
        sizes = "/".join(str(getattr(self._settings.model, name)) for name in SIZES)
        told = self._settings.model.architecture, sizes, f"{parameter_count(self._model):,}"
        logger.info("%s, m/n/n'/l %s, with %s weights", *told)
        scaled = self._settings.training.initialisation == "scaled"
        tables = self._model.tables() if scaled else []
        self._optimiser = Optimiser(self._model.parameters(), self._settings.training, tables)
        self._average = Average(self._model, self._settings.training.average)
        self._state = State()
        self._before = (0.0, 0)
        self._draws = find_spec("matplotlib") is not None
        if not self._draws:
            logger.info('the curve is not drawn: that needs matplotlib (pip install "rnnsearch[plot]")')
        self._dev = DevelopmentSet(run.text.dev_pairs, run.text.sides, self._settings.data, self._settings.search)
        self._meter, self._guided = Meter(), 0.0
        self._signature = ""
        self._started = self._saved = time.monotonic()
        self._restore() if run.record.ready else self._begin()
        # All batches of an epoch are never held at once: the corpus may be large.
        self._size, self._dearest = survey(self._order(), *run.text.store.lengths)
        self._enter_epoch()
        self._before = (self._state.seconds, self._done())
        self._started = self._saved = time.monotonic()

    def run(self, *, profile: bool = False) -> Outcome:
        """Go on to the end, and say how it was."""
        try:
            self._run_dearest()
            if profile:
                self._watch()
            reason = self._train()
        except Interrupted:
            self._save()
            keep_last(self._run, self._average.model, self._said())
            return self._outcome("it was interrupted", interrupted=True)
        except UserError:
            self._save()
            raise
        return self._outcome(reason)

    def _train(self) -> str:
        """All updates, and the validations that are due; returns why it ended."""
        begun = self._state.update
        while True:
            self._interrupt.check()
            if due(self._state, self._settings.training, self._size):
                self._validate(in_turn=True)
            if reason := limit(self._state, self._settings.training, self._seconds()):
                break
            self._update()
            self._optimiser.check()
            if time.monotonic() - self._saved >= 60 * self._settings.training.checkpoint_minutes:
                self._save()
        if self._state.validated != self._state.update or not self._state.update:
            self._validate(in_turn=False)
        return f"{reason} already (a higher limit lets it go on)" if self._state.update == begun else reason

    def _watch(self) -> None:
        """Some updates like all others, but watched."""
        for _ in range(UNWATCHED):
            self._watched_update()
        tokens = 0
        with Watch(self._model) as watch:
            for _ in range(WATCHED):
                tokens += self._watched_update()
        for line in watch.lines(WATCHED, tokens):
            logger.info("%s", line)

    def _watched_update(self) -> int:
        """One update; its target tokens."""
        self._interrupt.check()
        tokens = self._update()
        self._optimiser.check()
        return tokens

    def _begin(self) -> None:
        """The weights and the first checkpoint of a new run."""
        torch.manual_seed(self._settings.training.seed)
        if self._run.weights is None:
            self._model.initialise(self._settings.training.initialisation, self._settings.training.seed)
        else:
            self._model.load_state_dict({name: torch.from_numpy(array) for name, array in self._run.weights.items()})
        self._average.start()
        keep_last(self._run, self._average.model, self._said())
        self._save()

    def _restore(self) -> None:
        """Weights, optimiser, random numbers and state of the newest whole checkpoint."""
        tensors, state = load_checkpoint(self._folder.checkpoints)
        parts: dict[str, dict[str, torch.Tensor]] = {"model": {}, "average": {}, "optimiser": {}, "random": {}}
        for name, tensor in tensors.items():
            part, _, rest = name.partition(".")
            parts[part][rest] = tensor
        self._model.load_state_dict(parts["model"])
        self._average.restore(parts["average"])
        self._optimiser.restore(parts["optimiser"], state["optimiser"])
        self._set_random(parts["random"])
        self._state = State(**state["run"])
        self._folder.cut_metrics(self._state.update, self._state.validated)
        logger.info("going on after update %d, with epoch %d", self._state.update, self._state.epoch + 1)

    def _save(self) -> None:
        """Write a checkpoint."""
        self._state.seconds = self._seconds()
        tensors = {f"model.{name}": tensor for name, tensor in self._model.state_dict().items()}
        tensors |= {f"average.{name}": tensor for name, tensor in self._average.tensors().items()}
        tensors |= {f"optimiser.{name}": tensor for name, tensor in self._optimiser.tensors().items()}
        tensors |= {f"random.{name}": tensor for name, tensor in self._random().items()}
        state = {"run": asdict(self._state), "optimiser": self._optimiser.state()}
        save_checkpoint(self._folder.checkpoints, tensors, state)
        self._saved = time.monotonic()

    def _random(self) -> dict[str, torch.Tensor]:
        """States of the generators that dropout draws from."""
        states = {"cpu": torch.get_rng_state()}
        if self._device.type == "cuda":
            states["cuda"] = torch.cuda.get_rng_state(self._device)
        return states

    def _set_random(self, states: dict[str, torch.Tensor]) -> None:
        torch.set_rng_state(states["cpu"])
        if self._device.type == "cuda" and "cuda" in states:
            torch.cuda.set_rng_state(states["cuda"], self._device)

    def _order(self) -> Iterator[NDArray[np.int64]]:
        """The batches of the current epoch; the same for the same seed and epoch."""
        data, seed, epoch = self._settings.data, self._settings.training.seed, self._state.epoch
        if data.batching == "paper":
            return paper_batches(*self._run.text.store.lengths, seed, epoch, batch=data.batch_sentences)
        return cost_batches(*self._run.text.store.lengths, seed, epoch, data.batch_tokens)

    def _enter_epoch(self) -> None:
        """Stand before the next batch of the current epoch."""
        self._upcoming = islice(self._order(), self._state.batch, None)
        self._next = next(self._upcoming)

    def _done(self) -> int:
        """Batches behind us, over all epochs (which differ a little in size)."""
        return self._state.epoch * self._size + self._state.batch

    def _loss(self, indices: NDArray[np.int64], p: float) -> tuple[torch.Tensor, Loss]:
        """The objective to differentiate, and the loss of a batch, with dropout p."""
        training, store = self._settings.training, self._run.text.store
        links = [store.links(int(i)) for i in indices] if store.linked else None
        batch = collate([store.pair(int(i)) for i in indices], links)
        guide = None if batch.guide is None else torch.from_numpy(batch.guide).to(self._device)
        arrays = to_torch(batch, self._device)
        loss = self._model.loss(*arrays, dropout=p, label_smoothing=training.label_smoothing, guide=guide)
        return (loss.total if training.loss == "sum" else loss.total / loss.tokens), loss

    def _run_dearest(self) -> None:
        """Run the batch that needs most memory, without an update: too little of it shows now and not in an hour."""
        lengths, random = self._run.text.store.lengths, self._random()
        T_x, T_y = (int(side[self._dearest].max()) + 1 for side in lengths)
        told = f"{len(self._dearest)} pairs, {T_x} x {T_y} tokens"
        logger.info("running the dearest batch first: %s", told)
        try:
            self._loss(self._dearest, self._settings.training.dropout)[0].backward()  # type: ignore[no-untyped-call]
        except (RuntimeError, MemoryError) as error:
            raise _out_of_memory(error, told, self._settings) from None
        self._optimiser.forget()
        self._set_random(random)
        if not self._run.record.ready:
            self._run.record = replace(self._run.record, ready=True)
            self._folder.write_record(self._run.record)

    def _update(self) -> int:
        """One batch: an update, or the skip of one that is not finite; its target tokens."""
        started = time.monotonic()
        state = self._state
        objective, loss = self._loss(self._next, dropout(state, self._settings.training, self._size))
        norm = self._optimiser.step(objective)
        epoch = state.epoch + 1
        self._advance()
        if self._optimiser.skipped_in_a_row:
            logger.warning("update skipped, loss or gradient was not finite (%d so far)", self._optimiser.skipped)
            return loss.tokens
        state.update += 1
        self._average.follow(state.update)
        figures = (float(loss.nll), loss.tokens, norm, time.monotonic() - started)
        self._meter.add(*figures)
        if loss.guided is not None:
            self._guided += float(loss.guided)
        if state.update % METRICS_EVERY == 0:
            self._add_metrics(epoch)
        pace = (self._seconds() - self._before[0]) / (self._done() - self._before[1])
        left = time_left(state, self._settings.training, self._size, self._seconds(), pace)
        self._display.show(state.update, epoch, figures, left)
        return loss.tokens

    def _advance(self) -> None:
        """Stand before the next batch, of the next epoch where this one has no more."""
        following = next(self._upcoming, None)
        if following is not None:
            self._state.batch, self._next = self._state.batch + 1, following
        else:
            self._state.epoch, self._state.batch = self._state.epoch + 1, 0
            self._enter_epoch()

    def _add_metrics(self, epoch: int) -> None:
        guided = {"guided": self._guided / self._meter.tokens} if self._run.text.store.linked else {}
        self._folder.add_metrics({
            "event": "update", "update": self._state.update, "epoch": epoch, "loss": self._meter.loss, **guided,
            "gradient_norm": self._meter.norm, "tokens_per_second": self._meter.tokens_per_second,
            "seconds": self._seconds(), "learning_rate": self._optimiser.learning_rate,
        })  # fmt: skip
        self._meter, self._guided = Meter(), 0.0

    def _validate(self, *, in_turn: bool) -> None:
        """Judge the averaged weights, keep them, and where the validation is `in_turn` let it steer the run."""
        self._display.busy("translating the development set")
        found = self._dev.validate(self._average.model, self._interrupt.check)
        state = self._state
        state.validated = state.update
        better = found.rank > state.kept
        self._report(found, better=better)
        said = self._said() | {
            "development loss": f"{found.loss:.4f}",
            "development BLEU": f"{found.bleu:.2f} ({found.signature})",
        }
        if better:
            keep_best(self._run, self._average.model, said, first=state.kept_bleu is None)
            state.kept, state.kept_bleu = found.rank, found.bleu
        keep_last(self._run, self._average.model, said)
        if self._draws:
            draw_curve(self._folder.metrics, self._folder.curve)
        if in_turn:
            take_note(state, found.rank, found.loss)
        self._save()

    def _said(self) -> dict[str, str]:
        """What goes with the weights."""
        return {"updates": str(self._state.update)}

    def _report(self, found: Validation, *, better: bool) -> None:
        state = self._state
        epoch = state.epoch + (state.batch > 0)
        self._folder.add_metrics({
            "event": "validation", "update": state.update, "epoch": epoch, "loss": found.loss, "bleu": found.bleu,
            "seconds": self._seconds(), "best": better,
        })  # fmt: skip
        if found.signature != self._signature:
            logger.info("development BLEU is %s", found.signature)
            self._signature = found.signature
        by_loss = " by its loss, BLEU says nothing yet" if found.by_loss else ""
        logger.info(
            "validation after update %d, epoch %d: loss %.3f a token, BLEU %.2f%s",
            state.update, epoch, found.loss, found.bleu, f", the best so far{by_loss}" if better else "",
        )  # fmt: skip
        told = [f"source:    {s}\nreference: {r}\noutput:    {o}\n" for s, r, o in self._dev.samples(found.outputs)]
        for line in "".join(told).splitlines():
            logger.info("  %s", line)
        self._folder.add_samples(f"update {state.update}\n" + "".join(told) + "\n")
        if found.collapsed:
            logger.warning(
                "nearly all outputs are the same (%.0f %% differ): usual at the very beginning; if it stays so, "
                "the text is too little or the learning rate too high", 100 * found.distinct,
            )  # fmt: skip

    def _seconds(self) -> float:
        """Seconds of training, those before a resumption counted."""
        return self._before[0] + time.monotonic() - self._started

    def _outcome(self, reason: str, *, interrupted: bool = False) -> Outcome:
        self._folder.note(f"ended after update {self._state.update} because {reason}")
        return Outcome(
            reason, interrupted, self._state.update, self._state.kept_bleu, self._folder.model, self._folder.path
        )


def _out_of_memory(error: RuntimeError | MemoryError, batch: str, settings: Settings) -> Exception:
    """What to raise for an error on `batch`: advice where memory was lacking, else the error itself."""
    told = str(error)
    if not (isinstance(error, MemoryError) or "out of memory" in told or "can't allocate memory" in told):
        return error
    flag = "--batch-sentences" if settings.data.batching == "paper" else "--batch-tokens"
    return UserError(
        f"out of memory on a batch of {batch}; start anew with a smaller {flag}, --max-length or --hidden-size"
    )
