# SPDX-License-Identifier: BSD-3-Clause
# sources: csrc/budget/budget.cc csrc/budget/budget_centres.cc csrc/budget/budget_visits.cc
# sources: csrc/budget/budget_code.cc csrc/budget/merge_table.cc
# libraries: svmcut_kernel_rows
"""Budgeted training; see csrc/include/budget.h."""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t

from svmcut.spec import schemas

from abi.budget cimport *
from svmcut._native.kernels cimport kernel_of
from svmcut._native.sparse cimport Rows
from svmcut._native.status cimport served
from svmcut._native.weights cimport weights_of


MAINTENANCE = ("merge", "project", "remove")
SAMPLING = ("shuffled", "independent", "adaptive")
COUNTS = ("steps", "moves", "maintained", "removed", "evaluations", "epoch", "position",
          "scheduled", "centres", "scale", "sum_alpha", "mean_gain")


def _first(array):
    """Address of the first number, 0 where there is none."""
    return array.ctypes.data if array.size else 0


cdef class Budget:
    """f = sum_k beta_k K(z_k, .) over at most `budget` centres, and the coefficients of the
    examples behind it.

    Parameters
    ----------
    X : Csr
        (n, d) points, 1 <= n < 2^31; their arrays are shared and must not change.
    y : (n,) float64
        Labels, whose sign counts; targets with a tube.
    kernel : Kernel
    C : float
        Weight of one example's loss.
    budget : int
        Most centres.
    dual : bool
        Coordinate ascent in the dual, or else stochastic gradient steps in the primal.
    maintenance : {"merge", "project", "remove"}
    sampling : {"shuffled", "independent", "adaptive"}
    seed : int
    append : bool
        As in the papers, an example becomes one more centre though it is one already.
    threads : int
        Of scores and of what is set up.
    instructions : {0, 1, 2}
        Fastest, portable, AVX2.
    weights : (n,) float64 or None
        Of the examples' losses; None for 1 each. In the dual an example's C is C weights_i; in the
        primal it is visited as often as its weight says, an epoch being n visits.
    tube : float or None
        Of the epsilon-insensitive loss of targets; None for the hinge.

    Raises
    ------
    MemoryError
    """

    cdef object X
    cdef const double[::1] _y, _weights
    cdef Rows _rows
    cdef svmcut_budget_options _options
    cdef svmcut_budget* _run
    cdef public int threads

    def __cinit__(self, X, const double[::1] y, kernel, double C, int64_t budget, bint dual=True,
                  maintenance="merge", sampling="shuffled", uint64_t seed=0, bint append=False,
                  int threads=1, int instructions=0, const double[::1] weights=None, tube=None):
        cdef svmcut_kernel K = kernel_of(kernel)
        self.X, self._rows, self.threads, self._y = X, Rows(X), threads, y
        if not 1 <= self._rows.csr.n_rows < 2**31 or y.shape[0] != self._rows.csr.n_rows:
            raise ValueError("y does not fit the rows, or they are too many")
        if budget < 1 or not C > 0:
            raise ValueError("budget and C must be positive")
        self._options.dual, self._options.append = dual, append
        self._options.maintenance = MAINTENANCE.index(maintenance)
        self._options.sampling = SAMPLING.index(sampling)
        self._options.budget, self._options.C, self._options.seed = budget, C, seed
        self._options.tube = -1.0 if tube is None else tube
        if maintenance == "merge" and kernel.name != "rbf":
            raise ValueError("centres of the rbf kernel alone can be merged")
        if sampling == "adaptive" and not dual:
            raise ValueError("adaptive frequencies need the gains of the dual")
        cdef const double* v = weights_of(weights, self._rows.csr.n_rows)
        if weights is not None and np.all(np.asarray(weights) == 1):
            v = NULL  # the draws are then those without
        self._weights = weights
        with nogil:
            self._run = svmcut_budget_new(&self._rows.csr, &y[0], v, &K, &self._options, threads,
                                          instructions)
        if self._run == NULL:
            raise MemoryError(f"no memory for {budget} centres of {X.n_features} features")

    def __dealloc__(self):
        if self._run != NULL:
            svmcut_budget_delete(self._run)

    cdef svmcut_budget_state _read(self):
        cdef svmcut_budget_state state
        svmcut_budget_read(self._run, &state)
        return state

    def counts(self):
        """The numbers named in COUNTS, a dict: visits, those that moved f, maintenance, kernel
        values, ..."""
        return self._read()

    def run(self, int64_t steps, double seconds=1e300):
        """Goes on for so many visits, or until so many seconds have passed; returns the visits
        made."""
        cdef int status
        cdef int64_t before = self._read().steps
        with nogil:
            status = svmcut_budget_run(self._run, steps, seconds)
        if status != SVMCUT_OK:
            raise MemoryError(f"no memory for {self._read().centres} centres "
                              f"of {self.X.n_features} features")
        return self._read().steps - before

    def expansion(self):
        """(m, d) float32 centres and (m,) float64 coefficients."""
        cdef svmcut_budget_state state = self._read()
        arrays = {"Z": np.empty((state.centres, self.X.n_features), np.float32),
                  "beta": np.empty(state.centres)}
        self._save(arrays)
        return arrays["Z"], arrays["beta"] * state.scale

    cdef svmcut_budget_arrays _arrays(self, arrays):
        cdef svmcut_budget_arrays to
        places = {name: _first(array) for name, array in arrays.items()}
        to.centres = <float*><size_t>places.get("Z", 0)
        to.beta = <double*><size_t>places.get("beta", 0)
        to.owner = <int32_t*><size_t>places.get("owner", 0)
        to.alpha = <float*><size_t>places.get("alpha", 0)
        to.preference = <float*><size_t>places.get("preference", 0)
        to.credit = <float*><size_t>places.get("credit", 0)
        to.schedule = <int32_t*><size_t>places.get("schedule", 0)
        to.factor = <double*><size_t>places.get("factor", 0)
        to.rank = <int32_t*><size_t>places.get("rank", 0)
        return to

    cdef _save(self, arrays):
        cdef svmcut_budget_arrays to = self._arrays(arrays)
        svmcut_budget_save(self._run, &to)

    def _shapes(self, counts):
        n, m = self.X.n_rows, counts["centres"]
        shapes = {"Z": ((m, self.X.n_features), np.float32), "beta": ((m,), np.float64),
                  "owner": ((m,), np.int32)}
        if self._options.dual:
            shapes["alpha"] = ((n,), np.float32)
        if SAMPLING[self._options.sampling] == "adaptive":
            shapes |= {"preference": ((n,), np.float32), "credit": ((n,), np.float32),
                       "schedule": ((counts["scheduled"],), np.int32)}
        if MAINTENANCE[self._options.maintenance] == "project":
            shapes |= {"factor": ((m * (m + 1) // 2,), np.float64), "rank": ((m,), np.int32)}
        return shapes

    def state(self):
        """All that a run goes on from: the counts, and arrays."""
        counts = self._read()
        arrays = {name: np.empty(shape, dtype)
                  for name, (shape, dtype) in self._shapes(counts).items()}
        self._save(arrays)
        return counts | arrays

    def _check(self, state):
        n, count, real = self.X.n_rows, schemas.COUNT, schemas.REAL
        adaptive = SAMPLING[self._options.sampling] == "adaptive"
        kinds = dict.fromkeys(COUNTS, count) | {
            "epoch": schemas.count(-1), "centres": schemas.count(0, self._options.budget),
            "scale": schemas.real(1e-300, 1e300), "sum_alpha": real, "mean_gain": real,
        }
        schemas.checked(state, schemas.fields(**kinds))
        begun = state["epoch"] >= 0
        least, most = (1, 100 * n) if adaptive and begun else (n * begun, n * begun)
        schemas.checked(state, schemas.fields(
            scheduled=schemas.count(least, most),
            position=schemas.count(0, state["scheduled"])))
        bounds = {
            "alpha": (0 if self._options.tube < 0 else None, None), "preference": (1e-3, 1e3),
            "credit": (0, 1), "owner": (-1, n - 1),
            "schedule": (0, n - 1), "rank": (0, state["centres"] - 1),
        }
        for name, (shape, dtype) in self._shapes(state).items():
            low, high = bounds.get(name, (None, None))
            kind = schemas.array(dtype, *shape, low=low, high=high, distinct=name == "rank")
            schemas.checked(state, schemas.fields(**{name: kind}))
        owned = state["owner"][state["owner"] >= 0]
        schemas.checked(owned, schemas.array(np.int32, None, distinct=True), "owner")
        schemas.require(not (self._options.append and owned.size), "owner and centres", "no owners")

    def restore(self, state):
        """Goes back to a state of a run with the same arguments.

        Raises
        ------
        StateError
            For a state that does not fit.
        """
        cdef svmcut_budget_state counts
        cdef svmcut_budget_arrays arrays
        cdef int status
        self._check(state)
        counts = {name: state[name] for name in COUNTS}
        held = {name: np.ascontiguousarray(state[name], dtype)
                for name, (_, dtype) in self._shapes(state).items()}
        arrays = self._arrays(held)
        with nogil:
            status = svmcut_budget_restore(self._run, &counts, &arrays)
        if status != SVMCUT_OK:
            raise MemoryError(
                f"no memory for {counts.centres} centres of {self.X.n_features} features")

    def scores(self, X, rows=None):
        """(q,) float64 f(x_r) of the rows of X that are named, or of all."""
        cdef Rows points = Rows(X)
        cdef const int64_t[::1] which = None
        cdef const int64_t* start = NULL
        cdef int64_t count = points.csr.n_rows
        cdef int status = SVMCUT_OK
        if rows is not None:
            rows = np.ascontiguousarray(rows, np.int64)
            count = len(rows)
            if count and not (rows.min() >= 0 and rows.max() < points.csr.n_rows):
                raise IndexError(f"rows must be numbers from 0 to {points.csr.n_rows - 1}")
            which = rows
            start = &which[0] if count else NULL
        cdef double[::1] out = np.empty(count)
        if count:
            with nogil:
                status = svmcut_budget_scores(self._run, &points.csr, start, count, self.threads,
                                              &out[0])
        if status != SVMCUT_OK:
            raise MemoryError(f"no memory for scores of {count} rows")
        return np.asarray(out)

    def squared_norm(self):
        """|f|^2; O(m^2) kernel values."""
        cdef double squared = 0
        cdef int status
        with nogil:
            status = svmcut_budget_norm(self._run, &squared)
        served(status)
        return squared


def merge_table(int threads=1):
    """(400, 400) float32: what merging loses at m = i / 798 and kappa = k / 399, as a part of the
    smaller weight."""
    cdef float[:, ::1] table = np.empty((400, 400), np.float32)
    if svmcut_merge_table(&table[0, 0], threads) != 400:
        raise AssertionError("the table has another size")
    return np.asarray(table)


def merge_place(double m, double kappa):
    """h in [0, 1/2] of the best merged point h x_a + (1 - h) x_j, for the weight m <= 1/2 of x_a
    and kappa = K(x_a, x_j)."""
    return svmcut_merge_place(m, kappa)
