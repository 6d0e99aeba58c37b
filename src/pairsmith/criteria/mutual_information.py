"""Mutual information, the criterion that looks farthest: what the answers will tell about beta (Appendix C).

By the chain rule a pair adds H(Y_e | Y_S) - H(Y_e | beta) to I(beta; Y_S): how open its answer is when those to the
pairs picked are known, less how open it would be if beta were. Both under the model's posterior.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit, log_expit

from pairsmith.criteria.work import Work
from pairsmith.data.arrays import Bools, Floats, Ints
from pairsmith.data.candidates import Remaining
from pairsmith.design.steps import Step, Steps

_SAMPLES = 1024  # of the posterior, while all answers to the pairs picked are counted
_OUTCOMES = 4096  # as many answers are counted; beyond, worlds are drawn
_WORLDS, _PARTICLES = 128, 64
_CANDIDATES = 4096  # pairs evaluated at a time
_TOGETHER = 16  # of them in all worlds at once: what fits a cache
_STEPS = 60  # of Newton's method, and halvings of one, at the most
_STEEP = 1e3  # scores this far open make answers certain, and a Gaussian a bad guess at what they tell
_LARGEST = 1e30  # scores up to this size are no trouble for float32
_REPEATS = 8  # independent estimates of the objective, to tell its error


def steps(work: Work, k: int) -> Steps:
    """Greedily maximise I(beta; Y_S), beta ~ N(coef, covariance_root covariance_root').

    Gains only fall, so pairs are evaluated from the largest last gain on, and most not at all. `diagnostics` has the
    objective in nats and its Monte Carlo error, from fresh samples.
    """
    design, remaining, belief, rng = work.design, work.remaining, work.belief, work.rng
    rows = remaining.rows
    told = _Told(design.X, belief.coef, belief.covariance_root, rng)

    def worth(which: Ints) -> Floats:
        work.diagnostics["evaluations"] += len(which)
        return told.worth(*rows.pairs(which).T)

    work.diagnostics.update(evaluations=0, samples=_SAMPLES)
    bound = np.empty(len(rows))  # what each pair was worth when it was last looked at
    for at in range(0, len(rows), _CANDIDATES):
        own = np.arange(at, min(at + _CANDIDATES, len(rows)))
        bound[own] = worth(own)
    bound[remaining.taken] = -np.inf
    now = np.ones(len(rows), dtype=bool)  # whether that is what it is worth now
    for _ in range(k):
        best = _best(bound, now, remaining, worth)
        if best < 0:
            return
        i, j = (int(item) for item in rows.pairs(np.array([best]))[0])
        gain = float(bound[best])
        told.pick(i, j)
        bound[best], now = -np.inf, np.zeros(len(rows), dtype=bool)
        design.add(i, j)
        remaining.take(i, j)
        if len(told.pairs) == k:
            _report(np.array(told.pairs), design.X, belief.coef, belief.covariance_root, rng, work.diagnostics)
        yield Step(i, j, gain, design.logdet)


def _best(bound: Floats, now: Bools, remaining: Remaining, worth: Callable[[Ints], Floats]) -> int:
    """The number of the pair that is worth most, -1 if there is none left; brings bounds up to date as it must."""
    rows = remaining.rows
    while True:
        if remaining.full.any():
            i, j = rows.pairs(np.arange(len(rows))).T
            bound[remaining.full[i] | remaining.full[j]] = -np.inf
        best = int(np.argmax(bound))
        if bound[best] == -np.inf:
            return -1
        if now[best]:
            return best
        stale = np.where(now, -np.inf, bound)
        count = min(_CANDIDATES // 16, len(rows))
        top = np.argpartition(-stale, count - 1)[:count]
        top = top[stale[top] > -np.inf]
        bound[top] = worth(top)
        now[top] = True


class _Told:
    """What the answers to the pairs picked tell about beta.

    While there are at most _OUTCOMES ways to answer them, all are counted, on samples of beta (`_Outcomes`); then they
    are drawn (`_Worlds`).
    """

    def __init__(self, X: Floats, coef: Floats, covariance_root: Floats, rng: np.random.Generator) -> None:
        self.rng = rng
        self.scores = _samples(X, coef, covariance_root, _SAMPLES, rng)
        self.lean, self.Z = X @ coef, X @ covariance_root
        self.pairs: list[tuple[int, int]] = []
        self.state: _Outcomes | _Worlds = _Outcomes(_SAMPLES)
        open_by = float(np.median(np.abs(self.Z).max(axis=1)))
        if open_by > _STEEP:
            warnings.warn(
                f"the model leaves scores open by {open_by:.0e}, where answers would never err; mutual information is"
                " then estimated badly: fit the model with a larger ridge, or rescale X",
                stacklevel=5,  # this, the steps, run.take and select: it is for who called that
            )

    def worth(self, i: Ints, j: Ints) -> Floats:
        """What each pair would add."""
        if isinstance(self.state, _Worlds):
            return self.state.worth(self.lean[i] - self.lean[j], self.Z[i] - self.Z[j])
        return self.state.worth(np.asarray(expit(self.scores[i] - self.scores[j])))

    def pick(self, i: int, j: int) -> None:
        """This pair will be answered too."""
        if isinstance(self.state, _Outcomes) and not self.state.can_answer():
            self.state = _Worlds(self.Z.shape[1], self.rng)
            for one, other in self.pairs:
                self.state.answer(self.lean[one] - self.lean[other], self.Z[one] - self.Z[other])
        if isinstance(self.state, _Worlds):
            self.state.answer(self.lean[i] - self.lean[j], self.Z[i] - self.Z[j])
        else:
            self.state.answer(np.asarray(expit(self.scores[i] - self.scores[j])))
        self.pairs.append((i, j))


class _Outcomes:
    """All answers to the pairs so far, each with its probability and what it makes of the samples' weights."""

    def __init__(self, samples: int) -> None:
        self.weights = np.full((1, samples), 1 / samples)  # P(sample | answers), a row for each way to answer
        self.probability = np.ones(1)  # of these answers

    def can_answer(self) -> bool:
        return 2 * len(self.weights) <= _OUTCOMES

    def worth(self, p: Floats) -> Floats:
        """What pairs add that are answered yes with probability p (a row a pair, a column a sample)."""
        found: Floats = self.probability @ binary_entropy(self.weights @ p.T) - binary_entropy(p).mean(axis=1)
        return found

    def answer(self, p: Floats) -> None:
        """Another pair was picked, answered yes with probability p under each sample."""
        yes = self.weights * p
        chance = np.clip(yes.sum(axis=1), 0, 1)
        both = np.vstack([yes, self.weights - yes])
        self.probability = np.concatenate([self.probability * chance, self.probability * (1 - chance)])
        total = both.sum(axis=1)
        kept = total > 0
        self.weights, self.probability = both[kept] / total[kept, None], self.probability[kept]


class _Worlds:
    """Worlds in which the pairs so far were answered: a beta each, its answers, and what these leave open about it.

    With beta = coef + covariance_root u, u ~ N(0, I), a pair's score is lean + z'u. What the answers leave open is a
    set of weighted particles, drawn from the Gaussian at the posterior's mode and reweighted to the posterior itself;
    each further answer reweights them, and once few carry most of the weight they are drawn anew.
    """

    def __init__(self, d: int, rng: np.random.Generator, worlds: int = _WORLDS) -> None:
        self.rng = rng
        self.truth = rng.standard_normal((worlds, d))
        self.mode = np.zeros((worlds, d))
        self.lean, self.Z, self.answers = np.zeros(0), np.zeros((0, d)), np.zeros((worlds, 0))
        self.u = rng.standard_normal((worlds, _PARTICLES, d))
        self.weight = np.full((worlds, _PARTICLES), 1 / _PARTICLES)

    def worth(self, lean: Floats, Z: Floats) -> Floats:
        """What pairs add. In float32, whose rounding is far below the error of drawing, unless scores overflow it."""
        worlds, particles, d = self.u.shape
        kind: Any = np.float32 if max(np.abs(lean).max(), np.abs(Z).max()) < _LARGEST else np.float64
        u, weight = self.u.reshape(-1, d).T.astype(kind), self.weight.astype(kind)
        lean, Z = lean.astype(kind), Z.astype(kind)
        found = np.empty(len(lean))
        for at in range(0, len(lean), _TOGETHER):
            own = slice(at, at + _TOGETHER)
            half = (lean[own, None] + Z[own] @ u) / 2
            p = (np.tanh(half, out=half) + 1) / 2
            p = p.reshape(-1, worlds, particles)
            given = np.einsum("cwp,wp->cw", p, weight)  # P(yes | answers)
            known = np.einsum("cwp,wp->cw", binary_entropy(p), weight)  # same particles: the errors cancel
            found[own] = np.mean(binary_entropy(given) - known, axis=1)
        return found

    def answer(self, lean: float, z: Floats) -> None:
        """Another pair was picked; each world answers it by its own beta."""
        yes = self.rng.random(len(self.truth)) < expit(lean + self.truth @ z)
        sign = np.where(yes, 1.0, -1.0)[:, None]
        self.lean, self.Z = np.append(self.lean, lean), np.vstack([self.Z, z])
        self.answers = np.hstack([self.answers, sign])
        with np.errstate(divide="ignore"):  # of a weight of zero
            self._weigh(np.log(self.weight) + log_expit(sign * (lean + self.u @ z)))
        if np.mean(1 / np.sum(self.weight**2, axis=1)) < _PARTICLES / 3:
            self._draw()

    def _draw(self) -> None:
        """New particles, from the Gaussian at the mode of each world's posterior."""
        root = self._find_modes()
        noise = self.rng.standard_normal((*self.u.shape[::2], self.u.shape[1]))  # a column a particle
        self.u = self.mode[:, None, :] + np.linalg.solve(root, noise).transpose(0, 2, 1)
        likelihood = log_expit(self.answers[:, None, :] * (self.lean + self.u @ self.Z.T)).sum(axis=2)
        self._weigh(likelihood - np.sum(self.u**2, axis=2) / 2 + np.sum(noise**2, axis=1) / 2)

    def _weigh(self, logarithms: Floats) -> None:
        """Weights from their logarithms: where no particle is likely, the likeliest still counts."""
        weight = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
        self.weight = weight / weight.sum(axis=1, keepdims=True)

    def _find_modes(self) -> Floats:
        """Newton steps in all worlds at once; R with R'R the Hessian of -log posterior there, for each.

        By a QR of its terms: features of 1e10 leave the Hessian itself no digits for its small eigenvalues. There steps
        may come to no end, too: after some, the weights make up for what is missing, as they do for the last bit.
        """

        def value(mode: Floats) -> Floats:
            with np.errstate(over="ignore"):  # infinite: then it is no improvement
                loss = -log_expit(self.answers * (self.lean + mode @ self.Z.T)).sum(axis=1)
                return np.asarray(loss + np.sum(mode**2, axis=1) / 2)

        d = self.Z.shape[1]
        for _ in range(_STEPS):
            pull = expit(-self.answers * (self.lean + self.mode @ self.Z.T))
            gradient = self.mode - (self.answers * pull) @ self.Z
            terms = np.sqrt(pull * (1 - pull))[:, :, None] * self.Z
            root: Floats = np.asarray(
                np.linalg.qr(np.concatenate([terms, np.broadcast_to(np.eye(d), (len(terms), d, d))], axis=1), mode="r")
            )
            half = np.linalg.solve(root.transpose(0, 2, 1), -gradient[:, :, None])
            step = np.linalg.solve(root, half)[:, :, 0]
            if np.abs(step).max() < 1e-3:
                break
            before, length = value(self.mode), np.ones((len(step), 1))
            for _ in range(_STEPS):
                worse = value(self.mode + length * step) > before + 1e-9 * np.abs(before)
                if not worse.any():
                    break
                length[worse] /= 2
            self.mode = self.mode + np.where(worse[:, None], 0.0, length * step)
        return root


def _report(
    pairs: Ints, X: Floats, coef: Floats, root: Floats, rng: np.random.Generator, diagnostics: dict[str, Any]
) -> None:
    """The objective and its error, from fresh samples."""
    lean, Z = X @ coef, X @ root
    values = []
    for _ in range(_REPEATS):
        value = 0.0
        if 2 ** len(pairs) <= _OUTCOMES:
            scores, state = _samples(X, coef, root, _SAMPLES, rng), _Outcomes(_SAMPLES)
            for i, j in pairs:
                p = np.asarray(expit(scores[i] - scores[j]))
                value += float(state.worth(p[None, :])[0])
                state.answer(p)
        else:
            worlds = _Worlds(Z.shape[1], rng, _WORLDS // 2)
            for i, j in pairs:
                value += float(worlds.worth(lean[[i]] - lean[[j]], Z[[i]] - Z[[j]])[0])
                worlds.answer(lean[i] - lean[j], Z[i] - Z[j])
        values.append(value)
    diagnostics["objective"] = float(np.mean(values))
    diagnostics["objective_error"] = float(np.std(values, ddof=1) / np.sqrt(_REPEATS))


def _samples(X: Floats, coef: Floats, root: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Scores of all items under samples of the posterior, a column a sample."""
    scores: Floats = X @ (coef[:, None] + root @ rng.standard_normal((len(coef), count)))
    return scores


def binary_entropy(p: Any) -> Any:
    """-p log p - (1 - p) log(1 - p), right to some rounding errors of 1: log is three times as fast as log1p."""
    limits = np.finfo(p.dtype)
    p = np.clip(p, limits.tiny, 1 - limits.epsneg)
    rest = 1 - p
    return -(p * np.log(p) + rest * np.log(rest))
