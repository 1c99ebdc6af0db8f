"""Trains the five models, one after the other, from wherever they were left."""

import json
import logging
import os
import platform
import shutil
from pathlib import Path
from typing import Any

from rnnsearch.errors import UserError
from rnnsearch.evaluation.curve import read_events
from rnnsearch.files import write_whole
from rnnsearch.reproduction.beginning import begin
from rnnsearch.reproduction.plan import VARIANTS, Plan, Variant
from rnnsearch.reproduction.progress import View
from rnnsearch.training import Outcome, resume, train
from rnnsearch.training.run_folder import RunFolder

logger = logging.getLogger("rnnsearch")


def train_all(plan: Plan, view: View, *, device: str = "cpu", threads: int | None = None) -> bool:
    """Train what is not trained yet; False where that was interrupted. The same call goes on from there.

    Raises UserError as training does.
    """
    for number, variant in enumerate(VARIANTS, start=1):
        if finished(plan, variant):
            continue
        view.model(number, variant.name, 60 * minutes_left(plan))
        outcome = _train(plan, variant, device, threads)
        if outcome.interrupted:
            logger.info("%s interrupted after update %d", variant.name, outcome.updates)
            return False
        _note(plan, variant, {"device": _machine(device), "threads": _threads(device, threads)})
        score = "unknown" if outcome.bleu is None else f"{outcome.bleu:.2f}"
        logger.info("%s ended after update %d; best development BLEU %s", variant.name, outcome.updates, score)
    return True


def noted(plan: Plan, variant: Variant) -> dict[str, Any]:
    """What was written down of a model whose training came to its end; {} where it did not yet."""
    path = _notes(plan, variant)
    try:
        return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}
    except (ValueError, TypeError):
        raise UserError(f"{path} is damaged; remove it, and the training it tells of is looked at again") from None


def minutes_left(plan: Plan) -> float:
    """Minutes of training that are still to be done."""
    left = 0.0
    for variant in VARIANTS:
        done = max(noted(plan, variant).get("max_minutes", 0.0), _minutes_done(plan, variant))
        if variant.further and not done:  # it will go on with another one
            done = plan.minutes_of(_variant(variant.further))
        left += max(0.0, plan.minutes_of(variant) - done)
    return left


def _minutes_done(plan: Plan, variant: Variant) -> float:
    """Minutes that a run has taken, as its metrics have it."""
    metrics = RunFolder(plan.model(variant)).metrics
    seconds = [event.get("seconds", 0.0) for event in read_events(metrics)] if metrics.exists() else []
    return float(max(seconds, default=0.0)) / 60


def finished(plan: Plan, variant: Variant) -> bool:
    """Whether a model was trained as long as is asked now, or longer."""
    before = noted(plan, variant)
    limits = plan.limits(variant)
    return bool(before) and all(0 < limits[name] <= before[name] or before[name] == limits[name] for name in limits)


def _note(plan: Plan, variant: Variant, more: dict[str, Any]) -> None:
    write_whole(_notes(plan, variant), (json.dumps(plan.limits(variant) | more, indent=1) + "\n").encode())


def _notes(plan: Plan, variant: Variant) -> Path:
    model = plan.model(variant)
    return model.with_name(model.name + ".json")


def _train(plan: Plan, variant: Variant, device: str, threads: int | None) -> Outcome:
    """Begin a model, or go on with it."""
    model = plan.model(variant)
    model.parent.mkdir(parents=True, exist_ok=True)
    if variant.further:
        _copy(plan.model(_variant(variant.further)), model)
    run = RunFolder(model)
    if run.record.exists() and run.read_record().ready:
        return resume(model, plan.limits(variant), device=device, threads=threads)
    first = begin(plan)[variant.architecture]
    return train(
        plan.settings(variant), plan.corpus, model, dev=plan.dev, languages=plan.languages, init_from=first,
        device=device, threads=threads, preset=plan.scale.preset,
    )  # fmt: skip


def _variant(name: str) -> Variant:
    return next(variant for variant in VARIANTS if variant.name == name)


def _copy(model: Path, to: Path) -> None:
    """Copy a model and its run, unless that was done before; the run comes last, and whole, so its name says so."""
    if RunFolder(to).path.exists():
        return
    for source, target in (model, to), (RunFolder(model).path, RunFolder(to).path):
        partial = target.with_name(target.name + ".partial")
        for left in (partial, target):
            shutil.rmtree(left, ignore_errors=True)
        shutil.copytree(source, partial)
        os.replace(partial, target)


def _threads(device: str, threads: int | None) -> int | None:
    import torch

    return None if device != "cpu" else threads or torch.get_num_threads()


def _machine(device: str) -> str:
    """What kind of processor or graphics card trained; never the name of a computer."""
    if device != "cpu":
        import torch

        return torch.cuda.get_device_name(device) if device.startswith("cuda") else device
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    except OSError:  # another system than Linux
        names = []
    return names[0] if names else platform.processor() or platform.machine()
