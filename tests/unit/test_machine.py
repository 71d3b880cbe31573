# SPDX-License-Identifier: BSD-3-Clause
"""BLAS has one thread while svmcut trains and scores, from Python and from the shell, and what it
had afterwards."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import svmcut
from svmcut.base import resources

RUNS = {
    "subspace": {"solver": "subspace", "basis": 120},
    "sampled-cuts": {"solver": "sampled-cuts", "basis": 120},
    "bsca": {"solver": "bsca", "budget": 100, "epochs": 2.0},
    "fourier": {"basis_kind": "fourier", "basis": 100},
    "constant-cuts": {
        "solver": "constant-cuts",
        "basis": 300,
        "sample_size": 300,
        "max_iterations": 12,
    },
}


def threads():
    """Of what numpy loads."""
    found = [one for one in threadpool_info() if one["user_api"] == "blas"]
    return {one["num_threads"] for one in found if "scipy.libs" not in one["filepath"]}


@pytest.fixture
def shared(monkeypatch):
    """As where a caller's program has loaded BLAS with two threads."""
    monkeypatch.setattr(resources._Blas, "single", False)
    with threadpool_limits(2, "blas"):
        if threads() != {2}:
            pytest.skip("no BLAS here whose threads can be set")
        yield


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(500, 12)).round(3)
    return X, np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=500) > 0, 1, -1)


def digits(outcome):
    model = outcome.model
    return b"".join(
        np.ascontiguousarray(getattr(model, name, 0.0)).tobytes() for name in ("w", "alpha", "b")
    )


@pytest.mark.parametrize("name", RUNS)
def test_models_do_not_depend_on_the_threads_of_blas(name, rows, shared):
    one, two = {}, {}
    for found, limit in ((one, 1), (two, 2)):
        with threadpool_limits(limit, "blas"):
            outcome = svmcut.train(
                rows, kernel="rbf", gamma=0.1, example_cost=3.0, gap=0.02, seed=1, **RUNS[name]
            )
            found["bytes"] = (
                digits(outcome)
                + outcome.model.scores(svmcut.data.arrays.as_rows(rows[0])).tobytes()
            )
            assert threads() == {limit}
    assert one == two


def test_estimators_train_and_predict_in_one_thread(rows, shared):
    seen = []
    observed = svmcut.KernelSVM(solver="subspace", basis=50, gamma=0.1, random_state=0, tol=0.8)
    drive = type(observed)._drive
    type(observed)._drive = lambda *run: (seen.append(threads()), drive(*run))[1]
    try:
        observed.fit(*rows)
    finally:
        type(observed)._drive = drive
    assert seen == [{1}] and threads() == {2}
    with pytest.raises(ValueError, match="gap"):
        svmcut.train(rows, gap=-1.0)
    assert threads() == {2}


def test_the_last_of_two_fits_at_once_gives_the_threads_back(shared):
    begun, ended, seen = threading.Event(), threading.Event(), []

    def other():
        with resources.one_blas_thread():
            begun.set()
            ended.wait(10)
            seen.append(threads())

    with resources.one_blas_thread():
        beside = threading.Thread(target=other)
        beside.start()
        assert begun.wait(10)
    assert threads() == {1}
    ended.set()
    beside.join()
    assert seen == [{1}] and threads() == {2}


def test_a_command_line_has_one_thread_whatever_the_environment_says():
    code = """
import svmcut.cli.start, sys, numpy, svmcut.base.resources as machine
with machine.one_blas_thread():
    pass
assert "threadpoolctl" not in sys.modules
from threadpoolctl import threadpool_info
print({one["num_threads"] for one in threadpool_info()})
"""
    environment = {**os.environ, **dict.fromkeys(resources.BLAS_VARIABLES, "2")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    assert done.stdout in ("{1}\n", "set()\n"), done.stderr


def test_a_library_that_is_loaded_within_the_limit_has_one_thread_too():
    code = """
import svmcut.base.resources as resources
from threadpoolctl import threadpool_info
with resources.one_blas_thread():
    import svmcut.qp.box
    print({one["num_threads"] for one in threadpool_info()})
print({one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"})
with resources.one_blas_thread():
    print({one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"})
"""
    environment = {**os.environ, **dict.fromkeys(resources.BLAS_VARIABLES, "2")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    assert done.stdout in ("{1}\n{2}\n{1}\n", "set()\n" * 3), done.stdout + done.stderr
