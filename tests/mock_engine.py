"""A small exact model for tests: a random table of p(next word | the two words before, the source)."""

import itertools

import numpy as np

from rnnsearch.engine import fill
from rnnsearch.text.vocabulary import EOS_ID


class MockEngine:
    """Implements `rnnsearch.engine.Engine` in numpy. Padding of x has no influence. Counts its steps and rows."""

    def __init__(self, vocabulary: int, seed: int, *, sources: int = 7, sharpness: float = 1.5, eos_bias: float = 0.0):
        rng = np.random.default_rng(seed)
        logits = rng.normal(0, sharpness, (sources, vocabulary + 1, vocabulary + 1, vocabulary))
        logits[..., EOS_ID] += eos_bias
        self.table = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
        self.look = rng.normal(0, 2, (vocabulary + 1, 512))
        self.vocabulary, self.steps, self.cells, self.closed = vocabulary, 0, 0, False
        self.batches: list[int] = []
        self.seen = None

    def encode(self, x, x_mask):
        self.batches.append(len(x))
        return (x * x_mask).sum(1) % len(self.table), x_mask

    def start(self, memory, beam):
        key, mask = memory
        none = np.full(len(key), -1)
        return key, mask, none, none, np.zeros(mask.shape)

    def step(self, state, words, parents):
        key, mask, last, _, _ = (part[parents.ravel()] for part in state)
        words = words.ravel()
        self.steps += 1
        self.cells = max(self.cells, mask.size)
        weights = np.exp(self.look[words, : mask.shape[1]]) * mask
        alpha = (weights / weights.sum(1, keepdims=True)).astype(np.float32)
        return (key, mask, words, last, alpha), self.table[key, last, words], alpha

    def posterior(self, state, words, given):
        """alpha times `seen` [places, words], if there is one."""
        alpha = state[-1]
        joint = alpha if self.seen is None else alpha * self.seen[: alpha.shape[1], given].T
        return (joint / joint.sum(1, keepdims=True)).astype(np.float32)

    def best(self, log_p, scores, banned, k):
        sentences, slots = scores.shape
        total = scores[:, :, None] + log_p.reshape(sentences, slots, -1)
        for word, where in banned.items():
            total[where, :, word] = -np.inf
        flat = total.reshape(sentences, -1)
        top = np.argsort(-flat, axis=1, kind="stable")[:, :k]
        return fill(np.take_along_axis(flat, top, 1), top // self.vocabulary, top % self.vocabulary, k)

    def score(self, log_p, words):
        return log_p[np.arange(len(words)), words]

    def every(self, log_p):
        return log_p

    def alpha(self, alpha):
        return alpha

    def close(self):
        self.closed = True

    def log_p(self, source: int, ids: tuple[int, ...]) -> float:
        """log p of a whole translation of a source whose ids add up to `source`, straight from the table."""
        total, before, last = 0.0, -1, -1
        for word in ids:
            total += self.table[source % len(self.table), before, last, word]
            before, last = last, word
        return total

    def every_translation(self, limit: int, no_unk: bool = False):
        """All finished translations of at most `limit` words, the sentence end counted."""
        words = [w for w in range(1, self.vocabulary) if not (no_unk and w == 1)]
        for length in range(limit):
            for body in itertools.product(words, repeat=length):
                yield (*body, EOS_ID)
