"""From parallel files to an encoded corpus: clean, drop, hold out, tokenise, count, encode; one report of it all."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from rnnsearch.config import DataSettings
from rnnsearch.errors import UserError
from rnnsearch.files import write_whole
from rnnsearch.text.clean import CleanCounts, clean_line
from rnnsearch.text.corpus import read_pairs
from rnnsearch.text.report import Report, SideReport
from rnnsearch.text.side import Role, Side
from rnnsearch.text.store import EncodedCorpus, EncodedCorpusWriter, Sentences
from rnnsearch.text.tokenise import SubwordTokeniser, Tokeniser, open_tokeniser, train_subwords
from rnnsearch.text.vocabulary import UNK_ID, Vocabulary, count_words, most_frequent
from rnnsearch.text.working import OVERLAP, REPEAT, TRAIN, Pair, WorkingCopy

Tokenisers = tuple[Tokeniser, Tokeniser]
Sides = tuple[Side, Side]

#: without a development set so many pairs are held out, but no more than this share
HELD_OUT_PAIRS, HELD_OUT_SHARE = 1000, 0.05
#: pairs, evenly spread over the text, that subwords are learnt from: this bounds the memory that takes
SUBWORD_SAMPLE = 500_000
_ROLES: tuple[Role, Role] = ("source", "target")


@dataclass(frozen=True)
class CorpusFiles:
    """Where parallel text is (one .tsv or .jsonl, or two files) and how its bytes are read."""

    paths: tuple[Path, ...]
    encoding: str = "utf-8"
    errors: str = "strict"

    def pairs(self, counts: CleanCounts) -> Iterator[Pair]:
        """Cleaned pairs, blank ones too."""
        for source, target in read_pairs(self.paths, encoding=self.encoding, errors=self.errors, counts=counts):
            yield clean_line(source, counts), clean_line(target, counts)

    def fingerprint(self) -> str:
        """sha256 over the files' bytes and how they are read: it differs when the text does. Raises UserError."""
        whole = hashlib.sha256(f"{self.encoding} {self.errors}".encode())
        for path in self.paths:
            try:
                with path.open("rb") as file:
                    whole.update(hashlib.file_digest(file, "sha256").digest())
            except OSError as error:
                raise UserError(f"cannot read {path}: {error.strerror or error}") from None
        return whole.hexdigest()

    def __str__(self) -> str:
        return " and ".join(str(path) for path in self.paths)


@dataclass(frozen=True)
class Prepared:
    """All that training needs of text. `dev_pairs` are cleaned lines; a given development set may hold long ones."""

    sides: Sides
    store: EncodedCorpus
    dev_pairs: list[Pair]
    report: Report

    @classmethod
    def open(cls, folder: Path) -> "Prepared":
        """What `prepare` left in `folder`. Raises UserError where it is missing or damaged."""
        try:
            about = json.loads((folder / "prepared.json").read_text(encoding="utf-8"))
            sides = (Side.load(about["source"], folder), Side.load(about["target"], folder))
            dev_pairs = [(source, target) for source, target in about["development"]]
            report = Report.from_dict(about["report"])
        except OSError as error:
            raise UserError(f"cannot read the prepared text {folder}: {error.strerror or error}") from None
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(
                f"the prepared text {folder} is damaged ({error!r}); start the training anew with --overwrite"
            ) from None
        return cls(sides, EncodedCorpus.open(folder), dev_pairs, report)


def prepare(
    corpus: CorpusFiles,
    dev: CorpusFiles | None,
    settings: DataSettings,
    folder: Path,
    languages: Pair,
    sides: Sides | None,
    seed: int,
) -> Prepared:
    """Read, clean, drop, tokenise and encode `corpus` into `folder` (replaced as a whole, at the end).

    `sides`: the text codecs of a model to go on with, or None to make new ones from this text. Without `dev` a random
    part, fixed by `seed`, is held out. Memory does not grow with the corpus: what does is in files beside `folder`,
    removed at the end. Raises UserError for text that cannot be read, and where no pair is left.
    """
    kind = sides[0].tokeniser.kind if sides else settings.tokeniser
    report = Report(SideReport(languages[0]), SideReport(languages[1]), settings.max_length, kind)
    dev_pairs = _read_dev(dev, report) if dev else None
    try:
        with ExitStack() as stack:
            work = WorkingCopy(folder.with_name(folder.name + ".work"))
            stack.callback(work.remove)
            work.write_lines(_not_blank(corpus, report))
            dev_pairs = _set_apart(work, dev_pairs, corpus, report, seed)
            wanted = _wanted(work, settings, corpus, report)
            tokenisers = _tokenisers(work, wanted, settings, languages) if sides is None else _tokenisers_of(sides)
            work.write_tokens(_not_too_long(work.lines(wanted), tokenisers, report))
            _check_left(report.kept, corpus, report)
            dev_pairs = _short_held_out(dev_pairs, tokenisers, report)
            sides = sides or _new_sides(work, settings, tokenisers, languages)
            writer = stack.enter_context(EncodedCorpusWriter(folder))
            _encode(work, sides, writer, report)
            _describe(writer.partial, sides, dev_pairs, report)
    except OSError as error:
        raise UserError(f"cannot write the prepared text {folder}: {error.strerror or error}") from None
    return Prepared(sides, EncodedCorpus.open(folder), dev_pairs, report)


def _read_dev(dev: CorpusFiles, report: Report) -> list[Pair]:
    pairs = list(dev.pairs(CleanCounts()))
    kept = [(source, target) for source, target in pairs if source and target]
    if not kept:
        raise UserError(f"the development set {dev} has no pair with text on both sides")
    report.dev, report.dev_blank = len(kept), len(pairs) - len(kept)
    return kept


def _not_blank(corpus: CorpusFiles, report: Report) -> Iterator[Pair]:
    for source, target in corpus.pairs(report.counts):
        report.read += 1
        if source and target:
            yield source, target
        else:
            report.blank += 1


def _set_apart(
    work: WorkingCopy, dev_pairs: list[Pair] | None, corpus: CorpusFiles, report: Report, seed: int
) -> list[Pair]:
    """The development set: the one given, whose pairs leave the training text, or one held out of it."""
    if dev_pairs is not None:
        work.exclude(dev_pairs)
        return dev_pairs
    pairs = work.count(TRAIN)
    if pairs == 1:
        raise UserError(f"{corpus} holds only one pair of its own; at least two are needed, or a set given with --dev")
    held_out = min(HELD_OUT_PAIRS, max(1, int(pairs * HELD_OUT_SHARE))) if pairs else 0
    report.held_out = held_out
    return work.hold_out(held_out, seed) if held_out else []


def _wanted(work: WorkingCopy, settings: DataSettings, corpus: CorpusFiles, report: Report) -> set[int]:
    """The fates of pairs that are to be trained on; the others are counted."""
    wanted = {TRAIN, REPEAT} if settings.keep_duplicates else {TRAIN}
    repeats = work.count(REPEAT)
    report.repeated, report.duplicates = (repeats, 0) if settings.keep_duplicates else (0, repeats)
    report.overlap = work.count(OVERLAP)
    _check_left(sum(work.count(fate) for fate in wanted), corpus, report)
    return wanted


def _check_left(pairs: int, corpus: CorpusFiles, report: Report) -> None:
    if pairs == 0:
        dropped = report.dropped()
        raise UserError(f"no pairs are left to train on in {corpus}: read {report.read:,}, dropped {dropped}")


def _tokenisers_of(sides: Sides) -> Tokenisers:
    return sides[0].tokeniser, sides[1].tokeniser


def _tokenisers(work: WorkingCopy, wanted: set[int], settings: DataSettings, languages: Pair) -> Tokenisers:
    if settings.tokeniser == "subword":
        lines = _sample(work.lines(wanted), sum(work.count(fate) for fate in wanted))
        shared = SubwordTokeniser(train_subwords(lines, settings.vocabulary_size))
        return shared, shared
    return open_tokeniser(settings.tokeniser, languages[0]), open_tokeniser(settings.tokeniser, languages[1])


def _sample(pairs: Iterator[Pair], total: int) -> Iterator[str]:
    """Both sides of at most SUBWORD_SAMPLE pairs out of `total`, evenly spread."""
    taken = min(total, SUBWORD_SAMPLE)
    for index, pair in enumerate(pairs):
        if (index + 1) * taken // total > index * taken // total:
            yield from pair


def _not_too_long(
    pairs: Iterator[Pair], tokenisers: Tokenisers, report: Report
) -> Iterator[tuple[list[str], list[str]]]:
    for source, target in pairs:
        tokens = tokenisers[0].tokenise(source), tokenisers[1].tokenise(target)
        if max(map(len, tokens)) <= report.max_length:
            report.kept += 1
            yield tokens
        else:
            report.too_long += 1


def _short_held_out(dev_pairs: list[Pair], tokenisers: Tokenisers, report: Report) -> list[Pair]:
    """`dev_pairs` without those too long where they were held out; a given development set stays as it is."""
    if report.held_out is None:
        return dev_pairs
    short = [
        pair
        for pair in dev_pairs
        if max(len(tokeniser.tokenise(line)) for tokeniser, line in zip(tokenisers, pair, strict=True))
        <= report.max_length
    ]
    report.too_long += len(dev_pairs) - len(short)
    report.held_out = len(short)
    return short


def _new_sides(work: WorkingCopy, settings: DataSettings, tokenisers: Tokenisers, languages: Pair) -> Sides:
    """A side for each language, with the vocabulary of what its training text holds."""
    source, target = (
        Side(
            role,
            languages[side],
            tokenisers[side],
            _vocabulary((tokens for tokens, _ in work.tokens(role)), tokenisers[side], role, settings),
        )
        for side, role in enumerate(_ROLES)
    )
    return source, target


def _vocabulary(lines: Iterator[list[str]], tokeniser: Tokeniser, role: Role, settings: DataSettings) -> Vocabulary:
    """The most frequent words; of subwords, all pieces of the model that occur."""
    counts = count_words(lines)
    if not isinstance(tokeniser, SubwordTokeniser):
        return most_frequent(counts, settings.vocabulary_size, role)
    pieces = Counter({piece: count for piece, count in counts.items() if tokeniser.knows(piece)})
    return most_frequent(pieces, len(pieces) + 2, role)


def _encode(work: WorkingCopy, sides: Sides, writer: EncodedCorpusWriter, report: Report) -> None:
    told = report.source, report.target
    for source, target in zip(*(_sentences(work, *both) for both in zip(sides, told, strict=True)), strict=True):
        writer.extend(source, target)
    for side, codec in zip(told, sides, strict=True):
        side.vocabulary = len(codec.vocabulary)


def _sentences(work: WorkingCopy, codec: Side, told: SideReport) -> Iterator[Sentences]:
    """The ids of one side, some thousand lines at a time, counted in its report."""
    for tokens, lengths in work.tokens(codec.role):
        ids = np.array(codec.vocabulary.ids(tokens), dtype=np.int32)
        told.tokens += len(ids)
        told.known += int(np.count_nonzero(ids != UNK_ID))
        yield ids, lengths


def _describe(folder: Path, sides: Sides, dev_pairs: list[Pair], report: Report) -> None:
    """Put beside the store what `Prepared.open` needs."""
    for name, data in (sides[0].files() | sides[1].files()).items():
        write_whole(folder / name, data)
    about = {
        "source": sides[0].config(),
        "target": sides[1].config(),
        "report": asdict(report),
        "development": dev_pairs,
    }
    write_whole(folder / "prepared.json", json.dumps(about, ensure_ascii=False).encode())
