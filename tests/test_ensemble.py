"""Several models asked as one: the mean of their probabilities and alignments, whatever engine each has."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from mock_engine import MockEngine
from rnnsearch.cli.main import main
from rnnsearch.config import ModelSettings, SearchSettings
from rnnsearch.engine import Engine, open_engine
from rnnsearch.engine.ensemble_engine import Ensemble
from rnnsearch.errors import UserError
from rnnsearch.model_folder import ModelFolder, save_model
from rnnsearch.search import force, search
from rnnsearch.text.batches import pad
from rnnsearch.text.side import Side
from rnnsearch.text.tokenise import SpaceTokeniser
from rnnsearch.text.vocabulary import UNK_ID, Vocabulary
from rnnsearch.translator import Translator

SOURCE, TARGET = ["the", "a", "cat", "dog", "sleeps", ".", ","], ["le", "un", "chat", "chien", "dort", "."]
SIZES = (len(SOURCE) + 2, len(TARGET) + 2)
ROWS = [[3], [7, 4, 5, 8, 2, 6], [], [2, 3, 4], [5] * 9]
LINES = ["the cat sleeps .", "", "a dog , a cat , the dog", "the the the"]


def models(kinds, seed=1):
    torch = pytest.importorskip("torch")
    from rnnsearch.model import Model

    generator = torch.Generator().manual_seed(seed)
    for kind in kinds:
        model = Model(ModelSettings(embedding_size=9, hidden_size=12, attention_size=7, maxout_size=5, **kind), *SIZES)
        for p in model.parameters():
            p.data.normal_(0, 0.5, generator=generator)
        yield model.eval()


def saved(folder: Path, model, target=TARGET) -> Path:
    save_model(
        folder, model=model.settings, search=SearchSettings(beam_size=4), max_length=20,
        source=Side("source", "en", SpaceTokeniser(), Vocabulary(SOURCE)),
        target=Side("target", "fr", SpaceTokeniser(), Vocabulary(target)),
        weights={name: p.detach().numpy() for name, p in model.named_parameters()}, about={}, metadata={},
    )  # fmt: skip
    return folder


def test_it_searches_with_the_mean_of_the_probabilities_of_its_members():
    parts: list[Engine] = [MockEngine(6, seed, eos_bias=1.0) for seed in (1, 2, 3)]
    whole = MockEngine(6, 1)
    whole.table = np.log(np.mean([np.exp(part.table) for part in parts], axis=0))
    x, x_mask = pad(ROWS)
    settings = SearchSettings(beam_size=4, minimum_length=True)
    for no_unk in (False, True):
        found = search(Ensemble(parts), x, x_mask, settings, n_best=4, no_unk=no_unk)
        expected = search(whole, x, x_mask, settings, n_best=4, no_unk=no_unk)
        for a, b in zip(itertools.chain(*found), itertools.chain(*expected), strict=True):
            assert a.ids == b.ids
            assert a.log_p == pytest.approx(b.log_p, abs=1e-6)
            assert not (no_unk and UNK_ID in a.ids)


def test_alignment_is_the_mean_of_those_of_the_members():
    parts = [MockEngine(6, seed) for seed in (1, 2)]
    x, y = pad([[4, 2, 2], [3]]), pad([[2, 4], [5, 3, 2]])
    found = force(Ensemble(parts), *x, *y)
    alone = [force(part, *x, *y) for part in parts]
    for both, one, other in zip(found, *alone, strict=True):
        np.testing.assert_allclose(both.alpha, (one.alpha + other.alpha) / 2, atol=1e-6)
        assert not np.allclose(one.alpha, other.alpha, atol=0.01)


def test_a_posterior_alignment_is_the_mean_of_those_of_the_members():
    parts = [MockEngine(6, seed) for seed in (1, 2)]
    parts[1].seen = np.random.default_rng(0).uniform(0, 1, (5, 6))
    x, y = pad([[4, 2, 2], [3]]), pad([[2, 4], [5, 3, 2]])
    found = force(Ensemble(parts), *x, *y, posterior=True)
    alone = [force(part, *x, *y, posterior=True) for part in parts]
    for both, one, other in zip(found, *alone, strict=True):
        np.testing.assert_allclose(both.alpha, (one.alpha + other.alpha) / 2, atol=1e-6)


def test_a_beam_wider_than_the_vocabulary_is_padded():
    engine = Ensemble([MockEngine(3, 1), MockEngine(3, 2)])
    scores, slots, words = engine.best(np.log(np.array([[0.2, 0.3, 0.5]], np.float32)), np.zeros((1, 1)), {}, 5)
    np.testing.assert_allclose(np.exp(scores), [[0.5, 0.3, 0.2, 0, 0]], atol=1e-6)
    assert (words[0, :3].tolist(), slots.shape) == ([2, 1, 0], (1, 5))


def test_a_probability_too_small_for_a_float_keeps_its_logarithm_and_none_stays_none():
    class Fixed(MockEngine):
        def every(self, log_p):
            return np.array([[self.one, -200.0, -np.inf]], np.float32)

    parts = [MockEngine.__new__(Fixed) for _ in range(2)]
    parts[0].one, parts[1].one = 0.0, -np.inf
    for part in parts:
        part.step = lambda *_: (None, None, np.ones((1, 1), np.float32))
    _, log_p, _ = Ensemble(parts).step((None, None), np.zeros((1, 1), int), np.zeros((1, 1), int))
    np.testing.assert_allclose(log_p[0], [np.log(0.5), -200, -np.inf], rtol=1e-6)


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_engines_of_every_kind_can_be_members(tmp_path, precision):
    from rnnsearch.engine.torch_engine import TorchEngine

    kinds = [{"decoder_order": "printed"}, {"decoder_order": "authors"}, {"architecture": "rnnencdec"}]
    made = list(models(kinds))
    folders = [ModelFolder.open(saved(tmp_path / str(i), model)) for i, model in enumerate(made)]
    engine = open_engine(*folders, precision=precision)
    reference = Ensemble([TorchEngine(model) for model in made])
    x, y = pad(ROWS), pad([[2, 5], [4] * 7, [3], [6, 2], [7, 7, 7]])
    for a, b in zip(force(engine, *x, *y), force(reference, *x, *y), strict=True):
        assert a.log_p == pytest.approx(b.log_p, abs=1e-3 if precision == "float32" else 0.5)
    if precision == "float32":
        found, expected = (search(e, *x, SearchSettings(beam_size=3), n_best=3) for e in (engine, reference))
        for a, b in zip(itertools.chain(*found), itertools.chain(*expected), strict=True):
            assert a.ids == b.ids
            assert a.score == pytest.approx(b.score, abs=1e-4)
            np.testing.assert_allclose(a.alpha, b.alpha, atol=1e-4)
    engine.close()


def test_a_model_twice_is_that_model(tmp_path):
    (model,) = models([{}])
    folder = saved(tmp_path / "m", model)
    alone, twice = (Translator.load(*paths, precision="float32") for paths in ([folder], [folder, folder]))
    for a, b in zip(alone.translate(LINES, n_best=3), twice.translate(LINES, n_best=3), strict=True):
        assert [one.text for one in a.n_best or [a]] == [one.text for one in b.n_best or [b]]
        assert a.log_p == pytest.approx(b.log_p, abs=1e-4)
        np.testing.assert_allclose(a.alignment, b.alignment, atol=1e-5)


def test_models_of_other_words_are_refused(tmp_path):
    one, other = models([{}, {}])
    folders = [saved(tmp_path / "one", one), saved(tmp_path / "other", other, target=[*TARGET[1:], TARGET[0]])]
    with pytest.raises(UserError, match=r"one and .*other have not the same target vocabulary"):
        Translator.load(*folders)


def test_the_command_line_takes_several_models(tmp_path, capsys, monkeypatch):
    folders = [saved(tmp_path / f"m{i}", model) for i, model in enumerate(models([{}, {}]))]
    (tmp_path / "test.en").write_text("\n".join(LINES) + "\n")
    with Translator.load(*folders) as translator:
        expected = [translation.text for translation in translator.translate(LINES)]
    alone = [one.text for one in Translator.load(folders[0]).translate(LINES)]
    assert expected != alone
    (tmp_path / "test.fr").write_text("\n".join(expected) + "\n")
    flags = [flag for folder in folders for flag in ("--model", str(folder))]
    files = [str(tmp_path / "test.en"), str(tmp_path / "test.fr")]
    assert main(["evaluate", *flags, *files]) == 0
    out = capsys.readouterr().out
    assert "model:m0+m1|beam:4" in out
    assert "100.00" in next(line for line in out.splitlines() if "BLEU" in line)


def test_an_alignment_is_asked_of_every_member(tmp_path):
    folders = [saved(tmp_path / str(i), m) for i, m in enumerate(models([{}, {"architecture": "rnnencdec"}]))]
    with pytest.raises(UserError, match="no alignment to show"):
        Translator.load(*folders).require_alignment()
