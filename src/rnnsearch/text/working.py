"""The working copy of a corpus while it is prepared, on disk: cleaned lines, links, hashes, fates of pairs, tokens."""

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from rnnsearch.text.duplicates import Hashes, open_hashes, pair_hash, repeats
from rnnsearch.text.side import Role

Pair = tuple[str, str]
#: source, target and the links between their words (or tokens) in Pharaoh's form, "" where there are none
Row = tuple[str, str, str]

#: what becomes of a pair: it is trained on, repeats such a pair, is in the development set, or is held out to be one
TRAIN, REPEAT, OVERLAP, HELD_OUT = range(4)
_STEP = 1_000_000
#: tokenised lines that are read at a time
_LINES = 4096


class WorkingCopy:
    """Files in `folder`; only what is asked for is in memory. `remove` takes them away.

    linked: links are kept too; without it those of the rows that are written are not looked at.
    """

    def __init__(self, folder: Path, *, linked: bool = False) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self._folder = folder
        self._columns = ("source", "target", "links") if linked else ("source", "target")
        self._hashes: Hashes = np.empty(0, dtype="<u8")
        self._fates: NDArray[np.uint8] = np.empty(0, dtype=np.uint8)

    def remove(self) -> None:
        """Delete the files."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def write_lines(self, rows: Iterable[Row]) -> None:
        """Keep cleaned pairs, none of them blank, and find those that repeat an earlier one."""
        with (self._folder / "hashes").open("wb") as hashes:
            self._write("lines", _hashed(rows, hashes.write))
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
        return [(source, target) for source, target, _ in self.lines({HELD_OUT})]

    def count(self, fate: int) -> int:
        """How many pairs have that fate."""
        return sum(int(np.count_nonzero(part == fate)) for _, part in self._parts())

    def lines(self, fates: set[int]) -> Iterator[Row]:
        """The cleaned pairs of those fates, in order."""
        all_fates = (fate for _, part in self._parts() for fate in part.tolist())
        for row, fate in zip(self._read("lines"), all_fates, strict=True):
            if fate in fates:
                yield row

    def write_tokens(self, rows: Iterable[tuple[list[str], list[str], str]]) -> None:
        """Keep tokenised pairs and the links of their tokens; tokens hold no spaces."""
        self._write("tokens", ((" ".join(source), " ".join(target), links) for source, target, links in rows))

    def tokens(self, side: Role) -> Iterator[tuple[list[str], NDArray[np.int32]]]:
        """The tokens of one side, some thousand lines at a time: all in a row, and how many each line has."""
        with self._open(side, "tokens") as file:
            while lines := list(islice(file, _LINES)):
                lengths = np.array([line.count(" ") + 1 for line in lines], dtype=np.int32)
                yield "".join(lines)[:-1].replace("\n", " ").split(" "), lengths

    def links(self) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
        """The links of tokens [L, 2], source and target, of as many lines at a time; and how many each line has."""
        with self._open("links", "tokens") as file:
            while lines := list(islice(file, _LINES)):
                lengths = np.array([line.count("-") for line in lines], dtype=np.int32)
                yield np.array("".join(lines).replace("-", " ").split(), dtype=np.int32).reshape(-1, 2), lengths

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

    def _write(self, name: str, rows: Iterable[Row]) -> None:
        with ExitStack() as stack:
            files = [stack.enter_context(self._open(column, name, "w")) for column in self._columns]
            for row in rows:
                for file, text in zip(files, row, strict=False):  # without links the last has no file
                    file.write(text + "\n")

    def _read(self, name: str) -> Iterator[Row]:
        with ExitStack() as stack:
            source, target, *links = (stack.enter_context(self._open(column, name)) for column in self._columns)
            for x, y, *z in zip(source, target, *links, strict=True):
                yield x[:-1], y[:-1], z[0][:-1] if z else ""

    def _open(self, column: str, name: str, mode: str = "r") -> IO[str]:
        return (self._folder / f"{column}.{name}").open(mode, encoding="utf-8", newline="\n")


def _hashed(rows: Iterable[Row], write: Callable[[bytes], object]) -> Iterator[Row]:
    """`rows` as they come, the hash of each pair written on the way."""
    for row in rows:
        write(pair_hash(row[0], row[1]))
        yield row
