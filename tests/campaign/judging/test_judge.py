"""Tests of programs as judges: leases, tries, both sides, and giving up."""

import json
import signal
import threading
import time
from itertools import count

import pytest
import sqlalchemy as sa

from pairsmith.campaign.answering import goals, leases
from pairsmith.campaign.judging import judge as judging
from pairsmith.campaign.judging.judge import GaveUp, Malformed, Patience, Unavailable, enrol, judge, read_reply
from pairsmith.campaign.people import invites
from pairsmith.campaign.reporting import dashboard
from pairsmith.campaign.store import schema
from pairsmith.campaign.store.database import CampaignError
from pairsmith.campaign.store.raters import LOCAL
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.store.store import Store
from support.campaigns import Clock, answer_next


class Time:
    """A clock that moves only by sleeping."""

    def __init__(self):
        self.now, self.slept = 0.0, []

    def clock(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds

    def patience(self, **options):
        return Patience(**options, clock=self.clock, sleep=self.sleep)


def better(pair):
    """Prefer the greater id on either side."""
    return "left" if pair["left"]["id"] > pair["right"]["id"] else "right"


def test_answers_of_the_judge_are_stored(target, make):
    store = make(target)
    asked = []

    def ask(pair):
        asked.append(pair)
        return json.dumps({"choice": better(pair)})

    tally = judge(store, enrol(store, "bot"), ask)
    assert (tally.answers, tally.skipped, tally.malformed) == (10, 0, 0)
    with Store(target) as again:
        given = take_snapshot(again).answers
    assert set(given["rater"]) == {"bot"}
    assert given["program"].all()
    assert (given["outcome"] == -1).all()  # the second id of a pair is the greater one
    pair = asked[0]
    assert pair["question"] == "Which is better?"
    assert pair["choices"] == ["left", "right", "tie", "skip"]
    assert pair["prompt"] is None
    assert pair["left"] == {"id": pair["left"]["id"], "parts": [{"kind": "text", "text": pair["left"]["id"]}]}


def test_rounds_are_planned_until_the_number_of_answers_is_reached(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=5, k=4)
    person = enrol(store, "bot")
    assert judge(store, person, better, most=3).answers == 3
    assert judge(store, person, better, most=4).answers == 4  # continues into the next round
    assert len(take_snapshot(store).answers) == 7
    assert judge(store, person, better, most=1000).answers == 10 - 7  # then no pair is left
    assert judge(store, person, better).answers == 0


def test_answers_that_change_with_the_side_become_ties(tmp_path, make):
    store = make(str(tmp_path / "t.db"))
    sides = []

    def lean(pair):
        """Prefer the left item, except for the first two pairs."""
        sides.append((pair["left"]["id"], pair["right"]["id"]))
        return better(pair) if len(sides) <= 4 else "left"

    tally = judge(store, enrol(store, "bot"), lean, both_sides=True)
    assert sides[0] == sides[1][::-1]
    assert (tally.both, tally.changed, tally.answers, tally.ties) == (10, 8, 10, 8)
    outcomes = take_snapshot(store).answers["outcome"]
    assert sorted(outcomes) == [-1] * 2 + [0] * 8


def test_answers_that_change_with_the_side_become_skips_without_ties(tmp_path, make):
    store = make(str(tmp_path / "t.db"), ties=False)
    asked = []
    tally = judge(store, enrol(store, "bot"), lambda pair: asked.append(pair) or "left", both_sides=True)
    assert (tally.answers, tally.skipped, tally.changed) == (0, 10, 10)
    assert asked[0]["choices"] == ["left", "right", "skip"]
    assert len(take_snapshot(store).answers) == 0
    answer_next(store)  # people still get these pairs


def test_malformed_replies_are_retried_and_finally_skipped(tmp_path, make):
    store = make(str(tmp_path / "t.db"))
    replies = iter(["dunno", "", '{"choice": 3}', *["Left."] * 20])
    tally = judge(store, enrol(store, "bot"), lambda _: next(replies), patience=Time().patience(tries=2))
    assert (tally.malformed, tally.skipped, tally.answers) == (3, 1, 9)


def replying(*replies, then=better):
    """Return a judge that gives these replies first, and then replies as `then` does."""
    left = list(replies)
    return lambda pair: left.pop(0) if left else then(pair)


def skips_of(store):
    return dashboard.count(store)["skipped"]


def test_judge_without_any_verdict_is_given_up_and_no_pair_is_skipped(target, make):
    store, asked = make(target), []
    bot = enrol(store, "bot")
    with pytest.raises(GaveUp, match="to 5 requests in a row: 'dunno 5' has no verdict"):
        judge(store, bot, lambda pair: asked.append(pair) or f"dunno {len(asked)}", patience=Patience(tries=1))
    assert (len(asked), skips_of(store)) == (5, 0)
    assert take_snapshot(store).last_round == 1
    assert judge(store, bot, better).answers == 10  # all pairs are asked again


def test_judge_that_stops_giving_verdicts_is_given_up_and_its_answers_stay(tmp_path, make):
    store = make(str(tmp_path / "t.db"))
    bot = enrol(store, "bot")
    ask = replying("left", "eh", "eh", "right", "left", *["eh"] * 5)
    with pytest.raises(GaveUp, match="to 5 requests in a row"):
        judge(store, bot, ask, patience=Patience(tries=1))
    assert len(take_snapshot(store).answers) == 3
    assert skips_of(store) == 2  # the pairs before a usable reply
    assert judge(store, bot, better).answers == 5


@pytest.mark.parametrize("questions", [1, 2])
def test_pairs_without_a_verdict_do_not_stop_a_working_judge(tmp_path, make, questions):
    store = make(str(tmp_path / "t.db"), k=3, question=["Which is better?", "Which is longer?"][:questions])
    tally = judge(store, enrol(store, "bot"), replying("eh", "left", "eh"), patience=Patience(tries=1))
    assert (tally.answers, tally.skipped, tally.malformed) == (3 * questions - 2, 2, 2)


def test_last_pairs_are_skipped_only_by_a_working_judge(tmp_path, make):
    store = make(str(tmp_path / "t.db"), k=3)
    bot = enrol(store, "bot")
    with pytest.raises(GaveUp, match=r"to 3 requests in a row: .* asks these pairs$"):
        judge(store, bot, lambda _: "eh", patience=Patience(tries=1))
    tally = judge(store, bot, replying("left", "eh", "eh"), patience=Patience(tries=1))
    assert (tally.answers, tally.skipped) == (1, 2)


def test_one_side_without_a_verdict_does_not_give_up(tmp_path, make):
    """The judge works on one side, so pairs are skipped as they come and not kept until the end."""
    store, kept = make(str(tmp_path / "t.db")), []

    def ask(pair):
        kept.append(skips_of(store))
        return ("eh", "left")[len(kept) % 2]

    tally = judge(store, enrol(store, "bot"), ask, both_sides=True, patience=Patience(tries=1))
    assert (tally.answers, tally.skipped) == (0, 10)
    assert kept[-1] == 8  # all but the last two pairs


def test_jobs_count_unusable_replies_together(tmp_path, make):
    store, crowd = make(str(tmp_path / "t.db")), Crowd(3, lambda _: "eh")
    with pytest.raises(GaveUp):
        judge(store, enrol(store, "bot"), crowd, jobs=3, patience=Patience(tries=1))
    assert 5 <= len(crowd.asked) <= 7  # two requests may be under way at the fifth reply
    assert skips_of(store) == 0


def test_budget_is_spent_although_pairs_without_a_verdict_reserve_it(tmp_path, make):
    store = make(str(tmp_path / "t.db"))
    goals.change(store, answers="3")
    tally = judge(store, enrol(store, "bot"), replying("left", "eh", "eh"), most=100, patience=Patience(tries=1))
    assert (tally.answers, tally.skipped) == (3, 2)


def test_silent_judge_is_asked_again_with_growing_pauses(tmp_path, make):
    store, time, failures = make(str(tmp_path / "t.db")), Time(), [None, None, 30.0]

    def ask(pair):
        if failures:
            raise Unavailable("busy", failures.pop(0))
        return better(pair)

    tally = judge(store, enrol(store, "bot"), ask, patience=time.patience(tries=4), most=2)
    assert (tally.answers, tally.retried) == (2, 3)
    assert time.slept == [1.0, 2.0, 30.0]


def test_judge_that_never_replies_fails_and_holds_no_pair(tmp_path, make):
    store, person = make(str(tmp_path / "t.db"), k=1), None

    def ask(_):
        raise Unavailable("no route")

    person = enrol(store, "bot")
    with pytest.raises(CampaignError, match="no reply from the judge after 3 requests: no route"):
        judge(store, person, ask, patience=Time().patience(tries=3))
    assert leases.next_pair(store, invites.local_rater(store)) is not None  # the only pair


def test_interrupted_judge_continues_where_it_was(tmp_path, make):
    store, count = make(str(tmp_path / "t.db")), []

    def ask(pair):
        count.append(1)
        if len(count) == 4:
            raise KeyboardInterrupt
        return better(pair)

    person = enrol(store, "bot")
    with pytest.raises(KeyboardInterrupt):
        judge(store, person, ask)
    assert len(take_snapshot(store).answers) == 3
    assert judge(store, person, ask).answers == 7


def test_interruption_before_a_wait_is_noticed(tmp_path, make):
    store, over = make(str(tmp_path / "t.db")), threading.Event()

    def ask(pair):
        time.sleep(0.3)  # until the calling thread waits, which the signal does not end:
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        over.wait(30)
        return "left"

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        judge(store, enrol(store, "bot"), ask)
    over.set()
    assert time.monotonic() - began < 20
    assert take_snapshot(store).answers.empty


def test_requests_respect_the_rate(tmp_path, make):
    store, time = make(str(tmp_path / "t.db")), Time()
    judge(store, enrol(store, "bot"), better, patience=time.patience(per_minute=30), most=4, both_sides=True)
    assert time.slept == [2.0] * 7


class Crowd:
    """A judge that counts concurrent requests, and replies to the first `together` once all of them are there."""

    def __init__(self, together, reply=better):
        self.asked, self.inside, self.most = [], 0, 0
        self.lock, self.reply = threading.Lock(), reply
        self.number, self.together, self.barrier = count(), together, threading.Barrier(together)

    def __call__(self, pair):
        with self.lock:
            number = next(self.number)
            self.asked.append((pair["left"]["id"], pair["right"]["id"]))
            self.inside += 1
            self.most = max(self.most, self.inside)
        if number < self.together:
            self.barrier.wait(30)
        with self.lock:
            self.inside -= 1
        return self.reply(pair)


def test_jobs_ask_concurrently_and_every_pair_once(target, make):
    store, crowd = make(target), Crowd(6)
    tally = judge(store, enrol(store, "bot"), crowd, jobs=6)  # more pairs than a person may hold
    assert (tally.answers, crowd.most) == (10, 6)
    assert len({frozenset(pair) for pair in crowd.asked}) == len(crowd.asked) == 10
    given = take_snapshot(store).answers
    assert len(given) == 10
    assert (given["outcome"] == -1).all()  # the second id of a pair is the greater one


def test_jobs_ask_each_side_once(tmp_path, make):
    store, crowd = make(str(tmp_path / "t.db")), Crowd(3)
    tally = judge(store, enrol(store, "bot"), crowd, jobs=3, both_sides=True)
    assert (tally.answers, tally.both, tally.changed, crowd.most) == (10, 10, 0, 3)
    assert len(set(crowd.asked)) == len(crowd.asked) == 20
    assert {pair[::-1] for pair in crowd.asked} == set(crowd.asked)


@pytest.mark.parametrize("skips", [0, 3])
def test_jobs_respect_the_number_of_answers(tmp_path, make, skips):
    """Pairs that are being asked count, and skipped pairs do not."""
    store, number = make(str(tmp_path / "t.db"), k=4), count()
    crowd = Crowd(4, lambda pair: "skip" if next(number) < skips else better(pair))
    tally = judge(store, enrol(store, "bot"), crowd, jobs=4, most=9)
    assert (tally.answers, tally.skipped, len(crowd.asked)) == (9, skips, 9 + skips)
    assert len(take_snapshot(store).answers) == 9


def test_jobs_respect_the_budget_of_the_campaign(tmp_path, make):
    store, crowd = make(str(tmp_path / "t.db")), Crowd(4)
    goals.change(store, answers="5")
    assert judge(store, enrol(store, "bot"), crowd, jobs=4, most=100).answers == 5
    assert len(crowd.asked) == len(take_snapshot(store).answers) == 5
    assert take_snapshot(store).last_round == 1  # no round was planned beyond the budget


def test_jobs_share_the_rate_and_the_requested_pause(tmp_path):
    """With a clock that stands still, each request waits for all requests before it, on whatever thread."""
    slept = []
    patience = Patience(per_minute=30, clock=lambda: 100.0, sleep=slept.append)
    threads = [threading.Thread(target=patience.wait_for_turn) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(slept) == [2.0, 4.0, 6.0, 8.0]
    patience.back_off(1, 30.0)
    patience.wait_for_turn()
    assert slept[-2:] == [30.0, 30.0]  # the refused request, and the next one


def test_failed_job_makes_the_others_return_their_pairs_and_stop(tmp_path, make):
    store, go_on, number, late = make(str(tmp_path / "t.db"), k=3), threading.Event(), count(), []

    def ask(pair):
        if next(number) == 2:
            raise Unavailable("no route")
        late.append(threading.current_thread())
        go_on.wait(30)
        raise Unavailable("too late")

    patience = Patience(tries=1)
    with pytest.raises(CampaignError, match="no reply from the judge after 1 request: no route"):
        judge(store, enrol(store, "bot"), ask, jobs=3, patience=patience)
    person = invites.local_rater(store)
    held = []
    while (lease := leases.next_pair(store, person, held)) is not None:
        held.append(lease.token)
    assert len(held) == 3
    patience.tries = 4
    go_on.set()
    for thread in late:
        thread.join(30)
    assert next(number) == 3  # no request was repeated
    assert len(take_snapshot(store).answers) == 0


def test_slow_pair_stays_with_the_judge(tmp_path, make):
    """One job takes as long as the other takes for 9 pairs of 250 seconds; leases last 600 seconds."""
    clock, number, done, kept = Clock(), count(), threading.Event(), []
    store = make(str(tmp_path / "t.db"), clock=clock, lease_seconds=600.0)

    def ask(pair):
        at = next(number)
        if at == 0:
            done.wait(30)
        else:
            clock.now += 250
            if at == 9:
                with store.reading() as connection:
                    kept.append(connection.execute(sa.select(sa.func.min(schema.leases.c.expires)
                                .filter(schema.leases.c.state == "open"))).scalar_one() - store.now())  # fmt: skip
                done.set()
        return better(pair)

    tally = judge(store, enrol(store, "bot"), ask, jobs=2, patience=Patience(clock=clock))
    assert (tally.answers, tally.late) == (10, 0)
    assert kept[0] > 0


def test_answer_after_the_budget_was_spent_is_not_counted(tmp_path, make):
    clock = Clock()
    store = make(str(tmp_path / "t.db"), k=1, clock=clock, lease_seconds=600.0)
    person = enrol(store, "bot")

    def ask(pair):
        clock.now += 601
        answer_next(store)
        return better(pair)

    tally = judge(store, person, ask)
    assert (tally.answers, tally.late) == (0, 1)
    assert set(take_snapshot(store).answers["rater"]) == {LOCAL}


def test_person_cannot_become_a_program(tmp_path, make):
    store = make(str(tmp_path / "t.db"))
    invites.invite(store, "anna")
    answer_next(store)
    for name in ("anna", LOCAL):
        with pytest.raises(CampaignError, match=f"'{name}' is one of the people of this campaign"):
            enrol(store, name)
    assert enrol(store, "bot") == enrol(store, " bot ")
    with pytest.raises(CampaignError, match="'bot' is a program that judges"):
        invites.invite(store, "bot")


@pytest.mark.parametrize(
    ("name", "why"),
    [("Anna", "looks like 'anna'"), ("local", "is reserved"), ("imported", "is reserved"), ("BOT", "looks like 'bot'")],
)
def test_judge_needs_a_distinct_name(tmp_path, make, name, why):
    store = make(str(tmp_path / "t.db"))
    invites.invite(store, "anna")
    enrol(store, "bot")
    with pytest.raises(CampaignError, match=f"'{name}' {why}"):
        enrol(store, name)
    with store.reading() as connection:
        assert connection.execute(sa.select(schema.people.c.name)).scalars().all() == ["anna", "bot"]


@pytest.mark.parametrize(
    ("reply", "choice"),
    [
        ("left", "left"),
        (" **Right**.\n", "right"),
        ('{"choice": "tie"}', "tie"),
        ('I think {so}: ```json\n{"why": {"a": 1}, "choice": "Left"}\n```', "left"),
        ('{"choice": "left"} no, {"choice": "right"}', "right"),
        ("", None),
        ("left or right", None),
        ('{"choice": ["left"]}', None),
        ('["left"]', None),
        ("{" * 3000, None),
        ('{"choice": "left", "why": {"choice" :\n"RIGHT"}}', "left"),
        ('Well: {"choice": "left", "alternatives": [{"choice": "right"}]}.', "left"),
        ('{"why": {"choice" :\n"RIGHT"}}', "right"),
        ('{"choice": "left."}', "left"),
        ('{"why": "because \\"choice\\": \\"left\\", and", "choice": 1}', None),
        ('"choice": "left"', None),
    ],
)
def test_verdicts_are_read_from_replies(reply, choice):
    if choice is None:
        with pytest.raises(Malformed):
            read_reply(reply, list(judging.CHOICES))
    else:
        assert read_reply(reply, list(judging.CHOICES)) == choice


@pytest.mark.parametrize(
    "part", ["{", "{}", '{"a":{}', '{"', '{"a":', '{"choice":"', '{"choice":{', ", ", " ", '"choice" : ', "left "]
)
def test_long_reply_is_read_in_linear_time(part):
    reply = part * ((1 << 20) // len(part))
    began = time.monotonic()
    with pytest.raises(Malformed) as error:
        read_reply(reply, list(judging.CHOICES))
    assert time.monotonic() - began < 1
    assert len(str(error.value)) < 500


def test_tie_is_malformed_in_a_campaign_without_ties():
    with pytest.raises(Malformed):
        read_reply("tie", ["left", "right", "skip"])


def test_answers_by_a_second_run_of_the_judge_are_not_counted_twice(target, make):
    """The second run is faster with every other pair."""
    store = make(target)
    bot, calls = enrol(store, "bot"), []

    def ask(pair):
        calls.append(pair)
        if len(calls) % 2:
            leases.answer(store, bot, leases.next_pair(store, bot).token, "left")
        return better(pair)

    tally = judge(store, bot, ask)
    assert (tally.answers, len(calls)) == (5, 10)
    assert len(take_snapshot(store).answers) == 10


def test_judge_that_took_too_long_continues_with_the_next_pair(target, make):
    clock = Clock()
    store = make(target, k=3, clock=clock)
    bot, other, calls = enrol(store, "bot"), invites.local_rater(store), []

    def ask(pair):
        calls.append(pair)
        if len(calls) == 1:
            clock.now += 10_000
            answer_next(store)  # by a person, who gets the same pair
        return better(pair)

    tally = judge(store, bot, ask)
    assert (tally.answers, len(calls)) == (2, 3)
    assert take_snapshot(store).answers["rater"].tolist().count("bot") == 2
    assert leases.progress(store, other)["yours"] == 1


def test_judge_finishes_pending_pairs_after_the_campaign_is_closed(tmp_path, make):
    """A program has no screen, so all of its pairs count as being looked at."""
    store = make(str(tmp_path / "t.db"), n=12, k=20)
    asked = threading.Barrier(3)

    def ask(pair):
        if asked.wait() == 0:
            goals.act(store, "close")
        asked.wait()
        return better(pair)

    assert judge(store, enrol(store, "bot"), ask, jobs=3).answers == 3
