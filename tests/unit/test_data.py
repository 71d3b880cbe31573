# SPDX-License-Identifier: BSD-3-Clause
"""Rows made in Python are proven once, on their way in; those of a file are."""

import numpy as np
import pytest
from drivers import driver

from svmcut._native import sparse
from svmcut.base.errors import DataError
from svmcut.base.records import replace
from svmcut.data.examples import Csr, Examples, MultilabelExamples, Sequences, Source
from svmcut.files.examples import read_examples
from svmcut.models import (
    ChainModel,
    ChainShape,
    KernelModel,
    LabelDecoder,
    LinearModel,
    MultilabelModel,
)
from svmcut.models.base import drop_columns
from svmcut.models.kernels import Kernel


def rows(columns=(0, 2, 1), values=(1.0, 2.0, 3.0), indptr=(0, 2, 3), d=3):
    return Csr(
        np.array(values, np.float32), np.array(columns, np.int32), np.array(indptr, np.int64), d
    )


WRONG = {
    "column beyond": (rows(columns=(0, 3, 1)), "row 0: column 3 is none of the 3 features"),
    "far column": (rows(columns=(0, 2, 2**31 - 1)), "row 1: column 2147483647 is none"),
    "negative column": (rows(columns=(0, 2, -1)), "row 1: column -1 is none"),
    "falling columns": (rows(columns=(2, 0, 1)), "row 0: column 0 follows 2"),
    "column twice": (rows(columns=(1, 1, 1)), "row 0: column 1 follows 1"),
    "nan": (rows(values=(1.0, 2.0, np.nan)), "row 1: the value of column 1 is nan"),
    "infinity": (rows(values=(1.0, -np.inf, 3.0)), "row 0: the value of column 2 is -inf"),
    "falling bounds": (rows(indptr=(0, 3, 2)), "indptr must rise"),
    "bounds beyond": (rows(indptr=(0, 2, 4)), "indptr must rise"),
    "negative bounds": (rows(indptr=(-1, 2, 3)), "indptr must rise"),
    "no bounds": (rows(indptr=()), "indptr is empty"),
    "short data": (rows(values=(1.0, 2.0)), "data has 2 entries"),
    "float64": (
        replace(rows(), data=np.zeros(3)),
        "data is float64, 1-d; expected a 1-d array of float32",
    ),
    "list": (replace(rows(), indices=[0, 2, 1]), "indices is list"),
    "two dimensions": (replace(rows(), data=np.zeros((3, 1), np.float32)), "data is float32, 2-d"),
    "strided": (replace(rows(), data=np.zeros(6, np.float32)[::2]), "data is not contiguous"),
    "negative width": (rows(d=-1), "n_features is -1"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_rows_are_refused_wherever_they_come_in(name):
    X, message = WRONG[name]
    for use in (X.validate, lambda: sparse.Rows(X), lambda: LinearModel(np.ones(3), 0.0).scores(X)):
        with pytest.raises(ValueError, match="^" + message):
            use()
    n = max(0, len(X.indptr) - 1)
    examples = Examples(X, np.array([1.0, -1.0])[:n], None, None, Source("mine"))
    for parameters in ({}, {"kernel": "rbf", "solver": "smo"}):
        with pytest.raises(DataError, match="^mine: " + message):
            driver(examples, **parameters)


@pytest.mark.parametrize("name", ["column beyond", "nan"])
def test_wrong_rows_are_refused_by_every_model_and_trainer(name):
    X, message = WRONG[name]
    shape = ChainShape(2, 3)
    support = KernelModel(Kernel("rbf"), rows(), np.ones(2), 0.0)
    labels = MultilabelModel(
        np.ones((3, 2)), np.zeros(2), *(np.zeros(0, np.int32),) * 2, np.zeros(0), np.arange(2)
    )
    tokens = np.array([0, 2])
    for use in (
        lambda: support.scores(X),
        lambda: replace(support, support=X).scores(rows()),
        lambda: ChainModel(np.ones(shape.dim), shape).tags(X, tokens),
        lambda: LabelDecoder(labels).decode(X),
    ):
        with pytest.raises(ValueError, match="^" + message):
            use()
    source, tags = Source("mine"), np.array([0, 1], np.int32)
    sets = MultilabelExamples(X, np.arange(2), np.arange(3), tags, source)
    for use in (
        lambda: driver(Sequences(X, tokens, tags, source), task="sequence"),
        lambda: driver(sets, task="multilabel"),
    ):
        with pytest.raises(DataError, match="^mine: " + message):
            use()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"y": np.array([1.0, np.nan])}, "row 1: y is nan"),
        ({"y": np.ones(3)}, r"y has shape \(3,\); expected \(2,\)"),
        ({"qid": np.zeros(1, np.int64)}, "qid has shape"),
        ({"weights": np.array([np.inf, 1.0])}, "row 0: weights is inf"),
    ],
)
def test_labels_that_do_not_fit_the_rows_are_refused(wrong, message):
    examples = replace(Examples(rows(), np.array([1.0, -1.0]), None, None, Source("mine")), **wrong)
    with pytest.raises(DataError, match="^mine: " + message):
        driver(examples)


@pytest.mark.parametrize("labels", [(0, 2), (0, -1)])
def test_labels_beyond_the_names_are_refused(labels):
    sets = MultilabelExamples(
        rows(), np.arange(2), np.arange(3), np.array(labels, np.int32), Source("mine")
    )
    with pytest.raises(
        DataError, match=f"^mine: labels as columns: row 1: column {labels[1]} is none of the 2"
    ):
        driver(sets, task="multilabel")


def test_rows_of_a_file_and_what_is_made_of_proven_rows_are_proven(tmp_path):
    path = tmp_path / "train"
    path.write_text("1 1:1 3:2\n-1 2:3\n")
    read = read_examples(str(path)).X
    made = rows().validate()
    for X in (read, made, read.rows(0, 1), read.take(np.array([1])), made.compact()[0]):
        assert X.proven
        assert X.validate() is X
    assert not rows().proven
    part = rows(columns=(9, 0, 2, 1, 9), values=(np.nan, 1, 2, 3, np.nan), indptr=(1, 3, 4))
    assert part.validate().n_rows == 2  # what lies outside the rows does not count


def test_many_features_of_which_a_quarter_does_not_occur_are_left_out(monkeypatch):
    data = rows(columns=(0, 2, 7, 2, 5), values=range(1, 6), indptr=(0, 3, 5), d=8)
    assert data.compact()[0] is data
    monkeypatch.setattr("svmcut.data.examples.MIN_COUNTED_COLUMNS", 8)
    for part in (data, data.rows(1, 2)):
        moved, columns = part.compact()
        wanted, known = part.compact(always=True)
        assert np.array_equal(columns, known) and columns.dtype == np.int32
        assert np.array_equal(moved.validate().to_dense(), wanted.to_dense())
        assert moved.indices.dtype == np.int32
    monkeypatch.setattr("svmcut.data.examples.MIN_COUNTED_COLUMNS", 3)
    assert rows().compact()[1] is None  # all occur


def test_rows_below_a_column():
    data = rows(columns=(0, 2, 1, 0, 1, 2), values=range(1, 7), indptr=(0, 2, 3, 6))
    assert drop_columns(data, 3) is data
    for part in (data, data.rows(1, 3)):
        for d in (0, 1, 2):
            kept = drop_columns(part, d)
            assert kept.validate().n_features == d and np.array_equal(
                kept.to_dense(), part.to_dense()[:, :d]
            )
