"""From files to an encoded corpus: what is dropped and told, what is held out, coverage, bounded memory, errors."""

import logging
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rnnsearch.config import DataSettings
from rnnsearch.errors import UserError
from rnnsearch.text import prepare as room
from rnnsearch.text import working
from rnnsearch.text.duplicates import pair_hash, repeats
from rnnsearch.text.prepare import CorpusFiles, Prepared, prepare
from rnnsearch.text.report import Report, SideReport
from rnnsearch.text.vocabulary import UNK_ID

Pair = tuple[str, str]


def corpus(folder: Path, pairs: list[Pair], name: str = "train") -> CorpusFiles:
    folder.mkdir(exist_ok=True)
    for side, language in enumerate(("en", "fr")):
        (folder / f"{name}.{language}").write_text(
            "".join(p[side] + "\n" for p in pairs), encoding="utf-8", newline="\n"
        )
    return CorpusFiles((folder / f"{name}.en", folder / f"{name}.fr"))


def run(folder: Path, files: CorpusFiles, dev: CorpusFiles | None = None, **given: Any) -> Prepared:
    sides, seed = given.pop("sides", None), given.pop("seed", 1)
    data = DataSettings(**({"tokeniser": "none", "vocabulary_size": 1000} | given))
    return prepare(files, dev, data, folder / "corpus", ("en", "fr"), sides, seed)


def texts(prepared: Prepared) -> list[Pair]:
    """What the store holds, as text."""
    source, target = prepared.sides
    return [
        (source.decode(source.vocabulary.tokens(x.tolist())), target.decode(target.vocabulary.tokens(y.tolist())))
        for x, y in map(prepared.store.pair, range(len(prepared.store)))
    ]


def numbered(count: int) -> list[Pair]:
    return [(f"a man sees {i} cats", f"un homme voit {i} chats") for i in range(count)]


DEV = [("dev one", "dev un"), ("dev two", "dev deux")]
MESSY: list[Pair] = [
    ("a b", "x y"),
    ("", "orphan"),
    ("\u200b\u00a0", "invisible"),
    ("widow", " "),
    ("", ""),
    ("a\u00a0b", "x y"),  # the first pair again, once cleaned
    ("a b", "other"),
    ("1 2 3 4 5 6", "x"),
    ("x", "1 2 3 4 5 6"),
    ("1 2 3 4 5", "5 4 3 2 1"),
    ("dev two", "dev deux"),
    ("dev two", "not the same"),
    ("a b", "x y"),
]


def test_pairs_are_dropped_for_their_reasons_and_told(tmp_path: Path) -> None:
    prepared = run(tmp_path, corpus(tmp_path, MESSY), corpus(tmp_path, [*DEV, ("", "x")], "dev"), max_length=5)
    kept = [("a b", "x y"), ("a b", "other"), ("1 2 3 4 5", "5 4 3 2 1"), ("dev two", "not the same")]
    assert texts(prepared) == kept
    assert prepared.dev_pairs == DEV
    assert prepared.report.lines() == [
        "read 13 pairs; kept 4 (30.77 %); dropped 9: 4 blank on one side or both, 2 longer than 5 tokens, "
        "2 duplicates, 1 also in the development set",
        "4 pairs are few: expect little of new sentences; with 10,000 and more it begins to be of use",
        "characters: 2 no-break spaces, tabs and the like became spaces; "
        "1 control and zero-width characters were removed",
        "development set: 2 pairs; dropped 1 blank on one side or both",
        "source (en): 11 tokens; a vocabulary of 11 (none) covers 100 % of them",
        "target (fr): 11 tokens; a vocabulary of 13 (none) covers 100 % of them",
    ]
    told = prepared.report.as_dict()
    assert (told["read"], told["blank"], told["duplicates"], told["overlap"], told["kept"]) == (13, 4, 2, 1, 4)


def test_duplicates_may_be_kept_and_are_counted(tmp_path: Path) -> None:
    prepared = run(tmp_path, corpus(tmp_path, MESSY), corpus(tmp_path, DEV, "dev"), max_length=5, keep_duplicates=True)
    assert texts(prepared).count(("a b", "x y")) == 3
    assert (prepared.report.duplicates, prepared.report.repeated) == (0, 2)
    assert "of the pairs kept, 2 repeat an earlier one" in prepared.report.lines()


def test_a_byte_order_mark_and_carriage_returns_reach_no_token(tmp_path: Path) -> None:
    lines = [b"Hello\tBonjour", b"Yes\tOui", b"Yes yes\tOui"]
    (tmp_path / "a.tsv").write_bytes(b"\xef\xbb\xbf" + b"\r\n".join(lines) + b"\r\n")
    for kind in ("moses", "subword", "none"):
        prepared = run(tmp_path, CorpusFiles((tmp_path / "a.tsv",)), corpus(tmp_path, DEV, "dev"), tokeniser=kind)
        assert texts(prepared) == [("Hello", "Bonjour"), ("Yes", "Oui"), ("Yes yes", "Oui")]
        spelled = "".join(word for side in prepared.sides for word in side.vocabulary.words)
        assert not {"\ufeff", "\r"} & set(spelled)
        assert [line for line in prepared.report.lines() if "CR" in line] == [
            "characters: 3 lines ended in CR LF and were read without the CR"
        ]


@pytest.mark.parametrize("keep_duplicates", [False, True])
def test_without_a_development_set_a_part_is_held_out(tmp_path: Path, keep_duplicates: bool) -> None:
    pairs = numbered(400) + numbered(50)
    prepared = run(tmp_path, corpus(tmp_path, pairs), keep_duplicates=keep_duplicates)
    held_out, trained = set(prepared.dev_pairs), texts(prepared)
    assert len(prepared.dev_pairs) == len(held_out) == prepared.report.held_out == 20
    assert not held_out & set(trained)
    assert held_out | set(trained) == set(pairs)
    assert len(trained) == prepared.report.kept
    report = prepared.report
    assert report.read == report.kept + 20 + report.duplicates + report.overlap
    assert (len(trained) > len(set(trained))) == keep_duplicates
    assert "no development set was given: 20 pairs of the training text, drawn at random, are held out to be one" in (
        report.lines()
    )
    assert "held out 20; dropped" in report.lines()[0]


def test_what_is_held_out_hangs_on_the_seed_alone(tmp_path: Path) -> None:
    files = corpus(tmp_path, numbered(300))
    one, same, other = (run(tmp_path, files, seed=seed) for seed in (1, 1, 2))
    assert one.dev_pairs == same.dev_pairs != other.dev_pairs
    assert one.store.fingerprint == same.store.fingerprint != other.store.fingerprint
    places = [int(source.split()[3]) for source, _ in one.dev_pairs + other.dev_pairs]
    assert min(places) < 100
    assert max(places) > 200


def test_no_more_than_a_thousand_are_held_out_and_none_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "HELD_OUT_PAIRS", 10)
    assert len(run(tmp_path, corpus(tmp_path, numbered(400))).dev_pairs) == 10
    mixed = [(source if i % 2 else "very " * 20 + source, target) for i, (source, target) in enumerate(numbered(400))]
    prepared = run(tmp_path, corpus(tmp_path, mixed), max_length=5)
    assert 0 < len(prepared.dev_pairs) < 10
    assert all("very" not in source for source, _ in prepared.dev_pairs)
    assert prepared.report.kept + prepared.report.too_long + len(prepared.dev_pairs) == 400


@pytest.mark.parametrize(
    ("pairs", "dev", "message"),
    [
        ([], None, "no pairs are left to train on in .*train.en and .*train.fr: read 0, dropped none"),
        ([("", "x")] * 3, DEV, "read 3, dropped 3: 3 blank"),
        (DEV, DEV, "read 2, dropped 2: 2 also in the development set"),
        ([("a " * 200, "b")], DEV, "dropped 1: 1 longer than 100 tokens"),
        ([("a", "b")] * 9, None, "only one pair of its own"),
        (DEV, [("x", "")], "the development set .*dev.en and .*dev.fr has no pair with text on both sides"),
    ],
)
@pytest.mark.parametrize("kind", ["subword", "moses"])
def test_a_corpus_without_use_is_refused(
    tmp_path: Path, kind: str, pairs: list[Pair], dev: list[Pair] | None, message: str
) -> None:
    files = corpus(tmp_path, pairs)
    development = None if dev is None else corpus(tmp_path, dev, "dev")
    with pytest.raises(UserError, match=message) as caught:
        run(tmp_path, files, development, tokeniser=kind)
    assert "\n" not in str(caught.value)
    assert {path.suffix for path in tmp_path.iterdir()} <= {".en", ".fr"}  # nothing is left behind


def test_different_line_counts_are_refused_and_nothing_is_left_behind(tmp_path: Path) -> None:
    files = corpus(tmp_path, numbered(100))
    files.paths[1].write_text("un\n" * 99)
    with pytest.raises(UserError, match=r"train\.en has 100 lines and .*train\.fr has 99"):
        run(tmp_path, files)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.en", "train.fr"]


def test_encoding_and_errors_reach_the_reader(tmp_path: Path) -> None:
    files = corpus(tmp_path, numbered(5))
    files.paths[1].write_bytes(b"caf\xe9 un\n" * 5)
    with pytest.raises(UserError, match=r"train\.fr, line 1 \(byte offset 3: 0xe9\)"):
        run(tmp_path, files)
    dev = corpus(tmp_path, DEV, "dev")
    assert texts(run(tmp_path, CorpusFiles(files.paths, "cp1252"), dev))[0][1] == "caf\u00e9 un"
    assert texts(run(tmp_path, CorpusFiles(files.paths, errors="replace"), dev))[0][1] == "caf\ufffd un"


@pytest.mark.parametrize("kind", ["subword", "moses", "none"])
def test_a_vocabulary_too_large_for_the_corpus_shrinks_with_a_warning(
    tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "rnnsearch"):
        prepared = run(tmp_path, corpus(tmp_path, numbered(300)), tokeniser=kind, vocabulary_size=32_000)
    warnings = [message for message in caplog.messages if "shrank from 32,000 to" in message]
    assert len(warnings) == len(caplog.messages) == (1 if kind == "subword" else 2)
    assert all(len(side.vocabulary) < 1000 for side in prepared.sides)
    assert len(prepared.store) == 285


def test_coverage_is_the_share_of_running_words(tmp_path: Path) -> None:
    pairs = [("the the the cat", "le x"), ("the dog", "le chat le")]
    prepared = run(tmp_path, corpus(tmp_path, pairs), corpus(tmp_path, DEV, "dev"), vocabulary_size=4)
    source, target = prepared.report.source, prepared.report.target
    assert prepared.sides[0].vocabulary.words == ("the", "cat")
    assert (source.tokens, source.known, source.vocabulary) == (6, 5, 4)
    assert source.coverage == pytest.approx(5 / 6)
    assert target.coverage == pytest.approx(4 / 5)
    assert prepared.report.lines()[-2] == "source (en): 6 tokens; a vocabulary of 4 (none) covers 83.33 % of them"
    assert [ids.tolist().count(UNK_ID) for ids in prepared.store.pair(1)] == [1, 0]


def test_the_report_says_100_percent_only_where_nothing_is_missing() -> None:
    report = Report(SideReport("en", 10**6, 10**6 - 1, 9), SideReport("fr", 1000, 1000, 9), 50, "moses", read=3, kept=1)
    assert report.lines()[0].startswith("read 3 pairs; kept 1 (33.33 %); dropped none")
    assert report.lines()[-2].endswith("covers 99.99 % of them")
    assert report.lines()[-1].endswith("covers 100 % of them")


@pytest.mark.parametrize(("kept", "few"), [(2000, True), (9_999, True), (10_000, False)])
def test_a_small_corpus_is_called_small(kept: int, few: bool) -> None:
    report = Report(SideReport("en"), SideReport("fr"), 50, "moses", read=kept, kept=kept)
    assert any("are few" in line for line in report.lines()) is few


def test_subwords_are_shared_but_each_side_has_its_own_pieces(tmp_path: Path) -> None:
    prepared = run(tmp_path, corpus(tmp_path, numbered(200)), tokeniser="subword", vocabulary_size=120)
    source, target = prepared.sides
    assert source.files()["subwords.model"] == target.files()["subwords.model"]
    assert "\u2581man" in source.vocabulary.words
    assert "\u2581man" not in target.vocabulary.words
    assert prepared.report.source.coverage == prepared.report.target.coverage == 1.0
    for side, lines in zip(prepared.sides, zip(*numbered(200), strict=True), strict=True):
        used = {token for line in lines for token in side.encode(line).tokens}
        assert set(side.vocabulary.words) <= used


def test_subwords_are_learnt_from_a_sample_spread_over_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def train(lines: Any, size: int) -> bytes:
        seen.extend(lines)
        return real(seen, size)

    real = room.train_subwords
    monkeypatch.setattr(room, "train_subwords", train)
    monkeypatch.setattr(room, "SUBWORD_SAMPLE", 10)
    run(tmp_path, corpus(tmp_path, numbered(100)), corpus(tmp_path, DEV, "dev"), tokeniser="subword")
    assert [int(line.split()[3]) for line in seen[::2]] == list(range(9, 100, 10))
    assert len(seen) == 20


def test_an_earlier_models_sides_are_kept(tmp_path: Path) -> None:
    first = run(tmp_path, corpus(tmp_path, numbered(50)), tokeniser="moses")
    second = run(tmp_path, corpus(tmp_path, [("a dog", "un chien"), ("a cat", "un chat")]), sides=first.sides, seed=3)
    assert second.sides == first.sides
    assert second.report.tokeniser == "moses"
    assert second.report.source.coverage == 0.5


@pytest.mark.parametrize("kind", ["subword", "moses", "none"])
def test_what_was_prepared_can_be_opened_again(tmp_path: Path, kind: str) -> None:
    prepared = run(tmp_path, corpus(tmp_path, numbered(60)), tokeniser=kind)
    assert {path.name for path in tmp_path.iterdir()} == {"train.en", "train.fr", "corpus"}
    again = Prepared.open(tmp_path / "corpus")
    assert again.dev_pairs == prepared.dev_pairs
    assert again.report == prepared.report
    assert again.report.lines() == prepared.report.lines()
    assert again.store.fingerprint == prepared.store.fingerprint
    assert [side.config() for side in again.sides] == [side.config() for side in prepared.sides]
    (tmp_path / "corpus" / "prepared.json").write_text("{}")
    with pytest.raises(UserError, match=r"the prepared text .* is damaged"):
        Prepared.open(tmp_path / "corpus")
    (tmp_path / "corpus" / "prepared.json").unlink()
    with pytest.raises(UserError, match="cannot read the prepared text"):
        Prepared.open(tmp_path / "corpus")


def test_the_fingerprint_of_files_is_that_of_their_bytes(tmp_path: Path) -> None:
    files = corpus(tmp_path, numbered(5))
    before = files.fingerprint()
    assert CorpusFiles(files.paths[::-1]).fingerprint() != before
    assert CorpusFiles(files.paths, "cp1252").fingerprint() != before
    corpus(tmp_path, numbered(5))
    assert files.fingerprint() == before
    corpus(tmp_path, [*numbered(4), ("a man sees 4 cats", "un homme voit 4 chat")])
    assert files.fingerprint() != before
    files.paths[0].unlink()
    with pytest.raises(UserError, match=r"cannot read .*train\.en"):
        files.fingerprint()


@pytest.mark.parametrize("kind", ["none", "moses"])
def test_how_many_lines_are_read_at_a_time_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    files = corpus(tmp_path, [*MESSY, *numbered(50)])
    whole = run(tmp_path, files, tokeniser=kind, vocabulary_size=20)
    monkeypatch.setattr(working, "_LINES", 7)
    parts = run(tmp_path, files, tokeniser=kind, vocabulary_size=20)
    assert parts.store.fingerprint == whole.store.fingerprint
    assert parts.report == whole.report
    assert parts.report.source.known < parts.report.source.tokens == sum(parts.store.lengths[0].tolist())


@pytest.mark.parametrize("part", [1, 3, 10, 1000])
def test_repeats_are_found_whatever_fits_in_memory(part: int) -> None:
    rng = random.Random(5)
    hashes = np.array(
        [rng.choice([0, 1, 2**63, 2**64 - 1, *range(5, 40), rng.getrandbits(64)]) for _ in range(300)], "<u8"
    )
    seen: set[int] = set()
    expected = [i for i, value in enumerate(hashes.tolist()) if value in seen or seen.add(value)]  # type: ignore[func-returns-value]
    assert sorted(int(i) for group in repeats(hashes, part) for i in group) == expected


def test_hashes_tell_where_a_side_ends() -> None:
    assert (
        len({pair_hash(*pair) for pair in [("a b", "c"), ("a", "b c"), ("c", "a b"), ("a b c", ""), ("a", "b")]}) == 5
    )


MEMORY = """
import sys, tracemalloc
from pathlib import Path
from rnnsearch.config import DataSettings
from rnnsearch.text import duplicates, prepare, working
from rnnsearch.text.prepare import CorpusFiles

working._STEP = working._LINES = prepare.SUBWORD_SAMPLE = 250
working.repeats = lambda hashes: duplicates.repeats(hashes, 250)
prepare.HELD_OUT_PAIRS = 20
for count in 500, 500, 6000:  # the first time pays for what is imported and kept
    folder = Path(str(count))
    folder.mkdir(exist_ok=True)
    for name in ("a.en", "a.fr"):
        lines = (f"w{i * 7919 % 97} w{i // 97 % 97} w{i // 9409} b c\\n" for i in range(count))
        (folder / name).write_text("".join(lines))
    (folder / "a.links").write_text("0-0 1-1 2-2 3-3 4-4\\n" * count)
    links = folder / "a.links" if sys.argv[2] == "linked" else None
    files = CorpusFiles((folder / "a.en", folder / "a.fr"), links=links)
    settings = DataSettings(tokeniser=sys.argv[1], vocabulary_size=80)
    tracemalloc.start()
    prepared = prepare.prepare(files, None, settings, folder / "corpus", ("en", "fr"), None, 1)
    print(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    assert prepared.report.kept > count * 0.9, prepared.report.lines()
"""


@pytest.mark.parametrize(("kind", "links"), [("none", ""), ("subword", ""), ("subword", "linked")])
def test_memory_does_not_grow_with_the_corpus(
    kind: str, links: str, python: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    result = python("-c", MEMORY, kind, links)
    assert result.returncode == 0, result.stderr
    _, small, large = map(int, result.stdout.split())
    assert large < small + 200_000  # the lines of the larger corpus alone would take 900,000 bytes


def test_real_text_is_kept_nearly_whole(tmp_path: Path, data: Path) -> None:
    folder = data / "multi30k"
    dev = CorpusFiles((folder / "val.en", folder / "val.fr"))
    prepared = run(tmp_path, CorpusFiles((folder / "train.en", folder / "train.fr")), dev, tokeniser="subword")
    assert prepared.report.read == 29_000
    assert prepared.report.kept > 28_900
    assert prepared.report.source.coverage == prepared.report.target.coverage == 1.0
