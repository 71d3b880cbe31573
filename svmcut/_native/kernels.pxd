# SPDX-License-Identifier: BSD-3-Clause

from libc.stdint cimport int32_t


cdef extern from "include/kernels.h" nogil:
    ctypedef struct svmcut_kernel:
        int32_t number
        int32_t degree
        double gamma
        double scale
        double offset


cdef inline svmcut_kernel kernel_of(kernel) except *:
    """A Kernel as the C++ side sees it."""
    cdef svmcut_kernel K
    # values that are given are features, of which support vectors name one each: x.z
    K.number, K.degree = 0 if kernel.is_given else kernel.number, kernel.degree
    K.gamma, K.scale, K.offset = kernel.gamma, kernel.scale, kernel.offset
    return K
