"""Preferences as TRL's and Argilla's documentation has them."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pairsmith.campaign.exchange.preferences import argilla_rows
from pairsmith.campaign.setup.table import Prompts
from pairsmith.campaign.store.answers import add_answers
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.store.store import Store
from pairsmith.files.items import Items
from support.campaigns import answers_of, create_campaign, items_of

GIVEN = [  # pair, outcomes: two to one, contradictory, a tie, more ties than wins, clear
    ((0, 1), [1, 1, -1]),
    ((0, 2), [1, -1]),
    ((1, 2), [0]),
    ((3, 4), [0, -1, 0]),
    ((3, 5), [-1, -1]),
    ((4, 5), [1, 0]),
]


@pytest.fixture
def store(tmp_path, monkeypatch):
    """Six items that answer two prompts, and fourteen answers about them."""
    monkeypatch.chdir(tmp_path)
    groups = np.array(["x"] * 3 + ["y"] * 3, dtype=object)
    items = Items(Path("items.csv"), items_of(6).features, groups)
    shown = [[("text", f"answer {row}"), ("markdown", "*more*")] for row in range(6)]
    texts = np.array(["What is x?"] * 3 + ["What is y?"] * 3, dtype=object)
    create_campaign("c.db", items, shown, question="Which?", k=6, prompts=Prompts("prompt", "text", texts))
    with Store("c.db") as opened:
        for pair, outcomes in GIVEN:
            names = [f"p{at}" for at in range(len(outcomes))]
            add_answers(opened, answers_of([pair] * len(outcomes), outcome=outcomes, rater=names))
        yield opened


def export(run, *options, file="out.jsonl", kind="dpo"):
    code, out, err = run("campaign", "export", "c.db", "--format", kind, "-o", file, *options)
    assert (code, err) == (0, "")
    return out


def text(row):
    return f"answer {row}\n\n*more*"


def test_each_pair_is_one_row_by_majority(run, store):
    told = export(run)
    rows = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    expected = [("What is x?", 0, 1), ("What is y?", 5, 3)]
    assert sorted(rows, key=str) == [
        {"prompt": prompt, "chosen": text(i), "rejected": text(j)} for prompt, i, j in expected
    ]
    assert told == (
        "Wrote 2 pairs to out.jsonl, by the majority of 5 answers; 1 of them contradicted by some; left out: 2 ties, 2"
        " without a majority\n"
    )


def test_each_answer_is_one_row_on_request(run, store):
    told = export(run, "--each")
    rows = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    decided = sum(outcome != 0 for _, outcomes in GIVEN for outcome in outcomes)
    assert len(rows) == decided == 9
    assert sum(row["chosen"] == text(0) and row["rejected"] == text(1) for row in rows) == 2
    assert told == "Wrote 9 answers to out.jsonl (4 ties left out: dpo has none)\n"


def test_rows_can_be_messages_and_parquet(run, store):
    export(run, "--conversational", file="out.parquet")
    table = pd.read_parquet("out.parquet")
    assert list(table.columns) == ["prompt", "chosen", "rejected"]
    row = next(row for row in table.to_dict("records") if row["prompt"][0]["content"] == "What is x?")
    assert list(row["prompt"]) == [{"role": "user", "content": "What is x?"}]
    assert list(row["chosen"]) == [{"role": "assistant", "content": text(0)}]
    assert list(row["rejected"]) == [{"role": "assistant", "content": text(1)}]


def test_argilla_records_have_responses_and_a_suggestion(run, store):
    export(run, file="out.parquet", kind="argilla")
    table = pd.read_parquet("out.parquet").set_index("id")
    assert len(table) == 6
    row = table.loc["000 | 001"]
    assert (row["prompt"], row["response_1"], row["response_2"]) == ("What is x?", text(0), text(1))
    assert list(row["preference.responses"]) == ["response_1", "response_1", "response_2"]
    assert list(row["preference.responses.users"]) == ["p0", "p1", "p2"]
    assert list(row["preference.responses.status"]) == ["submitted"] * 3
    assert row["preference.suggestion"] == "response_1"
    assert row["preference.suggestion.score"] == pytest.approx(2 / 3)
    assert pd.isna(table.loc["000 | 002", "preference.suggestion"])
    assert table.loc["003 | 004", "preference.suggestion"] == "tie"


def test_argilla_records_have_unique_ids(tmp_path, monkeypatch):
    """Argilla keeps one record of each id."""
    monkeypatch.chdir(tmp_path)
    names = ["a", "a | b", "b | c", "c", "a |", "| c", "||", "|"]
    items = Items(Path("items.csv"), items_of(8).features.set_axis(names))
    create_campaign("c.db", items, [[("text", name)] for name in names], question="Which?", k=6)
    pairs = [(i, j) for i in range(8) for j in range(i + 1, 8)]
    with Store("c.db") as opened:
        add_answers(opened, answers_of(pairs))
        ids = [row["id"] for row in argilla_rows(opened, take_snapshot(opened))]
    assert len(set(ids)) == len(pairs)


def test_tables_have_a_prompt_column(run, store):
    export(run, file="out.csv", kind="csv")
    table = pd.read_csv("out.csv", dtype=str)
    assert (table["prompt"] == np.where(table["first"] < "003", "What is x?", "What is y?")).all()


def test_dpo_options_are_refused_for_other_formats(run, store):
    for option in ("--each", "--conversational"):
        code, _, err = run("campaign", "export", "c.db", "--format", "csv", "-o", "x.csv", option)
        assert (code, err) == (2, f"Error: {option} is for --format dpo; leave it out\n")
