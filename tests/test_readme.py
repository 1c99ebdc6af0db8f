"""What the README says must hold: its commands are understood, its tree is the tree, its pictures and links exist."""

import importlib
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from rnnsearch.cli.main import COMMANDS, Parser

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROSE, TREE = README.split("## What lies where")
LINES = [line.strip() for line in PROSE.splitlines() if line.startswith("    ")]


def written_in_tree():
    """Paths in the tree; a folder's line ends with a slash, and indentation says what lies in it."""
    folders = []
    for line in TREE.split("```")[1].strip("\n").splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        name = line.split()[0]
        del folders[depth:]
        if name.endswith("/"):
            folders.append(name)
        else:
            yield "".join(folders) + name


def test_the_tree_names_every_source_file_and_no_other():
    named = {path for path in written_in_tree() if path.startswith("src/")}
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / "src").rglob("*") if path.is_file()}
    there = {path for path in there if "__pycache__" not in path and Path(path).name not in {"py.typed", ".DS_Store"}}
    assert sorted(named) == sorted(there)


def test_all_else_in_the_tree_exists():
    missing = [path for path in written_in_tree() if not (ROOT / path).exists()]
    assert missing == []


def test_every_line_of_the_tree_has_a_short_remark():
    for line in TREE.split("```")[1].strip("\n").splitlines():
        if not line.rstrip().endswith("/"):
            assert 2 <= len(line.split()[1:]) <= 10, line


@pytest.mark.parametrize("command", [line for line in LINES if line.startswith("rnnsearch ")])
def test_commands_are_understood(command):
    name, *arguments = shlex.split(command.partition("<")[0].removeprefix("rnnsearch "))
    assert name in COMMANDS
    parser = Parser(name, "")
    importlib.import_module(f"rnnsearch.cli.{name.replace('-', '_')}").add_arguments(parser)
    parser.parse(arguments)


def test_every_command_is_shown():
    assert {line.split()[1] for line in LINES if line.startswith("rnnsearch ")} == set(COMMANDS)


def test_make_targets_exist():
    targets = {match for line in LINES for match in re.findall(r"\bmake (\w+)", line)}
    rules = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert {"demo", "test"} <= targets <= rules


def test_links_and_pictures_lead_somewhere():
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert [link for link in links if not link.startswith("https://") and not (ROOT / link).exists()] == []


def test_python_examples_are_python():
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert blocks
    for block in blocks:
        compile(block, "README.md", "exec")


def test_what_is_installed_is_pinned():
    pins = {}
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            name, version = line.split("==")
            pins[re.sub(r"[-_.]+", "-", name).lower()] = version
    assert not any("+" in version for version in pins.values()), "a local build is no release that others can get"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(w for extra in project["optional-dependencies"].values() for w in extra)]
    assert {re.split(r"[<>=]", name)[0] for name in wanted} <= set(pins)
