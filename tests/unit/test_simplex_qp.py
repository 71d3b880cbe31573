# SPDX-License-Identifier: BSD-3-Clause
"""The exact QP, OSQP and a projected-gradient truth are held together."""

import numpy as np
import pytest

from svmcut._native import qp
from svmcut.base.errors import UsageError
from svmcut.qp import make_qp, simplex
from svmcut.qp.simplex import CheckedSimplexQp, ExactSimplexQp, objective
from svmcut.spec.parameters import Settings
from svmcut.spec.refusals import check


def problem(rng, k, d, scale=1.0, repeat=False):
    A = rng.normal(size=(k, d)) * scale
    if repeat:
        A[k // 2 :] = A[: k - k // 2]
    return np.ascontiguousarray(A @ A.T), rng.normal(size=k) * rng.choice([1.0, 100.0])


def slow_maximum(H, b, C, steps=20_000):
    """Accelerated projected gradient, for well-conditioned problems."""
    L = C * np.linalg.eigvalsh(H)[-1] + 1e-12
    beta = z = np.full(len(b), 1 / len(b))
    t = 1.0
    for _ in range(steps):
        new = simplex.project_on_simplex(z + (b - C * H @ z) / L)
        t_new = (1 + np.sqrt(1 + 4 * t * t)) / 2
        z, beta, t = new + (t - 1) / t_new * (new - beta), new, t_new
    return objective(H, b, C, beta)


def assert_feasible(beta):
    assert np.all(beta >= 0)
    assert abs(beta.sum() - 1) < 1e-12


@pytest.mark.every(6)
@pytest.mark.parametrize("trial", range(20))
def test_exact_reaches_the_maximum(trial):
    rng = np.random.default_rng(trial)
    H, b = problem(rng, int(rng.integers(1, 30)), int(rng.integers(1, 30)), repeat=trial % 3 == 0)
    C = 10.0 ** rng.integers(-2, 2)
    beta = ExactSimplexQp().solve(H, b, C, np.eye(len(b))[0], 1e-10)
    assert_feasible(beta)
    assert objective(H, b, C, beta) >= slow_maximum(H, b, C, 4000) - 1e-9 * (1 + abs(b).max())
    gradient = b - C * H @ beta
    assert gradient.max() - beta @ gradient <= 1e-9 * (1 + abs(b).max())


@pytest.mark.parametrize("trial", range(30))
def test_exact_certifies_itself_at_extreme_cost_and_singular_matrices(trial):
    rng = np.random.default_rng(100 + trial)
    H, b = problem(
        rng, int(rng.integers(2, 80)), int(rng.integers(1, 40)), 10.0 ** rng.integers(-3, 3), True
    )
    C = 1e6
    beta = ExactSimplexQp().solve(H, b, C, np.full(len(b), 1 / len(b)), 0.0)
    assert_feasible(beta)
    gradient = b - C * H @ beta
    rounding = 1e-15 * len(b) * C * abs(H).max()
    assert gradient.max() - beta @ gradient <= 1e-9 * abs(b).max() + rounding


@pytest.mark.parametrize("seed", [2, 3])
def test_rounding_that_looks_like_gain_does_not_go_on(seed):
    """H of 1e24 cancels to the size of b: the solver went to its last step, a tenth of a second a
    solution."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(80, 5)) * 1e12
    _, steps = qp.simplex_qp(
        np.ascontiguousarray(A @ A.T), 100 * rng.random(80), 1.0, 1e-9, 20_000, np.full(80, 1 / 80)
    )
    assert steps < 5000


@pytest.mark.parametrize("k", [1, 2, 5, 40])
def test_osqp_agrees_with_exact(rng, k):
    H, b = problem(rng, k, 10)
    exact = ExactSimplexQp().solve(H, b, 1.0, np.eye(k)[0], 1e-12)
    proposed = simplex.OsqpSimplexQp().solve(H, b, 1.0, np.eye(k)[0], 1e-12)
    assert_feasible(proposed)
    assert objective(H, b, 1.0, proposed) == pytest.approx(
        objective(H, b, 1.0, exact), rel=1e-6, abs=1e-9
    )


def test_exact_and_osqp_agree_at_huge_cost(rng):
    H, b = problem(rng, 30, 5, repeat=True)
    exact = ExactSimplexQp().solve(H, b, 1e6, np.eye(30)[0], 0.0)
    both = CheckedSimplexQp(osqp_from=1).solve(H, b, 1e6, np.eye(30)[0], 0.0)
    assert objective(H, b, 1e6, both) == pytest.approx(objective(H, b, 1e6, exact), rel=1e-7)


class Answer:
    def __init__(self, x):
        self.x = x


@pytest.mark.parametrize(
    "x",
    [
        lambda k: None,
        lambda k: np.full(k, np.nan),
        lambda k: np.full(k, 7.0),
        lambda k: np.eye(k)[-1],
    ],
    ids=["none", "nan", "inaccurate", "vertex"],
)
def test_a_bad_osqp_answer_is_mended_by_the_exact_solver(rng, monkeypatch, x):
    import osqp as package

    H, b = problem(rng, 12, 4)
    monkeypatch.setattr(package.OSQP, "solve", lambda self, raise_error=False: Answer(x(self.n)))
    beta = CheckedSimplexQp(osqp_from=1).solve(H, b, 10.0, np.eye(12)[0], 1e-10)
    expected = ExactSimplexQp().solve(H, b, 10.0, np.eye(12)[0], 1e-10)
    assert objective(H, b, 10.0, beta) == pytest.approx(objective(H, b, 10.0, expected), rel=1e-9)


def test_a_matrix_that_osqp_refuses_is_left_to_the_exact_solver():
    H, b = -np.eye(3), np.array([0.0, 2.0, 2.0])
    assert simplex.OsqpSimplexQp().solve(H, b, 1.0, np.eye(3)[0], 1e-8) is None
    assert_feasible(CheckedSimplexQp(osqp_from=1).solve(H, b, 1.0, np.eye(3)[0], 1e-8))


@pytest.mark.parametrize("trial", range(6))
def test_osqp_meets_the_tolerance_without_the_exact_solver(trial):
    rng = np.random.default_rng(40 + trial)
    H, b = problem(rng, 90, 60)
    C = 10.0 ** rng.integers(-2, 2)
    tol = 1e-5 * abs(objective(H, b, C, ExactSimplexQp().solve(H, b, C, np.eye(90)[0], 0.0)))
    beta = simplex.OsqpSimplexQp().solve(H, b, C, np.eye(90)[0], tol)
    assert_feasible(beta)
    gradient = b - C * H @ beta
    assert gradient.max() - beta @ gradient <= tol


def test_the_choices_of_the_catalog(rng, monkeypatch):
    H, b = problem(rng, 12, 4)
    asked = []
    monkeypatch.setattr(simplex.OsqpSimplexQp, "solve", lambda *words: asked.append(len(words[2])))
    for name, expected in (("auto", 0), (None, 0), ("exact", 0), ("osqp", 1)):
        asked.clear()
        assert_feasible(make_qp(name).solve(H, b, 1.0, np.eye(12)[0], 1e-9))
        assert len(asked) == expected
    with pytest.raises(
        UsageError, match="parameter 'qp' is 'simplex'; expected one of auto, osqp, exact"
    ):
        check(Settings(cost=1.0, qp="simplex"))


def test_osqp_is_not_asked_about_a_few_cuts(rng, monkeypatch):
    H, b = problem(rng, 12, 4)
    monkeypatch.setattr(simplex.OsqpSimplexQp, "solve", lambda *_: pytest.fail("OSQP was asked"))
    assert_feasible(CheckedSimplexQp().solve(H, b, 1.0, np.eye(12)[0], 1e-9))


def test_projection_is_the_nearest_point(rng):
    for _ in range(50):
        v = rng.normal(size=6) * 3
        p = simplex.project_on_simplex(v)
        assert_feasible(p)
        for _ in range(50):
            q = rng.dirichlet(np.ones(6))
            assert (v - p) @ (v - p) <= (v - q) @ (v - q) + 1e-12
