"""Budgets and quotas hold exactly, whatever raters do and in whatever order, and they are reached.

Answers are counted by brute force: every lease is read, and Python decides what it is.
"""

import random
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from pairsmith.campaign.answering import corrections, goals, gold, leases
from pairsmith.campaign.answering.goals import Goals
from pairsmith.campaign.judging.judge import Patience, enrol, judge
from pairsmith.campaign.reporting import dashboard
from pairsmith.campaign.store import schema
from pairsmith.campaign.store.answers import add_answers, load_answers
from pairsmith.campaign.store.database import Refused
from pairsmith.campaign.store.raters import excluded_rater_ids
from pairsmith.campaign.store.store import Store
from support.campaigns import Clock, answer_next, answers_of, create_campaign, invite_people, items_of

LEASE_SECONDS = 60.0
N_ITEMS = 7
THREE = ["Which is better?", "Which is longer?", "Which is older?"]


class Count(SimpleNamespace):
    """What was given and what is out: of everybody who counts, and of each person here, without imported answers."""

    @classmethod
    def of(cls, store):
        with store.reading() as connection:
            rows = connection.execute(sa.select(schema.leases, schema.people.c.excluded).join(schema.people)).all()
        answered = [row for row in rows if row.state == "answered"]
        out = [row for row in rows if row.state == "open" and row.expires > store.now()]
        counted = [row for row in answered if not row.excluded]
        here = [row for row in answered if row.expires != schema.MADE_ELSEWHERE]
        own, held = {}, {}
        for row in here:
            own[row.person] = own.get(row.person, 0) + 1
        for row in [*here, *out]:
            held[row.person] = held.get(row.person, 0) + 1
        return cls(given=len(counted), spent=len(counted) + sum(not row.excluded for row in out), own=own, held=held)


class Campaign:
    """A small campaign whose pairs are all planned, and people who do this and that in it."""

    def __init__(self, target, *, questions=1, answers_per_pair=1, repeats=False, gold_rate=None, **ends):
        self.clock = Clock()
        items = items_of(N_ITEMS, 2)
        shown = [[("text", name)] for name in items.features.index]
        objective = "order" if answers_per_pair == "auto" else "random"
        create_campaign(
            target, items, shown, question=THREE[:questions], k=100, objective=objective, lease_seconds=LEASE_SECONDS,
            answers_per_pair=answers_per_pair, repeats=repeats, goals=Goals(**ends),
        )  # fmt: skip
        self.store = Store(target, self.clock)
        if gold_rate:
            gold.know(self.store, {(0, 1): 1, (2, 5): -1}, gold_rate, questions - 1)
        self.people = invite_people(self.store, 3)
        self.tokens = {person: [] for person in self.people}
        self.names = {person: f"p{at}" for at, person in enumerate(self.people)}

    def do(self, what, who, which, how):
        """Do this, and check that no rater has spent more than there was."""
        person = self.people[who % len(self.people)]
        before = Count.of(self.store)
        with suppress(Refused):
            getattr(self, what)(person, which, how)
        now = Count.of(self.store)
        if what in RATERS:
            self.check(before, now)
        assert goals.described(self.store)["given"] == now.given

    def check(self, before, now):
        goal = self.goals()
        if goal.answers is not None:
            assert now.spent <= max(goal.answers, before.spent)
            assert now.given <= max(goal.answers, before.spent)
        if goal.quota is not None:
            for person, held in now.held.items():
                assert held <= max(goal.quota, before.held.get(person, 0))

    def goals(self):
        with self.store.reading() as connection:
            return goals.status(connection, self.store.now()).goals

    def next_pair(self, person, which, how):
        holding = self.tokens[person] if how else []
        lease = leases.next_pair(self.store, person, holding)
        if lease is not None and lease.token not in self.tokens[person]:
            self.tokens[person].append(lease.token)

    def answer(self, person, which, how):
        """Answer a pair that they hold, or held until it expired, or now and then one that they answered before."""
        with self.store.reading() as connection:
            unanswered = sa.select(schema.leases.c.token).where(
                schema.leases.c.person == person, schema.leases.c.state == "open"
            )
            tokens = list(connection.execute(unanswered.order_by(schema.leases.c.id)).scalars())
        tokens = tokens if how < 10 else self.tokens[person]
        if tokens:
            leases.answer(self.store, person, tokens[which % len(tokens)], ("left", "right", "tie", "skip")[how % 4])

    def undo(self, person, which, how):
        last = leases.progress(self.store, person)["undo"]
        if last is not None:
            self.tokens[person].append(leases.undo(self.store, person, last).token)

    def renew(self, person, which, how):
        leases.renew(self.store, person, self.tokens[person])

    def release(self, person, which, how):
        leases.release(self.store, person, self.tokens[person][-1 - which :][:1])

    def wait(self, person, which, how):
        self.clock.now += (30, 61)[how % 2]

    def exclude(self, person, which, how):
        corrections.exclude(self.store, self.names[person], excluded=bool(how % 2))

    def strike(self, person, which, how):
        with self.store.reading() as connection:
            given = list(connection.execute(sa.select(schema.answers.c.id)).scalars())
        if given:
            corrections.strike(self.store, given[which % len(given)], struck=bool(how % 2))

    def import_one(self, person, which, how):
        first = which % (N_ITEMS - 1)
        given = answers_of([(first, first + 1)], rater=self.names[person], at=which)
        add_answers(self.store, given.assign(question=how % len(self.store.settings.questions)))

    def change(self, person, which, how):
        name, text = ("answers", "quota")[how % 2], str(1 + which)
        goals.change(self.store, **{name: text})

    def go_on(self):
        """Everybody answers what they are given until nobody is given anything for as long as a lease lasts."""
        idle = 0
        while idle < 2:
            busy = False
            for person in self.people:
                lease = leases.next_pair(self.store, person)
                if lease is not None:
                    before = Count.of(self.store)
                    busy |= leases.answer(self.store, person, lease.token, "left")
                    self.check(before, Count.of(self.store))
            idle = 0 if busy else idle + 1
            self.clock.now += 0 if busy else LEASE_SECONDS + 1

    def counts_agree(self):
        """What pages, commands, programs and files say of the number of answers."""
        with self.store.reading() as connection:
            exported = len(load_answers(connection))
        shown = dashboard.count(self.store)["answers"]
        told = leases.progress(self.store, self.people[0])["answers"]
        assert exported == shown == told == goals.described(self.store)["given"] == Count.of(self.store).given

    def close(self):
        self.store.close()


RATERS = {"next_pair": 6, "answer": 4, "undo": 2, "renew": 2, "release": 1, "wait": 3}
ORGANISERS = {"exclude": 1, "strike": 1, "import_one": 1, "change": 1}
SETTINGS = st.fixed_dictionaries(
    {
        "questions": st.integers(1, 3),
        "answers_per_pair": st.sampled_from([1, 2, "auto"]),
        "repeats": st.booleans(),
        "gold_rate": st.sampled_from([None, 0.5]),
        "answers": st.integers(1, 9),
        "quota": st.sampled_from([None, 1, 3, 4]),
    }
)


def doings(seed, *kinds):
    """Up to 90 random things to do. A seed finds rare orders of events sooner than lists that Hypothesis draws."""
    draw = random.Random(seed)
    names = [name for kind in kinds for name, weight in kind.items() for _ in range(weight)]
    count = draw.randint(20, 90)
    return [(draw.choice(names), draw.randrange(3), draw.randrange(12), draw.randrange(12)) for _ in range(count)]


def play(target, chosen, done):
    """Do all that; the campaign then, which is closed."""
    campaign = Campaign(target, **chosen)
    try:
        for doing in done:
            campaign.do(*doing)
        campaign.counts_agree()
        yield campaign
    finally:
        campaign.close()


def is_reached(campaign, start):
    """Whether the budget is spent, or else the quota of everybody whose answers count, after a `start`."""
    now, goal = Count.of(campaign.store), campaign.goals()
    assert now.given <= max(goal.answers, start.spent)
    with campaign.store.reading() as connection:
        at_work = set(campaign.people) - excluded_rater_ids(connection)
    return now.given >= max(goal.answers, start.given) or (
        all(goal.quota is not None and now.own.get(person, 0) >= goal.quota for person in at_work)
    )


@given(SETTINGS, st.integers(0, 2**32))
@settings(max_examples=30)
def test_raters_spend_a_budget_and_quotas_exactly(chosen, seed):
    with tempfile.TemporaryDirectory() as folder:
        for campaign in play(str(Path(folder) / "t.db"), chosen, doings(seed, RATERS)):
            campaign.go_on()
            assert is_reached(campaign, Count(given=0, spent=0))


@given(SETTINGS, st.integers(0, 2**32))
@settings(max_examples=30)
def test_corrections_and_imports_leave_the_rest_to_the_raters(chosen, seed):
    with tempfile.TemporaryDirectory() as folder:
        for campaign in play(str(Path(folder) / "t.db"), chosen, doings(seed, RATERS, ORGANISERS)):
            start = Count.of(campaign.store)
            campaign.go_on()
            assert is_reached(campaign, start)
            campaign.counts_agree()


@pytest.mark.parametrize("seed", range(3))
def test_both_databases_keep_to_a_budget(target, seed):
    chosen = {"questions": 3, "answers_per_pair": (1, 2, "auto")[seed], "gold_rate": 0.3, "answers": 11, "quota": 5}
    for campaign in play(target, chosen, doings(seed, RATERS, {"exclude": 1})):
        start = Count.of(campaign.store)
        campaign.go_on()
        assert is_reached(campaign, start)


@pytest.mark.parametrize(("answers", "quota"), [(10, None), (31, None), (None, 4)])
def test_a_judge_with_several_jobs_and_questions_keeps_to_them(tmp_path, make, answers, quota):
    store = make(str(tmp_path / "t.db"), n=8, k=28, question=THREE, goals=Goals(answers=answers, quota=quota))
    tally = judge(store, enrol(store, "bot"), lambda pair: "left", jobs=5, patience=Patience())
    assert tally.answers == Count.of(store).given == (answers or quota)


def test_two_servers_on_one_file_keep_to_a_budget_together(tmp_path, make):
    """Six people in six threads, half of them at the other server, each with as many pairs in hand as they can get."""
    target = str(tmp_path / "t.db")
    one = make(target, n=9, k=36, question=THREE, goals=Goals(answers=32, quota=7))
    people_there = invite_people(one, 6)
    begin, problems = threading.Barrier(6), []

    def work(store, person):
        begin.wait(30)
        try:
            while goals.ending(store, person) is None:
                held = []
                while (lease := leases.next_pair(store, person, held)) is not None:
                    held.append(lease.token)
                for token in held:
                    leases.answer(store, person, token, "left")
        except BaseException as error:
            problems.append(error)

    with Store(target) as other:
        threads = [
            threading.Thread(target=work, args=((one, other)[at % 2], person)) for at, person in enumerate(people_there)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert problems == []
    count = Count.of(one)
    assert count.given == count.spent == 32
    assert max(count.own.values()) <= 7


def test_a_pair_comes_with_the_questions_that_fit_and_its_others_stay_open(target, make):
    store = make(target, n=4, k=6, question=THREE, goals=Goals(answers=5))
    anna, ben = invite_people(store, 2)
    pairs = {}
    for _ in range(5):
        lease = leases.next_pair(store, anna)
        pairs.setdefault((lease.left, lease.right), []).append(lease.question)
        assert leases.answer(store, anna, lease.token, "left")
    assert list(pairs.values()) == [[0, 1, 2], [0, 1]]
    assert goals.ending(store, anna) == goals.ending(store, ben) == "answers"
    goals.change(store, answers="6")
    his = leases.next_pair(store, ben)
    assert his.question == 2
    assert {his.left, his.right} == set(list(pairs)[1])
    assert leases.next_pair(store, anna) is None
    assert leases.answer(store, ben, his.token, "left")
    assert goals.ending(store, ben) == "answers"


def test_a_skip_that_is_taken_back_when_others_give_the_last_answer_adds_none(target, make):
    store = make(target, goals=Goals(answers=1))
    anna, ben = invite_people(store, 2)
    hers = leases.next_pair(store, anna)
    leases.answer(store, anna, hers.token, "skip")
    his = leases.next_pair(store, ben)
    again = leases.undo(store, anna, hers.token)
    assert leases.renew(store, anna, [again.token]) == []
    with pytest.raises(Refused, match="waited too long"):
        leases.answer(store, anna, again.token, "left")
    leases.answer(store, ben, his.token, "skip")
    assert leases.renew(store, anna, [again.token]) == [again.token]
    assert leases.answer(store, anna, again.token, "left")
    assert Count.of(store).given == 1


def test_a_skip_that_is_taken_back_comes_before_the_pair_that_replaced_it(target, make):
    store = make(target, goals=Goals(quota=1))
    (anna,) = invite_people(store, 1)
    skipped = leases.next_pair(store, anna)
    leases.answer(store, anna, skipped.token, "skip")
    instead = leases.next_pair(store, anna)
    again = leases.undo(store, anna, skipped.token)
    assert leases.renew(store, anna, [again.token, instead.token]) == [again.token]
    assert leases.answer(store, anna, again.token, "left")
    with pytest.raises(Refused, match="waited too long"):
        leases.answer(store, anna, instead.token, "left")
    assert goals.ending(store, anna) == "quota"


def test_expired_pairs_are_renewed_only_as_far_as_there_is_room(target, make):
    clock = Clock()
    store = make(target, clock=clock, lease_seconds=60.0, goals=Goals(answers=3))
    anna, ben = invite_people(store, 2)
    hers = []
    while (lease := leases.next_pair(store, anna, hers)) is not None:
        hers.append(lease.token)
    clock.now += 61
    for _ in hers:
        answer_next(store, "skip", ben)
    assert leases.next_pair(store, ben) is not None  # another than hers
    assert leases.renew(store, anna, hers) == hers[:2]
    assert Count.of(store).spent == 3


def test_a_quota_does_not_keep_somebody_from_looking_longer(target, make):
    """Who reaches their own quota with the pairs that they hold holds nobody up."""
    clock = Clock()
    store = make(target, clock=clock, lease_seconds=60.0, goals=Goals(quota=1))
    anna, ben = invite_people(store, 2)
    hers = leases.next_pair(store, anna)
    clock.now += 40
    assert leases.renew(store, anna, [hers.token]) == [hers.token]
    clock.now += 40
    his = leases.next_pair(store, ben)
    assert {his.left, his.right} != {hers.left, hers.right}
    assert leases.answer(store, anna, hers.token, "left")


def test_who_is_excluded_uses_up_nothing_of_the_budget(target, make):
    store = make(target, question=THREE, goals=Goals(answers=7))
    anna, ben = invite_people(store, 2)
    for _ in range(4):
        answer_next(store, "left", anna)
    corrections.exclude(store, "p0")
    assert leases.next_pair(store, anna) is not None  # she may go on
    for _ in range(7):
        answer_next(store, "left", ben)
    assert goals.ending(store, ben) == "answers"
    count = Count.of(store)
    assert (count.given, count.own) == (7, {anna: 4, ben: 7})
    corrections.exclude(store, "p0", excluded=False)
    assert goals.described(store)["goals"] == ["11 of 7 answers to all questions"]


def test_answers_that_do_not_count_are_told_beside_the_budget(target, make):
    store = make(target, goals=Goals(answers=9))
    for person, answers in zip(invite_people(store, 3), (3, 2, 1), strict=True):
        for _ in range(answers):
            answer_next(store, "left", person)

    def told():
        (line,) = goals.described(store)["goals"]
        return line

    assert told() == "6 of 9 answers"
    corrections.strike(store, 1)
    assert told() == "5 of 9 answers (of 6 given, 1 struck out does not count)"
    corrections.exclude(store, "p1")
    assert told() == "3 of 9 answers (of 6 given, 2 of excluded people and 1 struck out do not count)"
    assert dashboard.count(store)["answers"] == 3
