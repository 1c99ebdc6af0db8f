"""Preparing text: pairs a second, and the memory that preparing and training take when the text grows.

    python -m benchmarks.preparing [--pairs N] [--few N --many N] [--what speed memory]

The text is the package's own grammar; where more pairs are needed than it is asked for, they are used again with a
running number after both sides, so that no pair is a duplicate.
"""

import argparse
import itertools
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from benchmarks.programs import Command
from benchmarks.results import Results
from benchmarks.setting import FOLDER, FULL, RNNSEARCH, Plan
from benchmarks.watch import Watched, watch
from rnnsearch.text.grammar import generate

#: pairs that the grammar makes; more are made of these
BLOCK = 100_000
UPDATES = 20


def run(plan: Plan, results: Results) -> None:
    """Both measurements, into `results`."""
    speed(plan.pairs, results)
    grown(plan.few, plan.many, results)


def speed(pairs: int, results: Results) -> None:
    """Pairs a second of `rnnsearch train` until the text is prepared, its start included."""
    about = f"{pairs:,} generated pairs, joint subwords"
    if results.has("preparing", about, "rnnsearch"):
        return
    seen = _train(pairs)
    results.add("preparing", about, "rnnsearch", "pairs a second", pairs / seen.phases["preparing"])
    results.add("preparing", about, "rnnsearch", "peak memory, anonymous, MiB", seen.anonymous["preparing"])


def grown(few: int, many: int, results: Results) -> None:
    """Peak anonymous memory at `few` and at `many` pairs, and by how much the second is above the first."""
    found: list[dict[str, float]] = []
    for pairs in (few, many):
        about = f"{pairs:,} generated pairs, joint subwords, anonymous memory"
        if not results.has("preparing", about, "rnnsearch"):
            seen = _train(pairs)
            for phase in ("preparing", "training"):
                results.add("preparing", about, "rnnsearch", f"{phase}, peak MiB", seen.anonymous[phase])
            results.add("preparing", about, "rnnsearch", "pairs a second", pairs / seen.phases["preparing"])
        found.append({p: results.values("preparing", about, "rnnsearch", f"{p}, peak MiB")[0]
                      for p in ("preparing", "training")})  # fmt: skip
    about = f"anonymous memory at {many:,} pairs above that at {few:,}"
    if not results.has("preparing", about, "rnnsearch"):
        whole = max(found[1].values()) - max(found[0].values())
        results.add("preparing", about, "rnnsearch", "peak of the whole run, MiB", whole)
        for phase in ("preparing", "training"):
            results.add("preparing", about, "rnnsearch", f"{phase}, peak MiB", found[1][phase] - found[0][phase])


def _train(pairs: int) -> Watched:
    """A training of UPDATES updates on so many pairs, watched by phase; its files are removed."""
    folder = FOLDER / "preparing"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        write(pairs, folder / "train")
        write(20, folder / "dev")
        ready = folder / "model.run" / "corpus" / "store.json"
        command: Command = [
            *RNNSEARCH, "train", folder / "train.en", folder / "train.fr",
            "--dev", folder / "dev.en", folder / "dev.fr", "--model", folder / "model", "--max-updates", str(UPDATES),
        ]  # fmt: skip
        return watch(command, phase=lambda: "training" if ready.exists() else "preparing")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write(pairs: int, name: Path) -> None:
    """Write NAME.en and NAME.fr of so many different pairs."""
    made = [(pair.source_text, pair.target_text) for pair in generate(min(pairs, BLOCK), seed=3)]
    for side, ending in enumerate((".en", ".fr")):
        with name.with_name(name.name + ending).open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(numbered([pair[side] for pair in made], pairs))


def numbered(lines: list[str], count: int) -> Iterator[str]:
    """`count` lines, those given over and over, each with its number in groups of three digits."""
    for number, line in zip(range(count), itertools.cycle(lines), strict=False):
        yield f"{line} " + f"{number:,}\n".replace(",", " ")


def main() -> None:
    """The command line of this part alone."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.preparing", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--pairs", type=int, default=FULL.pairs, help="pairs whose preparing is timed")
    parser.add_argument("--few", type=int, default=FULL.few, help="pairs of the smaller text, for the memory")
    parser.add_argument("--many", type=int, default=FULL.many, help="pairs of the larger text, for the memory")
    parser.add_argument("--what", nargs="+", choices=("speed", "memory"), default=["speed", "memory"])
    args = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    state = FOLDER / "preparing.json"
    state.unlink(missing_ok=True)
    results = Results(state)
    if "speed" in args.what:
        speed(args.pairs, results)
    if "memory" in args.what:
        grown(args.few, args.many, results)
    print(json.dumps(results.rows(), indent=1))


if __name__ == "__main__":
    main()
