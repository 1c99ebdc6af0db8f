"""Updates: the two optimisers, the clip, and what happens to an update that is not finite."""

import math

import pytest
import torch

from rnnsearch.config import TrainingSettings
from rnnsearch.errors import UserError
from rnnsearch.training.optimiser import SKIPS_IN_A_ROW, Optimiser

PAPER = TrainingSettings(optimiser="adadelta", loss="sum")


def parameter(*values):
    return torch.nn.Parameter(torch.tensor(values))


def test_adadelta_is_the_papers_two_running_averages():
    p = parameter(0.3, -0.2)
    optimiser = Optimiser([p], PAPER)
    x, square, delta = p.detach().double().clone(), torch.zeros(2).double(), torch.zeros(2).double()
    for slope in (0.5, -0.1, 0.2):
        optimiser.step((p * slope).sum())
        g = torch.full((2,), slope).double()
        square = 0.95 * square + 0.05 * g**2
        change = -torch.sqrt(delta + 1e-6) / torch.sqrt(square + 1e-6) * g
        delta = 0.95 * delta + 0.05 * change**2
        x += change
    assert torch.allclose(p.detach().double(), x, atol=1e-7)


def test_adam_moves_by_the_learning_rate_at_first():
    p = parameter(1.0, 1.0)
    Optimiser([p], TrainingSettings(learning_rate=0.01, warmup=0)).step((p * torch.tensor([0.3, -0.2])).sum())
    assert p.tolist() == pytest.approx([0.99, 1.01], abs=1e-5)


def test_tables_of_embeddings_move_as_many_times_as_far_as_their_numbers_are_larger():
    matrix, table = torch.nn.Parameter(torch.zeros(2, 9)), torch.nn.Parameter(torch.zeros(3, 9))
    settings = TrainingSettings(learning_rate=0.01, warmup=0, clip_norm=1e9)
    Optimiser([matrix, table], settings, [table]).step(matrix.sum() + table.sum())
    assert torch.allclose(matrix, torch.full((2, 9), -0.01), rtol=1e-4)
    assert torch.allclose(table, torch.full((3, 9), -0.03), rtol=1e-4)


def test_the_rate_rises_in_even_steps_and_then_stays():
    p = parameter(1.0)
    optimiser = Optimiser([p], TrainingSettings(learning_rate=0.01, warmup=4))
    rates, moves = [], []
    for _ in range(6):
        before = float(p.detach())
        rates.append(optimiser.learning_rate)
        optimiser.step(p.sum())  # with a gradient that stays the same Adam moves by its rate
        moves.append(before - float(p.detach()))
    assert rates == pytest.approx([0.0025, 0.005, 0.0075, 0.01, 0.01, 0.01])
    assert moves == pytest.approx(rates, rel=1e-3)


@pytest.mark.parametrize(
    ("slopes", "clipped"),
    [((3.0, 4.0), (0.6, 0.8)), ((0.3, 0.4), (0.3, 0.4)), ((0.6, 0.8), (0.6, 0.8))],
)
def test_the_norm_over_all_parameters_is_clipped_to_one(slopes, clipped):
    first, second = parameter(1.0), parameter(1.0)
    norm = Optimiser([first, second], PAPER).step(first.sum() * slopes[0] + second.sum() * slopes[1])
    assert norm == pytest.approx(math.hypot(*slopes))
    assert [float(first.grad), float(second.grad)] == pytest.approx(clipped)


@pytest.mark.parametrize("settings", [PAPER, TrainingSettings()])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_an_update_that_is_not_finite_changes_nothing_and_is_counted(settings, bad):
    p = parameter(1.0, 2.0)
    optimiser = Optimiser([p], settings)
    optimiser.step(p.sum())
    before, average = p.detach().clone(), {name: t.clone() for name, t in optimiser.tensors().items()}
    optimiser.step((p * bad).sum())
    assert torch.equal(p.detach(), before)
    assert all(torch.equal(t, average[name]) for name, t in optimiser.tensors().items())
    assert (optimiser.skipped, optimiser.skipped_in_a_row) == (1, 1)
    optimiser.step(p.sum())
    assert (optimiser.skipped, optimiser.skipped_in_a_row) == (1, 0)


def test_a_loss_that_is_not_finite_is_skipped_though_its_gradient_is():
    p = parameter(1.0)
    optimiser = Optimiser([p], PAPER)
    optimiser.step(p.sum() + math.inf)
    assert (p.item(), optimiser.skipped) == (1.0, 1)


def test_several_skips_in_a_row_end_with_advice():
    p = parameter(1.0)
    optimiser = Optimiser([p], TrainingSettings())
    for _ in range(SKIPS_IN_A_ROW):
        optimiser.check()
        optimiser.step(p.sum() * math.nan)
    with pytest.raises(UserError, match="--learning-rate"):
        optimiser.check()


@pytest.mark.parametrize(("decay_from", "expected"), [(4, [2, 4, 4, 4, 3.5777, 3.2660]), (0, [2, 4, 4, 4, 4, 4])])
def test_adams_rate_rises_stays_and_falls_and_adadelta_has_none(decay_from, expected):
    p = parameter(1.0)
    optimiser = Optimiser([p], TrainingSettings(learning_rate=4.0, warmup=2, decay_from=decay_from))
    adadelta, rates = Optimiser([p], PAPER), []
    for _ in expected:
        rates.append(optimiser.learning_rate)
        optimiser.step(p.sum())
        adadelta.step(p.sum())
        assert adadelta.learning_rate == 1.0
    assert rates == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("settings", [PAPER, TrainingSettings(learning_rate=0.01, decay_from=2)])
def test_what_is_restored_goes_on_bit_for_bit(settings):
    def steps(optimiser, p, count):
        for i in range(count):
            optimiser.step((p * p * (i + 0.5)).sum())

    p = parameter(1.0, -0.7, 0.1)
    optimiser = Optimiser([p], settings)
    steps(optimiser, p, 3)
    again = torch.nn.Parameter(p.detach().clone())
    other = Optimiser([again], settings)
    other.restore({name: t.clone() for name, t in optimiser.tensors().items()}, optimiser.state())
    steps(optimiser, p, 3)
    steps(other, again, 3)
    assert torch.equal(p, again)
    assert other.learning_rate == optimiser.learning_rate
