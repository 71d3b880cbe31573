# SPDX-License-Identifier: BSD-3-Clause

from abi.kernels cimport *


cdef inline svmcut_kernel kernel_of(kernel) except *:
    """A Kernel as the C++ side sees it."""
    cdef svmcut_kernel K
    # values that are given are features, of which support vectors name one each: x.z
    K.number, K.degree = 0 if kernel.is_given else kernel.number, kernel.degree
    K.gamma, K.scale, K.offset = kernel.gamma, kernel.scale, kernel.offset
    return K
