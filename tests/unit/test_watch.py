# SPDX-License-Identifier: BSD-3-Clause
"""The no-progress rule: what it ends, what it must not, and that it goes on from a checkpoint as if
nothing was."""

import math

import pytest

from svmcut.solvers.protocol import Progress, Watch


def look(iteration, gap, **more):
    return Progress(iteration, 0.0, gap, 0.0, gap, 0.0, lambda: None, **more)


def ends(gaps, watch=None, places=None):
    """The iteration at which the rule ends these gaps, None where it never does."""
    watch = watch or Watch(100)
    places = range(1, len(gaps) + 1) if places is None else places
    return next(
        (k for k, gap in zip(places, gaps, strict=True) if watch.has_stalled(look(k, gap))), None
    )


@pytest.mark.parametrize("power", [1.0, 0.5, 0.01])
def test_gaps_that_fall_like_a_power_go_on(power):
    assert ends([k**-power for k in range(1, 30_000)]) is None


def test_gaps_that_fall_by_a_step_now_and_then_go_on():
    assert ends([0.9 ** math.floor(math.log2(k)) for k in range(1, 30_000)]) is None


def test_what_stands_still_ends_after_as_long_again():
    assert ends([1.0] * 50 + [0.5] * 1000) == 51 + 100
    assert ends([1.0 / min(k, 400) for k in range(1, 2000)]) == 800


def test_few_looks_are_no_ground():
    assert ends([1.0] * 4, places=[1, 1000, 10_000, 100_000]) is None


def test_looks_where_only_time_has_passed_are_no_looks():
    watch = Watch(10)
    assert not any(watch.has_stalled(look(k, 1.0, report=False)) for k in range(1, 9000))
    assert any(watch.has_stalled(look(k, 1.0)) for k in range(9000, 18_100))


def test_a_state_goes_on_to_the_same_end():
    gaps = [1.0 / min(k, 120) for k in range(1, 400)]
    whole = ends(gaps)
    for at in (1, 100, 200, whole):
        first, second = Watch(100), Watch(100)
        for k in range(1, at + 1):
            first.has_stalled(look(k, gaps[k - 1]))
        second.restore(first.state())
        assert ends(gaps[at - 1 :], second, range(at, len(gaps) + 1)) == whole, at
