"""pairsmith answers one question: which pairs should people compare next?

    import pairsmith as ps
    sel = ps.select(X, k=100)                 # the pairs to ask, most informative first
    sel.pairs, sel.gains, sel.to_frame()
    gp = ps.BradleyTerryGP().fit(X, comparisons=sel.pairs, outcomes=answers)
    ps.select(X, k=20, model=gp, comparisons=sel.pairs)      # the next round
    gp.rank(X)                                # the items, best first, and how sure that is

The map, from the outside in:

    cli          the command line: parse, call the library, print
    campaign     labelling with people: pages, answers, rounds, reports
    plot         pictures of a fitted model: its ranking, its calibration, the parts of its scores
    forecasting  forecast() and Forecast: how many answers it will take, by simulating them
    selection    select() and Selection: problem -> criterion -> run -> selection
    criteria     what a pair is worth: the registry, and a module a criterion
    cluster      the engine's scans on the workers of a Dask cluster
    datasets     data to try it on: synthetic, embedded, and loaders for published files
    recipe       raw texts, images, categories and dates turned into features, in a way that new rows can follow
    model        BradleyTerryGP, BradleyTerry and BradleyTerryCV: scores, probabilities and rankings with intervals
    engine       the default search: exact, from a few scans of all pairs
    paper        the paper's eight algorithms
    design       the information matrix, its log det, weights of answers
    files        tables read and written, files written whole, checkpoints
    data         items with features, and the pairs of them that may be asked

Packages are called rooms; each one's docstring lists its modules and says what its words mean. Imports point down this
list only.

The method is Guo et al., "Accelerated Experimental Design for Pairwise Comparisons" (SDM 2019); "the paper" in
these pages. Row numbers count from 0.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pairsmith import datasets, plot
    from pairsmith.data.candidates import AllPairs, Among, PairList, WithinGroups
    from pairsmith.design.information import Design
    from pairsmith.forecasting import Forecast, forecast
    from pairsmith.model.bradley_terry import BradleyTerry
    from pairsmith.model.cross_validation import BradleyTerryCV
    from pairsmith.model.gaussian_process import BradleyTerryGP
    from pairsmith.recipe.recipe import Recipe, features
    from pairsmith.selection.select import Selection, select

__version__ = "0.1.0.dev0"

# Loaded on first use: numba and its compiled kernels take a while, and `import pairsmith` should not.
_HOME = {
    "AllPairs": "data.candidates",
    "Among": "data.candidates",
    "PairList": "data.candidates",
    "WithinGroups": "data.candidates",
    "BradleyTerry": "model.bradley_terry",
    "BradleyTerryCV": "model.cross_validation",
    "BradleyTerryGP": "model.gaussian_process",
    "Design": "design.information",
    "Forecast": "forecasting",
    "Recipe": "recipe.recipe",
    "features": "recipe.recipe",
    "Selection": "selection.select",
    "forecast": "forecasting",
    "select": "selection.select",
}
_ROOMS = ("datasets", "plot")

__all__ = [
    "AllPairs",
    "Among",
    "BradleyTerry",
    "BradleyTerryCV",
    "BradleyTerryGP",
    "Design",
    "Forecast",
    "PairList",
    "Recipe",
    "Selection",
    "WithinGroups",
    "datasets",
    "features",
    "forecast",
    "plot",
    "select",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"pairsmith.{name}")
    if name in _HOME:
        return getattr(import_module(f"pairsmith.{_HOME[name]}"), name)
    raise AttributeError(f"module 'pairsmith' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME, *_ROOMS])
