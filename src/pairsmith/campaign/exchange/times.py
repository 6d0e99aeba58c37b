"""Times in files: ISO 8601."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd

from pairsmith.campaign.store.schema import SECOND
from pairsmith.data.names import quoted


def iso_time(at: int) -> str:
    """Format microseconds since 1970 as ISO 8601."""
    return datetime.fromtimestamp(at // SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%S") + f".{at % SECOND:06d}Z"


def parse_time(text: Any, where: str) -> float:
    """Parse an ISO 8601 time into microseconds since 1970, NaN if empty. A time without a zone is UTC."""
    if (np.ndim(text) == 0 and pd.isna(text)) or str(text).strip() == "":
        return np.nan
    try:
        time = datetime.fromisoformat(str(text).strip())
    except ValueError:
        raise ValueError(f"{where} has the time {quoted(text)}; write it as 2026-01-31T12:00:00Z") from None
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    seconds = (time.replace(microsecond=0) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
    if not 0 <= seconds < 9e9:  # microseconds are exact in a float until the year 2255
        raise ValueError(f"{where} has the time {quoted(text)}; it must be between 1970 and 2255")
    return float(int(seconds) * SECOND + time.microsecond)
