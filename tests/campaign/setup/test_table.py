"""Tables of items: prompts, authors and features."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from pairsmith.campaign.answering import leases
from pairsmith.campaign.options import TableColumns
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.setup.additions import add_items
from pairsmith.campaign.setup.table import check_hidden, read_authors, read_item_table, read_prompts
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.store.store import Store
from support.campaigns import ask, client_of

MAKE = ["campaign", "create", "c.db", "--items", "answers.csv", "--show", "text:response", "--question", "Better?"]
WORDS = ["one", "two", "six", "ten", "red", "big", "sad", "odd", "shy"]
ALL = [*MAKE, "--group-by", "prompt", "--prompt", "prompt", "--by", "model", "-k", "6"]


@pytest.fixture
def answers(tmp_path, monkeypatch):
    """The working folder, with a table of three models' answers to three prompts."""
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame(
        {
            "id": [f"{model}{at}" for at in range(3) for model in "abc"],
            "prompt": [f"Say *{at}*,\nplease." for at in range(3) for _ in "abc"],
            "model": list("abc") * 3,
            "response": [f"This is the {word} answer." for word in WORDS],
        }
    )
    table.to_csv("answers.csv", index=False)
    return table


def test_the_prompt_comes_with_each_pair(run, answers):
    code, out, err = run(*ALL)
    assert (code, err) == (0, "")
    assert "features are made from response" in out  # of neither the prompt nor the model
    with Store("c.db") as store, client_of(store) as api:
        pair = ask(api, "next")["pair"]
        prompt = answers.set_index("id")["prompt"]
        assert pair["prompt"] == {"kind": "text", "text": prompt[pair["left_id"]], "html": None, "url": None}
        assert prompt[pair["left_id"]] == prompt[pair["right_id"]]
        assert pair["left"][0]["text"] == answers.set_index("id")["response"][pair["left_id"]]
        assert api.get("/api/campaign").json()["question"] == "Better?"
        assert take_snapshot(store).authors.tolist() == list("abc") * 3
        assert people.local_rater(store)


@pytest.mark.parametrize(
    ("kind", "shown"), [("", "Say *0*,\nplease."), ("markdown:", "<p>Say <em>0</em>,\nplease.</p>")]
)
def test_an_answer_is_seen_with_its_prompt(run, answers, kind, shown):
    assert run(*ALL, "--prompt", f"{kind}prompt")[0] == 0
    with Store("c.db") as store, client_of(store) as api:
        me = people.local_rater(store)
        lease = leases.next_pair(store, me)
        leases.answer(store, me, lease.token, "left")
        at = int(str(store.items.features.index[lease.left])[1])  # which prompt it answers
        assert shown.replace("0", str(at)) in api.get("/answers/1").text


def test_markdown_prompts_are_rendered_safely(run, answers):
    answers["prompt"] += "\n\n<script>alert(1)</script> ![x](http://evil/x.png)"
    answers.to_csv("answers.csv", index=False)
    assert run(*ALL, "--prompt", "markdown:prompt")[0] == 0
    with Store("c.db") as store, client_of(store) as api:
        prompt = ask(api, "next")["pair"]["prompt"]
        assert prompt["text"] in set(answers["prompt"])
        assert "<em>" in prompt["html"]
        assert "<script" not in prompt["html"]
        assert "<img" not in prompt["html"]


def test_a_campaign_without_prompts_has_none(api):
    pair = ask(api, "next")["pair"]
    assert pair["prompt"] is None
    assert {pair["left_id"], pair["right_id"]} == {pair["left"][0]["text"], pair["right"][0]["text"]}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--prompt", "prompt"], "both answer it; say which items these are, with --group-by prompt"),
        (["--prompt", "prompt", "--group-by", "model"], "the items 'a0' and 'a1' are of one group, 'a', but answer"),
        (["--prompt", "promt", "--group-by", "prompt"], "there is no column 'promt'; it has id, prompt, model"),
        (["--by", "who"], "there is no column 'who'"),
        (["--show", "text:prompt", "--prompt", "prompt", "--group-by", "prompt"], "leave it out of --show"),
        (["--show", "text:model", "--by", "model"], "leave it out of --show"),
    ],
)
def test_impossible_columns_are_refused_before_any_work(run, answers, options, said):
    code, out, err = run(*MAKE, *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err
    assert not Path("c.db").exists()


def test_a_row_without_a_prompt_or_an_author_is_named(run, answers):
    answers.assign(prompt=answers["prompt"].where(answers.index != 4)).to_csv("answers.csv", index=False)
    assert "row 5 has nothing in column 'prompt'" in run(*ALL)[2]
    with pytest.raises(ValueError, match="row 5 has nothing in column 'prompt'"):
        read_prompts(Path("answers.csv"), "prompt")
    assert read_authors(Path("answers.csv"), "model").names.tolist() == list("abc") * 3
    with pytest.raises(ValueError, match=r"a \.npy file has no column for --by to name"):
        read_authors(Path("x.npy"), "model")


def test_the_campaign_ranks_within_prompts_and_ranks_authors(run, answers):
    run(*ALL)
    votes = "".join(f"{a}{at},{b}{at}\n" for at in range(3) for a, b in ("ab", "ac", "bc"))
    Path("votes.csv").write_text("winner,loser\n" + votes)
    run("campaign", "import", "c.db", "votes.csv")
    assert run("rank", "c.db", "-o", "items.csv")[0] == 0
    items = pd.read_csv("items.csv")
    assert list(items.columns[:4]) == ["rank", "id", "group", "score"]
    assert list(items["rank"]) == [1, 2, 3] * 3
    assert list(items["group"]) == list(answers["prompt"])
    assert run("rank", "c.db", "--by", "model", "-o", "models.csv", "--plot", "models.png")[0] == 0
    models = pd.read_csv("models.csv")
    assert list(models["model"]) == list("abc")
    assert list(models["items"]) == [3, 3, 3]
    assert (models["low"] < models["score"]).all()
    assert "made with --by model, so it does not know" in run("rank", "c.db", "--by", "mode")[2]


def test_a_table_ranks_authors_by_a_model_fitted_with_them(run, answers):
    Path("votes.csv").write_text("winner,loser\n" + "".join(f"a{at},b{at}\nb{at},c{at}\n" for at in range(3)))
    code, out, _ = run("fit", "answers.csv", "votes.csv", "--no-features", "--by", "model", "-o", "m.json")
    assert code == 0
    assert "model: category, 3 features" in out
    code, out, err = run("rank", "answers.csv", "m.json", "--by", "model", "--group-by", "prompt")
    assert (code, err) == (0, "")
    assert [line.split(",")[:3] for line in out.splitlines()] == [
        ["rank", "model", "items"], ["1", "a", "3"], ["2", "b", "3"], ["3", "c", "3"]]  # fmt: skip
    run("fit", "answers.csv", "votes.csv", "--no-features", "-o", "n.json")
    code, out, err = run("rank", "answers.csv", "n.json", "--by", "model")
    assert code == 0
    assert err.startswith("Note: the model was not told who made the items")
    assert "there is no column 'x'" in run("rank", "answers.csv", "m.json", "--by", "x")[2]


def test_added_items_have_prompts_and_authors_too(run, answers):
    run(*ALL)
    more = pd.DataFrame({"id": ["d0", "e0"], "prompt": answers["prompt"][:2], "model": ["d", "e"], "response": "New."})
    more.to_csv("more.csv", index=False)
    with Store("c.db") as store:
        assert add_items(store, Path("more.csv")) == 2
        assert store.prompt(9) == store.prompt(0)
        assert take_snapshot(store).authors.tolist() == [*list("abc") * 3, "d", "e"]
    assert run(*ALL[:2], "d.db", *ALL[3:], "--group-by", "model", "--prompt", "model", "--by", "prompt")[0] == 0
    more.assign(id=["f", "g"], model=["a", "z"]).to_csv("more.csv", index=False)
    with Store("d.db") as store:
        columns = replace(store.settings.columns, prompt="prompt")  # as if the prompts in the table had been edited
        store.settings = replace(store.settings, columns=columns)
        with pytest.raises(ValueError, match="item 'f' is of the group 'a', but answers another prompt"):
            add_items(store, Path("more.csv"))


def test_features_are_the_columns_that_are_not_shown(folder):
    pd.read_csv("items.csv").drop(columns=["path", "prompt"]).to_csv("few.csv", index=False)
    table = read_item_table(folder / "few.csv", TableColumns(show=["text:note"]))
    assert list(table.items.features.columns) == ["f_1", "f_2"]
    assert table.parts[0] == [("text", "note <b>0</b>")]


def test_prompts_and_authors_are_not_shown_with_each_item():
    check_hidden(["prompt", "model"], ["text:answer", "image:path"])
    with pytest.raises(ValueError, match="--show names the column 'model'"):
        check_hidden(["prompt", "model"], ["text:answer", "text:model"])
