# SPDX-License-Identifier: BSD-3-Clause
"""A deadline ends long C calls once, and a time limit ends training within one, certified."""

import contextlib
import signal
import threading
import time

import numpy as np
import pytest
from svmcut._native.interrupt import Deadline, DeadlinePassed, deadline, watched_signals

from svmcut import train
from svmcut._native import dual_cd, multiclass, sparse
from svmcut.data.examples import Csr
from svmcut.spaces.structures import LabelSpace
from svmcut.training import driver


def endless(rng):
    """A dual descent that would take minutes, and its counts."""
    X = Csr.from_dense(rng.normal(size=(3000, 200)).astype(np.float32))
    y, norms = np.where(rng.random(3000) > 0.5, 1.0, -1.0), np.empty(3000)
    rows = sparse.Rows(X)
    sparse.row_norms(rows, norms)
    return dual_cd.Descent(rows, y, norms, 0.0, np.zeros(3000), np.zeros(200), 0)


def test_a_deadline_ends_one_call_and_no_other(rng):
    descent, began = endless(rng), time.perf_counter()
    with watched_signals(), deadline(0.1) as over:
        with pytest.raises(DeadlinePassed):
            descent.run(1e3, 10**9, 0.0)
        assert over.passed and time.perf_counter() - began < 20
        before = descent.epochs
        assert descent.run(1e3, 3, 0.0) and descent.epochs == before + 3


def test_a_deadline_that_no_call_met_leaves_nothing_behind(rng):
    descent = endless(rng)
    with watched_signals():
        with deadline(0.0) as over:
            time.sleep(0.05)
        assert not over.passed
        assert descent.run(1e3, 3, 0.0)
        with deadline(None), deadline(60.0):
            assert descent.run(1e3, 3, 0.0)


def test_a_deadline_of_another_thread_is_left_to_python(rng):
    descent, found = endless(rng), []

    def work():
        with deadline(0.0) as over:
            found.append((descent.run(1e3, 3, 0.0), over.passed))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [(True, False)]


def run_for(seconds):
    """Python code that looks at no flag."""
    began = time.perf_counter()
    while time.perf_counter() - began < seconds:
        pass


def test_a_deadline_ends_python_code_where_it_may():
    with watched_signals():
        began = time.perf_counter()
        with pytest.raises(KeyboardInterrupt), deadline(0.02) as over:
            over.ends_python = True
            run_for(20)
        assert over.passed and time.perf_counter() - began < 10
        with pytest.raises(KeyboardInterrupt), deadline(0.0) as over:
            run_for(0.05)
            over.ends_python = True  # when the time is over
            run_for(20)
        assert over.passed and time.perf_counter() - began < 10
        with deadline(0.0) as over:
            run_for(0.05)
        assert not over.passed


def test_a_deadline_that_comes_too_late_ends_nothing():
    """Between the last step and the end of the time."""
    with watched_signals():
        for seconds in np.linspace(0, 2e-3, 60):
            with contextlib.suppress(KeyboardInterrupt), deadline(seconds) as over:
                over.ends_python = True
                run_for(1e-3)
            run_for(1e-3)


def test_a_handler_of_the_programs_own_is_not_called():
    met = []
    before = signal.signal(signal.SIGINT, lambda *what: met.append(what))
    try:
        with watched_signals(), deadline(0.0) as over:
            over.ends_python = True
            run_for(0.05)
    finally:
        signal.signal(signal.SIGINT, before)
    assert met == [] and not over.passed


@pytest.mark.parametrize(
    "options",
    [
        {"solver": "dual-cd", "loss": "error-rate"},
        {"task": "multiclass", "multiclass": "crammer-singer"},
    ],
)
def test_a_time_limit_ends_training_within_a_call(rng, options, monkeypatch):
    """The first step is kept, and the time is over at once behind it."""
    X = rng.normal(size=(2000, 60)).astype(np.float32)
    y = np.where(X[:, 0] + 2 * rng.normal(size=2000) > 0, 1, -1)
    if "task" in options:
        y[:500] = 3
    met = []

    def at_once(seconds):
        met.append(seconds)
        return deadline(0.02)

    monkeypatch.setattr(driver, "deadline", at_once)
    common = {"example_cost": 1e4, "gap": 1e-9, "time_limit": 300.0}
    outcome = train((X, y), **common, **options)
    assert outcome.stopped_by == "limit" and not outcome.converged and met[0] < 300
    assert outcome.primal >= outcome.dual and np.isfinite(outcome.primal)


def test_what_follows_a_time_limit_is_few_passes(rng, monkeypatch):
    """Of classes trained at once: scores of the last look, the point that its bound belongs to,
    and its scores, whose best multiple is delivered."""
    passes, over = [], Deadline()

    class Late(multiclass.Descent):
        calls = 0

        def run(self, *given, **named):
            super().run(*given, **named)
            self.calls += 1
            if self.calls == 2:
                passes.clear()
                over.passed = True
                raise DeadlinePassed

    monkeypatch.setattr(multiclass, "Descent", Late)
    monkeypatch.setattr(driver, "deadline", lambda seconds: contextlib.nullcontext(over))
    for name in ("scores", "adjoint"):
        pass_over = getattr(LabelSpace, name)
        counted = lambda *given, f=pass_over, n=name: passes.append(n) or f(*given)  # noqa: E731
        monkeypatch.setattr(LabelSpace, name, counted)
    X, y = rng.normal(size=(2000, 60)).astype(np.float32), rng.integers(1, 4, 2000)
    options = {"task": "multiclass", "multiclass": "crammer-singer", "time_limit": 300.0}
    outcome = train((X, y), example_cost=1e4, gap=1e-9, **options)
    assert outcome.stopped_by == "limit" and passes == ["scores", "scores", "adjoint"]
