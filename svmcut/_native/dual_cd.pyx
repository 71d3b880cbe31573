# SPDX-License-Identifier: BSD-3-Clause
# libraries: svmcut_linear
"""Thin wrapper of csrc/linear/dual_cd.cc."""

from libc.stdint cimport int32_t, int64_t, uint64_t

import numpy as np
from svmcut.spec import schemas
from svmcut._native.descent import check_order

from svmcut._native cimport descent
from abi.linear cimport *
from svmcut._native.sparse cimport Rows


cdef class Descent(descent.Descent):
    """The state of a descent: alpha (n,), w (n_features, one more with a bias), both float64 and
    the caller's.

    weights, where given, are (n,) float64: then 0 <= alpha_i <= C weights_i, that product rounded
    once. loss, tube : a number of svmcut._native.losses in place of the hinge, and of the
    epsilon-insensitive loss its tube. logit, where the loss has logits, is (n,) float64: those of
    alpha_i / (C weights_i). Attributes as of svmcut._native.descent.Descent.
    """

    cdef const double[::1] y
    cdef double[::1] alpha
    cdef double[::1] w
    cdef int32_t[::1] order
    cdef double[::1] logit
    cdef double* logits
    cdef double tube
    cdef int loss
    cdef svmcut_dual_cd_state now

    def __init__(self, Rows X, const double[::1] y, const double[::1] norms, double bias,
                 double[::1] alpha, double[::1] w, uint64_t seed, const double[::1] weights=None,
                 int loss=0, double tube=0.0, double[::1] logit=None):
        self.bind(X, norms, bias, weights)
        cdef int64_t n = self.n
        if y.shape[0] != n or alpha.shape[0] != n:
            raise ValueError("y or alpha has the wrong length")
        if w.shape[0] != self.dim:
            raise ValueError("w has the wrong length")
        self.y, self.alpha, self.w = y, alpha, w
        self.loss, self.tube, self.logit = loss, tube, logit
        self.logits = NULL
        if not 0 <= loss <= SVMCUT_SQUARED_EPSILON_INSENSITIVE or (
                (loss == SVMCUT_LOGISTIC) != (logit is not None)):
            raise ValueError("the loss is none, or logits do not belong to it")
        if logit is not None:
            if logit.shape[0] != n:
                raise ValueError("logit has the wrong length")
            self.logits = &logit[0]
        self.order = np.empty(2 * n, np.int32)
        svmcut_dual_cd_start(n, seed, &self.order[0], &self.now)

    def numbers(self):
        """Counts and extremes of the last epoch, by name."""
        return self.now

    def run(self, double C, int64_t epochs, double enough, const int[::1] cancel=None):
        """Up to `epochs` epochs, until the estimated gap is at most `enough`; False when cancel[0]
        became nonzero, or, without `cancel`, where a signal came whose handler raised nothing."""
        cdef const int* flag = self.flag(cancel)
        cdef double* w = &self.w[0] if self.w.shape[0] else NULL
        cdef int status
        with nogil:
            status = svmcut_dual_cd(&self.X.csr, self.loss, self.tube, &self.y[0], &self.norms[0],
                                    self.v, self.bias, C, epochs, enough, &self.alpha[0],
                                    self.logits, w, &self.order[0], &self.now, flag)
        return self.completed(status, cancel)

    def state(self):
        """The order of the rows, and the numbers; beside alpha and w."""
        return self.numbers() | {"order": np.array(self.order)}

    def restore(self, state):
        """Goes on from a `state`.

        Raises
        ------
        StateError
        """
        self.check_numbers(state, ("above", "below"))
        order = schemas.array(np.int32, self.order.shape[0])
        schemas.checked(state, schemas.fields(order=order), "native")
        check_order(state["order"], state["active"], self.n)
        np.asarray(self.order)[:] = state["order"]
        self.now = {name: value for name, value in state.items() if name != "order"}

    def wake(self, double C, const double[::1] s):
        """Chooses the active coordinates by the scores s of w."""
        if s.shape[0] != self.n:
            raise ValueError("s has the wrong length")
        with nogil:
            svmcut_dual_cd_wake(self.n, self.loss, self.tube, &self.y[0], &s[0], self.v,
                                &self.alpha[0], self.logits, C, &self.order[0], &self.now)
