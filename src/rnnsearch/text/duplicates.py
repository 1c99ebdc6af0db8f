"""Which pairs are repeats: 64-bit hashes in a memory-mapped file, looked at one part of the hash range at a time."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

#: hashes held in memory at a time, about 100 MB with what sorting needs
PART = 2_000_000

Hashes = NDArray[np.uint64]


def pair_hash(source: str, target: str) -> bytes:
    """64 bits that stand for a pair of cleaned lines; among 10 million pairs two collide once in 400,000 corpora."""
    return hashlib.blake2b(f"{source}\n{target}".encode(), digest_size=8).digest()


def open_hashes(path: Path) -> Hashes:
    """The hashes that were written to `path`, memory-mapped, [N]."""
    if path.stat().st_size == 0:
        return np.empty(0, dtype="<u8")
    return np.memmap(path, dtype="<u8", mode="r")


def repeats(hashes: Hashes, part: int = PART) -> Iterator[NDArray[np.int64]]:
    """Places of all hashes that occurred earlier, in groups. About `part` hashes are held in memory at a time."""
    bits = max(len(hashes) // part, 0).bit_length()
    for top in range(1 << bits):
        places = _places_in_part(hashes, top, bits, part)
        _, first = np.unique(hashes[places], return_index=True)
        yield np.delete(places, first)


def _places_in_part(hashes: Hashes, top: int, bits: int, step: int) -> NDArray[np.int64]:
    """Places, in order, of the hashes whose top `bits` are `top`."""
    if bits == 0:
        return np.arange(len(hashes))
    found = [
        start + np.flatnonzero(hashes[start : start + step] >> np.uint64(64 - bits) == top)
        for start in range(0, len(hashes), step)
    ]
    return np.concatenate(found)
