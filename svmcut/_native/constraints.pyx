# SPDX-License-Identifier: BSD-3-Clause
# sources: csrc/measures/ordinal.cc csrc/measures/contingency.cc csrc/measures/averageprecision.cc
# sources: csrc/measures/ndcg.cc csrc/measures/tables.cc csrc/measures/survival.cc
# sources: csrc/measures/propensity.cc
"""Most violated constraints: ordinal pairs, clicks, contingency losses, average precision, NDCG,
times; one C function each."""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t

from abi.measures cimport *
from svmcut._native.status cimport served


def workspace(n):
    """Memory for the constraint builders of n rows, reused by every call; one call at a time."""
    return np.empty(svmcut_risk_workspace(n), np.uint8)


cdef int check_queries(Py_ssize_t n, const int64_t[::1] start, uint8_t[::1] work) except -1:
    if start.shape[0] < 1 or start[start.shape[0] - 1] != n:
        raise ValueError("queries and rows do not match")
    if work.shape[0] < svmcut_risk_workspace(n):
        raise ValueError("the workspace is too small")
    return 0


def ordinal_grades(const double[::1] y, const int64_t[::1] start, uint8_t[::1] work, int threads):
    """Ranks of the labels in their queries (n,) int32, grades (Q,) int32 and pairs (Q,) int64 of
    each query."""
    check_queries(y.shape[0], start, work)
    cdef int64_t n_queries = start.shape[0] - 1
    grade_array = np.empty(y.shape[0], np.int32)
    n_grades_array = np.empty(n_queries, np.int32)
    pairs_array = np.empty(n_queries, np.int64)
    if y.shape[0] == 0:
        return grade_array, n_grades_array, pairs_array
    cdef int32_t[::1] grade = grade_array
    cdef int32_t[::1] n_grades = n_grades_array
    cdef int64_t[::1] pairs = pairs_array
    cdef int status
    with nogil:
        status = svmcut_ordinal_grades(&y[0], &start[0], n_queries, &grade[0], &n_grades[0],
                                       &pairs[0], &work[0], threads)
    if status:
        raise ValueError("more than 2^31 - 2 rows")
    return grade_array, n_grades_array, pairs_array


def ordinal_cut(const double[::1] s, const int64_t[::1] start, const int32_t[::1] grade,
                const int32_t[::1] n_grades, const double[::1] weight, const double[::1] margin,
                uint8_t[::1] work, int threads):
    """Coefficients (n,), and per query the pairs in the cut (Q,) int64 and the unweighted value
    (Q,)."""
    check_queries(s.shape[0], start, work)
    cdef int64_t n_queries = start.shape[0] - 1
    if grade.shape[0] != s.shape[0] or n_grades.shape[0] != n_queries:
        raise ValueError("grades and rows do not match")
    if weight.shape[0] != n_queries or margin.shape[0] != n_queries:
        raise ValueError("weights, margins and queries do not match")
    coef_array = np.empty(s.shape[0])
    cut_pairs_array = np.empty(n_queries, np.int64)
    value_array = np.empty(n_queries)
    if s.shape[0] == 0:
        return coef_array, cut_pairs_array, value_array
    cdef double[::1] coef = coef_array
    cdef int64_t[::1] cut_pairs = cut_pairs_array
    cdef double[::1] value = value_array
    cdef int status
    with nogil:
        status = svmcut_ordinal_cut(&s[0], &start[0], n_queries, &grade[0], &n_grades[0],
                                    &weight[0], &margin[0], &coef[0], &cut_pairs[0], &value[0],
                                    &work[0], threads)
    if status:
        raise ValueError("more than 2^31 - 2 rows")
    return coef_array, cut_pairs_array, value_array


def propensity_cut(const double[::1] s, const int64_t[::1] start, const double[::1] cost,
                   double weight, uint8_t[::1] work, int threads):
    """Coefficients (n,), and per query the unweighted value and offset, each (Q,)."""
    check_queries(s.shape[0], start, work)
    cdef int64_t n_queries = start.shape[0] - 1
    if cost.shape[0] != s.shape[0]:
        raise ValueError("costs and rows do not match")
    coef_array, value_array = np.empty(s.shape[0]), np.empty(n_queries)
    offset_array = np.empty(n_queries)
    if s.shape[0] == 0:
        return coef_array, value_array, offset_array
    cdef double[::1] coef = coef_array
    cdef double[::1] value = value_array
    cdef double[::1] offset = offset_array
    cdef int status
    with nogil:
        status = svmcut_propensity_cut(&s[0], &start[0], n_queries, &cost[0], weight, &coef[0],
                                       &value[0], &offset[0], &work[0], threads)
    if status:
        raise ValueError("more than 2^31 - 2 rows")
    return coef_array, value_array, offset_array


cdef int check_classes(Py_ssize_t n, const int32_t[::1] positive, const int32_t[::1] negative,
                       uint8_t[::1] work) except -1:
    if n == 0 or positive.shape[0] + negative.shape[0] != n:
        raise ValueError("classes and scores do not match")
    if work.shape[0] < svmcut_risk_workspace(n):
        raise ValueError("the workspace is too small")
    return 0


def contingency_cut(const double[::1] s, const int32_t[::1] positive, const int32_t[::1] negative,
                    int loss, bint slack_rescaling, int slack_norm, int64_t k, uint8_t[::1] work,
                    int threads):
    """Value, coefficients (n,) and offset of the most violated labelling."""
    check_classes(s.shape[0], positive, negative, work)
    cdef int64_t n_positive = positive.shape[0], n_negative = negative.shape[0]
    cdef const int32_t* positive_rows = &positive[0] if n_positive else NULL
    cdef const int32_t* negative_rows = &negative[0] if n_negative else NULL
    coef_array = np.empty(s.shape[0])
    cdef double[::1] coef = coef_array
    cdef double[2] value_offset
    cdef int status
    with nogil:
        status = svmcut_contingency_cut(&s[0], positive_rows, n_positive, negative_rows, n_negative,
                                        loss, slack_rescaling, slack_norm, k, &coef[0],
                                        value_offset, &work[0], threads)
    if status:
        raise ValueError("an unknown loss, or more than 2^31 - 2 rows")
    return value_offset[0], coef_array, value_offset[1]


def table_cut(const double[::1] s, const int32_t[::1] positive, const int32_t[::1] negative,
              int loss, double parameter, uint8_t[::1] work, int threads):
    """As `contingency_cut` with margin rescaling; parameter: beta or a floor, where the loss has
    one."""
    check_classes(s.shape[0], positive, negative, work)
    cdef int64_t n_positive = positive.shape[0], n_negative = negative.shape[0]
    cdef const int32_t* positive_rows = &positive[0] if n_positive else NULL
    cdef const int32_t* negative_rows = &negative[0] if n_negative else NULL
    coef_array = np.empty(s.shape[0])
    cdef double[::1] coef = coef_array
    cdef double[2] value_offset
    cdef int status
    with nogil:
        status = svmcut_table_cut(&s[0], positive_rows, n_positive, negative_rows, n_negative, loss,
                                  parameter, &coef[0], value_offset, &work[0], threads)
    served(status)
    return value_offset[0], coef_array, value_offset[1]


def average_precision_cut(const double[::1] s, const int32_t[::1] positive,
                          const int32_t[::1] negative, double scale, double weight,
                          uint8_t[::1] work, int threads):
    """Value, coefficients (n,) and offset of the most violated ranking."""
    check_classes(s.shape[0], positive, negative, work)
    cdef int64_t n_positive = positive.shape[0], n_negative = negative.shape[0]
    if n_positive == 0 or n_negative == 0:
        raise ValueError("average precision needs both classes")
    coef_array = np.empty(s.shape[0])
    cdef double[::1] coef = coef_array
    cdef double[2] value_offset
    cdef int status
    with nogil:
        status = svmcut_average_precision_cut(&s[0], &positive[0], n_positive, &negative[0],
                                              n_negative, scale, weight, &coef[0], value_offset,
                                              &work[0], threads)
    if status:
        raise ValueError("more than 2^31 - 2 rows")
    return value_offset[0], coef_array, value_offset[1]


def map_cut(const double[::1] s, const int64_t[::1] start, const int32_t[::1] rows,
            const int64_t[::1] n_relevant, const double[::1] weight, uint8_t[::1] work,
            int threads):
    """Coefficients (n,), and per query the value and the offset (Q,), unweighted, of its most
    violated ranking.

    rows: of every query the relevant ones, (n_relevant[q],), and then the others.
    """
    check_queries(s.shape[0], start, work)
    cdef int64_t n_queries = start.shape[0] - 1
    if (rows.shape[0] != s.shape[0] or n_relevant.shape[0] != n_queries
            or weight.shape[0] != n_queries):
        raise ValueError("relevant rows, weights and queries do not match")
    coef_array = np.empty(s.shape[0])
    value_array, offset_array = np.empty(n_queries), np.empty(n_queries)
    if s.shape[0] == 0:
        return coef_array, value_array, offset_array
    cdef double[::1] coef = coef_array, value = value_array, offset = offset_array
    cdef int status
    with nogil:
        status = svmcut_map_cut(&s[0], &start[0], n_queries, &rows[0], &n_relevant[0], &weight[0],
                                &coef[0], &value[0], &offset[0], &work[0], threads)
    if status:
        raise ValueError("more than 2^31 - 2 rows")
    return coef_array, value_array, offset_array


def ndcg_rooms(sizes, int threads):
    """What `ndcg_cut` needs for so many threads; sizes: those of svmcut_ndcg_size, by name."""
    cdef svmcut_ndcg_size most = sizes
    return np.empty((threads, svmcut_ndcg_room(&most)), np.uint8)


def ndcg_cut(const double[::1] s, const int64_t[::1] start, const int32_t[::1] grade,
             const int32_t[::1] n_grades, const double[::1] gain, const double[::1] discount,
             const double[::1] weight, uint8_t[::1] work, sizes, uint8_t[:, ::1] rooms):
    """As `map_cut`, for NDCG of the first places, as many as there are discounts."""
    check_queries(s.shape[0], start, work)
    cdef int64_t n_queries = start.shape[0] - 1
    if (grade.shape[0] != s.shape[0] or gain.shape[0] != s.shape[0]
            or n_grades.shape[0] != n_queries):
        raise ValueError("grades and rows do not match")
    cdef svmcut_ndcg_size most = sizes
    if weight.shape[0] != n_queries or rooms.shape[1] < svmcut_ndcg_room(&most):
        raise ValueError("weights, rooms and queries do not match")
    coef_array = np.empty(s.shape[0])
    value_array, offset_array = np.empty(n_queries), np.empty(n_queries)
    if s.shape[0] == 0:
        return coef_array, value_array, offset_array
    cdef double[::1] coef = coef_array, value = value_array, offset = offset_array
    cdef int status
    with nogil:
        status = svmcut_ndcg_cut(&s[0], &start[0], n_queries, &grade[0], &n_grades[0], &gain[0],
                                 &discount[0], discount.shape[0], &weight[0], &coef[0], &value[0],
                                 &offset[0], &work[0], &most, &rooms[0, 0], <int>rooms.shape[0])
    if status:
        raise ValueError("more than 2^31 - 2 rows")
    return coef_array, value_array, offset_array


cdef uint8_t[::1] room(Py_ssize_t n, const int32_t[::1] key, int64_t keys):
    if n == 0 or key.shape[0] != n:
        raise ValueError("times and scores do not match")
    if np.min(key) < 0 or np.max(key) >= keys:
        raise ValueError("keys are out of range")
    return np.empty(svmcut_risk_workspace(n), np.uint8)


def survival_cut(const double[::1] s, const int32_t[::1] key, int64_t keys, weight, bint squared,
                 int threads):
    """Slopes (n,) of the sum over pairs of hinges or of their squares, and over pairs within the
    margin the sums of the hinges, of their squares, and of 1; weight: (n,) float64 or None."""
    cdef uint8_t[::1] work = room(s.shape[0], key, keys)
    cdef const double[::1] v = s if weight is None else weight
    cdef const double* weights = NULL
    if weight is not None:
        weights = &v[0]
    if v.shape[0] != s.shape[0]:
        raise ValueError("weights and scores do not match")
    coef_array = np.empty(s.shape[0])
    cdef double[::1] coef = coef_array
    cdef double[3] sums
    cdef int status
    with nogil:
        status = svmcut_survival_cut(&s[0], &key[0], weights, s.shape[0], keys, squared, &coef[0],
                                     sums, &work[0], threads)
    served(status)
    return coef_array, sums[0], sums[1], sums[2]


def survival_pairs(const double[::1] s, const int32_t[::1] key, int64_t keys, int threads):
    """How many pairs are in order, how many have equal scores, and how many there are."""
    cdef uint8_t[::1] work = room(s.shape[0], key, keys)
    cdef int64_t[3] counts
    cdef int status
    with nogil:
        status = svmcut_survival_pairs(&s[0], &key[0], s.shape[0], keys, counts, &work[0], threads)
    served(status)
    return counts[0], counts[1], counts[2]
