import warnings

import numpy as np
import pandas as pd
import pytest

import pairsmith as ps

rng = np.random.default_rng(0)
N = 15
PAIRS = np.array([rng.choice(N, 2, replace=False) for _ in range(60)])
OUTCOMES = np.where(PAIRS[:, 0] > PAIRS[:, 1], 1, -1)


def table(ids, rows=slice(None)):
    return pd.DataFrame({"id": list(ids), "a": rng.standard_normal(N)}).iloc[rows]


def fitted(frame):
    return ps.BradleyTerryGP().fit(frame, comparisons=PAIRS, outcomes=OUTCOMES)


QUESTIONS = {
    "rank": lambda model, X: model.rank(X),
    "rank in groups": lambda model, X: model.rank(X, groups=["g"] * len(X)),
    "rank by": lambda model, X: model.rank(X, by=list("abcde") * (len(X) // 5)),
    "compare": lambda model, X: model.compare(X, [(0, 1)]),
    "predict": lambda model, X: model.predict(X),
    "decision_function": lambda model, X: model.decision_function(X),
    "predict_proba": lambda model, X: model.predict_proba(X),
    "certainty": lambda model, X: model.certainty(X),
    "select": lambda model, X: ps.select(X, 2, model=model),
}


@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)
@pytest.mark.parametrize("rows", [slice(None), slice(10)])
def test_ids_of_another_type_are_told_by_every_question(ask, rows):
    model = fitted(table(range(N)))
    with pytest.warns(UserWarning, match="ids are") as told:
        ask(model, table(map(str, range(N)), rows))
    (message,) = {str(warning.message) for warning in told}
    assert message.startswith("X's ids are text, the model's are whole numbers: '0' is not 0. The model knows 0 of")


@pytest.mark.parametrize(
    ("model_ids", "ids", "message"),
    [
        (map(str, range(N)), range(N), "X's ids are whole numbers, the model's are text: 0 is not '0'"),
        (range(N), [f"{at:03}" for at in range(N)], "X's ids are text, the model's are whole numbers: '000' is not 0"),
        (map(str, range(N)), np.arange(N) * 1.0, "X's ids are fractions, the model's are text: 0.0 is not '0'"),
        (
            [f"i{at}" for at in range(N)],
            [f"i{at} " for at in range(N)],
            "differently from the model's: 'i0 ",
        ),
        (
            range(N),
            [f"i{at}" for at in range(N)],
            "X's ids are text, the model's are whole numbers. The model knows 0 of",
        ),
        ([*range(N - 1), "x"], [*map(str, range(N - 1)), "x"], "'0' is not 0. The model knows 1 of the 15 items"),
    ],
)
def test_the_cause_is_named(model_ids, ids, message):
    model = fitted(table(model_ids))
    with pytest.warns(UserWarning, match=message):
        model.rank(table(ids))


def test_new_items_are_no_cause_for_a_warning():
    model = fitted(table([f"i{at}" for at in range(N)]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.rank(table([f"new{at}" for at in range(N)], slice(10)))
        model.rank(table([f"i{at}" for at in range(10)] + [f"new{at}" for at in range(5)]))
        model.rank(table(range(N)).drop(columns="id").head(5))
    with pytest.warns(UserWarning, match="no item of X is one that the model was fitted to.*by their ids"):
        model.rank(table([f"new{at}" for at in range(N)]))  # as many: probably the same items


def test_a_model_of_the_same_items_names_the_cause_in_its_error():
    model = fitted(table(range(N)))
    text = table(map(str, range(N)))
    cause = "in that order; X's ids are text, the model's are whole numbers: '0' is not 0"
    with pytest.raises(ValueError, match=cause):
        model.with_answers(text, PAIRS[:1], OUTCOMES[:1])
    with pytest.raises(ValueError, match=cause):
        ps.forecast(text, model=model, simulations=2, answers=[5])


@pytest.mark.parametrize("ask", [*QUESTIONS, "known"])
def test_ids_that_are_not_unique_are_refused_after_the_fit_too(ask):
    X = table([f"i{at}" for at in range(N)])
    model = fitted(X)
    ask = QUESTIONS.get(ask, lambda model, X: model.known(X))
    for ids in (["i0"] * N, [None, *X["id"][1:]]):
        with pytest.raises(ValueError, match=r"X has (more than one item with the id 'i0'; ids must|no id at row 0)"):
            ask(model, X.assign(id=ids))


def test_a_linear_model_goes_by_features_alone_and_takes_an_item_twice():
    X = table(range(N))
    model = ps.BradleyTerry().fit(X, comparisons=PAIRS, outcomes=OUTCOMES)
    assert model.rank(X.iloc[[0, 0]]).index.tolist() == [0, 0]


@pytest.mark.parametrize("argument", ["groups", "by"])
def test_a_series_of_the_same_ids_in_another_order_is_refused(argument):
    X = table([f"i{at}" for at in range(N)])
    model, makers = fitted(X), pd.Series(list("abc") * 5, index=X["id"])
    expected = model.rank(X, **{argument: makers.tolist()})
    for aligned in (makers, makers.reset_index(drop=True), pd.Series(makers.tolist(), index=X.index)):
        pd.testing.assert_frame_equal(model.rank(X, **{argument: aligned}), expected)
    with pytest.raises(ValueError, match=f"{argument} has the ids of X in another order; reorder it with"):
        model.rank(X, **{argument: makers[::-1]})
    with pytest.raises(ValueError, match="groups has the ids of X in another order"):
        model.certainty(X, makers[::-1])
    numbered = table(range(N))
    shuffled = numbered.sample(frac=1, random_state=0).assign(id=range(N))  # the column goes with its table's rows
    fitted(numbered).rank(shuffled, **{argument: makers.set_axis(shuffled.index)})
