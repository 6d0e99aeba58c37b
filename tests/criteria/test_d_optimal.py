"""D-optimality, step by step, on a Run made by hand."""

import itertools
from collections import Counter

import numpy as np
import pytest

from pairsmith.criteria import d_optimal
from pairsmith.criteria.problem import NO_MODEL, Run
from pairsmith.data.candidates import remaining_pairs
from pairsmith.design.information import Design
from pairsmith.paper.greedy import ALGORITHMS
from support.oracle import all_pairs, assert_greedy, logdet

N, RIDGE, LABELED, COMPARED = 14, 0.1, np.array([0, 3]), np.array([[1, 2], [4, 7]])
X = np.random.default_rng(0).standard_normal((N, 4))


def make_run(messages=None):
    """Return a run without a problem and an estimate, which these steps do not read."""
    return Run(
        problem=None,
        design=Design(X, RIDGE, LABELED, COMPARED),
        remaining=remaining_pairs(None, N, COMPARED, max_per_item=2),
        estimate=NO_MODEL,
        rng=np.random.default_rng(0),
        threads=1,
        memory=1 << 30,
        report_progress=[].append if messages is None else messages.append,
    )


class Picked:
    """Steps as attributes of a selection, for `oracle.assert_greedy`."""

    def __init__(self, steps):
        self.pairs = np.array([(step.i, step.j) for step in steps])
        self.gains = [step.gain for step in steps]
        self.logdet = [step.logdet for step in steps]


@pytest.mark.parametrize("algorithm", [None, *ALGORITHMS])
def test_each_step_is_the_best_and_updates_the_design_and_the_remaining_pairs(algorithm):
    run = make_run()
    picks = d_optimal.steps(run, 9) if algorithm is None else d_optimal.paper_steps(algorithm, run, 9)
    steps = list(itertools.islice(picks, 9))
    assert len(steps) == 9
    assert all(step.i < step.j for step in steps)
    assert_greedy(Picked(steps), X, all_pairs(N), RIDGE, LABELED, COMPARED, cap=2)
    assert run.design.logdet == pytest.approx(steps[-1].logdet)
    pairs = [(step.i, step.j) for step in steps]
    gone = run.remaining.rows.pairs(run.remaining.taken)
    assert set(map(tuple, gone.tolist())) == {*pairs, (1, 2), (4, 7)}
    times = Counter(item for pair in pairs for item in pair)
    assert np.flatnonzero(run.remaining.full).tolist() == [item for item in range(N) if times[item] == 2]


def test_replay_gives_the_same_steps():
    steps = list(itertools.islice(d_optimal.steps(make_run(), 5), 5))
    design = make_run().design
    for step in steps:
        again = d_optimal.replay(design, step.i, step.j)
        assert (again.i, again.j) == (step.i, step.j)
        assert (again.gain, again.logdet) == pytest.approx((step.gain, step.logdet))
    assert design.logdet == pytest.approx(
        logdet(X, RIDGE, LABELED, [*COMPARED.tolist(), *((step.i, step.j) for step in steps)])
    )


def test_progress_and_diagnostics_are_reported():
    messages = []
    run = make_run(messages)
    list(itertools.islice(d_optimal.steps(run, 3), 3))
    assert messages
    assert run.diagnostics["scans"] >= 1
