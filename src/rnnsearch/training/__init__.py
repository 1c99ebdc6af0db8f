"""Training: from two text files to a model folder, in a run that survives interruption. Needs PyTorch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rnnsearch.config import Settings
from rnnsearch.errors import UserError


@dataclass(frozen=True)
class Outcome:
    """How a training ended: `reason` in words, the best BLEU on the development set (None: not yet), the folders."""

    reason: str
    interrupted: bool
    updates: int
    bleu: float | None
    model: Path
    run: Path


def train(
    settings: Settings,
    corpus: Sequence[Path],
    model: Path,
    *,
    dev: Sequence[Path] | None = None,
    languages: tuple[str | None, str | None] = (None, None),
    init_from: Path | None = None,
    overwrite: bool = False,
    encoding: str = "utf-8",
    errors: str = "strict",
    device: str = "cpu",
    threads: int | None = None,
    bar: bool = False,
    profile: bool = False,
    preset: str = "",
    guided_alignment: Path | None = None,
) -> Outcome:
    """Train a new model on the pairs of `corpus` (two text files, or one .tsv or .jsonl) into the folder `model`.

    `dev` are the files of the development set (None: a part of the corpus is held out); a language that is None is
    taken from the file's ending. With `init_from` weights, tokeniser and vocabularies come from that model, whose
    settings must be those of `settings`. The run keeps its own folder beside the model (MODEL.run). `bar` draws a
    progress bar on standard error; `profile` has some updates watched and logs where their time went; `preset` is
    only written down. `guided_alignment`: a file with the links of the corpus, which the attention is taught. All else
    that is to be said goes to the log "rnnsearch". Raises UserError for a mistake in the arguments or the files, and
    where training diverges.
    """
    check_torch(device)
    from rnnsearch.training import launch, trainer

    run = launch.start(
        settings,
        corpus,
        model,
        dev=dev,
        languages=languages,
        init_from=init_from,
        overwrite=overwrite,
        encoding=encoding,
        errors=errors,
        preset=preset,
        guided_alignment=guided_alignment,
    )
    return trainer.go_on(run, device=device, threads=threads, bar=bar, profile=profile)


def resume(
    model: Path,
    values: Mapping[str, Any],
    *,
    preset: str | None = None,
    corpus: Sequence[Path] = (),
    dev: Sequence[Path] | None = None,
    languages: tuple[str | None, str | None] = (None, None),
    device: str = "cpu",
    threads: int | None = None,
    bar: bool = False,
    profile: bool = False,
    guided_alignment: Path | None = None,
) -> Outcome:
    """Go on with the run of `model`. `values` are settings that were named: limits may change, others must be the same.

    Files, languages and a preset that are named again must be those that the run was started from. On the same
    machine with the same number of threads the weights are bit for bit those of a run without interruption (CPU).
    """
    check_torch(device)
    from rnnsearch.training import launch, trainer

    run = launch.resume(
        model,
        values,
        preset=preset,
        corpus=corpus,
        dev=dev,
        languages=languages,
        guided_alignment=guided_alignment,
    )
    return trainer.go_on(run, device=device, threads=threads, bar=bar, profile=profile)


def check_torch(device: str) -> None:
    """Raise UserError where PyTorch is not installed, or cannot compute on `device`."""
    try:
        import torch

        torch.zeros(1, device=device).item()
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise UserError('training needs PyTorch, which is not installed: pip install "rnnsearch[train]"') from None
    except (RuntimeError, AssertionError) as error:
        raise UserError(f"--device {device} cannot be used: {str(error).splitlines()[0]}") from None
