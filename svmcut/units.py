# SPDX-License-Identifier: BSD-3-Clause
"""Every conversion of C, epsilon and loss scale, each with its source.

One factor multiplies a risk's value, coefficients and offset, and C is divided by it; nothing else in svmcut rescales.
"""

from __future__ import annotations

PERCENT = 100.0


def example_cost_from_perf(c: float, n: int) -> float:
    """Weight of one example's hinge loss for svm_perf's c.

    svm_perf minimises 1/2 w'w + c * (100/n) sum_i max(0, 1 - y_i w.x_i): its loss is the error rate in percent
    (observed: svm_perf -c 0.6 on 60 examples is svm_light -c 1).
    """
    return c * PERCENT / n


def perf_cost_from_example(example_cost: float, n: int) -> float:
    """svm_perf's c for the weight of one example's hinge loss (LIBLINEAR's, LIBSVM's and svm_light's C)."""
    return example_cost * n / PERCENT


def mean_cost_from_sum(structure_cost: float, structures: int) -> float:
    """svm_rank's and svm_hmm's c for the weight of one query's (sequence's) loss: they average over the structures."""
    return structure_cost * structures


def sum_cost_from_mean(c: float, structures: int) -> float:
    """Weight of one query's (sequence's) loss for svm_rank's (svm_hmm's) c."""
    return c / structures
