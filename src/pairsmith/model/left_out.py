"""Each answer as all others predict it: how well a model predicts answers that it was not told.

Expectation propagation has the cavity of each pair, what all answers but those to this pair say of its gap; where
raters are known, all but those of this rater to this pair. The variances were learned with the answer, so this is
leaving one out up to that: they depend little on a single answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pairsmith.data.arrays import Floats
from pairsmith.model.answered import Places
from pairsmith.model.learned import Learned
from pairsmith.model.logistic import average

if TYPE_CHECKING:
    import pandas as pd


def left_out(learned: Learned, places: Places) -> pd.DataFrame:
    """A row for each answer: `gap`, the mean of f_first - f_second, its `error`, and `p`, P(rater prefers first)."""
    import pandas as pd

    found, answers = learned.propagated, learned.answers
    deviation = np.sqrt(found.cavity_variance)
    p = average(answers.slope * found.cavity_mean + answers.shift, answers.slope * deviation)
    side = np.where(places.turned, -1.0, 1.0)

    def of_each(values: Floats) -> Floats:
        return np.where(places.place >= 0, np.append(values, np.nan)[places.place], np.nan)

    return pd.DataFrame(
        {
            "gap": side * of_each(found.cavity_mean),
            "error": of_each(deviation),
            "p": np.where(places.turned, 1 - of_each(p), of_each(p)),
        }
    )


def share_right(p: Floats, outcomes: Floats, weights: Floats) -> tuple[float, float]:
    """Of answers predicted with the probabilities p: the share predicted right, ties left out, and the mean log loss.

    A tie is half a win each way. NaN where there is nothing to tell by.
    """
    used = np.isfinite(p) & (weights > 0)
    p, outcomes, weights = np.clip(p[used], 1e-12, 1 - 1e-12), outcomes[used], weights[used]
    decided = weights * (outcomes != 0)
    if not decided.any():
        return np.nan, np.nan
    right = np.where(p == 0.5, 0.5, (p > 0.5) == (outcomes > 0))
    won = (outcomes + 1) / 2
    loss = -(won * np.log(p) + (1 - won) * np.log1p(-p))
    return float(decided @ right / decided.sum()), float(weights @ loss / weights.sum())
