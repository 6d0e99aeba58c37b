"""Netflix and CAMRa, on tiny files in the published formats, sound and damaged."""

import numpy as np
import pytest

from pairsmith import datasets


def ratings_table():
    rng = np.random.default_rng(0)
    table = rng.integers(1, 6, (12, 9)) * (rng.random((12, 9)) < 0.8)
    table[:, 0] *= np.arange(12) > 2
    table[3] = [5, 1, 3, 3, 4, 2, 5, 1, 2]
    return table


def test_netflix_in_every_form(tmp_path):
    table = ratings_table()
    plain, prize, single = tmp_path / "plain", tmp_path / "prize", tmp_path / "single"
    for folder in (plain, prize, single):
        folder.mkdir()
    np.savetxt(plain / "ratings_12x9.txt", table, fmt="%d")
    movies = []
    for movie in range(9):
        lines = [f"{user},{table[user, movie]},2005-09-06" for user in range(12) if table[user, movie]]
        movies.append("\n".join([f"{movie}:", *lines]) + "\n")
        (single / f"mv_{movie:07d}.txt").write_text(movies[-1])
    (prize / "combined_data_1.txt").write_text("".join(movies[:5]))
    (prize / "combined_data_2.txt").write_text("".join(movies[5:]))
    found = [datasets.netflix(folder, 3, d=4) for folder in (plain, prize, single)]
    for data in found:
        assert data.X.shape == (9, 4)
        np.testing.assert_allclose(data.X, found[0].X, atol=1e-5)
        assert data.ids.tolist() == list(range(9))
        scores = table[3]
        np.testing.assert_array_equal(data.labels, np.where(scores > scores.mean(), 1, -1))
        for (i, j), win in zip(data.pairs, data.outcomes, strict=True):
            assert win == (1 if scores[i] > scores[j] else -1)  # the paper breaks ties by -1
    assert datasets.netflix(plain, least=8, d=4).source.endswith("user 3")
    assert datasets.netflix(prize, nth=1, least=5, d=4).source != datasets.netflix(prize, least=5, d=4).source
    with pytest.raises(ValueError, match="nth=12, but only"):
        datasets.netflix(prize, nth=12, least=1, d=4)
    with pytest.raises(ValueError, match="no user rated more than least=833"):
        datasets.netflix(plain, d=4)
    with pytest.raises(ValueError, match="user=77 is not among"):
        datasets.netflix(plain, 77, d=4)
    with pytest.raises(ValueError, match="d=30 is too large"):
        datasets.netflix(plain, 3)


def test_netflix_across_blocks(tmp_path, monkeypatch):
    table = ratings_table()
    lines = []
    for movie in range(9):
        lines += [f"{movie}:", *(f"{user},{table[user, movie]},2005-09-06" for user in np.flatnonzero(table[:, movie]))]
    (tmp_path / "combined_data_1.txt").write_bytes("\r\n".join(lines).encode())  # and no end of line at the end
    whole = datasets.netflix(tmp_path, 3, d=4)
    monkeypatch.setattr("pairsmith.datasets.ratings._BLOCK", 40)
    (tmp_path / "combined_data_1.txt").write_bytes("\n".join(lines).encode())  # another file: nothing old is served
    cut = datasets.netflix(tmp_path, 3, d=4)
    np.testing.assert_array_equal(cut.X, whole.X)
    np.testing.assert_array_equal(cut.outcomes, whole.outcomes)
    damaged = [*lines[:30], "x", *lines[30:]]
    (tmp_path / "combined_data_1.txt").write_text("\n".join(damaged))
    with pytest.raises(ValueError, match="line 31: 'x'"):
        datasets.netflix(tmp_path, 3, d=4)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("5,3,2005-01-01\n", "line 1: the file must begin"),
        ("1:\n5,3,2005-01-01\nfive,3,x\n", "line 3: 'five,3,x'"),
        ("1:\n5,3,2005-01-01\n6,9,2005-01-01\n", "line 3: '6,9,2005-01-01'"),
        ("1:\n5,3,2005-01-01\n99999999999,3,x\n", "line 3: '99999999999,3,x'"),
        ("1:\n5,3,2005-01-01\n6,259,x\n", "line 3: '6,259,x'"),  # 3 in eight bits
        ("1:\n", "has no ratings"),
        ("1:\n5,3,2005-01-01\n5,4,2005-01-02\n", "rated a movie twice"),
    ],
)
def test_damaged_netflix(tmp_path, content, told):
    (tmp_path / "combined_data_1.txt").write_text(content)
    with pytest.raises(ValueError, match=told):
        datasets.netflix(tmp_path)


def test_camra(tmp_path):
    table = ratings_table() * 20
    user, item = np.nonzero(table)
    lines = [f"{u + 1} {i + 100} {table[u, i]}" for u, i in zip(user, item, strict=True)]
    (tmp_path / "userRatingTrain.txt").write_text("\n".join(lines[:50]) + "\n")
    with pytest.raises(ValueError, match="no file userRatingTest"):
        datasets.camra(tmp_path, 4, d=3)
    (tmp_path / "userRatingTest.txt").write_text("\n".join(lines[50:]) + "\n")
    data = datasets.camra(tmp_path, 4, d=3)
    assert data.X.shape == (9, 3)
    assert data.ids.tolist() == list(range(100, 109))
    (tmp_path / "userRatingTest.txt").write_text("1 2\n")
    with pytest.raises(ValueError, match="three columns of numbers"):
        datasets.camra(tmp_path, 4, d=3)
