# SPDX-License-Identifier: BSD-3-Clause
"""The search of XiAlpha against its definition on vectors."""

import numpy as np
import pytest

from svmcut.originals.svm_light.estimates import Candidates, acquit


def slowly(X, row, free, depth):
    """D of a row, from means of vectors."""
    own, others, taken, least = X[row] @ X[row], [c for c in free if c != row], [], np.inf
    while others and len(taken) < depth:
        distances = [((X[row] - X[[*taken, c]].mean(axis=0)) ** 2).sum() for c in others]
        taken.append(others.pop(int(np.argmin(distances))))
        least = min(least, min(distances))
    return least if taken else own


@pytest.mark.parametrize("depth", [1, 3, 100])
@pytest.mark.parametrize("count", [0, 1, 2, 12])
def test_what_a_greedy_mean_acquits(rng, monkeypatch, depth, count):
    monkeypatch.setattr("svmcut.originals.svm_light.estimates._HELD", 50)
    X = rng.normal(size=(40, 3))
    alpha, losses = rng.random(40), 0.5 * rng.random(40)
    free, rows = np.arange(3, 3 + count), np.arange(0, 40, 2)
    candidates = Candidates(free, (X * X).sum(axis=1), lambda rows: X[rows] @ X[free].T)
    found = acquit(rows, alpha, losses, candidates, depth)
    expected = [alpha[row] * slowly(X, row, free.tolist(), depth) + losses[row] < 1 for row in rows]
    assert found.tolist() == expected and 0 < sum(expected) < len(rows)
