"""The commands on how a campaign goes on and ends."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from pairsmith.campaign.answering import gold
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.store import schema
from pairsmith.campaign.store.store import Store
from support.campaigns import CREATE, answer_next

pytestmark = pytest.mark.usefixtures("folder")


def test_goals_are_set_at_create_and_changed_later(run):
    code, _, err = run(*CREATE, "--answers", "9", "--until", "doubt < 12.5%", "--quota", "4")
    assert (code, err) == (0, "")
    line = "c.db: 0 of 9 answers; until doubt is below 12.5% (known after 40 answers); 4 answers each person."
    assert run("campaign", "goals", "c.db") == (0, f"{line} It is open.\n", "")
    code, out, _ = run("campaign", "goals", "c.db", "--answers", "1", "--until", "none", "--quota", "none")
    assert (code, out) == (0, "c.db: 0 of 1 answer. It is open.\n")
    with Store("c.db") as store:
        answer_next(store)
    assert run("campaign", "goals", "c.db")[1] == "c.db: 1 of 1 answer. It is over: all answers are in.\n"
    code, out, _ = run("campaign", "goals", "c.db", "--deadline", "2100-12-01T18:00+01:00", "--answers", "none")
    assert "until 2100-12-01" in out
    assert "(UTC" in out


@pytest.mark.parametrize("words", [["--answers", "0"], ["--until", "doubt"], ["--deadline", "2001-01-01"]])
def test_what_is_no_goal_is_refused_before_any_work(run, words):
    code, out, err = run(*CREATE, *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"Error: {words[0]}")
    assert not Path("c.db").exists()
    run(*CREATE)
    code, out, err = run("campaign", "goals", "c.db", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)


def test_pause_resume_close_and_reopen(run):
    run(*CREATE)
    for action, told in (("pause", "paused"), ("resume", "open"), ("close", "closed"), ("reopen", "open")):
        code, out, err = run("campaign", action, "c.db")
        assert (code, err) == (0, "")
        goes_on = ", so that it goes on until every pair is answered" if told == "open" else ""
        assert out == f"c.db: no goals{goes_on}. It is {told}.\n"
    code, out, err = run("campaign", "reopen", "c.db")
    assert (code, out, err) == (2, "", "Error: the campaign is open; choose pause or close\n")


def test_gold_pairs_come_from_a_table(run):
    run(*CREATE)
    Path("gold.csv").write_text("winner,loser\nitem 5,item 1\nitem 1,item 2\nitem 1,item 2\n")
    code, out, err = run("campaign", "gold", "c.db", "gold.csv", "--rate", "0.5")
    assert (code, out, err) == (0, "c.db: 2 pairs with a known outcome, mixed in at a rate of 50%.\n", "")
    with Store("c.db") as store:
        with store.reading() as connection:
            query = sa.select(schema.pairs.c.first, schema.pairs.c.second, schema.pairs.c.gold)
            found = connection.execute(query.where(schema.pairs.c.gold.is_not(None)))
            assert sorted(map(tuple, found)) == [(1, 2, 1), (1, 5, -1)]
        for _ in range(6):
            answer_next(store)
        with store.reading() as connection:
            known = gold.score_raters(connection)
    expected = "".join(f"{name}: {right} of {asked} right\n" for name, (right, asked) in known.items())
    told = "c.db: 2 pairs with a known outcome, asked only where the design asks them; --rate mixes them in.\n"
    assert run("campaign", "gold", "c.db", "--rate", "0")[1] == told + expected


def test_gold_of_everybody_is_without_those_excluded(run):
    run(*CREATE)
    Path("gold.csv").write_text("winner,loser\nitem 1,item 2\nitem 3,item 4\n")
    Path("given.csv").write_text("winner,loser,rater\nitem 1,item 2,anna\nitem 3,item 4,anna\nitem 2,item 1,ben\n")
    run("campaign", "import", "c.db", "given.csv")
    lines = run("campaign", "gold", "c.db", "gold.csv")[1].splitlines()
    assert lines[1:] == ["anna: 2 of 2 right", "ben: 0 of 1 right", "together: 2 of 3 right"]
    run("campaign", "exclude", "c.db", "ben")
    lines = run("campaign", "gold", "c.db", "--rate", "0.1")[1].splitlines()
    assert lines[1:] == [
        "anna: 2 of 2 right",
        "ben: 0 of 1 right (excluded)",
        "together, without those excluded: 2 of 2 right",
    ]


@pytest.mark.parametrize(
    ("options", "table", "told"),
    [
        ([], "winner,loser\nitem 5,item 1\nitem 1,item 5\n", "'item 1' and 'item 5' have two outcomes"),
        ([], "winner,loser\nitem 5,item 99\n", "item 99"),
        ([], "first,second,outcome\nitem 5,item 1,\n", "holds no pair with an outcome"),
        (["--no-ties"], "first,second,outcome\nitem 5,item 1,0\n", "are a tie; this campaign has none"),
        (["--group-by", "prompt"], "winner,loser\nitem 0,item 1\n", "are of different groups"),
    ],
)
def test_a_table_of_gold_pairs_that_cannot_be_is_refused(run, options, table, told):
    run(*CREATE, *options)
    Path("gold.csv").write_text(table)
    code, out, err = run("campaign", "gold", "c.db", "gold.csv")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert told in err


def test_gold_needs_something_to_do(run):
    run(*CREATE)
    assert run("campaign", "gold", "c.db")[0] == 2
    code, _, err = run("campaign", "gold", "c.db", "--rate", "0.9")
    assert (code, err) == (2, "Error: --rate must be between 0 and 0.5, got 0.9\n")


def test_invites_for_many_and_with_a_quota(run):
    run(*CREATE)
    code, out, err = run("campaign", "invite", "c.db", "--enrol", "30", "--url", "https://label.example.org")
    assert (code, err) == (0, "")
    assert out.startswith("30 places: https://label.example.org/enrol/")
    run("campaign", "invite", "c.db", "anna", "--quota", "7")
    with Store("c.db") as store, store.reading() as connection:
        query = sa.select(schema.people.c.quota).where(schema.people.c.name == "anna")
        assert connection.execute(query).scalar_one() == 7
        assert people.invited(store) == [("anna", "rater")]
    assert run("campaign", "people", "c.db")[1] == "rater  anna\n30 places left by link\n"
    assert run("campaign", "revoke", "c.db", "--enrol")[1] == "30 places revoked.\n"
    for words in (
        ["invite", "c.db"],
        ["invite", "c.db", "ben", "--enrol", "3"],
        ["invite", "c.db", "--enrol", "3", "--dashboard"],
        ["invite", "c.db", "--enrol", "3", "--quota", "3"],
        ["invite", "c.db", "--enrol", "0"],
        ["revoke", "c.db"],
    ):
        code, out, err = run("campaign", *words)
        assert (code, out, err.count("\n")) == (2, "", 1)
