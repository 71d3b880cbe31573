# SPDX-License-Identifier: BSD-3-Clause
"""What predicts is what is judged: the objective by the predictions is the one that is told, for
every machine, where a column is as large as an income."""

import warnings

import numpy as np
import pytest
from attack.predicted import (
    between,
    classified,
    difference,
    inside,
    nu_classified,
    nu_numbered,
    numbered,
    promise,
)

import svmcut
from svmcut import compat

DEVIATIONS = [1e4, 1e5, 1e6, 1e7]


def rows(deviation, seed, n=80):
    """Rows of whose columns one is large, and what to predict."""
    g = np.random.default_rng(seed).normal(size=(n, 4))
    numbers = g[:, 0] + g[:, 3]
    return np.c_[g[:, :3], deviation * g[:, 3]], numbers


def fitted(machine, X, y, weights=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (
            machine.fit(X, y, sample_weight=weights) if weights is not None else machine.fit(X, y)
        )


def pairs_of_scores(machine, X):
    return machine.set_params(decision_function_shape="ovo").decision_function(X)


KERNELS = {
    "linear": {"kernel": "linear"},
    "rbf": {},
    "poly": {"kernel": "poly", "coef0": 1.0, "degree": 2},
    "unscaled poly": {"kernel": "poly", "gamma": 1.0, "degree": 2},
    "unscaled rbf": {"gamma": 1e-9},
}


@pytest.mark.every(2)
@pytest.mark.parametrize("deviation", DEVIATIONS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_named_machines_are_what_they_predict(deviation, kernel):
    X, r = rows(deviation, len(kernel))
    how, n = KERNELS[kernel] | {"max_iter": 20_000}, len(X)
    y = np.where(r > 0, "up", "down")
    machine = fitted(compat.SVC(C=2.0, **how), X, y)
    values = classified(machine, X, y, 2.0)
    assert not difference(machine, values) and not promise(
        machine, values, 2.0 * 1e-3 * 2 * n * 1.01
    )
    three = np.digitize(r, [-0.7, 0.7])
    machine = fitted(compat.SVC(**how), X, three)
    values = classified(machine, X, three, 1.0, paired=True, own=pairs_of_scores(machine, X))
    assert not difference(machine, values) and not promise(machine, values, 1e-3 * 2 * n * 1.01)
    machine = fitted(compat.SVR(**how), X, r)
    values = numbered(machine, X, r, 1.0, 0.1)
    assert not difference(machine, values) and not promise(machine, values, 1e-3 * 2 * n * 1.01)
    machine = fitted(compat.OneClassSVM(nu=0.3, **how), X + deviation * np.eye(4)[3], None)
    assert not difference(machine, inside(machine, X + deviation * np.eye(4)[3], 0.3), 1e-5)


@pytest.mark.every(2)
@pytest.mark.parametrize("deviation", DEVIATIONS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_kernel_machines_are_what_they_predict(deviation, kernel):
    X, r = rows(deviation, 7 + len(kernel))
    y, three = (r > 0).astype(int), np.digitize(r, [-0.7, 0.7])
    how = KERNELS[kernel] | {"max_iter": 20_000}
    machine = fitted(svmcut.KernelSVM(3.0, **how), X, y)
    values = classified(machine, X, y, 3.0)
    assert not difference(machine, values) and not promise(machine, values, 1.001e-3 * values)
    for multi in ("ovr", "ovo"):
        machine = fitted(svmcut.KernelSVM(multi_class=multi, **how), X, three)
        model = machine._machines()[0]
        own = model.decisions(machine._rows(X))
        values = classified(machine, X, three, 1.0, paired=multi == "ovo", own=own)
        assert not difference(machine, values) and not promise(machine, values, 1.001e-3 * values)
    machine = fitted(svmcut.KernelSVMRegressor(2.0, **how), X, r)
    values = numbered(machine, X, r, 2.0, 0.1)
    assert not difference(machine, values) and not promise(machine, values, 1.001e-3 * values)


@pytest.mark.parametrize("deviation", DEVIATIONS)
@pytest.mark.parametrize("solver", ["auto", "dual-cd", "newton", "cutting-plane"])
def test_linear_machines_are_what_they_predict(deviation, solver):
    X, r = rows(deviation, 3)
    three = np.digitize(r, [-0.7, 0.7])
    how = {"solver": solver, "max_iter": 3000}
    for loss in ("hinge", "squared-hinge", "logistic"):
        machine = fitted(svmcut.LinearSVM(loss=loss, **how), X, three)
        values = classified(machine, X, three, 1.0, loss)
        assert not difference(machine, values), loss
        assert not promise(machine, values, 1.001e-3 * values), loss
    machine = fitted(svmcut.LinearSVMRegressor(2.0, **how), X, r)
    values = numbered(machine, X, r, 2.0, 0.1)
    assert not difference(machine, values) and not promise(machine, values, 1.001e-3 * values)


def test_linear_kernels_classify_incomes():
    for seed in range(2):
        X, r = rows(1e4, seed, 60)
        y = (r > 0).astype(int)
        for machine in (compat.SVC(kernel="linear"), svmcut.KernelSVM(kernel="linear")):
            assert machine.fit(X, y).score(X, y) > 0.9 and machine.converged_
        machine = compat.SVR(kernel="linear").fit(X, r)
        assert machine.score(X, r) > 0.99 and machine.converged_


@pytest.mark.parametrize("deviation", DEVIATIONS)
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_nu_machines_are_what_they_predict(deviation, kernel):
    X, r = rows(deviation, 11)
    how = KERNELS[kernel] | {"max_iter": 20_000}
    y = (r > 0.3 * np.random.default_rng(5).normal(size=len(r))).astype(int)
    machine = fitted(compat.NuSVC(nu=0.7, **how), X, y)
    assert not between(machine, *nu_classified(machine, X, y, 0.7))
    machine = fitted(compat.NuSVR(nu=0.4, **how), X, r)
    assert not between(machine, *nu_numbered(machine, X, r, 1.0, 0.4))
