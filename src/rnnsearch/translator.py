"""`Translator`: the public noun. Text in, `Translation` out, line for line, with the alignment of its words."""

import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, CancelledError, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn, ParamSpec, Self, TypedDict, TypeVar, Unpack, cast, overload

import numpy as np
from numpy.typing import NDArray

from rnnsearch.config import WIDEST_BEAM, SearchSettings, nearest
from rnnsearch.engine import Engine, Precision, open_engine
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

BATCH_SIZE = 16
#: Largest batch that may be asked for: READ_AHEAD times as many lines are held in memory.
LARGEST_BATCH = 10_000
#: More processor threads than any machine has are a slip of the finger.
MOST_THREADS = 1024
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

P = ParamSpec("P")
R = TypeVar("R")


class Options(TypedDict, total=False):
    """How to translate, as keywords: `translator.translate(lines, beam_size=5)`.

    beam_size: width of the beam (default: the model's).
    n_best: translations wanted of each line, at most the beam (1).
    no_unk: never choose the unknown word (False). Models of the presets `paper` and `groundhog` allow it again where
        they find no translation without it.
    replace_unk: put the source token that was looked at most in the place of an unknown word, or its translation where
        the dictionary of the model folder has it (False).
    max_length: longest line in tokens; a longer one is translated in parts (default: the model's).
    batch_size: most sentences searched at once by one thread (16).
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
class _Pair:
    """A source line and its given translation as the model reads them."""

    line: _Line
    target: str
    words: list[str]
    word_of: list[int]  # token of the target -> word
    given: Encoded

    @property
    def length(self) -> int:
        """Tokens of the longer side, the sentence end counted; 0 where a side has none, so nothing can be aligned."""
        x, y = len(self.line.encoded.ids), len(self.given.ids)
        return max(x, y) + 1 if x and y else 0


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


class _Chunk:
    """Lines that are read, searched and written together; its methods may be called in any thread."""

    def __init__(
        self, engine: Engine, plan: _Plan, write: Callable[[_Line, list[list[Hypothesis]]], Translation],
        text: threading.Lock,
    ) -> None:  # fmt: skip
        self._engine, self._plan, self._write, self._text = engine, plan, write, text
        self.lines: list[_Line] = []
        self.of_parts: list[list[list[Hypothesis]]] = []  # line, part -> hypotheses, best first
        self._jobs: list[tuple[int, int]] = []  # every part of every line
        self._written: dict[int, Translation] = {}

    def read(self, sources: Sequence[str], first: int, side: Side) -> list[list[int]]:
        """Read the lines; `first` is the number of the first. Returns what is to be searched together."""
        with self._text:
            self.lines = [_read(source, side, self._plan.max_length) for source in sources]
        _warn_of_parts(self.lines, first, self._plan.max_length)
        self.of_parts = [[[] for _ in line.parts] for line in self.lines]
        self._jobs = [(number, part) for number, line in enumerate(self.lines) for part in range(len(line.parts))]
        return list(_batches([len(self._ids(job)) + 1 for job in range(len(self._jobs))], self._plan))

    def search(self, batch: Sequence[int]) -> None:
        """Search the parts of a batch, and write the lines of which all parts are found now."""
        x, x_mask = pad([self._ids(job) for job in batch])
        plan = self._plan
        found = search(self._engine, x, x_mask, plan.search, n_best=plan.n_best, no_unk=plan.no_unk)
        with self._text:
            for job, hypotheses in zip(batch, found, strict=True):
                number, part = self._jobs[job]
                self.of_parts[number][part] = hypotheses
                if all(self.of_parts[number]):
                    self._written[number] = self._write(self.lines[number], self.of_parts[number])

    def all(self, sources: Sequence[str], first: int, side: Side) -> None:
        """Read, search and write, all in this thread."""
        for batch in self.read(sources, first, side):
            self.search(batch)

    def translations(self) -> list[Translation]:
        """One of each line. An empty line has no parts, so no search has written it."""
        return [self._written.get(number) or self._write(line, []) for number, line in enumerate(self.lines)]

    def _ids(self, job: int) -> Sequence[int]:
        number, part = self._jobs[job]
        line = self.lines[number]
        return line.encoded.ids[line.parts[part]]


class Translator:
    """A model, or an ensemble of models, that translates. One instance may be used from several threads: all work is
    done in some of its own.

    folders: the models; folder: the first of them, whose text codecs and search settings all share.
    """

    def __init__(
        self,
        folder: ModelFolder,
        make_engine: Callable[[], Engine],
        threads: int = 1,
        others: Sequence[ModelFolder] = (),
    ) -> None:
        """`threads`: how many search at once, each a batch of its own; the engine must bear it."""
        self.folder, self.folders = folder, (folder, *others)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="rnnsearch")
        self._text = threading.Lock()  # held by who reads or writes: tokenisers are not made for several threads
        self._dictionary: Mapping[str, str] | None = None  # read when it is first needed
        self._closed = False
        self._engine = self._work(make_engine)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *others: str | Path,
        threads: int | None = None,
        device: str = "cpu",
        precision: Precision = "auto",
    ) -> Self:
        """Open a model folder, or several: their ensemble, of which the probabilities are averaged word by word.

        Raises UserError where one is missing, damaged or of a newer format, and where the models of an ensemble do not
        have the same vocabularies; the first one's settings of the search hold.
        threads: processor threads (default: all that this process may use). device: another one than `cpu` needs
        PyTorch. precision: `float32`, `int8` (a fraction of the time, hardly other translations), or `auto`, the
        fastest that is exact on this processor.
        """
        if threads is not None:
            threads = _integer("threads", threads)
            if not 1 <= threads <= MOST_THREADS:
                raise UserError(f"threads must be from 1 to {MOST_THREADS:,}, not {threads}")
        folders = [ModelFolder.open(Path(each)) for each in (path, *others)]
        for other in folders[1:]:
            folders[0].require_same_text(other)
        at_once = 1 if device != "cpu" else threads or _processors()
        make_engine = partial(open_engine, *folders, device=device, threads=threads, precision=precision)
        return cls(folders[0], make_engine, at_once, folders[1:])

    @overload
    def translate(self, lines: str, **options: Unpack[Options]) -> Translation: ...  # type: ignore[overload-overlap]
    @overload
    def translate(self, lines: Iterable[str], **options: Unpack[Options]) -> Iterator[Translation]: ...
    def translate(self, lines: str | Iterable[str], **options: Unpack[Options]) -> Translation | Iterator[Translation]:
        """Translate one line, or many: one `Translation` each, in order. READ_AHEAD batches are read at a time.

        Keywords: see `Options`; raises UserError for an impossible one, TypeError for one that is unknown or of a wrong
        type. An empty line stays an empty line.
        """
        plan = self._plan(options)
        return self._chunk([lines], 1, plan)[0] if isinstance(lines, str) else self._stream(lines, plan)

    def translate_chunk(self, lines: Sequence[str], first: int = 1, **options: Unpack[Options]) -> list[Translation]:
        """Translate all of `lines` now; `first` is the number of the first one, for warnings."""
        return self._chunk(lines, first, self._plan(options))

    def align(self, source: str, target: str, *, posterior: bool = False) -> Translation:
        """The given `target` as a translation of `source`: its probability and alignment under the model.

        posterior: not where the model looked for each word, but where it must have looked now that the word is known,
        which links words better (`search.beam.force`). Where a side has no text the model is not asked: the rows are
        uniform, and log_p is 0.
        """
        return self._align_chunk([(source, target)], _plan({"beam_size": 1}, self.folder), posterior)[0]

    def align_pairs(
        self, pairs: Iterable[tuple[str, str]], batch_size: int = BATCH_SIZE, *, posterior: bool = False
    ) -> Iterator[Translation]:
        """What `align` says of each (source, target), in order; many at once, on all threads.

        batch_size: most pairs aligned at once by one thread; READ_AHEAD times as many are read at a time. Raises
        UserError or TypeError for an impossible one.
        """
        return self._stream_pairs(pairs, _plan({"beam_size": 1, "batch_size": batch_size}, self.folder), posterior)

    def require_alignment(self) -> None:
        """Raise UserError where a model has no alignment to show."""
        for folder in self.folders:
            folder.require_alignment()

    def close(self) -> None:
        """End the threads and give the model's memory back; not needed at the end of a program."""
        if not self._closed:
            self._work(self._engine.close)
            self._closed = True
            self._pool.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        """Threads and engines cannot be pickled or copied: the TypeError says what to do instead."""
        raise TypeError(
            "a Translator cannot be pickled or copied; load it again where it is needed: "
            f"Translator.load({', '.join(repr(str(folder.path)) for folder in self.folders)})"
        )

    def _work(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        future = self._submit(function, *args, **kwargs)
        _wait([future])
        return future.result()

    def _submit(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        if self._closed:
            raise UserError(f"the translator of {self.folder.path} is closed; load it again")
        return self._pool.submit(function, *args, **kwargs)

    def _plan(self, options: Options) -> _Plan:
        """The options with nothing left open, and the dictionary read if they need it."""
        plan = _plan(options, self.folder)
        if plan.replace_unk and self._dictionary is None:
            self._dictionary = self.folder.dictionary()
        return plan

    def _stream(self, lines: Iterable[str], plan: _Plan) -> Iterator[Translation]:
        left, first = iter(lines), 1
        while chunk := list(islice(left, READ_AHEAD * plan.batch_size)):
            yield from self._chunk(chunk, first, plan)
            first += len(chunk)

    def _stream_pairs(self, pairs: Iterable[tuple[str, str]], plan: _Plan, posterior: bool) -> Iterator[Translation]:
        for chunk in _pairs_ahead(pairs, READ_AHEAD * plan.batch_size):
            yield from self._align_chunk(chunk, plan, posterior)

    def _align_chunk(self, pairs: Sequence[tuple[str, str]], plan: _Plan, posterior: bool) -> list[Translation]:
        """Read, force batch by batch on all threads. Whoever stops waiting (Ctrl-C) stops the threads too."""
        engine = _Stoppable(self._engine)
        try:
            read = self._work(self._read_pairs, pairs)
            asked = [number for number, pair in enumerate(read) if pair.length]
            batches = [[asked[i] for i in batch] for batch in _batches([read[n].length for n in asked], plan)]
            together = [[read[number] for number in batch] for batch in batches]
            forced = [self._submit(self._force, engine, batch, posterior) for batch in together]
            _wait(forced)
            found = {
                number: hypothesis
                for batch, hypotheses in zip(batches, forced, strict=True)
                for number, hypothesis in zip(batch, hypotheses.result(), strict=True)
            }
        finally:
            engine.stopped = True
        return [_aligned(pair, found.get(number)) for number, pair in enumerate(read)]

    def _read_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[_Pair]:
        with self._text:
            return [_read_pair(source, target, self.folder) for source, target in pairs]

    def _force(self, engine: _Stoppable, pairs: Sequence[_Pair], posterior: bool) -> list[Hypothesis]:
        x, y = pad([pair.line.encoded.ids for pair in pairs]), pad([pair.given.ids for pair in pairs])
        return force(cast(Engine, engine), *x, *y, normalise=self.folder.search.normalise, posterior=posterior)

    def _chunk(self, sources: Sequence[str], first: int, plan: _Plan) -> list[Translation]:
        """Read, search batch by batch on all threads, write. Whoever stops waiting (Ctrl-C) stops the searches too."""
        engine = _Stoppable(self._engine)
        chunk = _Chunk(cast(Engine, engine), plan, partial(self._write, plan=plan), self._text)
        try:
            if len(sources) == 1:  # one journey to another thread instead of many
                self._work(chunk.all, sources, first, self.folder.source)
            else:
                batches = self._work(chunk.read, sources, first, self.folder.source)
                searches = [self._submit(chunk.search, batch) for batch in batches]
                _wait(searches)
                for search_of_batch in searches:
                    search_of_batch.result()
        finally:
            engine.stopped = True
        if plan.no_unk:
            _warn_of_unknown(chunk.of_parts, first)
        return chunk.translations()

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
                looked_at = _looked_at(line.encoded.tokens[part], blocks[-1])
                spelled = _replace_unknown(spelled, ids, looked_at, self._dictionary or {})
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


def _wait(futures: Sequence[Future[Any]]) -> None:
    """Wait until all are done, or one has failed. A Ctrl-C just before a wait is only seen after it: none is long."""
    left = set(futures)
    while left:
        done, left = wait(left, timeout=0.2, return_when=FIRST_EXCEPTION)
        if any(future.exception() for future in done):
            return


def _processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _plan(options: Options, folder: ModelFolder) -> _Plan:
    """The options, the model's own settings where they are left open. Raises as `Translator.translate` says."""
    defaults = {"beam_size": folder.search.beam_size, "n_best": 1, "no_unk": False, "replace_unk": False,
                "max_length": folder.max_length, "batch_size": BATCH_SIZE}  # fmt: skip
    for name in options:
        if name not in defaults:
            raise TypeError(f"there is no option {name!r}{nearest(name, defaults)}; there are {', '.join(defaults)}")
    values: dict[str, Any] = defaults | {name: value for name, value in options.items() if value is not None}
    for name in ("beam_size", "n_best", "max_length", "batch_size"):
        values[name] = _integer(name, values[name])
        if values[name] < 1:
            raise UserError(f"{name} must be at least 1, not {values[name]}")
    for name, most in ("beam_size", WIDEST_BEAM), ("batch_size", LARGEST_BATCH):
        if values[name] > most:
            raise UserError(f"{name} must be at most {most}, not {values[name]}")
    beam = values.pop("beam_size")
    if values["n_best"] > beam:
        raise UserError(f"a beam of {beam} cannot hold the {values['n_best']} best; widen it (beam_size, --beam-size)")
    return _Plan(search=folder.search.model_copy(update={"beam_size": beam}), **values)


def _integer(name: str, value: object) -> int:
    """The argument `name` as an int, numpy's integers too. Raises TypeError for all else."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be a whole number, not {value!r}")
    return int(value)


def _read(source: str, side: Side, limit: int | None) -> _Line:
    if not isinstance(source, str):
        raise TypeError(f"a line to translate must be a str, not {source!r}")
    source = _line(source)
    encoded = side.encode(source)
    words, word_of = _words(source, encoded.tokens)
    return _Line(source, words, word_of, encoded, cut(encoded.tokens, word_of, limit or len(encoded.tokens)))


def _read_pair(source: str, target: str, folder: ModelFolder) -> _Pair:
    if not isinstance(target, str):
        raise TypeError(f"a given translation must be a str, not {target!r}")
    line, target = _read(source, folder.source, None), _line(target)
    given = folder.target.encode(target)
    return _Pair(line, target, *_words(target, given.tokens), given)


def _pairs_ahead(pairs: Iterable[tuple[str, str]], most: int) -> Iterator[list[tuple[str, str]]]:
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


def _looked_at(source: Sequence[str], alpha: NDArray[np.float32]) -> list[str]:
    """For each row of alpha [T_y, T_x] (sentence end left out) the source token of the largest weight."""
    return [source[best] for best in alpha.argmax(axis=1).tolist()]


def _replace_unknown(
    tokens: Sequence[str], ids: Sequence[int], looked_at: Sequence[str], dictionary: Mapping[str, str]
) -> list[str]:
    """`tokens` with what they looked at in unknown places, translated where the dictionary has it, else copied."""
    return [
        dictionary.get(source, source) if word == UNK_ID else token
        for token, word, source in zip(tokens, ids, looked_at, strict=True)
    ]


def _translation(
    line: _Line, text: str, words: list[str], tokens: list[str], word_of: list[int], alpha: NDArray[np.float64],
    log_p: float, score: float,
) -> Translation:  # fmt: skip
    alignment = by_words(alpha, word_of, line.word_of, (len(words), len(line.words)))
    return Translation(
        line.source, text, line.words, words, alignment, line.encoded.tokens, tokens, alpha, log_p, score
    )


def _aligned(pair: _Pair, found: Hypothesis | None) -> Translation:
    """A given translation with what the model said of it; `found`: None where there was nothing to ask."""
    alpha, log_p, score = np.zeros((len(pair.given.ids), len(pair.line.encoded.ids))), 0.0, 0.0
    if found is not None:
        alpha, log_p, score = found.alpha[:-1, :-1].astype(np.float64), found.log_p, found.score
    return _translation(pair.line, pair.target, pair.words, pair.given.tokens, pair.word_of, alpha, log_p, score)


def _warn_of_parts(lines: Sequence[_Line], first: int, limit: int) -> None:
    for number, line in enumerate(lines, first):
        if len(line.parts) > 1:
            logger.warning("line %d: %d tokens, over the limit of %d; translated in %d parts",
                           number, len(line.encoded.tokens), limit, len(line.parts))  # fmt: skip


def _warn_of_unknown(lines: Sequence[list[list[Hypothesis]]], first: int) -> None:
    for number, parts in enumerate(lines, first):
        if any(UNK_ID in hypotheses[0].ids for hypotheses in parts):
            logger.warning("line %d: nothing was found without unknown words, so they were allowed", number)
