"""What one writes in plain PyTorch: RNNsearch as a module, teacher forcing in a loop, gradients by autograd.

    python -m benchmarks.plain_loop PREPARED --seconds 30 [--warm-up 10] --vocabularies K_x K_y

The same equations, sizes, objective and optimiser as `rnnsearch train` in preset base, on the same batches, with what
one knows to do: batches by length, oneDNN for the products, all that does not recur outside the loop, the output layer
once for all steps. The encoder is nn.GRU, whose reset gate stands behind the product: less to do than the paper's unit.
PREPARED is a folder of encoded text. It prints the target tokens a second as JSON, sentence ends counted.
"""

import argparse
import json
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, dropout
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from benchmarks.setting import BATCH_TOKENS, CLIP_NORM, DROPOUT, LABEL_SMOOTHING, LEARNING_RATE
from rnnsearch.text.batches import collate, cost_batches
from rnnsearch.text.store import EncodedCorpus


class PlainLoop(nn.Module):
    """RNNsearch in the order of the authors' code: align with s_{i-1}, predict y_i, then consume it."""

    def __init__(self, m: int, n: int, attention: int, l: int, source: int, target: int) -> None:
        super().__init__()
        self.E_x, self.E_y = nn.Embedding(source, m), nn.Embedding(target, m)
        self.encoder = nn.GRU(m, n, bidirectional=True, batch_first=True)
        self.initial = nn.Linear(n, n)
        self.U_a, self.W_a = nn.Linear(2 * n, attention, bias=False), nn.Linear(n, attention, bias=False)
        self.v_a = nn.Linear(attention, 1, bias=False)
        self.inputs, self.contexts = nn.Linear(m, 3 * n), nn.Linear(2 * n, 3 * n, bias=False)
        self.gates, self.proposal = nn.Linear(n, 2 * n, bias=False), nn.Linear(n, n, bias=False)
        self.readout = nn.Linear(n + m + 2 * n, 2 * l)
        self.output = nn.Linear(l, target)

    def forward(self, x: Tensor, x_mask: Tensor, y: Tensor, y_mask: Tensor, p: float, smoothing: float) -> Tensor:
        """Mean loss a token: a scalar from x [B, T_x], y [B, T_y] and their masks; dropout p."""
        packed = pack_padded_sequence(dropout(self.E_x(x), p), x_mask.sum(1), batch_first=True, enforce_sorted=False)
        h, _ = pad_packed_sequence(self.encoder(packed)[0], batch_first=True)
        s_0 = torch.tanh(self.initial(h[:, 0, h.shape[2] // 2 :]))
        return self.decode(h, s_0, x_mask, y, y_mask, p, smoothing)

    def decode(
        self, h: Tensor, s: Tensor, x_mask: Tensor, y: Tensor, y_mask: Tensor, p: float, smoothing: float
    ) -> Tensor:
        """Mean loss a token from the annotations h [B, T_x, 2n] and the first state s [B, n]."""
        h = dropout(h, p)
        Ey = dropout(self.E_y(y), p)
        before = torch.cat([torch.zeros_like(Ey[:, :1]), Ey[:, :-1]], dim=1)
        U_a_h, X = self.U_a(h), self.inputs(Ey)
        outside = ~x_mask
        states, contexts = [], []
        for i in range(y.shape[1]):
            e = self.v_a(torch.tanh(U_a_h + self.W_a(s).unsqueeze(1))).squeeze(2)
            alpha = torch.softmax(e.masked_fill(outside, -torch.inf), dim=1)
            c = torch.bmm(alpha.unsqueeze(1), h).squeeze(1)
            states.append(s)
            contexts.append(c)
            zr, proposal = (X[:, i] + self.contexts(c)).split([2 * s.shape[1], s.shape[1]], dim=1)
            z, r = torch.sigmoid(zr + self.gates(s)).chunk(2, dim=1)
            s = torch.lerp(s, torch.tanh(proposal + self.proposal(r * s)), z)
        seen = torch.cat([torch.stack(states, 1), before, torch.stack(contexts, 1)], dim=2)[y_mask]
        t = self.readout(seen).unflatten(1, (-1, 2)).amax(2)
        return cross_entropy(self.output(dropout(t, p)), y[y_mask], label_smoothing=smoothing)


def batches(store: EncodedCorpus) -> Iterator[list[Tensor]]:
    """x, x_mask, y, y_mask of all epochs, batches as `rnnsearch train` makes them."""
    for epoch in count():
        for indices in cost_batches(*store.lengths, 1234, epoch, BATCH_TOKENS):
            batch = collate([store.pair(int(i)) for i in indices])
            yield [torch.from_numpy(array) for array in (batch.x, batch.x_mask, batch.y, batch.y_mask)]


def train(store: EncodedCorpus, model: PlainLoop, warm_up: float, seconds: float) -> float:
    """Target tokens a second of training for so many seconds, after `warm_up` others."""
    optimiser = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE, fused=True)
    begun = started = time.perf_counter()
    tokens = 0
    for batch in batches(store):
        optimiser.zero_grad()
        loss = model(*batch, DROPOUT, LABEL_SMOOTHING)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP_NORM)
        optimiser.step()
        now = time.perf_counter()
        if started == begun and now - begun >= warm_up:
            started, tokens = now, 0
            continue
        tokens += int(batch[3].sum())
        if now - begun >= warm_up + seconds:
            break
    return tokens / (now - started)


def main() -> None:
    """Train, and print what was measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plain_loop", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("prepared", type=Path)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--warm-up", type=float, default=10)
    parser.add_argument("--sizes", type=int, nargs=4, default=[256, 512, 512, 256], metavar=("m", "n", "n'", "l"))
    parser.add_argument("--vocabularies", type=int, nargs=2, required=True, metavar=("K_x", "K_y"))
    parser.add_argument("--threads", type=int)
    args = parser.parse_args()
    torch.manual_seed(1)
    torch.set_float32_matmul_precision("medium")  # oneDNN
    if args.threads:
        torch.set_num_threads(args.threads)
    model = PlainLoop(*args.sizes, *args.vocabularies)
    speed = train(EncodedCorpus.open(args.prepared), model, args.warm_up, args.seconds)
    print(json.dumps({"target_tokens_per_second": speed}))


if __name__ == "__main__":
    main()
