"""Data to try pairsmith on: synthetic, embedded in scikit-learn, or read from published files in a folder of yours.

Each loader gives a `Dataset`. A new one is a function that reads its files and returns one: see `sushi.py`.

    synthetic    the paper's Gaussian data                     diabetes, breast_cancer, digits    from scikit-learn
    sushi        100 kinds of sushi, ranked by 5000 people     netflix, camra    movies a user rated
    mslr         documents of a web search, by query           sift              image descriptors
    rop          any folder with features.csv, labels.csv and comparisons.csv

Modules
    base       Dataset: what a loader gives
    embedded   synthetic, diabetes, breast_cancer, digits
    files      mslr, sift, rop
    ratings    netflix, camra
    sushi      sushi
"""

from __future__ import annotations

from collections.abc import Callable

from pairsmith.datasets.base import Dataset
from pairsmith.datasets.embedded import breast_cancer, diabetes, digits, synthetic
from pairsmith.datasets.files import mslr, rop, sift
from pairsmith.datasets.ratings import camra, netflix
from pairsmith.datasets.sushi import sushi

LOADERS: dict[str, Callable[..., Dataset]] = {
    "synthetic": synthetic,
    "diabetes": diabetes,
    "breast_cancer": breast_cancer,
    "digits": digits,
    "sushi": sushi,
    "netflix": netflix,
    "camra": camra,
    "mslr": mslr,
    "sift": sift,
    "rop": rop,
}
EMBEDDED = ("synthetic", "diabetes", "breast_cancer", "digits")  # need no folder

__all__ = ["EMBEDDED", "LOADERS", "Dataset", *LOADERS]
