"""`python -m benchmarks`: measure, and write build/benchmark/results.md, results.json and results.png."""

import argparse
import shutil
import signal
import sys
from collections.abc import Sequence

from benchmarks import decoding, plots, preparing, table, training
from benchmarks.eole import Eole
from benchmarks.marian import Marian
from benchmarks.ours import Ours
from benchmarks.programs import Program
from benchmarks.results import Results
from benchmarks.setting import FOLDER, FULL, QUICK, Plan
from benchmarks.text import make_text
from benchmarks.watch import Failed

PARTS = ("training", "large", "decoding", "preparing")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the parts that are asked for, go on where an earlier run was interrupted, and write the table."""
    args = _parser().parse_args(arguments)
    # An exception, so that no program that was started is left over.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("benchmarks: ended by SIGTERM"))
    plan = QUICK if args.quick else FULL
    FOLDER.mkdir(parents=True, exist_ok=True)
    state = FOLDER / f"state-{plan.name}.json"
    if args.anew:
        state.unlink(missing_ok=True)
        shutil.rmtree(FOLDER / f"models-{plan.name}", ignore_errors=True)
    results = Results(state)
    peers: list[Program] = [] if args.alone else [Marian(), Eole()]
    if {"training", "decoding"} & set(args.only):
        peers = _install(peers, results)
    command = f"make benchmark{' (--quick: these figures only try the machinery)' if args.quick else ''}"
    try:
        for part in args.only:
            _run(part, plan, results, peers)
    except Failed as error:
        sys.exit(f"benchmarks: {error}")
    except KeyboardInterrupt:
        sys.exit("benchmarks: interrupted; the same command goes on from here")
    finally:
        _write(results, command)


def _install(peers: list[Program], results: Results) -> list[Program]:
    """The peers that could be installed; a reason why not is written down, and tried again next time."""
    ready = []
    for peer in peers:
        results.failed.pop(peer.name, None)
        try:
            peer.install()
            ready.append(peer)
        except Failed as error:
            results.fail(peer.name, str(error))
    return ready


def _run(part: str, plan: Plan, results: Results, peers: Sequence[Program]) -> None:
    quick = plan is QUICK
    if part == "preparing":
        preparing.run(plan, results)
    elif part == "large":
        if plan.large is not None:
            text = make_text(plan.large, few=quick)
            training.run_large(plan, plan.large, results, text)
    else:
        text = make_text(plan.sizes, few=quick)
        {"training": training.run, "decoding": decoding.run}[part](plan, results, text, peers)


def _write(results: Results, command: str) -> None:
    measured = {row["program"] for row in results.rows()}
    programs: list[Program] = [Ours(), Ours("float32"), Marian(), Eole()]
    about = {program.name: program.about for program in programs} | {training.LOOP: training.LOOP_ABOUT}
    table.write(FOLDER, results, {name: told for name, told in about.items() if name in measured}, command)
    plots.draw(results.rows(), FOLDER / "results.png")
    print(f"written: {FOLDER / 'results.md'}, results.json and results.png beside it")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="the parts to run")
    parser.add_argument("--quick", action="store_true", help="tiny sizes and times, to try the machinery")
    parser.add_argument("--alone", action="store_true", help="leave the other programs out")
    parser.add_argument("--anew", action="store_true", help="forget what an earlier run measured, and its models")
    return parser


if __name__ == "__main__":
    main()
