"""From parallel files to an encoded corpus: clean, drop, hold out, tokenise, count, encode; one report of it all."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import product, repeat, zip_longest
from pathlib import Path

import numpy as np

from rnnsearch.config import DataSettings
from rnnsearch.errors import UserError
from rnnsearch.files import write_whole
from rnnsearch.text.clean import CleanCounts, clean_line, clean_words
from rnnsearch.text.corpus import read_pairs
from rnnsearch.text.links import Link, pharaoh, read_links
from rnnsearch.text.report import Report, SideReport
from rnnsearch.text.side import Role, Side, token_words
from rnnsearch.text.store import EncodedCorpus, EncodedCorpusWriter, Sentences, TokenLinks
from rnnsearch.text.tokenise import SubwordTokeniser, Tokeniser, open_tokeniser, train_subwords
from rnnsearch.text.vocabulary import UNK_ID, Vocabulary, count_words, most_frequent
from rnnsearch.text.working import OVERLAP, REPEAT, TRAIN, Pair, Row, WorkingCopy

Tokenisers = tuple[Tokeniser, Tokeniser]
Sides = tuple[Side, Side]

#: without a development set so many pairs are held out, but no more than this share
HELD_OUT_PAIRS, HELD_OUT_SHARE = 1000, 0.05
#: words of a vocabulary where no other number is asked for: the paper's
WORDS = 30_000
#: pairs, evenly spread over the text, that subwords are learnt from: this bounds the memory that takes
SUBWORD_SAMPLE = 500_000
_ROLES: tuple[Role, Role] = ("source", "target")


@dataclass(frozen=True)
class CorpusFiles:
    """Where parallel text is (one .tsv or .jsonl, or two files) and how its bytes are read.

    links: a file with the links of the words of each pair, as spaces separate them in the text as given (Pharaoh's
    form, counted from 0; a possible link counts as a sure one).
    """

    paths: tuple[Path, ...]
    encoding: str = "utf-8"
    errors: str = "strict"
    links: Path | None = None

    def rows(self, counts: CleanCounts) -> Iterator[Row]:
        """Cleaned pairs, blank ones too, and the links of their words."""
        lines = read_pairs(self.paths, encoding=self.encoding, errors=self.errors, counts=counts)
        rows = ((*pair, "") for pair in lines) if self.links is None else self._linked(lines, self.links)
        for source, target, links in rows:
            yield clean_line(source, counts), clean_line(target, counts), links

    def _linked(self, lines: Iterator[Pair], path: Path) -> Iterator[Row]:
        """Pairs as given, each with the links of what will be its words once it is cleaned."""
        found = read_links(path, form="pharaoh")
        for number, (pair, links) in enumerate(zip_longest(lines, found), start=1):
            if pair is None or links is None:
                more = number + sum(1 for _ in (lines if links is None else found))
                pairs, linked = (more, number - 1) if links is None else (number - 1, more)
                raise UserError(
                    f"{path} has {linked:,} lines and {self} {pairs:,} pairs: a line of links is needed for each pair"
                )
            yield *pair, _of_cleaned(links.possible, pair, f"{path}, line {number}")

    def fingerprint(self) -> str:
        """sha256 over the files' bytes and how they are read: it differs when the text does. Raises UserError."""
        whole = hashlib.sha256(f"{self.encoding} {self.errors}".encode())
        for path in self.paths if self.links is None else (*self.paths, self.links):
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
    report.links = None if corpus.links is None else 0
    dev_pairs = _read_dev(dev, report) if dev else None
    try:
        with ExitStack() as stack:
            linked = corpus.links is not None
            work = WorkingCopy(folder.with_name(folder.name + ".work"), linked=linked)
            stack.callback(work.remove)
            work.write_lines(_not_blank(corpus, report))
            dev_pairs = _set_apart(work, dev_pairs, corpus, report, seed)
            wanted = _wanted(work, settings, corpus, report)
            tokenisers = _tokenisers(work, wanted, settings, languages) if sides is None else _tokenisers_of(sides)
            work.write_tokens(_not_too_long(work.lines(wanted), tokenisers, report))
            _check_left(report.kept, corpus, report)
            dev_pairs = _short_held_out(dev_pairs, tokenisers, report)
            sides = sides or _new_sides(work, settings, tokenisers, languages)
            writer = stack.enter_context(EncodedCorpusWriter(folder, linked=linked))
            _encode(work, sides, writer, report)
            _describe(writer.partial, sides, dev_pairs, report)
    except OSError as error:
        raise UserError(f"cannot write the prepared text {folder}: {error.strerror or error}") from None
    return Prepared(sides, EncodedCorpus.open(folder), dev_pairs, report)


def _read_dev(dev: CorpusFiles, report: Report) -> list[Pair]:
    pairs = list(dev.rows(CleanCounts()))
    kept = [(source, target) for source, target, _ in pairs if source and target]
    if not kept:
        raise UserError(f"the development set {dev} has no pair with text on both sides")
    report.dev, report.dev_blank = len(kept), len(pairs) - len(kept)
    return kept


def _not_blank(corpus: CorpusFiles, report: Report) -> Iterator[Row]:
    for row in corpus.rows(report.counts):
        report.read += 1
        if row[0] and row[1]:
            yield row
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


def _sample(rows: Iterator[Row], total: int) -> Iterator[str]:
    """Both sides of at most SUBWORD_SAMPLE pairs out of `total`, evenly spread."""
    taken = min(total, SUBWORD_SAMPLE)
    for index, (source, target, _) in enumerate(rows):
        if (index + 1) * taken // total > index * taken // total:
            yield from (source, target)


def _not_too_long(
    rows: Iterator[Row], tokenisers: Tokenisers, report: Report
) -> Iterator[tuple[list[str], list[str], str]]:
    for source, target, links in rows:
        tokens = tokenisers[0].tokenise(source), tokenisers[1].tokenise(target)
        if max(map(len, tokens)) <= report.max_length:
            report.kept += 1
            yield *tokens, "" if report.links is None else _of_tokens(links, (source, target), tokens, report)
        else:
            report.too_long += 1


def _of_cleaned(links: Iterable[Link], pair: Pair, where: str) -> str:
    """Links of the words of a pair as given, as links of its words once it is cleaned. Raises UserError."""
    given = [len(list(filter(None, line.split(" ")))) for line in pair]
    for link in links:
        for side, word, words in zip(_ROLES, link, given, strict=True):
            if word >= words:
                raise UserError(
                    f"{where}: {link[0]}-{link[1]} links word {word} of the {side}, which has {words:,} words there, "
                    "counted from 0"
                )
    places = [_places(clean_words(line)[1], words) for line, words in zip(pair, given, strict=True)]
    return pharaoh(_carried(links, places))


def _of_tokens(links: str, pair: Pair, tokens: tuple[list[str], list[str]], report: Report) -> str:
    """Links of the words of a cleaned pair, counted in the report, as links of its tokens."""
    pairs = [(int(source), int(target)) for source, target in (link.split("-") for link in links.split())]
    report.links = (report.links or 0) + len(pairs)
    report.unlinked += not pairs
    words = [line.split(" ") for line in pair]
    places = [_places(token_words(t, w), len(w)) for t, w in zip(tokens, words, strict=True)]
    return pharaoh(_carried(pairs, places))


def _places(owners: Sequence[int], count: int) -> list[list[int]]:
    """For each of `count` words the places of what belongs to it."""
    places: list[list[int]] = [[] for _ in range(count)]
    for place, owner in enumerate(owners):
        places[owner].append(place)
    return places


def _carried(links: Iterable[Link], places: Sequence[Sequence[Sequence[int]]]) -> Iterator[Link]:
    """Links of all that belongs to a word with all that belongs to the word that it is linked to."""
    return ((x, y) for source, target in links for x, y in product(places[0][source], places[1][target]))


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
        return most_frequent(counts, settings.vocabulary_size or min(WORDS, len(counts) + 2), role)
    pieces = Counter({piece: count for piece, count in counts.items() if tokeniser.knows(piece)})
    return most_frequent(pieces, len(pieces) + 2, role)


def _encode(work: WorkingCopy, sides: Sides, writer: EncodedCorpusWriter, report: Report) -> None:
    told = report.source, report.target
    columns = [_sentences(work, *both) for both in zip(sides, told, strict=True)]
    links: Iterator[TokenLinks | None] = repeat(None) if report.links is None else work.links()
    for source, target in zip(*columns, strict=True):
        writer.extend(source, target, next(links))
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
