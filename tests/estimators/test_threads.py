# SPDX-License-Identifier: BSD-3-Clause
"""Fits in many threads at once: the bytes of fits one by one, and an interrupt ends its own fit
alone."""

import ctypes
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.base import clone

import svmcut
from svmcut import compat

THREADS = 20


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(150, 8))
    return X, np.digitize(X[:, 0] + 0.5 * rng.normal(size=150), [-0.5, 0.5])


def machines():
    """Twenty, of all solvers that estimators have by themselves."""
    kinds = [
        svmcut.LinearSVM(random_state=0),
        svmcut.LinearSVM(loss="squared_hinge", n_jobs=2, random_state=1),
        svmcut.LinearSVM(loss="logistic", probability=True, random_state=0),
        svmcut.LinearSVM(multi_class="crammer_singer", random_state=0),
        svmcut.LinearSVM(penalty="l1", loss="squared_hinge", random_state=0),
        svmcut.KernelSVM(random_state=0),
        svmcut.KernelSVM(solver="subspace", basis=20, random_state=0),
        compat.SVC(probability=True, random_state=0),
        svmcut.LinearSVMRegressor(random_state=0),
        compat.SVR(),
    ]
    return [clone(kinds[k % len(kinds)]) for k in range(THREADS)]


def learned(machine):
    return {name: pickle.dumps(value) for name, value in vars(machine).items()}


@pytest.mark.filterwarnings("ignore")
def test_twenty_threads_train_the_bytes_of_one(data):
    X, y = data
    alone, together = machines(), machines()
    for machine in alone:
        machine.fit(X, y)
    barrier, failures = threading.Barrier(THREADS), []

    def fit(machine):
        try:
            barrier.wait()
            machine.fit(X, y)
        except BaseException as error:
            failures.append((machine, error))

    threads = [threading.Thread(target=fit, args=(machine,)) for machine in together]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    for one, other in zip(alone, together, strict=True):
        known, found = learned(one), learned(other)
        assert known.keys() == found.keys()
        assert [name for name in known if known[name] != found[name]] == [], one


class Begun:
    """Says when a fit has taken its first step."""

    def __init__(self):
        self.event = threading.Event()

    def __call__(self, *_):
        self.event.set()


def long_fit(rows, begun):
    """One of many steps."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(rows, 30)), np.sign(rng.normal(size=rows))
    return svmcut.train((X, y), loss="roc-area", cost=1e6, gap=1e-9, threads=1, callback=begun)


def test_an_interrupt_in_one_thread_ends_its_fit_alone(data):
    X, y = data
    expected = learned(svmcut.KernelSVM(random_state=0).fit(X, y))
    begun, ends, fitted = Begun(), [], []

    def long():
        ends.append(long_fit(400, begun).stopped_by)

    def short():
        while not ends:
            fitted.append(learned(svmcut.KernelSVM(random_state=0).fit(X, y)))

    threads = [threading.Thread(target=work) for work in (long, short)]
    for thread in threads:
        thread.start()
    assert begun.event.wait(30)
    number = ctypes.c_ulong(threads[0].ident)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(number, ctypes.py_object(KeyboardInterrupt))
    for thread in threads:
        thread.join(60)
    assert ends == ["interrupt"] and fitted and all(found == expected for found in fitted)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_signal_ends_the_fit_of_the_main_thread_alone():
    """What another thread trains goes on to its own end."""
    main, other, ends = Begun(), Begun(), {}
    done = threading.Event()

    def beside():
        rng = np.random.default_rng(1)
        X, y = rng.normal(size=(400, 30)), np.sign(rng.normal(size=400))

        def last(progress):
            other()
            if done.is_set():
                raise StopIteration

        try:
            svmcut.train((X, y), loss="roc-area", cost=1e6, gap=1e-9, threads=1, callback=last)
            ends["other"] = "ended"
        except StopIteration:
            ends["other"] = "went on"

    def send():
        assert main.event.wait(30) and other.event.wait(30)
        os.kill(os.getpid(), signal.SIGINT)

    threads = [threading.Thread(target=work) for work in (beside, send)]
    for thread in threads:
        thread.start()
    outcome = long_fit(400, main)
    time.sleep(0.05)
    done.set()
    for thread in threads:
        thread.join(60)
    assert outcome.stopped_by == "interrupt" and ends == {"other": "went on"}


def test_a_search_that_fails_ends_no_fit_of_another_thread():
    """What a grid ends when it is interrupted is its own threads."""
    rng = np.random.default_rng(3)
    rows, signs = rng.normal(size=(2000, 100)), np.sign(rng.normal(size=2000))
    begun, ends = Begun(), []

    def beside():
        ends.append(long_fit(100_000, begun).stopped_by)

    thread = threading.Thread(target=beside)
    thread.start()
    assert begun.event.wait(30)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            threading.Timer(0.2, ctypes.pythonapi.PyErr_SetInterrupt).start()
            svmcut.cross_validate(
                (rows, signs), 2, example_cost=[1e6, 1e7], gap=1e-12, solver="dual-cd", threads=2
            )
    assert thread.is_alive() and not ends
    number = ctypes.c_ulong(thread.ident)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(number, ctypes.py_object(KeyboardInterrupt))
    thread.join(60)
    assert ends == ["interrupt"]
