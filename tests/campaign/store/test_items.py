"""The items of a campaign."""

import dataclasses

import numpy as np
import pandas as pd

from pairsmith.campaign.store import items
from pairsmith.campaign.store.store import Store
from support.campaigns import create_campaign, items_of


def test_items_are_read_back_as_stored(target):
    """To the last bit: a model that is fitted again tomorrow is fitted to the same numbers."""
    given = items_of(5, 2)
    given.features.iloc[0] = [0.1 + 0.2, -1e-300]
    given = dataclasses.replace(given, groups=np.array(["p", "q", "p", "q", "p"], dtype=object))
    shown = [[("text", name), ("markdown", f"*{name}*")] for name in given.features.index]
    create_campaign(target, given, shown, question="?", k=2, labels=(np.array([1, 4]), np.array([1, -1])))
    with Store(target) as store, store.reading() as connection:
        found = items.read(connection, store.settings)
        pd.testing.assert_frame_equal(found.features, given.features, check_exact=True)
        assert found.names == list(given.features.index)
        assert found.groups.tolist() == ["p", "q", "p", "q", "p"]
        assert (found.labeled.tolist(), found.labels.tolist()) == ([1, 4], [1, -1])
        assert items.parts(connection, 3) == [("text", "003"), ("markdown", "*003*")]
        assert items.parts(connection, 99) == []
        assert items.files(connection) == []


def test_groups_and_labels_are_optional(target, make):
    found = make(target).items
    assert found.groups is None
    assert len(found.labeled) == len(found.labels) == 0


def test_each_file_that_is_shown_is_listed_once(tmp_path, store):
    """Texts, of which the same items have two each, are no files."""
    with store.reading() as connection:
        assert items.files(connection) == [("image", "shown.svg")]
