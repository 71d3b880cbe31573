# SPDX-License-Identifier: BSD-3-Clause
# distutils: sources = csrc/linear/dual_cd.cc
"""Thin wrapper of csrc/linear/dual_cd.cc."""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t

from svmcut.spec import schemas

from svmcut._native.interrupt cimport cancel_flag, serve
from svmcut._native.sparse cimport Rows, svmcut_csr
from svmcut._native.status cimport served
from svmcut._native.weights cimport weights_of


cdef extern from "include/linear.h" nogil:
    int SVMCUT_CANCELLED
    int SVMCUT_LOGISTIC
    int SVMCUT_EPSILON_INSENSITIVE
    ctypedef struct svmcut_dual_cd_state:
        int64_t active
        double above
        double below
        double gap
        uint64_t random
        int64_t epochs
        int64_t entries
        int64_t moved
    void svmcut_dual_cd_start(int64_t n, uint64_t seed, int32_t* order, svmcut_dual_cd_state* state)
    int svmcut_dual_cd(const svmcut_csr* X, int loss, double tube, const double* y, const double* norms,
                       const double* v, double bias, double C, int64_t epochs, double enough, double* alpha, double* logit, double* w,
                       int32_t* order, svmcut_dual_cd_state* state, const int* cancel)
    void svmcut_dual_cd_wake(int64_t n, int loss, double tube, const double* y, const double* s, const double* v,
                             double* alpha, double* logit, double C, int32_t* order, svmcut_dual_cd_state* state)


EMPTY_EPOCHS = 100_000  # epochs that may have read nothing but empty rows


cdef class Descent:
    """The state of a descent: alpha (n,), w (n_features, one more with a bias), both float64 and the caller's.

    weights, where given, are (n,) float64: then 0 <= alpha_i <= C weights_i, that product rounded once.
    loss, tube : a number of svmcut._native.losses in place of the hinge, and of the epsilon-insensitive loss its tube.
    logit, where the loss has logits, is (n,) float64: those of alpha_i / (C weights_i).

    Attributes
    ----------
    gap : float
        Estimated gap after the last epoch.
    epochs, entries, active, moved : int
        Epochs done, nonzeros read, coordinates in use, coordinates changed in the last epoch.
    """

    cdef Rows X
    cdef const double[::1] y
    cdef const double[::1] norms
    cdef const double[::1] weights
    cdef const double* v
    cdef double[::1] alpha
    cdef double[::1] w
    cdef int32_t[::1] order
    cdef double[::1] logit
    cdef double* logits
    cdef double bias, tube
    cdef int loss
    cdef svmcut_dual_cd_state state

    def __init__(self, Rows X, const double[::1] y, const double[::1] norms, double bias, double[::1] alpha,
                 double[::1] w, uint64_t seed, const double[::1] weights=None, int loss=0, double tube=0.0,
                 double[::1] logit=None):
        cdef int64_t n = X.csr.n_rows
        if n < 1 or n > 2**31 - 1:
            raise ValueError("dual coordinate descent takes from 1 to 2^31 - 1 rows")
        if y.shape[0] != n or norms.shape[0] != n or alpha.shape[0] != n:
            raise ValueError("y, norms or alpha has the wrong length")
        if w.shape[0] != X.csr.n_features + (bias != 0):
            raise ValueError("w has the wrong length")
        self.X, self.y, self.norms, self.bias, self.alpha, self.w = X, y, norms, bias, alpha, w
        self.weights, self.v = weights, weights_of(weights, n)
        self.loss, self.tube, self.logit = loss, tube, logit
        self.logits = NULL
        if (loss == SVMCUT_LOGISTIC) != (logit is not None) or not 0 <= loss <= SVMCUT_EPSILON_INSENSITIVE:
            raise ValueError("the loss is none, or logits do not belong to it")
        if logit is not None:
            if logit.shape[0] != n:
                raise ValueError("logit has the wrong length")
            self.logits = &logit[0]
        self.order = np.empty(2 * n, np.int32)
        svmcut_dual_cd_start(n, seed, &self.order[0], &self.state)

    gap = property(lambda self: self._state()[0])
    epochs = property(lambda self: self._state()[1])
    entries = property(lambda self: self._state()[2])
    active = property(lambda self: self._state()[3])
    moved = property(lambda self: self._state()[4])

    def _state(self):
        return self.state.gap, self.state.epochs, self.state.entries, self.state.active, self.state.moved

    def run(self, double C, int64_t epochs, double enough, const int[::1] cancel=None):
        """Up to `epochs` epochs, until the estimated gap is at most `enough`; False when cancel[0] became nonzero,
        or, without `cancel`, where a signal came whose handler raised nothing."""
        cdef const int* flag = &cancel[0] if cancel is not None and cancel.shape[0] else cancel_flag()
        cdef double* w = &self.w[0] if self.w.shape[0] else NULL
        cdef int status
        with nogil:
            status = svmcut_dual_cd(&self.X.csr, self.loss, self.tube, &self.y[0], &self.norms[0], self.v, self.bias, C,
                                    epochs, enough, &self.alpha[0], self.logits, w, &self.order[0], &self.state, flag)
        if served(status) == SVMCUT_CANCELLED and cancel is None:
            serve()
        return status != SVMCUT_CANCELLED

    def save(self):
        """Order of the rows and the rest of the state, beside alpha and w; for `load`."""
        cdef object state = self.state
        return np.array(self.order), state

    def load(self, const int32_t[::1] order, state):
        """Goes on from what `save` gave.

        Raises
        ------
        StateError
        """
        cdef int64_t n = self.alpha.shape[0], entries = self.X.indptr[n] - self.X.indptr[0]
        beyond = schemas.real(infinite=True)
        schemas.checked(state, schemas.fields(
            active=schemas.count(0, n), above=beyond, below=beyond, gap=beyond, random=schemas.count(0, 2**64 - 1),
            epochs=schemas.COUNT, entries=schemas.COUNT, moved=schemas.count(0, n)), "native")
        # an epoch reads what is active: too many of them would put off the next look for ever
        fits = not entries or state["epochs"] <= state["entries"] + EMPTY_EPOCHS
        schemas.require(fits, "the epochs and entries of native", "an entry an epoch")
        schemas.checked(np.asarray(order)[:state["active"]], schemas.array(
            np.int32, None, low=0, high=n - 1, rising=True), "the order of native")
        if order.shape[0] != self.order.shape[0]:
            raise schemas.StateError("order has the wrong length")
        self.order[:] = order
        self.state = state

    def wake(self, double C, const double[::1] s):
        """Chooses the active coordinates by the scores s of w."""
        if s.shape[0] != self.alpha.shape[0]:
            raise ValueError("s has the wrong length")
        with nogil:
            svmcut_dual_cd_wake(self.alpha.shape[0], self.loss, self.tube, &self.y[0], &s[0], self.v, &self.alpha[0],
                                self.logits, C, &self.order[0], &self.state)
