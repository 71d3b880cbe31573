# SPDX-License-Identifier: BSD-3-Clause
"""Labellings of a scheme, the best few, and probabilities of tags, against enumeration."""

import itertools
import math

import numpy as np
import pytest
from reference import chain as reference
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from svmcut.base.records import replace
from svmcut.data.examples import Csr
from svmcut.models import ChainModel, ChainShape
from svmcut.models.decoding import HeldSequences, Lattice, fit_temperature
from svmcut.models.order_bounds import proven_tags
from svmcut.scoring.chunks import scheme_rules, split_tags

ORDERS = [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1)]
CHUNKS = ("O", "B-X", "I-X", "B-Y", "I-Y")


def made(seed, K, orders, lengths=(1, 4, 3, 2)):
    rng = np.random.default_rng(seed)
    sequences = reference.random_sequences(rng, K, lengths)
    shape = ChainShape(K, sequences.X.n_features, *orders)
    w = rng.normal(size=shape.dim)
    # what stands behind the last tag of a row is no weight
    w.reshape(-1, shape.stride)[:, K:] = 0
    return sequences, ChainModel(w, shape)


def all_scores(sequences, model, n, allowed=lambda y: True):
    """Every labelling of sequence n that is allowed, and its score."""
    x = reference.dense_rows(sequences, n)
    return [
        (y, float(reference.joint_feature(x, y, model.shape) @ model.w))
        for y in itertools.product(range(model.shape.n_tags), repeat=len(x))
        if allowed(y)
    ]


def of_sequence(sequences, n):
    return slice(*sequences.indptr[n : n + 2])


def check(sequences, model, lattice, allowed, count=7, scale=0.7):
    best, values = lattice.best(count)
    tags, tops = lattice.tags()
    log_sums, means, marginals = lattice.sums(scale, marginals=True)
    highest = lattice.highest()
    for n in range(len(sequences)):
        rows, T = of_sequence(sequences, n), int(np.diff(sequences.indptr)[n])
        found = sorted(all_scores(sequences, model, n, allowed(n)), key=lambda pair: -pair[1])
        start = count * int(sequences.indptr[n])
        ours = best[start : start + count * T].reshape(count, T).tolist()
        for k, (y, score) in enumerate(found[:count]):
            assert tuple(ours[k]) == y and values[n, k] == pytest.approx(score)
        assert all(value == -math.inf for value in values[n, len(found) :])
        assert all(set(row) == {-1} for row in ours[len(found) :])
        if not found:
            assert tops[n] == log_sums[n] == -math.inf
            continue
        assert tuple(tags[rows].tolist()) == found[0][0] and tops[n] == pytest.approx(found[0][1])
        scores = np.array([score for _, score in found])
        total = logsumexp(scale * scores)
        p = np.exp(scale * scores - total)
        assert log_sums[n] == pytest.approx(total) and means[n] == pytest.approx(p @ scores)
        expected = np.zeros((T, model.shape.n_tags))
        for (y, _), part in zip(found, p, strict=True):
            expected[np.arange(T), y] += part
        np.testing.assert_allclose(marginals[rows], expected, atol=1e-12)
        with_tag = [
            [
                max((s for y, s in found if y[t] == c), default=-math.inf)
                for c in range(model.shape.n_tags)
            ]
            for t in range(T)
        ]
        np.testing.assert_allclose(highest[rows], with_tag, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("orders", ORDERS)
@pytest.mark.parametrize("K", [2, 3])
def test_the_best_few_and_probabilities_are_those_of_all_labellings(orders, K):
    sequences, model = made(K, K, orders)
    lattice = Lattice(model, sequences.X, sequences.indptr)
    check(sequences, model, lattice, lambda n: lambda y: True)


@pytest.mark.parametrize("orders", [(0, 0), (1, 0), (1, 1), (2, 0)])
@pytest.mark.parametrize("scheme", ["iob1", "iob2", "iobes"])
def test_labellings_are_those_of_a_scheme(orders, scheme):
    names = CHUNKS if scheme != "iobes" else ("O", "B-X", "E-X", "I-X", "S-X")
    sequences, model = made(5, 5, orders)
    rules = scheme_rules(split_tags(names), scheme)
    lattice = Lattice(model, sequences.X, sequences.indptr, rules)
    check(sequences, model, lattice, lambda n: lambda y: valid([names[k] for k in y], scheme))


def valid(tags, scheme):
    """Whether tags are of a scheme, from its definition: what they say, written down again."""
    chunks, start, kind = [], None, None
    for t, tag in enumerate([*tags, "O"]):
        letter, _, type = tag.partition("-")
        goes_on = start is not None and letter in "IE" and type == kind
        if start is not None and not goes_on:
            chunks.append((start, t - 1, kind))
            start = None
        if letter != "O" and not goes_on:
            start, kind = t, type
    again = ["O"] * len(tags)
    for k, (a, b, type) in enumerate(chunks):
        touches = k > 0 and chunks[k - 1][1] == a - 1 and chunks[k - 1][2] == type
        letters = ["I"] * (b - a + 1)
        if scheme == "iob2" or (scheme == "iob1" and touches):
            letters[0] = "B"
        if scheme == "iobes":
            letters[0], letters[-1] = ("B", "E") if b > a else ("S", "S")
        again[a : b + 1] = [f"{letter}-{type}" for letter in letters]
    return again == list(tags)


def test_given_tags_are_left_alone():
    sequences, model = made(7, 3, (1, 0))
    rng = np.random.default_rng(0)
    given = np.where(rng.random(len(sequences.tags)) < 0.5, sequences.tags, -1).astype(np.int32)
    lattice = Lattice(model, sequences.X, sequences.indptr, given=given)

    def allowed(n):
        own = given[of_sequence(sequences, n)]
        return lambda y: all(tag in (-1, k) for tag, k in zip(own, y, strict=True))

    check(sequences, model, lattice, allowed)


@pytest.mark.every(2)
@pytest.mark.parametrize("scale", [0.0, 1.0, 60.0, 3000.0])
def test_probabilities_of_long_sequences_are_those_of_sums_in_logarithms(scale):
    """Below and above the range of transitions up to which exponentials are multiplied."""
    rng = np.random.default_rng(4)
    K, T = 5, 400
    nodes = rng.normal(size=(T, K)).astype(np.float32).astype(float)
    V = rng.uniform(-1, 1, (K, K))
    forward, backward = np.zeros((T, K)), np.zeros((T, K))
    forward[0] = scale * nodes[0]
    for t in range(1, T):
        forward[t] = logsumexp(forward[t - 1][:, None] + scale * V, axis=0) + scale * nodes[t]
    for t in reversed(range(T - 1)):
        backward[t] = logsumexp(scale * (V + nodes[t + 1]) + backward[t + 1], axis=1)
    total = logsumexp(forward[-1])
    shape = ChainShape(K, K)
    padded = np.zeros((K, shape.stride))
    padded[:, :K] = V
    emissions = np.zeros((K, shape.stride))
    emissions[:, :K] = np.eye(K)
    model = ChainModel(np.concatenate([emissions.ravel(), padded.ravel()]), shape)
    lattice = Lattice(model, Csr.from_dense(nodes), np.array([0, T]))
    log_sums, means, marginals = lattice.sums(scale, marginals=True)
    near = lattice.sums(scale + 1e-4)[0] - lattice.sums(max(0.0, scale - 1e-4))[0]
    np.testing.assert_allclose(log_sums, total, rtol=1e-12)
    np.testing.assert_allclose(near / (2e-4 if scale else 1e-4), means, rtol=1e-3, atol=0.05)
    np.testing.assert_allclose(marginals, np.exp(forward + backward - total), atol=1e-9)


def test_where_no_labelling_is_left_scores_say_so():
    sequences, model = made(8, 5, (1, 0), (1, 2))
    rules = scheme_rules(split_tags(CHUNKS), "iob2")
    given = np.array([2, -1, 2], np.int32)
    lattice = Lattice(model, sequences.X, sequences.indptr, rules, given)
    values = lattice.tags()[1]
    assert values[0] == -math.inf and values[1] > -math.inf
    _, scores = lattice.best(2)
    assert scores[0].tolist() == [-math.inf] * 2
    assert lattice.sums(1.0)[0][0] == -math.inf


def test_tags_of_another_scheme_have_no_rules():
    assert (
        scheme_rules(split_tags(("O", "S-X")), "iob2") is None
        and scheme_rules(None, "iob1") is None
    )
    assert scheme_rules(split_tags(CHUNKS), "iobes") is None


def test_the_temperature_is_that_of_the_least_loss():
    rng = np.random.default_rng(3)
    sequences = reference.noisy_chains(rng, 3, rng.integers(1, 6, 40), noise=1.0)
    shape = ChainShape(3, sequences.X.n_features, 1, 0)
    w = np.zeros(shape.dim)
    for k in range(3):
        w[k * shape.stride + k] = 3.0
    model, weights = ChainModel(w, shape), rng.random(40) + 0.5
    lattice = Lattice(model, sequences.X, sequences.indptr)
    scores = lattice.score(sequences.tags)

    def loss(t):
        return float(weights @ (lattice.sums(t)[0] - t * scores))

    t = fit_temperature([HeldSequences(lattice, sequences.tags, weights)])
    least = minimize_scalar(loss, bounds=(0, 5), method="bounded", options={"xatol": 1e-9})
    assert t == pytest.approx(least.x, rel=1e-4)
    x = reference.dense_rows(sequences, 5)
    gold = sequences.tags[of_sequence(sequences, 5)]
    assert scores[5] == pytest.approx(reference.joint_feature(x, gold, shape) @ w)
    wrong = ChainModel(-w, shape)
    other = Lattice(wrong, sequences.X, sequences.indptr)
    assert fit_temperature([HeldSequences(other, sequences.tags, weights)]) == 0.0


def test_the_same_bytes_on_any_threads():
    rng = np.random.default_rng(4)
    sequences = reference.noisy_chains(rng, 4, rng.integers(1, 40, 60))
    shape = ChainShape(4, sequences.X.n_features, 2, 1)
    model = ChainModel(rng.normal(size=shape.dim), shape)
    found = []
    for threads in (1, 3):
        lattice = Lattice(model, sequences.X, sequences.indptr, threads=threads)
        arrays = [*lattice.best(3), *lattice.sums(1.0, marginals=True), *lattice.tags()]
        found.append([array.tobytes() for array in arrays])
    assert found[0] == found[1]


@pytest.mark.parametrize("orders", ORDERS)
def test_a_proven_tag_is_that_of_every_model_in_the_ball(orders):
    """Also of the worst one: away from the best labelling, towards another one."""
    seen = 0
    for seed in range(6):
        sequences, model = made(seed, 3, orders, (1, 4, 3))
        radius = [0.02, 0.1, 0.5][seed % 3]
        model = replace(model, certificate=(radius**2 / 2, radius, 0.0))
        sure = proven_tags(model, sequences.X, sequences.indptr)
        tags, _ = Lattice(model, sequences.X, sequences.indptr).tags()
        seen += int(sure.sum())
        for n in range(3):
            x, rows = reference.dense_rows(sequences, n), of_sequence(sequences, n)
            own = tags[rows]
            right = reference.joint_feature(x, own, model.shape)
            for y, _ in all_scores(sequences, model, n):
                away = reference.joint_feature(x, y, model.shape) - right
                w = model.w + radius * away / max(1e-300, np.linalg.norm(away))
                if away @ w > 0:  # y is better there
                    assert not sure[rows][np.array(y) != own].any()
    assert seen > 0
