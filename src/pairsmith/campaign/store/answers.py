"""Answers: load those that count, and add those given elsewhere."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import sqlalchemy as sa

from pairsmith.campaign.options import CampaignOptions
from pairsmith.campaign.store import statements as sql
from pairsmith.campaign.store.raters import excluded_rater_ids, find_or_add_rater
from pairsmith.campaign.store.schema import IMPORTED, MADE_ELSEWHERE, answers, leases, pairs, people
from pairsmith.data.arrays import Floats, Ints

if TYPE_CHECKING:
    from pairsmith.campaign.store.store import Store

MAX_SECONDS = 86_400.0  # an answer is stored as having taken at most a day


def load_answers(connection: sa.Connection, uncounted_too: bool = False, question: int | None = None) -> pd.DataFrame:
    """Return the answers that count, one a row, oldest first.

    Skips, answers that were taken back or struck out, and answers of excluded raters do not count. With
    `uncounted_too`, struck answers and those of excluded raters are included. `question` selects the answers to one
    question.

    The columns are: first, second and left (rows of items), outcome, rater, seconds, at, elsewhere (given outside this
    campaign, so that nobody knows for certain which item was on the left), strength and comment (empty if there is
    none), why, wording (1: as the campaign was made), status (counts, struck or excluded), program (whether one gave
    it), and question (0: the first).
    """
    status = sa.case((leases.c.state == "struck", "struck"), (people.c.excluded, "excluded"), else_="counts")
    counts = (leases.c.state == "answered") & ~people.c.excluded
    rows = connection.execute(
        sa.select(
            pairs.c.first,
            pairs.c.second,
            answers.c.outcome,
            leases.c.left,
            people.c.name.label("rater"),
            answers.c.milliseconds,
            answers.c.at,
            (leases.c.expires == MADE_ELSEWHERE).label("elsewhere"),
            sa.func.coalesce(answers.c.strength, "").label("strength"),
            sa.func.coalesce(answers.c.comment, "").label("comment"),
            leases.c.why,
            (sa.func.coalesce(leases.c.wording, 0) + 1).label("wording"),
            status.label("status"),
            people.c.program,
            pairs.c.question,
        )
        .select_from(answers.join(leases).join(pairs, leases.c.pair == pairs.c.id).join(people))
        .where(leases.c.state.in_(("answered", "struck")) if uncounted_too else counts)
        .where(sa.true() if question is None else pairs.c.question == question)
        .order_by(answers.c.at, pairs.c.first, pairs.c.second, pairs.c.question, people.c.name, answers.c.id)
    ).all()
    names = ["first", "second", "outcome", "left", "rater", "milliseconds", "at", "elsewhere", "strength", "comment",
             "why", "wording", "status", "program", "question"]  # fmt: skip
    whole = dict.fromkeys(["first", "second", "outcome", "left", "at", "wording", "question"], np.int64)
    frame = pd.DataFrame(rows, columns=names).astype(whole | {"elsewhere": bool, "program": bool})
    frame["seconds"] = pd.to_numeric(frame.pop("milliseconds")).astype(np.float64) / 1000
    return frame


def strength_weights(frame: pd.DataFrame) -> Floats:
    """Return each answer's weight in the model: 2 - q for much better, 1 - q for slightly better, 1 if not graded.

    q is the share of "much" among the graded answers of the same rater, so that each rater's weights have the mean 1,
    whatever "much" means to them. The weights are the scores of the cumulative logit model: suppose a rater says "much"
    where |f_i - f_j + noise| > t, with logistic noise. At f_i = f_j, d log P / d f_i is 1 - q/2 for "much", (1 - q)/2
    for "slightly" and 1/2 for a plain answer.
    """
    weights = np.ones(len(frame))
    graded = (frame["strength"] != "").to_numpy(dtype=bool)
    much = (frame["strength"] == "much").to_numpy(dtype=np.float64)[graded]
    share = pd.Series(much).groupby(frame["rater"].to_numpy()[graded]).transform("mean").to_numpy()
    weights[graded] = 1 + much - share
    return weights


def add_answers(store: Store, frame: pd.DataFrame) -> int:
    """Add answers given elsewhere, and return how many are new.

    `frame` has the columns of `load_answers`; `at` and `seconds` may be NaN, a missing `why` means imported, and a
    missing `question` means the first. Answers that the campaign already has are not added again, even if they were
    struck out, so the same file may be imported twice.
    """
    now = store.now()
    with store.writing() as connection:  # other writers wait until the new answers are in
        if "question" not in frame:
            frame = frame.assign(question=0)
        new = _unknown_rows(frame, load_answers(connection, uncounted_too=True))
        if not new:
            return 0
        ids = pair_ids(connection, ((int(row.first), int(row.second)) for row in new), store.settings)
        new_pairs = [ids[row.first, row.second, row.question] for row in new]
        raters = {name: find_or_add_rater(connection, name) for name in dict.fromkeys(row.rater for row in new)}
        lease_rows = [
            {"token": secrets.token_urlsafe(16), "pair": pair, "person": raters[row.rater],
             "left": int(row.left), "state": "answered", "again": False, "expires": MADE_ELSEWHERE,
             "why": getattr(row, "why", "") or IMPORTED}
            for pair, row in zip(new_pairs, new, strict=True)
        ]  # fmt: skip
        last = connection.execute(sa.select(sa.func.max(leases.c.id))).scalar() or 0
        connection.execute(sql.LEASE, lease_rows)
        added = connection.execute(sa.select(leases.c.token, leases.c.id).where(leases.c.id > last))
        lease_of = {row.token: row.id for row in added}
        answer_rows = [
            {"lease": lease_of[lease["token"]], "outcome": int(row.outcome),
             "milliseconds": None if pd.isna(row.seconds) else milliseconds(row.seconds),
             "at": now if pd.isna(row.at) else int(row.at),
             "strength": getattr(row, "strength", "") or None, "comment": as_comment(getattr(row, "comment", ""))}
            for lease, row in zip(lease_rows, new, strict=True)
        ]  # fmt: skip
        connection.execute(sql.ANSWER, answer_rows)
        excluded = excluded_rater_ids(connection)
        counting = Counter(lease["pair"] for lease in lease_rows if lease["person"] not in excluded)
        steps = [{"pair": pair, "step": -counting[pair]} for pair in dict.fromkeys(new_pairs)]
        connection.execute(sql.ADD_WANTED, steps)
    return len(new)


def _unknown_rows(frame: pd.DataFrame, stored: pd.DataFrame) -> list[Any]:
    """Return the rows of `frame` beyond the equal ones in `stored`. A row without a time equals one of any time."""
    key = ["first", "second", "question", "outcome", "rater"]
    untimed = Counter(stored[key].itertuples(index=False, name=None))
    timed = Counter(stored[[*key, "at"]].itertuples(index=False, name=None))
    unknown = []
    row: Any  # pandas does not know what its rows hold
    for row in frame.itertuples(index=False):
        answer = (row.first, row.second, row.question, row.outcome, row.rater)
        left_over, full_key = (untimed, answer) if pd.isna(row.at) else (timed, (*answer, int(row.at)))
        if left_over[full_key] > 0:
            left_over[full_key] -= 1
        else:
            unknown.append(row)
    return unknown


def pair_ids(
    connection: sa.Connection, needed: Iterable[tuple[int, int]], options: CampaignOptions
) -> dict[tuple[int, int, int], int]:
    """Return the ids of all pairs, by (first, second, question), after adding needed pairs that were never planned.

    Like any pair, an added one wants answers to all questions.
    """
    query = sa.select(pairs.c.id, pairs.c.first, pairs.c.second, pairs.c.question)
    ids = {(row.first, row.second, row.question): row.id for row in connection.execute(query)}
    missing = [pair for pair in dict.fromkeys(needed) if (*pair, 0) not in ids]
    if missing:
        connection.execute(pairs.insert(), new_pair_rows(missing, [IMPORTED] * len(missing), 0, options))
        ids = {(row.first, row.second, row.question): row.id for row in connection.execute(query)}
    return ids


def new_pair_rows(
    chosen: Sequence[Sequence[int]] | Ints, reasons: Sequence[str], round_number: int, options: CampaignOptions
) -> list[dict[str, Any]]:
    """Return rows of the table of pairs, one for each chosen pair and question. Round 0 means not planned."""
    wanted = options.answers_per_pair
    return [
        {"first": int(i), "second": int(j), "question": question, "round": round_number, "wanted": wanted, "why": why}
        for (i, j), why in zip(chosen, reasons, strict=True)
        for question in range(len(options.questions))
    ]


def milliseconds(seconds: float) -> int:
    """Return how long an answer took, as the database stores it."""
    return round(min(max(seconds, 0.0), MAX_SECONDS) * 1000)


def as_comment(text: str | None) -> str | None:
    """Return a comment as the database stores it: trimmed, and without NUL, which PostgreSQL cannot hold."""
    return (text or "").replace("\0", "").strip() or None
