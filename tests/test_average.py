"""The averaged weights: what they are worth after some updates, and that a run without an average has none."""

import pytest
import torch

from rnnsearch.config import ModelSettings
from rnnsearch.model import Model
from rnnsearch.training.average import EVERY, Average

TINY = ModelSettings(embedding_size=2, hidden_size=3, attention_size=2, maxout_size=2)


def model():
    network = Model(TINY, 5, 5)
    network.initialise("scaled", 1)
    return network


def fill(network, value):
    with torch.no_grad():
        for p in network.parameters():
            p.fill_(value)


def values(network):
    return {x for p in network.parameters() for x in p.detach().flatten().tolist()}


def test_the_average_forgets_what_lies_before_the_last_share():
    network = model()
    average = Average(network, 0.25)
    fill(network, 1.0)
    average.start()
    expected = 1.0
    for update in range(1, 10 * EVERY + 1):
        fill(network, float(update))
        average.follow(update)
        if update % EVERY == 0:
            expected += (1 - (1 - 1 / (1 + 0.25 * update)) ** EVERY) * (update - expected)
    (found,) = values(average.model)
    assert found == pytest.approx(expected, rel=1e-5)
    # The mean of an exponential average lies its length, a quarter of the updates, behind the last.
    assert 0.6 < found / (10 * EVERY) < 0.9


def test_between_its_steps_the_average_stands_still_and_the_weights_are_not_touched():
    network = model()
    average = Average(network, 0.1)
    average.start()
    before = values(average.model)
    fill(network, 7.0)
    for update in range(1, EVERY):
        average.follow(update)
    assert values(average.model) == before
    average.follow(EVERY)
    assert values(average.model) != before
    assert values(network) == {7.0}


def test_what_is_restored_goes_on_as_if_it_had_not_stopped():
    network = model()
    one, other = Average(network, 0.1), Average(network, 0.1)
    one.start()
    fill(network, 2.0)
    one.follow(EVERY)
    other.restore({name: tensor.clone() for name, tensor in one.tensors().items()})
    assert values(other.model) == values(one.model) != {2.0}


def test_without_a_share_the_weights_themselves_are_judged():
    network = model()
    average = Average(network, 0.0)
    average.start()
    average.follow(EVERY)
    assert average.model is network
    assert average.tensors() == {}
