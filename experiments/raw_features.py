"""Compare features that ps.Recipe makes from raw texts and pictures with the features that come with a set.

    python experiments/raw_features.py --data folder              # 30 repetitions, K = 200 and 1,000
    python experiments/raw_features.py --data folder --quick      # 4 repetitions, K = 200: some minutes

The figure is the share of pairs of unseen items that BradleyTerryGP puts in the right order after answers to K random
pairs of the training items (with two kinds of items this is the area under the ROC curve). The recipe is fitted to the
training items and applied to the unseen items, as to new ones. The sets and their own features (see sets.py):

    humour      4,030 short texts; 50 axes of TF-IDF of their words
    molskill    10,230 molecules, as the text of their SMILES; 50 axes of TF-IDF of runs of 1 to 3 characters
    digits      500 handwritten digits, as pictures in files; their 64 pixels
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from pathlib import Path

import common
import numpy as np
import pandas as pd
import sets
from PIL import Image
from rich.console import Console
from rich.table import Table

import pairsmith as ps

SETS = ["humour", "molskill", "digits"]


def raw_table(name: str, seed: int, data: Path, folder: Path) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """Return the raw items of a set and the arguments for ps.Recipe.fit; pictures are written into `folder`."""
    if name == "digits":
        pixels = _pixels(seed)
        for row, picture in enumerate(pixels):
            Image.fromarray(picture).save(folder / f"{row}.png")
        return pd.DataFrame({"image": [f"{row}.png" for row in range(len(pixels))]}), {"image": ["image"]}
    texts = sets.joke_texts(data / name) if name == "humour" else sets.smiles(data / name)
    return pd.DataFrame({"text": texts}), {"text": ["text"]}


def _pixels(seed: int) -> np.ndarray:
    """Return the digits of this repetition, (500, 8, 8), dark on white."""
    items = [int(name) for name in common.data_set("digits", seed, Path()).ids]
    return (255 - ps.datasets.digits().X[items] * (255 / 16)).astype(np.uint8).reshape(-1, 8, 8)


def repetition(
    name: str, seed: int, data: Path, marks: list[int], dimensions: int | None = None
) -> list[dict[str, object]]:
    """Return the figures of both kinds of features after the same answers."""
    rows: list[dict[str, object]] = []
    given = sets.trial(name, seed, data)
    n = len(given.X) + len(given.unseen_X)
    numbers = sets.trial(name, seed, data, np.arange(n)[:, None])  # the same trial with row numbers as features
    with tempfile.TemporaryDirectory() as folder:
        table, columns = raw_table(name, seed, data, Path(folder))
        training = table.iloc[numbers.X[:, 0]].reset_index(drop=True)
        recipe, X = ps.Recipe.fit_apply(training, **columns, folder=folder, dimensions=dimensions)
        unseen = recipe.apply(table.iloc[numbers.unseen_X[:, 0]].reset_index(drop=True), folder=folder)
    rng = np.random.default_rng([seed, 7])
    pairs = given.draw(min(marks[-1], len(given.pairs)), rng)
    outcomes = given.answer(pairs, rng)
    for kind, known, new in (("given", given.X, given.unseen_X), ("made", X.to_numpy(), unseen.to_numpy())):
        for k in (k for k in marks if k <= len(pairs)):
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="the answers leave")
                model = ps.BradleyTerryGP().fit(known, comparisons=pairs[:k], outcomes=outcomes[:k])
            better, worse = model.decision_function(new)[given.unseen].T
            right = float(np.mean((better > worse) + 0.5 * (better == worse)))
            rows.append({"set": name, "K": k, "features": kind, "columns": known.shape[1], "right": right})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder with the files of the sets")
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--repetitions", type=int, default=None)
    parser.add_argument("--dimensions", type=int, default=None, help="features per column")
    parser.add_argument("--quick", action="store_true")
    chosen = parser.parse_args()
    marks = [200] if chosen.quick else [200, 1000]
    repetitions = chosen.repetitions or (4 if chosen.quick else 30)
    table = Table(
        "set", "K", "features", "columns", "unseen items in order", "error", title=f"{repetitions} repetitions"
    )
    for name in common.available([name for name in chosen.sets if name != "digits"], chosen.data) + (
        ["digits"] if "digits" in chosen.sets else []
    ):
        units = [repetition(name, seed, chosen.data, marks, chosen.dimensions) for seed in range(repetitions)]
        found = pd.DataFrame([row for unit in units for row in unit])
        for (k, kind), part in found.groupby(["K", "features"]):
            error = part.right.std() / np.sqrt(len(part)) if len(part) > 1 else np.nan
            table.add_row(name, str(k), kind, str(part["columns"].iloc[0]), f"{part.right.mean():.3f}", f"{error:.3f}")
    Console().print(table)


if __name__ == "__main__":
    main()
