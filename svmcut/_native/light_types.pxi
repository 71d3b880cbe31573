# SPDX-License-Identifier: BSD-3-Clause
# Types of numbers, the memory of an array, and one number of it.

cdef enum:
    BOOL, I4, I8, F4, F8, BYTE

cdef Py_ssize_t* SIZES = [1, 4, 8, 4, 8, 1]
cdef char* _FORMATS = "?\0i\0q\0f\0d\0B"  # a NUL behind each
_NAMES = ("bool", "int32", "int64", "float32", "float64", "uint8")


cdef class DType:
    """A type of numbers.

    Attributes
    ----------
    itemsize : int
        Bytes of a number.
    kind : str
        "f", "i" or "b".
    """

    cdef int code
    cdef readonly int itemsize
    cdef readonly str kind

    def __init__(self, int code):
        self.code, self.itemsize, self.kind = code, <int>SIZES[code], "biiffu"[code]

    def __eq__(self, other):
        if other is type or other is object:  # as inspect asks of anything that is called
            return False
        return self.code == code_of(other)

    def __hash__(self):
        return self.code

    def __call__(self, value):
        return float(value) if self.code >= F4 else int(value)

    def __str__(self):
        return _NAMES[self.code]


bool_, int32, int64, float32, float64, uint8 = map(DType, range(6))
intp = int64
_DTYPES = (bool_, int32, int64, float32, float64, uint8)


cdef int code_of(dtype) except -1:
    if isinstance(dtype, DType):
        return (<DType>dtype).code
    if dtype is float or dtype is None:
        return F8
    if dtype is int:
        return I8
    if dtype is bool:
        return BOOL
    if dtype in _NAMES:
        return _NAMES.index(dtype)
    raise NumpyNeeded(str(dtype))


def dtype(of):
    """The type itself."""
    return _DTYPES[code_of(of)]


cdef class Memory:
    """Bytes of an array, or those that another object owns."""

    cdef char* data
    cdef Py_buffer view
    cdef bint lent

    def __dealloc__(self):
        if self.lent:
            PyBuffer_Release(&self.view)
        else:
            free(self.data)


cdef inline double real(const char* at, int code) noexcept nogil:
    if code == F8:
        return (<const double*>at)[0]
    if code == F4:
        return (<const float*>at)[0]
    return <double>whole(at, code)


cdef inline int64_t whole(const char* at, int code) noexcept nogil:
    if code == I8:
        return (<const int64_t*>at)[0]
    if code == I4:
        return (<const int32_t*>at)[0]
    return (<const unsigned char*>at)[0]


cdef inline void put(char* at, int code, double value) noexcept nogil:
    if code == F8:
        (<double*>at)[0] = value
    else:
        (<float*>at)[0] = <float>value


cdef inline void put_whole(char* at, int code, int64_t value) noexcept nogil:
    if code == I8:
        (<int64_t*>at)[0] = value
    elif code == I4:
        (<int32_t*>at)[0] = <int32_t>value
    elif code == BOOL:
        (<unsigned char*>at)[0] = value != 0
    else:
        put(at, code, <double>value)
