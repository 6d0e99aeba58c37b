"""The modules depend on each other only along these arrows (CONTRIBUTING.md has the picture)."""

import ast
from pathlib import Path

import pytest

import pairsmith

SOURCE = Path(pairsmith.__file__).parent
ARROWS = {
    "__init__": {"candidates", "design", "model", "selection"},
    "cli": {"selection", "model", "tables", "storage"},
    "selection": {
        "greedy",
        "engine",
        "model",
        "certificate",
        "objectives",
        "features",
        "design",
        "candidates",
        "storage",
    },
    "certificate": {"scan", "design", "candidates"},
    "objectives": {"design", "candidates", "kernels"},
    "engine": {"scan", "design", "candidates", "kernels"},
    "scan": {"design", "candidates", "kernels"},
    "greedy": {"design", "candidates", "kernels"},
    "model": {"candidates", "storage"},
    "features": {"design"},
    "design": set(),
    "candidates": set(),
    "kernels": set(),
    "tables": set(),
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
                found |= {alias.name for alias in node.names if (SOURCE / f"{alias.name}.py").exists()}
            elif node.module and node.module.startswith("pairsmith."):
                found.add(node.module.split(".")[1])
    return found


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: path.stem)
def test_imports_follow_the_arrows(path):
    assert path.stem in ARROWS, f"{path.name} is new: give it arrows here and in CONTRIBUTING.md"
    assert imported_from_us(path) <= ARROWS[path.stem]


def test_the_arrows_have_no_cycle():
    order = []
    while len(order) < len(ARROWS):
        ready = [name for name, needs in ARROWS.items() if name not in order and needs <= set(order)]
        assert ready, f"a cycle among {set(ARROWS) - set(order)}"
        order += ready
