"""The pairs of a round: designed ones, and some drawn at random."""

from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import sqlalchemy as sa
from scipy.stats import chisquare

import pairsmith as ps
from campaigns import Clock, answer_next, answers_of, invite_people, items_of
from oracle import assert_greedy
from pairsmith.campaign import corrections, goals, learning, leases, people, planning, rounds, schema
from pairsmith.campaign.answers import add as add_answers
from pairsmith.campaign.create import create
from pairsmith.campaign.snapshot import take_snapshot
from pairsmith.campaign.store import Store


def test_rounds_are_greedy_given_everything_asked(target, make):
    store = make(target, n=10, d=3, k=5, objective="d-optimal", random_share=0)
    assert planning.plan_round(store)
    known = take_snapshot(store)
    X = known.features.to_numpy()
    assert len(known.planned) == 10
    first, second = known.planned[:5], known.planned[5:]
    every = np.column_stack(np.triu_indices(10, 1))
    ridge = ps.select(X, 1).ridge
    for done, chosen in ((np.zeros((0, 2), int), first), (first, second)):
        left = [tuple(pair) for pair in every if tuple(pair) not in set(map(tuple, done))]
        picked = ps.select(X, 5, comparisons=done, ridge=ridge)
        assert [tuple(pair) for pair in chosen] == [tuple(pair) for pair in picked.pairs]
        assert_greedy(picked, X, left, ridge, [], [tuple(pair) for pair in done])


def test_rounds_follow_the_model_and_end_with_the_pairs(target, make):
    store = make(target, n=6, k=10)
    (anna,) = invite_people(store, 1)
    while (lease := leases.next_pair(store, anna)) is not None:
        leases.answer(store, anna, lease.token, "left" if lease.left < lease.right else "right")
    known = take_snapshot(store)
    chosen = rounds.next_pairs(known, 3, "averaged-d-optimal")
    assert chosen.objective == "averaged-d-optimal"
    expected = ps.select(
        known.features.to_numpy(),
        3,
        objective="averaged-d-optimal",
        model=learning.fit_linear(known),
        comparisons=known.planned,
    )
    assert np.array_equal(chosen.pairs, expected.pairs)
    assert planning.plan_round(store)
    assert len(take_snapshot(store).planned) == 15
    assert not planning.plan_round(store)


def test_groups_caps_and_labels_hold_in_every_round(target):
    items = items_of(12)
    groups = np.array(["a", "b", "c"] * 4, dtype=object)
    grouped = type(items)(items.path, items.features, groups)
    labels = np.array([0, 1, 2]), np.array([1, -1, 1])
    shown = [[("text", "x")]] * 12
    create(target, grouped, shown, question="?", k=4, labels=labels, max_per_item=1)
    store = Store(target)
    planning.plan_round(store)
    known = take_snapshot(store)
    assert known.labeled.tolist() == [0, 1, 2]
    assert known.labels.tolist() == [1, -1, 1]
    assert len(known.planned) == 8
    assert all(groups[i] == groups[j] for i, j in known.planned)
    for batch in (known.planned[:4], known.planned[4:]):
        assert max(Counter(batch.ravel().tolist()).values()) == 1
    planning.plan_round(store, 50)  # because people are fast: the cap holds all the same
    everything = take_snapshot(store).planned
    batch, free = everything[8:], set(range(12)) - set(everything[8:].ravel().tolist())
    left = {(i, j) for i in free for j in free if i < j and groups[i] == groups[j]}
    assert 4 <= len(batch) <= 6
    assert left <= set(map(tuple, everything.tolist()))  # there was no room for more
    assert all(groups[i] == groups[j] for i, j in batch)
    assert max(Counter(batch.ravel().tolist()).values()) == 1
    store.close()


@pytest.mark.parametrize("max_per_item", [None, 1, 2, 5])
@pytest.mark.parametrize("grouped", [False, True])
def test_no_more_pairs_are_counted_on_than_there_are(tmp_path, make, grouped, max_per_item):
    """Against all pairs, one by one; a cap allows at most half of what it allows each item."""
    store = make(str(tmp_path / "t.db"), n=9, k=7)
    groups = np.array(list("aabbbcccc"), dtype=object) if grouped else None
    snapshot = replace(take_snapshot(store), groups=groups)
    planned = set(map(tuple, snapshot.planned.tolist()))
    free = [
        (i, j)
        for i, j in combinations(range(9), 2)
        if (i, j) not in planned and (groups is None or groups[i] == groups[j])
    ]
    expected = len(free)
    if max_per_item is not None:
        times = Counter(item for pair in free for item in pair)
        expected = sum(min(times[item], max_per_item) for item in range(9)) // 2
    assert rounds.count_possible(snapshot, max_per_item) == expected


def test_before_the_first_answer_a_criterion_with_a_model_gives_way(tmp_path, make):
    store = make(str(tmp_path / "t.db"))
    assert rounds.next_pairs(take_snapshot(store), 2, "entropy").objective == "d-optimal"
    answer_next(store)
    assert rounds.next_pairs(take_snapshot(store), 2, "entropy").objective == "entropy"
    with pytest.raises(ValueError, match="k must be at least 1, got 0"):
        rounds.next_pairs(take_snapshot(store), 0, "entropy")


def reasons(store):
    """Why each pair is asked, in the order of the pairs."""
    with store.reading() as connection:
        return list(connection.execute(sa.select(schema.pairs.c.why).order_by(schema.pairs.c.id)).scalars())


def test_one_pair_in_ten_is_random_in_small_rounds_too(target, make):
    store = make(target, n=40, k=5)
    for _ in range(19):
        planning.plan_round(store)
    found = reasons(store)
    assert len(found) == 100
    assert Counter(found) == {"random": 10, "designed": 90}
    places = {at % 5 for at, why in enumerate(found) if why == "random"}
    assert len(places) >= 3  # of a round: not always its end, nor its beginning
    assert len(set(map(tuple, take_snapshot(store).planned.tolist()))) == 100


@pytest.mark.parametrize("share", [0.0, 0.07, 0.1, 1 / 3, 0.5, 1.0])
def test_rounds_of_any_sizes_keep_the_share(share):
    sizes = np.random.default_rng(0).integers(1, 30, size=200).tolist()
    asked = found = 0
    for size in sizes:
        count = rounds.count_random(share, asked, size)
        assert 0 <= count <= size
        found, asked = found + count, asked + size
        assert abs(found - share * asked) <= 0.5 + 1e-9


def test_with_several_answers_a_pair_shares_are_of_pairs(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=40, k=5, answers_per_pair=3)
    answer_next(store)
    for _ in range(7):
        planning.plan_round(store)
    assert Counter(reasons(store)) == {"random": 4, "designed": 36}


def test_random_pairs_are_uniform_among_those_that_may_be_asked(tmp_path, make):
    """Over many rounds, drawn from the same candidates: groups of five and four, of whose pairs three are asked."""
    store = make(str(tmp_path / "t.db"), n=9, k=3)
    known = take_snapshot(store)
    groups, planned = np.array(list("aaaaabbbb"), dtype=object), np.array([[0, 1], [2, 3], [5, 8]])
    known = replace(known, groups=groups, planned=planned)
    settings = replace(store.settings, random_share=1, max_per_item=1)
    drawn = Counter()
    for number in range(600):
        drawn[tuple(rounds.next_round(replace(known, last_round=number), settings, 1).pairs[0].tolist())] += 1
    allowed = [pair for pair in combinations(range(9), 2) if groups[pair[0]] == groups[pair[1]]]
    allowed = [pair for pair in allowed if list(pair) not in planned.tolist()]
    assert sorted(drawn) == allowed
    assert chisquare(list(drawn.values())).pvalue > 0.001


@pytest.mark.parametrize("cap", [1, 2])
def test_no_item_exceeds_the_cap_by_random_pairs_beside_designed_ones(tmp_path, make, cap):
    store = make(str(tmp_path / "t.db"), n=30, k=12, max_per_item=cap, random_share=0.4)
    for _ in range(3):
        planning.plan_round(store)
    planned, why = take_snapshot(store).planned, np.array(reasons(store))
    assert len(planned) == 48
    assert (why == "random").sum() == 19  # 0.4 of 48, rounded
    for at in range(0, 48, 12):
        assert np.bincount(planned[at : at + 12].ravel()).max() <= cap


def test_the_design_knows_the_random_pairs_of_its_round(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=10, k=8, objective="d-optimal", random_share=0.25)
    known, why = take_snapshot(store), np.array(reasons(store))
    drawn, designed = known.planned[why == "random"], known.planned[why == "designed"]
    assert (len(drawn), len(designed)) == (2, 6)
    expected = ps.select(known.features.to_numpy(), 6, comparisons=drawn)
    assert np.array_equal(designed, expected.pairs)


def test_rounds_are_repeatable_and_none_is_like_the_last(target, make):
    store = make(target, n=12, k=20, random_share=0.5)
    known = take_snapshot(store)
    one, two = (rounds.next_round(known, store.settings) for _ in range(2))
    assert np.array_equal(one.pairs, two.pairs)
    assert one.why == two.why
    other = rounds.next_round(replace(known, last_round=known.last_round + 1), store.settings)
    assert not np.array_equal(one.pairs, other.pairs)


def test_a_campaign_of_random_pairs_says_so(tmp_path, make):
    store = make(str(tmp_path / "t.db"), objective="random")
    planning.plan_round(store)
    assert Counter(reasons(store)) == {"random": 20}


def test_the_last_round_has_what_is_left(target, make):
    store = make(target, n=6, k=4, random_share=0.3)
    sizes = [4]
    while planning.plan_round(store):
        sizes.append(len(take_snapshot(store).planned))
    assert sizes == [4, 8, 12, 15]
    assert Counter(reasons(store))["random"] == 5  # 0.3 of 15, rounded


def answer_all(store, person, choice="left"):
    """Until there is nothing left for this person; how many answers that was."""
    count = 0
    while (lease := leases.next_pair(store, person)) is not None:
        leases.answer(store, person, lease.token, choice)
        count += 1
    return count


def rows(store):
    with store.reading() as connection:
        found = connection.execute(sa.select(schema.pairs).order_by(schema.pairs.c.id)).all()
    return {(row.first, row.second): row for row in found}


def test_the_design_may_ask_a_pair_again_but_of_somebody_else(target, make):
    store = make(target, n=4, k=6, answers_per_pair="auto")
    anna, ben = invite_people(store, 2)
    leases.answer(store, ben, leases.next_pair(store, ben).token, "right")
    assert answer_all(store, anna) == 5  # all there are
    assert goals.ending(store, ben) is None  # more may come
    before = rows(store)
    assert planning.plan_round(store)
    after = rows(store)
    assert after.keys() == before.keys()
    assert {(row.why, row.wanted, row.round) for row in after.values()} == {("repeated", 1, 2)}
    assert answer_all(store, anna) == 1
    assert answer_all(store, ben, "right") == 5
    assert take_snapshot(store).answers["why"].tolist().count("repeated") == 6
    assert not planning.plan_round(store)  # both of them answered everything
    assert goals.ending(store, ben) == "exhausted"


def test_a_single_person_is_not_asked_again_unless_told_so(target, make):
    store = make(target, n=4, k=6, answers_per_pair="auto")
    anna, _ = invite_people(store, 2)
    assert answer_all(store, anna) == 6
    assert not planning.plan_round(store)


def test_what_waits_unanswered_is_not_asked_again(target, make):
    store = make(target, n=5, k=4, answers_per_pair="auto", repeats=True, random_share=0)
    (anna,) = invite_people(store, 1)
    for _ in range(2):
        leases.answer(store, anna, leases.next_pair(store, anna).token, "left")
    known = take_snapshot(store)
    assert known.repeatable.tolist() == known.planned[:2].tolist()
    chosen = rounds.next_round(known, store.settings, 100)
    waiting = set(map(tuple, known.planned[2:].tolist()))
    assert set(map(tuple, chosen.pairs.tolist())) == set(combinations(range(5), 2)) - waiting
    again = {tuple(pair) for pair, why in zip(chosen.pairs.tolist(), chosen.why, strict=True) if why == "repeated"}
    assert again == set(map(tuple, known.planned[:2].tolist()))


def test_a_pair_is_asked_again_where_that_tells_most(tmp_path, make):
    """The round is that of the criterion over all pairs, whatever was answered, by brute force over its candidates."""
    store = make(str(tmp_path / "t.db"), n=7, k=10, answers_per_pair="auto", repeats=True, random_share=0)
    for person in invite_people(store, 2):
        for _ in range(5):
            leases.answer(store, person, leases.next_pair(store, person).token, "left")
    known = take_snapshot(store)
    model = learning.fit_or_prior(known)
    chosen = rounds.next_round(known, store.settings, 15, model)
    every = np.array(list(combinations(range(7), 2)))
    gains = {
        tuple(pair): ps.select(known.features.reset_index(drop=True), 1, model=model, candidates=[pair]).gains[0]
        for pair in every.tolist()
    }
    assert tuple(chosen.pairs[0].tolist()) == max(gains, key=gains.get)
    assert {"designed", "repeated"} == set(chosen.why)


def test_rounds_of_repeats_keep_their_share_of_random_pairs(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=20, k=5, answers_per_pair="auto", repeats=True, random_share=0.2)
    (anna,) = invite_people(store, 1)
    for _ in range(12):
        answer_all(store, anna)
        planning.plan_round(store)
    answer_all(store, anna)
    why = Counter(take_snapshot(store).answers["why"])
    assert sum(why.values()) == 65
    assert why["random"] == 13  # 0.2 of 65


def test_asking_again_respects_the_cap_and_another_planner(target, make):
    store = make(target, n=6, k=6, answers_per_pair="auto", repeats=True, max_per_item=2, random_share=0.2)
    (anna,) = invite_people(store, 1)
    for _ in range(4):
        answer_all(store, anna)
        known = take_snapshot(store)
        chosen = rounds.next_round(known, store.settings)
        assert np.bincount(chosen.pairs.ravel()).max() <= 2
        assert len(set(map(tuple, chosen.pairs.tolist()))) == len(chosen.pairs)
        assert planning.add_round(store, chosen, known)
        assert not planning.add_round(store, chosen, known)
    assert "repeated" in chosen.why


def test_gold_pairs_and_people_who_left_are_not_asked_again(target, make):
    store = make(target, n=4, k=6, answers_per_pair="auto")
    anna, ben = invite_people(store, 2)
    leases.answer(store, ben, leases.next_pair(store, ben).token, "left")
    assert answer_all(store, anna) == 5
    with store.writing() as connection:
        connection.execute(schema.pairs.update().where(schema.pairs.c.id == 2).values(gold=1))
    known = take_snapshot(store)
    assert known.repeatable.tolist() == np.delete(known.planned, 1, axis=0).tolist()
    people.revoke(store, "p1")
    assert take_snapshot(store).repeatable.tolist() == known.planned[:1].tolist()  # which ben had answered


def test_more_answers_than_wanted_do_not_keep_a_pair_from_being_asked(target, make):
    store = make(target, n=4, k=6, answers_per_pair="auto", repeats=True)
    (anna,) = invite_people(store, 1)
    answer_all(store, anna)
    add_answers(store, answers_of([(0, 1), (0, 1)], labeller=["x", "y"]))
    assert rows(store)[0, 1].wanted == -2
    assert planning.plan_round(store)
    assert rows(store)[0, 1].wanted == 1


def test_whoever_begins_late_is_asked_what_others_answered(target, make):
    clock = Clock()
    store = make(target, n=4, k=6, answers_per_pair="auto", clock=clock)
    anna, ben = invite_people(store, 2)
    keep_ahead = planning.Planner(store, clock)
    for _ in range(5):
        answer_next(store, "left", anna)
    keep_ahead()  # there is nothing to plan
    answer_next(store, "left", ben)
    keep_ahead()
    assert answer_all(store, ben) == 5


def test_whoever_is_left_alone_with_repeats_goes_on_with_new_pairs(target, make):
    """Ben leaves when pairs that only he can answer again are planned: anna is not made to wait for him."""
    clock = Clock()
    store = make(target, n=12, k=4, answers_per_pair="auto", clock=clock)
    anna, ben = invite_people(store, 2)
    keep_ahead = planning.Planner(store, clock)
    answer_next(store, "right", ben)
    for _ in range(30):
        clock.now += 10
        answer_next(store, "left", anna)
        keep_ahead()
    assert len(take_snapshot(store).answers) == 31


def test_a_newcomer_is_asked_again_where_every_pair_was_answered(target, make):
    """Ben comes when nothing is left. His first pair is drawn from all; once he takes part, rounds ask him the rest."""
    clock = Clock()
    store = make(target, n=4, k=6, answers_per_pair="auto", clock=clock)
    anna, ben, carla = invite_people(store, 3)
    assert answer_all(store, anna) == 6
    keep_ahead = planning.Planner(store, clock)
    keep_ahead()
    assert goals.ending(store, anna) == "exhausted"
    assert goals.ending(store, ben) is None
    first = leases.next_pair(store, ben)
    assert leases.next_pair(store, ben).token == first.token  # the page was loaded again
    assert goals.ending(store, ben) is None
    assert leases.answer(store, ben, first.token, "left")
    assert take_snapshot(store).answers["why"].tolist().count("repeated") == 1
    assert leases.next_pair(store, ben) is None  # the design decides
    keep_ahead()
    assert answer_all(store, ben) == 5
    keep_ahead()
    assert goals.ending(store, ben) == goals.ending(store, anna) == "exhausted"
    assert sorted(row.wanted for row in rows(store).values()) == [-1, 0, 0, 0, 0, 0]
    corrections.exclude(store, "p2")  # what carla says does not count, so she is asked nothing twice
    assert leases.next_pair(store, carla) is None
    assert goals.ending(store, carla) == "exhausted"


def test_newcomers_who_only_skip_see_each_pair_once(target, make):
    store = make(target, n=4, k=6, answers_per_pair="auto")
    anna, ben = invite_people(store, 2)
    answer_all(store, anna)
    seen = set()
    while (lease := leases.next_pair(store, ben)) is not None:
        leases.answer(store, ben, lease.token, "skip")
        seen.add(frozenset((lease.left, lease.right)))
    assert len(seen) == 6
    assert goals.ending(store, ben) == "exhausted"
    assert {row.wanted for row in rows(store).values()} == {0}


def test_whose_answers_were_imported_is_a_newcomer_here(target, make):
    store = make(target, n=4, k=6, answers_per_pair="auto")
    anna, ben = invite_people(store, 2)
    answer_all(store, anna)
    add_answers(store, answers_of([(0, 1)], labeller="p1"))
    lease = leases.next_pair(store, ben)
    assert {lease.left, lease.right} != {0, 1}
