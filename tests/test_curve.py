"""The training curve from a metrics file, whole or damaged."""

import json
import warnings

import numpy as np
import pytest

from rnnsearch.evaluation import curve

matplotlib = pytest.importorskip("matplotlib", reason="drawing PNGs needs the extra [plot]")


def update(number, **values):
    return {"event": "update", "update": number, "epoch": 1, "loss": 5 / number, "seconds": 2.0 * number} | values


def validation(number, **values):
    return {"event": "validation", "update": number, "epoch": 1, "loss": 2.0, "bleu": 10.0, "seconds": 1.0} | values


def write(path, events, tail=b""):
    path.write_bytes(b"".join(json.dumps(event).encode() + b"\n" for event in events) + tail)
    return path


def colours(png):
    from matplotlib.image import imread

    pixels = np.rint(imread(png)[..., :3].reshape(-1, 3) * 255).astype(int)
    return set(np.unique(pixels @ (65536, 256, 1)).tolist())


@pytest.mark.parametrize(
    ("events", "drawn"),
    [
        ([], ""),
        ([update(1), update(2)], "t"),
        ([validation(5), validation(6)], "db"),
        ([update(1), update(2), validation(2), validation(4)], "tdb"),
        ([update(1), update(2), validation(2, bleu=None), validation(4, bleu=float("nan"))], "td"),
    ],
)
def test_what_was_measured_is_drawn_and_nothing_else(tmp_path, events, drawn):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        curve.draw_curve(write(tmp_path / "m.jsonl", events), tmp_path / "curve.png")
    found = colours(tmp_path / "curve.png")
    for letter, colour in (("t", curve._TRAIN), ("d", curve._DEV), ("b", curve._BLEU)):
        assert (int(colour[1:], 16) in found) == (letter in drawn)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["curve.png", "m.jsonl"]


@pytest.mark.parametrize(
    "tail", [b'{"event": "upd', b'{"event": "update", "update": 3}\n', b"\xff\xfe\n", b"7\n", b"\n"]
)
def test_a_damaged_line_is_left_out(tmp_path, tail):
    path = write(tmp_path / "m.jsonl", [update(1), update(2)], tail)
    assert curve._curve(curve.read_events(path), "update", "loss").tolist() == [[1, 5], [2, 2.5]]
    curve.draw_curve(path, tmp_path / "curve.png")


def test_a_line_in_the_middle_that_a_kill_cut_short_costs_only_itself(tmp_path):
    path = tmp_path / "m.jsonl"
    path.write_text(json.dumps(update(1)) + '\n{"event": "upd\n' + json.dumps(update(2)) + "\n")
    assert [event["update"] for event in curve.read_events(path)] == [1, 2]


def test_after_a_resume_the_later_line_of_an_update_counts_and_values_that_are_not_finite_do_not():
    events = [update(1), update(2, loss=9.0), update(3, loss=float("inf")), update(2, loss=1.0)]
    assert curve._curve(events, "update", "loss").tolist() == [[1, 5], [2, 1]]


def test_many_updates_are_averaged_over_equal_stretches():
    updates = np.stack([np.arange(1000.0), np.tile([0.0, 1.0], 500)], axis=1)
    few = curve._averaged(updates)
    assert 200 <= len(few) <= 400
    assert few[:, 1].mean() == pytest.approx(0.5)
    assert few[:, 1].std() < 0.2
    assert np.all(np.diff(few[:, 0]) > 0)
