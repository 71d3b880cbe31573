# SPDX-License-Identifier: BSD-3-Clause
"""Records behave as the dataclasses that they stand for."""

import copy
import pickle
from typing import ClassVar

import pytest

from svmcut.base.records import MISSING, field, fields, is_record, record, replace


@record
class Point:
    """Two numbers."""

    kind: ClassVar[str] = "point"
    x: float
    y: float = 1.0

    @property
    def sum(self):
        return self.x + self.y


@record
class Named(Point):
    """Behind those of a point."""

    name: str = "p"
    seen: list = field(default_factory=list)


@record(frozen=False, eq=False)
class Tally:
    """What changes."""

    count: int = 0


@record(kw_only=True)
class Given:
    """A number above 0, by name."""

    n: int

    def __post_init__(self):
        if self.n <= 0:
            raise ValueError("n")


@record
class Numbered(Given):
    """Before what is given by name."""

    text: str
    n: int = 3


@record(kw_only=True)
class Marks:
    """By name, too."""

    mark: str = "m"


@record
class Marked(Marks):
    """In order before it."""

    x: float


def test_fields_in_order_stand_before_the_inherited_ones_by_name():
    assert [item.name for item in fields(Marked)] == ["x", "mark"]
    assert [item.name for item in fields(Numbered)] == ["text", "n"]
    assert Marked(1.0) == Marked(x=1.0, mark="m") and Marked(1.0, mark="k").mark == "k"


def test_fields_are_those_annotated_behind_the_inherited():
    assert [(item.name, item.default) for item in fields(Named)] == [
        ("x", MISSING),
        ("y", 1.0),
        ("name", "p"),
        ("seen", MISSING),
    ]
    assert is_record(Named) and not is_record(int) and not hasattr(Named, "x") and Named.y == 1.0


def test_values_are_given_in_order_or_by_name():
    assert (Point(1, 2).sum, Point(y=2, x=1).sum, Named(1, name="q").name) == (3, 3, "q")
    assert Named(1).seen == [] and Named(1).seen is not Named(1).seen
    assert repr(Named(1, 2)) == "Named(x=1, y=2, name='p', seen=[])"


@pytest.mark.parametrize(
    ("cls", "given", "named"),
    [
        (Point, (), {}),
        (Point, (1, 2, 3), {}),
        (Point, (1,), {"x": 1}),
        (Point, (1,), {"z": 1}),
        (Given, (1,), {}),
    ],
)
def test_each_value_is_given_once(cls, given, named):
    with pytest.raises(TypeError):
        cls(*given, **named)


def test_equal_values_make_equal_records_of_one_class():
    assert Point(1, 2) == Point(1, 2) != Point(2, 1) and hash(Point(1, 2)) == hash(Point(1, 2))
    assert Point(1) != Named(1) and Tally() != Tally()


def test_a_record_is_replaced_and_not_changed():
    point, tally = Point(1), Tally()
    for change in (
        lambda: setattr(point, "x", 2),
        lambda: delattr(point, "x"),
        lambda: setattr(point, "z", 2),
    ):
        with pytest.raises(AttributeError):
            change()
    tally.count += 1
    assert (replace(point, y=5), replace(tally, count=4).count, point, tally.count) == (
        Point(1, 5),
        4,
        Point(1),
        1,
    )
    with pytest.raises(TypeError):
        replace(point, z=1)
    with pytest.raises(ValueError):
        replace(Given(n=1), n=0)


def test_copies_and_pickles_are_equal():
    found = Named(1, 2, "q", [3])
    assert pickle.loads(pickle.dumps(found)) == found == copy.deepcopy(found)
