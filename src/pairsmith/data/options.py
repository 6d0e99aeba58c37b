"""Checks of single values that users pass: whole numbers, names, threads, seeds. Each error is one line."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from pairsmith.data.errors import ArgumentError


def as_choice(value: Any, name: str, choices: Iterable[str]) -> str:
    """Return the value if it is one of the choices. The error calls it `name` and lists the choices."""
    choices = tuple(choices)
    if not isinstance(value, str) or value not in choices:
        described = repr(value) if isinstance(value, str) else f"a {type(value).__name__}"
        raise ArgumentError(name, f": {described} is unknown; choose one of {', '.join(choices)}")
    return value


def as_integer(value: Any, name: str, least: int = 1) -> int:
    """Return a whole number of at least `least`."""
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise ArgumentError(name, f" must be a whole number, got {value!r}") from None
    if number < least:
        raise ArgumentError(name, f" must be at least {least}, got {number}")
    return number


def as_positive(value: Any, name: str) -> float:
    """Return a positive, finite number as a float."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number) or not 0 < value < np.inf:
        raise ArgumentError(name, f" must be a positive number, got {value!r}")
    return float(value)


def as_fraction(value: Any, name: str) -> float:
    """Return a number between 0 and 1, both excluded, as a float."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number) or not 0 < value < 1:
        raise ArgumentError(name, f" must be between 0 and 1, got {value!r}")
    return float(value)


def as_threads(n_jobs: int | None) -> int:
    """Return the number of threads: None and -1 mean all cores, -2 all but one."""
    import joblib

    cores: int = joblib.cpu_count()
    if n_jobs is None:
        return cores
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise ArgumentError("n_jobs", f" must be a number of threads, or -1 for all cores; got {n_jobs!r}")
    return min(int(n_jobs), 1024) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))


def as_generator(random_state: Any) -> np.random.Generator:
    """Return a random number generator from a seed or a generator."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ArgumentError(
            "random_state", f" must be None, a whole number >= 0 or a numpy Generator; got {random_state!r}"
        ) from None


def as_refinements(certify: bool | int) -> int | None:
    """Return the number of refinements of the certificate's bound, or None for no certificate."""
    if isinstance(certify, bool | np.bool_):
        return 0 if certify else None
    try:
        number = operator.index(certify)
    except TypeError:
        number = -1
    if number < 0:
        raise ArgumentError("certify", f" must be True, False or a number of refinements, got {certify!r}")
    return number
