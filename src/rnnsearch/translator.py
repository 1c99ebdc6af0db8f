"""`Translator`: the public noun. Text in, `Translation` out, line for line, with the alignment of its words."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, ParamSpec, Self, TypedDict, TypeVar, Unpack, cast, overload

import numpy as np
from numpy.typing import NDArray

from rnnsearch.config import WIDEST_BEAM, SearchSettings
from rnnsearch.engine import Engine, open_engine
from rnnsearch.errors import UserError
from rnnsearch.model_folder import ModelFolder
from rnnsearch.search import Hypothesis, force, search
from rnnsearch.search.alignment import block_diagonal, by_words
from rnnsearch.text.batches import pad
from rnnsearch.text.clean import clean_words
from rnnsearch.text.parts import cut
from rnnsearch.text.side import Encoded, Side, token_words
from rnnsearch.text.vocabulary import UNK_ID

logger = logging.getLogger("rnnsearch")

BATCH_SIZE = 32
#: More processor threads than any machine has are a slip of the finger.
MOST_THREADS = 1024
#: Batches read ahead, so that sentences of like length can be put together.
READ_AHEAD = 8
#: Most rows x source positions of a batch. The alignment model holds n' numbers for each: 130 MB at the paper's
#: n' = 1000. A single sentence is searched whatever its size.
GRID_CELLS = 2**15
#: Positions that a row counts for at least, because it holds log p of the whole vocabulary too: 250 MB at 30,000 words.
LEAST_POSITIONS = 16

P = ParamSpec("P")
R = TypeVar("R")


class Options(TypedDict, total=False):
    """How to translate, as keywords: `translator.translate(lines, beam_size=5)`.

    beam_size: width of the beam (default: the model's).
    n_best: translations wanted of each line, at most the beam (1).
    no_unk: never choose the unknown word (False). Models of the presets `paper` and `groundhog` allow it again where
        they find no translation without it.
    replace_unk: put the source token that was looked at most in the place of an unknown word (False).
    max_length: longest line in tokens; a longer one is translated in parts (default: the model's).
    batch_size: most sentences searched at once (32).
    """

    beam_size: int | None
    n_best: int
    no_unk: bool
    replace_unk: bool
    max_length: int | None
    batch_size: int


@dataclass(frozen=True, eq=False)
class Translation:
    """A line and its translation; draws its alignment in a notebook.

    words, source_words: what stands between the spaces of `text` and of `source`, as printed and as given.
    alignment: float64 [words, source words], rows sum to 1; how it is made from tokens: search/alignment.py.
    tokens, source_tokens: as the model writes and reads them; token_alignment: float64 [tokens, source tokens], what a
        row lacks to 1 went to the sentence end.
    log_p: natural logarithm of the probability; score: what it was ranked by, log_p / length or log_p.
    n_best: the best translations, best first, this one too; empty unless more than one was asked for.
    """

    source: str
    text: str
    source_words: list[str]
    words: list[str]
    alignment: NDArray[np.float64] = field(repr=False)
    source_tokens: list[str] = field(repr=False)
    tokens: list[str] = field(repr=False)
    token_alignment: NDArray[np.float64] = field(repr=False)
    log_p: float
    score: float
    n_best: list["Translation"] = field(default_factory=list, repr=False)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from rnnsearch.evaluation import heatmap

        return heatmap.html([(self.text, self.words, self.source_words, self.alignment)])


@dataclass(frozen=True)
class _Line:
    """A source line as the model reads it, its tokens in parts that are not too long."""

    source: str
    words: list[str]
    word_of: list[int]  # token -> word
    encoded: Encoded
    parts: list[slice]


@dataclass(frozen=True)
class _Plan:
    """`Options` with nothing left open."""

    search: SearchSettings
    n_best: int
    no_unk: bool
    replace_unk: bool
    max_length: int
    batch_size: int


class _Stoppable:
    """An engine that takes no further step once `stopped` is set, from whichever thread."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.stopped = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def step(self, *args: Any) -> Any:
        if self.stopped:
            raise CancelledError
        return self._engine.step(*args)


class Translator:
    """A model that translates. One instance may be used from several threads: all work is done in one of its own."""

    def __init__(self, folder: ModelFolder, make_engine: Callable[[], Engine]) -> None:
        self.folder = folder
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="rnnsearch")
        self._engine = self._work(make_engine)
        self._closed = False

    @classmethod
    def load(cls, path: str | Path, *, threads: int | None = None, device: str = "cpu") -> Self:
        """Open a model folder. Raises UserError where it is missing, damaged or of a newer format."""
        if threads is not None and not 1 <= threads <= MOST_THREADS:
            raise UserError(f"threads must be from 1 to {MOST_THREADS:,}, not {threads}")
        folder = ModelFolder.open(Path(path))
        return cls(folder, partial(open_engine, folder, device=device, threads=threads))

    @overload
    def translate(self, lines: str, **options: Unpack[Options]) -> Translation: ...  # type: ignore[overload-overlap]
    @overload
    def translate(self, lines: Iterable[str], **options: Unpack[Options]) -> Iterator[Translation]: ...
    def translate(self, lines: str | Iterable[str], **options: Unpack[Options]) -> Translation | Iterator[Translation]:
        """Translate one line, or many: one `Translation` each, in order. READ_AHEAD batches are read at a time.

        Keywords: see `Options`; raises UserError for an impossible one. An empty line stays an empty line.
        """
        plan = _plan(options, self.folder)
        return self._chunk([lines], 1, plan)[0] if isinstance(lines, str) else self._stream(lines, plan)

    def translate_chunk(self, lines: Sequence[str], first: int = 1, **options: Unpack[Options]) -> list[Translation]:
        """Translate all of `lines` now; `first` is the number of the first one, for warnings."""
        return self._chunk(lines, first, _plan(options, self.folder))

    def align(self, source: str, target: str) -> Translation:
        """The given `target` as a translation of `source`: its probability and alignment under the model."""
        return self._work(self._align, source, target)

    def close(self) -> None:
        """End the worker thread and give the model's memory back; not needed at the end of a program."""
        if not self._closed:
            self._closed = True
            self._work(self._engine.close)
            self._worker.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _work(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        future = self._worker.submit(function, *args, **kwargs)
        # A Ctrl-C that comes just before a wait is only seen after it, so no wait is long.
        while not wait([future], timeout=0.2).done:
            pass
        return future.result()

    def _stream(self, lines: Iterable[str], plan: _Plan) -> Iterator[Translation]:
        left, first = iter(lines), 1
        while chunk := list(islice(left, READ_AHEAD * plan.batch_size)):
            yield from self._chunk(chunk, first, plan)
            first += len(chunk)

    def _chunk(self, sources: Sequence[str], first: int, plan: _Plan) -> list[Translation]:
        """Read, search batch by batch (so that threads take turns), and write."""
        lines = self._work(lambda: [_read(source, self.folder.source, plan.max_length) for source in sources])
        _warn_of_parts(lines, first, plan.max_length)
        jobs = [line.encoded.ids[part] for line in lines for part in line.parts]
        found: dict[int, list[Hypothesis]] = {}
        for batch in _batches([len(ids) + 1 for ids in jobs], plan):
            x, x_mask = pad([jobs[job] for job in batch])
            found.update(zip(batch, self._search(x, x_mask, plan), strict=True))
        in_order = (found[job] for job in range(len(jobs)))
        of_parts = [[next(in_order) for _ in line.parts] for line in lines]
        if plan.no_unk:
            _warn_of_unknown(of_parts, first)
        return self._work(lambda: [self._write(*pair, plan) for pair in zip(lines, of_parts, strict=True)])

    def _search(self, x: NDArray[np.int64], x_mask: NDArray[np.bool_], plan: _Plan) -> list[list[Hypothesis]]:
        """Search in the worker; whoever stops waiting for it (Ctrl-C) stops it too, at its next step."""
        engine = _Stoppable(self._engine)
        try:
            return self._work(
                search, cast(Engine, engine), x, x_mask, plan.search, n_best=plan.n_best, no_unk=plan.no_unk
            )
        finally:
            engine.stopped = True

    def _write(self, line: _Line, of_parts: list[list[Hypothesis]], plan: _Plan) -> Translation:
        """The best translation of a line, with the others if asked for: the k-th best of all its parts together."""
        choices = [
            [hypotheses[min(k, len(hypotheses) - 1)] for hypotheses in of_parts]
            for k in range(max(map(len, of_parts), default=1))
        ]
        ranked = sorted((self._join(line, choice, plan) for choice in choices), key=lambda t: -t.score)
        return replace(ranked[0], n_best=ranked) if plan.n_best > 1 else ranked[0]

    def _join(self, line: _Line, choice: list[Hypothesis], plan: _Plan) -> Translation:
        """One hypothesis of each part, put together: texts joined by a space, alignments block by block."""
        texts: list[str] = []
        tokens: list[str] = []
        words: list[str] = []
        word_of: list[int] = []
        blocks = []
        for part, hypothesis in zip(line.parts, choice, strict=True):
            ids = hypothesis.ids[:-1] if hypothesis.finished else hypothesis.ids
            blocks.append(hypothesis.alpha[: len(ids), :-1])
            spelled = self.folder.target.vocabulary.tokens(ids)
            if plan.replace_unk:
                spelled = _replace_unknown(spelled, ids, line.encoded.tokens[part], blocks[-1])
            texts.append(self.folder.target.decode(spelled) if spelled else "")
            part_words, part_word_of = _words(texts[-1], spelled)
            word_of += [-1 if word < 0 else len(words) + word for word in part_word_of]
            words += part_words
            tokens += spelled
        log_p = sum(hypothesis.log_p for hypothesis in choice)
        length = sum(len(hypothesis.ids) for hypothesis in choice) if plan.search.normalise else 1
        score = log_p / max(length, 1)
        text = " ".join(filter(None, texts))
        return _translation(line, text, words, tokens, word_of, block_diagonal(blocks), log_p, score)

    def _align(self, source: str, target: str) -> Translation:
        line, target = _read(source, self.folder.source, None), _line(target)
        given = self.folder.target.encode(target)
        words, word_of = _words(target, given.tokens)
        alpha, log_p, score = np.zeros((len(given.ids), len(line.encoded.ids))), 0.0, 0.0
        if alpha.size:
            x, y = pad([line.encoded.ids]), pad([given.ids])
            (found,) = force(self._engine, *x, *y, normalise=self.folder.search.normalise)
            alpha, log_p, score = found.alpha[:-1, :-1].astype(np.float64), found.log_p, found.score
        return _translation(line, target, words, given.tokens, word_of, alpha, log_p, score)


def _plan(options: Options, folder: ModelFolder) -> _Plan:
    """The options, the model's own settings where they are left open. Raises UserError for an impossible one."""
    defaults = {"beam_size": folder.search.beam_size, "n_best": 1, "no_unk": False, "replace_unk": False,
                "max_length": folder.max_length, "batch_size": BATCH_SIZE}  # fmt: skip
    values: dict[str, Any] = defaults | {name: value for name, value in options.items() if value is not None}
    for name in ("beam_size", "n_best", "max_length", "batch_size"):
        if values[name] < 1:
            raise UserError(f"{name} must be at least 1, not {values[name]}")
    beam = values.pop("beam_size")
    if beam > WIDEST_BEAM:
        raise UserError(f"beam_size must be at most {WIDEST_BEAM}, not {beam}")
    if values["n_best"] > beam:
        raise UserError(f"a beam of {beam} cannot hold the {values['n_best']} best; widen it (beam_size, --beam-size)")
    return _Plan(search=folder.search.model_copy(update={"beam_size": beam}), **values)


def _read(source: str, side: Side, limit: int | None) -> _Line:
    if not isinstance(source, str):
        raise TypeError(f"a line to translate must be a str, not {source!r}")
    source = _line(source)
    encoded = side.encode(source)
    words, word_of = _words(source, encoded.tokens)
    return _Line(source, words, word_of, encoded, cut(encoded.tokens, word_of, limit or len(encoded.tokens)))


def _line(text: str) -> str:
    """A line as files give it, without its end."""
    return text.removesuffix("\n").removesuffix("\r")


def _words(text: str, tokens: Sequence[str]) -> tuple[list[str], list[int]]:
    """The words of a text, as its spaces separate them, and for each token the word that it belongs to (-1: none)."""
    cleaned, origins = clean_words(text)
    word_of = [origins[word] for word in token_words(tokens, cleaned)] if cleaned else [-1] * len(tokens)
    return list(filter(None, text.split(" "))), word_of


def _batches(lengths: Sequence[int], plan: _Plan) -> Iterator[list[int]]:
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


def _replace_unknown(
    tokens: list[str], ids: Sequence[int], source: Sequence[str], alpha: NDArray[np.float32]
) -> list[str]:
    """`tokens` with the source token of the largest alpha [T_y, T_x] (sentence end left out) in unknown places."""
    return [
        source[int(alpha[i].argmax())] if word == UNK_ID else token
        for i, (token, word) in enumerate(zip(tokens, ids, strict=True))
    ]


def _translation(
    line: _Line, text: str, words: list[str], tokens: list[str], word_of: list[int], alpha: NDArray[np.float64],
    log_p: float, score: float,
) -> Translation:  # fmt: skip
    alignment = by_words(alpha, word_of, line.word_of, (len(words), len(line.words)))
    return Translation(
        line.source, text, line.words, words, alignment, line.encoded.tokens, tokens, alpha, log_p, score
    )


def _warn_of_parts(lines: Sequence[_Line], first: int, limit: int) -> None:
    for number, line in enumerate(lines, first):
        if len(line.parts) > 1:
            logger.warning("line %d: %d tokens, over the limit of %d; translated in %d parts",
                           number, len(line.encoded.tokens), limit, len(line.parts))  # fmt: skip


def _warn_of_unknown(lines: Sequence[list[list[Hypothesis]]], first: int) -> None:
    for number, parts in enumerate(lines, first):
        if any(UNK_ID in hypotheses[0].ids for hypotheses in parts):
            logger.warning("line %d: nothing was found without unknown words, so they were allowed", number)
