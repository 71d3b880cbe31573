# SPDX-License-Identifier: BSD-3-Clause
"""NumPy, imported when something of it is first asked for.

    from svmcut.spec.later import numpy as np

A run that needs none of it, such as one that scores a small file, ends sooner than NumPy is
imported. So do modules write that such a run imports for something else. Within `without_numpy` the
same names are those of what it is given, svmcut._native.light, which has what training of a linear
machine on a small file needs; no module may keep anything of it that a later run would find.
"""

from __future__ import annotations

import contextlib
import sys

from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class NumpyNeeded(BaseException):
    """What only NumPy has was asked for within `without_numpy`; no handler of failures takes it."""


@contextlib.contextmanager
def without_numpy(source: Any) -> Iterator[None]:
    """Within it names of NumPy are those of this module.

    Raises
    ------
    NumpyNeeded
        By what is not there.
    """
    before, _Later.source = _Later.source, source
    for name in [*vars(numpy)]:
        delattr(numpy, name)
    try:
        yield
    finally:
        _Later.source = before


def is_numpy_loaded() -> bool:
    """Whether nothing is to be gained without it."""
    return "numpy" in sys.modules


class _Later:
    """A module whose names are looked up once."""

    source = None

    def __getattr__(self, name):
        if self.source is not None:
            try:
                return getattr(self.source, name)
            except AttributeError:
                raise NumpyNeeded(name) from None
        import numpy

        value = self.__dict__[name] = getattr(numpy, name)
        return value


if TYPE_CHECKING:
    import numpy as numpy
else:
    numpy = _Later()

#: Values from which on looking for those that differ takes longer than an import.
_MANY = 1 << 18


def distinct(values: Any) -> Any:
    """The values of an array that differ, rising: np.unique, which imports numpy.ma unless places
    are asked for, and that takes a tenth of a small run."""
    if len(values) > _MANY:
        return numpy.unique(values)
    return numpy.unique(values, return_inverse=True)[0]
