"""The memory that is available, which is checked before large allocations."""

from __future__ import annotations

from pathlib import Path

_MIN_BYTES = 1 << 28  # assumed even if a machine reports less


def available_memory() -> int:
    """Return the available memory in bytes: what the machine has free, or what its container still allows."""
    import psutil

    available = int(psutil.virtual_memory().available)
    try:
        limit, used = (Path(f"/sys/fs/cgroup/memory.{name}").read_text() for name in ("max", "current"))
        available = min(available, int(limit) - int(used))
    except (OSError, ValueError):  # no container, or one without a limit
        pass
    return max(available, _MIN_BYTES)
