# SPDX-License-Identifier: BSD-3-Clause
"""Every certified linear solver: optimum of the reference, honest certificate, dual that never
falls, same bytes."""

import functools
import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from reference import hinge

from svmcut.data.examples import Csr
from svmcut.risks.hinge import HingeRisk
from svmcut.risks.ordinal import OrdinalRisk
from svmcut.solvers.cutting_plane import CuttingPlane
from svmcut.solvers.dual_cd import DualCd
from svmcut.solvers.newton import Newton
from svmcut.solvers.protocol import Problem, StoppingRule
from svmcut.spaces.linear import LinearSpace

SOLVERS = {
    "cutting-plane": CuttingPlane,
    "cutting-plane, as printed": lambda: CuttingPlane(line_search=False, max_idle=0),
    "cutting-plane, line search alone": lambda: CuttingPlane(mu=0),
    "cutting-plane, pruned hard": lambda: CuttingPlane(max_idle=3),
    "dual-cd": DualCd,
    "dual-cd, hurried": lambda: DualCd(max_epochs=0),
    "newton": Newton,
}


def data(seed, n=60, d=8, separable=False):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, d)) < 0.6, rng.normal(size=(n, d)), 0).astype(np.float32)
    y = np.where(
        X @ rng.normal(size=d) + (0 if separable else 0.8) * rng.normal(size=n) > 0, 1.0, -1.0
    )
    return X, y


def run(solver, X, y, C, stop, bias=1.0, threads=1):
    problem = Problem(
        HingeRisk().bind(y, threads=threads), LinearSpace(Csr.from_dense(X), bias, threads), C, stop
    )
    return list(solver.start(problem))


@functools.cache
def optimum(C, bias):
    return hinge.optimum(*data(3), C, bias)[1]


@pytest.mark.every(2)
@pytest.mark.parametrize("C", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("name", [name for name in SOLVERS if name.startswith("cutting-plane")])
def test_osqp_leads_to_the_same_optimum(name, C, monkeypatch):
    monkeypatch.setattr("svmcut.qp.DEFAULT", "osqp")
    test_reaches_the_reference_optimum_with_an_honest_certificate(name, C, 1.0)


@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize("C", [1e-3, 0.1, 1.0, 30.0])
@pytest.mark.parametrize("name", SOLVERS)
def test_reaches_the_reference_optimum_with_an_honest_certificate(name, C, bias):
    X, y = data(3)
    minimum = optimum(C, bias)
    history = run(SOLVERS[name](), X, y, C, StoppingRule(0, 1e-5), bias)
    last = history[-1]
    assert last.gap <= 1e-5 * last.primal
    assert last.dual <= minimum * (1 + 1e-9)
    assert minimum * (1 - 1e-9) <= last.primal <= minimum * (1 + 1.1e-5)
    assert last.primal == pytest.approx(hinge.primal(X, y, last.solution(), C, bias), rel=1e-12)


@pytest.mark.parametrize("name", SOLVERS)
def test_dual_never_falls_and_primal_never_rises(name):
    history = run(SOLVERS[name](), *data(4), 5.0, StoppingRule(0, 1e-4))
    duals, primals = [p.dual for p in history], [p.primal for p in history]
    assert all(b >= a for a, b in itertools.pairwise(duals))
    assert all(b <= a for a, b in itertools.pairwise(primals))
    assert all(p.gap >= -1e-9 * p.primal for p in history)


@pytest.mark.parametrize("separable", [True, False])
@pytest.mark.parametrize("C", [1e-3, 1e-1, 1e1, 1e3, 1e6])
@pytest.mark.parametrize("name", ["cutting-plane", "dual-cd", "newton"])
def test_ends_with_a_stated_gap_at_any_cost(name, C, separable):
    X, y = data(5, n=300, d=20, separable=separable)
    rule = StoppingRule(absolute=C * len(y) / 100 * 0.1)
    last = run(SOLVERS[name](), X, y, C, rule)[-1]
    assert rule.met(last.primal, last.dual)
    assert last.primal == pytest.approx(hinge.primal(X, y, last.solution(), C, 1.0), rel=1e-9)


@pytest.mark.parametrize("name", SOLVERS)
def test_same_bytes_for_any_number_of_threads_and_in_a_second_run(name):
    X, y = data(6, n=3000, d=20)
    results = {
        run(SOLVERS[name](), X, y, 1.0, StoppingRule(0, 3e-2), threads=t)[-1].solution().tobytes()
        for t in (1, 2, 3, 8, 1)
    }
    assert len(results) == 1


def test_line_search_needs_fewer_cuts():
    X, y = data(8, n=500, d=30)
    rule = StoppingRule(0, 1e-4)
    assert len(run(CuttingPlane(), X, y, 1.0, rule)) < len(
        run(CuttingPlane(line_search=False), X, y, 1.0, rule)
    )


@pytest.mark.parametrize("C", [100.0, 3000.0])
def test_large_cost_and_few_features_need_fewer_iterations_than_with_line_search_alone(C):
    X, y = data(8, n=2000, d=30)
    rule = StoppingRule(0, 1e-3)
    near, alone = (len(run(CuttingPlane(mu=mu), X, y, C, rule)) for mu in (1.0, 0.0))
    assert near < 0.8 * alone


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("name", [name for name in SOLVERS if name.startswith("cutting-plane")])
def test_ordinal_optimum_is_that_of_the_hinge_of_all_pairs(name, C):
    rng = np.random.default_rng(11)
    X = rng.normal(size=(40, 5)).astype(np.float32)
    y, qid = rng.integers(0, 3, 40).astype(float), np.repeat(np.arange(8), 5)
    pairs = [(i, j) for i in range(40) for j in range(40) if qid[i] == qid[j] and y[i] > y[j]]
    differences = np.array([X[i].astype(float) - X[j] for i, j in pairs])
    _, minimum = hinge.optimum(differences, np.ones(len(pairs)), C / 8)
    space = LinearSpace(Csr.from_dense(X))
    problem = Problem(OrdinalRisk().bind(y, qid), space, C, StoppingRule(0, 1e-5))
    last = list(SOLVERS[name]().start(problem))[-1]
    assert last.gap <= 1e-5 * last.primal
    assert last.dual <= minimum * (1 + 1e-9)
    assert minimum * (1 - 1e-9) <= last.primal <= minimum * (1 + 1.1e-5)
    w = last.solution()
    exact = hinge.primal(differences, np.ones(len(pairs)), w, C / 8)
    assert last.primal == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("name", SOLVERS)
def test_one_class_features_of_zero_and_equal_rows_end(name):
    zeros, ones = np.zeros((20, 3), np.float32), np.ones(20)
    last = run(SOLVERS[name](), zeros, ones, 1.0, StoppingRule(0, 1e-6), bias=0.0)[-1]
    assert last.primal == last.dual == 20
    equal = np.ones((50, 2), np.float32)
    mixed = np.where(np.arange(50) < 20, 1.0, -1.0)
    last = run(SOLVERS[name](), equal, mixed, 1e3, StoppingRule(0, 1e-6))[-1]
    assert last.gap <= 1e-6 * last.primal


@pytest.mark.parametrize("name", ["cutting-plane", "dual-cd", "newton"])
def test_columns_of_very_different_scale_end_without_nan(name):
    X, y = data(9, n=100, d=4)
    X *= np.array([1e12, 1e-12, 1.0, 1e6], np.float32)
    last = run(SOLVERS[name](), X, y, 1.0, StoppingRule(len(y) / 100 * 0.1))[-1]
    assert np.all(np.isfinite(last.solution()))
    assert np.isfinite(last.gap)


@pytest.mark.slow
def test_the_contracts_hold_with_osqp_as_the_small_qp():
    folder = Path(__file__).parent
    words = [
        sys.executable,
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", "--qp", "osqp", str(folder)),
    ]
    done = subprocess.run(words, cwd=folder.parent.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
