"""D-optimality: log det of the information, on the engine or by one of the paper's algorithms.

Local and averaged D-optimality (`weighted_d_optimal`) have the same steps: their weights p (1 - p) are in the design.
"""

from __future__ import annotations

from pairsmith.criteria.problem import Run
from pairsmith.design.information import Design
from pairsmith.design.steps import Step, Steps
from pairsmith.engine.random_matching import alike, match_untouched_items
from pairsmith.engine.search import greedy_sequence
from pairsmith.paper.greedy import ALGORITHMS


def steps(run: Run, k: int) -> Steps:
    """Greedily maximise log det A (Eq. 3 and 4): a pair adds log(1 + w_ij d_ij), with d_ij = |z_i - z_j|^2.

    If nothing distinguishes the items that were never compared, these are paired in a random order first.
    """
    paired_at_random = 0
    if alike(run.design):
        for step in match_untouched_items(run.design, run.remaining, k, run.rng):
            paired_at_random += 1
            run.diagnostics["paired_at_random"] = paired_at_random
            yield step
    if paired_at_random == k:
        return
    yield from greedy_sequence(
        run.design,
        run.remaining,
        k - paired_at_random,
        run.threads,
        run.diagnostics,
        run.pool_size,
        run.memory,
        run.report_progress,
        run.scan,
    )


def paper_steps(algorithm: str, run: Run, k: int) -> Steps:
    """Make the same picks by one of the paper's eight algorithms."""
    return ALGORITHMS[algorithm].run(run.design, run.remaining, k, run.threads, run.diagnostics)


def replay(design: Design, i: int, j: int) -> Step:
    """Add a pair that an earlier run picked."""
    gain, _ = design.add(i, j)
    return Step(i, j, gain, design.logdet)
