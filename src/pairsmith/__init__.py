"""pairsmith answers one question: which pairs should people compare next?

    import pairsmith as ps
    selection = ps.select(X, k=100)           # the pairs to ask, most informative first
    selection.pairs, selection.gains, selection.to_frame()
    gp = ps.BradleyTerryGP().fit(X, comparisons=selection.pairs, outcomes=answers)
    ps.select(X, k=20, model=gp, comparisons=selection.pairs)     # the next round
    gp.rank(X)                                # the items, best first, with intervals

The packages and modules, from the outside in:

    cli          the command line: parse, call the library, print
    campaign     labelling with people: pages, answers, rounds, reports
    plot         plots of a fitted model and of a forecast
    forecasting  forecast() and Forecast: how many answers it will take, by simulation
    selection    select() and Selection: arguments -> problem -> criterion -> run -> selection
    criteria     what a pair is worth: the registry, and one module per criterion
    cluster      the engine's scans on the workers of a Dask cluster
    datasets     data to try: synthetic, embedded, and loaders for published files
    recipe       features from raw texts, images, categories and dates, computed in the same way for new rows
    model        BradleyTerryGP, BradleyTerry and BradleyTerryCV: scores, probabilities and rankings with intervals
    engine       the default search: exact, from a few scans of all pairs
    paper        the paper's eight algorithms
    design       the information matrix, its log det, the weights of answers
    files        reading and writing tables, writing files whole or not at all, checkpoints
    data         items with features, and the candidate pairs

The docstring of each package lists its modules and defines its vocabulary. Imports point down this list only.

"The paper" is Guo et al., "Accelerated Experimental Design for Pairwise Comparisons" (SDM 2019), the source of the
method. Row numbers count from 0.
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

# Loaded on first use, so that `import pairsmith` is quick: numba and its compiled kernels take a while.
_MODULE_OF = {
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
_PUBLIC_MODULES = ("datasets", "plot")

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
    if name in _PUBLIC_MODULES:
        return import_module(f"pairsmith.{name}")
    if name in _MODULE_OF:
        return getattr(import_module(f"pairsmith.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module 'pairsmith' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
