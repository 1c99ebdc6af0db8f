"""Fonts for any script: which of the installed ones have the characters of a text."""

import logging
import unicodedata

log = logging.getLogger("rnnsearch")

#: Comes with matplotlib; Latin, Greek, Cyrillic, Arabic, Hebrew and more.
DEFAULT = "DejaVu Sans"
#: Comes with matplotlib; has a box for every character, so that a missing one is seen to be missing.
BOXES = "Last Resort High-Efficiency"
#: Categories of characters that have no glyph of their own: controls, format characters, spaces.
_UNDRAWN = ("Cc", "Cf", "Cs", "Zs", "Zl", "Zp")


def fonts_for(text: str) -> list[str]:
    """Names of installed fonts that between them have every character of `text`, the default font first.

    Characters that no font has are drawn as boxes; a warning names them.
    """
    missing = {c for c in text if unicodedata.category(c) not in _UNDRAWN and not "\ufe00" <= c <= "\ufe0f"}
    installed = _installed()
    chosen = [DEFAULT]
    missing -= _covered(installed.pop(DEFAULT), missing)
    while missing and installed:
        # The font with most of what is still missing; names break ties, so that the choice is always the same.
        best = max(sorted(installed), key=lambda name: len(_covered(installed[name], missing)))
        if not (found := _covered(installed.pop(best), missing)):
            break
        chosen.append(best)
        missing -= found
    if missing:
        log.warning("no installed font has %s; drawn as boxes: install a font with these characters", _named(missing))
    return [*chosen, BOXES]


def _installed() -> dict[str, str]:
    """Name -> file of each installed font family, its regular face where there is one."""
    from matplotlib import font_manager

    entries = [e for e in font_manager.fontManager.ttflist if e.style == "normal"]
    # Later entries win in the dictionary, so the regular weight (400) comes last.
    entries.sort(key=lambda e: e.weight in (400, "normal", "regular"))
    # Fonts "of last resort" claim every character and draw none of them.
    return {e.name: e.fname for e in entries if "lastresort" not in e.name.replace(" ", "").lower()}


def _covered(file: str, characters: set[str]) -> set[str]:
    """Those of `characters` that the font in `file` has."""
    from matplotlib import font_manager

    try:
        font = font_manager.get_font(file)
        return {c for c in characters if font.get_char_index(ord(c))}
    except (OSError, RuntimeError):  # a font file that has gone or is damaged
        return set()


def _named(characters: set[str], limit: int = 10) -> str:
    shown = [f"{c} (U+{ord(c):04X})" for c in sorted(characters)]
    more = f" and {len(shown) - limit} more" if len(shown) > limit else ""
    return ", ".join(shown[:limit]) + more
