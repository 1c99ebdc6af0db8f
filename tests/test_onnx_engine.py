"""The engine without PyTorch, against the reference: models of every kind, any batch, any number of threads."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from rnnsearch.config import ModelSettings, SearchSettings
from rnnsearch.engine import onnx_engine, open_engine
from rnnsearch.engine.graph import INLINE, Graph
from rnnsearch.engine.network import FILLED_AT_ONCE, LESS, WHOLE, WordTable, linear, words_added
from rnnsearch.engine.onnx_engine import OnnxEngine
from rnnsearch.errors import UserError
from rnnsearch.model_folder import ModelFolder, save_model
from rnnsearch.search import force, search
from rnnsearch.text.batches import pad
from rnnsearch.text.vocabulary import EOS_ID
from rnnsearch.translator import Translator

FORMAT_1 = Path(__file__).parent / "models" / "format-1"
KINDS = [
    {"architecture": architecture, "decoder_order": order, "factored_output": factored, "embedding_bias": bias}
    for architecture, order, (factored, bias) in itertools.product(
        ("rnnsearch", "rnnencdec"), ("printed", "authors"), ((False, False), (True, True), (False, True))
    )
]
ROWS = [[3], [7, 4, 5, 9, 30, 2, 8, 8, 11], [], [12, 13, 14], [21] * 6, [40, 2, 41, 3]]
LINES = ["the king sleeps .", "", "a", "the old friend of the king sees a school .", "the the the", "who ?", "a b c"]


def model_of(kind, seed=1):
    """A random model in PyTorch and its weights."""
    torch = pytest.importorskip("torch")
    from rnnsearch.model import Model

    settings = ModelSettings(embedding_size=12, hidden_size=20, attention_size=11, maxout_size=9, **kind)
    model = Model(settings, 50, 150)
    generator = torch.Generator().manual_seed(seed)
    for p in model.parameters():
        p.data.normal_(0, 0.4, generator=generator)
    model.output["b_y"].data[EOS_ID] += 2  # sentences that come to an end
    return model.eval(), {name: p.detach().numpy() for name, p in model.named_parameters()}


def reference(model):
    from rnnsearch.engine.torch_engine import TorchEngine

    return TorchEngine(model)


def close(found, expected, tolerance=1e-4):
    for a, b in zip(itertools.chain(*found), itertools.chain(*expected), strict=True):
        assert (a.ids, a.finished) == (b.ids, b.finished)
        assert abs(a.score - b.score) < tolerance
        np.testing.assert_allclose(a.alpha, b.alpha, atol=tolerance)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values())))
def test_it_finds_what_the_reference_finds(kind):
    model, weights = model_of(kind)
    engine, other, x = OnnxEngine(model.settings, weights, int8=False), reference(model), pad(ROWS)
    for settings, no_unk in (
        (SearchSettings(beam_size=4), False),
        (SearchSettings(beam_size=7, minimum_length=True, normalise=False), True),
        (SearchSettings(beam_size=1), False),
    ):
        n_best = settings.beam_size
        expected = search(other, *x, settings, n_best=n_best, no_unk=no_unk)
        close(search(engine, *x, settings, n_best=n_best, no_unk=no_unk), expected)
    y = pad([[5, 9, 149], [2], [3] * 8, [], [100, 101], [7, 7]])
    close([force(engine, *x, *y)], [force(other, *x, *y)])
    if kind["architecture"] == "rnnsearch":
        close([force(engine, *x, *y, posterior=True)], [force(other, *x, *y, posterior=True)], 2e-4)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values())))
def test_int8_gives_nearly_the_same_probabilities(kind):
    model, weights = model_of(kind)
    engine, x, y = OnnxEngine(model.settings, weights, int8=True), pad(ROWS), pad([[5, 9, 100]] * len(ROWS))
    pairs = zip(force(engine, *x, *y), force(reference(model), *x, *y), strict=True)
    differences = [abs(a.score - b.score) for a, b in pairs]
    assert 0 < max(differences) < 0.1


def test_a_beam_wider_than_the_vocabulary():
    model, weights = model_of(KINDS[0])
    engine, x = OnnxEngine(model.settings, weights, int8=False), pad(ROWS[:2])
    settings = SearchSettings(beam_size=160)
    expected = search(reference(model), *x, settings, n_best=3)
    close(search(engine, *x, settings, n_best=3), expected)


@pytest.mark.parametrize("order", ["printed", "authors"])
def test_in_int8_a_sentence_is_the_same_to_the_last_bit_alone_and_in_any_batch(order):
    model, weights = model_of({"decoder_order": order})
    engine, fresh = (OnnxEngine(model.settings, weights, int8=True) for _ in range(2))
    rng, beam = np.random.default_rng(4), SearchSettings(beam_size=5)
    rows = [rng.integers(2, 50, n).tolist() for n in [*rng.integers(0, 20, 28), 40, 70]]
    alone = [search(engine, *pad([row]), beam, n_best=5)[0] for row in rows]
    for size in (2, 7, 30):
        together = [h for i in range(0, 30, size) for h in search(fresh, *pad(rows[i : i + size]), beam, n_best=5)]
        for a, b in zip(itertools.chain(*alone), itertools.chain(*together), strict=True):
            assert (a.ids, a.log_p) == (b.ids, b.log_p)
            assert np.array_equal(a.alpha, b.alpha)


def test_in_float32_only_the_last_bits_depend_on_the_batch():
    model, weights = model_of({})
    engine, beam = OnnxEngine(model.settings, weights, int8=False), SearchSettings(beam_size=5)
    alone = [search(engine, *pad([row]), beam, n_best=5)[0] for row in ROWS]
    close(search(engine, *pad(ROWS), beam, n_best=5), alone, 1e-5)


def test_neither_threads_nor_batch_size_change_a_translation():
    lines = [" ".join(LINES[i % 4 :]) for i in range(16)] + LINES
    translators = [Translator.load(FORMAT_1, threads=n, precision="int8") for n in (1, 3)]
    expected = list(translators[0].translate(lines))
    for translator, size in itertools.product(translators, (1, 5, 200)):
        for a, b in zip(expected, translator.translate(lines, batch_size=size), strict=True):
            assert (a.source, a.text, a.log_p) == (b.source, b.text, b.log_p)
            assert np.array_equal(a.alignment, b.alignment)


def test_the_stored_model_gives_the_scores_of_the_reference():
    pytest.importorskip("torch")
    from rnnsearch.engine.torch_engine import TorchEngine

    folder = ModelFolder.open(FORMAT_1)
    expected = Translator(folder, lambda: TorchEngine.open(folder, threads=1))
    found = Translator.load(FORMAT_1, threads=1, precision="float32")
    whole = Translator.load(FORMAT_1, threads=1, precision="int8")
    for line in LINES:
        a, b = found.translate(line), expected.translate(line)
        assert (a.text, a.tokens) == (b.text, b.tokens)
        assert abs(a.score - b.score) < 1e-4
        given = " ".join(b.words)
        assert abs(whole.align(line, given).score - expected.align(line, given).score) < 0.1


def test_auto_is_int8_only_where_the_processor_adds_exactly(monkeypatch):
    folder, seen = ModelFolder.open(FORMAT_1), []
    real = onnx_engine.step
    monkeypatch.setattr(onnx_engine, "step", lambda *a, whole: seen.append(whole) or real(*a, whole=whole))
    for exact in (True, False):
        monkeypatch.setattr(onnx_engine, "adds_exactly", lambda exact=exact: exact)
        open_engine(folder)
    open_engine(folder, precision="int8")
    open_engine(folder, precision="float32")
    assert seen == [WHOLE, 0, LESS, 0]  # the third on a processor that does not


def test_int8_is_for_the_processor_only():
    with pytest.raises(UserError, match=r"int8 is for the processor only: leave out the device 'cuda'"):
        open_engine(ModelFolder.open(FORMAT_1), device="cuda", precision="int8")


def test_weights_that_do_not_fit_are_named(tmp_path):
    folder = ModelFolder.open(FORMAT_1)
    weights = folder.weights()
    del weights["decoder.U_z"]
    weights["b_q"], weights["initial.b_s"] = np.zeros(1, np.float32), np.zeros(3, np.float32)
    save_model(tmp_path, model=folder.model, search=folder.search, max_length=9, source=folder.source,
               target=folder.target, weights=weights, about={}, metadata={})  # fmt: skip
    with pytest.raises(UserError, match=r"b_q is unknown; decoder.U_z is missing; initial.b_s is \[3\] and not \[16\]"):
        open_engine(ModelFolder.open(tmp_path))


def test_the_table_holds_what_a_word_adds():
    _, weights = model_of({"decoder_order": "printed", "embedding_bias": True})
    settings = ModelSettings(embedding_size=12, hidden_size=20, attention_size=11, maxout_size=9, embedding_bias=True)
    added = onnx_engine._Session(words_added(weights))
    table = WordTable(settings, weights, lambda Ey: added.run({"Ey": Ey}, ["rows"])["rows"])
    words = np.array([3, 149, 3, 150])
    table.prepare(words)
    Ey = weights["E_y"][[3, 149]] + weights["b_Ey"]
    np.testing.assert_allclose(table.rows[[3, 149], 20:40], Ey @ weights["decoder.W_z"].T, atol=1e-5)
    s_tilde = Ey @ weights["decoder.W"].T + weights["decoder.b"]
    np.testing.assert_allclose(table.rows[[3, 149], :20], s_tilde, atol=1e-5)
    t = (Ey @ weights["output.V_o"].T + weights["output.b_o"])[:, [*range(0, 18, 2), *range(1, 18, 2)]]
    np.testing.assert_allclose(table.rows[[3, 149], 60:], t, atol=1e-5)
    assert table.rows[150, :20] == pytest.approx(weights["decoder.b"])
    assert FILLED_AT_ONCE < 149


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("whole", [WHOLE, LESS])
def test_a_product_in_whole_numbers_is_as_near_as_its_scales_allow(bounded, whole):
    if whole == WHOLE and not onnx_engine.adds_exactly():
        pytest.skip("this processor adds products of int8 in 16 bits")
    rng = np.random.default_rng(2)
    W, x = rng.normal(size=(70, 300)).astype(np.float32), rng.uniform(-1, 1, (9, 300)).astype(np.float32)
    if not bounded:
        x *= np.geomspace(1e-3, 1e3, 9, dtype=np.float32)[:, None]
    graph = Graph()
    y = linear(graph, graph.input("x", "float32", ["R", 300]), W, whole=whole, bounded=bounded)
    graph.output(y, "y", "float32", ["R", 70])
    found = onnx_engine._Session(graph).run({"x": x}, ["y"])["y"]
    step_of_x, step_of_W = np.abs(x).max(1, keepdims=True) / whole, np.abs(W).max(1) / 127
    error = step_of_x * np.abs(W).sum(1) + np.abs(x).sum(1, keepdims=True) * step_of_W
    assert (np.abs(found - x @ W.T) < error / 4).all()
    np.testing.assert_array_equal(onnx_engine._Session(graph).run({"x": x[3:4]}, ["y"])["y"], found[3:4])


def test_the_largest_sums_of_the_smaller_whole_numbers_are_exact_on_every_processor():
    graph, W = Graph(), np.ones((64, 64), np.float32)
    graph.output(linear(graph, graph.input("x", "float32", ["R", 64]), W, whole=LESS, bounded=True), "y", "float32", [])
    for x in (1, -1):
        found = onnx_engine._Session(graph).run({"x": np.full((8, 64), x, np.float32)}, ["y"])["y"]
        np.testing.assert_allclose(found, 64.0 * x, rtol=1e-6)


def test_large_arrays_stay_outside_of_the_bytes_of_a_graph():
    graph, large = Graph(), np.arange(INLINE, dtype=np.float32)
    y = graph.node("Add", graph.input("x", "float32", ["N"]), graph.constant(large))
    graph.output(graph.node("Mul", y, graph.constant(np.array(2, np.float32))), "y", "float32", ["N"])
    assert len(graph.model()) < 300
    found = onnx_engine._Session(graph).run({"x": np.ones(INLINE, np.float32)}, ["y"])["y"]
    assert found.tolist() == (2 * (large + 1)).tolist()


WITHOUT_TORCH = (
    "import sys; sys.modules['torch'] = None\n"
    "from rnnsearch.cli.main import main\n"
    "sys.exit(main(sys.argv[1:]))"
)  # fmt: skip


def test_without_torch_everything_but_training_works(python, tmp_path):
    (tmp_path / "a.en").write_text("the king sleeps .\n", encoding="utf-8")
    (tmp_path / "a.fr").write_text("le roi dort .\n", encoding="utf-8")
    model = ("--model", str(FORMAT_1))
    done = python("-c", WITHOUT_TORCH, "evaluate", *model, "a.en", "a.fr")
    assert done.returncode == 0 and "BLEU" in done.stdout, done.stderr
    done = python("-c", WITHOUT_TORCH, "heatmap", *model, "the king sleeps .", "--target", "le roi dort .")
    assert done.returncode == 0 and "dort" in done.stdout, done.stderr
    lacking = 'PyTorch, which is not installed: pip install "rnnsearch[train]"'
    for arguments, subject in (
        (["heatmap", *model, "a", "--device", "cuda"], "the device 'cuda' needs"),
        (["train", "a.en", "a.fr", "--model", "m"], "training needs"),
        (["demo"], "training needs"),
    ):
        done = python("-c", WITHOUT_TORCH, *arguments)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"rnnsearch: error: {subject} {lacking}\n"
    assert not (tmp_path / "demo").exists()
