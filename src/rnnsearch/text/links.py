"""Word alignments as text: links in Pharaoh's form and in NAACL's, and the joint form that aligners are given.

Pharaoh: a line a sentence, `i-j` a sure link, `ipj` or `i?j` a possible one. A number and a tab before them, with which
the Alibi files number their sentences, are passed over. NAACL (the shared task of HLT-NAACL 2003): a line a link,
`sentence source target [S|P] [confidence]`, S where it is left out; all three count from 1, and 0 stands for no word.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, groupby
from pathlib import Path
from typing import Literal

from rnnsearch.errors import UserError
from rnnsearch.text.corpus import open_lines

#: Source word and target word, counted from 0.
Link = tuple[int, int]
Form = Literal["pharaoh", "naacl"]
Lines = Iterable[tuple[int, str]]  # with their numbers
Turn = Callable[[int, int], Link]  # the two words of a link as they stand in the file -> source, target

_PHARAOH = re.compile(r"([0-9]{1,9})([-p?])([0-9]{1,9})")
_NUMBERED = re.compile(r"^[0-9]+\t")
_NAACL = re.compile(r"([0-9]{1,9}) ([0-9]{1,9}) ([0-9]{1,9})(?: ([SP]))?(?: [-+.0-9eE]+)?")
_BAR = re.compile(r"(?:^|(?<= ))\|\|\|(?= |$)")


@dataclass(frozen=True)
class Links:
    """The links of a sentence pair. `possible` are all of them, `sure` those that nobody would leave out."""

    sure: frozenset[Link]
    possible: frozenset[Link]


def read_links(path: Path, *, form: Form | None = None, first: int = 0, target_first: bool = False) -> Iterator[Links]:
    """The links of each sentence of a file (plain or .gz), in order.

    form: found by looking at the first line where it is not given; first: the number of a sentence's first word in
    Pharaoh's form, 0 or 1; target_first: the target word stands before the source word. Sentences of which a NAACL
    file says nothing have no links. Raises UserError for what cannot be read and for a malformed line.
    """
    lines: Lines = enumerate(open_lines(path), start=1)
    if form is None:
        form, lines = _form(iter(lines))
    turn: Turn = (lambda t, s: (s, t)) if target_first else (lambda s, t: (s, t))
    return _naacl(lines, path, turn) if form == "naacl" else _pharaoh(lines, path, first, turn)


def pharaoh(links: Iterable[Link]) -> str:
    """Links as a line in Pharaoh's form, in order of the source: `0-0 1-2`."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def joint_pairs(lines: Iterable[str], name: str) -> Iterator[tuple[str, str]]:
    """Source and target of lines `source ||| target`, either of them may be empty, as may be the line.

    name: what the lines come from, for the UserError that a malformed one raises.
    """
    for number, line in enumerate(lines, start=1):
        sides = _BAR.split(line) if line.strip(" ") else ["", ""]
        if len(sides) != 2:
            raise UserError(
                f"{name}, line {number}: {len(sides) - 1} times ||| between spaces, where once is needed: "
                "source ||| target"
            )
        yield sides[0].strip(" "), sides[1].strip(" ")


def _form(lines: Iterator[tuple[int, str]]) -> tuple[Form, Lines]:
    """The form of the first line that is not blank, and all lines again."""
    head = []
    for numbered in lines:
        head.append(numbered)
        if numbered[1].strip():
            break
    naacl = bool(head) and _NAACL.fullmatch(" ".join(head[-1][1].split()))
    return "naacl" if naacl else "pharaoh", chain(head, lines)


def _pharaoh(lines: Lines, path: Path, first: int, turn: Turn) -> Iterator[Links]:
    for number, line in lines:
        marked = []
        for word in _NUMBERED.sub("", line).split():
            match = _PHARAOH.fullmatch(word)
            one, other = (int(match[1]) - first, int(match[3]) - first) if match else (-1, -1)
            if match is None or min(one, other) < 0:
                raise UserError(
                    f"{path}, line {number}: {word[:40]!r} is no link; i-j (sure), ipj or i?j (possible) "
                    f"is expected, words counted from {first}"
                )
            marked.append((turn(one, other), match[2] == "-"))
        yield _links(marked)


def _naacl(lines: Lines, path: Path, turn: Turn) -> Iterator[Links]:
    done = 0
    for sentence, group in groupby(_naacl_lines(lines, path), key=lambda found: found[0]):
        for _ in range(done + 1, sentence):
            yield _links([])
        yield _links((turn(one - 1, other - 1), sure) for _, one, other, sure in group if one and other)
        done = sentence


def _naacl_lines(lines: Lines, path: Path) -> Iterator[tuple[int, int, int, bool]]:
    """Sentence, the two words, and whether the link is sure; blank lines are passed over."""
    last = 1
    for number, line in lines:
        match = _NAACL.fullmatch(" ".join(line.split()))
        if match is None and line.strip():
            raise UserError(
                f"{path}, line {number}: {line[:40]!r} is no link; `sentence source target [S|P] [confidence]` "
                "is expected, each counted from 1"
            )
        if match is not None:
            if int(match[1]) < last:
                raise UserError(
                    f"{path}, line {number}: sentence {int(match[1])}, where {last} or a later one is expected: they "
                    "must be in order, counted from 1"
                )
            last = int(match[1])
            yield last, int(match[2]), int(match[3]), match[4] != "P"


def _links(marked: Iterable[tuple[Link, bool]]) -> Links:
    """Of links, each with whether it is sure; what is both is sure."""
    all_links = list(marked)
    return Links(frozenset(link for link, sure in all_links if sure), frozenset(link for link, _ in all_links))
