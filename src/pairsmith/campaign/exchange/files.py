"""Answers written to files and read from files.

csv, jsonl and parquet have one row for each answer: first, second, outcome (1 first preferred, -1 second, 0 tie), left
(the item that was shown left), rater, seconds, time, and why the pair was asked (designed, random, repeated, gold or
imported); question, its number, where there are several; prompt, strength (slightly or much better) and comment where
there are any; wording, the number of the question and instructions that were shown, where these were edited; status
(counts, struck or excluded) where all answers are asked for. What is exported, imported and exported again is the same
file, but for the wording, which is the campaign's own, and answers that do not count, which are not imported; what is
imported twice counts once. choix and dpo know only who won, and argilla is for Argilla: they cannot be read back.
`label_studio` has its tasks, `preferences` the rows of dpo and argilla. All of these are of one question.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pairsmith.campaign import counted
from pairsmith.campaign.exchange import label_studio, preferences
from pairsmith.campaign.exchange.times import read_time, written_time
from pairsmith.campaign.store import answers, database
from pairsmith.campaign.store.raters import UNNAMED
from pairsmith.campaign.store.schema import REASONS
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.store.store import Store
from pairsmith.data.arrays import Ints
from pairsmith.data.names import quoted
from pairsmith.files.answers import read_answers
from pairsmith.files.formats import read_table
from pairsmith.files.items import Items
from pairsmith.files.write import descriptor, write_whole
from pairsmith.files.write_table import as_written, write_table

TABLES = ("csv", "jsonl", "parquet")
ENDINGS = {
    "csv": ".csv",
    "jsonl": ".jsonl",
    "parquet": ".parquet",
    "choix": ".json",
    "label-studio": ".json",
    "dpo": ".jsonl",
    "argilla": ".parquet",
}
OTHER_ENDINGS = {  # that a file of this format may have as well
    "csv": (".gz", ".bz2", ".xz", ".zst"),
    "jsonl": (".ndjson",),
    "dpo": (".ndjson", ".json", ".parquet"),
    "argilla": (".jsonl", ".ndjson", ".json"),
}
_ANY_ENDING = {*ENDINGS.values(), ".tsv", *(ending for endings in OTHER_ENDINGS.values() for ending in endings)}
MOST = 10_000_000  # answers in a file
SAID_TOO = ("strength", "comment")  # columns that a file of answers may have
# What a file may say of an answer besides what everybody reads.
BESIDES = ("rater", "time", "why", "question", *SAID_TOO)


def export_answers(
    store: Store,
    kind: str,
    path: Path,
    raw: bool = False,
    every: bool = False,
    each: bool = False,
    conversational: bool = False,
    question: int | None = None,
) -> str:
    """Write the answers that stand; what was written, and what was left out, in words.

    Only those to this `question`, 0 for the first, where it is given; a format without a column for it needs one where
    there are several.
    `raw`: texts that a spreadsheet would take for formulas stay as they are in csv. `every`: those struck out and those
    of excluded raters too, in a table whose column `status` says so. `each` and `conversational` are of dpo: a row
    for each answer instead of each pair; messages instead of texts.
    """
    _check_ending(path, kind)
    if kind in TABLES:
        with store.reading() as connection:
            standing = answers.standing(connection, store.target, every, question)
        write_table(_as_table(store, standing, every), path, kind, raw)
        return f"{counted(len(standing), 'answer')} to {path}"
    if question is None and len(store.settings.questions) > 1:
        raise ValueError(f"{kind} has no place for the number of a question; say which one to export with --question")
    snapshot = take_snapshot(store, question or 0)
    standing = snapshot.answers
    if kind == "label-studio":
        tasks = label_studio.tasks(store, snapshot)
        _write_text(path, json.dumps(tasks, indent=1, ensure_ascii=False) + "\n")
        told = f"{counted(len(standing), 'answer')} to {path} ({counted(len(tasks), 'task')})"
        if descriptor(path) is not None:  # beside a stream there is no place for a second file
            return told
        beside = path.with_suffix(".xml")
        _write_text(beside, label_studio.config(store, snapshot))
        return f"{told}, the labelling config to {beside}"
    elif kind == "argilla":
        _write_rows(preferences.argilla_rows(store, snapshot), path)
    elif kind == "dpo":
        found = preferences.preference_rows(store, snapshot, each, conversational)
        _write_rows(found.rows, path)
        return _told(found, path, each)
    else:
        decided = standing[standing["outcome"] != 0]
        _write_text(path, json.dumps(_choix(store, decided), ensure_ascii=False) + "\n")
        left_out = len(standing) - len(decided)
        ties = f" ({counted(left_out, 'tie')} left out: {kind} has none)" if left_out else ""
        return f"{counted(len(decided), 'answer')} to {path}{ties}"
    return f"{counted(len(standing), 'answer')} to {path}"


def _check_ending(path: Path, kind: str) -> None:
    """Refuse a file name that promises another format: whoever reads the file goes by its ending."""
    endings = (ENDINGS[kind], *OTHER_ENDINGS.get(kind, ()))
    if path.suffix in _ANY_ENDING and path.suffix not in endings:
        raise ValueError(f"--output {path}: --format {kind} writes {ENDINGS[kind]}; change one of the two")


def _told(found: preferences.Preferences, path: Path, each: bool) -> str:
    """What a file of preferences holds, and what it leaves out."""
    if each:
        ties = f" ({counted(found.ties, 'tie')} left out: dpo has none)" if found.ties else ""
        return f"{counted(found.answers, 'answer')} to {path}{ties}"
    return (
        f"{counted(len(found.rows), 'pair')} to {path}, by the majority of {counted(found.answers, 'answer')};"
        f" {found.contradicted} of them contradicted by some; left out: {counted(found.ties, 'tie')},"
        f" {found.undecided} without a majority"
    )


def _write_rows(rows: list[dict[str, Any]], path: Path) -> None:
    """As Parquet or, whatever else the file is called, as JSON Lines."""
    if path.suffix == ".parquet":
        write_table(pd.DataFrame(rows), path, "parquet")
    else:
        _write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def import_answers(store: Store, path: Path, question: int | None = None) -> tuple[int, int]:
    """Read answers made elsewhere: how many there are in the file, and how many of them are new.

    They are to this `question`, 0 for the first, where the file does not say to which.
    """
    items = Items(Path(database.shown(store.target)), store.items.features)  # named in errors
    with store.reading() as connection:  # a campaign that has to be repaired first is told so first
        answers.standing(connection, store.target)
    given = label_studio.read_tasks(path, items) if path.suffix == ".json" else _read_table(path, items)
    given = given.assign(question=_questions(path, given, question, len(store.settings.questions)))
    first, second, outcome = (given[name].to_numpy() for name in ("first", "second", "outcome"))
    given = given.assign(
        first=np.minimum(first, second),
        second=np.maximum(first, second),
        outcome=np.where(first > second, -outcome, outcome),
    )
    groups = store.items.groups
    apart = np.zeros(len(given), dtype=bool) if groups is None else groups[given["first"]] != groups[given["second"]]
    if apart.any():
        row = given[apart].iloc[0]
        one, other = (store.items.names[row[side]] for side in ("first", "second"))
        raise ValueError(
            f"{path}: {quoted(one)} and {quoted(other)} are of different groups, which this campaign does not compare"
        )
    if not store.settings.ties and (given["outcome"] == 0).any():
        raise ValueError(f"{path}: row {int(np.argmax(given['outcome'] == 0)) + 1} is a tie; this campaign has none")
    return len(given), answers.add(store, given)


def _questions(path: Path, given: pd.DataFrame, question: int | None, count: int) -> Ints:
    """Which question each answer is to, 0 for the first: as its file says, or else this one."""
    said = given["question"] if "question" in given else pd.Series([""] * len(given), dtype=object)
    if question is None and count > 1 and (said == "").any():
        raise ValueError(
            f"{path} does not say which question its answers are to; add a column question with 1 to {count}, or name"
            " it with --question"
        )
    numbers = pd.to_numeric(said.where(said != "", str((question or 0) + 1)), errors="coerce")
    if count == 1:  # what else such a column holds has nothing to do with us
        numbers = numbers.where(numbers > 1, 1)
    if (wrong := ~numbers.isin(range(1, count + 1))).any():
        row = int(np.argmax(wrong))
        has = "one question" if count == 1 else f"the questions 1 to {count}"
        raise ValueError(f"{path}: row {row + 1} is to the question {quoted(said.iloc[row])}; this campaign has {has}")
    return numbers.to_numpy(dtype=np.int64) - 1


def _as_table(store: Store, given: pd.DataFrame, every: bool) -> pd.DataFrame:
    """Answers with the ids of items and readable times."""
    name_of = np.array(store.items.names, dtype=object)
    table = pd.DataFrame(
        {
            "first": name_of[given["first"]],
            "second": name_of[given["second"]],
            "outcome": given["outcome"],
            "left": name_of[given["left"]],
            "rater": given["rater"],
            "seconds": given["seconds"],
            "time": [written_time(at) for at in given["at"]],
            "why": given["why"],
        }
    )
    if len(store.settings.questions) > 1:
        table["question"] = given["question"] + 1
    if store.prompt(0) is not None:
        table["prompt"] = [store.prompt(int(row)) for row in given["first"]]
    table = table.assign(**{name: given[name] for name in SAID_TOO if (given[name] != "").any()})
    if (given["wording"] > 1).any():
        table["wording"] = given["wording"]
    return table.assign(status=given["status"]) if every else table


def _choix(store: Store, decided: pd.DataFrame) -> dict[str, Any]:
    """What the library choix takes: (winner, loser) by row."""
    first, second, outcome = (decided[name].to_numpy() for name in ("first", "second", "outcome"))
    data = np.column_stack([np.where(outcome > 0, first, second), np.where(outcome > 0, second, first)])
    return {"n_items": len(store.items.names), "items": store.items.names, "data": data.tolist()}


def _write_text(path: Path, text: str) -> None:
    write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))


def _read_table(path: Path, items: Items) -> pd.DataFrame:
    found = read_answers(path, items, raters=(), several_questions=True)
    table = read_table(path, lambda names: [name for name in BESIDES if name in names], True).iloc[found.rows]
    counts, numbers = found.counts, found.rows + 1
    if np.any(counts != np.round(counts)):
        raise ValueError(f"{path}: column 'count' has fractions; an answer is given by one person")
    if counts.sum() > MOST:
        raise ValueError(
            f"{path}: column 'count' adds up to {counts.sum():.3g} answers; at most {MOST:,} can be imported"
        )

    def column(name: str, otherwise: Any) -> Any:
        return table[name].to_numpy() if name in table.columns else np.full(len(table), otherwise, dtype=object)

    given = pd.DataFrame(
        {"first": found.pairs[:, 0], "second": found.pairs[:, 1], "outcome": found.outcomes.astype(np.int64)}
    )
    given["rater"] = [
        UNNAMED if pd.isna(name) or not str(name).strip() else str(name) for name in column("rater", None)
    ]
    given["rater"] = as_written(given["rater"], path)
    given["seconds"] = _read_seconds(pd.Series(column("seconds", np.nan)), numbers, path)
    for name in ("why", "question", *SAID_TOO):
        given[name] = as_written(pd.Series(["" if pd.isna(said) else str(said) for said in column(name, None)]), path)
    for name, words in (("strength", ("slightly", "much")), ("why", REASONS)):
        unknown = ~given[name].isin(["", *words])
        if unknown.any():
            at = int(np.argmax(unknown))
            one_of = f"{', '.join(words[:-1])} or {words[-1]}"
            raise ValueError(f"{path}: row {numbers[at]} has the {name} {quoted(given[name][at])}; write {one_of}")
    times = zip(column("time", None), numbers, strict=True)
    given["at"] = np.array([read_time(time, f"{path}: row {number}") for time, number in times])
    given["left"] = np.where(found.left < 0, found.pairs[:, 0], found.left)
    return given.loc[given.index.repeat(counts.astype(int))].reset_index(drop=True)


def _read_seconds(written: pd.Series, numbers: Ints, path: Path) -> pd.Series:
    """Read how long answers took, NaN where nothing is written; `numbers` are the rows of the file."""
    seconds = pd.to_numeric(written, errors="coerce").astype(np.float64)
    wrong = written.notna() & (written.astype(str).str.strip() != "") & ~seconds.between(0, np.inf, inclusive="left")
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(
            f"{path}: row {numbers[at]} has the seconds {quoted(str(written[at]))}; write a number such as 2.5, or"
            " nothing"
        )
    return seconds
