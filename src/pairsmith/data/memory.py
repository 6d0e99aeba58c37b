"""How much memory there is, asked before any is taken."""

from __future__ import annotations

from pathlib import Path

_LEAST = 1 << 28  # bytes that every machine is taken to have, whatever it says of itself


def available_memory() -> int:
    """Bytes that can be had: what the machine has free, or what the container is allowed."""
    import psutil

    there = int(psutil.virtual_memory().available)
    try:
        limit, used = (Path(f"/sys/fs/cgroup/memory.{name}").read_text() for name in ("max", "current"))
        there = min(there, int(limit) - int(used))
    except (OSError, ValueError):  # no such container, or no limit
        pass
    return max(there, _LEAST)
