"""Scores as they could be, given the answers: drawn with the variances of their parts, which answers leave open too.

The posterior of the scores takes the variances for known. Few answers hardly tell them, and how soon an order will be
known depends on them more than on anything else: so they are drawn first, and then scores from their posterior given
these variances.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pairsmith.data.arrays import Floats
from pairsmith.model.learned import Learned, learn_from, parts_of
from pairsmith.model.parts import cheaper
from pairsmith.model.variances import drawn


def imagined_scores(
    learned: Learned, linear: Floats, free: tuple[str, ...], rng: np.random.Generator, count: int
) -> Floats:
    """(count, n) scores of all n items that the model was fitted to, of which these are the linear coordinates.

    Variances that are not `free` are taken for known; with no answers at all, all are those that the model assumes.
    """
    n, answers = len(linear), learned.numbered(len(linear))
    unknown = [name for name in free if learned.variances[name] > 0] if len(answers) else []
    if not unknown:
        return learned.joint(learned.coordinates(linear), np.arange(n)).without_last().draws(rng, count)
    parts = cheaper(
        parts_of(learned.map, learned.linear, learned.threshold, learned.variances, learned.scale), learned.answers
    )
    variances = drawn(parts, learned.answers, learned.variances, tuple(unknown), learned.sites, rng, count)
    found = np.empty((count, n))
    for at, own in enumerate(variances):
        under = replace(learned, variances=own)
        under = learn_from(linear, learned.map, answers, learned.threshold, {}, rng, under, go_on=False)
        found[at] = under.joint(under.coordinates(linear), np.arange(n)).without_last().draws(rng, 1)[0]
    return found
