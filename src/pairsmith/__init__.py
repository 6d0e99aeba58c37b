"""pairsmith answers one question: which pairs should people compare next?

    import pairsmith as ps
    sel = ps.select(X, k=100, labeled=A)      # the pairs to ask, most informative first
    sel.pairs, sel.gains, sel.to_frame()

The map, from the outside in:

    cli          the command line
    campaign     labelling with people: pages, answers, rounds
    selection    select() and Selection: input checked, names resolved, run, timed
    model        BradleyTerry and BradleyTerryCV: scores, probabilities and rankings with intervals
    logistic     the model's numerics
    engine       the default algorithm: exact, from a few scans of all pairs
    scan         every pair whose gain reaches a floor, screened in float32, tiled
    distributed  the same scan by tasks of a Dask cluster
    tiles        features by blocks of rows, and the pure functions of them that make a scan
    certificate  how far the picks can be from the best possible ones
    greedy       the paper's eight algorithms
    objectives   criteria other than D-optimality
    information  one of them: mutual information
    design       the information matrix A, its log det, whitened features
    candidates   which pairs may be asked: AllPairs, WithinGroups, PairList
    kernels      compiled inner loops
    features     what users pass as features, checked
    storage      files written whole, checkpoints
    tables       items, labels and pairs read from files by id
    datasets     data to try it on: synthetic, embedded, and loaders for published files

The method is Guo et al., "Accelerated Experimental Design for Pairwise Comparisons" (SDM 2019); "the paper" in
these pages. Row numbers count from 0.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pairsmith import datasets
    from pairsmith.candidates import AllPairs, PairList, WithinGroups
    from pairsmith.design import Design
    from pairsmith.model import BradleyTerry, BradleyTerryCV
    from pairsmith.selection import Selection, select

__version__ = "0.1.0.dev0"

# Loaded on first use: numba and its compiled kernels take a while, and `import pairsmith` should not.
_HOME = {
    "AllPairs": "candidates",
    "PairList": "candidates",
    "WithinGroups": "candidates",
    "BradleyTerry": "model",
    "BradleyTerryCV": "model",
    "Design": "design",
    "Selection": "selection",
    "select": "selection",
}

__all__ = [
    "AllPairs",
    "BradleyTerry",
    "BradleyTerryCV",
    "Design",
    "PairList",
    "Selection",
    "WithinGroups",
    "datasets",
    "select",
]


def __getattr__(name: str) -> Any:
    if name == "datasets":
        return import_module("pairsmith.datasets")
    if name in _HOME:
        return getattr(import_module(f"pairsmith.{_HOME[name]}"), name)
    raise AttributeError(f"module 'pairsmith' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME, "datasets"])
