# SPDX-License-Identifier: BSD-3-Clause
# Arrays of one dimension or two, and their parts.

ctypedef fused number:
    double
    float
    int32_t


cdef Py_ssize_t extreme(const number* values, Py_ssize_t n, int sign) noexcept nogil:
    """Where the first of the largest or least of values side by side is, with one comparison of
    each, for there may be as many as entries; -1 where one is none."""
    cdef Py_ssize_t k, best = 0
    cdef number most = values[0]
    if number is not int32_t and most != most:
        return -1
    for k in range(n if sign > 0 else 0):
        if not values[k] <= most:
            if number is not int32_t and values[k] != values[k]:
                return -1
            most, best = values[k], k
    for k in range(0 if sign > 0 else n):
        if not values[k] >= most:
            if number is not int32_t and values[k] != values[k]:
                return -1
            most, best = values[k], k
    return best


cdef class Array:
    """Numbers of one type, as numpy.ndarray.

    Attributes
    ----------
    ndim, size, nbytes, shape, dtype
        As there.
    """

    cdef char* data
    cdef Memory memory
    cdef int code
    cdef readonly int ndim
    cdef Py_ssize_t[2] dims
    cdef Py_ssize_t[2] steps

    def __getbuffer__(self, Py_buffer* view, int flags):
        if not self.packed() and not flags & PyBUF_STRIDES:
            raise BufferError("the array is not contiguous")
        view.buf, view.obj, view.len = self.data, self, self.size * SIZES[self.code]
        view.readonly, view.itemsize = 0, SIZES[self.code]
        view.format = NULL
        if flags & PyBUF_FORMAT:
            view.format = _FORMATS + 2 * self.code
        view.ndim, view.internal = self.ndim, NULL
        view.suboffsets = view.shape = view.strides = <Py_ssize_t*>NULL
        if flags & PyBUF_ND:
            view.shape = self.dims
        if flags & PyBUF_STRIDES == PyBUF_STRIDES:
            view.strides = self.steps

    cdef bint packed(self) noexcept:
        """Whether the numbers lie one behind the other."""
        cdef Py_ssize_t size = SIZES[self.code]
        if self.ndim == 2:
            return (self.dims[1] <= 1 or self.steps[1] == size) and (
                self.dims[0] <= 1 or self.steps[0] == size * self.dims[1])
        return self.dims[0] <= 1 or self.steps[0] == size

    @property
    def size(self):
        return self.dims[0] * (self.dims[1] if self.ndim == 2 else 1)

    @property
    def nbytes(self):
        return self.size * SIZES[self.code]

    @property
    def shape(self):
        if self.ndim == 2:
            return self.dims[0], self.dims[1]
        return (self.dims[0],)

    @property
    def dtype(self):
        return _DTYPES[self.code]

    def __len__(self):
        return self.dims[0]

    def __bool__(self):
        if self.size != 1:
            raise NumpyNeeded("bool")
        return bool(self.flat()[0])

    cdef list flat(self):
        cdef Array packed = ascontiguousarray(self)
        cdef Py_ssize_t k, size = SIZES[self.code]
        return [scalar(packed.data + k * size, self.code) for k in range(packed.size)]

    def tolist(self):
        """The numbers as a list, of two dimensions one a row."""
        if self.ndim == 2:
            return [row.tolist() for row in self]
        return self.flat()

    def __iter__(self):
        if self.ndim == 2:
            return iter([self[k] for k in range(self.dims[0])])
        return iter(self.flat())

    # -- parts ---------------------------------------------------------------------------------

    def __getitem__(self, key):
        if self.ndim == 2:
            return self.part_of_two(key)
        if isinstance(key, slice):
            return self.sliced(key, 0)
        if isinstance(key, (Array, list)):
            return self.taken(places(asarray(key), self.dims[0]))
        if isinstance(key, int):
            return scalar(self.data + index(key, self.dims[0]) * self.steps[0], self.code)
        raise NumpyNeeded("an index")

    cdef part_of_two(self, key):
        if isinstance(key, Array):
            return self.taken_lines(places(key, self.dims[0]), 0)
        if isinstance(key, slice):
            return self.sliced(key, 0)
        if isinstance(key, int):
            return self.line(index(key, self.dims[0]) * self.steps[0], 1)
        if not isinstance(key, tuple) or len(key) != 2:
            raise NumpyNeeded("an index of two dimensions")
        rows, columns = key
        cdef Array out
        if isinstance(rows, Array) and isinstance(columns, Array):
            return self.taken_pairs(places(rows, self.dims[0]), places(columns, self.dims[1]))
        if isinstance(columns, Array) and isinstance(rows, slice):
            out = self.sliced(rows, 0)
            return out.taken_lines(places(columns, self.dims[1]), 1)
        if isinstance(rows, slice) and isinstance(columns, slice):
            return (<Array>self.sliced(rows, 0)).sliced(columns, 1)
        if isinstance(rows, int) and isinstance(columns, int):
            return scalar(self.data + index(rows, self.dims[0]) * self.steps[0]
                          + index(columns, self.dims[1]) * self.steps[1], self.code)
        if isinstance(rows, int):
            out = self.line(index(rows, self.dims[0]) * self.steps[0], 1)
            return out.sliced(columns, 0)
        if isinstance(columns, int):
            out = self.line(index(columns, self.dims[1]) * self.steps[1], 0)
            return out.sliced(rows, 0)
        raise NumpyNeeded("an index of two dimensions")

    cdef Array line(self, Py_ssize_t offset, int axis):
        cdef Array out = Array.__new__(Array)
        out.data, out.memory, out.code, out.ndim = self.data + offset, self.memory, self.code, 1
        out.dims[0], out.steps[0] = self.dims[axis], self.steps[axis]
        return out

    cdef Array sliced(self, key, int axis):
        start, stop, step = key.indices(self.dims[axis])
        cdef Array out = Array.__new__(Array)
        out.memory, out.code, out.ndim = self.memory, self.code, self.ndim
        out.dims, out.steps = self.dims, self.steps
        out.data = self.data + <Py_ssize_t>start * self.steps[axis]
        out.dims[axis] = len(range(start, stop, step))
        out.steps[axis] = self.steps[axis] * <Py_ssize_t>step
        return out

    cdef Array taken(self, Array rows):
        cdef Py_ssize_t k, n = rows.dims[0], size = SIZES[self.code]
        cdef const int64_t* at = <const int64_t*>rows.data
        cdef Array out = fresh(self.code, n)
        for k in range(n):
            memcpy(out.data + k * size, self.data + at[k] * self.steps[0], size)
        return out

    cdef Array taken_pairs(self, Array rows, Array columns):
        """One number of each row and column."""
        cdef Py_ssize_t k, n = rows.dims[0], size = SIZES[self.code]
        cdef const int64_t* i = <const int64_t*>rows.data
        cdef const int64_t* j = <const int64_t*>columns.data
        cdef Array out = fresh(self.code, n)
        if columns.dims[0] != n:
            raise NumpyNeeded("an index of two dimensions")
        for k in range(n):
            memcpy(out.data + k * size, self.data + i[k] * self.steps[0] + j[k] * self.steps[1],
                   size)
        return out

    cdef Array taken_lines(self, Array places, int axis):
        """Rows or columns, copied."""
        cdef Py_ssize_t[2] dims
        cdef Py_ssize_t i, j, size = SIZES[self.code]
        cdef const int64_t* at = <const int64_t*>places.data
        dims[0], dims[1] = self.dims[0], self.dims[1]
        dims[axis] = places.dims[0]
        cdef Array out = fresh(self.code, dims[0], dims[1])
        for i in range(dims[0]):
            for j in range(dims[1]):
                memcpy(out.data + i * out.steps[0] + j * out.steps[1],
                       self.data + (i if axis else at[i]) * self.steps[0]
                       + (at[j] if axis else j) * self.steps[1], size)
        return out

    def __setitem__(self, key, value):
        cdef char* at = self.data
        if self.ndim == 1 and isinstance(key, int):
            store(at + index(key, self.dims[0]) * self.steps[0], self.code, value)
        elif isinstance(key, Array):
            self.put_at(places(key, self.dims[0]), value)
        elif self.ndim == 2 and isinstance(key, tuple) and isinstance(key[0], int) and (
                isinstance(key[1], int)):
            at += index(key[0], self.dims[0]) * self.steps[0]
            store(at + index(key[1], self.dims[1]) * self.steps[1], self.code, value)
        elif isinstance(key, tuple) and (isinstance(key[0], Array) or isinstance(key[1], Array)):
            raise NumpyNeeded("an assignment")
        else:
            copyto(self[key], array(value, self.dtype) if isinstance(value, tuple) else value)

    cdef put_at(self, Array rows, value):
        if self.ndim != 1:
            raise NumpyNeeded("an index")
        cdef Py_ssize_t k, n = rows.dims[0], size = SIZES[self.code]
        cdef const int64_t* at = <const int64_t*>rows.data
        cdef Array values
        if not isinstance(value, Array):
            for k in range(n):
                store(self.data + at[k] * self.steps[0], self.code, value)
            return
        values = value
        if values.code != self.code or values.ndim != 1 or values.dims[0] != n:
            raise NumpyNeeded("an assignment")
        for k in range(n):
            memcpy(self.data + at[k] * self.steps[0], values.data + k * values.steps[0], size)

    def copy(self):
        """A copy whose numbers lie one behind the other."""
        return array(self)

    def astype(self, wanted):
        """A copy of this type."""
        return converted(self, code_of(wanted))

    def view(self, wanted):
        """Truths as bytes."""
        cdef Array out
        if self.code != BOOL or code_of(wanted) != BYTE:
            raise NumpyNeeded("view")
        out = self.sliced(slice(None), 0)
        out.code = BYTE
        return out

    def reshape(self, *shape):
        """Of numbers one behind the other, as one dimension or two."""
        if len(shape) == 1 and isinstance(shape[0], tuple):
            shape = shape[0]
        cdef Py_ssize_t rows = shape[0], columns = shape[1] if len(shape) == 2 else 1
        if not self.packed() or len(shape) > 2 or columns < 1:
            raise NumpyNeeded("reshape")
        rows = self.size // columns if rows == -1 else rows
        if rows * columns != self.size:
            raise NumpyNeeded("reshape")
        cdef Array out = Array.__new__(Array)
        out.data, out.memory, out.code, out.ndim = self.data, self.memory, self.code, len(shape)
        out.dims[0], out.dims[1] = rows, columns
        out.steps[1] = SIZES[self.code]
        out.steps[0] = columns * out.steps[1]
        return out

    def ravel(self):
        """The numbers one behind the other; a view where they lie so."""
        return ascontiguousarray(self).reshape(self.size)

    @property
    def T(self):
        """Columns for rows."""
        if self.ndim != 2:
            raise NumpyNeeded("T")
        cdef Array out = self.sliced(slice(None), 0)
        out.dims[0], out.dims[1] = self.dims[1], self.dims[0]
        out.steps[0], out.steps[1] = self.steps[1], self.steps[0]
        return out

    # -- sums ----------------------------------------------------------------------------------

    def sum(self, axis=None):
        cdef Py_ssize_t k
        cdef int64_t count = 0
        cdef Array total
        if axis == 0 and self.ndim == 2 and self.code == F8 and self.dims[0] and self.packed():
            total = self[0].copy()
            for k in range(1, self.dims[0]):
                total += self[k]
            return total
        if self.ndim == 2 and self.code in (I4, I8):
            if axis is None:
                return self.ravel().sum()
            return array([row.sum() for row in (self if axis else self.T)], int)
        if axis is not None or self.ndim != 1 or self.code == F4:
            raise NumpyNeeded("sum")
        if self.code == F8:
            return 0.0 + pairwise(self.data, self.dims[0], self.steps[0])
        for k in range(self.dims[0]):
            count += whole(self.data + k * self.steps[0], self.code)
        return count

    def max(self, axis=None):
        return self._extreme(1, axis)

    def min(self, axis=None):
        return self._extreme(-1, axis)

    def _extreme(self, int sign, axis):
        if axis is not None:
            if axis != 1 or self.ndim != 2 or self.code != F8:
                raise NumpyNeeded("max")
            return array([row.max() if sign > 0 else row.min() for row in self], float)
        cdef Py_ssize_t k = self._place(sign)
        return scalar(self.data + k * self.steps[0], self.code)

    def argmax(self):
        return self._place(1)

    def argmin(self):
        return self._place(-1)

    cdef Py_ssize_t _place(self, int sign) except -1:
        """Where the first of the largest or least numbers is."""
        if self.ndim != 1 or not self.dims[0]:
            raise NumpyNeeded("max")
        cdef Py_ssize_t k, best = 0
        cdef double value, most = real(self.data, self.code)
        if self.steps[0] == SIZES[self.code] and self.code in (F8, F4, I4):
            if self.code == F8:
                best = extreme(<const double*>self.data, self.dims[0], sign)
            elif self.code == F4:
                best = extreme(<const float*>self.data, self.dims[0], sign)
            else:
                best = extreme(<const int32_t*>self.data, self.dims[0], sign)
            if best < 0:
                raise NumpyNeeded("nan")
            return best
        for k in range(self.dims[0]):
            value = real(self.data + k * self.steps[0], self.code)
            if value != value:
                raise NumpyNeeded("nan")
            if sign * value > sign * most:
                most, best = value, k
        return best

    def all(self):
        return count_nonzero(self) == self.size

    def any(self, axis=None):
        if axis is None:
            return count_nonzero(self) > 0
        if axis != 1 or self.ndim != 2:
            raise NumpyNeeded("any")
        cdef Array out = fresh(BOOL, self.dims[0])
        cdef Py_ssize_t i, j
        for i in range(self.dims[0]):
            for j in range(self.dims[1]):
                if real(self.data + i * self.steps[0] + j * self.steps[1], self.code) != 0:
                    out.data[i] = 1
                    break
        return out

    # -- element by element --------------------------------------------------------------------

    def __add__(self, other):
        return binary(b"+", self, other)

    def __radd__(self, other):
        return binary(b"+", other, self)

    def __sub__(self, other):
        return binary(b"-", self, other)

    def __rsub__(self, other):
        return binary(b"-", other, self)

    def __mul__(self, other):
        return binary(b"*", self, other)

    def __rmul__(self, other):
        return binary(b"*", other, self)

    def __truediv__(self, other):
        return binary(b"/", self, other)

    def __rtruediv__(self, other):
        return binary(b"/", other, self)

    def __floordiv__(self, other):
        if self.code not in (I4, I8) or not isinstance(other, int) or other < 1:
            raise NumpyNeeded("//")
        cdef Array out = array(self)
        cdef Py_ssize_t k
        for k in range(out.size):
            put_whole(out.data + k * SIZES[self.code], self.code,
                      whole(out.data + k * SIZES[self.code], self.code) // <int64_t>other)
        return out

    def __iadd__(self, other):
        copyto(self, binary(b"+", self, other))
        return self

    def __isub__(self, other):
        copyto(self, binary(b"-", self, other))
        return self

    def __imul__(self, other):
        copyto(self, binary(b"*", self, other))
        return self

    def __itruediv__(self, other):
        copyto(self, binary(b"/", self, other))
        return self

    def __eq__(self, other):
        return compared(b"=", self, other)

    def __ne__(self, other):
        return compared(b"!", self, other)

    def __lt__(self, other):
        return compared(b"<", self, other)

    def __le__(self, other):
        return compared(b"l", self, other)

    def __gt__(self, other):
        return compared(b">", self, other)

    def __ge__(self, other):
        return compared(b"g", self, other)

    def __and__(self, other):
        return logical(b"&", self, other)

    def __or__(self, other):
        return logical(b"|", self, other)

    def __invert__(self):
        return logical(b"^", self, ones(self.shape, bool))

    def __neg__(self):
        return binary(b"*", self, -1.0 if self.code >= F4 else -1)

    def __abs__(self):
        return absolute(self)


ndarray = Array


cdef Array fresh(int code, Py_ssize_t n, Py_ssize_t columns=-1):
    """An array whose numbers are 0."""
    cdef Array out = Array.__new__(Array)
    cdef Py_ssize_t size = SIZES[code], count = n * (columns if columns >= 0 else 1)
    if n < 0:
        raise NumpyNeeded("a negative length")
    out.memory, out.code = Memory(), code
    out.memory.data = <char*>calloc(count + 1, size)
    if out.memory.data == NULL:
        raise MemoryError
    out.data = out.memory.data
    out.ndim = 1 if columns < 0 else 2
    out.dims[0], out.steps[0] = n, size * (1 if columns < 0 else columns)
    if columns >= 0:
        out.dims[1], out.steps[1] = columns, size
    return out


cdef Array like(Array a, int code):
    return fresh(code, a.dims[0], a.dims[1] if a.ndim == 2 else -1)


cdef scalar(const char* at, int code):
    if code == BOOL:
        return at[0] != 0
    return real(at, code) if code >= F4 else whole(at, code)


cdef store(char* at, int code, value):
    if code >= F4:
        put(at, code, value)
    elif isinstance(value, int):
        put_whole(at, code, value)
    else:
        raise NumpyNeeded("an assignment")


cdef Py_ssize_t index(Py_ssize_t key, Py_ssize_t n) except -1:
    if not -n <= key < n:
        raise IndexError(key)
    return key + n if key < 0 else key


cdef Array places(Array key, Py_ssize_t n):
    """Places below n, as int64 one behind the other."""
    cdef Py_ssize_t k
    cdef int64_t* at
    cdef Array found
    if key.ndim != 1 or key.code >= F4:
        raise NumpyNeeded("an index")
    if key.code == BOOL:
        if key.dims[0] != n:
            raise IndexError(n)
        return flatnonzero(key)
    found = converted(key, I8)
    at = <int64_t*>found.data
    for k in range(found.dims[0]):
        at[k] = index(at[k], n)
    return found


cdef Array lines(Array a):
    """An array as rows of numbers: one of one dimension is one row."""
    cdef Array out
    if a.ndim == 2:
        return a
    out = Array.__new__(Array)
    out.data, out.memory, out.code, out.ndim = a.data, a.memory, a.code, 2
    out.dims[0], out.dims[1] = 1, a.dims[0]
    out.steps[0], out.steps[1] = 0, a.steps[0]
    return out


cdef Array converted(Array a, int code):
    cdef Array out = like(a, code), x = lines(a), y = lines(out)
    cdef Py_ssize_t i, j
    cdef const char* at
    if (a.code >= F4 and code < F4) or BYTE in (a.code, code):
        raise NumpyNeeded("whole numbers of reals")
    if a.code == code:
        copyto(out, a)
        return out
    for i in range(x.dims[0]):
        for j in range(x.dims[1]):
            at = x.data + i * x.steps[0] + j * x.steps[1]
            if code >= F4:
                put(y.data + i * y.steps[0] + j * y.steps[1], code, real(at, a.code))
            else:
                put_whole(y.data + i * y.steps[0] + j * y.steps[1], code, whole(at, a.code))
    return out
