"""The paper's experiments on a tiny corpus: five models alike, interruptions at every stage, the report."""

import hashlib
import json
import logging
from dataclasses import replace

import numpy as np
import pytest
import torch

from rnnsearch.config import load_settings
from rnnsearch.errors import UserError
from rnnsearch.evaluation import bands_plot
from rnnsearch.evaluation.heatmap import Picture
from rnnsearch.model_folder import ModelFolder
from rnnsearch.reproduction import experiments, published, run, tables
from rnnsearch.reproduction.claims import OPEN
from rnnsearch.reproduction.document import Heading, Heatmap, Line, Passage, Text, document, title
from rnnsearch.reproduction.experiments import reproduce, write_report
from rnnsearch.reproduction.findings import find
from rnnsearch.reproduction.markdown import write_markdown
from rnnsearch.reproduction.measures import pool
from rnnsearch.reproduction.page import page
from rnnsearch.reproduction.plan import LONGER, SCALES, VARIANTS, Plan, Scale, settle
from rnnsearch.reproduction.progress import View
from rnnsearch.reproduction.results import Results, TestSet, read_test_set
from rnnsearch.text.grammar import generate
from rnnsearch.training import trainer
from rnnsearch.training.interrupt import Interrupted
from rnnsearch.training.run_folder import RunFolder
from rnnsearch.translator import Translator

TINY = Scale("tiny", "small", load_settings("small", None, {
    "embedding_size": 12, "hidden_size": 12, "attention_size": 8, "maxout_size": 8, "vocabulary_size": 900,
    "batch_tokens": 500, "beam_size": 2, "warmup": 0, "average": 0.0,
}), 0)  # fmt: skip
UPDATES = 4
NAMES = [variant.name for variant in VARIANTS]


@pytest.fixture(scope="module", autouse=True)
def _quick():
    """No waiting for the disk, one thread, no curves, few samples."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda handle: None)
        patch.setattr(trainer, "find_spec", lambda name: None)
        patch.setattr("rnnsearch.evaluation.bootstrap.SAMPLES", 100)
        yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """train, dev and test, .en and .fr, with sentences of up to 60 words."""
    folder = tmp_path_factory.mktemp("text")
    spread = {
        "train": [(150, 3, 20), (30, 31, 49)],
        "dev": [(6, 3, 12)],
        "test": [(9, 3, 12), (4, 15, 30), (5, 31, 60)],
    }
    for seed, (name, parts) in enumerate(spread.items()):
        pairs = [pair for n, low, high in parts for pair in generate(n, seed=seed, min_length=low, max_length=high)]
        (folder / f"{name}.en").write_text("".join(pair.source_text + "\n" for pair in pairs), encoding="utf-8")
        (folder / f"{name}.fr").write_text("".join(pair.target_text + "\n" for pair in pairs), encoding="utf-8")
    return folder


def pair(text, name):
    return text / f"{name}.en", text / f"{name}.fr"


@pytest.fixture(scope="module")
def tests(text):
    return [read_test_set("test", *pair(text, "test"))]


@pytest.fixture(scope="module")
def others(tests):
    return {"a <b> system": ["il " + line for line in tests[0].references]}


def planned(text, folder, **values):
    return Plan(pair(text, "train"), pair(text, "dev"), folder, TINY, **{"updates": UPDATES} | values)


@pytest.fixture(scope="module")
def whole(text, tests, others, tmp_path_factory):
    """The plan of a run from the beginning to the end."""
    plan = planned(text, tmp_path_factory.mktemp("whole") / "out")
    assert reproduce(plan, tests, others=others, threads=1)
    return plan


@pytest.fixture(scope="module")
def report(whole):
    return json.loads((whole.output / "report.json").read_text(encoding="utf-8"))


def weights(plan):
    """A digest of each model's weights."""
    arrays = [ModelFolder.open(plan.model(variant)).weights() for variant in VARIANTS]
    return [hashlib.sha256(b"".join(of[name].tobytes() for name in sorted(of))).hexdigest() for of in arrays]


# The models


def test_five_models_differ_only_in_what_the_paper_changes(whole):
    records = {variant.name: RunFolder(whole.model(variant)).read_record().settings for variant in VARIANTS}
    assert {name: (of["model"]["architecture"], of["data"]["max_length"]) for name, of in records.items()} == {
        "RNNencdec-30": ("rnnencdec", 30), "RNNsearch-30": ("rnnsearch", 30), "RNNencdec-50": ("rnnencdec", 50),
        "RNNsearch-50": ("rnnsearch", 50), "RNNsearch-50*": ("rnnsearch", 50),
    }  # fmt: skip
    for of in records.values():
        of["model"].pop("architecture")
        of["data"].pop("max_length")
        of["training"].pop("max_updates")
    assert all(of == records["RNNencdec-30"] for of in records.values())


def test_all_share_vocabularies_that_know_the_longer_text(whole, text):
    folders = [ModelFolder.open(whole.model(variant)) for variant in VARIANTS]
    for folder in folders[1:]:
        folder.require_same_text(folders[0])
    assert (whole.output / "beginning" / "text").exists() is False, "text is not kept twice"


def test_equal_networks_begin_with_equal_weights_and_those_that_training_would_have_drawn(whole):
    from rnnsearch.model import Model

    first = ModelFolder.open(whole.output / "beginning" / "rnnsearch")
    model = Model(first.model, len(first.source.vocabulary), len(first.target.vocabulary))
    model.initialise("scaled", whole.seed)
    drawn = {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}
    assert all(np.array_equal(array, drawn[name]) for name, array in first.weights().items())


def test_the_longer_one_goes_on_with_the_shorter(whole, report):
    rows = {row["name"]: row for row in report["table_2"]}
    assert [rows[name]["updates"] for name in NAMES] == [UPDATES] * 4 + [round(LONGER * UPDATES)]
    events = {}
    for variant in VARIANTS[3:]:
        lines = RunFolder(whole.model(variant)).metrics.read_text(encoding="utf-8").splitlines()
        events[variant.name] = [json.loads(line) for line in lines]
    assert events["RNNsearch-50*"][: len(events["RNNsearch-50"])] == events["RNNsearch-50"]
    assert weights(whole)[3] != weights(whole)[4]


def test_time_is_shared_out_so_that_all_of_it_is_used(text, tmp_path):
    plan = planned(text, tmp_path, minutes=105.0, updates=0)
    assert [plan.minutes_of(variant) for variant in VARIANTS] == [20.0] * 4 + [45.0]
    assert run.minutes_left(plan) == pytest.approx(105)
    begun = RunFolder(plan.model(VARIANTS[1]))
    begun.path.mkdir(parents=True)
    begun.add_metrics({"event": "update", "update": 10, "seconds": 5.0 * 60})
    assert run.minutes_left(plan) == pytest.approx(100)
    assert all(plan.settings(variant).training.patience == 0 for variant in VARIANTS)


def test_the_scale_of_the_paper_is_its_preset(text, tmp_path):
    plan = Plan(pair(text, "train"), pair(text, "dev"), tmp_path, SCALES["paper"])
    assert plan.scale.settings == load_settings("paper", None, {})
    assert SCALES["paper"].minutes == pytest.approx(60 * 111 * (4 + LONGER - 1))
    assert SCALES["laptop"].settings.data.tokeniser == "moses"


# Going on


def test_interrupted_at_every_stage_it_comes_to_the_same_models_and_numbers(
    whole, report, text, tests, others, tmp_path, monkeypatch
):
    plan = planned(text, tmp_path / "out")

    def go_on():
        return reproduce(plan, tests, others=others, threads=1)

    stops, update = [("RNNencdec-30", 2), ("RNNsearch-30", 3)], trainer.Trainer._update

    def stopping(self):
        if (self._folder.model.name, self._state.update) in stops:
            stops.pop(0)
            raise Interrupted
        return update(self)

    with monkeypatch.context() as patch:  # in the midst of the first model, and of the second
        patch.setattr(trainer.Trainer, "_update", stopping)
        assert [go_on(), go_on()] == [False, False]
    assert not stops
    assert run.noted(plan, VARIANTS[0])["max_updates"] == UPDATES
    assert run.noted(plan, VARIANTS[1]) == {}

    trained, real = [], run._train

    def stop_before_the_last(plan, variant, *more):
        trained.append(variant.name)
        if variant.further:
            raise KeyboardInterrupt
        return real(plan, variant, *more)

    with monkeypatch.context() as patch:  # between models
        patch.setattr(run, "_train", stop_before_the_last)
        with pytest.raises(KeyboardInterrupt):
            go_on()
    assert trained == NAMES[1:]

    asked, translate = [], Translator.translate

    def stop_at_the_third(self, *lines, **options):
        asked.append(self.folder.path.name)
        if len(set(asked)) == 3:
            raise KeyboardInterrupt
        return translate(self, *lines, **options)

    with monkeypatch.context() as patch:  # while translating
        patch.setattr(Translator, "translate", stop_at_the_third)
        with pytest.raises(KeyboardInterrupt):
            go_on()
        assert not (plan.output / "report.json").exists()
        del asked[:]
        patch.setattr(Translator, "translate", lambda self, *a, **o: (asked.append(self.folder.path.name),
                                                                        translate(self, *a, **o))[1])  # fmt: skip
        assert go_on()
    assert [variant.folder for variant in VARIANTS[2:]] == list(dict.fromkeys(asked))

    assert weights(plan) == weights(whole)
    found = json.loads((plan.output / "report.json").read_text(encoding="utf-8"))
    for each in (found, report := json.loads(json.dumps(report))):
        for row in each["table_2"]:
            row.pop("hours")
    assert found == report


def test_a_finished_run_neither_trains_nor_translates_again(whole, tests, others, monkeypatch):
    def never(*_, **__):
        raise AssertionError

    monkeypatch.setattr(run, "_train", never)
    monkeypatch.setattr(Translator, "load", never)
    before = (whole.output / "report.json").read_bytes()
    (whole.output / "report.html").unlink()
    assert reproduce(whole, tests, others=others, threads=1)
    assert (whole.output / "report.json").read_bytes() == before
    assert (whole.output / "report.html").exists()


def test_more_time_lets_every_model_go_on_and_be_translated_again(text, tests, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "VARIANTS", VARIANTS[1:2])
    monkeypatch.setattr(experiments, "VARIANTS", VARIANTS[1:2])
    plan = planned(text, tmp_path / "out", updates=2)
    few = [replace(tests[0], sources=tests[0].sources[:3], references=tests[0].references[:3])]
    rows = []
    for updates in (2, 5, 3):
        assert reproduce(replace(plan, updates=updates), few, threads=1)
        found = json.loads((plan.output / "report.json").read_text(encoding="utf-8"))
        about = next(plan.output.glob("results/RNNsearch-30/test-*/about.json"))
        rows.append((found["table_2"][0]["updates"], json.loads(about.read_text(encoding="utf-8"))["weights"]))
    assert [updates for updates, _ in rows] == [2, 5, 5], "less time takes nothing back"
    stops = replace(plan, updates=9), replace(plan, updates=5)
    assert [run.finished(each, VARIANTS[1]) for each in stops] == [False, True]
    assert reproduce(stops[0], few, threads=1, report_only=True)
    row = json.loads((plan.output / "report.json").read_text(encoding="utf-8"))["table_2"][0]
    assert (row["updates"], row["ended"]) == (5, False), "a report does not train"
    assert len({weights for _, weights in rows}) == 2


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"seed": 7}, "seed 1234 and not 7"),
        ({"scale": replace(TINY, name="large")}, "scale tiny and not large"),
        (
            {"scale": replace(TINY, settings=load_settings("small", None, {"hidden_size": 13}))},
            "embedding size 12 and not 128",
        ),
        ({"dev": ("test.en", "test.fr")}, "other development files"),
        ({"corpus": ("dev.en", "dev.fr")}, "other training files"),
    ],
)
def test_another_plan_is_refused(whole, text, values, told):
    files = {name: tuple(text / file for file in value) for name, value in values.items() if isinstance(value, tuple)}
    with pytest.raises(UserError, match=rf"was begun with {told}: give the same again, or another --output$"):
        settle(replace(whole, **values | files))


def test_the_same_text_elsewhere_is_the_same_plan(whole, text, tmp_path):
    moved = tmp_path / "corpus.en", tmp_path / "corpus.fr"
    for old, new in zip(pair(text, "train"), moved, strict=True):
        new.write_bytes(old.read_bytes())
    settle(replace(whole, corpus=moved, minutes=3.0))


def test_a_strange_folder_languages_unknown_and_nothing_to_report_are_refused(text, tests, tmp_path):
    (tmp_path / "mine").write_text("text")
    with pytest.raises(UserError, match="was not made by reproduce; give --output another name"):
        settle(planned(text, tmp_path))
    (tmp_path / "a.txt").write_text("x\n")
    with pytest.raises(UserError, match=r"languages of .* cannot be told from the file names"):
        settle(replace(planned(text, tmp_path / "out"), corpus=(tmp_path / "a.txt", tmp_path / "a.txt")))
    plan = planned(text, tmp_path / "new")
    with pytest.raises(UserError, match="holds no experiments yet; leave out --report-only"):
        reproduce(plan, tests, report_only=True)
    assert not plan.output.exists()
    settle(plan)
    with pytest.raises(UserError, match="holds no model yet"):
        reproduce(plan, tests, report_only=True)


def test_a_partial_report_says_what_there_is(whole, text, tests, monkeypatch):
    (whole.output / "models" / "RNNsearch-50.json").rename(whole.output / "hidden")
    monkeypatch.setattr(experiments, "VARIANTS", VARIANTS[2:4])
    findings = found_of(whole, tests, VARIANTS[2:4])
    (whole.output / "hidden").rename(whole.output / "models" / "RNNsearch-50.json")
    shown = [block.text for block in document(findings) if isinstance(block, Text)]
    assert "This report is not the last: so far there are RNNencdec-50, RNNsearch-50 (not ended)." in shown
    assert [row.name for row in findings.tables[0].rows] == ["RNNencdec-50", "RNNsearch-50"]
    assert findings.drawn_by == "RNNsearch-50"
    assert len(findings.claims) == 3, "the one about RNNsearch-30 must wait"
    alone = found_of(whole, tests, VARIANTS[:1])
    assert (alone.claims, alone.drawn, alone.long, alone.drawn_by) == ([], [], [], "")
    assert "RNNencdec-30" in page("x", document(alone))


def found_of(plan, tests, variants, given=()):
    models = [Results(plan, variant, threads=1) for variant in variants]
    return find(plan, tests, models, {}, given, lambda what: None)


# The report


def test_every_number_of_the_tables_is_that_of_the_json(whole, tests, report):
    findings = found_of(whole, tests, VARIANTS)
    table = tables.scores(findings.tables[0], first=True)
    systems = report["table_1"][0]["systems"]
    assert [row[0] for row in table.rows] == NAMES
    for row in table.rows:
        of = systems[row[0]]
        assert row[1] == f"{of['text']['score']:.2f}"
        assert row[2] == f"{of['text']['low']:.2f} to {of['text']['high']:.2f}"
        assert row[3] == f"{of['tokens']['score']:.2f}"
        assert row[5] == f"{of['no_unk_text']['score']:.2f}"
        assert row[6] == f"{of['no_unk_tokens']['score']:.2f}"
        assert of["text"]["score"] == of["scores"]["bleu"]["score"]
        assert of["tokens"]["score"] == pytest.approx(of["scores"]["tokenised_bleu"]["score"])
        assert row[7] == f"{published.BLEU[row[0]][0]:.2f}"
    for row, of in zip(tables.training(findings).rows, report["table_2"], strict=True):
        assert row[:4] == [of["name"], *(str(of[name]) for name in ("pairs", "updates", "kept"))]
        assert row[6:10] == [f"{of['train']['a_sentence']:.1f}", f"{of['dev']['a_sentence']:.1f}",
                            f"{of['train']['a_token']:.3f}", f"{of['dev']['a_token']:.3f}"]  # fmt: skip
        assert row[10] == f"{of['machine']}, 1 thread"
    for row, of in zip(tables.bands(findings.curves).rows, report["figure_2"], strict=True):
        assert row[2::2] == [f"{of['models'][name]['score']:.2f}" for name in NAMES]
    assert sum(band["sentences"] for band in report["figure_2"]) == report["table_1"][0]["sentences"] == 18
    assert [claim["verdict"] for claim in report["claims"]] == [OPEN] * 4, "nobody has learnt anything here"


def test_the_other_system_is_in_the_table_by_its_name(report):
    of = report["table_1"][0]["systems"]["a <b> system"]
    assert of["text"]["score"] > 80
    assert of["no_unk_text"]["score"] > 80
    assert "a <b> system" not in report["figure_2"][0]["models"]


def test_the_likelihood_of_the_development_text_is_that_of_whole_sentences(whole, text, report):
    from rnnsearch.translator import Translator

    pairs = list(zip(*(path.read_text(encoding="utf-8").splitlines() for path in pair(text, "dev")), strict=True))
    with Translator.load(whole.model(VARIANTS[0]), threads=1) as translator:
        logs = [translator.align(*each).log_p for each in pairs]
    dev = report["table_2"][0]["dev"]
    assert (dev["pairs"], dev["a_sentence"]) == (len(pairs), pytest.approx(-sum(logs) / len(logs), rel=1e-3))
    shorter, longer = report["table_2"][0]["train"], report["table_2"][2]["train"]
    assert (shorter["pairs"], longer["pairs"]) == (report["table_2"][0]["pairs"], report["table_2"][2]["pairs"])
    assert shorter["a_sentence"] < longer["a_sentence"], "longer sentences are less probable"


def test_page_and_markdown_hold_everything_and_load_nothing(whole):
    shown = (whole.output / "report.html").read_text(encoding="utf-8")
    assert shown.count("<svg") == 1
    assert "<script" not in shown
    assert "http" not in shown.replace("http://www.w3.org", "")
    assert "a &lt;b&gt; system" in shown
    assert "a <b> system" not in shown
    assert "<mark>" in shown
    written = (whole.output / "report.md").read_text(encoding="utf-8")
    for name in NAMES:
        assert name in shown
        assert name.replace("*", r"\*") in written
    assert "a \\<b\\> system" in written
    pictures = [line.partition("](")[2].rstrip(")") for line in written.splitlines() if line.startswith("![")]
    assert "figure-2.png" in pictures
    assert pictures[1:] == ["figure-3-1.png", "figure-3-2.png"], "a long sentence and one gone wrong"
    for picture in pictures:
        assert (whole.output / picture).read_bytes().startswith(b"\x89PNG")


def test_the_users_sentences_are_drawn_instead(whole, tests):
    given = ["The cat sleeps.", "A cat & a dog."]
    drawn = found_of(whole, tests, VARIANTS[3:], given).drawn
    assert [each.source for each in drawn] == given
    assert drawn[1].picture.columns == ["A", "cat", "&", "a", "dog", "."]
    assert drawn[0].origin is None


def test_text_is_escaped_in_both_forms(tmp_path):
    picture = Picture("", ["<i>"], ["*x*"], np.ones((1, 1)))
    blocks = [Heading("a < b"), Text("c_d & e"), Heatmap("figure-3-1", picture),
              Passage([Line("label <", "1 < 2", "<script> **")])]  # fmt: skip
    shown = page("t <", blocks)
    for part in ("<title>t &lt;</title>", "<h2>a &lt; b</h2>", "c_d &amp; e", "<mark>&lt;script&gt; **</mark>"):
        assert part in shown
    assert "<script" not in shown
    write_markdown(tmp_path, "t *", blocks)
    written = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert r"# t \*" in written
    assert r"- label \<: 1 \< 2 **\<script\> \*\***" in written
    assert (tmp_path / "figure-3-1.png").exists()


def test_without_matplotlib_the_numbers_are_written_all_the_same(whole, tests, tmp_path, monkeypatch, caplog):
    def lacking(*_):
        raise ImportError

    monkeypatch.setattr(bands_plot, "svg", lacking)
    write_report(tmp_path, found_of(whole, tests, VARIANTS))
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]
    assert "figures need matplotlib" in caplog.text


def test_the_title_names_the_languages(whole, tests):
    assert title(found_of(whole, tests, VARIANTS)).endswith("en to fr: the paper's experiments")


def test_test_sets_are_one_for_the_curves_without_repeated_pairs(whole, tests):
    again = TestSet("again", "again-1", [*tests[0].sources[:3], "New."], [*tests[0].references[:3], "Neuf."])
    results = Results(whole, VARIANTS[1], threads=1)
    made = [results.translations(test, lambda what: None) for test in (*tests, again)]
    pooled = pool([*tests, again], {"RNNsearch-30": made}, ("en", "fr"))
    assert len(pooled.sources) == len(tests[0].sources) + 1
    assert pooled.origins[-1] == ("again", 4)
    assert pooled.outputs["RNNsearch-30"][-1] == made[1].outputs[-1]
    assert pooled.looked["RNNsearch-30"][-1] == made[1].looked[-1]


def test_a_test_set_must_go_line_by_line(text, tests, tmp_path):
    with pytest.raises(UserError, match=r"has 18 lines and .* has 6: they must go line by line"):
        read_test_set("x", text / "test.en", text / "dev.fr")
    (tmp_path / "empty").write_text("\n" * 18)
    with pytest.raises(UserError, match="is empty: there is nothing to compare"):
        read_test_set("x", text / "test.en", tmp_path / "empty")
    with pytest.raises(UserError, match="moses has 1 lines and the first test set 18"):
        reproduce(planned(text, tmp_path / "out"), tests, others={"moses": ["x"]})


# What is shown meanwhile


def test_a_terminal_gets_a_bar_and_no_line_for_every_few_updates(tmp_path):
    said, handler = [], logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())
    logger = logging.getLogger("rnnsearch")
    before = logger.handlers[:]
    logger.handlers = [handler]
    try:
        with View(tmp_path / "log.txt", terminal=True) as view:
            view.model(2, "RNNsearch-30", 3600.0)
            logger.info("update 5, epoch 1, loss 4.000, gradient 1.00, 900 tokens/s, 3 min 5 s left of 20 minutes")
            share, shown = view._show()
            logger.info("validation after update 5")
            view.busy("measuring")
            done, after = view._show()
    finally:
        logger.handlers = before
    assert said == ["model 2 of 5: RNNsearch-30, 1 h 0 min of training left", "validation after update 5", "measuring"]
    assert shown.startswith("model 2 of 5: RNNsearch-30, ")
    assert shown.endswith("of training left\nupdate 5, epoch 1, loss 4.000, gradient 1.00, 900 tokens/s")
    assert 0 <= share < 0.5
    assert (done, after) == (1.0, "measuring\n")
    logged = (tmp_path / "log.txt").read_text(encoding="utf-8")
    assert "update 5, epoch 1" in logged, "the file has every line"


def test_a_plan_that_is_damaged_is_named(whole, tmp_path):
    plan = replace(whole, output=tmp_path)
    (tmp_path / "plan.json").write_text("{")
    with pytest.raises(UserError, match=r"plan\.json is damaged .*; give another --output$"):
        settle(plan)
