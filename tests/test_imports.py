"""What an import loads: translation must be possible without torch, and `--help` must not wait for anything heavy."""

import json

import pytest

HEAVY = ("torch", "matplotlib", "sacrebleu", "sacremoses", "sentencepiece", "rich", "onnxruntime")
LIST_LOADED = "; import json, sys; print(json.dumps([m for m in {names!r} if m in sys.modules]))"


def loaded(python, statement, names):
    done = python("-c", statement + LIST_LOADED.format(names=names))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_check_itself_sees_what_is_loaded(python):
    assert loaded(python, "import json", ("json", "torch")) == ["json"]


@pytest.mark.parametrize("module", ["model_folder", "translator", "engine", "search", "text", "evaluation"])
def test_what_translates_loads_neither_torch_nor_matplotlib(python, module):
    assert loaded(python, f"import rnnsearch.{module}", ("torch", "matplotlib")) == []


def test_every_module_of_the_rooms_without_torch_loads_without_it(python):
    walk = (
        "import importlib, pkgutil\n"
        "for room in ('text', 'search', 'evaluation'):\n"
        "    package = importlib.import_module('rnnsearch.' + room)\n"
        "    for module in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "        importlib.import_module(module.name)\n"
        "pass"
    )
    assert loaded(python, walk, ("torch", "matplotlib")) == []


def test_the_package_and_the_command_line_load_nothing_heavy(python):
    names = (*HEAVY, "numpy", "pydantic")
    assert loaded(python, "import rnnsearch", names) == []
    assert loaded(python, "import rnnsearch.cli.main", names) == []


def test_every_command_shows_its_flags_without_torch(python):
    show = (
        "from rnnsearch.cli.main import COMMANDS, main\n"
        "import contextlib, io\n"
        "for command in COMMANDS:\n"
        "    with contextlib.redirect_stdout(io.StringIO()):\n"
        "        try: main([command, '--help'])\n"
        "        except SystemExit as end: assert end.code == 0\n"
        "        else: raise AssertionError(command)\n"
        "pass"
    )
    assert loaded(python, show, ("torch", "matplotlib")) == []


def test_translator_is_found_when_it_is_asked_for(python):
    done = python("-c", "import rnnsearch; print(rnnsearch.Translator.__module__)")
    assert done.stdout == "rnnsearch.translator.translator\n", done.stderr
