"""What more answers would bring, by simulations: they take seconds to minutes, and are made now and then.

`python -m pairsmith.campaign.outlook` prints it as JSON, for the question of the campaign that the first line of its
standard input names, and ends when that does.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pairsmith.campaign.learning import fit_model
from pairsmith.campaign.snapshot import CampaignSnapshot
from pairsmith.data.arrays import Ints
from pairsmith.data.candidates import WithinGroups, remaining_pairs
from pairsmith.forecast import plan

FEWEST = 40  # answers before which nothing is foretold: few answers hardly tell how far scores lie apart
GROWTH = 1.2  # so many times as many answers are worth another forecast
LEAST_AHEAD = 100  # answers; else as many as there were so far
TARGETS = (0.2, 0.1, 0.05)  # of doubt


def due(outlook: dict[str, Any] | None, answers: int) -> bool:
    """Whether it is time for another forecast."""
    if answers < FEWEST:
        return False
    return outlook is None or answers >= GROWTH * outlook["from"] or answers < outlook["from"]


def foretell(snapshot: CampaignSnapshot) -> dict[str, Any]:
    """Doubt to come, as plain JSON.

    from     answers that there were at the time
    points   [answers, low end, middle and high end of the doubt that the model will claim], from now on
    needed   [doubt, more answers that it takes, at least, at most]; null: more than were simulated
    """
    answers, X = len(snapshot.answers), snapshot.features
    found: dict[str, Any] = {"from": answers, "points": [], "needed": []}
    model = fit_model(snapshot)
    if model is None or pairs_left(snapshot) == 0:
        return found
    ahead = max(LEAST_AHEAD, answers)
    foretold = plan(
        X.reset_index(drop=True) if X.shape[1] else None,
        model=model,
        answers=(ahead // 4, ahead // 2, ahead),
        candidates=None if snapshot.groups is None else WithinGroups(snapshot.groups),
        ask_again=snapshot.asks_again,
        n_jobs=1,
    )
    ends = zip(foretold.answers.tolist(), *(end.tolist() for end in foretold.interval("doubt")), strict=True)
    found["points"] = [[answers + more, *(round(end, 5) for end in doubt)] for more, *doubt in ends]
    now = found["points"][0][2]
    found["needed"] = [[target, *foretold.needed(doubt=target)] for target in TARGETS if target < now]
    return found


def pairs_left(snapshot: CampaignSnapshot) -> int:
    """Pairs that may be asked: those that nobody has answered, or all where the design may ask a pair again."""
    groups = None if snapshot.groups is None else WithinGroups(snapshot.groups)
    answered: Ints = snapshot.answers[["first", "second"]].drop_duplicates().to_numpy()
    return remaining_pairs(groups, len(snapshot.features), answered[:0] if snapshot.asks_again else answered).at_most()


def main() -> None:
    from pairsmith.campaign.snapshot import take_snapshot
    from pairsmith.campaign.store import Store
    from pairsmith.campaign.worker import LOWEST, begin_behind

    question, target = sys.stdin.readline().rstrip("\n").split(" ", 1)
    begin_behind(LOWEST)
    with Store(target) as store:
        print(json.dumps(foretell(take_snapshot(store, int(question)))))


if __name__ == "__main__":
    main()
