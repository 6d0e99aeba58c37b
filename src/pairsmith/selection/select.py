"""select() and its result, Selection."""

from __future__ import annotations

import html
import os
import time
import warnings
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pairsmith.criteria import CRITERIA
from pairsmith.criteria.d_optimal import paper_steps
from pairsmith.criteria.problem import NO_MODEL, Run
from pairsmith.data.arrays import Floats, Ints
from pairsmith.data.candidates import Candidates
from pairsmith.design.compiling import measure_compilation
from pairsmith.files.checkpoint import Checkpoint
from pairsmith.files.write import write_whole
from pairsmith.paper.greedy import ALGORITHMS
from pairsmith.selection import run as runs
from pairsmith.selection.memory import check_effects_fit, memory_for
from pairsmith.selection.models import estimate_from
from pairsmith.selection.options import as_search_options
from pairsmith.selection.problem import as_problem
from pairsmith.selection.start import start_from

if TYPE_CHECKING:
    import pandas as pd

    from pairsmith.model.bradley_terry import BradleyTerry
    from pairsmith.model.gaussian_process import BradleyTerryGP

_MAX_PAIRS_IN_NOTEBOOK = 10


@dataclass(frozen=True)
class Selection:
    """The pairs that `select` picked, in order, with the gain of each.

    Attributes
    ----------
    pairs : array of int of shape (k, 2)
        The row numbers of the items of each pair, i < j.
    gains : array of shape (k,)
        What each pair added to the objective when it was picked; `gain_description` describes it.
    logdet : array of shape (k,)
        log det of the information matrix A after each pick, whatever the objective.
    seconds : array of shape (k,)
        The time from the call of `select` to each pick.
    objective : str
        The objective.
    algorithm : str
        "engine", one of the paper's eight algorithms, or the name of an objective that has steps of its own.
    ridge : float
        The ridge, also if it was chosen by "auto".
    logdet_before : float
        log det A before the first pick.
    bound : float or None
        With `certify`, an upper bound on what any k candidates add to log det A.
    optimality : float or None
        With `certify`, the share of the bound that these pairs reach.
    ids : array or None
        The ids of all items, if X names them.
    diagnostics : dict
        Counts and times that describe the search.

    Examples
    --------
    >>> import pandas as pd
    >>> import pairsmith as ps
    >>> X = pd.DataFrame({"length": [0.0, 1.0, 3.0]}, index=["short", "medium", "long"])
    >>> selection = ps.select(X, k=1, ridge=1.0)
    >>> selection.pairs.tolist(), len(selection)
    ([[0, 2]], 1)
    >>> selection.to_frame()[["first", "second"]].values.tolist()
    [['short', 'long']]
    """

    pairs: Ints
    gains: Floats
    logdet: Floats
    seconds: Floats
    objective: str
    algorithm: str
    ridge: float
    logdet_before: float
    bound: float | None = None
    optimality: float | None = None
    ids: npt.NDArray[Any] | None = field(default=None, repr=False)
    diagnostics: dict[str, Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.pairs)

    @property
    def gain_description(self) -> str:
        """A description of the gains under this objective."""
        return CRITERIA[self.objective].gain_description

    def sentences(self) -> list[str]:
        """Describe the selection in sentences: what was picked, what it adds to log det, and what has been proved."""
        total, before = len(self), self.logdet_before
        if total == 0:
            return ["No pair was picked."]
        compiled = self.diagnostics.get("compiling", 0.0)
        once = f", after {compiled:.1f} s of compiling, once on this machine" if compiled else ""
        how = [self.objective] if self.algorithm == self.objective else [self.objective, self.algorithm]
        if not CRITERIA[self.objective].needs_gaussian_process:  # a Gaussian process has its own ridge
            how.append(f"ridge {self.ridge:.3g}")
        sentences = [
            f"Picked {total} pair{'s' if total > 1 else ''} in {max(0.0, self.seconds[-1] - compiled):.2f} s{once}"
            f" ({', '.join(how)}).",
            f"log det of the information: {before:.3f} before, {self.logdet[-1]:.3f} with them.",
        ]
        if self.optimality is not None:
            no_pairs, these = ("no pair adds", "this adds") if total == 1 else (f"no {total} pairs add", "these add")
            sentences.append(
                f"Proved: {no_pairs} more than {self.bound:.3f} to it; {these} {self.logdet[-1] - before:.3f},"
                f" {self.optimality:.1%} of that."
            )
        return sentences

    def _repr_html_(self) -> str:
        """Return the sentences and the first pairs as HTML, for notebooks."""
        first_pairs = self.to_frame()[["rank", "first", "second", "gain"]].head(_MAX_PAIRS_IN_NOTEBOOK)
        above, below = "<br/>".join(map(html.escape, self.sentences())), f"gain: {html.escape(self.gain_description)}"
        if len(self) > len(first_pairs):
            below = f"The first {len(first_pairs)} of {len(self)}. {below}"
        table = first_pairs.to_html(index=False, border=0, float_format="{:.4g}".format)
        return f"<div><p>{above}</p>{table}<p>{below}</p></div>"

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per pair.

        Returns
        -------
        pandas.DataFrame
            With the columns rank, first, second, gain and logdet. `first` and `second` are the items' ids, or row
            numbers if X has no ids.
        """
        import pandas as pd

        named = self.pairs if self.ids is None else self.ids[self.pairs]
        return pd.DataFrame(
            {
                "rank": np.arange(1, len(self) + 1),
                "first": named[:, 0],
                "second": named[:, 1],
                "gain": self.gains,
                "logdet": self.logdet,
            }
        )

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write `to_frame()` to a CSV file, whole or not at all.

        Parameters
        ----------
        path : str or path
            The file, which is replaced if it exists.
        """
        write_whole(path, lambda temporary: self.to_frame().to_csv(temporary, index=False))


def select(
    X: Any,
    k: int,
    *,
    labeled: npt.ArrayLike | None = None,
    labels: npt.ArrayLike | None = None,
    better: Any = None,
    comparisons: npt.ArrayLike | None = None,
    outcomes: npt.ArrayLike | None = None,
    candidates: Candidates | npt.ArrayLike | None = None,
    max_per_item: int | None = None,
    ridge: float | str = "auto",
    item_effects: float | None = None,
    n_items: int | None = None,
    objective: str | None = None,
    goal: str = "ranking",
    top: int | None = None,
    algorithm: str = "auto",
    model: BradleyTerry | BradleyTerryGP | None = None,
    certify: bool | int = False,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    pool_size: int | None = None,
    client: Any = None,
) -> Selection:
    """Pick the k pairs whose comparison is most informative for a Bradley-Terry model.

    By default, greedily maximise f(S) = log det(ridge I + sum_A x_i x_i' + sum_S (x_i - x_j)(x_i - x_j)') over sets S
    of k candidate pairs, where A are the labeled items (the paper's Eq. 3 and 4). Among equal gains the smaller (i, j)
    is picked; if rounding splits an exact tie, any of its pairs may be.

    The keywords come in five groups, in this order:

    - answers so far: `labeled`, `labels`, `better`, `comparisons`, `outcomes`
    - pairs that may be picked: `candidates`, `max_per_item`
    - assumptions about the scores: `ridge`, `item_effects`, `n_items`
    - how pairs are valued: `objective`, `goal`, `top`, `algorithm`, `model`, `certify`, `random_state`
    - how the search runs: `n_jobs`, `progress`, `checkpoint`, `pool_size`, `client`

    Parameters
    ----------
    X : array-like or data frame of shape (n_items, n_features), or None
        The items' numeric features. Ids of items are the column `id` of a frame (pandas, polars) or an Arrow table, or
        else the index of a frame. None means items without features. They have effects of their own, and items that
        were never compared are paired in a random order, since nothing distinguishes them and all pairs are worth the
        same (`diagnostics["paired_at_random"]` counts these pairs).
    k : int
        The number of pairs.
    labeled : array-like of int, optional
        Row numbers of the items that have an absolute label already (the paper's A).
    labels : array-like of shape (n_labeled,), optional
        Their labels, of two values. Only objectives that use a model read them.
    better : str or number, optional
        The better one of the two labels. It is required for words; of two numbers the greater one is the default.
    comparisons : array-like of int of shape (n_comparisons, 2), optional
        Pairs that have been compared. They condition the design and are not picked again. Under a BradleyTerryGP, only
        the pairs passed here are excluded, and a pair without an answer in the model counts as asked.
    outcomes : array-like of shape (n_comparisons,), optional
        +1 if the first item was preferred, -1 if the second, 0 for a tie; or the words first, second and tie. Only
        objectives that use a model read them.
    candidates : AllPairs, WithinGroups, Among, PairList or array-like of shape (n_candidates, 2), optional
        The pairs that may be picked. By default all pairs may be.
    max_per_item : int, optional
        The exposure cap: the largest number of picked pairs that an item may be in. Earlier comparisons do not count.
    ridge : float or "auto", default "auto"
        The objective's lambda. "auto" is the paper's choice, 1e-5 times the mean norm of the feature vectors.
    item_effects : float, optional
        The variance of the items' own effects, which come on top of what the features predict. The design is that of
        the features (x, sqrt(item_effects) e_i), with the ridge 1 for the last N columns, so an item that was compared
        often is less informative by itself. Memory grows with the squared number of compared items, 8 bytes each.
    n_items : int, optional
        The number of items, if X is None and there is no model.
    objective : str, optional
        What a pair is worth. By default "order" under a BradleyTerryGP, which asks where the order of items is in
        doubt, and otherwise "d-optimal", which maximises f. "local-d-optimal" weights each answer by its variance
        p (1 - p) under a model, and "averaged-d-optimal" averages p (1 - p) over the uncertainty of the model.
        "a-optimal" minimises the trace of A^-1. The paper's competitors "entropy", "fisher" and "mutual-information"
        need a model, too. "random" is a baseline.
    goal : str, default "ranking"
        What "order" is about: "ranking" is the order of all items, and also the choice for predicting the order of new
        items; "top" is the order of the best items.
    top : int, optional
        The number of best items, for goal="top".
    algorithm : str, default "auto"
        "auto" and "engine" are the engine, which is exact and the fastest. The paper's eight algorithms are "naive",
        "factorization", "scalar", "naive-lazy", "factorization-lazy", "factorization-lazy-memo", "scalar-lazy" and
        "scalar-lazy-memo".
    model : fitted BradleyTerry or BradleyTerryGP, optional
        A BradleyTerry is for objectives that use a linear model. By default they fit one to `labels` and `outcomes`,
        with a ridge that gives scores a prior standard deviation of 2. Under a BradleyTerryGP every pair is valued by
        the posterior, which includes the answers and item effects: `ridge` and `item_effects` are the model's own, and
        labels and outcomes count as far as the model was fitted to them. The weight of a new answer is then 1 for
        d-optimal, p (1 - p) at the posterior mean for local-d-optimal, and the posterior mean of p (1 - p) for
        averaged-d-optimal.
    certify : bool or int, default False
        Prove how close log det comes to the best possible k pairs: `bound` and `optimality` of the result. This takes
        another scan of the candidates. A number asks for that many refinements of the bound, one scan each. Possible
        for the D-optimal objectives and random pairs; no such bound is known for the others.
    random_state : None, int or numpy.random.Generator, optional
        The seed of the random objective, of the samples behind mutual-information, of the order of items that nothing
        distinguishes, and of the sample of items that "order" considers if there are thousands. With None, only the
        random objective differs between runs.
    n_jobs : int, optional
        The number of threads. None and -1 mean all cores, -2 all but one. The result does not depend on it.
    progress : bool, default False
        Whether to show a progress bar on standard error.
    checkpoint : str or path, optional
        A file in which the pairs are saved as they are picked. The same call, started again, continues from there. A
        file for other data, candidates or settings is refused. Any greedy algorithm can continue the run of another,
        and k may differ.
    pool_size : int, optional
        The number of pairs that the engine keeps between two scans of all pairs, about 48 bytes each. By default the
        engine chooses. It changes time and memory, but no result except which of two gains within 1e-12 wins.
    client : dask.distributed.Client, optional
        A cluster whose workers do the scans, which gives the same pairs sooner. X may then also be a dask array, or the
        path of a .npy file, a Parquet table (its column `id` names the items) or a Zarr array that every worker can
        open. The workers read it, and X does not pass through this process. For the D-optimal objectives only.

    Returns
    -------
    Selection
        The pairs in the order in which they were picked, most informative first.

    Raises
    ------
    ValueError
        If an argument is invalid, or does not fit the others. The message is one line and says what to do.

    Examples
    --------
    >>> import pairsmith as ps
    >>> X = [[0.0], [1.0], [3.0], [3.5]]
    >>> first = ps.select(X, k=2, ridge=1.0)
    >>> first.pairs.tolist()
    [[0, 3], [0, 2]]

    In the next round, the answers so far improve the choice:

    >>> gp = ps.BradleyTerryGP().fit(X, comparisons=first.pairs, outcomes=[-1, -1])
    >>> second = ps.select(X, k=1, model=gp, comparisons=first.pairs)
    >>> second.objective, len(second)
    ('order', 1)
    """
    began = time.perf_counter()
    options = as_search_options(
        objective=objective, goal=goal, top=top, algorithm=algorithm, model=model, certify=certify,
        random_state=random_state, n_jobs=n_jobs, checkpoint=checkpoint, pool_size=pool_size, client=client,
    )  # fmt: skip
    criterion, cluster = options.criterion, options.cluster
    start = start_from(X, n_items, model, item_effects, ridge, cluster)
    options.check_start(start, model)
    problem = as_problem(
        start, k, labeled=labeled, labels=labels, better=better, comparisons=comparisons, outcomes=outcomes,
        candidates=candidates, max_per_item=max_per_item,
    )  # fmt: skip
    memory = memory_for(problem, criterion, options.algorithm)
    if start.has_effects:
        check_effects_fit(problem, memory, scans_all_pairs=not criterion.needs_gaussian_process)
    estimate = NO_MODEL
    if criterion.needs_model:
        estimate = start.estimate or estimate_from(problem, model, criterion.name)
    scores = None if criterion.weighting_scores is None else criterion.weighting_scores(start.features, estimate)
    saved = None if checkpoint is None else Checkpoint(checkpoint, problem.fingerprint(criterion.name, scores))
    design = problem.design(scores)
    logdet_before, bound, optimality = design.logdet, None, None
    journal = runs.Journal(began, problem.k, progress, saved)
    run = Run(
        problem=problem,
        design=design,
        remaining=problem.remaining(),
        estimate=estimate,
        rng=options.rng,
        threads=options.threads,
        memory=memory,
        report_progress=journal.report_progress,
        pool_size=options.pool_size,
        initial_design=partial(problem.design, scores),
        goal=options.goal,
    )
    steps = partial(paper_steps, options.algorithm) if options.algorithm in ALGORITHMS else criterion.steps
    with measure_compilation() as compilation:
        runs.replay(run, criterion, journal)
        if cluster is not None:
            run = replace(run, scan=cluster.scan(start.features))
        with journal, nullcontext() if cluster is None else cluster.keeping_copies():
            runs.take_steps(run, steps, journal)
            if options.refinements is not None and journal.steps:
                bound, optimality = runs.certify(run, criterion, journal, logdet_before, options.refinements)
    run.diagnostics["compiling"] = compilation.seconds
    _warn_about(run, len(journal.steps))
    return Selection(
        pairs=journal.pairs,
        gains=journal.gains,
        logdet=journal.logdet,
        seconds=np.array(journal.seconds),
        objective=criterion.name,
        algorithm=options.algorithm,
        ridge=problem.ridge,
        logdet_before=logdet_before,
        bound=bound,
        optimality=optimality,
        ids=start.ids,
        diagnostics=run.diagnostics,
    )


def _warn_about(run: Run, picked: int) -> None:
    """Warn about digits lost to rounding, and about fewer pairs than k."""
    uncertainty, problem = run.design.uncertainty, run.problem
    if uncertainty > 1e-6:
        warnings.warn(
            f"X spans so many orders of magnitude beside ridge={problem.ridge:.1e} that rounding may have moved gains"
            f" by {uncertainty:.0e}; rescale X, or the items and columns with the largest values",
            stacklevel=3,
        )
    if picked < problem.k:
        fewer = f"only {picked} of k={problem.k} pairs could be picked"
        if problem.max_per_item is None:
            message = f"{fewer}; ask again for the rest"
        else:
            message = (
                f"{fewer} before every pair left had an item at its cap of {problem.max_per_item} pairs; raise the cap"
                " or ask for fewer pairs"
            )
        warnings.warn(message, stacklevel=3)
