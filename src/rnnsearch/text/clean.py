"""Cleaning of one line: NFC, one kind of space, no invisible controls; what was changed is counted."""

import re
import unicodedata
from dataclasses import dataclass

#: controls and separators that stand for a space; every Unicode space (category Zs) but U+0020 itself is among them
_SPACES = re.compile(r"[\t\n\v\f\r\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")

# Other controls, soft hyphen, zero-width spaces, bidi marks, byte order mark, annotation marks, lone
# surrogates, noncharacters (the subword tokeniser uses two of them) and tags outside a flag (group 1 is a flag, kept).
_NONCHARACTERS = "\ufdd0-\ufdef" + "".join(chr(plane << 16 | low) for plane in range(17) for low in (0xFFFE, 0xFFFF))
_REMOVED = re.compile(
    "(\U0001f3f4[\U000e0020-\U000e007f]+)|[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u180e\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f" + _NONCHARACTERS + "]"
)

# A joiner stays between two emoji (or the marks that may end one: variation selector, flag tag), and joiner and
# non-joiner between two letters of the scripts that spell with them: Arabic to Sinhala, Burmese, Khmer, Mongolian.
_EMOJI = "\xa9\xae\u2100-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_LETTERS = "\u0600-\u0dff\u1000-\u109f\u1780-\u18af"
_LONE_JOINER = re.compile(
    f"(?!(?<=[{_EMOJI}\ufe0f\U000e007f])\u200d[{_EMOJI}])(?!(?<=[{_LETTERS}])[\u200c\u200d][{_LETTERS}])[\u200c\u200d]"
)


@dataclass
class CleanCounts:
    """How many characters were changed: `spaces` became U+0020, `removed` went; `carriage_returns` ended a line."""

    spaces: int = 0
    removed: int = 0
    carriage_returns: int = 0


def clean_line(text: str, counts: CleanCounts) -> str:
    """`text` in NFC, words separated by single spaces, none at the edges; adds to `counts` what was changed.

    Cleaning a cleaned line changes nothing.
    """
    if not text.isprintable():  # nothing that is replaced or removed here is printable
        text, spaces = _SPACES.subn(" ", text)
        shorter = _LONE_JOINER.sub("", _REMOVED.sub(_flag_only, text))
        counts.spaces += spaces
        counts.removed += len(text) - len(shorter)
        text = shorter
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    text = text.strip(" ")
    return " ".join(filter(None, text.split(" "))) if "  " in text else text


def clean_words(text: str) -> tuple[list[str], list[int]]:
    """The words of the cleaned line, and for each the index of the space-separated word of `text` it came from."""
    words: list[str] = []
    origins: list[int] = []
    for index, given in enumerate(filter(None, text.split(" "))):
        cleaned = list(filter(None, clean_line(given, CleanCounts()).split(" ")))
        words += cleaned
        origins += [index] * len(cleaned)
    return words, origins


def _flag_only(match: re.Match[str]) -> str:
    return match[1] or ""
