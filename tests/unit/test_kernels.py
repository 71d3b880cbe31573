# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest

from svmcut.data.examples import Csr
from svmcut.models import KernelModel, LinearModel
from svmcut.models.kernels import KERNELS, Kernel


def sparse(rng, n, d):
    return Csr.from_dense(np.where(rng.random((n, d)) < 0.4, rng.normal(size=(n, d)), 0))


def slow_kernel(kernel, X, Z):
    """K from its definition, on dense float64 rows of equal width."""
    dot = X @ Z.T
    if kernel.name == "polynomial":
        return (kernel.scale * dot + kernel.offset) ** kernel.degree
    if kernel.name == "rbf":
        return np.exp(-kernel.gamma * ((X[:, None] - Z[None]) ** 2).sum(2))
    if kernel.name == "sigmoid":
        return np.tanh(kernel.scale * dot + kernel.offset)
    return dot


def widen(X, d):
    dense = X.to_dense().astype(float)
    return np.pad(dense, ((0, 0), (0, d - dense.shape[1])))


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("widths", [(8, 8), (11, 8), (5, 8), (8, 0)])
def test_expansion_is_its_definition(rng, name, widths):
    kernel = Kernel(name, degree=2, gamma=0.3, scale=0.7, offset=0.2)
    X, Z, alpha = sparse(rng, 70, widths[0]), sparse(rng, 13, widths[1]), rng.normal(size=13)
    expected = slow_kernel(kernel, widen(X, 11), widen(Z, 11)) @ alpha - 0.5
    assert np.allclose(kernel.expansion(X, Z, alpha, 0.5), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", KERNELS)
def test_threads_and_blocks_leave_the_bytes(rng, name):
    model = KernelModel(Kernel(name), sparse(rng, 40, 30), rng.normal(size=40), 0.1)
    X = sparse(rng, 333, 30)
    whole = model.scores(X)
    for threads in (2, 3, 8):
        assert model.scores(X, threads).tobytes() == whole.tobytes()
    pieces = [model.scores(X.rows(start, min(start + 50, 333))) for start in range(0, 333, 50)]
    assert np.concatenate(pieces).tobytes() == whole.tobytes()


def test_no_support_vector_leaves_the_threshold(rng):
    empty = Csr.from_dense(np.zeros((0, 4)))
    assert KernelModel(Kernel("rbf"), empty, np.zeros(0), -2.0).scores(
        sparse(rng, 3, 4)
    ).tolist() == [2, 2, 2]


def test_unknown_features_count_in_the_distance_only(rng):
    Z, alpha = Csr.from_dense([[1.0, 0.0]]), np.ones(1)
    near, far = Csr.from_dense([[1.0, 0.0]]), Csr.from_dense([[1.0, 0.0, 0.0, 2.0]])
    assert KernelModel(Kernel("rbf"), Z, alpha, 0.0).scores(far)[0] == pytest.approx(np.exp(-4))
    for model in (
        KernelModel(Kernel("polynomial"), Z, alpha, 0.0),
        LinearModel(np.array([3.0, 1.0]), 1.0),
    ):
        assert model.scores(far) == model.scores(near)


@pytest.mark.parametrize("density", [1.0, 0.6])
@pytest.mark.parametrize("shift", [0.0, 1e3, 1e6])
def test_distances_far_from_0_are_exact(rng, shift, density):
    """Norms and products of features around 1e6 have nothing left of distances around 1."""
    d, gamma = 6, 0.6
    rows, points = (
        ((shift + rng.normal(size=(n, d))) * (rng.random((n, d)) < density)).astype(np.float32)
        for n in (9, 80)
    )
    alpha = rng.normal(size=80)
    wide = rows.astype(np.longdouble)[:, None] - points.astype(np.longdouble)[None]
    truth = np.exp(-gamma * (wide**2).sum(2)).astype(float) @ alpha
    kernel, known = Kernel("rbf", gamma=gamma), Csr.from_dense(points[:, : d - 1])
    scores = kernel.expansion(Csr.from_dense(rows), Csr.from_dense(points), alpha)
    assert scores == pytest.approx(truth, rel=1e-9, abs=1e-12)
    points[:, -1] = 0  # a feature that no support vector has
    wide = rows.astype(np.longdouble)[:, None] - points.astype(np.longdouble)[None]
    truth = np.exp(-gamma * (wide**2).sum(2)).astype(float) @ alpha
    assert kernel.expansion(Csr.from_dense(rows), known, alpha) == pytest.approx(
        truth, rel=1e-9, abs=1e-12
    )


@pytest.mark.parametrize("name", KERNELS)
def test_own_numbering_of_features_changes_nothing(rng, name):
    columns = np.array([2, 3, 7, 1000, 2_000_000_000], np.int32)
    Z, alpha = sparse(rng, 9, 5), rng.normal(size=9)
    X = Csr(
        np.array([1, 2, 3, 4, 5, 6], np.float32),
        np.array([0, 2, 7, 8, 1000, 2_000_000_000], np.int32),
        np.array([0, 3, 6], np.int64),
        2_000_000_001,
    )
    # The model's five features, then the two it does not know.
    compact = np.array([[2, 0, 3, 0, 0, 1, 0], [0, 0, 0, 5, 6, 0, 4]], float)
    own = KernelModel(Kernel(name), Z, alpha, 0.0, columns).scores(X)
    dense = slow_kernel(Kernel(name), compact, widen(Z, 7)) @ alpha
    assert np.allclose(own, dense, rtol=1e-12)


def test_linear_scores_add_in_the_order_of_the_features():
    # 1e17 + 1 - 1e17 is 0 in this order and 1 in any other that is sensible.
    X = Csr.from_dense([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    assert LinearModel(np.array([1e17, 1.0, -1e17]), -3.0).scores(X).tolist() == [3.0, 3.0]


def test_linear_scores_of_a_view(rng):
    X, w = sparse(rng, 20, 6), rng.normal(size=6)
    assert np.allclose(LinearModel(w, 0.5).scores(X.rows(5, 9)), X.to_dense()[5:9] @ w - 0.5)


def test_unknown_kernel_is_refused():
    with pytest.raises(ValueError, match="linear, polynomial, rbf, sigmoid"):
        Kernel("cubic")
