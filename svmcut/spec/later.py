# SPDX-License-Identifier: BSD-3-Clause
"""NumPy, imported when something of it is first asked for.

    from svmcut.spec.later import numpy as np

A run that needs none of it, such as one that scores a small file, ends sooner than NumPy is
imported. So do modules write that such a run imports for something else.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as numpy
else:

    class _Later:
        """A module whose names are looked up once."""

        def __getattr__(self, name):
            import numpy

            found = self.__dict__[name] = getattr(numpy, name)
            return found

    numpy = _Later()
