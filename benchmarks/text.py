"""The text of all programs: Multi30k English-French from the data folder, or else the package's own grammar.

It is prepared once, as `rnnsearch train` does it, and written down in the same subwords for the programs that take
text that is cut already.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from benchmarks.setting import FOLDER, Sizes
from rnnsearch.config import load_settings
from rnnsearch.text.grammar import generate
from rnnsearch.text.prepare import CorpusFiles, Prepared, prepare

SIDES = ("en", "fr")
PARTS = ("train", "dev", "test")
_MULTI30K = {
    "train": "train.lc.norm.tok",
    "dev": "val.lc.norm.tok",
    "test": "test_2016_flickr.lc.norm.tok",
}


@dataclass(frozen=True)
class Text:
    """A folder with {train,dev,test}.{en,fr} as they are, the same with .pieces, and the encoded corpus."""

    folder: Path
    name: str

    def plain(self, part: str, side: str) -> Path:
        """The file as our commands read it."""
        return self.folder / f"{part}.{side}"

    def pieces(self, part: str, side: str) -> Path:
        """The same lines in subwords with spaces between; train: only the pairs that are trained on."""
        return self.folder / f"{part}.pieces.{side}"

    @property
    def prepared(self) -> Prepared:
        """Vocabularies and the encoded training text."""
        return Prepared.open(self.folder / "prepared")

    def test(self, side: str, count: int) -> list[str]:
        """The first lines of one side of the test set."""
        return lines(self.plain("test", side))[:count]


def lines(path: Path) -> list[str]:
    """The lines of a file."""
    return path.read_text(encoding="utf-8").rstrip("\n").split("\n")


def make_text(sizes: Sizes, *, few: bool) -> Text:
    """Write the text for `sizes`, once; `few` takes only 1,000 pairs to train on."""
    data = os.environ.get("RNNSEARCH_DATA")
    name = "Multi30k English-French, tokenised, lower-cased" if data else "pairs of the package's own grammar"
    parts = ("text", sizes.name, "multi30k" if data else "grammar", *(["few"] if few else []))
    folder = FOLDER / "-".join(parts)
    text = Text(folder, name)
    if (folder / "done").exists():
        return text
    folder.mkdir(parents=True, exist_ok=True)
    _copy(Path(data), text, few=few) if data else _generate(text, few=few)
    settings = load_settings("base", None, {"tokeniser": sizes.tokeniser, "vocabulary_size": sizes.vocabulary})
    if sizes.tokeniser == "none":
        _fill_up(text, sizes.vocabulary)
    corpus, dev = (CorpusFiles(tuple(text.plain(part, side) for side in SIDES)) for part in ("train", "dev"))
    made = prepare(corpus, dev, settings.data, folder / "prepared", ("en", "fr"), None, settings.training.seed)
    _write_pieces(text, made)
    (folder / "done").write_text("", encoding="utf-8")
    return text


def _copy(data: Path, text: Text, *, few: bool) -> None:
    for part, name in _MULTI30K.items():
        for side in SIDES:
            found = lines(data / "multi30k" / "tok" / f"{name}.{side}")
            _write(text.plain(part, side), found[:1000] if few else found)


def _generate(text: Text, *, few: bool) -> None:
    pairs = generate(32_000, seed=2)
    for part, count in zip(reversed(PARTS), (1000, 1000, 1000 if few else 29_000), strict=True):
        taken = list(islice(pairs, count))
        for side, found in zip(SIDES, ("source_text", "target_text"), strict=True):
            _write(text.plain(part, side), [getattr(pair, found) for pair in taken])


def _fill_up(text: Text, size: int) -> None:
    """Add pairs of made-up words until both vocabularies hold `size` entries, which a small text alone does not."""
    read = [lines(text.plain("train", side)) for side in SIDES]
    known = [len({word for line in side for word in line.split()}) for side in read]
    missing = max(0, size - min(known))
    made = [" ".join(f"word{n}" for n in range(at, min(at + 14, missing))) for at in range(0, missing, 14)]
    for side, found in zip(SIDES, read, strict=True):
        _write(text.plain("train", side), found + made)


def _write_pieces(text: Text, made: Prepared) -> None:
    for number, side in enumerate(SIDES):
        codec = made.sides[number]
        stored = (codec.vocabulary.tokens(made.store.pair(i)[number].tolist()) for i in range(len(made.store)))
        _write(text.pieces("train", side), (" ".join(tokens) for tokens in stored))
        for part in ("dev", "test"):
            cut = (codec.encode(line).tokens for line in lines(text.plain(part, side)))
            _write(text.pieces(part, side), (" ".join(tokens) for tokens in cut))
        # JSON is YAML too; the two special entries come first, as the programs want them.
        words = ["</s>", "<unk>", *codec.vocabulary.words]
        table = json.dumps({word: index for index, word in enumerate(words)}, ensure_ascii=False, indent=0)
        (text.folder / f"vocabulary.{side}.yml").write_text(table, encoding="utf-8")
        _write(text.folder / f"vocabulary.{side}.txt", codec.vocabulary.words)


def _write(path: Path, found: "list[str] | tuple[str, ...] | Iterator[str]") -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(line + "\n" for line in found)


def spell(pieces: str) -> str:
    """The line that subwords with spaces between spell."""
    return pieces.replace(" ", "").replace("\u2581", " ").strip()
