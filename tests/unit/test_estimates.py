# SPDX-License-Identifier: BSD-3-Clause
"""svm_light's estimates: recorded figures from recorded alphas, and leaving out one row for
another."""

import re

import numpy as np
import pytest

from svmcut.data.examples import Csr
from svmcut.files.examples import read_examples
from svmcut.models.kernels import KERNELS, Kernel
from svmcut.originals.svm_light import estimates
from svmcut.originals.svm_light.machines import MachineProblem

CASES = {
    "light_alpha": Kernel(),
    "light_poly": Kernel("polynomial", degree=2),
    "light_rbf": Kernel("rbf", gamma=0.1),
    "light_rbf_def": Kernel("rbf", gamma=0.3),
    "light_sig": Kernel("sigmoid", scale=0.05, offset=0.0),
    "light_def": Kernel(),
}


@pytest.mark.parametrize("name", CASES)
def test_the_recorded_figures_of_recorded_runs(shared, name):
    """Numbers that were printed, from a machine trained to the same optimum."""
    folder, kernel = shared / "golden" / "light" / "cases", CASES[name]
    examples, told = (
        read_examples(str(folder / "inputs" / "lt.dat")),
        (folder / name / "stdout.txt").read_text(),
    )
    squared = estimates.squared_lengths(examples.X)
    distances = estimates.distances(kernel, squared)
    C, given = 1.0, re.search(r"parameter C=([\d.]+)", told)
    if given:
        C = estimates.default_cost(distances)
        assert f"{C:.4f}" == given.group(1)
    assert f"|x|={np.sqrt(kernel.own_values(squared).max()):.5f}" in told
    y = np.where(examples.y > 0, 1.0, -1.0)
    problem = MachineProblem(examples.X, y, kernel, C, True, tolerance=1e-5)
    machine = problem.train()
    norm, alpha = np.sqrt(problem.squared_norm(machine)), np.abs(machine.beta)
    found = estimates.rates(
        estimates.at_risk(alpha, machine.losses(y), distances.max(), 1.0), y > 0
    )
    numbers = [
        float(text)
        for text in re.findall(r"\|w\|=([\d.]+)|VCdim<=([\d.]+)", told)
        for text in text
        if text
    ]
    assert norm == pytest.approx(numbers[0], rel=2e-3)
    assert estimates.vc_dimension(norm, distances[alpha > 0]) == pytest.approx(numbers[1], rel=4e-3)
    rates = [
        float(text) for text in re.findall(r"XiAlpha-estimate of the \w+: \w+[<=>]+([\d.]+)%", told)
    ]
    np.testing.assert_allclose(found, rates, atol=2.5)  # an example at the edge


@pytest.mark.parametrize("name", KERNELS)
def test_distances_are_those_from_the_zero_vector(rng, name):
    X = Csr.from_dense(rng.normal(size=(7, 3)))
    kernel = Kernel(name, degree=3, gamma=0.4, scale=0.7, offset=0.3)
    squared = estimates.squared_lengths(X)
    both = Csr.from_dense(np.vstack([X.to_dense(), np.zeros((1, 3))]))
    K = np.array([kernel.expansion(both, both.rows(i, i + 1), np.ones(1)) for i in range(8)])
    np.testing.assert_allclose(kernel.own_values(squared), np.diag(K)[:7], rtol=1e-6)
    np.testing.assert_allclose(
        estimates.distances(kernel, squared), np.diag(K)[:7] - 2 * K[:7, 7] + K[7, 7], rtol=1e-5
    )


def test_rates_count_by_class():
    wrong, positive = (
        np.array([1, 1, 0, 0, 1, 0, 0, 0], bool),
        np.array([1, 0, 1, 1, 0, 0, 1, 0], bool),
    )
    assert estimates.rates(wrong, positive) == pytest.approx((37.5, 75.0, 60.0))
    assert estimates.rates(np.ones(2, bool), np.array([True, False])) == (100.0, 0.0, 0.0)


def test_rows_that_two_rho_leaves_out_are_no_errors(rng):
    """A row below the threshold of rho = 2 is right where the others alone are trained on (Joachims
    2000)."""
    X = Csr.from_dense(rng.normal(size=(40, 2)))
    y = np.where(X.to_dense()[:, 0] + 0.8 * rng.normal(size=40) > 0, 1.0, -1.0)
    problem = MachineProblem(X, y, Kernel("rbf", gamma=0.5), 1.0, True, tolerance=1e-6)
    machine = problem.train()
    risky = estimates.at_risk(np.abs(machine.beta), machine.losses(y), 1.0, 2.0)
    assert (~risky & (machine.beta != 0)).sum() > 0 and risky.any()
    for row in np.flatnonzero(~risky):
        rows = np.delete(np.arange(40), row)
        part = problem.take(rows).train()
        Z = X.take(rows[part.beta != 0])
        assert (
            y[row]
            * problem.kernel.expansion(X.rows(row, row + 1), Z, part.beta[part.beta != 0], -part.b)[
                0
            ]
            > 0
        )


def test_0_of_0_is_no_number():
    none = np.zeros(0, bool)
    assert np.isnan(estimates.rates(none, none)).all()
    assert estimates.rates(np.zeros(2, bool), np.zeros(2, bool)) == pytest.approx(
        (0.0, np.nan, np.nan), nan_ok=True
    )


def test_a_multiplier_is_at_its_bound_but_for_rounding():
    boxes = np.array([2.0, 2.0, 2.0, 1e-9, 0.0, 1e4])
    alpha = np.array([2.0, 1.99, 2 * (1 - 5e-8), 1e-10, 0.0, 1e4 * (1 - 1e-6)])
    assert estimates.at_bound(alpha, boxes).tolist() == [True, False, True, False, False, False]


def test_the_norm_of_no_vector():
    assert estimates.norm(4.0, Kernel("sigmoid")) == 2 and estimates.norm(-1e-20, Kernel()) == 0
    assert (
        np.isnan(estimates.norm(-1.0, Kernel("sigmoid")))
        and estimates.norm(0.0, Kernel("sigmoid")) == 0
    )
