"""The options of a search: defaults, and options that do not fit each other."""

import numpy as np
import pytest

import pairsmith as ps
from pairsmith.selection.options import as_search_options

X = np.random.default_rng(0).standard_normal((8, 2))
DEFAULTS = {
    "objective": None, "goal": "ranking", "top": None, "algorithm": "auto", "model": None, "certify": False,
    "random_state": None, "n_jobs": 2, "checkpoint": None, "pool_size": None, "client": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("options", "objective", "algorithm"),
    [
        ({}, "d-optimal", "engine"),
        ({"algorithm": "scalar"}, "d-optimal", "scalar"),
        ({"objective": "a-optimal"}, "a-optimal", "a-optimal"),
        ({"model": ps.BradleyTerryGP()}, "order", "order"),
        ({"model": ps.BradleyTerryGP(), "objective": "local-d-optimal"}, "local-d-optimal", "engine"),
    ],
)
def test_the_model_and_the_objective_determine_the_defaults(options, objective, algorithm):
    found = as_search_options(**DEFAULTS | options)
    assert (found.criterion.name, found.algorithm) == (objective, algorithm)
    assert (found.threads, found.refinements, found.cluster) == (2, None, None)
    assert found.goal == ("ranking", 0)


def test_a_criterion_has_its_own_seed_if_the_user_passes_none():
    draws = [as_search_options(**DEFAULTS).rng.random() for _ in range(2)]
    assert draws[0] == draws[1]
    seeded = as_search_options(**DEFAULTS | {"random_state": 3}).rng.random()
    assert seeded == np.random.default_rng(3).random()
    at_random = [as_search_options(**DEFAULTS | {"objective": "random"}).rng.random() for _ in range(2)]
    assert at_random[0] != at_random[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"item_effects": 1.0, "algorithm": "scalar"}, "are for the engine; leave out algorithm='scalar'"),
        ({"item_effects": 1.0, "objective": "a-optimal"}, "leave them out for 'a-optimal'"),
        ({"model": "foo"}, "model is not a BradleyTerryGP; choose the objective that uses it"),
        ({"model": ps.BradleyTerryGP}, "model is not a BradleyTerryGP"),
        ({"model": ps.BradleyTerry().fit(np.eye(2), [1, -1])}, "the objective that uses it from local-d-optimal"),
        ({"checkpoint": 3}, "checkpoint must be the path of a file, got 3"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ps.select(X, 3, **options)
