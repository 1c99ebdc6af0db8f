"""What is judged: the sentences of a test set, and what each system made of them."""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rnnsearch.evaluation.heatmap import Picture
from rnnsearch.evaluation.metrics import Score


@dataclass(frozen=True)
class Sentences:
    """A test set, line for line.

    language, source_language: codes, or "" where they are not known. tokenised: words are what spaces separate.
    known: numbers, from 0, of the sentences of which the main model's vocabularies hold every word, source and
    reference; None where the main system is no model.
    """

    references: Sequence[str]
    sources: Sequence[str] | None = None
    language: str = ""
    source_language: str = ""
    tokenised: bool = False
    known: Sequence[int] | None = None


@dataclass(frozen=True)
class System:
    """A system and its outputs, one a sentence.

    translator: what the outputs depend on, as a signature; None where they came from a file. without_unk: the outputs
    with the unknown word banned, of the known sentences at least; None where they are the same. unknown_source: share
    of the source tokens that the model does not know. alignments: of the outputs, where the system aligns.
    """

    name: str
    outputs: Sequence[str]
    translator: str | None = None
    without_unk: Sequence[str] | None = None
    unknown_source: Score | None = None
    alignments: Sequence[Picture] | None = None


def short_names(systems: Sequence[Sequence[Path]]) -> list[str]:
    """A name for each system from its files or folders (several: an ensemble): as short as tells them apart."""
    # Links keep the names that they were given.
    paths = [tuple(Path(os.path.abspath(path)) for path in system) for system in systems]  # noqa: PTH100
    depths = dict.fromkeys(paths, 1)
    while True:
        names = {system: "+".join(_end(path, depth) for path in system) for system, depth in depths.items()}
        counts = Counter(names.values())
        alike = [system for system, name in names.items() if counts[name] > 1]
        if not alike:
            return _numbered([names[system] for system in paths])
        for system in alike:
            depths[system] += 1


def _end(path: Path, depth: int) -> str:
    return str(Path(*path.parts[-depth:]))


def _numbered(names: Sequence[str]) -> list[str]:
    """`names` with a number behind each that was there before."""
    seen: Counter[str] = Counter()
    given = []
    for name in names:
        seen[name] += 1
        given.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return given
