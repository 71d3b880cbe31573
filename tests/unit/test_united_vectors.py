# SPDX-License-Identifier: BSD-3-Clause
"""Support vectors of several machines: equal rows stand in a model once."""

import numpy as np
import pytest

import svmcut
from svmcut.data.examples import Csr
from svmcut.training.shared_vectors import unite_rows


def rows(dense):
    return Csr.from_dense(np.asarray(dense, np.float32))


@pytest.mark.parametrize("twice", [False, True])
def test_rows_are_united_by_what_they_hold(twice):
    X = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    X[5] = 0.0
    if twice:
        X[20], X[7] = X[3], 0.0
    united, (places,) = unite_rows([rows(X)])
    assert united.n_rows == (28 if twice else 30)
    assert (places[20] == places[3]) == (places[7] == places[5]) == twice
    for at, row in zip(places, X, strict=True):
        own = slice(united.indptr[at], united.indptr[at + 1])
        assert np.array_equal(united.data[own], row[row != 0])
        assert np.array_equal(united.indices[own], np.flatnonzero(row))


def test_a_model_has_a_row_that_was_given_twice_once():
    X = np.repeat(np.random.default_rng(1).normal(size=(12, 2)), 2, axis=0)
    outcome = svmcut.train((X, np.arange(24) // 2 % 3 + 1), kernel="rbf", cost=10.0)
    assert outcome.model.support.n_rows <= 12
