"""The fast twins against the reference: values, gradients, padding, lengths of one."""

import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import linear

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


@pytest.mark.parametrize("architecture", ["rnnsearch", "rnnencdec"])
@pytest.mark.parametrize("order", ["printed", "authors"])
def test_the_loss_in_bfloat16_stays_near_float64(architecture: str, order: str) -> None:
    sizes = ModelSettings(architecture=architecture, embedding_size=32, hidden_size=48, attention_size=40,
                          maxout_size=24, decoder_order=order)  # fmt: skip
    model = Model(sizes, 60, 70, products=torch.bfloat16)
    model.initialise("scaled", 1)
    batch = random_batch(8, 15, 17, 2)
    fast = model.loss(*batch, label_smoothing=0.1)
    fast.total.backward()
    assert all(p.grad is not None and p.grad.dtype == torch.float32 for p in model.parameters())
    model.double()
    model.equations, model.products = paper, None
    slow = model.loss(*batch, label_smoothing=0.1)
    assert fast.total.item() == pytest.approx(slow.total.item(), rel=1e-3)
    assert fast.total.item() != pytest.approx(slow.total.item(), rel=1e-8)  # it is another type indeed


Values = dict[str, Tensor]


def check_bfloat16(run: Callable[[ModuleType, Values], Any], values: Values, low: set[str]) -> None:
    """Results and gradients of a twin whose inputs `low` are bfloat16, within 2e-2 of the reference in float64."""
    found = []
    for module, kind in ((kernels, torch.float32), (paper, torch.float64)):
        leaves = {name: value.detach().to(kind).requires_grad_() for name, value in values.items()}
        given = {name: v.bfloat16() if module is kernels and name in low else v for name, v in leaves.items()}
        results = run(module, given)
        results = results if isinstance(results, tuple) else (results,)
        generator = torch.Generator().manual_seed(9)
        weights = [torch.randn(r.shape, dtype=torch.float64, generator=generator).to(kind) for r in results]
        torch.stack([(r * w).sum() for r, w in zip(results, weights, strict=True)]).sum().backward()
        grads = {f"gradient of {name}": leaf.grad for name, leaf in leaves.items()}
        found.append({f"result {i}": r.detach() for i, r in enumerate(results)} | grads)
    fast, slow = found
    for name, value in slow.items():
        assert (fast[name].double() - value).norm() <= 2e-2 * value.norm(), name


def named(prefix: str, parameters: Iterable[tuple[str, Tensor]]) -> Values:
    return {prefix + name: value for name, value in parameters}


def without(prefix: str, values: Values) -> Values:
    return {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}


@pytest.fixture
def middling() -> Model:
    model = Model(ModelSettings(embedding_size=32, hidden_size=48, attention_size=40, maxout_size=24), 60, 70)
    model.initialise("scaled", 3)
    return model


NONE = torch.zeros(1)


def test_bfloat16_of_the_encoder(middling: Model) -> None:
    mask = random_batch(8, 15, 1, 5)[1]
    assert middling.encoder_backward is not None
    values = {"Ex": torch.randn(8, 15, 32, generator=torch.Generator().manual_seed(1))}
    values |= named("f ", middling.encoder_forward.items()) | named("b ", middling.encoder_backward.items())
    check_bfloat16(
        lambda m, v: m.annotations(v["Ex"], mask, Unit(**without("f ", v)), Unit(**without("b ", v))), values, {"Ex"}
    )


def test_bfloat16_of_the_decoder(middling: Model) -> None:
    mask, generator = random_batch(8, 15, 1, 5)[1], torch.Generator().manual_seed(2)
    assert middling.attention is not None
    values = {
        "Ey": torch.randn(8, 17, 32, generator=generator),
        "s_0": torch.randn(8, 48, generator=generator).tanh(),
        "h": torch.randn(8, 15, 96, generator=generator).tanh(),
    }
    values |= named("d ", middling.decoder.items()) | named("a ", middling.attention.items())
    values["a v_a"] = 5 * values["a v_a"]  # a sharp alignment

    def run(m: Any, v: Values) -> Any:
        return m.search_recursion(Unit(**without("d ", v)), Attention(**without("a ", v)), v["Ey"], v["s_0"],
                                  v["h"], mask)  # fmt: skip

    check_bfloat16(run, values, {"Ey", "h"})


def test_bfloat16_of_the_readout(middling: Model) -> None:
    """The gradient of a maximum jumps where its two arguments are equal; those nearly equal are left out."""
    generator = torch.Generator().manual_seed(2)
    values = {
        "s": torch.randn(8, 17, 48, generator=generator).tanh(),
        "Ey": torch.randn(8, 17, 32, generator=generator),
        "c": torch.randn(8, 17, 96, generator=generator).tanh(),
    }
    values |= named("o ", ((k, v) for k, v in middling.output.items() if k in {"U_o", "V_o", "C_o", "b_o"}))

    def inner(v: Values) -> Tensor:
        of_s, of_Ey = linear(v["s"], v["o U_o"], v["o b_o"]), linear(v["Ey"], v["o V_o"])
        return (of_s + of_Ey + linear(v["c"], v["o C_o"])).unflatten(-1, (-1, 2))

    clear = inner(values).diff(dim=-1).squeeze(-1).abs() > 0.02
    assert 0.9 < clear.float().mean() < 1

    def run(m: Any, v: Values) -> Any:
        return m.readout(Output(**without("o ", v), W_o=NONE, b_y=NONE), v["s"], v["Ey"], v["c"]) * clear

    check_bfloat16(run, values, {"Ey", "c"})


def test_bfloat16_of_the_loss(middling: Model) -> None:
    generator = torch.Generator().manual_seed(2)
    y = torch.randint(70, (136,), generator=generator)
    values = {"t": torch.randn(136, 24, generator=generator), "W": 4 * middling.output["W_o"].detach(),
              "b": torch.randn(70, generator=generator)}  # fmt: skip
    check_bfloat16(
        lambda m, v: m.loss(Output(NONE, NONE, NONE, NONE, v["W"], v["b"]), v["t"], y, 0.1)[0], values, {"t"}
    )


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_dropout_zeroes_its_share_and_scales_the_rest(kind: torch.dtype) -> None:
    torch.manual_seed(3)
    x = torch.full((301, 333), 2.0, requires_grad=True)
    dropped = kernels.drop(x, 0.3, kind)
    assert dropped.dtype == kind and dropped.shape == x.shape
    zero = dropped == 0
    assert zero.float().mean().item() == pytest.approx(0.3, abs=0.006)  # 4 standard deviations
    assert zero.float().mean(0).var().item() == pytest.approx(0.21 / 301, rel=0.4)  # columns are independent
    assert zero.float().mean(1).var().item() == pytest.approx(0.21 / 333, rel=0.4)
    assert dropped[~zero].float().mean().item() == pytest.approx(2 / 0.7, rel=4e-3)
    dropped.sum().backward()
    assert x.grad is not None and x.grad.dtype == torch.float32
    assert torch.equal(x.grad == 0, zero)
    assert x.grad[~zero].mean().item() == pytest.approx(1 / 0.7, rel=4e-3)


def test_dropout_comes_from_the_seed_and_none_is_the_input() -> None:
    x = torch.randn(5, 7)
    torch.manual_seed(4)
    first = kernels.drop(x, 0.5, torch.float32)
    assert not torch.equal(kernels.drop(x, 0.5, torch.float32), first)
    torch.manual_seed(4)
    assert torch.equal(kernels.drop(x, 0.5, torch.float32), first)
    assert torch.equal(kernels.drop(x, 0.0, torch.float32), x)


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
    monkeypatch.setattr(sys.modules["rnnsearch.kernels.loss"], "PIECE", 6)
    y = torch.tensor([0, 3, 5, 1, 2])
    none = torch.empty(0)

    def run(t: Tensor, W: Tensor, b: Tensor) -> Tensor:
        return kernels.loss(Output(none, none, none, none, W, b), t, y, smoothing)[0]

    inputs = (leaf(5, 3, seed=1), leaf(6, 3, seed=2), leaf(6, seed=3))
    assert torch.autograd.gradcheck(run, inputs)
    whole = paper.loss(Output(none, none, none, none, *inputs[1:]), inputs[0], y, smoothing)
    assert run(*inputs).item() == pytest.approx(whole[0].item(), rel=1e-12)
