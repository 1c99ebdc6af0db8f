"""The equations: properties of the reference itself, by hand and by perturbation."""

import math

import pytest
import torch
from torch import Tensor

from forced import alignment
from rnnsearch import paper
from rnnsearch.config import ModelSettings, preset
from rnnsearch.model import Model, parameter_count
from rnnsearch.parameters import Output, Unit

ORDERS = ["printed", "authors"]


def tiny(architecture: str = "rnnsearch", order: str = "printed", **more: object) -> Model:
    settings = ModelSettings(
        architecture=architecture, embedding_size=4, hidden_size=5, attention_size=3, maxout_size=6,
        decoder_order=order, **more,
    )  # fmt: skip
    model = Model(settings, 9, 11, paper).double()
    model.initialise("scaled", 7)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.1 * torch.randn(p.shape, dtype=p.dtype, generator=torch.Generator().manual_seed(p.numel())))
    return model


def test_the_unit_is_the_printed_one_and_resets_before_the_product() -> None:
    torch.manual_seed(0)
    n, m = 3, 2
    W, W_z, W_r = (torch.randn(n, m, dtype=torch.float64) for _ in range(3))
    U, U_z, U_r = (torch.randn(n, n, dtype=torch.float64) for _ in range(3))
    b = torch.randn(n, dtype=torch.float64)
    Ey, s = torch.randn(m, dtype=torch.float64), torch.randn(n, dtype=torch.float64)
    found = paper.gated_unit(Unit(W, W_z, W_r, U, U_z, U_r, b), Ey, s)
    for k in range(n):
        z = 1 / (1 + math.exp(-float(W_z[k] @ Ey + U_z[k] @ s)))
        r = [1 / (1 + math.exp(-float(W_r[i] @ Ey + U_r[i] @ s))) for i in range(n)]
        proposed = math.tanh(float(W[k] @ Ey + b[k]) + sum(float(U[k, i]) * r[i] * float(s[i]) for i in range(n)))
        assert float(found[k]) == pytest.approx((1 - z) * float(s[k]) + z * proposed, abs=1e-12)


def test_torch_gru_is_another_function() -> None:
    """It resets after the product: with the same matrices the two must differ."""
    torch.manual_seed(1)
    W, W_z, W_r, U, U_z, U_r = (torch.randn(3, 3) for _ in range(6))
    cell = torch.nn.GRUCell(3, 3, bias=False)
    with torch.no_grad():
        cell.weight_ih.copy_(torch.cat([W_r, -W_z, W]))  # its z weights the old state: the sign is only a renaming
        cell.weight_hh.copy_(torch.cat([U_r, -U_z, U]))
    x, s = torch.randn(1, 3), torch.randn(1, 3)
    ours = paper.gated_unit(Unit(W, W_z, W_r, U, U_z, U_r, torch.zeros(3)), x, s)
    assert (ours - cell(x, s)).abs().max() > 1e-2
    diagonal = torch.diag(torch.randn(3))  # with a diagonal U the two places of the reset are one
    with torch.no_grad():
        cell.weight_hh[6:] = diagonal
    assert torch.allclose(
        paper.gated_unit(Unit(W, W_z, W_r, diagonal, U_z, U_r, torch.zeros(3)), x, s), cell(x, s), atol=1e-6
    )


def batch(model: Model, B: int = 3, T_x: int = 5, T_y: int = 4) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(3)
    x = torch.randint(2, model.E_x.shape[0], (B, T_x), generator=generator)
    y = torch.randint(2, model.E_y.shape[0], (B, T_y), generator=generator)
    x_mask = torch.arange(T_x) < torch.tensor([T_x, 2, 1])[:B, None]
    y_mask = torch.arange(T_y) < torch.tensor([2, T_y, 1])[:B, None]
    return x, x_mask, y, y_mask


@pytest.mark.parametrize("order", ORDERS)
def test_alpha_is_a_distribution_over_the_real_words(order: str) -> None:
    model = tiny(order=order)
    x, x_mask, y, _ = batch(model)
    alpha = alignment(model, x, x_mask, y)
    assert torch.allclose(alpha.sum(-1), torch.ones(3, 4, dtype=torch.float64), atol=1e-12)
    assert (alpha[~x_mask.unsqueeze(1).expand_as(alpha)] == 0).all()
    assert (alpha[x_mask.unsqueeze(1).expand_as(alpha)] > 0).all()
    assert alpha[0].std() > 1e-4  # and not the uniform one


@pytest.mark.parametrize("equations", ["paper", "kernels"])
@pytest.mark.parametrize("architecture", ["rnnsearch", "rnnencdec"])
@pytest.mark.parametrize("order", ORDERS)
def test_padding_and_order_change_nothing(architecture: str, order: str, equations: str) -> None:
    from rnnsearch import kernels

    model = tiny(architecture, order)
    model.equations = paper if equations == "paper" else kernels
    x, x_mask, y, y_mask = batch(model)
    together = model.loss(x, x_mask, y, y_mask)
    alone = 0.0
    for i in (2, 0, 1):
        alone += model.loss(x[i:i+1, : x_mask[i].sum()], x_mask[i:i+1, : x_mask[i].sum()],
                            y[i:i+1, : y_mask[i].sum()], y_mask[i:i+1, : y_mask[i].sum()]).total.item()  # fmt: skip
    assert together.total.item() == pytest.approx(alone, rel=1e-12)
    garbage = torch.where(x_mask, x, (x + 1) % model.E_x.shape[0])
    assert model.loss(garbage, x_mask, torch.where(y_mask, y, 0), y_mask).total.item() == pytest.approx(
        together.total.item(), rel=1e-12
    )


def inputs_of_outputs(model: Model) -> tuple[Tensor, Tensor]:
    """Which y_j moves log p(y_i | .) and alpha_i: two [T_y, T_y] tables of booleans (i, j)."""
    x, x_mask, y, _ = batch(model, B=1, T_y=5)
    T = y.shape[1]

    def outputs(words: Tensor) -> tuple[Tensor, Tensor]:
        memory = model.encode(x, x_mask)
        state = model.start(memory, 1)
        log_p, alpha = [], []
        for i in range(T):
            state, lp, a = model.step(memory, state, words[:, i - 1 : i] if i else None)
            log_p.append(lp[0, 0])
            alpha.append(a[0, 0])
        return torch.stack(log_p), torch.stack(alpha)

    base = outputs(y)
    moved_p, moved_a = torch.zeros(T, T, dtype=torch.bool), torch.zeros(T, T, dtype=torch.bool)
    for j in range(T):
        other = y.clone()
        other[0, j] = (other[0, j] - 1) % 9 + 2 if other[0, j] != (other[0, j] - 1) % 9 + 2 else 2
        changed = outputs(other)
        moved_p[:, j] = (changed[0] - base[0]).abs().amax(1) > 1e-9
        moved_a[:, j] = (changed[1] - base[1]).abs().amax(1) > 1e-9
    return moved_p, moved_a


def test_what_the_decoder_has_seen_in_each_order() -> None:
    """p(y_i) depends on all y before it; alpha_i on y_1 .. y_{i-2} as printed, on y_1 .. y_{i-1} as the authors did."""
    T = 5
    before = torch.tril(torch.ones(T, T, dtype=torch.bool), -1)
    printed_p, printed_alpha = inputs_of_outputs(tiny(order="printed"))
    authors_p, authors_alpha = inputs_of_outputs(tiny(order="authors"))
    assert (printed_p == before).all()
    assert (authors_p == before).all()
    assert (printed_alpha == torch.tril(before, -2)).all()
    assert (authors_alpha == before).all()


@pytest.mark.parametrize("architecture", ["rnnsearch", "rnnencdec"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("extra", [False, True])
def test_step_by_step_is_the_loss(architecture: str, order: str, extra: bool) -> None:
    """Search and training walk the same road: the sum of the steps' log p is the loss of the sentence."""
    model = tiny(architecture, order, factored_output=extra, embedding_bias=extra)
    x, x_mask, y, _ = batch(model, B=2)
    memory = model.encode(x, x_mask)
    state, total = model.start(memory, 1), 0.0
    for i in range(y.shape[1]):
        state, log_p, _ = model.step(memory, state, y[:, i - 1 : i] if i else None)
        total -= log_p[:, 0].gather(1, y[:, i : i + 1]).sum().item()
    assert model.loss(x, x_mask, y, torch.ones_like(y, dtype=torch.bool)).nll.item() == pytest.approx(total, rel=1e-12)


def test_the_first_word_has_no_previous_word() -> None:
    """The previous-word term is zero at i = 1, embedding bias or not, in both orders."""
    for order in ORDERS:
        model = tiny(order=order, embedding_bias=True)
        x, x_mask, _, _ = batch(model, B=1)
        memory = model.encode(x, x_mask)
        before = model.step(memory, model.start(memory, 1), None)[1]
        with torch.no_grad():
            model.E_y.add_(1.0)
            model.b_Ey.add_(1.0)  # type: ignore[union-attr]
        assert torch.equal(model.step(memory, model.start(memory, 1), None)[1], before)


def test_s_0_reads_the_backward_state_at_the_first_word() -> None:
    model = tiny()
    x, x_mask, _, _ = batch(model, B=1)
    memory = model.encode(x, x_mask)
    W_s, b_s = model.initial["W_s"], model.initial["b_s"]
    assert torch.allclose(memory.s_0[0], torch.tanh(W_s @ memory.h[0, 0, 5:] + b_s))


def test_rnnencdec_reads_only_the_last_forward_state() -> None:
    model = tiny("rnnencdec")
    x, x_mask, _, _ = batch(model, B=1)
    memory = model.encode(x, x_mask)
    forward = paper.states(Unit(**model.encoder_forward), model.E_x[x], x_mask)
    assert torch.equal(memory.h[0, 0], forward[0, -1])
    assert model.encoder_backward is None
    assert model.attention is None


def test_maxout_takes_the_larger_of_two_neighbours() -> None:
    zero = torch.zeros(6, 1)
    p = Output(torch.eye(6), zero, zero, torch.zeros(6), torch.eye(3), torch.zeros(3))
    s = torch.tensor([1.0, 4.0, 3.0, -2.0, 0.5, 0.5])
    assert paper.readout(p, s, torch.zeros(1), torch.zeros(1)).tolist() == [4.0, 3.0, 0.5]


def test_the_loss_of_a_tiny_example_by_hand() -> None:
    """n = m = n' = l = 1, one source word and its end, one target word and its end, every number written out."""
    settings = ModelSettings(embedding_size=1, hidden_size=1, attention_size=1, maxout_size=1, decoder_order="printed")
    model = Model(settings, 3, 3, paper).double()
    with torch.no_grad():
        for k, p in enumerate(model.parameters()):
            p.copy_(torch.arange(1, p.numel() + 1, dtype=torch.float64).view(p.shape) * (0.1 + 0.01 * k) * (-1) ** k)
    w = {name: p.detach().flatten().tolist() for name, p in model.named_parameters()}

    def sigmoid(v: float) -> float:
        return 1 / (1 + math.exp(-v))

    def unit(part: str, e: float, s: float, c: tuple[float, float] = (0.0, 0.0)) -> float:
        g = {k: w[f"{part}.{k}"] for k in ("W", "W_z", "W_r", "U", "U_z", "U_r", "b")}
        C = {k: w.get(f"{part}.{k}", [0.0, 0.0]) for k in ("C", "C_z", "C_r")}
        z = sigmoid(g["W_z"][0] * e + g["U_z"][0] * s + C["C_z"][0] * c[0] + C["C_z"][1] * c[1])
        r = sigmoid(g["W_r"][0] * e + g["U_r"][0] * s + C["C_r"][0] * c[0] + C["C_r"][1] * c[1])
        t = math.tanh(g["W"][0] * e + g["b"][0] + g["U"][0] * r * s + C["C"][0] * c[0] + C["C"][1] * c[1])
        return (1 - z) * s + z * t

    x, y = [2, 0], [2, 0]
    e_x = [w["E_x"][i] for i in x]
    f1 = unit("encoder_forward", e_x[0], 0.0)
    f2 = unit("encoder_forward", e_x[1], f1)
    b2 = unit("encoder_backward", e_x[1], 0.0)
    b1 = unit("encoder_backward", e_x[0], b2)
    h = [(f1, b1), (f2, b2)]
    s = math.tanh(w["initial.W_s"][0] * b1 + w["initial.b_s"][0])
    loss, previous = 0.0, 0.0
    for word in y:
        energies = [
            w["attention.v_a"][0]
            * math.tanh(w["attention.W_a"][0] * s + w["attention.U_a"][0] * a + w["attention.U_a"][1] * b)
            for a, b in h
        ]
        total = sum(math.exp(e) for e in energies)
        alpha = [math.exp(e) / total for e in energies]
        c = (
            sum(a * hj[0] for a, hj in zip(alpha, h, strict=True)),
            sum(a * hj[1] for a, hj in zip(alpha, h, strict=True)),
        )
        s = unit("decoder", previous, s, c)
        pair = [
            w["output.U_o"][k] * s + w["output.V_o"][k] * previous + w["output.b_o"][k]
            + w["output.C_o"][2 * k] * c[0] + w["output.C_o"][2 * k + 1] * c[1]
            for k in (0, 1)
        ]  # fmt: skip
        logits = [w["output.W_o"][v] * max(pair) + w["output.b_y"][v] for v in range(3)]
        loss -= logits[word] - math.log(sum(math.exp(v) for v in logits))
        previous = w["E_y"][word]
    ids, mask = torch.tensor([x]), torch.ones(1, 2, dtype=torch.bool)
    found = model.loss(ids, mask, torch.tensor([y]), mask)
    assert found.tokens == 2
    assert found.total.item() == pytest.approx(loss, rel=1e-12)


def test_label_smoothing_is_torchs() -> None:
    generator = torch.Generator().manual_seed(5)
    t, W = torch.randn(7, 4, generator=generator), torch.randn(6, 4, generator=generator)
    b, y = torch.randn(6, generator=generator), torch.randint(6, (7,), generator=generator)
    none = torch.empty(0)
    total, nll = paper.loss(Output(none, none, none, none, W, b), t, y, 0.1)
    logits = t @ W.T + b
    cross_entropy = torch.nn.functional.cross_entropy
    assert total.item() == pytest.approx(
        cross_entropy(logits, y, reduction="sum", label_smoothing=0.1).item(), rel=1e-6
    )
    assert nll.item() == pytest.approx(cross_entropy(logits, y, reduction="sum").item(), rel=1e-6)


def test_parameter_counts() -> None:
    """Sums of the paper's shapes, at the 30,001 rows of the authors' vocabulary files."""
    assert parameter_count(Model(preset("groundhog").model, 30001, 30001)) == 84_349_101
    plain = preset("groundhog").model.model_copy(update={"factored_output": False})
    assert parameter_count(Model(plain, 30001, 30001)) == 80_438_981
    assert parameter_count(Model(preset("paper").model, 30001, 30001)) == 80_438_981 - 2 * 620
    m, n, l, K = 620, 1000, 500, 30000
    unit = 3 * n * m + 3 * n * n + n
    encdec = preset("paper").model.model_copy(update={"architecture": "rnnencdec"})
    assert parameter_count(Model(encdec, K, K)) == (
        2 * K * m + 2 * unit + 3 * n * n + n * n + n + 2 * l * (2 * n + m + 1) + K * (l + 1)
    )


@pytest.mark.parametrize("architecture", ["rnnsearch", "rnnencdec"])
def test_statistics_of_the_papers_initialisation(architecture: str) -> None:
    settings = preset("groundhog").model.model_copy(
        update={"architecture": architecture, "hidden_size": 200, "attention_size": 200, "embedding_size": 150}
    )
    model = Model(settings, 2000, 2000)
    model.initialise("paper", 1)
    kinds = set()
    for name, p in model.named_parameters():
        short = name.rpartition(".")[2]
        if short in {"U", "U_z", "U_r"}:
            assert torch.allclose(p @ p.T, torch.eye(200), atol=1e-4), name
        elif short.startswith("b") or short == "v_a":
            assert (p == 0).all(), name
        else:
            scale = 0.001 if short in {"W_a", "U_a"} else 0.01
            assert p.std().item() == pytest.approx(scale, rel=0.03), name
            assert abs(p.mean().item()) < scale * 5 / math.sqrt(p.numel()), name
        kinds.add(short)
    assert {"U", "U_z", "U_r", "E_x", "E_y", "b_x", "W_t"} <= kinds
    assert ("v_a" in kinds) == (architecture == "rnnsearch")


def test_initialisation_follows_its_seed() -> None:
    a, b, c = (tiny() for _ in range(3))
    for model, seed in ((a, 1), (b, 1), (c, 2)):
        model.initialise("paper", seed)
    assert torch.equal(a.E_x, b.E_x)
    assert not torch.equal(a.E_x, c.E_x)


def test_presets_are_the_papers() -> None:
    p, g = preset("paper"), preset("groundhog")
    for s in (p, g):
        m, d, t = s.model, s.data, s.training
        assert (m.embedding_size, m.hidden_size, m.attention_size, m.maxout_size) == (620, 1000, 1000, 500)
        assert (d.tokeniser, d.vocabulary_size, d.max_length, d.batching, d.batch_sentences) == (
            "moses",
            30000,
            50,
            "paper",
            80,
        )
        assert (t.optimiser, t.loss, t.clip_norm, t.initialisation, t.dropout, t.label_smoothing) == (
            "adadelta",
            "sum",
            1.0,
            "paper",
            0,
            0,
        )
        assert (s.search.normalise, s.search.retry) == (False, True)
    assert (p.model.decoder_order, p.model.factored_output, p.model.embedding_bias, p.search.minimum_length) == (
        "printed",
        False,
        False,
        False,
    )
    assert (g.model.decoder_order, g.model.factored_output, g.model.embedding_bias, g.search.minimum_length) == (
        "authors",
        True,
        True,
        True,
    )
