"""Training: target tokens a second, in rounds of all programs; and the models that decoding needs."""

import json
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.ours import Ours
from benchmarks.products import products
from benchmarks.programs import Command, Program, Stretch, Training, measured, speed
from benchmarks.results import OURS, Results
from benchmarks.setting import FOLDER, ROOT, Plan, Sizes
from benchmarks.text import Text
from benchmarks.watch import Failed, Watched, watch

PACE = "target tokens a second"
LOOP = "plain PyTorch loop"
LOOP_ABOUT = (
    "benchmarks/plain_loop.py: the same equations, batches, objective and optimiser by autograd, float32 through "
    "oneDNN; its encoder is nn.GRU, whose reset gate stands behind the product"
)
#: seconds after which a training that tells nothing is given up
PATIENCE = 180


def run(plan: Plan, results: Results, text: Text, peers: Sequence[Program]) -> None:
    """Rounds of all programs with sizes S, then ours alone with the paper's."""
    about = conditions(plan.sizes, text)
    rivals: list[Program] = [Ours(), Ours("float32"), *peers]
    for number in range(1, plan.rounds + 1):
        for program in rivals:
            if program.name not in results.failed and not results.has("training", about, program.name, number):
                _measure(program, plan, plan.sizes, text, results, about)
        if LOOP not in results.failed and not results.has("training", about, LOOP, number):
            _measure_loop(plan, text, results, about)
    share(plan.sizes, text, results, about, [program.name for program in rivals[:2] if isinstance(program, Ours)])


def run_large(plan: Plan, sizes: Sizes, results: Results, text: Text) -> None:
    """Ours with the paper's sizes."""
    about = conditions(sizes, text)
    for number in range(1, plan.rounds + 1):
        if not results.has("training", about, OURS, number):
            _measure(Ours(), plan, sizes, text, results, about)
    share(sizes, text, results, about, [OURS])


def conditions(sizes: Sizes, text: Text) -> str:
    """The conditions in words."""
    source, target = (len(side.vocabulary) for side in text.prepared.sides)
    kind = "joint subwords" if sizes.tokeniser == "subword" else "words"
    return (
        f"sizes {sizes.name} ({sizes.embedding}/{sizes.hidden}/{sizes.attention}/{sizes.maxout}, {sizes.vocabulary:,} "
        f"{kind}: {source:,} and {target:,} of them in use), {text.name}"
    )


def learn(program: Program, plan: Plan, text: Text) -> Path:
    """The folder of a model that a program trained on `plan.learn` target tokens, made once. Raises Failed."""
    folder = FOLDER / f"models-{plan.name}" / program.name
    if not (folder / "learnt").exists():
        shutil.rmtree(folder, ignore_errors=True)
        print(f"{program.name} trains its model on {plan.learn:,} target tokens", flush=True)
        training = program.training(text, plan.sizes, folder)

        def enough() -> bool:
            seen = program.progress(_read(training.log)) if training.log.exists() else []
            return sum(tokens for tokens, _ in seen) >= plan.learn

        watch(training.command, stop=enough, log=training.log if training.printed else None)
        (folder / "learnt").write_text("", encoding="utf-8")
    return folder


def share(sizes: Sizes, text: Text, results: Results, about: str, names: Sequence[str]) -> None:
    """The bare matrix products of the same batches, and their share of the time that our training takes."""
    for kind in ("bfloat16", "float32"):
        program = f"matrix products alone, {kind}"
        if not results.has("training", about, program):
            pace, gflops = products(sizes, text, kind)
            results.add("training", about, program, PACE, pace)
            results.add("training", about, program, "GFLOP/s", gflops)
        pace = results.values("training", about, program, PACE)[0]
        for name in names:
            measure = f"share of the {kind} products in the step, %"
            paces = results.values("training", about, name, PACE)
            if paces and not results.values("training", about, name, measure):
                results.add("training", about, name, measure, 100 * sorted(paces)[len(paces) // 2] / pace)


def _measure(program: Program, plan: Plan, sizes: Sizes, text: Text, results: Results, about: str) -> None:
    folder = FOLDER / "trial"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        training = program.training(text, sizes, folder / "model")
        seen = _train(program, training, plan)
        pace = speed(program.progress(_read(training.log)), plan.warm_up)
    except Failed as error:
        if program.name == OURS:
            raise
        results.fail(program.name, str(error))
        return
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    results.add("training", about, program.name, PACE, pace)
    results.add("training", about, program.name, "peak memory, resident, MiB", seen.rss)


def _train(program: Program, training: Training, plan: Plan) -> Watched:
    """Train until enough was measured."""
    began = time.monotonic()

    def enough() -> bool:
        stretches: list[Stretch] = program.progress(_read(training.log)) if training.log.exists() else []
        return measured(stretches, plan.warm_up, plan.seconds) or time.monotonic() - began > PATIENCE

    return watch(training.command, stop=enough, log=training.log if training.printed else None)


def _measure_loop(plan: Plan, text: Text, results: Results, about: str) -> None:
    sizes = plan.sizes
    command: Command = [
        sys.executable, "-m", "benchmarks.plain_loop", text.folder / "prepared",
        "--warm-up", str(plan.warm_up), "--seconds", str(plan.seconds),
        "--sizes", *map(str, (sizes.embedding, sizes.hidden, sizes.attention, sizes.maxout)),
        "--vocabularies", *(str(len(side.vocabulary)) for side in text.prepared.sides),
    ]  # fmt: skip
    seen = watch(command, folder=ROOT)
    results.add("training", about, LOOP, PACE, json.loads(seen.lines[-1])["target_tokens_per_second"])
    results.add("training", about, LOOP, "peak memory, resident, MiB", seen.rss)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")
