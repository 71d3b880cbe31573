# SPDX-License-Identifier: BSD-3-Clause
# sources: csrc/labels/label_index.cc
"""Thin wrapper of csrc/labels/label_index.cc."""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t

from abi.wide cimport *
from svmcut._native.sparse cimport Rows
from svmcut._native.status cimport served


def scores(Rows X, const int64_t[::1] indptr, const int32_t[::1] places, const float[::1] values,
           const double[::1] constant, int threads):
    """(n, K) float64 scores of every label; arrays as of svmcut.models.SparseLabelModel, checked by
    it."""
    cdef svmcut_label_index index
    cdef int64_t n = X.csr.n_rows, K = constant.shape[0]
    if places.shape[0] != values.shape[0] or indptr.shape[0] < 1 or (
            indptr[indptr.shape[0] - 1] != places.shape[0]):
        raise ValueError("the weights have the wrong shape")
    out = np.empty((n, K))
    cdef double[:, ::1] s = out
    if n == 0 or K == 0:
        return out
    index.d, index.K = indptr.shape[0] - 1, K
    index.indptr, index.constant = &indptr[0], &constant[0]
    index.places = &places[0] if places.shape[0] else NULL
    index.values = &values[0] if values.shape[0] else NULL
    with nogil:
        svmcut_label_index_scores(&X.csr, &index, &s[0, 0], threads)
    return out


def sums(Rows X, const int64_t[::1] indptr, const int32_t[::1] rows, int64_t most, int threads):
    """Unit vectors along the sums of the rows of each label, which is on at
    rows[indptr[k]:indptr[k + 1]]: columns (K, most), values and how many of them there are, the
    `most` largest ones.

    Raises
    ------
    ValueError
        For rows that X does not have.
    """
    cdef int64_t K = indptr.shape[0] - 1, m
    if indptr[0] != 0 or indptr[K] != rows.shape[0] or most < 1:
        raise ValueError("the labels have the wrong shape")
    for m in range(K):
        if indptr[m] > indptr[m + 1]:
            raise ValueError("the labels have the wrong shape")
    for m in range(rows.shape[0]):
        if not 0 <= rows[m] < X.csr.n_rows:
            raise ValueError("a label is on at a row that is not there")
    found = np.zeros((K, most), np.int32)
    held = np.zeros((K, most), np.float32)
    counts = np.zeros(K, np.int64)
    cdef int32_t[:, ::1] indices = found
    cdef float[:, ::1] values = held
    cdef int64_t[::1] sizes = counts
    cdef int status
    if K:
        with nogil:
            status = svmcut_label_sums(&X.csr, &indptr[0], &rows[0] if rows.shape[0] else NULL, K,
                                       most, &indices[0, 0], &values[0, 0], &sizes[0], threads)
        served(status)
    return found, held, counts


cdef class Tree:
    """The weights of a tree of labels; arrays as of svmcut.models.LabelTreeModel, checked by it."""

    cdef const int64_t[::1] first, bounds, indptr
    cdef const int32_t[::1] features
    cdef const uint8_t[::1] places
    cdef const float[::1] values
    cdef const double[::1] constant
    cdef svmcut_label_tree tree

    def __init__(self, const int64_t[::1] first, const int64_t[::1] bounds,
                 const int32_t[::1] features, const int64_t[::1] indptr, const uint8_t[::1] places,
                 const float[::1] values, const double[::1] constant, int64_t d):
        self.first, self.bounds, self.indptr, self.features = first, bounds, indptr, features
        self.places, self.values, self.constant = places, values, constant
        cdef int64_t J = first.shape[0] - 1, E = features.shape[0], m = values.shape[0]
        if J < 1 or bounds.shape[0] != J + 1 or indptr.shape[0] != E + 1 or (
                bounds[J] != E or indptr[E] != m or places.shape[0] != m
                or constant.shape[0] != first[J]):
            raise ValueError("the weights have the wrong shape")
        self.tree.first, self.tree.bounds, self.tree.d = &first[0], &bounds[0], d
        self.tree.indptr, self.tree.constant = &indptr[0], &constant[0]
        self.tree.features = &features[0] if E else NULL
        self.tree.places = &places[0] if m else NULL
        self.tree.values = &values[0] if m else NULL

    def scores(self, Rows X, const int64_t[::1] rows, const int64_t[::1] nodes, int threads):
        """The scores of the children of nodes[p] at row rows[p], of pair after pair, and where
        those of each begin, and the last's end."""
        cdef int64_t count = rows.shape[0], p
        if nodes.shape[0] != count:
            raise ValueError("there must be as many rows as nodes")
        starts = np.zeros(count + 1, np.int64)
        cdef int64_t[::1] ends = starts
        for p in range(count):
            if not (0 <= rows[p] < X.csr.n_rows and 0 <= nodes[p] < self.first.shape[0] - 1):
                raise ValueError("a row or node is not there")
            ends[p + 1] = ends[p] + self.first[nodes[p] + 1] - self.first[nodes[p]]
        found = np.empty(ends[count])
        cdef double[::1] f = found
        cdef const int64_t[::1] order = np.argsort(nodes, kind="stable")
        cdef int status
        if len(found):
            with nogil:
                status = svmcut_label_tree_scores(&X.csr, &self.tree, &rows[0], &nodes[0],
                                                  &order[0], count, &ends[0], &f[0], threads)
            served(status)
        return found, starts


def least(const double[::1] scores, const int64_t[::1] ends, int64_t k, int threads):
    """(n,) float64: the k-th largest of scores[ends[i]:ends[i + 1]]; -inf where there are fewer."""
    cdef int64_t n = ends.shape[0] - 1, i
    if k < 1 or n < 0 or ends[0] < 0 or ends[n] > scores.shape[0]:
        raise ValueError("the bounds of scores have the wrong shape")
    for i in range(n):
        if ends[i] > ends[i + 1]:
            raise ValueError("the bounds of scores have the wrong shape")
    out = np.full(n, -np.inf)
    cdef double[::1] found = out
    cdef int status
    if n and scores.shape[0]:
        with nogil:
            status = svmcut_label_least(&scores[0], &ends[0], n, k, &found[0], threads)
        served(status)
    return out
