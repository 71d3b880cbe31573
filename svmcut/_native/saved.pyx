# SPDX-License-Identifier: BSD-3-Clause
"""Runs of the C++ side whose whole state is integers and reals."""

import numpy as np

from libc.stdint cimport int64_t

from svmcut.spec import schemas

from abi.svmcut cimport *
from svmcut._native.status cimport served
from svmcut._native.weights cimport weights_of


KIND = schemas.fields(integers=schemas.array(np.int64, None),
                      reals=schemas.array(np.float64, None, infinite=True))


cdef class Saved:
    """What such a run is kept by. A class of its own says how: `_save` and `_load` call its
    functions of the C++ side.

    Attributes
    ----------
    samples : str
        What the run is over, for messages.
    """

    cdef const double* keep(self, str samples, const double[::1] weights, int64_t n) except? NULL:
        """Keeps the weights of n samples, where there are any, and gives their address."""
        self.samples, self._weights = samples, weights
        return weights_of(weights, n)

    cdef void _save(self, int64_t* integers, double* reals, int64_t* counts) noexcept:
        """Writes both arrays, or where they are NULL how long they are; here, of nothing."""
        counts[0] = counts[1] = 0

    cdef int _load(self, const int64_t* integers, const double* reals,
                   const int64_t* counts) noexcept:
        """The status of going on from these; nothing goes on from anything."""
        return SVMCUT_BAD_INPUT

    def state(self):
        """Integers and reals that a run of the same arguments goes on from, with the caller's
        weights."""
        cdef int64_t counts[2]
        self._save(NULL, NULL, counts)
        integers, reals = np.empty(counts[0], np.int64), np.empty(counts[1])
        cdef int64_t[::1] i = integers
        cdef double[::1] r = reals
        self._save(&i[0], &r[0], counts)
        return {"integers": integers, "reals": reals}

    def restore(self, state):
        """Goes on from the state of another run; to be called before anything else, with the
        weights in place.

        Raises
        ------
        StateError
            When it does not fit.
        """
        schemas.checked(state, KIND)
        cdef const int64_t[::1] i = state["integers"]
        cdef const double[::1] r = state["reals"]
        cdef int64_t[2] counts = [i.shape[0], r.shape[0]]
        cdef int status = self._load(&i[0] if counts[0] else NULL, &r[0] if counts[1] else NULL,
                                     counts)
        if status == SVMCUT_BAD_INPUT:
            raise schemas.StateError(f"the state is not one of these {self.samples}")
        served(status)
