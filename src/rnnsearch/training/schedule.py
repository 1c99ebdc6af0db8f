"""Where a run stands, and what follows from that alone: when to validate, when to end, how long it will take."""

from dataclasses import dataclass, field

from rnnsearch.config import TrainingSettings

#: Where it is not set, a validation follows when there are this share more updates than at the one before: a model
#: learns fast at first, and what validating costs stays small beside the training.
GROWTH = 1 / 4
#: But after at least so many updates, which change something even late, and at most as many as an epoch has.
LEAST_UPDATES = 200


@dataclass
class State:
    """Where a run stands, apart from weights and optimiser. `epoch` counts whole passes, `batch` those of the next."""

    update: int = 0
    epoch: int = 0
    batch: int = 0
    seconds: float = 0.0
    #: the update after which the last validation was
    validated: int = 0
    #: the update after which the last validation was that steers the run
    steered: int = 0
    bad_validations: int = 0
    #: least loss of the validations that steer the run
    least_loss: float = float("inf")
    #: rank of the best validation of those that steer the run, and of all: a run that ends at a limit validates out of
    #: turn, which must not change how it goes on when it is resumed
    best: list[float] = field(default_factory=lambda: [-1.0, 0.0])
    kept: list[float] = field(default_factory=lambda: [-1.0, 0.0])
    kept_bleu: float | None = None


def due(state: State, training: TrainingSettings, epoch: int) -> bool:
    """Whether a validation is due after the last update and was not held yet; an epoch has so many updates."""
    if state.update == state.validated:
        return False
    every = training.validate_every
    if every:
        return state.update % every == 0
    return state.update - state.steered >= max(LEAST_UPDATES, min(GROWTH * state.steered, epoch))


def dropout(state: State, training: TrainingSettings, epoch: int) -> float:
    """Dropout of the next update; an epoch has so many.

    It rises with the passes over the text: what is seen for the first time cannot be learnt by heart.
    """
    passed, rise = state.epoch + state.batch / epoch, training.dropout_epochs
    return training.dropout * (passed / rise if passed < rise else 1)


def take_note(state: State, rank: list[float], loss: float) -> None:
    """Of a validation that steers the run, by its rank and loss: BLEU rises by leaps, the loss says if it will."""
    state.steered = state.update
    better = rank > state.best or loss < state.least_loss
    state.best, state.least_loss = max(rank, state.best), min(loss, state.least_loss)
    state.bad_validations = 0 if better else state.bad_validations + 1


def limit(state: State, training: TrainingSettings, seconds: float) -> str:
    """Why a run that has taken `seconds` is to end now, or ''."""
    if training.patience and state.bad_validations >= training.patience:
        return f"neither development BLEU nor loss has got better in {state.bad_validations} validations"
    if training.max_updates and state.update >= training.max_updates:
        return f"it has made {state.update} updates"
    if training.max_epochs and state.epoch >= training.max_epochs:
        return f"it has gone through the text {state.epoch} time{'s' if state.epoch > 1 else ''}"
    if training.max_minutes and seconds >= 60 * training.max_minutes:
        return f"it has run for {training.max_minutes:g} minutes"
    return ""


def time_left(
    state: State, training: TrainingSettings, size: int, seconds: float, pace: float
) -> tuple[float, float, str]:
    """(share done, seconds left, to what) of the nearest limit, or of the epoch where there is none.

    `size`: batches of an epoch; `seconds`: what the run has taken; `pace`: seconds a batch, validations included.
    """
    limits = []
    if training.max_updates:
        limits.append((pace * (training.max_updates - state.update), f"to update {training.max_updates}"))
    if training.max_epochs:
        batches = (training.max_epochs - state.epoch) * size - state.batch
        limits.append((pace * batches, f"to the end of epoch {training.max_epochs}"))
    if training.max_minutes:
        limits.append((60 * training.max_minutes - seconds, f"of {training.max_minutes:g} minutes"))
    if not limits:
        return state.batch / size, pace * (size - state.batch), f"to the end of epoch {state.epoch + 1}"
    left, what = min(limits)
    return seconds / max(seconds + left, 1e-9), left, what
