# SPDX-License-Identifier: BSD-3-Clause
"""The space of chains whose emissions are functions of a kernel.

    f_k = sum_t coef[t, k] K(x_t, .)  for every tag k, and the transitions V;  |f|^2 = sum_k |f_k|^2
    + |V|^2 scores(f) = (f_k(x_t) for every token t and tag k, V)

as svmcut.data.labellings lays them out. It is the space of a kernel over the places of scores:
K(x_t, x_u) between (t, k) and (u, k), 0 between different tags, 1 between a transition and itself.
An element is an Expansion whose points are places and whose scores end in V itself, and everything
but the adjoint is that of KernelSpace.

Over many tokens scores of cuts are float32. There may be hundreds of them, each with as many
numbers as tokens times tags, and they are read once an iteration to be added up: half the memory is
half the time. What they round, 6e-8 of a score, is no more than what the kernel values do, and a
certificate is of neither. Sums of cuts are float64.
"""

from __future__ import annotations

import numpy as np

from svmcut.base.typing import TYPE_CHECKING
from svmcut.data.labellings import Labelling
from svmcut.spaces.kernel import Expansion, KernelSpace
from svmcut.spec import schemas

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.data.labellings import Labellings

_CHUNK = 256


class CachedRows:
    """Rows of kernel values, of which the last used are kept.

    Parameters
    ----------
    rows : KernelRows
    memory : float
        Megabytes of rows kept.
    exact : bool
        Whether values are float64 from float64 sums, 8 n bytes a row; else float32.

    Attributes
    ----------
    n, threads : int
    """

    def __init__(self, rows, memory: float, exact: bool = False):
        self.rows, self.n, self.threads = rows, rows.n, rows.threads
        dtype = np.dtype(np.float64 if exact else np.float32)
        self._fresh = rows.block_double if exact else rows.block
        self._most = min(self.n, int(memory * 1e6 / (dtype.itemsize * max(self.n, 1))))
        self._values = np.empty((self._most, self.n), dtype)
        self._slot, self._row = np.full(self.n, -1), np.full(self._most, -1)
        self._used, self._time = np.zeros(self._most, np.int64), 0

    @property
    def evaluations(self) -> int:
        """Kernel values computed so far."""
        return self.rows.evaluations

    @property
    def diagonal(self) -> NDArray[np.float64]:
        """(n,) K(x_i, x_i)."""
        return self.rows.diagonal

    def block(self, wanted: NDArray) -> NDArray:
        """(q, n) K(x_r, .) of the rows named, each once."""
        values, places = self.look_up(wanted)
        return values[places] if values is self._values else values

    def look_up(self, wanted: NDArray) -> tuple[NDArray, NDArray[np.int64]]:
        """Values, and where those of the rows named, each once, stand among them until others are
        asked for."""
        if len(wanted) > self._most:
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

    Parameters
    ----------
    rows : KernelRows or CachedRows
        Kernel values of the tokens.
    labellings : Labellings
    stored : bool
        Whether the kernel matrix of all tokens is kept once an element needs it.
    exact : bool
        Whether it and the scores of cuts are float64; else float32.

    Attributes
    ----------
    dim : int
        Length of scores.
    """

    def __init__(self, rows, labellings: Labellings, stored: bool = False, exact: bool = False):
        super().__init__(rows, 0.0, np.float64 if exact else np.float32)
        self._labellings, self.dim = labellings, labellings.dim
        self._stored = (np.float64 if exact else np.float32) if stored else None

    def kinds(self) -> schemas.Kinds:
        """As KernelSpace.kinds; scores are those of an element as it is kept, coefficients are
        labellings."""
        chains, kinds = self._labellings.chains, super().kinds()
        rounded = schemas.either(kinds.scores, schemas.array(np.float32, self.dim))
        coef = Labelling.kind(chains.n_tokens, chains.n_tags, chains.n_sequences)
        return kinds._replace(scores=rounded, coef=coef)

    def adjoint(self, coef) -> Expansion:
        """sum_n weights[n] (Psi(labels_n) - Psi(right)) of a Labelling; reads the rows of its wrong
        tokens."""
        return self.expansion(*self._labellings.coefficients(coef))

    def expansion(self, points: NDArray, coef: NDArray) -> Expansion:
        """The element with these coefficients at these places of scores (increasing, each once);
        O(points tokens)."""
        n_nodes, stride = self._labellings.n_nodes, self._labellings.stride
        scores = np.zeros(self.dim, self._dtype)
        nodes = int(np.searchsorted(points, n_nodes))
        scores[points[nodes:]] = coef[nodes:]
        if nodes:
            tokens, tags = np.divmod(points[:nodes], stride)
            scores[:n_nodes].reshape(-1, stride)[:] = self._functions(tokens, tags, coef[:nodes]).T
        return Expansion(points, np.asarray(coef, np.float64), scores)

    def _functions(self, tokens: NDArray, tags: NDArray, coef: NDArray) -> NDArray[np.float64]:
        """(stride, tokens) float64 f_k at all tokens, from entries in the order of their tokens.

        Sums of a chunk are as exact as the kernel values, of as many terms as it has rows; those of
        chunks float64.
        """
        from scipy.sparse import csr_array

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
