# SPDX-License-Identifier: BSD-3-Clause
# sources: csrc/labels/wide_cd.cc csrc/labels/wide_cd_code.cc
"""Thin wrapper of csrc/labels/wide_cd.cc."""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp.vector cimport vector

from svmcut.spec import schemas
from svmcut._native.descent import check_order

from abi.wide cimport *
from svmcut._native.descent cimport RowDescent
from svmcut._native.interrupt cimport cancel_flag, serve
from svmcut._native.sparse cimport Rows
from svmcut._native.status cimport served


OPEN, MET, SLOW = SVMCUT_LABEL_OPEN, SVMCUT_LABEL_MET, SVMCUT_LABEL_SLOW
LANES = SVMCUT_WIDE_LANES
#: Doubles of a machine and integers of a group.
_MACHINE, _GROUP = sizeof(svmcut_label_machine) // 8, sizeof(svmcut_wide_group) // 8


def _aligned(*shape):
    """Float zeros where a cache line begins: the weights of a feature, of sixteen machines in step,
    are one then."""
    room = np.zeros(int(np.prod(shape)) + 16, np.float32)
    skipped = -(room.ctypes.data // 4) % 16
    return room[skipped : skipped + len(room) - 16].reshape(shape)


cdef class Descent(RowDescent):
    """The state of machines of two classes on the same rows, 64 of them in step.

    indptr (count + 1,) int64, rows int32: label k is on at rows[indptr[k]:indptr[k + 1]]. X, norms,
    bias, weights as of svmcut._native.descent.RowDescent. With `squared` the loss is the squared
    hinge. A machine ends at a gap of `relative` times its primal value, or of `absolute` where that
    is 0, and as slow where it stands still.
    """

    cdef uint64_t[:, ::1] positive
    cdef uint64_t[:, ::1] rows
    cdef int32_t[:, ::1] order
    cdef float[:, :, ::1] alpha
    cdef float[:, :, ::1] W
    cdef float[:, :, ::1] best
    cdef double[:, ::1] machines
    cdef int64_t[:, ::1] groups
    cdef svmcut_wide_cd run_of

    def __init__(self, Rows X, indptr, rows, const double[::1] norms, double bias, double C,
                 uint64_t seed, const double[::1] weights=None, bint squared=False,
                 double absolute=0.0, double relative=0.0):
        self.bind(X, norms, bias, weights)
        cdef int64_t n = self.n, dim = self.dim, count = len(indptr) - 1
        cdef int64_t groups = (count + LANES - 1) // LANES
        if count < 1:
            raise ValueError("there are no labels")
        bits = np.zeros((groups, n), np.uint64)
        for k in range(count):
            bits[k // LANES, rows[indptr[k] : indptr[k + 1]]] |= np.uint64(1 << (k % LANES))
        self.positive, self.rows = bits, np.zeros((groups, n), np.uint64)
        self.order = np.zeros((groups, 2 * n), np.int32)
        self.alpha = _aligned(groups, n, LANES)
        self.W = _aligned(groups, max(1, dim), LANES)
        self.best = _aligned(groups, max(1, dim), LANES)
        self.machines = np.zeros((groups * LANES, _MACHINE))
        self.groups = np.zeros((groups, _GROUP), np.int64)
        cdef svmcut_wide_cd* run = &self.run_of
        run.X, run.norms, run.v = &X.csr, &norms[0], self.v
        run.bias, run.C, run.squared = bias, C, squared
        run.absolute, run.relative = absolute, relative
        run.count, run.groups = count, groups
        run.positive, run.rows, run.order = &self.positive[0, 0], &self.rows[0, 0], &self.order[0,
                                                                                                0]
        run.alpha, run.W, run.best = &self.alpha[0, 0, 0], &self.W[0, 0, 0], &self.best[0, 0, 0]
        run.machines = <svmcut_label_machine*>&self.machines[0, 0]
        run.states = <svmcut_wide_group*>&self.groups[0, 0]
        svmcut_wide_cd_start(&self.run_of, seed)

    def counts(self):
        """Most epochs of a group; nonzeros read by all, once for sixteen machines."""
        cdef int64_t epochs = 0, entries = 0, g
        for g in range(self.run_of.groups):
            epochs = max(epochs, self.run_of.states[g].epochs)
            entries += self.run_of.states[g].entries
        return epochs, entries

    def standing(self):
        """(count, 4): primal, risk and dual of every machine, and how it ended: `OPEN`, `MET` or
        `SLOW`."""
        cdef svmcut_label_machine* m = self.run_of.machines
        return np.array([(m[k].primal, m[k].risk, m[k].dual, m[k].end)
                         for k in range(self.run_of.count)])

    def weights_of_groups(self):
        """(groups, dim, 64) float32: the best points; a copy."""
        return np.array(self.best)

    def risks(self, const float[:, :, ::1] W, int threads):
        """(count,) float64: the sum of the losses of every machine at these weights, as of
        `weights_of_groups`."""
        self._check_weights(W)
        return self._risks(&W[0, 0, 0], NULL, threads)

    def refit(self, float[:, :, ::1] W, int threads):
        """As `risks`, at the weights of the constant feature that are best beside the others, to
        which those of W are set."""
        self._check_weights(W)
        return self._risks(NULL, &W[0, 0, 0], threads)

    cdef _risks(self, const float* W, float* refitted, int threads):
        out = np.zeros(self.run_of.groups * LANES)
        cdef double[::1] risk = out
        cdef int status
        with nogil:
            if refitted != NULL:
                status = svmcut_wide_cd_refit(&self.run_of, refitted, &risk[0], threads)
            else:
                status = svmcut_wide_cd_risk(&self.run_of, W, &risk[0], threads)
        served(status)
        return out[: self.run_of.count]

    cdef int _check_weights(self, const float[:, :, ::1] W) except -1:
        if W.shape[0] != self.best.shape[0] or W.shape[1] != self.best.shape[1] or (
                W.shape[2] != self.best.shape[2]):
            raise ValueError("weights have the wrong shape")
        return 0

    def run(self, int64_t epochs, int threads):
        """Goes on until every group of machines has had so many epochs, or has ended."""
        run_all([self], epochs, threads)

    def _arrays(self):
        return {name: np.asarray(array) for name, array in (
            ("alpha", self.alpha), ("W", self.W), ("best", self.best), ("rows", self.rows),
            ("order", self.order), ("machines", self.machines), ("groups", self.groups))}

    def state(self):
        """All that a run has found and where it stands."""
        return {name: array.copy() for name, array in self._arrays().items()}

    def restore(self, state):
        """Goes on from a `state`.

        Raises
        ------
        StateError
        """
        cdef int64_t n = self.n, g
        own = self._arrays()
        schemas.checked(state, schemas.fields(**{name: schemas.array(
            array.dtype, *array.shape, low=0 if name == "alpha" else None,
            infinite=name == "machines") for name, array in own.items()}), "native")
        for name, array in own.items():
            np.copyto(array, state[name])
        for g in range(self.run_of.groups):
            schemas.require(0 <= self.run_of.states[g].active <= n, "active rows of native",
                            "no more than rows")
            check_order(own["order"][g], self.run_of.states[g].active, n)
            schemas.require(self.run_of.states[g].at == 0, "visits of native",
                            "none of an epoch that has begun")


def run_all(list descents, int64_t epochs, int threads):
    """All of them go on side by side, as `Descent.run` does."""
    cdef vector[const svmcut_wide_cd*] runs
    cdef Descent descent
    for descent in descents:
        runs.push_back(&descent.run_of)
    cdef const int* flag = cancel_flag()
    cdef int64_t count = runs.size()
    cdef int status
    while True:
        with nogil:
            status = svmcut_wide_cd_run_all(runs.data(), count, epochs, threads, flag)
        if served(status) != SVMCUT_CANCELLED:
            return
        serve()
