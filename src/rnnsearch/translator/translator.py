"""`Translator`: the public noun. Text in, `Translation` out, line for line, with the alignment of its words."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn, ParamSpec, Self, TypeVar, Unpack, cast, overload

from rnnsearch.engine import Engine, Precision, open_engine
from rnnsearch.errors import UserError
from rnnsearch.model_folder import ModelFolder
from rnnsearch.search import Hypothesis, force
from rnnsearch.text.batches import pad
from rnnsearch.translator.chunk import Chunk, Stoppable, warn_of_unknown
from rnnsearch.translator.lines import READ_AHEAD, Line, Pair, batches_of, pairs_ahead, read_pair
from rnnsearch.translator.options import BATCH_SIZE, Options, Plan, integer, plan_of
from rnnsearch.translator.translation import Translation, aligned, written

#: More processor threads than any machine has are a slip of the finger.
MOST_THREADS = 1024

P = ParamSpec("P")
R = TypeVar("R")


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
        self._process = os.getpid()
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
            threads = integer("threads", threads)
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
        return self._align_chunk([(source, target)], plan_of({"beam_size": 1}, self.folder), posterior)[0]

    def align_pairs(
        self, pairs: Iterable[tuple[str, str]], batch_size: int = BATCH_SIZE, *, posterior: bool = False
    ) -> Iterator[Translation]:
        """What `align` says of each (source, target), in order; many at once, on all threads.

        batch_size: most pairs aligned at once by one thread; READ_AHEAD times as many are read at a time. Raises
        UserError or TypeError for an impossible one.
        """
        return self._stream_pairs(pairs, plan_of({"beam_size": 1, "batch_size": batch_size}, self.folder), posterior)

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
        raise TypeError(f"a Translator cannot be pickled or copied; {self._how_to_load()}")

    def _how_to_load(self) -> str:
        paths = ", ".join(repr(str(folder.path)) for folder in self.folders)
        return f"load it again where it is needed: Translator.load({paths})"

    def _work(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        future = self._submit(function, *args, **kwargs)
        _wait([future])
        return future.result()

    def _submit(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        if self._closed:
            raise UserError(f"the translator of {self.folder.path} is closed; load it again")
        if self._process != os.getpid():  # a fork takes no threads along: it would wait for ever
            raise UserError(f"the translator of {self.folder.path} belongs to another process; {self._how_to_load()}")
        return self._pool.submit(function, *args, **kwargs)

    def _plan(self, options: Options) -> Plan:
        """The options with nothing left open, and the dictionary read if they need it."""
        plan = plan_of(options, self.folder)
        if plan.replace_unk and self._dictionary is None:
            self._dictionary = self.folder.dictionary()
        return plan

    def _stream(self, lines: Iterable[str], plan: Plan) -> Iterator[Translation]:
        left, first = iter(lines), 1
        while chunk := list(islice(left, READ_AHEAD * plan.batch_size)):
            yield from self._chunk(chunk, first, plan)
            first += len(chunk)

    def _stream_pairs(self, pairs: Iterable[tuple[str, str]], plan: Plan, posterior: bool) -> Iterator[Translation]:
        for chunk in pairs_ahead(pairs, READ_AHEAD * plan.batch_size):
            yield from self._align_chunk(chunk, plan, posterior)

    def _align_chunk(self, pairs: Sequence[tuple[str, str]], plan: Plan, posterior: bool) -> list[Translation]:
        """Read, force batch by batch on all threads. Whoever stops waiting (Ctrl-C) stops the threads too."""
        engine = Stoppable(self._engine)
        try:
            read = self._work(self._read_pairs, pairs)
            asked = [number for number, pair in enumerate(read) if pair.length]
            batches = [[asked[i] for i in batch] for batch in batches_of([read[n].length for n in asked], plan)]
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
        return [aligned(pair, found.get(number)) for number, pair in enumerate(read)]

    def _read_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[Pair]:
        with self._text:
            return [read_pair(source, target, self.folder) for source, target in pairs]

    def _force(self, engine: Stoppable, pairs: Sequence[Pair], posterior: bool) -> list[Hypothesis]:
        x, y = pad([pair.line.encoded.ids for pair in pairs]), pad([pair.given.ids for pair in pairs])
        return force(cast(Engine, engine), *x, *y, normalise=self.folder.search.normalise, posterior=posterior)

    def _chunk(self, sources: Sequence[str], first: int, plan: Plan) -> list[Translation]:
        """Read, search batch by batch on all threads, write. Whoever stops waiting (Ctrl-C) stops the searches too."""
        engine = Stoppable(self._engine)
        chunk = Chunk(cast(Engine, engine), plan, partial(self._written, plan), self._text)
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
            warn_of_unknown(chunk.of_parts, first)
        return chunk.translations()

    def _written(self, plan: Plan, line: Line, of_parts: list[list[Hypothesis]]) -> Translation:
        return written(line, of_parts, plan, self.folder.target, self._dictionary or {})


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
