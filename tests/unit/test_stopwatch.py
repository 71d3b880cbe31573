# SPDX-License-Identifier: BSD-3-Clause
"""Seconds count for the innermost part, and nothing is measured unasked."""

import threading
import time

import pytest

from svmcut.base.resources import ARGMAX, INIT, QP, active_stopwatches, measure_parts, timed_part


def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


@timed_part(ARGMAX)
def inner():
    spin(0.02)
    return 3


@timed_part(QP)
def outer():
    spin(0.01)
    return inner()


def test_a_second_counts_for_the_innermost_part():
    with measure_parts() as watch:
        assert outer() == 3
        spin(0.01)
        with pytest.raises(ZeroDivisionError):
            timed_part(INIT)(lambda: 1 / 0)()
    assert watch.seconds[QP] >= 0.0099 and watch.seconds[ARGMAX] >= 0.0199
    assert sum(watch.seconds.values()) < 0.5 and not active_stopwatches


def test_nothing_is_measured_unasked_or_in_another_thread():
    assert outer() == 3
    with measure_parts() as watch:
        thread = threading.Thread(target=outer)
        thread.start()
        thread.join()
    assert not any(watch.seconds.values())
