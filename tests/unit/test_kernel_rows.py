# SPDX-License-Identifier: BSD-3-Clause
"""Kernel rows against float64 definitions: every kernel, layout, set of instructions, alone, in
blocks, in sums."""

import numpy as np
import pytest
from reference.kernel import matrix
from svmcut._native.kernels import KernelRows, exp_float32

from svmcut.data.examples import Csr
from svmcut.models import renumber
from svmcut.models.kernels import KERNELS, Kernel

INSTRUCTIONS = ("fastest", "avx2", "portable")
#: name -> (n, d, density, layout of the rbf kernel)
SHAPES = {
    "one": (1, 1, 1.0, "differences"),
    "plane": (63, 2, 1.0, "differences"),
    "dense": (130, 20, 1.0, "products"),
    "sparse": (200, 50, 0.15, "products"),
    "text": (130, 3000, 0.01, "columns"),
    "binary": (200, 50, 0.15, "bits"),
}


def points(rng, n, d, density, shape=""):
    values = np.ones((n, d)) if shape == "binary" else rng.normal(size=(n, d))
    return np.where(rng.random((n, d)) < density, values, 0).astype(np.float32)


def kernel_of(name):
    return Kernel(name, degree=3, gamma=0.05, scale=0.1, offset=0.5)


@pytest.mark.every(2)
@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("shape", SHAPES)
def test_blocks_rows_and_sums_are_their_definition(rng, shape, name, instructions):
    n, d, density, layout = SHAPES[shape]
    X, kernel = points(rng, n, d, density, shape), kernel_of(name)
    truth = matrix(kernel, X, X)
    rows = KernelRows(Csr.from_dense(X), kernel, 1, instructions)
    block = rows.block(np.arange(n))
    coef = rng.normal(size=n)
    assert rows.layout == layout or name != "rbf"
    assert np.abs(block - truth).max() <= 3e-6 * max(1.0, np.abs(truth).max())
    assert np.array_equal(block, block.T)
    assert np.array_equal(rows.block([n // 2])[0], block[n // 2])
    assert rows.accumulate(np.arange(n), coef) == pytest.approx(
        coef @ block.astype(float), rel=1e-12, abs=1e-12
    )
    assert rows.diagonal == pytest.approx(np.diag(truth), rel=1e-9)
    assert rows.evaluations == 2 * n * n + n


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("shape", SHAPES)
def test_all_pairs_have_the_bytes_of_rows(rng, shape, name):
    n, d, density, _ = SHAPES[shape]
    for threads in (1, 3):
        rows = KernelRows(
            Csr.from_dense(points(rng, n, d, density, shape)), kernel_of(name), threads
        )
        gram, exact = rows.gram(), rows.gram(True)
        assert rows.evaluations == n * (n + 1) and (gram.dtype, exact.dtype) == (
            np.float32,
            np.float64,
        )
        np.testing.assert_array_equal(gram, rows.block(np.arange(n)))
        np.testing.assert_array_equal(exact, rows.block_double(np.arange(n)))


@pytest.mark.parametrize("shape", SHAPES)
def test_foreign_rows_and_parts(rng, shape):
    n, d, density, _ = SHAPES[shape]
    X, kernel = points(rng, n, d, density, shape), kernel_of("rbf")
    rows = KernelRows(Csr.from_dense(X), kernel)
    foreign = points(rng, 7, d + 3, density)
    wide = np.pad(X, ((0, 0), (0, 3)))
    assert (
        np.abs(rows.against(Csr.from_dense(foreign)) - matrix(kernel, foreign, wide)).max() < 3e-6
    )
    some = rng.integers(0, n, 5)
    assert np.array_equal(rows.block_between([n - 1, 0], some), rows.block([n - 1, 0])[:, some])
    sums = rows.accumulate_foreign(Csr.from_dense(foreign), np.ones(7))
    assert sums == pytest.approx(matrix(kernel, foreign, wide).sum(0), abs=2e-5)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("shape", SHAPES)
def test_features_of_no_point_may_stand_between_those_of_points(rng, shape, name):
    """Rows in a model's own numbering have the number behind its last wherever they know a feature
    it does not."""
    n, d, density, _ = SHAPES[shape]
    X, kernel = points(rng, n, d, density, shape), kernel_of(name)
    own = np.sort(rng.permutation(2 * d)[:d]).astype(np.int32)
    foreign, wide = points(rng, 7, 2 * d, max(density, 0.2)), np.zeros((n, 2 * d), np.float32)
    wide[:, own] = X
    truth, rows = matrix(kernel, foreign, wide), KernelRows(Csr.from_dense(X), kernel)
    Z, scale = renumber(Csr.from_dense(foreign), own), max(1.0, np.abs(truth).max())
    assert np.abs(rows.against_double(Z) - truth).max() <= 1e-12 * scale
    assert np.abs(rows.against(Z) - truth).max() <= 5e-6 * scale
    assert rows.accumulate_foreign(Z, np.ones(7), exact=True) == pytest.approx(
        truth.sum(0), abs=1e-11 * scale
    )


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize("name", KERNELS)
def test_bits_have_the_bytes_of_products(rng, name, instructions):
    X = Csr.from_dense(points(rng, 200, 50, 0.15, "binary"))
    bits, products = (
        KernelRows(X, kernel_of(name), 1, instructions, layout) for layout in ("bits", "products")
    )
    assert (bits.layout, products.layout) == ("bits", "products")
    assert np.array_equal(bits.block(np.arange(200)), products.block(np.arange(200)))
    foreign = Csr.from_dense(points(rng, 9, 55, 0.3))
    assert np.array_equal(bits.against(foreign), products.against(foreign))
    assert KernelRows(foreign, kernel_of(name), 1, instructions, "bits").layout == "products"


@pytest.mark.parametrize("shape", ["dense", "text"])
def test_threads_leave_the_bytes(rng, shape):
    _, d, density, _ = SHAPES[shape]
    X = Csr.from_dense(points(rng, 5000 if shape == "dense" else 400, d, density))
    which, coef = np.arange(0, X.n_rows, 3), rng.normal(size=len(range(0, X.n_rows, 3)))
    found = set()
    for threads in (1, 2, 3, 8):
        rows = KernelRows(X, kernel_of("rbf"), threads)
        found.add((rows.block(which).tobytes(), rows.accumulate(which, coef).tobytes()))
    assert len(found) == 1


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
def test_exp_keeps_its_bound_over_the_whole_range(instructions):
    x = -np.concatenate(
        [np.logspace(-30, 0, 200_000), np.linspace(1, 87.336, 400_000), [0.0]]
    ).astype(np.float32)
    x = x[x >= -87.336]
    out = np.empty_like(x)
    exp_float32(x, out, instructions)
    truth = np.exp(x.astype(float))
    assert (np.abs(out - truth) / truth).max() < 1.2e-7
    below = np.array([-87.35, -100, -1e9, -3e38, -np.inf], np.float32)
    assert exp_float32(below, small := np.ones(5, np.float32), instructions) is None
    assert small.tolist() == [0] * 5


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize("d", [3, 30])
def test_near_duplicates_with_large_norms_keep_their_distance(rng, d, instructions):
    X = (1000 + rng.normal(size=(1, d)) + 1e-3 * rng.normal(size=(90, d))).astype(np.float32)
    kernel = Kernel("rbf", gamma=1e5)
    rows = KernelRows(Csr.from_dense(X), kernel, 1, instructions)
    assert rows.layout == "differences"
    assert np.abs(rows.block(np.arange(90)) - matrix(kernel, X, X)).max() < 1e-5


def test_wrong_shapes_are_refused(rng):
    rows = KernelRows(Csr.from_dense(points(rng, 5, 3, 1.0)), Kernel("rbf"))
    for wrong in ([5], [-1]):
        with pytest.raises(IndexError, match="0 to 4"):
            rows.block(wrong)
    with pytest.raises(ValueError, match="shape"):
        rows.block([0], np.empty((2, 5), np.float32))
    with pytest.raises(ValueError, match="fit"):
        rows.accumulate([0, 1], np.ones(3))
    assert rows.block([]).shape == (0, 5)
