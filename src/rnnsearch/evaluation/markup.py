"""Text of users put into pages: what means something in HTML or Markdown is escaped, what steers a terminal goes."""

import re
import unicodedata
from html import escape

#: What CommonMark and GitHub's tables, formulas and strikethrough give a meaning to within a line.
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~&$#!])")


def printable(text: str) -> str:
    """`text` with a replacement character for each control character, line or paragraph end, and lone surrogate."""
    return "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") else c for c in text)


def html_text(text: str) -> str:
    """`text` for the inside of an HTML element or of a quoted attribute."""
    return escape(printable(text), quote=True)


def markdown_text(text: str) -> str:
    """`text` for a line or a table cell of Markdown."""
    return _MARKDOWN.sub(r"\\\1", printable(text))
