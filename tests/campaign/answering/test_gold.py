"""Tests of gold pairs: how often they come, and who answers them right."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import sqlalchemy as sa
from scipy.stats import binom

from pairsmith.campaign.answering import corrections, gold, leases
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.reporting import dashboard
from pairsmith.campaign.store import schema
from pairsmith.campaign.store.snapshot import take_snapshot
from support.campaigns import Clock, answer_next, invite_people


@pytest.fixture
def make(make):
    """Make campaigns with a fixed id, which determines the random draws."""

    def build(target, own="same", **settings):
        store = make(target, objective="d-optimal", **settings)
        store.settings = replace(store.settings, id=own)
        return store

    return build


def shown_to(store, person, choose=lambda lease: "left"):
    """Return all pairs that this person is given, and why each is asked."""
    while (lease := leases.next_pair(store, person)) is not None:
        leases.answer(store, person, lease.token, choose(lease))
    with store.reading() as connection:
        found = connection.execute(
            sa.select(schema.pairs.c.first, schema.pairs.c.second, schema.leases.c.why)
            .join(schema.leases)
            .where(schema.leases.c.person == person)
            .order_by(schema.leases.c.id)
        )
        return [((row.first, row.second), row.why) for row in found]


def test_everybody_gets_each_gold_pair_once(target, make):
    store = make(target, n=20, k=60, answers_per_pair=3)
    planned = set(map(tuple, take_snapshot(store).planned.tolist()))
    free = [(i, j) for i in range(20) for j in range(i + 1, 20) if (i, j) not in planned][:8]
    known = {*free, min(planned)}  # one of them is also planned
    before = dashboard.count(store)
    assert gold.know(store, dict.fromkeys(known, 1), rate=0.2) == 9
    assert dashboard.count(store) == before  # gold pairs are in no round
    anna, ben = invite_people(store, 2)
    places = {}
    for person in (anna, ben):
        found = shown_to(store, person)
        assert len({pair for pair, _ in found}) == len(found)  # no pair comes twice
        assert {pair for pair, why in found if why == schema.GOLD} <= known
        places[person] = [at for at, (_, why) in enumerate(found) if why == schema.GOLD]
        assert 3 <= len(places[person]) <= 9
        assert planned <= {pair for pair, _ in found}
    assert places[anna] != places[ben]  # gold pairs come at different times
    carla = people.person_with_token(store, people.invite(store, "carla"), "rater")
    assert leases.next_pair(store, carla) is not None  # each still lacks a third answer


def test_rate_is_the_share_of_pairs_handed_out(target, make):
    store = make(target, n=40, k=300)
    gold.know(store, {(i, j): 1 for i in range(40) for j in range(i + 1, 40)}, rate=0.1)
    (anna,) = invite_people(store, 1)
    for _ in range(200):
        answer_next(store, "left", anna)
    with store.reading() as connection:
        count = connection.execute(
            sa.select(sa.func.count()).where(schema.leases.c.why == schema.GOLD, schema.leases.c.state == "answered")
        ).scalar_one()
    low, high = binom.ppf([0.0005, 0.9995], 200, 0.1)
    assert low <= count <= high
    gold.know(store, {}, rate=0.0)
    for _ in range(50):
        answer_next(store, "left", anna)
    with store.reading() as connection:
        whys = connection.execute(sa.select(schema.leases.c.why).order_by(schema.leases.c.id.desc()).limit(50))
        assert schema.GOLD not in set(whys.scalars())


def test_draws_depend_on_the_campaign_id(tmp_path, make):
    def places(name, own):
        store = make(str(tmp_path / name), own, n=12, k=40)
        gold.know(store, {(i, j): 1 for i in range(12) for j in range(i + 1, 12)}, rate=0.5)
        (anna,) = invite_people(store, 1)
        for _ in range(20):
            answer_next(store, "left", anna)
        with store.reading() as connection:
            found = connection.execute(sa.select(schema.leases.c.why).order_by(schema.leases.c.id)).scalars().all()
        return [why == schema.GOLD for why in found]

    assert places("a.db", "one") == places("b.db", "one") != places("c.db", "two")


def test_gold_pairs_come_again_if_pairs_may_be_repeated(target, make):
    store = make(target, n=12, k=60, repeats=True)
    gold.know(store, {(0, 1): 1, (0, 2): 1}, rate=0.5)
    (anna,) = invite_people(store, 1)
    for _ in range(30):
        answer_next(store, "left", anna)
    with store.reading() as connection:
        asked = connection.execute(
            sa.select(sa.func.count()).where(schema.leases.c.why == schema.GOLD).group_by(schema.leases.c.pair)
        ).scalars()
        counts = list(asked)
    assert min(counts) >= 3
    assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize("known", [[(0, 1)], [(0, 1), (0, 2)], [(0, 1), (0, 2), (3, 5)]])
def test_repeated_gold_pair_never_comes_twice_in_a_row(target, make, known):
    clock = Clock()
    store = make(target, n=12, k=60, repeats=True, answers_per_pair=3, clock=clock)
    gold.know(store, dict.fromkeys(known, 1), rate=0.5)
    anna, ben = invite_people(store, 2)
    shown = {anna: [], ben: []}
    for turn in range(120):
        person = (anna, ben)[turn % 2]
        lease = leases.next_pair(store, person)
        shown[person].append(frozenset((lease.left, lease.right)))
        clock.now += 5
        leases.answer(store, person, lease.token, "left")
    gold_pairs = set(map(frozenset, known))
    for pairs in shown.values():
        assert sum(pair in gold_pairs for pair in pairs) >= 10
        assert not any(before == after for before, after in pairwise(pairs))


def test_score_of_each_person(target, make):
    """Anna answers right, and ben always says left."""
    store = make(target, n=8, k=20)
    truth = {(i, j): 1 for i in range(8) for j in range(i + 1, 8)}  # the first item is better
    gold.know(store, truth, rate=0.5)
    anna, ben = invite_people(store, 2)
    shown_to(store, anna, lambda lease: "left" if lease.left < lease.right else "right")
    shown_to(store, ben)
    given = take_snapshot(store).answers
    with store.reading() as connection:
        found = gold.score_raters(connection)
    for name in ("p0", "p1"):
        own = given[given["rater"] == name]
        assert found[name] == ((own["outcome"] == 1).sum(), len(own))
    assert found["p0"].right == found["p0"].asked > 0
    # Struck answers do not count.
    with store.reading() as connection:
        numbers = connection.execute(sa.select(schema.answers.c.id)).scalars().all()
    for number in numbers:
        corrections.strike(store, number)
    with store.reading() as connection:
        assert gold.score_raters(connection) == {}


def test_late_answer_to_a_gold_pair_counts(target, make):
    clock = Clock()
    store = make(target, n=8, k=20, clock=clock)
    gold.know(store, {(i, j): 1 for i in range(8) for j in range(i + 1, 8)}, rate=0.5)
    (anna,) = invite_people(store, 1)
    while True:
        lease = leases.next_pair(store, anna)
        with store.reading() as connection:
            why = connection.execute(
                sa.select(schema.leases.c.why).where(schema.leases.c.token == lease.token)
            ).scalar_one()
        if why == schema.GOLD:
            break
        leases.answer(store, anna, lease.token, "left")
    clock.now += 10_000
    assert leases.answer(store, anna, lease.token, "left")
    again = leases.undo(store, anna, lease.token)
    with store.reading() as connection:
        query = sa.select(schema.leases.c.why).where(schema.leases.c.token == again.token)
        assert connection.execute(query).scalar_one() == schema.GOLD


@pytest.mark.parametrize("rate", [-0.1, 0.6, float("nan")])
def test_rate_must_be_at_most_one_half(tmp_path, make, rate):
    with pytest.raises(ValueError, match="--rate must be between 0 and"):
        gold.know(make(str(tmp_path / "t.db")), {}, rate)


def test_excluded_rater_has_a_score_but_does_not_count_in_the_common_score(target, make):
    store = make(target, n=8, k=20)
    gold.know(store, {(i, j): 1 for i in range(8) for j in range(i + 1, 8)}, rate=0.5)
    anna, ben = invite_people(store, 2)
    shown_to(store, anna, lambda lease: "left" if lease.left < lease.right else "right")
    shown_to(store, ben)
    with store.reading() as connection:
        before, both = gold.score_raters(connection), gold.together(connection)
    assert both == tuple(np.add(before["p0"], before["p1"]))
    corrections.exclude(store, "p1")
    with store.reading() as connection:
        assert gold.score_raters(connection) == before
        assert gold.together(connection) == before["p0"]


def test_gold_pairs_can_be_given_at_creation(target, make):
    store = make(target, n=12, k=10, gold_outcomes={(0, 1): -1, (2, 3): 0}, gold_rate=0.25)
    planned = {tuple(pair) for pair in take_snapshot(store).planned.tolist()}
    assert {(0, 1), (2, 3)} <= planned
    with store.reading() as connection:
        query = sa.select(schema.pairs.c.first, schema.pairs.c.second, schema.pairs.c.gold)
        found = connection.execute(query.where(schema.pairs.c.gold.is_not(None)))
        assert sorted(map(tuple, found)) == [(0, 1, -1), (2, 3, 0)]
    assert gold.gold_rate_of(store) == 0.25
