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

_given = sa.bindparam
_live = (leases.c.state == "open") & (leases.c.expires > _given("now"))
_counted = sa.select(sa.func.count()).where(leases.c.state == "answered")
_own = leases.c.person == _given("person")
# Imported answers carry a person's name, but that person did not give them here: they are not theirs to take back.
_held_here = _own & (leases.c.expires != MADE_ELSEWHERE)
# Of a lease: whether its person is one whose answers count.
of_those_who_count = leases.c.person.not_in(sa.select(people.c.id).where(people.c.excluded))

PERSON = sa.select(people).where(people.c.hash == _given("hash"), people.c.role == _given("role"))
PARTS = sa.select(items.c.parts).where(items.c.row == _given("row"))
NAME = sa.select(items.c.name).where(items.c.row == _given("row"))
PROMPT = sa.select(items.c.prompt).where(items.c.row == _given("row"))

# What organisers do that makes reports wrong, not only older: they change which answers or items count.
_CORRECTIONS = "excluded", "included", "struck", "restored", "added"
# A number that differs after each correction. A report keeps the one of its answers.
REVISION = sa.select(sa.func.coalesce(sa.func.max(changes.c.id), 0)).where(changes.c.what.in_(_CORRECTIONS))

LAST_WORDING = sa.select(sa.func.max(wordings.c.id))

HELD = (  # what this person holds: first what was taken back last, then in order
    sa.select(leases.c.id, leases.c.token, leases.c.left, pairs.c.first, pairs.c.second, pairs.c.question)
    .join(pairs)
    .where(_live, leases.c.person == _given("person"))
    .order_by(sa.case((leases.c.again, -leases.c.id), else_=leases.c.id))
)
_its_questions = sa.select(pairs.c.id).where(pairs.c.first == _given("first"), pairs.c.second == _given("second"))
ABANDONED = sa.select(leases.c.id, leases.c.pair, leases.c.token, leases.c.left).where(
    leases.c.pair.in_(_its_questions), leases.c.person == _given("person"), leases.c.state == "open"
)
BEING_ANSWERED = sa.select(sa.func.count()).where(leases.c.pair == _given("pair"), _live)
RENEW = (  # a lease, and those of the other questions of its pair that did not expire
    leases.update()
    .where(leases.c.pair.in_(_its_questions), leases.c.person == _given("holder"), leases.c.state == "open")
    .where((leases.c.id == _given("lease")) | (leases.c.expires > _given("now")))
    .values(expires=_given("until"))
)
GIVE_BACK = (  # all that this person holds
    leases.update().where(leases.c.person == _given("holder"), _live).values(expires=_given("until"))
)
SHOW = leases.update().where(leases.c.id == _given("lease")).values(expires=_given("until"), wording=_given("shown"))
TAKE_UP = (  # a lease that was abandoned
    leases.update()
    .where(leases.c.id == _given("lease"))
    .values(expires=_given("until"), why=_given("reason"), wording=_given("shown"))
)
EXPIRE = leases.update().where(leases.c.id == _given("lease")).values(expires=_given("now"))
CLOSE = leases.update().where(leases.c.id == _given("lease")).values(state=_given("how"))
_of_two = (items.c.row == _given("one")) | (items.c.row == _given("other"))
LEAN_OF_TWO = sa.select(items.c.row, items.c.lean).where(_of_two)
LEAN = (  # one of two items is shown on the left, and the other on the right
    items.update().where(_of_two).values(lean=items.c.lean + sa.case((items.c.row == _given("leftmost"), 1), else_=-1))
)
ASK_AGAIN = (  # imports may have given more answers than were wanted
    pairs.update()
    .where(pairs.c.first == _given("i"), pairs.c.second == _given("j"), pairs.c.question == _given("which"))
    .values(wanted=sa.case((pairs.c.wanted < 0, 1), else_=pairs.c.wanted + 1), round=_given("number"), why=REPEATED)
)
ADD_WANTED = pairs.update().where(pairs.c.id == _given("pair")).values(wanted=pairs.c.wanted + _given("step"))

OWN_LEASE = (
    sa.select(leases, pairs.c.first, pairs.c.second, pairs.c.question, pairs.c.wanted)
    .add_columns(people.c.excluded, people.c.program)
    .join(pairs)
    .join(people)
    .where(leases.c.token == _given("token"), leases.c.person == _given("person"))
)
LAST_ANSWER = (  # the newest answer or skip that this person gave here and did not take back
    sa.select(answers.c.id, answers.c.outcome, leases.c.token)
    .join(leases)
    .where(_held_here, leases.c.state.in_(("answered", "skipped")))
    .order_by(answers.c.id.desc())
    .limit(1)
)
SHOWN_AGAIN = (
    sa.select(leases.c.token, leases.c.left, leases.c.state, leases.c.wording)
    .where(leases.c.pair == _given("pair"), leases.c.person == _given("person"), leases.c.again)
    .order_by(leases.c.id.desc())
)
_shown_in = sa.select(leases.c.id).join(pairs).where(_held_here)
SHOWN = sa.select(  # whether this person was ever shown this item here
    sa.or_(*(_shown_in.where(side == _given("row")).exists() for side in (pairs.c.first, pairs.c.second)))
)
_quota = sa.select(people.c.quota).where(people.c.id == _given("person")).scalar_subquery().label("quota")
PROGRESS = sa.select(
    campaign.c.state,
    campaign.c.goals,
    _quota,
    _counted.where(of_those_who_count).scalar_subquery().label("total"),
    _counted.where(_held_here).scalar_subquery().label("own"),
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
    sa.select(reports.c.content).where(reports.c.name == "doubt").scalar_subquery().label("doubt"),  # the largest
    _quota,
    LAST_WORDING.scalar_subquery().label("wording"),
    REVISION.scalar_subquery().label("revision"),
)
_closed = sa.select(sa.func.max(changes.c.at)).where(changes.c.what == "close").scalar_subquery()
END = sa.select(campaign.c.state, campaign.c.goals, _closed.label("closed_at"))
_being_given = sa.select(sa.func.count()).where(_live)
# How many answers were given, and how many are being given: those that count towards the budget, and one person's own.
GIVEN = sa.select(
    _counted.where(of_those_who_count).scalar_subquery(), _being_given.where(of_those_who_count).scalar_subquery()
)
GIVEN_BY = sa.select(_counted.where(_held_here).scalar_subquery(), _being_given.where(_own).scalar_subquery())
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


def closed_states(repeats: bool) -> tuple[str, ...]:
    """States of a lease after which its pair is not shown to the same person again."""
    return ("skipped",) if repeats else ("answered", "skipped")


LEFT_TO = {  # a pair that lacks answers, and that this person did not answer or skip, whoever holds it
    repeats: LEFT.where(
        ~sa.exists().where(leases.c.pair == pairs.c.id, _own, leases.c.state.in_(closed_states(repeats)))
    )
    for repeats in (False, True)
}

_who_is_asked_again = sa.exists().where(people.c.id == _given("person"), ~people.c.excluded, ~people.c.program)
MAY_BE_REPEATED = {  # a complete pair that this person can be asked, see `snapshot.CampaignSnapshot`
    repeats: sa.select(pairs.c.id, pairs.c.first, pairs.c.second, pairs.c.question, sa.literal(REPEATED).label("why"))
    .where(pairs.c.wanted <= 0, pairs.c.gold.is_(None), pairs.c.first < pairs.c.second, _who_is_asked_again)
    .where(~sa.exists().where(leases.c.pair == pairs.c.id, _own, leases.c.state.in_(closed_states(repeats))))
    .limit(1)
    for repeats in (False, True)
}
FOR_A_NEWCOMER = {  # such a pair, drawn by lot from those that this person does not hold
    repeats: pair.where(~sa.exists().where(leases.c.pair == pairs.c.id, _own, _live)).order_by(sa.func.random())
    for repeats, pair in MAY_BE_REPEATED.items()
}
ANSWERED_HERE = sa.select(leases.c.id).where(_held_here, leases.c.state == "answered")


_owned = leases.alias()
_theirs = (_owned.c.pair == pairs.c.id) & (_owned.c.person == _given("person"))


def _may_be_shown(repeats: bool) -> sa.Select[tuple[int, int, int, int, str]]:
    """Pairs that this person may still be shown."""
    held = (_owned.c.state == "open") & (_owned.c.expires > _given("now"))
    return sa.select(pairs.c.id, pairs.c.first, pairs.c.second, pairs.c.question, pairs.c.why).where(
        ~sa.exists().where(_theirs, _owned.c.state.in_(closed_states(repeats)) | held),
    )


def _free_pairs(repeats: bool) -> sa.Select[tuple[int, int, int, int, str]]:
    """Those of them that lack answers beyond those being given."""
    other = leases.alias()
    being = (
        sa.select(sa.func.count())
        .where(other.c.pair == pairs.c.id, other.c.state == "open", other.c.expires > _given("now"))
        .scalar_subquery()
    )
    # Written like this, so that the database uses the partial index.
    return _may_be_shown(repeats).where(sa.text("wanted > 0"), pairs.c.wanted > being)


def _next_free_pair(repeats: bool) -> sa.Select[tuple[int, int, int, int, str]]:
    """The first of them; where one person may be asked again, of those that this one answered least often."""
    query = _free_pairs(repeats)
    if repeats:
        times = sa.select(sa.func.count()).where(_theirs, _owned.c.state == "answered").scalar_subquery()
        query = query.order_by(times)
    return query.order_by(pairs.c.id).limit(1)


def _of_the_same_pair(query: sa.Select[tuple[int, int, int, int, str]]) -> sa.Select[tuple[int, int, int, int, str]]:
    return query.where(pairs.c.id.in_(_its_questions)).order_by(pairs.c.question)


NEXT_FREE_PAIR = {repeats: _next_free_pair(repeats) for repeats in (False, True)}
# With which questions this person is shown a pair: those that lack answers; of a gold pair, or one asked again, all.
QUESTIONS_OF = {repeats: _of_the_same_pair(_free_pairs(repeats)) for repeats in (False, True)}
ALL_QUESTIONS_OF = {repeats: _of_the_same_pair(_may_be_shown(repeats)) for repeats in (False, True)}
_times = (
    sa.select(sa.func.count())
    .where(leases.c.pair == pairs.c.id, _own, leases.c.state == "answered")
    .scalar_subquery()
    .label("times")
)
GOLD_PAIRS = (  # whose outcome is known, and how often this person answered each; not those they skipped or hold
    sa.select(pairs.c.id, pairs.c.first, pairs.c.second, pairs.c.question, sa.literal(GOLD).label("why"), _times)
    .where(
        pairs.c.gold.is_not(None),
        ~sa.exists().where(leases.c.pair == pairs.c.id, _own, (leases.c.state == "skipped") | _live),
    )
    .order_by(pairs.c.id)
)
LAST_SHOWN = (  # the pair that this person was shown last: leases are of equal length, so it expires last
    sa.select(pairs.c.first, pairs.c.second)
    .select_from(leases.join(pairs))
    .where(_own, leases.c.expires != MADE_ELSEWHERE)
    .order_by(leases.c.expires.desc(), leases.c.id.desc())
    .limit(1)
)
LEASES_OF = sa.select(sa.func.count()).where(_own, leases.c.state.in_(("open", "answered", "skipped", "undone")))
LEASE, ANSWER = leases.insert(), answers.insert()
