"""Tests of the sentences that advise when to stop."""

from dataclasses import replace

import pytest

from pairsmith.campaign.reporting import advice
from pairsmith.campaign.reporting.advice import DOUBT_TO_STOP, DOUBT_TO_STOP_IF_FLAT, MIN_ANSWERS, Figures, Top, advise
from pairsmith.campaign.reporting.calibration import COIN_FLIPS, UNDECIDED, Calibration, Estimate, SharedPairs

USUAL = Figures(answers=400, doubt=0.15, open_pairs=1000, explained=0.6)
GOOD = Calibration(Estimate(40, 0.7, 0.55, 0.82), 0.74, Estimate(40, 0.8, 0.66, 0.89))
BAD = Calibration(Estimate(40, 0.5, 0.35, 0.65), 0.74, Estimate(40, 0.5, 0.36, 0.64))
ALIKE = SharedPairs(Estimate(30, 0.7, 0.52, 0.83), 0.72)
APART = SharedPairs(Estimate(30, 0.5, 0.33, 0.67), 0.72)
FEW_PAIRS, FEW_SHARED = Calibration(Estimate(11), None, Estimate(11)), SharedPairs(Estimate(3), None)
CHECKED = replace(USUAL, calibration=GOOD, raters=3, shared_pairs=ALIKE)


def ahead(now, then, answers=400, last=800):
    """Return a forecast in which doubt falls evenly from `now` to `then`, as `forecasts.anchor` does."""
    points = [[answers, now, now, now], [last, then - 0.02, then, then + 0.02]]
    return {"from": answers, "points": points, "needed": [[0.1, 180, 120, None], [0.05, None, 350, None]]}


def test_no_advice_before_40_answers():
    for early in (None, replace(USUAL, answers=MIN_ANSWERS - 1)):
        assert advise(early) == {"stop": False, "text": "Too early to tell: advice comes after 40 answers.", "more": []}


def test_few_answers_to_all_pairs_get_no_promise_of_advice():
    advised = advise(replace(USUAL, answers=18, open_pairs=0))
    assert (advised["stop"], advised["more"]) == (False, [])
    assert advised["text"].startswith(
        "Every pair has been answered. 18 answers are too few to tell how far to trust the ranking: that takes 40."
    )
    assert "1 answer is too few to tell" in advise(replace(USUAL, answers=1, open_pairs=0))["text"]


@pytest.mark.parametrize(
    ("figures", "stop", "begins"),
    [
        ({"doubt": DOUBT_TO_STOP}, True, "You can stop: the chance that two items are in the wrong order is 5.0%."),
        ({"doubt": 0.15}, False, "Keep going if you need more certainty: the chance"),
        ({"doubt": 0.3, "open_pairs": 0}, True, "You can stop: every pair has been answered, and the chance"),
        (
            {"doubt": DOUBT_TO_STOP, "consistency": COIN_FLIPS},
            False,
            "The answers contradict each other as if they were coin flips",
        ),
        (
            {"doubt": 0.3, "open_pairs": 0, "consistency": COIN_FLIPS},
            False,
            "The answers contradict each other as if they were coin flips",
        ),
        (
            {"doubt": DOUBT_TO_STOP, "consistency": UNDECIDED},
            False,
            "Keep going: nothing shows yet that the answers are better than coin",
        ),
        ({"doubt": DOUBT_TO_STOP, "calibration": BAD}, False, "Keep going: the model says that the chance"),
        ({"doubt": DOUBT_TO_STOP, "calibration": GOOD}, True, "You can stop"),
        (
            {"doubt": DOUBT_TO_STOP, "shared_pairs": APART},
            False,
            "The raters do not judge alike: the model says that the chance",
        ),
        (
            {"open_pairs": 0, "consistency": UNDECIDED},
            False,
            "Every pair has been answered: nothing shows yet that the answers",
        ),
        ({"open_pairs": 0, "calibration": BAD}, False, "Every pair has been answered: the model says that the chance"),
    ],
)
def test_advice_whether_to_stop(figures, stop, begins):
    found = advise(replace(CHECKED, **figures))
    assert found["stop"] == stop
    assert found["text"].startswith(begins)


@pytest.mark.parametrize(
    ("figures", "ends"),
    [
        (
            {"raters": 1, "shared_pairs": SharedPairs(Estimate(0), None)},
            "5.0%, if everybody judges like this one rater. This could not be checked (see below). Stop if the"
            " judgement of one rater is enough.",
        ),
        ({"shared_pairs": FEW_SHARED}, "5.0%, if all raters judge alike. This could not be checked (see below)."),
        ({"calibration": FEW_PAIRS}, "5.0%, if the model is right. This could not be checked (see below)."),
        (
            {"shared_pairs": FEW_SHARED, "calibration": FEW_PAIRS},
            "5.0%, if all raters judge alike and the model is right. This could not be checked (see below).",
        ),
        (
            {"raters": 1, "shared_pairs": FEW_SHARED, "calibration": FEW_PAIRS},
            "5.0%, if everybody judges like this one rater and the model is right. This could not be checked (see"
            " below).",
        ),
    ],
)
def test_unchecked_figures_never_advise_to_stop(figures, ends):
    for begins, more in (
        ("The chance that two items are in the wrong order is ", {}),
        ("Every pair has been answered, and the chance that two items are in the wrong order is ", {"open_pairs": 0}),
    ):
        found = advise(replace(CHECKED, doubt=DOUBT_TO_STOP, **figures, **more))
        assert not found["stop"]
        assert found["text"] == begins + ends
        assert any("not checked" in sentence for sentence in found["more"])


def test_sentences_about_whether_raters_judge_alike():
    def sentences(shared_pairs, raters=3):
        return list(advice.describe_agreement(replace(USUAL, raters=raters, shared_pairs=shared_pairs)))

    assert sentences(ALIKE) == [
        "Of 30 answers to pairs that another rater had answered before, 70% (52% to 83%) agree with that rater; the"
        " model expected 72%."
    ]
    (apart,) = sentences(APART)
    assert apart.endswith("50% (33% to 67%) agree with that rater, fewer than the 72% that the model expected.")
    assert sentences(FEW_SHARED) == [
        "Agreement between raters is not checked yet: too few answers (3) are to pairs that others answered before."
    ]
    assert sentences(FEW_SHARED, 1) == ["Agreement with other raters is not checked: all answers are from one rater."]
    assert sentences(None) == []


def test_little_gain_is_a_reason_to_stop_only_at_a_low_doubt():
    for doubt, then, stop in (
        (2 * DOUBT_TO_STOP_IF_FLAT, 2 * DOUBT_TO_STOP_IF_FLAT - 0.001, False),  # little gain, but a high doubt
        (DOUBT_TO_STOP_IF_FLAT, DOUBT_TO_STOP_IF_FLAT - 0.001, True),
        (DOUBT_TO_STOP_IF_FLAT, DOUBT_TO_STOP_IF_FLAT / 2, False),  # much to gain
    ):
        found = advise(replace(CHECKED, doubt=doubt, forecast=ahead(doubt, then)))
        assert found["stop"] == stop
        assert "100 more answers would bring it to about" in found["text"]
    assert not advise(replace(CHECKED, doubt=DOUBT_TO_STOP_IF_FLAT))["stop"]  # without a forecast


def test_gain_of_more_answers_is_read_off_the_forecast():
    text = advise(replace(USUAL, forecast=ahead(0.15, 0.07)))["text"]
    assert text.endswith("15.0%; 100 more answers would bring it to about 13.0% (12.5% to 13.5%).")
    assert "would bring" not in advise(USUAL)["text"]


def test_sentences_about_answers_needed_for_each_doubt():
    (needed,) = advice.describe_forecast(replace(USUAL, forecast=ahead(0.15, 0.07)))
    assert needed == (
        "More answers needed to bring down the doubt: about 180 (120 to more than 400) for 10%; more than 400 for 5%."
    )
    pending = replace(USUAL, forecast_pending=True)
    assert list(advice.describe_forecast(pending)) == ["What more answers would bring is being computed."]
    assert list(advice.describe_forecast(replace(pending, consistency=COIN_FLIPS))) == []
    assert list(advice.describe_forecast(replace(USUAL, consistency=COIN_FLIPS, forecast=ahead(0.15, 0.07)))) == []
    assert list(advice.describe_forecast(USUAL)) == []


def test_sentences_about_calibration():
    def sentences(calibration):
        return list(advice.describe_calibration(replace(USUAL, calibration=calibration)))

    assert sentences(GOOD) == [
        "The model predicted 70% (55% to 82%) of the answers to 40 random pairs; it expected 74%."
    ]
    assert "fewer than the 74% it expected: it is surer than it should be" in sentences(BAD)[0]
    few = Calibration(Estimate(7), None, Estimate(7))
    assert sentences(few) == ["These figures are not checked yet: there are too few random pairs (7)."]
    assert sentences(None) == []


def test_sentences_about_items_and_features():
    figures = replace(
        USUAL,
        top=Top(10, 7.34, ["a", "b"]),
        uncertain=[("x", 3, 40), ("y", 7, 30)],
        never_compared=1,
        disputed=[("z", 5, 9)],
    )
    assert advise(figures)["more"] == [
        "Of the first 10 items, about 7.3 are among the true 10 best. Almost certainly among them: a and b.",
        "Features explain 60% of how scores differ; the rest is particular to each item.",
        "1 item has not been compared by anybody yet.",
        "Most uncertain: x (rank 3 to 40) and y (rank 7 to 30).",
        "Most disputed, by the number of answers that contradict all others: z (5 of 9 answers).",
    ]
    (hardly,) = advice.describe_features(replace(USUAL, explained=0.03))
    assert "hardly anything" in hardly
    assert list(advice.describe_features(replace(USUAL, explained=None))) == []
    (none,) = advice.describe_top(replace(USUAL, top=Top(10, 3.0, [])))
    assert none.endswith("None of them is almost certain to be.")
    (groups,) = advice.describe_top(replace(USUAL, groups=(12, 5)))
    assert groups == "In 5 of 12 groups, the first item is the best with 90% probability or more."
