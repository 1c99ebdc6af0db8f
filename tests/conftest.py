"""What several test files need: the folder of real text, and our command in a process of its own."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"

# The networks of the tests are tiny: several threads only wait for one another, for minutes where other programs run.
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real parallel text that RNNSEARCH_DATA names."""
    folder = os.environ.get("RNNSEARCH_DATA")
    if not folder:
        pytest.skip("needs real text: set RNNSEARCH_DATA to the folder that holds it")
    if not Path(folder).is_dir():
        pytest.fail(f"RNNSEARCH_DATA names no folder: {folder}")
    return Path(folder)


@pytest.fixture
def python(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs `python ARGUMENTS` on this source tree, one thread, in an empty folder."""

    def run(*arguments: str, **options: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join(filter(None, [str(SOURCE), os.environ.get("PYTHONPATH")]))
        environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"} | options
        return subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            encoding="utf-8",
            env=environment,
            cwd=tmp_path,
            check=False,
        )

    return run


@pytest.fixture
def quick_training(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A training waits for no disk, has one thread and draws no curve."""
    import torch

    from rnnsearch.training import trainer

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setattr("os.fsync", lambda handle: None)
    monkeypatch.setattr(trainer, "find_spec", lambda name: None)
    yield
    torch.set_num_threads(threads)
