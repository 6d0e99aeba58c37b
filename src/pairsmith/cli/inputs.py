"""What several commands read: model files, numbers among the options, a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from pairsmith.model.bradley_terry import BradleyTerry
    from pairsmith.model.gaussian_process import BradleyTerryGP


def load_model(path: Path) -> BradleyTerry | BradleyTerryGP:
    """A model that pairsmith fit wrote, of either kind."""
    from pairsmith.model.bradley_terry import BradleyTerry
    from pairsmith.model.gaussian_process import BradleyTerryGP
    from pairsmith.model.saved import KINDS, kind_of

    return BradleyTerry.load(path) if KINDS[kind_of(path)] == "BradleyTerry" else BradleyTerryGP.load(path)


def matching(model: BradleyTerry | BradleyTerryGP, features: pd.DataFrame) -> pd.DataFrame:
    """These features in the model's order, or an error that says what is missing."""
    if model.n_features_in_ == 0:
        return features.iloc[:, :0]
    if hasattr(model, "feature_names_in_"):
        wanted = list(model.feature_names_in_)
        missing = [name for name in wanted if name not in features.columns]
        if missing:
            raise ValueError(f"the items have no column {missing[0]!r}, which the model was fitted to")
        if len(features.columns) != len(wanted) or list(features.columns) != wanted:
            features = features[wanted]
    elif features.shape[1] != model.n_features_in_:
        raise ValueError(
            f"the items have {features.shape[1]} features, but the model was fitted to {model.n_features_in_}"
        )
    return features


@contextmanager
def cluster(where: str | None) -> Iterator[Any]:
    """A client of the Dask cluster that --dask names, if any."""
    if where is None:
        yield None
        return
    if find_spec("distributed") is None:
        raise ValueError("--dask needs Dask; pip install 'pairsmith[distributed]'")
    from pairsmith.cluster.client import connect

    with connect(where) as client:
        yield client


def as_number(text: str, option: str) -> float:
    """The value of an option that is a number, or auto."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{option} must be a positive number or auto, got {text!r}") from None
