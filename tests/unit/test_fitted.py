# SPDX-License-Identifier: BSD-3-Clause
"""What svmcut.train returns: it predicts, is saved, and shows itself in a line; its parameters have
types."""

import json
import os
import pickle
import re
import subprocess
import sys
import typing
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import svmcut
from svmcut.errors import DataError
from svmcut.spec import typed
from svmcut.spec.parameters import KINDS, Settings
from svmcut.tables.options import OPTIONS

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
        known = {*KINDS, *OPTIONS, "original"} - WITHOUT
        lacking = known ^ set(typing.get_type_hints(named))
        assert not lacking, f"give {lacking} types in svmcut/spec/typed.py"
    for name, hint in typing.get_type_hints(typed.Parameters).items():
        default = Settings.__record__[name].default if name in KINDS else None
        if isinstance(default, bool | str):
            assert type(default) in (hint, *typing.get_args(hint)), name


SCRIPT = """
import svmcut
outcome = svmcut.train("a.train", example_cost=1.0, kernel="rbf", gamma=0.5, time_limit="1h")
print(outcome.predict([[1.0]]), outcome.gap)
outcome.save("model")
svmcut.cross_validate("a.train", 5, example_cost=[1.0, 2.0])
svmcut.KernelSVM(C=1.0).fit([[1.0]], [1]).predict([[1.0]])
"""
WRONG = """
svmcut.train("a.train", exmaple_cost=1.0)
svmcut.train("a.train", gamma="wide")
svmcut.train("a.train", cost=[1.0, 2.0])
outcome.predcit([[1.0]])
"""


def wrong_lines(text):
    """Lines of the script with an error."""
    errors = re.findall(r"script\.py:(\d+):.*error:", text)
    return {int(number) - SCRIPT.count("\n") - 1 for number in errors}


@pytest.mark.slow
def test_pyright_finds_typos_in_a_script(tmp_path):
    pytest.importorskip("basedpyright")
    (tmp_path / "script.py").write_text(SCRIPT + WRONG)
    paths = {"extraPaths": [ROOT], "typeCheckingMode": "standard"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(paths))
    command = [sys.executable, "-m", "basedpyright", "script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert wrong_lines(done.stdout.replace(" - error", ": error:")) == {1, 2, 3, 4}, done.stdout


@pytest.mark.slow
def test_mypy_finds_typos_in_a_script(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "script.py").write_text(SCRIPT + WRONG)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "script.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": ROOT},
        capture_output=True,
        text=True,
    )
    assert wrong_lines(done.stdout) == {1, 2, 3, 4}, done.stdout
    assert 'Unexpected keyword argument "exmaple_cost"' in done.stdout
