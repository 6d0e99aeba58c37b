"""The public names of the library: what dir() lists, and the examples in their docstrings."""

import doctest
import importlib
import inspect

import pytest

import pairsmith as ps

WITHOUT_EXAMPLES = {"BradleyTerry", "BradleyTerryCV", "BradleyTerryGP", "Recipe", "features"}
PUBLIC = [
    (module, name)
    for module in ("pairsmith", "pairsmith.plot")
    for name in importlib.import_module(module).__all__
    if not inspect.ismodule(getattr(importlib.import_module(module), name))
]


def test_dir_lists_the_public_names_and_nothing_else():
    assert dir(ps) == sorted(ps.__all__)
    assert dir(ps.plot) == sorted(ps.plot.__all__) == ["calibration", "forecast", "parts", "ranking"]
    assert all(hasattr(ps, name) for name in dir(ps))


def test_every_public_name_of_plot_is_a_function_of_its_own():
    for name in dir(ps.plot):
        assert getattr(ps.plot, name).__module__ == "pairsmith.plot"


@pytest.mark.parametrize(("module", "name"), PUBLIC, ids=lambda value: value)
def test_the_examples_of_a_public_name_run(module, name):
    public = getattr(importlib.import_module(module), name)
    examples = [each for each in doctest.DocTestFinder().find(public, name) if each.examples]
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for each in examples:
        runner.run(each)
    assert runner.summarize(verbose=False).failed == 0
    assert name in WITHOUT_EXAMPLES or any(each.name == name for each in examples), f"{module}.{name} has no example"
