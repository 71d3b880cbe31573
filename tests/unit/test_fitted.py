# SPDX-License-Identifier: BSD-3-Clause
"""What svmcut.train returns: it predicts, is saved, and shows itself in a line; its parameters have
types."""

import pickle
import typing
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import svmcut
from svmcut.base.errors import DataError
from svmcut.spec import typed
from svmcut.spec.parameters import KINDS, Settings
from svmcut.tables.options import TABLE_OPTIONS

WITHOUT = {"task", "given"}
ROOT = str(Path(svmcut.__file__).parents[1])


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 5))
    return X, np.where(X[:, 0] + X[:, 4] > 0, 1, -1)


@pytest.mark.parametrize(
    "parameters",
    [
        {"example_cost": 1.0},
        {"kernel": "rbf", "gamma": 0.3},
        {"task": "regression"},
        {"task": "multiclass"},
    ],
    ids=lambda given: "-".join(map(str, given.values())),
)
def test_an_outcome_predicts_and_is_saved(data, parameters, tmp_path):
    X, y = data
    outcome = svmcut.train((X, y), **parameters, threads=1)
    outcome.save(tmp_path / "model")
    read, again = svmcut.load(tmp_path / "model"), pickle.loads(pickle.dumps(outcome))
    np.testing.assert_array_equal(outcome.predict(X), again.predict(X))
    if parameters.get("task") == "regression":
        np.testing.assert_allclose(outcome.predict(X), read.predict(X), rtol=1e-5, atol=1e-6)
    else:
        np.testing.assert_array_equal(outcome.predict(X), read.predict(X))
        assert np.mean(outcome.predict(X) == y) > 0.9
    scores = outcome.decision_function(X)
    np.testing.assert_allclose(scores, read.decision_function(X), rtol=1e-5, atol=1e-6)
    assert again.width == outcome.width == 5


def test_a_line_says_what_came_of_it(data):
    outcome = svmcut.train(data, example_cost=1.0, threads=1)
    line = repr(outcome)
    assert line.startswith("<Fitted of dual-cd: LinearModel, primal ") and len(line) < 120
    assert "converged>" in line
    short = svmcut.train(data, loss="f1", cost=50.0, gap=1e-9, max_iterations=1, threads=1)
    assert "ended: limit>" in repr(short)
    chosen = svmcut.cross_validate(data, 2, example_cost=[0.1, 1.0], threads=1)
    assert chosen.outcome.predict(data[0]).shape == (60,)


def test_arrays_of_other_columns_are_refused(data, tmp_path):
    X, y = data
    outcome = svmcut.train((X, y), kernel="rbf", threads=1)
    for wrong in (X[:, :4], np.hstack([X, X])):
        with pytest.raises(
            DataError, match=rf"{wrong.shape[1]} columns; the model was trained on 5;"
        ):
            outcome.predict(wrong)
    outcome.save(tmp_path / "model")
    read = svmcut.load(tmp_path / "model")
    assert repr(read) == "<svmcut.load: KernelModel of 5 columns>"
    with pytest.raises(DataError, match="4 columns; the model was trained on 5 at least; give the"):
        read.decision_function(X[:, :4].tolist())
    # of a file without the last features a narrower matrix is read
    narrow = sp.csr_matrix(X[:, :4])
    wide = sp.csr_matrix((narrow.data, narrow.indices, narrow.indptr), X.shape)
    np.testing.assert_array_equal(read.predict(narrow), read.predict(wide))


def test_every_parameter_has_a_type():
    for named in (typed.Parameters, typed.Lists):
        known = {*KINDS, *TABLE_OPTIONS, "original"} - WITHOUT
        lacking = known ^ set(typing.get_type_hints(named))
        assert not lacking, f"{lacking} lack types in svmcut/spec/typed.py: make docs"
    for name, hint in typing.get_type_hints(typed.Parameters).items():
        default = Settings.__record__[name].default if name in KINDS else None
        if isinstance(default, bool | str):
            assert type(default) in (hint, *typing.get_args(hint)), name
