"""A table of text, and its three forms: columns for a terminal, Markdown, and HTML."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from rnnsearch.evaluation.markup import html_text, markdown_text, printable

#: Width of a first column, so that tables below each other stand alike.
_FIRST = 22


@dataclass(frozen=True)
class Table:
    """Rows of cells below a header. left: columns that hold text and not numbers; notes: sentences below it."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: Collection[int] = (0,)
    notes: Sequence[str] = ()

    def as_text(self) -> str:
        """Columns, two spaces apart; the last one may be of any length."""
        from rich.cells import cell_len

        lines = [[printable(cell) for cell in line] for line in (self.header, *self.rows)] if self.header else []
        widths = [max(cell_len(line[i]) for line in lines) for i in range(len(self.header))]
        widths = [max(_FIRST, width) if i == 0 else width for i, width in enumerate(widths)]

        def column(i: int, cell: str) -> str:
            blank = " " * (widths[i] - cell_len(cell))
            return cell + blank if i in self.left else blank + cell

        shown = ["  ".join(column(i, cell) for i, cell in enumerate(line)).rstrip() for line in lines]
        return "".join(f"{line}\n" for line in [*filter(None, [self.title]), *shown, *self.notes])

    def as_markdown(self) -> str:
        """A table of GitHub's Markdown below its title."""
        parts = [f"## {markdown_text(self.title)}\n"] if self.title else []
        if self.header:
            rule = [":--" if i in self.left else "--:" for i in range(len(self.header))]
            lines = [[markdown_text(cell) for cell in line] for line in (self.header, *self.rows)]
            parts.append("".join(f"| {' | '.join(line)} |\n" for line in (lines[0], rule, *lines[1:])))
        return "\n".join([*parts, *(f"{markdown_text(note)}\n" for note in self.notes)])

    def as_html(self) -> str:
        """The title, a table element that scrolls where it is too wide, and the notes."""
        parts = [f"<h2>{html_text(self.title)}</h2>"] if self.title else []
        if self.header:
            head = "".join(
                f'<th scope="col"{self._class(i)}>{html_text(cell)}</th>' for i, cell in enumerate(self.header)
            )
            body = "\n".join(f"<tr>{self._cells(row)}</tr>" for row in self.rows)
            parts.append(f'<div class="wide" tabindex="0"><table class="numbers">\n<thead><tr>{head}</tr></thead>\n'
                         f"<tbody>\n{body}\n</tbody>\n</table></div>")  # fmt: skip
        return "\n".join([*parts, *(f'<p class="note">{html_text(note)}</p>' for note in self.notes)])

    def _cells(self, row: Sequence[str]) -> str:
        first, *others = row
        cells = "".join(f'<td{self._class(i)} dir="auto">{html_text(c)}</td>' for i, c in enumerate(others, start=1))
        return f'<th scope="row"{self._class(0)} dir="auto">{html_text(first)}</th>{cells}'

    def _class(self, column: int) -> str:
        return ' class="text"' if column in self.left else ""
