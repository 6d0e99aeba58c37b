"""Movies that somebody rated: Netflix and CAMRa."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from io import BytesIO
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import coo_array, csr_array
from sklearn.decomposition import TruncatedSVD

from pairsmith.data.arrays import Floats
from pairsmith.datasets.base import Dataset, file_in, of_scores, wrong

Ratings = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float32]]  # user, movie, rating

_BLOCK = 1 << 26  # bytes read at a time


def netflix(
    folder: str | Path,
    user: int | None = None,
    *,
    nth: int = 0,
    least: int = 833,
    d: int = 30,
    ties: int = -1,
    seed: int = 0,
) -> Dataset:
    """The movies that one user rated, d = 30 by matrix factorisation over all ratings (Appendix B).

    Reads the Netflix Prize files, combined_data_*.txt or mv_*.txt ("movie:", then "user,rating,date"), block by block,
    or a text matrix ratings*.txt (a row a user, a column a movie, 0 for none). `user` is an id in the files; None takes
    the `nth` (from 0) of those who rated more than `least` movies. Label +1 where a rating is above the user's mean, -1
    else; two equal ratings have the outcome `ties`, -1 in the paper. All files together are 100 million ratings of
    17,770 movies by 480,189 users; what was read last is kept, so that the next user comes at once.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"{folder}: there is no such folder")
    files = sorted(folder.glob("combined_data_*.txt")) or sorted(folder.glob("mv_*.txt"))
    if not files and not (files := sorted(folder.glob("ratings*.txt"))[:1]):
        raise ValueError(f"{folder} has no combined_data_*.txt, mv_*.txt or ratings*.txt")
    return _of_user("netflix", files, user, nth, least, d, ties, seed, "Netflix Prize data")


def camra(
    folder: str | Path,
    user: int | None = None,
    *,
    nth: int = 0,
    least: int = 896,
    d: int = 10,
    ties: int = -1,
    seed: int = 0,
) -> Dataset:
    """As `netflix`, d = 10, from CAMRa 2011: userRatingTrain.txt and userRatingTest.txt, lines "user item rating"."""
    files = [file_in(folder, name) for name in ("userRatingTrain.txt", "userRatingTest.txt")]
    return _of_user("camra", files, user, nth, least, d, ties, seed, "CAMRa 2011, processed")


def _triples(path: Path) -> Ratings:
    """Lines "user item rating"."""
    try:
        table = pd.read_csv(path, sep=r"\s+", header=None)
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise ValueError(f"{path}: {' '.join(str(error).split())}") from None
    if table.shape[1] < 3 or any(kind.kind not in "iuf" for kind in table.dtypes[:3]):
        raise ValueError(f"{path}: three columns of numbers are needed, user, item and rating")
    if table.isna().any(axis=None):
        raise wrong(path, int(np.argmax(table.isna().any(axis=1))) + 1, "something is missing")
    return table[0].to_numpy(np.int32), table[1].to_numpy(np.int32), table[2].to_numpy(np.float32)


def _prize(path: Path) -> Iterator[Ratings]:
    """A file in the form of the Netflix Prize, block by block: "movie:", then its "user,rating,date"."""
    movie, begin = -1, 1
    with open(path, "rb") as file:
        while block := file.read(_BLOCK) + file.readline():
            block = block.replace(b"\r\n", b"\n")
            # A movie's line becomes a rating of -1, so that the whole is a table of numbers.
            try:
                table = pd.read_csv(
                    BytesIO(re.sub(rb"(?m):$", b",-1,", block)),
                    header=None, usecols=[0, 1], dtype=np.int64,  # pandas 2 would wrap what is too large for less
                )  # fmt: skip
            except (ValueError, OverflowError):  # a ParserError of pandas is a ValueError
                raise _bad_line(path, block, begin) from None
            if table[0].max() > np.iinfo(np.int32).max:
                raise _bad_line(path, block, begin)
            table = table.astype({0: np.int32})
            head = table[1].to_numpy() == -1
            if movie < 0 and not head[0]:
                raise wrong(path, begin, "the file must begin with a movie's number and a colon")
            if table.shape[1] < 2 or not np.isin(table[1].to_numpy(), [-1, 1, 2, 3, 4, 5]).all():
                raise _bad_line(path, block, begin)
            numbers = table[0].to_numpy()
            movies = np.concatenate([[movie], numbers[head]]).astype(np.int32)[np.cumsum(head)]
            yield numbers[~head], movies[~head], table[1].to_numpy()[~head].astype(np.float32)
            movie = int(movies[-1])
            begin += block.count(b"\n")


def _bad_line(path: Path, block: bytes, begin: int) -> ValueError:
    good = re.compile(rb"\d{1,9}(:|,[1-5](,.*)?)$")
    for number, line in enumerate(block.split(b"\n"), begin):
        if line and not good.match(line):
            text = line.decode(errors="replace")
            return wrong(path, number, f"{text[:80]!r} is no movie: and no user,rating with a rating of 1 to 5")
    return ValueError(f"{path} is not in the form of the Netflix Prize data")


def _matrix(path: Path) -> Ratings:
    try:
        table = np.loadtxt(path, dtype=np.float32, ndmin=2)
    except ValueError as error:
        raise ValueError(f"{path}: {' '.join(str(error).split())}") from None
    user, movie = np.nonzero(table)
    return user.astype(np.int32), movie.astype(np.int32), table[user, movie]


@lru_cache(maxsize=1)
def _factorised(
    files: tuple[tuple[Path, int, int], ...], d: int, seed: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], csr_array, Floats]:
    """Ids of users and movies, all ratings (a row a user), and the movies' vectors; files with their age and size."""
    parts: list[Ratings] = []
    for path, _, _ in files:
        if path.name.startswith("userRating"):
            parts.append(_triples(path))
        elif path.name.startswith("ratings"):
            parts.append(_matrix(path))
        else:
            parts.extend(_prize(path))
    users, movies, ratings = (np.concatenate(column) for column in zip(*parts, strict=True))
    if len(ratings) == 0:
        raise ValueError(f"{files[0][0]} has no ratings")
    del parts
    row, user_ids = pd.factorize(users, sort=True)
    row, users = row.astype(np.int32), users[:0]
    column, movie_ids = pd.factorize(movies, sort=True)
    column, movies = column.astype(np.int32), movies[:0]
    matrix = csr_array(coo_array((ratings, (row, column)), shape=(len(user_ids), len(movie_ids))))
    if matrix.nnz < len(ratings):
        raise ValueError(f"{files[0][0].parent}: somebody rated a movie twice; keep one of the ratings")
    del ratings, row, column
    return user_ids, movie_ids, matrix, _factorise(matrix, d, seed)


def _of_user(
    name: str, files: list[Path], user: int | None, nth: int, least: int, d: int, ties: int, seed: int, source: str
) -> Dataset:
    known = tuple((path.absolute(), path.stat().st_mtime_ns, path.stat().st_size) for path in files)
    user_ids, movie_ids, ratings, vectors = _factorised(known, d, seed)
    counts = np.diff(ratings.indptr)
    active = np.flatnonzero(counts > least)
    if user is not None:
        active, nth = np.flatnonzero(user_ids == user), 0
        if len(active) == 0:
            raise ValueError(f"user={user} is not among the {len(user_ids)} users")
    elif len(active) == 0:
        raise ValueError(f"no user rated more than least={least} movies; the most is {counts.max()}")
    elif not 0 <= nth < len(active):
        raise ValueError(f"nth={nth}, but only {len(active)} users rated more than least={least} movies")
    at = int(active[nth])
    own = slice(ratings.indptr[at], ratings.indptr[at + 1])
    order = np.argsort(ratings.indices[own])
    items, scores = ratings.indices[own][order], ratings.data[own][order].astype(np.float64)
    pairs, outcomes = of_scores(scores, ties)
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
    counts = np.diff(ratings.indptr)
    means = (ratings.sum(axis=1) / np.maximum(counts, 1)).astype(np.float32)
    centred = csr_array((ratings.data - np.repeat(means, counts), ratings.indices, ratings.indptr), ratings.shape)
    # Of users by movies the components are the movies' directions; scaled, they are what the transpose's rows become.
    svd = TruncatedSVD(d, random_state=seed).fit(centred)
    vectors: Floats = (svd.components_.T * svd.singular_values_).astype(np.float64)
    return vectors
