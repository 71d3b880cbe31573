# SPDX-License-Identifier: BSD-3-Clause
"""States of what goes on from a checkpoint, by one declaration: the form of an object says what is
kept of it and what each value must look like; what saves and what restores follow.

A value is kept under the name of its attribute, without a leading underscore. Arrays are copied,
into the arrays that are there where these are of the same shape: compiled loops share them.
"""

from __future__ import annotations

import numpy as np

from svmcut.spec import schemas
from svmcut.typing import Any, ClassVar

#: What a checkpoint keeps of an object: plain values, arrays, instances of `state_classes`.
State = dict[str, Any]
#: By attribute, what is kept.
Form = dict[str, schemas.Check]

#: Of an attribute that has `state` and `restore` of its own, which check what they get.
OWN: schemas.Check = schemas.anything


class Kept:
    """An object with a state.

    Attributes
    ----------
    called : str
        What messages call it.
    """

    __slots__ = ()

    called: ClassVar[str] = "state"

    def form(self) -> Form:
        """What is kept of it."""
        raise NotImplementedError

    def state(self) -> State:
        """Where it stands; what it does later does not change it."""
        return state_of(self, self.form())

    def restore(self, state: State) -> None:
        """Goes on from a `state`.

        Raises
        ------
        StateError
        """
        restore(self, self.form(), state, self.called)


def state_of(owner: Any, form: Form) -> State:
    """The attributes of a form."""
    return {name.lstrip("_"): _taken(getattr(owner, name)) for name in form}


def restore(owner: Any, form: Form, state: State, called: str = "state") -> None:
    """Sets the attributes of a form, once all of them pass; called: as messages name the state.

    Raises
    ------
    StateError
    """
    checks = {name.lstrip("_"): check for name, check in form.items()}
    schemas.checked(state, schemas.fields(**checks), called)
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
