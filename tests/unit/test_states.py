# SPDX-License-Identifier: BSD-3-Clause
"""Checks of saved states, one by one."""

import math

import numpy as np
import pytest

from svmcut.spec import schemas
from svmcut.spec.schemas import StateError, checked

RISING = np.arange(3)


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (schemas.real(), (0, -1.5, 1e300), (math.nan, math.inf, "1", None, True)),
        (schemas.real(0, 1, infinite=True), (0, 1), (-1e-9, 1.1, math.inf)),
        (schemas.ANY_REAL, (math.nan, -math.inf, 0), ("1", None)),
        (schemas.count(1, 5), (1, 5), (0, 6, 1.0, True, None)),
        (schemas.flag, (True, False), (0, None)),
        (schemas.text("a", "b"), ("a",), ("c", 1)),
        (
            schemas.reals(None, 2),
            (np.zeros((3, 2)), np.zeros((0, 2))),
            (np.zeros(2), np.zeros((3, 1)), [[0.0, 0.0]]),
        ),
        (
            schemas.reals(2),
            (np.zeros(2),),
            (np.array([0, np.nan]), np.array([np.inf, 0]), np.zeros(2, np.float32)),
        ),
        (
            schemas.rows(3),
            (RISING, RISING[:0]),
            (RISING + 1, RISING[::-1], np.array([0, 0]), RISING.astype(np.int32)),
        ),
        (schemas.maybe(schemas.COUNT), (None, 0), (-1,)),
        (schemas.many(schemas.COUNT, 1, 2), ([0], (1, 2)), ([], [1, 2, 3], [-1], "1")),
        (schemas.row(schemas.COUNT, schemas.flag), ([0, True],), ([0], [True, 0])),
        (schemas.fields(a=schemas.COUNT), ({"a": 1, "b": None},), ({}, {"a": -1}, None)),
        (schemas.some(a=schemas.COUNT), ({}, {"a": 1}), ({"b": 1}, {"a": -1}, None)),
        (
            schemas.below(np.array([1.0, 2.0]), 0.0),
            (np.array([1.0, 2.0]), np.zeros(2)),
            (np.array([2.0, 1.0]), np.array([-1.0, 0.0]), np.zeros(3)),
        ),
        (schemas.either(schemas.flag, schemas.COUNT), (True, 1), (-1, None)),
        (schemas.generator, (np.random.default_rng(3).bit_generator.state,), ({}, None)),
    ],
)
def test_what_a_check_takes_and_refuses(check, good, bad):
    for value in good:
        assert checked(value, check) is value
    for value in bad:
        with pytest.raises(StateError, match=r"^(a value of |the length of )?state"):
            checked(value, check)


def test_a_generator_that_would_give_one_number_for_ever_is_refused():
    state = np.random.default_rng(3).bit_generator.state
    state["state"] = {"state": 0, "inc": 0}
    with pytest.raises(StateError, match="odd"):
        checked(state, schemas.generator)


def test_passes_between_two_looks_are_none_of_a_state():
    assert [n for n in range(12) if schemas.scheduled(n, lambda at: max(at + 1, 2 * at))] == [
        0,
        1,
        2,
        4,
        8,
    ]


class Inner(schemas.Kept):
    called = "inner"

    def __init__(self):
        self._seen = 0

    def form(self):
        return {"_seen": schemas.count(0, 9)}


class Outer(schemas.Kept):
    def __init__(self):
        self.shared, self._own, self._rng = np.zeros(2), Inner(), np.random.default_rng(3)
        self.best, self._kept = None, [np.zeros(1)]

    def form(self):
        known = {"shared": schemas.reals(2), "_own": schemas.OWN, "_rng": schemas.generator}
        best, kept = schemas.maybe(schemas.reals(None)), schemas.many(schemas.reals(1))
        return known | {"best": best, "_kept": kept}


def test_a_state_and_what_goes_on_from_it_follow_from_the_form():
    one, two = Outer(), Outer()
    one.shared += 1
    one._own._seen, one.best = 4, np.ones(3)
    state, shared = one.state(), two.shared
    assert state.keys() == {"shared", "own", "rng", "best", "kept"}
    drawn = one._rng.random()
    for array in (one.shared, one.best, one._kept[0]):
        array += 5
    two.restore(state)
    assert two.shared is shared and shared.tolist() == [1, 1]
    assert (two._own._seen, two.best.tolist(), two._kept[0].tolist()) == (4, [1, 1, 1], [0])
    assert two._rng.random() == drawn
    assert two.best is not state["best"] and two._kept[0] is not state["kept"][0]
    with pytest.raises(StateError, match=r"^inner\.seen is 10"):
        two.restore(state | {"own": {"seen": 10}})
    with pytest.raises(StateError, match=r"^state has no best$"):
        two.restore({name: value for name, value in state.items() if name != "best"})
