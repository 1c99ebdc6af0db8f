"""The tables of the report, each once for both of its forms."""

from collections.abc import Sequence

from rnnsearch.evaluation.bootstrap import Estimate
from rnnsearch.evaluation.tables import Table
from rnnsearch.reproduction import published
from rnnsearch.reproduction.findings import Findings
from rnnsearch.reproduction.measures import Curves, Row, Table1
from rnnsearch.reproduction.plan import VARIANTS

_NOTHING = "–"
_FAULTS = {
    "loops": "loops",
    "too_short": "too short",
    "too_long": "too long",
    "empty": "empty",
    "copies": "copies of the source",
}


def verdicts(findings: Findings) -> Table:
    """Each claim, whether it holds, and by which figures."""
    rows = [[claim.statement, claim.verdict, claim.evidence] for claim in findings.claims]
    return Table("", ["claim of the paper", "", "figures (tokenised BLEU)"], rows, left=(0, 1, 2))


def scores(table: Table1, first: bool) -> Table:
    """Table 1 for one test set; beside the `first` the paper's numbers."""
    header = ["", "BLEU", "95 % interval", "tokenised", "95 % interval", "no [UNK]", "no [UNK], tokenised"]
    rows = [_scores(row) for row in table.rows]
    notes = [
        f"{table.test.name}: {len(table.test.references):,} sentences; no [UNK]: the {table.known:,} of them without a "
        "word outside of the vocabularies in source or reference, translated without [UNK]. BLEU: "
        f"{table.rows[0].text.bleu.signature}; tokenised: of Moses' tokens, {table.rows[0].tokens.bleu.signature}; "
        "intervals by bootstrap."
    ]
    if first:
        header += ["the paper: all", "the paper: no [UNK]"]
        rows = [row + _published(row[0]) for row in rows]
        notes.append(
            "The paper's are tokenised BLEU of English-French on news-test-2014, learnt from 348 million words: "
            "another corpus and other sizes, to be compared in their order and not in their height."
        )
    return Table("", header, rows, notes=notes)


def _scores(row: Row) -> list[str]:
    cells = [row.name, f"{row.text.bleu:.2f}", _interval(row.text), f"{row.tokens.bleu:.2f}", _interval(row.tokens)]
    return cells + [_NOTHING if found is None else f"{found.bleu:.2f}" for found in (row.known, row.known_tokens)]


def _published(name: str) -> list[str]:
    return [f"{value:.2f}" for value in published.BLEU[name]] if name in published.BLEU else [_NOTHING, _NOTHING]


def training(findings: Findings) -> Table:
    """Table 2 for the models that were trained."""
    header = ["", "pairs", "updates", "kept after", "epochs", "hours", "train NLL", "development NLL",
              "train NLL a token", "development NLL a token", "trained on"]  # fmt: skip
    rows = [
        [
            trained.name + ("" if trained.ended else " (not ended)"),
            f"{trained.pairs:,}",
            f"{trained.updates:,}",
            _NOTHING if trained.kept is None else f"{trained.kept:,}",
            f"{trained.epochs:.2f}",
            f"{trained.hours:.2f}",
            f"{trained.train.a_sentence:.1f}",
            f"{trained.dev.a_sentence:.1f}",
            f"{trained.train.a_token:.3f}",
            f"{trained.dev.a_token:.3f}",
            trained.machine
            + (f", {trained.threads} thread{'s' if trained.threads > 1 else ''}" if trained.threads else ""),
        ]
        for trained in findings.trained
    ]
    dev = findings.trained[0].dev.pairs
    notes = [
        "NLL: nats, a sentence (as the paper) and a token, of the weights that were kept, without dropout; training: "
        f"of at most {max(trained.train.pairs for trained in findings.trained):,} pairs that are short enough for the "
        f"model, development: of {dev:,} whole pairs. Training NLLs a sentence are comparable only between models of "
        "the same longest pair."
    ]
    if any(trained.name == VARIANTS[-1].name for trained in findings.trained):
        notes.append(
            "RNNsearch-50* is RNNsearch-50 gone on with; its updates, epochs and hours count those of RNNsearch-50 too."
        )
    return Table("", header, rows, left=(0, 10), notes=notes)


def training_published() -> Table:
    """Table 2 as the paper prints it."""
    header = ["", "updates", "epochs", "hours", "train NLL", "development NLL", "trained on"]
    rows = [
        [name, f"{updates:,}", f"{epochs:.1f}", f"{hours}", f"{train:.1f}", f"{dev:.1f}", card]
        for name, (updates, epochs, hours, card, train, dev) in published.TRAINING.items()
    ]
    return Table("", header, rows, left=(0, 6), notes=["The paper's, on its own corpus; NLL: nats a sentence."])


def bands(curves: Curves) -> Table:
    """The numbers of Figure 2."""
    header = ["words", "sentences"]
    for name in curves.models:
        header += [name, "95 % interval"]
    rows = []
    for number, band in enumerate(curves.bands):
        row = [band.label, f"{len(band.sentences):,}{' (few)' if band.few else ''}"]
        for found in curves.models.values():
            row += [f"{found[number].bleu:.2f}", _interval(found[number])]
        rows.append(row)
    return Table("", header, rows)


def faults(table: Table1) -> Table:
    """How many sentences of a test set have which fault, by system."""
    rows = [
        [row.name, *(_count(getattr(row.faults, name)) for name in _FAULTS), f"{row.scores.length_ratio:.3f}",
         f"{100 * row.scores.unknown_output:.2f} %", _share(row.scores.unknown_source)] for row in table.rows
    ]  # fmt: skip
    return Table("", ["", *_FAULTS.values(), "length ratio", "[UNK]", "[UNK] in the source"], rows)


def settings(findings: Findings) -> Table:
    """What all five have in common."""
    groups = findings.plan.common.model_dump()
    of = {name: value for group in groups.values() for name, value in group.items()}
    left_out = {"architecture", "max_length", "max_minutes", "max_updates", "max_epochs", "patience"}
    rows = [[name.replace("_", " "), str(value)] for name, value in of.items() if name not in left_out]
    return Table("", ["setting", "value"], rows, left=(0, 1))


def _share(of: float | None) -> str:
    return _NOTHING if of is None else f"{100 * of:.2f} %"


def _count(lines: Sequence[int] | None) -> str:
    return _NOTHING if lines is None else f"{len(lines):,}"


def _interval(of: Estimate) -> str:
    return "{:.2f} to {:.2f}".format(*of.interval())
