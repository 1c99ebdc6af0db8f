"""Model folders that a training writes: the best weights as the model itself, the last ones in the run folder."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from rnnsearch.model import Model
from rnnsearch.model_folder import Weights, save_model, save_weights
from rnnsearch.training.launch import Run


def keep_last(run: Run, model: Model, said: Mapping[str, str]) -> None:
    """Put the present weights into MODEL.run/last; `said` goes with them (updates, BLEU ...)."""
    _write(run, run.folder.last, _weights(model), said)


def keep_best(run: Run, model: Model, said: Mapping[str, str], *, first: bool) -> None:
    """Put the present weights into the model folder; the `first` of a run replace whatever folder is there.

    That is done by renaming, so that no other model's settings ever lie beside these weights.
    """
    folder = run.folder
    if not first and folder.model.exists():
        _write(run, folder.model, _weights(model), said)
        return
    new, old = folder.path / "best.part", folder.path / "replaced"
    for left in (new, old):
        shutil.rmtree(left, ignore_errors=True)
    _write(run, new, _weights(model), said)
    if folder.model.exists():
        os.replace(folder.model, old)
    os.replace(new, folder.model)
    shutil.rmtree(old, ignore_errors=True)


def _write(run: Run, path: Path, weights: Weights, said: Mapping[str, str]) -> None:
    if (path / "config.json").exists():
        save_weights(path, weights, said)
        return
    settings, (source, target) = run.settings, run.text.sides
    save_model(
        path, model=settings.model, search=settings.search, max_length=settings.data.max_length, source=source,
        target=target, weights=weights, about={"preset": run.record.preset}, metadata=said,
    )  # fmt: skip


def _weights(model: Model) -> Weights:
    return {name: tensor.detach().cpu().numpy() for name, tensor in model.state_dict().items()}
