"""A campaign at one moment."""

import pandas as pd

from conftest import items_of
from pairsmith.campaign.snapshot import take_snapshot


def test_known_reads_back_what_was_put_in(target, make):
    store = make(target)
    pd.testing.assert_frame_equal(take_snapshot(store).features, items_of().features)
