"""A `Translator` of a real model, trained for some seconds to name the words of its source one by one."""

import dataclasses
import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from mock_translator import SOURCE_WORDS, assert_same_alignment, random_pairs, sides
from rnnsearch.config import ModelSettings, SearchSettings
from rnnsearch.engine import open_engine
from rnnsearch.errors import UserError
from rnnsearch.model_folder import ModelFolder, save_model
from rnnsearch.search import force, search
from rnnsearch.text.batches import collate, pad
from rnnsearch.text.tokenise import MosesTokeniser
from rnnsearch.translator import Translator


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    torch = pytest.importorskip("torch")
    from rnnsearch.model import Model

    source, target = sides(MosesTokeniser("en"), MosesTokeniser("fr"))
    settings = ModelSettings(embedding_size=16, hidden_size=24, attention_size=16, maxout_size=16)
    model = Model(settings, len(source.vocabulary), len(target.vocabulary))
    model.initialise("scaled", 5)
    optimiser, rng = torch.optim.Adam(model.parameters(), 0.01), np.random.default_rng(7)
    for _ in range(80):
        rows = [rng.integers(2, 9, length).tolist() for length in rng.integers(1, 8, 32)]
        batch = collate([(row, row) for row in rows])
        loss = model.loss(*(torch.from_numpy(part) for part in (batch.x, batch.x_mask, batch.y, batch.y_mask)))
        optimiser.zero_grad()
        (loss.total / loss.tokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    path = tmp_path_factory.mktemp("model")
    weights = {name: p.detach().numpy() for name, p in model.named_parameters()}
    save_model(path, model=settings, search=SearchSettings(beam_size=5), max_length=30, source=source, target=target,
               weights=weights, about={}, metadata={})  # fmt: skip
    return path


LINES = ["The cat sleeps.", "", "...", "?!", "-", "-n", "the dog " * 100, "a cat sees, a dog sleeps.", "cafe\u0301"] * 2


def test_a_real_model_is_the_same_alone_in_batches_and_from_four_threads(folder):
    translator = Translator.load(folder, threads=1)
    alone = [translator.translate(line) for line in LINES]
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda size: list(translator.translate(LINES, batch_size=size)), (1, 2, 5, 32)))
    for run in runs:
        for one, other in zip(alone, run, strict=True):
            assert one.source == other.source
            assert abs(one.score - other.score) < 1e-4
            assert one.text == other.text
            np.testing.assert_allclose(one.alignment, other.alignment, atol=1e-4)


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_a_real_model_aligns_many_pairs_as_each_alone(folder, precision):
    translator = Translator.load(folder, threads=2, precision=precision)
    pairs = [("", "un"), *random_pairs(40), ("the dog sees " * 30, "le chien . " * 20), ("a", "")]
    for one, pair in zip(translator.align_pairs(pairs, 7), pairs, strict=True):
        assert_same_alignment(one, translator.align(*pair), 1e-4)


@pytest.mark.parametrize("normalise", [False, True])
def test_the_mean_score_of_a_trained_model_does_not_fall_as_the_beam_widens(folder, normalise):
    opened = ModelFolder.open(folder)
    opened = dataclasses.replace(opened, search=SearchSettings(normalise=normalise))
    translator = Translator(opened, lambda: open_engine(opened, threads=1))
    rng = np.random.default_rng(1)
    lines = [" ".join(rng.choice(SOURCE_WORDS[:7], rng.integers(3, 11))) for _ in range(40)]
    scores, ratios = [], []
    for beam in (1, 4, 12, 50):
        found = list(translator.translate(lines, beam_size=beam))
        scores.append(np.mean([t.score for t in found]))
        ratios.append(sum(len(t.tokens) for t in found) / sum(len(t.source_tokens) for t in found))
    print("mean score", scores, "length ratio", ratios)  # noqa: T201 - pytest -rP shows it
    assert (np.diff(scores) >= -1e-6).all()
    assert scores[-1] > scores[0]
    assert 0.5 < min(ratios) <= max(ratios) < 1.5


def test_a_beam_as_wide_as_the_space_is_exhaustive_on_a_trained_model(folder):
    engine = open_engine(ModelFolder.open(folder), threads=1)
    words = [*range(1, 9)]
    every = [list(body) for length in range(4) for body in itertools.product(words, repeat=length)]
    y, y_mask = pad(every)
    (x, x_mask), one = pad([[3]]), np.zeros(len(every), int)
    forced = force(engine, x[one], x_mask[one], y, y_mask)
    settings = SearchSettings(beam_size=9**4, retry=True)
    (found,) = search(engine, x, x_mask, settings, n_best=settings.beam_size)
    best = {h.ids: h.score for h in found if len(h.ids) <= 4}
    assert len(best) == len(every)
    assert all(abs(best[h.ids] - h.score) < 1e-4 for h in forced)
    assert found[0].score >= max(h.score for h in forced) - 1e-5


def test_alignments_of_a_real_model_are_distributions(folder):
    for result in Translator.load(folder, threads=1).translate(LINES, n_best=3):
        for one in result.n_best:
            assert one.alignment.shape == (len(one.words), len(one.source_words))
            assert (one.token_alignment >= 0).all()
            np.testing.assert_allclose(one.alignment.sum(1), 1)


@pytest.mark.parametrize("threads", [0, -1, 99999999999])
def test_an_impossible_number_of_threads_is_refused(folder, threads):
    with pytest.raises(UserError, match=f"threads must be from 1 to 1,024, not {threads}"):
        Translator.load(folder, threads=threads)


@pytest.mark.parametrize("threads", [1.5, "2", True])
def test_a_number_of_threads_that_is_no_whole_number_is_refused(folder, threads):
    with pytest.raises(TypeError, match=f"^threads must be a whole number, not {threads!r}$"):
        Translator.load(folder, threads=threads)


def test_nothing_global_is_changed(folder):
    torch = pytest.importorskip("torch")
    threads, grad, numpy_state = torch.get_num_threads(), torch.is_grad_enabled(), np.random.get_state()[1].copy()
    errors, generator = np.geterr(), torch.random.get_rng_state()
    elsewhere = []

    def look_elsewhere():
        other = threading.Thread(target=lambda: elsewhere.append(torch.get_num_threads()))
        other.start()
        other.join()

    look_elsewhere()
    translator = Translator.load(folder, threads=threads + 1)
    translator.translate("The cat sleeps.")
    look_elsewhere()
    assert torch.get_num_threads() == threads
    assert elsewhere[0] == elsewhere[1]
    assert torch.is_grad_enabled() == grad
    assert np.geterr() == errors
    assert (np.random.get_state()[1] == numpy_state).all()
    assert torch.equal(torch.random.get_rng_state(), generator)
