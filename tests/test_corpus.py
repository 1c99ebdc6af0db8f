"""Reading parallel text: forms, line ends, encodings, and a sentence for each thing that can be wrong."""

import gzip
import io
import json
import re
from pathlib import Path

import pytest

from rnnsearch.errors import UserError
from rnnsearch.text.clean import CleanCounts
from rnnsearch.text.corpus import language_codes, open_lines, read_pairs


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def pairs(*paths: Path, encoding: str = "utf-8", errors: str = "strict") -> list[tuple[str, str]]:
    return list(read_pairs(paths, encoding=encoding, errors=errors, counts=CleanCounts()))


EXPECTED = [("Hello", "Bonjour"), ("", "vide"), ("Yes", "Oui, été")]


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"], ids=["plain", "bom"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("last", [True, False], ids=["closed", "open"])
@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize("form", ["two", "tsv", "jsonl"])
def test_every_form_reads_the_same_pairs(
    tmp_path: Path, form: str, ending: str, last: bool, end: bytes, bom: bytes
) -> None:
    def text(lines: list[str]) -> bytes:
        return bom + end.join(line.encode() for line in lines) + (end if last else b"")

    if form == "two":
        paths = [
            write(tmp_path / f"a.{language}{ending}", text([pair[side] for pair in EXPECTED]))
            for side, language in enumerate(("en", "fr"))
        ]
    elif form == "tsv":
        paths = [write(tmp_path / f"a.tsv{ending}", text(["\t".join(pair) for pair in EXPECTED]))]
    else:
        lines = [json.dumps({"source": x, "target": y, "id": 3}, ensure_ascii=False) for x, y in EXPECTED]
        paths = [write(tmp_path / f"a.jsonl{ending}", text(lines))]
    assert pairs(*paths) == EXPECTED


def test_carriage_returns_are_counted_once_a_line(tmp_path: Path) -> None:
    counts = CleanCounts()
    path = write(tmp_path / "a.tsv", b"\xef\xbb\xbfHello\tBonjour\r\nYes\tOui\r\nNo\tNon\n")
    assert list(read_pairs([path], counts=counts)) == [("Hello", "Bonjour"), ("Yes", "Oui"), ("No", "Non")]
    assert counts == CleanCounts(carriage_returns=2)


@pytest.mark.parametrize("inside", ["\u2028", "\u2029", "\x85", "\x0c", "\x0b", "\x1c", "\x1e", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_only_lf_ends_a_line(tmp_path: Path, inside: str, encoding: str) -> None:
    path = write(tmp_path / "a", f"a{inside}b\nc\n".encode(encoding))
    assert list(open_lines(path, encoding=encoding)) == [f"a{inside}b", "c"]


@pytest.mark.parametrize(
    ("names", "languages"),
    [
        (["train.en", "train.fr.gz"], ("en", "fr")),
        (["train.lc.norm.tok.en", "x.pt-BR"], ("en", "pt-BR")),
        (["a.en-fr.tsv"], ("en", "fr")),
        (["en-fr.jsonl.gz"], ("en", "fr")),
        (["news_de-en.tsv"], ("de", "en")),
        (["train.src", "train.trg"], (None, None)),
        (["a.txt", "plain"], (None, None)),
        (["pairs.tsv"], (None, None)),
    ],
)
def test_languages_are_taken_from_file_endings(names: list[str], languages: tuple[str | None, str | None]) -> None:
    assert language_codes([Path(name) for name in names]) == languages


@pytest.mark.parametrize(("source", "target"), [(100, 99), (3, 1200), (0, 1)])
def test_different_line_counts_are_refused_with_both_counts_and_both_names(
    tmp_path: Path, source: int, target: int
) -> None:
    paths = [write(tmp_path / "train.src", b"x\n" * source), write(tmp_path / "train.trg", b"y\n" * target)]
    expected = f"{paths[0]} has {source:,} lines and {paths[1]} has {target:,}"
    with pytest.raises(UserError, match=re.escape(expected)) as caught:
        pairs(*paths)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize(
    ("before", "line", "column"), [(b"ok\n" * 4, 5, 3), (b"", 1, 3), ("caf\u00e9 \u2028\n".encode(), 2, 3)]
)
def test_bytes_that_are_not_utf8_are_refused_with_their_place_and_the_flags(
    tmp_path: Path, bom: bytes, before: bytes, line: int, column: int
) -> None:
    path = write(tmp_path / "a.fr", bom + before + b"caf\xe9\nlast\n")
    offset = path.read_bytes().index(b"\xe9\n")
    assert offset == len(bom) + len(before) + column
    with pytest.raises(UserError) as caught:
        list(open_lines(path))
    message = str(caught.value)
    for part in (str(path), f"line {line} ", f"byte offset {offset}", "0xe9", "--encoding NAME", "--errors replace"):
        assert part in message
    assert list(open_lines(path, encoding="cp1252"))[line - 1] == "caf\u00e9"
    assert list(open_lines(path, errors="replace"))[line - 1] == "caf\ufffd"


def test_bad_bytes_of_wide_encodings_are_refused_too(tmp_path: Path) -> None:
    path = write(tmp_path / "a", "one\n".encode("utf-16") + b"\x00")
    with pytest.raises(UserError, match=r"not UTF-16; name its encoding"):
        list(open_lines(path, encoding="utf-16"))


@pytest.mark.parametrize(
    ("encoding", "errors"), [("utf-9", "strict"), ("utf-8", "lenient"), ("base64", "strict"), ("undefined", "strict")]
)
def test_an_unknown_encoding_is_refused(tmp_path: Path, encoding: str, errors: str) -> None:
    with pytest.raises(UserError, match=f"unknown --encoding {encoding} or --errors {errors}"):
        list(open_lines(write(tmp_path / "a", b""), encoding=encoding, errors=errors))


def test_a_stream_is_read_line_by_line_and_named() -> None:
    class Slow(io.BytesIO):
        asked = 0

        def __next__(self) -> bytes:
            self.asked += 1
            return super().__next__()

    stream = Slow(b"one\ntwo\n\nb\xffd\n")
    lines = open_lines(stream)
    assert (next(lines), stream.asked) == ("one", 1)
    assert (next(lines), next(lines)) == ("two", "")
    with pytest.raises(UserError, match=r"standard input, line 4 \(byte offset 10: 0xff\)"):
        next(lines)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"only one", "1 columns"),
        (b"a\tb\tc", "3 columns"),
        (b"a\tb\t", "3 columns"),
    ],
)
def test_a_tsv_line_has_two_columns(tmp_path: Path, line: bytes, reason: str) -> None:
    path = write(tmp_path / "a.tsv", b"a\tb\n\n" + line + b"\n")
    with pytest.raises(UserError, match=re.escape(f"{path}, line 3: {reason}; two are needed")):
        pairs(path)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"source": "a"', "not JSON"),
        (b'{"source": "a"}', "not of the form"),
        (b'{"source": "a", "target": 3}', "not of the form"),
        (b'["a", "b"]', "not of the form"),
        (b"null", "not of the form"),
        (b"[" * 200_000, "not JSON"),
    ],
)
def test_a_json_line_has_source_and_target(tmp_path: Path, line: bytes, reason: str) -> None:
    path = write(tmp_path / "a.jsonl", b'{"source": "a", "target": "b"}\n' + line + b"\n")
    with pytest.raises(UserError, match=re.escape(f"{path}, line 2: {reason}")) as caught:
        pairs(path)
    assert "\n" not in str(caught.value)


def test_damaged_gzip_is_refused_with_file_and_line(tmp_path: Path) -> None:
    whole = gzip.compress("".join(f"line {i}\n" for i in range(5000)).encode())
    path = tmp_path / "a.gz"
    for data in (whole[:-9], whole[:-8] + b"12345678", whole[:2000] + b"\xff" * 50 + whole[2050:], b"no gzip"):
        path.write_bytes(data)
        with pytest.raises(UserError, match=rf"{re.escape(str(path))} is a damaged gzip file \(after line \d+"):
            list(open_lines(path))


def test_missing_files_and_folders_are_refused(tmp_path: Path) -> None:
    here = write(tmp_path / "a.en", b"x\n")
    for path, reason in ((tmp_path / "none.fr", "No such file"), (tmp_path, "directory")):
        with pytest.raises(UserError, match=re.escape(f"cannot read {path}: ") + f".*{reason}"):
            pairs(here, path)


def test_what_is_no_corpus_is_refused(tmp_path: Path) -> None:
    lone = write(tmp_path / "a.en", b"x\n")
    with pytest.raises(UserError, match=r"give two files, or one that ends in \.tsv or \.jsonl"):
        pairs(lone)
    with pytest.raises(UserError, match="not 3"):
        pairs(lone, lone, lone)
