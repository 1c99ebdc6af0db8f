"""The reference engine: its answers to search, against the model asked directly."""

import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from rnnsearch import paper
from rnnsearch.config import ModelSettings
from rnnsearch.engine.torch_engine import TorchEngine, set_threads_here
from rnnsearch.model import Model
from rnnsearch.parameters import Output
from rnnsearch.text.vocabulary import EOS_ID, UNK_ID

FORMAT_1 = Path(__file__).parent / "models" / "format-1"


@pytest.fixture
def model() -> Model:
    settings = ModelSettings(embedding_size=4, hidden_size=5, attention_size=3, maxout_size=4)
    model = Model(settings, 8, 9).double()
    generator = torch.Generator().manual_seed(0)
    for p in model.parameters():
        p.data.normal_(0, 0.5, generator=generator)
    return model.eval()


X = np.array([[2, 3, 4, 0], [5, 6, 0, 0], [7, 0, 0, 0]])
MASK = np.array([[True] * 4, [True, True, True, False], [True, True, False, False]])


def log_p_of(model: Model, sentence: int, words: list[int]) -> np.ndarray:
    """log p of the next word after `words`, one sentence alone, no beam."""
    n = int(MASK[sentence].sum())
    memory = model.encode(torch.from_numpy(X[sentence : sentence + 1, :n]), torch.ones(1, n, dtype=torch.bool))
    state = model.start(memory, 1)
    with torch.no_grad():
        state, log_p, _ = model.step(memory, state, None)
        for word in words:
            state, log_p, _ = model.step(memory, state, torch.tensor([[word]]))
    return log_p[0, 0].numpy()


@pytest.mark.parametrize("factored", [False, True])
@pytest.mark.parametrize("order", ["printed", "authors"])
def test_where_it_looked_for_a_known_word_is_bayes_rule(monkeypatch, order: str, factored: bool) -> None:
    """Over all source words, with c_i = h_j put into the readout by hand; then over the likeliest."""
    settings = ModelSettings(embedding_size=4, hidden_size=5, attention_size=3, maxout_size=4, decoder_order=order,
                             factored_output=factored)  # fmt: skip
    model = Model(settings, 8, 9).double()
    for p in model.parameters():
        p.data.normal_(0, 0.9, generator=torch.Generator().manual_seed(p.numel()))
    engine, rows, given = TorchEngine(model), np.arange(3)[:, None], np.array([4, 8, 3])
    first, second = np.full((3, 1), -1), np.array([[2], [5], [7]])
    state, _, _ = engine.step(engine.start(engine.encode(X, MASK), 0), first, rows)
    for words in (first, second):
        if words is second:
            state, _, alpha = engine.step(state, words, rows)
        else:
            alpha = state.alpha[:, 0]
        output, memory, s = Output(**model.output), state.memory, state.state.s
        with torch.no_grad():
            Ey = torch.zeros(3, 1, 4).double() if words is first else model.E_y[torch.from_numpy(words)]
            apart = [paper.log_p(output, paper.readout(output, s, Ey, memory.h[:, j : j + 1])) for j in range(4)]
        likelihood = torch.cat(apart, 1).exp().numpy()[np.arange(3)[:, None], np.arange(4), given[:, None]]
        joint = alpha.numpy() * likelihood
        monkeypatch.setattr("rnnsearch.engine.torch_engine.LIKELY", 4)
        whole = engine.posterior(state, words, given)
        np.testing.assert_allclose(whole, joint / joint.sum(1, keepdims=True), atol=1e-6)
        monkeypatch.setattr("rnnsearch.engine.torch_engine.LIKELY", 2)
        some = engine.posterior(state, words, given)
        assert ((some > 0).sum(1) == 2).all()
        np.testing.assert_allclose(some, np.where(some > 0, joint, 0) / np.where(some > 0, joint, 0).sum(1)[:, None],
                                   atol=1e-6)  # fmt: skip


def test_rows_follow_their_parents_and_sentences_leave(model: Model) -> None:
    """One row a sentence, two, three with crossed parents while a sentence leaves: each is as if it were alone."""
    engine = TorchEngine(model)
    state = engine.start(engine.encode(X, MASK), 2)
    state, log_p, alpha = engine.step(state, np.full((3, 1), -1), np.arange(3)[:, None])
    for row in range(3):
        assert log_p[row].numpy() == pytest.approx(log_p_of(model, row, []), abs=1e-12)
    assert (engine.alpha(alpha)[~MASK] == 0).all()
    first = np.array([[2, 3], [4, 5], [6, 7]])
    state, log_p, alpha = engine.step(state, first, np.array([[0, 0], [1, 1], [2, 2]]))
    for row, word in enumerate(first.ravel()):
        assert log_p[row].numpy() == pytest.approx(log_p_of(model, row // 2, [word]), abs=1e-12)
    state, log_p, alpha = engine.step(state, np.array([[8, 1, 4], [3, 2, 5]]), np.array([[1, 0, 0], [5, 5, 4]]))
    expected = [(0, [3, 8]), (0, [2, 1]), (0, [2, 4]), (2, [7, 3]), (2, [7, 2]), (2, [6, 5])]
    for row, (sentence, words) in enumerate(expected):
        assert log_p[row].numpy() == pytest.approx(log_p_of(model, sentence, words), abs=1e-12)
    assert alpha.shape == (6, 4)


def test_best_is_the_best_of_all_and_bans(model: Model) -> None:
    engine = TorchEngine(model)
    rng = np.random.default_rng(1)
    table = rng.normal(size=(6, 9))
    scores = np.array([[0.0, -1.0], [-2.0, -np.inf], [-0.5, -0.1]])
    banned = {EOS_ID: np.array([True, False, False]), UNK_ID: np.array([True, True, True])}
    found, slots, words = engine.best(torch.from_numpy(table.copy()), scores, banned, 4)
    for b in range(3):
        sums = {
            (slot, word): scores[b, slot] + table[2 * b + slot, word]
            for slot in range(2)
            for word in range(9)
            if not any(word == ban and where[b] for ban, where in banned.items())
        }
        top = sorted(sums, key=lambda key: -sums[key])[:4]
        assert found[b] == pytest.approx([sums[key] for key in top])
        assert list(zip(slots[b].tolist(), words[b].tolist(), strict=True)) == top


def test_best_pads_where_the_vocabulary_is_narrower_than_the_beam(model: Model) -> None:
    engine = TorchEngine(model)
    found, _, _ = engine.best(torch.zeros(1, 3), np.zeros((1, 1)), {}, 5)
    assert found.tolist() == [[0.0, 0.0, 0.0, -np.inf, -np.inf]]


def test_scores_of_given_words(model: Model) -> None:
    engine = TorchEngine(model)
    table = torch.arange(12.0).view(3, 4)
    assert engine.score(table, np.array([1, 0, 3])).tolist() == [1.0, 4.0, 11.0]


def test_threads_are_set_for_this_thread_alone() -> None:
    before = torch.get_num_threads()
    seen: list[int] = []

    def worker() -> None:
        set_threads_here(before + 3)
        seen.append(torch.get_num_threads())

    def later() -> None:
        seen.append(torch.get_num_threads())

    for target in (worker, later):
        thread = threading.Thread(target=target)
        thread.start()
        thread.join()
    assert seen == [before + 3, before]
    assert torch.get_num_threads() == before


def test_an_encdec_model_spreads_its_alignment_evenly() -> None:
    settings = ModelSettings(architecture="rnnencdec", embedding_size=4, hidden_size=5, attention_size=3, maxout_size=4)
    model = Model(settings, 8, 9)
    model.initialise("scaled", 1)
    engine = TorchEngine(model)
    _, _, alpha = engine.step(engine.start(engine.encode(X, MASK), 1), np.full((3, 1), -1), np.arange(3)[:, None])
    assert engine.alpha(alpha)[2].tolist() == [0.5, 0.5, 0.0, 0.0]
