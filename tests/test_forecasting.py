import threading
import time
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import kendalltau, t

import pairsmith as ps
from pairsmith import forecasting
from pairsmith.forecasting import AnswersNeeded, Forecast

pytestmark = pytest.mark.filterwarnings("ignore:the answers leave")


def make_forecast(doubt, answers=(0, 100, 200), reliability=None, **more):
    doubt = np.array(doubt)
    reliability = 1 - doubt if reliability is None else np.array(reliability)
    fields = {
        "answers_so_far": 50,
        "pairs_left": 1000,
        "variances": {"items": 1.0},
        "table_answers": np.array(answers),
    } | more
    return Forecast(np.array(answers), doubt, doubt, reliability, **fields)


def campaign(seed, n=30, d=3, count=60):
    """Return items, a function that compares them, their true scores, a model of `count` answers, and the pairs."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    scores = np.sqrt(2 / d) * X @ rng.standard_normal(d) + rng.standard_normal(n)

    def ask(pairs):
        return np.where(rng.random(len(pairs)) < expit(scores[pairs[:, 0]] - scores[pairs[:, 1]]), 1, -1)

    i, j = np.triu_indices(n, 1)
    pairs = np.column_stack([i, j])[rng.choice(len(i), count, replace=False)]
    model = ps.BradleyTerryGP(linear=2.0, smooth=False, items=1.0)
    return X, ask, scores, model.fit(X, comparisons=pairs, outcomes=ask(pairs)), pairs


def test_intervals_predict_one_more_simulation():
    """Compare with the textbook's interval for the next of n normal numbers, here logits."""
    logits = np.array([-2.0, -1.5, -1.9, -2.2])
    ahead = make_forecast(np.column_stack([np.full(4, 0.3), expit(logits)]), answers=(0, 100), level=0.8)
    width = t(3).ppf(0.9) * np.std(logits, ddof=1) * np.sqrt(1 + 1 / 4)
    now, then = ahead.to_frame().itertuples(index=False)
    assert (now.doubt_low, now.doubt_high) == pytest.approx((0.3, 0.3))
    assert (then.doubt_low, then.doubt, then.doubt_high) == pytest.approx(
        tuple(expit(np.mean(logits) + side * width) for side in (-1, 0, 1))
    )


def test_needed_is_where_the_curves_reach_the_target():
    ahead = make_forecast([[0.3, 0.2, 0.1], [0.3, 0.2, 0.1]])  # two equal simulations, so the interval has no width
    assert ahead.needed(doubt=0.15) == AnswersNeeded(150, 150, 150)
    assert ahead.needed(reliability=0.75) == AnswersNeeded(50, 50, 50)
    assert ahead.needed(doubt=0.3) == AnswersNeeded(0, 0, 0)
    assert ahead.needed(doubt=0.05) == AnswersNeeded(None, None, None)
    unsure = make_forecast([[0.3, 0.18, 0.1], [0.3, 0.22, 0.12]]).needed(doubt=0.14)
    assert 0 < unsure.low < unsure.about < 200
    assert unsure.high is None
    with pytest.raises(ValueError, match="needed: name a target, doubt= or reliability="):
        ahead.needed()


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        (("doubt", 0.15), "15% doubt: about 150 more, 150 to 150."),
        (("doubt", 0.1456), "14.6% doubt: about 150 more, 150 to 150."),
        (("doubt", 0.3), "30% doubt: reached already."),
        (("doubt", 0.01), "1% doubt: more than 200."),
        (("reliability", 0.85), "A reliability of 0.85: about 150 more, 150 to 150."),
    ],
)
def test_the_first_sentence_is_about_the_target(target, sentence):
    ahead = make_forecast([[0.3, 0.2, 0.1], [0.3, 0.2, 0.1]], target=target)
    assert ahead.sentences()[0] == sentence
    assert "<p>" + sentence in ahead._repr_html_()


def test_all_remaining_pairs_may_be_too_few_for_the_target():
    ahead = make_forecast([[0.3, 0.18, 0.1], [0.3, 0.22, 0.12]], target=("doubt", 0.09), pairs_left=200)
    assert ahead.sentences()[0].startswith("9% doubt: more than 200, all pairs that are left; at best 8")


@pytest.mark.slow  # thirty simulations
def test_forecasts_come_true():
    """If the model is right, doubt after 80 more answers, in rounds of 20, is as forecast, and so is the true share.

    At least four of six 90% intervals hold.
    """
    inside, claimed, wrong, forecasts = [], [], [], []
    for seed in range(6):
        X, ask, scores, model, asked = campaign(seed)
        ahead = ps.forecast(X, model=model, answers=[80], simulations=5, random_state=seed, n_jobs=1)
        then = ahead.to_frame().iloc[-1]
        for _ in range(4):
            pairs = ps.select(X, 20, model=model, comparisons=asked, n_jobs=1).pairs
            asked = np.vstack([asked, pairs])
            model = model.with_answers(X, pairs, ask(pairs))
        inside.append(then.doubt_low <= model.doubt_ <= then.doubt_high)
        claimed.append(model.doubt_)
        wrong.append((1 - kendalltau(scores, model.decision_function(X)).statistic) / 2)
        forecasts.append((then.doubt, then.wrong))
    assert sum(inside) >= 4
    assert np.mean(forecasts, axis=0) == pytest.approx([np.mean(claimed), np.mean(wrong)], abs=0.02)


def test_doubt_falls_and_the_result_depends_on_the_seed_but_not_on_threads():
    X, _, _, model, _ = campaign(1)
    one, two, other = (
        ps.forecast(X, model=model, answers=[30, 60], simulations=3, n_jobs=jobs, random_state=seed)
        for jobs, seed in ((1, 0), (2, 0), (1, 1))
    )
    pd.testing.assert_frame_equal(one.to_frame(), two.to_frame())
    assert not one.to_frame().equals(other.to_frame())
    frame = one.to_frame()
    assert list(frame.answers) == [0, 30, 60]
    assert frame.doubt[0] == pytest.approx(model.doubt_)
    assert frame.reliability[0] == pytest.approx(model.reliability_)
    assert np.all(np.diff(frame.doubt) < 0)
    assert np.all(np.diff(frame.reliability) > 0)
    assert one.answers_so_far == 60
    assert one.pairs_left == 30 * 29 // 2 - 60


def test_a_forecast_before_the_first_answer_without_features():
    ahead = ps.forecast(n_items=8, answers=[10, 100], simulations=3)
    assert list(ahead.to_frame().answers) == [0, 10, 28]  # no pair is asked twice
    assert ahead.to_frame().wrong[0] == 0.5 == ahead.to_frame().doubt[0]
    assert ahead.sentences()[-1].startswith(
        "How far scores lie apart is assumed before the first answer (variances: items 0.3), and all depends on it"
    )
    wider = ps.forecast(model=ps.BradleyTerryGP(items=5.0).fit(n_items=8), answers=[28], simulations=3)
    assert wider.to_frame().doubt.iloc[-1] < ahead.to_frame().doubt.iloc[-1]


def test_simulations_end_once_the_target_is_reached():
    X, _, _, model, _ = campaign(2)
    reached = ps.forecast(X, model=model, doubt=0.45, simulations=2)
    assert reached.needed() == AnswersNeeded(0, 0, 0)
    assert reached.sentences()[0] == "45% doubt: reached already."
    assert len(reached.sentences()) == 2
    near = ps.forecast(X, model=model, doubt=model.doubt_ - 0.01, answers=[80, 300], simulations=6)
    assert list(near.to_frame().answers) == [0, 80]
    assert 0 < near.needed().about <= near.needed().high <= 80


def test_only_candidates_are_asked_and_only_once(monkeypatch):
    X, _, _, model, asked = campaign(3, count=20)
    groups = np.arange(30) % 2
    picked = []
    real = forecasting.select

    def select(*args, **options):
        picked.append(real(*args, **options))
        return picked[-1]

    monkeypatch.setattr(forecasting, "select", select)
    ps.forecast(X, model=model, answers=[50], candidates=ps.WithinGroups(groups), simulations=2, n_jobs=1)
    found = [tuple(pair) for selection in picked for pair in selection.pairs.tolist()]
    assert all(groups[i] == groups[j] for i, j in found)
    assert not {tuple(pair) for pair in asked.tolist()} & set(found)
    assert len(found) == 100
    assert max(found.count(pair) for pair in found) <= 2


def test_pairs_may_be_asked_again():
    n, every = 5, np.array(list(combinations(range(5), 2)))
    gp = ps.BradleyTerryGP(items=1.0).fit(n_items=n, comparisons=every, outcomes=np.tile([1, 1, -1, 1, 1], 2))
    with pytest.raises(ValueError, match="every pair has been answered"):
        ps.forecast(model=gp)
    found = ps.forecast(model=gp, ask_again=True, answers=[25, 50], simulations=3)
    assert found.answers.tolist() == [0, 10, 20, 25, 35, 45, 50]  # no round has more than all ten pairs
    assert found.pairs_left is None
    assert found.doubt[:, -1].mean() < found.doubt[:, 0].mean()
    grouped = ps.forecast(
        model=gp, ask_again=True, answers=[3], simulations=2, candidates=ps.WithinGroups([0, 0, 1, 2, 3])
    )
    assert grouped.answers.tolist() == [0, 1, 2, 3]  # no round has more than the one pair that there is
    with pytest.raises(ValueError, match="candidates has no pair"):
        ps.forecast(model=gp, candidates=ps.WithinGroups(range(n)))


def test_with_many_items_a_sample_is_judged(monkeypatch):
    monkeypatch.setattr(forecasting, "_MAX_JUDGED_ITEMS", 10)
    X, _, _, model, _ = campaign(3, count=20)
    frame = ps.forecast(X, model=model, answers=[40], simulations=2).to_frame()
    assert frame.doubt[1] < frame.doubt[0]
    assert 0 < frame.wrong[1] < 0.5


def test_an_interruption_does_not_wait_for_the_remaining_rounds(monkeypatch):
    X, _, _, model, _ = campaign(4)
    rounds = []

    def interrupted(*_args, **_options):
        rounds.append(time.monotonic())
        raise KeyboardInterrupt

    monkeypatch.setattr(forecasting, "as_completed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ps.forecast(X, model=model, answers=[300], simulations=4, n_jobs=2)
    assert len(rounds) == 1
    assert not [thread for thread in threading.enumerate() if "ThreadPoolExecutor" in thread.name]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"doubt": 10}, "doubt must be between 0 and 1, got 10"),
        ({"doubt": 0.1, "reliability": 0.9}, "doubt and reliability are both targets; give one of them"),
        ({"answers": []}, "answers is empty; name at least one number of further answers"),
        ({"answers": [1.5]}, "answers must be a whole number, got 1.5"),
        ({"simulations": 1}, "simulations must be at least 2, got 1"),
        ({"level": 90}, "level must be between 0 and 1, got 90"),
        ({"model": ps.BradleyTerryGP()}, "model must be fitted; call its fit first"),
        ({"model": ps.BradleyTerry()}, "model must be a fitted BradleyTerryGP, got BradleyTerry"),
        ({"model": ps.BradleyTerryGP}, "model must be a fitted BradleyTerryGP, got the class BradleyTerryGP"),
        ({"model": ps.BradleyTerryGP().fit(np.eye(5)), "n_items": 5}, "n_items is for X=None without a model"),
        ({"candidates": np.zeros((0, 2), dtype=int)}, "candidates has no pair; there is none left to ask about"),
        ({"candidates": [[0, 9]]}, "candidates"),
    ],
)
def test_invalid_arguments_are_refused_before_any_work(options, message, monkeypatch):
    monkeypatch.setattr(forecasting, "_run", None)
    with pytest.raises(ValueError, match=message):
        ps.forecast(np.eye(5), **options)


def test_items_must_be_those_of_the_model_and_some_pair_must_be_left():
    X, _, _, model, _ = campaign(0)
    with pytest.raises(ValueError, match="X must have the items that the model was fitted to, all of them and in that"):
        ps.forecast(X[::-1], model=model)
    with pytest.raises(ValueError, match="X must have the items that the model was fitted to"):
        ps.forecast(X[:5], model=model, doubt=0.5)
    whole = ps.BradleyTerryGP().fit(n_items=2, comparisons=[[0, 1]], outcomes=[1])
    with pytest.raises(ValueError, match="every pair has been answered; there is none left to ask about"):
        ps.forecast(model=whole)


def test_with_groups_the_forecast_is_about_the_order_within_groups():
    """In groups of two, the order of a pair that was answered often is known, whatever the order of the groups."""
    groups = np.repeat(np.arange(6), 2)
    pairs = np.array([(2 * group, 2 * group + 1) for group in range(5)] * 40)
    model = ps.BradleyTerryGP(linear=False, smooth=False, items=9.0)
    model.fit(None, n_items=12, comparisons=pairs, outcomes=np.ones(len(pairs)))
    ahead = ps.forecast(model=model, candidates=ps.WithinGroups(groups), answers=[1], simulations=4)
    assert model.doubt_ > 0.2  # nothing is known about the order across groups
    np.testing.assert_allclose(ahead.doubt[:, 0], 0.5 / 6, atol=0.01)  # one of six pairs is open
    assert ahead.wrong[:, 0].mean() < 0.2


def test_variances_learned_from_labels_are_not_called_assumed():
    X = np.random.default_rng(0).standard_normal((12, 2))
    labelled = ps.BradleyTerryGP().fit(X, (X[:, 0] > 0).astype(int))
    ahead = ps.forecast(X, model=labelled, answers=np.array(3), simulations=2)
    assert ahead.answers.tolist() == [0, 3]
    assert (ahead.answers_so_far, ahead.variances_are_assumed) == (0, False)
    assert "assumed" not in " ".join(ahead.sentences())
    assert "assumed" in " ".join(ps.forecast(X, answers=3, simulations=2).sentences())


def test_the_model_may_come_first():
    X, _, _, model, _ = campaign(0)
    how = {"answers": 5, "simulations": 2}
    np.testing.assert_array_equal(ps.forecast(model, X, **how).doubt, ps.forecast(X, model=model, **how).doubt)
    bare = ps.BradleyTerryGP().fit(n_items=5)
    np.testing.assert_array_equal(ps.forecast(bare, **how).doubt, ps.forecast(n_items=5, **how).doubt)
    with pytest.raises(ValueError, match="items is for a model that comes first"):
        ps.forecast(X, X)
    with pytest.raises(ValueError, match="items is for a model that comes first"):
        ps.forecast(model, X, model=model)
