"""docs/paper.md points at lines and tests that are there; what it quotes from a line stands in that line."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
LINKS = re.findall(r"\]\(\.\./(src/[\w/]+\.py)#L(\d+)\)\s+`([^`]+)`", PAGE)
TESTS = sorted(set(re.findall(r"`(test_\w+\.py)::(test_\w+)`", PAGE)))


def test_every_link_to_a_line_quotes_it() -> None:
    assert len(LINKS) == PAGE.count("](../src/") > 30


@pytest.mark.parametrize(("file", "line", "quoted"), LINKS)
def test_what_is_quoted_stands_in_the_line(file: str, line: str, quoted: str) -> None:
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    places = [number for number, text in enumerate(lines, 1) if quoted in text]
    assert int(line) in places, f"{file}: {quoted!r} stands in line {places}"


@pytest.mark.parametrize(("file", "name"), TESTS)
def test_every_test_that_is_named_exists(file: str, name: str) -> None:
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
