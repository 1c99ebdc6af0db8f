"""`rnnsearch dictionary`: learns from sentence pairs what --replace-unk puts in the place of unknown words."""

import argparse
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rnnsearch.cli import opening
from rnnsearch.errors import UserError

if TYPE_CHECKING:
    from rnnsearch.search.dictionary import Aligned, Dictionary
    from rnnsearch.translator import Translator

log = logging.getLogger("rnnsearch")

#: Pairs after which a line says how far it is.
TOLD_EVERY = 10_000
_EPILOG = """\
The model links the words of the pairs, best those that it was trained on; the most frequent translation of each word
goes into its folder (of an ensemble: the first one) as dictionary.json, in place of an older one. translate and
evaluate use it with --replace-unk."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the command."""
    parser.epilog = _EPILOG
    add = parser.add_argument
    add("source", type=Path, metavar="SOURCE", help="text in the language that the model reads, plain or .gz")
    add("target", type=Path, metavar="TARGET", help="its translation, line for line")
    opening.add_model(parser)
    opening.add_batch_size(parser)
    opening.add_arguments(parser)
    opening.add_encoding(parser)


def run(args: argparse.Namespace) -> int:
    """Learn the dictionary and write it into the model folder."""
    from rnnsearch.model_folder import DICTIONARY, save_dictionary
    from rnnsearch.search.dictionary import LEAST_LINKS, learn

    with opening.open_translator(args) as translator:
        _check(translator)
        folder = translator.folder
        opening.check_output(folder.path / DICTIONARY)
        learnt = learn(_aligned(args, translator), folder.source.vocabulary)
    if not learnt.words:
        raise UserError(
            f"no two words of {args.source} and {args.target} were linked {LEAST_LINKS} times, so nothing was written; "
            "give more text, or the files in the order in which the model translates"
        )
    save_dictionary(folder.path, learnt.words)
    log.info("wrote %s: %s words; %s", folder.path / DICTIONARY, f"{len(learnt.words):,}", _covered(learnt))
    return 0


def _check(translator: "Translator") -> None:
    """Raise UserError for a model to which a dictionary is of no use."""
    translator.require_alignment()
    folder = translator.folder
    if "subword" in (folder.source.tokeniser.kind, folder.target.tokeniser.kind):
        raise UserError(
            f"{folder.path} spells with subwords and hardly ever writes [UNK]: a dictionary is for models of "
            "whole words (train --tokeniser moses or none)"
        )


def _aligned(args: argparse.Namespace, translator: "Translator") -> "Iterator[Aligned]":
    """The pairs of the files as the model aligns them."""
    from rnnsearch.text.clean import CleanCounts
    from rnnsearch.text.corpus import read_pairs

    paths = [args.source, args.target]
    pairs = read_pairs(paths, encoding=args.encoding, errors=args.errors, counts=CleanCounts())
    for number, pair in enumerate(translator.align_pairs(pairs, args.batch_size, posterior=True), start=1):
        yield pair.source_tokens, pair.tokens, pair.token_alignment
        if number % TOLD_EVERY == 0:
            log.info("%s pairs aligned", f"{number:,}")


def _covered(learnt: "Dictionary") -> str:
    """What the dictionary has of the words that the vocabulary lacks."""
    unknown = learnt.unknown
    if not unknown:
        return "the source vocabulary lacks no word of the text"
    covered = unknown.keys() & learnt.words.keys()
    share = sum(unknown[word] for word in covered) / unknown.total()
    return (
        f"of {len(unknown):,} words of the text that the source vocabulary lacks it has {len(covered):,}, "
        f"{share:.1%} of their occurrences"
    )
