"""Scores of translations, each with its signature: BLEU and chrF by sacreBLEU, length, unknown words."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from rnnsearch.errors import UserError
from rnnsearch.text.clean import CleanCounts, clean_line
from rnnsearch.text.side import Side
from rnnsearch.text.tokenise import MosesTokeniser, SpaceTokeniser, Tokeniser
from rnnsearch.text.vocabulary import UNK, UNK_ID

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

#: Languages of two and of three letters that are written without spaces between words.
_CHINESE = frozenset({"zh", "zho", "cmn", "yue", "wuu"})
_UNSPACED = _CHINESE | {"ja", "jpn", "th", "tha", "lo", "lao", "km", "khm", "my", "mya", "bo", "bod", "dz", "dzo"}
#: Its words are between spaces, but hold so much that few are translated alike; sacreBLEU's own way needs a dictionary.
_KOREAN = frozenset({"ko", "kor"})


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
    kind = "tokens:as-given" if tokenised else f"tokens:moses-{language or 'en'}"
    ours, theirs = (words_of(side, language, tokenised) for side in (hypotheses, references))
    # Tokenised text reaches sacreBLEU untouched, so that its own command finds the same.
    by_tokens = _bleu(hypotheses, references, "none") if tokenised else corpus_bleu_tokens(ours, theirs)
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
    return _bleu(hypotheses, references, bleu_tokeniser(language))


def bleu_tokeniser(language: str, tokenised: bool = False) -> str:
    """sacreBLEU's tokeniser for a target language: one that needs no further package; "none" for `tokenised` text."""
    if tokenised:
        return "none"
    code = _primary(language)
    return "zh" if code in _CHINESE else "char" if code in _UNSPACED | _KOREAN else "13a"


def bleu_metric(tokeniser: str) -> "BLEU":
    """sacreBLEU's metric. "force" only silences a warning on standard error; form.py has our own."""
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(tokenize=tokeniser, force=True)


def has_spaces(language: str) -> bool:
    """Whether spaces separate the words of a language, so that words can be counted."""
    return _primary(language) not in _UNSPACED


def _primary(language: str) -> str:
    """The language of a code such as pt-BR."""
    return re.split("[-_]", language.lower())[0]


def words_of(lines: Sequence[str], language: str, tokenised: bool) -> list[list[str]]:
    """The words of each line: Moses tokens, of `tokenised` text what spaces separate. [UNK] is one of them."""
    tokeniser: Tokeniser = SpaceTokeniser() if tokenised else MosesTokeniser(language or "en")
    return [_tokens(tokeniser, line) for line in lines]


def corpus_bleu_tokens(hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> Score:
    """BLEU, 0 to 100, of sentences that are tokens already. 0 where there are none."""
    return _bleu([" ".join(tokens) for tokens in hypotheses], [" ".join(tokens) for tokens in references], "none")


def unknown_share(lines: Sequence[str], side: Side) -> Score:
    """Share of the tokens of `lines` that the vocabulary of `side` lacks, from 0 to 1."""
    ids = [word for line in lines for word in side.encode(line).ids]
    return Score(ids.count(UNK_ID) / max(1, len(ids)), f"tokens:{side.tokeniser.kind}-{side.language}")


def _bleu(hypotheses: Sequence[str], references: Sequence[str], tokeniser: str) -> Score:
    metric = bleu_metric(tokeniser)
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
