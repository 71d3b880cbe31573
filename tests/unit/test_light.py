# SPDX-License-Identifier: BSD-3-Clause
"""Arrays without NumPy: every operation gives NumPy's bytes, and what is not there is said."""

import inspect
import math

import numpy as np
import pytest

from svmcut._native import light
from svmcut.spec import later

RNG = np.random.default_rng(5)
LENGTHS = (0, 1, 7, 8, 9, 127, 128, 129, 300, 1000, 4097)


def given(n=60, kind="float64"):
    if kind == "bool":
        return RNG.random(n) < 0.5
    values = RNG.normal(size=n) * 10.0 ** RNG.integers(-3, 4, n)
    return values.astype(kind) if kind.startswith("float") else (10 * values).astype(kind)


def same(found, wanted):
    """Whether two results have the same type, shape and bytes; a number of Python's is one of
    NumPy's."""
    if not isinstance(found, light.Array):
        return type(found) in (int, float, bool, tuple) and found == wanted
    copy = np.asarray(memoryview(found))
    wanted = np.asarray(wanted)
    return (
        copy.dtype == wanted.dtype
        and copy.shape == wanted.shape
        and (copy.tobytes() == wanted.tobytes())
    )


def both(do, *arrays):
    """What a function gives of NumPy's arrays, and of these."""
    return do(light, *map(light.array, arrays)), do(np, *[each.copy() for each in arrays])


@pytest.mark.parametrize("n", LENGTHS)
def test_sums_are_numpys_to_the_last_bit(n):
    x = given(2 * n)
    assert same(*both(lambda np, x: np.sum(x[:n]), x))
    assert same(*both(lambda np, x: x[::2].sum(), x))


TWO = {
    "+": lambda np, x, y: x + y,
    "-": lambda np, x, y: x - y,
    "*": lambda np, x, y: x * y,
    "/": lambda np, x, y: x / y,
    "==": lambda np, x, y: x == y,
    "<": lambda np, x, y: x < y,
    ">=": lambda np, x, y: x >= y,
    "minimum": lambda np, x, y: np.minimum(x, y),
    "maximum": lambda np, x, y: np.maximum(x, y),
    "where": lambda np, x, y: np.where(x > y, x, y),
    "concatenate": lambda np, x, y: np.concatenate([x, y]),
}


@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "int32"])
def test_two_arrays(name, kind):
    x, y = given(kind=kind), given(kind=kind)
    y[y == 0] = 1
    assert same(*both(TWO[name], x, y))


@pytest.mark.parametrize(
    "kinds", [("float32", "float64"), ("int32", "int64"), ("int32", "float32")]
)
def test_types_meet_as_in_numpy(kinds):
    x, y = (given(kind=kind) for kind in kinds)
    for name in ("+", "*", "<"):
        assert same(*both(TWO[name], x, y))


def near(np, x):
    """Integers that are not far apart, some of them often."""
    places = np.flatnonzero(x > 0).astype(np.int32)
    return np.concatenate([places[5:], places[:9], places[3:]])


def extremes(x):
    return x.max(), x.min(), x.argmax(), x.argmin()


ONE = {
    "a number": lambda np, x: (x + 2.5) * 3,
    "a number before": lambda np, x: 1.5 - x / 4.0,
    "float32 beside a number": lambda np, x: x.astype(np.float32) >= 0.1,
    "negative": lambda np, x: -x,
    "abs": lambda np, x: abs(x),
    "a part": lambda np, x: x[3:-2],
    "every third": lambda np, x: x[1::3] + 1.0,
    "truths": lambda np, x: x[(x > 0) & ~(x > 5) | (x == 0)],
    "places": lambda np, x: x[np.flatnonzero(x > 0)],
    "a list": lambda np, x: x[[0, -1]],
    "nonzeros": lambda np, x: np.count_nonzero(x > 1),
    "most": lambda np, x: (x.max(), x.min(), x.argmax(), x.argmin()),
    "append": lambda np, x: np.append(x, 0.0),
    "unique": lambda np, x: np.unique(np.where(x > 0, 3.0, x)),
    "inverse": lambda np, x: np.unique(np.where(x > 0, 3.0, x), return_inverse=True)[1],
    "unique of few": lambda np, x: np.unique(np.where(x > 0, -0.0, 1.0)),
    "inverse of few": lambda np, x: np.unique(np.where(x > 0, 2.0, 1.0), return_inverse=True)[1],
    "unique of near": lambda np, x: np.unique(near(np, x), return_inverse=True)[0],
    "inverse of near": lambda np, x: np.unique(near(np, x), return_inverse=True)[1],
    "unique of far": lambda np, x: np.unique(np.array([7, 10**9, 7, -3], np.int32)),
    "where of float32": lambda np, x: np.where(
        x > 0, x.astype(np.float32), (-x).astype(np.float32)
    ),
    "most of float32": lambda np, x: extremes(x.astype(np.float32)),
    "most of int32": lambda np, x: extremes(near(np, x)),
    "most of every third": lambda np, x: extremes(x[1::3]),
    "finite": lambda np, x: np.isfinite(np.where(x > 0, x, float("inf"))),
    "searched": lambda np, x: np.searchsorted(np.unique(x), x[::5], side="right"),
    "close": lambda np, x: (bool(np.allclose(x, x + 1e-9)), bool(np.allclose(x, x + 1.0))),
    "rows": lambda np, x: np.cumsum(np.flatnonzero(x > 0)),
    "counts": lambda np, x: np.bincount(np.flatnonzero(x > 0), minlength=70),
    "weighed": lambda np, x: np.bincount(np.flatnonzero(x > -1e9), weights=x),
    "arange": lambda np, x: np.arange(0, len(x), 7),
    "roots": lambda np, x: np.sqrt(abs(x)),
    "reciprocal": lambda np, x: np.reciprocal(x),
    "shape": lambda np, x: np.shape(x),
    "bytes": lambda np, x: (x > 0).view(np.uint8),
}


@pytest.mark.parametrize("name", ONE)
def test_one_array(name):
    found, wanted = both(ONE[name], given())
    if isinstance(found, tuple):
        assert found == wanted
    else:
        assert same(found, wanted)


def written(np, x):
    """An array that was written to in all ways there are."""
    x[2], x[5:8] = 1.5, 0.25
    x[x > 9] = -1.0
    x[np.flatnonzero(x < 0)] = x[x < 0] * 2.0
    x += 1.0
    x[10:] *= 2.0
    np.multiply(x, 3.0, out=x)
    np.divide(x, x - x[0], out=x, where=x != x[0])
    np.negative(x, out=x)
    np.copyto(x[:4], x[4:8])
    largest = np.zeros(3)
    np.maximum.at(largest, np.array([0, 1, 0, 2]), x[:4])
    x[:3] = largest
    return x


def test_writing():
    assert same(*both(written, given()))


def squares(np, x):
    """Parts of a matrix, as a bundle of cuts takes them."""
    H = np.zeros((6, 6))
    H[0, 0] = 2.0
    H[2, 1:4] = H[1:4, 2] = x[:3]
    H[:2, :2] = H[1:3, 1:3]
    rows = np.array([0, 2, 3])
    return np.concatenate([H[rows][:, rows][1, :], np.diagonal(H)[:4], H[:, 3]])


def test_matrices():
    assert same(*both(squares, given()))


MATRIX = {
    "a row": lambda np, M: M[3] + M[-1],
    "rows": lambda np, M: M[2:9:3],
    "turned": lambda np, M: M.T[1:3],
    "ravelled": lambda np, M: M[:, 1:3].ravel(),
    "ravelled as it lies": lambda np, M: M.ravel(),
    "another shape": lambda np, M: M.reshape(-1).reshape((10, 6)),
    "one column": lambda np, M: M[:, 2].copy().reshape(-1, 1),
    "a number a row": lambda np, M: M[np.arange(12), (M[:, 0] > 0).astype(np.int32)],
    "most of rows": lambda np, M: np.maximum(M.max(axis=1), -M.min(axis=1)),
    "places of the most": lambda np, M: np.argmax(M, axis=1),
    "places of equal ones": lambda np, M: np.argmax((M > 0).astype(np.int64), axis=1),
    "any of rows": lambda np, M: (M > 3).any(axis=1),
    "sums of columns": lambda np, M: M.sum(axis=0),
    "sums of counts": lambda np, M: (M > 0).astype(np.int64).sum(axis=1),
    "sums of counts of columns": lambda np, M: (M > 0).astype(np.int64).sum(axis=0),
    "all counts": lambda np, M: int((M > 0).astype(np.int64).sum()),
    "finite": lambda np, M: np.isfinite(M / (M - M[3, 2] + 0.0)),
    "not finite": lambda np, M: ~np.isfinite(np.multiply(M, 1e308) * 10.0),
    "bytes": lambda np, M: (M > 0).view(np.uint8),
    "below": lambda np, M: np.vstack([M, M[0]]),
    "beside": lambda np, M: np.column_stack([M.T, M[0]]),
    "repeated": lambda np, M: np.repeat(M[1], 3),
    "differences": lambda np, M: np.diff(np.flatnonzero(M > 0)),
    "repeated by counts": lambda np, M: np.repeat(M[1], np.diff(np.array([0, 2, 2, 5, 6, 9]))),
    "used": lambda np, M: np.flatnonzero(M > 0) // 5,
    "whole": lambda np, M: np.round(np.append(M[0] * 100, [0.5, 1.5, -2.5])),
    "cut": lambda np, M: np.trunc(M[0] * 100),
    "in order": lambda np, M: np.argsort(np.unique(M.ravel())),
    "from one on": lambda np, M: np.arange(1.0, 7),
    "wider": lambda np, M: np.append(M[0], [1.0] * 0),
    "close": lambda np, M: bool(np.allclose(M, M + 1e-9)),
    "nested": lambda np, M: np.array(M.tolist()[3]),
    "by rows": lambda np, M: np.concatenate([row for row in M]),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", MATRIX)
def test_matrices_are_numpys(name):
    M = given().reshape(12, 5)
    if name == "finite":
        M[3, 2] = math.inf
        M[3, 1] = 1.0
    assert same(*both(MATRIX[name], M))


def written_rows(np, M):
    M[2] = (1.0, 2.0, 3.0, 4.0, 5.0)
    M[4:6] = M[7:9]
    M[:, 1] = 0.5
    M[:, 2:4] = M[:, 3:5]
    M[9] = M[1].astype(np.float32)
    M.ravel()[3] = -7.0
    M.T[0][5] = 11.0
    return M


def test_writing_rows():
    assert same(*both(written_rows, given().reshape(12, 5)))


LACKING_OF_MATRICES = (
    lambda np, M: M.__setitem__((np.arange(2), np.arange(2)), 0.0),
    lambda np, M: M.__setitem__((slice(None), np.arange(2)), 0.0),
    lambda np, M: M.T.reshape(-1),
    lambda np, M: M.sum(axis=1),
    lambda np, M: M.sum(),
    lambda np, M: M.any(axis=0),
    lambda np, M: np.argsort(M[0]),
    lambda np, M: M[0] // 2,
    lambda np, M: np.append(float("nan") * M[0], M[0]).reshape(2, 5).max(axis=1),
    lambda np, M: np.argmax((float("nan") * M), axis=1),
    lambda np, M: np.column_stack([M, M]),
    lambda np, M: np.vstack([M, M[0][:2]]),
)


@pytest.mark.parametrize("do", LACKING_OF_MATRICES)
def test_what_matrices_lack_is_said(do):
    M = light.array(given()).reshape(12, 5)
    with pytest.raises((later.NumpyNeeded, AttributeError, TypeError)):
        do(light, M)


LACKING = (
    lambda np, x: np.append(x, float("nan")).max(),
    lambda np, x: np.append(float("nan") * x[:1], x).min(),
    lambda np, x: np.append(x, float("nan")).astype(np.float32).min(),
    lambda np, x: x @ x,
    lambda np, x: np.linalg,
    lambda np, x: x[None],
    lambda np, x: x + x[:-1],
    lambda np, x: x + np.array([1.0]),
    lambda np, x: x.astype(np.int64),
    lambda np, x: np.sqrt(x),
    lambda np, x: np.unique(x / (x - x)),
    lambda np, x: x.reshape(2, -1),
    lambda np, x: np.array([1, 2.0]),
    lambda np, x: x.mean(),
)


@pytest.mark.parametrize("do", LACKING)
def test_what_is_not_there_is_said(do):
    x = light.array(given())
    with pytest.raises((later.NumpyNeeded, AttributeError, TypeError)):
        do(light, x)


def test_a_view_keeps_its_memory():
    x = light.array(given(1000))
    part = memoryview(x[10:20])
    first = part[0]
    del x
    assert part[0] == first and math.isfinite(first)


def test_names_are_numpys_again():
    with later.without_numpy(light):
        assert later.numpy.zeros is light.zeros
        with pytest.raises(later.NumpyNeeded, match="linalg"):
            later.numpy.linalg.norm([1.0])
    assert later.numpy.zeros is np.zeros


def test_programs_that_look_at_functions_may_look_at_types():
    """As those that write pages of a module do."""
    assert light.int32 not in (type, object)
    assert not inspect.isbuiltin(light.int32)
    with pytest.raises(ValueError):
        inspect.signature(light.int32)


@pytest.mark.parametrize("name", ["+", "-", "*", "/", "minimum", "maximum"])
def test_strides_numbers_and_nans_in_lines_of_reals(name):
    x, y = given(40), given(40)
    x[3] = y[5] = math.nan
    x[7], y[7] = -0.0, 0.0
    for do in (
        lambda np, x, y: TWO[name](np, x[::2], y[1::2]),
        lambda np, x, y: TWO[name](np, x, 2.5),
        lambda np, x, y: TWO[name](np, 0.5, y),
        lambda np, x, y: TWO[name](np, x[::-1], y),
    ):
        with np.errstate(all="ignore"):
            assert same(*both(do, x, y))


def test_zeros_and_copies_in_place():
    def filled(np, x):
        x[2:9] = 0.0
        x[20:25] = -0.0
        x[::3] = 0.0
        x[30:40] = x[25:35]
        return x

    assert same(*both(filled, given(60)))
