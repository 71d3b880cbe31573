# SPDX-License-Identifier: BSD-3-Clause
"""Runs made of runs: what is followed to its end, and what goes on where another ended."""

import pytest

from svmcut.solvers.compose import Continuation, Watched
from svmcut.solvers.protocol import Interrupted, Progress, Run, Solver, constant
from svmcut.spec.schemas import StateError


def step(k, primal, dual):
    """Step k of a run."""
    return Progress(k, 2.0 * k, primal, dual, primal - dual, 0.5 * k, constant(k))


class Scripted(Run):
    """Steps of these gaps, a bound of 1; it begins behind those of its state."""

    def __init__(self, solver, problem, start):
        super().__init__(solver, problem, start)
        self._at, self.began = 0, start
        self.bundle, self.fractions = f"cuts of {problem}", solver.fractions

    def state(self):
        return {"at": self._at}

    def restore(self, state):
        self._at = state["at"]

    def __iter__(self):
        for k, gap in enumerate(self._solver.gaps[self._at :], self._at + 1):
            self._at = k
            if gap is None:
                raise Interrupted(step(k, 1.5, 1.0))
            yield step(k, 1.0 + gap, 1.0)


class Script(Solver):
    run = Scripted

    def __init__(self, *gaps, patience=None, fractions=None):
        self.gaps, self.patience, self.fractions = gaps, patience, fractions


def test_a_run_that_is_followed_ends_of_itself_or_where_it_makes_no_progress():
    gaps = (4.0, 2.0, *[1.0] * 30)
    whole, watched = (Watched(Script(*gaps, patience=given), "rows") for given in (None, 3))
    assert len(list(whole)) == 32 and not whole.idle and whole.last.iteration == 32
    assert len(list(watched)) == 8 and watched.idle and watched.last.iteration == 8
    other = Watched(Script(*gaps, patience=None), "rows", patience=3)
    assert [p.iteration for p in other] == list(range(1, 9)) and other.idle


@pytest.mark.parametrize("stop", [1, 3, 7])
def test_a_run_that_goes_on_ends_at_the_same_step(stop):
    solver = Script(4.0, 2.0, *[1.0] * 30, patience=3)
    followed = Watched(solver, "rows")
    for progress in followed:
        if progress.iteration == stop:
            break
    resumed = Watched(solver, "rows", None, followed.state())
    assert [p.iteration for p in resumed] == list(range(stop + 1, 9)) and resumed.idle


def test_an_interrupt_leaves_the_step_it_brings():
    followed = Watched(Script(4.0, None), "rows")
    with pytest.raises(Interrupted):
        list(followed)
    assert followed.last.iteration == 2 and followed.last.gap == 0.5


def test_the_second_run_is_counted_on_and_the_bound_does_not_fall():
    then, whole = Continuation(), Run(None, None, None)
    assert not then.has_begun and then.state() == Continuation().state()
    then.begin_after(step(5, 3.0, 1.25))
    solver = Script(1.0, 0.5, fractions="theirs")
    told = list(then.steps(whole, solver, "rows", lambda: "start"))
    assert [(p.iteration, p.passes, p.seconds) for p in told] == [(6, 12.0, 3.0), (7, 14.0, 3.5)]
    assert [(p.dual, p.gap) for p in told] == [(1.25, 0.75), (1.25, 0.25)]
    assert (whole.bundle, whole.fractions, then.run.began) == ("cuts of rows", "theirs", "start")


def test_the_second_run_goes_on_from_its_state_without_a_start():
    solver, whole = Script(1.0, 0.5, 0.25), Run(None, None, None)
    whole.fractions, then = "own", Continuation()
    then.begin_after(step(5, 3.0, 1.0))
    next(then.steps(whole, solver, "rows", lambda: "start"))
    again = Continuation()
    again.restore(then.state() | {"more": 0})
    left = list(again.steps(whole, solver, "rows", lambda: pytest.fail("no start")))
    assert [p.iteration for p in left] == [7, 8] and again.run.began is None
    assert whole.fractions == "own"
    for handed in ((5, 1.0, 1.0), (-1, 1.0, 1.0, 1.0), "five"):
        with pytest.raises(StateError, match="handed"):
            Continuation().restore({"handed": handed, "next": None})
