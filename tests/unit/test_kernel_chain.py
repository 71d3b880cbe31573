# SPDX-License-Identifier: BSD-3-Clause
"""Chains with kernel emissions: coefficients of labellings, the space they live in, and draws of
them."""

import numpy as np
import pytest
from reference import kernel_chain as truth
from reference.kernel_rows import SlowKernelRows, gram

from svmcut.data.examples import Csr, Sequences, Source
from svmcut.data.labellings import Labelling, Labellings
from svmcut.models import ChainShape
from svmcut.models.kernels import Kernel
from svmcut.risks.chain import ChainRisk
from svmcut.risks.sampling import ChainSampler
from svmcut.spaces.kernel_chain import CachedRows, KernelChainSpace

KERNEL = Kernel("rbf", gamma=0.3)


def chains(rng, K=3, order=1, n=12):
    indptr = np.concatenate([[0], np.cumsum(rng.integers(1, 6, n))]).astype(np.int64)
    tokens = int(indptr[-1])
    X = Csr.from_dense(rng.normal(size=(tokens, 4)))
    sequences = Sequences(X, indptr, rng.integers(0, K, tokens).astype(np.int32), Source("made"))
    shape = ChainShape(K, 4, order)
    return sequences, shape, Labellings(sequences, K, shape.stride, order)


def labelling(rng, sequences, K=3):
    """The right tags with a third of them drawn anew."""
    other = rng.integers(0, K, len(sequences.tags))
    return np.where(rng.random(len(other)) < 0.3, other, sequences.tags).astype(np.int32)


def dense(points, coef, dim):
    out = np.zeros(dim)
    out[points] = coef
    return out


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_coefficients_are_differences_of_joint_features(rng, order):
    sequences, shape, labellings = chains(rng, order=order)
    for _ in range(5):
        labels = labelling(rng, sequences)
        points, coef = labellings.coefficients(Labelling(labels, np.ones(len(sequences))))
        assert np.all(np.diff(points) > 0) and np.all(coef != 0)
        assert dense(points, coef, labellings.dim) == pytest.approx(
            truth.coefficients(sequences, labels, shape)
        )


def test_coefficients_are_weighed_sequence_by_sequence(rng):
    sequences, shape, labellings = chains(rng)
    labels, weights = labelling(rng, sequences), rng.integers(0, 3, len(sequences)).astype(float)
    total = np.zeros(labellings.dim)
    for n in range(len(sequences)):
        one, part = sequences.tags.copy(), slice(sequences.indptr[n], sequences.indptr[n + 1])
        one[part] = labels[part]
        total += weights[n] * truth.coefficients(sequences, one, shape)
    points, coef = labellings.coefficients(Labelling(labels, weights))
    assert dense(points, coef, labellings.dim) == pytest.approx(total)


@pytest.mark.parametrize("kind", ["stored", "rows", "few rows kept"])
def test_elements_have_the_scores_and_products_of_their_coefficients(rng, kind):
    sequences, shape, labellings = chains(rng, n=150)
    rows = SlowKernelRows(sequences.X, KERNEL)
    K = gram(KERNEL, sequences.X.to_dense(), sequences.X.to_dense())
    if kind == "few rows kept":
        rows = CachedRows(rows, 300 * 4e-6 * rows.n)
    space = KernelChainSpace(rows, labellings, kind == "stored")
    labels = [labelling(rng, sequences) for _ in range(3)]
    exact = [truth.coefficients(sequences, y, shape) for y in labels]
    elements = [space.adjoint(Labelling(y, np.ones(len(sequences)))) for y in labels]
    for coef, element in zip(exact, elements, strict=True):
        assert element.coefficients() == pytest.approx(coef)
        assert space.scores(element) == pytest.approx(truth.scores(K, coef, shape.stride), abs=1e-4)
    w = space.combine([0.5, -2.0, 1.0], elements)
    mixed = 0.5 * exact[0] - 2 * exact[1] + exact[2]
    assert w.scores == pytest.approx(truth.scores(K, mixed, shape.stride), abs=1e-4)
    assert space.dot(w, w) == pytest.approx(mixed @ truth.scores(K, mixed, shape.stride), rel=1e-5)
    assert space.dot(elements[0], w) == pytest.approx(
        exact[0] @ truth.scores(K, mixed, shape.stride), rel=1e-4
    )


def test_kept_rows_are_those_of_the_kernel_and_computed_once_while_they_fit(rng):
    X = Csr.from_dense(rng.normal(size=(50, 3)))
    K = gram(KERNEL, X.to_dense(), X.to_dense()).astype(np.float32)
    kept = CachedRows(SlowKernelRows(X, KERNEL), 10 * 4e-6 * 50)
    for _ in range(100):
        wanted = np.sort(rng.choice(50, rng.integers(1, 14), replace=False))
        assert (kept.block(wanted) == K[wanted]).all()
    before = kept.evaluations
    kept.block(np.arange(10))
    kept.block(np.arange(3, 9))
    kept.block(np.array([0, 9, 20]))
    assert kept.evaluations <= before + 11 * 50
    kept.block(np.array([0, 9, 20]))
    kept.block(np.arange(1, 3))
    assert kept.evaluations <= before + 13 * 50


@pytest.mark.parametrize("order", [0, 1, 2])
def test_everything_is_the_exact_cut(rng, order):
    sequences, _, labellings = chains(rng, order=order)
    s = rng.normal(size=labellings.dim)
    violated = ChainSampler(labellings).violations(s)
    exact = ChainRisk(labellings.chains).linearize(s)
    draw = violated.everything()
    assert (violated.value, draw.value) == pytest.approx((exact.value, exact.value))
    assert draw.offset + draw.coef @ s[draw.points] == pytest.approx(exact.value)
    points, coef = labellings.coefficients(exact.coef)
    assert draw.coef @ s[draw.points] + draw.offset == pytest.approx(
        coef @ s[points] + exact.offset
    )
    assert violated.size == len(violated.sequences) <= len(sequences)


def test_draws_are_unbiased_at_violated_sequences_and_their_value_is_the_cut_at_the_scores(rng):
    _, _, labellings = chains(rng)
    s = 0.5 * rng.normal(size=labellings.dim)
    violated = ChainSampler(labellings).violations(s)
    exact = violated.everything()
    mean, value = np.zeros(labellings.dim), 0.0
    for _ in range(400):
        draw = violated.sample(rng, 20)
        assert draw.value == pytest.approx(draw.offset + draw.coef @ s[draw.points])
        assert np.all(np.diff(draw.points) > 0)
        mean[draw.points] += draw.coef / 400
        value += draw.value / 400
    assert mean == pytest.approx(dense(exact.points, exact.coef, labellings.dim), abs=0.2)
    assert value == pytest.approx(exact.value, rel=0.05)
