# SPDX-License-Identifier: BSD-3-Clause
"""Every kernel that is a function of rows: the compiled loops compute what its NumPy form says, and
its row keeps its word."""

import numpy as np
import pytest
from svmcut._native.kernels import LAYOUTS, KernelRows

from svmcut.base.records import replace
from svmcut.data.examples import Csr
from svmcut.formats.rounding import change_in_file, model_read_back
from svmcut.models import KernelModel
from svmcut.models.kernel_forms import BY_PART, BY_ROOT
from svmcut.models.kernels import KERNELS, Kernel
from svmcut.spec.catalog import KERNELS as ROWS

PARAMETERS = (
    {"gamma": 0.3, "scale": 0.2, "offset": 0.5, "degree": 3},
    {"gamma": 7.0, "scale": 0.05, "offset": 0.0, "degree": 2},
)


def kernels():
    return [Kernel(name, **known) for name in KERNELS for known in PARAMETERS]


def truth(kernel, X, Z):
    """(n, m) of the definition."""
    X, Z = X.to_dense().astype(float), Z.to_dense().astype(float)
    return kernel.values(X @ Z.T, ((X[:, None] - Z[None]) ** 2).sum(2))


def rows(rng, n=70, d=6):
    return Csr.from_dense(np.round(rng.normal(size=(n, d)), 2) * (rng.random((n, d)) < 0.7))


@pytest.mark.parametrize("kernel", kernels(), ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_loops_compute_the_form(rng, kernel, layout):
    X, Z = rows(rng), rows(rng, 9)
    points = KernelRows(X, kernel, layout=layout)
    expected = truth(kernel, X, X)
    np.testing.assert_allclose(points.gram(True), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(points.gram(), expected, rtol=2e-4, atol=2e-6)
    np.testing.assert_allclose(points.diagonal, np.diag(expected), rtol=1e-12)
    np.testing.assert_allclose(points.against_double(Z), truth(kernel, Z, X), 1e-12, 1e-12)


@pytest.mark.parametrize("kernel", kernels(), ids=str)
@pytest.mark.parametrize("apart", [1.0, 1e4])
def test_sums_over_support_vectors_are_of_the_form(rng, kernel, apart):
    """Also of rows far from 0, whose distances are summed term by term."""
    shift = apart if kernel.row.of_distances else 0.0
    X, Z = (Csr.from_dense(rows(rng, n).to_dense() + np.float32(shift)) for n in (11, 30))
    alpha = rng.normal(size=30)
    found = kernel.expansion(X, Z, alpha, 0.25)
    np.testing.assert_allclose(found, truth(kernel, X, Z) @ alpha - 0.25, 1e-10, 1e-10)


@pytest.mark.parametrize("kernel", kernels(), ids=str)
def test_what_is_called_definite_is(rng, kernel):
    if kernel.is_definite:
        values = np.linalg.eigvalsh(truth(kernel, *[rows(rng)] * 2))
        assert values.min() >= -1e-9 * values.max()


@pytest.mark.parametrize("kernel", kernels(), ids=str)
def test_a_kernel_of_distances_falls_as_slowly_as_its_errors_are_judged_by(kernel):
    if not kernel.row.of_distances:
        return
    t = np.geomspace(1e-4, 50, 2000)
    values = lambda t: kernel.values(np.zeros(len(t)), t / kernel.gamma)  # noqa: E731
    slope = np.abs(values(t * (1 + 1e-3)) - values(t * (1 - 1e-3))) / (2e-3 * t)
    assert values(np.zeros(1)) == 1.0 and (slope <= values(t) * (1 + 1e-3)).all()
    assert (t * slope).max() <= BY_PART and (2 * np.sqrt(t) * slope).max() <= BY_ROOT


@pytest.mark.parametrize("kernel", kernels(), ids=str)
def test_what_eight_digits_change_is_bounded(rng, kernel):
    values = rng.normal(size=(30, 6)).astype(np.float32)
    kernel = replace(kernel, gamma=kernel.gamma + 1e-8 / 3, scale=kernel.scale + 1e-8 / 3)
    model = KernelModel(kernel, Csr.from_dense(values), rng.normal(size=30), 0.0, 6)
    kept = model_read_back(model)
    found = [
        each.kernel.expansion(model.support, each.support, each.alpha) for each in (model, kept)
    ]
    assert np.abs(found[0] - found[1]).max() <= change_in_file(model, kept)


def test_numbers_of_kernels_are_their_own():
    assert len({row.number for row in ROWS.values()}) == len(ROWS)
