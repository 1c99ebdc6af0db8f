"""`rnnsearch translate`, in this process over a mock model and in its own over a tiny real one."""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from mock_engine import MockEngine
from rnnsearch.cli import translate as command
from rnnsearch.cli.main import main
from rnnsearch.config import ModelSettings, SearchSettings
from rnnsearch.errors import UserError
from rnnsearch.model_folder import ModelFolder, save_model
from rnnsearch.text.side import Side
from rnnsearch.text.tokenise import SpaceTokeniser
from rnnsearch.text.vocabulary import UNK_ID, Vocabulary
from rnnsearch.translator import Translator

SOURCE, TARGET = ["the", "a", "cat", "dog", "sleeps", ".", ","], ["le", "un", "chat", "chien", "dort", ".", ","]


def sides():
    return (Side("source", "en", SpaceTokeniser(), Vocabulary(SOURCE)),
            Side("target", "fr", SpaceTokeniser(), Vocabulary(TARGET)))  # fmt: skip


@pytest.fixture
def engine(monkeypatch):
    engine = MockEngine(len(TARGET) + 2, 3, eos_bias=1.0)
    folder = ModelFolder(
        Path("mock"), ModelSettings(), SearchSettings(beam_size=4, minimum_length=True), 20, *sides(), {}
    )
    monkeypatch.setattr(Translator, "load", lambda *_, **__: Translator(folder, lambda: engine))
    return engine


@pytest.fixture
def translate(engine, monkeypatch, tmp_path, capsysbinary):
    """Runs the command on bytes and gives the output as a string; all but the last newline must be there."""

    def run(data: bytes, *flags: str) -> str:
        file = tmp_path / "input"
        file.write_bytes(data)
        parser = argparse.ArgumentParser()
        command.add_arguments(parser)
        with file.open(encoding="utf-8") as stream:
            monkeypatch.setattr(sys, "stdin", stream)
            status = command.run(parser.parse_args(["--model", "mock", *flags]))
        out = capsysbinary.readouterr().out.decode("utf-8")
        assert status == 0
        assert out.endswith("\n") or not out
        return out

    return run


def lines(text):
    return text.split("\n")[:-1]


def test_every_line_gives_a_line_and_an_empty_one_an_empty_one(translate):
    out = lines(translate(b"a cat\n\nthe dog\n"))
    assert len(out) == 3
    assert out[1] == ""
    assert out[0] and out[2]


@pytest.mark.parametrize(
    ("data", "count"),
    [(b"", 0), (b"\n", 1), (b"a cat", 1), (b"a\n\n", 2), (b"a\r\nthe\r\n", 2), (b"\xef\xbb\xbfa\n", 1), (b"\n\n\na", 4),
     ("a\u2028the\x0ccat\x85dog\n".encode(), 1), (b"-n\n--help\n...\n?!\n-\n", 5)],
)  # fmt: skip
def test_only_line_feeds_end_lines(translate, data, count):
    assert len(lines(translate(data))) == count


def test_line_ends_and_byte_order_marks_are_no_text(translate):
    assert translate(b"\xef\xbb\xbfa cat\r\nthe dog") == translate(b"a cat\nthe dog\n")


def test_hard_alignment(translate):
    out = lines(translate(b"the cat sleeps .\n\n", "--alignment", "hard"))
    text, links = out[0].split(" ||| ")
    pairs = [tuple(map(int, link.split("-"))) for link in links.split(" ")]
    assert pairs == sorted(pairs)
    assert sorted(target for _, target in pairs) == list(range(len(text.split(" "))))
    assert all(0 <= source < 4 for source, _ in pairs)
    assert out[1] == " ||| "


def test_soft_alignment_and_thresholds(translate):
    text, soft = lines(translate(b"the cat sleeps .\n", "--alignment", "soft"))[0].split(" ||| ")
    matrix = np.array([[float(w) for w in row.split(",")] for row in soft.split(" ")])
    assert matrix.shape == (len(text.split(" ")), 4)
    np.testing.assert_allclose(matrix.sum(1), 1, atol=5e-4)
    chosen = lines(translate(b"the cat sleeps .\n", "--alignment", "0.2"))[0].split(" ||| ")[1]
    expected = [f"{s}-{t}" for s in range(4) for t in range(len(matrix)) if matrix[t, s] >= 0.2]
    assert chosen.split(" ") == expected
    assert len(expected) > 1


def test_one_source_word_is_linked_at_every_threshold(translate):
    out = lines(translate(b"cat\n", "--alignment", "1"))[0]
    text, links = out.split(" ||| ")
    assert links == " ".join(f"0-{t}" for t in range(len(text.split(" "))))


def test_n_best_has_the_form_of_moses(translate):
    best = lines(translate(b"a cat\n\nthe dog\n"))
    out = [line.split(" ||| ") for line in lines(translate(b"a cat\n\nthe dog\n", "--n-best", "3"))]
    assert [fields[0] for fields in out] == ["0"] * 3 + ["1"] + ["2"] * 3
    assert [out[0][1], out[3][1], out[4][1]] == best
    assert out[3] == ["1", "", "F0= 0.0000", "0.0000"]
    for start in (0, 4):
        scores = [float(fields[3]) for fields in out[start : start + 3]]
        assert scores == sorted(scores, reverse=True)
        for fields in out[start : start + 3]:
            log_p, length = float(fields[2].removeprefix("F0= ")), len(fields[1].split(" ")) + 1
            assert float(fields[3]) == pytest.approx(log_p / length, abs=1e-4)


def test_n_best_without_a_number_fills_the_beam_and_takes_the_alignment_along(translate):
    out = [line.split(" ||| ") for line in lines(translate(b"a cat sleeps\n", "--alignment", "hard", "--n-best"))]
    assert len(out) == 4
    assert all(len(fields) == 5 and fields[3].startswith("F0= ") for fields in out)
    assert all(len(fields[2].split(" ")) == len(fields[1].split(" ")) for fields in out)
    assert len(lines(translate(b"a cat\n", "--n-best", "--beam-size", "2"))) == 2


def test_json(translate):
    one, empty = map(json.loads, lines(translate("the «cat\u2028\n\n".encode(), "--json", "--n-best", "2")))
    assert one["version"] == 1
    assert one["source"] == "the «cat\u2028"
    assert one["source_words"] == ["the", "«cat\u2028"]
    assert one["source_tokens"] == ["the", "«cat"]
    assert one["text"].split(" ") == one["words"] == one["tokens"]
    assert np.array(one["alignment"]).shape == (len(one["words"]), 2)
    assert (np.array(one["token_alignment"]) > 0).all()
    assert one["score"] == pytest.approx(one["log_p"] / (len(one["tokens"]) + 1), abs=1e-5)
    assert one["n_best"][0]["text"] == one["text"]
    assert len(one["n_best"]) == 2
    assert (empty["text"], empty["alignment"], empty["log_p"]) == ("", [], 0)


def test_json_is_json_even_for_a_model_without_probability(translate, engine):
    engine.table[:] = -np.inf
    strict = json.loads(translate(b"a\n", "--json"), parse_constant=lambda _: pytest.fail("no JSON"))
    assert (strict["text"], strict["log_p"], strict["score"]) == ("", None, None)


def test_unknown_words(translate, engine):
    engine.table[..., UNK_ID] += 8
    assert set(translate(b"Xylo Zebra\n").split()) == {"[UNK]"}
    assert set(translate(b"Xylo Zebra\n", "--replace-unk").split()) <= {"Xylo", "Zebra"}
    assert "[UNK]" not in translate(b"Xylo Zebra\n", "--no-unk")


def test_bytes_of_another_encoding_stop_after_the_lines_before_them(translate, capsysbinary):
    data = b"a cat\nthe dog\ncaf\xe9\na\n"
    with pytest.raises(UserError, match=r"standard input, line 3 \(byte offset 17: 0xe9\).*--encoding.*--errors"):
        translate(data)
    assert len(capsysbinary.readouterr().out.splitlines()) == 2
    assert len(lines(translate(data, "--encoding", "cp1252"))) == 4
    assert len(lines(translate(data, "--errors", "replace"))) == 4
    with pytest.raises(UserError, match="nonsense"):
        translate(data, "--encoding", "nonsense")


@pytest.mark.parametrize("flags", [[], ["--max-length", "50"], ["--batch-size", "1"]])
def test_a_long_line_between_short_ones(translate, caplog, flags):
    out = lines(translate(b"a cat\n" + b"the dog " * 200 + b"\na dog\n", *flags))
    assert len(out) == 3
    assert out[0] == lines(translate(b"a cat\n"))[0]
    assert len(out[1].split(" ")) >= 200
    limit = 50 if "--max-length" in flags else 20
    assert f"line 2: 400 tokens, over the limit of {limit}; translated in " in caplog.text


def test_lines_of_later_chunks_keep_their_numbers(translate, caplog):
    out = translate(b"a\n" * 40 + b"the dog " * 20 + b"\n", "--batch-size", "2", "--n-best", "1")
    assert [line.split(" ")[0] for line in lines(out)] == [str(number) for number in range(41)]
    assert "line 41: 40 tokens" in caplog.text


@pytest.mark.parametrize(
    "flags",
    [["--beam-size", "0"], ["--n-best", "-1"], ["--alignment", "0"], ["--alignment", "1.5"], ["--alignment", "nan"],
     ["--alignment", "soft", "--json"], ["--batch-size", "x"], ["--batch-size", "0"],
     ["--batch-size", "10001"], ["--batch-size", "9" * 30], ["--beam", "3"], ["file"]],
)  # fmt: skip
def test_a_command_line_that_makes_no_sense_is_refused(flags, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["translate", "--model", "m", *flags])
    assert stop.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


# --- in a process of its own


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    torch = pytest.importorskip("torch")
    from rnnsearch.model import Model

    source, target = sides()
    settings = ModelSettings(embedding_size=4, hidden_size=6, attention_size=4, maxout_size=3)
    network = Model(settings, len(source.vocabulary), len(target.vocabulary))
    network.initialise("scaled", 5)
    with torch.no_grad():
        network.output["b_y"][0] += 2
    path = tmp_path_factory.mktemp("model")
    weights = {name: p.detach().numpy() for name, p in network.named_parameters()}
    save_model(path, model=settings, search=SearchSettings(beam_size=3, minimum_length=True), max_length=20,
               source=source, target=target, weights=weights, about={}, metadata={})  # fmt: skip
    return path


def start(model, *flags, stdout=subprocess.PIPE):
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1] / "src"), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "rnnsearch", "translate", "--model", str(model), "--threads", "1", *flags],
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=environment,
    )


def test_a_line_is_answered_before_the_next_is_written_and_the_end_is_quiet(model):
    with start(model) as process:
        for line in (b"a cat\n", b"\n", b"the dog sleeps\n"):
            process.stdin.write(line)
            process.stdin.flush()
            answer = process.stdout.readline()
            assert answer.endswith(b"\n")
            assert (answer == b"\n") == (line == b"\n")
        rest, errors = process.communicate(b"a\n\n-n")
        assert (rest.count(b"\n"), errors, process.returncode) == (3, b"", 0)


def test_a_closed_pipe_is_no_error_while_input_is_still_open(model):
    with start(model) as process:
        process.stdin.write(b"a cat\n" * 3)
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.close()
        while process.poll() is None:
            try:
                process.stdin.write(b"a dog\n")
                process.stdin.flush()
            except BrokenPipeError:
                break
            time.sleep(0.01)
        assert process.wait(20) == 0
        assert process.stderr.read() == b""


def test_an_interruption_while_it_waits_for_input_is_one_line(model):
    import signal

    with start(model) as process:
        process.stdin.write(b"a cat\n")
        process.stdin.flush()
        assert process.stdout.readline().endswith(b"\n")
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 1
        assert process.stderr.read() == b"rnnsearch: error: interrupted\n"


def test_a_file_in_another_encoding_and_a_missing_model_are_one_line(model, tmp_path):
    with start(model) as process:
        out, errors = process.communicate(b"a cat\ncaf\xe9\n")
    assert out.count(b"\n") == 1
    assert errors.count(b"\n") == 1
    assert b"standard input, line 2 (byte offset 9: 0xe9)" in errors
    assert process.returncode == 1
    with start(tmp_path / "none") as process:
        out, errors = process.communicate(b"a\n")
    assert (out, errors.count(b"\n"), process.returncode) == (b"", 1, 1)
    assert b"there is no model folder" in errors


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, the disk that is always full")
def test_a_full_disk_is_one_line_that_names_standard_output(model):
    with Path("/dev/full").open("wb") as full, start(model, stdout=full) as process:
        _, errors = process.communicate(b"a cat\nthe dog\n")
    assert errors == b"rnnsearch: error: cannot write to standard output: No space left on device\n"
    assert process.returncode == 1
