"""`rnnsearch evaluate-alignment`: precision, recall and error rate of word links."""

import argparse
import json
from pathlib import Path

from rnnsearch.cli import writing

#: Version of the object that --json writes; a change that could break a reader raises it.
JSON_VERSION = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the command."""
    parser.epilog = (
        "GOLD is in Pharaoh's form (a line a sentence: `i-j` sure, `ipj` or `i?j` possible) or in NAACL's (a line a "
        "link: `sentence source target [S|P] [confidence]`, from 1). LINKS is what align writes: source-target, from 0."
    )
    add = parser.add_argument
    add("gold", type=Path, metavar="GOLD", help="links that people have drawn, plain or .gz")
    add("links", type=Path, metavar="LINKS", help="links to judge, a line for each sentence of GOLD")
    add("--gold-form", choices=("pharaoh", "naacl"), help="form of GOLD (default: by its first line)")
    add("--gold-order", choices=("source-target", "target-source"), default="source-target",
        help="which side stands first in GOLD (default: source-target)")  # fmt: skip
    add("--first-index", type=int, choices=(0, 1), default=0,
        help="number of the first word in a GOLD of Pharaoh's form (default: 0)")  # fmt: skip
    add("--json", action="store_true", help="print the scores as JSON")


def run(args: argparse.Namespace) -> int:
    """Score, and print a table or JSON."""
    from rnnsearch.evaluation.alignment_error import compare
    from rnnsearch.text.links import read_links

    turned = args.gold_order == "target-source"
    gold = read_links(args.gold, form=args.gold_form, first=args.first_index, target_first=turned)
    scores = compare(gold, read_links(args.links, form="pharaoh"), (str(args.gold), str(args.links)))
    if args.json:
        writing.write(json.dumps({"version": JSON_VERSION, **scores.as_dict()}, indent=2) + "\n")
    else:
        writing.write(scores.table())
    return 0
