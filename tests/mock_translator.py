"""Translators over exact mock engines: what they say and where they look is known."""

from pathlib import Path

import numpy as np
import pytest

from mock_engine import MockEngine
from rnnsearch.config import ModelSettings, SearchSettings
from rnnsearch.model_folder import ModelFolder
from rnnsearch.text.side import Side
from rnnsearch.text.tokenise import SpaceTokeniser
from rnnsearch.text.vocabulary import EOS_ID, Vocabulary
from rnnsearch.translator import Translation, Translator

SOURCE_WORDS = ["the", "a", "cat", "dog", "sleeps", "sees", ".", ",", "?", "!", "-", "café", "naïve"]
TARGET_WORDS = ["le", "un", "chat", "chien", "dort", "voit", "."]


def sides(one=None, other=None):
    one, other = one or SpaceTokeniser(), other or SpaceTokeniser()
    return Side("source", "en", one, Vocabulary(SOURCE_WORDS)), Side("target", "fr", other, Vocabulary(TARGET_WORDS))


def mock_translator(engine=None, *, search=None, max_length=20, both=None, path=Path("mock")):
    source, target = both or sides()
    settings = search or SearchSettings(beam_size=4)
    folder = ModelFolder(path, ModelSettings(), settings, max_length, source, target, {})
    return Translator(folder, lambda: engine or MockEngine(len(target.vocabulary), 1, eos_bias=1.0))


class CopyEngine(MockEngine):
    """Says what it is told by `script` (words then the sentence end), looking at `looks` (source columns)."""

    def __init__(self, vocabulary, script, looks):
        super().__init__(vocabulary, 0)
        self.script, self.looks, self.at = [*script, EOS_ID], looks, -1

    def start(self, memory, beam):
        self.at = -1
        return super().start(memory, beam)

    def step(self, state, words, parents):
        state, log_p, alpha = super().step(state, words, parents)
        self.at += 1
        log_p = np.full_like(log_p, -50.0)
        log_p[:, self.script[min(self.at, len(self.script) - 1)]] = -0.5
        look = np.zeros_like(alpha)
        weights = self.looks[self.at] if self.at < len(self.looks) else [1.0]
        look[:, : len(weights)] = weights
        return state, log_p, look


def random_pairs(count, seed=4):
    rng = np.random.default_rng(seed)
    return [
        tuple(" ".join(rng.choice(words, rng.integers(0, 15))) for words in (SOURCE_WORDS, TARGET_WORDS))
        for _ in range(count)
    ]


def assert_same_alignment(one: Translation, other: Translation, atol: float):
    assert (one.source, one.text, one.words, one.source_words) == (
        other.source,
        other.text,
        other.words,
        other.source_words,
    )
    assert (one.tokens, one.source_tokens) == (other.tokens, other.source_tokens)
    assert (one.log_p, one.score) == pytest.approx((other.log_p, other.score), abs=atol)
    np.testing.assert_allclose(one.alignment, other.alignment, atol=atol)
    np.testing.assert_allclose(one.token_alignment, other.token_alignment, atol=atol)
