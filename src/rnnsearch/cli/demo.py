"""`rnnsearch demo`: the whole road in about two minutes, on sentences that the package's own grammar makes."""

import argparse
import itertools
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rnnsearch.errors import UserError

if TYPE_CHECKING:
    from rnnsearch.text.grammar import GrammarPair
    from rnnsearch.translator import Translation

#: The file by which a demo folder is known: only a folder that holds it is made anew.
MARK = "about.txt"
ABOUT = """\
Made by `rnnsearch demo`, which makes these files anew whenever it is run:
train, dev, test (.en, .fr)    sentence pairs from the grammar that comes with the package
en-fr, en-fr.run               the model; log, samples and checkpoints of its training
heatmap.png, heatmap.html      which source words each target word looked at
curve.png                      how it learnt
"""
#: Test sentences whose translations are printed.
SHOWN = 5
#: The sentence to draw is one of so many whose words change places most, out of so many that training never sees.
REORDERED, POOL = 40, 3000


@dataclass(frozen=True)
class Plan:
    """How large a demo is: sentence pairs, their longest side in words, minutes of training."""

    pairs: int = 30_000
    dev: int = 100
    test: int = 200
    longest: int = 16
    minutes: float = 1.5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the command."""
    parser.add_argument("--folder", type=Path, default=Path("demo"), help="where everything is written (default: demo)")
    parser.add_argument("--minutes", type=float, default=Plan.minutes, help="how long to train (default: 1.5)")


def run(args: argparse.Namespace) -> int:
    """Run the demo with the flags given."""
    from rnnsearch import training

    training.check_torch("cpu")  # before any text is written
    demo(args.folder, Plan(minutes=args.minutes))
    return 0


def demo(folder: Path, plan: Plan) -> None:
    """Make text, train on it, translate unseen sentences, and draw. Everything is written to `folder`."""
    _make_folder(folder)
    print(f"Text: {plan.pairs:,} sentence pairs from the grammar that comes with the package, in {folder}{os.sep}")
    test, reordered = _write_text(folder, plan)
    print(f"\nTraining: English to French, preset small, {plan.minutes * 60:.0f} seconds", flush=True)
    model = _train(folder, plan)
    results = _translate(model, [*test, *reordered])
    _print_translations(test, results[: len(test)])
    _draw(folder, reordered, results[len(test) :])
    print(_what_next(folder, _command()))


def _make_folder(folder: Path) -> None:
    if folder.exists() and not (folder.is_dir() and ((folder / MARK).exists() or not any(folder.iterdir()))):
        raise UserError(f"{folder} is there already and was not made by a demo; give --folder another name")
    if (folder / MARK).exists():
        print(f"The files of the last demo in {folder}{os.sep} are made anew.")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).write_text(ABOUT, encoding="utf-8")


def _write_text(folder: Path, plan: Plan) -> "tuple[list[GrammarPair], list[GrammarPair]]":
    """Write the three pairs of files, no sentence in two of them; return the test set, and pairs worth drawing."""
    pairs = _different_pairs(plan.longest)
    test = list(itertools.islice(pairs, plan.test))
    reordered = sorted(itertools.islice(pairs, POOL), key=_crossings)[-REORDERED:]
    _write_pairs(folder / "test", test)
    _write_pairs(folder / "dev", itertools.islice(pairs, plan.dev))
    _write_pairs(folder / "train", itertools.islice(pairs, plan.pairs))
    return test, reordered


def _different_pairs(longest: int) -> "Iterator[GrammarPair]":
    from rnnsearch.text.grammar import generate

    seen: set[str] = set()
    for pair in generate(sys.maxsize, seed=1, max_length=longest):
        if pair.source_text not in seen:
            seen.add(pair.source_text)
            yield pair


def _write_pairs(name: Path, pairs: "Iterable[GrammarPair]") -> None:
    with (
        name.with_suffix(".en").open("w", encoding="utf-8", newline="\n") as english,
        name.with_suffix(".fr").open("w", encoding="utf-8", newline="\n") as french,
    ):
        for pair in pairs:
            english.write(pair.source_text + "\n")
            french.write(pair.target_text + "\n")


def _train(folder: Path, plan: Plan) -> Path:
    from rnnsearch.config import load_settings
    from rnnsearch.training import train

    outcome = train(
        load_settings("small", None, {"max_minutes": plan.minutes, "patience": 0}),
        [folder / "train.en", folder / "train.fr"],
        folder / "en-fr",
        dev=[folder / "dev.en", folder / "dev.fr"],
        overwrite=True,
        threads=1,  # a second one gains a network this small little, and loses much where another program wants it
        bar=sys.stderr.isatty(),
        preset="small",
    )
    if outcome.interrupted:
        raise KeyboardInterrupt
    shutil.copyfile(outcome.run / "curve.png", folder / "curve.png")
    return outcome.model


def _translate(model: Path, test: "list[GrammarPair]") -> "list[Translation]":
    from rnnsearch.translator import Translator

    return list(Translator.load(model).translate(pair.source_text for pair in test))


def _print_translations(test: "list[GrammarPair]", results: "list[Translation]") -> None:
    from rnnsearch.evaluation.metrics import bleu

    print("\nTranslations of sentences that it has never seen, with the reference below where it differs:")
    for pair, result in itertools.islice(zip(test, results, strict=True), SHOWN):
        print(f"\n  {pair.source_text}\n  {result.text}")
        if result.text != pair.target_text:
            print(f"  ({pair.target_text})")
    score = bleu([result.text for result in results], [pair.target_text for pair in test])
    print(f"\nBLEU on {len(test)} such sentences: {score}")


def _draw(folder: Path, reordered: "list[GrammarPair]", results: "list[Translation]") -> None:
    """Draw the sentence whose words change places most, of those that came out right if there are any."""
    from rnnsearch.evaluation import heatmap
    from rnnsearch.files import write_whole

    right = [result for pair, result in zip(reordered, results, strict=True) if result.text == pair.target_text]
    result = (right or results)[-1]
    picture = (result.words, result.source_words, result.alignment)
    heatmap.png(folder / "heatmap.png", *picture)
    page = heatmap.html([(result.text, *picture)])
    write_whole(folder / "heatmap.html", page.encode())
    print("\nWhat it looked at where words change places, source across, target down:")
    print(f"\n  {result.source}\n  {result.text}\n")
    print(heatmap.terminal(*picture, style=heatmap.terminal_style(sys.stdout)))
    print(f"The same as a picture and as a page: {folder / 'heatmap.png'}, {folder / 'heatmap.html'}")
    print(f"How it learnt: {folder / 'curve.png'}")


def _crossings(pair: "GrammarPair") -> int:
    """Pairs of links that cross: how far the order of the words changes."""
    return sum((i - k) * (j - l) < 0 for (i, j), (k, l) in itertools.combinations(pair.alignment, 2))


def _command() -> str:
    """How this program is called from here: by its name alone only where the shell would find it."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return "python -m rnnsearch"
    found = shutil.which(called.name)
    same = found and Path(found).with_suffix("") == called.absolute().with_suffix("")
    return called.name if same else str(called)


def _what_next(folder: Path, command: str) -> str:
    return f"""
The same with two text files of your own, line N of one being the translation of line N of the other:

  {command} train mine.en mine.fr --model mine
  {command} translate --model mine < new.en > new.fr
  {command} heatmap --model mine "A sentence of yours."
  {command} evaluate --model mine test.en test.fr

Or play with this model:  {command} translate --model {folder / "en-fr"}
"""
