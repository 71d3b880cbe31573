# SPDX-License-Identifier: BSD-3-Clause
# sources: csrc/chain/gdmm_chain.cc csrc/chain/gdmm_chain_state.cc csrc/chain/soft_chain.cc
"""Thin wrapper of csrc/chain/gdmm_chain.cc, gdmm_chain_state.cc and soft_chain.cc; see
csrc/include/chain.h."""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t

from abi.chain cimport *
from svmcut._native.chain cimport Chains
from svmcut._native.saved cimport Saved
from svmcut._native.status cimport served


cdef class Gdmm(Saved):
    """State of one run; w (dim,) float64, in the layout of the chains, is the caller's and starts
    at 0.

    weights, (n_sequences,) float64 or None for 1 each: a sequence's C is C weights_n.
    """

    cdef svmcut_gdmm_chain* state
    cdef Chains chains
    cdef double[::1] w

    def __cinit__(self, Chains chains, double[::1] w, double C, double rho, int parts, bint brute,
                  uint64_t seed, bint soft=False, const double[::1] weights=None):
        if w.shape[0] != chains.dim or parts < 1:
            raise ValueError("w must have the length of the layout, parts be at least 1")
        if chains.chain.transition_order != 1 or chains.chain.emission_order != 0:
            raise ValueError("factors are those of transition order 1 and emission order 0")
        self.chains, self.w = chains, w
        cdef const double* v = self.keep("sequences", weights, chains.n_sequences)
        self.state = svmcut_gdmm_chain_new(&chains.chain, C, v, rho, parts, brute, soft, seed)
        if self.state == NULL:
            raise MemoryError

    def __dealloc__(self):
        svmcut_gdmm_chain_delete(self.state)

    def run(self):
        """One pass over the sequences."""
        cdef int status
        with nogil:
            status = svmcut_gdmm_chain_pass(self.state, &self.w[0], NULL)
        served(status)

    def repair(self):
        """V2 (K stride,), the linear part of the dual, the sum of residuals, and how many states
        are in use."""
        out = np.empty(self.chains.chain.K * self.chains.chain.stride)
        cdef double[::1] V2 = out
        cdef double linear, residual, in_use
        cdef int status
        with nogil:
            status = svmcut_gdmm_chain_repair(self.state, &V2[0], &linear, &residual, &in_use)
        served(status)
        return out, linear, residual, int(in_use)

    cdef void _save(self, int64_t* integers, double* reals, int64_t* counts) noexcept:
        svmcut_gdmm_chain_save(self.state, integers, reals, counts)

    cdef int _load(self, const int64_t* integers, const double* reals,
                   const int64_t* counts) noexcept:
        return svmcut_gdmm_chain_load(self.state, &self.w[0], integers, reals, counts)


def pair_max(const double[:, ::1] V, const double[::1] a, const double[::1] b, double rho, gold,
             bint brute):
    """(left, right, value) of the best pair but the right one; V (K, K), messages a and b (K,)."""
    cdef int32_t left, right, gold_left = gold[0], gold_right = gold[1]
    cdef double value
    svmcut_pair_max(&V[0, 0], V.shape[0], V.shape[1], &a[0], &b[0], rho, gold_left, gold_right,
                    brute, &left, &right, &value)
    return left, right, value
