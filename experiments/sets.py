"""The data that the model and its rounds are measured on (model.py, worth.py): who can be asked what, and the truth.

A repetition of a set is a `Trial`: a quarter of the items is held out, pairs of the others can be asked about.

    diabetes, digits, breast_cancer   scores, which answer without error; pairs of equal scores are not asked about
    netflix, camra                    likewise by the ratings of one user, another one in each repetition
    synthetic                         the model is true: linear scores beside effects of the items, and its noise
    weak                              likewise, with linear scores so close together that answers are little but noise
    curved                            likewise, with scores that rise and fall twice along one of two features
    dar                               452 subwards of Dar es Salaam: people said which is the richer
    humour                            4,030 short texts: people said which is the funnier
    molskill                          10,230 molecules: chemists said which they would rather pursue

Where people voted, an answer is a vote drawn from half of the votes on its pair, and the truth is what the other half
says: the scores under which a Bradley-Terry model without features finds it likeliest. These err as well; a trial's
`reliability` is how much of their variance is not error, by the correlation of the two halves' scores. A molecule is in
one pair or hardly more and so has no such score: a quarter of the pairs is held out, whose molecules nobody is asked
about, and the truth is these votes.

A new set is a function from a folder and a seed to a Trial, named in `trial`.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import common
import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from pairsmith.datasets.base import of_scores

MADE = ["synthetic", *common.DRAWN]
SETS = ["diabetes", "digits", "breast_cancer", *MADE, "netflix", "camra", "dar", "humour", "molskill"]
VOTED = ["dar", "humour", "molskill"]
NEED_FILES = ["netflix", "camra", *VOTED]
MOST_JUDGED = 50_000  # pairs that a ranking is judged by, drawn at random where there are more
TEXT_DIMENSIONS = 50  # of the features that texts and molecules are turned into
LINEAR, EFFECTS = 3.0, 1.0  # the variances of synthetic scores
WEAK = 0.1  # that of weak ones


class Trial(NamedTuple):
    """Items at hand, what can be asked about them, and the truth about them and about items held out."""

    X: np.ndarray  # (n, d) items at hand
    pairs: np.ndarray  # (m, 2) of them that can be asked about, the first the smaller number, in lexicographic order
    chance: np.ndarray  # (m,) that an answer prefers the first
    ordered: np.ndarray  # (p, 2) pairs of items at hand to judge by, the truly better one first
    unseen_X: np.ndarray
    unseen: np.ndarray  # (q, 2) pairs of these, likewise
    reliability: float = 1.0  # of the truth: its squared correlation with the scores that it estimates
    above: np.ndarray = np.zeros(0, dtype=int)  # (n,) how many of the items at hand are truly better; or nobody knows

    @property
    def candidates(self) -> np.ndarray | None:
        """As ps.select takes them: None where all pairs can be asked about."""
        return None if len(self.pairs) == len(self.X) * (len(self.X) - 1) // 2 else self.pairs

    def draw(self, k: int, rng: np.random.Generator) -> np.ndarray:
        """k different pairs at random."""
        return self.pairs[rng.choice(len(self.pairs), k, replace=False)]

    def answer(self, pairs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """+1 where the first is preferred, -1 where the second."""
        n = len(self.X)
        low, high = pairs.min(axis=1), pairs.max(axis=1)
        codes, asked = self.pairs[:, 0] * n + self.pairs[:, 1], low * n + high
        at = np.searchsorted(codes, asked)
        if not np.array_equal(codes[np.minimum(at, len(codes) - 1)], asked):
            raise ValueError("a pair was asked about that nobody can answer")
        outcomes = np.where(rng.random(len(pairs)) < self.chance[at], 1, -1)
        return np.where(pairs[:, 0] == low, outcomes, -outcomes)


def trial(name: str, seed: int, folder: Path, X: np.ndarray | None = None) -> Trial:
    """Repetition number `seed` of a set: another split and, as the set has it, other items, another user or draw.

    X are other features of all its items than the set has.
    """
    if name in MADE:
        return {"synthetic": synthetic, "weak": weak, "curved": curved}[name](seed)
    if name == "molskill":
        own, votes = _molecules(folder / name)
        return molecules(own if X is None else X, votes, seed)
    if name in VOTED:
        own, votes = _areas(folder / name) if name == "dar" else _texts(folder / name)
        return of_votes(own if X is None else X, votes, seed)
    data = common.data_set(name, seed, folder, ties=0)
    certain = data.outcomes != 0
    return _split(data.X if X is None else X, data.pairs[certain], (data.outcomes[certain] + 1) / 2, seed)


def synthetic(seed: int, n: int = 400, d: int = 10) -> Trial:
    rng = np.random.default_rng([seed, 4])
    X = rng.standard_normal((n, d))
    scores = np.sqrt(LINEAR / d) * X @ rng.standard_normal(d) + np.sqrt(EFFECTS) * rng.standard_normal(n)
    return _of_scores(X, scores, seed)


def weak(seed: int, n: int = 200, d: int = 5) -> Trial:
    rng = np.random.default_rng([seed, 4])
    X = rng.standard_normal((n, d))
    return _of_scores(X, np.sqrt(WEAK / d) * X @ rng.standard_normal(d), seed)


def curved(seed: int, n: int = 300) -> Trial:
    rng = np.random.default_rng([seed, 4])
    X = rng.uniform(-3, 3, (n, 2))
    return _of_scores(X, 3 * np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(n), seed)


def _of_scores(X: np.ndarray, scores: np.ndarray, seed: int) -> Trial:
    """People who err as the model says."""
    pairs, _ = of_scores(scores)
    return _split(X, pairs, expit(scores[pairs[:, 0]] - scores[pairs[:, 1]]), seed, scores)


def of_votes(X: np.ndarray, votes: np.ndarray, seed: int) -> Trial:
    """Items that people compared; `votes` has the preferred item first, a row a vote."""
    asked = np.random.default_rng([seed, 5]).random(len(votes)) < 0.5
    pairs, chance = _shares(votes[asked])
    scores = scores_of(votes[~asked], len(X))
    # Errors of the halves are independent and equally large, so what the halves have in common is what is no error.
    reliability = np.corrcoef(scores, scores_of(votes[asked], len(X)))[0, 1]
    return _split(X, pairs, chance, seed, scores, float(reliability))


def molecules(X: np.ndarray, votes: np.ndarray, seed: int) -> Trial:
    """Molecules that chemists compared; `votes` has the preferred one first, a row a vote."""
    held = np.random.default_rng([seed, 1]).permutation(len(votes)) < len(votes) // 4
    gone = np.zeros(len(X), dtype=bool)
    gone[votes[held]] = True
    kept, place = np.flatnonzero(~gone), np.full(len(X), -1)
    place[kept] = np.arange(len(kept))
    place[gone] = np.arange(gone.sum())
    pairs, chance = _shares(place[votes[~gone[votes].any(axis=1)]])
    return Trial(X[kept], pairs, chance, np.zeros((0, 2), dtype=int), X[gone], place[votes[held]])


def scores_of(votes: np.ndarray, n: int) -> np.ndarray:
    """Scores of a Bradley-Terry model with a prior N(0, 1) for each item, from votes alone."""
    turned = np.where(np.arange(len(votes)) % 2, 1, -1)  # logistic regression needs both classes
    row = np.repeat(np.arange(len(votes)), 2)
    sides = csr_array((np.outer(turned, [1.0, -1.0]).ravel(), (row, votes.ravel())), shape=(len(votes), n))
    fit = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-6, max_iter=1000).fit(sides, turned)
    scores: np.ndarray = fit.coef_[0]
    return scores


def _split(
    X: np.ndarray,
    pairs: np.ndarray,
    chance: np.ndarray,
    seed: int,
    scores: np.ndarray | None = None,
    reliability: float = 1.0,
) -> Trial:
    """Hold a quarter of the items out. The truth is by the scores; without them, answers do not err: they are it."""
    items = np.random.default_rng([seed, 1]).permutation(len(X))
    unseen, train = np.sort(items[: len(X) // 4]), np.sort(items[len(X) // 4 :])
    rng = np.random.default_rng([seed, 6])

    def among(own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        place = np.full(len(X), -1)
        place[own] = np.arange(len(own))
        inside = (place[pairs] >= 0).all(axis=1)
        return place[pairs[inside]], chance[inside]

    def truth(own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pairs that truly differ, the better one first; and how many are better than each item, by all such pairs."""
        judged, outcomes = among(own) if scores is None else of_scores(scores[own])
        wins = np.sign(2 * outcomes - 1) if scores is None else outcomes
        judged, wins = judged[wins != 0], wins[wins != 0]
        ordered = np.where(wins[:, None] > 0, judged, judged[:, ::-1])
        above = np.bincount(ordered[:, 1], minlength=len(own))
        return ordered[np.sort(rng.permutation(len(judged))[:MOST_JUDGED])], above

    ordered, above = truth(train)
    return Trial(X[train], *among(train), ordered, X[unseen], truth(unseen)[0], reliability, above)


def _shares(votes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pairs voted on, in lexicographic order, and the share of the votes that prefer the first."""
    pairs, which = np.unique(np.sort(votes, axis=1), axis=0, return_inverse=True)
    first = votes[:, 0] < votes[:, 1]
    return pairs, np.bincount(which.ravel(), first) / np.bincount(which.ravel())


# Files


@lru_cache(maxsize=1)
def _areas(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Where a subward is, bumps around 25 places, how large it is, and how many live there; votes, the richer first."""
    areas = pd.read_csv(folder / "areas.csv")
    place = areas[["x", "y"]].to_numpy()
    place = (place - place.mean(axis=0)) / place.std(axis=0)
    centres = np.array(np.meshgrid(*[np.linspace(-1.5, 1.5, 5)] * 2)).reshape(2, -1).T
    bumps = np.exp(-np.sum((place[:, None] - centres) ** 2, axis=2) / (2 * 0.75**2))
    sizes = np.log1p(areas[["area", "perimeter", "corners", "Total"]].to_numpy())
    votes = pd.read_csv(folder / "comparisons.csv")[["winner", "loser"]].to_numpy()
    return _standardised(np.hstack([place, bumps, sizes])), votes


@lru_cache(maxsize=1)
def _texts(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    votes = pd.read_csv(folder / "pairs.csv")[["winner", "loser"]].to_numpy()
    return _of_texts(TfidfVectorizer(sublinear_tf=True, min_df=2), jokes(folder)), votes


def jokes(folder: Path) -> np.ndarray:
    """The texts of humour."""
    return pd.read_csv(folder / "texts.csv").text.fillna("").to_numpy(dtype=object)


@lru_cache(maxsize=1)
def _molecules(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Molecules by the pieces of their SMILES; votes, the one of label 1 first."""
    table = pd.read_csv(folder / "production_public.csv")
    names = smiles(folder)
    votes = np.searchsorted(names, table[["smiles_i", "smiles_j"]].to_numpy())
    votes = np.where(table.label.to_numpy()[:, None] == 1, votes, votes[:, ::-1])
    pieces = TfidfVectorizer(analyzer="char", lowercase=False, ngram_range=(1, 3), sublinear_tf=True, min_df=5)
    return _of_texts(pieces, names), votes[votes[:, 0] != votes[:, 1]]


def smiles(folder: Path) -> np.ndarray:
    """The molecules, by their SMILES in alphabetic order."""
    return np.unique(pd.read_csv(folder / "production_public.csv")[["smiles_i", "smiles_j"]].to_numpy().astype(object))


def _of_texts(vectorizer: TfidfVectorizer, texts: object) -> np.ndarray:
    return _standardised(TruncatedSVD(TEXT_DIMENSIONS, random_state=0).fit_transform(vectorizer.fit_transform(texts)))


def _standardised(X: np.ndarray) -> np.ndarray:
    return (X - X.mean(axis=0)) / X.std(axis=0)
