from pathlib import Path
from types import SimpleNamespace

import psutil

from pairsmith.data import memory


def test_available_memory_is_the_free_memory_or_what_a_container_still_allows(monkeypatch):
    files = {}

    def read_text(path):
        if path.name not in files:
            raise FileNotFoundError
        return files[path.name]

    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=8 << 30))
    monkeypatch.setattr(Path, "read_text", read_text)
    assert memory.available_memory() == 8 << 30
    files.update({"memory.max": "max\n", "memory.current": "5\n"})
    assert memory.available_memory() == 8 << 30
    files["memory.max"] = f"{3 << 30}\n"
    assert memory.available_memory() == (3 << 30) - 5
    files["memory.current"] = f"{4 << 30}\n"
    assert memory.available_memory() == 1 << 28
