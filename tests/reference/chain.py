# SPDX-License-Identifier: BSD-3-Clause
"""Chains by enumeration: joint features and the best labelling straight from their definitions."""

import itertools

import numpy as np
from scipy.optimize import minimize

from svmcut.data.examples import Csr, Sequences, Source


def random_sequences(rng, K, lengths, D=4):
    """Sequences of these lengths, features and tags drawn at random."""
    tokens = sum(lengths)
    X = rng.normal(size=(tokens, D)) * (rng.random((tokens, D)) < 0.7)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Sequences(Csr.from_dense(X), indptr, rng.integers(0, K, tokens).astype(np.int32))


def dense_rows(sequences, n):
    """(T, D) features of sequence n."""
    return sequences.X.to_dense()[sequences.indptr[n] : sequences.indptr[n + 1]].astype(float)


def noisy_chains(rng, K, lengths, D=4, noise=0.5):
    """Sequences of tags that tend to stay, and features that tell them but for noise."""
    tokens = sum(lengths)
    tags = rng.integers(0, K, tokens)
    tags[1:] = np.where(rng.random(tokens - 1) < 0.5, tags[:-1], tags[1:])
    X = np.eye(max(K, D))[tags][:, :D] + noise * rng.normal(size=(tokens, D))
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Sequences(Csr.from_dense(X), indptr, tags.astype(np.int32), Source("made"))


def joint_feature(x, y, shape):
    """Psi(x, y) as a dense vector; x: (T, D)."""
    K, S = shape.n_tags, shape.stride
    out = np.zeros(shape.dim)
    emissions = out[: shape.n_features * shape.node_size].reshape(shape.n_features, -1, S)
    rest = out[shape.n_features * shape.node_size :]
    for t, tag in enumerate(y):
        emissions[:, 0, tag] += x[t]
        if shape.emission_order and t > 0:
            emissions[:, 1 + y[t - 1], tag] += x[t]
        start = 0
        for order in range(1, shape.transition_order + 1):
            table = rest[start : start + K**order * S].reshape((K,) * order + (S,))
            if t >= order:
                table[(*y[t - order : t], tag)] += 1
            start += K**order * S
    return out


def argmax(x, w, shape, gold=None):
    """(labelling, value); with gold, tags other than these gain 1 each. Ties: lowest last tag, then
    the one before."""
    best, value = None, -np.inf
    for reverse in itertools.product(range(shape.n_tags), repeat=len(x)):
        y = reverse[::-1]
        score = joint_feature(x, y, shape) @ w
        if gold is not None:
            score += np.count_nonzero(np.asarray(y) != gold)
        if score > value + 1e-12:
            best, value = y, score
    return np.array(best), value


def labellings(x, shape):
    """All labellings of T tokens, the last tag counting most, and their joint features (K^T,
    dim)."""
    found = [reverse[::-1] for reverse in itertools.product(range(shape.n_tags), repeat=len(x))]
    return np.array(found), np.array([joint_feature(x, y, shape) for y in found])


# what sequence risks maximise over labellings, of wrong tags and of score - score of the right one
RULES = {
    "margin": lambda wrong, above: wrong + above,
    "slack": lambda wrong, above: wrong * (1 + above),
    "zero-one": lambda wrong, above: np.where(wrong > 0, 1 + above, 0.0),
    "margin, squared": lambda wrong, above: np.sqrt(wrong) + above,
    "slack, squared": lambda wrong, above: np.sqrt(wrong) * (1 + above),
    "zero-one, squared": lambda wrong, above: np.where(wrong > 0, 1 + above, 0.0),
}


def slack(x, w, shape, gold, rule):
    """H(w) of one sequence by a rule, at least 0, and the labellings that reach it in the order of
    `labellings`."""
    tags, features = labellings(x, shape)
    wrong = np.count_nonzero(tags != gold, axis=1)
    right = int(np.flatnonzero(wrong == 0)[0])
    values = RULES[rule](wrong, (features - features[right]) @ w)
    best = max(0.0, values.max())
    return best, tags[values >= best - 1e-9]


def optimum(sequences, shape, C, rule="margin"):
    """min over w of 1/2 |w|^2 + C sum_n H_n(w), or H_n(w)^2: its dual over all labellings, by a
    general solver.

    Every labelling says H_n >= b - a.w: the dual is b.q - 1/2 |A'q|^2 with q >= 0 and sum q_n = C,
    the right labelling among them; squared it is b.q - 1/2 |A'q|^2 - sum_n (sum q_n)^2 / (4 C) with
    q >= 0.
    """
    normals, losses, squared = [], [], rule.endswith("squared")
    for n in range(len(sequences)):
        gold = sequences.tags[sequences.indptr[n] : sequences.indptr[n + 1]]
        tags, features = labellings(dense_rows(sequences, n), shape)
        wrong = np.count_nonzero(tags != gold, axis=1)
        offset = RULES[rule](wrong, np.zeros(len(wrong)))
        price = RULES[rule](wrong, np.ones(len(wrong))) - offset
        normals.append(price[:, None] * (features[wrong == 0] - features))
        losses.append(offset)
    sizes = [len(part) for part in losses]
    A, b = np.vstack(normals), np.concatenate(losses)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    member = (groups[None, :] == np.arange(len(sizes))[:, None]).astype(float)
    H = C * A @ A.T + (0.5 * member.T @ member if squared else 0.0)

    def dual(q):
        return 0.5 * q @ H @ q - b @ q, H @ q - b

    start = np.concatenate([np.full(size, 1.0 / size) for size in sizes])
    if squared:
        options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 20_000, "maxfun": 50_000}
        found = minimize(
            dual, start, jac=True, bounds=[(0, None)] * len(b), method="L-BFGS-B", options=options
        )
        return -C * found.fun
    sums = {"type": "eq", "fun": lambda q: member @ q - 1, "jac": lambda q: member}
    options = {"ftol": 1e-12, "maxiter": 2000}
    found = minimize(
        dual,
        start,
        jac=True,
        bounds=[(0, None)] * len(b),
        constraints=sums,
        method="SLSQP",
        options=options,
    )
    return -C * found.fun
