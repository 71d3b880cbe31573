# SPDX-License-Identifier: BSD-3-Clause
"""DataFrames by the names of their columns, and columns far from 0 in float64."""

import importlib
import pickle

import numpy as np
import pytest
from sklearn.svm import SVC

import svmcut
from svmcut import compat
from svmcut.base.errors import DataError


@pytest.fixture(params=["pandas", "polars"])
def frame(request):
    """Makes a DataFrame."""
    return pytest.importorskip(request.param).DataFrame


def columns(n=60):
    rng = np.random.default_rng(0)
    return {"age": rng.normal(size=n), "time": 1.7e9 + rng.uniform(0, 90, n)}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_names_stand_in_messages(frame):
    X, y = columns(), np.arange(60) % 2
    with pytest.warns(UserWarning, match=r"column 'time' of X: values near 1.7e.09 are rounded"):
        machine = svmcut.LinearSVM(random_state=0).fit(frame(X), y)
    assert machine.feature_names_in_.tolist() == ["age", "time"]
    small = {"age": X["age"], "city": ["Bonn"] * 60}
    for fit in (svmcut.LinearSVM().fit, compat.SVC().fit):
        with pytest.raises(DataError, match="column 'city' holds 'Bonn', which is no number; enc"):
            fit(frame(small), y)
        with pytest.raises(DataError, match="column 'age' contains NaN; fill it in"):
            fit(frame({"age": np.where(y, np.nan, X["age"])}), y)
    with pytest.raises(DataError, match="column 'city' holds 'Bonn'"):
        svmcut.train((frame(small), y), threads=1)
    with pytest.raises(ValueError, match="feature names should match"):
        machine.predict(frame({"time": X["time"], "age": X["age"]}))
    outcome = svmcut.train((frame(X), y), threads=1)
    assert any("column 'time' of X" in str(text) for text in outcome.warnings)
    np.testing.assert_array_equal(
        outcome.predict(frame(X)), outcome.predict(np.column_stack([X["age"], X["time"]]))
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_without_a_frame_columns_have_numbers():
    X = np.column_stack(list(columns().values()))
    with pytest.warns(UserWarning, match="column 1 of X: values near"):
        svmcut.LinearSVM(random_state=0).fit(X, np.arange(60) % 2)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("gamma", ["scale", 1e-3])
def test_seconds_are_told_apart_by_the_rbf_kernel(gamma, tmp_path):
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=300), 1.7e9 + rng.uniform(0, 200, 300)])
    y = (X[:, 1] > 1.7e9 + 100).astype(int)
    theirs = SVC(gamma=gamma).fit(X, y)
    for machine in (svmcut.KernelSVM(gamma=gamma), compat.SVC(gamma=gamma)):
        machine.fit(X, y)
        assert machine.score(X, y) >= theirs.score(X, y) - 0.01
        again = pickle.loads(pickle.dumps(machine))
        np.testing.assert_array_equal(again.decision_function(X), machine.decision_function(X))
        vectors = machine.support_vectors_
        dense = vectors.toarray() if hasattr(vectors, "toarray") else vectors
        assert abs(dense[:, 1] - 1.7e9).max() < 201
        with pytest.raises(DataError, match=r"column 1 was centred, .* a model file has no place"):
            machine.save(tmp_path / "model")
        near = machine.fit(X - [0, 1.7e9], y)
        near.save(tmp_path / "model")
        assert np.mean(near.predict(X - [0, 1.7e9]) == y) > 0.9


def test_numbers_as_objects_are_numbers(frame):
    if frame.__module__.startswith("polars"):
        pytest.skip("polars has no such columns of numbers")
    X, y = columns(), np.arange(60) % 2
    pandas = importlib.import_module("pandas")
    mixed = pandas.DataFrame({"age": pandas.Series(X["age"], dtype=object)})
    plain = pandas.DataFrame({"age": X["age"]})
    one, other = (svmcut.train((data, y), threads=1) for data in (mixed, plain))
    np.testing.assert_array_equal(one.model.w, other.model.w)
