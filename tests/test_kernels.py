"""The fast twins against the reference: values, gradients, padding, lengths of one."""

import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from rnnsearch import kernels, paper
from rnnsearch.config import ModelSettings
from rnnsearch.model import Model
from rnnsearch.parameters import Attention, Output, Unit


def random_model(architecture: str, order: str, seed: int, extra: bool) -> Model:
    sizes = ModelSettings(
        architecture=architecture, embedding_size=3, hidden_size=4, attention_size=5, maxout_size=2,
        decoder_order=order, factored_output=extra, embedding_bias=extra,
    )  # fmt: skip
    model = Model(sizes, 8, 9).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(0, 0.6, generator=generator)
    return model


def random_batch(B: int, T_x: int, T_y: int, seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x, y = torch.randint(8, (B, T_x), generator=generator), torch.randint(9, (B, T_y), generator=generator)
    lengths_x = torch.randint(1, T_x + 1, (B, 1), generator=generator)
    lengths_y = torch.randint(1, T_y + 1, (B, 1), generator=generator)
    return x, torch.arange(T_x) < lengths_x, y, torch.arange(T_y) < lengths_y


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["rnnsearch", "rnnencdec"]), st.sampled_from(["printed", "authors"]), st.booleans(),
    st.integers(1, 4), st.integers(1, 6), st.integers(1, 6), st.sampled_from([0.0, 0.1]), st.integers(0, 10**6),
)  # fmt: skip
def test_values_and_gradients_equal_the_reference(
    architecture: str, order: str, extra: bool, B: int, T_x: int, T_y: int, smoothing: float, seed: int
) -> None:
    model = random_model(architecture, order, seed, extra)
    found = []
    for equations in (kernels, paper):
        model.equations = equations
        model.zero_grad()
        result = model.loss(*random_batch(B, T_x, T_y, seed), label_smoothing=smoothing)
        result.total.backward()
        found.append((result, {name: p.grad for name, p in model.named_parameters()}))
    (fast, fast_grad), (slow, slow_grad) = found
    assert fast.tokens == slow.tokens
    assert fast.total.item() == pytest.approx(slow.total.item(), rel=1e-12)
    assert fast.nll.item() == pytest.approx(slow.nll.item(), rel=1e-12)
    for name, gradient in slow_grad.items():
        assert torch.allclose(fast_grad[name], gradient, rtol=1e-9, atol=1e-11), name


def test_float32_stays_near_float64() -> None:
    """1e-5 in values and 1e-4 in gradients (norm of the difference over norm), at a middling size."""
    sizes = ModelSettings(embedding_size=32, hidden_size=48, attention_size=40, maxout_size=24)
    model = Model(sizes, 60, 70)
    model.initialise("scaled", 1)
    generator = torch.Generator().manual_seed(2)
    x, y = torch.randint(60, (8, 15), generator=generator), torch.randint(70, (8, 17), generator=generator)
    masks = torch.arange(15) < torch.randint(1, 16, (8, 1)), torch.arange(17) < torch.randint(1, 18, (8, 1))
    fast = model.loss(x, masks[0], y, masks[1])
    fast.total.backward()
    gradients = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.double()
    model.equations = paper
    model.zero_grad()
    slow = model.loss(x, masks[0], y, masks[1])
    slow.total.backward()
    assert fast.total.item() == pytest.approx(slow.total.item(), rel=1e-5)
    for name, p in model.named_parameters():
        assert p.grad is not None
        assert (gradients[name] - p.grad).norm() <= 1e-4 * p.grad.norm(), name


def leaf(*shape: int, seed: int) -> Tensor:
    values = torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return values.requires_grad_()


def unit(n: int, m: int, context: int, seed: int) -> Unit:
    shapes = [(n, m)] * 3 + [(n, n)] * 3 + [(n,)] + ([(n, context)] * 3 if context else [])
    return Unit(*(leaf(*shape, seed=seed + k) for k, shape in enumerate(shapes)))


@pytest.mark.parametrize("module", [kernels, paper])
def test_gradcheck_of_the_encoder(module: object) -> None:
    forward, backward = unit(3, 2, 0, 1), unit(3, 2, 0, 20)
    mask = torch.tensor([[True, True, True], [True, False, False]])

    def run(Ex: Tensor, *weights: Tensor) -> Tensor:
        h: Tensor = module.annotations(Ex, mask, Unit(*weights[:7]), Unit(*weights[7:]))  # type: ignore[attr-defined]
        return h

    inputs = (leaf(2, 3, 2, seed=50), *forward[:7], *backward[:7])
    assert torch.autograd.gradcheck(run, inputs)


@pytest.mark.parametrize("module", [kernels, paper])
def test_gradcheck_of_the_decoder(module: object) -> None:
    """All three results, alpha too: a loss on the alignment must find its way back."""
    p = unit(3, 2, 4, 1)
    mask = torch.tensor([[True, True, True], [True, True, False]])

    def run(Ey: Tensor, s_0: Tensor, h: Tensor, v_a: Tensor, W_a: Tensor, U_a: Tensor, *weights: Tensor) -> object:
        return module.search_recursion(Unit(*weights), Attention(v_a, W_a, U_a), Ey, s_0, h, mask)  # type: ignore[attr-defined]

    inputs = (leaf(2, 3, 2, seed=30), leaf(2, 3, seed=31), leaf(2, 3, 4, seed=32), leaf(5, seed=33),
              leaf(5, 3, seed=34), leaf(5, 4, seed=35), *p)  # fmt: skip
    assert torch.autograd.gradcheck(run, inputs)


@pytest.mark.parametrize("module", [kernels, paper])
def test_gradcheck_of_the_fixed_decoder(module: object) -> None:
    p = unit(3, 2, 4, 3)

    def run(Ey: Tensor, s_0: Tensor, c: Tensor, *weights: Tensor) -> Tensor:
        s: Tensor = module.fixed_recursion(Unit(*weights), Ey, s_0, c)  # type: ignore[attr-defined]
        return s

    assert torch.autograd.gradcheck(run, (leaf(2, 3, 2, seed=1), leaf(2, 3, seed=2), leaf(2, 4, seed=3), *p))


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_gradcheck_of_the_loss_over_several_chunks(smoothing: float, monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setattr(sys.modules["rnnsearch.kernels.loss"], "CHUNK", 12)
    y = torch.tensor([0, 3, 5, 1, 2])
    none = torch.empty(0)

    def run(t: Tensor, W: Tensor, b: Tensor) -> Tensor:
        return kernels.loss(Output(none, none, none, none, W, b), t, y, smoothing)[0]

    inputs = (leaf(5, 3, seed=1), leaf(6, 3, seed=2), leaf(6, seed=3))
    assert torch.autograd.gradcheck(run, inputs)
    whole = paper.loss(Output(none, none, none, none, *inputs[1:]), inputs[0], y, smoothing)
    assert run(*inputs).item() == pytest.approx(whole[0].item(), rel=1e-12)
