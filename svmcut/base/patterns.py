# SPDX-License-Identifier: BSD-3-Clause
"""Regular expressions that are compiled when they are first used: a start has no use for most of
them, nor for the module that compiles them."""

from __future__ import annotations

from svmcut.base.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from re import Pattern as Pattern
    from re import compile as pattern
else:

    class Pattern:
        """As `re.compile` gives one; flags stand in the text."""

        def __init__(self, text: str | bytes):
            self._text = text

        def __getattr__(self, name: str) -> Any:
            import re

            value = self.__dict__[name] = getattr(re.compile(self._text), name)
            return value

    pattern = Pattern
