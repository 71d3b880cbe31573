# SPDX-License-Identifier: BSD-3-Clause
"""svmcut.base.typing behaves as the module that it stands for."""

from __future__ import annotations

import copy
import inspect
import pickle
import typing

import pytest

from svmcut.base.patterns import pattern
from svmcut.base.typing import NamedTuple, Protocol, runtime_checkable


class Point(NamedTuple):
    """Two numbers."""

    x: float
    y: float = 1.0

    @property
    def sum(self):
        return self.x + self.y


class Theirs(typing.NamedTuple):
    """Two numbers."""

    x: float
    y: float = 1.0


class Below(Point):
    """With what a class of its own may have."""

    def __new__(cls, x):
        return super().__new__(cls, x, 2 * x)


BOTH = pytest.mark.parametrize("made", [Point, Theirs])


@BOTH
def test_a_named_tuple_is_a_tuple_whose_values_have_names(made):
    point = made(2.0)
    assert isinstance(point, tuple) and point == (2.0, 1.0) == made(y=1.0, x=2.0) == made(2.0, 1.0)
    assert (point.x, point.y) == (2.0, 1.0) and hash(point) == hash((2.0, 1.0))
    assert repr(point) == f"{made.__name__}(x=2.0, y=1.0)"
    assert point._replace(y=3.0) == made(2.0, 3.0) and type(point._replace(y=3.0)) is made
    assert point._asdict() == {"x": 2.0, "y": 1.0} and made._make(iter([1, 2])) == (1, 2)
    assert made._fields == made.__match_args__ == ("x", "y")
    assert made._field_defaults == {"y": 1.0} and made.__doc__ == "Two numbers."
    assert not hasattr(point, "__dict__")
    for twin in (copy.copy(point), copy.deepcopy(point), pickle.loads(pickle.dumps(point))):
        assert twin == point and type(twin) is made
    assert [str(each).split(":")[0] for each in inspect.signature(made).parameters.values()] == [
        "x",
        "y",
    ]
    assert inspect.signature(made).parameters["y"].default == 1.0


@BOTH
@pytest.mark.parametrize(
    ("given", "named"), [((), {}), ((1, 2, 3), {}), ((1,), {"x": 1}), ((1,), {"z": 1})]
)
def test_a_named_tuple_takes_each_value_once(made, given, named):
    with pytest.raises(TypeError):
        made(*given, **named)


@BOTH
def test_a_named_tuple_does_not_change(made):
    with pytest.raises(AttributeError):
        made(1).x = 2
    with pytest.raises(AttributeError):
        made(1).z = 2
    with pytest.raises(ValueError):
        made(1)._replace(z=2)
    with pytest.raises(TypeError):
        made._make([1])


def test_a_named_tuple_has_methods_and_classes_below_it():
    assert Point(2.0).sum == 3.0
    assert Below(2.0) == (2.0, 4.0) and Below(2.0).sum == 6.0


def test_values_with_defaults_stand_last():
    with pytest.raises(TypeError, match="default"):
        type(NamedTuple)("Wrong", (NamedTuple,), {"__annotations__": {"x": int, "y": int}, "x": 1})


@runtime_checkable
class Named(Protocol):
    """What has a name and says it."""

    name: str

    def say(self) -> str: ...


@runtime_checkable
class Aged(Named, Protocol):
    """And an age."""

    age: int


class Whole:
    name, age = "a", 3

    def say(self):
        return self.name


class Silent(Whole):
    say = None


class Heir(Named):
    """Says so."""


def test_protocols_are_met_by_what_has_their_names():
    assert isinstance(Whole(), Named) and isinstance(Whole(), Aged)
    assert not isinstance(Silent(), Named) and not isinstance(3, Named)
    assert isinstance(Heir(), Named) and not isinstance(Heir(), Aged)
    assert not isinstance(Whole(), Heir)


def test_a_pattern_is_compiled_when_it_is_used():
    digits = pattern(r"(?s)(\d+).*")
    assert "fullmatch" not in vars(digits)
    match = digits.fullmatch("12\n")
    assert match is not None and match[1] == "12"
    assert digits.fullmatch("x") is None
