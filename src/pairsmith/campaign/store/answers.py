"""The answers that stand, and answers that were made elsewhere and are added to them."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import sqlalchemy as sa

from pairsmith.campaign import counted
from pairsmith.campaign.options import CampaignOptions
from pairsmith.campaign.store import database
from pairsmith.campaign.store import statements as sql
from pairsmith.campaign.store.database import CampaignError
from pairsmith.campaign.store.raters import excluded_ids, rater_named
from pairsmith.campaign.store.schema import IMPORTED, MADE_ELSEWHERE, answers, leases, pairs
from pairsmith.campaign.store.schema import people as persons
from pairsmith.data.arrays import Floats, Ints

if TYPE_CHECKING:
    from pairsmith.campaign.store.store import Store


def standing(connection: sa.Connection, target: str, every: bool = False, question: int | None = None) -> pd.DataFrame:
    """One row for each answer: first, second and left (rows of items), outcome, rater, seconds, at, elsewhere, why.

    Also strength and comment, which are empty where there is none, the number of the wording, 1 for the first, whether
    a `program` gave it, and the question, 0 for the first; where one is given, only answers to that.
    Skips are no answers, and those taken back do not stand. Nor do those struck out, or of excluded raters, unless
    `every` one is asked for; their `status`, for others "counts", says it. Of those made `elsewhere` nobody knows for
    certain which item was shown left.
    """
    status = sa.case((leases.c.state == "struck", "struck"), (persons.c.excluded, "excluded"), else_="counts")
    counts = (leases.c.state == "answered") & ~persons.c.excluded
    found = connection.execute(
        sa.select(
            pairs.c.first,
            pairs.c.second,
            answers.c.outcome,
            leases.c.left,
            persons.c.name.label("rater"),
            answers.c.milliseconds,
            answers.c.at,
            (leases.c.expires == MADE_ELSEWHERE).label("elsewhere"),
            sa.func.coalesce(answers.c.strength, "").label("strength"),
            sa.func.coalesce(answers.c.comment, "").label("comment"),
            leases.c.why,
            (sa.func.coalesce(leases.c.wording, 0) + 1).label("wording"),
            status.label("status"),
            persons.c.program,
            pairs.c.question,
        )
        .select_from(answers.join(leases).join(pairs, leases.c.pair == pairs.c.id).join(persons))
        .where(leases.c.state.in_(("answered", "struck")) if every else counts)
        .where(sa.true() if question is None else pairs.c.question == question)
        .order_by(answers.c.at, pairs.c.first, pairs.c.second, pairs.c.question, persons.c.name, answers.c.id)
    ).all()
    names = ["first", "second", "outcome", "left", "rater", "milliseconds", "at", "elsewhere", "strength", "comment",
             "why", "wording", "status", "program", "question"]  # fmt: skip
    whole = dict.fromkeys(["first", "second", "outcome", "left", "at", "wording", "question"], np.int64)
    frame = pd.DataFrame(found, columns=names).astype(whole | {"elsewhere": bool, "program": bool})
    frame["seconds"] = pd.to_numeric(frame.pop("milliseconds")).astype(np.float64) / 1000
    broken = int((frame["first"] == frame["second"]).sum())
    if broken:
        name = database.shown(target)
        raise CampaignError(
            f"{name} holds {counted(broken, 'answer')} that compare{'s' * (broken == 1)} an item with itself, as an"
            f" earlier pairsmith stored some imports; mend them with: pairsmith campaign repair {name}"
        )
    return frame


def weights(given: pd.DataFrame) -> Floats:
    """What each of these answers weighs in the model: 2 - q for much better, 1 - q for slightly, 1 where not graded.

    q is the share of "much" among the graded answers of the same person, so that the weights of each person have the
    mean 1, whatever "much" means to them. They are the scores of the cumulative logit model: let people say much where
    |f_i - f_j + noise| > t, with logistic noise. Where f_i = f_j, d log P / d f_i is 1 - q/2 of "much", (1 - q)/2 of
    "slightly" and 1/2 of a plain answer.
    """
    found = np.ones(len(given))
    graded = (given["strength"] != "").to_numpy(dtype=bool)
    much = (given["strength"] == "much").to_numpy(dtype=np.float64)[graded]
    share = pd.Series(much).groupby(given["rater"].to_numpy()[graded]).transform("mean").to_numpy()
    found[graded] = 1 + much - share
    return found


def add(store: Store, given: pd.DataFrame) -> int:
    """Add answers made elsewhere (columns as in `standing`; `at` and `seconds` may be NaN); how many are new.

    Where nothing says why they were asked, that is because they were imported; where nothing says which question, it is
    the first.

    An answer that is there already is not added again, and one that was struck out does not come back so: the same
    file may be imported twice.
    """
    now = store.now()
    with store.writing() as connection:  # what is there cannot change meanwhile
        if "question" not in given:
            given = given.assign(question=0)
        new = _not_there(given, standing(connection, store.target, every=True))
        if not new:
            return 0
        wanted = ((int(row.first), int(row.second)) for row in new)
        ids = pair_ids(connection, wanted, store.settings)
        of = [ids[row.first, row.second, row.question] for row in new]
        raters = {name: rater_named(connection, name) for name in dict.fromkeys(r.rater for r in new)}
        leased = [
            {"token": secrets.token_urlsafe(16), "pair": pair, "person": raters[row.rater],
             "left": int(row.left), "state": "answered", "again": False, "expires": MADE_ELSEWHERE,
             "why": getattr(row, "why", "") or IMPORTED}
            for pair, row in zip(of, new, strict=True)
        ]  # fmt: skip
        last = connection.execute(sa.select(sa.func.max(leases.c.id))).scalar() or 0
        connection.execute(sql.LEASE, leased)
        added = connection.execute(sa.select(leases.c.token, leases.c.id).where(leases.c.id > last))
        lease_of = {row.token: row.id for row in added}
        taken = [
            {"lease": lease_of[lease["token"]], "outcome": int(row.outcome),
             "milliseconds": None if pd.isna(row.seconds) else milliseconds(row.seconds),
             "at": now if pd.isna(row.at) else int(row.at),
             "strength": getattr(row, "strength", "") or None, "comment": as_comment(getattr(row, "comment", ""))}
            for lease, row in zip(leased, new, strict=True)
        ]  # fmt: skip
        connection.execute(sql.ANSWER, taken)
        out = excluded_ids(connection)
        counted_pairs = Counter(lease["pair"] for lease in leased if lease["person"] not in out)
        connection.execute(sql.ADD_WANTED, [{"pair": pair, "step": -counted_pairs[pair]} for pair in dict.fromkeys(of)])
    return len(new)


def _not_there(given: pd.DataFrame, there: pd.DataFrame) -> list[Any]:
    """The rows of `given` beyond those that `there` has, each as often; without a time, any time will do."""
    key = ["first", "second", "question", "outcome", "rater"]
    untimed = Counter(there[key].itertuples(index=False, name=None))
    timed = Counter(there[[*key, "at"]].itertuples(index=False, name=None))
    new = []
    row: Any  # pandas does not know what its rows hold
    for row in given.itertuples(index=False):
        same = (row.first, row.second, row.question, row.outcome, row.rater)
        seen, full = (untimed, same) if pd.isna(row.at) else (timed, (*same, int(row.at)))
        if seen[full] > 0:
            seen[full] -= 1
        else:
            new.append(row)
    return new


def pair_ids(
    connection: sa.Connection, wanted: Iterable[tuple[int, int]], settings: CampaignOptions
) -> dict[tuple[int, int, int], int]:
    """The ids of all pairs with each question, among them these, which are added where they are not planned.

    What is added wants answers to all its questions, as any pair does.
    """
    query = sa.select(pairs.c.id, pairs.c.first, pairs.c.second, pairs.c.question)
    found = {(row.first, row.second, row.question): row.id for row in connection.execute(query)}
    missing = [pair for pair in dict.fromkeys(wanted) if (*pair, 0) not in found]
    if missing:
        connection.execute(pairs.insert(), pairs_to_ask(missing, [IMPORTED] * len(missing), 0, settings))
        found = {(row.first, row.second, row.question): row.id for row in connection.execute(query)}
    return found


def pairs_to_ask(
    chosen: Sequence[Sequence[int]] | Ints, why: Sequence[str], number: int, settings: CampaignOptions
) -> list[dict[str, Any]]:
    """Rows of the table of pairs: these, each with why it is asked, in the round of this number (0: not planned)."""
    wanted = settings.answers_per_pair
    return [
        {"first": int(i), "second": int(j), "question": at, "round": number, "wanted": wanted, "why": reason}
        for (i, j), reason in zip(chosen, why, strict=True)
        for at in range(len(settings.questions))
    ]


def milliseconds(seconds: float) -> int:
    """How long an answer took, as the database keeps it: at most a day."""
    return round(min(max(seconds, 0.0), 86400.0) * 1000)


def as_comment(text: str | None) -> str | None:
    """A comment as the database keeps it: no spaces around it, and no NUL, for which PostgreSQL has no place."""
    return (text or "").replace("\0", "").strip() or None
