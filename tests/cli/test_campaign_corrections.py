"""The commands of organisers."""

from pathlib import Path

import pandas as pd
import pytest
import sqlalchemy as sa

from pairsmith.campaign.answering import corrections, leases
from pairsmith.campaign.planning import planner as planning
from pairsmith.campaign.store import schema, wordings
from pairsmith.campaign.store.store import Store
from support.campaigns import CREATE, answer_next, invite_people

pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture
def campaign(run):
    """Four answers of p0 and two of p1, one of them struck out."""
    run(*CREATE)
    with Store("c.db") as store:
        people = invite_people(store, 2)
        for person in (*people, *people, people[0], people[0]):
            leases.answer(store, person, leases.next_pair(store, person).token, "left", 1.0)
        corrections.strike(store, 2)
    return "c.db"


def test_excluded_answers_are_not_exported_unless_asked_for(run, campaign):
    assert run("campaign", "exclude", campaign, "p0") == (0, "p0: excluded, 4 answers left out.\n", "")
    code, out, err = run("campaign", "export", campaign, "-o", "a.csv")
    assert (code, err) == (0, "")
    assert out == ("Wrote 1 answer to a.csv\nLeft out: 1 struck out, 4 of excluded raters; --all has them\n")
    assert "status" not in pd.read_csv("a.csv")
    assert run("campaign", "export", campaign, "-o", "all.csv", "--all")[1] == "Wrote 6 answers to all.csv\n"
    assert sorted(pd.read_csv("all.csv")["status"]) == ["counts", *4 * ["excluded"], "struck"]
    for kind, ending in (("choix", "json"), ("dpo", "jsonl"), ("label-studio", "json")):
        wrote = "Wrote 1 pair " if kind == "dpo" else "Wrote 1 answer "
        assert wrote in run("campaign", "export", campaign, "--format", kind, "-o", f"x.{ending}")[1]
        code, _, err = run("campaign", "export", campaign, "--format", kind, "-o", f"x.{ending}", "--all")
        assert (code, err.count("\n")) == (2, 1)
        assert "use csv, jsonl, parquet" in err
    run("campaign", "create", "fresh.db", *CREATE[3:])  # what does not count is not imported
    assert run("campaign", "import", "fresh.db", "all.csv")[1] == "all.csv: 1 answer, 1 of them new.\n"
    assert run("campaign", "include", campaign, "p0") == (0, "p0: included, 4 answers counted.\n", "")
    assert run("campaign", "export", campaign, "-o", "a.csv")[1].startswith("Wrote 5 answers")
    code, out, err = run("campaign", "exclude", campaign, "carla")
    assert (code, out, err) == (2, "", "Error: there is no rater 'carla'; there are: p0, p1\n")


def test_raters_are_printed(run, campaign):
    run("campaign", "exclude", campaign, "p1")
    code, out, err = run("campaign", "raters", campaign)
    assert (code, err) == (0, "")
    assert "p0" in out
    assert "100%" not in out  # left, of four answers
    with Store(campaign) as store:
        planning.plan_round(store)
        with store.reading() as connection:
            p0 = connection.execute(sa.select(schema.people.c.id).where(schema.people.c.name == "p0")).scalar_one()
        for _ in range(2):
            answer_next(store, person=p0)
    out = run("campaign", "raters", campaign)[1]
    assert "100%" in out
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out  # headings are whole in 80 columns
    assert out.endswith("p1 is excluded, with 1 answer.\n")
    run("campaign", "create", "none.db", *CREATE[3:])
    assert run("campaign", "raters", "none.db") == (0, "none.db has no answers yet; label some pairs first\n", "")


def test_that_all_answers_are_left_out_is_said_where_nothing_can_be_learned(run, campaign):
    with Store(campaign) as store:
        for answer in (1, 3):
            corrections.strike(store, answer)
    run("campaign", "exclude", campaign, "p0", "p1")
    told = "of c.db all 6 answers are left out: 3 struck out, 3 of excluded raters; "
    for words in (["rank", campaign], ["fit", campaign, "-o", "model.json"]):
        code, out, err = run(*words)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert err.startswith(f"Error: {told}")
    run("campaign", "include", campaign, "p1")
    assert run("rank", campaign)[0] == 0
    with Store(campaign) as store:
        corrections.strike(store, 4)
    run("campaign", "include", campaign, "p0")
    with Store(campaign) as store:
        for answer in (5, 6):
            corrections.strike(store, answer)
    code, out, _ = run("campaign", "raters", campaign)
    assert (code, out[:65]) == (0, "of c.db all 6 answers are left out: 6 struck out, 0 of excluded r")


def test_question_and_instructions_are_edited(run, campaign):
    Path("how.md").write_text("**Look** é")
    code, out, err = run("campaign", "edit", campaign, "--question", "Which now?", "--instructions", "how.md")
    assert (code, err) == (0, "")
    assert out == "c.db: wording 2 is shown from the next pairs on: Which now?\n"
    with Store(campaign) as store:
        assert wordings.current(store) == (2, "Which now?", "**Look** é")
    assert "nothing is changed" in run("campaign", "edit", campaign, "--question", "Which now?")[1]
    for words, told in (
        ([], "give --question, --instructions or both"),
        (["--question", " "], "question is empty"),
        (["--instructions", "none.md"], "none.md cannot be read"),
    ):
        code, out, err = run("campaign", "edit", campaign, *words)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert told in err
