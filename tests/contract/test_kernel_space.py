# SPDX-License-Identifier: BSD-3-Clause
"""The space of a kernel: products of its explicit feature map, and the optimum of the linear
machine for every loss."""

import numpy as np
import pytest
from drivers import risk_of
from reference.kernel_rows import SlowKernelRows, gram

from svmcut.data.examples import Csr
from svmcut.models.kernels import KERNELS, Kernel
from svmcut.risks import RISKS
from svmcut.solvers.cutting_plane import CuttingPlane
from svmcut.solvers.protocol import Problem, StoppingRule
from svmcut.spaces.kernel import KernelSpace
from svmcut.spaces.linear import LinearSpace


def feature_map(kernel, X):
    """Explicit features of the linear kernel and of (s x.z + r)^2."""
    X = X.astype(np.float64)
    if kernel.name == "linear":
        return X
    n, d = X.shape
    s, r = kernel.scale, kernel.offset
    squares = s * (X[:, :, None] * X[:, None, :]).reshape(n, d * d)
    return np.hstack([squares, np.sqrt(2 * s * r) * X, np.full((n, 1), r)])


def spaces(rng, kernel, n=40, d=5, memory=(0.0, 1.0)):
    X = Csr.from_dense(np.where(rng.random((n, d)) < 0.7, rng.normal(size=(n, d)), 0))
    return X, [KernelSpace(SlowKernelRows(X, kernel), megabytes) for megabytes in memory]


def half(rng, n):
    coef = rng.normal(size=n)
    coef[rng.random(n) < 0.5] = 0
    return coef


EXPLICIT = [Kernel("linear"), Kernel("polynomial", 2, scale=0.7, offset=0.3)]


@pytest.mark.parametrize("kernel", EXPLICIT, ids=lambda kernel: kernel.name)
def test_elements_are_vectors_of_the_feature_map(rng, kernel):
    X, both = spaces(rng, kernel, memory=(0.0, 0.0129, 1.0))
    Phi = feature_map(kernel, X.to_dense())
    a, b = half(rng, 40), half(rng, 40)
    for space in both:
        A, B = space.adjoint(a), space.adjoint(b)
        assert space.scores(A) == pytest.approx(Phi @ (Phi.T @ a), rel=1e-5, abs=1e-5)
        assert space.dot(A, B) == pytest.approx((Phi.T @ a) @ (Phi.T @ b), rel=1e-5)
        mixed = space.combine([2.0, -0.5, 1.0], [A, B, space.zero()])
        assert mixed.coefficients() == pytest.approx(2 * a - 0.5 * b)
        assert space.dot(mixed, A) == pytest.approx(
            2 * space.dot(A, A) - 0.5 * space.dot(B, A), rel=1e-6
        )
        assert space.blend(0.3, A, 0.7, B).coefficients() == pytest.approx(0.3 * a + 0.7 * b)
        A += B
        assert A.coefficients() == pytest.approx(a + b)
        assert space.scores(A) == pytest.approx(Phi @ (Phi.T @ (a + b)), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", KERNELS)
def test_scores_and_adjoint_belong_together(rng, name):
    kernel = Kernel(name, gamma=0.4, degree=2, scale=0.2)
    X, both = spaces(rng, kernel)
    K = gram(kernel, X.to_dense(), X.to_dense())
    c, v = half(rng, 40), half(rng, 40)
    for space in both:
        w = space.adjoint(v)
        assert space.scores(w) == pytest.approx(K @ v, rel=1e-5, abs=1e-5)
        assert space.dot(space.adjoint(c), w) == pytest.approx(
            c @ space.scores(w), rel=1e-6, abs=1e-6
        )
        assert space.dot(w, space.adjoint(c)) == pytest.approx(
            c @ space.scores(w), rel=1e-6, abs=1e-6
        )


def test_a_stored_gram_matrix_is_evaluated_once_and_only_when_needed(rng):
    _, (space,) = spaces(rng, Kernel("rbf"), memory=(1.0,))
    assert space.rows.evaluations == 0
    for _ in range(5):
        space.adjoint(half(rng, 40))
    assert space.rows.evaluations == 1600
    _, (space,) = spaces(rng, Kernel("rbf"), memory=(0.001,))
    space.adjoint(np.r_[np.ones(3), np.zeros(37)])
    assert space.gram is None
    assert space.rows.evaluations == 3 * 40


def labels(rng, X, task):
    s = X.to_dense() @ rng.normal(size=X.n_features) + 0.5 * rng.normal(size=X.n_rows)
    return (
        np.digitize(s, [-1, 0, 1]).astype(float) if task == "rank" else np.where(s > 0, 1.0, -1.0)
    )


@pytest.mark.parametrize("name", [name for name in RISKS if name != "one-class"])
def test_the_linear_kernel_finds_the_optimum_of_the_linear_machine(rng, name):
    X, both = spaces(rng, Kernel("linear"))
    y = labels(rng, X, RISKS[name].task)
    qid = np.repeat(np.arange(4), 10) if RISKS[name].task == "rank" else None
    risk = risk_of(name).bind(y, qid)
    value = risk.linearize(np.zeros(40)).value
    results = []
    for space in (LinearSpace(X), *both):
        *_, progress = CuttingPlane().start(Problem(risk, space, 5 / value, StoppingRule(0, 1e-4)))
        assert progress.gap <= 1e-4 * progress.primal
        results.append((progress.dual, progress.primal))
    for lower, upper in results[1:]:
        assert lower <= results[0][1] * (1 + 1e-5)
        assert results[0][0] <= upper * (1 + 1e-5)  # float32 kernel rows
