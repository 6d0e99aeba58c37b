"""Check the content of a campaign when it is opened. A file that was edited or damaged is refused in one line.

SQLite stores any value in any column; PostgreSQL checks types itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import sqlalchemy as sa

from pairsmith.campaign.options import CampaignOptions
from pairsmith.campaign.store import schema

_MAX_TIME = 9_100_000_000 * schema.SECOND  # in 2258
_TYPES: list[tuple[type, str]] = [  # the first that fits is the rule for a column of this type in SQLite
    (sa.Boolean, "typeof({0}) = 'integer' AND {0} IN (0, 1)"),
    (sa.Integer, "typeof({0}) = 'integer'"),
    (sa.Float, "typeof({0}) IN ('real', 'integer')"),
    (sa.Text, "typeof({0}) = 'text'"),
    (sa.LargeBinary, "typeof({0}) = 'blob'"),
    (
        sa.JSON,
        "typeof({0}) IN ('integer', 'real') OR typeof({0}) = 'text' AND json_valid({0})",
    ),  # SQLite stores '1' as 1
]
_OUTCOME = "{0} IN (-1, 0, 1)"
_REASON = f"{{0}} IN {schema.REASONS}"
_RULES = {  # for single columns, besides the rule for their type
    "campaign.state": "{0} IN ('open', 'paused', 'closed')",
    "campaign.gold_rate": "{0} BETWEEN 0 AND 1",
    "items.label": "{0} IN (-1, 1)",
    "pairs.why": _REASON,
    "pairs.gold": _OUTCOME,
    "people.role": "{0} IN ('rater', 'organiser')",
    "leases.state": "{0} IN ('open', 'answered', 'skipped', 'undone', 'struck')",
    "leases.why": _REASON,
    "answers.outcome": _OUTCOME,
    "answers.strength": "{0} IN ('slightly', 'much')",
    "answers.at": f"{{0}} BETWEEN 0 AND {_MAX_TIME}",
    "wordings.at": f"{{0}} BETWEEN 0 AND {_MAX_TIME}",
    "changes.at": f"{{0}} BETWEEN 0 AND {_MAX_TIME}",
}


def find_problem(connection: sa.Connection) -> str | None:
    """Return what is wrong with the content of a campaign, or None if nothing is."""
    problems = _wrong_values(connection) if connection.dialect.name == "sqlite" else iter(())
    return next(problems, None) or next(_wrong_content(connection), None)


def _wrong_values(connection: sa.Connection) -> Iterator[str]:
    for table in schema.tables.sorted_tables:
        for column in table.columns:
            name = f'{table.name}."{column.name}"'
            rules = [next(rule for kind, rule in _TYPES if isinstance(column.type, kind))]
            rules += [_RULES[f"{table.name}.{column.name}"]] if f"{table.name}.{column.name}" in _RULES else []
            valid = " AND ".join(f"({rule.format(name)})" for rule in rules)
            valid = f"{name} IS NULL OR ({valid})" if column.nullable else valid
            row = connection.exec_driver_sql(f"SELECT rowid FROM {table.name} WHERE NOT ({valid}) LIMIT 1").scalar()
            if row is not None:
                yield f"row {row} of the table {table.name} has no valid {column.name}"
    if (orphan := connection.exec_driver_sql("PRAGMA foreign_key_check").first()) is not None:
        yield f"row {orphan[1]} of the table {orphan[0]} names a row of {orphan[2]} that is not there"


def _wrong_content(connection: sa.Connection) -> Iterator[str]:
    items = schema.items
    try:
        stored = connection.execute(sa.select(schema.campaign.c.settings, schema.campaign.c.goals)).one()
        options = CampaignOptions.from_stored(stored.settings)
    except ValueError as error:
        yield str(error)
        return
    if not isinstance(stored.goals, Mapping | None) or any(
        isinstance(value, bool) or not isinstance(value, int | float) for value in (stored.goals or {}).values()
    ):
        yield "its goals are not numbers"
    count, last = connection.execute(sa.select(sa.func.count(), sa.func.max(items.c.row)).select_from(items)).one()
    if count == 0 or last != count - 1:
        yield "items are missing"
    length = sa.func.length(items.c.features)
    misfits = sa.select(items.c.row).where(length != 8 * len(options.feature_names)).limit(1)
    if (row := connection.execute(misfits).scalar()) is not None:
        yield f"row {row} of the table items has not as many features as the options name"
    unknown = sa.select(schema.pairs.c.id).where(~schema.pairs.c.question.between(0, len(options.questions) - 1))
    if (row := connection.execute(unknown.limit(1)).scalar()) is not None:
        yield f"row {row} of the table pairs has no valid question"
