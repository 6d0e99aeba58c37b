"""Packages import each other only along these arrows (CONTRIBUTING.md has the picture), and every module has tests."""

import ast
import subprocess
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

import pairsmith

SOURCE = Path(pairsmith.__file__).parent
TESTS = Path(__file__).parent
ROOT = TESTS.parent
ARROWS = {  # every package may also import from data and files
    "__init__": {"forecasting", "selection", "model", "design", "datasets", "plot", "recipe"},
    "cli": {"campaign", "forecasting", "selection", "criteria", "cluster", "model", "datasets", "plot", "recipe"},
    "campaign": {"forecasting", "selection", "criteria", "model", "design", "datasets", "recipe"},
    "plot": {"model"},
    "forecasting": {"selection", "criteria", "model", "design"},
    "selection": {"criteria", "cluster", "model", "engine", "paper", "design"},
    "cluster": {"engine", "design"},
    "criteria": {"model", "engine", "paper", "design"},
    "engine": {"design"},
    "paper": {"design"},
    "datasets": {"model"},
    "model": {"design"},
    "recipe": set(),
    "design": set(),
    "data": set(),
    "files": set(),
}
CAMPAIGN_ARROWS = {  # inside campaign; every package may also import from options and from campaign/__init__.py
    "web": {"setup", "exchange", "judging", "reporting", "planning", "answering", "people", "store", "markdown"},
    "setup": {"planning", "answering", "people", "store"},
    "judging": {"planning", "answering", "people", "store"},
    "exchange": {"store", "markdown"},
    "planning": {"reporting", "learning", "answering", "people", "store"},
    "reporting": {"learning", "store"},
    "answering": {"people", "store"},
    "people": {"store"},
    "learning": {"store"},
    "store": set(),
    "markdown": set(),
    "options": set(),
    "__init__": set(),
}
TESTED_WITH = {  # modules without behaviour of their own, and the tests that use them
    "campaign/store/changes.py": "campaign/answering/test_corrections.py",  # an audit log, written by corrections
    "campaign/store/raters.py": "campaign/people/test_invites.py",  # rows that invites and imports make
}


def imported_modules(path):
    """Return the dotted names below pairsmith that this file imports, also inside functions and for types only."""
    modules = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            modules |= {alias.name.removeprefix("pairsmith.") for alias in node.names if "pairsmith." in alias.name}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: relative import"
            if node.module and node.module.split(".")[0] == "pairsmith":
                modules |= {f"{node.module}.{alias.name}".removeprefix("pairsmith.") for alias in node.names}
    return modules


def packages_below(folder):
    return {path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}


def files_of(folder, package):
    module = folder / f"{package}.py"
    return [module] if module.exists() else sorted((folder / package).rglob("*.py"))


@pytest.mark.parametrize("package", ARROWS)
def test_imports_follow_the_arrows(package):
    files = files_of(SOURCE, package)
    assert files
    for path in files:
        others = {module.split(".")[0] for module in imported_modules(path)} & set(ARROWS)
        others -= {package, "data", "files", "__init__"}
        assert others <= ARROWS[package], f"{path.relative_to(SOURCE)} imports from {others - ARROWS[package]}"


@pytest.mark.parametrize("package", CAMPAIGN_ARROWS)
def test_imports_inside_campaign_follow_the_arrows(package):
    files = files_of(SOURCE / "campaign", package)
    assert files
    for path in files:
        inside = {module.split(".")[1] for module in imported_modules(path) if module.startswith("campaign.")}
        others = inside & set(CAMPAIGN_ARROWS) - {package, "options"}
        allowed = CAMPAIGN_ARROWS[package]
        assert others <= allowed, f"{path.relative_to(SOURCE)} imports from {others - allowed}"


def test_every_package_has_arrows():
    assert packages_below(SOURCE) == set(ARROWS)
    assert packages_below(SOURCE / "campaign") == set(CAMPAIGN_ARROWS)


@pytest.mark.parametrize("arrows", [ARROWS, CAMPAIGN_ARROWS])
def test_the_arrows_have_no_cycle(arrows):
    order = []
    while len(order) < len(arrows):
        ready = [name for name, needs in arrows.items() if name not in order and needs <= set(order)]
        assert ready, f"a cycle among {set(arrows) - set(order)}"
        order += ready


def test_no_folder_is_a_drawer():
    for folder in {path.parent for path in SOURCE.rglob("*.py")}:
        assert len(list(folder.glob("*.py"))) <= 22, folder


def test_every_module_has_its_tests():
    """The tests of src/pairsmith/a/b.py are tests/a/test_b.py."""
    modules = [path.relative_to(SOURCE) for path in SOURCE.rglob("*.py") if not path.stem.startswith("__")]
    missing = {}
    for path in modules:
        tests = TESTED_WITH.get(path.as_posix(), path.with_name(f"test_{path.name}").as_posix())
        if not (TESTS / tests).exists():
            missing[path.as_posix()] = tests
    assert missing == {}
    assert set(TESTED_WITH) <= {path.as_posix() for path in modules}


def test_tests_of_experiments_are_named_after_their_scripts():
    tested = {path.stem.removeprefix("test_") for path in (TESTS / "experiments").glob("test_*.py")}
    assert tested
    assert tested <= {path.stem for path in (ROOT / "experiments").glob("*.py")}


def test_the_sdist_has_all_that_its_tests_and_readers_need():
    packed = {file.distribution_path for file in SdistBuilder(str(ROOT)).recurse_included_files()}
    assert {"Makefile", "CITATION.cff", "CONTRIBUTING.md", "experiments/common.py", "tests/support/oracle.py"} <= packed
    if (ROOT / ".git").exists():  # not in an unpacked sdist
        tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
        assert set(tracked.stdout.strip("\0").split("\0")) <= packed


def test_the_wheel_has_what_the_package_reads():
    packed = {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    read = {path for path in SOURCE.rglob("*") if path.is_file() and path.suffix not in (".pyc", ".nbi", ".nbc")}
    assert {path.relative_to(SOURCE.parent).as_posix() for path in read} <= packed
    assert "pairsmith/campaign/setup/reviews.csv" in packed
