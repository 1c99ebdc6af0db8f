"""One language's way between lines and ids: tokeniser and vocabulary together, as a model folder holds them."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rnnsearch.errors import UserError
from rnnsearch.text.clean import CleanCounts, clean_line
from rnnsearch.text.tokenise import SUBWORDS_FILE, TEXT_MARK, WORD_START, Tokeniser, open_tokeniser
from rnnsearch.text.vocabulary import Vocabulary

Role = Literal["source", "target"]


@dataclass(frozen=True)
class Encoded:
    """A line as tokens and as ids, one id a token, without a sentence end."""

    tokens: list[str]
    ids: list[int]


@dataclass(frozen=True)
class Side:
    """The text codec of one side of a model. Holds all that is needed to read and write its language."""

    role: Role
    language: str
    tokeniser: Tokeniser
    vocabulary: Vocabulary

    def encode(self, line: str) -> Encoded:
        """Clean, tokenise and number a line; an empty line gives no tokens."""
        tokens = self.tokeniser.tokenise(clean_line(line, CleanCounts()))
        if self.tokeniser.kind == "subword":
            tokens = [part for token in tokens for part in self._known_parts(token)]
        return Encoded(tokens, self.vocabulary.ids(tokens))

    def _known_parts(self, piece: str) -> list[str]:
        """A subword in parts that the vocabulary has, the longest first part each time.

        A piece that the shared model learnt from the other language may never have stood in this one's text.
        """
        parts: list[str] = []
        while piece:
            ends = range(len(piece), 0, -1)
            end = next((end for end in ends if piece[:end] in self.vocabulary), 1)  # an unknown character stays alone
            parts.append(piece[:end])
            piece = piece[end:]
        return parts

    def decode(self, tokens: Sequence[str]) -> str:
        """The line that `tokens` (no sentence end among them) spell, as a person would write it."""
        return self.tokeniser.detokenise(tokens)

    def config(self) -> dict[str, Any]:
        """What config.json says about this side: language, tokeniser, and the sha256 of each of its files."""
        files = {name: hashlib.sha256(data).hexdigest() for name, data in self.files().items()}
        return {"role": self.role, "language": self.language, "tokeniser": self.tokeniser.kind, "files": files}

    def files(self) -> dict[str, bytes]:
        """The files of this side by name; the subword model has one name on both sides and is the same file."""
        return {_vocabulary_file(self.role): self.vocabulary.to_bytes(), **self.tokeniser.files()}

    @classmethod
    def load(cls, config: Mapping[str, Any], folder: Path) -> "Side":
        """The side that `config()` described, from the files in `folder`.

        Raises UserError where a file is missing, is not the one described, or the description makes no sense.
        """
        try:
            role, language, kind = config["role"], str(config["language"]), str(config["tokeniser"])
            hashes = dict(config["files"])
            names = [_vocabulary_file(role)] + ([SUBWORDS_FILE] if kind == "subword" else [])
            data = {name: _read(folder / name, hashes[name]) for name in names}
            vocabulary = Vocabulary.from_bytes(data[names[0]])
            return cls(role, language, open_tokeniser(kind, language, data.get(SUBWORDS_FILE)), vocabulary)
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{folder} does not describe its text files as a model folder does: {error!r}") from None


def token_words(tokens: Sequence[str], words: Sequence[str]) -> list[int]:
    """For each token the index of the word (of `words`, a line split at spaces) that holds its first character.

    Characters are consumed in order, spaces and word-start marks left out. Where they differ the nearest place further
    on is taken, so the result never falls; 0 throughout where there are no words.
    """
    letters = [_letters(word, TEXT_MARK) for word in words]
    text = "".join(letters)
    owner = [index for index, word in enumerate(letters) for _ in word]
    spelled = [_letters(token, TEXT_MARK) for token in tokens]  # U+2581 is text where this spells the words
    if "".join(spelled) != text:
        spelled = [_letters(token, "") for token in tokens]
    found: list[int] = []
    place = 0
    for token in spelled:
        if not text.startswith(token, place):
            place = max(place, text.find(token, place, place + len(token) + 40))
        found.append(owner[min(place, len(owner) - 1)] if owner else 0)
        place = min(place + len(token), len(text))
    return found


def _letters(text: str, mark: str) -> str:
    return text.replace(WORD_START, mark).replace(" ", "")


def _vocabulary_file(role: str) -> str:
    if role not in ("source", "target"):
        raise ValueError(f"role {role!r}")
    return f"{role}.vocabulary.json"


def _read(path: Path, sha256: str) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}; the model folder is incomplete") from None
    if hashlib.sha256(data).hexdigest() != sha256:
        raise UserError(f"{path} is damaged or belongs to another model (its checksum differs); copy the folder again")
    return data
