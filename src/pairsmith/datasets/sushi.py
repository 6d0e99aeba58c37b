"""SUSHI preferences."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pairsmith.data.arrays import Floats, Ints
from pairsmith.datasets.base import Dataset, file_in, wrong


def sushi(folder: str | Path) -> Dataset:
    """100 kinds of sushi, d = 20, ranked ten at a time by 5000 people: sushi3.idata and sushi3b.5000.10.order.

    Get sushi3-2016 from kamishima.net; its licence forbids redistribution. As in Appendix B: one-hot style, major and
    minor group and four numbers; a pair's outcome is what the majority of its answers says (0 where they are even),
    counts how many there were; labels are Elo ratings above or below their median.
    """
    path = file_in(folder, "sushi3.idata")
    rows, names, ids = [], [], []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        if not line.strip():
            continue
        fields = line.split("\t")
        if len(fields) != 9:
            raise wrong(path, number, f"{len(fields)} fields separated by tabs, where 9 are expected")
        try:
            item, style, major, minor = (int(fields[at]) for at in (0, 2, 3, 4))
            numbers = [float(value) for value in fields[5:]]
        except ValueError as error:
            raise wrong(path, number, str(error)) from None
        if not (style in (0, 1) and major in (0, 1) and 0 <= minor < 12):
            raise wrong(path, number, f"style {style}, major group {major} or minor group {minor} is out of range")
        one_hot = np.concatenate([np.eye(2)[style], np.eye(2)[major], np.eye(12)[minor]])
        rows.append(np.concatenate([one_hot, numbers]))
        names.append(fields[1])
        ids.append(item)
    if len(rows) < 2:
        raise ValueError(f"{path} has {len(rows)} items; at least two are needed")
    place = {item: at for at, item in enumerate(ids)}
    orders = _orders(file_in(folder, "sushi3b.5000.10.order"), place)
    wins = np.zeros((len(rows), len(rows)), dtype=np.int64)
    for order in orders:
        for at, better in enumerate(order):
            wins[better, order[at + 1 :]] += 1
    total = wins + wins.T
    i, j = np.nonzero(np.triu(total, 1))
    outcomes: Ints = np.sign(wins[i, j] - wins[j, i])
    ratings = _elo(orders, len(rows))
    return Dataset(
        "sushi",
        np.array(rows),
        "SUSHI Preference Data Sets, sushi3-2016 (Kamishima); research use, no redistribution",
        ids=np.array(ids),
        names=np.array(names, dtype=object),
        labeled=np.arange(len(rows)),
        labels=np.where(ratings > np.median(ratings), 1, -1),
        pairs=np.column_stack([i, j]),
        outcomes=outcomes,
        counts=total[i, j],
    )


def _orders(path: Path, place: dict[int, int]) -> list[list[int]]:
    """Everybody's items, best first."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    orders = []
    for number, line in enumerate(lines[1:], 2):  # the first is a header
        fields = line.split()
        if not fields:
            continue
        try:
            order = [place[int(value)] for value in fields[2:]]
        except ValueError as error:
            raise wrong(path, number, str(error)) from None
        except KeyError as error:
            raise wrong(path, number, f"ranks the item {error.args[0]}, which sushi3.idata does not have") from None
        if len(order) < 2 or len(set(order)) < len(order):
            raise wrong(path, number, "a ranking has at least two items, each once")
        orders.append(order)
    if not orders:
        raise ValueError(f"{path} has no rankings")
    return orders


def _elo(orders: list[list[int]], n: int, step: float = 4.0) -> Floats:
    """Elo ratings after every comparison that the rankings contain, in the order of the file."""
    ratings = np.full(n, 1500.0)
    for order in orders:
        for at, better in enumerate(order):
            for worse in order[at + 1 :]:
                surprise = 1 / (1 + 10 ** ((ratings[better] - ratings[worse]) / 400))
                ratings[better] += step * surprise
                ratings[worse] -= step * surprise
    return ratings
