# SPDX-License-Identifier: BSD-3-Clause
# sources: csrc/kernels/smo.cc csrc/kernels/smo_code.cc csrc/kernels/smo_state.cc
# sources: csrc/kernels/smo_fresh.cc csrc/kernels/smo_again.cc csrc/kernels/smo_machines.cc
# libraries: svmcut_kernel_rows
"""SMO of one machine, and of many; see csrc/include/kernels.h, section smo.cc."""

import numpy as np

from libc.stdint cimport int8_t, int64_t

from svmcut.spec import schemas

from abi.kernels cimport *
from svmcut._native.interrupt cimport cancel_flag, serve
from svmcut._native.kernels cimport kernel_of
from svmcut._native.sparse cimport Rows
from svmcut._native.weights cimport weights_of


#: Up to so many points rows are float64.
EXACT_POINTS = 2000


cdef class Smo:
    """One run of SMO over a set of points.

    Parameters
    ----------
    X : Csr
        (n, d) points, n >= 1; their arrays are shared and must not change.
    y : (n,) float64
        Labels, whose sign counts; targets with a tube.
    kernel : Kernel
    C : float
        Weight of one example's loss.
    free_bias : bool
    cache_mb : float
        Megabytes of kernel rows that are kept; two rows at least.
    threads : int
    instructions : {0, 1, 2}
        Fastest, portable, AVX2.
    weights : (n,) float64 or None
        Of the points' losses: 0 <= beta_i y_i <= C weights_i, that product rounded once; None for 1
        each. A run loads what one of the same weights saved.
    tube : float or None
        Of the epsilon-insensitive loss, where |beta_i| <= C weights_i; None for the hinge.
    shared : (N, N) float32, or float64 of no more than EXACT_POINTS points; or None
        Kernel values of a set these points are rows of, in place of rows computed here.
    places : (n,) int64
        Which rows of it.
    given : bool
        Whether the kernel is those values, and X is asked for nothing but its number of rows.
    linear : (n,) float64 or None
        v at beta = 0 of a nu machine, where y says by its sign the side of the box alone; None for
        y.
    apart : bool
        Whether the sums of beta over either sign of y stay what a state that was loaded says, and
        not their sum alone.

    Attributes
    ----------
    iterations, evaluations, active, support : int
        Steps, kernel values, points not put aside, nonzero coefficients.
    dual, highest, lowest : float
        Dual value, and the extremes of v = y - K beta over what may rise and what may fall.

    Raises
    ------
    MemoryError
    """

    cdef Rows _rows
    cdef svmcut_smo* _smo
    cdef svmcut_smo_state _state
    cdef public int threads
    cdef object _shared

    def __cinit__(self, X, const double[::1] y, kernel, double C, bint free_bias=True,
                  double cache_mb=40.0, int threads=1, int instructions=0,
                  const double[::1] weights=None, tube=None, shared=None,
                  const int64_t[::1] places=None, bint given=False,
                  const double[::1] linear=None, bint apart=False):
        cdef svmcut_kernel K = kernel_of(kernel)
        self._rows, self.threads = Rows(X), threads
        if self._rows.csr.n_rows < 1 or y.shape[0] != self._rows.csr.n_rows:
            raise ValueError("y does not fit the rows")
        cdef const double* v = weights_of(weights, self._rows.csr.n_rows)
        cdef double width = -1.0 if tube is None else tube
        cdef svmcut_shared_values values
        cdef svmcut_shared_values* known = NULL
        cdef svmcut_nu nu
        cdef svmcut_nu* of_nu = NULL
        if linear is not None:
            if linear.shape[0] != y.shape[0]:
                raise ValueError("the linear term does not fit the rows")
            nu.linear, nu.apart = &linear[0], apart
            of_nu = &nu
        cdef const float[:, ::1] narrow
        cdef const double[:, ::1] wide
        if shared is not None:
            if places.shape[0] != y.shape[0] or not (
                    0 <= min(places) and max(places) < len(shared) == shared.shape[1]):
                raise ValueError("places do not fit the rows or the shared values")
            if y.shape[0] <= EXACT_POINTS:
                wide = shared
                values.values = &wide[0, 0]
            else:
                narrow = shared
                values.values = &narrow[0, 0]
            values.place, values.width, values.given = &places[0], len(shared), given
            values.bare = False
            known, self._shared = &values, (shared, places)
        with nogil:
            self._smo = svmcut_smo_new(&self._rows.csr, &y[0], v, &K, C, width, free_bias,
                                       cache_mb * 1e6, instructions, known, of_nu)
        if self._smo == NULL:
            raise MemoryError(f"no memory for SMO over {X.n_rows} points "
                              f"with {cache_mb:g} MB of kernel rows")
        svmcut_smo_read(self._smo, &self._state)

    def __dealloc__(self):
        if self._smo != NULL:
            svmcut_smo_delete(self._smo)

    iterations = property(lambda self: (<Smo>self)._state.iterations)
    evaluations = property(lambda self: (<Smo>self)._state.evaluations)
    active = property(lambda self: (<Smo>self)._state.active)
    support = property(lambda self: (<Smo>self)._state.support)
    dual = property(lambda self: (<Smo>self)._state.dual)
    highest = property(lambda self: (<Smo>self)._state.highest)
    lowest = property(lambda self: (<Smo>self)._state.lowest)

    cdef int updated(self, int status) except -1:
        """Reads the state after a call, which fails where there is no memory alone."""
        svmcut_smo_read(self._smo, &self._state)
        if status != SVMCUT_OK:
            raise MemoryError("no memory for SMO")
        return 0

    def time(self):
        """Counts the seconds of the parts of its steps from here on."""
        svmcut_smo_time(self._smo)

    @property
    def spent(self):
        """(4,) seconds of kernel values, of choosing, of steps, and of updates of v, as `time`
        counts them."""
        cdef double[::1] out = np.empty(4)
        svmcut_smo_spent(self._smo, &out[0])
        return np.asarray(out)

    def run(self, double tolerance, int64_t steps, double seconds=1e300):
        """Goes on for so many steps and seconds, or until no violation exceeds the tolerance; tells
        whether that is so.

        When it is, every point is active.
        """
        cdef int finished = 0, status
        with nogil:
            status = svmcut_smo_run(self._smo, tolerance, steps, seconds, self.threads, &finished)
        self.updated(status)
        return bool(finished)

    def make_whole(self):
        """Brings v up to date for every point, and makes all active."""
        cdef int status
        with nogil:
            status = svmcut_smo_make_whole(self._smo, self.threads)
        self.updated(status)

    def refresh(self, double b, double rho=0.0):
        """Forms v anew with float64 kernel values where rounding may matter to the certificate at
        this bias, and rho of a nu machine."""
        cdef int status
        with nogil:
            status = svmcut_smo_refresh(self._smo, b, rho, self.threads)
        self.updated(status)

    def probe(self, double b, int64_t sample, double rho=0.0):
        """(largest, about the weighted sum) of what `refresh` would change in v, from so many
        points; all must be active."""
        cdef double largest = 0.0, total = 0.0
        cdef int status
        with nogil:
            status = svmcut_smo_probe(self._smo, b, rho, sample, self.threads, &largest,
                                      &total)
        self.updated(status)
        return largest, total

    def again(self, const double[::1] weights):
        """Begins at 0 again with other weights, (n,); kernel rows are kept, and no point is put
        aside from here on."""
        cdef int status
        weights_of(weights, self._rows.csr.n_rows)
        with nogil:
            status = svmcut_smo_again(self._smo, &weights[0], self.threads)
        self.updated(status)

    def rescale(self, double C):
        """Goes to another C from the present solution times C_new / C."""
        self.make_whole()
        svmcut_smo_rescale(self._smo, C)
        svmcut_smo_read(self._smo, &self._state)

    def solution(self):
        """beta, of labels alpha y, and v = y - K beta, (n,) float64 each; v is exact where every
        point is active."""
        cdef double[::1] beta = np.empty(self._rows.csr.n_rows)
        cdef double[::1] v = np.empty(self._rows.csr.n_rows)
        svmcut_smo_solution(self._smo, &beta[0], &v[0])
        return np.asarray(beta), np.asarray(v)

    def state(self):
        """The whole state as (n + 6,) int64 and (4 n + 5,) float64, for a run over the same
        points."""
        cdef int64_t n = self._rows.csr.n_rows
        cdef int64_t[::1] integers = np.empty(n + 6, np.int64)
        cdef double[::1] reals = np.empty(4 * n + 5)
        svmcut_smo_save(self._smo, &integers[0], &reals[0])
        return {"integers": np.asarray(integers), "reals": np.asarray(reals)}

    def restore(self, state):
        """Goes on from a `state`.

        Raises
        ------
        StateError
            For a state that is none of these points.
        """
        cdef int64_t n = self._rows.csr.n_rows
        arrays = {"integers": schemas.array(np.int64, n + 6),
                  "reals": schemas.array(np.float64, 4 * n + 5, infinite=True)}
        schemas.checked(state, schemas.fields(**arrays), "native")
        cdef const int64_t[::1] integers = state["integers"]
        cdef const double[::1] reals = state["reals"]
        cdef int status
        with nogil:
            status = svmcut_smo_load(self._smo, &integers[0], &reals[0])
            svmcut_smo_read(self._smo, &self._state)
        if status == SVMCUT_NO_MEMORY:
            raise MemoryError("no memory for SMO")
        if status != SVMCUT_OK:
            raise schemas.StateError("the state is none of these points")


#: What is known of a machine of `train_machines`; met as in svmcut_smo_machine.
MACHINE = np.dtype([(name, np.float64) for name in ("primal", "dual", "risk", "b")]
                   + [(name, np.int64) for name in ("iterations", "evaluations", "support", "met")])


def train_machines(X, kernel, values, const double[::1] weights, rule, const int64_t[::1] starts,
                   const int64_t[::1] rows, const int8_t[::1] sides, double cache_mb, int threads,
                   double[::1] beta, table):
    """Trains machines of labels, each of up to EXACT_POINTS rows; see svmcut_smo_machines.

    Parameters
    ----------
    X : Csr
    values : (n, n) float64 or None
        Kernel values of all rows of X.
    rule : (float, float, float, int, bool)
        C, tolerance, gap or -1, most steps, and whether the bias is free.
    starts : (machines + 1,) int64
    rows, sides, beta : (entries,)
    table : (machines,) MACHINE

    Raises
    ------
    KeyboardInterrupt
        After which those are whole that `table` has.
    MemoryError
    """
    cdef Rows own = Rows(X)
    cdef svmcut_kernel K = kernel_of(kernel)
    cdef int64_t n = own.csr.n_rows, machines = starts.shape[0] - 1, k
    cdef const double* v = weights_of(weights, n)
    cdef const double[:, ::1] known
    cdef const double* shared = NULL
    cdef svmcut_smo_rule how
    how.C, how.tolerance, how.gap, how.most_steps, how.free_bias = rule
    if values is not None:
        known = values
        if known.shape[0] != n or known.shape[1] != n:
            raise ValueError("the values are not those of the rows")
        shared = &known[0, 0]
    cdef double[::1] numbers = table.view(np.float64)
    if machines < 1 or numbers.shape[0] != 8 * machines:
        raise ValueError("table does not fit the machines")
    if not rows.shape[0] == sides.shape[0] == beta.shape[0]:
        raise ValueError("rows, sides and beta do not fit each other")
    for k in range(machines):
        if not 0 < starts[k + 1] - starts[k] <= EXACT_POINTS or starts[k] < 0:
            raise ValueError("starts do not rise by numbers of rows of machines")
    if starts[machines] > rows.shape[0]:
        raise ValueError("starts end behind the rows")
    for k in range(starts[0], starts[machines]):
        if not 0 <= rows[k] < n:
            raise ValueError("rows are none of X")
    cdef const int* cancel = cancel_flag()
    cdef int status
    with nogil:
        status = svmcut_smo_machines(&own.csr, &K, shared, v, &how, machines, &starts[0], &rows[0],
                                     &sides[0], cache_mb * 1e6, 0, threads, cancel, &beta[0],
                                     <svmcut_smo_machine*>&numbers[0])
    if status == SVMCUT_CANCELLED:
        serve()
        raise KeyboardInterrupt
    if status != SVMCUT_OK:
        raise MemoryError("no memory for SMO of many machines")
