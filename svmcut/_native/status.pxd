# SPDX-License-Identifier: BSD-3-Clause
# What the C++ side answers, as exceptions.

cdef extern from "include/svmcut.h" nogil:
    int SVMCUT_NO_MEMORY
    int SVMCUT_BAD_INPUT


cdef inline int served(int status) except -1:
    """The status, where it is no failure: all is done, or a signal or a limit ended it early."""
    if status == SVMCUT_NO_MEMORY:
        raise MemoryError
    if status == SVMCUT_BAD_INPUT:
        raise ValueError("numbers that are out of range or not finite")
    return status
