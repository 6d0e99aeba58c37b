"""Compare sparse inverses with NumPy's, for several kinds of graphs of answers."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from pairsmith.design import sparse_inverse
from pairsmith.design.sparse_inverse import inverse

GRAPHS = {
    "random": lambda rng: rng.integers(300, size=(330, 2)),
    "dense": lambda rng: rng.integers(60, size=(1500, 2)),
    "a path": lambda rng: np.column_stack([np.arange(299), np.arange(1, 300)]),
    "a star": lambda rng: np.column_stack([np.zeros(299, int), np.arange(1, 300)]),
    "pairs": lambda rng: rng.permutation(300).reshape(150, 2),
    "two cliques and a bridge": lambda rng: np.array(
        [(i, j) for i in range(50) for j in range(i) if i // 25 == j // 25] + [(0, 49)]
    ),
    "nothing": lambda rng: np.zeros((0, 2), int),
}


@pytest.mark.parametrize("max_dense_rows", [0, 5, 1500])
@pytest.mark.parametrize("kind", GRAPHS)
def test_inverse_and_logdet_match_numpy(kind, max_dense_rows, monkeypatch):
    monkeypatch.setattr(sparse_inverse, "_MAX_DENSE_ROWS", max_dense_rows)
    rng = np.random.default_rng(0)
    pairs = GRAPHS[kind](rng)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    n = int(pairs.max(initial=4)) + 1
    M = np.eye(n)
    for i, j in pairs:
        weight = rng.random() * 10
        M[[i, j], [i, j]] += weight
        M[[i, j], [j, i]] -= weight
    G, order, logdet = inverse(csr_array(M))
    assert sorted(order.tolist()) == list(range(n))
    np.testing.assert_allclose(G, np.linalg.inv(M)[np.ix_(order, order)], rtol=1e-9, atol=1e-12)
    assert logdet == pytest.approx(np.linalg.slogdet(M)[1])


def test_the_inverse_of_an_empty_matrix_is_empty():
    G, order, logdet = inverse(csr_array((0, 0)))
    assert (G.shape, len(order), logdet) == ((0, 0), 0, 0.0)
