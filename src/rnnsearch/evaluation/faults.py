"""Faults that scores hide: loops, lengths out of proportion, empty outputs, copies of the source."""

from collections.abc import Sequence
from dataclasses import dataclass

from rnnsearch.evaluation.metrics import has_spaces, words_of
from rnnsearch.evaluation.sentences import Sentences
from rnnsearch.text.clean import CleanCounts, clean_line

#: A loop says a phrase of at most so many words so often without a pause.
_LONGEST_PHRASE, _TIMES = 8, 3


@dataclass(frozen=True)
class Faults:
    """Numbers, from 1, of the lines with each fault."""

    loops: list[int]  #: a phrase of 1 to 8 words three times in succession that the reference does not loop
    too_short: list[int]  #: not empty, and less than half of the reference's characters, spaces left out
    too_long: list[int]  #: more than twice the reference's characters
    empty: list[int]  #: nothing for a source (without one: for a reference) that is not empty
    copies: list[int] | None  #: the source itself, where that is not the reference; None without sources


def find_faults(outputs: Sequence[str], text: Sentences) -> Faults:
    """Look through the outputs of a system."""
    sides = [_loop_units(lines, text) for lines in (outputs, text.references)]
    sizes = [(_size(output), _size(reference)) for output, reference in zip(outputs, text.references, strict=True)]
    asked = text.references if text.sources is None else text.sources
    return Faults(
        loops=_lines([bool(loops(ours) - loops(theirs)) for ours, theirs in zip(*sides, strict=True)]),
        too_short=_lines([0 < 2 * ours < theirs for ours, theirs in sizes]),
        too_long=_lines([ours > 2 * theirs for ours, theirs in sizes]),
        empty=_lines([not _size(output) and _size(line) > 0 for output, line in zip(outputs, asked, strict=True)]),
        copies=None if text.sources is None else _copies(outputs, text.sources, text.references),
    )


def loops(words: Sequence[str]) -> set[tuple[str, ...]]:
    """The phrases that are said at least three times in succession, each in its shortest form, lower-cased."""
    words = [word.casefold() for word in words]
    found: set[tuple[str, ...]] = set()
    for size in range(1, _LONGEST_PHRASE + 1):
        same = 0  # words in a row that are those `size` before
        for place in range(size, len(words)):
            same = same + 1 if words[place] == words[place - size] else 0
            if same >= (_TIMES - 1) * size:
                phrase = tuple(words[place + 1 - size : place + 1])
                if not _repeats(phrase):
                    found.add(min(phrase[i:] + phrase[:i] for i in range(size)))  # wherever it was begun
    return found


def _repeats(phrase: tuple[str, ...]) -> bool:
    """Whether a phrase is a shorter one said several times."""
    sizes = [size for size in range(1, len(phrase)) if len(phrase) % size == 0]
    return any(phrase == phrase[:size] * (len(phrase) // size) for size in sizes)


def _loop_units(lines: Sequence[str], text: Sentences) -> list[list[str]]:
    """Words, or characters where no spaces separate words."""
    if not text.tokenised and not has_spaces(text.language):
        return [[c for c in line if not c.isspace()] for line in lines]
    return words_of(lines, text.language, text.tokenised)


def _size(line: str) -> int:
    return len("".join(line.split()))


def _copies(outputs: Sequence[str], sources: Sequence[str], references: Sequence[str]) -> list[int]:
    same = []
    for triple in zip(outputs, sources, references, strict=True):
        output, source, reference = (clean_line(line, CleanCounts()).casefold() for line in triple)
        same.append(bool(output) and output == source != reference)
    return _lines(same)


def _lines(found: Sequence[bool]) -> list[int]:
    return [number for number, is_one in enumerate(found, start=1) if is_one]
