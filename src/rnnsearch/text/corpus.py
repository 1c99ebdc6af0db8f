"""Reading parallel text: a pair of files, one TSV or JSON lines, plain or gzip; only LF (or CRLF) ends a line."""

import contextlib
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import BinaryIO, cast

from rnnsearch.errors import UserError
from rnnsearch.text.clean import CleanCounts

_BOM = b"\xef\xbb\xbf"
#: The ending of a file that names a language.
_ENDING = re.compile(r"[a-z]{2,3}([-_][A-Za-z]{2,4})?")
#: A language, then what there is of script, country and variant: pt_BR, zh-Hans, sr-Latn-RS.
_LANGUAGE = re.compile(r"[a-z]{2,3}([-_][A-Za-z0-9]{1,8})*")
_NO_LANGUAGE = {"txt", "tok", "raw", "lc", "src", "trg", "tgt", "ref", "hyp", "bpe", "csv", "tsv", "new", "old"}


def read_pairs(
    paths: Sequence[Path], *, encoding: str = "utf-8", errors: str = "strict", counts: CleanCounts
) -> Iterator[tuple[str, str]]:
    """Source and target of every line, as they stand in the text; a blank line gives "".

    `paths`: two files, line by line, or one file that ends in .tsv or .jsonl; each may end in .gz too. Raises UserError
    for a file that cannot be read, bytes that are not `encoding`, a malformed line, and different numbers of lines.
    """
    check_paths(paths)
    if len(paths) == 2:
        source, target = (open_lines(path, encoding=encoding, errors=errors, counts=counts) for path in paths)
        return _side_by_side(source, target, paths)
    lines = open_lines(paths[0], encoding=encoding, errors=errors, counts=counts)
    return _from_tsv(lines, paths[0]) if _endings(paths[0])[-1:] == ["tsv"] else _from_json(lines, paths[0])


def check_paths(paths: Sequence[Path]) -> None:
    """Raise UserError unless `paths` are two files or one .tsv or .jsonl (.gz)."""
    if len(paths) not in (1, 2):
        raise UserError(f"a corpus is one file (.tsv or .jsonl) or two, not {len(paths)}")
    if len(paths) == 1 and _endings(paths[0])[-1:] not in (["tsv"], ["jsonl"]):
        raise UserError(f"{paths[0]} alone is no corpus: give two files, or one that ends in .tsv or .jsonl")


def check_language(flag: str, code: str) -> None:
    """Raise UserError where what stands behind a flag is no language code: it is printed, and chooses rules."""
    if not _LANGUAGE.fullmatch(code):
        raise UserError(f"{flag} {code!r} is no language code; name one such as en, pt_BR, zh-Hans or gsw")


def language_codes(paths: Sequence[Path]) -> tuple[str | None, str | None]:
    """Source and target language by the file endings: `train.en train.fr(.gz)`, or `train.en-fr.tsv`; else None."""
    if len(paths) == 2:
        source, target = ((_endings(path)[-1:] or [""])[0] for path in paths)
        return _language(source), _language(target)
    for ending in reversed([*paths[0].name.split(".")[:1], *_endings(paths[0])[:-1]]):
        match = re.search(r"(?:^|[^a-z])([a-z]{2,3})[-_]([a-z]{2,3})$", ending)
        if match and _language(match[1]) and _language(match[2]):
            return match[1], match[2]
    return None, None


def open_lines(
    source: Path | BinaryIO,
    *,
    encoding: str = "utf-8",
    errors: str = "strict",
    counts: CleanCounts | None = None,
    name: str = "standard input",
) -> Iterator[str]:
    """The lines of a file (a .gz one is unpacked) or of a binary stream called `name`, one at a time, ends left out.

    A byte order mark at the start is passed over. Only LF ends a line; a CR before it goes and is counted. Raises
    UserError with file, line and byte offset for bytes that are not `encoding`, and where reading fails.
    """
    _check_codec(encoding, errors)
    shown = str(source) if isinstance(source, Path) else name
    number = 0
    try:
        with _open(source) if isinstance(source, Path) else contextlib.nullcontext(source) as stream:
            for number, line in enumerate(_decoded(stream, encoding, errors, shown), start=1):  # noqa: B007 (see below)
                if line.endswith("\r"):
                    line = line[:-1]  # noqa: PLW2901
                    if counts is not None:
                        counts.carriage_returns += 1
                yield line
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(f"{shown} is a damaged gzip file (after line {number}: {error}); pack it again") from None
    except OSError as error:
        raise UserError(f"cannot read {shown}: {error.strerror or error}") from None


def _open(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def _check_codec(encoding: str, errors: str) -> None:
    try:
        "\n".encode(encoding)
        with contextlib.suppress(ValueError):  # a codec that exists
            b"a\xff".decode(encoding, errors)
    except (LookupError, UnicodeError):
        raise UserError(f"unknown --encoding {encoding} or --errors {errors}; try utf-8, cp1252 or replace") from None


def _decoded(stream: BinaryIO, encoding: str, errors: str, name: str) -> Iterator[str]:
    """Lines without LF. Where LF is one byte each line is decoded alone, so an error knows its place."""
    if "\n".encode(encoding) != b"\n":
        yield from _decoded_wide(stream, encoding, errors, name)
        return
    offset = 0
    for number, data in enumerate(stream, start=1):
        line = data[len(_BOM) :] if number == 1 and data.startswith(_BOM) else data
        try:
            text = line.decode(encoding, errors)
        except UnicodeDecodeError as error:
            at = offset + len(data) - len(line) + error.start
            raise _undecodable(name, number, f"byte offset {at}: 0x{line[error.start]:02x}", encoding) from None
        yield text.removesuffix("\n")
        offset += len(data)


def _decoded_wide(stream: BinaryIO, encoding: str, errors: str, name: str) -> Iterator[str]:
    """The same for encodings whose LF is more than one byte (UTF-16 ...)."""
    reader = io.TextIOWrapper(stream, encoding=encoding, errors=errors, newline="\n")
    number = 0
    try:
        for number, line in enumerate(reader, start=1):
            yield line.removesuffix("\n").removeprefix("\ufeff" if number == 1 else "")
    except UnicodeError:
        raise _undecodable(name, number + 1, "or soon after", encoding) from None
    finally:
        reader.detach()


def _undecodable(name: str, line: int, where: str, encoding: str) -> UserError:
    advice = "name its encoding with --encoding NAME (such as cp1252), or read on with --errors replace"
    return UserError(f"{name}, line {line} ({where}): not {encoding.upper()}; {advice}")


def _side_by_side(source: Iterator[str], target: Iterator[str], paths: Sequence[Path]) -> Iterator[tuple[str, str]]:
    for both, (x, y) in enumerate(zip_longest(source, target)):
        if x is None or y is None:
            longer = both + 1 + sum(1 for _ in (source if y is None else target))
            first, second = (longer, both) if y is None else (both, longer)
            raise UserError(
                f"{paths[0]} has {first:,} lines and {paths[1]} has {second:,}: they must be translations line by line"
            )
        yield x, y


def _from_tsv(lines: Iterator[str], path: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines, start=1):
        columns = line.split("\t") if line.strip() else ["", ""]
        if len(columns) != 2:
            raise UserError(
                f"{path}, line {number}: {len(columns)} columns; two are needed, source and target, one tab"
            )
        yield columns[0], columns[1]


def _from_json(lines: Iterator[str], path: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines, start=1):
        try:
            entry = json.loads(line) if line.strip() else {"source": "", "target": ""}
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path}, line {number}: not JSON ({error})") from None
        source, target = (entry.get(key) if isinstance(entry, dict) else None for key in ("source", "target"))
        if not isinstance(source, str) or not isinstance(target, str):
            raise UserError(f'{path}, line {number}: not of the form {{"source": "text", "target": "text"}}')
        yield source, target


def _endings(path: Path) -> list[str]:
    """The endings of a file name, without dots and without a last .gz."""
    return path.name.removesuffix(".gz").split(".")[1:]


def _language(ending: str) -> str | None:
    return ending if _ENDING.fullmatch(ending) and ending not in _NO_LANGUAGE else None
