"""CampaignOptions, as the organiser sets them and as the database keeps them."""

from dataclasses import fields, replace

import pytest

from pairsmith.campaign.options import CampaignOptions, OptionError, TableColumns

STORED = {
    "questions": ["Which?", "Which is funnier?"], "instructions": "*Look*", "k": 7, "answers_per_pair": 3,
    "ties": False, "repeats": True, "max_per_item": 2, "objective": "d-optimal", "lease_seconds": 60.0,
    "feature_names": ["f", "g"], "grouped": True, "id": "abc", "folder": "/pictures", "recipe": None, "seal": "def",
    "viewing_seconds": 1.0, "graded": True, "comments": True, "random_share": 0.2, "asks_again": False,
    "columns": {"show": ["text:note"], "id": "id", "group_by": None, "prompt": None},
    "prompt_kind": "markdown", "author_column": "model",
}  # fmt: skip
OPTIONS = CampaignOptions(["Which?"])


def test_stored_options_are_read_and_written_back():
    options = CampaignOptions.from_stored(STORED)
    assert options.answers_per_pair == 3
    assert options.lease_seconds == 60.0
    assert options.feature_names == ["f", "g"]
    assert options.folder == "/pictures"
    assert options.columns == TableColumns(["text:note"], "id")
    assert options.to_stored() == STORED
    assert len(fields(CampaignOptions)) == len(STORED)


def test_a_campaign_from_elsewhere_may_lack_a_seal_or_name_no_folder():
    without = {key: value for key, value in STORED.items() if key not in ("id", "seal")}
    assert (CampaignOptions.from_stored(without).id, CampaignOptions.from_stored(without).seal) == (None, None)
    for odd in (None, 5, ["/etc"], {}):
        assert CampaignOptions.from_stored(STORED | {"folder": odd}).folder is None


@pytest.mark.parametrize("name", sorted(STORED.keys() - {"id", "seal", "folder"}))
def test_a_missing_option_is_named(name):
    without = {key: value for key, value in STORED.items() if key != name}
    with pytest.raises(ValueError, match=f"the option '{name}' is missing"):
        CampaignOptions.from_stored(without)


@pytest.mark.parametrize(
    ("edited", "message"),
    [
        ({"ties": 1}, "the option 'ties' is wrong"),
        ({"k": 0}, "k must be at least 1"),
        ({"lease_seconds": float("inf")}, "lease_seconds must be between 6 seconds and a day, got inf seconds"),
        ({"questions": []}, "the option 'questions' is empty"),
        ({"prompt_kind": "html"}, "the option 'prompt_kind' is wrong"),
    ],
)
def test_stored_options_that_cannot_be_are_refused(edited, message):
    with pytest.raises(ValueError, match=message):
        CampaignOptions.from_stored(STORED | edited)


def test_unknown_stored_options_are_ignored():
    assert CampaignOptions.from_stored(STORED | {"deadline": 5}) == CampaignOptions.from_stored(STORED)


@pytest.mark.parametrize(
    ("changes", "option", "message"),
    [
        ({"objective": "best"}, "objective", "objective 'best' is unknown; choose one of order, "),
        ({"asks_again": True, "objective": "entropy"}, "asks_again", "needs objective 'order', got 'entropy'"),
        ({"asks_again": True, "answers_per_pair": 2}, "asks_again", "needs answers_per_pair=1, got 2"),
        ({"k": 0}, "k", "k must be at least 1 and at most 1,000,000,000, got 0"),
        ({"answers_per_pair": 10**10}, "answers_per_pair", "must be at least 1 and at most 1,000,000,000"),
        ({"max_per_item": 0}, "max_per_item", "must be at least 1"),
        ({"lease_seconds": 5.9}, "lease_seconds", "must be between 6 seconds and a day, got 5.9 seconds"),
        ({"lease_seconds": float("nan")}, "lease_seconds", "must be between 6 seconds and a day"),
        ({"random_share": 1.1}, "random_share", "must be between 0 and 1, such as 0.1 for one pair in ten, got 1.1"),
        ({"viewing_seconds": -1}, "viewing_seconds", "must be between 0 and 60 seconds, got -1"),
        ({"folder": "/nowhere"}, "folder", "folder /nowhere does not exist"),
        ({"questions": []}, "questions", "must be 1 to 9 for each pair, got 0"),
        ({"questions": ["?", " ? "]}, "question", "question '\\?' is there twice; ask it once"),
        ({"questions": [" "]}, "question", "question is empty"),
        ({"instructions": "\0"}, "instructions", "invalid character"),
    ],
)
def test_wrong_options_are_refused_with_their_name(changes, option, message):
    with pytest.raises(OptionError, match=message) as caught:
        replace(OPTIONS, **changes).checked()
    assert caught.value.option == option
    assert "\n" not in str(caught.value)


def test_options_at_their_bounds_are_accepted_and_questions_trimmed():
    bounds = {"k": 1, "max_per_item": 10**9, "lease_seconds": 86_400, "random_share": 0, "viewing_seconds": 60}
    assert replace(OPTIONS, questions=[" Which? "], **bounds).checked() == replace(OPTIONS, **bounds)
