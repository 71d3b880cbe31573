# SPDX-License-Identifier: BSD-3-Clause
# sources: csrc/chain/chain_ssg.cc
"""Thin wrapper of csrc/chain/chain_ssg.cc."""

from libc.stdint cimport int32_t, int64_t

from abi.chain cimport *
from svmcut._native.chain cimport Chains
from svmcut._native.status cimport served
from svmcut._native.weights cimport weights_of


def visit(Chains chains, double C, const int32_t[::1] order, int64_t visits, double[::1] z,
          double[::1] weighted, const int[::1] cancel=None, const double[::1] weights=None):
    """Visits the sequences of `order`; returns the visits so far, the sum of their losses and False
    if cancelled.

    What a visit adds to z, weighted and the sum of losses is times the weight of the sequence.
    """
    cdef double loss = 0.0
    cdef const double* v = weights_of(weights, chains.n_sequences)
    cdef int64_t i
    if z.shape[0] != chains.dim or weighted.shape[0] != chains.dim:
        raise ValueError("z or weighted has the wrong length")
    for i in range(order.shape[0]):
        if not 0 <= order[i] < chains.n_sequences:
            raise ValueError("a sequence is out of range")
    if order.shape[0] == 0:
        return visits, loss, True
    cdef const int* flag = &cancel[0] if cancel is not None and cancel.shape[0] else NULL
    cdef int status
    with nogil:
        status = svmcut_chain_ssg(&chains.chain, C, v, &order[0], order.shape[0], &visits, &z[0],
                                  &weighted[0], &loss, flag)
    return visits, loss, served(status) != SVMCUT_CANCELLED
