"""Label Studio: export pairs as its tasks with a labelling config, and import its annotations.

Each pair is one task, with an annotation for each answer; pairs without answers are tasks too. Label Studio's Pairwise
tag knows left and right; a tie is the choice "tie" of a Choices tag. Files are named as Label Studio serves them from
its local storage, whose document root must be the folder of the campaign's files.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree as xml

import numpy as np
import pandas as pd

from pairsmith.campaign.exchange.times import iso_time, parse_time
from pairsmith.campaign.markdown import render
from pairsmith.campaign.store import wordings
from pairsmith.campaign.store.media import MEDIA
from pairsmith.campaign.store.raters import UNNAMED
from pairsmith.campaign.store.snapshot import CampaignSnapshot
from pairsmith.campaign.store.store import Store
from pairsmith.data.names import quoted
from pairsmith.files.items import Items
from pairsmith.files.json_reader import RepeatedKey, parse_json
from pairsmith.files.sources import contents

SERVED = "/data/local-files/?d="  # where Label Studio serves files of its local storage
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")  # @anna is no address
TAGS = {"text": "Text", "markdown": "HyperText", "image": "Image", "audio": "Audio"}


def config(store: Store, snapshot: CampaignSnapshot) -> str:
    """Return the labelling config for the tasks: what is shown on either side, and what may be chosen."""
    top = xml.Element("View")
    xml.SubElement(top, "Header", value=wordings.current(store, snapshot.question).question)
    if store.prompt(0) is not None:
        xml.SubElement(top, TAGS[store.settings.prompt_kind], name="prompt", value="$prompt")
    xml.SubElement(top, "Pairwise", name="pairwise", toName="left,right")
    sides = xml.SubElement(top, "View", style="display: grid; grid-template-columns: 1fr 1fr; column-gap: 1em")
    for side in ("left", "right"):
        place = xml.SubElement(sides, "View")
        for at, (name, kind) in enumerate(_variables(store, snapshot).items()):
            own = (
                side if at == 0 else f"{side}_{name}"
            )  # the first variable stands for the item and is what gets chosen
            xml.SubElement(place, TAGS[kind], name=own, value=f"${side}_{name}")
    if store.settings.ties:
        choices = xml.SubElement(top, "Choices", name="tie", toName="left", choice="single", showInline="true")
        xml.SubElement(choices, "Choice", value="tie")
    xml.indent(top)
    return xml.tostring(top, encoding="unicode") + "\n"


def tasks(store: Store, snapshot: CampaignSnapshot) -> list[dict[str, Any]]:
    """Return a task for each pair, in planned order. Its sides are those of the first time that it was shown."""
    answers, variables, names = snapshot.answers, _variables(store, snapshot), store.items.names
    left_of: dict[tuple[int, int], int] = {(int(i), int(j)): int(i) for i, j in snapshot.planned}
    for i, j, left in reversed(list(zip(answers["first"], answers["second"], answers["left"], strict=True))):
        left_of[int(i), int(j)] = int(left)
    task_of: dict[tuple[int, int], dict[str, Any]] = {
        (i, j): {
            "id": number,
            "data": {"left_id": names[left], "right_id": names[i + j - left]}
            | ({} if store.prompt(i) is None else {"prompt": _value(store.settings.prompt_kind, str(store.prompt(i)))})
            | _data(store, "left", left, variables)
            | _data(store, "right", i + j - left, variables),
            "annotations": [],
        }
        for number, ((i, j), left) in enumerate(left_of.items(), 1)
    }
    answer: Any
    for answer in answers.itertuples():
        pair = int(answer.first), int(answer.second)
        won = None if answer.outcome == 0 else pair[0] if answer.outcome > 0 else pair[1]
        choice = "tie" if won is None else "left" if won == left_of[pair] else "right"
        task_of[pair]["annotations"].append(
            {
                **_rater_field(answer.rater),
                "created_at": iso_time(answer.at),
                "lead_time": None if pd.isna(answer.seconds) else answer.seconds,
                "result": [_result(choice)],
            }
        )
    return list(task_of.values())


def _rater_field(rater: str) -> dict[str, Any]:
    """Name the rater. Label Studio refuses all tasks if any `completed_by` has an e-mail address it does not know."""
    return {"completed_by": {"email": rater}} if _EMAIL.fullmatch(rater) else {"rater": rater}


def _result(choice: str) -> dict[str, Any]:
    if choice == "tie":
        return {"from_name": "tie", "to_name": "left", "type": "choices", "value": {"choices": ["tie"]}}
    # Label Studio drops results whose to_name is not the name of a single tag. Its own name the Pairwise tag.
    return {"from_name": "pairwise", "to_name": "pairwise", "type": "pairwise", "value": {"selected": choice}}


def _variables(store: Store, snapshot: CampaignSnapshot) -> dict[str, str]:
    """Return the kind of each variable of a task: as many texts, images and so on as the item with the most has."""
    most: dict[str, int] = {}
    for row in np.unique(snapshot.planned):
        for kind, count in Counter(kind for kind, _ in store.parts(int(row))).items():
            most[kind] = max(most.get(kind, 0), count)
    return {kind if at == 0 else f"{kind}_{at + 1}": kind for kind, count in most.items() for at in range(count)}


def _data(store: Store, side: str, row: int, variables: dict[str, str]) -> dict[str, str]:
    """Return the variables for an item on this side, empty for parts that only other items have."""
    own: dict[str, list[str]] = {}
    for kind, value in store.parts(row):
        own.setdefault(kind, []).append(_value(kind, value))
    return {f"{side}_{name}": own[kind].pop(0) if own.get(kind) else "" for name, kind in variables.items()}


def _value(kind: str, value: str) -> str:
    if kind in MEDIA:
        return SERVED + quote(Path(value).as_posix())
    return render(value) if kind == "markdown" else value


def read_tasks(path: Path, items: Items) -> pd.DataFrame:
    """Read the annotations of tasks that Label Studio exported as JSON."""
    rows: list[dict[str, Any]] = []
    for number, task in enumerate(_read_list(path), 1):
        where = f"{path}: task {number}"
        left, right = _items_of(task, items, where)
        for annotation in _list(task.get("annotations"), f"{where}: annotations"):
            choice = _choice(annotation, f"{where}: result")
            if choice is None:
                continue  # cancelled, or about something else
            rows.append(
                {
                    "first": left,
                    "second": right,
                    "outcome": {"left": 1, "right": -1, "tie": 0}[choice],
                    "rater": _completed_by(annotation.get("rater") or annotation.get("completed_by")),
                    "seconds": _seconds(annotation.get("lead_time")),
                    "at": parse_time(annotation.get("created_at"), where),
                }
            )
    if not rows:
        raise ValueError(
            f"{path} has no annotations that choose left, right or tie; annotate in Label Studio, and export it as JSON"
        )
    frame = pd.DataFrame(rows, columns=["first", "second", "outcome", "rater", "seconds", "at"])
    frame["left"] = frame["first"]
    return frame.astype(dict.fromkeys(["first", "second", "left", "outcome"], np.int64))


def _read_list(path: Path) -> list[dict[str, Any]]:
    try:
        content = contents(path)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    try:
        tasks = parse_json(content)
    except RepeatedKey as error:
        raise ValueError(f"{path}: {error}") from None
    except ValueError:
        raise ValueError(f"{path} is no JSON; export it from Label Studio as JSON") from None
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise ValueError(f"{path}: a list of Label Studio tasks is expected")
    return tasks


def _items_of(task: dict[str, Any], items: Items, where: str) -> tuple[int, int]:
    """Return the rows of the two items of a task."""
    data = task.get("data")
    if not isinstance(data, dict) or not {"left_id", "right_id"} <= data.keys():
        raise ValueError(f"{where} has no left_id and right_id in its data, which name the two items")
    named = str(data["left_id"]), str(data["right_id"])
    left, right = items.find(named).tolist()
    for name, row in zip(named, (left, right), strict=True):
        if row < 0:
            raise ValueError(f"{where} names the item {quoted(name)}, which is not in {items.path}")
    if left == right:
        raise ValueError(f"{where} compares the item {quoted(named[0])} with itself")
    return left, right


def _list(value: Any, where: str) -> list[Any]:
    if value is not None and not isinstance(value, list):
        raise ValueError(f"{where} is no list; export it from Label Studio as JSON")
    return value or []


def _seconds(value: Any) -> float:
    """Return how long an answer took, or NaN if the value cannot be that."""
    return float(value) if isinstance(value, int | float) and 0 <= value <= 1e9 else np.nan


def _choice(annotation: Any, where: str) -> str | None:
    """Return left, right or tie, or None for an annotation that chooses none of them."""
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
    """Return the name of a rater."""
    if isinstance(who, dict):
        who = who.get("email") or who.get("username") or who.get("id")
    return UNNAMED if who in (None, "") else str(who)
