"""The encoded corpus: ids and links of all pairs in flat memory-mapped files, so memory does not grow with it."""

import contextlib
import hashlib
import json
import os
import shutil
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from rnnsearch.errors import UserError
from rnnsearch.files import write_whole

#: ids of many sentences in a row, and how many each sentence has [N]
Sentences = tuple[NDArray[np.int32], NDArray[np.int32]]
#: links of many pairs in a row [L, 2], source token and target token, and how many each pair has [N]
TokenLinks = tuple[NDArray[np.int32], NDArray[np.int32]]

_SIDES = ("source", "target")
_LINKS = ("links.tokens", "links.ends")
_DESCRIPTION = "store.json"


class EncodedCorpusWriter:
    """Writes an encoded corpus beside `folder` and puts it in its place on `close`; an earlier one goes only then."""

    def __init__(self, folder: Path, *, linked: bool = False) -> None:
        """`folder`: where the corpus will be. Other files put into `partial` before `close` come along.

        linked: pairs come with links of their tokens.
        """
        self.folder = folder
        self.partial = folder.with_name(folder.name + ".partial")
        shutil.rmtree(self.partial, ignore_errors=True)
        self.partial.mkdir(parents=True)
        self._ids = [_create(self.partial / f"{side}.ids") for side in _SIDES]
        self._ends = [_create(self.partial / f"{side}.ends") for side in _SIDES]
        self._lengths = [_create(self.partial / f"{side}.lengths") for side in _SIDES]
        self._links = [_create(self.partial / name) for name in _LINKS] if linked else []
        self._totals = [0, 0]
        self._pairs = self._links_total = 0
        self._hash, self._links_hash = hashlib.sha256(), hashlib.sha256()

    def extend(self, source: Sentences, target: Sentences, links: TokenLinks | None = None) -> None:
        """Add pairs, the same number on both sides; no sentence has an end of its own. `links`: where it is linked."""
        for side, (ids, lengths) in enumerate((source, target)):
            ends = self._totals[side] + np.cumsum(lengths, dtype=np.int64)
            self._totals[side] += len(ids)
            self._ids[side].write(ids.astype("<i4").tobytes())
            self._ends[side].write(ends.astype("<i8").tobytes())
            self._lengths[side].write(lengths.astype("<i4").tobytes())
        self._hash.update(_interleaved(source, target).astype("<i4").tobytes())
        self._pairs += len(source[1])
        if links is not None:
            self._add_links(*links)

    def _add_links(self, links: NDArray[np.int32], lengths: NDArray[np.int32]) -> None:
        file, ends_file = self._links
        ends = np.cumsum(lengths, dtype=np.int64)
        file.write(links.astype("<i4").tobytes())
        ends_file.write((self._links_total + ends).astype("<i8").tobytes())
        self._links_total += len(links)
        # pair by pair, how many and which: the same however many pairs are added at a time
        self._links_hash.update(np.insert(links.ravel(), 2 * (ends - lengths), lengths).astype("<i4").tobytes())

    def close(self) -> None:
        """Finish the files and move them to `folder`."""
        for file in (*self._ids, *self._ends, *self._lengths, *self._links):
            file.flush()
            os.fsync(file.fileno())
            file.close()
        about: dict[str, Any] = {"pairs": self._pairs, "tokens": self._totals}
        if self._links:
            about["links"] = self._links_total
            self._hash.update(self._links_hash.digest())
        about["fingerprint"] = self._hash.hexdigest()
        write_whole(self.partial / _DESCRIPTION, (json.dumps(about) + "\n").encode())
        shutil.rmtree(self.folder, ignore_errors=True)
        self.partial.replace(self.folder)

    def abandon(self) -> None:
        """Remove what was written so far; after `close` this does nothing."""
        for file in (*self._ids, *self._ends, *self._lengths, *self._links):
            with contextlib.suppress(OSError):  # a full disk cannot take what is still buffered
                file.close()
        shutil.rmtree(self.partial, ignore_errors=True)

    def __enter__(self) -> "EncodedCorpusWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()


class EncodedCorpus:
    """An encoded corpus, memory-mapped. `fingerprint` is the sha256 of all its ids and links, in hexadecimal."""

    def __init__(self, folder: Path, about: dict[str, Any]) -> None:
        pairs, tokens = int(about["pairs"]), [int(total) for total in about["tokens"]]
        self.fingerprint = str(about["fingerprint"])
        self._ids = [_map(folder / f"{side}.ids", "<i4", tokens[i]) for i, side in enumerate(_SIDES)]
        self._ends = [_map(folder / f"{side}.ends", "<i8", pairs) for side in _SIDES]
        self._lengths = [_map(folder / f"{side}.lengths", "<i4", pairs) for side in _SIDES]
        self.linked = "links" in about  # whether pairs come with links of their tokens
        if self.linked:
            self._links = _map(folder / _LINKS[0], "<i4", 2 * int(about["links"])).reshape(-1, 2)
            self._links_ends = _map(folder / _LINKS[1], "<i8", pairs)

    @classmethod
    def open(cls, folder: Path) -> "EncodedCorpus":
        """The corpus that a writer left in `folder`. Raises UserError where it is missing or damaged."""
        try:
            about = json.loads((folder / _DESCRIPTION).read_text(encoding="utf-8"))
            return cls(folder, about)
        except OSError as error:
            raise UserError(f"cannot read the encoded corpus {folder}: {error.strerror or error}") from None
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise UserError(
                f"the encoded corpus {folder} is damaged ({error}); start the training anew with --overwrite"
            ) from None

    def __len__(self) -> int:
        """Number of pairs."""
        return len(self._lengths[0])

    @property
    def lengths(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Tokens of each pair [N], source and target, memory-mapped, sentence end not counted."""
        return self._lengths[0], self._lengths[1]

    @property
    def tokens(self) -> tuple[int, int]:
        """Tokens of the whole corpus, source and target, sentence ends not counted."""
        return len(self._ids[0]), len(self._ids[1])

    def pair(self, index: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Source ids and target ids of a pair, without sentence ends. Raises IndexError outside 0 .. N-1."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        source, target = (self._side(side, index) for side in (0, 1))
        return source, target

    def links(self, index: int) -> NDArray[np.int32]:
        """The links of the tokens of a pair [L, 2], source and target. Raises IndexError outside 0 .. N-1."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self._links[int(self._links_ends[index - 1]) if index else 0 : int(self._links_ends[index])]

    def _side(self, side: int, index: int) -> NDArray[np.int32]:
        end = int(self._ends[side][index])
        return self._ids[side][end - int(self._lengths[side][index]) : end]


def _interleaved(source: Sentences, target: Sentences) -> NDArray[np.int32]:
    """Pair by pair: how many ids the source sentence has, those ids, the same of the target sentence."""
    lengths = np.stack((source[1], target[1]), axis=1).ravel()
    of_target = np.repeat(np.arange(len(lengths)) % 2 == 1, lengths)
    ids = np.empty(len(of_target), dtype=np.int32)
    ids[~of_target], ids[of_target] = source[0], target[0]
    return np.insert(ids, np.cumsum(lengths) - lengths, lengths)


def _create(path: Path) -> BinaryIO:
    return path.open("wb", buffering=1 << 16)


def _map(path: Path, dtype: str, count: int) -> NDArray[Any]:
    """A read-only array [count] over a file. Raises ValueError where the file has another size."""
    expected = count * np.dtype(dtype).itemsize
    if path.stat().st_size != expected:
        raise ValueError(f"{path.name} has {path.stat().st_size:,} bytes instead of {expected:,}")
    if count == 0:
        return np.empty(0, dtype=dtype)  # an empty file cannot be mapped
    return np.memmap(path, dtype=dtype, mode="r", shape=(count,))
