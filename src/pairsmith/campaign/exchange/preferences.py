"""Preferences for tuning language models: a prompt with the response that won and the one that lost.

`preference_rows` returns TRL's preference datasets with an explicit prompt: prompt, chosen and rejected are texts, or
lists of messages in the conversational form. `argilla_rows` returns records of Argilla, named as in its own datasets:
the fields prompt, response_1 and response_2, and the question preference with its responses and a suggestion.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pairsmith.campaign.store import wordings
from pairsmith.campaign.store.snapshot import CampaignSnapshot
from pairsmith.campaign.store.store import Store


class Preferences(NamedTuple):
    """The rows to write, and how many pairs or answers they leave out."""

    rows: list[dict[str, Any]]
    answers: int  # that the rows summarise
    ties: int  # pairs that most answers call a tie; with a row for each answer, tied answers
    undecided: int  # pairs without a majority
    contradicted: int  # rows that some answers contradict


def preference_rows(store: Store, snapshot: CampaignSnapshot, each: bool, conversational: bool) -> Preferences:
    """Return a row for each pair on which most answers prefer the same item, or with `each` for each answer."""
    answers = snapshot.answers
    if each:
        decided = answers[answers["outcome"] != 0]
        won = _winners(decided["first"], decided["second"], decided["outcome"])
        rows = [_row(store, snapshot, i, j, conversational) for i, j in won]
        return Preferences(rows, len(decided), len(answers) - len(decided), 0, 0)
    counts = _count_outcomes(answers)
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
    """Return a record for each answered pair. Answers are responses; the majority, with its share, is a suggestion."""
    names, words = store.items.names, {1: "response_1", -1: "response_2", 0: "tie"}
    rows = []
    pair: Any
    for pair, own in snapshot.answers.groupby(["first", "second"]):
        first, second = int(pair[0]), int(pair[1])
        responses = [words[int(outcome)] for outcome in own["outcome"]]
        share = pd.Series(responses).value_counts(normalize=True)
        majority = share[share > 0.5]
        rows.append(
            {
                # Unique, because Argilla keeps one record per id.
                "id": " | ".join(names[row].replace("|", "||") for row in (first, second)),
                "prompt": prompt_of(store, snapshot, first),
                "response_1": text_of(store, first),
                "response_2": text_of(store, second),
                "preference.responses": responses,
                "preference.responses.users": list(own["rater"]),
                "preference.responses.status": ["submitted"] * len(own),
                "preference.suggestion": majority.index[0] if len(majority) else None,
                "preference.suggestion.score": float(majority.iloc[0]) if len(majority) else None,
                "preference.suggestion.agent": "pairsmith" if len(majority) else None,
            }
        )
    return rows


def prompt_of(store: Store, snapshot: CampaignSnapshot, row: int) -> str:
    """Return the prompt that an item answers, or else its group, or else the campaign's question."""
    prompt = store.prompt(row)
    if prompt is not None:
        return prompt
    return wordings.current(store, snapshot.question).question if snapshot.groups is None else str(snapshot.groups[row])


def text_of(store: Store, row: int) -> str:
    """Return the texts of an item, or else its files."""
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


def _count_outcomes(answers: pd.DataFrame) -> pd.DataFrame:
    """Count each pair's answers, and how many of them prefer the first item, the second, or neither."""
    outcome = answers["outcome"]
    counts = answers[["first", "second"]].assign(
        answers=1, first_wins=outcome == 1, second_wins=outcome == -1, ties=outcome == 0
    )
    return counts.groupby(["first", "second"], as_index=False, sort=False).sum()


def _winners(first: pd.Series, second: pd.Series, outcome: pd.Series) -> list[tuple[int, int]]:
    """Return (winner, loser) by the sign of each outcome."""
    return [(int(i), int(j)) if won > 0 else (int(j), int(i)) for i, j, won in zip(first, second, outcome, strict=True)]
