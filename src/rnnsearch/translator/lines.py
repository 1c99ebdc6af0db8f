"""A line, or a sentence pair, as the model reads it: tokens, the words they belong to, ids; and what goes together."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rnnsearch.model_folder import ModelFolder
from rnnsearch.text.clean import clean_words
from rnnsearch.text.parts import cut
from rnnsearch.text.side import Encoded, Side, token_words
from rnnsearch.translator.options import Plan

#: Batches read ahead, so that sentences of like length can be put together.
READ_AHEAD = 64
#: Letters of the source x letters of the target that given pairs read ahead may have together: their alignments are
#: held at once, some 200 MB of them at five letters a token. A single pair is aligned whatever its size.
PAIRS_AHEAD = 2**28
#: Most rows x source positions of a batch. The alignment model holds n' numbers for each: 130 MB at the paper's
#: n' = 1000. A single sentence is searched whatever its size.
GRID_CELLS = 2**15
#: Positions that a row counts for at least, because it holds log p of the whole vocabulary too: 250 MB at 30,000 words.
LEAST_POSITIONS = 16


@dataclass(frozen=True)
class Line:
    """A source line as the model reads it, its tokens in parts that are not too long."""

    source: str
    words: list[str]
    word_of: list[int]  # token -> word
    encoded: Encoded
    parts: list[slice]


@dataclass(frozen=True)
class Pair:
    """A source line and its given translation as the model reads them."""

    line: Line
    target: str
    words: list[str]
    word_of: list[int]  # token of the target -> word
    given: Encoded

    @property
    def length(self) -> int:
        """Tokens of the longer side, the sentence end counted; 0 where a side has none, so nothing can be aligned."""
        x, y = len(self.line.encoded.ids), len(self.given.ids)
        return max(x, y) + 1 if x and y else 0


def read_line(source: str, side: Side, limit: int | None) -> Line:
    """A source line in parts of at most `limit` tokens (None: whole). Raises TypeError for what is no str."""
    if not isinstance(source, str):
        raise TypeError(f"a line to translate must be a str, not {source!r}")
    source = _line(source)
    encoded = side.encode(source)
    words, word_of = words_of(source, encoded.tokens)
    return Line(source, words, word_of, encoded, cut(encoded.tokens, word_of, limit or len(encoded.tokens)))


def read_pair(source: str, target: str, folder: ModelFolder) -> Pair:
    """A whole source line and its given translation. Raises TypeError for what is no str."""
    if not isinstance(target, str):
        raise TypeError(f"a given translation must be a str, not {target!r}")
    line, target = read_line(source, folder.source, None), _line(target)
    given = folder.target.encode(target)
    return Pair(line, target, *words_of(target, given.tokens), given)


def pairs_ahead(pairs: Iterable[tuple[str, str]], most: int) -> Iterator[list[tuple[str, str]]]:
    """The pairs, at most `most` at a time, and fewer where they are long (PAIRS_AHEAD)."""
    chunk: list[tuple[str, str]] = []
    letters = 0
    for source, target in pairs:
        chunk.append((source, target))
        letters += len(source) * len(target)
        if len(chunk) == most or letters > PAIRS_AHEAD:
            yield chunk
            chunk, letters = [], 0
    if chunk:
        yield chunk


def batches_of(lengths: Sequence[int], plan: Plan) -> Iterator[list[int]]:
    """Indices of sentences to be searched together: of like length, longest first, bounded by GRID_CELLS."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        positions = max(lengths[batch[0] if batch else index], LEAST_POSITIONS)
        too_large = (len(batch) + 1) * plan.search.beam_size * positions > GRID_CELLS
        if batch and (len(batch) == plan.batch_size or too_large):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def words_of(text: str, tokens: Sequence[str]) -> tuple[list[str], list[int]]:
    """The words of a text, as its spaces separate them, and for each token the word that it belongs to (-1: none)."""
    cleaned, origins = clean_words(text)
    word_of = [origins[word] for word in token_words(tokens, cleaned)] if cleaned else [-1] * len(tokens)
    return list(filter(None, text.split(" "))), word_of


def _line(text: str) -> str:
    """A line as files give it, without its end."""
    return text.removesuffix("\n").removesuffix("\r")
