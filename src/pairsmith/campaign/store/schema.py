"""The tables of a campaign.

No row is ever deleted: an answer that was taken back stays, with a row in `undos`. All times are microseconds since
1970.
"""

from __future__ import annotations

import sqlalchemy as sa

VERSION = 1  # of these tables; raise it with a step in `migrations`
SECOND = 1_000_000  # in microseconds, the tables' unit of time
MADE_ELSEWHERE = 0  # `expires` of a lease that nobody held: it belongs to an imported answer

# Why a pair is asked.
REASONS = DESIGNED, RANDOM, REPEATED, GOLD, IMPORTED = "designed", "random", "repeated", "gold", "imported"

CHANGED = "answered differently from each side"  # the comment on a program's tie or skip that this caused

tables = sa.MetaData()
campaign = sa.Table(
    "campaign",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("settings", sa.JSON, nullable=False),
    sa.Column("state", sa.Text, nullable=False, server_default="open"),  # open, paused or closed
    sa.Column("goals", sa.JSON, nullable=False, server_default="{}"),  # when the campaign is over, see `goals`
    sa.Column("gold_rate", sa.Float),  # share of gold pairs among those handed out; null: none
)
items = sa.Table(
    "items",
    tables,
    sa.Column("row", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("name", sa.Text, nullable=False, unique=True),  # the item's id in files and for people
    sa.Column("features", sa.LargeBinary, nullable=False),  # float64, little-endian
    sa.Column("grouped", sa.Text),
    sa.Column("label", sa.JSON(none_as_null=True)),
    sa.Column("parts", sa.JSON, nullable=False),  # what raters see: a list of [kind, text or path in the folder]
    sa.Column("lean", sa.Integer, nullable=False, default=0),  # times shown on the left minus times shown on the right
    sa.Column("prompt", sa.Text),  # that the item answers; shown above the pair
    sa.Column("author", sa.Text),  # who made the item
)
pairs = sa.Table(  # a row for each pair and question; the rows of a pair follow each other
    "pairs",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("first", sa.ForeignKey(items.c.row), nullable=False),
    sa.Column("second", sa.ForeignKey(items.c.row), nullable=False),
    sa.Column("round", sa.Integer, nullable=False),  # 0: never planned, its answers were imported
    sa.Column("wanted", sa.Integer, nullable=False),  # answers still missing; negative after surplus imports
    sa.Column("why", sa.Text, nullable=False, server_default=DESIGNED),  # reason for asking it the last time
    sa.Column("gold", sa.Integer),  # the known outcome of a gold pair
    sa.Column("question", sa.Integer, nullable=False, server_default="0"),  # its number; 0: the first
    sa.CheckConstraint('"first" < "second"', name="pairs_differ"),
    sa.Index("pairs_once", "first", "second", "question", unique=True),
    sa.Index("pairs_second", "second"),  # with the index above, it finds all pairs of an item
)
sa.Index("pairs_wanted", pairs.c.id, sqlite_where=sa.text("wanted > 0"), postgresql_where=sa.text("wanted > 0"))
people = sa.Table(
    "people",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("role", sa.Text, nullable=False),  # rater or organiser
    sa.Column("hash", sa.Text, unique=True),  # SHA-256 of the token of the invite link
    sa.Column("seal", sa.Text),  # by the user who made or confirmed the invite, see `people.seals`
    sa.Column("quota", sa.Integer),  # answers after which this person is done
    sa.Column("excluded", sa.Boolean, nullable=False, server_default=sa.false()),  # their answers do not count
    sa.Column("program", sa.Boolean, nullable=False, server_default=sa.false()),  # a judge
    sa.UniqueConstraint("name", "role"),
)
enrolments = sa.Table(  # links by which people enrol themselves
    "enrolments",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("hash", sa.Text, nullable=False, unique=True),  # SHA-256 of the token of the link
    sa.Column("places", sa.Integer, nullable=False),  # how many more people may enrol
    sa.Column("seal", sa.Text),  # by the user who made or confirmed the link, see `people.seals`
)
wordings = sa.Table(  # edited versions of the questions and instructions, oldest first
    "wordings",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("questions", sa.JSON, nullable=False),
    sa.Column("instructions", sa.Text, nullable=False),
)
# A lease is a pair shown to a person with one question. Its state is open (until it expires), answered, skipped,
# undone (answered and taken back) or struck (answered and struck out by an organiser).
leases = sa.Table(
    "leases",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("token", sa.Text, nullable=False, unique=True),
    sa.Column("pair", sa.ForeignKey(pairs.c.id), nullable=False, index=True),
    sa.Column("person", sa.ForeignKey(people.c.id), nullable=False),
    sa.Column("left", sa.ForeignKey(items.c.row), nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("again", sa.Boolean, nullable=False, default=False),  # shown again after an undo
    sa.Column("expires", sa.BigInteger, nullable=False),  # a time, or MADE_ELSEWHERE
    sa.Column("why", sa.Text, nullable=False, server_default=DESIGNED),  # reason for asking the pair this time
    sa.Column("wording", sa.Integer),  # id of the wording that was shown; null: as the campaign was made
)
sa.Index("leases_state", leases.c.state, leases.c.person)
answers = sa.Table(
    "answers",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("lease", sa.ForeignKey(leases.c.id), nullable=False, unique=True),
    sa.Column("outcome", sa.Integer),  # +1 first preferred, -1 second, 0 tie, null: skipped
    sa.Column("milliseconds", sa.Integer),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("strength", sa.Text),  # slightly or much; null: not graded
    sa.Column("comment", sa.Text),
)
undos = sa.Table(
    "undos",
    tables,
    sa.Column("answer", sa.ForeignKey(answers.c.id), primary_key=True, autoincrement=False),
    sa.Column("at", sa.BigInteger, nullable=False),
)
changes = sa.Table(  # the log of what organisers did: pauses, corrections, exclusions
    "changes",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("person", sa.ForeignKey(people.c.id)),  # null: by a command
    sa.Column("what", sa.Text, nullable=False),
    sa.Column("content", sa.JSON, nullable=False),
)
reports = sa.Table(  # results of the `worker` process, for the web pages
    "reports",
    tables,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("content", sa.JSON, nullable=False),
)
