import subprocess
import sys

import pytest

MODULE = """
from typing import NamedTuple
import numpy as np
from pairsmith.design.kernels import compiled

class NAME(NamedTuple):
    value: float

@compiled
def twice(given):
    return 2 * given.value

print(twice(NAME(21.0)), len(twice.stats.cache_hits))
"""


@pytest.fixture
def run(tmp_path):
    """run(name) -> what the module prints whose kernel takes a tuple of that name."""

    def of(name):
        text, path = MODULE.replace("NAME", name), tmp_path / "module.py"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
        found = subprocess.run([sys.executable, "-c", "import module"], cwd=tmp_path, capture_output=True, text=True)
        return found.stdout.split(), found.stderr

    return of


@pytest.mark.slow
def test_compiled_code_is_found_again(run):
    assert run("Given") == (["42.0", "0"], "")
    assert run("Given") == (["42.0", "1"], "")


@pytest.mark.slow
def test_compiled_code_of_a_class_that_has_another_name_now_is_no_obstacle(run):
    assert run("Before") == (["42.0", "0"], "")
    assert run("After") == (["42.0", "0"], "")
