"""Where the time of an update goes: shares that add up, and belong where they are put."""

import re
from types import SimpleNamespace

import pytest
import torch

from rnnsearch.config import ModelSettings
from rnnsearch.model import Model
from rnnsearch.training.profile import PARTS, Watch, shares


def event(name, took, parent=None, number=-1):
    return SimpleNamespace(name=name, self_cpu_time_total=took, cpu_parent=parent, sequence_nr=number)


def test_backward_work_belongs_to_the_part_of_its_forward_work():
    decoder = event("decoder and alignment", 1.0)
    scan = event("_SearchScan", 2.0, decoder, 7)
    node = event("autograd::engine::evaluate_function: _SearchScanBackward", 4.0, None, 7)
    call = event("_SearchScanBackward", 8.0, node, 7)
    other = event("autograd::engine::evaluate_function: EmbeddingBackward0", 64.0, None, 3)
    step = event("Optimizer.step#Adam.step", 256.0)
    events = [decoder, scan, event("aten::mm", 16.0, scan), node, call, event("aten::copy_", 32.0, call), other,
              event("aten::embedding", 128.0), step, event("aten::_fused_adam_", 512.0, step)]  # fmt: skip
    parts, kinds = shares(events)
    assert parts == {
        "decoder and alignment": [1 + 2 + 16, 4 + 8 + 32],
        "embeddings, dropout and the rest": [128, 64],
        "clip and optimiser": [256 + 512, 0],
    }
    assert kinds == {"matrix products": 16, "copies": 32, "the rest": 1023 - 48}


@pytest.mark.parametrize("architecture", ["rnnsearch", "rnnencdec"])
def test_a_watched_update_is_told_of_and_nothing_stays_behind(architecture):
    model = Model(ModelSettings(architecture=architecture, embedding_size=16, hidden_size=32, attention_size=16,
                                maxout_size=16), 50, 50)  # fmt: skip
    model.initialise("scaled", 1)
    equations, words = model.equations, torch.ones(4, 5, dtype=torch.long)
    with Watch(model) as watch:
        model.loss(words, words > 0, words, words > 0, dropout=0.1).total.backward()
    assert model.equations is equations
    first, _, *rows, last = watch.lines(1, 20)
    assert "20 target tokens" in first
    found = [float(share) for row in rows for share in re.findall(r"([\d.]+) %", row)]
    assert sum(found) == pytest.approx(100, abs=1)
    named = {row.strip().split("   ")[0] for row in rows}
    assert {"encoder", "maxout layer", "output layer and loss"} < named
    assert ("decoder and alignment" in named) == (architecture == "rnnsearch")
    decoder = next(row for row in rows if "decoder" in row)
    assert min(float(share) for share in re.findall(r"([\d.]+) %", decoder)) > 0
    assert "matrix products" in last


def test_every_function_that_is_watched_exists():
    assert all(hasattr(Model(ModelSettings(), 4, 4).equations, name) for name in PARTS)
