"""Tokenised text or plain text: which of the two a file seems to be, and a warning where the two are mixed."""

import logging
import re
from collections.abc import Sequence
from enum import Enum

from rnnsearch.evaluation.sentences import Sentences, System

log = logging.getLogger("rnnsearch")

#: Share of lines that must speak for it. Numbers and abbreviations keep their stop in tokenised text too.
_SHARE = 0.3
_ALONE = re.compile(r"(?:^|\s)[.,](?:\s|$)")
_ATTACHED = re.compile(r"\w[.,](?:\s|$)")


class Form(Enum):
    """What text seems to be."""

    TOKENISED = "tokenised"
    PLAIN = "plain"
    UNCLEAR = "unclear"


def form_of(lines: Sequence[str]) -> tuple[Form, int]:
    """What `lines` seem to be by their full stops and commas, and how many of them say so."""
    alone = sum(bool(_ALONE.search(line)) for line in lines)
    attached = sum(bool(_ATTACHED.search(line)) and not _ALONE.search(line) for line in lines)
    if alone and alone >= _SHARE * len(lines):
        return Form.TOKENISED, alone
    if attached and attached >= _SHARE * len(lines):
        return Form.PLAIN, attached
    return Form.UNCLEAR, 0


def warn_of_form(text: Sentences, systems: Sequence[System]) -> None:
    """Log a warning for each system of another form than the reference, and for a reference that is not as was said."""
    reference, count = form_of(text.references)
    if text.tokenised and reference is Form.PLAIN:
        log.warning("the reference seems not to be tokenised (%s): without --tokenised it is scored as plain text",
                    _evidence(reference, count, text.references))  # fmt: skip
    if not text.tokenised and reference is Form.TOKENISED:
        log.warning("the reference seems to be tokenised (%s): BLEU is comparable only for plain text; "
                    "for tokenised text say so with --tokenised",
                    _evidence(reference, count, text.references))  # fmt: skip
    for system in systems:
        form, count = form_of(system.outputs)
        if {form, reference} == {Form.TOKENISED, Form.PLAIN}:
            log.warning("the translations of %s seem to be %s (%s), and the reference seems to be %s: their scores "
                        "say nothing before both are alike",
                        system.name, form.value, _evidence(form, count, system.outputs), reference.value)  # fmt: skip


def _evidence(form: Form, count: int, lines: Sequence[str]) -> str:
    where = "a full stop or comma alone" if form is Form.TOKENISED else "their full stops and commas at words"
    return f"{count:,} of {len(lines):,} lines have {where}"
