"""Movies that somebody rated: Netflix and CAMRa."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import coo_array, csr_array
from sklearn.decomposition import TruncatedSVD

from pairsmith.datasets.base import Dataset, Floats, file_in, of_scores, wrong

Ratings = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float32]]  # user, movie, rating


def netflix(folder: str | Path, user: int | None = None, *, least: int = 833, d: int = 30, seed: int = 0) -> Dataset:
    """The movies that one user rated, d = 30 by matrix factorisation over all ratings (Appendix B).

    Reads the Netflix Prize files, combined_data_*.txt or mv_*.txt ("movie:", then "user,rating,date"), block by block,
    or a text matrix ratings*.txt (a row a user, a column a movie, 0 for none). `user` is an id in the files; None takes
    the first who rated more than `least` movies. Label +1 where a rating is above the user's mean, -1 else; of two
    equal ratings the second is taken for the better one, as in the paper.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"{folder}: there is no such folder")
    files = sorted(folder.glob("combined_data_*.txt")) or sorted(folder.glob("mv_*.txt"))
    matrices = sorted(folder.glob("ratings*.txt"))
    if files:
        parts = [_prize(path) for path in files]
    elif matrices:
        parts = [_matrix(matrices[0])]
    else:
        raise ValueError(f"{folder} has no combined_data_*.txt, mv_*.txt or ratings*.txt")
    return _of_user("netflix", parts, user, least, d, seed, "Netflix Prize data")


def camra(folder: str | Path, user: int | None = None, *, least: int = 896, d: int = 10, seed: int = 0) -> Dataset:
    """As `netflix`, d = 10, from CAMRa 2011: userRatingTrain.txt and userRatingTest.txt, lines "user item rating"."""
    parts = []
    for name in ("userRatingTrain.txt", "userRatingTest.txt"):
        path = file_in(folder, name)
        try:
            table = pd.read_csv(path, sep=r"\s+", header=None)
        except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
            raise ValueError(f"{path}: {' '.join(str(error).split())}") from None
        if table.shape[1] < 3 or any(kind.kind not in "iuf" for kind in table.dtypes[:3]):
            raise ValueError(f"{path}: three columns of numbers are needed, user, item and rating")
        if table.isna().any(axis=None):
            raise wrong(path, int(np.argmax(table.isna().any(axis=1))) + 1, "something is missing")
        parts.append((
            table[0].to_numpy(np.int32), table[1].to_numpy(np.int32), table[2].to_numpy(np.float32)
        ))  # fmt: skip
    return _of_user("camra", parts, user, least, d, seed, "CAMRa 2011, processed")


def _prize(path: Path) -> Ratings:
    """A file in the form of the Netflix Prize: "movie:" and then its ratings."""
    users, movies, ratings = [], [], []
    movie = -1
    header = re.compile(r"^(\d+):$")
    with open(path, encoding="ascii", errors="replace") as file:
        begin = 1
        while lines := file.readlines(1 << 26):
            heads = [(at, int(found[1])) for at, line in enumerate(lines) if (found := header.match(line.rstrip()))]
            if movie < 0 and (not heads or heads[0][0] > 0):
                raise wrong(path, begin, "the file must begin with a movie's number and a colon")
            cuts = [0, *(at for at, _ in heads), len(lines)]
            owners = [movie, *(number for _, number in heads)]
            for low, high, owner in zip(cuts[:-1], cuts[1:], owners, strict=True):
                body = lines[low + (header.match(lines[low].rstrip()) is not None if low < high else 0) : high]
                if not body:
                    continue
                try:
                    pairs = np.array([line.split(",", 2)[:2] for line in body], dtype=np.int32)
                except ValueError:
                    bad = next(at for at, line in enumerate(body) if not re.match(r"^\d+,\d+", line))
                    raise wrong(
                        path, begin + high - len(body) + bad, f"{body[bad].strip()!r} is no user,rating"
                    ) from None
                users.append(pairs[:, 0])
                ratings.append(pairs[:, 1].astype(np.float32))
                movies.append(np.full(len(pairs), owner, dtype=np.int32))
            movie = owners[-1]
            begin += len(lines)
    if not users:
        raise ValueError(f"{path} has no ratings")
    return np.concatenate(users), np.concatenate(movies), np.concatenate(ratings)


def _matrix(path: Path) -> Ratings:
    try:
        table = np.loadtxt(path, dtype=np.float32, ndmin=2)
    except ValueError as error:
        raise ValueError(f"{path}: {' '.join(str(error).split())}") from None
    user, movie = np.nonzero(table)
    return user.astype(np.int32), movie.astype(np.int32), table[user, movie]


def _of_user(
    name: str, parts: Iterable[Ratings], user: int | None, least: int, d: int, seed: int, source: str
) -> Dataset:
    columns = list(zip(*parts, strict=True))
    users, movies, ratings = (np.concatenate(column) for column in columns)
    user_ids, row = np.unique(users, return_inverse=True)
    movie_ids, column = np.unique(movies, return_inverse=True)
    counts = np.bincount(row)
    if user is None:
        active = np.flatnonzero(counts > least)
        if len(active) == 0:
            raise ValueError(f"no user rated more than least={least} movies; the most is {counts.max()}")
        at = int(active[0])
    elif user not in user_ids:
        raise ValueError(f"user={user} is not among the {len(user_ids)} users")
    else:
        at = int(np.searchsorted(user_ids, user))
    vectors = _factorise(csr_array(coo_array((ratings, (row, column)))), d, seed)
    own = row == at
    items, scores = column[own], ratings[own].astype(np.float64)
    order = np.argsort(items)
    items, scores = items[order], scores[order]
    pairs, outcomes = of_scores(scores, ties=-1)
    return Dataset(
        name,
        vectors[items],
        f"{source}, user {user_ids[at]}",
        ids=movie_ids[items],
        labeled=np.arange(len(items)),
        labels=np.where(scores > scores.mean(), 1, -1),
        pairs=pairs,
        outcomes=outcomes,
    )


def _factorise(ratings: csr_array, d: int, seed: int) -> Floats:
    """Movie vectors: a truncated singular value decomposition of the ratings less each user's mean."""
    if d >= min(ratings.shape):
        raise ValueError(f"d={d} is too large for {ratings.shape[0]} users and {ratings.shape[1]} movies")
    counts = np.maximum(np.diff(ratings.indptr), 1)
    centred = ratings.astype(np.float32, copy=True)
    centred.data -= np.repeat(ratings.sum(axis=1) / counts, np.diff(ratings.indptr)).astype(np.float32)
    vectors: Floats = TruncatedSVD(d, random_state=seed).fit_transform(centred.T.tocsr()).astype(np.float64)
    return vectors
