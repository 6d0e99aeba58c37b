"""Add items to a campaign."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pairsmith.campaign.planning import planner as planning
from pairsmith.campaign.setup.additions import add_items
from pairsmith.campaign.store.changes import logged
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.store.store import Store
from support.campaigns import CREATE, PNG, answer_next, client_of

pytestmark = pytest.mark.usefixtures("folder")
SHOW = ["--show", "image:path", "--show", "text:note", "--group-by", "prompt"]


def more(count=4, **columns):
    rows = [f"new {row}" for row in range(count)]
    paths = [f"pictures/{row % 8}.png" for row in range(count)]
    usual = {"prompt": ["p", "q"] * (count // 2), "path": paths, "note": rows, "f_2": 2.0, "f_1": 1.0, "id": rows}
    pd.DataFrame(usual | columns).to_csv("more.csv", index=False)
    return Path("more.csv")


def test_added_items_are_in_the_next_round_of_an_open_store(target, run):
    assert run("campaign", "create", target, *CREATE[3:], *SHOW)[0] == 0
    with Store(target) as store:
        plan = planning.Planner(store)
        while planning.plan_round(store):
            pass
        snapshot = take_snapshot(store)
        planned = len(snapshot.planned)
        for _ in range(planned):
            answer_next(store)
        plan()
        assert plan.exhausted_at[:2] == (planned, 8)
        code, out, err = run("campaign", "add", target, str(more()))
        assert (code, err) == (0, "")
        assert out.endswith(", which has 12 now.\n")
        before, snapshot = snapshot, take_snapshot(store)
        assert snapshot.revision > before.revision  # reports of the items before do not hold any more
        assert list(snapshot.features.index[8:]) == [f"new {row}" for row in range(4)]
        np.testing.assert_array_equal(snapshot.features.to_numpy()[8:], np.tile([1.0, 2.0], (4, 1)))
        assert list(snapshot.groups[8:]) == ["p", "q", "p", "q"]
        plan()
        chosen = take_snapshot(store).planned[planned:]
        assert len(chosen)
        assert (chosen >= 8).any(axis=1).all()
        assert (chosen.sum(axis=1) % 2 == 0).all()  # of one group
        assert store.parts(9) == [("image", "pictures/1.png"), ("text", "new 1")]
        answer_next(store)
        with store.reading() as connection:
            assert logged(connection)[0].content == {"items": 4, "table": "more.csv"}


def test_ids_must_be_new_and_nothing_is_added_otherwise(run):
    run(*CREATE)
    code, _, err = run("campaign", "add", "c.db", str(more(4, id=["item 3", "x", " item 5 ", "y"])))
    assert (code, err.count("\n")) == (2, 1)
    assert "'item 3', ' item 5 '; ids must be new" in err
    with Store("c.db") as store:
        assert len(store.items.names) == 8


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"path": "../outside.png"}, "which lies outside"),
        ({"path": "pictures/none.png"}, "is not there"),
        ({"note": "", "path": ""}, "has nothing to show"),
        ({"f_1": ["a", 1, 2, 3]}, "column 'f_1'"),
        ({"f_1": np.nan}, "column 'f_1'"),
    ],
)
def test_unfit_tables_are_refused_and_nothing_is_added(run, folder, columns, told):
    (folder.parent / "outside.png").write_bytes(PNG)
    run(*CREATE, *SHOW)
    code, _, err = run("campaign", "add", "c.db", str(more(**columns)))
    assert (code, err.count("\n")) == (2, 1)
    assert told in err
    with Store("c.db") as store:
        assert len(store.items.names) == 8


def test_a_missing_column_is_named(run):
    run(*CREATE)
    Path("few.csv").write_text("id,f_1\nz,1\n")
    code, _, err = run("campaign", "add", "c.db", "few.csv")
    assert (code, err.count("\n")) == (2, 1)
    assert "f_2" in err


def test_the_recipe_of_the_first_items_makes_their_features(run):
    texts = ["good and kind", "kind and warm", "cold and bad", "bad, so bad", "warm", "good"]
    pd.DataFrame({"id": list("abcdef"), "review": texts}).to_csv("reviews.csv", index=False)
    words = ["--items", "reviews.csv", "--show", "text:review", "--question", "Which?", "-k", "3"]
    assert run("campaign", "create", "r.db", *words)[0] == 0
    pd.DataFrame({"review": [texts[2], "something else"], "id": ["g", "h"]}).to_csv("later.csv", index=False)
    with Store("r.db") as store:
        assert add_items(store, Path("later.csv")) == 2
        X = store.items.features
        np.testing.assert_allclose(X.loc["g"], X.loc["c"])
        assert store.parts(6) == [("text", texts[2])]


def test_an_item_requested_before_it_was_added_is_seen_afterwards(run):
    run(*CREATE, "--show", "image:path", "--show", "text:note")
    with Store("c.db") as store, client_of(store) as api:
        assert api.get("/media/8/0").status_code == 404
        add_items(store, more())
        assert api.get("/media/8/0").status_code == 200


def test_a_campaign_without_a_table_needs_show(target, make):
    store = make(target, d=2, parts=[[("text", "words")]] * 12)
    with pytest.raises(ValueError, match="--show; this campaign shows text"):
        add_items(store, more(f_0=1.0))
    assert add_items(store, more(f_0=1.0), show=["text:note"]) == 4
    assert store.parts(12) == [("text", "new 0")]
