import pytest

import pairsmith as ps
from pairsmith.selection import memory


def test_effects_that_need_much_memory_are_warned_about_or_refused_before_any_work(monkeypatch):
    monkeypatch.setattr(memory, "_MAX_TOUCHED_WITHOUT_WARNING", 20)
    with pytest.warns(UserWarning, match=r"the effects of 22 items .* candidates=ps.Among"):
        ps.select(None, 11, n_items=40, item_effects=1.0)
    monkeypatch.setattr(memory, "available_memory", lambda: 1 << 30)
    with pytest.raises(ValueError, match=r"the effects of 90,000 items that are or will be compared take 65 GB"):
        ps.select(None, 45_000, n_items=100_000, item_effects=1.0)
