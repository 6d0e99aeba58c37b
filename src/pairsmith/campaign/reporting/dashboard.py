"""What the dashboard shows: figures that are counted here, and the last report, which the worker computed.

The page is built from FIGURES, LEARNED, PEOPLE_COLUMNS and JUDGE_COLUMNS, and its script fills in the values. To add a
figure, add it to FIGURES and to `count`. To add a column or a value of the model, add it here and add its key in
`raters.rate_raters`, `agreement.compare_judges_with_people` or `report.make_report`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa

from pairsmith.campaign import counted
from pairsmith.campaign.store import schema
from pairsmith.campaign.store import statements as sql
from pairsmith.campaign.store.schema import GOLD, SECOND, answers, leases, pairs, reports, undos

if TYPE_CHECKING:
    from pairsmith.campaign.store.store import Store

EMPTY_REPORT: dict[str, Any] = {
    "answers": 0, "revision": 0, "ranking": [], "curve": [], "people": [], "judges": [], "learned": {},
    "outlook": None, "advice": None,
}  # fmt: skip

# A report's advice looks ahead by this share of its answers, and at least by 25. It is withdrawn once these are in.
ADVICE_HORIZON, MIN_ADVICE_HORIZON = 0.25, 25


class Figure(NamedTuple):
    """A number that is counted whenever the dashboard is loaded."""

    heading: str
    key: str  # in the result of `count`
    out_of: str | None = None  # the key of the total that the number is a part of


class Value(NamedTuple):
    """A value of the last report: a tile, or a column of a table."""

    heading: str
    key: str
    format: str  # one of the `formats` in the page's script
    means: str = ""  # the explanation on the page


FIGURES = (
    Figure("Answers", "answers"),
    Figure("In the last hour", "last_hour"),
    Figure("Pairs complete", "complete", out_of="planned"),
    Figure("Rounds", "rounds"),
    Figure("Skipped", "skipped"),
    Figure("Taken back", "undone"),
)
LEARNED = (  # keys of `learned` in the report
    Value("Doubt", "doubt", "percent", "the chance that two items are in the wrong order"),
    Value("Reliability", "reliability", "number", "the share of how scores differ that is known"),
    Value("Features explain", "explained", "share", "of how scores differ; the rest is particular to each item"),
    Value("Predicted right", "agreement", "measured_share", "of the random pairs, before they were answered"),
    Value("AUC", "auc", "measured_number", "of the same predictions; 0.5 is chance"),
)
PEOPLE_COLUMNS = (  # keys of a row of `people` in the report
    Value("Name", "name", "text"),
    Value("Answers", "answers", "text"),
    Value("Median time", "seconds", "seconds"),
    Value("Left", "share_left", "share"),
    Value(
        "Predicted right",
        "foretold",
        "interval",
        "of the rater's random pairs, before they were answered, with a 90% interval; a coin has 50%",
    ),
    Value(
        "On the same pairs", "agrees_on_repeated", "interval", "other answers that are the same, with a 90% interval"
    ),
    Value(
        "Slope",
        "slope",
        "error",
        "how well a rater tells items apart, compared with the others; 1 is usual, 0 is random",
    ),
    Value("Side bias", "bias", "error", "above 0: prefers the item shown left"),
    Value("Infit", "infit", "number", "1 is as expected, more is erratic"),
    Value("Gold right", "gold", "right"),  # counted when the page is loaded
    Value("Look at", "flags", "list"),
)
JUDGE_COLUMNS = (  # keys of a row of `judges` in the report
    Value("Program", "name", "text"),
    Value("Pairs that people answered too", "pairs", "text"),
    Value("Agrees with people", "agrees", "share"),
    Value("90% from", "low", "share"),
    Value("to", "high", "share"),
    Value("People with each other", "people", "share"),
    Value("Left out", "changed", "text", "pairs it answered differently from each side"),
)


def count(store: Store, question: int | None = None) -> dict[str, int]:
    """Count the numbers of FIGURES now, for one question or for all."""
    hour_ago = store.now() - 3600 * SECOND
    of_question: sa.ColumnElement[bool] = sa.true()
    leased: sa.ColumnElement[bool] = sa.true()
    if question is not None and len(store.settings.questions) > 1:
        of_question = pairs.c.question == question
        leased = leases.c.pair.in_(sa.select(pairs.c.id).where(of_question))
    in_state = sa.select(sa.func.count()).select_from(leases).where(leased)
    counts = (leases.c.state == "answered") & sql.by_counted_rater
    queries = {
        "answers": in_state.where(counts),
        "last_hour": in_state.join(answers).where(counts, answers.c.at > hour_ago),
        "skipped": in_state.where(leases.c.state == "skipped"),
        "undone": sa.select(sa.func.count()).select_from(undos.join(answers).join(leases)).where(leased),
        "planned": sa.select(sa.func.count()).where(pairs.c.why != GOLD, of_question),
        "complete": sa.select(sa.func.count()).where(pairs.c.why != GOLD, pairs.c.wanted <= 0, of_question),
        "rounds": sa.select(sa.func.coalesce(sa.func.max(pairs.c.round), 0)),
    }
    with store.reading() as connection:
        return {key: connection.execute(query).scalar_one() for key, query in queries.items()}


def changes(store: Store) -> tuple[int, ...]:
    """Return numbers that change whenever a pair is asked, or an answer is given, taken back or corrected."""
    tables = answers, undos, schema.changes
    with store.reading() as connection:
        counts = (sa.select(sa.func.count()).select_from(table).scalar_subquery() for table in tables)
        newest = sa.select(sa.func.max(pairs.c.id)).scalar_subquery()
        return tuple(connection.execute(sa.select(*counts, newest)).one())


def last_report(store: Store, question: int = 0) -> dict[str, Any]:
    """Return the last report without its ranking; parts that were never computed are empty."""
    report = EMPTY_REPORT | (_read(store, _key("report", question)) or {})
    return {key: value for key, value in report.items() if key != "ranking"}


def shown_report(store: Store, answers: int, question: int = 0) -> dict[str, Any]:
    """Return the last report, without advice and forecast if they no longer hold after this many answers.

    They no longer hold after a correction, which may exclude answers that the report counted, or after many more
    answers. Both come back with the next report.
    """
    report = last_report(store, question)
    with store.reading() as connection:
        corrected = connection.execute(sql.REVISION).scalar_one() != report["revision"]
    many_more = answers >= report["answers"] + max(MIN_ADVICE_HORIZON, ADVICE_HORIZON * report["answers"])
    if report["advice"] is None or not (corrected or many_more):
        return report
    since = "there were corrections since" if corrected else f"there are {counted(answers, 'answer')} now"
    text = f"Being computed again: the figures below are from {counted(report['answers'], 'answer')}, and {since}."
    return report | {"outlook": None, "advice": {"stop": False, "text": text, "more": []}}


def last_ranking(store: Store, question: int = 0) -> list[list[Any]]:
    """Return the ranking of the last report. It is stored separately, because it is large if there are many items."""
    return _read(store, _key("ranking", question)) or []


def last_doubts(store: Store) -> list[float | None]:
    """Return the doubt of each question in its last report; None where there is none."""
    return [last_report(store, at)["learned"].get("doubt") for at in range(len(store.settings.questions))]


def last_problem(store: Store) -> str:
    """Return why the next round could not be planned, or "" if there is no problem."""
    return _read(store, "problem") or ""


def save_report(store: Store, *reports: dict[str, Any]) -> None:
    """Save the report of each question."""
    for question, report in enumerate(reports):
        _save(store, _key("ranking", question), report.get("ranking", []))
        _save(store, _key("report", question), {key: value for key, value in report.items() if key != "ranking"})
    # Also stored separately, because every request reads it: what holds for all questions.
    doubts = [report.get("learned", {}).get("doubt") for report in reports]
    fewest = min(report.get("answers", 0) for report in reports)
    oldest = min(report.get("revision", 0) for report in reports)
    _save(store, "doubt", {"answers": fewest, "revision": oldest, "doubt": None if None in doubts else max(doubts)})


def last_state(store: Store, question: int = 0) -> tuple[Any, Any]:
    """Return the stored arguments of `history.ReportState.from_json`: the state and the forecast, or None."""
    return _read(store, _key("history", question)), _read(store, _key("outlook", question))


def save_state(store: Store, state: dict[str, Any], forecast: dict[str, Any] | None, question: int = 0) -> None:
    _save(store, _key("history", question), state)
    _save(store, _key("outlook", question), forecast)


def save_problem(store: Store, problem: str) -> None:
    _save(store, "problem", problem)


def _key(name: str, question: int) -> str:
    """Return the report's key; the first question uses the bare name, as single-question campaigns do."""
    return name if question == 0 else f"{name} {question + 1}"


def _read(store: Store, name: str) -> Any:
    with store.reading() as connection:
        return connection.execute(sa.select(reports.c.content).where(reports.c.name == name)).scalar()


def _save(store: Store, name: str, content: Any) -> None:
    with store.writing() as connection:
        changed = connection.execute(reports.update().where(reports.c.name == name).values(content=content))
        if changed.rowcount == 0:
            connection.execute(reports.insert().values(name=name, content=content))
