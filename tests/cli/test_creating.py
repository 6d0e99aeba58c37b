"""Behind the options of pairsmith campaign create."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from pairsmith.campaign.answering import gold
from pairsmith.campaign.store import schema
from pairsmith.campaign.store.store import Store
from support.campaigns import CREATE

pytestmark = pytest.mark.usefixtures("folder")


def test_gold_pairs_are_given_when_a_campaign_is_made(run):
    Path("gold.csv").write_text("winner,loser\nitem 5,item 1\nitem 1,item 2\n")
    code, out, err = run(*CREATE, "--gold", "gold.csv", "--rate", "0.05")
    assert (code, err) == (0, "")
    assert "2 pairs with a known outcome, mixed in at a rate of 5%.\n" in out
    with Store("c.db") as store:
        assert gold.gold_rate_of(store) == 0.05
        with store.reading() as connection:
            query = sa.select(schema.pairs.c.first, schema.pairs.c.second, schema.pairs.c.gold)
            found = connection.execute(query.where(schema.pairs.c.gold.is_not(None)))
            assert sorted(map(tuple, found)) == [(1, 2, 1), (1, 5, -1)]


@pytest.mark.parametrize(
    ("words", "table", "told"),
    [
        (["--gold", "gold.csv"], "winner,loser\nitem 5,item 99\n", "'item 99', which is not in items.csv"),
        (["--gold", "gold.csv", "--no-ties"], "first,second,outcome\nitem 5,item 1,0\n", "are a tie; this campaign"),
        (["--gold", "gold.csv", "--group-by", "prompt"], "winner,loser\nitem 0,item 1\n", "are of different groups"),
        (["--gold", "gold.csv", "--rate", "0.6"], "", "--rate must be between 0 and 0.5, got 0.6"),
        (["--gold", "none.csv"], "", "none.csv"),
        (["--rate", "0.1"], "", "--rate is the share of pairs drawn from --gold; give that too"),
        (["--better", "good"], "", "--better names one of the labels of --labels"),
        (["--no-features"], "", "--no-features leaves nothing for --features"),
        (["--media", "none"], "", "--media none does not exist"),
        (
            ["--answers-per-pair", "9" * 20],
            "",
            "--answers-per-pair must be at least 1 and at most 1,000,000,000, got 9999",
        ),
        (["-k", "0"], "", "k must be at least 1"),
        (["--question", "Which\none?"], "", r"question holds '\n', and has to be one line"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_made(run, words, table, told):
    Path("gold.csv").write_text(table)
    code, out, err = run(*CREATE, *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert told in err
    assert not Path("c.db").exists()


def test_texts_that_are_not_shown_are_told_briefly_with_what_to_do(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("e.csv").write_text(f"id,essay\na,{'Once upon a time ' * 500}\nb,{'The end ' * 500}\n")
    code, _, err = run("campaign", "create", "e.db", "--items", "e.csv", "--question", "Which?")
    assert (code, err.count("\n")) == (2, 1)
    assert "show it with --show text:essay, or name the feature columns with --features" in err
    assert len(err) < 250
    assert "--show" not in run("select", "e.csv", "-k", "1")[2]
