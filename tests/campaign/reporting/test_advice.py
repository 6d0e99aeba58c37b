"""From figures to sentences."""

from dataclasses import replace

import pytest

from pairsmith.campaign.reporting import advice
from pairsmith.campaign.reporting.advice import COINS, FAIRLY_SURE, FEW, OPEN, SURE, Figures, Top, advise
from pairsmith.campaign.reporting.calibration import Measured, SharedPairs, Yardstick

USUAL = Figures(answers=400, doubt=0.15, left=1000, explained=0.6)
GOOD = Yardstick(Measured(40, 0.7, 0.55, 0.82), 0.74, Measured(40, 0.8, 0.66, 0.89))
BAD = Yardstick(Measured(40, 0.5, 0.35, 0.65), 0.74, Measured(40, 0.5, 0.36, 0.64))
ALIKE = SharedPairs(Measured(30, 0.7, 0.52, 0.83), 0.72)
APART = SharedPairs(Measured(30, 0.5, 0.33, 0.67), 0.72)
FEW_PAIRS, FEW_SHARED = Yardstick(Measured(11), None, Measured(11)), SharedPairs(Measured(3), None)
CHECKED = replace(USUAL, yardstick=GOOD, raters=3, shared=ALIKE)


def ahead(now, then, answers=400, last=800):
    """A forecast by which doubt falls evenly from now to then, as `outlook.anchor` gives it."""
    points = [[answers, now, now, now], [last, then - 0.02, then, then + 0.02]]
    return {"from": answers, "points": points, "needed": [[0.1, 180, 120, None], [0.05, None, 350, None]]}


def test_it_is_too_early_at_first():
    for early in (None, replace(USUAL, answers=FEW - 1)):
        assert advise(early) == {"stop": False, "text": "Too early to tell: advice comes after 40 answers.", "more": []}


def test_advice_that_can_never_come_is_not_promised():
    told = advise(replace(USUAL, answers=18, left=0))
    assert (told["stop"], told["more"]) == (False, [])
    assert told["text"].startswith("Every pair has been answered; 18 answers, fewer than 40, do not tell")
    assert "1 answer, fewer than 40, does not tell" in advise(replace(USUAL, answers=1, left=0))["text"]


@pytest.mark.parametrize(
    ("figures", "stop", "begins"),
    [
        ({"doubt": SURE}, True, "You can stop: the chance that two items stand in the wrong order is 5.0%."),
        ({"doubt": 0.15}, False, "Go on where that is not sure enough: the chance"),
        ({"doubt": 0.3, "left": 0}, True, "You can stop: every pair has been answered, and the chance"),
        ({"doubt": SURE, "consistency": COINS}, False, "The answers contradict each other: "),
        ({"doubt": 0.3, "left": 0, "consistency": COINS}, False, "The answers contradict each other: "),
        ({"doubt": SURE, "consistency": OPEN}, False, "Go on: nothing shows yet that the answers are better than coin"),
        ({"doubt": SURE, "yardstick": BAD}, False, "Go on: the model says that the chance"),
        ({"doubt": SURE, "yardstick": GOOD}, True, "You can stop"),
        ({"doubt": SURE, "shared": APART}, False, "The raters do not judge alike: the model says that the chance"),
        ({"left": 0, "consistency": OPEN}, False, "Every pair has been answered: nothing shows yet that the answers"),
        ({"left": 0, "yardstick": BAD}, False, "Every pair has been answered: the model says that the chance"),
    ],
)
def test_whether_to_stop(figures, stop, begins):
    found = advise(replace(CHECKED, **figures))
    assert found["stop"] == stop
    assert found["text"].startswith(begins)


@pytest.mark.parametrize(
    ("figures", "ends"),
    [
        (
            {"raters": 1, "shared": SharedPairs(Measured(0), None)},
            "5.0%, if everybody judges as this one rater does. This could not be checked (see below). Stop if the"
            " judgement of one rater is enough.",
        ),
        ({"shared": FEW_SHARED}, "5.0%, if all raters judge alike. This could not be checked (see below)."),
        ({"yardstick": FEW_PAIRS}, "5.0%, if the model is right. This could not be checked (see below)."),
        (
            {"shared": FEW_SHARED, "yardstick": FEW_PAIRS},
            "5.0%, if all raters judge alike and the model is right. This could not be checked (see below).",
        ),
        (
            {"raters": 1, "shared": FEW_SHARED, "yardstick": FEW_PAIRS},
            "5.0%, if everybody judges as this one rater does and the model is right. This could not be checked (see"
            " below).",
        ),
    ],
)
def test_nobody_is_told_to_stop_on_what_was_not_checked(figures, ends):
    for begins, more in (
        ("The chance that two items stand in the wrong order is ", {}),
        ("Every pair has been answered, and the chance that two items stand in the wrong order is ", {"left": 0}),
    ):
        found = advise(replace(CHECKED, doubt=SURE, **figures, **more))
        assert not found["stop"]
        assert found["text"] == begins + ends
        assert any("not checked" in sentence for sentence in found["more"])


def test_whether_raters_judge_alike_is_said():
    def told(shared, raters=3):
        return list(advice.about_raters(replace(USUAL, raters=raters, shared=shared)))

    assert told(ALIKE) == [
        "Of 30 answers to pairs that another rater had answered before, 70% (52% to 83%) agree with that rater; the"
        " model expected 72%."
    ]
    (apart,) = told(APART)
    assert apart.endswith("50% (33% to 67%) agree with that rater, fewer than the 72% that the model expected.")
    assert told(FEW_SHARED) == [
        "Whether raters judge alike is not checked: too few answers are to pairs that others answered too (3)."
    ]
    assert told(FEW_SHARED, 1) == ["Whether others would agree is not checked: all answers are from one rater."]
    assert told(None) == []


def test_flatness_is_no_reason_to_stop_but_little_more_to_gain_is_where_it_is_fairly_sure():
    for doubt, then, stop in (
        (2 * FAIRLY_SURE, 2 * FAIRLY_SURE - 0.001, False),  # flat, and not sure
        (FAIRLY_SURE, FAIRLY_SURE - 0.001, True),
        (FAIRLY_SURE, FAIRLY_SURE / 2, False),  # much to gain
    ):
        found = advise(replace(CHECKED, doubt=doubt, outlook=ahead(doubt, then)))
        assert found["stop"] == stop
        assert "100 more answers would bring it to about" in found["text"]
    assert not advise(replace(CHECKED, doubt=FAIRLY_SURE))["stop"]  # nobody knows what more would bring


def test_what_more_answers_bring_is_read_off_the_forecast():
    text = advise(replace(USUAL, outlook=ahead(0.15, 0.07)))["text"]
    assert text.endswith("15.0%; 100 more answers would bring it to about 13.0% (12.5% to 13.5%).")
    assert "would bring" not in advise(USUAL)["text"]


def test_how_many_more_for_which_doubt():
    (told,) = advice.about_more(replace(USUAL, outlook=ahead(0.15, 0.07)))
    assert told == "More answers: doubt of 10% takes about 180 (120 to more than 400); 5% takes more than 400."
    pending = replace(USUAL, forecast_pending=True)
    assert list(advice.about_more(pending)) == ["What more answers would bring is being computed."]
    assert list(advice.about_more(replace(pending, consistency=COINS))) == []
    assert list(advice.about_more(replace(USUAL, consistency=COINS, outlook=ahead(0.15, 0.07)))) == []
    assert list(advice.about_more(USUAL)) == []


def test_what_is_known_of_random_pairs_is_said():
    def told(yardstick):
        return list(advice.about_trust(replace(USUAL, yardstick=yardstick)))

    assert told(GOOD) == [
        "Of 40 random pairs 70% (55% to 82%) were answered as the model had foretold; it expected 74%."
    ]
    assert "fewer than the 74% it expected: it is surer than it should be" in told(BAD)[0]
    few = Yardstick(Measured(7), None, Measured(7))
    assert told(few) == ["Whether these figures are true is not checked: there are too few random pairs yet (7)."]
    assert told(None) == []


def test_the_best_the_features_and_the_odd_ones():
    figures = replace(
        USUAL,
        top=Top(10, 7.34, ["a", "b"]),
        uncertain=[("x", 3, 40), ("y", 7, 30)],
        untouched=1,
        disputed=[("z", 5, 9)],
    )
    assert advise(figures)["more"] == [
        "Of the 10 items shown first, 7.3 are expected to be among the true 10 best. Surely among them: a and b.",
        "Features explain 60% of how scores differ; the rest is the items' own.",
        "1 item was not compared by anybody yet.",
        "Most uncertain: x (rank 3 to 40) and y (rank 7 to 30).",
        "Most disputed, by answers against what all others say: z (5 of 9 answers).",
    ]
    (hardly,) = advice.about_features(replace(USUAL, explained=0.03))
    assert "hardly anything" in hardly
    assert list(advice.about_features(replace(USUAL, explained=None))) == []
    (none,) = advice.about_top(replace(USUAL, top=Top(10, 3.0, [])))
    assert none.endswith("None of them is among them for sure.")
    (groups,) = advice.about_top(replace(USUAL, groups=(12, 5)))
    assert groups == "In 5 of 12 groups the item shown first is the best with 90% probability or more."
