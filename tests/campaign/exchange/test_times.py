"""Times in files."""

import numpy as np
import pytest

from pairsmith.campaign.exchange.times import iso_time, parse_time


def test_a_time_is_read_as_it_was_written():
    for at in (0, 1, 1_700_000_000_123_456):
        assert parse_time(iso_time(at), "x") == at
    assert iso_time(1_700_000_000_123_456) == "2023-11-14T22:13:20.123456Z"
    assert (
        parse_time("2023-11-14T23:13:20+01:00", "x") == parse_time("2023-11-14 22:13:20", "x") == 1_700_000_000_000_000
    )
    assert np.isnan(parse_time(" ", "x"))
    assert np.isnan(parse_time(None, "x"))


@pytest.mark.parametrize(("text", "said"), [("soon", "row 3 has the time 'soon'"), ("1969-01-01", "between 1970")])
def test_invalid_times_are_refused(text, said):
    with pytest.raises(ValueError, match=said):
        parse_time(text, "row 3")
