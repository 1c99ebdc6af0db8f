"""The network as ONNX graphs: `encoder` once a sentence, `step` once a word. Symbols are the paper's, as in paper.py.

What changes nothing in the values but saves time: the words' share of the step is looked up in a table (`WordTable`);
the contexts enter through matrices only, so the annotations are multiplied by them once a sentence, and the step
weighs the products: C c_i = sum_j alpha_ij (C h_j); the best words are sought in blocks that hold them.
"""

import threading
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rnnsearch.config import ModelSettings
from rnnsearch.engine.graph import MICROSOFT, Graph

Floats = NDArray[np.float32]
Weights = Mapping[str, Floats]

#: Neighbouring words whose largest log p is sought first: the k best words lie in the k best blocks.
BLOCK = 32
#: Words that the table is filled by; always as many, so that a row's last bit never depends on its neighbours.
FILLED_AT_ONCE = 64
#: The largest whole number of the left side of an int8 product: the first, or the second on processors that add pairs
#: of products in 16 bits. There numbers count from 0: 2 * 255 * 127 overflows, 2 * 127 * 127 does not.
WHOLE, LESS = 127, 63
#: What makes an update gate exactly 0: then the unit keeps its state.
SHUT = -1e4


def shapes(settings: ModelSettings, source_size: int, target_size: int) -> dict[str, tuple[int, ...]]:
    """The weights of a model by their names."""
    m, n, l, a = settings.embedding_size, settings.hidden_size, settings.maxout_size, settings.attention_size
    search = settings.architecture == "rnnsearch"
    context = 2 * n if search else n
    found: dict[str, tuple[int, ...]] = {"E_x": (source_size, m), "E_y": (target_size, m)}
    if settings.embedding_bias:
        found |= {"b_x": (m,), "b_Ey": (m,)}
    for unit in ("encoder_forward", *(["encoder_backward"] if search else []), "decoder"):
        found |= {f"{unit}.{name}": (n, m) for name in ("W", "W_z", "W_r")}
        found |= {f"{unit}.{name}": (n, n) for name in ("U", "U_z", "U_r")} | {f"{unit}.b": (n,)}
    found |= {f"decoder.{name}": (n, context) for name in ("C", "C_z", "C_r")}
    if search:
        found |= {"attention.v_a": (a,), "attention.W_a": (a, n), "attention.U_a": (a, context)}
    found |= {"initial.W_s": (n, n), "initial.b_s": (n,), "output.U_o": (2 * l, n), "output.V_o": (2 * l, m)}
    found |= {"output.C_o": (2 * l, context), "output.b_o": (2 * l,), "output.b_y": (target_size,)}
    if settings.factored_output:
        return found | {"output.W_t": (m, l), "output.W_o": (target_size, m)}
    return found | {"output.W_o": (target_size, l)}


class WordTable:
    """What each word y_{i-1} adds to the step: [W; W_z; W_r; V_o] E y and the biases, computed when first needed.

    The row after the last word is that of no word: E y is zero, and in the authors' order the state stays s_0.
    """

    def __init__(self, settings: ModelSettings, weights: Weights, added: Callable[[Floats], Floats]) -> None:
        """`added`: runs the graph of `words_added`; numpy's own product would start threads, which then wait busily."""
        self._E, self._b, self._added = weights["E_y"], weights.get("b_Ey"), added
        n, K = settings.hidden_size, len(self._E)
        # Memory that nothing was written to takes no room.
        self.rows = np.empty((K + 1, 3 * n + 2 * settings.maxout_size), np.float32)
        self.rows[K] = added(np.zeros_like(self._E[:1]))
        if settings.decoder_order == "authors":
            self.rows[K, n : 2 * n] = SHUT
        self._missing = np.ones(K + 1, bool)
        self._missing[K] = False
        self._lock = threading.Lock()

    def prepare(self, words: NDArray[np.int64]) -> None:
        """Fill in the rows of `words`."""
        if self._missing[words].any():
            with self._lock:
                for block in np.unique(words[self._missing[words]] // FILLED_AT_ONCE):
                    self._fill(int(block) * FILLED_AT_ONCE)

    def _fill(self, start: int) -> None:
        some = slice(start, min(start + FILLED_AT_ONCE, len(self._E)))
        Ey = self._E[some] if self._b is None else self._E[some] + self._b
        self.rows[some] = self._added(Ey)
        self._missing[some] = False


def words_added(weights: Weights) -> Graph:
    """Ey [words, m] -> rows of the `WordTable`."""
    g, n = Graph(), len(weights["decoder.b"])
    P = np.concatenate([*(weights[f"decoder.{name}"] for name in ("W", "W_z", "W_r")), halves(weights["output.V_o"])])
    bias = np.concatenate([weights["decoder.b"], np.zeros(2 * n, np.float32), halves(weights["output.b_o"])])
    product = linear(g, g.input("Ey", "float32", ["words", P.shape[1]]), P, whole=0)
    g.output(g.node("Add", product, g.constant(bias)), "rows", "float32", ["words", len(P)])
    return g


def encoder(settings: ModelSettings, weights: Weights, *, whole: int) -> Graph:
    """x [B, T_x] and lengths [B] (whole: mask [T_x, B, 1]) -> s_0, contexts and U_a_h [B, T_x, n'].

    contexts: [C; C_z; C_r; C_o] h_j and a 1, whose weighted sum is the sum of the weights. RNNencdec: one column.
    """
    g, n = Graph(), settings.hidden_size
    x = g.node("Transpose", g.input("x", "int64", ["B", "T"]), perm=[1, 0])
    search = settings.architecture == "rnnsearch"
    names = ["encoder_forward", "encoder_backward"][: 1 + search]
    last, h = _whole_states(g, x, weights, names, whole) if whole else _states(g, x, weights, names)
    W_s = linear(g, last, weights["initial.W_s"], whole=whole, bounded=True)
    g.output(g.node("Tanh", g.node("Add", W_s, g.constant(weights["initial.b_s"]))), "s_0", "float32", ["B", n])
    if not search:
        h = g.node("Unsqueeze", last, g.constant(np.array([1])))
    _outputs_of_annotations(g, h, settings, weights, whole=whole)
    return g


def _outputs_of_annotations(g: Graph, h: str, settings: ModelSettings, weights: Weights, *, whole: int) -> None:
    matrices = [weights[f"decoder.{name}"] for name in ("C", "C_z", "C_r")] + [halves(weights["output.C_o"])]
    if settings.architecture == "rnnsearch":
        matrices.append(weights["attention.U_a"])
    sizes = [sum(map(len, matrices[:4])), *(len(matrix) for matrix in matrices[4:])]
    contexts, *U_a_h = _split(g, linear(g, h, np.concatenate(matrices), whole=whole, bounded=True), sizes)
    shape = g.node("Concat", g.node("Shape", h, end=2), g.constant(np.array([1])), axis=0)
    contexts = g.node("Concat", contexts, g.node("Expand", g.constant(np.array(1, np.float32)), shape), axis=2)
    g.output(contexts, "contexts", "float32", ["B", "T", sizes[0] + 1])
    for value in U_a_h:
        g.output(value, "U_a_h", "float32", ["B", "T", settings.attention_size])


def step(settings: ModelSettings, weights: Weights, *, whole: int) -> Graph:
    """One word further for the rows R of a grid [B, slots].

    In: words and parents [R]; s [R0, n] and, in the authors' order, c [R0, 3n], of the rows before; `WordTable.rows`;
    contexts and U_a_h of `encoder` (U_a_h as [B, 1, T_x, n']), padding [B, 1, T_x] with -inf on it; the
    shapes grid [B, slots, 1, n'] and cells [B, slots, T_x], or for RNNencdec ones [B, slots, 1]; how many blocks and
    words are wanted. Out: new_s, new_c, alpha [B, slots, T_x], log_p [R, .], and of the best words log p (best), their
    place in the best blocks laid side by side, and the numbers of these blocks (block).
    """
    return _Step(settings, weights, whole).graph


class _Step:
    """Builds the graph of a step. What ends in `_p` is already that of the parent."""

    def __init__(self, settings: ModelSettings, weights: Weights, whole: int) -> None:
        self.graph = g = Graph()
        self.weights, self.whole, self.settings = weights, whole, settings
        n, l = settings.hidden_size, settings.maxout_size
        authors, self.search = settings.decoder_order == "authors", settings.architecture == "rnnsearch"
        parents = g.input("parents", "int64", ["R"])
        words = g.input("words", "int64", ["R"])
        self.contexts = g.input("contexts", "float32", ["B", "T", 3 * n + 2 * l + 1])
        s_p = g.node("Gather", g.input("s", "float32", ["R0", n]), parents)
        columns = len(weights["E_y"]) + 1
        table = g.input("table", "float32", [columns, 3 * n + 2 * l])
        Ey, V_oEy = _split(g, g.node("Gather", table, words), [3 * n, 2 * l])
        if authors:
            c_p = g.node("Gather", g.input("c", "float32", ["R0", 3 * n]), parents)
            s = self.unit(s_p, self.product(s_p, "decoder.U_z", "decoder.U_r"), g.node("Add", Ey, c_p))
            asked, *keys = self.asked(s, ["output.U_o"])
            c, C_oc = self.look(keys)
            g.output(c, "new_c", "float32", ["R", 3 * n])
        else:
            asked, *keys = self.asked(s_p, ["decoder.U_z", "decoder.U_r"])
            c, C_oc = self.look(keys)
            s = self.unit(s_p, asked, g.node("Add", Ey, c))
            asked = self.product(s, "output.U_o")
        g.output(s, "new_s", "float32", ["R", n])
        self.words(self.maxout(asked, V_oEy, C_oc))

    def product(self, x: str, *names: str) -> str:
        matrices = [halves(self.weights[name]) if name == "output.U_o" else self.weights[name] for name in names]
        return linear(self.graph, x, np.concatenate(matrices), whole=self.whole, bounded=True)

    def asked(self, s: str, names: list[str]) -> list[str]:
        """The product of s with the matrices of these names, and with W_a where the model aligns."""
        if not self.search:
            return [self.product(s, *names)]
        sizes = [sum(len(self.weights[name]) for name in names), self.settings.attention_size]
        return _split(self.graph, self.product(s, *names, "attention.W_a"), sizes)

    def unit(self, s: str, U_zrs: str, given: str) -> str:
        """The gated unit; `given` [R, 3n] is what word and context add to s~, z and r."""
        g, n = self.graph, self.settings.hidden_size
        given_h, given_zr = _split(g, given, [n, 2 * n])
        z, r = _split(g, g.node("Sigmoid", g.node("Add", U_zrs, given_zr)), [n, n])
        s_tilde = g.node("Tanh", g.node("Add", self.product(g.node("Mul", r, s), "decoder.U"), given_h))
        return g.node("Add", s, g.node("Mul", z, g.node("Sub", s_tilde, s)))

    def look(self, keys: list[str]) -> list[str]:
        """[C; C_z; C_r] c_i and C_o c_i of each row; gives alpha out."""
        g, s = self.graph, self.settings
        sizes = [3 * s.hidden_size, 2 * s.maxout_size, 1]
        width = sum(sizes)
        if not self.search:  # one fixed context: the "weights" [B, beam, 1] are ones
            ones = g.input("ones", "float32", ["B", "beam", 1])
            rows = g.node("Reshape", g.node("MatMul", ones, self.contexts), g.constant(np.array([-1, width])))
            return _split(g, rows, sizes)[:2]
        U_a_h = g.input("U_a_h", "float32", ["B", 1, "T", s.attention_size])
        padding = g.input("padding", "float32", ["B", 1, "T"])
        key = g.node("Reshape", keys[0], g.input("grid", "int64", [4]))  # [B, slots, 1, n']
        hidden = g.node("Tanh", g.node("Add", key, U_a_h))
        # One row times many columns is by far the fastest form of this product.
        flat_hidden = g.node("Reshape", hidden, g.constant(np.array([-1, s.attention_size])))
        e = g.node("Gemm", g.constant(self.weights["attention.v_a"][None]), flat_hidden, transB=1)
        e = g.node("Add", g.node("Reshape", e, g.input("cells", "int64", [3])), padding)  # [B, slots, T]
        # The softmax by hand: sums along the matrix product, so that padding changes not even the last bit.
        largest = g.node("ReduceMax", e, g.constant(np.array([2])), keepdims=1)
        weight = g.node("Exp", g.node("Sub", e, largest))
        products, total = _split(g, g.node("MatMul", weight, self.contexts), [width - 1, 1])
        g.output(g.node("Div", weight, total), "alpha", "float32", ["B", "slots", "T"])
        flat = g.constant(np.array([-1, width - 1]))
        return _split(g, g.node("Reshape", g.node("Div", products, total), flat), sizes[:2])

    def maxout(self, *summands: str) -> str:
        g, l = self.graph, self.settings.maxout_size
        return g.node("Max", *_split(g, g.node("Add", g.node("Add", *summands[:2]), summands[2]), [l, l]))

    def words(self, t: str) -> None:
        """log p of all words, and the best of each row: their log p, and where they stand in the best blocks."""
        g, w = self.graph, self.weights
        if "output.W_t" in w:
            t = linear(g, t, w["output.W_t"], whole=self.whole)
        lack = -len(w["output.b_y"]) % BLOCK
        W_o = np.pad(w["output.W_o"], ((0, lack), (0, 0)))
        b_y = np.pad(w["output.b_y"], (0, lack), constant_values=-np.inf)
        log_p = g.node("LogSoftmax", g.node("Add", linear(g, t, W_o, whole=self.whole), g.constant(b_y)))
        g.output(log_p, "log_p", "float32", ["R", len(b_y)])
        blocks, k = g.input("blocks", "int64", [1]), g.input("k", "int64", [1])
        split = g.node("Reshape", log_p, g.constant(np.array([0, len(b_y) // BLOCK, BLOCK])))
        _, block = g.nodes(2, "TopK", g.node("ReduceMax", split, g.constant(np.array([2])), keepdims=0), blocks)
        where = g.node("Unsqueeze", block, g.constant(np.array([2])))
        few = g.node("Reshape", g.node("GatherND", split, where, batch_dims=1), g.constant(np.array([0, -1])))
        best, place = g.nodes(2, "TopK", few, k)
        for name, value, kind in (("best", best, "float32"), ("place", place, "int64")):
            g.output(value, name, kind, ["R", "k"])
        g.output(block, "block", "int64", ["R", "blocks"])


def posterior(settings: ModelSettings, weights: Weights) -> Graph:
    """Where the model looked for words that are known: `Engine.posterior`, in float32.

    In: words [B], y_{i-1}; given [B], y_i; s [B, n], s_i; `WordTable.rows`; contexts of `encoder`; alpha [B, T_x] and
    log_p [B, .] of the step; k, how many places are wanted. Out: places [B, k] and weights [B, k], which sum to 1.
    """
    g, n, l = Graph(), settings.hidden_size, settings.maxout_size
    width = 3 * n + 2 * l
    words, given = g.input("words", "int64", ["B"]), g.input("given", "int64", ["B"])
    table = g.input("table", "float32", [len(weights["E_y"]) + 1, width])
    contexts = g.input("contexts", "float32", ["B", "T", width + 1])
    alpha, k = g.input("alpha", "float32", ["B", "T"]), g.input("k", "int64", [1])
    _, V_oEy = _split(g, g.node("Gather", table, words), [3 * n, 2 * l])
    _, C_oh, _ = _split(g, contexts, [3 * n, 2 * l, 1])
    U_os = linear(g, g.input("s", "float32", ["B", n]), halves(weights["output.U_o"]), whole=0)
    alike = g.node("Unsqueeze", g.node("Add", U_os, V_oEy), g.constant(np.array([1])))
    t = g.node("Max", *_split(g, g.node("Add", alike, C_oh), [l, l]))  # [B, T, l]: the readout that sees h_j alone
    if "output.W_t" in weights:
        t = linear(g, t, weights["output.W_t"], whole=0)
    lack = -len(weights["output.b_y"]) % BLOCK
    W_o = g.constant(np.pad(weights["output.W_o"], ((0, lack), (0, 0))))
    expected = g.node(
        "MatMul", g.node("Exp", g.input("log_p", "float32", ["B", len(weights["output.b_y"]) + lack])), W_o
    )
    towards = g.node("Sub", g.node("Gather", W_o, given), expected)  # what changes log p(y_i), around the true c_i
    last = g.constant(np.array([2]))
    nearly = g.node("Squeeze", g.node("MatMul", t, g.node("Unsqueeze", towards, last)), last)
    log_alpha = g.node("Log", alpha)
    _, places = g.nodes(2, "TopK", g.node("Add", log_alpha, nearly), k)
    where = g.node("Unsqueeze", places, last)
    chosen = g.node("GatherND", t, where, batch_dims=1)  # [B, k, l]
    logits = g.node("Add", g.node("MatMul", chosen, g.node("Transpose", W_o, perm=[1, 0])),
                    g.constant(np.pad(weights["output.b_y"], (0, lack), constant_values=-np.inf)))  # fmt: skip
    of_given = g.node("Expand", g.node("Unsqueeze", given, g.constant(np.array([1, 2]))), g.node("Shape", where))
    log_p = g.node("GatherElements", g.node("LogSoftmax", logits), of_given, axis=2)
    joint = g.node("Add", g.node("GatherND", log_alpha, where, batch_dims=1), g.node("Squeeze", log_p, last))
    g.output(places, "places", "int64", ["B", "k"])
    g.output(g.node("Softmax", joint), "weights", "float32", ["B", "k"])
    return g


def linear(g: Graph, x: str, W: Floats, *, whole: int, bounded: bool = False) -> str:
    """W x for the rows of x; `bounded`: all of x lies between -1 and 1, as states do.

    whole: 0 for float32, or for int8 the largest whole number of x, WHOLE or LESS. Each row of W has its own scale, and
    each row of x too unless it is bounded, so that rows of x know nothing of one another. The sums are exact.
    """
    if not whole:
        return g.node("MatMul", x, g.constant(np.ascontiguousarray(W.T)))
    numbers, scales = quantised(W)
    zero, step_size = g.constant(np.array(whole + 1, np.uint8)), g.constant(np.array(1 / whole, np.float32))
    if bounded:
        rounded = g.node("QuantizeLinear", x, step_size, zero)
        return _whole_product(g, rounded, zero, numbers, step_size, scales)
    largest = g.node("ReduceMax", g.node("Abs", x), g.constant(np.array([1])), keepdims=0)
    scale = g.node("Mul", largest, step_size)
    rounded = g.node("QuantizeLinear", x, scale, g.node("Expand", zero, g.node("Shape", scale)), axis=0)
    y = _whole_product(g, rounded, zero, numbers, g.constant(np.array(1, np.float32)), scales)
    return g.node("Mul", y, g.node("Unsqueeze", scale, g.constant(np.array([1]))))


def _whole_product(g: Graph, x: str, zero: str, numbers: NDArray[np.int8], x_scale: str, scales: Floats) -> str:
    """The product of whole numbers, scaled; `zero` stands for 0 in x."""
    W = g.constant(numbers), g.constant(scales)
    return g.node("MatMulIntegerToFloat", x, W[0], x_scale, W[1], zero, domain=MICROSOFT)


def largest_product() -> Graph:
    """The largest product of numbers up to WHOLE that `linear` can come to: y is 64, or less where sums overflow."""
    g, ones = Graph(), np.ones((64, 64), np.float32)
    y = linear(g, g.input("x", "float32", ["R", 64]), ones, whole=WHOLE, bounded=True)
    g.output(y, "y", "float32", ["R", 64])
    return g


def quantised(W: Floats) -> tuple[NDArray[np.int8], Floats]:
    """W^T in whole numbers from -127 to 127, and the scale of each of its columns."""
    scale = np.maximum(np.abs(W).max(axis=1), 1e-30) / np.float32(127)
    return np.ascontiguousarray(np.rint(W / scale[:, None]).astype(np.int8).T), scale.astype(np.float32)


def halves(W: Floats) -> Floats:
    """The rows of a maxout layer, the first of each pair before the second of each pair."""
    return np.concatenate([W[0::2], W[1::2]])


def _states(g: Graph, x: str, weights: Weights, names: Sequence[str]) -> tuple[str, str]:
    """The encoder on x [T, B]: the last direction's state that has seen all [B, n], and the annotations [B, T, .]."""
    E_x = weights["E_x"] if "b_x" not in weights else weights["E_x"] + weights["b_x"]
    W, R, b = (g.constant(np.stack(part)) for part in zip(*(_gru(weights, name) for name in names), strict=True))
    n, direction = len(weights["encoder_forward.b"]), "bidirectional" if len(names) > 1 else "forward"
    lengths = g.input("lengths", "int32", ["B"])
    Ex = g.node("Gather", g.constant(E_x), x)
    Y, last = g.nodes(2, "GRU", Ex, W, R, b, lengths, hidden_size=n, direction=direction)
    h = g.node("Reshape", g.node("Transpose", Y, perm=[2, 0, 1, 3]), g.constant(np.array([0, 0, len(names) * n])))
    return g.node("Gather", last, g.constant(np.array(len(names) - 1))), h


def _gru(weights: Weights, name: str) -> tuple[Floats, Floats, Floats]:
    """A unit as ONNX's GRU takes it, in the order z, r, h. Its z is the paper's 1 - z: sigmoid(-v)."""
    w = {key: weights[f"{name}.{key}"] for key in ("W", "W_z", "W_r", "U", "U_z", "U_r", "b")}
    b = np.zeros(6 * len(w["b"]), np.float32)
    b[2 * len(w["b"]) : 3 * len(w["b"])] = w["b"]
    return np.concatenate([-w["W_z"], w["W_r"], w["W"]]), np.concatenate([-w["U_z"], w["U_r"], w["U"]]), b


def _whole_states(g: Graph, x: str, weights: Weights, names: Sequence[str], whole: int) -> tuple[str, str]:
    """As `_states`, in whole numbers, for which ONNX has no GRU: a loop over the words, both directions in one."""
    E_x = weights["E_x"] if "b_x" not in weights else weights["E_x"] + weights["b_x"]
    n, ways = len(weights["encoder_forward.b"]), len(names)
    rows = g.node("Gather", g.constant(E_x), g.node("Reshape", x, g.constant(np.array([-1]))))
    W = np.concatenate([weights[f"{name}.{part}"] for name in names for part in ("W", "W_z", "W_r")])
    b = np.concatenate([np.pad(weights[f"{name}.b"], (0, 2 * n)) for name in names])
    given = g.node("Add", linear(g, rows, W, whole=whole), g.constant(b))
    given = g.node("Reshape", given, g.node("Concat", g.node("Shape", x), g.constant(np.array([3 * n * ways])), axis=0))
    mask = g.input("mask", "float32", ["T", "B", 1])
    zero = g.node("Expand", g.constant(np.zeros((1, n), np.float32)), g.node("Shape", mask, start=1))
    body = Graph(g)
    states = [body.input(f"h_{name}", "float32", ["B", n]) for name in names]
    inputs = [body.input(f"given_{name}", "float32", ["B", 3 * n]) for name in names]
    masks = [body.input(f"mask_{name}", "float32", ["B", 1]) for name in names]
    new = [_encoded(body, weights, *each, whole) for each in zip(names, states, inputs, masks, strict=True)]
    # A loop gives out first its states and then what it has made of each word: here the states again.
    for value in [*new, *(body.node("Identity", value) for value in new)]:
        body.output(value, value, "float32", ["B", n])
    found = g.nodes(
        2 * ways, "Scan", *[zero] * ways, *_split(g, given, [3 * n] * ways), *[mask] * ways, body=body,
        num_scan_inputs=2 * ways, scan_input_directions=[*range(ways)] * 2, scan_output_directions=[*range(ways)],
    )  # fmt: skip
    h = g.node("Transpose", g.node("Concat", *found[ways:], axis=2), perm=[1, 0, 2])
    return found[ways - 1], h


def _encoded(g: Graph, weights: Weights, name: str, h: str, given: str, mask: str, whole: int) -> str:
    """One word further in one direction; where the mask is 0 the state stays."""
    U, U_zr = weights[f"{name}.U"], np.concatenate([weights[f"{name}.U_z"], weights[f"{name}.U_r"]])
    n = len(U)
    given_h, given_zr = _split(g, given, [n, 2 * n])
    gates = g.node("Sigmoid", g.node("Add", linear(g, h, U_zr, whole=whole, bounded=True), given_zr))
    z, r = _split(g, gates, [n, n])
    of_rh = linear(g, g.node("Mul", r, h), U, whole=whole, bounded=True)
    change = g.node("Sub", g.node("Tanh", g.node("Add", of_rh, given_h)), h)
    return g.node("Add", h, g.node("Mul", g.node("Mul", z, mask), change))


def _split(g: Graph, x: str, sizes: Sequence[int]) -> list[str]:
    return g.nodes(len(sizes), "Split", x, g.constant(np.array(sizes)), axis=-1)
