"""The network: parameters by the paper's names, their initialisation, and the calls encode, start, step and loss."""

import math
from types import ModuleType
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, linear

from rnnsearch import kernels, paper
from rnnsearch.config import ModelSettings
from rnnsearch.parameters import Attention, Output, Unit

#: Weight of the loss of an attention that is taught given links, beside that of the words.
GUIDED_WEIGHT = 0.3


class Memory(NamedTuple):
    """What the decoder sees of B source sentences. RNNencdec: h is c as one column, U_a_h is empty."""

    h: Tensor  # [B, T_x, 2n]; RNNencdec [B, 1, n]
    U_a_h: Tensor  # [B, T_x, n']
    mask: Tensor  # [B, T_x] bool
    s_0: Tensor  # [B, n]


class State(NamedTuple):
    """The decoder between two words of k hypotheses a sentence; c is None before the first word."""

    s: Tensor  # [B, k, n]
    c: Tensor | None  # [B, k, 2n]


class Loss(NamedTuple):
    """Sums over the target tokens of a batch, sentence ends counted."""

    total: Tensor  # what is minimised: differentiable, with label smoothing and the weighted guided part
    nll: Tensor  # -log p, no smoothing, no gradient
    tokens: int
    guided: Tensor | None = None  # -g log alpha, no weight, no gradient; None without given links


class Model(nn.Module):
    """RNNsearch or RNNencdec. `equations` is `kernels` or, for comparison, `paper`.

    products: type of the matrix products of `loss`, such as bfloat16 (None: that of the weights); kernels only.
    """

    def __init__(
        self, settings: ModelSettings, source_size: int, target_size: int, equations: ModuleType = kernels,
        products: torch.dtype | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.settings = settings
        self.equations = equations
        self.products = products
        m, n, l = settings.embedding_size, settings.hidden_size, settings.maxout_size
        search = settings.architecture == "rnnsearch"
        context = 2 * n if search else n
        self.E_x = nn.Parameter(torch.empty(source_size, m))
        self.E_y = nn.Parameter(torch.empty(target_size, m))
        self.b_x = nn.Parameter(torch.empty(m)) if settings.embedding_bias else None
        self.b_Ey = nn.Parameter(torch.empty(m)) if settings.embedding_bias else None
        self.encoder_forward = _unit(m, n)
        self.encoder_backward = _unit(m, n) if search else None
        self.decoder = _unit(m, n, context)
        self.attention = _matrices(v_a=(settings.attention_size,), W_a=(settings.attention_size, n),
                                   U_a=(settings.attention_size, context)) if search else None  # fmt: skip
        self.initial = _matrices(W_s=(n, n), b_s=(n,))  # RNNencdec's V
        inner = m if settings.factored_output else l
        self.output = _matrices(U_o=(2 * l, n), V_o=(2 * l, m), C_o=(2 * l, context), b_o=(2 * l,),
                                W_o=(target_size, inner), b_y=(target_size,))  # fmt: skip
        if settings.factored_output:
            self.output["W_t"] = nn.Parameter(torch.empty(m, l))

    @torch.no_grad()
    def initialise(self, kind: str, seed: int) -> None:
        """`paper`: as printed in appendix B.1. `scaled`: by the width of each layer, what Adam needs."""
        generator = torch.Generator().manual_seed(seed)
        for name, p in self.named_parameters():
            short = name.rpartition(".")[2]
            if short in {"U", "U_z", "U_r"}:
                nn.init.orthogonal_(p, generator=generator)
            elif short.startswith("b"):
                p.zero_()
            elif kind == "paper":
                scale = 0.0 if short == "v_a" else 0.001 if short in {"W_a", "U_a"} else 0.01
                p.normal_(0.0, scale, generator=generator) if scale else p.zero_()
            elif short in {"E_x", "E_y"}:
                p.normal_(0.0, 1.0, generator=generator)
            else:
                bound = 1 / math.sqrt(p.shape[-1])
                p.uniform_(-bound, bound, generator=generator)

    def tables(self) -> list[nn.Parameter]:
        """The embeddings, whose numbers are about 1 where those of other matrices are about 1 / sqrt(width)."""
        return [self.E_x, self.E_y]

    def loss(self, x: Tensor, x_mask: Tensor, y: Tensor, y_mask: Tensor, *, dropout: float = 0.0,
             label_smoothing: float = 0.0, guide: Tensor | None = None) -> Loss:  # fmt: skip
        """Loss of a batch: x [B, T_x], y [B, T_y] word ids with the sentence end, masks bool.

        guide [B, T_y, T_x] (RNNsearch only): what alpha should be, each row of sum 1, or 0 where that is left open, as
        on padding. This adds GUIDED_WEIGHT times its cross entropy.
        """
        kind = self.products or self.E_y.dtype
        h, s_0 = self._source(x, x_mask, dropout, kind)
        Ey = kernels.drop(_embed(y, self.E_y, self.b_Ey), dropout, kind)
        before = torch.cat([torch.zeros_like(Ey[:, :1]), Ey[:, :-1]], dim=1)  # E y_{i-1}; nothing before the first word
        printed = self.settings.decoder_order == "printed"
        s, c, alpha = self._recursion(before if printed else Ey, s_0, h, x_mask)
        asked = s[:, 1:] if printed else s[:, :-1]
        output = Output(**self.output)
        real = y_mask.flatten().nonzero().squeeze(1)
        t = self.equations.readout(output, asked, before, c).flatten(0, 1).index_select(0, real)
        words = y.flatten().index_select(0, real)
        total, nll = self.equations.loss(output, kernels.drop(t, dropout, kind), words, label_smoothing)
        if guide is None:
            return Loss(total, nll, len(real))
        assert alpha is not None
        guided = _cross_entropy(guide, alpha)
        return Loss(total + GUIDED_WEIGHT * guided, nll, len(real), guided.detach())

    def encode(self, x: Tensor, x_mask: Tensor) -> Memory:
        """The annotations of B sentences, x [B, T_x], and what else a sentence needs only once."""
        h, s_0 = self._source(x, x_mask, 0.0, self.E_x.dtype)
        return Memory(h, h.new_empty(0) if self.attention is None else linear(h, self._attention().U_a), x_mask, s_0)

    def start(self, memory: Memory, beam: int) -> State:
        """s_0 for each of `beam` hypotheses a sentence."""
        return State(memory.s_0.unsqueeze(1).expand(-1, beam, -1), None)

    def step(self, memory: Memory, state: State, words: Tensor | None) -> tuple[State, Tensor, Tensor]:
        """One word further: the state, log p [B, k, K_y] and alpha [B, k, T_x] of the word after `words` [B, k].

        `words` is None before the first word: then E y_{i-1} is zero, and in the authors' order nothing is consumed.
        """
        B, k = state.s.shape[:2]
        Ey = state.s.new_zeros(B, k, self.E_y.shape[1]) if words is None else _embed(words, self.E_y, self.b_Ey)
        unit, s = Unit(**self.decoder), state.s
        if self.settings.decoder_order == "authors" and words is not None:
            s = paper.gated_unit(unit, Ey, s, state.c)
        alpha, c = self._look(memory, s)
        if self.settings.decoder_order == "printed":
            s = paper.gated_unit(unit, Ey, s, c)
        output = Output(**self.output)
        return State(s, c), paper.log_p(output, paper.readout(output, s, Ey, c)), alpha

    def posterior(
        self, memory: Memory, state: State, words: Tensor | None, alpha: Tensor, given: Tensor, k: int
    ) -> Tensor:
        """Where the model looked for the words `given` [B], y_i: [B, T_x], as alpha_ij p(y_i | c_i = h_j) has it.

        state, of one row a sentence, and alpha [B, 1, T_x] are what `step` gave for `words` [B, 1]. Only the readout
        sees h_j alone. Of all but the k likeliest j it is 0. These are found with the sum in log p linearised around
        the true t_i: log p(y_i | t_ij) = (w_{y_i} - sum_y p(y) w_y) t_ij + what is the same of all j; w_y: rows of W_o.
        """
        assert state.c is not None
        output, s = Output(**self.output), state.s
        Ey = s.new_zeros(len(s), 1, self.E_y.shape[1]) if words is None else _embed(words, self.E_y, self.b_Ey)
        p = paper.log_p(output, paper.readout(output, s, Ey, state.c)).exp()
        T = memory.h.shape[1]
        t = paper.readout(output, s.expand(-1, T, -1), Ey.expand(-1, T, -1), memory.h)
        towards = output.W_o[given].unsqueeze(1) - p @ output.W_o
        nearly = ((t if output.W_t is None else linear(t, output.W_t)) * towards).sum(2)
        log_alpha = alpha[:, 0].log()
        places = (log_alpha + nearly).topk(min(k, T), dim=1).indices
        rows = torch.arange(len(s), device=s.device).unsqueeze(1)
        log_p = paper.log_p(output, t[rows, places]).gather(2, given.view(-1, 1, 1).expand(-1, places.shape[1], 1))
        weights = (log_alpha.gather(1, places) + log_p.squeeze(2)).softmax(1)
        return torch.zeros_like(log_alpha).scatter(1, places, weights)

    def _source(self, x: Tensor, x_mask: Tensor, p: float, kind: torch.dtype) -> tuple[Tensor, Tensor]:
        """What the decoder sees of the source: h [B, T_x, 2n] (RNNencdec: c as [B, 1, n]) and s_0 [B, n]."""
        Ex = kernels.drop(_embed(x, self.E_x, self.b_x), p, kind)
        W_s, b_s = self.initial["W_s"], self.initial["b_s"]
        forward = Unit(**self.encoder_forward)
        if self.encoder_backward is None:
            c = self.equations.states(forward, Ex, x_mask)[:, -1]
            return kernels.drop(c, p, kind).unsqueeze(1), torch.tanh(linear(c, W_s, b_s))
        h = self.equations.annotations(Ex, x_mask, forward, Unit(**self.encoder_backward))
        # s_0 = tanh(W_s h<-_1)
        return kernels.drop(h, p, kind), torch.tanh(linear(h[:, 0, W_s.shape[1] :], W_s, b_s))

    def _recursion(self, Ey: Tensor, s_0: Tensor, h: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """s_0 .. s_{T_y}, c and alpha (RNNencdec: None)."""
        unit = Unit(**self.decoder)
        if self.attention is None:
            s: Tensor = self.equations.fixed_recursion(unit, Ey, s_0, h[:, 0])
            return s, h.expand(-1, Ey.shape[1], -1), None
        s, c, alpha = self.equations.search_recursion(unit, self._attention(), Ey, s_0, h, mask)
        return s, c, alpha

    def _look(self, memory: Memory, s: Tensor) -> tuple[Tensor, Tensor]:
        """alpha and c. RNNencdec aligns nothing: c is fixed and alpha is spread evenly."""
        if self.attention is None:
            even = memory.mask / memory.mask.sum(1, keepdim=True)
            return even.unsqueeze(1).expand(-1, s.shape[1], -1), memory.h.expand(-1, s.shape[1], -1)
        alpha = paper.align(self._attention(), s, memory.U_a_h, memory.mask)
        return alpha, alpha @ memory.h

    def _attention(self) -> Attention:
        assert self.attention is not None
        return Attention(**self.attention)


def _matrices(**shapes: tuple[int, ...]) -> nn.ParameterDict:
    return nn.ParameterDict({name: nn.Parameter(torch.empty(shape)) for name, shape in shapes.items()})


def _unit(m: int, n: int, context: int = 0) -> nn.ParameterDict:
    """Parameters of a gated hidden unit: W [n, m], U [n, n], b [n] and, with a context, C [n, context]."""
    shapes: dict[str, tuple[int, ...]] = {"W": (n, m), "W_z": (n, m), "W_r": (n, m)}
    shapes |= {"U": (n, n), "U_z": (n, n), "U_r": (n, n), "b": (n,)}
    if context:
        shapes |= {"C": (n, context), "C_z": (n, context), "C_r": (n, context)}
    return _matrices(**shapes)


def _embed(words: Tensor, E: Tensor, b: Tensor | None) -> Tensor:
    Ew = embedding(words, E)
    return Ew if b is None else Ew + b


def _cross_entropy(guide: Tensor, alpha: Tensor) -> Tensor:
    """-sum g log alpha. alpha is 0 on padding, where g is 0 too: the least number above it keeps the log finite."""
    return -(guide * alpha.clamp_min(torch.finfo(alpha.dtype).tiny).log()).sum()


def parameter_count(model: nn.Module) -> int:
    """Number of weights."""
    return sum(p.numel() for p in model.parameters())
