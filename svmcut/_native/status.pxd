# SPDX-License-Identifier: BSD-3-Clause
# What the C++ side answers, as exceptions.

from abi.svmcut cimport *


cdef inline int served(int status) except -1:
    """The status, where it is no failure: all is done, or a signal or a limit ended it early."""
    if status == SVMCUT_NO_MEMORY:
        raise MemoryError
    if status == SVMCUT_BAD_INPUT:
        raise ValueError("numbers that are out of range or not finite")
    return status
