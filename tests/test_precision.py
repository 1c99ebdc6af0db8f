"""Which type the matrix products of a run have, and how PyTorch is set up for it."""

import logging
import os

import pytest
import torch

from rnnsearch.config import load_settings
from rnnsearch.training import precision
from rnnsearch.training.precision import torch_set_up, type_of_products

CPU = torch.device("cpu")


@pytest.fixture(params=["AMX", "AVX512-BF16", "neither"])
def processor(request, monkeypatch):
    """A processor with bfloat16 instructions of one kind, or none."""
    for feature, detector in precision.DETECTORS.items():
        monkeypatch.setattr(torch.cpu, detector, lambda feature=feature: feature == request.param, raising=False)
    return request.param


def settings(preset="base", **values):
    return load_settings(preset, None, values).training


def test_auto_takes_what_the_processor_has_and_says_why(processor, caplog):
    caplog.set_level(logging.INFO, logger="rnnsearch")
    found = type_of_products(settings(), CPU)
    assert found == (torch.float32 if processor == "neither" else torch.bfloat16)
    wanted = {"neither": "neither AMX nor AVX512-BF16"}.get(processor, f"the processor has {processor}")
    assert wanted in caplog.text


@pytest.mark.parametrize("preset", ["paper", "groundhog"])
def test_the_exact_presets_stay_float32(processor, preset):
    assert type_of_products(settings(preset), CPU) == torch.float32


def test_what_is_set_wins(processor, caplog):
    assert type_of_products(settings(precision="float32"), CPU) == torch.float32
    assert type_of_products(settings(precision="bfloat16"), CPU) == torch.bfloat16
    assert ("float32 is faster here" in caplog.text) == (processor == "neither")


def test_a_release_without_the_detectors_means_float32(monkeypatch):
    for detector in precision.DETECTORS.values():
        monkeypatch.delattr(torch.cpu, detector, raising=False)
    assert type_of_products(settings(), CPU) == torch.float32


def test_torch_is_left_as_it_was(processor):
    """Products asked for in float32 go to oneDNN only where it cannot round them."""

    def present():
        return torch.get_float32_matmul_precision(), torch.get_num_threads()

    before = present()
    with torch_set_up(settings(), "cpu", 3):
        assert present() == ("medium", 3)
    assert present() == before
    with torch_set_up(settings("paper"), "cpu", None):
        assert present() == ("highest" if processor == "AMX" else "medium", before[1])
    with torch_set_up(settings(), "cuda", None):
        assert present()[0] == "highest"


@pytest.mark.parametrize("chosen", [None, "7"])
def test_code_of_products_is_kept_where_it_is_dear(processor, chosen, monkeypatch):
    name = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"
    monkeypatch.setenv(name, chosen or "")  # so that it is put back
    if chosen is None:
        monkeypatch.delenv(name)
    with torch_set_up(settings(), "cpu", None):
        assert os.environ.get(name) == (chosen or (None if processor == "AMX" else "64"))
