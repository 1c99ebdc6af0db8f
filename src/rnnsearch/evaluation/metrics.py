"""Scores of translations, each with its signature: BLEU and chrF by sacreBLEU, length, unknown words."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from rnnsearch.errors import UserError
from rnnsearch.text.clean import CleanCounts, clean_line
from rnnsearch.text.side import Side
from rnnsearch.text.tokenise import MosesTokeniser, SpaceTokeniser, Tokeniser
from rnnsearch.text.vocabulary import UNK, UNK_ID

log = logging.getLogger("rnnsearch")

#: sacreBLEU's tokeniser by language, where words are not separated by spaces; "13a" for all others.
_BLEU_TOKENISERS = {"zh": "zh", "ja": "char", "th": "char"}
#: Share of lines ending in " ." from which text is taken to be tokenised.
_TOKENISED_SHARE = 0.3


class Score(float):
    """A number with the signature that says how it was computed; as text it shows both."""

    signature: str

    def __new__(cls, value: float, signature: str) -> Self:
        """`value` with its `signature`."""
        score = super().__new__(cls, value)
        score.signature = signature
        return score

    def __str__(self) -> str:
        return f"{float(self):.2f} ({self.signature})"


@dataclass(frozen=True)
class Scores:
    """All scores of a test set."""

    sentences: int
    bleu: Score  #: of text, 0 to 100
    chrf: Score  #: of text, 0 to 100
    tokenised_bleu: Score  #: of tokens, 0 to 100
    length_ratio: Score  #: tokens of the hypotheses / tokens of the references
    unknown_output: Score  #: share of the hypotheses' tokens that are [UNK]
    unknown_source: Score | None = None  #: share of the source tokens that the model does not know

    def named(self) -> dict[str, Score]:
        """The scores by name, without those that were not computed."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Score)}

    def as_dict(self) -> dict[str, Any]:
        """For JSON: {"sentences": n, name: {"score": number, "signature": text} ...}."""
        named = {name: {"score": float(s), "signature": s.signature} for name, s in self.named().items()}
        return {"sentences": self.sentences, **named}

    def table(self) -> str:
        """For people: a line a score."""
        lines = [f"{'':24}  score  signature"]
        for name, score in self.named().items():
            shown = f"{100 * score:.2f} %" if name.startswith("unknown") else f"{score:.{3 if 'ratio' in name else 2}f}"
            lines.append(f"{_LABELS[name]:22}{shown:>9}  {score.signature}")
        return "\n".join(lines) + "\n"


_LABELS = {
    "bleu": "BLEU",
    "chrf": "chrF",
    "tokenised_bleu": "BLEU, tokenised",
    "length_ratio": "length ratio",
    "unknown_output": "unknown words, output",
    "unknown_source": "unknown words, source",
}


def evaluate(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    language: str = "",
    tokenised: bool = False,
    unknown_source: Score | None = None,
) -> Scores:
    """Score translations line by line against references; `language` is the target's.

    The text is scored as it is by BLEU and chrF; for tokenised BLEU and the length ratio both sides are cut by Moses,
    or at their spaces where they are `tokenised` already. Raises UserError where there is nothing to score against.
    """
    if len(hypotheses) != len(references):
        raise ValueError(f"{len(hypotheses)} hypotheses, {len(references)} references")
    if not any(reference.strip() for reference in references):
        raise UserError("the reference is empty: there is nothing to score against")
    if not tokenised:
        _warn_if_tokenised(hypotheses, references)
    tokeniser: Tokeniser = SpaceTokeniser() if tokenised else MosesTokeniser(language or "en")
    kind = "tokens:as-given" if tokenised else f"tokens:moses-{language or 'en'}"
    ours, theirs = ([_tokens(tokeniser, line) for line in side] for side in (hypotheses, references))
    by_tokens = corpus_bleu_tokens(ours, theirs)
    count = sum(map(len, ours))
    return Scores(
        len(references),
        bleu(hypotheses, references, language=language),
        _chrf(hypotheses, references),
        Score(by_tokens, f"{by_tokens.signature}|{kind}"),
        Score(count / sum(map(len, theirs)), f"hypothesis/reference|{kind}"),
        Score(sum(line.count(UNK) for line in ours) / max(1, count), kind),
        unknown_source,
    )


def bleu(hypotheses: Sequence[str], references: Sequence[str], *, language: str = "") -> Score:
    """sacreBLEU's BLEU of text, 0 to 100; `language` is the target's. 0 where there are no lines."""
    return _bleu(hypotheses, references, _BLEU_TOKENISERS.get(language[:2], "13a"))


def corpus_bleu_tokens(hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> Score:
    """BLEU, 0 to 100, of sentences that are tokens already. 0 where there are none."""
    return _bleu([" ".join(tokens) for tokens in hypotheses], [" ".join(tokens) for tokens in references], "none")


def unknown_share(lines: Sequence[str], side: Side) -> Score:
    """Share of the tokens of `lines` that the vocabulary of `side` lacks, from 0 to 1."""
    ids = [word for line in lines for word in side.encode(line).ids]
    return Score(ids.count(UNK_ID) / max(1, len(ids)), f"tokens:{side.tokeniser.kind}-{side.language}")


def _bleu(hypotheses: Sequence[str], references: Sequence[str], tokeniser: str) -> Score:
    from sacrebleu.metrics.bleu import BLEU

    # "force" only silences a warning on standard error; evaluate() has its own.
    metric = BLEU(tokenize=tokeniser, force=True)
    score = metric.corpus_score(hypotheses, [references]).score if references else 0.0
    # The signature speaks of the references, which an empty set never showed.
    return Score(score, str(metric.get_signature()) if references else f"tok:{tokeniser}")


def _chrf(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    from sacrebleu.metrics.chrf import CHRF

    metric = CHRF()
    return Score(metric.corpus_score(hypotheses, [references]).score, str(metric.get_signature()))


def _tokens(tokeniser: Tokeniser, line: str) -> list[str]:
    """The tokens of a line, [UNK] as one of them: Moses cuts it in three."""
    tokens = iter(tokeniser.tokenise(clean_line(line, CleanCounts())))
    found: list[str] = []
    for token in tokens:
        found.append(token)
        if found[-3:] == ["[", "UNK", "]"]:
            found[-3:] = [UNK]
    return found


def _warn_if_tokenised(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    for name, lines in (("translations", hypotheses), ("reference", references)):
        ended = sum(line.endswith(" .") for line in lines)
        if ended >= _TOKENISED_SHARE * len(lines):
            log.warning(
                "the %s seem to be tokenised (%d of %d lines end in ' .'): "
                "BLEU is comparable only for plain text; for tokenised text say so with --tokenised",
                name, ended, len(lines),
            )  # fmt: skip
            return
