"""The modules depend on each other only along these arrows (CONTRIBUTING.md has the picture)."""

import ast
import subprocess
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder

import pairsmith

SOURCE = Path(pairsmith.__file__).parent
ARROWS = {
    "__init__": {"candidates", "datasets", "design", "model", "selection"},
    "cli": {"campaign", "selection", "model", "datasets", "distributed", "tables", "storage"},
    "campaign": {
        "selection",
        "model",
        "design",
        "features",
        "candidates",
        "tables",
        "storage",
        "datasets",
        "logistic",
    },
    "selection": {
        "greedy",
        "engine",
        "model",
        "certificate",
        "objectives",
        "information",
        "distributed",
        "features",
        "scan",
        "design",
        "candidates",
        "storage",
    },
    "distributed": {"tiles", "scan", "design", "candidates"},
    "tiles": {"scan", "design", "candidates", "kernels"},
    "certificate": {"scan", "design", "candidates"},
    "objectives": {"information", "design", "candidates", "kernels"},
    "information": {"design", "candidates"},
    "engine": {"scan", "design", "candidates", "kernels"},
    "scan": {"design", "candidates", "kernels"},
    "greedy": {"design", "candidates", "kernels"},
    "datasets": {"model", "candidates", "tables"},  # a folder; its files may import each other
    "model": {"features", "candidates", "logistic", "storage"},
    "logistic": set(),
    "features": {"design", "candidates"},
    "design": set(),
    "candidates": set(),
    "kernels": set(),
    "tables": {"storage"},
    "storage": set(),
}


def imported_from_us(path):
    """Modules of ours that this file imports anywhere, for types only included."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("pairsmith.")}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: relative import"
            if node.module == "pairsmith":
                found |= {
                    alias.name
                    for alias in node.names
                    if (SOURCE / f"{alias.name}.py").exists() or (SOURCE / alias.name).is_dir()
                }
            elif node.module and node.module.startswith("pairsmith."):
                found.add(node.module.split(".")[1])
    return found


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_follow_the_arrows(path):
    own = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    assert own in ARROWS, f"{own} is new: give it arrows here and in CONTRIBUTING.md"
    assert imported_from_us(path) - {own} <= ARROWS[own]


def test_the_sdist_has_all_that_its_tests_and_readers_need():
    root = Path(__file__).parent.parent
    packed = {file.distribution_path for file in SdistBuilder(str(root)).recurse_included_files()}
    assert {"Makefile", "CITATION.cff", "CONTRIBUTING.md", "experiments/common.py", "tests/oracle.py"} <= packed
    if (root / ".git").exists():  # not in an unpacked sdist
        tracked = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True)
        assert set(tracked.stdout.strip("\0").split("\0")) <= packed


def test_the_arrows_have_no_cycle():
    order = []
    while len(order) < len(ARROWS):
        ready = [name for name, needs in ARROWS.items() if name not in order and needs <= set(order)]
        assert ready, f"a cycle among {set(ARROWS) - set(order)}"
        order += ready
