"""What language models are tuned by: a preferred answer to a prompt, and one that was not.

`preference_rows` are TRL's preference datasets with an explicit prompt, standard or conversational: prompt, chosen and
rejected, each text alone or each a list of messages. `argilla_rows` are records of Argilla as its own datasets name
them: fields prompt, response_1 and response_2, and the question preference with its responses and a suggestion.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pairsmith.campaign.store import wordings
from pairsmith.campaign.store.snapshot import CampaignSnapshot
from pairsmith.campaign.store.store import Store


class Preferences(NamedTuple):
    """Rows to write, and how many pairs or answers they leave out."""

    rows: list[dict[str, Any]]
    answers: int  # that the rows are of
    ties: int  # pairs that more than half of the answers call a tie; of --each, answers that do
    undecided: int  # pairs for neither item of which more than half of the answers are
    contradicted: int  # rows that some answers contradict


def preference_rows(store: Store, snapshot: CampaignSnapshot, each: bool, conversational: bool) -> Preferences:
    """A row for each pair of which more than half of the answers prefer the one; with `each`, for each answer."""
    given = snapshot.answers
    if each:
        decided = given[given["outcome"] != 0]
        won = _winners(decided["first"], decided["second"], decided["outcome"])
        rows = [_row(store, snapshot, i, j, conversational) for i, j in won]
        return Preferences(rows, len(decided), len(given) - len(decided), 0, 0)
    counts = _counted(given)
    for_first, for_second = counts["first_wins"] * 2 > counts["answers"], counts["second_wins"] * 2 > counts["answers"]
    tied = counts["ties"] * 2 > counts["answers"]
    kept = counts[for_first | for_second]
    against = np.minimum(kept["first_wins"], kept["second_wins"])
    won = _winners(kept["first"], kept["second"], kept["first_wins"] - kept["second_wins"])
    return Preferences(
        [_row(store, snapshot, i, j, conversational) for i, j in won],
        int(kept["answers"].sum()),
        int(tied.sum()),
        int((~for_first & ~for_second & ~tied).sum()),
        int((against > 0).sum()),
    )


def argilla_rows(store: Store, snapshot: CampaignSnapshot) -> list[dict[str, Any]]:
    """A record for each pair that was answered: answers are responses, what most say is a suggestion with its share."""
    names, words = store.items.names, {1: "response_1", -1: "response_2", 0: "tie"}
    rows = []
    pair: Any
    for pair, own in snapshot.answers.groupby(["first", "second"]):
        first, second = int(pair[0]), int(pair[1])
        said = [words[int(outcome)] for outcome in own["outcome"]]
        share = pd.Series(said).value_counts(normalize=True)
        most = share[share > 0.5]
        rows.append(
            {
                # Unique, as Argilla keeps one record per id.
                "id": " | ".join(names[row].replace("|", "||") for row in (first, second)),
                "prompt": prompt_of(store, snapshot, first),
                "response_1": text_of(store, first),
                "response_2": text_of(store, second),
                "preference.responses": said,
                "preference.responses.users": list(own["rater"]),
                "preference.responses.status": ["submitted"] * len(own),
                "preference.suggestion": most.index[0] if len(most) else None,
                "preference.suggestion.score": float(most.iloc[0]) if len(most) else None,
                "preference.suggestion.agent": "pairsmith" if len(most) else None,
            }
        )
    return rows


def prompt_of(store: Store, snapshot: CampaignSnapshot, row: int) -> str:
    """What an item answers: its prompt, or else its group, or the question that all are asked about."""
    prompt = store.prompt(row)
    if prompt is not None:
        return prompt
    return wordings.current(store, snapshot.question).question if snapshot.groups is None else str(snapshot.groups[row])


def text_of(store: Store, row: int) -> str:
    """What a language model would call this item: its texts, or else its files."""
    parts = store.parts(row)
    texts = [value for kind, value in parts if kind in ("text", "markdown")]
    return "\n\n".join(texts or [value for _, value in parts])


def _row(store: Store, snapshot: CampaignSnapshot, chosen: int, rejected: int, conversational: bool) -> dict[str, Any]:
    row = {
        "prompt": prompt_of(store, snapshot, chosen),
        "chosen": text_of(store, chosen),
        "rejected": text_of(store, rejected),
    }
    if not conversational:
        return row
    return {
        name: [{"role": "user" if name == "prompt" else "assistant", "content": text}] for name, text in row.items()
    }


def _counted(given: pd.DataFrame) -> pd.DataFrame:
    """Of each pair: how many answers it has, and how many of them prefer the first, the second, or neither."""
    outcome = given["outcome"]
    told = given[["first", "second"]].assign(
        answers=1, first_wins=outcome == 1, second_wins=outcome == -1, ties=outcome == 0
    )
    return told.groupby(["first", "second"], as_index=False, sort=False).sum()


def _winners(first: pd.Series, second: pd.Series, outcome: pd.Series) -> list[tuple[int, int]]:
    """(winner, loser) of each, by the sign of its outcome."""
    return [(int(i), int(j)) if won > 0 else (int(j), int(i)) for i, j, won in zip(first, second, outcome, strict=True)]
