# SPDX-License-Identifier: BSD-3-Clause
# sources: csrc/steps/expansion.cc csrc/steps/expansion_code.cc csrc/steps/water_level.cc
# sources: csrc/steps/water_weights.cc csrc/steps/sbp.cc csrc/steps/visits.cc
# libraries: svmcut_kernel_rows
"""Stochastic kernel trainers; see csrc/include/steps.h."""

import numpy as np

from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t

from svmcut.spec import schemas

from abi.steps cimport *
from svmcut._native.kernels cimport kernel_of
from svmcut._native.sparse cimport Rows
from svmcut._native.weights cimport weights_of


class NoLevel(ValueError):
    """Responses are not finite, or a class is empty beside a free bias."""


cdef int _check(int status) except -1:
    if status == SVMCUT_NO_MEMORY:
        raise MemoryError("no memory for a kernel row")
    if status != SVMCUT_OK:
        raise NoLevel("responses are not finite, or a class is empty beside a free bias")
    return 0


def water_level(const double[::1] c, int64_t positives, double volume, bint free_bias,
                const double[::1] weights=None):
    """The largest min_i c_i + y_i b + xi_i over xi >= 0 with sum v_i xi_i = volume, and over b
    where the bias is free.

    Parameters
    ----------
    c : (n,) float64
        Responses y_i f(x_i); the first `positives` have y = +1.
    positives : int
    volume : float
        n nu, n the sum of the weights.
    free_bias : bool
    weights : (n,) float64 or None
        v; None for 1 each.

    Returns
    -------
    level, bias : float
    covered : int or float
        Points under water, of each class where the bias is free; with weights the sum of theirs.

    Raises
    ------
    NoLevel
    """
    cdef double level = 0, bias = 0, mass = 0
    cdef int64_t covered = 0
    cdef const double* v = weights_of(weights, c.shape[0])
    if c.shape[0] == 0 or not 0 <= positives <= c.shape[0]:
        raise NoLevel("there are no responses")
    _check(svmcut_water_level(&c[0], v, positives, c.shape[0], volume, free_bias, &level, &bias,
                              &covered, &mass))
    return level, bias, covered if weights is None else mass


cdef class Expansion:
    """Points laid out for rows that are added to responses.

    Parameters
    ----------
    X : Csr
        (n, d): rows of class +1, then rows of class -1, then rows that are watched only.
    positives, trained : int
        Where the negatives and the watched rows begin.
    signs : (n - trained,) int8
        Labels of the watched rows.
    kernel : Kernel
    threads : int
        Results have the same bytes for any number.
    instructions : {0, 1, 2}
        Fastest, portable, AVX2.

    Raises
    ------
    MemoryError
    """

    cdef readonly int64_t n, positives, trained
    cdef public int threads
    cdef const int8_t[::1] _signs
    cdef Rows _rows
    cdef svmcut_expansion* _expansion

    def __cinit__(self, X, int64_t positives, int64_t trained, const int8_t[::1] signs, kernel,
                  int threads=1, int instructions=0):
        cdef svmcut_kernel K = kernel_of(kernel)
        self._rows, self.threads, self._signs = Rows(X), threads, signs
        self.n = self._rows.csr.n_rows
        self.positives, self.trained = positives, trained
        if not (0 <= positives <= trained <= self.n
                and trained > 0) or signs.shape[0] != self.n - trained:
            raise ValueError("the classes do not fit the rows")
        cdef const int8_t* watched = &signs[0] if signs.shape[0] else NULL
        with nogil:
            self._expansion = svmcut_expansion_new(&self._rows.csr, positives, trained, watched, &K,
                                                   instructions)
        if self._expansion == NULL:
            raise MemoryError(
                f"no memory for kernel rows over {self.n} points of {X.n_features} features")

    def __dealloc__(self):
        if self._expansion != NULL:
            svmcut_expansion_delete(self._expansion)

    @property
    def diagonal(self):
        """(n,) float64 K(x_i, x_i)."""
        cdef double[::1] out = np.empty(self.n)
        svmcut_expansion_diagonal(self._expansion, &out[0])
        return np.asarray(out)


cdef class Sbp:
    """State of the stochastic batch perceptron over an expansion.

    Parameters
    ----------
    expansion : Expansion
    free_bias : bool
    first_step : float
        eta_0.
    seed : int
    mass : bool
        Whether the distributions are summed that points are drawn from.
    weights : (trained,) float64 or None
        v of the points, in their order here; None for 1 each. Points under water are drawn in
        proportion to them.

    Attributes
    ----------
    arrays : dict of str to (n,) float64
        a, c, sum, since, response_sum, correction and mass of svmcut_sbp_state.
    volume : float
        n nu, n the sum of the weights.
    """

    cdef Expansion _expansion
    cdef svmcut_sbp_state _state
    cdef const double[::1] _weights
    cdef readonly dict arrays

    def __init__(self, Expansion expansion, bint free_bias, double first_step, uint64_t seed,
                 bint mass, const double[::1] weights=None):
        self._expansion, self._weights = expansion, weights
        self._state.weights = weights_of(weights, expansion.trained)
        if weights is not None:
            if not np.any(np.asarray(weights) > 0):
                raise ValueError("all weights are 0")
            if np.all(np.asarray(weights) == 1):
                self._state.weights = NULL  # the draws are then those without
        names = ["a", "c", "sum", "since", "response_sum",
                 "correction"] + (["mass"] if mass else [])
        self.arrays = {name: np.zeros(expansion.n) for name in names}
        self._bind()
        self._state.scale, self._state.first_step = 1.0, first_step
        self._state.random, self._state.free_bias = seed, free_bias

    cdef _bind(self):
        cdef double[::1] a = self.arrays["a"], c = self.arrays["c"], sums = self.arrays["sum"]
        cdef double[::1] since = self.arrays["since"], responses = self.arrays["response_sum"]
        cdef double[::1] correction = self.arrays["correction"], mass
        self._state.a, self._state.c, self._state.sum = &a[0], &c[0], &sums[0]
        self._state.since, self._state.response_sum = &since[0], &responses[0]
        self._state.correction = &correction[0]
        self._state.mass = NULL
        if "mass" in self.arrays:
            mass = self.arrays["mass"]
            self._state.mass = &mass[0]

    volume = property(lambda self: (<Sbp>self)._state.volume, lambda self,
                      value: (<Sbp>self)._set_volume(value))
    steps = property(lambda self: (<Sbp>self)._state.steps)
    averaged = property(lambda self: (<Sbp>self)._state.averaged)
    evaluations = property(lambda self: (<Sbp>self)._state.evaluations)
    covered = property(lambda self: (<Sbp>self)._state.covered)
    level = property(lambda self: (<Sbp>self)._state.level)
    bias = property(lambda self: (<Sbp>self)._state.bias)
    scale = property(lambda self: (<Sbp>self)._state.scale)
    squared = property(lambda self: (<Sbp>self)._state.squared)

    cpdef _set_volume(self, double value):
        self._state.volume = value

    def run(self, int64_t steps, double seconds=1e300):
        """Goes on for so many steps, or fewer once so many seconds have passed."""
        cdef int status
        with nogil:
            status = svmcut_sbp_run(self._expansion._expansion, &self._state, steps, seconds,
                                    self._expansion.threads)
        _check(status)

    def flush(self):
        """Makes scale 1 and the sums whole."""
        svmcut_sbp_flush(self._expansion._expansion, &self._state)

    def restart(self):
        """Begins the averages anew."""
        svmcut_sbp_restart(self._expansion._expansion, &self._state)

    def state(self):
        """All that a run goes on from, copied."""
        s = self._state
        numbers = {
            "scale": s.scale, "squared": s.squared, "total": s.total, "volume": s.volume,
            "level": s.level,
            "bias": s.bias, "steps": s.steps, "averaged": s.averaged, "evaluations": s.evaluations,
            "covered": s.covered, "random": s.random,
            "windows": np.array([s.centre[0], s.centre[1], s.width[0], s.width[1]]),
        }
        return numbers | {name: values.copy() for name, values in self.arrays.items()}

    def restore(self, state):
        """Goes back to what state() gave.

        Raises
        ------
        StateError
        """
        values, steps = schemas.reals(self._expansion.n), schemas.COUNT
        schemas.checked(state, schemas.fields(
            scale=schemas.real(1e-300, 1e300), squared=schemas.real(0), total=schemas.real(0),
            volume=schemas.real(0),
            level=schemas.REAL, bias=schemas.REAL, steps=steps, averaged=steps, evaluations=steps,
            covered=schemas.count(0, self._expansion.trained), random=schemas.count(0, 2**64 - 1),
            windows=schemas.reals(4), **dict.fromkeys(self.arrays, values)))
        schemas.require(state["averaged"] <= state["steps"], "steps and averaged",
                        "no more averaged than done")
        for name, values in self.arrays.items():
            values[:] = state[name]
        self._state.scale, self._state.squared = state["scale"], state["squared"]
        self._state.total, self._state.volume = state["total"], state["volume"]
        self._state.level, self._state.bias = state["level"], state["bias"]
        self._state.steps, self._state.averaged = state["steps"], state["averaged"]
        self._state.evaluations, self._state.covered = state["evaluations"], state["covered"]
        self._state.random = state["random"]
        for k in range(2):
            self._state.centre[k] = state["windows"][k]
            self._state.width[k] = state["windows"][k + 2]


RULES = PEGASOS, SDCA, PERCEPTRON = ("pegasos", "sdca", "perceptron")


cdef class Visits:
    """State of a trainer that visits points one by one.

    Parameters
    ----------
    expansion : Expansion
    rule : {"pegasos", "sdca", "perceptron"}
    C : float
        Weight of one example's loss.
    seed : int
    permuted : bool
        Every point once an epoch, in random order; else drawn anew at every visit.
    weights : (trained,) float64 or None
        Of the points' losses, in their order here; None for 1 each. sdca takes C weights_i as a
        point's C. The others visit a point weights_i / V trained times an epoch, rounded down or
        up, or draw it with probability weights_i / V, V their sum; pegasos' sum of h_i y_i K_i
        times V C / visits is f.

    Attributes
    ----------
    a, c : (n,) float64
        Coefficients and responses, in the scale of the rule.
    """

    cdef Expansion _expansion
    cdef svmcut_visits_state _state
    cdef int _rule
    cdef const double[::1] _weights, _sums
    cdef readonly object a, c, order

    def __init__(self, Expansion expansion, rule, double C, uint64_t seed, bint permuted,
                 const double[::1] weights=None):
        self._expansion, self._rule = expansion, RULES.index(rule)
        self.a, self.c = np.zeros(expansion.n), np.zeros(expansion.n)
        self.order = np.arange(expansion.trained, dtype=np.int32) if permuted else None
        cdef double[::1] a = self.a, c = self.c
        cdef int32_t[::1] order
        self._state.a, self._state.c, self._state.C, self._state.random = &a[0], &c[0], C, seed
        if permuted:
            order = self.order
            self._state.order = &order[0]
        self._weights, self._state.weights = weights, weights_of(weights, expansion.trained)
        if weights is not None and np.all(np.asarray(weights) == 1):
            weights = None  # the draws are then those without
        if weights is not None and rule != "sdca":
            self._sums = np.cumsum(weights)
            if not self._sums[expansion.trained - 1] > 0:
                raise ValueError("all weights are 0")
            self._state.sums = &self._sums[0]

    visits = property(lambda self: (<Visits>self)._state.visits)
    changes = property(lambda self: (<Visits>self)._state.changes)
    evaluations = property(lambda self: (<Visits>self)._state.evaluations)

    def run(self, int64_t visits, double seconds=1e300):
        """Goes on for so many visits, or fewer once so many seconds have passed."""
        cdef int status
        with nogil:
            status = svmcut_visits_run(self._expansion._expansion, self._rule, &self._state, visits,
                                       seconds, self._expansion.threads)
        _check(status)

    def state(self):
        """All that a run goes on from, copied."""
        s = self._state
        numbers = {"visits": s.visits, "changes": s.changes, "evaluations": s.evaluations,
                   "random": s.random}
        arrays = {"a": self.a.copy(),
                  "c": self.c.copy()} | ({} if self.order is None else {"order": self.order.copy()})
        return numbers | arrays

    def restore(self, state):
        """Goes back to what state() gave.

        Raises
        ------
        StateError
        """
        values, steps = schemas.reals(self._expansion.n), schemas.COUNT
        trained = self._expansion.trained
        order = schemas.array(np.int32, trained, low=0, high=trained - 1,
                              distinct=self._state.sums == NULL)
        schemas.checked(state, schemas.fields(
            a=values, c=values, visits=steps, changes=steps, evaluations=steps,
            random=schemas.count(0, 2**64 - 1),
            **({} if self.order is None else {"order": order})))
        self.a[:], self.c[:] = state["a"], state["c"]
        if self.order is not None:
            self.order[:] = state["order"]
        self._state.visits, self._state.changes = state["visits"], state["changes"]
        self._state.evaluations, self._state.random = state["evaluations"], state["random"]
