"""Word links as files hold them: Pharaoh's form, NAACL's, and the joint form of sentence pairs."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnsearch.errors import UserError
from rnnsearch.text.links import Links, joint_pairs, pharaoh, read_links

LINK = st.tuples(st.integers(0, 20), st.integers(0, 20))
SENTENCES = st.lists(st.tuples(st.frozensets(LINK, max_size=8), st.frozensets(LINK, max_size=8)), max_size=6)


@pytest.fixture
def read(tmp_path):
    def of(text, **options):
        (tmp_path / "gold.wa").write_text(text, encoding="utf-8", newline="")
        return list(read_links(tmp_path / "gold.wa", **options))

    return of


def links(sure, possible=()):
    return Links(frozenset(sure), frozenset(sure) | frozenset(possible))


def test_pharaoh_knows_sure_and_possible_links(read):
    found = read("0-0 1p2 2?1\n\n10-11\n")
    assert found == [links([(0, 0)], [(1, 2), (2, 1)]), links([]), links([(10, 11)])]


def test_a_link_that_is_sure_and_possible_is_sure(read):
    assert read("0p1 0-1 0?1\n") == read("0-1\n") == [links([(0, 1)])]
    assert read("1 1 2 P\n1 1 2 S\n") == [links([(0, 1)])]


def test_words_from_one_and_the_target_first(read):
    assert read("1-2 3p1\n", first=1) == [links([(0, 1)], [(2, 0)])]
    assert read("0-1 2p0\n", target_first=True) == [links([(1, 0)], [(0, 2)])]
    assert read("1 1 2 S\n1 3 1 P\n", target_first=True) == [links([(1, 0)], [(0, 2)])]


def test_naacl_knows_sure_possible_and_confidence_and_skips_what_links_no_word(read):
    found = read("0001 1 1 S\n0001 2 3 P 0.5\n1 4 4\n1 5 0 S\n1 0 6 P\n1 6 6 1e-3\n\n0004 0 0 P\n0004 2 1 S\n")
    assert found == [links([(0, 0), (3, 3), (5, 5)], [(1, 2)]), links([]), links([]), links([(1, 0)])]


def test_a_sentence_of_which_only_null_links_are_given_is_there(read):
    assert read("1 1 1 S\n2 0 3 P\n") == [links([(0, 0)]), links([])]


@pytest.mark.parametrize("text", ["1 1 1\n", "\n \n0001 2 3 S 0.5\n", "1\t1\t1\tP\n", "1 1 1 0.25\n"])
def test_the_form_is_that_of_the_first_line_with_text(read, text):
    assert read(text) == read(text, form="naacl")
    with pytest.raises(UserError, match="is no link; i-j"):
        read(text, form="pharaoh")


@pytest.mark.parametrize("text", ["", "\n", "\n\n0-0\n", "1-1 1-1\n"])
def test_all_else_is_pharaoh(read, text):
    assert read(text) == read(text, form="pharaoh")
    assert len(read(text)) == text.count("\n")


def test_the_numbers_of_alibi_are_passed_over(read):
    assert read("0\t0p0 1-2 \n1\t0-0 \n2\t\n") == [links([(1, 2)], [(0, 0)]), links([(0, 0)]), links([])]
    assert read("0-0\t1-1\n") == [links([(0, 0), (1, 1)])]


def test_line_ends_and_packed_files(tmp_path, read):
    assert read("\ufeff0-0\r\n1-1\r\n") == [links([(0, 0)]), links([(1, 1)])]
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"0-0\n"))
    assert list(read_links(tmp_path / "a.gz")) == [links([(0, 0)])]


@pytest.mark.parametrize(
    "word", ["0-", "-1", "0--1", "a-b", "0_1", "0-1-2", "0-1S", "0x1", "٣-١", "0P1", "7", "1-" + "9" * 5000]
)
def test_what_is_no_link_is_named_with_its_place(read, word):
    with pytest.raises(UserError) as refused:
        read(f"0-0\n1-1 {word} 2-2\n")
    place, said = str(refused.value).split(": ", 1)
    assert place.endswith("gold.wa, line 2")
    assert said == (f"{word[:40]!r} is no link; i-j (sure), ipj or i?j (possible) is expected, words counted from 0")


def test_a_zero_where_words_count_from_one_is_refused(read):
    with pytest.raises(UserError, match=r"line 1: '2-0' is no link; .* words counted from 1$"):
        read("1-1 2-0\n", first=1)


@pytest.mark.parametrize(
    "line", ["1 1", "1 1 1 X", "1 1 1 S P", "1 1 1 S 0.5 2", "1-1 2-2", "a 1 1", "-1 1 1", "1 1.5 1"]
)
def test_malformed_naacl_is_named_with_its_place(read, line):
    with pytest.raises(UserError, match=r"gold\.wa, line 3: .* is no link; `sentence source target \[S\|P\]"):
        read(f"1 1 1 S\n\n{line}\n")


@pytest.mark.parametrize(("before", "wrong"), [("3", "2"), ("1", "0")])
def test_sentences_of_naacl_come_in_order(read, before, wrong):
    with pytest.raises(UserError, match=f"line 2: sentence {wrong}, where {before} or a later one is expected"):
        read(f"{before} 1 1\n{wrong} 1 1\n")


def test_a_sentence_far_away_is_no_reason_to_fill_the_memory(tmp_path):
    (tmp_path / "a").write_text("1 1 1\n999999999 1 1\n")
    found = read_links(tmp_path / "a")
    assert [next(found), next(found), next(found)] == [links([(0, 0)]), links([]), links([])]


def test_a_missing_file_is_one_sentence(tmp_path):
    with pytest.raises(UserError, match=r"cannot read .*none: No such file"):
        list(read_links(tmp_path / "none"))


def test_pharaoh_is_written_in_order_of_the_source():
    assert pharaoh([(10, 2), (2, 1), (2, 0)]) == "2-0 2-1 10-2"
    assert pharaoh([]) == ""


@given(SENTENCES, st.sampled_from([0, 1]), st.booleans())
def test_both_forms_are_read_as_they_were_written(tmp_path_factory, sentences, first, target_first):
    expected = [links(sure, possible) for sure, possible in sentences]

    def word(link, base):
        one, other = link[::-1] if target_first else link
        return one + base, other + base

    path = tmp_path_factory.mktemp("links") / "a"
    lines = [
        " ".join(
            "{}{}{}".format(*(word(link, first)[:1]), "-" if link in each.sure else "p", word(link, first)[1])
            for link in sorted(each.possible)
        )
        for each in expected
    ]
    path.write_text("".join(line + "\n" for line in lines))
    assert list(read_links(path, form="pharaoh", first=first, target_first=target_first)) == expected
    path.write_text(
        "".join(
            "{} {} {} {}\n".format(number, *word(link, 1), "S" if link in each.sure else "P")
            for number, each in enumerate(expected, 1)
            for link in each.possible
        )
        + f"{len(expected) + 1} 0 0\n"
    )
    assert list(read_links(path, form="naacl", target_first=target_first)) == [*expected, links([])]


# --- sentence pairs


@pytest.mark.parametrize(
    ("line", "pair"),
    [("a b ||| c d", ("a b", "c d")), ("||| c", ("", "c")), (" ||| c", ("", "c")), ("a |||", ("a", "")),
     ("a ||| ", ("a", "")), ("|||", ("", "")), ("", ("", "")), ("  ", ("", "")), ("a  b |||  c", ("a  b", "c")),
     ("a|||b ||| c||||", ("a|||b", "c||||")), ("a || b ||| |", ("a || b", "|")), ("\u00a0 ||| b", ("\u00a0", "b"))],
)  # fmt: skip
def test_a_joint_line_has_two_sides(line, pair):
    assert list(joint_pairs([line], "it")) == [pair]


@pytest.mark.parametrize(
    ("line", "count"), [("a b", 0), ("a|||b", 0), ("a\t|||\tb", 0), ("a ||| b ||| c", 2), ("a ||| ||| c", 2)]
)
def test_a_joint_line_that_has_not_is_named(line, count):
    with pytest.raises(UserError) as refused:
        list(joint_pairs(["a ||| b", line], "all.txt"))
    assert str(refused.value) == (
        f"all.txt, line 2: {count} times ||| between spaces, where once is needed: source ||| target"
    )


# --- files that people have made


def test_the_trial_of_hlt_naacl_2003(data):
    folder = data / "gold-alignment" / "hansards-trial"
    found = list(read_links(folder / "trial.en-fr.naacl"))
    texts = [(folder / f"trial.en-fr.{side}").read_text(encoding="utf-8").splitlines() for side in ("en", "fr")]
    assert (sum(len(one.sure) for one in found), sum(len(one.possible) for one in found)) == (338, 1784)
    for one, source, target in zip(found, *texts, strict=True):
        assert max(s for s, _ in one.possible) < len(source.split())
        assert max(t for _, t in one.possible) < len(target.split())


def test_the_stories_of_alibi(data):
    folder = data / "gold-alignment" / "alibi"
    found = list(read_links(folder / "ali_w2w_ChatBotte_MasterCat.txt", target_first=True))
    texts = [
        [line.split("\t")[1].split() for line in (folder / name).read_text(encoding="utf-8").splitlines()]
        for name in ("MasterCat_sents.txt", "ChatBotte_sents.txt")
    ]
    assert found[0] == links([(0, 0), (1, 1), (2, 2), (4, 3)], [(5, 4), (5, 5), (6, 6), (7, 6)])
    for one, source, target in zip(found, *texts, strict=True):
        assert all(s < len(source) and t < len(target) for s, t in one.possible)
