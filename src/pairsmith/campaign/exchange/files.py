"""Export answers to files and import answers from files.

csv, jsonl and parquet have one row for each answer. Its columns are first, second, outcome (1: first preferred, -1:
second, 0: tie), left (the item shown on the left), rater, seconds, time, and why the pair was asked (designed, random,
repeated, gold or imported). These columns appear only if needed: question (its number, if there are several), prompt,
strength (slightly or much better), comment, wording (its number, if it was edited), and status (counts, struck or
excluded, if answers that do not count are exported too).

Importing an export into a new campaign and exporting again gives the same file, except for the wording, which belongs
to the campaign, and answers that do not count, which are not imported. An answer that is imported twice counts once.

The other formats have the answers to one question. choix and dpo keep only who won, and argilla is for Argilla, so they
cannot be imported. See `label_studio` for its tasks and `preferences` for the rows of dpo and argilla.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pairsmith.campaign import counted
from pairsmith.campaign.exchange import label_studio, preferences
from pairsmith.campaign.exchange.times import iso_time, parse_time
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
OTHER_ENDINGS = {  # also accepted for a format
    "csv": (".gz", ".bz2", ".xz", ".zst"),
    "jsonl": (".ndjson",),
    "dpo": (".ndjson", ".json", ".parquet"),
    "argilla": (".jsonl", ".ndjson", ".json"),
}
_ANY_ENDING = {*ENDINGS.values(), ".tsv", *(ending for endings in OTHER_ENDINGS.values() for ending in endings)}
MAX_IMPORTED_ANSWERS = 10_000_000
OPTIONAL_COLUMNS = ("strength", "comment")  # exported only if any answer has one
# Columns that an import reads besides those that `read_answers` knows.
IMPORTED_COLUMNS = ("rater", "time", "why", "question", *OPTIONAL_COLUMNS)


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
    """Write the answers that count to a file, and return a sentence on what was written and what was left out.

    `question` (0: the first) selects the answers to one question; formats without a column for it require it if there
    are several. With `raw`, csv keeps texts that a spreadsheet would take for formulas. With `every`, a table has the
    answers that do not count too, and a column `status`. `each` and `conversational` are options of dpo: a row for each
    answer instead of each pair, and messages instead of texts.
    """
    _check_ending(path, kind)
    if kind in TABLES:
        with store.reading() as connection:
            exported = answers.load_answers(connection, every, question)
        write_table(_as_table(store, exported, every), path, kind, raw)
        return f"{counted(len(exported), 'answer')} to {path}"
    if question is None and len(store.settings.questions) > 1:
        raise ValueError(f"{kind} has no place for the number of a question; say which one to export with --question")
    snapshot = take_snapshot(store, question or 0)
    exported = snapshot.answers
    if kind == "label-studio":
        tasks = label_studio.tasks(store, snapshot)
        _write_text(path, json.dumps(tasks, indent=1, ensure_ascii=False) + "\n")
        summary = f"{counted(len(exported), 'answer')} to {path} ({counted(len(tasks), 'task')})"
        if descriptor(path) is not None:  # a stream has no place for a second file
            return summary
        config_path = path.with_suffix(".xml")
        _write_text(config_path, label_studio.config(store, snapshot))
        return f"{summary}, the labelling config to {config_path}"
    elif kind == "argilla":
        _write_rows(preferences.argilla_rows(store, snapshot), path)
    elif kind == "dpo":
        preferred = preferences.preference_rows(store, snapshot, each, conversational)
        _write_rows(preferred.rows, path)
        return _summary_of_preferences(preferred, path, each)
    else:
        decided = exported[exported["outcome"] != 0]
        _write_text(path, json.dumps(_choix(store, decided), ensure_ascii=False) + "\n")
        tie_count = len(exported) - len(decided)
        ties = f" ({counted(tie_count, 'tie')} left out: {kind} has none)" if tie_count else ""
        return f"{counted(len(decided), 'answer')} to {path}{ties}"
    return f"{counted(len(exported), 'answer')} to {path}"


def _check_ending(path: Path, kind: str) -> None:
    """Refuse a file name with the ending of another format: readers of the file go by its ending."""
    endings = (ENDINGS[kind], *OTHER_ENDINGS.get(kind, ()))
    if path.suffix in _ANY_ENDING and path.suffix not in endings:
        raise ValueError(f"--output {path}: --format {kind} writes {ENDINGS[kind]}; change one of the two")


def _summary_of_preferences(preferred: preferences.Preferences, path: Path, each: bool) -> str:
    """Return a sentence on what a file of preferences holds and leaves out."""
    if each:
        ties = f" ({counted(preferred.ties, 'tie')} left out: dpo has none)" if preferred.ties else ""
        return f"{counted(preferred.answers, 'answer')} to {path}{ties}"
    return (
        f"{counted(len(preferred.rows), 'pair')} to {path}, by the majority of {counted(preferred.answers, 'answer')};"
        f" {preferred.contradicted} of them contradicted by some; left out: {counted(preferred.ties, 'tie')},"
        f" {preferred.undecided} without a majority"
    )


def _write_rows(rows: list[dict[str, Any]], path: Path) -> None:
    """Write rows as Parquet if the file is called that, or else as JSON Lines."""
    if path.suffix == ".parquet":
        write_table(pd.DataFrame(rows), path, "parquet")
    else:
        _write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def import_answers(store: Store, path: Path, question: int | None = None) -> tuple[int, int]:
    """Add the answers of a file, and return how many it has and how many of them are new.

    Answers that do not name a question are to `question`, counted from 0.
    """
    items = Items(Path(database.without_passwords(store.target)), store.items.features)  # errors name the campaign
    frame = label_studio.read_tasks(path, items) if path.suffix == ".json" else _read_table(path, items)
    frame = frame.assign(question=_questions(path, frame, question, len(store.settings.questions)))
    first, second, outcome = (frame[name].to_numpy() for name in ("first", "second", "outcome"))
    frame = frame.assign(
        first=np.minimum(first, second),
        second=np.maximum(first, second),
        outcome=np.where(first > second, -outcome, outcome),
    )
    groups = store.items.groups
    apart = np.zeros(len(frame), dtype=bool) if groups is None else groups[frame["first"]] != groups[frame["second"]]
    if apart.any():
        row = frame[apart].iloc[0]
        one, other = (store.items.names[row[side]] for side in ("first", "second"))
        raise ValueError(
            f"{path}: {quoted(one)} and {quoted(other)} are of different groups, which this campaign does not compare"
        )
    if not store.settings.ties and (frame["outcome"] == 0).any():
        raise ValueError(f"{path}: row {int(np.argmax(frame['outcome'] == 0)) + 1} is a tie; this campaign has none")
    return len(frame), answers.add_answers(store, frame)


def _questions(path: Path, frame: pd.DataFrame, question: int | None, count: int) -> Ints:
    """Return the number of each answer's question, counted from 0: from the file, or else `question`."""
    written = frame["question"] if "question" in frame else pd.Series([""] * len(frame), dtype=object)
    if question is None and count > 1 and (written == "").any():
        raise ValueError(
            f"{path} does not say which question its answers are to; add a column question with 1 to {count}, or name"
            " it with --question"
        )
    numbers = pd.to_numeric(written.where(written != "", str((question or 0) + 1)), errors="coerce")
    if count == 1:  # the column may mean something else
        numbers = numbers.where(numbers > 1, 1)
    if (wrong := ~numbers.isin(range(1, count + 1))).any():
        row = int(np.argmax(wrong))
        has = "one question" if count == 1 else f"the questions 1 to {count}"
        raise ValueError(
            f"{path}: row {row + 1} is to the question {quoted(written.iloc[row])}; this campaign has {has}"
        )
    return numbers.to_numpy(dtype=np.int64) - 1


def _as_table(store: Store, frame: pd.DataFrame, every: bool) -> pd.DataFrame:
    """Return the rows to export, with the ids of items and readable times."""
    name_of = np.array(store.items.names, dtype=object)
    table = pd.DataFrame(
        {
            "first": name_of[frame["first"]],
            "second": name_of[frame["second"]],
            "outcome": frame["outcome"],
            "left": name_of[frame["left"]],
            "rater": frame["rater"],
            "seconds": frame["seconds"],
            "time": [iso_time(at) for at in frame["at"]],
            "why": frame["why"],
        }
    )
    if len(store.settings.questions) > 1:
        table["question"] = frame["question"] + 1
    if store.prompt(0) is not None:
        table["prompt"] = [store.prompt(int(row)) for row in frame["first"]]
    table = table.assign(**{name: frame[name] for name in OPTIONAL_COLUMNS if (frame[name] != "").any()})
    if (frame["wording"] > 1).any():
        table["wording"] = frame["wording"]
    return table.assign(status=frame["status"]) if every else table


def _choix(store: Store, decided: pd.DataFrame) -> dict[str, Any]:
    """Return the arguments of the library choix: (winner, loser) pairs of rows."""
    first, second, outcome = (decided[name].to_numpy() for name in ("first", "second", "outcome"))
    data = np.column_stack([np.where(outcome > 0, first, second), np.where(outcome > 0, second, first)])
    return {"n_items": len(store.items.names), "items": store.items.names, "data": data.tolist()}


def _write_text(path: Path, text: str) -> None:
    write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))


def _read_table(path: Path, items: Items) -> pd.DataFrame:
    """Read a table of answers into columns as `add_answers` takes them."""
    found = read_answers(path, items, raters=(), several_questions=True)
    table = read_table(path, lambda names: [name for name in IMPORTED_COLUMNS if name in names], True).iloc[found.rows]
    counts, numbers = found.counts, found.rows + 1
    if np.any(counts != np.round(counts)):
        raise ValueError(f"{path}: column 'count' has fractions; an answer is given by one person")
    if counts.sum() > MAX_IMPORTED_ANSWERS:
        raise ValueError(
            f"{path}: column 'count' adds up to {counts.sum():.3g} answers; at most {MAX_IMPORTED_ANSWERS:,} can be"
            " imported"
        )

    def column(name: str, otherwise: Any) -> Any:
        return table[name].to_numpy() if name in table.columns else np.full(len(table), otherwise, dtype=object)

    frame = pd.DataFrame(
        {"first": found.pairs[:, 0], "second": found.pairs[:, 1], "outcome": found.outcomes.astype(np.int64)}
    )
    frame["rater"] = [
        UNNAMED if pd.isna(name) or not str(name).strip() else str(name) for name in column("rater", None)
    ]
    frame["rater"] = as_written(frame["rater"], path)
    frame["seconds"] = _read_seconds(pd.Series(column("seconds", np.nan)), numbers, path)
    for name in ("why", "question", *OPTIONAL_COLUMNS):
        frame[name] = as_written(
            pd.Series(["" if pd.isna(value) else str(value) for value in column(name, None)]), path
        )
    for name, words in (("strength", ("slightly", "much")), ("why", REASONS)):
        unknown = ~frame[name].isin(["", *words])
        if unknown.any():
            at = int(np.argmax(unknown))
            one_of = f"{', '.join(words[:-1])} or {words[-1]}"
            raise ValueError(f"{path}: row {numbers[at]} has the {name} {quoted(frame[name][at])}; write {one_of}")
    times = zip(column("time", None), numbers, strict=True)
    frame["at"] = np.array([parse_time(time, f"{path}: row {number}") for time, number in times])
    frame["left"] = np.where(found.left < 0, found.pairs[:, 0], found.left)
    return frame.loc[frame.index.repeat(counts.astype(int))].reset_index(drop=True)


def _read_seconds(written: pd.Series, numbers: Ints, path: Path) -> pd.Series:
    """Parse how long answers took, NaN if nothing is written. Errors name the rows of the file, `numbers`."""
    seconds = pd.to_numeric(written, errors="coerce").astype(np.float64)
    wrong = written.notna() & (written.astype(str).str.strip() != "") & ~seconds.between(0, np.inf, inclusive="left")
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(
            f"{path}: row {numbers[at]} has the seconds {quoted(str(written[at]))}; write a number such as 2.5, or"
            " nothing"
        )
    return seconds
