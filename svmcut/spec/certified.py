# SPDX-License-Identifier: BSD-3-Clause
"""Whether the tags of a chain can have a certificate. Standard library only."""

from __future__ import annotations

from svmcut.errors import UsageError
from svmcut.spec.entries import TAGS
from svmcut.spec.parameters import Settings


def certifies_tags(settings: Settings) -> bool:
    """Whether parameter certify is for a chain on features, whose model keeps a certificate.

    Raises
    ------
    UsageError
        Where none can be had.
    """
    if settings.labels != TAGS or settings.has_kernel:
        return False
    if settings.certify and settings.beam:
        raise UsageError("{certify} needs all labellings of a sequence; leave out {beam}")
    if settings.certify and settings.quick:
        raise UsageError("{certify} needs a gap, which {quick} does not aim at; leave one out")
    return True
