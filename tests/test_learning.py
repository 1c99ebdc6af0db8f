"""Copying and reversing are learnt, and the alignment stands on the diagonal or the antidiagonal."""

import pytest
import torch
from torch import Tensor

from forced import alignment
from rnnsearch.config import ModelSettings
from rnnsearch.model import Model

LENGTH = 8


def task(generator: torch.Generator, B: int, reverse: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Words 2 .. 11, four to eight of them, and the sentence end 0: x, y and the mask of both."""
    lengths = torch.randint(4, LENGTH + 1, (B, 1), generator=generator)
    place = torch.arange(LENGTH + 1)
    words = torch.randint(2, 12, (B, LENGTH + 1), generator=generator)
    x = torch.where(place < lengths, words, 0)
    other = x.gather(1, (lengths - 1 - place).clamp(min=0)) if reverse else x
    return x, torch.where(place < lengths, other, 0), place <= lengths


@pytest.mark.parametrize("order", ["printed", "authors"])
@pytest.mark.parametrize("reverse", [False, True], ids=["copy", "reverse"])
def test_task_is_learnt_with_its_alignment(order: str, reverse: bool) -> None:
    settings = ModelSettings(embedding_size=24, hidden_size=48, attention_size=32, maxout_size=24, decoder_order=order)
    model = Model(settings, 12, 12)
    model.initialise("scaled", 3)
    generator = torch.Generator().manual_seed(4)
    optimiser = torch.optim.Adam(model.parameters(), lr=4e-3)
    # The rate falls to zero, so that no late step spoils what was learnt.
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, 500)
    for _ in range(500):
        x, y, mask = task(generator, 32, reverse)
        loss = model.loss(x, mask, y, mask)
        optimiser.zero_grad()
        (loss.total / loss.tokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
    x, y, mask = task(generator, 200, reverse)
    with torch.no_grad():
        assert model.loss(x, mask, y, mask).nll.item() / mask.sum().item() < 0.05
        looked = alignment(model, x, mask, y).argmax(-1)
    place = torch.arange(LENGTH + 1).expand_as(x)
    lengths = mask.sum(1, keepdim=True) - 1
    expected = lengths - 1 - place if reverse else place
    words = place < lengths
    # As printed, the state that asks has not seen the word before, so it may look one word beside; chance is 1 in 6.
    assert (looked[words] == expected[words]).float().mean() > (0.7 if order == "printed" else 0.95)
