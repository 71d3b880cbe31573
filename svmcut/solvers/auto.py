# SPDX-License-Identifier: BSD-3-Clause
"""The choice of the fastest certified solver for rows of a given shape, measured by
benchmarks/auto.py, and the costs by which one hands over to another on the way."""

from __future__ import annotations

import math

from svmcut.base.typing import Any
from svmcut.spec.catalog import BCFW, DUAL_CD, GDMM, NEWTON

FEW_FEATURES = 320
MANY_FEATURES = 4000


def choose(n: int, d: int, nnz: int, C: float) -> str:
    """Return the name of the solver for n rows, d features, nnz nonzeros and C per example.

    Newton's method forms and factorises a d x d matrix, or multiplies with it, whatever C: it wins
    where features are few, unless C is so small that a few epochs of dual coordinate descent, which
    read the rows alone, are done first. Dense rows slow that descent down, sparse ones only where C
    is large; where it proves slow it hands over to Newton's method by itself.
    """
    if n <= max(2000, 20 * d) or d > MANY_FEATURES:
        return DUAL_CD
    if d <= FEW_FEATURES:
        least = 0.12 * (d / 300) ** 3
    elif 2 * nnz > n * d:
        least = 0.05 * (d / 600) ** 2
    else:
        least = 10.0
    return NEWTON if least <= C else DUAL_CD


SAMPLE = 2000


def distinct_rows(X: Any) -> int:
    """Estimate how many rows of a Csr differ, by the pairs of equal ones among 2,000; all where no
    two are equal.

    Copies of few rows count as few rows in `choose`: hundreds of corners of the loss then lie at
    one score, which Newton's method passes one by one.
    """
    n, place, rows = X.n_rows, 1, set[int]()
    if n <= 4 * SAMPLE:
        return int(n)
    for _ in range(SAMPLE):  # Knuth's MMIX: the module random would be imported for this alone
        place = (place * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        rows.add(place * n >> 64)
    values, columns = memoryview(X.data), memoryview(X.indices)
    known: dict[tuple[bytes, bytes], int] = {}
    pairs = 0
    for row in rows:
        part = slice(int(X.indptr[row]), int(X.indptr[row + 1]))
        key = columns[part].tobytes(), values[part].tobytes()
        before = known.get(key, 0)
        pairs, known[key] = pairs + before, before + 1
    return min(int(n), len(rows) * len(rows) // (2 * pairs)) if pairs else int(n)


MANY_TAGS = 300
MANY_STATES = 50_000  # tags times tokens of a sequence
MANY_LABELS = 50


def choose_labels(n_labels: int) -> str:
    """Return the name of the solver for sets of so many labels with weights of pairs;
    benchmarks/multilabel.py."""
    return GDMM if n_labels > MANY_LABELS else BCFW


def choose_chain(n_tags: int, length: float, first_order: bool) -> str:
    """Return the name of the solver for sequences of so many tags and, on average, so many tokens.

    bcfw is the fastest solver that decodes exactly; but one labelling a visit says little about a
    long sequence or many tags, where gdmm moves every token. 10,000 tokens of --long in
    benchmarks/tagging.py, the gap after 5 CPU s, bcfw and gdmm: 20 tags, 2,000 tokens a sequence
    .102, .339; 100 tags, 100 tokens .073, .131, 500 tokens .279, .172; 300 tags, 20 tokens .446,
    .289, 100 tokens .578, .305 (few features and 300 tags, benchmarks/many_tags.py --gaps: bcfw has
    .3 after 5.4 s, gdmm after 6.1). On two sequences of 50,000 tokens bcfw had learnt nothing
    (gap .9994), where gdmm tagged 11.6 % wrong. gdmm trains only chains of transition order 1 and
    emission order 0.
    """
    many = n_tags >= MANY_TAGS or n_tags * length >= MANY_STATES
    return GDMM if first_order and many else BCFW


#: Most features whose Hessian may be formed and factorised.
DENSE_DIM = 1024
#: With more features, the most passes that a run of a loss without corners may be predicted to
#: still need; the cost of an epoch of the logistic loss, in passes.
MAX_PASSES, LOGISTIC_EPOCH = 100.0, 2.0
#: Most epochs that may be predicted where Newton's method can follow at one epoch a step.
EPOCHS = 15.0
#: Seconds of an entry or a tenth of a row in an epoch, of an entry of a row against all rows, of
#: all steps by n^2.
EPOCH, GRAM, STEPS = 1.4e-9, 0.7e-9, 100e-9
#: Seconds of a matrix's factors by dim^3, of an entry of a row's outer product, of an entry read
#: for a score.
FACTORS, OUTER, READ = 3e-11, 1e-9, 1.3e-9
#: Fewest predicted seconds that justify a change of solver; rows of the largest Gram matrix.
MIN_SECONDS, MAX_ROWS = 0.3, 20_000
#: Megabytes besides the 4 n^2 bytes of the matrix: the cache of SMO, and 4 n^2 more of few rows.
SPARE_MB = 64.0


def can_newton_follow(n: int, dim: int) -> bool:
    """Tell whether features are few enough to go on with Newton's method where coordinate descent
    is slow."""
    return dim <= max(DENSE_DIM, n // 10)


def newton_step(n: int, dim: int, nnz: int) -> float:
    """Return the cost of a step of Newton's method in epochs; its matrix is of some tenth of the
    rows."""
    if dim > DENSE_DIM:
        return 1.0
    seconds = FACTORS * dim**3 + OUTER * 0.05 * nnz**2 / n + READ * 4 * nnz
    return seconds / (EPOCH * (nnz + 10 * n))


def epoch_seconds(n: int, nnz: int) -> float:
    """Return the cost of an epoch of all rows."""
    return EPOCH * (nnz + 10 * n)


def gram_seconds(n: int, nnz: int, room: float) -> float:
    """Return the cost of the Gram matrix and steps on it, at least MIN_SECONDS; inf where it does
    not fit into so many megabytes."""
    if n > MAX_ROWS or 4e-6 * n * n + SPARE_MB > room:
        return math.inf
    return max(MIN_SECONDS, GRAM * n * nnz + STEPS * n * n)


def epochs_between_looks(n: int, nnz: int) -> int:
    """Return how many epochs cost more than a look at the gap."""
    return min(max(10, 200_000 // (nnz + 10 * n)), 200)
