"""Tokenisers: Moses words (sacremoses), SentencePiece subwords, or text that is tokenised already."""

import io
import logging
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any, Protocol

from rnnsearch.errors import UserError

_log = logging.getLogger("rnnsearch")

#: SentencePiece's mark of a word start (U+2581)
WORD_START = "\u2581"
SUBWORDS_FILE = "subwords.model"

# Two noncharacters, which cleaning removes from text, so nothing can collide with them.
#: stands in a subword for a U+2581 of the text
TEXT_MARK = "\ufdd0"
# the name of SentencePiece's own unknown piece
_UNKNOWN_PIECE = "\ufdd1"
#: characters in one word given to the subword trainer, which skips lines of more than 4,192 bytes
_TRAINER_LINE = 1000
#: Subwords of a text of whatever size, unless more are asked for.
MOST_SUBWORDS = 8000
#: words whose tokens a tokeniser remembers, about 20 MB: text repeats its words, and cutting one up is slow
_REMEMBERED = 1 << 16
#: mean length of the words of a line above which none is remembered: without spaces a word is a line, and seldom again
_LONG_WORDS = 30


class Tokeniser(Protocol):
    """Cuts a cleaned line into tokens without spaces, and puts tokens together again."""

    @property
    def kind(self) -> str:
        """The name of the kind in settings: moses, subword or none."""

    def tokenise(self, text: str) -> list[str]:
        """The tokens of a cleaned line; none of an empty one."""

    def detokenise(self, tokens: Sequence[str]) -> str:
        """The line that the tokens spell."""

    def files(self) -> dict[str, bytes]:
        """Files by name that a model folder must hold for this tokeniser."""


def open_tokeniser(kind: str, language: str, subwords: bytes | None = None) -> Tokeniser:
    """The tokeniser of a kind; `subwords` is the model of the kind "subword". Raises ValueError for another kind."""
    if kind == "moses":
        return MosesTokeniser(language)
    if kind == "none":
        return SpaceTokeniser()
    if kind == "subword" and subwords is not None:
        return SubwordTokeniser(subwords)
    raise ValueError(f"tokeniser {kind!r}")


class SpaceTokeniser:
    """Tokens are what stands between spaces."""

    kind = "none"

    def tokenise(self, text: str) -> list[str]:
        """The words between spaces."""
        return [token for token in text.split(" ") if token]

    def detokenise(self, tokens: Sequence[str]) -> str:
        """The tokens with a space between them."""
        return " ".join(tokens)

    def files(self) -> dict[str, bytes]:
        """None are needed."""
        return {}


#: what Moses writes for full stops while it works; in text it becomes full stops
_RESERVED = "DOTMULTI"
# What must not be cut apart: a base with its marks, emoji modifiers and joined emoji; a flag of two letters.
_CLUSTER = re.compile(
    "[\U0001f1e6-\U0001f1ff]{2}"
    "|\\S(?:[\u0300-\u036f\u20d0-\u20ff\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]|\u200d\\S)+"
)
_APOSTROPHES = re.compile("(?<=\\w)\u2019(?=\\w)")
#: quotes that Moses has no rules for, as it knows them
_STRAIGHT = str.maketrans("\u2018\u2019\u201c\u201d\u201e", '\'\'"""')


class MosesTokeniser:
    """Moses words, as the paper's: no escapes, no splitting at hyphens, no lower-casing. One language an object."""

    kind = "moses"

    def __init__(self, language: str) -> None:
        """`language`: a code as "fr" or "pt-BR"; one that Moses has no rules for is treated as English."""
        from sacremoses import MosesDetokenizer, MosesTokenizer

        self._language = re.split("[-_]", language.lower())[0]
        self._moses: Any = MosesTokenizer(self._language)
        self._unmoses: Any = MosesDetokenizer(self._language)
        self._lower = frozenset(self._moses.IsLower)
        self._plain = frozenset(self._moses.IsAlnum + "-")
        self._alone = lru_cache(_REMEMBERED)(self._cut_alone)

    def tokenise(self, text: str) -> list[str]:
        """Moses tokens; every character of the text but its spaces is in exactly one, in order.

        An apostrophe between letters is cut as the straight one is, and clusters of emoji and marks stay whole. Text
        in which Moses would change characters (it reserves a few words) is split at its spaces only.
        """
        words = self._in_context(text)
        cuts = list(map(self._alone if len(text) < _LONG_WORDS * len(words) else self._cut_alone, words))
        return list(chain.from_iterable(cuts)) if all(cuts) else self._cut(text) or SpaceTokeniser().tokenise(text)

    def _cut(self, text: str) -> list[str]:
        """Moses tokens of the whole text, none where Moses would change characters."""
        straight = _APOSTROPHES.sub("'", text)
        tokens = self._moses.tokenize(straight, escape=False)
        if "".join(tokens) != straight.replace(" ", ""):
            return []
        if text.isascii():
            return list(tokens)
        return _glue_clusters(_respell(tokens, text.replace(" ", "")), text)

    def _in_context(self, text: str) -> list[str]:
        """The words of `text`; to one with a full stop is added what Moses looks at: how the next word begins."""
        parts = text.split(". ")
        words: list[str] = []
        for part, following in pairwise(parts):
            *before, last = part.split(" ")
            words += [*before, f"{last}. {self._beginning(following[:1])}"]
        return words + parts[-1].split(" ")

    def _beginning(self, first: str) -> str:
        """A word that begins as one with that `first` character does, as far as Moses cares."""
        if first in self._lower:
            return "a"
        return "1" if first.isascii() and first.isdigit() else "A"

    def _cut_alone(self, word: str) -> tuple[str, ...]:
        """Tokens of one word (from `_in_context`), the same wherever it stands; none where that is not so."""
        letters = word.removesuffix(",")
        if letters and self._plain.issuperset(letters) and _RESERVED not in word:
            return (letters, ",") if word.endswith(",") else (letters,)
        word, _, beginning = word.partition(" ")
        if len(word) > 1 and (word[0] in "'," or word[-1] == "'"):  # Moses looks at what stands beyond the space
            return ()
        tokens = self._cut(f"{word} {beginning}" if beginning else word)
        return tuple(tokens[:-1] if beginning else tokens)

    def detokenise(self, tokens: Sequence[str]) -> str:
        """The line by Moses' rules; its characters but the spaces are those of the tokens."""
        straight = _close_apostrophe([token.translate(_STRAIGHT) for token in tokens], self._language)
        letters = "".join(tokens)
        try:
            line = self._unmoses.detokenize(straight, unescape=False)
        except TypeError:  # sacremoses 0.2 stumbles over the Czech "-li"
            return " ".join(tokens)
        if line.replace(" ", "") != letters.translate(_STRAIGHT):
            return " ".join(tokens)
        return " ".join(_respell(line.split(" "), letters))

    def files(self) -> dict[str, bytes]:
        """None are needed: the rules come with sacremoses."""
        return {}


def _respell(tokens: Sequence[str], letters: str) -> list[str]:
    """Cut `letters` into pieces as long as the tokens."""
    ends = iter(letters)
    return ["".join(next(ends) for _ in token) for token in tokens]


def _glue_clusters(tokens: list[str], text: str) -> list[str]:
    """Put together tokens between which lies the inside of a cluster of `text`."""
    inside: set[int] = set()
    for match in _CLUSTER.finditer(text):
        start = match.start() - text.count(" ", 0, match.start())
        inside.update(range(start + 1, start + len(match[0])))
    glued: list[str] = []
    place = 0
    for token in tokens:
        if place in inside:
            glued[-1] += token
        else:
            glued.append(token)
        place += len(token)
    return glued


def _close_apostrophe(tokens: list[str], language: str) -> list[str]:
    """Join an apostrophe without a partner to its word; Moses would take it for an opening quote."""
    at = _unpaired(tokens, language)
    if at is None or at == 0:
        return tokens
    before, after = tokens[at - 1], tokens[at + 1] if at + 1 < len(tokens) else ""
    if language in ("fr", "it", "ga") and after[:1].isalpha():
        return tokens  # joined it would be read as an elision
    if language == "en" or not after[:1].isalpha() or before[-1] in "sxz":
        return [*tokens[: at - 1], before + "'", *tokens[at + 1 :]]  # rockin' on, Jungs' Ball
    return [*tokens[: at - 1], before + "'" + after, *tokens[at + 2 :]]  # geht's, foto's


def _unpaired(tokens: list[str], language: str) -> int | None:
    """Where the apostrophe stands that opens a quote for Moses and closes none."""
    opened: int | None = None
    for at, word in enumerate(tokens):
        if word == "'":
            possessive = language == "en" and at > 0 and tokens[at - 1].endswith("s")
            if opened is not None:
                opened = None
            elif not possessive:
                opened = at
    return opened


class SubwordTokeniser:
    """SentencePiece pieces; a piece that starts a word starts with U+2581. The model is shared by both sides."""

    kind = "subword"

    def __init__(self, model: bytes) -> None:
        """`model`: what `train_subwords` returned. Raises ValueError for anything else."""
        from sentencepiece import SentencePieceProcessor, set_min_log_level

        set_min_log_level(3)
        self._model = model
        self._pieces: Any = SentencePieceProcessor()
        try:
            self._pieces.LoadFromSerializedProto(model)
        except RuntimeError:
            raise ValueError("not a SentencePiece model") from None
        self._word = lru_cache(_REMEMBERED)(self._cut_word)

    def tokenise(self, text: str) -> list[str]:
        """The pieces of a cleaned line; characters that the model does not know come as they are."""
        words = text.replace(WORD_START, TEXT_MARK).split(" ")
        cut = self._word if len(text) < _LONG_WORDS * len(words) else self._cut_word
        return list(chain.from_iterable(map(cut, words)))

    def _cut_word(self, word: str) -> tuple[str, ...]:
        """The pieces of one word, the same in any line: no piece reaches over a space."""
        return tuple(self._pieces.encode(word, out_type=str))

    def detokenise(self, tokens: Sequence[str]) -> str:
        """The pieces put together."""
        return "".join(tokens).replace(WORD_START, " ").replace(TEXT_MARK, WORD_START).strip(" ")

    def knows(self, piece: str) -> bool:
        """Whether the model has that piece; text holds others where it has characters that the model lacks."""
        return int(self._pieces.piece_to_id(piece)) != 0

    def files(self) -> dict[str, bytes]:
        """The subword model."""
        return {SUBWORDS_FILE: self._model}


def subwords_for(letters: int) -> int:
    """How many subwords suit a text of both languages with so many letters, spaces not counted; in thousands.

    As many times more as each piece is to be seen: so the square root. 4.5 sqrt(letters) is 8,000 for 29,000 captions.
    """
    return min(max(round(4.5 * math.sqrt(letters) / 1000), 1), MOST_SUBWORDS // 1000) * 1000


def train_subwords(lines: Iterable[str], vocabulary_size: int = 0) -> bytes:
    """A SentencePiece BPE model of at most `vocabulary_size` pieces (0: `subwords_for`), learnt from cleaned `lines`.

    Their distinct words are held in memory, and counted: BPE looks at words only, not at the order of the lines.
    Identity normalisation. A small text gives fewer pieces, with a warning. Every character is a piece unless they
    fill more than half of the vocabulary; then the rarest are left out, with a warning. Same lines, same model.
    Raises UserError where there is no text.
    """
    words: Counter[str] = Counter()
    for line in lines:
        words.update(line.replace(WORD_START, TEXT_MARK).split(" "))
    del words[""]
    if not words:
        raise UserError("there is no text to learn subwords from")
    size = vocabulary_size or subwords_for(sum(len(word) * count for word, count in words.items()))
    model = _train(_without_rare_characters(words, size // 2), size)
    from sentencepiece import SentencePieceProcessor

    pieces = SentencePieceProcessor(model_proto=model).get_piece_size()
    if pieces < vocabulary_size:
        shrunk = "the subword vocabulary shrank from %s to %s: the text has no more subwords"
        _log.warning(shrunk, f"{vocabulary_size:,}", f"{pieces:,}")
    return model


def _train(words: Counter[str], size: int) -> bytes:
    from sentencepiece import SentencePieceTrainer

    model = io.BytesIO()
    SentencePieceTrainer.Train(
        sentence_iterator=(f"{part}\t{count}" for word, count in words.items() for part in _parts(word)),
        input_format="tsv",
        model_writer=model,
        model_type="bpe",
        vocab_size=size,
        hard_vocab_limit=False,
        character_coverage=1.0,
        normalization_rule_name="identity",
        unk_id=0,
        unk_piece=_UNKNOWN_PIECE,
        bos_id=-1,
        eos_id=-1,
        pad_id=-1,
        num_threads=1,
        minloglevel=3,
    )
    return model.getvalue()


def _parts(word: str) -> Iterator[str]:
    """`word` in pieces short enough for the trainer."""
    return (word[at : at + _TRAINER_LINE] for at in range(0, len(word), _TRAINER_LINE))


def _without_rare_characters(words: Counter[str], room: int) -> Counter[str]:
    """`words` with spaces for all characters but the `room` most frequent; the same words where all have room."""
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            counts[character] += count
    if len(counts) <= room:
        return words
    ranked = sorted(counts, key=lambda character: (-counts[character], character))
    rare = "the text has %s different characters: only the %s most frequent are kept, the others are unknown"
    _log.warning(rare, f"{len(counts):,}", f"{room:,}")
    blank = str.maketrans(dict.fromkeys(ranked[room:], " "))
    kept: Counter[str] = Counter()
    for word, count in words.items():
        kept[word.translate(blank)] += count
    return kept
