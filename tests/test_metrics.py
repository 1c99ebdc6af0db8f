"""Scores and their signatures."""

import json
import math
import subprocess
import sys

import pytest

from rnnsearch.errors import UserError
from rnnsearch.evaluation.metrics import Score, bleu, bleu_tokeniser, corpus_bleu_tokens, evaluate, unknown_share
from rnnsearch.text.side import Side
from rnnsearch.text.tokenise import SpaceTokeniser
from rnnsearch.text.vocabulary import Vocabulary


def test_bleu_of_tokens_is_the_value_computed_by_hand():
    # All n-grams are right and one of six tokens is missing: only the brevity penalty, exp(1 - 6/5), is left.
    score = corpus_bleu_tokens([["a", "b", "c", "d", "e"]], [["a", "b", "c", "d", "e", "f"]])
    assert score == pytest.approx(100 * math.exp(-0.2))
    assert "tok:none" in score.signature
    assert "version:" in score.signature


def test_bleu_of_no_sentences_is_zero_not_an_error():
    assert corpus_bleu_tokens([], []) == 0
    assert corpus_bleu_tokens([[]], [["a"]]) == 0
    assert bleu([], []) == 0


def test_bleu_cuts_text_as_sacrebleu_does():
    plain, cut = "Bonjour, le petit chat dort.", "Bonjour , le petit chat dort ."
    assert bleu([cut], [plain]) == pytest.approx(100)
    assert corpus_bleu_tokens([cut.split()], [plain.split()]) < 40
    assert "tok:13a" in bleu([cut], [plain]).signature


def test_languages_without_spaces_are_cut_by_characters():
    ours, reference = ["我今天去学校看书。"], ["我今天去学校读书。"]
    assert bleu(ours, reference, language="fr") < 1e-6 + bleu(ours, reference, language="zh")
    assert bleu(ours, reference, language="zh") > 40
    assert "tok:zh" in bleu(ours, reference, language="zh-TW").signature
    assert "tok:char" in bleu(ours, reference, language="ja").signature


def test_a_score_is_a_number_that_shows_its_signature():
    score = Score(58.214, "tok:13a")
    assert f"{score}" == "58.21 (tok:13a)"
    assert f"{score:.1f}" == "58.2"
    assert json.loads(json.dumps({"score": score})) == {"score": 58.214}


def test_evaluate_scores_text_and_tokens():
    scores = evaluate(["L'homme dort."], ["L'homme ne dort pas."], language="fr")
    assert scores.sentences == 1
    assert scores.length_ratio == pytest.approx(4 / 6)  # L' homme dort . / L' homme ne dort pas .
    assert "tokens:moses-fr" in scores.tokenised_bleu.signature
    assert "tokens:moses-fr" in scores.length_ratio.signature
    assert scores.bleu != scores.tokenised_bleu
    assert 0 < scores.chrf < 100
    assert "nc:6" in scores.chrf.signature
    assert scores.unknown_source is None
    same = evaluate(["L'homme ne dort pas."], ["L'homme ne dort pas."], language="fr")
    assert (same.bleu, same.chrf, same.length_ratio) == (pytest.approx(100), pytest.approx(100), 1)


def test_tokenised_text_is_taken_as_it_is():
    scores = evaluate(["don't stop ."], ["don't stop now ."], tokenised=True)
    assert scores.length_ratio == pytest.approx(3 / 4)
    assert "tokens:as-given" in scores.tokenised_bleu.signature


@pytest.mark.parametrize("tokenised", [True, False])
def test_unk_is_one_token_wherever_it_stands(tokenised):
    scores = evaluate(["[UNK] a [UNK] b", "c d [ UNK e f"], ["a b c d", "a"], tokenised=tokenised)
    assert scores.unknown_output == pytest.approx(2 / 10)


def test_unknown_source_words_are_counted_in_the_model_s_own_tokens():
    side = Side("source", "en", SpaceTokeniser(), Vocabulary(["the", "cat"]))
    share = unknown_share(["the cat", "", "the dog [UNK] cat"], side)
    assert share == pytest.approx(2 / 6)
    assert share.signature == "tokens:none-en"
    assert unknown_share([""], side) == 0


def test_a_set_without_any_reference_is_refused():
    for references in ([], ["", " "]):
        with pytest.raises(UserError, match="reference is empty"):
            evaluate(["a"] * len(references), references)


def test_an_empty_translation_is_scored():
    scores = evaluate(["", "b"], ["a", "b"])
    assert scores.length_ratio == pytest.approx(0.5)
    assert scores.unknown_output == 0
    assert evaluate([""], ["a"]).chrf == 0


def test_json_shows_every_score_with_its_signature():
    side = Side("source", "en", SpaceTokeniser(), Vocabulary(["the"]))
    scores = evaluate(["a b c d [UNK]"], ["a b c d e"], tokenised=True, unknown_source=unknown_share(["the cat"], side))
    given = scores.as_dict()
    assert given.pop("sentences") == 1
    assert set(given) == {"bleu", "chrf", "tokenised_bleu", "length_ratio", "unknown_output", "unknown_source"}
    assert given["unknown_source"] == {"score": 0.5, "signature": "tokens:none-en"}
    assert all(score["signature"] for score in given.values())


@pytest.mark.parametrize(
    ("language", "tokeniser"),
    [("", "13a"), ("fr", "13a"), ("pt-BR", "13a"), ("zh", "zh"), ("ZH_tw", "zh"), ("zho", "zh"), ("ja", "char"),
     ("th", "char"), ("ko", "char"), ("kok", "13a"), ("zha", "13a"), ("lo", "char")],
)  # fmt: skip
def test_the_metrics_tokeniser_goes_by_language_and_needs_no_further_package(language, tokeniser):
    assert bleu_tokeniser(language) == tokeniser
    assert f"tok:{tokeniser}|" in bleu(["a b c d"], ["a b c d"], language=language).signature
    assert bleu_tokeniser(language, tokenised=True) == "none"


#: Text in which a cleaning or a cutting of our own would be noticed: an accent of its own, odd spaces, symbols.
OURS = [
    "Le chat dort , bien .",
    "L'e\u0301cole\u00a0: un\u2009deux, trois",
    "",
    "a  b\tc d e ",
    "1,5 € (environ)",
    "[UNK] va là .",
]
THEIRS = ["Le chat dort, bien.", "L'école\u00a0: un deux, trois", "vide", "a b c d e", "1,5 € (environ).", "il va là ."]


@pytest.mark.parametrize(("flags", "name", "options"), [
    (["--tokenize", "13a"], "bleu", {"language": "fr"}),
    (["--tokenize", "zh"], "bleu", {"language": "zh"}),
    (["--tokenize", "char"], "bleu", {"language": "ja"}),
    (["--tokenize", "none"], "tokenised_bleu", {"tokenised": True}),
    (["--metrics", "chrf"], "chrf", {}),
])  # fmt: skip
def test_scores_are_those_of_sacrebleus_own_command(tmp_path, flags, name, options):
    for file, lines in ("ours", OURS), ("theirs", THEIRS):
        (tmp_path / file).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    files = [str(tmp_path / "theirs"), "--input", str(tmp_path / "ours")]
    command = [sys.executable, "-m", "sacrebleu", *files, *flags, "--score-only", "--width", "6", "--force"]
    printed = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout
    score = getattr(evaluate(OURS, THEIRS, **options), name)
    assert f"{score:.6f}" == printed.strip()
    assert 20 < score < 95
