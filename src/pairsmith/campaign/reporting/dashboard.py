"""What the dashboard shows: the numbers that are counted here, and the last report, which `worker` computed.

A figure is added here and nowhere else, and so is a column, which also needs its key in `raters.rate`, and what was
learned, which needs one in `report.make_report`: the page is built from FIGURES, LEARNED and PEOPLE_COLUMNS, and its
script fills in what it finds on the page.
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


# A report's advice is about the next quarter more answers, 25 at least. Once these are in, it is withdrawn.
GROWTH, LEAST_GROWTH = 0.25, 25


class Figure(NamedTuple):
    heading: str
    key: str  # of `count`
    out_of: str | None = None  # the key of the number that it is a part of


class Value(NamedTuple):
    """A value of the last report: a tile, or a column of a table."""

    heading: str
    key: str
    format: str  # in which the script writes it, one of its `formats`
    means: str = ""  # the words that explain it on the page


FIGURES = (
    Figure("Answers", "answers"),
    Figure("In the last hour", "last_hour"),
    Figure("Pairs complete", "complete", out_of="planned"),
    Figure("Rounds", "rounds"),
    Figure("Skipped", "skipped"),
    Figure("Taken back", "undone"),
)
LEARNED = (  # of the report's `learned`
    Value("Doubt", "doubt", "percent", "the chance that two items stand in the wrong order"),
    Value("Reliability", "reliability", "number", "the share of how scores differ that is known"),
    Value("Features explain", "explained", "share", "of how scores differ; the rest is the items' own"),
    Value("Foretold right", "agreement", "measured_share", "of the random pairs, before they were answered"),
    Value("AUC", "auc", "measured_number", "of the same forecasts; 0.5 is chance"),
)
PEOPLE_COLUMNS = (  # of a row of the report's `people`
    Value("Name", "name", "text"),
    Value("Answers", "answers", "text"),
    Value("Median time", "seconds", "seconds"),
    Value("Left", "share_left", "share"),
    Value(
        "Foretold right",
        "foretold",
        "interval",
        "of somebody's random pairs, before they were answered, and a 90% interval; a coin has 50%",
    ),
    Value("On the same pairs", "agrees_on_repeated", "interval", "other answers that are the same, and a 90% interval"),
    Value("Slope", "slope", "error", "how well somebody tells items apart, beside the others; 1 is usual, 0 at random"),
    Value("Side bias", "bias", "error", "above 0 for what is shown left"),
    Value("Infit", "infit", "number", "1 is as it should be, more is erratic"),
    Value("Gold right", "gold", "right"),  # counted when it is shown
    Value("Look at", "flags", "list"),
)
JUDGE_COLUMNS = (  # of a row of the report's `judges`
    Value("Program", "name", "text"),
    Value("Pairs that people answered too", "pairs", "text"),
    Value("Agrees with people", "agrees", "share"),
    Value("90% from", "low", "share"),
    Value("to", "high", "share"),
    Value("People with each other", "people", "share"),
    Value("Left out", "changed", "text", "pairs it answered differently from each side"),
)


def count(store: Store, question: int | None = None) -> dict[str, int]:
    """The numbers of FIGURES, as of now, of this question or of all."""
    hour_ago = store.now() - 3600 * SECOND
    asked: sa.ColumnElement[bool] = sa.true()
    leased: sa.ColumnElement[bool] = sa.true()
    if question is not None and len(store.settings.questions) > 1:
        asked = pairs.c.question == question
        leased = leases.c.pair.in_(sa.select(pairs.c.id).where(asked))
    in_state = sa.select(sa.func.count()).select_from(leases).where(leased)
    counts = (leases.c.state == "answered") & sql.of_those_who_count
    queries = {
        "answers": in_state.where(counts),
        "last_hour": in_state.join(answers).where(counts, answers.c.at > hour_ago),
        "skipped": in_state.where(leases.c.state == "skipped"),
        "undone": sa.select(sa.func.count()).select_from(undos.join(answers).join(leases)).where(leased),
        "planned": sa.select(sa.func.count()).where(pairs.c.why != GOLD, asked),
        "complete": sa.select(sa.func.count()).where(pairs.c.why != GOLD, pairs.c.wanted <= 0, asked),
        "rounds": sa.select(sa.func.coalesce(sa.func.max(pairs.c.round), 0)),
    }
    with store.reading() as connection:
        return {key: connection.execute(query).scalar_one() for key, query in queries.items()}


def changes(store: Store) -> tuple[int, ...]:
    """Numbers that differ whenever something has been asked, answered, taken back or corrected."""
    tables = answers, undos, schema.changes
    with store.reading() as connection:
        counts = (sa.select(sa.func.count()).select_from(table).scalar_subquery() for table in tables)
        newest = sa.select(sa.func.max(pairs.c.id)).scalar_subquery()
        return tuple(connection.execute(sa.select(*counts, newest)).one())


def last_report(store: Store, question: int = 0) -> dict[str, Any]:
    """What `report` last computed, but for the ranking; what it did not, or an earlier version did not, is empty."""
    report = EMPTY_REPORT | (_read(store, _named("report", question)) or {})
    return {key: value for key, value in report.items() if key != "ranking"}


def shown_report(store: Store, answers: int, question: int = 0) -> dict[str, Any]:
    """Return the last report without its advice and forecast if these no longer hold of so many answers.

    They do not hold after a correction, which may have left out answers that the report counted, nor after many more
    answers. Both come back with the next report.
    """
    report = last_report(store, question)
    with store.reading() as connection:
        corrected = connection.execute(sql.REVISION).scalar_one() != report["revision"]
    many = answers >= report["answers"] + max(LEAST_GROWTH, GROWTH * report["answers"])
    if report["advice"] is None or not (corrected or many):
        return report
    since = "what counts was corrected since" if corrected else f"there are {counted(answers, 'answer')} now"
    text = f"Being computed again: the figures below are of {counted(report['answers'], 'answer')}, and {since}."
    return report | {"outlook": None, "advice": {"stop": False, "text": text, "more": []}}


def last_ranking(store: Store, question: int = 0) -> list[list[Any]]:
    """The ranking of the last report, as `report` makes it. Of many items it is large, so it is kept by itself."""
    return _read(store, _named("ranking", question)) or []


def last_doubts(store: Store) -> list[float | None]:
    """The doubt of each question by its last report; None where there is none."""
    return [last_report(store, at)["learned"].get("doubt") for at in range(len(store.settings.questions))]


def last_problem(store: Store) -> str:
    """Why the next round could not be planned, or nothing where it could."""
    return _read(store, "problem") or ""


def save_report(store: Store, *reports: dict[str, Any]) -> None:
    """Save the report of each question."""
    for question, report in enumerate(reports):
        _save(store, _named("ranking", question), report.get("ranking", []))
        _save(store, _named("report", question), {key: value for key, value in report.items() if key != "ranking"})
    # By itself too, as it is looked at with every request: what holds for all questions.
    doubts = [report.get("learned", {}).get("doubt") for report in reports]
    fewest = min(report.get("answers", 0) for report in reports)
    oldest = min(report.get("revision", 0) for report in reports)
    _save(store, "doubt", {"answers": fewest, "revision": oldest, "doubt": None if None in doubts else max(doubts)})


def last_memory(store: Store, question: int = 0) -> tuple[Any, Any]:
    """What `history.Memory` kept, and the last `outlook`; None where there is none."""
    return _read(store, _named("history", question)), _read(store, _named("outlook", question))


def save_memory(store: Store, history: dict[str, Any], outlook: dict[str, Any] | None, question: int = 0) -> None:
    _save(store, _named("history", question), history)
    _save(store, _named("outlook", question), outlook)


def save_problem(store: Store, problem: str) -> None:
    _save(store, "problem", problem)


def _named(name: str, question: int) -> str:
    """Under which name this is kept: that of the first question as in campaigns that have one."""
    return name if question == 0 else f"{name} {question + 1}"


def _read(store: Store, name: str) -> Any:
    with store.reading() as connection:
        return connection.execute(sa.select(reports.c.content).where(reports.c.name == name)).scalar()


def _save(store: Store, name: str, content: Any) -> None:
    with store.writing() as connection:
        changed = connection.execute(reports.update().where(reports.c.name == name).values(content=content))
        if changed.rowcount == 0:
            connection.execute(reports.insert().values(name=name, content=content))
