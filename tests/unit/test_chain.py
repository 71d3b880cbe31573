# SPDX-License-Identifier: BSD-3-Clause
"""Decoding and joint features of chains against enumeration."""

import numpy as np
import pytest
from reference import chain as truth
from reference.chain import dense_rows, random_sequences

from svmcut._native import chain
from svmcut.base.errors import MemoryLimitError
from svmcut.data.examples import Csr, Sequences
from svmcut.models import ChainModel, ChainShape, check_lattice
from svmcut.risks.chain import ChainRisk
from svmcut.spaces.structures import ChainSpace
from svmcut.structured.chain import ChainSequences, run_argmax

ORDERS = [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1)]


@pytest.mark.every(3)
@pytest.mark.parametrize("t, e", ORDERS)
@pytest.mark.parametrize("K", [1, 2, 3])
def test_argmax_equals_enumeration(rng, t, e, K):
    sequences = random_sequences(rng, K, [1, 2, 3, 4, 5])
    shape = ChainShape(K, sequences.X.n_features, t, e)
    model = ChainSequences(sequences, shape, threads=2)
    for _ in range(3):
        w = rng.normal(size=shape.dim)
        found = model.separate(w)
        decoded = ChainModel(w, shape).tags(sequences.X, sequences.indptr)
        for n in range(len(sequences)):
            rows = slice(sequences.indptr[n], sequences.indptr[n + 1])
            gold, x = sequences.tags[rows], dense_rows(sequences, n)
            y, value = truth.argmax(x, w, shape, gold)
            right = truth.joint_feature(x, gold, shape) @ w
            assert found.labels[rows].tolist() == y.tolist()
            assert found.slacks[n] == pytest.approx(max(0, value - right), abs=1e-9)
            assert found.losses[n] == np.count_nonzero(y != gold)
            assert decoded[rows].tolist() == truth.argmax(x, w, shape)[0].tolist()


@pytest.mark.parametrize("t, e", ORDERS)
def test_joint_features_equal_their_definition(rng, t, e):
    sequences = random_sequences(rng, 3, [1, 2, 5, 6])
    shape = ChainShape(3, sequences.X.n_features, t, e)
    model = ChainSequences(sequences, shape)
    labels = rng.integers(0, 3, sequences.X.n_rows).astype(np.int32)
    weights = rng.normal(size=len(sequences))
    expected = np.zeros(shape.dim)
    for n in range(len(sequences)):
        rows, x = slice(sequences.indptr[n], sequences.indptr[n + 1]), dense_rows(sequences, n)
        right, other = (
            truth.joint_feature(x, y, shape) for y in (sequences.tags[rows], labels[rows])
        )
        expected += weights[n] * (right - other)
    np.testing.assert_allclose(model.joint(labels, weights), expected, atol=1e-6)


@pytest.mark.parametrize("t, e", ORDERS)
def test_slacks_and_their_rates_along_a_line(rng, t, e):
    sequences = random_sequences(rng, 3, [1, 2, 5, 6, 9])
    shape = ChainShape(3, sequences.X.n_features, t, e)
    chains = ChainSequences(sequences, shape).chains
    space, risk = ChainSpace(sequences.X, chains), ChainRisk(chains)
    w, d = rng.normal(size=(2, shape.dim))
    s, rates = space.scores(w), space.scores(d)
    for scale in (
        1.0,
        1e-3,
    ):  # of the direction: few labellings stay along the first line, most along the other
        line = risk.along(s, scale * rates, risk.linearize(s))
        for step in (
            1.0,
            0.3,
            0.0,
            0.1,
            0.7,
            0.5,
            2.0,
            1.5,
        ):  # between places known, beyond them and at the start
            point = w + step * scale * d
            here = risk.linearize(space.scores(point))
            value, slope, cut = line.at(step)
            np.testing.assert_array_equal(cut.coef.labels, here.coef.labels)
            assert value == cut.value == pytest.approx(here.value)
            assert cut.offset == here.offset
            a = space.adjoint(here.coef)
            assert slope == pytest.approx(a @ d * scale)
            assert here.value == pytest.approx(here.offset + a @ point)
            value_beyond = risk.linearize(space.scores(point + 1e-6 * scale * d)).value
            assert value_beyond >= value + 1e-6 * slope - 1e-9


@pytest.mark.parametrize("t, e", ORDERS)
def test_scores_given_or_computed_and_threads_lead_to_the_same_bytes(rng, t, e):
    sequences = random_sequences(rng, 3, rng.integers(1, 60, 60).tolist())
    shape = ChainShape(3, sequences.X.n_features, t, e)
    model = ChainSequences(sequences, shape)
    w = rng.normal(size=shape.dim)
    nodes = np.empty(sequences.X.n_rows * shape.node_size)
    chain.nodes(model.chains, w, nodes, 2)
    first = run_argmax(model.chains, w, chain.HAMMING, threads=1)
    for other in (
        run_argmax(model.chains, w, chain.HAMMING, threads=3),
        run_argmax(model.chains, w, 1, nodes=nodes),
    ):
        assert all(np.allclose(a, b, atol=1e-12) for a, b in zip(first, other))
    assert all(
        (a == b).all() for a, b in zip(first, run_argmax(model.chains, w, chain.HAMMING, threads=3))
    )


@pytest.mark.parametrize("K", [5, 8, 9, 17, 33, 70, 100, 130])
def test_many_tags_fill_vectors_of_any_number(rng, K):
    sequences = random_sequences(rng, K, [7, 1, 30])
    shape = ChainShape(K, sequences.X.n_features)
    model = ChainSequences(sequences, shape)
    w = rng.normal(size=shape.dim)
    found = model.separate(w)
    emissions = w[: shape.dim - shape.transitions].reshape(-1, shape.stride)[:, :K]
    V = w[shape.dim - shape.transitions :].reshape(K, shape.stride)[:, :K]
    for n in range(len(sequences)):
        rows = slice(sequences.indptr[n], sequences.indptr[n + 1])
        gold = sequences.tags[rows]
        node = dense_rows(sequences, n) @ emissions + 1
        node[np.arange(len(gold)), gold] -= 1
        value = node[0]
        for t in range(1, len(gold)):
            value = (value[:, None] + V).max(axis=0) + node[t]
        right = node[np.arange(len(gold)), gold].sum() + V[gold[:-1], gold[1:]].sum()
        assert found.slacks[n] == pytest.approx(value.max() - right)
        y = found.labels[rows]
        assert node[np.arange(len(y)), y].sum() + V[y[:-1], y[1:]].sum() == pytest.approx(
            value.max()
        )


def test_a_beam_as_wide_as_the_tags_is_exact_and_a_narrow_one_is_worse(rng):
    sequences = random_sequences(rng, 6, [20] * 30)
    shape = ChainShape(6, sequences.X.n_features)
    w = rng.normal(size=shape.dim) * 3
    exact, wide, narrow = (
        ChainSequences(sequences, shape, beam=beam).separate(w) for beam in (0, 6, 1)
    )
    assert (exact.labels == wide.labels).all()
    assert (narrow.slacks <= exact.slacks + 1e-9).all()
    assert narrow.slacks.sum() < exact.slacks.sum()


def test_ties_go_to_the_lowest_tag():
    sequences = Sequences(
        Csr.from_dense(np.ones((4, 1))), np.array([0, 4]), np.full(4, 2, np.int32)
    )
    shape = ChainShape(5, 1)
    assert (
        ChainModel(np.zeros(shape.dim), shape).tags(sequences.X, sequences.indptr).tolist()
        == [0] * 4
    )
    assert ChainSequences(sequences, shape).separate(np.zeros(shape.dim)).labels.tolist() == [0] * 4


def test_states_that_do_not_fit_are_refused_and_not_tried():
    tokens, shape = 50_000_000, ChainShape(40, 1, 3)
    with pytest.raises(
        MemoryLimitError, match=r"50000000 tokens at .* 3 needs .* lower parameter 'transitions'"
    ):
        check_lattice(shape, np.array([0, 3, 3 + tokens]))
    check_lattice(shape, np.array([0, 3, 50]))
