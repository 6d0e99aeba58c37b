"""The report of a question: its ranking, how sure it is, who agrees with whom, and whether to stop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pairsmith.campaign.learning import evidence
from pairsmith.campaign.reporting import advice, calibration, forecasts
from pairsmith.campaign.reporting.agreement import compare_judges_with_people
from pairsmith.campaign.reporting.calibration import Calibration, Estimate
from pairsmith.campaign.reporting.dashboard import EMPTY_REPORT
from pairsmith.campaign.reporting.history import ReportState, begins_with, fingerprint, update_history
from pairsmith.campaign.reporting.raters import rate_raters
from pairsmith.campaign.store.schema import RANDOM
from pairsmith.campaign.store.snapshot import CampaignSnapshot
from pairsmith.model.gaussian_process import BradleyTerryGP

TOP_SIZE = 10
MAX_ITEMS_LISTED = 3  # in a sentence
MIN_ANSWERS_TO_DISPUTE = 4  # an item is disputed from this many answers on,
MIN_SURPRISE_TO_DISPUTE = 2.0  # if they are this many standard errors more surprising than usual


def make_report(snapshot: CampaignSnapshot, state: ReportState | None = None) -> dict[str, Any]:
    """Compute the report of a snapshot as plain JSON, fitting the models that `state` lacks; the state is updated."""
    state = ReportState() if state is None else state
    history = update_history(snapshot, state)
    model = state.model
    if model is None:
        return EMPTY_REPORT | {"revision": snapshot.revision, "advice": advice.advise(None)}
    doubt, reliability = model.certainty(snapshot.features, snapshot.groups)
    total = len(snapshot.answers)
    is_informative = model.n_features_in_ and total >= advice.MIN_ANSWERS  # before, the shares are mostly the prior's
    explained = 1 - model.shares_["items"] if is_informative else None
    table = _rank(model, snapshot)
    calibrations = [_calibrate(snapshot, state, mark) for mark, _ in history]
    forecast = forecasts.anchor(state.forecast, snapshot, doubt)
    if forecast is None:
        state.forecast = None  # so that another one is made
    figures = _figures(snapshot, state, table, doubt, explained, forecast)
    return {
        "answers": total,
        "revision": snapshot.revision,
        "ranking": _ranking(table),
        "curve": [
            {"answers": mark, "doubt": round(doubt if mark == total else claimed, 5), **_auc_point(measured.auc)}
            for (mark, claimed), measured in zip(history, calibrations, strict=True)
        ],
        "people": rate_raters(snapshot, model, state.predictions),
        "judges": compare_judges_with_people(snapshot.answers),
        "learned": {
            "doubt": round(doubt, 5),
            "reliability": round(reliability, 5),
            "explained": None if explained is None else round(explained, 5),
            "agreement": _rounded(calibrations[-1].agreement if calibrations else Estimate(0)),
            "auc": _rounded(calibrations[-1].auc if calibrations else Estimate(0)),
        },
        "outlook": forecast,
        "advice": advice.advise(figures),
    }


def _rank(model: BradleyTerryGP, snapshot: CampaignSnapshot) -> pd.DataFrame:
    """Return the model's ranking with each item's `row`; `in_top` is P(among the ten best), or P(best of its group)."""
    n, groups = len(snapshot.features), snapshot.groups
    top = min(TOP_SIZE, max(1, n // 2)) if groups is None else 1
    table = model.rank(snapshot.features, top=top, groups=groups)
    return table.assign(row=snapshot.features.index.get_indexer(table.index))


def _ranking(table: pd.DataFrame) -> list[list[Any]]:
    """Return each item's row, rank, score, ends of its 90% interval, best and worst rank, and P(in the top).

    The best item comes first; groups come one after the other.
    """
    columns = ["row", "rank", "score", "low", "high", "best", "worst", "in_top"]
    return [list(values) for values in zip(*(table[name].round(5).tolist() for name in columns), strict=True)]


def _calibrate(snapshot: CampaignSnapshot, state: ReportState, mark: int) -> Calibration:
    """Measure the calibration on the first `mark` answers."""
    answers = snapshot.answers[:mark]
    is_random = (answers["why"] == RANDOM).to_numpy() if "why" in answers else np.zeros(mark, dtype=bool)
    outcomes = answers["outcome"].to_numpy(dtype=np.float64)
    return calibration.measure_calibration(state.predictions[:mark], outcomes, is_random)


def _auc_point(estimate: Estimate) -> dict[str, float | None]:
    """Return the AUC of a point of the curve."""
    values = {"auc": estimate.value, "auc_low": estimate.low, "auc_high": estimate.high}
    return {key: None if value is None else round(value, 4) for key, value in values.items()}


def _rounded(estimate: Estimate) -> dict[str, float | None]:
    return {key: None if value is None else round(value, 4) for key, value in estimate._asdict().items()}


def _figures(
    snapshot: CampaignSnapshot,
    state: ReportState,
    table: pd.DataFrame,
    doubt: float,
    explained: float | None,
    forecast: dict[str, Any] | None,
) -> advice.Figures:
    """Collect the figures for the advice; for few answers, only their number and whether more can come."""
    total, open_pairs = len(snapshot.answers), forecasts.count_open_pairs(snapshot)
    if total < advice.MIN_ANSWERS:
        return advice.Figures(total, doubt, open_pairs, explained)
    assert state.model is not None
    measured = _calibrate(snapshot, state, total)
    if not _is_consistency_known(snapshot, state):  # which may take two fits
        state.consistency = total, fingerprint(snapshot), calibration.consistency(snapshot, measured)
    assert state.consistency is not None
    width = (table["worst"] - table["best"]).to_numpy()
    widest = np.argsort(-width, kind="stable")[:MAX_ITEMS_LISTED]
    compared = np.unique(snapshot.answers[["first", "second"]].to_numpy())
    return advice.Figures(
        answers=total,
        doubt=doubt,
        open_pairs=open_pairs,
        explained=explained,
        top=_top(table) if snapshot.groups is None else None,
        groups=None if snapshot.groups is None else _count_sure_groups(table),
        calibration=measured,
        raters=snapshot.answers["rater"].nunique(),
        shared_pairs=calibration.measure_shared_pairs(snapshot.answers, state.predictions),
        consistency=state.consistency[-1],
        uncertain=[
            (str(table.index[at]), int(table["best"].iloc[at]), int(table["worst"].iloc[at]))
            for at in widest
            if width[at] > 0
        ],
        never_compared=len(snapshot.features) - len(compared),
        disputed=find_disputed_items(snapshot, state.model),
        forecast=forecast,
        forecast_pending=forecast is None and open_pairs > 0 and total >= forecasts.MIN_ANSWERS,
    )


def _is_consistency_known(snapshot: CampaignSnapshot, state: ReportState) -> bool:
    """Return whether the last check of consistency still holds: no answer was removed, and few came since."""
    if state.consistency is None:
        return False
    count, checked, _ = state.consistency
    return len(snapshot.answers) < forecasts.REFRESH_RATIO * count and begins_with(snapshot, count, checked)


def _top(table: pd.DataFrame) -> advice.Top | None:
    """Return how sure the best items are; None if the top would be more than half of all items."""
    if len(table) < 2 * TOP_SIZE:
        return None
    first = table[:TOP_SIZE]
    sure = first.index[first["in_top"] >= 0.95]
    return advice.Top(TOP_SIZE, float(first["in_top"].sum()), [str(name) for name in sure])


def _count_sure_groups(table: pd.DataFrame) -> tuple[int, int]:
    """Return the number of groups, and of those whose first item is the best with a probability of at least 90%."""
    first = table[table["rank"] == 1]
    return len(first), int((first["in_top"] >= 0.9).sum())


def find_disputed_items(snapshot: CampaignSnapshot, model: BradleyTerryGP) -> list[tuple[str, int, int]]:
    """Return the id, the contradicting answers and all answers of the most disputed items, the worst first.

    An item is disputed if its answers contradict each other, or all the rest. An answer's squared surprise is
    (y - p)^2, with p as all other answers predict it. The sum over an item's answers is compared with its
    expectation, p (1 - p) per answer, in standard errors; the variance per answer is p (1 - p) (1 - 2 p)^2.
    """
    left_out, answers = model.leave_one_out_, evidence(snapshot)
    p, y = left_out["p"].to_numpy(), (answers["outcomes"] + 1) / 2
    expected = p * (1 - p)
    each = pd.DataFrame(
        {
            "excess": (y - p) ** 2 - expected,
            "variance": expected * (1 - 2 * p) ** 2,
            "against": ((y - 0.5) * (p - 0.5) < 0).astype(int),
            "answers": 1,
        }
    )
    both = pd.concat([each.assign(item=answers["comparisons"][:, side]) for side in (0, 1)])
    items = both[both["variance"].notna()].groupby("item").sum()
    items = items[(items["answers"] >= MIN_ANSWERS_TO_DISPUTE) & (items["variance"] > 0)]
    items = items.assign(z=items["excess"] / np.sqrt(items["variance"])).sort_values(
        "z", ascending=False, kind="stable"
    )
    worst = items[items["z"] > MIN_SURPRISE_TO_DISPUTE][:MAX_ITEMS_LISTED]
    names = snapshot.features.index[worst.index.to_numpy(dtype=np.int64)]
    return list(zip(map(str, names), worst["against"].tolist(), worst["answers"].tolist(), strict=True))
