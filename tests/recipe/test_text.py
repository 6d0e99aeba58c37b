"""Texts as coordinates: against scikit-learn's vectorizer and a full SVD, and texts of all kinds."""

import json

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from pairsmith.recipe import text
from pairsmith.recipe.text import TextAxes

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "Lambda", "mu"]


def some_texts(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, rng.integers(3, 12))) for _ in range(n)]


def tfidf(texts):
    """The weights by scikit-learn: words, then runs of 2 and 3 characters of the text between spaces."""
    options = {"sublinear_tf": True, "min_df": 2}
    words = TfidfVectorizer(**options).fit_transform(texts)
    runs = TfidfVectorizer(**options, analyzer="char", lowercase=False, ngram_range=(2, 3))
    return np.hstack([words.toarray(), runs.fit_transform([f" {one} " for one in texts]).toarray()])


def test_all_axes_together_keep_every_inner_product_of_tfidf_weights():
    texts = some_texts(25)
    axes = TextAxes.fit(texts, 1000, seed=0)
    weights = tfidf(texts)
    # One axis fewer than texts, so the smallest singular value may be lost.
    lost = np.linalg.svd(weights, compute_uv=False)[-1]
    found = axes.apply(texts)[:, 2:]
    assert np.abs(found @ found.T - weights @ weights.T).max() < lost**2 + 1e-5  # the axes are float32


def test_few_axes_are_those_of_the_largest_singular_values():
    texts = some_texts(60)
    weights = tfidf(texts)
    U, S, _ = np.linalg.svd(weights, full_matrices=False)
    axes = TextAxes.fit(texts, 5, seed=0)
    found = axes.apply(texts)[:, 2:]
    for at in range(3):  # later ones are close to each other, which a randomised SVD may turn
        assert abs(found[:, at] @ U[:, at]) == pytest.approx(S[at], rel=1e-3)
    best = (U[:, :5] * S[:5]).var(axis=0).sum() / weights.var(axis=0).sum()
    assert axes.kept == pytest.approx(best, rel=0.02)


def test_lengths_come_first():
    axes = TextAxes.fit(some_texts(), 3, seed=0)
    assert axes.names == ["characters", "words", "1", "2", "3"]
    np.testing.assert_allclose(axes.apply(["two words"])[0, :2], np.log([10, 3]))


def test_the_same_text_has_the_same_coordinates_wherever_it_stands(monkeypatch):
    texts = some_texts(200)
    axes = TextAxes.fit(texts, 10, seed=0)
    whole = axes.apply(texts)
    np.testing.assert_array_equal(axes.apply(texts[150:160]), whole[150:160])
    monkeypatch.setattr(text, "_CHARACTERS_AT_ONCE", 300)
    np.testing.assert_array_equal(axes.apply(texts), whole)
    again = TextAxes.from_json(json.loads(json.dumps(axes.to_json())))
    np.testing.assert_array_equal(again.apply(texts), whole)
    np.testing.assert_array_equal(TextAxes.fit(texts, 10, seed=0).apply(texts), whole)


def test_a_sample_finds_the_axes_where_texts_are_many(monkeypatch):
    monkeypatch.setattr(text, "SAMPLE", 50)
    texts = some_texts(300)
    axes = TextAxes.fit(texts, 4, seed=1)
    assert axes.apply(texts).shape == (300, 6)
    np.testing.assert_array_equal(axes.apply(texts), TextAxes.fit(texts, 4, seed=1).apply(texts))


def test_alphabets_emoji_and_empty_texts():
    texts = [
        "",
        "   ",
        "Привет мир",
        "привет друг",
        "猫が好き",
        "犬が好き",
        "😀😀 ok",
        "no 😀",
        "a\ud83d b",
        "é",
        "e\u0301",
        "ok no",
    ]
    axes = TextAxes.fit(texts, 8, seed=0)
    found = axes.apply(texts)
    assert np.isfinite(found).all()
    assert not found[:2, 2:].any()  # nothing is known of an empty text
    # Letters that are written in two ways are the same; a cat and a dog that are liked are more alike than a greeting.
    np.testing.assert_allclose(found[9, 2:], found[10, 2:])
    near = normalize(found[:, 2:]) @ normalize(found[:, 2:]).T
    assert near[4, 5] > near[4, 2] + 0.3
    assert near[2, 3] > near[2, 4] + 0.3
    assert near[6, 7] > near[6, 2] + 0.1


def test_texts_that_share_nothing_and_texts_without_words():
    for texts in (["abc", "xyz"], ["?!", "??", "!!"], ["a", "b", "c"]):
        assert np.isfinite(TextAxes.fit(texts, 30, seed=0).apply(texts)).all()


def test_rounding_is_no_axis():
    few = some_texts(3)
    assert len(TextAxes.fit(few * 20, 8, seed=0).names) == 2 + 3


def test_a_million_characters_and_unknown_texts():
    long = " ".join(some_texts(200)) * 140
    assert len(long) > 1_000_000
    axes = TextAxes.fit([*some_texts(20), long], 5, seed=0)
    assert np.isfinite(axes.apply([long, "цщ 漢字"])).all()
    assert not axes.apply(["цщ 漢字"])[:, 2:].any()


def test_a_file_that_does_not_fit_together_is_refused():
    content = TextAxes.fit(some_texts(), 3, seed=0).to_json()
    with pytest.raises(ValueError, match="do not agree"):
        TextAxes.from_json(content | {"words": content["words"][:-1]})
