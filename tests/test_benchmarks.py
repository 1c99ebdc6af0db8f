"""The benchmark measures what it says: equal equations, logs read rightly, ratios the right way round."""

import json
import sys

import pytest
import torch
from benchmarks import alignment, plain_loop, plots, table
from benchmarks.eole import Eole
from benchmarks.gold import Gold, gold_sets, training_text
from benchmarks.marian import Marian
from benchmarks.ours import Ours
from benchmarks.preparing import numbered
from benchmarks.products import Shape, flops, products_of
from benchmarks.programs import measured, speed
from benchmarks.results import Results
from benchmarks.setting import S, Sizes
from benchmarks.text import spell
from benchmarks.watch import Failed, watch

from rnnsearch.text.links import Links


def test_the_plain_loop_is_the_paper_in_the_order_of_the_authors_code():
    from rnnsearch import paper
    from rnnsearch.parameters import Attention, Output, Unit

    torch.manual_seed(0)
    m, n, a, l, K = 3, 4, 5, 6, 11
    loop = plain_loop.PlainLoop(m, n, a, l, 7, K).double()
    with torch.no_grad():
        loop.inputs.bias[: 2 * n] = 0  # the paper's gates have no bias
    h, s_0 = torch.randn(2, 3, 2 * n, dtype=torch.double), torch.randn(2, n, dtype=torch.double)
    x_mask = torch.tensor([[True, True, True], [True, True, False]])
    y, y_mask = torch.tensor([[3, 5, 2, 0], [4, 0, 0, 0]]), torch.tensor([[True] * 4, [True, True, False, False]])

    found = loop.decode(h, s_0, x_mask, y, y_mask, 0.0, 0.1)

    W_z, W_r, W = loop.inputs.weight.chunk(3)
    C_z, C_r, C = loop.contexts.weight.chunk(3)
    U_z, U_r = loop.gates.weight.chunk(2)
    b = loop.inputs.bias[2 * n :]
    unit = Unit(W, W_z, W_r, loop.proposal.weight, U_z, U_r, b, C, C_z, C_r)
    attention = Attention(loop.v_a.weight[0], loop.W_a.weight, loop.U_a.weight)
    U_o, V_o, C_o = loop.readout.weight.split([n, m, 2 * n], dim=1)
    output = Output(U_o, V_o, C_o, loop.readout.bias, loop.output.weight, loop.output.bias)
    Ey = loop.E_y.weight[y]
    s, c, _ = paper.search_recursion(unit, attention, Ey, s_0, h, x_mask)
    before = torch.cat([torch.zeros_like(Ey[:, :1]), Ey[:, :-1]], 1)
    t = paper.readout(output, s[:, :-1][y_mask], before[y_mask], c[y_mask])
    total, _ = paper.loss(output, t, y[y_mask], 0.1)
    torch.testing.assert_close(found, total / 6, rtol=1e-12, atol=1e-12)


def test_the_plain_loops_encoder_never_sees_padding():
    torch.manual_seed(0)
    loop = plain_loop.PlainLoop(3, 4, 5, 6, 7, 11).double()
    y, y_mask = torch.tensor([[3, 0]]), torch.ones(1, 2, dtype=torch.bool)
    x, mask = torch.tensor([[2, 3, 0]]), torch.ones(1, 3, dtype=torch.bool)
    alone = loop(x, mask, y, y_mask, 0.0, 0.0)
    x, mask = torch.tensor([[2, 3, 0, 5, 5]]), torch.tensor([[True, True, True, False, False]])
    # A longer neighbour is what makes the padding.
    both = loop(
        torch.cat([x, torch.tensor([[1, 2, 3, 4, 0]])]),
        torch.cat([mask, torch.ones(1, 5, dtype=torch.bool)]),
        y.expand(2, -1), torch.tensor([[True, True], [False, False]]), 0.0, 0.0,
    )  # fmt: skip
    torch.testing.assert_close(both, alone)


def test_the_products_of_a_batch_are_all_there():
    m, n, a, l, K = 2, 3, 5, 7, 11
    B, T_x, T_y, N = 4, 6, 8, 30
    sizes = Sizes("tiny", m, n, a, l, K, "none")
    encoder = 2 * B * T_x * (m * 3 * n + n * 3 * n)
    decoder = B * T_y * (m * 3 * n + n * a + 2 * n * 3 * n + n * 3 * n) + B * n * n + B * T_x * 2 * n * a
    alignment = 3 * B * T_y * T_x * 2 * n + 2 * B * T_y * T_x * a
    output = N * ((3 * n + m) * 2 * l + l * K)
    expected = 3 * (encoder + decoder + output) + alignment
    assert sum(flops(product) for product in products_of(Shape(B, T_x, T_y, N), sizes, K)) == 2 * expected


def test_the_work_of_a_target_token_is_what_it_is_known_to_be():
    shape = Shape(80, 14, 16, 80 * 16)
    work = sum(flops(product) for product in products_of(shape, S, 8000)) / shape.tokens
    assert work / 1e6 == pytest.approx(51, rel=0.1)


MARIAN = """\
[2026-11-30 18:09:34] Ep. 1 : Up. 4 : Sen. 320 : Cost 6.45302248 : Time 4.50s : 1000.00 words/s : gNorm 0.0000
[2026-11-30 18:09:36] Seen 1,040 samples
[2026-11-30 18:09:37] Ep. 1 : Up. 8 : Sen. 600 : Cost 8.2 * 15,010 @ 1,053 after 15,010 : Time 2.00s : 2500.50 words/s
"""
EOLE = """\
[2026-11-30 18:05:00,478 INFO] Step 10/100000; acc: 11.4; ppl: 1961.47; lr: 1.00e-03; sents:     800; \
bsz: 1107/1436/80; 1069/1400 tok/s;     10 sec;
[2026-11-30 18:05:09,403 INFO] Saving config and vocab to model
[2026-11-30 18:05:09,279 INFO] Step 20/100000; acc: 23.9; ppl: 412.95; lr: 1.00e-03; sents:     800; \
bsz:  986/ 326/80;  120/ 500 tok/s;     19 sec;
"""
OURS = (
    '{"event": "update", "update": 10, "tokens_per_second": 100.0, "seconds": 2.0}\n'
    '{"event": "validation", "update": 10, "bleu": 1.0, "seconds": 5.0}\n'
    '{"event": "update", "update": 20, "tokens_per_second": 300.0, "seconds": 6.0}\n{"event": "upd'
)


@pytest.mark.parametrize(
    ("program", "log", "expected"),
    [
        (Marian(), MARIAN, [(4500.0, 4.5), (5001.0, 2.0)]),
        (Eole(), EOLE, [(14000.0, 10.0), (4500.0, 9.0)]),
        (Ours(), OURS, [(200.0, 2.0), (300.0, 1.0)]),
    ],
)
def test_target_tokens_and_seconds_are_read_from_a_log(program, log, expected):
    assert program.progress(log) == expected


def test_speed_leaves_the_warm_up_out():
    stretches = [(10.0, 1.0), (20.0, 1.0), (300.0, 2.0), (500.0, 2.0)]
    assert speed(stretches, 2) == 200
    assert measured(stretches, 2, 4) and not measured(stretches, 2, 4.5) and not measured(stretches[:2], 2, 1)
    with pytest.raises(Failed, match="no speed"):
        speed(stretches[:2], 2)


def test_pieces_spell_text():
    assert spell("\u2581le \u2581chat & apos ; \u2581noi r") == "le chat&apos; noir"


def test_generated_lines_never_repeat():
    assert list(numbered(["a .", "b ."], 3)) == ["a . 0\n", "b . 1\n", "a . 2\n"]
    assert list(numbered(["a"], 1_001))[-1] == "a 1 000\n"


@pytest.fixture
def results(tmp_path):
    found = Results(tmp_path / "state.json")
    for program, values in {"rnnsearch": (3000.0, 1000.0, 2000.0), "Marian": (400.0, 500.0, 600.0)}.items():
        for value in values:
            found.add("training", "sizes S", program, "target tokens a second", value)
    found.fail("eole", "it could not be installed: no wheel")
    return Results(tmp_path / "state.json")  # as an interrupted run finds it


def test_rows_have_median_spread_and_how_often_ours_is_theirs(results):
    ours, marian = results.rows()
    assert (ours["median"], ours["least"], ours["most"], ours["ours_over_it"]) == (2000, 1000, 3000, None)
    assert (marian["median"], marian["ours_over_it"]) == (500, 4)
    assert results.has("training", "sizes S", "Marian", 3) and not results.has("training", "sizes S", "Marian", 4)


def test_the_table_says_what_was_measured_where_and_what_was_left_out(results, tmp_path):
    table.write(tmp_path, results, {"Marian": "no maxout"}, "make benchmark")
    told = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "| Marian | target tokens a second | 500.0 | 400.0-600.0 | 4.00 |" in told
    assert "| rnnsearch | target tokens a second | 2,000 | 1,000-3,000 |  |" in told
    assert "- Marian: no maxout." in told and "- eole is left out: it could not be installed: no wheel" in told
    whole = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert whole["machine"]["cores"] in told and whole["rows"][1]["values"] == [400, 500, 600]


def test_the_speeds_are_drawn(results, tmp_path):
    pytest.importorskip("matplotlib")
    plots.draw(results.rows(), tmp_path / "results.png")
    assert (tmp_path / "results.png").read_bytes().startswith(b"\x89PNG")


def test_a_program_is_watched_from_its_start_to_its_end(tmp_path):
    source = tmp_path / "lines"
    source.write_text("one\ntwo\n", encoding="utf-8")
    script = (
        "import sys; held = b'x' * (60 << 20); print(sys.stdin.read(), end='', flush=True); import time; time.sleep(.2)"
    )
    seen = watch([sys.executable, "-c", script], standard_input=source)
    assert seen.lines == ["one", "two"] and seen.first is not None
    assert seen.first + 0.1 < seen.seconds
    if sys.platform == "linux":
        assert 60 < seen.anonymous["all"] <= seen.rss


def test_a_program_that_fails_is_quoted():
    with pytest.raises(Failed, match="no such thing"):
        watch([sys.executable, "-c", "import sys; sys.exit('no such thing')"])


def test_a_program_that_knows_no_end_is_stopped():
    seen = watch([sys.executable, "-c", "import time; print(1, flush=True); time.sleep(60)"], stop=lambda: True)
    assert seen.seconds < 50


# --- alignment


def test_links_of_cut_words_are_carried_back_to_whole_words():
    links = [Links(frozenset({(0, 0), (1, 0), (2, 1)}), frozenset({(0, 0), (1, 0), (2, 1)}))]
    gold = Gold("one", [(["The", "man", "sleeps"], ["L\u2019homme", "dort", "..."])], links)
    assert (gold.cut(0), gold.cut(1)) == (["the man sleeps"], ["l ' homme dort . . ."])
    (found,) = gold.whole([[(0, 0), (0, 1), (1, 2), (2, 3), (2, 6)]])
    assert found.sure == found.possible == {(0, 0), (1, 0), (2, 1), (2, 2)}
    _, _, rates = next(alignment._judged("mine", [gold, gold], [[(0, 0), (1, 2), (2, 3)], []], [[], []]))
    assert rates == [0.0, 1.0]


def test_the_gold_sets_and_the_training_text_are_read(data):
    sets = gold_sets(data)
    assert [(one.name, len(one.pairs), len(one.links)) for one in sets] == [
        ("graca", 100, 100), ("hansards", 37, 37), ("alibi", 158, 158),
    ]  # fmt: skip
    for one in sets:
        for (english, french), links in zip(one.pairs, one.links, strict=True):
            assert all(s < len(english) and t < len(french) for s, t in links.possible), one.name
        # What is linked word for word comes back unchanged from tokens.
        assert all(len(line.split()) >= len(pair[1]) for line, pair in zip(one.cut(1), one.pairs, strict=True))
    assert (sets[0].pairs[0], sets[2].pairs[0][1][:2]) == (
        (["resumption", "of", "the", "session"], ["reprise", "de", "la", "session"]), ["Le", "ma\u00eetre"],
    )  # fmt: skip
    assert sum(1 for _ in training_text(data)) == 330_737
