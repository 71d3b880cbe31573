# SPDX-License-Identifier: BSD-3-Clause
# Sums of numbers, and operations element by element.

cdef double pairwise(const char* at, Py_ssize_t n, Py_ssize_t step) noexcept:
    """The sum of float64 numbers in NumPy's order."""
    cdef double[8] r
    cdef double total
    cdef Py_ssize_t k, j, half
    if n < 8:
        total = -0.0
        for k in range(n):
            total += (<const double*>(at + k * step))[0]
        return total
    if n <= 128:
        for j in range(8):
            r[j] = (<const double*>(at + j * step))[0]
        k = 8
        while k < n - n % 8:
            for j in range(8):
                r[j] += (<const double*>(at + (k + j) * step))[0]
            k += 8
        total = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
        while k < n:
            total += (<const double*>(at + k * step))[0]
            k += 1
        return total
    half = n // 2
    half -= half % 8
    return pairwise(at, half, step) + pairwise(at + half * step, n - half, step)


cdef class Pair:
    """Two operands as arrays of one shape; that of a number has steps of 0."""

    cdef Array a, b, shape

    def __init__(self, a, b):
        self.shape = a if isinstance(a, Array) else b
        self.a, self.b = self.side(a), self.side(b)
        cdef Array x, y
        if isinstance(a, Array) and isinstance(b, Array):
            x, y = a, b
            if x.ndim != y.ndim or x.dims[0] != y.dims[0] or (
                    x.ndim == 2 and x.dims[1] != y.dims[1]):
                raise NumpyNeeded("shapes that differ")

    cdef Array side(self, value):
        cdef Array out
        if isinstance(value, Array):
            return lines(value)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise NumpyNeeded(type(value).__name__)
        out = fresh(F8 if isinstance(value, float) else I8, 1, 1)
        store(out.data, out.code, value)
        out.steps[0] = out.steps[1] = 0
        return out


cdef int code_at(x):
    return (<Array>x).code if isinstance(x, Array) else F8


cdef int common(x, y) except -1:
    """The type that an operation of two operands has."""
    cdef int a, b
    if BYTE in (code_at(x), code_at(y)):
        raise NumpyNeeded("bytes")
    if not isinstance(x, Array):
        return common(y, x)
    a = (<Array>x).code
    if isinstance(y, Array):
        b = (<Array>y).code
        if a == b:
            return a
        if (a == F4 or b == F4) and (a in (I4, I8) or b in (I4, I8)):
            return F8
        return a if a > b else b
    if isinstance(y, float):
        return a if a >= F4 else F8
    return I8 if a == BOOL else a


cdef Array binary(bytes name, x, y):
    """x + y, and alike."""
    cdef Pair of = Pair(x, y)
    cdef char what = name[0]
    cdef int code = common(x, y)
    if code == BOOL:
        raise NumpyNeeded("sums of truths")
    if what == b"/" and code < F4:
        code = F8
    cdef Array out = like(of.shape, code), z = lines(out), a = of.a, b = of.b
    cdef Py_ssize_t i, j
    cdef const char* p
    cdef const char* q
    cdef char* r
    cdef bint real_lines = a.code == F8 and b.code == F8 and (
        a.steps[1] in (0, SIZES[F8]) and b.steps[1] in (0, SIZES[F8]))
    for i in range(z.dims[0]):
        if real_lines:
            real_line(what, <const double*>(a.data + i * a.steps[0]), a.steps[1] != 0,
                      <const double*>(b.data + i * b.steps[0]), b.steps[1] != 0,
                      <double*>(z.data + i * z.steps[0]), z.dims[1])
            continue
        for j in range(z.dims[1]):
            p = a.data + i * a.steps[0] + j * a.steps[1]
            q = b.data + i * b.steps[0] + j * b.steps[1]
            r = z.data + i * z.steps[0] + j * z.steps[1]
            if code >= F4:
                put(r, code, operated(what, operand(p, a.code, code), operand(q, b.code, code)))
            else:
                put_whole(r, code, operated_whole(what, whole(p, a.code), whole(q, b.code)))
    return out


cdef void real_line(char what, const double* x, Py_ssize_t p, const double* y, Py_ssize_t q,
                    double* z, Py_ssize_t n) noexcept nogil:
    """z[k] of x[k p] and y[k q]."""
    cdef Py_ssize_t k
    if what == b"+":
        for k in range(n):
            z[k] = x[k * p] + y[k * q]
    elif what == b"-":
        for k in range(n):
            z[k] = x[k * p] - y[k * q]
    elif what == b"*":
        for k in range(n):
            z[k] = x[k * p] * y[k * q]
    else:
        for k in range(n):
            z[k] = operated(what, x[k * p], y[k * q])


cdef inline double operand(const char* at, int own, int code) noexcept nogil:
    """A number as the type of the result has it."""
    cdef double value = real(at, own)
    return <float>value if code == F4 else value


cdef inline double operated(char what, double x, double y) noexcept nogil:
    if what == b"+":
        return x + y
    if what == b"-":
        return x - y
    if what == b"*":
        return x * y
    if what == b"<":
        return x if x < y or x != x else y
    if what == b">":
        return x if x > y or x != x else y
    return ratio(x, y)


cdef extern from *:
    """static inline double ratio(double x, double y) { return x / y; }"""
    double ratio(double x, double y) noexcept nogil


cdef inline int64_t operated_whole(char what, int64_t x, int64_t y) noexcept nogil:
    if what == b"+":
        return x + y
    if what == b"-":
        return x - y
    if what == b"<":
        return x if x < y else y
    if what == b">":
        return x if x > y else y
    return x * y


cdef Array compared(bytes name, x, y):
    cdef Pair of = Pair(x, y)
    cdef char what = name[0]
    cdef int code = common(x, y)
    cdef Array out = like(of.shape, BOOL), z = lines(out), a = of.a, b = of.b
    cdef Py_ssize_t i, j
    cdef double p, q
    cdef bint found
    for i in range(z.dims[0]):
        for j in range(z.dims[1]):
            p = operand(a.data + i * a.steps[0] + j * a.steps[1], a.code, code)
            q = operand(b.data + i * b.steps[0] + j * b.steps[1], b.code, code)
            if what == b"=":
                found = p == q
            elif what == b"!":
                found = p != q
            elif what == b"<":
                found = p < q
            elif what == b"l":
                found = p <= q
            elif what == b">":
                found = p > q
            else:
                found = p >= q
            z.data[i * z.steps[0] + j * z.steps[1]] = found
    return out


cdef Array logical(bytes name, x, y):
    cdef Array a, b, out
    cdef Py_ssize_t k
    cdef char what = name[0], p, q
    if not (isinstance(x, Array) and isinstance(y, Array)):
        raise NumpyNeeded("truths")
    a, b = x, y
    if a.code != BOOL or b.code != BOOL or a.shape != b.shape:
        raise NumpyNeeded("truths")
    out, a, b = like(a, BOOL), a.ravel(), b.ravel()
    for k in range(a.dims[0]):
        p, q = a.data[k], b.data[k]
        out.data[k] = p & q if what == b"&" else p | q if what == b"|" else p ^ q
    return out
