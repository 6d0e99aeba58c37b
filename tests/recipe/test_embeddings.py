"""Embeddings by name, with ones made up: found or not, cached by content, resumed; nothing is downloaded."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from pairsmith.recipe import embeddings
from pairsmith.recipe.embeddings import EMBEDDINGS, embed, find


@pytest.fixture
def calls(monkeypatch):
    """An embedding called "made" that counts letters, and what it was asked for."""
    asked = []

    def load(model):
        def function(values):
            asked.extend(values)
            return [[len(str(value)), str(value).count(model or "a")] for value in values]

        return function

    monkeypatch.setitem(EMBEDDINGS, "made", load)
    return asked


def test_one_row_each_and_the_model_is_named_after_the_colon(calls):
    np.testing.assert_array_equal(embed("made:b", ["abba", "b", "abba"]), [[4, 2], [1, 1], [4, 2]])
    assert calls == ["abba", "b"]  # the same text is asked for once


def test_what_is_in_the_cache_is_not_embedded_again(calls, tmp_path):
    cache, told = tmp_path / "cache", []
    embed("made", ["a", "bb"], cache)
    found = embed("made", ["bb", "ccc", "a"], cache, told.append)
    np.testing.assert_array_equal(found, [[2, 0], [3, 0], [1, 1]])
    assert calls == ["a", "bb", "ccc"]
    assert sum(told) == 3
    embed("made:x", ["a"], cache)  # another model is another key
    assert calls == ["a", "bb", "ccc", "a"]


def test_a_run_that_was_stopped_goes_on(calls, tmp_path, monkeypatch):
    monkeypatch.setattr(embeddings, "_BATCH", 2)
    texts = [f"text {row}" for row in range(7)]
    load = EMBEDDINGS["made"]

    def fails(model):
        def function(values):
            if len(calls) >= 4:
                raise KeyboardInterrupt
            return load(model)(values)

        return function

    EMBEDDINGS["made"] = fails
    with pytest.raises(KeyboardInterrupt):
        embed("made", texts, tmp_path / "cache")
    EMBEDDINGS["made"] = load
    embed("made", texts, tmp_path / "cache")
    assert calls == texts


def test_images_are_known_by_their_content(calls, tmp_path):
    paths = [tmp_path / "a", tmp_path / "b"]
    for path in paths:
        path.write_bytes(b"same")
    embed("made", paths, tmp_path / "cache")
    assert len(calls) == 1
    paths[1].write_bytes(b"changed")
    embed("made", paths, tmp_path / "cache")
    assert len(calls) == 2


def test_what_is_refused(tmp_path, monkeypatch):
    with pytest.raises(
        ValueError, match="no embedding 'word2vec'; choose one of sentence-transformers, fastembed, onnx"
    ):
        find("word2vec:large")
    for name, told in (
        ("sentence-transformers", "needs sentence-transformers; pip install sentence-transformers"),
        ("fastembed", "needs fastembed; pip install fastembed"),
        ("onnx:m.onnx", "needs onnxruntime; pip install onnxruntime"),
    ):
        monkeypatch.setattr(embeddings, "find_spec", lambda _: None)
        with pytest.raises(ValueError, match=told):
            find(name)
    for name, kind in (("onnx:m.onnx", "text"), ("fastembed", "image")):
        with pytest.raises(ValueError, match=rf"the embedding '{name.split(':')[0]}' is for \w+s, not for {kind}s"):
            embeddings.check(name, kind)
    (tmp_path / "cache").write_text("no database, but long enough to look at" * 50)
    with pytest.raises(ValueError, match="is no cache of embeddings"):
        embed("fastembed", ["a"], tmp_path / "cache")
    for wrong in ([1, 2], [[1.0]], [[np.nan], [1.0]]):
        monkeypatch.setitem(EMBEDDINGS, "wrong", lambda _, wrong=wrong: lambda values: wrong)
        with pytest.raises(ValueError, match="the embedding 'wrong' gave"):
            embed("wrong", ["a", "b"])

    def fails(values):
        raise RuntimeError("out of\nluck")

    monkeypatch.setitem(EMBEDDINGS, "wrong", lambda _: fails)
    with pytest.raises(ValueError, match=r"the embedding 'wrong' failed \(out of luck\)"):
        embed("wrong", ["a", "b"])


def test_another_model_in_the_same_file_is_another_one(calls, tmp_path):
    model, cache = tmp_path / "model", tmp_path / "cache"
    for weights in (b"a", b"a", b"b"):
        model.write_bytes(weights)
        embed(f"made:{model}", ["text"], cache)
    assert calls == ["text", "text"]


@pytest.fixture
def installed(monkeypatch):
    """Stand-ins for the libraries; weights called "here" are on disk, and to ask for a download is an error."""
    monkeypatch.setattr(embeddings, "find_spec", lambda _: True)

    class Loaded:
        def __init__(self, name, *, local_files_only):
            assert local_files_only
            assert constants.HF_HUB_OFFLINE  # or the hub would be asked even for what is on disk
            print("Loading weights: 100%", file=sys.stderr)
            if name != "here":
                raise OSError("offline")

        def encode(self, texts, show_progress_bar):
            assert not show_progress_bar
            return np.array([[len(text), 0.0] for text in texts])

        def embed(self, texts):
            return (np.array([len(text), 1.0]) for text in texts)

    class Session:
        def __init__(self, path, providers):
            if "bad" in path:
                raise RuntimeError("no model\nat all")
            self.inputs = [SimpleNamespace(name="pixels", shape=["n", 3, 8, 8], type="tensor(float)")]
            if "two" in path:  # pictures at a time, no more and no less
                self.inputs[0].shape[0] = 2
            if "words" in path:
                self.inputs = [SimpleNamespace(name="ids", shape=["n", "length"], type="tensor(int64)")]

        def get_inputs(self):
            return self.inputs

        def run(self, _, given):
            assert given["pixels"].shape[1:] == (3, 8, 8)
            assert given["pixels"].dtype == np.float32
            assert self.inputs[0].shape[0] in ("n", len(given["pixels"]))
            return [given["pixels"].mean(axis=(2, 3))[:, :, None]]

    constants = SimpleNamespace(HF_HUB_OFFLINE=False)
    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(constants=constants))
    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=Loaded))
    monkeypatch.setitem(sys.modules, "fastembed", SimpleNamespace(TextEmbedding=Loaded))
    monkeypatch.setitem(sys.modules, "onnxruntime", SimpleNamespace(InferenceSession=Session))
    yield
    assert not constants.HF_HUB_OFFLINE  # what others do with the hub is theirs


@pytest.mark.usefixtures("installed")
def test_the_built_in_ones_use_what_is_on_disk_and_nothing_else(tmp_path, capsys):
    np.testing.assert_array_equal(embed("sentence-transformers:here", ["ab", "c"]), [[2, 0], [1, 0]])
    np.testing.assert_array_equal(embed("fastembed:here", ["ab", "c"]), [[2, 1], [1, 1]])
    for name in ("sentence-transformers", "fastembed:there"):
        with pytest.raises(
            ValueError, match=r"cannot load .* from this disk .*; where its weights are missing: python -c"
        ):
            embed(name, ["a"], tmp_path / "cache")
    assert not (tmp_path / "cache").exists()
    assert capsys.readouterr().err == ""
    Image.new("RGB", (20, 10), (124, 116, 104)).save(tmp_path / "grey.png")  # the mean colour of ImageNet
    (tmp_path / "model.onnx").write_bytes(b"")
    np.testing.assert_allclose(
        embed(f"onnx:{tmp_path / 'model.onnx'}", [tmp_path / "grey.png"]), [[0, 0, 0]], atol=0.02
    )
    for name in ("bad.onnx", "words.onnx", "two.onnx"):
        (tmp_path / name).write_bytes(b"")
    for name, told in (
        ("onnx", "no model file"),
        (f"onnx:{tmp_path}/bad.onnx", r"is no ONNX model \(no model at all\)"),
        (f"onnx:{tmp_path}/words.onnx", r"takes ids: tensor\(int64\) of \['n', 'length'\]; needed is one tensor"),
    ):
        with pytest.raises(ValueError, match=told):
            find(name)


@pytest.mark.usefixtures("installed")
def test_a_model_made_for_so_many_pictures_gets_so_many(tmp_path):
    paths = [tmp_path / f"{at}.png" for at in range(5)]
    for at, path in enumerate(paths):
        Image.new("RGB", (8, 8), (50 * at, 0, 0)).save(path)
    for name in ("any.onnx", "two.onnx"):
        (tmp_path / name).write_bytes(b"")
    found = [embed(f"onnx:{tmp_path / name}", paths) for name in ("any.onnx", "two.onnx")]
    assert found[0].shape == (5, 3)
    np.testing.assert_array_equal(*found)
