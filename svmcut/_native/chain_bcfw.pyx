# SPDX-License-Identifier: BSD-3-Clause
# sources: csrc/chain/chain_bcfw.cc csrc/chain/chain_bcfw_state.cc
"""Thin wrapper of csrc/chain/chain_bcfw.cc and chain_bcfw_state.cc."""

from libc.stdint cimport int64_t, uint64_t

from abi.chain cimport *
from svmcut._native.chain cimport Chains
from svmcut._native.saved cimport Saved
from svmcut._native.status cimport served


cdef class Blocks(Saved):
    """A run of block-coordinate ascent and its labellings.

    Parameters
    ----------
    chains : Chains
    C : float
        Weight of one sequence's loss.
    seed : int
    weights : (n_sequences,) float64 or None
        A sequence's C is C weights_n; None for 1 each.

    Attributes
    ----------
    gap, loss : float
        Sum of the gaps as last seen, and the linear part l of the dual.
    visits, cached, support : int
    """

    cdef Chains chains
    cdef svmcut_bcfw* run
    cdef svmcut_bcfw_state state

    def __init__(self, Chains chains, double C, uint64_t seed, const double[::1] weights=None):
        if chains.n_sequences < 1:
            raise ValueError("no sequences")
        self.chains = chains
        cdef const double* v = self.keep("sequences", weights, chains.n_sequences)
        self.run = svmcut_bcfw_new(&chains.chain, C, v, seed)
        if self.run == NULL:
            raise MemoryError

    def __dealloc__(self):
        if self.run != NULL:
            svmcut_bcfw_delete(self.run)

    gap = property(lambda self: self._state()[0])
    loss = property(lambda self: self._state()[1])
    visits = property(lambda self: self._state()[2])
    cached = property(lambda self: self._state()[3])
    support = property(lambda self: self._state()[4])

    def _state(self):
        return (self.state.gap, self.state.loss, self.state.visits, self.state.cached,
                self.state.support)

    def visit(self, int64_t count, const int[::1] cancel=None):
        """Visits `count` sequences; False when cancel[0] became nonzero."""
        cdef const int* flag = &cancel[0] if cancel is not None and cancel.shape[0] else NULL
        cdef int status
        with nogil:
            status = svmcut_bcfw_visit(self.run, count, &self.state, flag)
        return served(status) != SVMCUT_CANCELLED

    def weights(self, bint afresh, double[::1] out):
        """w as it stands, or summed afresh from the labellings, from which the run then goes on."""
        if out.shape[0] != self.chains.dim:
            raise ValueError("out has the wrong length")
        cdef int status = SVMCUT_OK
        if out.shape[0]:
            with nogil:
                status = svmcut_bcfw_weights(self.run, afresh, &out[0])
        served(status)

    cdef void _save(self, int64_t* integers, double* reals, int64_t* counts) noexcept:
        svmcut_bcfw_save(self.run, integers, reals, counts)

    cdef int _load(self, const int64_t* integers, const double* reals,
                   const int64_t* counts) noexcept:
        cdef int status = svmcut_bcfw_load(self.run, integers, reals, counts)
        if status == SVMCUT_OK:
            status = svmcut_bcfw_visit(self.run, 0, &self.state, NULL)
        return status
