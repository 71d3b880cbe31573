# SPDX-License-Identifier: BSD-3-Clause
# Numbers in order, those that differ, and places among them.

cdef struct Placed:
    double value
    int64_t place


cdef int by_value(const void* x, const void* y) noexcept nogil:
    cdef const Placed* p = <const Placed*>x
    cdef const Placed* q = <const Placed*>y
    if p.value != q.value:
        return 1 if p.value > q.value else -1
    return 1 if p.place > q.place else -1


cdef Array near_values(Array a, Array at):
    """As unique gives them, of integers that are not far apart; None of others."""
    cdef Py_ssize_t k, n = a.dims[0], found = 0
    cdef int64_t low = whole(a.data + a._place(-1) * a.steps[0], a.code)
    cdef int64_t width = whole(a.data + a._place(1) * a.steps[0], a.code) - low + 1
    cdef Array out, turns
    cdef int64_t* turn
    if width > 4 * n:
        return None
    turns = fresh(I8, width)
    turn = <int64_t*>turns.data
    for k in range(n):
        turn[whole(a.data + k * a.steps[0], a.code) - low] = 1
    for k in range(width):
        found += turn[k]
    out, found = fresh(a.code, found), 0
    for k in range(width):
        if turn[k]:
            turn[k] = found
            put_whole(out.data + found * SIZES[a.code], a.code, k + low)
            found += 1
    for k in range(n):
        (<int64_t*>at.data)[k] = turn[whole(a.data + k * a.steps[0], a.code) - low]
    return out


def unique(Array a, return_inverse=False):
    """The numbers there are, rising, and where each one of the array is among them."""
    cdef Py_ssize_t k, n = a.dims[0], found = 0
    cdef Array out, at = fresh(I8, n)
    cdef Placed* sorted
    if a.ndim != 1:
        raise NumpyNeeded("unique")
    if a.code == I4 and n:
        out = near_values(a, at)
        if out is not None:
            return (out, at) if return_inverse else out
    out = fresh(a.code, n)
    sorted = <Placed*>malloc((n + 1) * sizeof(Placed))
    if sorted == NULL:
        raise MemoryError
    try:
        for k in range(n):
            sorted[k].value, sorted[k].place = real(a.data + k * a.steps[0], a.code), k
            if not finite(sorted[k].value):
                raise NumpyNeeded("unique")
        qsort(sorted, n, sizeof(Placed), by_value)
        for k in range(n):
            if k and sorted[k].value != sorted[k - 1].value:
                found += 1
            if not k or sorted[k].value != sorted[k - 1].value:
                memcpy(out.data + found * SIZES[a.code],
                       a.data + sorted[k].place * a.steps[0], SIZES[a.code])
            (<int64_t*>at.data)[sorted[k].place] = found
    finally:
        free(sorted)
    names = out[:found + 1 if n else 0]
    return (names, at) if return_inverse else names


def searchsorted(Array a, values, side="left"):
    """Where values go among the rising numbers of an array."""
    cdef Array v = asarray(values), out
    cdef Py_ssize_t k, low, high, middle
    cdef double value, there
    cdef bint right = side == "right"
    if a.ndim != 1 or v.ndim != 1 or (a.code >= F4) != (v.code >= F4):
        raise NumpyNeeded("searchsorted")
    out = fresh(I8, v.dims[0])
    for k in range(v.dims[0]):
        value, low, high = real(v.data + k * v.steps[0], v.code), 0, a.dims[0]
        while low < high:
            middle = (low + high) // 2
            there = real(a.data + middle * a.steps[0], a.code)
            if there < value or (right and there == value):
                low = middle + 1
            else:
                high = middle
        (<int64_t*>out.data)[k] = low
    return out


def argsort(Array a):
    """Of numbers that rise already."""
    cdef Py_ssize_t k
    if a.ndim != 1 or a.code != F8:
        raise NumpyNeeded("argsort")
    for k in range(a.dims[0]):
        if k and not real(a.data + (k - 1) * a.steps[0], F8) < real(a.data + k * a.steps[0], F8):
            raise NumpyNeeded("argsort")
    return arange(a.dims[0])
