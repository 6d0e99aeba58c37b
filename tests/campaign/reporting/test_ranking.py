"""Tests of pages and searches of the ranking, and of captions."""

import pytest

from pairsmith.campaign.reporting import dashboard
from pairsmith.campaign.reporting.ranking import MAX_CAPTION_CHARACTERS, Caption, Rankings, _caption


@pytest.fixture
def rankings(target, make):
    """The ranking of twelve items with texts; the last item is the best."""
    parts = [[("text", f"a {'GREEN' if row % 2 else 'red'} thing\n no. {row}")] for row in range(12)]
    store = make(target, parts=parts)
    rows = [[11 - at, at + 1, -at / 10, -at / 10 - 1, -at / 10 + 1, 1, 12, 0.5] for at in range(12)]
    dashboard.save_report(store, {"ranking": rows})
    return Rankings(store)


def test_pages_of_all_items_and_of_searches(rankings):
    total, low, high, page = rankings.page(2, 3)
    assert (total, low, high) == (12, -2.1, 1.0)
    assert [(row["rank"], row["id"]) for row in page] == [(3, "009"), (4, "008"), (5, "007")]
    assert page[0] | {"text": "a GREEN thing no. 9", "picture": None, "group": None} == page[0]
    assert [row["id"] for row in rankings.page(0, 2, "green THING").items] == ["011", "009"]
    assert rankings.page(0, 100, "green 11").total == 1
    assert rankings.page(0, 100, "blue") == rankings.page(0, 100, "", "p") == (0, -2.1, 1.0, [])


def test_table_has_all_items_and_no_group_column_without_groups(rankings):
    table = rankings.table()
    assert list(table.columns) == ["rank", "id", "score", "low", "high", "best", "worst", "in_top"]
    assert table["id"].tolist() == [f"{row:03d}" for row in reversed(range(12))]


@pytest.mark.parametrize(
    ("parts", "caption"),
    [
        ([["text", "a\n\n b"], ["markdown", "# c"]], Caption("x", "g", "a b c", None)),
        (
            [["markdown", "**In short:** `f` is\n\n- *new*\n> 3 > 2 - 1"]],
            Caption("x", "g", "In short: f is new 3 > 2 - 1", None),
        ),
        ([["text", "# **as it is**"]], Caption("x", "g", "# **as it is**", None)),
        ([["text", "a" * 500]], Caption("x", "g", "a" * (MAX_CAPTION_CHARACTERS - 1) + "…", None)),
        ([["audio", "s.mp3"], ["image", "p.png"], ["image", "q.png"]], Caption("x", "g", "", 1)),
        ("nonsense", Caption("x", "g", "", None)),
        ([["text"], 3, ["text", 4], [5, "6"]], Caption("x", "g", "", None)),
    ],
)
def test_captions_of_any_stored_parts(parts, caption):
    assert _caption("x", "g", parts) == caption
