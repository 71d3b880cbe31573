# SPDX-License-Identifier: BSD-3-Clause
"""Folds: every class and the whole dealt evenly, by seed; queries, sequences and weights stay
whole."""

import numpy as np
import pytest

from svmcut.base.errors import UsageError
from svmcut.data.examples import Csr, Examples, MultilabelExamples, Sequences, Source
from svmcut.data.folds import deal, make_folds


def examples(y, qid=None, weights=None):
    X = Csr.from_dense(np.arange(1, len(y) + 1, dtype=np.float32)[:, None])
    return Examples(X, np.asarray(y, np.float64), qid, weights, Source("some.dat"))


@pytest.mark.parametrize("K", [2, 3, 7])
def test_sizes_and_class_counts_differ_by_one_at_most(K):
    rng = np.random.default_rng(K)
    classes = rng.choice([-3.0, 0.5, 2.0, 9.0], size=61, p=[0.1, 0.2, 0.3, 0.4])
    places = deal(classes, K, 5)
    for kept in (np.ones(61, bool), *(classes == name for name in np.unique(classes))):
        counts = np.bincount(places[kept], minlength=K)
        assert counts.sum() == kept.sum() and counts.max() - counts.min() <= 1
    assert np.array_equal(places, deal(classes, K, 5)) and not np.array_equal(
        places, deal(classes, K, 6)
    )


def test_the_deal_goes_on_where_the_last_class_stopped():
    places = deal(np.repeat([0.0, 1.0, 2.0], [4, 2, 3]), 3, 0)
    sizes = [
        np.bincount(places[start:stop], minlength=3).tolist()
        for start, stop in ((0, 4), (4, 6), (6, 9))
    ]
    assert sizes == [[2, 1, 1], [0, 1, 1], [1, 1, 1]]


@pytest.mark.parametrize("task", ["classification", "multiclass", "regression"])
def test_every_row_is_held_out_once(task):
    data = examples(np.arange(23) % 3 if task == "multiclass" else np.arange(23) % 2)
    parts = make_folds(task, data, 4, 1)
    assert np.array_equal(sum(fold.held.astype(int) for fold in parts), np.ones(23))
    assert all(np.array_equal(fold.train, ~fold.held) for fold in parts)
    if task != "regression":
        counts = np.array(
            [[(data.y[fold.held] == name).sum() for name in np.unique(data.y)] for fold in parts]
        )
        assert (counts.max(axis=0) - counts.min(axis=0)).max() <= 1


def test_queries_stay_whole():
    qid = np.repeat([1, 2, 5, 6, 9], [3, 1, 4, 2, 2])
    parts = make_folds("rank", examples(np.arange(12), qid), 2)
    held = [set(qid[fold.held]) for fold in parts]
    assert (
        held[0] | held[1] == {1, 2, 5, 6, 9}
        and not held[0] & held[1]
        and {len(ids) for ids in held} == {2, 3}
    )
    with pytest.raises(UsageError, match=r"some.dat has 5 queries, too few for 6 folds"):
        make_folds("rank", examples(np.arange(12), qid), 6)
    with pytest.raises(UsageError, match="1 queries"):
        make_folds("rank", examples(np.arange(12)), 2)


def test_weights_go_with_rows_sequences_and_sets():
    weights = np.arange(1.0, 7.0)
    for fold in make_folds("classification", examples([1, -1, 1, -1, 1, -1], None, weights), 3):
        part = examples([1, -1, 1, -1, 1, -1], None, weights).take(fold.train)
        assert np.array_equal(part.weights, weights[fold.train]) and np.array_equal(
            part.X.data, part.weights
        )
    tokens = Csr.from_dense(np.arange(1, 10, dtype=np.float32)[:, None])
    tags = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2], np.int32)
    chains = Sequences(tokens, np.array([0, 2, 3, 7, 9]), tags, weights=weights[:4])
    sets = MultilabelExamples(
        examples([0] * 6).X,
        np.array([4, 7]),
        np.array([0, 1, 1, 3, 4, 4, 5]),
        np.array([0, 0, 1, 1, 0], np.int32),
        Source("sets.dat"),
        weights,
    )
    for task, data in (("sequence", chains), ("multilabel", sets)):
        for fold in make_folds(task, data, 2):
            assert len(fold.held) == len(data) and fold.held.sum() == len(data) // 2
            part = data.take(fold.held)
            assert (
                np.array_equal(part.weights, data.weights[fold.held])
                and len(part) == len(data) // 2
            )
            assert len(data.take(fold.train)) + len(part) == len(data)
    part = chains.take(np.array([True, False, True, False]))
    assert part.X.data.tolist() == [1, 2, 4, 5, 6, 7] and part.indptr.tolist() == [0, 2, 6]


def test_more_folds_than_examples_are_refused():
    with pytest.raises(UsageError, match=r"some.dat has 3 examples, too few for 4 folds"):
        make_folds("regression", examples([1, 2, 3]), 4)
