# SPDX-License-Identifier: BSD-3-Clause
"""What dual coordinate descents over the rows of a matrix have in common: the rows, and counts of
what was done."""

from libc.stdint cimport int64_t

import numpy as np
from svmcut.spec import schemas

from abi.svmcut cimport *
from svmcut._native.interrupt cimport cancel_flag, serve
from svmcut._native.sparse cimport Rows
from svmcut._native.status cimport served
from svmcut._native.weights cimport weights_of


MOST_ROWS = 2**31 - 1
EMPTY_EPOCHS = 100_000  # epochs that may have read nothing but empty rows


cdef class RowDescent:
    """Rows X with their squared norms, (n,) float64, of (x_i, bias); weights (n,) float64, None for
    1 each."""

    cdef int bind(self, Rows X, const double[::1] norms, double bias,
                  const double[::1] weights) except -1:
        """Takes these; n and dim, the length of w, follow from them."""
        self.n, self.dim = X.csr.n_rows, X.csr.n_features + (bias != 0)
        if not 1 <= self.n <= MOST_ROWS:
            raise ValueError("dual coordinate descent takes from 1 to 2^31 - 1 rows")
        if norms.shape[0] != self.n:
            raise ValueError("norms has the wrong length")
        self.X, self.norms, self.bias = X, norms, bias
        self.weights, self.v = weights, weights_of(weights, self.n)
        return 0


cdef class Descent(RowDescent):
    """One whose state is the active rows, in their order, and a struct of numbers that `numbers`
    gives as a dict.

    Attributes
    ----------
    gap : float
        Estimated gap after the last epoch.
    epochs, entries, active, moved : int
        Epochs done, nonzeros or weights read, rows in use, rows changed in the last epoch.
    """

    gap = property(lambda self: self.numbers()["gap"])
    epochs = property(lambda self: self.numbers()["epochs"])
    entries = property(lambda self: self.numbers()["entries"])
    active = property(lambda self: self.numbers()["active"])
    moved = property(lambda self: self.numbers()["moved"])

    cdef const int* flag(self, const int[::1] cancel) noexcept:
        """What a run is to look at: `cancel`, where one is given, or whether a signal came."""
        return &cancel[0] if cancel is not None and cancel.shape[0] else cancel_flag()

    cdef bint completed(self, int status, const int[::1] cancel) except -1:
        """Whether a run came to its end; without `cancel` the handlers of signals run first."""
        if served(status) == SVMCUT_CANCELLED and cancel is None:
            serve()
        return status != SVMCUT_CANCELLED

    cdef int check_numbers(self, state, extremes) except -1:
        """Refuses, as StateError, what `numbers` cannot have given; extremes: its other numbers,
        any reals."""
        cdef int64_t entries = self.X.indptr[self.n] - self.X.indptr[0]
        beyond, rows = schemas.real(infinite=True), schemas.count(0, self.n)
        schemas.checked(state, schemas.fields(
            gap=beyond, **dict.fromkeys(extremes, beyond), random=schemas.count(0, 2**64 - 1),
            epochs=schemas.COUNT, entries=schemas.COUNT, active=rows, moved=rows), "native")
        # an epoch reads what is active: too many of them would put off the next look for ever
        fits = not entries or state["epochs"] <= state["entries"] + EMPTY_EPOCHS
        schemas.require(fits, "the epochs and entries of native", "an entry an epoch")
        return 0


def check_order(order, int64_t active, int64_t n):
    """Refuses, as StateError, rows in use that are none of n rows, or do not increase."""
    schemas.checked(np.asarray(order)[:active], schemas.array(
        np.int32, None, low=0, high=n - 1, rising=True), "the order of native")
