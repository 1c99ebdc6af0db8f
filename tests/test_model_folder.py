"""Model folders: every format is read for ever, a newer or damaged one is refused in one sentence."""

import dataclasses
import json
import pickletools
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rnnsearch.config import SearchSettings
from rnnsearch.engine import checked_weights, open_engine
from rnnsearch.errors import UserError
from rnnsearch.model_folder import ModelFolder, save_dictionary, save_model, save_weights
from rnnsearch.translator import Translator

FORMAT_1 = Path(__file__).parent / "models" / "format-1"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the tiny model of format 1, to be spoiled."""
    return Path(shutil.copytree(FORMAT_1, tmp_path / "model"))


def refused(action: Callable[[], object]) -> str:
    with pytest.raises(UserError) as caught:
        action()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_format_1_is_read_and_translates_as_on_the_day_it_was_written() -> None:
    """Never edit this folder: models that users have kept look like it."""
    with Translator.load(FORMAT_1, threads=1, precision="float32") as translator:
        assert (translator.folder.source.language, translator.folder.target.language) == ("en", "fr")
        assert translator.translate("There was a musician behind their tower.").text == "Il yours."
        found = translator.align("Last year, we swam.", "L'année dernière, nous avons nagé.")
    assert found.log_p == pytest.approx(-38.44297, abs=1e-3)
    assert found.alignment[0] == pytest.approx([0.046, 0.278, 0.280, 0.396], abs=1e-3)
    with Translator.load(FORMAT_1, threads=1) as translator:  # int8 where the processor is made for it
        found = translator.align("Last year, we swam.", "L'année dernière, nous avons nagé.")
    assert found.log_p == pytest.approx(-38.44297, rel=1e-2)


def test_a_folder_is_written_and_read_again(tmp_path: Path) -> None:
    old = ModelFolder.open(FORMAT_1)
    search = SearchSettings(beam_size=3, normalise=False)
    save_model(tmp_path / "new", model=old.model, search=search, max_length=7, source=old.source, target=old.target,
               weights=old.weights(), about={"preset": "x"}, metadata={"updates": "5"})  # fmt: skip
    new = ModelFolder.open(tmp_path / "new")
    assert (new.model, new.search, new.max_length, new.about) == (old.model, search, 7, {"preset": "x"})
    assert new.target.vocabulary.to_bytes() == old.target.vocabulary.to_bytes()
    assert new.source.encode("we swam.") == old.source.encode("we swam.")
    assert new.metadata() == {"updates": "5"}
    weights, before = new.weights(), old.weights()
    assert weights.keys() == before.keys()
    assert all((weights[name] == before[name]).all() for name in before)


def test_a_folder_holds_text_and_tensors_only(tmp_path: Path) -> None:
    assert {path.name for path in FORMAT_1.iterdir()} == {
        "config.json", "model.safetensors", "source.vocabulary.json", "target.vocabulary.json", "subwords.model",
    }  # fmt: skip
    for path in FORMAT_1.iterdir():
        with pytest.raises(Exception, match=r"."):
            pickletools.dis(path.read_bytes(), out=(tmp_path / "out").open("w"))


def test_a_newer_format_is_refused(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"format": 2}))
    told = refused(lambda: ModelFolder.open(folder))
    assert "format 2" in told
    assert "update rnnsearch" in told


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "source.vocabulary.json", "subwords.model"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    assert name in refused(lambda: open_engine(ModelFolder.open(folder)))


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "target.vocabulary.json", "subwords.model"])
@pytest.mark.parametrize("how", ["cut", "overwritten", "emptied"])
def test_a_damaged_file_is_named(folder: Path, name: str, how: str) -> None:
    whole = (folder / name).read_bytes()
    spoiled = {"cut": whole[: len(whole) // 2], "overwritten": b"\xff\x00" * (len(whole) // 2), "emptied": b""}
    (folder / name).write_bytes(spoiled[how])
    assert name in refused(lambda: open_engine(ModelFolder.open(folder)))


@pytest.mark.parametrize(
    "change",
    [
        {"model": {"hidden_size": 0}},
        {"model": {"hiden_size": 3}},
        {"search": None},
        {"source": {}},
        {"max_length": "long"},
        {"format": "1"},
        {"format": None},
        {"format": True},
        {"format": 1.0},
    ],
)
def test_a_config_that_makes_no_sense_is_refused(folder: Path, change: dict[str, object]) -> None:
    config = json.loads((folder / "config.json").read_text())
    for key, value in change.items():
        config[key] = config[key] | value if isinstance(value, dict) and value else value
    (folder / "config.json").write_text(json.dumps(config))
    assert str(folder) in refused(lambda: ModelFolder.open(folder))


def test_a_setting_that_makes_no_sense_is_named(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    config["model"]["hidden_size"] = "large"
    (folder / "config.json").write_text(json.dumps(config))
    assert "hidden_size: Input should be a valid integer, got 'large'" in refused(lambda: ModelFolder.open(folder))


@pytest.mark.parametrize("value", [0, -3, 2.5, True, "20", None])
def test_a_longest_line_that_makes_no_sense_is_named_with_what_is_allowed(folder: Path, value: object) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"max_length": value}))
    told = refused(lambda: ModelFolder.open(folder))
    assert told == f"{file}: max_length must be a whole number from 1, not {value!r}"


def test_no_folder_and_a_folder_that_is_no_model(tmp_path: Path) -> None:
    assert "no model folder" in refused(lambda: ModelFolder.open(tmp_path / "absent"))
    assert "config.json" in refused(lambda: ModelFolder.open(tmp_path))


def test_weights_that_do_not_fit_are_all_named(folder: Path) -> None:
    weights = dict(ModelFolder.open(folder).weights())
    del weights["E_x"]
    weights["extra"] = np.zeros(2, np.float32)
    weights["attention.v_a"] = np.zeros(3, np.float32)
    save_weights(folder, weights, {})
    told = refused(lambda: open_engine(ModelFolder.open(folder)))
    assert "E_x is missing" in told
    assert "extra is unknown" in told
    assert "attention.v_a is [3] and not [10]" in told


def test_weights_are_replaced_whole_or_not_at_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (folder / "model.safetensors").read_bytes()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", killed)
    with pytest.raises(KeyboardInterrupt):
        save_weights(folder, {"E_x": np.zeros(3, np.float32)}, {})
    assert (folder / "model.safetensors").read_bytes() == before


def test_a_dictionary_is_written_and_read_again(folder: Path) -> None:
    assert ModelFolder.open(folder).dictionary() == {}
    words = {"Zürich": "Zurich", "[UNK]": "</s>", '"': "\\", "the cat": "日本語", "": "\u0646\u200c\u0647"}
    save_dictionary(folder, {"old": "vieux"})
    save_dictionary(folder, words)
    assert ModelFolder.open(folder).dictionary() == words


def test_a_dictionary_goes_with_the_model_that_made_it_and_stays_beside_its_later_weights(folder: Path) -> None:
    opened = ModelFolder.open(folder)
    save_dictionary(folder, {"cat": "chat"})
    save_weights(folder, opened.weights(), {})
    assert opened.dictionary() == {"cat": "chat"}
    save_model(folder, model=opened.model, search=opened.search, max_length=7, source=opened.source,
               target=opened.target, weights=opened.weights(), about={}, metadata={})  # fmt: skip
    assert ModelFolder.open(folder).dictionary() == {}


def words(**translations: object) -> bytes:
    return json.dumps({"format": 1, "words": translations}).encode()


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "is damaged: Expecting value"),
        (b"\xff\x00", "is damaged: 'utf-8' codec can't decode"),
        (words(cat="chat")[:-9], "is damaged: "),
        (b"[" * 100_000, "is damaged: "),
        (b"[]", "is damaged: it holds no table"),
        (b"{}", "has format None"),
        (b'{"format": true, "words": {}}', "it is no dictionary of rnnsearch"),
        (b'{"format": 2, "words": {}}', "update rnnsearch to use it"),
        (b'{"format": 1}', "is damaged: its words are no table"),
        (b'{"format": 1, "words": ["cat"]}', "is damaged: its words are no table"),
        (words(dog="chien", cat=7), "the translation of 'cat' is no word: '7'"),
        (words(cat=None), "the translation of 'cat' is no word"),
        (words(cat=["chat"]), "the translation of 'cat' is no word"),
        (words(cat=""), "the translation of 'cat' is no word: ''"),
        (words(cat="un chat"), "the translation of 'cat' is no word: 'un chat'"),
        (words(cat="chat\n"), "the translation of 'cat' is no word: 'chat\\n'"),
        (words(cat="un\u2028chat"), "the translation of 'cat' is no word"),
        (words(cat="\ud800"), "the translation of 'cat' is no word: '\\ud800'"),
        (words(**{"\n\ud800": "\n" * 999}), "the translation of '\\n\\ud800' is no word: '\\n\\n"),
    ],
)
def test_a_dictionary_that_makes_no_sense_is_refused_where_it_is_used(folder: Path, data: bytes, told: str) -> None:
    (folder / "dictionary.json").write_bytes(data)
    refusal = refused(ModelFolder.open(folder).dictionary)
    assert refusal.startswith(str(folder / "dictionary.json"))
    assert told in refusal
    assert len(refusal) < len(str(folder)) + 300


def test_an_unknown_device_is_refused() -> None:
    told = refused(lambda: open_engine(ModelFolder.open(FORMAT_1), device="nonsense"))
    assert "nonsense" in told


def test_a_model_without_alignment_says_so() -> None:
    folder = ModelFolder.open(FORMAT_1)
    folder.require_alignment()
    plain = dataclasses.replace(folder, model=folder.model.model_copy(update={"architecture": "rnnencdec"}))
    assert "no alignment to show" in refused(plain.require_alignment)


@pytest.mark.parametrize(
    ("array", "told"),
    [
        (np.full((12, 4), np.nan, np.float32), "holds what is no number"),
        (np.full((12, 4), -np.inf, np.float32), "holds what is no number"),
        (np.zeros((12, 4), np.float16), "is of type float16 and not float32"),
        (np.zeros((12, 3), np.float32), "is [12, 3] and not [12, 4]"),
    ],
)
def test_weights_that_cannot_be_are_refused_by_name(array: np.ndarray, told: str) -> None:
    class Folder:
        path = FORMAT_1

        def weights(self) -> dict[str, np.ndarray]:
            return {"E_x": array, "b_y": np.zeros(3, np.float32)}

    refusal = refused(lambda: checked_weights(Folder(), {"E_x": (12, 4), "b_y": (3,)}))  # type: ignore[arg-type]
    assert refusal.endswith(f"E_x {told}")


def test_an_unknown_precision_is_refused() -> None:
    told = refused(lambda: open_engine(ModelFolder.open(FORMAT_1), precision="bf16"))  # type: ignore[arg-type]
    assert told == "precision must be one of auto, float32, int8, not 'bf16'"


def test_a_missing_onnx_runtime_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.delitem(sys.modules, "rnnsearch.engine.onnx_engine", raising=False)
    assert "pip install onnxruntime" in refused(lambda: open_engine(ModelFolder.open(FORMAT_1)))
