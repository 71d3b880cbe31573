# SPDX-License-Identifier: BSD-3-Clause
"""The span of a basis: its features are the kernel's, its optimum the full one where it holds all
rows."""

import numpy as np
import pytest
from drivers import driver, kernel_parameters, risk_of
from reference.kernel_rows import SlowKernelRows, gram

from svmcut.data.examples import Csr, Examples, Source
from svmcut.models.kernels import Kernel
from svmcut.risks import RISKS
from svmcut.spaces.subspace import Basis, Subspace, even_rows, independent, pivoted_rows
from svmcut.spec.catalog import SOLVERS

RBF = Kernel("rbf", gamma=0.3)


def examples(rng, n=80, d=4, task="classification"):
    X = rng.normal(size=(n, d)).astype(np.float32)
    s = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
    y = np.digitize(s, [-1, 0, 1]).astype(float) if task == "rank" else np.where(s > 0, 1.0, -1.0)
    qid = np.repeat(np.arange(4), n // 4) if task == "rank" else None
    return Examples(Csr.from_dense(X), y, qid, None, Source("made"))


def taken(solver, **reduced):
    """Those of the options that the solver takes."""
    return {name: value for name, value in reduced.items() if name in SOLVERS[solver].takes}


def fit(data, solver, loss="error-rate", cost=None, gap=1e-4, kernel=RBF, options=None, **reduced):
    example = loss == "error-rate"
    task = RISKS[loss].task
    known = {
        "task": task,
        "loss": loss,
        "solver": solver,
        "gap": gap,
        "threads": 2,
        **kernel_parameters(kernel),
    }
    costs = (None, cost or 2.0) if example else (cost or 1.0, None)
    return driver(data, **known, **(reduced if options is None else options)).fit(*costs)


def test_even_rows_are_svm_perfs():
    assert even_rows(60, 20).tolist() == list(range(0, 60, 3))
    assert even_rows(10, 4).tolist() == [0, 2, 5, 7]
    assert even_rows(3, 9).tolist() == [0, 1, 2]


def test_dependent_rows_are_left_out(rng):
    A = rng.normal(size=(12, 5))
    A[3], A[4] = A[0] + A[1], 0
    kept, inverse = independent(A @ A.T)
    assert kept.tolist() == [0, 1, 2, 5, 6]
    G = (A @ A.T)[np.ix_(kept, kept)]
    assert inverse @ G @ inverse.T == pytest.approx(np.eye(5), abs=1e-8)


@pytest.mark.parametrize(
    "kernel", [RBF, Kernel("polynomial", 2), Kernel("linear")], ids=lambda kernel: kernel.name
)
def test_pivots_are_the_rows_farthest_from_the_span(rng, kernel):
    X = examples(rng).X
    K = gram(kernel, X.to_dense(), X.to_dense())
    chosen = pivoted_rows(SlowKernelRows(X, kernel), 10)
    assert len(chosen) == (4 if kernel.is_linear else 10)
    for t in range(len(chosen)):
        basis = chosen[:t]
        rest = np.diagonal(K) - np.einsum(
            "ij,ji->i", K[:, basis] @ np.linalg.pinv(K[np.ix_(basis, basis)]), K[basis]
        )
        assert rest[chosen[t]] == pytest.approx(rest.max(), rel=1e-3)


def test_features_reproduce_the_kernel_in_the_span(rng):
    X = examples(rng).X
    K = gram(RBF, X.to_dense(), X.to_dense())
    rows = even_rows(80, 15)
    basis = Basis(RBF, X.take(rows))
    F = basis.features(X)
    np.testing.assert_allclose(F @ F[rows].T, K[:, rows], atol=1e-9)
    w = rng.normal(size=15)
    assert F @ w == pytest.approx(RBF.expansion(X, basis.Z, basis.to_alpha @ w), abs=1e-9)
    rounded = basis.features(X, memory=0.0)
    assert rounded.dtype == np.float32
    assert rounded == pytest.approx(F, abs=1e-6)


def test_products_in_both_precisions_and_traces(rng):
    F = rng.normal(size=(3000, 7))
    c, v = rng.normal(size=3000), rng.normal(size=7)
    c[rng.random(3000) < 0.9] = 0
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-6)):
        space = Subspace(F.astype(dtype), trace=True)
        a, b = space.adjoint(c), space.adjoint(c + 1)
        assert a.w == pytest.approx(F.T @ c, rel=tolerance * 1e3, abs=tolerance * 100)
        mixed = space.blend(2.0, a, -1.0, b)
        assert space.adjoint(mixed.coefficients()).w == pytest.approx(mixed.w, rel=1e-6, abs=1e-4)
        assert space.dot(a, b) == pytest.approx(c @ space.scores(b), rel=1e-6)
        mixed.w = v
        assert space.scores(mixed) == pytest.approx(F @ v, rel=tolerance * 1e3, abs=tolerance * 100)


@pytest.mark.parametrize(
    "loss", ["error-rate", "f1", "roc-area", "average-precision", "swapped-fraction"]
)
def test_a_basis_of_all_rows_is_the_full_optimum_with_its_certificate(rng, loss):
    data = examples(rng, task=RISKS[loss].task)
    exact, span = fit(data, "cutting-plane", loss), fit(data, "subspace", loss, basis=80)
    assert len(span.model.alpha) > 70
    for outcome in (exact, span):
        assert outcome.converged
        assert outcome.gap <= 1.2e-4 * outcome.primal
        assert outcome.dual <= exact.primal * (1 + 1e-9)
        assert exact.dual <= outcome.primal * (1 + 1e-9)


@pytest.mark.parametrize("solver", ["cutting-plane", "subspace", "sampled-cuts", "constant-cuts"])
def test_the_stated_numbers_bracket_the_optimum_and_the_primal_is_the_models(rng, solver):
    """The dual of a small basis belongs to the full problem, not to the span."""
    data = examples(rng)
    best = fit(data, "cutting-plane", gap=1e-6)
    outcome = fit(
        data, solver, gap=1e-3, options=taken(solver, basis=10, sample_size=20, patience=2)
    )
    s = outcome.model.scores(data.X)
    Z, alpha = outcome.model.support, outcome.model.alpha
    squared = alpha @ gram(RBF, Z.to_dense(), Z.to_dense()) @ alpha
    stated = 0.5 * squared + 2.0 * risk_of("error-rate").bind(data.y).linearize(s).value
    assert outcome.primal == pytest.approx(stated, rel=1e-9)
    assert outcome.dual <= best.primal * (1 + 1e-9)
    assert best.dual <= outcome.primal * (1 + 1e-9)
    if solver != "cutting-plane":
        assert Z.n_rows <= 10
        assert outcome.details["basis"]["dual"] >= outcome.dual - 1e-9
    assert outcome.kernel_evaluations > 0


@pytest.mark.parametrize("loss", ["error-rate", "roc-area", "swapped-pairs"])
def test_sampled_cuts_alone_state_a_bound_that_holds(rng, loss):
    data = examples(rng, task=RISKS[loss].task)
    best = fit(data, "cutting-plane", loss, gap=1e-5)
    outcome = fit(data, "sampled-cuts", loss, sample_size=25, polish=False, gap=1e-2)
    assert 0 <= outcome.dual <= best.primal <= outcome.primal * (1 + 1e-5)
    bare = fit(data, "sampled-cuts", loss, sample_size=25, polish=False, gap=1e-2, certify=False)
    assert np.isnan(bare.dual)
    assert bare.primal == pytest.approx(outcome.primal, rel=1e-5)


@pytest.mark.parametrize("solver", ["cutting-plane", "subspace", "sampled-cuts", "constant-cuts"])
def test_same_seed_same_bytes_for_any_number_of_threads(rng, solver):
    data = examples(rng)
    results = set()
    for threads in (1, 2, 3):
        known = {
            "solver": solver,
            "threads": threads,
            "seed": 3,
            **taken(solver, sample_size=20, basis=12),
        }
        outcome = driver(data, **kernel_parameters(RBF), **known).fit(None, 1.0)
        results.add(outcome.model.alpha.tobytes() + outcome.model.support.data.tobytes())
    assert len(results) == 1


def test_a_path_of_costs_ends_where_single_runs_end(rng):
    data = examples(rng)
    for solver in ("cutting-plane", "subspace", "sampled-cuts"):
        known = (
            kernel_parameters(RBF)
            | {"solver": solver, "gap": 1e-4}
            | taken(solver, sample_size=20, basis=30)
        )
        trainer = driver(data, **known)
        for cost in (0.1, 1.0, 10.0):
            along, alone = trainer.fit(None, cost), driver(data, **known).fit(None, cost)
            assert along.primal == pytest.approx(alone.primal, rel=1e-3)
            assert along.dual <= alone.primal * (1 + 1e-9)
