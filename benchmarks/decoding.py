"""Decoding: sentences a second of the whole process, in rounds of all programs, each with its own model."""

import statistics
from collections.abc import Sequence
from pathlib import Path

from benchmarks.ours import Ours
from benchmarks.programs import Program
from benchmarks.results import Results
from benchmarks.setting import FOLDER, Plan
from benchmarks.text import Text
from benchmarks.training import learn
from benchmarks.watch import Failed, Watched, watch
from rnnsearch.evaluation.metrics import evaluate

PACE = "sentences a second"


def run(plan: Plan, results: Results, text: Text, peers: Sequence[Program]) -> None:
    """The first beam in rounds, also one sentence at a time; others once, with the batch size that was best."""
    rivals: list[tuple[Program, Path]] = []
    for program in (Ours(), Ours("float32"), *peers):
        if program.name in results.failed:
            continue
        try:
            learner = Ours() if isinstance(program, Ours) else program
            rivals.append((program, learn(learner, plan, text)))
        except Failed as error:
            results.fail(program.name, str(error))
    for beam in plan.beams:
        for number in range(1, (plan.rounds if beam == plan.beams[0] else 1) + 1):
            for program, folder in rivals:
                if program.name not in results.failed:
                    _measure(program, folder, beam, number, plan, results, text)


def _measure(program: Program, folder: Path, beam: int, number: int, plan: Plan, results: Results, text: Text) -> None:
    """One round of one program; where a peer fails it is left out from then on."""
    try:
        best = _best(program, folder, plan.beams[0], plan, results, text)
        _first(program, folder, beam, number, results, text)
        # The wider beam only in batches: one at a time it would take a quarter of an hour more.
        one = [(1, "one at a time")] if beam == plan.beams[0] else []
        for batch, kind in (*one, (best, "best batch size")):
            _whole(program, folder, beam, batch, kind, number, plan, results, text)
    except Failed as error:
        if isinstance(program, Ours):
            raise
        results.fail(program.name, str(error))


def _best(program: Program, folder: Path, beam: int, plan: Plan, results: Results, text: Text) -> int:
    """The batch size with which the first sentences are translated soonest."""
    about = f"beam {beam}, {plan.probe} sentences"
    if not results.has("batch size", about, program.name):
        source = _beginning(program, text, plan.probe)
        times = {size: _translate(program, folder, source, beam, size, text).seconds for size in plan.batches}
        results.add("batch size", about, program.name, "best", min(times, key=lambda size: times[size]))
    return int(results.values("batch size", about, program.name, "best")[0])


def _first(program: Program, folder: Path, beam: int, number: int, results: Results, text: Text) -> None:
    """Seconds from the command to the translation of a single sentence."""
    about = f"beam {beam}, a single sentence"
    if not results.has("decoding", about, program.name, number):
        seen = _translate(program, folder, _beginning(program, text, 1), beam, 1, text)
        first = seen.seconds if seen.first is None else seen.first
        results.add("decoding", about, program.name, "seconds to the first translation", first)


def _whole(
    program: Program,
    folder: Path,
    beam: int,
    batch: int,
    kind: str,
    number: int,
    plan: Plan,
    results: Results,
    text: Text,
) -> None:
    """The whole test set: speed, memory, BLEU, length."""
    about = f"beam {beam}, {plan.sentences:,} sentences, {kind}"
    if results.has("decoding", about, program.name, number):
        return
    seen = _translate(program, folder, _beginning(program, text, plan.sentences), beam, batch, text)
    output = program.output(seen.lines, folder)
    scores = evaluate(output, text.test("fr", plan.sentences), language="fr", tokenised=True)
    values = {
        PACE: len(output) / seen.seconds,
        "words written a second": sum(len(line.split()) for line in output) / seen.seconds,
        "peak memory, resident, MiB": seen.rss,
        "BLEU, tokenised": float(scores.tokenised_bleu),
        "words a translation": statistics.fmean(len(line.split()) for line in output),
    }
    for measure, value in values.items():
        results.add("decoding", about, program.name, measure, value)


def _translate(program: Program, folder: Path, source: Path, beam: int, batch: int, text: Text) -> Watched:
    return watch(program.translating(text, source, folder, beam, batch), standard_input=source)


def _beginning(program: Program, text: Text, count: int) -> Path:
    """The first lines of the test set as the program takes them, in a file."""
    whole = program.source(text)
    part = FOLDER / f"first-{count}-{whole.name}"
    lines = whole.read_text(encoding="utf-8").splitlines(keepends=True)
    part.write_text("".join(lines[:count]), encoding="utf-8")
    return part
