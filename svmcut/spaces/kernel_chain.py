# SPDX-License-Identifier: BSD-3-Clause
"""The space of chains whose emissions are functions of a kernel.

    f_k = sum_t coef[t, k] K(x_t, .)  for every tag k, and the transitions V
    |f|^2 = sum_k |f_k|^2 + |V|^2
    scores(f) = (f_k(x_t) for every token t and tag k, V)

Scores are laid out as in svmcut.data.labellings. The space is that of a kernel over the positions
of scores: K(x_t, x_u) between (t, k) and (u, k), 0 between different tags, 1 between a transition
and itself. An element is an Expansion whose points are positions and whose scores end in V;
everything but the adjoint is inherited from KernelSpace.

Over many tokens the scores of cuts are float32: there may be hundreds of them, each of tokens times
tags, and every iteration reads them to add them up, so half the memory is half the time. Their
rounding, 6e-8 of a score, is no more than that of kernel values, and no certificate depends on it.
Sums of cuts are float64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from svmcut.data.labellings import Labelling, Labellings
from svmcut.spaces.kernel import Expansion, KernelSpace
from svmcut.spec import schemas

_CHUNK = 256


class CachedRows:
    """Rows of kernel values with a cache of the last used, of `memory` megabytes. Values are
    float64 of float64 sums if `exact`, else float32."""

    def __init__(self, rows, memory: float, exact: bool = False):
        self.rows, self.n, self.threads = rows, rows.n, rows.threads
        dtype = np.dtype(np.float64 if exact else np.float32)
        self._fresh = rows.block_double if exact else rows.block
        self._capacity = min(self.n, int(memory * 1e6 / (dtype.itemsize * max(self.n, 1))))
        self._values = np.empty((self._capacity, self.n), dtype)
        self._slot, self._row = np.full(self.n, -1), np.full(self._capacity, -1)
        self._used, self._time = np.zeros(self._capacity, np.int64), 0

    @property
    def evaluations(self) -> int:
        """Kernel values computed so far."""
        return self.rows.evaluations

    @property
    def diagonal(self) -> NDArray[np.float64]:
        """(n,) K(x_i, x_i)."""
        return self.rows.diagonal

    def block(self, wanted: NDArray) -> NDArray:
        """(q, n) K(x_r, .) of the given rows, each listed once."""
        values, places = self.look_up(wanted)
        return values[places] if values is self._values else values

    def look_up(self, wanted: NDArray) -> tuple[NDArray, NDArray[np.int64]]:
        """Values, and the places of the given rows (each listed once) among them; both hold until
        the next call."""
        if len(wanted) > self._capacity:
            return self._fresh(wanted), np.arange(len(wanted))
        self._time += 1
        slots = self._slot[wanted]
        self._used[slots[slots >= 0]] = self._time
        missing = wanted[slots < 0]
        if len(missing):
            oldest = np.argsort(self._used, kind="stable")[: len(missing)]
            left = self._row[oldest]
            self._slot[left[left >= 0]] = -1
            self._values[oldest] = self._fresh(missing)
            self._slot[missing], self._row[oldest], self._used[oldest] = oldest, missing, self._time
        return self._values, self._slot[wanted]


class KernelChainSpace(KernelSpace):
    """Functions of a kernel for every tag, and transitions.

    `rows` has the kernel values of the tokens; with `stored` their whole matrix is kept once an
    element needs it. It and the scores of cuts are float64 if `exact`, else float32. `dim` is the
    number of scores.
    """

    def __init__(self, rows, labellings: Labellings, stored: bool = False, exact: bool = False):
        super().__init__(rows, 0.0, np.float64 if exact else np.float32)
        self._labellings, self.dim = labellings, labellings.dim
        self._stored = (np.float64 if exact else np.float32) if stored else None

    def kinds(self) -> schemas.Kinds:
        """See KernelSpace.kinds; scores are as an element stores them, coefficients are
        labellings."""
        chains, kinds = self._labellings.chains, super().kinds()
        rounded = schemas.either(kinds.scores, schemas.array(np.float32, self.dim))
        coef = Labelling.kind(chains.n_tokens, chains.n_tags, chains.n_sequences)
        return kinds._replace(scores=rounded, coef=coef)

    def adjoint(self, coef) -> Expansion:
        """sum_n weights[n] (Psi(labels_n) - Psi(right)) of a Labelling; reads only the rows of
        tokens with a wrong tag."""
        return self.expansion(*self._labellings.coefficients(coef))

    def expansion(self, points: NDArray, coef: NDArray) -> Expansion:
        """The element with these coefficients at these positions of scores, which are increasing
        and distinct; O(points tokens)."""
        n_nodes, stride = self._labellings.n_nodes, self._labellings.stride
        scores = np.zeros(self.dim, self._dtype)
        nodes = int(np.searchsorted(points, n_nodes))
        scores[points[nodes:]] = coef[nodes:]
        if nodes:
            tokens, tags = np.divmod(points[:nodes], stride)
            scores[:n_nodes].reshape(-1, stride)[:] = self._functions(tokens, tags, coef[:nodes]).T
        return Expansion(points, np.asarray(coef, np.float64), scores)

    def _functions(self, tokens: NDArray, tags: NDArray, coef: NDArray) -> NDArray[np.float64]:
        """(stride, tokens) float64 f_k at all tokens, of entries in the order of their tokens.

        Sums within a chunk are as exact as the kernel values; those over chunks are float64.
        """
        stride, n = self._labellings.stride, self.rows.n
        if self._stored is not None and self.gram is None:
            self._fill()
        used, place = np.unique(tokens, return_inverse=True)
        if self.gram is not None:
            used, place = np.arange(n), tokens
        chunk = place // _CHUNK
        order = np.argsort(chunk * stride + tags, kind="stable")
        data: NDArray
        data, columns = coef[order].astype(self._dtype), (place % _CHUNK)[order]
        first = np.searchsorted(
            (chunk * stride + tags)[order], np.arange((int(chunk[-1]) + 1) * stride + 1)
        )
        out = np.zeros((stride, n))
        for c in range(int(chunk[-1]) + 1):
            piece = used[c * _CHUNK : (c + 1) * _CHUNK]
            bounds = first[c * stride : (c + 1) * stride + 1]
            here = slice(bounds[0], bounds[-1])
            if here.start < here.stop:
                values = (
                    self.rows.block(piece)
                    if self.gram is None
                    else self.gram[c * _CHUNK : (c + 1) * _CHUNK]
                )
                rows = data[here], columns[here], bounds - bounds[0]
                out += csr_array(rows, shape=(stride, len(piece))) @ values
        return out
