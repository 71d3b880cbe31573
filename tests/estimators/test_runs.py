# SPDX-License-Identifier: BSD-3-Clause
"""What fits of all estimators share: bytes, interrupts, bars, types for a user's script; and what a
callback gets."""

import doctest
import inspect
import io
import itertools
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import svmcut
from svmcut import (
    ChainSVM,
    KernelSVM,
    KernelSVMRegressor,
    LinearSVM,
    LinearSVMRegressor,
    MultilabelSVM,
    PerfClassifier,
    RankSVM,
    api,
    loading,
)
from svmcut.solvers.protocol import Progress

DATA = Path(__file__).resolve().parents[2] / "data"


@pytest.mark.parametrize("module", [api, loading], ids=lambda module: module.__name__)
def test_examples_of_the_docstrings(module, monkeypatch):
    monkeypatch.chdir(DATA.parent)
    found = doctest.testmod(module)
    assert found.attempted > 2 and not found.failed


@pytest.fixture(scope="module")
def sets():
    """What each estimator is fitted to, and what it predicts of it."""
    rows, y = svmcut.load_svmlight_file(DATA / "breast_cancer.train")
    ranked = svmcut.load_svmlight_file(DATA / "ranking.train", query_id=True)
    labelled = svmcut.load_svmlight_file(DATA / "labels.train", multilabel=True)
    tokens, tags, qid = svmcut.load_svmlight_file(DATA / "tags.train", query_id=True)
    starts = np.flatnonzero(np.diff(qid, prepend=-1, append=-1))[:40]
    parts = [(tokens[a:b], tags[a:b].tolist()) for a, b in itertools.pairwise(starts)]
    return {
        LinearSVM: (rows, y),
        PerfClassifier: (rows, y),
        KernelSVM: (rows, y),
        RankSVM: ranked,
        LinearSVMRegressor: (rows, y),
        KernelSVMRegressor: (rows, y),
        MultilabelSVM: labelled,
        ChainSVM: tuple(map(list, zip(*parts, strict=True))),
    }


@pytest.mark.parametrize(
    "Estimator",
    [
        PerfClassifier,
        KernelSVM,
        LinearSVMRegressor,
        KernelSVMRegressor,
        RankSVM,
        MultilabelSVM,
        ChainSVM,
    ],
)
def test_same_bytes_for_any_threads_clones_and_pickles(sets, Estimator):
    data = sets[Estimator]

    def found(machine):
        predicted = machine.predict(data[0])
        values = [*itertools.chain(*predicted)] if isinstance(predicted, list) else predicted
        return machine.primal_.tobytes() + machine.dual_.tobytes() + np.asarray(values).tobytes()

    machine = Estimator(tol=0.05, random_state=3)
    expected = found(machine.fit(*data))
    assert found(pickle.loads(pickle.dumps(machine))) == expected
    for n_jobs in (2, 4):
        assert found(clone(machine).set_params(n_jobs=n_jobs).fit(*data)) == expected


def test_the_certificate_of_a_kernel_is_that_of_its_expansion(sets):
    X, y = sets[KernelSVM]
    machine = KernelSVM(C=3.0, solver="cutting-plane").fit(X, y)
    alpha, scores = machine.dual_coef_[0], machine.decision_function(X)
    squared = alpha @ machine.decision_function(machine.support_vectors_)
    primal = squared / 2 + 3.0 * np.maximum(0, 1 - y * scores).sum()
    assert machine.converged_ and machine.primal_ == pytest.approx(primal, rel=1e-6)
    # alpha_i y_i in [0, C] is feasible, so no less is possible than its dual value
    dual = np.abs(alpha).sum() - squared / 2
    assert np.all(np.abs(alpha) <= 3.0 * (1 + 1e-9)) and dual <= machine.primal_
    assert machine.dual_ == pytest.approx(dual, rel=1e-2)


def test_ctrl_c_ends_a_search(rng):
    X, y = rng.normal(size=(4000, 300)).astype(np.float32), rng.integers(0, 2, 4000)
    search = GridSearchCV(
        LinearSVM(tol=1e-12, solver="dual-cd"), {"C": [1e4, 1e5, 1e6]}, cv=3, error_score=0.0
    )
    threading.Thread(target=lambda: (time.sleep(0.3), signal.raise_signal(signal.SIGINT))).start()
    began = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert time.perf_counter() - began < 20


def test_the_bar_needs_no_terminal(sets, monkeypatch):
    notebook = io.StringIO()  # like a notebook's stderr it has no file behind it
    monkeypatch.setattr(sys, "stderr", notebook)
    LinearSVM(solver="dual-cd", verbose=1, random_state=0).fit(*sets[LinearSVM])
    assert "training" in notebook.getvalue()


def test_a_callback_gets_every_progress():
    steps = []
    outcome = svmcut.train(
        DATA / "breast_cancer.train", solver="cutting-plane", callback=steps.append
    )
    assert all(isinstance(step, Progress) for step in steps)
    assert [step.iteration for step in steps] == list(range(1, outcome.progress.iteration + 1))
    assert steps[-1].primal == outcome.primal and steps[-1].gap < steps[0].gap < math.inf


@pytest.mark.parametrize("name", sorted(set(svmcut.__all__) - {"__version__"}))
def test_public_names_are_annotated(name):
    thing = getattr(svmcut, name)
    own = (
        [
            member
            for base in thing.__mro__
            if "svmcut" in base.__module__
            for member in vars(base).values()
        ]
        if inspect.isclass(thing)
        else [thing]
    )
    functions = [
        member
        for member in own
        if inspect.isfunction(member) and not member.__name__.startswith("__")
    ]
    assert functions
    for function in functions:
        named = {"return", *inspect.signature(function).parameters} - {"self"}
        assert named == {*function.__annotations__}, function


@pytest.mark.slow
def test_a_users_script_has_types(tmp_path):
    pytest.importorskip("mypy")
    script = {
        "from svmcut import ChainSVM, LinearSVM, load, train": None,
        "machine = LinearSVM(C=1.0).fit([[0.0], [1.0]], [0, 1])": None,
        "reveal_type(machine)": "LinearSVM",
        "reveal_type(machine.decision_function([[1.0]]))": "float64",
        "reveal_type(machine.converged_)": '"bool"',
        "reveal_type(load('model').decision_function([[1.0]]))": "ndarray",
        "reveal_type(train('file').gap)": '"float"',
        "reveal_type(ChainSVM().predict([]))": "list[list[Any]]",
        "LinearSVM(penalti=1)": 'Unexpected keyword argument "penalti"',
    }
    (tmp_path / "script.py").write_text("\n".join(script))
    options = [
        *("--ignore-missing-imports", "--follow-imports=silent", "--cache-dir", str(tmp_path)),
        "script.py",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(DATA.parent)},
    )
    for number, expected in enumerate(script.values(), 1):
        shown = [
            line for line in done.stdout.splitlines() if line.startswith(f"script.py:{number}:")
        ]
        assert (expected in shown[0]) if expected else not shown, done.stdout
