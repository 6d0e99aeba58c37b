"""What the dashboard shows of the model: the ranking, how sure it is, who agrees with whom, and whether to go on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pairsmith.campaign.learning import evidence
from pairsmith.campaign.reporting import advice
from pairsmith.campaign.reporting import calibration as yardstick
from pairsmith.campaign.reporting.agreement import judges_against_people
from pairsmith.campaign.reporting.calibration import Measured, Yardstick, measure, measure_shared
from pairsmith.campaign.reporting.dashboard import EMPTY_REPORT
from pairsmith.campaign.reporting.forecasts import FEWEST, GROWTH, anchor, pairs_left
from pairsmith.campaign.reporting.history import Memory, begins_with, follow, name_of
from pairsmith.campaign.reporting.raters import rate
from pairsmith.campaign.store.schema import RANDOM
from pairsmith.campaign.store.snapshot import CampaignSnapshot
from pairsmith.model.gaussian_process import BradleyTerryGP

TOP = 10  # items that are asked about by name: are they the best?
NAMED = 3  # items that a sentence names
SEVERAL, SURPRISING = 4, 2.0  # answers that an item needs to be disputed, and the standard errors beyond what is usual


def make_report(snapshot: CampaignSnapshot, memory: Memory | None = None) -> dict[str, Any]:
    """Everything that takes computing, as plain JSON; models are fitted where `memory` does not have them."""
    memory = Memory() if memory is None else memory
    history = follow(snapshot, memory)
    model = memory.model
    if model is None:
        return EMPTY_REPORT | {"revision": snapshot.revision, "advice": advice.advise(None)}
    doubt, reliability = model.certainty(snapshot.features, snapshot.groups)
    total = len(snapshot.answers)
    known = model.n_features_in_ and total >= advice.FEW  # of fewer answers it is mostly the prior
    explained = 1 - model.shares_["items"] if known else None
    table = _ranked(model, snapshot)
    measured = [_measured(snapshot, memory, mark) for mark, _ in history]
    outlook = anchor(memory.outlook, snapshot, doubt)
    if outlook is None:
        memory.outlook = None  # so that another one is made
    figures = _figures(snapshot, memory, table, doubt, explained, outlook)
    return {
        "answers": total,
        "revision": snapshot.revision,
        "ranking": _ranking(table),
        "curve": [
            {"answers": mark, "doubt": round(doubt if mark == total else claimed, 5), **_drawn(then.auc)}
            for (mark, claimed), then in zip(history, measured, strict=True)
        ],
        "people": rate(snapshot, model, memory.foretold),
        "judges": judges_against_people(snapshot.answers),
        "learned": {
            "doubt": round(doubt, 5),
            "reliability": round(reliability, 5),
            "explained": None if explained is None else round(explained, 5),
            "agreement": _rounded(measured[-1].agreement if measured else Measured(0)),
            "auc": _rounded(measured[-1].auc if measured else Measured(0)),
        },
        "outlook": outlook,
        "advice": advice.advise(figures),
    }


def _ranked(model: BradleyTerryGP, snapshot: CampaignSnapshot) -> pd.DataFrame:
    """The model's ranking, with the `row` of each item; `in_top` is about the ten best, or the best of a group."""
    n, groups = len(snapshot.features), snapshot.groups
    top = min(TOP, max(1, n // 2)) if groups is None else 1
    table = model.rank(snapshot.features, top=top, groups=groups)
    return table.assign(row=snapshot.features.index.get_indexer(table.index))


def _ranking(table: pd.DataFrame) -> list[list[Any]]:
    """Of each item: its row, rank, score, the ends of its 90% interval, best and worst rank, P(in the top).

    Best first; where there are groups, one after the other.
    """
    columns = ["row", "rank", "score", "low", "high", "best", "worst", "in_top"]
    return [list(values) for values in zip(*(table[name].round(5).tolist() for name in columns), strict=True)]


def _measured(snapshot: CampaignSnapshot, memory: Memory, mark: int) -> Yardstick:
    """The yardstick, by so many answers."""
    given = snapshot.answers[:mark]
    random = (given["why"] == RANDOM).to_numpy() if "why" in given else np.zeros(mark, dtype=bool)
    return measure(memory.foretold[:mark], given["outcome"].to_numpy(dtype=np.float64), random)


def _drawn(found: Measured) -> dict[str, float | None]:
    """The AUC of a point of the curve."""
    values = {"auc": found.value, "auc_low": found.low, "auc_high": found.high}
    return {key: None if value is None else round(value, 4) for key, value in values.items()}


def _rounded(found: Measured) -> dict[str, float | None]:
    return {key: None if value is None else round(value, 4) for key, value in found._asdict().items()}


def _figures(
    snapshot: CampaignSnapshot,
    memory: Memory,
    table: pd.DataFrame,
    doubt: float,
    explained: float | None,
    outlook: dict[str, Any] | None,
) -> advice.Figures:
    """What is advised upon; of few answers only how many there are, and whether more can come."""
    total, left = len(snapshot.answers), pairs_left(snapshot)
    if total < advice.FEW:
        return advice.Figures(total, doubt, left, explained)
    assert memory.model is not None
    measured = _measured(snapshot, memory, total)
    if not _looked_at(snapshot, memory):
        memory.consistency = total, name_of(snapshot), yardstick.consistency(snapshot, measured)  # may take two fits
    assert memory.consistency is not None
    width = (table["worst"] - table["best"]).to_numpy()
    widest = np.argsort(-width, kind="stable")[:NAMED]
    compared = np.unique(snapshot.answers[["first", "second"]].to_numpy())
    return advice.Figures(
        answers=total,
        doubt=doubt,
        left=left,
        explained=explained,
        top=_top(table) if snapshot.groups is None else None,
        groups=None if snapshot.groups is None else _first_of_groups(table),
        yardstick=measured,
        raters=snapshot.answers["rater"].nunique(),
        shared=measure_shared(snapshot.answers, memory.foretold),
        consistency=memory.consistency[-1],
        uncertain=[
            (str(table.index[at]), int(table["best"].iloc[at]), int(table["worst"].iloc[at]))
            for at in widest
            if width[at] > 0
        ],
        untouched=len(snapshot.features) - len(compared),
        disputed=disputed(snapshot, memory.model),
        outlook=outlook,
        forecast_pending=outlook is None and left > 0 and total >= FEWEST,
    )


def _looked_at(snapshot: CampaignSnapshot, memory: Memory) -> bool:
    """Return whether it is known if these answers contradict each other: not if many came since, or some are gone."""
    if memory.consistency is None:
        return False
    count, name, _ = memory.consistency
    return len(snapshot.answers) < GROWTH * count and begins_with(snapshot, count, name)


def _top(table: pd.DataFrame) -> advice.Top | None:
    """How sure the best are; not of a handful of items, of which they would be most."""
    if len(table) < 2 * TOP:
        return None
    shown = table[:TOP]
    sure = shown.index[shown["in_top"] >= 0.95]
    return advice.Top(TOP, float(shown["in_top"].sum()), [str(name) for name in sure])


def _first_of_groups(table: pd.DataFrame) -> tuple[int, int]:
    """How many groups there are, and in how many of them the first is surely the best."""
    first = table[table["rank"] == 1]
    return len(first), int((first["in_top"] >= 0.9).sum())


def disputed(snapshot: CampaignSnapshot, model: BradleyTerryGP) -> list[tuple[str, int, int]]:
    """Items whose answers are against each other, or against the rest: id, answers against, answers; the worst first.

    By the squared surprise of its answers, (y - p)^2 with p as all others predict it, summed: it is compared with what
    is expected, p (1 - p), in standard errors, the variance being p (1 - p) (1 - 2 p)^2 an answer.
    """
    left_out, known = model.left_out_, evidence(snapshot)
    p, y = left_out["p"].to_numpy(), (known["outcomes"] + 1) / 2
    usual = p * (1 - p)
    each = pd.DataFrame(
        {
            "beyond": (y - p) ** 2 - usual,
            "variance": usual * (1 - 2 * p) ** 2,
            "against": ((y - 0.5) * (p - 0.5) < 0).astype(int),
            "answers": 1,
        }
    )
    both = pd.concat([each.assign(item=known["comparisons"][:, side]) for side in (0, 1)])
    items = both[both["variance"].notna()].groupby("item").sum()
    items = items[(items["answers"] >= SEVERAL) & (items["variance"] > 0)]
    items = items.assign(z=items["beyond"] / np.sqrt(items["variance"])).sort_values(
        "z", ascending=False, kind="stable"
    )
    worst = items[items["z"] > SURPRISING][:NAMED]
    names = snapshot.features.index[worst.index.to_numpy(dtype=np.int64)]
    return list(zip(map(str, names), worst["against"].tolist(), worst["answers"].tolist(), strict=True))
