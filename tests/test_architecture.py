"""Rooms import each other only along these arrows (CONTRIBUTING.md has the picture), and every module has its tests."""

import ast
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

import pairsmith

SOURCE = Path(pairsmith.__file__).parent
ARROWS = {  # every room may also import from data and files
    "__init__": {"forecast", "selection", "model", "design", "datasets", "plot", "recipe"},
    "cli": {"campaign", "forecast", "selection", "criteria", "cluster", "model", "datasets", "plot", "recipe"},
    "campaign": {"forecast", "selection", "criteria", "model", "design", "datasets", "recipe"},
    "plot": {"model"},
    "forecast": {"selection", "run", "criteria", "problem", "model", "design"},
    "selection": {"starting_point", "affordable", "problem", "criteria", "run", "cluster", "model", "paper", "design"},
    "starting_point": {"criteria", "cluster", "design"},
    "affordable": {"problem", "criteria", "paper"},
    "run": {"criteria", "certificate", "design"},
    "cluster": {"engine", "design"},
    "criteria": {"problem", "model", "engine", "paper", "design"},
    "problem": {"design"},
    "certificate": {"engine", "design"},
    "engine": {"design"},
    "paper": {"design"},
    "datasets": {"model"},
    "model": {"design"},
    "recipe": set(),
    "design": set(),
    "data": set(),
    "files": set(),
}


NAMED_AFTER_THEIR_ROOM = {"campaign", "cli", "cluster", "datasets"}
TESTED_WITH = {  # what has no behaviour of its own, and who uses it
    "criteria/work.py": "test_d_optimal.py",  # only a bundle of arguments; made by hand there
}


def imported_from_us(path):
    """Rooms of ours that this file imports from anywhere, for types only included."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("pairsmith.")}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: relative import"
            if node.module == "pairsmith":
                found |= {alias.name for alias in node.names if alias.name in ARROWS}
            elif node.module and node.module.startswith("pairsmith."):
                found.add(node.module.split(".")[1])
    return found


@pytest.mark.parametrize("room", ARROWS)
def test_imports_follow_the_arrows(room):
    files = [SOURCE / f"{room}.py"] if (SOURCE / f"{room}.py").exists() else sorted((SOURCE / room).rglob("*.py"))
    assert files
    for path in files:
        others = imported_from_us(path) - {room, "data", "files"}
        assert others <= ARROWS[room], f"{path.relative_to(SOURCE)} imports from {others - ARROWS[room]}"


def test_every_room_has_arrows():
    rooms = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert rooms == set(ARROWS)


def test_every_module_has_its_tests():
    """test_<module>.py; with the room before the module's name in some rooms, and where several have the same module.

    The web app counts as campaign.
    """
    modules = [path.relative_to(SOURCE) for path in SOURCE.rglob("*.py") if not path.stem.startswith("__")]
    elsewhere = Counter(path.stem for path in modules if path.parts[0] not in NAMED_AFTER_THEIR_ROOM)
    wanted = {}
    for path in modules:
        with_room = path.parts[0] in NAMED_AFTER_THEIR_ROOM or elsewhere[path.stem] > 1
        name = f"test_{path.parts[0]}_{path.stem}.py" if with_room else f"test_{path.stem}.py"
        wanted[path.as_posix()] = TESTED_WITH.get(path.as_posix(), name)
    here = {path.name for path in Path(__file__).parent.glob("test_*.py")}
    assert {module: name for module, name in wanted.items() if name not in here} == {}
    assert set(TESTED_WITH) <= set(wanted)


def test_tests_of_experiments_are_named_after_their_scripts():
    here = Path(__file__).parent
    tested = {path.stem.removeprefix("test_experiments_") for path in here.glob("test_experiments*.py")}
    assert tested
    assert tested <= {path.stem for path in (here.parent / "experiments").glob("*.py")}


def test_the_sdist_has_all_that_its_tests_and_readers_need():
    root = Path(__file__).parent.parent
    packed = {file.distribution_path for file in SdistBuilder(str(root)).recurse_included_files()}
    assert {"Makefile", "CITATION.cff", "CONTRIBUTING.md", "experiments/common.py", "tests/oracle.py"} <= packed
    if (root / ".git").exists():  # not in an unpacked sdist
        tracked = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True)
        assert set(tracked.stdout.strip("\0").split("\0")) <= packed


def test_the_wheel_has_what_the_package_reads():
    root = Path(__file__).parent.parent
    packed = {file.distribution_path for file in WheelBuilder(str(root)).recurse_included_files()}
    read = {path for path in SOURCE.rglob("*") if path.is_file() and path.suffix not in (".pyc", ".nbi", ".nbc")}
    assert {path.relative_to(SOURCE.parent).as_posix() for path in read} <= packed
    assert "pairsmith/campaign/reviews.csv" in packed


def test_the_arrows_have_no_cycle():
    order = []
    while len(order) < len(ARROWS):
        ready = [name for name, needs in ARROWS.items() if name not in order and needs <= set(order)]
        assert ready, f"a cycle among {set(ARROWS) - set(order)}"
        order += ready
