"""The encoded corpus: what goes in comes out, memory-mapped; a damaged or half-written one is refused."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest

from rnnsearch.errors import UserError
from rnnsearch.files import write_whole
from rnnsearch.text.store import EncodedCorpus, EncodedCorpusWriter, Sentences

PAIRS = [([2, 3, 4], [5]), ([7], [8, 9, 10, 11]), ([1, 1], [2**31 - 1, 2])]


def sentences(rows: list[list[int]]) -> Sentences:
    return np.array([i for row in rows for i in row], dtype=np.int32), np.array([*map(len, rows)], dtype=np.int32)


def write(folder: Path, pairs: Iterable[tuple[list[int], list[int]]]) -> EncodedCorpus:
    """The corpus of `pairs`, added one at a time."""
    with EncodedCorpusWriter(folder) as writer:
        for source, target in pairs:
            writer.extend(sentences([source]), sentences([target]))
    return EncodedCorpus.open(folder)


def test_pairs_come_back(tmp_path: Path) -> None:
    corpus = write(tmp_path / "c", PAIRS)
    assert len(corpus) == 3
    assert [tuple(side.tolist() for side in corpus.pair(i)) for i in range(3)] == PAIRS
    assert [lengths.tolist() for lengths in corpus.lengths] == [[3, 1, 2], [1, 4, 2]]
    assert corpus.tokens == (6, 7)
    assert corpus.pair(1)[0].dtype == np.int32
    for index in (-1, 3):
        with pytest.raises(IndexError):
            corpus.pair(index)


def test_all_arrays_are_memory_mapped_and_read_only(tmp_path: Path) -> None:
    corpus = write(tmp_path / "c", PAIRS)
    arrays = [*corpus.lengths, *corpus.pair(0)]
    assert all(isinstance(array, np.memmap) for array in arrays)
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5


def test_an_empty_corpus_is_one(tmp_path: Path) -> None:
    corpus = write(tmp_path / "c", [])
    assert (len(corpus), corpus.tokens, corpus.lengths[0].shape) == (0, (0, 0), (0,))


def test_the_fingerprint_tells_corpora_apart(tmp_path: Path) -> None:
    moved = [([2, 3], [4, 5]), ([7], [8, 9, 10, 11]), PAIRS[2]]
    corpora = [PAIRS, PAIRS[::-1], PAIRS[:2], moved, [(target, source) for source, target in PAIRS], []]
    prints = [write(tmp_path / str(i), pairs).fingerprint for i, pairs in enumerate(corpora)]
    assert len(set(prints)) == len(prints)
    assert write(tmp_path / "again", PAIRS).fingerprint == prints[0]


def test_pairs_may_be_added_together(tmp_path: Path) -> None:
    pairs = [*PAIRS, ([], [5]), ([], []), ([6], [])]
    one_by_one = write(tmp_path / "one", pairs)
    with EncodedCorpusWriter(tmp_path / "many") as writer:
        for part in (pairs[:1], [], pairs[1:]):
            writer.extend(sentences([x for x, _ in part]), sentences([y for _, y in part]))
    for file in (tmp_path / "one").iterdir():
        assert (tmp_path / "many" / file.name).read_bytes() == file.read_bytes()
    assert [tuple(side.tolist() for side in one_by_one.pair(i)) for i in range(6)] == pairs
    spelled = [np.array([len(ids), *ids], dtype="<i4").tobytes() for pair in pairs for ids in pair]
    assert one_by_one.fingerprint == hashlib.sha256(b"".join(spelled)).hexdigest()


LINKS = [[(0, 0), (2, 0)], [], [(1, 1)]]


def write_linked(folder: Path, parts: list[slice], links: list[list[tuple[int, int]]] = LINKS) -> EncodedCorpus:
    with EncodedCorpusWriter(folder, linked=True) as writer:
        for part in parts:
            rows = [np.array(row, np.int32).reshape(-1, 2) for row in links[part]]
            flat = np.concatenate([np.empty((0, 2), np.int32), *rows])
            source, target = (sentences([pair[side] for pair in PAIRS[part]]) for side in (0, 1))
            writer.extend(source, target, (flat, np.array([*map(len, rows)], dtype=np.int32)))
    return EncodedCorpus.open(folder)


def test_links_come_back_memory_mapped(tmp_path: Path) -> None:
    corpus = write_linked(tmp_path / "c", [slice(0, 3)])
    assert corpus.linked
    assert [[tuple(link) for link in corpus.links(i).tolist()] for i in range(3)] == LINKS
    assert [tuple(side.tolist() for side in corpus.pair(i)) for i in range(3)] == PAIRS
    assert isinstance(corpus.links(0), np.memmap)
    for index in (-1, 3):
        with pytest.raises(IndexError):
            corpus.links(index)
    assert not write(tmp_path / "plain", PAIRS).linked
    assert write_linked(tmp_path / "none", [slice(0, 3)], [[], [], []]).links(2).shape == (0, 2)


def test_the_fingerprint_covers_links_however_they_were_added(tmp_path: Path) -> None:
    whole = write_linked(tmp_path / "whole", [slice(0, 3)])
    parts = write_linked(tmp_path / "parts", [slice(0, 1), slice(1, 1), slice(1, 3)])
    assert whole.fingerprint == parts.fingerprint
    for file in (tmp_path / "whole").iterdir():
        assert (tmp_path / "parts" / file.name).read_bytes() == file.read_bytes()
    others = [LINKS[::-1], [[(0, 0)], [], [(1, 1)]], [[(0, 0), (2, 0), (1, 1)], [], []], [[], [], []]]
    prints = [write_linked(tmp_path / str(i), [slice(0, 3)], links).fingerprint for i, links in enumerate(others)]
    assert len({whole.fingerprint, write(tmp_path / "plain", PAIRS).fingerprint, *prints}) == 6


@pytest.mark.parametrize("name", ["links.tokens", "links.ends"])
def test_truncated_links_are_refused(tmp_path: Path, name: str) -> None:
    write_linked(tmp_path / "c", [slice(0, 3)])
    path = tmp_path / "c" / name
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(UserError, match=r"the encoded corpus .* is damaged"):
        EncodedCorpus.open(tmp_path / "c")


def test_an_earlier_corpus_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    write(tmp_path / "c", PAIRS)

    def interrupted() -> Iterator[tuple[list[int], list[int]]]:
        yield [2], [3]
        assert len(EncodedCorpus.open(tmp_path / "c")) == 3
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "c", interrupted())
    assert len(EncodedCorpus.open(tmp_path / "c")) == 3
    assert [p.name for p in tmp_path.iterdir()] == ["c"]
    assert len(write(tmp_path / "c", PAIRS[:1])) == 1


def test_what_a_killed_writer_left_is_no_corpus_and_no_hindrance(tmp_path: Path) -> None:
    EncodedCorpusWriter(tmp_path / "c").extend(sentences([[2]]), sentences([[3]]))
    with pytest.raises(UserError, match="cannot read the encoded corpus"):
        EncodedCorpus.open(tmp_path / "c")
    assert len(write(tmp_path / "c", PAIRS)) == 3


@pytest.mark.parametrize(
    "name", ["source.ids", "target.ids", "source.ends", "target.ends", "source.lengths", "store.json"]
)
def test_a_truncated_file_is_refused(tmp_path: Path, name: str) -> None:
    write(tmp_path / "c", PAIRS)
    path = tmp_path / "c" / name
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(UserError, match=r"the encoded corpus .* is damaged .*start the training anew"):
        EncodedCorpus.open(tmp_path / "c")
    path.unlink()
    with pytest.raises(UserError, match=r"cannot read the encoded corpus .*No such file"):
        EncodedCorpus.open(tmp_path / "c")


def test_a_file_is_written_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_whole(tmp_path / "f", b"old")
    write_whole(tmp_path / "f", b"new")
    assert (tmp_path / "f").read_bytes() == b"new"

    def full(descriptor: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="no space left"):
        write_whole(tmp_path / "f", b"newer")
    assert (tmp_path / "f").read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    with pytest.raises(OSError, match="no space left"):
        write_whole(tmp_path / "g", b"new")
    with pytest.raises(FileNotFoundError) as caught:
        write_whole(tmp_path / "absent" / "f", b"new")
    assert caught.value.filename == str(tmp_path / "absent" / "f")


@pytest.mark.skipif(os.name != "posix", reason="links and pipes with names")
def test_a_link_stays_a_link_and_a_pipe_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"old")
    (tmp_path / "link").symlink_to("f")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "f").read_bytes() == b"new"
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_whole(tmp_path / "pipe", b"through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()
