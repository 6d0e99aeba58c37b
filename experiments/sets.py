"""The data sets of model.py, worth.py and forecast.py: which pairs can be asked about, who answers, and the truth.

A repetition of a set is a `Trial`: a quarter of the items is held out, and pairs of the others can be asked about.

    diabetes, digits, breast_cancer   recorded scores answer without error; equal scores are not asked about
    netflix, camra                    the same with the ratings of one user, another user in each repetition
    synthetic                         the model is true: linear scores plus item effects, with the model's noise
    weak                              the same with linear scores so close together that answers are nearly noise
    curved                            the same with scores that rise and fall twice along one of two features
    dar                               452 subwards of Dar es Salaam: people said which is richer
    humour                            4,030 short texts: people said which is funnier
    molskill                          10,230 molecules: chemists said which they would rather pursue

Where people voted, an answer is a vote drawn from half of the votes on its pair. The other half gives the truth: the
scores of a Bradley-Terry model without features. These scores err as well. A trial's `reliability` is the share of
their variance that is not error, estimated by the correlation of the two halves' scores. A molecule occurs in one pair
or hardly more and so has no such score. There, a quarter of the pairs is held out, nobody is asked about their
molecules, and these votes are the truth.

To add a set, write a function from a folder and a seed to a Trial and name it in `trial`.
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

SIMULATED = ["synthetic", *common.SIMULATED]
SETS = ["diabetes", "digits", "breast_cancer", *SIMULATED, "netflix", "camra", "dar", "humour", "molskill"]
VOTED = ["dar", "humour", "molskill"]
NEED_FILES = ["netflix", "camra", *VOTED]
MAX_JUDGED_PAIRS = 50_000  # a ranking is judged by a random sample of more pairs
TEXT_DIMENSIONS = 50  # number of features of texts and molecules
LINEAR_VARIANCE, EFFECT_VARIANCE = 3.0, 1.0  # variances of the synthetic scores
WEAK_VARIANCE = 0.1  # variance of the weak scores


class Trial(NamedTuple):
    """Training items, the pairs that can be asked about, and the truth about training items and unseen items."""

    X: np.ndarray  # (n, d) training items
    pairs: np.ndarray  # (m, 2) pairs that can be asked about, smaller number first, in lexicographic order
    chance: np.ndarray  # (m,) probability that an answer prefers the first item
    ordered: np.ndarray  # (p, 2) pairs of training items to judge by, the truly better one first
    unseen_X: np.ndarray
    unseen: np.ndarray  # (q, 2) pairs of unseen items to judge by, the truly better one first
    reliability: float = 1.0  # of the truth: its squared correlation with the scores that it estimates
    above: np.ndarray = np.zeros(0, dtype=int)  # (n,) number of truly better training items; empty if unknown

    @property
    def candidates(self) -> np.ndarray | None:
        """The candidates for ps.select: None if all pairs can be asked about."""
        return None if len(self.pairs) == len(self.X) * (len(self.X) - 1) // 2 else self.pairs

    def draw(self, k: int, rng: np.random.Generator) -> np.ndarray:
        """Draw k different pairs at random."""
        return self.pairs[rng.choice(len(self.pairs), k, replace=False)]

    def answer(self, pairs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return +1 where the first item is preferred and -1 where the second is."""
        n = len(self.X)
        low, high = pairs.min(axis=1), pairs.max(axis=1)
        codes, asked = self.pairs[:, 0] * n + self.pairs[:, 1], low * n + high
        at = np.searchsorted(codes, asked)
        if not np.array_equal(codes[np.minimum(at, len(codes) - 1)], asked):
            raise ValueError("nobody can answer one of these pairs; ask only about pairs of Trial.pairs")
        outcomes = np.where(rng.random(len(pairs)) < self.chance[at], 1, -1)
        return np.where(pairs[:, 0] == low, outcomes, -outcomes)


def trial(name: str, seed: int, folder: Path, X: np.ndarray | None = None) -> Trial:
    """Return repetition number `seed` of a set: another split, and other items, users or draws if the set has them.

    X replaces the features of all items.
    """
    if name in SIMULATED:
        return {"synthetic": synthetic, "weak": weak, "curved": curved}[name](seed)
    if name == "molskill":
        own, votes = _molecules(folder / name)
        return trial_from_molecules(own if X is None else X, votes, seed)
    if name in VOTED:
        own, votes = _areas(folder / name) if name == "dar" else _texts(folder / name)
        return trial_from_votes(own if X is None else X, votes, seed)
    data = common.data_set(name, seed, folder, ties=0)
    certain = data.outcomes != 0
    return _split(data.X if X is None else X, data.pairs[certain], (data.outcomes[certain] + 1) / 2, seed)


def synthetic(seed: int, n: int = 400, d: int = 10) -> Trial:
    rng = np.random.default_rng([seed, 4])
    X = rng.standard_normal((n, d))
    scores = np.sqrt(LINEAR_VARIANCE / d) * X @ rng.standard_normal(d) + np.sqrt(EFFECT_VARIANCE) * rng.standard_normal(
        n
    )
    return _trial_from_scores(X, scores, seed)


def weak(seed: int, n: int = 200, d: int = 5) -> Trial:
    rng = np.random.default_rng([seed, 4])
    X = rng.standard_normal((n, d))
    return _trial_from_scores(X, np.sqrt(WEAK_VARIANCE / d) * X @ rng.standard_normal(d), seed)


def curved(seed: int, n: int = 300) -> Trial:
    rng = np.random.default_rng([seed, 4])
    X = rng.uniform(-3, 3, (n, 2))
    return _trial_from_scores(X, 3 * np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(n), seed)


def _trial_from_scores(X: np.ndarray, scores: np.ndarray, seed: int) -> Trial:
    """Return a trial in which people err as the model assumes."""
    pairs, _ = of_scores(scores)
    return _split(X, pairs, expit(scores[pairs[:, 0]] - scores[pairs[:, 1]]), seed, scores)


def trial_from_votes(X: np.ndarray, votes: np.ndarray, seed: int) -> Trial:
    """Return a trial of items that people compared; each row of `votes` has the preferred item first."""
    asked = np.random.default_rng([seed, 5]).random(len(votes)) < 0.5
    pairs, chance = _vote_shares(votes[asked])
    scores = fit_scores(votes[~asked], len(X))
    # The errors of the halves are independent and equally large, so the halves share only what is not error.
    reliability = np.corrcoef(scores, fit_scores(votes[asked], len(X)))[0, 1]
    return _split(X, pairs, chance, seed, scores, float(reliability))


def trial_from_molecules(X: np.ndarray, votes: np.ndarray, seed: int) -> Trial:
    """Return a trial of molecules that chemists compared; each row of `votes` has the preferred one first."""
    held = np.random.default_rng([seed, 1]).permutation(len(votes)) < len(votes) // 4
    gone = np.zeros(len(X), dtype=bool)
    gone[votes[held]] = True
    kept, place = np.flatnonzero(~gone), np.full(len(X), -1)
    place[kept] = np.arange(len(kept))
    place[gone] = np.arange(gone.sum())
    pairs, chance = _vote_shares(place[votes[~gone[votes].any(axis=1)]])
    return Trial(X[kept], pairs, chance, np.zeros((0, 2), dtype=int), X[gone], place[votes[held]])


def fit_scores(votes: np.ndarray, n: int) -> np.ndarray:
    """Fit the scores of a Bradley-Terry model with a prior N(0, 1) per item and no features to votes."""
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
    """Hold out a quarter of the items. The scores are the truth; without scores the answers are, as they do not err."""
    items = np.random.default_rng([seed, 1]).permutation(len(X))
    unseen, train = np.sort(items[: len(X) // 4]), np.sort(items[len(X) // 4 :])
    rng = np.random.default_rng([seed, 6])

    def among(own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        place = np.full(len(X), -1)
        place[own] = np.arange(len(own))
        inside = (place[pairs] >= 0).all(axis=1)
        return place[pairs[inside]], chance[inside]

    def truth(own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return pairs that truly differ, better item first, and the number of better items for each item."""
        judged, outcomes = among(own) if scores is None else of_scores(scores[own])
        wins = np.sign(2 * outcomes - 1) if scores is None else outcomes
        judged, wins = judged[wins != 0], wins[wins != 0]
        ordered = np.where(wins[:, None] > 0, judged, judged[:, ::-1])
        above = np.bincount(ordered[:, 1], minlength=len(own))
        return ordered[np.sort(rng.permutation(len(judged))[:MAX_JUDGED_PAIRS])], above

    ordered, above = truth(train)
    return Trial(X[train], *among(train), ordered, X[unseen], truth(unseen)[0], reliability, above)


def _vote_shares(votes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs voted on, in lexicographic order, and the share of votes that prefer the first item."""
    pairs, which = np.unique(np.sort(votes, axis=1), axis=0, return_inverse=True)
    first = votes[:, 0] < votes[:, 1]
    return pairs, np.bincount(which.ravel(), first) / np.bincount(which.ravel())


# Files


@lru_cache(maxsize=1)
def _areas(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return features of subwards (place, bumps around 25 places, size, population) and votes, richer one first."""
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
    return _text_features(TfidfVectorizer(sublinear_tf=True, min_df=2), joke_texts(folder)), votes


def joke_texts(folder: Path) -> np.ndarray:
    """Return the texts of humour."""
    return pd.read_csv(folder / "texts.csv").text.fillna("").to_numpy(dtype=object)


@lru_cache(maxsize=1)
def _molecules(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return features of molecules from the pieces of their SMILES, and votes, the one of label 1 first."""
    table = pd.read_csv(folder / "production_public.csv")
    names = smiles(folder)
    votes = np.searchsorted(names, table[["smiles_i", "smiles_j"]].to_numpy())
    votes = np.where(table.label.to_numpy()[:, None] == 1, votes, votes[:, ::-1])
    pieces = TfidfVectorizer(analyzer="char", lowercase=False, ngram_range=(1, 3), sublinear_tf=True, min_df=5)
    return _text_features(pieces, names), votes[votes[:, 0] != votes[:, 1]]


def smiles(folder: Path) -> np.ndarray:
    """Return the SMILES of the molecules in alphabetic order."""
    return np.unique(pd.read_csv(folder / "production_public.csv")[["smiles_i", "smiles_j"]].to_numpy().astype(object))


def _text_features(vectorizer: TfidfVectorizer, texts: object) -> np.ndarray:
    return _standardised(TruncatedSVD(TEXT_DIMENSIONS, random_state=0).fit_transform(vectorizer.fit_transform(texts)))


def _standardised(X: np.ndarray) -> np.ndarray:
    return (X - X.mean(axis=0)) / X.std(axis=0)
