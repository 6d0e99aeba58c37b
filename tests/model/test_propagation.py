from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, log_expit

import pairsmith as ps
from pairsmith.model.evidence import Answers
from pairsmith.model.posterior import Prior, Sites, WeightSpacePosterior
from pairsmith.model.propagation import prediction_accuracy, propagate, tilted_moments


def answers_of(pairs, won, lost, slope=1.0, shift=0.0):
    n = len(pairs)
    first, second = np.array(pairs).T
    full = [np.broadcast_to(np.asarray(value, dtype=float), n).copy() for value in (won, lost, slope, shift)]
    return Answers(first, second, *full)


def run_ep(prior, answers, *start, **how):
    return propagate(lambda sites: WeightSpacePosterior.from_sites(prior, answers, sites), answers, *start, **how)


def likelihood(h, won, lost):
    return won * log_expit(h) + lost * log_expit(-h)


@pytest.mark.parametrize(("n", "often"), [(300, 1), (60, 20_000)])
def test_tilted_moments_match_a_fine_grid(n, often):
    rng = np.random.default_rng(0)
    mean = rng.standard_normal(n) * 10 ** rng.uniform(-1, 1.5, n)
    variance = 10 ** rng.uniform(-3, 4, n)
    won, lost = rng.choice([0, 0.5, 1, 5, 50], n), rng.choice([0, 0.5, 1, 20], n)
    won[won + lost == 0] = 1
    won, lost = often * won, often * lost
    answers = answers_of(np.zeros((n, 2), dtype=int), won, lost, rng.uniform(0.1, 2, n), rng.normal(size=n))
    result = tilted_moments(mean, variance, answers)
    for e in range(n):
        # The density is at least as narrow as the normal, and its mode is within the pull of the answers.
        pull = variance[e] * answers.slope[e] * np.array([-lost[e], won[e]])
        width = 9 * np.sqrt(variance[e])
        low, high = mean[e] + pull[0] - width, mean[e] + pull[1] + width
        for _ in range(4):  # each time, only where there is some of the density
            g = np.linspace(low, high, 20_001)
            h = answers.slope[e] * g + answers.shift[e]
            height = likelihood(h, won[e], lost[e]) - (g - mean[e]) ** 2 / (2 * variance[e])
            there = np.flatnonzero(height > height.max() - 45)
            low, high = g[max(there[0] - 1, 0)], g[min(there[-1] + 1, len(g) - 1)]
        density = np.exp(height - height.max())
        mass = np.trapezoid(density, g)
        center = np.trapezoid(density * g, g) / mass
        spread = np.trapezoid(density * (g - center) ** 2, g) / mass
        log_mass = np.log(mass) + height.max() - 0.5 * np.log(2 * np.pi * variance[e])
        assert result[0][e] == pytest.approx(log_mass, abs=1e-5)
        assert result[1][e] == pytest.approx(center, abs=1e-5 * np.sqrt(spread))
        assert result[2][e] == pytest.approx(spread, rel=1e-4)


def integrate_on_grid(prior, answers, points=101):
    """Return evidence, mean and covariance of three scores, by a grid over all of them."""
    K = prior.features @ prior.features.T + np.diag(prior.effects)
    axes = [np.linspace(-8, 8, points) * np.sqrt(K[a, a]) for a in range(3)]
    f = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    height = -0.5 * np.einsum("ea,ab,eb->e", f, np.linalg.inv(K), f)
    height -= 0.5 * np.linalg.slogdet(2 * np.pi * K)[1]
    for i, j, won, lost, slope, shift in zip(*vars(answers).values(), strict=True):
        height = height + likelihood(slope * (f[:, i] - f[:, j]) + shift, won, lost)
    weight = np.exp(height - height.max())
    cell = np.prod([axis[1] - axis[0] for axis in axes])
    evidence = np.log(weight.sum() * cell) + height.max()
    weight /= weight.sum()
    mean = weight @ f
    return evidence, mean, (f - mean).T @ ((f - mean) * weight[:, None])


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.3, 3.0])
def test_propagation_approximates_the_true_posterior_and_evidence(scale):
    rng = np.random.default_rng(2)
    prior = Prior(scale * rng.standard_normal((3, 2)), scale**2 * np.array([0.5, 0.5, 1.0]))
    answers = answers_of(
        [(0, 1), (1, 2), (0, 2), (2, 1)], [1, 2, 0.5, 1], [0, 1, 0.5, 0], [1, 1, 1, 0.4], [0, 0, 0, 0.3]
    )
    evidence, mean, covariance = integrate_on_grid(prior, answers)
    result = run_ep(prior, answers, tolerance=1e-9)
    assert result.evidence == pytest.approx(evidence, abs=0.02)
    error = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(result.posterior.mean, mean, atol=0.04 * error.max())
    posterior = result.posterior.effects + result.posterior.features @ result.posterior.features.T
    np.testing.assert_allclose(posterior, covariance, atol=0.08 * covariance.max())


def test_warm_and_cold_starts_converge_to_the_same_posterior():
    rng = np.random.default_rng(3)
    prior = Prior(rng.standard_normal((20, 4)), np.full(20, 0.5))
    pairs = np.array([rng.choice(20, 2, replace=False) for _ in range(60)])
    answers = answers_of(pairs, rng.random(60) < 0.7, 0)
    answers = replace(answers, lost=1 - answers.won)
    cold = run_ep(prior, answers, tolerance=1e-9)
    warm = run_ep(prior, answers, cold.sites, tolerance=1e-9, sweeps=3)
    np.testing.assert_allclose(warm.posterior.mean, cold.posterior.mean, atol=1e-7)
    assert warm.evidence == pytest.approx(cold.evidence, abs=1e-7)


def test_separable_answers_have_finite_scores():
    prior = Prior(np.zeros((10, 0)), np.full(10, 1e4))
    i, j = np.triu_indices(10, 1)
    answers = answers_of(np.column_stack([i, j]), 100, 0)
    result = run_ep(prior, answers)
    assert np.isfinite(result.posterior.mean).all()
    assert np.all(np.diff(result.posterior.mean) < 0)
    assert np.isfinite(result.evidence)
    assert result.evidence < 0


def test_cavity_approximates_the_posterior_without_the_answer():
    rng = np.random.default_rng(4)
    prior = Prior(rng.standard_normal((8, 2)), np.full(8, 0.5))
    pairs = np.array([rng.choice(8, 2, replace=False) for _ in range(15)])
    answers = answers_of(pairs, 1, 0)
    result = run_ep(prior, answers, tolerance=1e-9)
    for e in (0, 7):
        others = Answers(*(np.delete(value, e) for value in vars(answers).values()))
        without = run_ep(prior, others, tolerance=1e-9).posterior
        mean, variance = without.gaps(answers.part(np.array([e])))
        assert result.cavity_mean[e] == pytest.approx(mean[0], abs=0.03 * np.sqrt(variance[0]))
        assert result.cavity_variance[e] == pytest.approx(variance[0], rel=0.05)


@pytest.mark.parametrize("seed", range(4))
def test_oscillating_sites_are_restarted(seed):
    """Scores may be far apart, and the initial sites contradict the answers."""
    rng = np.random.default_rng(seed)
    pairs = np.tile(np.column_stack(np.triu_indices(6, 1)), (4, 1))
    won = (rng.random(len(pairs)) < 0.8).astype(float)
    answers, prior = answers_of(pairs, won, 1 - won), Prior(np.zeros((6, 0)), np.full(6, 1e4))
    start = Sites(np.full(len(pairs), 1e-10), rng.choice([-0.4, 0.0, 0.4, 0.7, 1.0], len(pairs)))
    result, restarted = run_ep(prior, answers, start), run_ep(prior, answers)
    assert result.max_change < 1e-2
    assert result.evidence == pytest.approx(restarted.evidence, abs=0.01)


def simulate(seed=0, n=25, count=60):
    """Return features, pairs and outcomes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    scores = X @ [1.5, -1.0] + 0.7 * rng.standard_normal(n)
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(count)])
    gaps = scores[pairs[:, 0]] - scores[pairs[:, 1]]
    return X, pairs, np.where(rng.random(count) < expit(gaps), 1, -1)


@pytest.mark.filterwarnings("ignore:the answers leave")
def test_leave_one_out_approximates_a_fit_without_the_answer():
    X, pairs, outcomes = simulate()
    pairs = np.vstack([pairs, pairs[:3, ::-1]])  # some are asked again, the other way round
    outcomes = np.append(outcomes, [1, -1, 0])
    fixed = {"linear": 2.0, "smooth": False, "items": 0.5}
    model = ps.BradleyTerryGP(**fixed).fit(X, comparisons=pairs, outcomes=outcomes)
    result = model.leave_one_out_
    assert list(result.columns) == ["gap", "error", "p"]
    asked = np.sort(pairs, axis=1)
    for at in range(len(pairs)):
        others = np.any(asked != asked[at], axis=1)
        without = ps.BradleyTerryGP(**fixed).fit(X, comparisons=pairs[others], outcomes=outcomes[others])
        assert result["p"][at] == pytest.approx(float(without.compare(X, [pairs[at]])[0]), abs=0.01)
        i, j = pairs[at]
        scores = without.decision_function(X)
        assert result["gap"][at] == pytest.approx(scores[i] - scores[j], abs=0.05)
    np.testing.assert_allclose(result["p"][60:].to_numpy(), 1 - result["p"][:3].to_numpy())


def test_leave_one_out_has_one_row_per_answer_with_labels_weights_and_raters():
    X, pairs, outcomes = simulate(1)
    known = {"y": [1, -1], "labeled": [3, 4], "comparisons": pairs, "outcomes": outcomes}
    weights = np.ones(62)
    weights[2 + 7] = 0
    plain = ps.BradleyTerryGP(smooth=False).fit(X, **known, sample_weight=weights).leave_one_out_
    assert len(plain) == 60
    assert list(np.flatnonzero(plain["p"].isna())) == [7]
    shown = np.where(np.arange(60) % 4 == 3, -1, pairs[:, 0])
    model = ps.BradleyTerryGP(smooth=False).fit(X, **known, raters=["anna", "ben"] * 30, shown_first=shown)
    result = model.leave_one_out_
    # A rater's slope and bias are in the probability: by hand for one answer, with the average by Monte Carlo.
    slope, bias = model.raters_.loc["ben", ["slope", "bias"]]
    for answer, shift in ((1, bias), (3, 0.0)):  # of the second nobody knows what was shown first
        g = result["gap"][answer] + result["error"][answer] * np.random.default_rng(0).standard_normal(200_000)
        assert result["p"][answer] == pytest.approx(np.mean(expit(slope * g + shift)), abs=0.005)


def test_loaded_model_has_no_leave_one_out_predictions(tmp_path):
    X, pairs, outcomes = simulate()
    ps.BradleyTerryGP(smooth=False).fit(X, comparisons=pairs, outcomes=outcomes).save(tmp_path / "m.json")
    with pytest.raises(AttributeError, match=r"a model that was loaded, .* has lost it"):
        _ = ps.BradleyTerryGP.load(tmp_path / "m.json").leave_one_out_


def test_share_right_and_log_loss():
    p, outcomes = np.array([0.9, 0.2, 0.6, 0.5, np.nan, 0.5]), np.array([1.0, 1.0, -1.0, 1.0, 1.0, 0.0])
    right, loss = prediction_accuracy(p, outcomes, np.array([2.0, 1.0, 1.0, 1.0, 1.0, 1.0]))
    assert right == pytest.approx((2 + 0 + 0 + 0.5) / 5)
    assert loss == pytest.approx(-(2 * np.log(0.9) + np.log(0.2) + np.log(0.4) + 2 * np.log(0.5)) / 6)
    assert np.isnan(prediction_accuracy(p[5:], outcomes[5:], np.ones(1))).all()


def test_known_recognises_items_of_the_fit():
    X, pairs, outcomes = simulate()
    model = ps.BradleyTerryGP(smooth=False).fit(X, comparisons=pairs, outcomes=outcomes)
    assert model.known(X).all()
    assert model.known().all()
    assert not model.known(X[:5]).any()  # without ids, items are known all together
    named = pd.DataFrame(X, index=[f"i{row}" for row in range(25)])
    model.fit(named, comparisons=pairs, outcomes=outcomes)
    assert model.known(named.iloc[[3, 1]].rename(index={"i1": "new"})).tolist() == [True, False]
