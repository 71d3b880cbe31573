# SPDX-License-Identifier: BSD-3-Clause

cdef const int* cancel_flag() noexcept
cdef int serve() except -1
