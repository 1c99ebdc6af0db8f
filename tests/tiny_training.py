"""A training of some seconds: its settings, and pairs whose target is the source in capitals, backwards."""

import random
from pathlib import Path

from rnnsearch.config import Settings, load_settings

TINY = {
    "embedding_size": 12, "hidden_size": 12, "attention_size": 8, "maxout_size": 8, "tokeniser": "none",
    "batch_tokens": 300, "max_updates": 12, "patience": 0, "validate_every": 30,
}  # fmt: skip


def settings(**values: object) -> Settings:
    return load_settings("small", None, TINY | values)


def write_text(folder: Path) -> dict[str, list[Path]]:
    """train.en and train.fr with 220 pairs, dev.en and dev.fr with 20 others."""
    dice, seen = random.Random(3), dict[str, str]()
    while len(seen) < 240:
        words = dice.choices("abcdefgh", k=dice.randint(2, 7))
        seen[" ".join(words)] = " ".join(reversed(words)).upper()
    pairs = list(seen.items())
    for name, part in ("dev", pairs[:20]), ("train", pairs[20:]):
        for ending, column in zip(("en", "fr"), zip(*part, strict=True), strict=True):
            (folder / f"{name}.{ending}").write_text("".join(line + "\n" for line in column))
    return {name: [folder / f"{name}.{ending}" for ending in ("en", "fr")] for name in ("train", "dev")}
