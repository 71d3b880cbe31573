# SPDX-License-Identifier: BSD-3-Clause
"""Kernel values a second (rbf, one thread, CPU time), by number of features: single rows, and sums
over 400 rows.

python benchmarks/kernel_rows.py [--threads N] [--repeats N]
"""

import time

import numpy as np
from arguments import make_parser
from svmcut._native.kernels import KernelRows

from svmcut.data.examples import Csr
from svmcut.models.kernels import Kernel

#: name -> (n, d, nonzeros a row or None for dense)
SETS = {
    "2": (32768, 2, None),
    "8": (32768, 8, None),
    "22": (32768, 22, None),
    "54": (32768, 54, None),
    "123": (32768, 123, None),
    "123, 14 nonzeros": (32768, 123, 14),
    "784": (16384, 784, None),
    "784, 150 nonzeros": (16384, 784, 150),
    "text, 47236, 75 nonzeros": (20000, 47236, 75),
}


def points(rng, n, d, nonzeros):
    """Rows of norm about 1; text has columns of Zipf's popularity."""
    if nonzeros is None:
        return Csr.from_dense((rng.normal(size=(n, d)) / np.sqrt(d)).astype(np.float32))
    weights = 1 / (np.arange(d) + 20.0) if d > 1000 else np.ones(d)
    rows = [np.unique(rng.choice(d, nonzeros, p=weights / weights.sum())) for _ in range(n)]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    indices = np.concatenate(rows).astype(np.int32)
    return Csr(np.full(len(indices), nonzeros**-0.5, np.float32), indices, indptr, d)


def rate(call, values, repeats):
    """Millions of values a second, best of the repeats."""
    seconds = []
    for _ in range(repeats):
        began = time.process_time()
        call()
        seconds.append(time.process_time() - began)
    return values / min(seconds) / 1e6


def rates(X, arguments):
    """(layout, the three rates) of one set."""
    rng, repeats = np.random.default_rng(2), arguments.repeats
    rows = KernelRows(X, Kernel("rbf", gamma=0.5), arguments.threads)
    one, many = np.empty((1, rows.n), np.float32), np.empty((64, rows.n), np.float32)
    some, coef = rng.integers(0, rows.n, 400), rng.normal(size=400)
    return rows.layout, (
        rate(lambda: rows.block([5], one), rows.n, repeats),
        rate(lambda: rows.block(some[:64], many), 64 * rows.n, repeats),
        rate(lambda: rows.accumulate(some, coef), 400 * rows.n, max(1, repeats // 4)),
    )


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=20)
    arguments = parser.parse_args()
    print(f"{'features':>26} {'layout':>12} {'row M/s':>9} {'block M/s':>9} {'sum M/s':>9}")
    for name, shape in SETS.items():
        layout, found = rates(points(np.random.default_rng(1), *shape), arguments)
        print(
            f"{name:>26} {layout:>12} " + " ".join(f"{value:>9.0f}" for value in found), flush=True
        )


if __name__ == "__main__":
    main()
