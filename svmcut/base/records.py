# SPDX-License-Identifier: BSD-3-Clause
"""Records: classes of named values like those of `dataclasses`, but cheap to create.

A dataclass compiles its own methods, a millisecond per class where 18 classes make up a small run;
records share theirs.
"""

from __future__ import annotations

from functools import partial

from svmcut.base.typing import (
    TYPE_CHECKING,
    Any,
    NamedTuple,
    TypeVar,
    dataclass_transform,
    overload,
)

if TYPE_CHECKING:
    from collections.abc import Callable

R = TypeVar("R")
#: Marks a field without a default.
MISSING: Any = type("Missing", (), {"__repr__": lambda self: "MISSING"})()


class Field(NamedTuple):
    """One value of a record; without a default or a factory it must be given."""

    name: str = ""
    default: Any = MISSING
    #: Makes the default of each record; None if there is none.
    factory: Any = None
    #: The option of a command line that fills it: svmcut.spec.options.Option.
    option: Any = None


def field(*, default: Any = MISSING, default_factory: Any = None) -> Any:
    """Declare the default of a field."""
    return Field("", default, default_factory)


@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[R], /) -> type[R]: ...


@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(
    *, frozen: bool = True, eq: bool = True, kw_only: bool = False
) -> Callable[[type[R]], type[R]]: ...


def record(
    cls: type | None = None, /, *, frozen: bool = True, eq: bool = True, kw_only: bool = False
) -> Any:
    """Make a record of a class: its fields are the annotated names.

    They follow those of the record it derives from, or precede them if only they are keyword-only.
    With `frozen` no field can be set after creation; with `eq` records with equal fields are equal;
    with `kw_only` fields are given by name only. A __repr__ that the class defines stays.
    """
    if cls is None:
        return partial(record, frozen=frozen, eq=eq, kw_only=kw_only)
    inherited: dict[str, Field] = getattr(cls, "__record__", {})
    known = dict(inherited) if kw_only or getattr(cls, "_in_order", False) else {}
    for name, annotation in cls.__annotations__.items():
        if "ClassVar" in str(annotation):
            continue
        default = cls.__dict__.get(name, MISSING)
        known[name] = item = (
            default if isinstance(default, Field) else Field(default=default)
        )._replace(name=name)
        if item.default is not MISSING:
            setattr(cls, name, item.default)
        elif default is not MISSING:
            delattr(cls, name)
    known |= {name: item for name, item in inherited.items() if name not in known}
    methods: dict[str, Any] = {
        "__record__": known,
        "_in_order": not kw_only,
        "_defaults": {
            name: item.default for name, item in known.items() if item.default is not MISSING
        },
        "_factories": [(name, item.factory) for name, item in known.items() if item.factory],
        "__init__": _init,
        "__repr__": _repr,
    }
    if eq:
        methods |= {"__eq__": _eq, "__hash__": _hash}
    if frozen:
        methods |= {"__setattr__": _refuse, "__delattr__": _refuse}
    for name, method in methods.items():
        if name != "__repr__" or name not in cls.__dict__:
            setattr(cls, name, method)
    return cls


def fields(of: Any) -> tuple[Field, ...]:
    """Return the fields of a record or of its class."""
    return tuple(of.__record__.values())


def replace(of: R, /, **changes: Any) -> R:
    """Return a copy of the record with some fields changed."""
    return type(of)(**({name: getattr(of, name) for name in _fields_by_name(of)} | changes))


def is_record(cls: type) -> bool:
    """Test that a class is a record."""
    return hasattr(cls, "__record__")


def _fields_by_name(of: Any) -> dict[str, Field]:
    return of.__record__


def _init(self, /, *given, **named):
    known, state = self.__record__, self.__dict__
    state.update(self._defaults)
    if given:
        values = dict(zip(known, given)) if self._in_order else {}
        if len(values) < len(given) or values.keys() & named.keys():
            raise TypeError(f"{type(self).__name__} takes each of {', '.join(known)} once")
        state.update(values)
    state.update(named)
    for name, factory in self._factories:
        if name not in state:
            state[name] = factory()
    if len(state) != len(known):
        lacking = [name for name in known if name not in state]
        told = f"lacks its {lacking[0]}" if lacking else f"takes each of {', '.join(known)} once"
        raise TypeError(f"{type(self).__name__} {told}")
    if hasattr(self, "__post_init__"):
        self.__post_init__()


def _values(of: Any) -> tuple[Any, ...]:
    return tuple([getattr(of, name) for name in of.__record__])


def _repr(self) -> str:
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__record__)
    return f"{type(self).__name__}({values})"


def _eq(self, other: Any) -> Any:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self) -> int:
    return hash(_values(self))


def _refuse(self, name: str, *value: Any) -> None:
    raise AttributeError(f"{name} of a {type(self).__name__} is fixed; replace() gives another")
