"""The checkpoint of a selection: the pairs picked so far, from which everything else is rebuilt."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from pairsmith.files.json_reader import RepeatedKey, parse_json
from pairsmith.files.write import write_whole

_VERSION = 1


class Checkpoint:
    """The pairs picked so far, on disk as they come. Everything else is rebuilt from them.

    `problem` says what they were picked for, in words to be shown and compared: a file for another problem is refused.
    """

    def __init__(self, path: str | os.PathLike[str], problem: dict[str, Any]) -> None:
        self.path, self.problem = Path(path), problem
        self.pairs: list[tuple[int, int]] = []
        self.unsaved, self.next_save = 0, 0.0
        if self.path.is_dir() or not self.path.parent.is_dir():
            raise ValueError(f"checkpoint {self.path}: this is no place for a file; name one in a folder that exists")
        if self.path.exists():
            if not self.path.is_file():  # a device may never end
                raise ValueError(f"checkpoint {self.path} is a device or a pipe; name a file")
            self._load()
        self.save()  # now, so that a place that cannot be written to is found before any work

    def _load(self) -> None:
        try:
            content = parse_json(self.path.read_text(encoding="utf-8"))
            version, problem, pairs = content["pairsmith checkpoint"], content["problem"], content["pairs"]
            self.pairs = [(i, j) for i, j in pairs]
            if not isinstance(problem, dict) or any(type(item) is not int for pair in self.pairs for item in pair):
                raise TypeError
        except RepeatedKey as error:
            raise ValueError(f"checkpoint {self.path}: {error}") from None
        except (ValueError, KeyError, TypeError):
            raise ValueError(
                f"checkpoint {self.path} exists and is no checkpoint of pairsmith; name another file"
            ) from None
        if version != _VERSION:
            raise ValueError(
                f"checkpoint {self.path} was written by another version of pairsmith (format {version}, not"
                f" {_VERSION}); name another file"
            )
        for name, value in self.problem.items():
            if problem.get(name) != value:
                told = "differ" if name.endswith("s") else "differs"
                if not isinstance(value, str):
                    told = f"was {problem.get(name)}, not {value}"
                raise ValueError(
                    f"checkpoint {self.path} is of another problem: {name} {told}; name another file or delete this one"
                )

    def add(self, i: int, j: int) -> None:
        """Another pick, saved at once unless the last save was a moment ago: it may take a twentieth of the time."""
        self.pairs.append((i, j))
        self.unsaved += 1
        if time.monotonic() >= self.next_save:
            self.save()

    def flush(self) -> None:
        if self.unsaved:
            self.save()

    def save(self) -> None:
        began = time.monotonic()
        head = json.dumps({"pairsmith checkpoint": _VERSION, "problem": self.problem}, indent=1)[:-2]
        body = ",\n  ".join(json.dumps(pair) for pair in self.pairs)
        text = f'{head},\n "pairs": [\n  {body}\n ]\n}}\n'
        write_whole(self.path, lambda part: part.write_text(text, encoding="utf-8"))
        now = time.monotonic()
        self.unsaved, self.next_save = 0, now + 20 * (now - began)
