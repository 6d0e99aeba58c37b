"""Acknowledged means on disk, whatever happens to the server; and 50 people at once."""

import random
import signal
import threading
import time
from collections import Counter

import httpx2 as httpx
import psutil
import pytest
import sqlalchemy as sa

from pairsmith.campaign.answering import leases
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.store import schema
from pairsmith.campaign.store.snapshot import take_snapshot

CHOICES = ("left", "right", "tie")


def test_every_acknowledged_answer_is_there_exactly_once(target, make, serve):
    store = make(target, n=40, k=700)
    url, process = serve(target)
    port = int(url.split(":")[-1])
    acknowledged, trouble, ended = [], [], threading.Event()

    def rater(number, token):
        rng = random.Random(number)
        headers = {"Authorization": f"Bearer {token}"}
        client = httpx.Client(base_url=url, headers=headers, timeout=10)

        def ask(path, body):
            """Until it is answered: a request that was cut off is sent again."""
            while not ended.is_set():
                try:
                    response = client.post(path, json=body)
                except httpx.TransportError:
                    time.sleep(0.02)
                    continue
                if response.status_code != 200:
                    trouble.append(response.text)
                return response.json()

        while not ended.is_set():
            found = ask("/api/next", {})
            if not found or found["pair"] is None:
                break
            choice = rng.choice(CHOICES)
            lease = found["pair"]["lease"]
            if ask("/api/answer", {"lease": lease, "choice": choice, "seconds": 1.0}):
                acknowledged.append((lease, choice))
        client.close()

    threads = [threading.Thread(target=rater, args=(at, people.invite(store, f"p{at}"))) for at in range(8)]
    for thread in threads:
        thread.start()
    rng = random.Random(5)
    for _ in range(4):
        time.sleep(rng.uniform(0.4, 1.4))
        helpers = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGKILL)
        process.wait()
        url, process = serve(target, port=port)
        assert psutil.wait_procs(helpers, timeout=10)[1] == []  # the process behind it ends with it
    until = time.monotonic() + 30
    while len(acknowledged) <= 50 and time.monotonic() < until:
        time.sleep(0.1)
    ended.set()
    for thread in threads:
        thread.join()
    assert trouble == []
    assert len(acknowledged) > 50
    assert len(set(acknowledged)) == len(acknowledged)

    with store.reading() as connection:
        rows = connection.execute(
            sa.select(
                schema.leases.c.token,
                schema.leases.c.left,
                schema.pairs.c.first,
                schema.pairs.c.id,
                schema.answers.c.outcome,
            ).select_from(
                schema.answers.join(schema.leases).join(schema.pairs, schema.leases.c.pair == schema.pairs.c.id)
            )
        ).all()
    kept = {row.token: row for row in rows}
    assert len(kept) == len(rows)
    for lease, choice in acknowledged:
        row = kept[lease]
        expected = 0 if choice == "tie" else 1 if (choice == "left") == (row.left == row.first) else -1
        assert row.outcome == expected
    assert max(Counter(row.id for row in rows).values()) == 1  # one answer a pair was asked for
    assert len(rows) - len(acknowledged) <= 8  # at most the last of each, whose acknowledgement was cut off


def test_fifty_people_at_once_get_no_pair_too_often(target, make):
    store = make(target, n=30, k=60, answers_per_pair=3)
    given, wrong = Counter(), []
    persons = [people.person_with_token(store, people.invite(store, f"p{at}"), "rater") for at in range(50)]
    start = threading.Barrier(50)

    def label(person):
        try:
            start.wait()
            for _ in range(6):
                lease = leases.next_pair(store, person)
                if lease is None:
                    return
                given[min(lease.left, lease.right), max(lease.left, lease.right)] += 1
                leases.answer(store, person, lease.token, "left")
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=label, args=(person,)) for person in persons]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert set(given.values()) == {3}
    assert sum(given.values()) == 180 == len(take_snapshot(store).answers)


@pytest.mark.parametrize("tries", [8])
def test_a_retry_at_the_same_moment_counts_once(target, make, tries):
    store = make(target)
    person = people.local_rater(store)
    lease = leases.next_pair(store, person)
    counted = []
    threads = [
        threading.Thread(
            target=lambda: counted.append(leases.answer(store, people.local_rater(store), lease.token, "left"))
        )
        for _ in range(tries)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(counted) == [False] * (tries - 1) + [True]
    assert len(take_snapshot(store).answers) == 1
