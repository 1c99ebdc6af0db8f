"""`Translation`: a line with its translation and their alignment, put together from hypotheses of its parts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from rnnsearch.search import Hypothesis
from rnnsearch.search.alignment import block_diagonal, by_words
from rnnsearch.text.side import Side
from rnnsearch.text.vocabulary import UNK_ID
from rnnsearch.translator.lines import Line, Pair, words_of
from rnnsearch.translator.options import Plan


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


def written(
    line: Line, of_parts: list[list[Hypothesis]], plan: Plan, target: Side, dictionary: Mapping[str, str]
) -> Translation:
    """The best translation of a line, with the others if asked for: the k-th best of all its parts together."""
    choices = [
        [hypotheses[min(k, len(hypotheses) - 1)] for hypotheses in of_parts]
        for k in range(max(map(len, of_parts), default=1))
    ]
    ranked = sorted((_joined(line, choice, plan, target, dictionary) for choice in choices), key=lambda t: -t.score)
    return replace(ranked[0], n_best=ranked) if plan.n_best > 1 else ranked[0]


def _joined(
    line: Line, choice: list[Hypothesis], plan: Plan, target: Side, dictionary: Mapping[str, str]
) -> Translation:
    """One hypothesis of each part, put together: texts joined by a space, alignments block by block."""
    texts: list[str] = []
    tokens: list[str] = []
    words: list[str] = []
    word_of: list[int] = []
    blocks = []
    for part, hypothesis in zip(line.parts, choice, strict=True):
        ids = hypothesis.ids[:-1] if hypothesis.finished else hypothesis.ids
        blocks.append(hypothesis.alpha[: len(ids), :-1])
        spelled = target.vocabulary.tokens(ids)
        if plan.replace_unk:
            spelled = _replace_unknown(spelled, ids, _looked_at(line.encoded.tokens[part], blocks[-1]), dictionary)
        texts.append(target.decode(spelled) if spelled else "")
        part_words, part_word_of = words_of(texts[-1], spelled)
        word_of += [-1 if word < 0 else len(words) + word for word in part_word_of]
        words += part_words
        tokens += spelled
    log_p = sum(hypothesis.log_p for hypothesis in choice)
    length = sum(len(hypothesis.ids) for hypothesis in choice) if plan.search.normalise else 1
    score = log_p / max(length, 1)
    text = " ".join(filter(None, texts))
    return _translation(line, text, words, tokens, word_of, block_diagonal(blocks), log_p, score)


def aligned(pair: Pair, found: Hypothesis | None) -> Translation:
    """A given translation with what the model said of it; `found`: None where there was nothing to ask."""
    alpha, log_p, score = np.zeros((len(pair.given.ids), len(pair.line.encoded.ids))), 0.0, 0.0
    if found is not None:
        alpha, log_p, score = found.alpha[:-1, :-1].astype(np.float64), found.log_p, found.score
    return _translation(pair.line, pair.target, pair.words, pair.given.tokens, pair.word_of, alpha, log_p, score)


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
    line: Line, text: str, words: list[str], tokens: list[str], word_of: list[int], alpha: NDArray[np.float64],
    log_p: float, score: float,
) -> Translation:  # fmt: skip
    alignment = by_words(alpha, word_of, line.word_of, (len(words), len(line.words)))
    return Translation(
        line.source, text, line.words, words, alignment, line.encoded.tokens, tokens, alpha, log_p, score
    )
