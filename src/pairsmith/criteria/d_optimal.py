"""D-optimality: log det of the information, by the engine or by one of the paper's algorithms.

Weighted by a model's p (1 - p) it is local or averaged D-optimality (`weighted_d_optimal`): the weights are in the
design, and the engine's steps are the same.
"""

from __future__ import annotations

from pairsmith.criteria.work import Work
from pairsmith.design.information import Design
from pairsmith.design.steps import Step, Steps
from pairsmith.engine.random_matching import alike, match_untouched_items
from pairsmith.engine.search import greedy_sequence
from pairsmith.paper.greedy import ALGORITHMS


def steps(work: Work, k: int) -> Steps:
    """Greedily maximise log det A (Eq. 3 and 4): a pair adds log(1 + w_ij d_ij), d_ij = |z_i - z_j|^2.

    Where nothing tells items apart that were not compared, those are paired in a random order first.
    """
    found = 0
    if alike(work.design):
        for step in match_untouched_items(work.design, work.remaining, k, work.rng):
            found += 1
            work.diagnostics["paired_at_random"] = found
            yield step
    if found == k:
        return
    yield from greedy_sequence(
        work.design,
        work.remaining,
        k - found,
        work.threads,
        work.diagnostics,
        work.pool_size,
        work.memory,
        work.tell,
        work.scan,
    )


def paper_steps(algorithm: str, work: Work, k: int) -> Steps:
    """The same picks by one of the paper's eight algorithms."""
    return ALGORITHMS[algorithm].run(work.design, work.remaining, k, work.threads, work.diagnostics)


def replay(design: Design, i: int, j: int) -> Step:
    """Include a pair that was picked in an earlier run."""
    gain, _ = design.add(i, j)
    return Step(i, j, gain, design.logdet)
