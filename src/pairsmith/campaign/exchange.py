"""Answers written to files and read from files.

csv, jsonl and parquet have one row for each answer: first, second, outcome (1 first preferred, -1 second, 0 tie), left
(the item that was shown left), labeller, seconds, time, and why the pair was asked (designed, random, repeated, gold or
imported); strength (slightly or much better) and comment where there are any; wording, the number of the question and
instructions that were shown, where these were edited; status (counts, struck or excluded) where all answers are asked
for. What is exported, imported and exported again is the same file, but for the wording, which is the campaign's own,
and answers that do not count, which are not imported; what is imported twice counts once. choix and dpo know only who
won: ties are left out, and they cannot be read back.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from pairsmith.campaign import answers, wordings
from pairsmith.campaign.schema import REASONS, SECOND
from pairsmith.campaign.snapshot import take_snapshot
from pairsmith.campaign.store import Store
from pairsmith.data.arrays import Ints
from pairsmith.files.answers import read_answers
from pairsmith.files.formats import read_table
from pairsmith.files.items import Items
from pairsmith.files.sources import contents
from pairsmith.files.write import write_whole
from pairsmith.files.write_table import as_written, write_table

TABLES = ("csv", "jsonl", "parquet")
ENDINGS = {
    "csv": ".csv",
    "jsonl": ".jsonl",
    "parquet": ".parquet",
    "choix": ".json",
    "label-studio": ".json",
    "dpo": ".jsonl",
}
MOST = 10_000_000  # answers in a file
SAID_TOO = ("strength", "comment")  # columns that a file of answers may have
BESIDES = ("labeller", "time", "why", *SAID_TOO)  # what a file may say of an answer besides what everybody reads


def export_answers(store: Store, kind: str, path: Path, raw: bool = False, every: bool = False) -> tuple[int, int]:
    """Write the answers that stand; how many were written, and how many ties left out.

    `raw`: texts that a spreadsheet would take for formulas stay as they are in csv. `every`: those struck out and those
    of excluded labellers too, in a table whose column `status` says so.
    """
    snapshot = take_snapshot(store)
    standing = snapshot.answers
    if every:
        with store.reading() as connection:
            standing = answers.standing(connection, store.target, every)
    if kind in TABLES or kind == "label-studio":
        table = _as_table(standing, store.items.names, every)
        if kind in TABLES:
            write_table(table, path, kind, raw)
        else:
            _write_text(path, json.dumps(_tasks(store, table, standing), indent=1, ensure_ascii=False) + "\n")
        return len(standing), 0
    decided = standing[standing["outcome"] != 0]
    first, second, outcome = (decided[name].to_numpy() for name in ("first", "second", "outcome"))
    winners, losers = np.where(outcome > 0, first, second), np.where(outcome > 0, second, first)
    lines = _choix(store, winners, losers) if kind == "choix" else _dpo(store, snapshot.groups, winners, losers)
    _write_text(path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    return len(decided), len(standing) - len(decided)


def import_answers(store: Store, path: Path) -> tuple[int, int]:
    """Read answers made elsewhere: how many there are in the file, and how many of them are new."""
    items = Items(Path(store.target), store.items.features)
    with store.reading() as connection:  # a campaign that has to be repaired first is told so first
        answers.standing(connection, store.target)
    given = _read_tasks(path, items) if path.suffix == ".json" else _read_table(path, items)
    first, second, outcome = (given[name].to_numpy() for name in ("first", "second", "outcome"))
    given = given.assign(
        first=np.minimum(first, second),
        second=np.maximum(first, second),
        outcome=np.where(first > second, -outcome, outcome),
    )
    if not store.settings.ties and (given["outcome"] == 0).any():
        raise ValueError(f"{path}: row {int(np.argmax(given['outcome'] == 0)) + 1} is a tie; this campaign has none")
    return len(given), answers.add(store, given)


def _as_table(given: pd.DataFrame, names: Sequence[str], every: bool) -> pd.DataFrame:
    """Answers with the ids of items and readable times."""
    name_of = np.array(names, dtype=object)
    table = pd.DataFrame(
        {
            "first": name_of[given["first"]],
            "second": name_of[given["second"]],
            "outcome": given["outcome"],
            "left": name_of[given["left"]],
            "labeller": given["labeller"],
            "seconds": given["seconds"],
            "time": [_time(at) for at in given["at"]],
            "why": given["why"],
        }
    )
    table = table.assign(**{name: given[name] for name in SAID_TOO if (given[name] != "").any()})
    if (given["wording"] > 1).any():
        table["wording"] = given["wording"]
    return table.assign(status=given["status"]) if every else table


def _choix(store: Store, winners: Ints, losers: Ints) -> list[dict[str, Any]]:
    """What the library choix takes: one object, with (winner, loser) by row."""
    names = store.items.names
    data = [[int(i), int(j)] for i, j in zip(winners, losers, strict=True)]
    return [{"n_items": len(names), "items": names, "data": data}]


def _dpo(store: Store, groups: npt.NDArray[np.object_] | None, winners: Ints, losers: Ints) -> list[dict[str, Any]]:
    """Preferences to tune a language model by: one object for each answer; the prompt is the group, or the question."""
    question = wordings.current(store).question
    texts = {int(row): _text(store, int(row)) for row in np.unique(np.concatenate([winners, losers]))}
    return [
        {
            "prompt": question if groups is None else groups[i],
            "chosen": texts[int(i)],
            "rejected": texts[int(j)],
        }
        for i, j in zip(winners, losers, strict=True)
    ]


def _time(at: int) -> str:
    """A time of the tables as ISO 8601."""
    return datetime.fromtimestamp(at // SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%S") + f".{at % SECOND:06d}Z"


def _at(text: Any, where: str) -> float:
    """Microseconds of a time as ISO 8601, NaN where there is none. A time without a zone is UTC."""
    if (np.ndim(text) == 0 and pd.isna(text)) or str(text).strip() == "":
        return np.nan
    try:
        time = datetime.fromisoformat(str(text).strip())
    except ValueError:
        raise ValueError(f"{where} has the time {text!r}; write it as 2026-01-31T12:00:00Z") from None
    whole = time if time.tzinfo else time.replace(tzinfo=UTC)
    seconds = (whole.replace(microsecond=0) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
    if not 0 <= seconds < 9e9:  # microseconds are exact in a float until the year 2255
        raise ValueError(f"{where} has the time {text!r}; it must be between 1970 and 2255")
    return float(int(seconds) * SECOND + whole.microsecond)


def _write_text(path: Path, text: str) -> None:
    write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))


def _text(store: Store, row: int) -> str:
    """What a language model would call this item: its texts, or else its files."""
    parts = store.parts(row)
    texts = [value for kind, value in parts if kind in ("text", "markdown")]
    return "\n\n".join(texts or [value for _, value in parts])


def _tasks(store: Store, table: pd.DataFrame, standing: pd.DataFrame) -> list[dict[str, Any]]:
    """Label Studio's tasks: one for each pair on its sides, with an annotation for each answer.

    Its Pairwise tag knows left and right; a tie is the choice "tie" of a Choices tag.
    """
    tasks: dict[tuple[str, str], dict[str, Any]] = {}
    rows = {name: row for row, name in enumerate(store.items.names)}
    line: Any
    for line, won, left in zip(table.itertuples(), standing["outcome"], standing["left"], strict=True):
        right = line.second if line.left == line.first else line.first
        if (line.left, right) not in tasks:
            data = {"left_id": line.left, "right_id": right, "left": _text(store, left),
                    "right": _text(store, rows[right])}  # fmt: skip
            tasks[line.left, right] = {"id": len(tasks) + 1, "data": data, "annotations": []}
        chosen = "tie" if won == 0 else "left" if (won > 0) == (line.left == line.first) else "right"
        result = {"from_name": "pairwise", "to_name": "left,right", "type": "pairwise", "value": {"selected": chosen}}
        if chosen == "tie":
            result |= {"from_name": "tie", "type": "choices", "value": {"choices": ["tie"]}}
        tasks[line.left, right]["annotations"].append(
            {
                "completed_by": {"email": line.labeller},
                "created_at": line.time,
                "lead_time": None if pd.isna(line.seconds) else line.seconds,
                "result": [result],
            }
        )
    return list(tasks.values())


def _read_tasks(path: Path, items: Items) -> pd.DataFrame:
    try:
        content = contents(path)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    try:
        tasks = json.loads(content)
    except (ValueError, RecursionError):
        raise ValueError(f"{path} is no JSON; export it from Label Studio as JSON") from None
    found: list[dict[str, Any]] = []
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise ValueError(f"{path}: a list of Label Studio tasks is expected")
    for number, task in enumerate(tasks, 1):
        data = task.get("data")
        if not isinstance(data, dict) or not {"left_id", "right_id"} <= data.keys():
            raise ValueError(f"{path}: task {number} has no left_id and right_id in its data, which name the two items")
        named = str(data["left_id"]), str(data["right_id"])
        left, right = items.find(named).tolist()
        for name, row in zip(named, (left, right), strict=True):
            if row < 0:
                raise ValueError(f"{path}: task {number} names the item {name!r}, which is not in {items.path}")
        if left == right:
            raise ValueError(f"{path}: task {number} compares the item {named[0]!r} with itself")
        for annotation in _list(task.get("annotations"), f"{path}: task {number}: annotations"):
            choice = _choice(annotation, f"{path}: task {number}: result")
            if choice is None:
                continue  # cancelled, or about something else
            found.append(
                {
                    "first": left,
                    "second": right,
                    "outcome": {"left": 1, "right": -1, "tie": 0}[choice],
                    "labeller": _completed_by(annotation.get("completed_by")),
                    "seconds": _seconds(annotation.get("lead_time")),
                    "at": _at(annotation.get("created_at"), f"{path}: task {number}"),
                }
            )
    frame = pd.DataFrame(found, columns=["first", "second", "outcome", "labeller", "seconds", "at"])
    frame["left"] = frame["first"]
    return frame.astype(dict.fromkeys(["first", "second", "left", "outcome"], np.int64))


def _list(found: Any, where: str) -> list[Any]:
    if found is not None and not isinstance(found, list):
        raise ValueError(f"{where} is no list; export it from Label Studio as JSON")
    return found or []


def _seconds(found: Any) -> float:
    """How long an answer took, NaN where nothing sensible is said."""
    return float(found) if isinstance(found, int | float) and 0 <= found <= 1e9 else np.nan


def _choice(annotation: Any, where: str) -> str | None:
    if not isinstance(annotation, dict) or annotation.get("was_cancelled"):
        return None
    for result in _list(annotation.get("result"), where):
        value = result.get("value") if isinstance(result, dict) else None
        if not isinstance(value, dict):
            continue
        if value.get("selected") in ("left", "right"):
            return str(value["selected"])
        choices = value.get("choices")
        if isinstance(choices, list) and [str(choice).lower() for choice in choices] == ["tie"]:
            return "tie"
    return None


def _completed_by(who: Any) -> str:
    if isinstance(who, dict):
        who = who.get("email") or who.get("username") or who.get("id")
    return "imported" if who in (None, "") else str(who)


def _read_table(path: Path, items: Items) -> pd.DataFrame:
    pairs, outcomes, counts, _, left = read_answers(path, items, raters=())
    table = read_table(
        path, lambda names: [name for name in ("labeller", "time", "why", "status", *SAID_TOO) if name in names], True
    )
    for name in ("outcome", "winner"):  # rows without one are no answers, and were left out above
        if name in table.columns and "first" in table.columns:
            table = table[table[name].notna() & (table[name].astype(str).str.strip() != "")]
            break
    if np.any(counts != np.round(counts)):
        raise ValueError(f"{path}: column 'count' has fractions; an answer is given by one person")
    if counts.sum() > MOST:
        raise ValueError(
            f"{path}: column 'count' adds up to {counts.sum():.3g} answers; at most {MOST:,} can be imported"
        )

    def column(name: str, otherwise: Any) -> Any:
        return table[name].to_numpy() if name in table.columns else np.full(len(table), otherwise, dtype=object)

    given = pd.DataFrame({"first": pairs[:, 0], "second": pairs[:, 1], "outcome": outcomes.astype(np.int64)})
    given["labeller"] = [
        "imported" if pd.isna(name) or not str(name).strip() else str(name) for name in column("labeller", None)
    ]
    given["labeller"] = as_written(given["labeller"], path)
    given["seconds"] = pd.to_numeric(pd.Series(column("seconds", np.nan)), errors="coerce")
    for name in ("why", *SAID_TOO):
        given[name] = as_written(pd.Series(["" if pd.isna(said) else str(said) for said in column(name, None)]), path)
    for name, words in (("strength", ("slightly", "much")), ("why", REASONS)):
        unknown = ~given[name].isin(["", *words])
        if unknown.any():
            row = int(np.argmax(unknown))
            one_of = f"{', '.join(words[:-1])} or {words[-1]}"
            raise ValueError(f"{path}: row {row + 1} has the {name} {given[name][row]!r}; write {one_of}")
    given["at"] = np.array([_at(time, f"{path}: row {row}") for row, time in enumerate(column("time", None), 1)])
    given["left"] = np.where(left < 0, pairs[:, 0], left)
    counts = np.where(np.isin(column("status", "counts"), ["struck", "excluded"]), 0, counts)
    return given.loc[given.index.repeat(counts.astype(int))].reset_index(drop=True)
