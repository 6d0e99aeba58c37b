"""Benchmark a campaign: how long do 50 simultaneous raters wait while rounds are being designed?

    python benchmarks/campaign.py                     # SQLite, 50 raters who take a second per answer
    python benchmarks/campaign.py --think 0           # no thinking time: the server's maximum rate
    python benchmarks/campaign.py --target postgresql://user@host/database    # an empty database

The server and the planner run as `pairsmith serve` runs them; each rater is a thread of another process that
asks for the next pair and answers it. A round takes seconds to design and is short, so that nearly all the time one is
being designed or the report is being computed. In the first seconds, before the planner knows the raters' pace, pairs
may run out; later they should not. At the end the script checks that every acknowledged answer is in the database and
that no pair has too many answers.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import httpx2 as httpx
import numpy as np
import pandas as pd
import psutil
from rich.console import Console
from rich.table import Table

from pairsmith.campaign.options import CampaignOptions
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.reporting import dashboard
from pairsmith.campaign.setup.create import create
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.store.store import Store
from pairsmith.files.items import Items


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--raters", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--think", type=float, default=1.0, help="mean seconds per answer")
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("-k", type=int, default=400, help="pairs per round")
    parser.add_argument("--answers-per-pair", type=int, default=1)
    parser.add_argument("--target")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(given, given.target or f"{folder}/benchmark.db")


def run(given: argparse.Namespace, target: str) -> None:
    X = np.random.default_rng(0).standard_normal((given.items, given.features))
    names = [f"item {row}" for row in range(given.items)]
    items = Items(Path("items"), pd.DataFrame(X, index=names, columns=[f"f{c}" for c in range(given.features)]))
    shown = [[("text", name)] for name in names]
    create(target, items, shown, CampaignOptions(["Which?"], k=given.k, answers_per_pair=given.answers_per_pair))
    store = Store(target)
    tokens = [people.invite(store, f"rater {at}") for at in range(given.raters)]
    line = [sys.executable, "-m", "pairsmith.cli", "serve", target, "--no-open", "--port", "0"]
    server = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    url = server.stdout.readline().split()[-1]
    waits: dict[str, list[float]] = {"next": [], "answer": []}
    acknowledged: list[str] = []
    empty = [0]
    until = time.monotonic() + given.seconds

    def rater(token: str) -> None:
        rng = random.Random(token)
        with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=30) as client:
            time.sleep(rng.random() * given.think)

            def ask(name: str, body: dict[str, object]) -> dict[str, object]:
                began = time.perf_counter()
                response = client.post(f"api/{name}", json=body)
                waits[name].append(time.perf_counter() - began)
                response.raise_for_status()
                found: dict[str, object] = response.json()
                return found

            while time.monotonic() < until:
                pair = ask("next", {})["pair"]
                if not isinstance(pair, dict):
                    empty[0] += 1
                    time.sleep(2)  # as the page does
                    continue
                time.sleep(rng.expovariate(1 / given.think) if given.think else 0)
                ask("answer", {"lease": pair["lease"], "choice": rng.choice(["left", "right"]), "seconds": 1.0})
                acknowledged.append(pair["lease"])

    threads = [threading.Thread(target=rater, args=(token,)) for token in tokens]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    both = [psutil.Process(server.pid), *psutil.Process(server.pid).children()]
    serving, designing = (sum(process.cpu_times()[:2]) for process in both)
    server.terminate()
    server.wait()
    snapshot = take_snapshot(store)
    rows = Counter(map(tuple, snapshot.answers[["first", "second"]].to_numpy().tolist()))
    table = Table(title=f"{given.raters} raters, {given.think:g} s per answer, {given.items:,} items with "
                        f"{given.features} features, rounds of {given.k}; {target.split(':')[0]}")  # fmt: skip
    for name in ("request", "count", "median", "90%", "99%", "longest"):
        table.add_column(name, justify="right")
    for name, seconds in waits.items():
        milliseconds = 1000 * np.array(seconds)
        cuts = [f"{value:.1f} ms" for value in (*np.percentile(milliseconds, [50, 90, 99]), milliseconds.max())]
        table.add_row(name, str(len(seconds)), *cuts)
    console = Console()
    console.print(table)
    rate = len(acknowledged) / given.seconds
    rounds = dashboard.count(store)["rounds"]
    console.print(
        f"{len(acknowledged)} answers acknowledged ({rate:.0f} per second), {len(snapshot.answers)} in the database,"
        f" at most {max(rows.values())} per pair. {len(snapshot.planned)} pairs in {rounds} rounds;"
        f" {empty[0]} requests found no open pair."
    )
    console.print(f"CPU: {designing:.1f} s designing and {serving:.1f} s serving in {given.seconds:g} s.")
    assert len(snapshot.answers) == len(acknowledged)
    assert max(rows.values()) <= given.answers_per_pair
    store.close()


if __name__ == "__main__":
    main()
