# SPDX-License-Identifier: BSD-3-Clause
"""Signals within long C calls are answered at once, and nothing is left changed behind them."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from svmcut._native.interrupt import Cancelled, Ending, watched_signals

from svmcut._native import dual_cd, newton, qp, sparse
from svmcut.data.examples import Csr

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


class Stopped(Exception):
    pass


def descend(rng):
    """A dual descent that would take minutes."""
    X = Csr.from_dense(rng.normal(size=(3000, 200)).astype(np.float32))
    y, norms = np.where(rng.random(3000) > 0.5, 1.0, -1.0), np.empty(3000)
    rows = sparse.Rows(X)
    sparse.row_norms(rows, norms)
    descent = dual_cd.Descent(rows, y, norms, 0.0, np.zeros(3000), np.zeros(200), 0)
    return lambda: descent.run(1e3, 10**9, 0.0)


def multiply(rng):
    """A Gram matrix of many rows."""
    X = Csr.from_dense(rng.normal(size=(2000, 1000)).astype(np.float32))
    rows, band, H = (
        sparse.Rows(X),
        np.tile(np.arange(2000, dtype=np.int32), 200),
        np.empty((1000, 1000)),
    )
    return lambda: newton.band_gram(rows, band, 0.0, H, 2)


@pytest.mark.parametrize("call", [descend, multiply])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_handler_runs_within_the_call(rng, call, number):
    def stop(number, frame):
        raise Stopped

    work, before = call(rng), signal.signal(number, stop)
    sent = []

    def send():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), number)

    timer = threading.Timer(0.3, send)
    try:
        with watched_signals(), pytest.raises(Stopped):
            timer.start()
            work()
        assert time.perf_counter() - sent[0] < 5  # of minutes; a busy machine may take seconds
    finally:
        timer.join()
        signal.signal(number, before)


def test_a_handler_that_raises_nothing_changes_no_result(rng):
    X = Csr.from_dense(rng.normal(size=(500, 300)).astype(np.float32))
    rows, band = sparse.Rows(X), np.tile(np.arange(500, dtype=np.int32), 30)
    expected, found = np.empty((300, 300)), np.empty((300, 300))
    newton.band_gram(rows, band, 0.0, expected)
    served = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: served.append(number))
    try:
        with watched_signals():
            timer = threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGTERM))
            timer.start()
            newton.band_gram(rows, band, 0.0, found)
            timer.join()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert served == [signal.SIGTERM]
    np.testing.assert_array_equal(found, expected)


def test_handlers_are_what_they_were(rng):
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with watched_signals(), watched_signals():
        pass
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    # SIGTERM has no handler of Python's here: watched or not, it must end the process
    code = "import os, signal\nfrom svmcut._native.interrupt import watched_signals\n"
    code += "with watched_signals():\n    os.kill(os.getpid(), signal.SIGTERM)\n    print('alive')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, b"")


def test_a_stale_signal_cancels_nothing(rng):
    """One that came outside, or after which its handler returned."""
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        with watched_signals():
            os.kill(os.getpid(), signal.SIGINT)
        A = rng.normal(size=(20, 30))
        beta = np.ones(20) / 20
        gap, _ = qp.simplex_qp(A @ A.T, rng.normal(size=20), 1.0, 1e-9, 10**6, beta)
        assert gap <= 1e-9
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_ending_ends_the_calls_of_its_own_threads_alone(rng):
    """Two endings, two long calls: one is over, and the other goes on until it is ended too."""
    works = [descend(rng), descend(rng)]
    endings, ended = [Ending(), Ending()], [threading.Event(), threading.Event()]

    def run(place):
        with endings[place].joined():
            try:
                works[place]()
            except Cancelled:
                ended[place].set()

    threads = [threading.Thread(target=run, args=(place,)) for place in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    endings[0].end()
    assert ended[0].wait(10) and not ended[1].wait(0.2)
    endings[1].end()
    for thread in threads:
        thread.join(10)
    assert ended[1].is_set()


def test_a_call_of_no_ending_is_ended_by_none(rng):
    ending = Ending()
    ending.end()
    with ending.joined(), pytest.raises(Cancelled):
        descend(rng)()
    A, beta = rng.normal(size=(20, 30)), np.ones(20) / 20
    assert qp.simplex_qp(A @ A.T, rng.normal(size=20), 1.0, 1e-9, 10**6, beta)[0] <= 1e-9
