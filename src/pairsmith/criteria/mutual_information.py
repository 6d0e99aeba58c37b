"""Mutual information: what all the answers together will say about the coefficients beta (Appendix C).

By the chain rule, a pair e adds H(Y_e | Y_S) - H(Y_e | beta) to I(beta; Y_S): the entropy of its answer given the
answers to the pairs S picked so far, minus its entropy given beta, both under the model's posterior.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit, log_expit

from pairsmith.criteria.problem import Run
from pairsmith.data.arrays import Bools, Floats, Ints
from pairsmith.data.candidates import Remaining
from pairsmith.design.steps import Step, Steps

_POSTERIOR_SAMPLES = 1024  # while all answers to the picked pairs are enumerated
_MAX_OUTCOMES = 4096  # combinations of answers that are enumerated; beyond it, they are simulated
_WORLDS, _PARTICLES_PER_WORLD = 128, 64
_PAIRS_PER_EVALUATION = 4096
_PAIRS_IN_CACHE = 16  # pairs whose answers in all worlds fit into the processor's cache
_MAX_NEWTON_STEPS = 60  # and halvings of one step
_MAX_DEVIATION = 1e3  # of scores; beyond it answers are certain, and a Gaussian approximates their posterior badly
_MAX_SCORE_IN_FLOAT32 = 1e30
_REPEATS = 8  # independent estimates of the objective, from which its error is estimated


def steps(run: Run, k: int) -> Steps:
    """Greedily maximise I(beta; Y_S), with beta ~ N(coef, covariance_root covariance_root').

    Gains only fall, so the last gain of a pair is an upper bound, and most pairs need no new evaluation.
    `diagnostics` gets the objective in nats and its Monte Carlo error, from fresh samples.
    """
    design, remaining, estimate, rng = run.design, run.remaining, run.estimate, run.rng
    rows = remaining.rows
    information = _Information(design.X, estimate.coef, estimate.covariance_root, rng)

    def evaluate(numbers: Ints) -> Floats:
        run.diagnostics["evaluations"] += len(numbers)
        return information.gains(*rows.pairs(numbers).T)

    run.diagnostics.update(evaluations=0, samples=_POSTERIOR_SAMPLES)
    bound = np.empty(len(rows))  # the gain of each pair at its last evaluation
    for at in range(0, len(rows), _PAIRS_PER_EVALUATION):
        block = np.arange(at, min(at + _PAIRS_PER_EVALUATION, len(rows)))
        bound[block] = evaluate(block)
    bound[remaining.taken] = -np.inf
    is_current = np.ones(len(rows), dtype=bool)  # whether the bound is the gain at the current step
    for _ in range(k):
        best = _best(bound, is_current, remaining, evaluate)
        if best < 0:
            return
        i, j = (int(item) for item in rows.pairs(np.array([best]))[0])
        gain = float(bound[best])
        information.pick(i, j)
        bound[best], is_current = -np.inf, np.zeros(len(rows), dtype=bool)
        design.add(i, j)
        remaining.take(i, j)
        if len(information.pairs) == k:
            pairs = np.array(information.pairs)
            _estimate_objective(pairs, design.X, estimate.coef, estimate.covariance_root, rng, run.diagnostics)
        yield Step(i, j, gain, design.logdet)


def _best(bound: Floats, is_current: Bools, remaining: Remaining, evaluate: Callable[[Ints], Floats]) -> int:
    """Return the number of the pair of largest gain, or -1 if no pair is left. Update bounds where necessary."""
    rows = remaining.rows
    while True:
        if remaining.full.any():
            i, j = rows.pairs(np.arange(len(rows))).T
            bound[remaining.full[i] | remaining.full[j]] = -np.inf
        best = int(np.argmax(bound))
        if bound[best] == -np.inf:
            return -1
        if is_current[best]:
            return best
        stale = np.where(is_current, -np.inf, bound)
        count = min(_PAIRS_PER_EVALUATION // 16, len(rows))
        top = np.argpartition(-stale, count - 1)[:count]
        top = top[stale[top] > -np.inf]
        bound[top] = evaluate(top)
        is_current[top] = True


class _Information:
    """What the answers to the picked pairs say about beta.

    As long as there are at most _MAX_OUTCOMES combinations of answers, all are enumerated on samples of beta
    (`_AllOutcomes`). Beyond that, answers are simulated (`_Worlds`).
    """

    def __init__(self, X: Floats, coef: Floats, covariance_root: Floats, rng: np.random.Generator) -> None:
        self.rng = rng
        self.scores = _sample_scores(X, coef, covariance_root, _POSTERIOR_SAMPLES, rng)
        self.mean, self.Z = X @ coef, X @ covariance_root
        self.pairs: list[tuple[int, int]] = []
        self.state: _AllOutcomes | _Worlds = _AllOutcomes(_POSTERIOR_SAMPLES)
        deviation = float(np.median(np.abs(self.Z).max(axis=1)))
        if deviation > _MAX_DEVIATION:
            warnings.warn(
                f"the model leaves scores open by {deviation:.0e}, so no answer would ever be wrong, and mutual"
                " information is estimated badly; fit the model with a larger ridge, or rescale X",
                stacklevel=5,  # the caller of select, above this, steps, take_steps and select
            )

    def gains(self, i: Ints, j: Ints) -> Floats:
        """Return what each pair would add."""
        if isinstance(self.state, _Worlds):
            return self.state.gains(self.mean[i] - self.mean[j], self.Z[i] - self.Z[j])
        return self.state.gains(np.asarray(expit(self.scores[i] - self.scores[j])))

    def pick(self, i: int, j: int) -> None:
        """Add a pair that will be answered."""
        if isinstance(self.state, _AllOutcomes) and self.state.is_full():
            self.state = _Worlds(self.Z.shape[1], self.rng)
            for one, other in self.pairs:
                self.state.answer(self.mean[one] - self.mean[other], self.Z[one] - self.Z[other])
        if isinstance(self.state, _Worlds):
            self.state.answer(self.mean[i] - self.mean[j], self.Z[i] - self.Z[j])
        else:
            self.state.answer(np.asarray(expit(self.scores[i] - self.scores[j])))
        self.pairs.append((i, j))


class _AllOutcomes:
    """All combinations of answers to the pairs so far, with their probabilities and the posterior over the samples."""

    def __init__(self, samples: int) -> None:
        self.weights = np.full((1, samples), 1 / samples)  # P(sample | answers), a row per combination of answers
        self.probability = np.ones(1)  # of each combination

    def is_full(self) -> bool:
        """Return whether another pair would make too many combinations."""
        return 2 * len(self.weights) > _MAX_OUTCOMES

    def gains(self, p: Floats) -> Floats:
        """Return what pairs add whose first items win with probability p (one row per pair, one column per sample)."""
        gains: Floats = self.probability @ binary_entropy(self.weights @ p.T) - binary_entropy(p).mean(axis=1)
        return gains

    def answer(self, p: Floats) -> None:
        """Add a pair whose first item wins with probability p under each sample."""
        yes = self.weights * p
        chance = np.clip(yes.sum(axis=1), 0, 1)
        both = np.vstack([yes, self.weights - yes])
        self.probability = np.concatenate([self.probability * chance, self.probability * (1 - chance)])
        total = both.sum(axis=1)
        kept = total > 0
        self.weights, self.probability = both[kept] / total[kept, None], self.probability[kept]


class _Worlds:
    """Simulated worlds: each has a true beta, answers to the pairs so far, and a posterior given these answers.

    With beta = coef + covariance_root u and u ~ N(0, I), the scores of a pair differ by mean + z'u. The posterior is a
    set of weighted particles, drawn from the Gaussian at its mode and reweighted to the posterior itself. Each further
    answer reweights them, and once few particles carry most of the weight, new ones are drawn.
    """

    def __init__(self, d: int, rng: np.random.Generator, worlds: int = _WORLDS) -> None:
        self.rng = rng
        self.truth = rng.standard_normal((worlds, d))
        self.mode = np.zeros((worlds, d))
        self.means, self.Z, self.answers = np.zeros(0), np.zeros((0, d)), np.zeros((worlds, 0))
        self.u = rng.standard_normal((worlds, _PARTICLES_PER_WORLD, d))
        self.weight = np.full((worlds, _PARTICLES_PER_WORLD), 1 / _PARTICLES_PER_WORLD)

    def gains(self, mean: Floats, Z: Floats) -> Floats:
        """Return what pairs add.

        Rounding in float32 is far below the error of the simulation, so it is used unless scores overflow it.
        """
        worlds, particles, d = self.u.shape
        fits_float32 = max(np.abs(mean).max(), np.abs(Z).max()) < _MAX_SCORE_IN_FLOAT32
        dtype: Any = np.float32 if fits_float32 else np.float64
        u, weight = self.u.reshape(-1, d).T.astype(dtype), self.weight.astype(dtype)
        mean, Z = mean.astype(dtype), Z.astype(dtype)
        gains = np.empty(len(mean))
        for at in range(0, len(mean), _PAIRS_IN_CACHE):
            block = slice(at, at + _PAIRS_IN_CACHE)
            half = (mean[block, None] + Z[block] @ u) / 2
            p = (np.tanh(half, out=half) + 1) / 2
            p = p.reshape(-1, worlds, particles)
            p_given_answers = np.einsum("cwp,wp->cw", p, weight)
            # The errors of both terms cancel in part, because they come from the same particles.
            entropy_given_beta = np.einsum("cwp,wp->cw", binary_entropy(p), weight)
            gains[block] = np.mean(binary_entropy(p_given_answers) - entropy_given_beta, axis=1)
        return gains

    def answer(self, mean: float, z: Floats) -> None:
        """Add a pair, which each world answers by its own beta."""
        first_wins = self.rng.random(len(self.truth)) < expit(mean + self.truth @ z)
        sign = np.where(first_wins, 1.0, -1.0)[:, None]
        self.means, self.Z = np.append(self.means, mean), np.vstack([self.Z, z])
        self.answers = np.hstack([self.answers, sign])
        with np.errstate(divide="ignore"):  # weights may be zero
            self._set_weights(np.log(self.weight) + log_expit(sign * (mean + self.u @ z)))
        if np.mean(1 / np.sum(self.weight**2, axis=1)) < _PARTICLES_PER_WORLD / 3:
            self._draw_particles()

    def _draw_particles(self) -> None:
        """Draw new particles from the Gaussian at the mode of each world's posterior."""
        root = self._find_modes()
        noise = self.rng.standard_normal((*self.u.shape[::2], self.u.shape[1]))  # one column per particle
        self.u = self.mode[:, None, :] + np.linalg.solve(root, noise).transpose(0, 2, 1)
        likelihood = log_expit(self.answers[:, None, :] * (self.means + self.u @ self.Z.T)).sum(axis=2)
        self._set_weights(likelihood - np.sum(self.u**2, axis=2) / 2 + np.sum(noise**2, axis=1) / 2)

    def _set_weights(self, logarithms: Floats) -> None:
        """Set the weights from their logarithms. If no particle is likely, the likeliest one still counts."""
        weight = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
        self.weight = weight / weight.sum(axis=1, keepdims=True)

    def _find_modes(self) -> Floats:
        """Find the modes of all worlds by Newton's method; return R with R'R the Hessian of -log posterior, for each.

        R comes from a QR of the Hessian's terms, since with features of 1e10 the Hessian itself has no digits left for
        its small eigenvalues. Newton's method may not converge then. The importance weights of the particles make up
        for the distance to the mode, so a limited number of steps suffices.
        """

        def value(mode: Floats) -> Floats:
            with np.errstate(over="ignore"):  # an infinite value is no improvement
                loss = -log_expit(self.answers * (self.means + mode @ self.Z.T)).sum(axis=1)
                return np.asarray(loss + np.sum(mode**2, axis=1) / 2)

        d = self.Z.shape[1]
        for _ in range(_MAX_NEWTON_STEPS):
            pull = expit(-self.answers * (self.means + self.mode @ self.Z.T))
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
            for _ in range(_MAX_NEWTON_STEPS):
                worse = value(self.mode + length * step) > before + 1e-9 * np.abs(before)
                if not worse.any():
                    break
                length[worse] /= 2
            self.mode = self.mode + np.where(worse[:, None], 0.0, length * step)
        return root


def _estimate_objective(
    pairs: Ints, X: Floats, coef: Floats, root: Floats, rng: np.random.Generator, diagnostics: dict[str, Any]
) -> None:
    """Write the objective and its Monte Carlo error, from fresh samples, to `diagnostics`."""
    mean, Z = X @ coef, X @ root
    values = []
    for _ in range(_REPEATS):
        value = 0.0
        if 2 ** len(pairs) <= _MAX_OUTCOMES:
            scores = _sample_scores(X, coef, root, _POSTERIOR_SAMPLES, rng)
            outcomes = _AllOutcomes(_POSTERIOR_SAMPLES)
            for i, j in pairs:
                p = np.asarray(expit(scores[i] - scores[j]))
                value += float(outcomes.gains(p[None, :])[0])
                outcomes.answer(p)
        else:
            worlds = _Worlds(Z.shape[1], rng, _WORLDS // 2)
            for i, j in pairs:
                value += float(worlds.gains(mean[[i]] - mean[[j]], Z[[i]] - Z[[j]])[0])
                worlds.answer(mean[i] - mean[j], Z[i] - Z[j])
        values.append(value)
    diagnostics["objective"] = float(np.mean(values))
    diagnostics["objective_error"] = float(np.std(values, ddof=1) / np.sqrt(_REPEATS))


def _sample_scores(X: Floats, coef: Floats, root: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Return the scores of all items under samples of the posterior, one column per sample."""
    scores: Floats = X @ (coef[:, None] + root @ rng.standard_normal((len(coef), count)))
    return scores


def binary_entropy(p: Any) -> Any:
    """Return -p log p - (1 - p) log(1 - p), with an absolute error of a few roundings; log1p would be slower."""
    limits = np.finfo(p.dtype)
    p = np.clip(p, limits.tiny, 1 - limits.epsneg)
    rest = 1 - p
    return -(p * np.log(p) + rest * np.log(rest))
