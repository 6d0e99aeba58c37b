"""The Bradley-Terry model whose ridge is chosen by what was held out from it (Sec. 6.1)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import log_expit

from pairsmith.data.arrays import Bools, Floats, as_items, check_items
from pairsmith.model.bradley_terry import BradleyTerry, Evidence, gather
from pairsmith.model.logistic import auc, auc_of_comparisons, check_ridge, minimise

METRICS = "log-likelihood", "auc", "auc-labels", "auc-comparisons"
RIDGES = 0.5 * 1.5 ** np.arange(50, -50, -1.0)  # the paper's code: C = 1.5^i, i = -50 to 49


class BradleyTerryCV(BradleyTerry):
    """Bradley-Terry with the ridge under which held-out answers are likeliest, or, as the paper has it, ordered best.

    A log likelihood sees the scale of the scores, which intervals depend on; an AUC (Sec. 6.1) sees only their order.
    What is left open about the ridge counts as well: `covariance_root_` is that of H^-1 plus the spread of the
    estimates over all ridges, each weighted by the likelihood of what was held out from it.

    Parameters
    ----------
    ridges : the ridges to try; None for the paper's, 100 from 3e8 down to 1e-9.
    metric : "log-likelihood", of labels and answers; or the paper's "auc" (the mean of the next two, or the one there
        is), "auc-labels" and "auc-comparisons".
    held_out : where `fit` is not told what to validate on: for the log likelihood the share of the answers that is held
        out at a time, in folds, until each was held out once; for an AUC the share of items, held out once.
    refit : whether the final fit is to everything, the validation items included.
    random_state : seeds what is held out.
    better : as of BradleyTerry.

    Attributes
    ----------
    ridge_ : the ridge chosen. scores_ : the metric for each of ridges_, a log likelihood in nats an answer.
    auc_ : the AUC of what was held out, under ridge_; nan where there is none. n_validated_ : how much that was.
    """

    def __init__(
        self,
        ridges: npt.ArrayLike | None = None,
        metric: str = "log-likelihood",
        held_out: float = 0.25,
        refit: bool = True,
        random_state: int | None = 0,
        better: Any = None,
    ) -> None:
        self.ridges = ridges
        self.metric = metric
        self.held_out = held_out
        self.refit = refit
        self.random_state = random_state
        self.better = better

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        labeled: npt.ArrayLike | None = None,
        comparisons: npt.ArrayLike | None = None,
        outcomes: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        validation: npt.ArrayLike | None = None,
    ) -> Self:
        """As BradleyTerry.fit. `validation` names the rows of X to validate on: no item is on both sides."""
        evidence = gather(self, X, y, labeled, comparisons, outcomes, sample_weight)
        if self.metric not in METRICS:
            raise ValueError(f"metric: {self.metric!r} is unknown; choose one of {', '.join(METRICS)}")
        ridges = np.atleast_1d(np.asarray(RIDGES if self.ridges is None else self.ridges, dtype=np.float64))
        if ridges.size == 0:
            raise ValueError("ridges is empty; give at least one positive number, or None")
        for ridge in ridges.ravel():
            check_ridge(ridge, "ridges")
        splits = self._splits(evidence, validation)
        self.classes_ = evidence.classes
        self.ridges_ = np.sort(ridges)[::-1]  # from simple to free, each fit starting from the one before
        seen = np.any([held for _, held in splits], axis=0)
        margins = np.full((len(self.ridges_), len(evidence.y)), np.nan)  # beta'row of what was held out, a row a ridge
        for train, held in splits:
            known, asked, start = evidence.part(train), evidence.rows[held], None
            for margin, ridge in zip(margins, self.ridges_, strict=True):
                start, _ = minimise(*known, float(ridge), start)
                margin[held] = asked @ start
        _, y, weights = evidence.part(seen)
        likelihood = np.array([weights @ log_expit(y * margin[seen]) for margin in margins])
        if self.metric == "log-likelihood":
            self.scores_ = likelihood / weights.sum()
            self.n_validated_ = int(np.sum(seen[: evidence.total]))
        else:
            self.scores_ = np.array([_held_out_auc(evidence, margin, seen, self.metric) for margin in margins])
            self.n_validated_ = int(np.sum(seen & ~evidence.tie))
        best = int(np.argmax(self.scores_ >= self.scores_.max() - 1e-12))
        self.ridge_ = float(self.ridges_[best])
        self.auc_ = _held_out_auc(evidence, margins[best], seen, self.metric)
        use = np.ones(len(evidence.y), dtype=bool) if self.refit else splits[0][0]
        self._learn(evidence, use, self.ridge_)
        if self.metric == "log-likelihood":
            self._widen(evidence, use, likelihood)
        return self

    def _widen(self, evidence: Evidence, use: Bools, likelihood: Floats) -> None:
        """Add to the posterior's covariance how far the estimate moves over ridges that are as likely as this one."""
        share = np.exp(likelihood - likelihood.max())
        share /= share.sum()
        moved, start, known = [], self.coef_, evidence.part(use)
        for at in np.flatnonzero(share > 1e-3):
            start, _ = minimise(*known, float(self.ridges_[at]), start)
            moved.append(np.sqrt(share[at]) * (start - self.coef_))
        both = np.vstack([self.covariance_root_.T, *moved])
        self.covariance_root_ = np.asarray(np.linalg.qr(both, mode="r")).T

    def _splits(self, evidence: Evidence, validation: npt.ArrayLike | None) -> list[tuple[Bools, Bools]]:
        """Which rows of the evidence are to train on, and which are held out from that."""
        if validation is not None:
            items = as_items(validation, "validation").ravel()
            check_items(items, evidence.n_items, "validation")
            tries = iter([items])
        else:
            if not isinstance(self.held_out, float | np.floating) or not 0 < self.held_out < 1:
                raise ValueError(f"held_out must be a share between 0 and 1, got {self.held_out!r}")
            try:
                rng = np.random.default_rng(self.random_state)
            except (TypeError, ValueError):
                raise ValueError(f"random_state must be None or a whole number, got {self.random_state!r}") from None
            if self.metric == "log-likelihood":
                if not self.refit:
                    raise ValueError("refit=False needs one set to train on; name items to validate on: validation=")
                return _folds(evidence, max(2, round(1 / self.held_out)), rng)
            count = max(1, round(self.held_out * evidence.n_items))
            tries = (rng.choice(evidence.n_items, count, replace=False) for _ in range(50))
        for items in tries:
            held = np.zeros(evidence.n_items, dtype=bool)
            held[items] = True
            train = ~held[evidence.first] & ~held[evidence.second]
            seen = held[evidence.first] & held[evidence.second] & (evidence.weights > 0)
            measurable = self.metric == "log-likelihood" or not np.isnan(
                _held_out_auc(evidence, np.zeros(len(evidence.y)), seen, self.metric)
            )
            if train.any() and seen.any() and measurable:
                return [(train, seen)]
        needed = "labels or comparisons"
        if self.metric != "log-likelihood":
            needed = "for an AUC labels of more than one class, or a comparison,"
        raise ValueError(
            f"validation: {needed} are needed among the validation items, and training data among the others; give"
            " more data, or choose the ridge (BradleyTerry, --ridge)"
        )


def _folds(evidence: Evidence, count: int, rng: np.random.Generator) -> list[tuple[Bools, Bools]]:
    """The answers and labels in so many folds, as (to train on, held out).

    All answers to one pair are in the same fold, since one of them tells what the others will be. Answers and labels of
    weight zero are in none.
    """
    there = evidence.weights > 0
    codes = np.minimum(evidence.first, evidence.second) * evidence.n_items + np.maximum(evidence.first, evidence.second)
    pairs, pair = np.unique(codes[there], return_inverse=True)
    if len(pairs) < 2:
        raise ValueError(
            "a ridge is chosen by what is held out, and one sample (a single pair or label) leaves nothing to hold out;"
            " give more data, or choose the ridge (BradleyTerry, --ridge)"
        )
    fold = np.full(len(codes), -1)
    fold[there] = (rng.permutation(len(pairs)) % count)[pair]
    return [((fold >= 0) & (fold != at), fold == at) for at in range(min(count, len(pairs)))]


def _held_out_auc(evidence: Evidence, margins: Floats, rows: Bools, metric: str) -> float:
    """The area under the ROC curve of beta'row, the `margins`, on these rows of the evidence; ties do not count.

    It is nan where there is none, because all labels are of one class and nothing was compared.
    """
    single = evidence.first == evidence.second
    parts = []
    if metric != "auc-comparisons":
        own = rows & single & (evidence.weights > 0)
        if len(np.unique(evidence.y[own])) == 2:
            parts.append(auc(evidence.y[own], margins[own], evidence.weights[own]))
    if metric != "auc-labels":
        own = rows & ~single & ~evidence.tie & (evidence.weights > 0)
        if own.any():
            parts.append(auc_of_comparisons(evidence.y[own], margins[own], evidence.weights[own]))
    return float(np.mean(parts)) if parts else np.nan
