# SPDX-License-Identifier: BSD-3-Clause
"""Every space: adjointness, dot products, and bytes that do not depend on the number of threads."""

import numpy as np
import pytest
from svmcut._native.kernels import KernelRows

from svmcut._native import sparse
from svmcut.data.examples import Csr
from svmcut.models.kernels import Kernel
from svmcut.spaces.kernel import KernelSpace
from svmcut.spaces.linear import LinearSpace
from svmcut.spaces.rows import RowSpace
from svmcut.spaces.subspace import Subspace


def sparse_rows(rng, n, d, density):
    dense = np.where(rng.random((n, d)) < density, rng.normal(size=(n, d)), 0).astype(np.float32)
    return Csr.from_dense(dense), dense.astype(np.float64)


SHAPES = [
    (1, 1, 1.0),
    (7, 3, 0.5),
    (40, 300, 0.1),
    (3000, 40, 0.9),
    (6000, 3, 1.0),
    (4000, 4000, 0.03),
    (5, 0, 0.0),
]


@pytest.mark.every(2)
@pytest.mark.parametrize("bias", [0.0, 1.0, -2.5])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_scores_and_adjoint_are_the_matrix_products(rng, shape, bias):
    X, dense = sparse_rows(rng, *shape)
    space = LinearSpace(X, bias)
    A = np.hstack([dense, np.full((len(dense), 1), bias)]) if bias else dense
    w, c = rng.normal(size=space.dim), rng.normal(size=len(dense))
    c[rng.random(len(c)) < 0.5] = 0
    np.testing.assert_allclose(space.scores(w), A @ w, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(space.adjoint(c), A.T @ c, rtol=1e-11, atol=1e-11)
    vectors = [rng.normal(size=space.dim) for _ in range(3)]
    assert list(space.dots(vectors, w)) == [space.dot(v, w) for v in vectors]
    assert space.dot(space.adjoint(c), w) == pytest.approx(c @ space.scores(w), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_same_bytes_for_any_number_of_threads(rng, shape):
    X, _ = sparse_rows(rng, *shape)
    w, c = rng.normal(size=X.n_features + 1), rng.normal(size=X.n_rows)
    elements = [rng.normal(size=X.n_features + 1) for _ in range(3)]
    results = set()
    for threads in (1, 2, 3, 8):
        space = LinearSpace(X, 1.0, threads)
        parts = [
            space.scores(w),
            space.adjoint(c),
            space.combine([1.0, 2.0, -3.0], elements),
            space.blend(0.3, w, 0.7, elements[0]),
            np.float64(space.dot(w, elements[1])),
        ]
        results.add(b"".join(part.tobytes() for part in parts))
    assert len(results) == 1


def test_products_of_many_entries_are_the_same_for_any_number_of_threads(rng):
    n, d, per_row = (
        6000,
        8000,
        200,
    )  # 1.2 million entries, and numbers of 160 vectors: threads are worth it
    indices = rng.integers(1, 40, (n, per_row)).cumsum(axis=1)
    data = rng.normal(size=indices.shape).astype(np.float32)
    X = Csr(data.ravel(), indices.ravel().astype(np.int32), np.arange(n + 1) * per_row, d)
    c, w = np.where(rng.random(n) < 0.5, rng.normal(size=n), 0.0), rng.normal(size=d)
    elements, weights = list(rng.normal(size=(160, d))), rng.normal(size=160)
    results = set()
    for threads in (1, 2, 3, 8, 70):
        space = LinearSpace(X, 0.0, threads)
        a, s = space.adjoint(c), space.scores(w)
        parts = [a, s, space.dots(elements, w), space.combine(weights, elements)]
        assert space.combined_square(weights, elements) == space.dot(parts[-1], parts[-1])
        assert parts[2].tolist() == [space.dot(element, w) for element in elements]
        results.add(b"".join(part.tobytes() for part in parts))
    assert len(results) == 1
    expected = np.bincount(indices.ravel(), np.repeat(c, per_row) * data.ravel(), d)
    np.testing.assert_allclose(a, expected, rtol=1e-11, atol=1e-11)


def test_ranges_of_columns_are_checked(rng):
    X, _ = sparse_rows(rng, 4, 3, 1.0)
    rows, other = sparse.Rows(X), sparse.Rows(X)
    for columns in ([0, 2], [1, 3], [3], [0, 2, 2, 3], [0, 4, 3]):
        with pytest.raises(ValueError, match="columns must"):
            sparse.Ranges(rows, np.array(columns))
    for columns in ([0, 3], [0, 1, 3], [0, 1, 2, 3]):
        out = np.zeros(3)
        sparse.adjoint(rows, np.ones(4), out, sparse.Ranges(rows, np.array(columns)))
        np.testing.assert_allclose(out, X.to_dense().sum(axis=0), rtol=1e-6)
    with pytest.raises(ValueError, match="other rows"):
        sparse.adjoint(rows, np.ones(4), np.zeros(3), sparse.Ranges(other, np.array([0, 1, 3])))


def test_long_vectors_are_summed_alike_for_any_number_of_threads(rng):
    X, _ = sparse_rows(rng, 2, 2, 1.0)
    a, b = rng.normal(size=300_001), rng.normal(size=300_001)
    sums = {LinearSpace(X, 0.0, threads).dot(a, b) for threads in (1, 2, 3, 8)}
    assert len(sums) == 1
    assert sums.pop() == pytest.approx(a @ b, rel=1e-10)


def test_a_block_of_rows_is_a_space(rng):
    X, dense = sparse_rows(rng, 50, 20, 0.4)
    block = LinearSpace(X.rows(10, 30))
    w = rng.normal(size=20)
    np.testing.assert_allclose(block.scores(w), dense[10:30] @ w, rtol=1e-12, atol=1e-12)
    c = rng.normal(size=20)
    np.testing.assert_allclose(block.adjoint(c), dense[10:30].T @ c, rtol=1e-12, atol=1e-12)


def test_read_only_arrays_are_fine(rng):
    X, dense = sparse_rows(rng, 9, 5, 0.5)
    for part in (X.data, X.indices, X.indptr):
        part.flags.writeable = False
    w = rng.normal(size=5)
    w.flags.writeable = False
    np.testing.assert_allclose(LinearSpace(X).scores(w), dense @ w, rtol=1e-12, atol=1e-12)


SPACES = {
    "linear": lambda X: LinearSpace(X, 1.0),
    "rows": lambda X: RowSpace(X, 1.0),
    "kernel": lambda X: KernelSpace(KernelRows(X, Kernel("rbf"), 1)),
    "span": lambda X: Subspace(X.to_dense(), True),
}


@pytest.mark.parametrize("name", SPACES)
def test_what_a_bundle_asks_of_many_is_what_it_asks_of_one(rng, name):
    X, _ = sparse_rows(rng, 30, 80, 0.3)
    space = SPACES[name](X)
    coefs = [np.where(rng.random(30) < 0.5, rng.normal(size=30), 0.0) for _ in range(4)]
    normals = [space.adjoint(coef) for coef in coefs]
    kept = [space.keep(normal, coef) for normal, coef in zip(normals, coefs)]
    w = space.combine([0.3, -2.0, 1.5], normals[1:])
    assert list(space.dots(kept, w)) == [space.dot(normal, w) for normal in normals]
    assert len(space.dots([], w)) == 0
    whole = space.combine([1.0, 0.2, -0.7, 3.0], kept)
    assert space.combined_square([1.0, 0.2, -0.7, 3.0], kept) == space.dot(whole, whole) > 0
    np.testing.assert_allclose(
        space.scores(space.blend(2.0, w, -1.0, whole)),
        2 * space.scores(w) - space.scores(whole),
        rtol=1e-9,
        atol=1e-9,
    )
