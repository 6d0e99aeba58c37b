"""Features from files: MSLR, SIFT, and any folder in the form of ROP."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pairsmith.data.arrays import Ints
from pairsmith.datasets.base import Dataset, file_in
from pairsmith.files.answers import read_answers
from pairsmith.files.items import read_items
from pairsmith.files.labels import as_label, read_labels


def mslr(folder: str | Path, *, rows: int | None = None) -> Dataset:
    """Documents of MSLR-WEB10K, d = 136, grouped by query: Fold1/train.txt or any .txt in SVMlight form with qid.

    Get it from Microsoft Research. Labels are +1 for relevance 1 and more. Columns that never change are dropped (the
    paper keeps 134); `rows` reads so many documents only.
    """
    from sklearn.datasets import load_svmlight_file

    path = file_in(
        folder, "Fold1/train.txt", "train.txt", *(found.name for found in sorted(Path(folder).glob("*.txt")))
    )
    try:
        if rows is None:
            X, relevance, query = load_svmlight_file(str(path), query_id=True)
        else:
            from io import BytesIO
            from itertools import islice

            with open(path, "rb") as file:
                X, relevance, query = load_svmlight_file(BytesIO(b"".join(islice(file, rows))), query_id=True)
    except ValueError as error:
        raise ValueError(f"{path} is not in SVMlight form: {' '.join(str(error).split())}") from None
    if len(np.unique(query)) < 2:
        raise ValueError(f"{path} has no qid:, or a single one; pairs are formed within queries")
    dense = X.toarray()
    dense = dense[:, dense.max(axis=0) > dense.min(axis=0)]
    return Dataset(
        "mslr",
        dense,
        "MSLR-WEB10K, Microsoft Research (Qin and Liu, 2013)",
        labeled=np.arange(len(dense)),
        labels=np.where(relevance >= 1, 1, -1),
        groups=query,
    )


def sift(folder: str | Path, *, rows: int = 3000, seed: int = 0) -> Dataset:
    """SIFT descriptors, d = 128: `rows` of them at random, without reading the whole file.

    SIFT10Mfeatures.mat (UCI; HDF5, needs h5py) or a tab-separated .tsv with 128 numbers and, optionally, an id a line.
    """
    tables = sorted(Path(folder).glob("*.tsv")) if Path(folder).is_dir() else []
    path = file_in(folder, "SIFT10Mfeatures.mat", "SIFT10M/SIFT10Mfeatures.mat", *(found.name for found in tables))
    rng = np.random.default_rng(seed)
    source = "SIFT10M, UCI machine learning repository"
    if path.suffix == ".mat":
        try:
            import h5py
        except ImportError:
            raise ValueError(f"{path}: reading it needs h5py; pip install 'pairsmith[data]'") from None
        try:
            opened = h5py.File(path, "r")
        except OSError:
            raise ValueError(f"{path} is no MATLAB file of version 7.3 (HDF5), or damaged") from None
        with opened as file:
            wide = [value for value in file.values() if getattr(value, "ndim", 0) == 2 and 128 in value.shape]
            if not wide:
                raise ValueError(f"{path} has no matrix with 128 rows or columns")
            matrix = wide[0]
            upright = matrix.shape[1] == 128
            chosen = _some_rows(rng, rows, matrix.shape[0 if upright else 1], path)
            X = np.array(matrix[chosen] if upright else matrix[:, chosen].T)
        return Dataset("sift", X.astype(np.float64), source, ids=chosen)
    try:
        table = np.loadtxt(path, delimiter="\t", ndmin=2)
    except ValueError as error:
        raise ValueError(f"{path}: {' '.join(str(error).split())}") from None
    if table.shape[1] not in (128, 129):
        raise ValueError(f"{path} has {table.shape[1]} columns; 128 and, optionally, an id are expected")
    chosen = _some_rows(rng, rows, len(table), path)
    return Dataset("sift", table[chosen, :128], source, ids=chosen)


def _some_rows(rng: np.random.Generator, rows: int, there: int, path: Path) -> Ints:
    if rows > there:
        raise ValueError(f"rows={rows}, but {path} has {there}")
    return np.sort(rng.choice(there, rows, replace=False))


def rop(folder: str | Path, name: str = "rop", better: str | float | None = None) -> Dataset:
    """Any data in three tables by item id: features.csv, and labels.csv and comparisons.csv where there are any.

    comparisons.csv has the columns first, second and outcome, and count where an answer stands for several.
    Of two labels that are words, `better` names the better one.
    """
    from pairsmith.model.evidence import classes_of

    items = read_items(file_in(folder, "features.csv"))
    found = {}
    if (Path(folder) / "labels.csv").exists():
        found["labeled"], labels = read_labels(Path(folder) / "labels.csv", items)
        best = as_label(better, labels) if isinstance(better, str) else better
        found["labels"] = np.where(labels == classes_of(labels, best)[1], 1, -1)
    if (Path(folder) / "comparisons.csv").exists():
        answers = read_answers(Path(folder) / "comparisons.csv", items, raters=())
        found["pairs"], found["outcomes"] = answers.pairs, answers.outcomes.astype(np.int64)
        found["counts"] = answers.counts.astype(np.int64)
    X = items.features.to_numpy(dtype=np.float64)
    return Dataset(name, X, f"the folder {folder}", ids=items.features.index.to_numpy(dtype=object), **found)
