# SPDX-License-Identifier: BSD-3-Clause
"""The names of `typing` that modules need, without its import: that takes longer than many small
runs.

    from svmcut.base.typing import TYPE_CHECKING, Any, NamedTuple

Type checkers see those of `typing`. At run time annotations mean nothing, NamedTuple makes its
classes without compiling code (`typing` compiles a method and every annotation, half a millisecond
per class), and isinstance of a Protocol looks for its names.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any as Any
    from typing import BinaryIO as BinaryIO
    from typing import ClassVar as ClassVar
    from typing import Literal as Literal
    from typing import NamedTuple as NamedTuple
    from typing import Protocol as Protocol
    from typing import Self as Self
    from typing import TypeAlias as TypeAlias
    from typing import TypeVar as TypeVar
    from typing import dataclass_transform as dataclass_transform
    from typing import overload as overload
    from typing import runtime_checkable as runtime_checkable
else:

    class Any:
        """A name for annotations only."""

        def __class_getitem__(cls, of):
            return cls

    BinaryIO = ClassVar = Literal = Self = TypeAlias = Any

    def TypeVar(name, *constraints, **options):
        return Any

    def overload(function):
        return function

    def dataclass_transform(**options):
        return overload

    class _ProtocolMeta(type):
        """The metaclass of protocols."""

        def __instancecheck__(cls, instance):
            if type.__instancecheck__(cls, instance):
                return True
            names = cls.__dict__.get("_names", {"": None})
            return all(
                hasattr(instance, name)
                and (not callable(value) or getattr(instance, name) is not None)
                for name, value in names.items()
            )

    class Protocol(metaclass=_ProtocolMeta):
        """The base of protocols: see typing.Protocol."""

    def runtime_checkable(cls):
        """Let isinstance accept every object with all names of a protocol."""
        cls._names = {
            name: getattr(cls, name, None)
            for base in cls.__mro__[:-2]  # all but Protocol and object
            for name in (*vars(base), *vars(base).get("__annotations__", ()))
            if not name.startswith("_")
        }
        return cls

    try:
        from _collections import _tuplegetter as _field_getter
    except ImportError:
        from operator import itemgetter

        def _field_getter(index, doc):
            return property(itemgetter(index), doc=doc)

    _new = tuple.__new__

    class _TupleMeta(type):
        """Makes fields of the annotated names of a direct subclass of NamedTuple."""

        def __new__(cls, name, bases, namespace):
            if any(hasattr(base, "_fields") for base in bases):  # below such a class, as any other
                return super().__new__(cls, name, bases, namespace)
            if tuple not in bases:
                fields = tuple(namespace.get("__annotations__", ()))
                defaults = {field: namespace.pop(field) for field in fields if field in namespace}
                if [*defaults] != [*fields[len(fields) - len(defaults) :]]:
                    raise TypeError(f"{name}: a value with a default stands before one without")
                for index, field in enumerate(fields):
                    namespace[field] = _field_getter(index, f"Alias for field number {index}")
                namespace |= {"_fields": fields, "_field_defaults": defaults}
                namespace["__match_args__"] = fields
            return super().__new__(cls, name, bases, {"__slots__": (), **namespace})

        @property
        def __signature__(cls):
            from inspect import Parameter, Signature

            defaults = cls._field_defaults
            return Signature(
                [
                    Parameter(
                        field,
                        Parameter.POSITIONAL_OR_KEYWORD,
                        default=defaults.get(field, Parameter.empty),
                        annotation=cls.__annotations__[field],
                    )
                    for field in cls._fields
                ]
            )

    class NamedTuple(tuple, metaclass=_TupleMeta):
        """The base of tuples with named values: see typing.NamedTuple."""

        def __new__(cls, /, *given, **named):
            if named or len(given) != len(cls._fields):
                given = cls._fill(given, named)
            return _new(cls, given)

        @classmethod
        def _fill(cls, given, named):
            """Return all values from those given by position, by name and by default."""
            fields, rest = cls._fields, cls._fields[len(given) :]
            if len(given) > len(fields):
                raise TypeError(f"{cls.__name__} takes {len(fields)} values, not {len(given)}")
            known = cls._field_defaults | named
            try:
                values = [*given, *[known[field] for field in rest]]
            except KeyError as error:
                raise TypeError(f"{cls.__name__} lacks its {error.args[0]}") from None
            for field in named:
                if field not in rest:
                    what = "twice" if field in fields else "and has no such value"
                    raise TypeError(f"{cls.__name__} is given {field} {what}")
            return values

        @classmethod
        def _make(cls, values):
            """Return the tuple of these values, in the order of their names."""
            values = tuple(values)
            if len(values) != len(cls._fields):
                raise TypeError(
                    f"{cls.__name__} takes {len(cls._fields)} values, not {len(values)}"
                )
            return _new(cls, values)

        def _replace(self, /, **changes):
            """Return the tuple with some values changed."""
            values, fields = [*self], self._fields
            for field, value in changes.items():
                if field not in fields:
                    unknown = [field for field in changes if field not in fields]
                    raise ValueError(f"{type(self).__name__} has no {', '.join(unknown)}")
                values[fields.index(field)] = value
            return _new(type(self), values)

        def _asdict(self):
            """Return the values by their names."""
            return dict(zip(self._fields, self))

        def __repr__(self):
            values = ", ".join(f"{field}={value!r}" for field, value in self._asdict().items())
            return f"{type(self).__name__}({values})"

        def __getnewargs__(self):
            return tuple(self)
