"""The evaluation of the experiments: splits, answers, resuming, repeatable to the last digit."""

import warnings
from itertools import combinations, pairwise
from types import SimpleNamespace

import common
import demo
import evaluation
import intervals
import model
import model_report
import numpy as np
import pandas as pd
import plan
import pytest
import raw_features
import sets
import worth
import worth_report
from sklearn.datasets import load_diabetes

import pairsmith as ps
from pairsmith.datasets.base import of_scores


@pytest.fixture
def small(monkeypatch):
    """Data sets of a size for tests."""
    monkeypatch.setattr(common, "data_set", lambda name, seed, folder, ties=-1: ps.datasets.synthetic(60, 4, seed=seed))
    monkeypatch.setattr(evaluation, "MARKS", [0, 10, 40])
    monkeypatch.setattr(evaluation, "METHODS", ["engine", "entropy", "mutual-information", "random"])


def test_a_fifth_validates_and_the_folds_share_out_the_rest(tmp_path):
    data = ps.datasets.synthetic(100, 5, seed=3)
    splits = [common.training(data, 7, fold) for fold in range(4)]
    tests = [set(test.tolist()) for _, _, _, test in splits]
    assert set.union(*tests) | set(splits[0][2].tolist()) == set(range(100))
    for task, train, validation, test in splits:
        assert [len(train), len(validation), len(test)] == [60, 20, 20]
        assert sorted([*train, *validation, *test]) == list(range(100))
        np.testing.assert_array_equal(validation, splits[0][2])
        np.testing.assert_array_equal(task.X, data.X[train])
        np.testing.assert_array_equal(task.labels, data.labels[train[task.labeled]])
        assert task.candidates is None
        assert len(np.unique(task.labels)) == 2
    assert not np.array_equal(common.training(data, 8)[1], splits[0][1])


def test_comparisons_of_some_items_are_renumbered():
    data = ps.datasets.Dataset(
        "tiny", np.eye(4), "", pairs=np.array([[0, 1], [1, 3], [3, 2]]), outcomes=np.array([1, -1, 1])
    )
    pairs, outcomes = common.among(data, np.array([3, 1]))
    assert pairs.tolist() == [[1, 0]]  # item 1 is the second of these, item 3 the first
    assert outcomes.tolist() == [-1]


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_evaluation_is_repeatable_and_learns(tmp_path):
    rows = [row for seed in range(3) for row in evaluation.evaluate("synthetic", seed, 1, tmp_path)]
    again = [row for seed in range(3) for row in evaluation.evaluate("synthetic", seed, 1, tmp_path)]
    assert rows == again
    table = pd.DataFrame(rows)
    assert set(table.method) == {"d-optimal", "entropy", "mutual-information", "random"}
    assert table[table.method == "mutual-information"].K.max() == 10
    mean = table.groupby(["method", "K"]).comparisons.mean()
    assert mean["d-optimal", 40] > mean["d-optimal", 0]  # d = 4: forty answers teach more than none


@pytest.mark.usefixtures("small")
def test_a_perfect_order_of_the_test_items_has_an_auc_of_one(tmp_path, monkeypatch):
    data = ps.datasets.synthetic(60, 4, seed=0)
    scores = data.X @ np.array([1.0, -2.0, 0.5, 0.0])
    i, j = data.pairs.T
    sure = ps.datasets.Dataset(
        "sure", data.X, "", labeled=np.arange(60), labels=np.where(scores > 0, 1, -1), pairs=data.pairs,
        outcomes=np.sign(scores[i] - scores[j]).astype(int),
    )  # fmt: skip
    monkeypatch.setattr(common, "data_set", lambda *_: sure)
    row = evaluation.facts("sure", 0, tmp_path)[0]
    assert row["comparisons"] > 0.999
    assert row["labels"] > 0.99


def test_work_is_saved_unit_by_unit_and_not_done_again(tmp_path):
    calls = []

    def work(data, seed):
        calls.append((data, seed))
        if seed == 2:
            raise KeyboardInterrupt
        return [{"K": k, "value": seed / 3 + k} for k in (1, 2)]

    units = [{"data": "a", "seed": seed} for seed in range(4)]
    path = tmp_path / "units.csv"
    with pytest.raises(KeyboardInterrupt):
        common.stored(path, units, work)
    assert calls == [("a", 0), ("a", 1), ("a", 2)]
    calls.clear()
    table = common.stored(path, [unit for unit in units if unit["seed"] != 2], work)
    assert calls == [("a", 3)]
    assert table.seed.tolist() == [0, 0, 1, 1, 3, 3]
    pd.testing.assert_frame_equal(pd.read_csv(path), table.reset_index(drop=True))
    assert [found.name for found in tmp_path.iterdir()] == ["units.csv"]


@pytest.mark.slow
def test_units_beside_each_other_give_the_same(tmp_path):
    units = [{"data": "synthetic", "seed": seed} for seed in range(3)]
    alone = common.stored(tmp_path / "alone.csv", units, double)
    beside = common.stored(tmp_path / "beside.csv", units, double, jobs=2)
    pd.testing.assert_frame_equal(
        alone.sort_values("seed").reset_index(drop=True), beside.sort_values("seed").reset_index(drop=True)
    )


def double(data, seed):
    return [{"value": float(np.random.default_rng(seed).random())}]


def test_timings_of_naive_greedy_are_extrapolated_and_marked(tmp_path):
    rows = common.time_selection("gaussian 80 5", 0, "NG", tmp_path, limit=0.0)
    assert [row["K"] for row in rows] == common.MARKS
    assert [row["extrapolated"] for row in rows] == [k > 3 for k in common.MARKS]
    seconds = {row["K"]: row["seconds"] for row in rows}
    assert seconds[200] - seconds[190] == pytest.approx(seconds[20] - seconds[10])
    measured = common.time_selection("gaussian 80 5", 0, "SLP", tmp_path, limit=0.0)
    assert not any(row["extrapolated"] for row in measured)
    assert all(low["seconds"] <= high["seconds"] for low, high in pairwise(measured))


def test_recipes(tmp_path):
    lines = ["CategoryID,Cost,Difficulty,PreparationTime,Ingredients,Preparations"]
    lines += [f"{n},1,2,{n * n},[0.{n} 1.5],[{n} 0]" for n in range(4)]
    (tmp_path / "textData.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "samples.txt").write_text("1,2;2,3;\n2,1;1,2;3,2;\n")
    (tmp_path / "lables.txt").write_text("1;0;\n-1;-1;1;\n")
    data = common.recipes(tmp_path)
    assert data.X.shape == (4, 8)
    assert data.pairs.tolist() == [[0, 1], [1, 2]]
    assert data.outcomes.tolist() == [1, -1]  # 1 > 2 twice and once the other way; 3 > 2 once, and once even
    assert data.counts.tolist() == [3, 2]


def test_the_demo_counts_pairs_of_patients_in_the_wrong_order(monkeypatch):
    for name, value in {"PATIENTS": 25, "MOST": 40, "STEP": 40}.items():
        monkeypatch.setattr(demo, name, value)
    (row,) = demo.repetition(3)
    diabetes, rng = load_diabetes(), np.random.default_rng(3)
    some = rng.permutation(442)[:25]
    X, severity = diabetes.data[some], diabetes.target[some]
    everyone = list(combinations(range(25), 2))
    drawn = rng.permutation(everyone)[:40]
    outcomes = np.sign(severity[drawn[:, 0]] - severity[drawn[:, 1]])
    gp = ps.BradleyTerryGP().fit(X, comparisons=drawn, outcomes=outcomes)
    scores = gp.decision_function(X)
    wrong = [(scores[i] > scores[j]) != (severity[i] > severity[j]) for i, j in everyone if severity[i] != severity[j]]
    assert row[demo.RANDOM] == pytest.approx(np.mean(wrong))
    assert row["answers"] == 40
    assert 0 < row[demo.DESIGNED] < row[demo.PLAIN] < 0.5
    assert 0 < row["claimed"] < 0.5


# The model's experiment


@pytest.fixture
def graded(monkeypatch):
    """Twelve items whose grades tie now and then."""
    grades = np.array([3, 1, 2, 2, 5, 4, 1, 3, 0, 2, 5, 1])
    pairs, outcomes = of_scores(grades.astype(float))
    data = ps.datasets.Dataset("graded", np.column_stack([grades, np.arange(12)]), "", pairs=pairs, outcomes=outcomes)
    monkeypatch.setattr(common, "data_set", lambda *_, ties: data)
    return grades


def test_a_trial_asks_about_what_differs_and_judges_by_all_of_it(graded, tmp_path):
    trial = sets.trial("graded", 3, tmp_path)
    at_hand, unseen = trial.X[:, 1].astype(int), trial.unseen_X[:, 1].astype(int)
    assert len(unseen) == 3
    assert sorted([*at_hand, *unseen]) == list(range(12))
    for items, ordered in ((at_hand, trial.ordered), (unseen, trial.unseen)):
        true = {(i, j) for i, one in enumerate(items) for j, two in enumerate(items) if graded[one] > graded[two]}
        assert set(map(tuple, ordered.tolist())) == true
    assert trial.above.tolist() == [int(np.sum(graded[at_hand] > graded[one])) for one in at_hand]
    asked = {(i, j) for i, j in combinations(range(9), 2) if graded[at_hand[i]] != graded[at_hand[j]]}
    assert set(map(tuple, trial.pairs.tolist())) == asked
    rng = np.random.default_rng(0)
    for pairs in (trial.pairs, trial.pairs[:, ::-1]):
        first, second = graded[at_hand[pairs]].T
        np.testing.assert_array_equal(trial.answer(pairs, rng), np.sign(first - second))
    equal = next(pair for pair in combinations(range(9), 2) if pair not in asked)
    with pytest.raises(ValueError, match="nobody can answer"):
        trial.answer(np.array([equal]), rng)


def test_answers_are_drawn_from_the_votes_of_their_pair():
    votes = np.array([[1, 0], [0, 1], [1, 0], [1, 0], [2, 1]])
    pairs, chance = sets._shares(votes)
    assert pairs.tolist() == [[0, 1], [1, 2]]
    assert chance.tolist() == [0.25, 0.0]
    trial = sets.Trial(np.eye(3), pairs, chance, pairs, np.eye(3), pairs)
    outcomes = trial.answer(np.repeat([[1, 0], [2, 1]], 2000, axis=0), np.random.default_rng(0))
    assert np.mean(outcomes[:2000] == 1) == pytest.approx(0.75, abs=0.03)
    assert np.all(outcomes[2000:] == 1)


def test_the_reliability_of_votes_is_how_well_their_scores_fit_the_true_ones():
    rng = np.random.default_rng(0)
    true = rng.standard_normal(150)
    pairs = np.array([rng.choice(150, 2, replace=False) for _ in range(2400)])
    first = rng.random(len(pairs)) < 1 / (1 + np.exp(true[pairs[:, 1]] - true[pairs[:, 0]]))
    votes = np.where(first[:, None], pairs, pairs[:, ::-1])
    trial = sets.of_votes(true[:, None], votes, 1)
    half = votes[np.random.default_rng([1, 5]).random(len(votes)) >= 0.5]
    fit = np.corrcoef(sets.scores_of(half, 150), true)[0, 1] ** 2
    assert trial.reliability == pytest.approx(fit, abs=0.06)
    assert 0.6 < fit < 0.85
    better, worse = trial.ordered.T
    assert 0.7 < np.mean(trial.X[better, 0] > trial.X[worse, 0]) < 0.85


def test_files_of_voted_sets(tmp_path, monkeypatch):
    monkeypatch.setattr(sets, "TEXT_DIMENSIONS", 2)
    for name in ("dar", "humour", "molskill"):
        (tmp_path / name).mkdir()
    rows = [f"{n},{39 + n % 4},{-6 - n // 4},{1 + n},{2 + n},{10 + n},{100 * n}" for n in range(12)]
    (tmp_path / "dar" / "areas.csv").write_text("\n".join(["id,x,y,area,perimeter,corners,Total", *rows]))
    votes = [f"{n},{m}" for n, m in combinations(range(12), 2)] * 30
    (tmp_path / "dar" / "comparisons.csv").write_text("\n".join(["loser,winner", *votes]))
    texts = [f'{n},"{"a big joke " * n} of number {n % 3}"' for n in range(12)]
    (tmp_path / "humour" / "texts.csv").write_text("\n".join(["id,text", *texts]))
    (tmp_path / "humour" / "pairs.csv").write_text("\n".join(["loser,winner", *votes]))
    smiles = [f"{'C' * (n + 1)}OC,{'N' * (n + 1)}CO,x,y,{n % 2}" for n in range(12)]
    header = "smiles_i,smiles_j,chembl_id_i,chembl_id_j,label"
    (tmp_path / "molskill" / "production_public.csv").write_text("\n".join([header, *smiles]))
    for name in ("dar", "humour"):
        trial = sets.trial(name, 0, tmp_path)
        assert (len(trial.X), len(trial.unseen_X)) == (9, 3)
        assert np.all(trial.answer(trial.pairs, np.random.default_rng(0)) == -1)  # the later one won throughout
        assert np.all(trial.ordered[:, 0] > trial.ordered[:, 1])
    trial = sets.trial("molskill", 0, tmp_path)
    assert (len(trial.X), len(trial.unseen_X), len(trial.pairs), len(trial.unseen)) == (18, 6, 9, 3)
    assert len(trial.ordered) == 0
    assert set(trial.unseen.ravel()) == set(range(6))


def test_judged_by_enumeration():
    rng = np.random.default_rng(1)
    mean, root = np.array([1.0, 1.0, 0.2, -1.0]), rng.standard_normal((4, 4))
    ordered = np.array([[0, 1], [0, 2], [3, 2], [1, 3], [2, 1]])
    right, doubt = model.judged(mean, root @ root.T, ordered)
    assert right == pytest.approx((0.5 + 1 + 0 + 1 + 0) / 5)
    draws = mean + rng.standard_normal((200_000, 4)) @ root.T
    wrong = []
    for better, worse in ordered:
        above = np.mean(draws[:, better] > draws[:, worse])
        wrong.append(0.5 if mean[better] == mean[worse] else 1 - above if mean[better] > mean[worse] else above)
    assert doubt == pytest.approx(np.mean(wrong), abs=0.005)
    assert model.judged(mean, np.zeros((4, 4)), ordered) == (right, 0.1)  # of two that are the same nothing is known
    assert np.isnan(model.judged(mean, None, ordered)[1])


def test_figures_are_those_of_the_models_themselves(monkeypatch, tmp_path):
    monkeypatch.setattr(sets, "trial", lambda name, seed, folder: sets.synthetic(seed, n=40, d=3))
    monkeypatch.setattr(model, "MODELS", ["GP", "linear", "choix, alpha 0.3"])
    rows = pd.DataFrame(model.quietly(model.repetition, data="synthetic", seed=2, folder=tmp_path, marks=[30]))
    assert rows.model.tolist() == model.MODELS
    rows = rows.set_index("model")
    trial, rng = sets.synthetic(2, n=40, d=3), np.random.default_rng([2, 7])
    pairs = trial.draw(30, rng)
    given = {"comparisons": pairs, "outcomes": trial.answer(pairs, rng)}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the answers leave")
        gp, linear = ps.BradleyTerryGP().fit(trial.X, **given), ps.BradleyTerry().fit(trial.X, **given)
    assert len(trial.ordered) == 30 * 29 / 2
    assert rows.doubt["GP"] == pytest.approx(gp.doubt_, abs=1e-5)  # every pair of items at hand differs
    for name, fitted in (("GP", gp), ("linear", linear)):
        for column, X, ordered in (("right", trial.X, trial.ordered), ("right unseen", trial.unseen_X, trial.unseen)):
            scores = fitted.decision_function(X)
            right = np.mean([scores[better] > scores[worse] for better, worse in ordered])
            assert rows[column][name] == pytest.approx(right, abs=1e-5)
    assert rows["right unseen"].isna().tolist() == [name.startswith("choix") for name in model.MODELS]
    assert rows["right"]["choix, alpha 0.3"] > 0.55  # thirty answers to pairs of thirty items


def test_choix_scores_only_what_was_compared():
    pairs, outcomes = np.array([[4, 1], [1, 3]]), np.array([1, -1])
    for name in (*model.CHOIX_MAP, model.CHOIX_EP):
        mean, covariance = model.posterior_of_choix(name, 6, pairs, outcomes)
        assert np.all(mean[[0, 2, 5]] == 0)
        assert mean[4] > 0 > mean[1]
        assert mean[3] == pytest.approx(mean[4], abs=1e-4)
    assert np.all(np.diag(covariance)[[0, 2, 5]] == 10)
    assert np.all(np.diag(covariance)[[1, 3, 4]] < 10)


def test_rounds_ask_other_pairs_each_time(monkeypatch, tmp_path):
    monkeypatch.setattr(sets, "trial", lambda name, seed, folder: trial)
    trial, asked = sets.synthetic(0, n=40, d=3), []
    monkeypatch.setattr(model, "fitted", lambda name, trial, pairs, outcomes: asked.append(pairs) or (told, told))

    def told():
        return np.zeros(30), None

    rows = model.rounds("synthetic", 0, "averaged", tmp_path, [20, 60])
    assert [row["K"] for row in rows] == [20, 60]
    assert [len(np.unique(pairs, axis=0)) for pairs in asked] == [20, 60]
    assert rows[0]["right"] == 0.5  # all the same


def test_rounds_under_the_model_are_those_of_select_with_it(monkeypatch):
    trial, calls = sets.synthetic(0, n=20, d=2), []
    chosen = SimpleNamespace(pairs=trial.pairs[:20])
    monkeypatch.setattr(ps, "select", lambda X, k, **given: calls.append((k, given)) or chosen)
    gp = ps.BradleyTerryGP(smooth=False, warm_start=True)
    for known in (0, 20):
        pairs = trial.pairs[:known]
        found = model.under_model(trial, pairs, trial.answer(pairs, np.random.default_rng(0)), gp)
        np.testing.assert_array_equal(found, chosen.pairs)
    (first, began), (second, went_on) = calls
    assert first == second == model.ROUND
    assert "objective" not in began | went_on  # whatever is the default under this model
    assert "comparisons" not in began
    np.testing.assert_array_equal(went_on["comparisons"], trial.pairs[:20])
    assert len(went_on["model"].learned_.answers) == 20


def test_a_truth_that_errs_hides_some_of_what_is_right():
    rng = np.random.default_rng(0)
    true, error, own = rng.standard_normal((3, 3000))
    estimate, score = np.sqrt(0.7) * true + np.sqrt(0.3) * error, true + own
    i, j = rng.integers(3000, size=(2, 100_000))
    right = np.mean((score[i] - score[j]) * (estimate[i] - estimate[j]) > 0)
    wrong = np.mean((score[i] - score[j]) * (true[i] - true[j]) < 0)
    assert 1 - right > wrong + 0.03
    assert model_report.true_wrong(right, 0.7) == pytest.approx(wrong, abs=0.01)
    assert model_report.true_wrong(right, 1.0) == pytest.approx(1 - right)


def test_what_was_asked_for_and_by_how_much_it_is_missed():
    given = {"data": "diabetes", "K": 1000, "right unseen": 0.7, "doubt": 0.25, "reliability": 1.0}
    rows = [
        {**given, "seed": seed, "model": name, "right": right + 0.01 * seed}
        for seed in (0, 1)
        for name, right in (("GP", 0.85), ("linear", 0.7), ("choix, alpha 0.3", 0.88), ("GP, not linear", 0.9))
    ]
    rows[3]["right unseen"] = rows[7]["right unseen"] = 0.75
    raw = model_report.with_truth(pd.DataFrame(rows))
    found = pd.DataFrame(model_report.asked(raw, raw[raw.model == "GP"])).set_index(["what", "data"])
    assert found.short["at hand", "diabetes"] == pytest.approx(0.88 - 0.01 - 0.85)
    assert found.error["at hand", "diabetes"] == pytest.approx(0)  # paired: the difference is the same in both
    assert found.short["at hand, a figure", "diabetes"] == pytest.approx(0.87 - 0.855)
    assert found.short["unseen", "diabetes"] == pytest.approx(0.75 - 0.01 - 0.7)
    assert found.rival["unseen", "diabetes"] == "GP, not linear"
    assert found.short["doubt", "diabetes"] == pytest.approx(0.25 - 0.145 - 0.08)
    assert found.short["doubt", "average"] == pytest.approx(0.25 - 0.145 - 0.03)
    assert found.short["doubt in rounds", "average"] == pytest.approx(0.25 - 0.145 - 0.05)
    _, cells = model_report._summary(found.reset_index())
    assert cells[0][1:] == ["0 of 1", "diabetes at 1,000 by 0.020 ± 0.000"]
    assert cells[4][1:] == ["0 of 1", "at 1,000 by 7.5 points"]


def test_tables_go_between_their_marks():
    page = "A.\n<!-- table: one -->\n\nold\n\n<!-- end of table -->\nB.\n<!-- table: two -->\n<!-- end of table -->\n"
    table = model_report.markdown(["a", "b"], [["1", "2"]])
    assert table == "| a | b |\n| --- | --- |\n| 1 | 2 |"
    made = model_report.inserted(page, "one", table)
    assert made == page.replace("old", table)
    assert model_report.inserted(made, "one", table) == made


def test_intervals_beside_what_was_asked():
    given = {"features": 4, "parts": "all", "effects": 1.0, "answers": 100}
    rows = [{**given, "cover": cover, "claimed": 0.7, "true": 0.6} for cover in (0.8, 0.9)]
    rows += [{**given, "answers": 200, "cover": 0.96, "claimed": 0.5, "true": 0.4}]
    first, second = intervals.summarised(pd.DataFrame(rows)).to_dict("records")
    assert first["cover missed"] == pytest.approx(0.02)
    assert first["reliability missed"] == pytest.approx(0.1 - 0.03)
    assert second["cover missed"] == pytest.approx(0.03)
    assert np.isnan(second["reliability missed"])  # true is below what was asked about


@pytest.mark.parametrize(
    ("features", "parts", "effects"), [(4, "linear, items", 1.0), (4, "linear", 0.0), (0, "items", 1.0)]
)
def test_simulated_intervals_hold_most_scores(features, parts, effects):
    (row,) = intervals.simulated(features, parts, effects, 200, seed=0)
    assert 0.6 < row["cover"] <= 1
    assert row["claimed"] == pytest.approx(row["true"], abs=0.15)
    assert intervals.simulated(features, parts, effects, 200, seed=0) == [row]


# What designs are worth


@pytest.fixture
def forty(monkeypatch):
    """Thirty items at hand and ten unseen, whichever set is named."""
    monkeypatch.setattr(sets, "trial", lambda name, seed, folder: sets.synthetic(seed, n=40, d=3))


def right_by_hand(gp, X, ordered):
    scores = gp.decision_function(X)
    return np.mean([scores[better] > scores[worse] for better, worse in ordered])


def test_balanced_pairs_have_each_item_equally_often():
    everyone = np.array(list(combinations(range(8), 2)))
    trial = sets.Trial(np.eye(8), everyone, np.ones(28), everyone, np.eye(2), everyone[:1])
    pairs = worth.balanced(trial, 28, np.random.default_rng(0))
    assert set(map(tuple, pairs.tolist())) == set(combinations(range(8), 2))
    for k in range(1, 29):
        counts = np.bincount(pairs[:k].ravel(), minlength=8)
        assert np.ptp(counts) <= (0 if k in (4, 28) else 1 if k < 4 else 2)  # the last of a round may have met before
    assert not np.array_equal(pairs, worth.balanced(trial, 28, np.random.default_rng(1)))
    star = trial._replace(pairs=everyone[:7])  # whom nobody compares with others cannot be asked about as often
    assert len(np.unique(worth.balanced(star, 10, np.random.default_rng(0)), axis=0)) == 7


@pytest.mark.usefixtures("forty")
def test_random_pairs_are_the_same_for_all_models_and_for_any_number_of_answers(tmp_path):
    given = {"data": "synthetic", "seed": 1, "folder": tmp_path}
    short, long = (
        {row["K"]: row for row in model.quietly(worth.repetition, **given, rule="random", marks=marks)}
        for marks in ([40], [20, 40])
    )
    assert short[40] == pytest.approx(long[40], nan_ok=True)
    trial, rng = sets.synthetic(1, n=40, d=3), np.random.default_rng([1, 7])
    pairs = trial.draw(len(trial.pairs), rng)
    outcomes = trial.answer(pairs, rng)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the answers leave")
        gp = ps.BradleyTerryGP().fit(trial.X, comparisons=pairs[:40], outcomes=outcomes[:40])
    assert long[40]["right"] == pytest.approx(right_by_hand(gp, trial.X, trial.ordered), abs=1e-5)
    assert long[40]["right unseen"] == pytest.approx(right_by_hand(gp, trial.unseen_X, trial.unseen), abs=1e-5)
    assert long[40]["doubt"] == pytest.approx(gp.doubt_, abs=1e-5)  # every pair of items at hand differs
    rows = worth.repetition(**given, rule=worth.CHOIX, marks=[20, 40])
    assert [(row["K"], row["model"]) for row in rows] == [(k, name) for k in (20, 40, 60) for name in model.CHOIX_MAP]
    mean, _ = model.posterior_of_choix("choix, alpha 0.01", 30, pairs[:60], outcomes[:60])
    assert rows[4]["right"] == np.mean([(mean[i] > mean[j]) + 0.5 * (mean[i] == mean[j]) for i, j in trial.ordered])
    assert np.isnan(rows[4]["right unseen"])


@pytest.mark.parametrize("rule", [*worth.IN_ROUNDS, *worth.GOALS])
@pytest.mark.usefixtures("forty")
def test_rounds_ask_anew_and_are_judged_by_a_model_fitted_anew(rule, tmp_path, monkeypatch):
    learned, told = [], worth.of_model
    monkeypatch.setattr(worth, "of_model", lambda trial, gp: learned.append(gp.learned_) or told(trial, gp))
    (row,) = model.quietly(worth.repetition, data="synthetic", seed=0, rule=rule, folder=tmp_path, marks=[60])
    assert row["K"] == 60
    assert row["seconds"] > 0
    assert row["right"] > 0.6
    (last,) = learned
    answers, trial = last.answers, sets.synthetic(0, n=40, d=3)
    assert len(answers) == 60  # that many different pairs
    pairs = last.items[np.column_stack([answers.first, answers.second])]
    outcomes = np.where(answers.won > answers.lost, 1, -1)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the answers leave")
        gp = ps.BradleyTerryGP().fit(trial.X, comparisons=pairs, outcomes=outcomes)
    assert row["right"] == pytest.approx(right_by_hand(gp, trial.X, trial.ordered), abs=1e-5)


def test_one_pair_in_ten_is_random_and_the_others_know_of_it(monkeypatch):
    trial, rng = sets.synthetic(0, n=20, d=2), np.random.default_rng(0)
    calls = []

    def select(X, k, **given):
        calls.append((k, given))
        return SimpleNamespace(pairs=np.zeros((k, 2), dtype=int))

    monkeypatch.setattr(ps, "select", select)
    known = trial.pairs[::2][:, ::-1]
    chosen = worth.partly_random(trial, (known, np.ones(len(known), dtype=int)), "gp", rng)
    ((k, given),) = calls
    assert (len(chosen), k, given["model"]) == (20, 18, "gp")
    assert given["random_state"] == len(known) + 2  # of thousands of items, each round looks at others
    np.testing.assert_array_equal(given["comparisons"], np.vstack([known, chosen[:2]]))
    assert {tuple(pair) for pair in chosen[:2].tolist()} <= set(map(tuple, trial.pairs[1::2].tolist()))


def test_the_best_by_enumeration(monkeypatch):
    monkeypatch.setattr(worth, "TOP", 3)
    scores = np.array([5.0, 1.0, 4.0, 4.0, 4.0, 2.0])
    above = np.array([np.sum(scores > own) for own in scores])
    # Four items have fewer than three above them. The three first by these means are 2, 1 and 0.
    mean = np.array([0.5, 0.8, 0.9, 0.5, 0.1, 0.0])
    assert worth.of_the_best(mean, above) == (pytest.approx(2 / 3), pytest.approx((0 + 0.5 + 1) / 3))
    assert worth.of_the_best(scores, above) == (1.0, 1.0)
    found, ordered = worth.of_the_best(mean, np.zeros(6, dtype=int))  # all the same
    assert found == 1
    assert np.isnan(ordered)


def test_large_sets_and_other_goals_have_fewer_repetitions():
    todo = pd.DataFrame(worth.units(["diabetes", "humour", "molskill"], worth.RULES, 50))
    counts = todo.groupby(["data", "rule"]).seed.nunique().unstack()
    assert counts.loc["diabetes", ["order", "random", worth.CHOIX, "goal top"]].tolist() == [50, 50, 50, 16]
    assert counts.loc["humour", ["order", worth.CHOIX]].tolist() == [10, 10]
    assert counts.loc[["humour", "molskill"], list(worth.GOALS)].isna().all(axis=None)
    assert np.isnan(counts.loc["molskill", worth.CHOIX])
    assert todo.seed.is_monotonic_increasing


def test_answers_needed_for_a_level():
    marks, shares = np.array([20, 40, 100]), np.array([0.6, 0.7, 0.8])
    levels = {0.5: 20, 0.6: 20, 0.65: 30, 0.7: 40, 0.75: 70, 0.8: 100, 0.81: np.inf}
    for level, k in levels.items():
        assert worth_report.needed(marks, shares, level) == pytest.approx(k)
    dip = np.array([0.6, 0.55, 0.8])
    assert worth_report.needed(marks, dip, 0.58) == 20  # reached once is reached
    assert worth_report.needed(marks, dip, 0.675) == pytest.approx(70)


def rows_of(rule, seed, shares, data="digits", **more):
    figures = {"model": "GP", "right unseen": np.nan, "doubt": 0.3, "reliability": 1.0, "seconds": 0.1}
    figures |= {"top found": 0.5, "top right": 0.5}
    return [
        {"data": data, "rule": rule, "seed": seed, **figures, "K": k, "right": share, **more}
        for k, share in shares.items()
    ]


def table_of(rows, path):
    pd.DataFrame(rows).to_csv(path / "worth-repetitions.csv", index=False)
    return worth_report.measured(path / "worth-repetitions.csv")


def test_what_was_asked_of_designs_and_what_was_found(tmp_path):
    rows = []
    for seed, shift in enumerate((0.0, 0.02)):
        rows += rows_of("order", seed, {100: 0.70 + shift, 300: 0.90 + shift, 600: 0.96 + shift})
        rows += rows_of("random", seed, {100: 0.72 + 2 * shift, 300: 0.80 + shift, 600: 0.85 + shift})
        for alpha, share in (("choix, alpha 0.01", 0.93), ("choix, alpha 0.3", 0.91)):
            rows += rows_of(worth.CHOIX, seed, {1500: share + shift}, model=alpha)
        rows += rows_of("order", seed, {100: 0.60}, "dar") + rows_of("random", seed, {100: 0.604 + shift}, "dar")
    raw = table_of(rows, tmp_path)
    assert raw[raw.rule == worth.CHOIX].model.unique().tolist() == ["choix, alpha 0.01"]
    needs = pd.DataFrame(worth_report.saved(raw))
    digits = needs[needs.data == "digits"].set_index("rival")
    assert digits.needed[worth.CHOIX] == pytest.approx(450)  # .94 is half way from .91 to .97
    assert digits.needed["random"] == pytest.approx(250)
    assert digits.low[worth.CHOIX] == pytest.approx(digits.high[worth.CHOIX])  # paired: both shift alike
    over = pd.DataFrame(worth_report.against_random(raw))
    at = over[over.figure == "right"].set_index(["data", "K"])
    assert at.over["digits", 100] == pytest.approx(-0.03)
    assert at.error["digits", 100] == pytest.approx(1.96 * 0.01)  # differences of -.02 and -.04
    assert at.error["digits", 300] == pytest.approx(0)
    _, cells = worth_report.asked(needs, over)
    assert [line[1] for line in cells] == ["1 of 1", "1 of 1", "3 of 4", "0 of 0", "0 of 1", "0 of 1"]
    assert [line[2] for line in cells] == [
        "digits 0.30 (0.30 to 0.30)", "digits 0.42 (0.42 to 0.42)", "digits at 100 by 0.030 ± 0.020", "not measured",
        "Dar es Salaam at 100 by 0.014 ± 0.020", "digits at 100 by 0.030 ± 0.020",
    ]  # fmt: skip


def test_what_other_goals_gain_and_tables_of_all_that(tmp_path):
    rows = rows_of("random", 0, {20: 0.6, 40: 0.7})
    for seed, found in ((0, {20: 0.2, 40: 0.4}), (1, {20: 0.6, 40: 0.8})):
        for k, share in found.items():
            rows += rows_of("order", seed, {k: 0.7}, **{"top found": share, "right unseen": 0.6})
            rows += rows_of("goal top", seed, {k: 0.6}, **{"top found": share + 0.1 + 0.1 * seed})
    gains = pd.DataFrame(worth_report.goals(table_of(rows, tmp_path))).set_index("figure")
    assert gains.index.tolist() == ["top found", "top right"]  # nobody predicted
    assert gains.ranking["top found"] == pytest.approx(0.5)
    assert gains.over["top found"] == pytest.approx(0.15)
    assert gains.error["top found"] == pytest.approx(1.96 * 0.05)
    (tmp_path / "worth.md").write_text("<!-- table: goals -->\n<!-- end of table -->\n")
    worth_report.save(tmp_path)
    worth_report.show(tmp_path, tmp_path)
    assert "| digits | top | of the best ten found | 0.500 | 0.650 | +0.150 ± 0.098 |" in (
        (tmp_path / "worth.md").read_text()
    )
    assert {"worth-at-hand.png", "worth-unseen.png"} <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.slow
def test_features_made_from_pictures_are_judged_on_the_trial_of_those_that_were_given(tmp_path, monkeypatch):
    monkeypatch.setattr(sets, "MOST_JUDGED", 500)
    rows = raw_features.repetition("digits", 0, tmp_path, [60])
    assert [(row["features"], row["columns"]) for row in rows] == [("given", 59), ("made", 31)]
    assert all(row["right"] > 0.6 for row in rows)


def test_raw_texts_are_in_the_order_of_the_features_that_were_given(tmp_path):
    (tmp_path / "production_public.csv").write_text("smiles_i,smiles_j,label\nCC,CO,1\nN,CC,0\nCO,CO,1\n")
    assert sets.smiles(tmp_path).tolist() == ["CC", "CO", "N"]
    numbers, votes = np.arange(3)[:, None], np.array([[0, 1], [0, 2]] * 4)
    trial = sets.molecules(numbers, votes, 0)
    held = trial.unseen_X[:, 0][trial.unseen]
    assert {tuple(pair) for pair in held.tolist()} <= {(0, 1), (0, 2)}


@pytest.mark.filterwarnings("ignore:the answers leave")
def test_what_a_plan_foretold_beside_what_then_happened(tmp_path, monkeypatch):
    monkeypatch.setattr(sets, "trial", lambda name, seed, folder: sets.synthetic(seed, n=24, d=2))
    first, second = plan.repetition("synthetic", 0, tmp_path, (40,), (20, 40), simulations=2)
    assert (first["start"], first["more"], second["more"]) == (40, 20, 40)
    assert 0 < second["claimed"] < first["before"] < 0.5
    assert second["low"] < second["foretold"] < second["high"]
    assert first["took"] == second["took"]
    head, cells = plan.table(pd.DataFrame([first | {"data": "synthetic", "seed": 0}]))
    assert len(head) == len(cells[0]) == 9
    assert cells[0][:4] == ["synthetic", "40", "20", f"{100 * first['before']:.1f}%"]


def test_how_many_answers_it_took_until_doubt_was_eased():
    curve = np.array([[0.3, 0.24, 0.09], [0.3, 0.24, 0.09]])
    foretold = ps.Plan(np.array([0, 20, 40]), curve, curve, 1 - curve, 40, 100, {}, np.array([0, 20, 40]))
    happened = {20: (0.2, 0.2), 40: (0.3, 0.3), 60: (0.25, 0.3), 80: (0.2, 0.1), 100: (0.1, 0.1)}
    first, last = plan.compared(40, foretold, happened)
    assert (first["claimed"], first["wrong"], last["claimed"], last["wrong"]) == (0.25, 0.3, 0.2, 0.1)
    assert (last["needed_about"], last["took"]) == (22, 40)  # 0.225, a tenth of the way from 0.24 to 0.09
    raw = pd.DataFrame([row | {"data": "a", "seed": 0} for row in (first, last)])
    assert plan.needed_table(raw)[1] == [["a", "40", "22", "22", "22", "40"]]
    never = dict.fromkeys(happened, (0.3, 0.3))
    assert plan.compared(40, foretold, never)[0]["took"] == -1
