# SPDX-License-Identifier: BSD-3-Clause
# sources: csrc/labels/label_cd.cc csrc/labels/label_cd_code.cc
"""Thin wrapper of csrc/labels/label_cd.cc."""

import itertools

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from svmcut.spec import schemas
from svmcut._native.descent import check_order

from abi.labels cimport *
from svmcut._native.descent cimport RowDescent
from svmcut._native.interrupt cimport cancel_flag, serve
from svmcut._native.sparse cimport Rows
from svmcut._native.status cimport served


OPEN, MET, SLOW = SVMCUT_LABEL_OPEN, SVMCUT_LABEL_MET, SVMCUT_LABEL_SLOW
LANES = (4, 8)
#: Doubles of a machine and integers of a group; where `end` stands among the former.
_MACHINE, _GROUP = sizeof(svmcut_label_machine) // 8, sizeof(svmcut_label_group) // 8


cdef double[::1] aligned(int64_t count):
    """Zeros where a cache line begins: the weights of a feature, eight machines side by side, are
    one then."""
    cdef double[::1] room = np.zeros(count + 8)
    cdef int64_t skipped = (8 - <int64_t>(<size_t>&room[0] // 8 % 8)) % 8
    return room[skipped:skipped + count]


def _bounds(count, groups):
    """The first machine of each group, and the one behind its last."""
    return itertools.pairwise(k * count // groups for k in range(groups + 1))


cdef class Descent(RowDescent):
    """The state of machines of two classes on the same rows, `lanes` of them side by side.

    positive (n, count) bool: the rows whose label each machine is for. best (dim, count) float64,
    the caller's, 0 at first: the best points. Others as of svmcut._native.dual_cd.Descent; a
    machine ends at a gap of `relative` times its primal value, or of `absolute` where that is 0,
    and as slow where it is predicted to need more than `patience` epochs of all rows yet, or stands
    still.
    """

    cdef uint8_t[:, ::1] positive
    cdef uint8_t[:, ::1] rows
    cdef int32_t[:, ::1] order
    cdef double[:, ::1] alpha
    cdef double[::1] W
    cdef double[:, :] best
    cdef double[:, ::1] machines
    cdef int64_t[:, ::1] groups
    cdef svmcut_label_cd run_of

    def __init__(self, Rows X, positive, const double[::1] norms, double bias, double C,
                 double[:, :] best, int lanes, uint64_t seed, const double[::1] weights=None,
                 double absolute=0.0, double relative=0.0, double patience=float("inf")):
        self.bind(X, norms, bias, weights)
        cdef int64_t n = self.n, dim = self.dim, count = positive.shape[1]
        if count < 1 or lanes not in LANES:
            raise ValueError("labels or lanes are out of range")
        if positive.shape[0] != n or best.shape[0] != dim or best.shape[1] != count:
            raise ValueError("positive or best has the wrong shape")
        if count > 1 and best.strides[1] != sizeof(double):
            raise ValueError("the labels of best are no neighbours")
        cdef int64_t groups = (count + lanes - 1) // lanes
        self.best = best
        self.positive, self.rows = np.zeros((groups, n), np.uint8), np.zeros((groups, n), np.uint8)
        cdef const uint8_t[:, :] right = positive.view(np.uint8)
        cdef int64_t g, lane, i, begin, end
        for g, (begin, end) in enumerate(_bounds(count, groups)):
            for i in range(n):
                for lane in range(end - begin):
                    self.positive[g, i] |= <uint8_t>(right[i, begin + lane] << lane)
        self.order = np.zeros((groups, 2 * n), np.int32)
        self.alpha = np.zeros((groups, n * lanes))
        self.W = aligned(groups * max(1, dim) * lanes)
        self.machines, self.groups = np.zeros((groups * lanes, _MACHINE)), np.zeros((groups,
                                                                                     _GROUP),
                                                                                    np.int64)
        cdef svmcut_label_cd* run = &self.run_of
        run.X, run.norms, run.v = &X.csr, &norms[0], self.v
        run.bias, run.C, run.patience = bias, C, patience
        run.absolute, run.relative = absolute, relative
        run.count, run.lanes, run.groups = count, lanes, groups
        run.positive, run.rows, run.order = &self.positive[0, 0], &self.rows[0, 0], &self.order[0,
                                                                                                0]
        run.alpha, run.W = &self.alpha[0, 0], &self.W[0]
        if dim:
            run.best, run.stride = &best[0, 0], best.strides[0] // <int64_t>sizeof(double)
        run.machines = <svmcut_label_machine*>&self.machines[0, 0]
        run.states = <svmcut_label_group*>&self.groups[0, 0]
        svmcut_label_cd_start(&self.run_of, seed)

    def counts(self):
        """Most looks of a group; nonzeros read by all, once for the machines of a group."""
        cdef int64_t looks = 0, entries = 0, g
        for g in range(self.run_of.groups):
            looks = max(looks, self.run_of.states[g].looks)
            entries += self.run_of.states[g].entries
        return looks, entries

    def standing(self):
        """(count, 4): primal, risk and dual of every machine, and how it ended: `OPEN`, `MET` or
        `SLOW`."""
        cdef svmcut_label_machine* m = self.run_of.machines
        cdef int64_t place
        out = np.zeros((self.run_of.count, 4))
        cdef double[:, ::1] found = out
        for k, place in enumerate(self._places()):
            found[k, 0], found[k, 1] = m[place].primal, m[place].risk
            found[k, 2], found[k, 3] = m[place].dual, m[place].end
        return out

    def alphas(self, int64_t k):
        """(n,) alpha of a machine."""
        place, lanes = self._places()[k], self.run_of.lanes
        return np.array(self.alpha[place // lanes, place % lanes::lanes])

    def _places(self):
        """Where the machines stand among the lanes of all groups."""
        lanes, count, groups = self.run_of.lanes, self.run_of.count, self.run_of.groups
        return [g * lanes + lane for g, (begin, end) in enumerate(_bounds(count, groups))
                for lane in range(end - begin)]

    def run(self, int64_t looks, int threads):
        """Goes on until every group of machines has had so many looks at its gaps, or has ended."""
        cdef const int* flag = cancel_flag()
        cdef int status
        while True:
            with nogil:
                status = svmcut_label_cd_run(&self.run_of, looks, threads, flag)
            if served(status) != SVMCUT_CANCELLED:
                return
            serve()

    def _arrays(self):
        groups, lanes = self.run_of.groups, self.run_of.lanes
        known = {name: np.asarray(array) for name, array in (
            ("alpha", self.alpha), ("W", self.W), ("rows", self.rows), ("order", self.order),
            ("machines", self.machines), ("groups", self.groups))}
        return known | {name: known[name].reshape(groups, -1, lanes) for name in ("alpha", "W")}

    def state(self):
        """All but `best`."""
        return {name: array.copy() for name, array in self._arrays().items()}

    def restore(self, state):
        """Goes on from a `state`.

        Raises
        ------
        StateError
        """
        cdef int64_t n = self.n, g
        own = self._arrays()
        most = {"rows": (1 << min(self.run_of.lanes, self.run_of.count)) - 1}
        schemas.checked(state, schemas.fields(**{name: schemas.array(
            array.dtype, *array.shape, low=0 if name == "alpha" else None, high=most.get(name),
            infinite=name == "machines") for name, array in own.items()}), "native")
        weights = 1.0 if self.weights is None else np.asarray(self.weights)[None, :, None]
        schemas.require(bool((state["alpha"] <= self.run_of.C * weights).all()), "alpha and C",
                        "no alpha above its C")
        for name, array in own.items():
            np.copyto(array, state[name])
        for g in range(self.run_of.groups):
            schemas.require(0 <= self.run_of.states[g].active <= n, "active rows of native",
                            "no more than rows")
            check_order(own["order"][g], self.run_of.states[g].active, n)
            schemas.require(self.run_of.states[g].at == 0, "visits of native",
                            "none of an epoch that has begun")
