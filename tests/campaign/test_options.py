"""CampaignOptions, as the database keeps them."""

from dataclasses import fields

from pairsmith.campaign.options import CampaignOptions

# What campaigns made by earlier versions hold: these names can never change.
STORED = {
    "question": "Which?", "instructions": "*Look*", "k": 7, "answers": 3, "ties": False, "repeats": True,
    "max_per_item": 2, "objective": "d-optimal", "lease": 60.0, "features": ["f", "g"], "grouped": True,
    "id": "abc", "media": "/pictures", "recipe": None, "seal": "def", "viewing_seconds": 1.0, "graded": True,
    "comments": True, "random_share": 0.2, "asks_again": True,
    "columns": {"show": ["text:note"], "id": "id", "group_by": None},
    "prompt_kind": "markdown", "by": "model", "further": ["Which is funnier?"],
}  # fmt: skip


def test_stored_settings_are_read_and_written_back():
    settings = CampaignOptions.from_stored(STORED)
    assert settings.answers_per_pair == 3
    assert settings.lease_seconds == 60.0
    assert settings.feature_names == ["f", "g"]
    assert settings.folder == "/pictures"
    assert settings.to_stored() == STORED
    assert len(fields(CampaignOptions)) == len(STORED)


def test_a_campaign_from_elsewhere_may_lack_a_seal_or_name_no_folder():
    without = {key: value for key, value in STORED.items() if key not in ("id", "seal")}
    assert (CampaignOptions.from_stored(without).id, CampaignOptions.from_stored(without).seal) == (None, None)
    for odd in (None, 5, ["/etc"], {}):
        assert CampaignOptions.from_stored(STORED | {"media": odd}).folder is None


def test_campaigns_made_before_ask_as_they_did():
    before = {key: value for key, value in STORED.items() if key not in ("viewing_seconds", "graded", "comments")}
    settings = CampaignOptions.from_stored(before)
    assert (settings.viewing_seconds, settings.graded, settings.comments) == (0.4, False, False)


def test_what_a_later_version_added_does_not_matter():
    assert CampaignOptions.from_stored(STORED | {"deadline": 5}) == CampaignOptions.from_stored(STORED)
