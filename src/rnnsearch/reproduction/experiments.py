"""All of it in a row: train, translate, measure, report. Whatever is done already is not done again."""

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from rnnsearch.errors import UserError
from rnnsearch.files import write_whole
from rnnsearch.reproduction.document import document, title
from rnnsearch.reproduction.findings import Findings, find
from rnnsearch.reproduction.markdown import write_markdown
from rnnsearch.reproduction.page import page
from rnnsearch.reproduction.plan import VARIANTS, Plan, settle
from rnnsearch.reproduction.progress import View
from rnnsearch.reproduction.results import Results, TestSet
from rnnsearch.reproduction.run import train_all

logger = logging.getLogger("rnnsearch")


def reproduce(
    plan: Plan,
    tests: Sequence[TestSet],
    *,
    others: Mapping[str, Sequence[str]] | None = None,
    sentences: Sequence[str] = (),
    device: str = "cpu",
    threads: int | None = None,
    terminal: bool = False,
    report_only: bool = False,
) -> bool:
    """Train the models of `plan` and write the report on `tests` into its folder; False where it was interrupted.

    others: further systems by name, their output for the first test set. sentences: to be drawn in place of chosen
    ones. report_only: no training, the report of what is there. Raises UserError for another plan than that of the
    folder, for text that cannot be used, and where there is no model to report of.
    """
    _check(tests, others or {})
    if report_only and not plan.file.exists():
        raise UserError(f"{plan.output} holds no experiments yet; leave out --report-only to train")
    settle(plan)
    with View(plan.output / "log.txt", terminal=terminal) as view:
        if not report_only and not train_all(plan, view, device=device, threads=threads):
            return False
        models = [
            Results(plan, variant, device=device, threads=threads)
            for variant in VARIANTS
            if Results.there(plan, variant)
        ]
        if not models:
            raise UserError(f"{plan.output} holds no model yet; let it train until its first validation")
        try:
            findings = find(plan, tests, models, others or {}, sentences, view.busy)
        finally:
            for model in models:
                model.close()
        write_report(plan.output, findings)
    return True


def write_report(folder: Path, findings: Findings) -> None:
    """Write report.json, report.html, report.md and its pictures. Without matplotlib the first alone, and a warning."""
    content = json.dumps(findings.as_dict(), indent=1, ensure_ascii=False) + "\n"
    write_whole(folder / "report.json", content.encode("utf-8", errors="replace"))
    blocks, name = document(findings), title(findings)
    try:
        write_whole(folder / "report.html", page(name, blocks).encode("utf-8", errors="replace"))
        write_markdown(folder, name, blocks)
    except ImportError:
        logger.warning('only report.json was written: figures need matplotlib (pip install "rnnsearch[plot]")')


def _check(tests: Sequence[TestSet], others: Mapping[str, Sequence[str]]) -> None:
    for name, lines in others.items():
        if len(lines) != len(tests[0].references):
            raise UserError(
                f"{name} has {len(lines):,} lines and the first test set {len(tests[0].references):,}: they must go "
                "line by line"
            )
