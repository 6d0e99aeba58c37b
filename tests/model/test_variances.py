import numpy as np
import pytest
from scipy.special import expit

import pairsmith as ps
from pairsmith.model import variances as module
from pairsmith.model.evidence import Answers
from pairsmith.model.prior import PARTS, GapSpaceParts, ScoreSpaceParts, WeightSpaceParts, cheapest_form
from pairsmith.model.variances import INITIAL_VARIANCES, evaluate, maximise_evidence, sample_variances

VARIANCES = {"linear": 2.0, "smooth": 0.7, "items": 1.3}


@pytest.fixture(params=["weight space", "score space", "gap space"])
def problem(request):
    """Return thirty items, the last of them a threshold, and answers that differ in slope and shift."""
    rng = np.random.default_rng(0)
    linear, smooth = rng.standard_normal((30, 4)) / 2, rng.standard_normal((30, 6)) / 2.5
    linear[-1], smooth[-1] = 0, 0
    pairs = np.array([rng.choice(29, 2, replace=False) for _ in range(80)])
    pairs[:9, 1] = 29
    won = (rng.random(80) < 0.7).astype(float)
    answers = Answers(*pairs.T, won, 1 - won, rng.uniform(0.5, 1.5, 80), 0.1 * rng.standard_normal(80))
    parts = WeightSpaceParts(linear, smooth, np.array([4.0]))
    forms = {
        "weight space": parts,
        "score space": ScoreSpaceParts.from_parts(parts),
        "gap space": GapSpaceParts.from_parts(parts, answers),
    }
    return forms[request.param], answers


@pytest.mark.parametrize("part", PARTS)
def test_gradient_matches_finite_differences(problem, part, monkeypatch):
    monkeypatch.setattr(module, "_SEARCH_TOLERANCE", 1e-9)
    parts, answers = problem
    below, above = (
        evaluate(parts, answers, VARIANCES | {part: VARIANCES[part] * np.exp(step)}, None) for step in (-1e-3, 1e-3)
    )
    slopes, determined = module._gradient(parts, evaluate(parts, answers, VARIANCES, None), PARTS)
    at = PARTS.index(part)
    assert slopes[at] == pytest.approx((above.log_density - below.log_density) / 2e-3, abs=1e-4)
    assert 0 < determined[at] < {"linear": 4, "smooth": 6, "items": 29}[part]


def test_learned_variances_are_a_local_maximum(problem):
    parts, answers = problem
    best = maximise_evidence(parts, answers, dict(INITIAL_VARIANCES), PARTS)
    for part in PARTS:
        for factor in (0.3, 3.0):
            other = evaluate(parts, answers, best.variances | {part: best.variances[part] * factor}, None)
            assert other.log_density < best.log_density + 0.1


@pytest.mark.filterwarnings("ignore:the answers leave the items")
@pytest.mark.parametrize("seed", [2, 3])
def test_search_reaches_the_maximum_of_flat_and_bent_evidence(seed):
    """A first step may be far too short, and a later one may pass over the maximum; both gain little."""
    rng, n = np.random.default_rng(seed), 30
    scores = 2 * rng.standard_normal(n)
    designing, pairs, outcomes = ps.BradleyTerryGP(items=2.0).fit(n_items=n), np.zeros((0, 2), dtype=int), np.zeros(0)
    while len(pairs) < 160:
        new = ps.select(None, 20, model=designing, comparisons=pairs).pairs
        won = rng.random(20) < expit(scores[new[:, 0]] - scores[new[:, 1]])
        pairs, outcomes = np.vstack([pairs, new]), np.append(outcomes, np.where(won, 1, -1))
        known = {"n_items": n, "comparisons": pairs, "outcomes": outcomes}
        designing = ps.BradleyTerryGP(items=4.0).fit(**known)
        if len(pairs) >= 80:
            found = ps.BradleyTerryGP().fit(**known).fitted_
            form, alone = cheapest_form(found.parts, found.answers), {"linear": 0.0, "smooth": 0.0}
            log_density = {
                items: evaluate(form, found.answers, alone | {"items": items}, None).log_density
                for items in (found.variances["items"], *np.geomspace(0.1, 60, 12))
            }
            assert log_density[found.variances["items"]] > max(log_density.values()) - 0.15  # it was short by up to 1.7


@pytest.mark.parametrize("off", [(), ("smooth",), ("linear", "smooth")])
def test_prior_mode_has_a_total_variance_of_one_for_any_number_of_parts(off):
    parts = WeightSpaceParts(np.eye(5), np.eye(5))
    nothing = Answers(*np.zeros((2, 0), dtype=int), *np.zeros((4, 0)))
    free = tuple(name for name in PARTS if name not in off)
    total = sum(module._DIRICHLET_COUNTS[name] for name in free)
    likeliest = dict.fromkeys(off, 0.0) | {name: module._DIRICHLET_COUNTS[name] / total for name in free}
    at_best = evaluate(parts, nothing, likeliest, None)
    assert module._gradient(parts, at_best, free)[0] == pytest.approx(0, abs=1e-12)
    for name in free:
        for factor in (0.5, 2.0):
            assert (
                evaluate(parts, nothing, likeliest | {name: factor * likeliest[name]}, None).log_density
                < at_best.log_density
            )


def test_fixed_variances_do_not_change(problem):
    parts, answers = problem
    found = maximise_evidence(parts, answers, INITIAL_VARIANCES | {"smooth": 2.5}, ("linear", "items"))
    assert found.variances["smooth"] == 2.5
    assert maximise_evidence(parts, answers, dict(VARIANCES), ()).variances == VARIANCES


@pytest.mark.parametrize("true", [{"linear": 6.0, "items": 0.2}, {"linear": 0.2, "items": 6.0}])
def test_true_variances_are_recovered_from_many_answers(true):
    rng = np.random.default_rng(1)
    linear = rng.standard_normal((80, 8))
    linear /= np.sqrt((linear**2).sum(axis=1).mean())
    scores = np.sqrt(true["linear"]) * linear @ rng.standard_normal(8)
    scores += np.sqrt(true["items"]) * rng.standard_normal(80)
    pairs = np.array([rng.choice(80, 2, replace=False) for _ in range(1500)])
    won = (rng.random(1500) < 1 / (1 + np.exp(scores[pairs[:, 1]] - scores[pairs[:, 0]]))).astype(float)
    answers = Answers(*pairs.T, won, 1 - won, np.ones(1500), np.zeros(1500))
    start = INITIAL_VARIANCES | {"smooth": 0.0}
    found = maximise_evidence(
        WeightSpaceParts(linear, np.zeros((80, 0))), answers, start, ("linear", "items")
    ).variances
    for part, value in true.items():
        assert value / 4 < found[part] < 4 * value


def test_sampled_variances_match_the_posterior_on_a_grid():
    """There is one part, so a grid is enough, and few answers, so the posterior is skewed."""
    rng = np.random.default_rng(1)
    n, scores = 12, 2 * rng.standard_normal(12)
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(30)])
    won = (rng.random(30) < expit(scores[pairs[:, 0]] - scores[pairs[:, 1]])).astype(float)
    answers = Answers(*pairs.T, won, 1 - won, np.ones(30), np.zeros(30))
    parts = WeightSpaceParts(np.zeros((n, 0)), np.zeros((n, 0)))
    best = maximise_evidence(parts, answers, {"linear": 0.0, "smooth": 0.0, "items": 1.0}, ("items",))
    logs = np.log(best.variances["items"]) + np.linspace(-9, 7, 81)
    log_density = [
        evaluate(parts, answers, best.variances | {"items": float(np.exp(log))}, best.result.sites).log_density
        for log in logs
    ]
    chance = np.exp(np.array(log_density) - max(log_density))
    chance /= chance.sum()
    mean = chance @ logs
    spread = np.sqrt(chance @ (logs - mean) ** 2)
    found = sample_variances(parts, answers, best.variances, ("items",), best.result.sites, rng, 80)
    drawn_logs = np.log([one["items"] for one in found])
    assert np.mean(drawn_logs) == pytest.approx(mean, abs=4 * spread / np.sqrt(80))
    assert np.std(drawn_logs) == pytest.approx(spread, rel=0.25)
    assert all(one["linear"] == one["smooth"] == 0 for one in found)
