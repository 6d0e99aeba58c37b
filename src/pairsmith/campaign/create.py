"""A table of items becomes a campaign."""

from __future__ import annotations

import os
import secrets
import struct
import warnings
import zlib
from collections.abc import Sequence
from glob import escape
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import sqlalchemy as sa

from pairsmith.campaign import ENDINGS, database, is_url, seals
from pairsmith.campaign.database import CampaignError
from pairsmith.campaign.media import MEDIA, MediaError, open_file, relative
from pairsmith.campaign.rounds import design
from pairsmith.campaign.store import Known, planned_rows
from pairsmith.files.formats import read_table
from pairsmith.files.items import Items, id_column_of, read_items
from pairsmith.files.write import write_whole
from pairsmith.model.evidence import classes_of

KINDS = ("text", "markdown", "image", "audio")
_SHOWN = list[tuple[str, str]]


def create(
    target: str,
    items: Items,
    shown: Sequence[_SHOWN],
    *,
    question: str,
    k: int,
    labels: tuple[npt.NDArray[np.int64], npt.NDArray[Any]] | None = None,
    better: Any = None,
    instructions: str = "",
    answers: int = 1,
    ties: bool = True,
    repeats: bool = False,
    max_per_item: int | None = None,
    objective: str = "averaged-d-optimal",
    lease: float = 600.0,
    progress: bool = False,
    media: str | os.PathLike[str] | None = None,
) -> int:
    """Make a campaign at `target`, a new SQLite file or a PostgreSQL URL; how many pairs its first round has.

    Files that are shown lie in the folder `media` (default: that of the table of items), and are named as seen from
    there.
    Of the two labels `better` is kept as +1, or the greater number, and the other as -1.
    """
    check_place(target)
    for name, value in (("k", k), ("answers_per_pair", answers), ("max_per_item", max_per_item)):
        if value is not None and value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    if not question.strip():
        raise ValueError("question is empty; ask something, such as 'Which is better?'")
    if media is not None and not os.path.isdir(media):
        raise ValueError(f"media: there is no folder {os.fspath(media)}")
    folder, shown = _confined(items, shown, os.path.realpath(items.path.parent if media is None else media))
    labeled, values = labels or (np.zeros(0, dtype=np.int64), np.zeros(0))
    values = np.where(values == classes_of(values, better)[1], 1, -1)
    nothing = pd.DataFrame({"first": [], "second": [], "outcome": []}, dtype=np.int64)
    planned = np.zeros((0, 2), dtype=np.int64)
    known = Known(items.features, items.groups, labeled, values, planned, 0, nothing)
    first = design(known, k, objective, max_per_item, progress=progress)
    if first is None or len(first) == 0:
        raise ValueError(f"{items.path}: there is no pair to ask; at least two items (of a group) are needed")
    label_of = {int(row): value for row, value in zip(labeled, values.tolist(), strict=True)}
    groups = items.groups
    own = secrets.token_hex(16)
    settings = {
        "question": question, "instructions": instructions, "k": k, "answers": answers, "ties": ties,
        "repeats": repeats, "max_per_item": max_per_item, "objective": objective, "lease": lease,
        "features": [str(name) for name in items.features.columns], "grouped": groups is not None,
        "id": own, "media": folder, "seal": None,
    }  # fmt: skip
    try:
        settings["seal"] = seals.seal("campaign", own, folder or "")
    except seals.NoKey as error:
        warnings.warn(f"{database.shown(target)} is made without a seal, to be confirmed later: {error}", stacklevel=2)
    matrix = items.features.to_numpy(dtype="<f8")
    rows = [
        {
            "row": row,
            "name": name,
            "features": matrix[row].tobytes(),
            "grouped": None if groups is None else str(groups[row]),
            "label": label_of.get(row),
            "parts": shown[row],
        }
        for row, name in enumerate(items.features.index)
    ]

    def fill(connection: sa.Connection) -> None:
        connection.execute(database.campaign.insert().values(id=1, version=database.VERSION, settings=settings))
        connection.execute(database.items.insert(), rows)
        connection.execute(database.pairs.insert(), planned_rows(first.pairs, 1, answers))

    if is_url(target):
        database.create(target, fill)
    else:

        def write(part: Path) -> None:
            database.create(target, fill, part)
            check_place(target)  # planning took its time

        write_whole(target, write)
    return len(first)


def check_place(target: str) -> None:
    """Refuse a place that cannot be, before any work."""
    database.check_kind(target)
    if is_url(target):
        return
    path = Path(target)
    if path.exists():
        raise CampaignError(f"{path} exists already; choose another name, or delete it first")
    if not path.parent.is_dir():
        raise CampaignError(f"{path}: there is no folder {path.parent}")
    if path.suffix not in ENDINGS:
        raise CampaignError(f"{path}: call the campaign something.db, or give a postgresql:// URL")


def read(
    path: Path,
    show: Sequence[str],
    id_column: str | None = None,
    features: Sequence[str] = (),
    group_by: str | None = None,
) -> tuple[Items, list[_SHOWN]]:
    """The items of a table and what people see of each: `show` has KIND:COLUMN, in order; nothing means ids."""
    wanted = [_kind_and_column(entry) for entry in show]
    if path.suffix == ".npy":
        if show:
            raise ValueError(f"{path}: a .npy file has no columns to --show; use a table")
        items = read_items(path)
        return items, [[("text", str(name))] for name in items.features.index]
    columns = [column for _, column in wanted]
    table = read_table(path, lambda names: [column for column in columns if column in names])
    for column in columns:
        if column not in table.columns:
            raise ValueError(f"{path}: --show names the column {column!r}; it has {', '.join(table.columns)}")
    key = id_column_of(list(table.columns), id_column)
    if not features and columns:
        features = [escape(name) for name in table.columns if name not in (key, "id", group_by, *columns)]
        if not features:
            raise ValueError(f"{path}: besides the id and what is shown there are no columns left for features")
    items = read_items(path, id_column, features, group_by)
    if not wanted:
        return items, [[("text", str(name))] for name in items.features.index]
    shown: list[_SHOWN] = [[] for _ in range(len(table))]
    for kind, column in wanted:
        for row, value in enumerate(table[column]):
            if pd.isna(value) or str(value).strip() == "":
                continue
            text = str(value)
            shown[row].append((kind, os.path.abspath(path.parent / text) if kind in MEDIA else text))
    for row, parts in enumerate(shown):
        if not parts:
            raise ValueError(f"{path}: item {items.features.index[row]!r} has nothing to show in {', '.join(columns)}")
    return items, shown


def _kind_and_column(entry: str) -> tuple[str, str]:
    kind, colon, column = entry.partition(":")
    if not colon or not column or kind not in KINDS:
        raise ValueError(f"--show {entry!r} is not KIND:COLUMN; kinds are {', '.join(KINDS)}")
    return kind, column


def _confined(items: Items, shown: Sequence[_SHOWN], folder: str) -> tuple[str | None, list[_SHOWN]]:
    """The folder, None where no files are shown, and what is shown with files as seen from there, each looked at."""

    def seen_from_there(item: str, kind: str, value: str) -> str:
        try:
            path = relative(folder, value)
        except MediaError:
            raise ValueError(
                f"{items.path}: item {item!r} shows the file {value!r}, which lies outside {folder}; give a folder that"
                " holds all files with --media"
            ) from None
        try:
            open_file(folder, path, kind).close()
        except MediaError as error:
            raise ValueError(f"{items.path}: item {item!r} shows the file {value!r}, which {error}") from None
        return path

    found = [
        [(kind, seen_from_there(name, kind, value) if kind in MEDIA else value) for kind, value in parts]
        for name, parts in zip(items.features.index, shown, strict=True)
    ]
    return folder if any(kind in MEDIA for parts in shown for kind, _ in parts) else None, found


def demo(target: str, count: int = 300, k: int = 60, seed: int = 0) -> int:
    """A campaign from the digits of scikit-learn, as images in a folder beside it: which is larger?"""
    from pairsmith.datasets.embedded import digits

    check_place(target)
    data = digits()
    chosen = np.sort(np.random.default_rng(seed).choice(len(data.X), count, replace=False))
    folder = Path(target).with_suffix("") if not is_url(target) else Path("digits")
    folder = folder.with_name(f"{folder.name}-images")
    folder.mkdir(exist_ok=True)
    X = data.X[chosen]
    shown: list[_SHOWN] = []
    for row, pixels in zip(chosen, X, strict=True):
        path = folder / f"{row}.png"
        try:
            path.write_bytes(png(pixels.reshape(8, 8) / 16))
        except OSError as error:  # that of a full disk names no file
            raise CampaignError(f"{path} cannot be written: {error.strerror}") from None
        shown.append([("image", path.name)])
    X = X / 16
    X = X[:, X.std(axis=0) > 0]
    names = [f"pixel_{column}" for column in range(X.shape[1])]
    features = pd.DataFrame(X, index=[f"digit {row}" for row in chosen], columns=names)
    return create(
        target,
        Items(Path(target), features),
        shown,
        question="Which digit is larger?",
        instructions="Choose the **larger digit**: 7 is larger than 3. Where both are the same, call it a tie. Where"
        " you cannot read one of them, skip.",
        k=k,
        media=folder,
    )


def png(ink: npt.NDArray[np.float64], size: int = 120) -> bytes:
    """A small grey picture of values from 0 (paper) to 1 (ink), enlarged smoothly."""
    from scipy.ndimage import zoom

    large = np.clip(zoom(np.pad(ink, 1), size / (len(ink) + 2), order=3, mode="nearest", grid_mode=True), 0, 1)
    grey = np.round(255 * (1 - np.clip(1.5 * large - 0.25, 0, 1))).astype(np.uint8)  # crisper than it was scanned
    height, width = grey.shape
    raw = np.hstack([np.zeros((height, 1), dtype=np.uint8), grey]).tobytes()  # each line: no filter

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(raw, 6)) + chunk(b"IEND", b"")
