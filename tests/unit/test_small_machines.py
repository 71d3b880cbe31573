# SPDX-License-Identifier: BSD-3-Clause
"""Machines trained at once on few rows: their certificates against the definitions."""

import numpy as np
import pytest
from reference import hinge

from svmcut import LinearSVM
from svmcut._native import newton, sparse
from svmcut.data.examples import Csr
from svmcut.training import small_machines


def rows(seed, n=90, d=7, K=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    X[rng.random((n, d)) < 0.3] = 0
    return X, np.argmax(X[:, :K] + 0.7 * rng.normal(size=(n, K)), axis=1)


def value(X, y, w, C, v, squared):
    z = np.maximum(0, 1 - y * (X @ w))
    return 0.5 * w @ w + C * v @ (z * z if squared else z)


def train(X, codes, C, squared, gap, v=None, threads=1, K=4, most=400, start=None):
    W = np.empty((K, X.shape[1] + 1)) if start is None else start.copy()
    found = np.empty((K, 4))
    own = sparse.Rows(Csr.from_dense(X).validate())
    codes, warm = codes.astype(np.int32), start is not None
    newton.small_machines(own, 0.5, codes, 0, C, squared, gap, most, warm, W, found, threads, v)
    return W, found


@pytest.mark.parametrize("C", [1e-4, 0.3, 300.0])
@pytest.mark.parametrize("squared", [False, True])
def test_primals_are_those_of_the_weights_and_bounds_lie_below_every_other(C, squared):
    X, codes = rows(1)
    v = np.random.default_rng(2).integers(0, 4, len(X)).astype(np.float64)
    W, found = train(X, codes, C, squared, 1e-6, v)
    sharp, known = train(X, codes, C, squared, 1e-12, v)
    own = np.hstack([X.astype(np.float64), np.full((len(X), 1), 0.5)])
    for k in range(4):
        y = np.where(codes == k, 1.0, -1.0)
        np.testing.assert_allclose(found[k, 0], value(own, y, W[k], C, v, squared), rtol=1e-12)
        assert found[k, 3] and found[k, 0] - found[k, 1] <= 1e-6 * found[k, 0]
        best = value(own, y, sharp[k], C, v, squared)
        assert found[k, 1] <= best * (1 + 1e-12) and known[k, 1] >= found[k, 1] * (1 - 1e-9)


def test_the_hinge_is_that_of_the_slow_truth():
    X, codes = rows(3, 40, 4, 2)
    for C in (0.05, 5.0):
        W, found = train(X, codes, C, False, 1e-9, K=2)
        for k in range(2):
            y = np.where(codes == k, 1.0, -1.0)
            best = hinge.optimum(X, y, C, 0.5)[1]
            assert found[k, 1] <= best * (1 + 1e-9) and best * (1 - 1e-9) <= found[k, 0]
            np.testing.assert_allclose(hinge.primal(X, y, W[k], C, 0.5), found[k, 0], rtol=1e-12)


@pytest.mark.parametrize("squared", [False, True])
def test_bytes_do_not_depend_on_threads_or_on_the_other_machines(squared):
    X, codes = rows(4)
    once = [train(X, codes, 1.0, squared, 1e-6, threads=threads) for threads in (1, 3)]
    assert all(a.tobytes() == b.tobytes() for a, b in zip(*once, strict=True))
    alone = train(X, codes, 1.0, squared, 1e-6, K=1)[0]
    assert alone.tobytes() == once[0][0][:1].tobytes()


def test_a_warm_start_takes_fewer_steps():
    X, codes = rows(5)
    W, _ = train(X, codes, 1.0, True, 1e-9)
    cold, warm = train(X, codes, 1.1, True, 1e-9)[1], train(X, codes, 1.1, True, 1e-9, start=W)[1]
    assert warm[:, 3].all() and warm[:, 2].sum() < cold[:, 2].sum()


def test_machines_without_a_certificate_are_left_to_the_other_solvers(monkeypatch):
    X, y = rows(6)
    usual = LinearSVM(tol=1e-4, random_state=0).fit(X, y)
    assert usual.solver_ == "newton" and usual.converged_
    monkeypatch.setattr(small_machines, "MAX_STEPS", 2)
    machine = LinearSVM(tol=1e-4, random_state=0).fit(X, y)
    assert machine.solver_ == "dual-cd" and machine.converged_
    np.testing.assert_allclose(machine.primal_, usual.primal_, rtol=1e-4)
    assert np.all(machine.dual_ <= usual.primal_) and np.all(usual.dual_ <= machine.primal_)


def test_ctrl_c_leaves_the_machine_as_it_was(monkeypatch):
    X, y = rows(7)
    machine = LinearSVM().fit(X, y)
    before = machine.coef_

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(newton, "small_machines", interrupted)
    with pytest.raises(KeyboardInterrupt):
        machine.set_params(C=2.0).fit(X, 1 - (y == 1))
    assert machine.coef_ is before
