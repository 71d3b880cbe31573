# SPDX-License-Identifier: BSD-3-Clause
"""Regular expressions that are compiled at first use: small runs need few of them, and not the
module that compiles them."""

from __future__ import annotations

from svmcut.base.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from re import Pattern as Pattern
    from re import compile as pattern
else:

    class Pattern:
        """A pattern as `re.compile` makes it; flags are written in the text."""

        def __init__(self, text: str | bytes):
            self._text = text

        def __getattr__(self, name: str) -> Any:
            import re

            value = self.__dict__[name] = getattr(re.compile(self._text), name)
            return value

    pattern = Pattern
