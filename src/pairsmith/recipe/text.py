"""Texts as numbers: TF-IDF of words and of pieces of them, and the principal axes of that.

    weight of a term in a text = (1 + log count) (1 + log((1 + n) / (1 + texts that have it)))

as of scikit-learn's TfidfVectorizer with `sublinear_tf`. Terms are words, in lower case, and runs of 2 and 3 characters
as they are written, which know alphabets without spaces between words, emoji, typing errors and SMILES. Runs are not
listed but numbered by a hash. Words have the length 1 in every text, and so have runs; the axes are those of the
truncated SVD. That takes no notice of how long a text is, and people do: the logarithms of the numbers of characters
and words come first.

A vocabulary and its axes are found from a sample of at most `SAMPLE` texts; all are then weighed and projected block by
block, so that memory does not grow with the number of texts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from pairsmith.data.arrays import Floats, Ints
from pairsmith.recipe.axes import real_axes
from pairsmith.recipe.stored import from_stored, to_stored

SAMPLE = 10_000  # texts that the vocabulary and the axes are found from
_RUNS = (2, 3)  # lengths of the runs of characters; 4 besides took half as long again and ranked no better
_BITS = 18  # of the number of a run
_MOST_TERMS = 20_000  # words, and runs as many
_CHARACTERS_AT_ONCE = 1_000_000
_ITERATIONS = 4  # of the randomised SVD
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio, of Fibonacci hashing
_WORD = re.compile(r"(?u)\b\w\w+\b")


@dataclass(frozen=True)
class TextAxes:
    """What turns texts into coordinates."""

    words: list[str]
    word_idf: Floats
    runs: Ints  # the numbers of the runs that count, ascending
    run_idf: Floats
    axes: npt.NDArray[np.float32]  # (terms, d), in the precision that files keep
    kept: float  # share of the variance

    @classmethod
    def fit(cls, texts: Sequence[str], dimensions: int, seed: int) -> TextAxes:
        """Axes of these texts, at most so many."""
        rng = np.random.default_rng(seed)
        some = np.sort(rng.choice(len(texts), min(len(texts), SAMPLE), replace=False))
        sample = [texts[row] for row in some]
        words, word_idf = _vocabulary(sample)
        runs, run_idf = _frequent_runs(sample)
        start = cls(words, word_idf, runs, run_idf, np.zeros((len(words) + len(runs), 0), dtype=np.float32), 0.0)
        weights = sparse.vstack(list(start._weights(sample)), format="csr").astype(np.float32)
        dimensions = min(dimensions, weights.shape[1], max(1, len(sample) - 1))
        svd = TruncatedSVD(dimensions, n_iter=_ITERATIONS, random_state=seed).fit(weights)
        kept = float(np.clip(np.nan_to_num(svd.explained_variance_ratio_).sum(), 0, 1))
        axes = svd.components_[real_axes(svd.singular_values_)].T.astype(np.float32)
        return cls(words, word_idf, runs, run_idf, axes, kept)

    @property
    def names(self) -> list[str]:
        """Of the columns that `apply` gives."""
        return ["characters", "words", *(str(at + 1) for at in range(self.axes.shape[1]))]

    def apply(self, texts: Sequence[str], tell: Callable[[int], object] = lambda _: None) -> Floats:
        """(N, 2 + d) lengths and coordinates; the latter are zero for a text that has no known term.

        `tell` hears how many more texts are done.
        """
        axes = self.axes.astype(np.float64)
        blocks = []
        for weights in self._weights(texts):
            blocks.append(np.asarray(weights @ axes))
            tell(weights.shape[0])
        coordinates = np.concatenate(blocks)
        lengths = np.log1p([(len(text), len(text.split())) for text in texts])
        return np.hstack([lengths, coordinates])

    def to_json(self) -> dict[str, Any]:
        return {
            "words": self.words,
            "word idf": to_stored(self.word_idf),
            "runs": to_stored(self.runs),
            "run idf": to_stored(self.run_idf),
            "axes": to_stored(self.axes),
            "kept": self.kept,
        }

    @classmethod
    def from_json(cls, content: Any) -> TextAxes:
        words = [str(word) for word in content["words"]]
        runs = from_stored(content["runs"], "<i8", 1)
        word_idf, run_idf = (from_stored(content[name], "<f8", 1) for name in ("word idf", "run idf"))
        axes = from_stored(content["axes"], "<f4", 2)
        if (len(words), len(runs), len(words) + len(runs)) != (len(word_idf), len(run_idf), len(axes)):
            raise ValueError("the parts do not agree")
        if np.any(runs < 0) or np.any(runs >= 1 << _BITS):
            raise ValueError("a number is no run")
        return cls(words, word_idf, runs, run_idf, axes, float(content["kept"]))

    def _weights(self, texts: Sequence[str]) -> Iterator[Any]:
        """Sparse TF-IDF weights of words and runs, of a block of texts at a time."""
        for block in _blocks(texts):
            parts = [_weighed(_run_counts(block, self._column_of_run), self.run_idf)]
            if self.words:
                parts.insert(0, _weighed(self._counter.transform(block), self.word_idf))
            yield sparse.hstack(parts, format="csr")

    @cached_property
    def _column_of_run(self) -> npt.NDArray[np.int32]:
        """By its number; -1 for a run that does not count."""
        column = np.full(1 << _BITS, -1, dtype=np.int32)
        column[self.runs] = np.arange(len(self.runs))
        return column

    @cached_property
    def _counter(self) -> CountVectorizer:
        return CountVectorizer(analyzer=_words_of, vocabulary={word: at for at, word in enumerate(self.words)})


def _words_of(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).lower())


def _vocabulary(texts: Sequence[str]) -> tuple[list[str], Floats]:
    """The most frequent of the words that at least two texts have, and their idf."""
    counter = CountVectorizer(analyzer=_words_of)
    try:
        counts = counter.fit_transform(texts)
    except ValueError:  # not a single word
        return [], np.zeros(0)
    names = counter.get_feature_names_out()
    texts_with = np.bincount(counts.indices, minlength=len(names))
    kept = _frequent(texts_with, len(texts))
    return [str(name) for name in names[kept]], _idf(texts_with[kept], len(texts))


def _frequent_runs(texts: Sequence[str]) -> tuple[Ints, Floats]:
    """The same of runs of characters."""
    texts_with = np.zeros(1 << _BITS, dtype=np.int64)
    for block in _blocks(texts):
        texts_with += np.bincount(_run_counts(block).indices, minlength=1 << _BITS)
    kept = _frequent(texts_with, len(texts))
    return kept, _idf(texts_with[kept], len(texts))


def _frequent(texts_with: Ints, n: int) -> Ints:
    """The terms that count: those of at least two texts (of one, where there is no other), the most frequent ones."""
    found = np.flatnonzero(texts_with >= min(2, texts_with.max(initial=0), n))
    found = found[texts_with[found] > 0]
    return np.sort(found[np.argsort(-texts_with[found], kind="stable")[:_MOST_TERMS]])


def _idf(texts_with: Ints, n: int) -> Floats:
    idf: Floats = np.log((1 + n) / (1 + texts_with)) + 1
    return idf


def _weighed(counts: Any, idf: Floats) -> Any:
    weights = counts.astype(np.float64).tocsr()
    weights.sort_indices()  # so that sums do not depend on where a text stands
    weights.data = (1 + np.log(weights.data)) * idf[weights.indices]
    return normalize(weights, copy=False)


def _run_counts(texts: Sequence[str], column: npt.NDArray[np.int32] | None = None) -> Any:
    """How often each text has each run of characters: (texts, 2^18), a column for each number that the hash can give.

    With `column`, the columns are those that it gives to the numbers of runs; runs to which it gives -1 do not count.
    """
    bare = [" ".join(unicodedata.normalize("NFC", text).split()) for text in texts]
    spaced = [f" {text} " if text else "" for text in bare]  # so that beginnings and ends of words are runs as well
    letters = np.frombuffer("".join(spaced).encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint64)
    text = np.repeat(np.arange(len(texts), dtype=np.int32), [len(one) for one in spaced])
    rows, columns = [], []
    key = letters
    for length in _RUNS:
        key = (key[:-1] * _MULTIPLIER + letters[length - 1 :]) * _MULTIPLIER
        counts = text[: len(key)] == text[length - 1 :]  # begins and ends in the same text
        found = (key >> np.uint64(64 - _BITS)).astype(np.int32)
        if column is not None:
            found = column[found]
            counts &= found >= 0
        rows.append(text[: len(key)][counts])
        columns.append(found[counts])
    row, at = np.concatenate(rows), np.concatenate(columns)
    width = 1 << _BITS if column is None else int(column.max(initial=-1)) + 1
    counted = sparse.csr_array((np.ones(len(row), dtype=np.int32), (row, at)), shape=(len(texts), width))
    counted.sum_duplicates()
    return counted


def _blocks(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in order, about so many characters at a time that memory stays small."""
    block: list[str] = []
    size = 0
    for text in texts:
        block.append(text)
        size += len(text) + 2
        if size >= _CHARACTERS_AT_ONCE:
            yield block
            block, size = [], 0
    if block:
        yield block
