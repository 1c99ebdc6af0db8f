"""Given links from file to gradient: carried to tokens, stored, put into batches, and taught to the attention."""

import gzip
import json
import math
import random

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from forced import alignment
from rnnsearch import kernels, paper
from rnnsearch.config import DataSettings, ModelSettings
from rnnsearch.errors import UserError
from rnnsearch.evaluation.alignment_error import compare
from rnnsearch.model import GUIDED_WEIGHT, Model
from rnnsearch.text import working
from rnnsearch.text.batches import collate
from rnnsearch.text.grammar import generate
from rnnsearch.text.links import Links
from rnnsearch.text.prepare import CorpusFiles, Prepared, prepare

DEV = [("dev one", "dev un"), ("dev two", "dev deux")]


def write(folder, rows, name="train"):
    """A corpus of (source, target) or (source, target, links)."""
    paths = [folder / f"{name}.{ending}" for ending in ("en", "fr", "links")]
    for path, column in zip(paths, zip(*rows, strict=True), strict=False):
        path.write_text("".join(line + "\n" for line in column), encoding="utf-8", newline="\n")
    return CorpusFiles(tuple(paths[:2]), links=paths[2] if len(rows[0]) == 3 else None)


def run(folder, files, dev=True, **data):
    given_dev = write(folder, DEV, "dev") if dev else None
    chosen = DataSettings(**({"tokeniser": "none", "vocabulary_size": 1000} | data))
    return prepare(files, given_dev, chosen, folder / "corpus", ("en", "fr"), None, 1)


def stored(prepared):
    """(source tokens, target tokens, links) of all pairs."""
    x, y = (side.vocabulary for side in prepared.sides)
    for i in range(len(prepared.store)):
        ids = prepared.store.pair(i)
        yield x.tokens(ids[0].tolist()), y.tokens(ids[1].tolist()), sorted(map(tuple, prepared.store.links(i).tolist()))


# --- from the file to the store


def test_links_follow_their_words_through_the_cleaning(tmp_path):
    # The words as given: a, b and c (a no-break space is none of the spaces that count), one that vanishes, d.
    rows = [(" a  b\u00a0c \u200b d", "x  y", "0-0 1-1 2-0 3-1"), ("e f", "z", ""), ("g", "v w", "0p1 0-0")]
    prepared = run(tmp_path, write(tmp_path, rows))
    assert list(stored(prepared)) == [
        (["a", "b", "c", "d"], ["x", "y"], [(0, 0), (1, 1), (2, 1), (3, 1)]),
        (["e", "f"], ["z"], []),
        (["g"], ["v", "w"], [(0, 0), (0, 1)]),
    ]
    assert (prepared.report.links, prepared.report.unlinked) == (6, 1)
    assert "links between words of the pairs kept: 6; pairs without any: 1" in prepared.report.lines()
    assert Prepared.open(tmp_path / "corpus").report == prepared.report


def test_moses_words_are_cut_from_the_words_as_given(tmp_path):
    prepared = run(tmp_path, write(tmp_path, [("Yes, sir!", "Oui, l'homme.", "0-0 1-1")]), tokeniser="moses")
    ((source, target, links),) = stored(prepared)
    assert (source, target) == (["Yes", ",", "sir", "!"], ["Oui", ",", "l'", "homme", "."])
    assert links == [(x, y) for xs, ys in (((0, 1), (0, 1)), ((2, 3), (2, 3, 4))) for x in xs for y in ys]


def test_all_pieces_of_a_word_are_linked_to_all_pieces_of_the_other(tmp_path):
    dice = random.Random(2)
    rows = []
    for _ in range(60):
        words = ["".join(dice.choices("abcdef", k=dice.randint(1, 9))) for _ in range(6)]
        rows.append((" ".join(words[:3]), " ".join(words[3:]), "0-2 1-0 1-1"))
    prepared = run(tmp_path, write(tmp_path, rows), tokeniser="subword", vocabulary_size=40)
    several = 0
    for source, target, links in stored(prepared):
        x, y = (np.cumsum([token.startswith("\u2581") for token in side]) - 1 for side in (source, target))
        wanted = [(i, j) for i in range(len(x)) for j in range(len(y)) if (x[i], y[j]) in {(0, 2), (1, 0), (1, 1)}]
        assert links == wanted
        several += len(wanted) > 3
    assert several == 60


@pytest.mark.parametrize("dev", [False, True])
def test_pairs_keep_their_own_links_whatever_becomes_of_others(tmp_path, monkeypatch, dev):
    """Each links its first word to the target word that its second names; blank, long and repeated ones go."""
    dice = random.Random(4)
    rows = [(f"n{i} {number}", "a b c d e f", f"0-{number}") for i, number in enumerate(dice.choices(range(6), k=200))]
    repeat = (*rows[3][:2], "1-1")
    files = write(tmp_path, [*rows[:9], ("", "x", ""), ("a " * 20, "x", "3-0"), repeat, ("x", " ", ""), *rows[9:]])
    for keep_duplicates in False, True:
        prepared = run(tmp_path, files, dev=dev, max_length=10, keep_duplicates=keep_duplicates)
        found = list(stored(prepared))
        held_out = len(prepared.dev_pairs) if not dev else 0
        assert (held_out > 0) == (not dev)
        assert rows[3][:2] not in prepared.dev_pairs
        assert len(found) == 200 - held_out + keep_duplicates == prepared.report.links
        others = [links for x, _, links in found if links != [(0, int(x[1]))]]
        assert others == ([[(1, 1)]] if keep_duplicates else [])
    monkeypatch.setattr(working, "_LINES", 7)
    again = run(tmp_path, files, dev=dev, max_length=10, keep_duplicates=True)
    assert again.store.fingerprint == prepared.store.fingerprint


def test_a_corpus_in_one_file_and_packed_links(tmp_path):
    (tmp_path / "a.tsv").write_text("a b\tx\nc\ty z\n")
    (tmp_path / "a.jsonl").write_text('{"source": "a b", "target": "x"}\n{"source": "c", "target": "y z"}\n')
    (tmp_path / "links.gz").write_bytes(gzip.compress(b"1-0\n0-0 0-1\n"))
    for name in ("a.tsv", "a.jsonl"):
        prepared = run(tmp_path, CorpusFiles((tmp_path / name,), links=tmp_path / "links.gz"))
        assert [links for _, _, links in stored(prepared)] == [[(1, 0)], [(0, 0), (0, 1)]]


@pytest.mark.parametrize(
    ("links", "said"),
    [
        ("0-0\n0-0 2-1\n\n", "train.links, line 2: 2-1 links word 2 of the source, which has 2 words there, counted"),
        ("0-0\n0-0 1-3\n\n", "train.links, line 2: 1-3 links word 3 of the target, which has 3 words there, counted"),
        ("0-0\n\n0-0\n", "train.links, line 3: 0-0 links word 0 of the source, which has 0 words there, counted from"),
        ("0-0\n0:1\n\n", "train.links, line 2: '0:1' is no link"),
        ("0-0\n", "train.links has 1 lines and .*train.en and .*train.fr 3 pairs: a line of links is needed for each"),
        ("\n" * 7, "train.links has 7 lines and .*train.en and .*train.fr 3 pairs"),
    ],
)
def test_links_that_do_not_belong_to_the_text_are_refused(tmp_path, links, said):
    files = write(tmp_path, [("a", "x", ""), ("a  b", "x y z", ""), ("", "x", "")])
    files.links.write_text(links)
    with pytest.raises(UserError, match=said) as refused:
        run(tmp_path, files)
    assert "\n" not in str(refused.value)
    assert {path.name for path in tmp_path.iterdir()} == {"train.en", "train.fr", "train.links", "dev.en", "dev.fr"}


def test_without_links_all_is_as_ever_and_with_them_the_fingerprint_tells_them_apart(tmp_path):
    rows = [("a b", "x y", "0-0 1-1"), ("c", "z", "0-0")]
    plain = run(tmp_path, write(tmp_path, [row[:2] for row in rows])).store
    assert not plain.linked
    assert not list((tmp_path / "corpus").glob("links*"))
    assert list(json.loads((tmp_path / "corpus" / "store.json").read_text())) == ["pairs", "tokens", "fingerprint"]
    files = write(tmp_path, rows)
    linked = run(tmp_path, files).store
    before = files.fingerprint()
    files.links.write_text("0-0\n0-0\n")
    other = run(tmp_path, files).store
    assert len({plain.fingerprint, linked.fingerprint, other.fingerprint}) == 3
    assert len({before, files.fingerprint(), CorpusFiles(files.paths).fingerprint()}) == 3


# --- what the attention should be, and its loss


def test_a_guide_is_uniform_over_the_tokens_linked_to():
    links = [np.array(pairs, np.int32).reshape(-1, 2) for pairs in ([(0, 1), (2, 1), (1, 0)], [], [(0, 0)])]
    batch = collate([([5, 6, 7], [8, 9]), ([4], [3]), ([4], [2, 2])], links)
    assert batch.guide is not None
    assert batch.guide.tolist() == [
        [[0, 1, 0, 0], [0.5, 0, 0.5, 0], [0] * 4],  # the last row and column are sentence ends
        [[0] * 4] * 3,
        [[1, 0, 0, 0], [0] * 4, [0] * 4],
    ]
    assert batch.guide.dtype == np.float32
    assert collate([([5], [8])]).guide is None


def small_model(seed, order="authors"):
    sizes = ModelSettings(embedding_size=3, hidden_size=4, attention_size=5, maxout_size=2, decoder_order=order)
    model = Model(sizes, 8, 9).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(0, 0.6, generator=generator)
    return model


def linked_batch(B, T_x, T_y, seed):
    """x, x_mask, y, y_mask and a guide of random links; T_x and T_y are the longest sides without sentence ends."""
    rng = np.random.default_rng(seed)
    pairs = [(rng.integers(2, 8, rng.integers(0, T_x + 1)), rng.integers(2, 9, rng.integers(0, T_y + 1)))
             for _ in range(B)]  # fmt: skip
    links = [np.argwhere(rng.random((len(x), len(y))) < 0.4).astype(np.int32) for x, y in pairs]
    batch = collate(pairs, links)
    x, x_mask, y, y_mask, guide = map(torch.from_numpy, (batch.x, batch.x_mask, batch.y, batch.y_mask, batch.guide))
    return (x, x_mask, y, y_mask), guide


@hypothesis_settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(["printed", "authors"]), st.integers(1, 4), st.integers(0, 5), st.integers(0, 5),
    st.integers(0, 10**6),
)  # fmt: skip
def test_values_and_gradients_equal_the_reference(order, B, T_x, T_y, seed):
    model = small_model(seed, order)
    arrays, guide = linked_batch(B, T_x, T_y, seed)
    found = []
    for equations in (kernels, paper):
        model.equations = equations
        model.zero_grad()
        loss = model.loss(*arrays, label_smoothing=0.1, guide=guide)
        loss.total.backward()
        found.append((loss, {name: p.grad for name, p in model.named_parameters()}))
    (fast, fast_grad), (slow, slow_grad) = found
    assert fast.total.item() == pytest.approx(slow.total.item(), rel=1e-12)
    assert fast.guided.item() == pytest.approx(slow.guided.item(), rel=1e-12)
    for name, gradient in slow_grad.items():
        assert gradient.isfinite().all()
        assert torch.allclose(fast_grad[name], gradient, rtol=1e-9, atol=1e-11), name
    # the definition, with the alpha that the model itself gives step by step
    alpha = alignment(model, *arrays[:3]).detach()
    wanted = -sum(float(guide[at]) * math.log(alpha[at]) for at in map(tuple, guide.nonzero().tolist()))
    assert fast.guided.item() == pytest.approx(wanted, rel=1e-9, abs=1e-12)
    plain = model.loss(*arrays, label_smoothing=0.1)
    assert plain.guided is None
    assert (fast.nll.item(), fast.tokens) == (pytest.approx(plain.nll.item()), plain.tokens)
    assert fast.total.item() == pytest.approx(plain.total.item() + GUIDED_WEIGHT * wanted, rel=1e-12)


@pytest.mark.parametrize("order", ["printed", "authors"])
def test_the_gradient_is_that_of_differences(order):
    model = small_model(5, order)
    arrays, guide = linked_batch(3, 4, 4, 8)
    weights = model.attention["v_a"], model.attention["U_a"], model.decoder["U_z"]

    def along(weight, step):
        with torch.no_grad():
            weight += step
            loss = model.loss(*arrays, guide=guide)
            weight -= step
        return loss.total.item()

    model.loss(*arrays, guide=guide).total.backward()
    for weight in weights:
        step = 1e-5 * weight.grad.sign()
        slope = (along(weight, step) - along(weight, -step)) / 2e-5
        assert weight.grad.abs().sum().item() == pytest.approx(slope, rel=1e-7)


def test_a_value_worked_by_hand():
    """With v_a = 0 alpha is uniform: log T_x for each linked target token, whatever its links are."""
    model = small_model(1)
    with torch.no_grad():
        model.attention["v_a"].zero_()
    links = [np.array([(0, 0), (1, 0), (1, 2)], np.int32), np.array([(0, 1)], np.int32)]
    batch = collate([([2, 3], [4, 5, 6]), ([7], [8, 8])], links)
    arrays = map(torch.from_numpy, (batch.x, batch.x_mask, batch.y, batch.y_mask))
    loss = model.loss(*arrays, guide=torch.from_numpy(batch.guide))
    assert loss.guided.item() == pytest.approx(2 * math.log(3) + math.log(2), rel=1e-12)
    assert loss.tokens == 7


@pytest.mark.parametrize("equations", [kernels, paper])
def test_an_attention_of_nothing_has_a_finite_loss(equations):
    """Where alpha is too small for its type, and is asked for nonetheless."""
    model = small_model(1).float()
    model.equations = equations
    with torch.no_grad():
        model.attention["v_a"].mul_(1e4)
    arrays, _ = linked_batch(4, 5, 5, 3)
    guide = (arrays[3].unsqueeze(2) & arrays[1].unsqueeze(1)).float()
    guide /= guide.sum(2, keepdim=True).clamp_min(1)
    assert (alignment(model, *arrays[:3])[guide > 0] == 0).any()
    loss = model.loss(*arrays, guide=guide)
    loss.total.backward()
    assert loss.guided.isfinite()
    assert all(p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize("order", ["printed", "authors"])
def test_the_alignment_of_the_grammar_is_learnt_faster_with_its_links(order):
    pairs = list(generate(1800, seed=1, max_length=9))
    sides = [[pair.source for pair in pairs], [pair.target for pair in pairs]]
    numbers = [{word: i + 2 for i, word in enumerate(sorted({w for line in side for w in line}))} for side in sides]
    columns = [[[number[w] for w in line] for line in side] for side, number in zip(sides, numbers, strict=True)]
    ids = list(zip(*columns, strict=True))
    links = [np.array(pair.alignment, np.int32) for pair in pairs]
    sizes = ModelSettings(embedding_size=24, hidden_size=32, attention_size=24, maxout_size=16, decoder_order=order)

    def error(guided):
        model = Model(sizes, *(len(number) + 2 for number in numbers))
        model.initialise("scaled", 3)
        optimiser = torch.optim.Adam(model.parameters(), lr=4e-3)
        for start in range(0, 1600, 16):
            part = slice(start, start + 16)
            batch = collate(ids[part], links[part])
            arrays = map(torch.from_numpy, (batch.x, batch.x_mask, batch.y, batch.y_mask))
            loss = model.loss(*arrays, guide=torch.from_numpy(batch.guide) if guided else None)
            optimiser.zero_grad()
            (loss.total / loss.tokens).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
        batch = collate(ids[1600:])
        with torch.no_grad():
            alpha = alignment(model, *map(torch.from_numpy, (batch.x, batch.x_mask, batch.y)))
        looked = [
            [(int(row[j].argmax()), j) for j in range(len(pair.target))]
            for row, pair in zip(alpha, pairs[1600:], strict=True)
        ]
        gold = [pair.alignment for pair in pairs[1600:]]
        return compare(*([Links(frozenset(s), frozenset(s)) for s in sentences] for sentences in (gold, looked))).aer

    assert error(True) < 0.55
    assert error(False) > 0.75
