# SPDX-License-Identifier: BSD-3-Clause
# sources: csrc/chain/chain.cc csrc/chain/chain_counts.cc csrc/chain/chain_sums.cc
"""Thin wrapper of csrc/chain/chain.cc, chain_counts.cc and chain_sums.cc."""

from libc.stdint cimport int32_t, int64_t

from abi.chain cimport *
from svmcut._native.sparse cimport Rows
from svmcut._native.status cimport served


DECODE = SVMCUT_CHAIN_DECODE
HAMMING = SVMCUT_CHAIN_HAMMING


cdef class Chains:
    """Sequences of tokens as the C++ side sees them; the arrays are kept.

    Attributes
    ----------
    dim : int
        Length of the weights.
    node_size, n_tokens, n_sequences, n_tags : int
    """

    n_tags = property(lambda self: (<Chains>self).chain.K)

    def __init__(self, Rows X, const int64_t[::1] sequences, const int32_t[::1] tags,
                 int64_t n_features, int64_t K, int64_t stride, int transition_order,
                 int emission_order):
        cdef int64_t n = sequences.shape[0] - 1, i, tokens = X.csr.n_rows
        if n < 0 or sequences[0] != 0 or sequences[n] != tokens or tags.shape[0] != tokens:
            raise ValueError("sequences, tags and rows do not belong together")
        for i in range(n):
            if sequences[i + 1] <= sequences[i]:
                raise ValueError("a sequence without a token")
        if not (1 <= K <= stride) or not (stride in (4, 8) or stride % 16 == 0):
            raise ValueError("stride must hold K tags and be 4, 8 or a multiple of 16")
        if not 0 <= emission_order <= transition_order <= 3 or emission_order > 1:
            raise ValueError("orders must be 0 to 3, and 0 to 1 and not above it")
        for i in range(tokens):
            if not 0 <= tags[i] < K:
                raise ValueError("a tag is out of range")
        self.X, self.sequences, self.tags = X, sequences, tags
        self.chain.X = X.csr
        self.chain.sequences = &sequences[0]
        self.chain.tags = &tags[0] if tokens else NULL
        self.chain.n_sequences = n
        self.chain.n_features = n_features
        self.chain.K, self.chain.stride = K, stride
        self.chain.transition_order, self.chain.emission_order = transition_order, emission_order
        self.n_tokens, self.n_sequences = tokens, n
        self.node_size = (K + 1 if emission_order else 1) * stride
        self.emissions = n_features * self.node_size
        self.dim = self.emissions
        cdef int64_t rows = 1
        for _ in range(transition_order):
            rows *= K
            self.dim += rows * stride


cdef inline double* pointer(double[::1] v) noexcept nogil:
    return &v[0] if v.shape[0] else NULL


cdef inline const double* const_pointer(const double[::1] v) noexcept nogil:
    return &v[0] if v.shape[0] else NULL


cdef _check(int status):
    if status == SVMCUT_NO_MEMORY:
        raise MemoryError("a lattice of states does not fit")
    served(status)


def nodes(Chains chains, const double[::1] w, double[::1] out, int threads):
    """Emission scores of every token, (tokens, blocks, stride) in one row."""
    if w.shape[0] != chains.dim or out.shape[0] < chains.n_tokens * chains.node_size:
        raise ValueError("w or out has the wrong length")
    cdef int status
    cdef const double* weights = const_pointer(w)
    cdef double* scores = pointer(out)
    with nogil:
        status = svmcut_chain_nodes(&chains.chain, weights, scores, threads)
    _check(status)


def argmax(Chains chains, const double[::1] w, const double[::1] nodes, int loss, int64_t beam,
           int32_t[::1] labels, double[::1] values, double[::1] losses, int threads,
           const int[::1] cancel=None):
    """The best labelling of every sequence; nodes may be None. False when cancel[0] became
    nonzero."""
    cdef int64_t n = chains.n_sequences
    if w.shape[0] != chains.dim or labels.shape[0] != chains.n_tokens or beam < 0:
        raise ValueError("an array has the wrong length")
    if values.shape[0] != n or losses.shape[0] != n:
        raise ValueError("an array has the wrong length")
    if nodes is not None and nodes.shape[0] < chains.n_tokens * chains.node_size:
        raise ValueError("an array has the wrong length")
    if n == 0:
        return True
    cdef const double* given = &nodes[0] if nodes is not None else NULL
    cdef const double* weights = const_pointer(w)
    cdef const int* flag = &cancel[0] if cancel is not None and cancel.shape[0] else NULL
    cdef int status
    with nogil:
        status = svmcut_chain_argmax(&chains.chain, weights, given, loss, beam, &labels[0],
                                     &values[0], &losses[0], threads, flag)
    _check(status)
    return status != SVMCUT_CANCELLED


cdef const double* _weights(Chains chains, const int32_t[::1] labels,
                            const double[::1] weights) except? NULL:
    cdef int64_t i
    if labels.shape[0] != chains.n_tokens or (weights is not None
                                              and weights.shape[0] != chains.n_sequences):
        raise ValueError("labels or weights has the wrong length")
    for i in range(labels.shape[0]):
        if not 0 <= labels[i] < chains.chain.K:
            raise ValueError("a label is out of range")
    return &weights[0] if weights is not None and weights.shape[0] else NULL


def joint(Chains chains, const int32_t[::1] labels, const double[::1] weights, double[::1] out):
    """out += sum_n weights[n] (Psi(x_n, right) - Psi(x_n, labels)); all weights are 1 where weights
    is None."""
    cdef const double* factors = _weights(chains, labels, weights)
    cdef int status
    if out.shape[0] != chains.dim:
        raise ValueError("out has the wrong length")
    if chains.n_tokens:
        with nogil:
            status = svmcut_chain_joint(&chains.chain, &labels[0], factors, &out[0])
        _check(status)


cdef svmcut_chain_point _point(Chains chains, double t, const int32_t[::1] labels,
                               const double[::1] values, const double[::1] rates) except *:
    cdef int64_t n = chains.n_sequences
    if labels.shape[0] != chains.n_tokens or values.shape[0] != n or rates.shape[0] != n:
        raise ValueError("an array of a point has the wrong length")
    cdef svmcut_chain_point point
    point.t, point.labels, point.values, point.rates = t, &labels[0], &values[0], &rates[0]
    return point


def line(Chains chains, const double[::1] s, const double[::1] e, double t, int64_t beam,
         int32_t[::1] labels, double[::1] values, double[::1] losses, double[::1] rates,
         int threads, below=None, above=None):
    """Labels, slacks, losses and the slacks' rates at the scores s + t e: nodes, and the
    transitions behind them.

    below: labels at a smaller t, and above: (t, labels, slacks, rates) at a larger one, spare the
    search between them.
    """
    cdef int64_t nodes = chains.n_tokens * chains.node_size, n = chains.n_sequences
    cdef int64_t size = nodes + chains.dim - chains.emissions
    if s.shape[0] != size or e.shape[0] != size or labels.shape[0] != chains.n_tokens:
        raise ValueError("an array has the wrong length")
    if values.shape[0] != n or losses.shape[0] != n or rates.shape[0] != n or beam < 0:
        raise ValueError("an array has the wrong length")
    if n == 0:
        return
    cdef int status
    cdef svmcut_chain_point first, last
    cdef bint known = above is not None
    if known:
        last = _point(chains, above[0], above[1], above[2], above[3])
        first = _point(chains, 0.0, below, above[2], above[3])  # of which the labels alone are read
    with nogil:
        status = svmcut_chain_line(&chains.chain, &s[0], &s[0] + nodes, &e[0], &e[0] + nodes, t,
                                   beam, &first if known else NULL, &last if known else NULL,
                                   &labels[0], &values[0], &losses[0], &rates[0], threads)
    _check(status)


def rates(Chains chains, const int32_t[::1] labels, const double[::1] e, double[::1] out):
    """The rates of `line` for given labels, (n_sequences,)."""
    cdef int64_t nodes = chains.n_tokens * chains.node_size
    _weights(chains, labels, None)
    if e.shape[0] != nodes + chains.dim - chains.emissions or out.shape[0] != chains.n_sequences:
        raise ValueError("e or out has the wrong length")
    if chains.n_tokens:
        with nogil:
            svmcut_chain_rates(&chains.chain, &labels[0], &e[0], &e[0] + nodes, &out[0])


def counted(Chains chains, const double[::1] s, const double[::1] losses, const double[::1] prices,
            int32_t[::1] labels, double[::1] values, int64_t[::1] counts, int threads,
            const int[::1] cancel=None):
    """The best labelling with a wrong tag by losses[k] + prices[k] (score - right score), k wrong
    tags at most counted.

    s holds nodes and transitions as in `line`. False when cancel[0] became nonzero.
    """
    cdef int64_t nodes = chains.n_tokens * chains.node_size, n = chains.n_sequences
    cdef int64_t most = losses.shape[0] - 1
    if s.shape[0] != nodes + chains.dim - chains.emissions or labels.shape[0] != chains.n_tokens:
        raise ValueError("an array has the wrong length")
    if values.shape[0] != n or counts.shape[0] != n or most < 1 or prices.shape[0] != most + 1:
        raise ValueError("an array has the wrong length")
    if n == 0:
        return True
    cdef const int* flag = &cancel[0] if cancel is not None and cancel.shape[0] else NULL
    cdef int status
    with nogil:
        status = svmcut_chain_counted(&chains.chain, &s[0], &s[0] + nodes, most, &losses[0],
                                      &prices[0], &labels[0], &values[0], &counts[0], threads, flag)
    _check(status)
    return status != SVMCUT_CANCELLED


cdef _scores(Chains chains, const double[::1] nodes, const double[::1] transitions):
    if nodes.shape[0] != chains.n_tokens * chains.node_size:
        raise ValueError("nodes has the wrong length")
    if transitions.shape[0] != chains.dim - chains.emissions:
        raise ValueError("transitions has the wrong length")


def best(Chains chains, const double[::1] nodes, const double[::1] transitions, int64_t count,
         int32_t[::1] labels, double[::1] values, int threads):
    """The `count` best labellings of every sequence: labels (count * tokens,), sequence by
    sequence, and values (count * n_sequences,)."""
    _scores(chains, nodes, transitions)
    if count < 1 or labels.shape[0] != count * chains.n_tokens:
        raise ValueError("count or labels has the wrong length")
    if values.shape[0] != count * chains.n_sequences:
        raise ValueError("values has the wrong length")
    if chains.n_sequences == 0:
        return
    cdef int status
    cdef const double* moves = const_pointer(transitions)
    with nogil:
        status = svmcut_chain_best(&chains.chain, &nodes[0], moves, count, &labels[0], &values[0],
                                   threads)
    _check(status)


def highest(Chains chains, const double[::1] nodes, const double[::1] transitions,
            double[::1] out, int threads):
    """Of every tag of every token, (tokens * K,), the score of the best labelling that has it."""
    _scores(chains, nodes, transitions)
    if out.shape[0] != chains.n_tokens * chains.chain.K:
        raise ValueError("out has the wrong length")
    if chains.n_sequences == 0:
        return
    cdef int status
    cdef const double* moves = const_pointer(transitions)
    with nogil:
        status = svmcut_chain_highest(&chains.chain, &nodes[0], moves, &out[0], threads)
    _check(status)


def sums(Chains chains, const double[::1] nodes, const double[::1] transitions, double scale,
         double[::1] log_sums, double[::1] means, double[::1] marginals, int threads):
    """Of every sequence ln sum exp(scale score), the mean score, and with marginals (tokens * K,)
    the part of every tag."""
    _scores(chains, nodes, transitions)
    cdef int64_t n = chains.n_sequences
    if log_sums.shape[0] != n or means.shape[0] != n:
        raise ValueError("log_sums or means has the wrong length")
    if marginals is not None and marginals.shape[0] != chains.n_tokens * chains.chain.K:
        raise ValueError("marginals has the wrong length")
    if n == 0:
        return
    cdef int status
    cdef double* parts = &marginals[0] if marginals is not None else NULL
    cdef const double* moves = const_pointer(transitions)
    with nogil:
        status = svmcut_chain_sums(&chains.chain, &nodes[0], moves, scale, &log_sums[0], &means[0],
                                   parts, threads)
    _check(status)
