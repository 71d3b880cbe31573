# SPDX-License-Identifier: BSD-3-Clause
"""Forms of saved states. All that goes on from one says so here first, and indexes with
nothing unchecked.

A check takes a value and the name it goes by in messages, and raises StateError; checks are put
together from smaller ones. Fields that a check does not know are let through: what nobody reads
does no harm.

States of what goes on from a checkpoint, by one declaration: the form of an object says what is
kept of it and what each value must look like; what saves and what restores follow.

A value is kept under the name of its attribute, without a leading underscore. Arrays are copied,
into the arrays that are there where these are of the same shape: compiled loops share them.

What the states of trainers are made of beside plain values, arrays and models; a checkpoint may
hold nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from svmcut.base.typing import Any, ClassVar, NamedTuple
from svmcut.spec.catalog import FORMATS, load

Check = Callable[[Any, str], None]

#: Counts beyond this are damage; twice as many still fit an int64.
MOST = 1 << 61


class StateError(ValueError):
    """A saved state is none that its run can be in."""


class Kinds(NamedTuple):
    """Forms of what a state holds of a space: elements, normals as a bundle of cuts keeps them,
    scores, coefficients."""

    element: Check
    normal: Check
    scores: Check
    coef: Check


def checked(state: Any, check: Check, name: str = "state") -> Any:
    """The state, once it has passed."""
    check(state, name)
    return state


def _refuse(name: str, value: Any, wanted: str) -> None:
    if isinstance(value, np.ndarray):
        value = f"an array {value.shape} of {value.dtype}"
    text = str(value)
    raise StateError(
        f"{name} is {text if len(text) <= 60 else text[:57] + '...'}; expected {wanted}"
    )


def real(
    low: float = -math.inf, high: float = math.inf, *, infinite: bool = False, nan: bool = False
) -> Check:
    """A number from low to high; infinite and nan only where they are allowed."""

    def check(value: Any, name: str) -> None:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if number and (
            (value != value and nan)
            or (low <= value <= high and (infinite or abs(value) < math.inf))
        ):
            return
        bounds = "a number" + (
            f" from {low:g} to {high:g}" if abs(low) < math.inf or high < math.inf else ""
        )
        _refuse(name, value, bounds if infinite else f"{bounds}, finite")

    return check


def count(low: int = 0, high: int = MOST) -> Check:
    """A whole number from low to high."""

    def check(value: Any, name: str) -> None:
        if not (isinstance(value, int) and not isinstance(value, bool) and low <= value <= high):
            _refuse(name, value, f"a whole number from {low} to {high}")

    return check


def flag(value: Any, name: str) -> None:
    """True or False."""
    if not isinstance(value, bool):
        _refuse(name, value, "true or false")


def text(*known: str) -> Check:
    """One of these words, or any where none is given."""

    def check(value: Any, name: str) -> None:
        if not isinstance(value, str) or (known and value not in known):
            _refuse(name, value, " or ".join(known) or "a word")

    return check


def array(
    dtype: Any,
    *shape: int | None,
    low: float | None = None,
    high: float | None = None,
    rising: bool = False,
    distinct: bool = False,
    infinite: bool = False,
) -> Check:
    """An array of this type and shape (None: any length), its values from low to high and finite.

    rising: strictly; distinct: no value twice.
    """

    def check(value: Any, name: str) -> None:
        dims = ", ".join("any" if size is None else str(size) for size in shape)
        wanted = f"an array ({dims}) of {np.dtype(dtype)}"
        if not _has_shape(value, dtype, shape):
            _refuse(name, value, wanted)
        if not value.size:
            return
        least, most = value.min(), value.max()
        if least != least or (
            value.dtype.kind == "f" and not infinite and not np.isfinite([least, most]).all()
        ):
            _refuse(f"a value of {name}", "not finite", wanted)
        if (low is not None and least < low) or (high is not None and most > high):
            bounds = ["" if bound is None else f"{bound:g}" for bound in (low, high)]
            _refuse(
                name, f"from {least:g} to {most:g}", f"{wanted} from {bounds[0]} to {bounds[1]}"
            )
        if rising and not (value[1:] > value[:-1]).all():
            _refuse(name, value, f"{wanted}, increasing")
        if distinct and len(np.unique(value)) < value.size:
            _refuse(name, value, f"{wanted}, each value once")

    return check


def _has_shape(value: Any, dtype: Any, shape: tuple[int | None, ...]) -> bool:
    if not isinstance(value, np.ndarray) or value.dtype != dtype or value.ndim != len(shape):
        return False
    return all(size in (None, there) for size, there in zip(shape, value.shape))


def reals(*shape: int | None, low: float | None = None, high: float | None = None) -> Check:
    """A float64 array of finite values."""
    return array("float64", *shape, low=low, high=high)


def below(most: np.ndarray, low: float | None = None) -> Check:
    """A float64 array of the shape of another, no value above its own there."""
    inner = reals(*most.shape, low=low)

    def check(value: Any, name: str) -> None:
        inner(value, name)
        require(bool((value <= most).all()), f"{name} and C", "no value above its own bound")

    return check


def weights(*shape: int | None) -> Check:
    """Reals with room to grow in the float32 of kernel values and model files."""
    return reals(*shape, low=-1e37, high=1e37)


def rows(n: int) -> Check:
    """Increasing numbers of rows, each once."""
    return array(np.int64, None, low=0, high=n - 1, rising=True)


def maybe(check_some: Check) -> Check:
    """None, or what the check takes."""

    def check(value: Any, name: str) -> None:
        if value is not None:
            check_some(value, name)

    return check


def fields(**checks: Check) -> Check:
    """A dict with these keys at least, or an object with these attributes."""

    def check(value: Any, name: str) -> None:
        for key, inner in checks.items():
            field = (
                value.get(key, _MISSING)
                if isinstance(value, dict)
                else getattr(value, key, _MISSING)
            )
            if field is _MISSING:
                raise StateError(f"{name} has no {key}")
            inner(field, f"{name}.{key}")

    return check


def some(**checks: Check) -> Check:
    """A dict with none but these keys."""

    def check(value: Any, name: str) -> None:
        if not isinstance(value, dict) or value.keys() - checks.keys():
            _refuse(name, value, f"some of {', '.join(checks)}")
        fields(**{key: checks[key] for key in value})(value, name)

    return check


def instance(cls: type, **checks: Check) -> Check:
    """An object of the class, no subclass, with attributes as `fields`."""
    inner = fields(**checks)

    def check(value: Any, name: str) -> None:
        if type(value) is not cls:
            _refuse(name, type(value).__name__, cls.__name__)
        inner(value, name)

    return check


def expansion(cls: type, n: int, **checks: Check) -> Check:
    """An object of the class, or a dict, with increasing points below n and as many
    coefficients."""
    inner = instance(cls, points=rows(n), coef=weights(None), **checks)

    def check(value: Any, name: str) -> None:
        inner(value, name)
        points, coef = (
            value[key] if cls is dict else getattr(value, key) for key in ("points", "coef")
        )
        require(len(points) == len(coef), f"points and coef of {name}", "one a point")

    return check


def either(*checks: Check) -> Check:
    """A form that takes what one of the checks takes."""

    def check(value: Any, name: str) -> None:
        failures = []
        for inner in checks:
            try:
                return inner(value, name)
            except StateError as error:
                failures.append(error)
        raise failures[-1]

    return check


def many(inner: Check, least: int = 0, most: int | None = None) -> Check:
    """A list of least to most items."""

    def check(value: Any, name: str) -> None:
        if not isinstance(value, list | tuple):
            _refuse(name, value, "a list")
        if not least <= len(value) <= (len(value) if most is None else most):
            _refuse(f"the length of {name}", len(value), f"{least} to {most}")
        for place, item in enumerate(value):
            inner(item, f"{name}[{place}]")

    return check


def row(*checks: Check) -> Check:
    """A list of as many items as checks."""

    def check(value: Any, name: str) -> None:
        many(anything, len(checks), len(checks))(value, name)
        for place, (inner, item) in enumerate(zip(checks, value, strict=True)):
            inner(item, f"{name}[{place}]")

    return check


def anything(value: Any, name: str) -> None:
    """Whatever it is; for what is only handed on to another that checks it."""


def generator(value: Any, name: str) -> None:
    """The state of numpy's PCG64. An even increment would let it give one number for ever."""
    words = fields(state=count(0, 2**128 - 1), inc=count(0, 2**128 - 1))
    fields(
        bit_generator=text("PCG64"),
        state=words,
        has_uint32=count(0, 1),
        uinteger=count(0, 2**32 - 1),
    )(value, name)
    if value["state"]["inc"] % 2 == 0:
        _refuse(f"{name}.state.inc", value["state"]["inc"], "an odd number")


def require(holds: bool, name: str, wanted: str) -> None:
    """Refuses values that do not go together."""
    if not holds:
        raise StateError(f"{name} do not fit together; expected {wanted}")


def scheduled(passes: int, due: Callable[[int], int]) -> bool:
    """Tell whether so many passes can have been made: from 0 on `due` says after how many the
    next look is."""
    at = 0
    while at < passes:
        at = due(at)
    return at == passes


REAL, COUNT, ANY_REAL = real(), count(), real(infinite=True, nan=True)
_MISSING = object()


#: What a checkpoint keeps of an object: plain values, arrays, instances of `state_classes`.
State = dict[str, Any]
#: By attribute, what is kept.
Form = dict[str, Check]

#: Of an attribute that has `state` and `restore` of its own, which check what they get.
OWN: Check = anything


class Kept:
    """An object with a state."""

    __slots__ = ()

    #: What messages call it.
    called: ClassVar[str] = "state"

    def form(self) -> Form:
        """Form of its saved state."""
        raise NotImplementedError

    def state(self) -> State:
        """Return a state that later steps do not change."""
        return state_of(self, self.form())

    def restore(self, state: State) -> None:
        """Goes on from a `state`; raises StateError."""
        restore(self, self.form(), state, self.called)


def state_of(owner: Any, form: Form) -> State:
    """The attributes of a form."""
    return {name.lstrip("_"): _taken(getattr(owner, name)) for name in form}


def restore(owner: Any, form: Form, state: State, called: str = "state") -> None:
    """Sets the attributes of a form, once all of them pass; `called` is the state's name in a
    StateError."""
    checks = {name.lstrip("_"): check for name, check in form.items()}
    checked(state, fields(**checks), called)
    for name in form:
        value = state[name.lstrip("_")]
        there: Any = getattr(owner, name, None)
        if isinstance(there, np.random.Generator):
            there.bit_generator.state = value
        elif hasattr(there, "restore"):
            there.restore(value)
        elif isinstance(value, np.ndarray) and _holds(there, value):
            np.copyto(there, value)
        else:
            named = type(value) is tuple and hasattr(there, "_make")
            setattr(owner, name, type(there)(*value) if named else _taken(value))


def _holds(there: Any, value: np.ndarray) -> bool:
    same = isinstance(there, np.ndarray) and there.shape == value.shape
    return same and there.dtype == value.dtype


def _taken(value: Any) -> Any:
    if isinstance(value, np.random.Generator):
        return value.bit_generator.state
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, list):
        return [_taken(item) for item in value]
    return value.state() if hasattr(value, "state") else value


KEPT = (
    "svmcut.training.outcome:Outcome",
    "svmcut.training.outcome:Objective",
    "svmcut.solvers.protocol:Progress",
    "svmcut.solvers.protocol:Unsaved",
    "svmcut.models:ChainShape",
    "svmcut.models.kernels:Kernel",
    "svmcut.data.examples:Csr",
    "svmcut.data.examples:Names",
    "svmcut.cutting.bundle:Cut",
    "svmcut.risks.protocol:Linearization",
    "svmcut.data.labellings:Labelling",
    "svmcut.risks.sampling:Draw",
    "svmcut.solvers.constant_cuts:Points",
    "svmcut.solvers.sampled_cuts:SampledElement",
    "svmcut.solvers.cutting_plane:Iterate",
    "svmcut.cutting.oracle:Point",
    "svmcut.cutting.oracle:Scored",
    "svmcut.spaces.kernel:Expansion",
    "svmcut.spaces.subspace:Traced",
    "svmcut.spaces.linear:RowNormal",
    "svmcut._native.sparse:Nonzeros",
    "svmcut.distributed.oracle:Carried",
)


def state_classes() -> tuple[type, ...]:
    """These and the classes of models, imported now."""
    models = dict.fromkeys(name for row in FORMATS for name in row.models)
    return tuple(map(load, (*KEPT, *(f"svmcut.models:{name}" for name in models))))
