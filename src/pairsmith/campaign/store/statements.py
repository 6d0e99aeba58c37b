"""The SQL of every request, built once: building it takes SQLAlchemy ten times as long as running it."""

from __future__ import annotations

import sqlalchemy as sa

from pairsmith.campaign.store.schema import (
    GOLD,
    MADE_ELSEWHERE,
    REPEATED,
    answers,
    campaign,
    changes,
    items,
    leases,
    pairs,
    people,
    reports,
    wordings,
)

_value = sa.bindparam
_live = (leases.c.state == "open") & (leases.c.expires > _value("now"))
_answered_count = sa.select(sa.func.count()).where(leases.c.state == "answered")
_own = leases.c.person == _value("person")
# Imported answers carry a person's name, but that person did not give them here and cannot take them back.
_own_here = _own & (leases.c.expires != MADE_ELSEWHERE)
# Keeps the leases of people whose answers count.
by_counted_rater = leases.c.person.not_in(sa.select(people.c.id).where(people.c.excluded))

PERSON = sa.select(people).where(people.c.hash == _value("hash"), people.c.role == _value("role"))
PARTS = sa.select(items.c.parts).where(items.c.row == _value("row"))
NAME = sa.select(items.c.name).where(items.c.row == _value("row"))
PROMPT = sa.select(items.c.prompt).where(items.c.row == _value("row"))

# Entries of the log that make earlier reports wrong, not only older: they change which answers or items count.
_CORRECTIONS = "excluded", "included", "struck", "restored", "added"
# A number that changes with each correction. A report stores the revision of its answers.
REVISION = sa.select(sa.func.coalesce(sa.func.max(changes.c.id), 0)).where(changes.c.what.in_(_CORRECTIONS))

LAST_WORDING = sa.select(sa.func.max(wordings.c.id))

HELD = (  # open leases of this person: pairs shown again after an undo, newest first; then the others, oldest first
    sa.select(leases.c.id, leases.c.token, leases.c.left, pairs.c.first, pairs.c.second, pairs.c.question)
    .join(pairs)
    .where(_live, leases.c.person == _value("person"))
    .order_by(sa.case((leases.c.again, -leases.c.id), else_=leases.c.id))
)
_rows_of_pair = sa.select(pairs.c.id).where(pairs.c.first == _value("first"), pairs.c.second == _value("second"))
ABANDONED = sa.select(leases.c.id, leases.c.pair, leases.c.token, leases.c.left).where(
    leases.c.pair.in_(_rows_of_pair), leases.c.person == _value("person"), leases.c.state == "open"
)
BEING_ANSWERED = sa.select(sa.func.count()).where(leases.c.pair == _value("pair"), _live)
RENEW = (  # a lease, and the unexpired leases for the other questions of its pair
    leases.update()
    .where(leases.c.pair.in_(_rows_of_pair), leases.c.person == _value("holder"), leases.c.state == "open")
    .where((leases.c.id == _value("lease")) | (leases.c.expires > _value("now")))
    .values(expires=_value("until"))
)
GIVE_BACK = (  # all open leases of this person
    leases.update().where(leases.c.person == _value("holder"), _live).values(expires=_value("until"))
)
SHOW = leases.update().where(leases.c.id == _value("lease")).values(expires=_value("until"), wording=_value("shown"))
RESUME_LEASE = (  # an abandoned lease
    leases.update()
    .where(leases.c.id == _value("lease"))
    .values(expires=_value("until"), why=_value("reason"), wording=_value("shown"))
)
EXPIRE = leases.update().where(leases.c.id == _value("lease")).values(expires=_value("now"))
CLOSE = leases.update().where(leases.c.id == _value("lease")).values(state=_value("how"))
_either = (items.c.row == _value("one")) | (items.c.row == _value("other"))
LEAN_OF_TWO = sa.select(items.c.row, items.c.lean).where(_either)
LEAN = (  # record that one of two items is shown on the left, and the other on the right
    items.update().where(_either).values(lean=items.c.lean + sa.case((items.c.row == _value("leftmost"), 1), else_=-1))
)
ASK_AGAIN = (  # `wanted` is negative after surplus imports
    pairs.update()
    .where(pairs.c.first == _value("i"), pairs.c.second == _value("j"), pairs.c.question == _value("which"))
    .values(wanted=sa.case((pairs.c.wanted < 0, 1), else_=pairs.c.wanted + 1), round=_value("number"), why=REPEATED)
)
ADD_WANTED = pairs.update().where(pairs.c.id == _value("pair")).values(wanted=pairs.c.wanted + _value("step"))

OWN_LEASE = (
    sa.select(leases, pairs.c.first, pairs.c.second, pairs.c.question, pairs.c.wanted)
    .add_columns(people.c.excluded, people.c.program)
    .join(pairs)
    .join(people)
    .where(leases.c.token == _value("token"), leases.c.person == _value("person"))
)
LAST_ANSWER = (  # the newest answer or skip that this person gave here and has not taken back
    sa.select(answers.c.id, answers.c.outcome, leases.c.token)
    .join(leases)
    .where(_own_here, leases.c.state.in_(("answered", "skipped")))
    .order_by(answers.c.id.desc())
    .limit(1)
)
SHOWN_AGAIN = (
    sa.select(leases.c.token, leases.c.left, leases.c.state, leases.c.wording)
    .where(leases.c.pair == _value("pair"), leases.c.person == _value("person"), leases.c.again)
    .order_by(leases.c.id.desc())
)
_leases_with = sa.select(leases.c.id).join(pairs).where(_own_here)
SHOWN = sa.select(  # whether this person was ever shown this item in the campaign
    sa.or_(*(_leases_with.where(side == _value("row")).exists() for side in (pairs.c.first, pairs.c.second)))
)
_quota = sa.select(people.c.quota).where(people.c.id == _value("person")).scalar_subquery().label("quota")
PROGRESS = sa.select(
    campaign.c.state,
    campaign.c.goals,
    _quota,
    _answered_count.where(by_counted_rater).scalar_subquery().label("total"),
    _answered_count.where(_own_here).scalar_subquery().label("own"),
    sa.select(sa.func.coalesce(sa.func.sum(pairs.c.wanted), 0))
    .where(sa.text("wanted > 0"))
    .scalar_subquery()
    .label("wanted"),
    LAST_ANSWER.with_only_columns(leases.c.token).scalar_subquery().label("last"),
)

COURSE = sa.select(  # what decides whether this person gets another pair
    campaign.c.state,
    campaign.c.goals,
    campaign.c.gold_rate,
    sa.select(reports.c.content)
    .where(reports.c.name == "doubt")
    .scalar_subquery()
    .label("doubt"),  # of the worst question
    _quota,
    LAST_WORDING.scalar_subquery().label("wording"),
    REVISION.scalar_subquery().label("revision"),
)
_closed = sa.select(sa.func.max(changes.c.at)).where(changes.c.what == "close").scalar_subquery()
END = sa.select(campaign.c.state, campaign.c.goals, _closed.label("closed_at"))
_open_count = sa.select(sa.func.count()).where(_live)
# Numbers of answers and of open leases: those that count towards the budget, and one person's own.
GIVEN = sa.select(
    _answered_count.where(by_counted_rater).scalar_subquery(), _open_count.where(by_counted_rater).scalar_subquery()
)
OWN_COUNTS = sa.select(_answered_count.where(_own_here).scalar_subquery(), _open_count.where(_own).scalar_subquery())
ITEMS = sa.select(sa.func.count()).select_from(items)
GROUP_SIZES = sa.select(sa.func.count()).select_from(items).group_by(items.c.grouped)
PAIRS = sa.select(sa.func.count()).select_from(pairs).where(pairs.c.question == 0)
_one, _two = items.alias(), items.alias()
PAIRS_WITHIN_GROUPS = (
    PAIRS.join(_one, pairs.c.first == _one.c.row)
    .join(_two, pairs.c.second == _two.c.row)
    .where(pairs.c.first < pairs.c.second, _one.c.grouped.is_not_distinct_from(_two.c.grouped))
)
LEFT = sa.select(pairs.c.id).where(sa.text("wanted > 0")).limit(1)


def finished_lease_states(repeats: bool) -> tuple[str, ...]:
    """Return the states of a lease after which the same person is not shown its pair again."""
    return ("skipped",) if repeats else ("answered", "skipped")


UNFINISHED_PAIR_FOR = {  # a pair that lacks answers and that this person has not finished, even if others hold it
    repeats: LEFT.where(
        ~sa.exists().where(leases.c.pair == pairs.c.id, _own, leases.c.state.in_(finished_lease_states(repeats)))
    )
    for repeats in (False, True)
}

_may_be_asked_again = sa.exists().where(people.c.id == _value("person"), ~people.c.excluded, ~people.c.program)
REPEATABLE_PAIR = {  # a complete pair that this person may be asked, see `CampaignSnapshot.repeatable`
    repeats: sa.select(pairs.c.id, pairs.c.first, pairs.c.second, pairs.c.question, sa.literal(REPEATED).label("why"))
    .where(pairs.c.wanted <= 0, pairs.c.gold.is_(None), pairs.c.first < pairs.c.second, _may_be_asked_again)
    .where(~sa.exists().where(leases.c.pair == pairs.c.id, _own, leases.c.state.in_(finished_lease_states(repeats))))
    .limit(1)
    for repeats in (False, True)
}
RANDOM_REPEATABLE_PAIR = {  # a random one of these pairs that this person does not hold
    repeats: pair.where(~sa.exists().where(leases.c.pair == pairs.c.id, _own, _live)).order_by(sa.func.random())
    for repeats, pair in REPEATABLE_PAIR.items()
}
ANSWERED_HERE = sa.select(leases.c.id).where(_own_here, leases.c.state == "answered")


_own_leases = leases.alias()
_of_this_pair = (_own_leases.c.pair == pairs.c.id) & (_own_leases.c.person == _value("person"))


def _may_be_shown(repeats: bool) -> sa.Select[tuple[int, int, int, int, str]]:
    """Select the pairs that this person may still be shown."""
    held = (_own_leases.c.state == "open") & (_own_leases.c.expires > _value("now"))
    return sa.select(pairs.c.id, pairs.c.first, pairs.c.second, pairs.c.question, pairs.c.why).where(
        ~sa.exists().where(_of_this_pair, _own_leases.c.state.in_(finished_lease_states(repeats)) | held),
    )


def lacks_answers(now: int | sa.BindParameter[int]) -> sa.ColumnElement[bool]:
    """Return the condition that a pair wants more answers than are being given to it at this time."""
    other = leases.alias()
    being_given = (
        sa.select(sa.func.count())
        .where(other.c.pair == pairs.c.id, other.c.state == "open", other.c.expires > now)
        .scalar_subquery()
    )
    # Written like this, so that the database uses the partial index.
    return sa.and_(sa.text("wanted > 0"), pairs.c.wanted > being_given)


def _free_pairs(repeats: bool) -> sa.Select[tuple[int, int, int, int, str]]:
    """Select the pairs that this person may be shown and that want more answers than there are open leases."""
    return _may_be_shown(repeats).where(lacks_answers(_value("now")))


def _next_free_pair(repeats: bool) -> sa.Select[tuple[int, int, int, int, str]]:
    """Select the first free pair. If pairs repeat, the pairs that this person answered least often come first."""
    query = _free_pairs(repeats)
    if repeats:
        times = sa.select(sa.func.count()).where(_of_this_pair, _own_leases.c.state == "answered").scalar_subquery()
        query = query.order_by(times)
    return query.order_by(pairs.c.id).limit(1)


def _for_rows_of_pair(query: sa.Select[tuple[int, int, int, int, str]]) -> sa.Select[tuple[int, int, int, int, str]]:
    return query.where(pairs.c.id.in_(_rows_of_pair)).order_by(pairs.c.question)


NEXT_FREE_PAIR = {repeats: _next_free_pair(repeats) for repeats in (False, True)}
# The questions with which this person is shown a pair: those that lack answers; all of them for a gold pair or a
# pair that is asked again.
OPEN_QUESTIONS_OF_PAIR = {repeats: _for_rows_of_pair(_free_pairs(repeats)) for repeats in (False, True)}
ALL_QUESTIONS_OF = {repeats: _for_rows_of_pair(_may_be_shown(repeats)) for repeats in (False, True)}
_times = (
    sa.select(sa.func.count())
    .where(leases.c.pair == pairs.c.id, _own, leases.c.state == "answered")
    .scalar_subquery()
    .label("times")
)
GOLD_PAIRS = (  # with how often this person answered each, without those they skipped or hold
    sa.select(pairs.c.id, pairs.c.first, pairs.c.second, pairs.c.question, sa.literal(GOLD).label("why"), _times)
    .where(
        pairs.c.gold.is_not(None),
        ~sa.exists().where(leases.c.pair == pairs.c.id, _own, (leases.c.state == "skipped") | _live),
    )
    .order_by(pairs.c.id)
)
LAST_SHOWN = (  # the pair this person was shown last: leases are equally long, so the last one expires last
    sa.select(pairs.c.first, pairs.c.second)
    .select_from(leases.join(pairs))
    .where(_own, leases.c.expires != MADE_ELSEWHERE)
    .order_by(leases.c.expires.desc(), leases.c.id.desc())
    .limit(1)
)
LEASE_COUNT = sa.select(sa.func.count()).where(_own, leases.c.state.in_(("open", "answered", "skipped", "undone")))
LEASE, ANSWER = leases.insert(), answers.insert()
