"""The front door: help, version, unknown words, and one line with the right exit status for every way to fail."""

import io
import logging
import os
import subprocess
import sys
import types

import pytest

import rnnsearch
from rnnsearch.cli.main import COMMANDS, main
from rnnsearch.errors import UserError


@pytest.fixture
def command(monkeypatch):
    """Puts a function in the place of `rnnsearch translate`, which then has one flag, --beam-size."""

    def replace(run):
        module = types.SimpleNamespace(
            add_arguments=lambda parser: parser.add_argument("--beam-size", type=int, default=12), run=run
        )
        monkeypatch.setitem(sys.modules, "rnnsearch.cli.translate", module)

    return replace


def fails_with(error):
    def run(args):
        raise error

    return run


def test_help_names_every_command_with_its_line(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["--help"])
    assert exit_.value.code == 0
    shown = capsys.readouterr().out
    for name, line in COMMANDS.items():
        assert f"  {name} " in shown
        assert line in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help_page(name, capsys):
    with pytest.raises(SystemExit) as exit_:
        main([name, "--help"])
    assert exit_.value.code == 0
    assert f"usage: rnnsearch {name}" in capsys.readouterr().out


def test_version_is_the_packages(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["--version"])
    assert exit_.value.code == 0
    assert capsys.readouterr().out == f"rnnsearch {rnnsearch.__version__}\n"


def test_python_m_is_the_same_command(python):
    done = python("-m", "rnnsearch", "--version")
    assert (done.returncode, done.stdout) == (0, f"rnnsearch {rnnsearch.__version__}\n")


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (
            [],
            "which command? train, translate, align, dictionary, heatmap, evaluate, evaluate-alignment, reproduce, "
            "demo",
        ),
        (["trian"], "unknown command 'trian' (did you mean train?)"),
        (["zzzz"], "unknown command 'zzzz'\n"),
        (["--vresion"], "unknown flag --vresion (did you mean --version?)"),
        (["translate", "--beam-sise", "3"], "unknown flag --beam-sise (did you mean --beam-size?)"),
        (["translate", "--beam-sise=3"], "unknown flag --beam-sise (did you mean --beam-size?)"),
        (["translate", "--beam", "3"], "unknown flag --beam (did you mean --beam-size?)"),
        (["translate", "--beam-size", "many"], "argument --beam-size: invalid int value: 'many'"),
        (["translate", "file"], "unrecognized arguments: file"),
    ],
)
def test_what_is_not_understood_is_named_with_the_nearest_known(arguments, answer, command, capsys):
    command(lambda args: 0)
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    captured = capsys.readouterr()
    assert answer in captured.err
    assert captured.out == ""


def test_flags_reach_the_command_and_its_status_comes_back(command):
    seen = []
    command(lambda args: seen.append(args.beam_size) or 0)
    assert main(["translate", "--beam-size", "3"]) == 0
    assert main(["translate"]) == 0
    assert seen == [3, 12]


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (UserError("a.en has 3 lines, a.fr 4"), "a.en has 3 lines, a.fr 4"),
        (KeyboardInterrupt(), "interrupted"),
        (FileNotFoundError(2, "No such file or directory", "a.en"), "a.en: No such file or directory"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (MemoryError(), "out of memory: make the batches smaller"),
        (RuntimeError("CUDA error: out of memory\nand more"), "out of memory: make the batches smaller"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "out of memory: make the batches smaller"),
    ],
)
def test_what_goes_wrong_is_one_line_and_status_1(error, line, command, capsys, monkeypatch):
    monkeypatch.delenv("RNNSEARCH_DEBUG", raising=False)
    command(fails_with(error))
    assert main(["translate"]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith(f"rnnsearch: error: {line}")
    assert shown.count("\n") == 1


def test_a_fault_of_ours_says_so_and_how_to_report_it(command, capsys, monkeypatch):
    monkeypatch.delenv("RNNSEARCH_DEBUG", raising=False)
    command(fails_with(ValueError("two\nlines")))
    assert main(["translate"]) == 1
    shown = capsys.readouterr().err
    assert "ValueError: two lines" in shown
    assert "RNNSEARCH_DEBUG=1" in shown
    assert shown.count("\n") == 1
    monkeypatch.setenv("RNNSEARCH_DEBUG", "1")
    assert main(["translate"]) == 1
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_a_warning_of_the_library_is_a_line_on_standard_error(command, capsys):
    def run(args):
        logging.getLogger("rnnsearch").warning("line %d was split", 2)
        logging.getLogger("rnnsearch").info("ready")
        return 0

    command(run)
    assert main(["translate"]) == 0
    assert main(["translate"]) == 0, "a second call must not double the lines"
    assert capsys.readouterr() == ("", "rnnsearch: warning: line 2 was split\nrnnsearch: ready\n" * 2)


def test_a_closed_pipe_is_no_error(tmp_path):
    script = (
        "import sys, types\n"
        "def run(args):\n"
        "    for number in range(100000): print(number)\n"
        "    return 0\n"
        "sys.modules['rnnsearch.cli.translate'] = types.SimpleNamespace(add_arguments=lambda parser: None, run=run)\n"
        "from rnnsearch.cli.main import main\n"
        "sys.exit(main(['translate']))\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    writer = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=tmp_path
    )
    assert writer.stdout.readline() == b"0\n"
    writer.stdout.close()
    assert writer.stderr.read() == b""
    writer.stderr.close()
    assert writer.wait() == 0


@pytest.mark.parametrize("stream", ["stdin", "stdout", "stderr"])
def test_a_standard_stream_that_is_closed_is_no_fault(stream, command, monkeypatch):
    def run(args):
        sys.stdout.write("text\n" + (sys.stdin.read() if stream == "stdin" else ""))
        sys.stderr.write("log\n")
        return 0

    command(run)
    monkeypatch.setattr(sys, stream, None)
    assert main(["translate"]) == 0


def test_log_lines_that_nobody_reads_end_nothing(command, monkeypatch):
    class Gone(io.StringIO):
        def write(self, text):
            raise BrokenPipeError(32, "Broken pipe")

    def run(args):
        logging.getLogger("rnnsearch").info("update 1")
        return 0

    command(run)
    monkeypatch.setattr(sys, "stderr", Gone())
    assert main(["translate"]) == 0
    command(fails_with(UserError("no")))
    assert main(["translate"]) == 1
