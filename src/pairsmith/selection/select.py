"""select() and its result: a problem and a criterion, resolved here, are run to a Selection."""

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

from pairsmith.criteria import CRITERIA, GOALS, Criterion
from pairsmith.criteria.belief import NO_BELIEF, belief_of, is_gaussian_process
from pairsmith.criteria.d_optimal import paper_steps
from pairsmith.criteria.problem import as_problem
from pairsmith.criteria.work import Goal, Work
from pairsmith.data.arrays import Floats, Ints
from pairsmith.data.candidates import Candidates
from pairsmith.data.errors import ArgumentError
from pairsmith.data.options import as_generator, as_name, as_refinements, as_threads, as_whole
from pairsmith.design.compiling import compiling
from pairsmith.files.checkpoint import Checkpoint
from pairsmith.files.write import write_whole
from pairsmith.paper.greedy import ALGORITHMS
from pairsmith.selection.memory import memory_for, tell_cost
from pairsmith.selection.run import Journal, certified, replay, take
from pairsmith.selection.start import Start, start_from

if TYPE_CHECKING:
    import pandas as pd

    from pairsmith.cluster.client import Cluster
    from pairsmith.model.bradley_terry import BradleyTerry
    from pairsmith.model.gaussian_process import BradleyTerryGP

_SHOWN = 10  # of the pairs, in a notebook


@dataclass(frozen=True)
class Selection:
    """The pairs that were picked, in order, and what each was worth."""

    pairs: Ints  # (k, 2) row numbers, i < j
    gains: Floats  # (k,) what each pick added to the objective at its step: log(1 + d_e), or see `gain_is`
    logdet: Floats  # (k,) log det A after each pick, whatever the objective
    seconds: Floats  # (k,) from the call to each pick
    objective: str
    algorithm: str  # "engine", one of the paper's eight, or the objective's name where that has steps of its own
    ridge: float
    logdet_before: float  # log det A before the first pick
    bound: float | None = None  # with certify: no k candidates raise log det A by more than this
    optimality: float | None = None  # the share of it that these reach
    ids: npt.NDArray[Any] | None = field(default=None, repr=False)  # the items' own names, where X had any
    diagnostics: dict[str, Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def gain_is(self) -> str:
        """What a gain is under this objective, in words."""
        return CRITERIA[self.objective].gain_is

    def sentences(self) -> list[str]:
        """What was picked, what it adds to log det, and what was proved of that."""
        total, before = len(self), self.logdet_before
        if total == 0:
            return ["No pair was picked."]
        compiled = self.diagnostics.get("compiling", 0.0)
        once = f", after {compiled:.1f} s of compiling, once on this machine" if compiled else ""
        how = [self.objective] if self.algorithm == self.objective else [self.objective, self.algorithm]
        if not CRITERIA[self.objective].only_effects:  # under those the ridge is the model's own
            how.append(f"ridge {self.ridge:.3g}")
        told = [
            f"Picked {total} pair{'s' if total > 1 else ''} in {max(0.0, self.seconds[-1] - compiled):.2f} s{once}"
            f" ({', '.join(how)}).",
            f"log det of the information: {before:.3f} before, {self.logdet[-1]:.3f} with them.",
        ]
        if self.optimality is not None:
            no_pairs, these = ("no pair adds", "this adds") if total == 1 else (f"no {total} pairs add", "these add")
            told.append(
                f"Proved: {no_pairs} more than {self.bound:.3f} to it; {these} {self.logdet[-1] - before:.3f},"
                f" {self.optimality:.1%} of that."
            )
        return told

    def _repr_html_(self) -> str:
        """How notebooks show it: what was picked, and the first of the pairs."""
        shown = self.to_frame()[["rank", "first", "second", "gain"]].head(_SHOWN)
        above, below = "<br/>".join(map(html.escape, self.sentences())), f"gain: {html.escape(self.gain_is)}"
        if len(self) > len(shown):
            below = f"The first {len(shown)} of {len(self)}. {below}"
        table = shown.to_html(index=False, border=0, float_format="{:.4g}".format)
        return f"<div><p>{above}</p>{table}<p>{below}</p></div>"

    def to_frame(self) -> pd.DataFrame:
        """A table with one row a pair: rank, the two items' ids (row numbers where X had none), gain, log det."""
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
        """Write `to_frame()`, whole or not at all."""
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
    """Pick the k pairs whose comparison teaches a Bradley-Terry model most.

    Greedily maximises f(S) = log det(ridge I + sum_A x_i x_i' + sum_S (x_i - x_j)(x_i - x_j)') over sets S of
    k candidate pairs (the paper's Eq. 3 and 4). Among equal gains the smaller (i, j) is picked; where rounding splits
    an exact tie, any of its pairs may be.

    Parameters
    ----------
    X : array-like or data frame of shape (N, d), or None
        One row of numeric features an item. The column `id` of a frame (pandas, polars) or an Arrow table, or else a
        frame's index, names the items. None where items have no features: then they have effects of their own, and
        those that nobody compared are paired in a random order, since nothing tells them apart and no pair is worth
        more (`diagnostics["paired_at_random"]` counts them; `random_state` is the seed).
    k : int
        How many pairs.
    labeled : array-like of int
        Rows of X that have an absolute label already (the paper's A).
    labels : array-like
        Those labels, of two values; only criteria that use a model look at them.
    better : str or number
        The better one of the two labels. Words need it; of two numbers the greater one is, unless this says otherwise.
    comparisons : array-like of shape (m, 2)
        Pairs of rows already compared: they condition the design and are not picked again. Of a BradleyTerryGP's own
        answers only the pairs named here are left out; a pair named here that it has no answer to counts as asked.
    outcomes : array-like of shape (m,)
        +1 where the first was preferred, -1 where the second, 0 for a tie, or the words first, second and tie; only
        criteria that use a model look at them.
    candidates : None, AllPairs, WithinGroups, Among, PairList or array-like of shape (M, 2)
        Which pairs may be asked. None means all.
    max_per_item : int
        Exposure cap: no item in more than this many of the pairs picked now. Earlier comparisons do not count.
    ridge : float or "auto"
        The objective's lambda. "auto" is the paper's choice, 1e-5 times the mean norm of the feature vectors.
    item_effects : float
        Every item has an effect of its own, beside what its features say, of this variance: the design is that of the
        features (x, sqrt(item_effects) e_i), whose last N columns have the ridge 1. An item that was asked often has
        nothing new to tell by itself then. Memory grows by 8 bytes times the squared number of items compared.
    n_items : int
        How many items there are, where X is None and no model says it.
    objective : str
        None is "order" under a BradleyTerryGP, which raises what the answers tell about the order of items, and
        otherwise "d-optimal". "local-d-optimal", which weighs each answer by its variance p (1 - p) under a model;
        "averaged-d-optimal", the same with p shrunk toward 1/2 by how uncertain the model is; "a-optimal", which lowers
        the trace of A^-1; the paper's competitors "entropy", "fisher" and "mutual-information", which use a model too;
        or "random".
    goal : str
        What "order" is about: the "ranking" of all items, which is also for who wants to know the order of new ones,
        or the best items ("top", as many as `top` says).
    top : int
        How many are the best, for goal="top".
    algorithm : str
        "auto" and "engine" are the engine: exact, and the fastest. The paper's eight are "naive", "factorization",
        "scalar", "naive-lazy", "factorization-lazy", "factorization-lazy-memo", "scalar-lazy" and "scalar-lazy-memo".
    model : fitted BradleyTerry or BradleyTerryGP
        A BradleyTerry is for the criteria that use one; without it one is fitted to labels and outcomes, with a ridge
        under which scores have a standard deviation of 2 beforehand. Under a BradleyTerryGP every pair is valued by
        what its posterior leaves open, answers so far included and effects of items too: `ridge` and `item_effects`
        are its own, and labels and outcomes count as far as it was fitted to them. A new answer has the weight 1 for
        d-optimal, p (1 - p) at the mean for local-d-optimal, and the mean of p (1 - p) over what is open of that pair
        for averaged-d-optimal.
    certify : bool or int
        Prove how close log det comes to the best possible k pairs: `bound` and `optimality` of the result. It takes
        another scan of the candidates; a number runs that many refinements, a scan each, which tighten the bound. For
        D-optimality, its two relatives and random pairs: for other criteria no such bound is known.
    random_state : None, int or numpy.random.Generator
        Seeds the random objective, the samples that mutual information is estimated from, the order of items that
        nothing tells apart, and, for "order", which of thousands of items are looked at (None: all but the random
        objective are always the same).
    n_jobs : int
        Threads. None or -1 means all cores, -2 all but one. The picks do not depend on it.
    progress : bool
        Show a progress bar on standard error.
    checkpoint : path
        A file that holds the pairs picked so far, written as they come. The same call, started again, goes on from
        there; a file that belongs to other data, candidates or settings is refused. Any greedy algorithm may go on
        where another stopped, and k may differ.
    pool_size : int
        How many pairs the engine keeps between two scans of all pairs; None chooses. It changes time and memory (about
        48 bytes a pair), never the result (but which of gains equal within 1e-12 is taken).
    client : dask.distributed.Client
        Scan on its workers: the same pairs, sooner. X may then also be a dask array, or the path of a .npy file, a
        Parquet table (its column `id` names the items) or a Zarr array that every worker can open; the workers read
        it, and X does not pass through this process. D-optimality and its two relatives only.

    Returns
    -------
    Selection
    """
    began = time.perf_counter()
    if objective is None:
        objective = _default_objective(model)
    criterion = CRITERIA[as_name(objective, "objective", CRITERIA)]
    wanted = _as_goal(goal, top, criterion)
    algorithm = _resolved(as_name(algorithm, "algorithm", ("auto", "engine", *ALGORITHMS)), criterion)
    pool_size = None if pool_size is None else as_whole(pool_size, "pool_size")
    refinements = as_refinements(certify)
    _check_possible(criterion, algorithm, pool_size, client, refinements, checkpoint)
    threads, rng = as_threads(n_jobs), as_generator(criterion.seed if random_state is None else random_state)
    cluster = None if client is None else _cluster_of(client)
    start = start_from(X, n_items, model, item_effects, ridge, cluster)
    _check_effects(start, criterion, algorithm, model)
    if wanted.top > start.features.shape[0]:
        raise ArgumentError("top", f"={top}, but there are {start.features.shape[0]} items")
    problem = as_problem(
        start.features, k, labeled=labeled, labels=labels, better=better, comparisons=comparisons, outcomes=outcomes,
        candidates=candidates, max_per_item=max_per_item, ridge=start.ridge, item_effects=start.effects,
        answered=start.answered,
    )  # fmt: skip
    memory = memory_for(problem, criterion, algorithm)
    if start.effects is not None:
        tell_cost(problem, memory, scanned=not criterion.only_effects)
    belief = NO_BELIEF
    if criterion.needs_model:
        belief = start.belief or belief_of(problem, model, criterion.name)
    scores = None if criterion.scores_that_weigh is None else criterion.scores_that_weigh(start.features, belief)
    saved = None if checkpoint is None else Checkpoint(checkpoint, problem.fingerprint(criterion.name, scores))
    design = problem.design(scores)
    logdet_before, bound, optimality = design.logdet, None, None
    journal = Journal(began, problem.k, progress, saved)
    work = Work(
        problem, design, problem.remaining(), belief, rng, threads, memory, journal.tell, pool_size,
        partial(problem.design, scores), goal=wanted,
    )  # fmt: skip
    with compiling() as compiled:
        replay(work, criterion, journal)
        if cluster is not None:
            work = replace(work, scan=cluster.scan(start.features))
        with journal, nullcontext() if cluster is None else cluster.keeping_copies():
            take(work, partial(paper_steps, algorithm) if algorithm in ALGORITHMS else criterion.steps, journal)
            if refinements is not None and journal.steps:
                bound, optimality = certified(work, criterion, journal, logdet_before, refinements)
    work.diagnostics["compiling"] = compiled.seconds
    _warn_of(work, len(journal.steps))
    return Selection(
        pairs=journal.pairs,
        gains=journal.gains,
        logdet=journal.logdet,
        seconds=np.array(journal.seconds),
        objective=criterion.name,
        algorithm=algorithm,
        ridge=problem.ridge,
        logdet_before=logdet_before,
        bound=bound,
        optimality=optimality,
        ids=start.ids,
        diagnostics=work.diagnostics,
    )


def _default_objective(model: Any) -> str:
    """What is meant where nobody names an objective: one that uses the model, if there is any."""
    if model is None:
        return "d-optimal"
    if is_gaussian_process(model):
        return "order"
    able = ", ".join(
        name for name, criterion in CRITERIA.items() if criterion.needs_model and not criterion.only_effects
    )
    raise ValueError(f"model is no BradleyTerryGP, so name the objective that is to use it, of {able}; or leave it out")


def _resolved(algorithm: str, criterion: Criterion) -> str:
    """What "auto" means, and whether this algorithm can run this criterion."""
    if algorithm == "auto":
        return "engine" if criterion.by_engine else criterion.name
    by_engine = algorithm == "engine"
    can_run = [name for name, other in CRITERIA.items() if (other.by_engine if by_engine else other.by_paper)]
    if criterion.name not in can_run:
        raise ArgumentError(
            "algorithm",
            f"={algorithm!r} is for objective={', '.join(map(repr, can_run))}; leave it out for {criterion.name!r}",
        )
    return algorithm


def _check_possible(
    criterion: Criterion, algorithm: str, pool_size: int | None, client: Any, refinements: int | None, checkpoint: Any
) -> None:
    """Refuse what this criterion or algorithm cannot do."""
    for name, given in (("pool_size", pool_size), ("client", client)):
        if given is not None and algorithm != "engine":
            used = f"the algorithm {algorithm!r}" if criterion.by_engine else f"the objective {criterion.name!r}"
            raise ArgumentError(name, f" is for the engine; leave it out for {used}")
    if refinements is not None and not criterion.certifiable:
        raise ArgumentError(
            "certify", f" bounds log det, which is not what the objective {criterion.name!r} maximises; leave it out"
        )
    if checkpoint is not None and not isinstance(checkpoint, str | os.PathLike):
        raise ArgumentError("checkpoint", f" must be the path of a file, got {checkpoint!r}")
    if checkpoint is not None and not criterion.resumable:
        resumable = ", ".join(other.name for other in CRITERIA.values() if other.resumable)
        raise ArgumentError("checkpoint", f" is for {resumable}; leave it out for the objective {criterion.name!r}")


def _cluster_of(client: Any) -> Cluster:
    from pairsmith.cluster.client import Cluster

    return Cluster(client)


def _as_goal(goal: Any, top: Any, criterion: Criterion) -> Goal:
    name = as_name(goal, "goal", GOALS)
    if (name != "ranking" or top is not None) and not criterion.only_effects:
        raise ArgumentError(
            "goal" if top is None else "top", f" is for the objective 'order'; leave it out for {criterion.name!r}"
        )
    if (name == "top") != (top is not None):
        raise ArgumentError(
            "goal", "='top' goes with the number of the best: give both or neither, such as the goal 'top' and 10"
        )
    return Goal(name, 0 if top is None else as_whole(top, "top"))


def _check_effects(start: Start, criterion: Criterion, algorithm: str, model: Any) -> None:
    """Refuse criteria that cannot use effects of items where there are some, and "order" without a BradleyTerryGP."""
    if criterion.only_effects and not is_gaussian_process(model):
        raise ArgumentError(
            "objective",
            f"={criterion.name!r} needs a BradleyTerryGP as model; fit one, even if there are no answers yet",
        )
    if start.effects is None:
        return
    if not criterion.effects:
        able = ", ".join(other.name for other in CRITERIA.values() if other.effects)
        raise ArgumentError(
            "item_effects", f" and a BradleyTerryGP are for {able}; leave them out for {criterion.name!r}"
        )
    if algorithm in ALGORITHMS:
        raise ArgumentError(
            "item_effects", f" and a BradleyTerryGP are for the engine; leave out the algorithm {algorithm!r}"
        )


def _warn_of(work: Work, picked: int) -> None:
    """Say what the result does not show: digits lost to rounding, pairs that an exposure cap left no room for."""
    uncertainty, problem = work.design.uncertainty, work.problem
    if uncertainty > 1e-6:
        warnings.warn(
            f"X spans so many orders of magnitude beside ridge={problem.ridge:.1e} that rounding may have moved gains"
            f" by {uncertainty:.0e}; rescale X, or its items and columns that are far out",
            stacklevel=3,
        )
    if picked < problem.k:
        told = f"only {picked} of k={problem.k} pairs could be picked"
        if problem.max_per_item is None:
            told += "; ask again for the rest"
        else:
            told += (
                f" before every pair left had an item at its cap of {problem.max_per_item} pairs; raise the cap or ask"
                " for fewer pairs"
            )
        warnings.warn(told, stacklevel=3)
