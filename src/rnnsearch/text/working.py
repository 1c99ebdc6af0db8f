"""The working copy of a corpus while it is prepared, on disk: cleaned lines, hashes, the fate of each pair, tokens."""

import shutil
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rnnsearch.text.duplicates import Hashes, open_hashes, pair_hash, repeats
from rnnsearch.text.side import Role

Pair = tuple[str, str]

#: what becomes of a pair: it is trained on, repeats such a pair, is in the development set, or is held out to be one
TRAIN, REPEAT, OVERLAP, HELD_OUT = range(4)
_STEP = 1_000_000
#: tokenised lines that are read at a time
_LINES = 4096


class WorkingCopy:
    """Files in `folder`; only what is asked for is in memory. `remove` takes them away."""

    def __init__(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self._folder = folder
        self._hashes: Hashes = np.empty(0, dtype="<u8")
        self._fates: NDArray[np.uint8] = np.empty(0, dtype=np.uint8)

    def remove(self) -> None:
        """Delete the files."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def write_lines(self, pairs: Iterable[Pair]) -> None:
        """Keep cleaned `pairs`, none of them blank, and find those that repeat an earlier one."""
        with (self._folder / "hashes").open("wb") as hashes:
            self._write("lines", _hashed(pairs, hashes.write))
        self._hashes = open_hashes(self._folder / "hashes")
        if len(self._hashes):
            shape = (len(self._hashes),)
            self._fates = np.memmap(self._folder / "fates", dtype=np.uint8, mode="w+", shape=shape)
        for places in repeats(self._hashes):
            self._fates[places] = REPEAT

    def exclude(self, pairs: Iterable[Pair]) -> None:
        """Mark every pair that is among `pairs` (a development set, which fits in memory) as OVERLAP."""
        self._exclude(np.frombuffer(b"".join(pair_hash(*pair) for pair in pairs), dtype="<u8"))

    def hold_out(self, count: int, seed: int) -> list[Pair]:
        """Take `count` TRAIN pairs out at random, fixed by `seed`; their repeats become OVERLAP."""
        ranks = np.sort(np.random.default_rng(seed).choice(self.count(TRAIN), size=count, replace=False))
        places = self._places(ranks)
        self._exclude(self._hashes[places])
        self._fates[places] = HELD_OUT
        return list(self.lines({HELD_OUT}))

    def count(self, fate: int) -> int:
        """How many pairs have that fate."""
        return sum(int(np.count_nonzero(part == fate)) for _, part in self._parts())

    def lines(self, fates: set[int]) -> Iterator[Pair]:
        """The cleaned pairs of those fates, in order."""
        all_fates = (fate for _, part in self._parts() for fate in part.tolist())
        for pair, fate in zip(self._read("lines"), all_fates, strict=True):
            if fate in fates:
                yield pair

    def write_tokens(self, pairs: Iterable[tuple[list[str], list[str]]]) -> None:
        """Keep tokenised pairs; tokens hold no spaces."""
        self._write("tokens", ((" ".join(source), " ".join(target)) for source, target in pairs))

    def tokens(self, side: Role) -> Iterator[tuple[list[str], NDArray[np.int32]]]:
        """The tokens of one side, some thousand lines at a time: all in a row, and how many each line has."""
        with (self._folder / f"{side}.tokens").open(encoding="utf-8", newline="\n") as file:
            while lines := list(islice(file, _LINES)):
                lengths = np.array([line.count(" ") + 1 for line in lines], dtype=np.int32)
                yield "".join(lines)[:-1].replace("\n", " ").split(" "), lengths

    def _exclude(self, excluded: Hashes) -> None:
        for start, part in self._parts():
            part[np.isin(self._hashes[start : start + _STEP], excluded)] = OVERLAP

    def _places(self, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where the TRAIN pairs of those (sorted) ranks among the TRAIN pairs are."""
        found, seen = [], 0
        for start, part in self._parts():
            places = start + np.flatnonzero(part == TRAIN)
            found.append(places[ranks[(ranks >= seen) & (ranks < seen + len(places))] - seen])
            seen += len(places)
        return np.concatenate(found)

    def _parts(self) -> Iterator[tuple[int, NDArray[np.uint8]]]:
        """The fates, a part at a time, each with its start; writing to a part writes to the file."""
        return ((start, self._fates[start : start + _STEP]) for start in range(0, len(self._fates), _STEP))

    def _write(self, name: str, pairs: Iterable[Pair]) -> None:
        with (
            (self._folder / f"source.{name}").open("w", encoding="utf-8", newline="\n") as source,
            (self._folder / f"target.{name}").open("w", encoding="utf-8", newline="\n") as target,
        ):
            for x, y in pairs:
                source.write(x + "\n")
                target.write(y + "\n")

    def _read(self, name: str) -> Iterator[Pair]:
        with (
            (self._folder / f"source.{name}").open(encoding="utf-8", newline="\n") as source,
            (self._folder / f"target.{name}").open(encoding="utf-8", newline="\n") as target,
        ):
            for x, y in zip(source, target, strict=True):
                yield x[:-1], y[:-1]


def _hashed(pairs: Iterable[Pair], write: Callable[[bytes], object]) -> Iterator[Pair]:
    """`pairs` as they come, the hash of each written on the way."""
    for source, target in pairs:
        write(pair_hash(source, target))
        yield source, target
