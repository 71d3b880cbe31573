# SPDX-License-Identifier: BSD-3-Clause
"""The few operations on arrays that a small linear run needs, to the last bit as NumPy has them.

svmcut.spec.later offers them under NumPy's names while a run may end without NumPy, whose import
takes several times what training on a small file does. Whatever is not here raises `NumpyNeeded`,
an operation of other types or shapes too: nothing is ever done nearly as NumPy does it. Arrays have
one dimension or two and are views where NumPy's are.
"""

import builtins
import math

from cpython.buffer cimport (PyBUF_FORMAT, PyBUF_ND, PyBUF_SIMPLE, PyBUF_STRIDES, PyBuffer_Release,
                             PyObject_GetBuffer)
from libc.math cimport fabs, isfinite as finite, rint, sqrt as root, trunc as cut
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free, malloc, qsort
from libc.string cimport memcpy, memmove, memset

from svmcut.spec.later import NumpyNeeded

include "light_types.pxi"
include "light_arrays.pxi"
include "light_elements.pxi"
include "light_order.pxi"


def zeros(shape, dtype=float):
    if not isinstance(shape, tuple):
        return fresh(code_of(dtype), shape)
    if len(shape) == 1:
        return fresh(code_of(dtype), shape[0])
    if len(shape) != 2:
        raise NumpyNeeded("zeros")
    return fresh(code_of(dtype), shape[0], shape[1])


empty = zeros


def zeros_like(Array a):
    return like(a, a.code)


empty_like = zeros_like


def ones(shape, dtype=float):
    return full(shape, 1, dtype)


def full(shape, value, dtype=float):
    out = zeros(shape, dtype)
    copyto(out, float(value) if code_of(dtype) >= F4 else int(value))
    return out


def array(values, dtype=None):
    cdef Array out
    cdef Py_ssize_t k
    if isinstance(values, Array):
        return converted(values, (<Array>values).code if dtype is None else code_of(dtype))
    if not isinstance(values, (list, tuple)):
        return converted(borrowed(values), borrowed(values).code if dtype is None
                         else code_of(dtype))
    kinds = {type(value) for value in values}
    if not kinds <= {int, float} or (dtype is None and len(kinds) != 1):
        raise NumpyNeeded("a list")
    out = fresh(code_of(kinds.pop() if dtype is None else dtype), len(values))
    for k in range(len(values)):
        store(out.data + k * out.steps[0], out.code, values[k])
    return out


cdef Array borrowed(values):
    """A view of what has a buffer of numbers."""
    cdef Memory memory = Memory()
    cdef Array out = Array.__new__(Array)
    PyObject_GetBuffer(values, &memory.view, PyBUF_FORMAT | PyBUF_STRIDES)
    memory.lent = True
    text = memory.view.format.decode() if memory.view.format != NULL else "B"
    codes = {"?": BOOL, "i": I4, "q": I8, "l": I8, "f": F4, "d": F8}
    if text not in codes or memory.view.ndim not in (1, 2):
        raise NumpyNeeded("a buffer")
    out.code, out.ndim, out.memory = codes[text], memory.view.ndim, memory
    if SIZES[out.code] != memory.view.itemsize:
        raise NumpyNeeded("a buffer")
    out.data = <char*>memory.view.buf
    cdef int k
    for k in range(out.ndim):
        out.dims[k], out.steps[k] = memory.view.shape[k], memory.view.strides[k]
    return out


def asarray(values, dtype=None):
    cdef Array a
    if isinstance(values, Array):
        a = values
        return a if dtype is None or a.code == code_of(dtype) else converted(a, code_of(dtype))
    if isinstance(values, (list, tuple)):
        return array(values, dtype)
    a = borrowed(values)
    return a if dtype is None or a.code == code_of(dtype) else converted(a, code_of(dtype))


def ascontiguousarray(values, dtype=None):
    cdef Array a = asarray(values, dtype)
    return a if a.packed() else converted(a, a.code)


def frombuffer(memory, dtype):
    """(n,) numbers of this type in the bytes of another object."""
    cdef Memory lent = Memory()
    cdef Array out = Array.__new__(Array)
    PyObject_GetBuffer(memory, &lent.view, PyBUF_SIMPLE)
    lent.lent = True
    out.code, out.ndim, out.memory = code_of(dtype), 1, lent
    out.data, out.steps[0] = <char*>lent.view.buf, SIZES[out.code]
    out.dims[0] = lent.view.len // SIZES[out.code]
    return out


def copyto(Array out, value):
    """Fills out with a number, or an array of its type and shape."""
    cdef Array a, x, y
    cdef Py_ssize_t i, j
    y = lines(out)
    if not isinstance(value, Array):
        if not value and out.packed() and isinstance(value, (int, float)) and (
                math.copysign(1.0, value) > 0):
            memset(out.data, 0, out.nbytes)
            return
        for i in range(y.dims[0]):
            for j in range(y.dims[1]):
                store(y.data + i * y.steps[0] + j * y.steps[1], out.code, value)
        return
    a = value
    if a.code == F4 and out.code == F8:
        a = converted(a, F8)
    if a.code != out.code or a.shape != out.shape:
        raise NumpyNeeded("an assignment")
    if a.memory is out.memory and a.data != out.data:
        a = array(a)
    if a.packed() and out.packed():
        memmove(out.data, a.data, a.nbytes)
        return
    x = lines(a)
    for i in range(y.dims[0]):
        for j in range(y.dims[1]):
            memmove(y.data + i * y.steps[0] + j * y.steps[1],
                    x.data + i * x.steps[0] + j * x.steps[1], SIZES[out.code])


cdef into(Array found, out):
    if out is None:
        return found
    copyto(out, found)
    return out


def add(x, y, out=None):
    return into(binary(b"+", x, y), out)


def subtract(x, y, out=None):
    return into(binary(b"-", x, y), out)


def multiply(x, y, out=None):
    return into(binary(b"*", x, y), out)


def minimum(x, y, out=None):
    return into(binary(b"<", x, y), out)


def negative(Array x, out=None):
    return into(-x, out)


def divide(x, y, out=None, where=None):
    """Where a truth is false the number of out stays."""
    cdef Array found = binary(b"/", x, y), kept, truth
    cdef Py_ssize_t k
    if where is None or where is True:
        return into(found, out)
    kept, truth = out, where
    if truth.code != BOOL or kept.code != found.code or not (
            kept.ndim == found.ndim == truth.ndim == 1) or not (
            kept.dims[0] == found.dims[0] == truth.dims[0]):
        raise NumpyNeeded("divide")
    for k in range(kept.dims[0]):
        if truth.data[k * truth.steps[0]]:
            put(kept.data + k * kept.steps[0], kept.code, real(found.data + k * found.steps[0],
                                                               found.code))
    return kept


def reciprocal(x, out=None):
    return into(binary(b"/", 1.0, x), out)


class maximum:
    """The larger one of two numbers."""

    def __new__(cls, x, y, out=None):
        return into(binary(b">", x, y), out)

    @staticmethod
    def at(Array out, Array where, Array values):
        """out[where[k]] becomes what is larger, that or values[k]."""
        cdef Array rows = places(where, out.dims[0])
        cdef const int64_t* at = <const int64_t*>rows.data
        cdef Py_ssize_t k
        cdef char* old
        cdef double value
        if out.code != values.code or out.code < F4 or rows.dims[0] != values.dims[0]:
            raise NumpyNeeded("maximum.at")
        for k in range(rows.dims[0]):
            old, value = out.data + at[k] * out.steps[0], real(values.data + k * values.steps[0],
                                                               values.code)
            put(old, out.code, operated(b">", real(old, out.code), value))


def absolute(x):
    if not isinstance(x, Array):
        return builtins.abs(x)
    cdef Array out = array(x), y = lines(out)
    cdef Py_ssize_t i, j
    cdef char* at
    for i in range(y.dims[0]):
        for j in range(y.dims[1]):
            at = y.data + i * y.steps[0] + j * y.steps[1]
            if out.code >= F4:
                put(at, out.code, fabs(real(at, out.code)))
            else:
                put_whole(at, out.code, builtins.abs(whole(at, out.code)))
    return out


abs = absolute
inf = math.inf


def sqrt(x, out=None):
    cdef Array a
    cdef Py_ssize_t k
    cdef double value
    if not isinstance(x, Array):
        if not x >= 0:
            raise NumpyNeeded("sqrt")
        return root(x)
    a = array(x)
    if a.ndim != 1 or a.code != F8:
        raise NumpyNeeded("sqrt")
    for k in range(a.dims[0]):
        value = real(a.data + k * a.steps[0], F8)
        if not value >= 0:
            raise NumpyNeeded("sqrt")
        put(a.data + k * a.steps[0], F8, root(value))
    return into(a, out)


def sum(x):
    return x.sum()


def max(x, *others):
    return x.max() if isinstance(x, Array) else builtins.max(x, *others)


def min(x, *others):
    return x.min() if isinstance(x, Array) else builtins.min(x, *others)


def any(x):
    return x.any()


def all(x):
    return x.all()


def argmax(x, axis=None):
    if axis is None:
        return x.argmax()
    cdef Array a = x, out = fresh(I8, a.dims[0])
    cdef Py_ssize_t i, j, best
    cdef double value, most
    if axis != 1 or a.ndim != 2 or not a.dims[1]:
        raise NumpyNeeded("argmax")
    for i in range(a.dims[0]):
        most, best = real(a.data + i * a.steps[0], a.code), 0
        for j in range(a.dims[1]):
            value = real(a.data + i * a.steps[0] + j * a.steps[1], a.code)
            if value != value:
                raise NumpyNeeded("nan")
            if value > most:
                most, best = value, j
        (<int64_t*>out.data)[i] = best
    return out


def shape(x):
    if isinstance(x, Array):
        return x.shape
    raise NumpyNeeded("shape")


def count_nonzero(Array a):
    cdef Array x = lines(a)
    cdef Py_ssize_t i, j, found = 0
    for i in range(x.dims[0]):
        for j in range(x.dims[1]):
            found += real(x.data + i * x.steps[0] + j * x.steps[1], a.code) != 0
    return found


def flatnonzero(Array a):
    a = a.ravel()
    cdef Py_ssize_t k, at = 0
    cdef Array out = fresh(I8, count_nonzero(a))
    for k in range(a.dims[0]):
        if real(a.data + k * a.steps[0], a.code) != 0:
            (<int64_t*>out.data)[at] = k
            at += 1
    return out


def isfinite(x):
    if not isinstance(x, Array):
        return math.isfinite(x)
    cdef Array a = lines(x), out = like(x, BOOL)
    cdef Py_ssize_t i, j
    for i in range(a.dims[0]):
        for j in range(a.dims[1]):
            out.data[i * a.dims[1] + j] = finite(
                real(a.data + i * a.steps[0] + j * a.steps[1], a.code)) != 0
    return out


def append(Array a, values):
    if isinstance(values, list):
        values = array(values, a.dtype)
    cdef Array b = values if isinstance(values, Array) else full(
        1, values, _DTYPES[F8 if isinstance(values, float) else I8])
    if a.code != b.code and not (a.code == F8 and not isinstance(values, Array)):
        raise NumpyNeeded("append")
    return concatenate([a, converted(b, a.code)])


def concatenate(parts):
    cdef Array out, part
    cdef Py_ssize_t at = 0, n = 0
    given = [each if isinstance(each, Array) else array(each) for each in parts]
    for part in given:
        if part.ndim != 1 or part.code != (<Array>given[0]).code:
            raise NumpyNeeded("concatenate")
        n += part.dims[0]
    out = fresh((<Array>given[0]).code, n)
    for part in given:
        copyto(out[at:at + part.dims[0]], part)
        at += part.dims[0]
    return out


cdef Array rounded(Array x, bint down):
    """Float64 numbers to whole ones: towards 0, or halves to the even one."""
    cdef Array out = array(x)
    cdef Py_ssize_t k
    cdef double* values = <double*>out.data
    if x.ndim != 1 or x.code != F8:
        raise NumpyNeeded("round")
    for k in range(x.dims[0]):
        values[k] = cut(values[k]) if down else rint(values[k])
    return out


def round(x):
    return rounded(x, False)


def trunc(x):
    return rounded(x, True)


def column_stack(parts):
    """A column behind those of two dimensions."""
    cdef Array rows = parts[0], column = parts[1], out
    if len(parts) != 2 or rows.ndim != 2 or column.ndim != 1 or rows.code != column.code or (
            rows.dims[0] != column.dims[0]):
        raise NumpyNeeded("column_stack")
    out = fresh(rows.code, rows.dims[0], rows.dims[1] + 1)
    copyto(out[:, :rows.dims[1]], rows)
    copyto(out[:, rows.dims[1]], column)
    return out


def diff(Array a):
    """By how much every whole number is above the one before."""
    if a.ndim != 1 or a.code != I8 or not a.dims[0]:
        raise NumpyNeeded("diff")
    return a[1:] - a[:a.dims[0] - 1]


def repeat(Array a, count):
    """Every number of one dimension so many times; count: (n,) or one for all."""
    cdef Array counts = count if isinstance(count, Array) else full(a.dims[0], count, int), out
    cdef Py_ssize_t k, at = 0, size = SIZES[a.code]
    if a.ndim != 1 or counts.code != I8 or counts.shape != a.shape or counts.size and (
            counts.min() < 0):
        raise NumpyNeeded("repeat")
    out = fresh(a.code, counts.sum())
    for k in range(a.dims[0]):
        for _ in range((<int64_t*>(counts.data + k * counts.steps[0]))[0]):
            memcpy(out.data + at * size, a.data + k * a.steps[0], size)
            at += 1
    return out


def vstack(parts):
    """Rows of two dimensions and of one below one another."""
    rows = [lines(part) for part in parts]
    cdef Array part, out, first = rows[0]
    cdef Py_ssize_t at = 0, n = builtins.sum([len(part) for part in rows])
    out = fresh(first.code, n, first.dims[1])
    for part in rows:
        if part.code != first.code or part.dims[1] != first.dims[1]:
            raise NumpyNeeded("vstack")
        copyto(out[at:at + part.dims[0]], part)
        at += part.dims[0]
    return out


def where(Array truth, x, y):
    cdef Py_ssize_t k
    cdef int code
    cdef Array a, b, out
    if truth.code != BOOL or truth.ndim != 1:
        raise NumpyNeeded("where")
    if isinstance(x, Array) or isinstance(y, Array):
        code = common(x, y)
    else:
        code = F8 if isinstance(x, float) or isinstance(y, float) else I8
    a = x if isinstance(x, Array) else full(truth.dims[0], x, _DTYPES[code])
    b = y if isinstance(y, Array) else full(truth.dims[0], y, _DTYPES[code])
    if a.code != code or b.code != code or not a.dims[0] == b.dims[0] == truth.dims[0]:
        raise NumpyNeeded("where")
    out = fresh(code, truth.dims[0])
    for k in range(truth.dims[0]):
        memcpy(out.data + k * SIZES[code], a.data + k * a.steps[0]
               if truth.data[k * truth.steps[0]] else b.data + k * b.steps[0], SIZES[code])
    return out


def broadcast_to(value, Py_ssize_t n):
    """A number n times, in the memory of one."""
    cdef Array out = array([value])
    out.dims[0], out.steps[0] = n, 0
    return out


def arange(*ends, dtype=None):
    cdef Array out
    cdef Py_ssize_t k
    if isinstance(ends[0], float) and len(ends) == 2:
        out = fresh(F8, builtins.max(0, math.ceil(ends[1] - ends[0])))
        for k in range(out.dims[0]):
            (<double*>out.data)[k] = <double>ends[0] + k
        return out
    steps = range(*ends)
    out = fresh(I8 if dtype is None else code_of(dtype), len(steps))
    for k in range(len(steps)):
        put_whole(out.data + k * out.steps[0], out.code, steps[k])
    return out


def cumsum(Array a, out=None):
    if a.ndim != 1 or a.code not in (I4, I8):
        raise NumpyNeeded("cumsum")
    cdef Array found = fresh(I8, a.dims[0])
    cdef Py_ssize_t k
    cdef int64_t total = 0
    for k in range(a.dims[0]):
        total += whole(a.data + k * a.steps[0], a.code)
        (<int64_t*>found.data)[k] = total
    return into(found, out)


def diagonal(Array a):
    if a.ndim != 2 or a.dims[0] != a.dims[1]:
        raise NumpyNeeded("diagonal")
    cdef Array out = a.line(0, 0)
    out.steps[0] = a.steps[0] + a.steps[1]
    return out


def bincount(Array a, weights=None, int64_t minlength=0):
    if a.ndim != 1 or a.code >= F4:
        raise NumpyNeeded("bincount")
    cdef int64_t most = a.max() + 1 if a.dims[0] else 0
    cdef Array v, out
    cdef Py_ssize_t k
    if a.dims[0] and a.min() < 0:
        raise NumpyNeeded("bincount")
    out = fresh(I8 if weights is None else F8, most if most > minlength else minlength)
    v = None if weights is None else asarray(weights, float)
    if v is not None and (v.ndim != 1 or v.dims[0] != a.dims[0]):
        raise NumpyNeeded("bincount")
    for k in range(a.dims[0]):
        at = whole(a.data + k * a.steps[0], a.code)
        if v is None:
            (<int64_t*>out.data)[<int64_t>at] += 1
        else:
            (<double*>out.data)[<int64_t>at] += real(v.data + k * v.steps[0], F8)
    return out


def allclose(x, y, double rtol=1e-5, double atol=1e-8):
    """Whether no number differs from that of y by more than atol and rtol times it."""
    cdef Array a, b
    cdef Py_ssize_t k
    cdef double p, q
    if not isinstance(x, Array) and not isinstance(y, Array):
        return builtins.abs(x - y) <= atol + rtol * builtins.abs(y)
    a, b = x, y
    if a.shape != b.shape:
        raise NumpyNeeded("allclose")
    a, b = a.ravel(), b.ravel()
    for k in range(a.dims[0]):
        p, q = real(a.data + k * a.steps[0], a.code), real(b.data + k * b.steps[0], b.code)
        if not (finite(p) and finite(q)):
            raise NumpyNeeded("allclose")
        if fabs(p - q) > atol + rtol * fabs(q):
            return False
    return True


class errstate:
    """Nothing: no operation here says what NumPy would warn of."""

    def __init__(self, **what):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        return None
