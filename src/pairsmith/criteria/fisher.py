"""The Fisher information ratio (Appendix C)."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from pairsmith.criteria.problem import Run
from pairsmith.data.arrays import Floats
from pairsmith.data.candidates import Rows
from pairsmith.design.information import compress_rows, inverse_root, sum_of_term_norms
from pairsmith.design.kernels import distances
from pairsmith.design.steps import PAIRS_AT_ONCE, Step, Steps, best_pair_finder
from pairsmith.design.weights import logistic_weight


def steps(run: Run, k: int) -> Steps:
    """Greedily maximise f(S) = -tr(I_q(S)^-1 I_p), the Fisher information ratio (Appendix C).

    I_p is the mean of w_ij x_ij x_ij' over all candidates, plus delta I, where delta is the ridge. I_q is the same for
    S, which includes the pairs compared before. With M = sum_S w x x' + |S| delta I, f = -|S| tr(M^-1 I_p). A candidate
    lowers tr(M^-1 I_p) by w |C x_e|^2 / (1 + w |U x_e|^2), where U'U = M^-1 and C'C = M^-1 I_p M^-1. So a step takes
    two passes over the pairs, instead of the O(N^4) of the paper. The gain is the change of f.
    """
    design, remaining, scores = run.design, run.remaining, run.estimate.scores
    compared = run.problem.compared
    rows, X = remaining.rows, design.X
    arrays = rows.partner, rows.first, rows.count, rows.start
    w = np.empty(len(rows))
    prior = np.full(X.shape[1], np.sqrt(run.problem.ridge))
    root_p = np.hstack([_population_root(rows, X, design.extent, scores, w) / np.sqrt(len(rows)), np.diag(prior)])
    weights = logistic_weight(scores[compared[:, 0]] - scores[compared[:, 1]])
    terms = compress_rows(
        np.zeros((0, X.shape[1])), (X[compared[:, 0]] - X[compared[:, 1]]) * np.sqrt(weights)[:, None]
    )
    size = len(compared)
    f = -float(np.sum((inverse_root(terms / np.sqrt(max(size, 1)), prior)[0].T @ root_p) ** 2))
    Z_u = Z_c = X

    def gains(low: int, high: int, out: Floats) -> Floats:
        part = slice(rows.start[low], rows.start[high])
        along, out = np.empty(part.stop - part.start), out[: part.stop - part.start]
        distances(Z_u, *arrays, low, high, along)
        distances(Z_c, *arrays, low, high, out)
        return np.divide(w[part] * out, 1 + w[part] * along, out=out)

    with best_pair_finder(remaining, run.threads) as best:
        while True:
            size += 1
            half, _ = inverse_root(terms, np.sqrt(size) * prior)  # U'
            across = half @ (half.T @ root_p)  # C'
            Z_u, Z_c = X @ half, X @ across
            i, j, _ = best(gains)
            if i < 0:
                return
            weight = float(logistic_weight(scores[i] - scores[j]))
            design.note_rounding(float(np.sum((Z_c[i] - Z_c[j]) ** 2)), sum_of_term_norms(design.extent, across))
            terms = compress_rows(terms, np.sqrt(weight) * (X[i] - X[j])[None, :])
            # Computed anew: the trace falls by orders of magnitude, so subtracting the gain would leave few digits.
            before, f = f, -float(np.sum((inverse_root(terms, np.sqrt(size) * prior)[0].T @ root_p) ** 2)) * size
            design.add(i, j)
            remaining.take(i, j)
            yield Step(i, j, f - before, design.logdet)


def _population_root(rows: Rows, X: Floats, extent: Floats, scores: Floats, w: Floats) -> Floats:
    """Return a root R of X'(D - W)X, the sum of w_ij x_ij x_ij' over all candidates, and write the weights to w.

    D - W is the Laplacian of the graph of candidates. The columns of X are brought to one scale, so that no column
    loses digits beside a larger one.
    """
    scale = np.where(extent > 0, extent, 1.0)
    X = X / scale
    degree, W_X = np.zeros(len(X)), np.zeros_like(X)
    for low, high in rows.blocks(PAIRS_AT_ONCE):
        i, j = rows.pairs(np.arange(rows.start[low], rows.start[high])).T
        part = w[rows.start[low] : rows.start[high]]
        part[:] = logistic_weight(scores[i] - scores[j])
        degree += np.bincount(i, part, len(X)) + np.bincount(j, part, len(X))
        W_X[low:high] += csr_array((part, (i - low, j)), shape=(high - low, len(X))) @ X
    total = (X.T * degree) @ X - X.T @ W_X - W_X.T @ X
    values, vectors = np.linalg.eigh((total + total.T) / 2)
    root: Floats = scale[:, None] * (vectors * np.sqrt(np.maximum(values, 0)))
    return root
