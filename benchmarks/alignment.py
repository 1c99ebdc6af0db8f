"""Word alignment against gold links: our models of both directions, and eflomal, on the same training text.

    python -m benchmarks.alignment [--minutes M] [--guided]

Needs RNNSEARCH_DATA. Both directions train at once, with half of the processors each; an interrupted run goes on.
--guided: then the two go on for half as long, and their attention is taught the links that both together find in a
part of the training text.
The table is build/benchmark/alignment/results.md.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import numpy as np

from benchmarks.gold import Gold, gold_sets, training_text
from benchmarks.programs import Command, install
from benchmarks.setting import FOLDER, RNNSEARCH
from benchmarks.watch import Failed, watch
from rnnsearch.evaluation.alignment_error import compare
from rnnsearch.search.symmetrise import METHODS, agreed, symmetrise
from rnnsearch.text.links import Link

HERE = FOLDER / "alignment"
CODES = ("en", "fr")
DIRECTIONS = (("en", "fr"), ("fr", "en"))
EFLOMAL = "eflomal==2.0.0"
#: Half of what preset base has for so much text: in an hour these see it more than twice, those once.
SIZES = ("--embedding-size", "128", "--hidden-size", "256", "--attention-size", "256", "--maxout-size", "128")
#: Pairs of the training text, drawn at random, whose links are taught: aligning all takes more than an hour.
TAUGHT = 100_000

#: What each kind of model learns from.
TEXT = {"plain": "train", "guided": "taught"}

LinkLists = list[list[Link]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, align, judge; what is there already is not done again."""
    args = _parser().parse_args(arguments)
    data = os.environ.get("RNNSEARCH_DATA")
    if not data:
        sys.exit("benchmarks: set RNNSEARCH_DATA to the folder with the corpora and the gold alignments")
    HERE.mkdir(parents=True, exist_ok=True)
    gold = gold_sets(Path(data))
    try:
        _write_text(Path(data), gold)
        rows = list(_eflomal(gold)) if args.eflomal else []
        _train("plain", args.minutes)
        rows += _ours("rnnsearch", ["plain"], gold)
        if args.guided:
            _teach()
            _train("guided", args.minutes / 2)
            rows += _ours("rnnsearch, guided by its own links", ["guided"], gold)
            rows += _ours("rnnsearch, both averaged", ["plain", "guided"], gold)
    except Failed as error:
        sys.exit(f"benchmarks: {error}")
    _write(HERE / "results.md", _table(gold, rows))
    print(_table(gold, rows))


Row = tuple[str, str, list[float]]


def _judged(name: str, gold: Sequence[Gold], forward: LinkLists, reverse: LinkLists) -> Iterator[Row]:
    """Each direction and both joined; the links are of all sets' sentences in one list."""
    joined = {method: [symmetrise(*both, method) for both in zip(forward, reverse, strict=True)] for method in METHODS}
    for kind, links in {"en-fr": forward, "fr-en": reverse, **joined}.items():
        yield name, kind, _rates(gold, links)


def _rates(gold: Sequence[Gold], links: LinkLists) -> list[float]:
    """AER on each set."""
    rates, at = [], 0
    for one in gold:
        rates.append(compare(one.links, one.whole(links[at : at + len(one.pairs)])).aer)
        at += len(one.pairs)
    return rates


def _ours(name: str, kinds: Sequence[str], gold: Sequence[Gold]) -> Iterator[Row]:
    """Of the ensemble of these kinds."""
    one, other = (
        [json.loads(line) for line in _aligned([f"{kind}-{source}-{target}" for kind in kinds], source, target)]
        for source, target in DIRECTIONS
    )
    forward = [[(a, b) for a, b in pair["links"]] for pair in one]
    turned = [[(a, b) for b, a in pair["links"]] for pair in other]
    yield from _judged(name, gold, forward, turned)
    weights = ([np.array(pair["alignment"]) for pair in pairs] for pairs in (one, other))
    yield name, "agreement", _rates(gold, [agreed(*both) for both in zip(*weights, strict=True)])


def _train(kind: str, minutes: float) -> None:
    """The models of both directions, at the same time."""
    threads = max(1, (os.cpu_count() or 2) // 2)
    started = []
    for source, target in DIRECTIONS:
        model = HERE / f"{kind}-{source}-{target}"
        command: Command = [
            *RNNSEARCH,
            "train",
            "--model",
            model,
            "--max-minutes",
            str(minutes),
            "--threads",
            str(threads),
        ]
        if (model.with_name(model.name + ".run") / "last").exists():
            command.append("--resume")
        else:
            command += [HERE / f"{TEXT[kind]}.{source}", HERE / f"{TEXT[kind]}.{target}", "--overwrite"]
            command += SIZES if kind == "plain" else _taught(source, target)
        log = (HERE / f"{model.name}.log").open("ab")
        environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
        started.append(subprocess.Popen([str(part) for part in command], stderr=log, env=environment))
    statuses = [process.wait() for process in started]
    if any(statuses):
        raise Failed(f"a training failed; its log is beside {HERE / kind}")


def _aligned(models: Sequence[str], source: str, target: str) -> list[str]:
    """The gold sentences of all sets by an ensemble, as JSON."""
    flags = [part for model in models for part in ("--model", HERE / model)]
    return watch([*RNNSEARCH, "align", *flags, HERE / f"gold.{source}", HERE / f"gold.{target}", "--json"]).lines


def _taught(source: str, target: str) -> Command:
    """Flags of a model that goes on from the plain one: dropout has risen already."""
    links = HERE / f"taught.{source}-{target}.links"
    return ["--init-from", HERE / f"plain-{source}-{target}", "--dropout-epochs", "0", "--guided-alignment", links]


def _teach() -> None:
    """A part of the training text with the links of both plain models, joined, once for each direction."""
    found = HERE / "taught.en-fr.links"
    if not found.exists():
        sides = [(HERE / f"train.{code}").read_text(encoding="utf-8").split("\n")[:-1] for code in CODES]
        drawn = sorted(Random(1).sample(range(len(sides[0])), min(TAUGHT, len(sides[0]))))  # noqa: S311 (no secret)
        for code, side in zip(CODES, sides, strict=True):
            _write(HERE / f"taught.{code}", "".join(side[number] + "\n" for number in drawn))
        command: Command = [
            *RNNSEARCH, "align", "--model", HERE / "plain-en-fr", "--reverse-model", HERE / "plain-fr-en",
            HERE / "taught.en", HERE / "taught.fr",
        ]  # fmt: skip
        _write(found, "".join(line + "\n" for line in watch(command).lines))
    turned = HERE / "taught.fr-en.links"
    pairs = (line.split() for line in found.read_text(encoding="utf-8").split("\n")[:-1])
    _write(turned, "".join(" ".join("-".join(reversed(p.split("-"))) for p in line) + "\n" for line in pairs))


def _eflomal(gold: Sequence[Gold]) -> Iterator[Row]:
    """Once with the gold sentences appended to the training text, once with priors from that text alone."""
    programs = install("eflomal", [EFLOMAL])
    count = sum(len(one.pairs) for one in gold)
    with_gold = _eflomal_links(programs, "appended", [HERE / f"train+gold.{code}" for code in CODES])
    yield from _judged("eflomal, gold sentences appended", gold, *(links[-count:] for links in with_gold))
    train = [HERE / f"train.{code}" for code in CODES]
    _eflomal_links(programs, "train", train)
    priors = HERE / "eflomal.priors"
    if not priors.exists():
        links = [HERE / f"eflomal.train.{way}" for way in ("forward", "reverse")]
        watch([programs / "eflomal-makepriors", "-s", train[0], "-t", train[1], "-f", links[0], "-r", links[1],
               "-p", priors])  # fmt: skip
    alone = _eflomal_links(programs, "gold", [HERE / f"gold.{code}" for code in CODES], ["-p", priors])
    yield from _judged("eflomal, priors of the training text", gold, *alone)


def _eflomal_links(programs: Path, name: str, text: Sequence[Path], more: Command | None = None) -> list[LinkLists]:
    """Links of both directions, English first."""
    files = [HERE / f"eflomal.{name}.{way}" for way in ("forward", "reverse")]
    if not all(file.exists() for file in files):
        watch([programs / "eflomal-align", "--overwrite", "-s", text[0], "-t", text[1], "-f", files[0], "-r", files[1],
               *(more or [])])  # fmt: skip
    return [
        [[(int(a), int(b)) for a, b in (link.split("-") for link in line.split())] for line in
         file.read_text(encoding="utf-8").split("\n")[:-1]]
        for file in files
    ]  # fmt: skip


def _write_text(data: Path, gold: Sequence[Gold]) -> None:
    if (HERE / "train+gold.fr").exists():
        return
    pairs = list(training_text(data))
    for side, code in enumerate(CODES):
        learnt = "".join(pair[side] + "\n" for pair in pairs)
        judged = "".join(line + "\n" for one in gold for line in one.cut(side))
        _write(HERE / f"train.{code}", learnt)
        _write(HERE / f"gold.{code}", judged)
        _write(HERE / f"train+gold.{code}", learnt + judged)


def _table(gold: Sequence[Gold], rows: Sequence[Row]) -> str:
    """AER by program and links, as Markdown."""
    told = [f"| | links | {' | '.join(one.name for one in gold)} |", f"| --- | --- |{' ---: |' * len(gold)}"]
    told += [f"| {name} | {kind} | {' | '.join(f'{rate:.3f}' for rate in rates)} |" for name, kind, rates in rows]
    return "\n".join(told) + "\n"


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.alignment", description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--minutes", type=float, default=60.0, help="of training, both directions at once (default: 60)"
    )
    parser.add_argument("--guided", action="store_true", help="then teach the two their own links, joined")
    parser.add_argument("--eflomal", action=argparse.BooleanOptionalAction, default=True, help="measure eflomal too")
    return parser


if __name__ == "__main__":
    main()
