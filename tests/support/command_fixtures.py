"""The command line, and working folders with the files that its tests name."""

import sys

import numpy as np
import pandas as pd
import pytest

from pairsmith import cli
from support.campaigns import PNG


@pytest.fixture
def run(monkeypatch, capsys):
    """run("select items.csv -k 5"), or word by word -> the exit code and both outputs of the command line."""

    def call(*words):
        words = words[0].split() if len(words) == 1 else words
        monkeypatch.setattr(sys, "argv", ["pairsmith", *words])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        out, err = capsys.readouterr()
        return stop.value.code, out, err

    return call


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with eight items in items.csv and their pictures."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    items = pd.DataFrame(rng.standard_normal((8, 2)), columns=["f_1", "f_2"])
    items.insert(0, "id", [f"item {row}" for row in range(8)])
    items["note"] = [f"note <b>{row}</b>" for row in range(8)]
    items["path"] = [f"pictures/{row}.png" for row in range(8)]
    items["prompt"] = ["p", "q"] * 4
    (tmp_path / "pictures").mkdir()
    for row in range(8):
        (tmp_path / f"pictures/{row}.png").write_bytes(PNG)
    items.to_csv("items.csv", index=False)
    return tmp_path


@pytest.fixture
def samples(tmp_path, monkeypatch):
    """The working folder, with twelve items in items.csv, with their groups in grouped.csv, labels and answers."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    items = pd.DataFrame(rng.standard_normal((12, 3)), columns=["f_1", "f_2", "f_3"])
    items.insert(0, "id", [f"{row:03d}" for row in range(12)])
    items.to_csv("items.csv", index=False)
    items.assign(prompt=["p", "q", "NA"] * 4).to_csv("grouped.csv", index=False)
    (tmp_path / "labels.csv").write_text("id,label\n001,1\n007,-1\n009,\n")
    (tmp_path / "answers.csv").write_text("winner,loser\n000,003\n006,009\n")
    return tmp_path


@pytest.fixture
def answered(samples):
    """Answers to 40 pairs of the items, made by a known score."""
    items = pd.read_csv("items.csv", dtype={"id": str})
    score = items[["f_1", "f_2", "f_3"]].to_numpy() @ [2.0, -1.0, 0.5]
    rng = np.random.default_rng(0)
    pairs = np.array([rng.choice(12, 2, replace=False) for _ in range(40)])
    first, second = (items.id.to_numpy()[pairs[:, side]] for side in (0, 1))
    outcome = np.sign(score[pairs[:, 0]] - score[pairs[:, 1]]).astype(int)
    table = pd.DataFrame({"first": first, "second": second, "outcome": outcome})
    table.to_csv("outcomes.csv", index=False)
    table.assign(outcome=["first" if win > 0 else "second" for win in outcome]).to_csv("words.csv", index=False)
    winner, loser = np.where(outcome > 0, first, second), np.where(outcome > 0, second, first)
    pd.DataFrame({"first": first, "second": second, "winner": winner}).to_csv("named.csv", index=False)
    pd.DataFrame({"winner": winner, "loser": loser, "count": 1}).to_csv("won.csv", index=False)
    return items.id.to_numpy()[np.argsort(-score)]
