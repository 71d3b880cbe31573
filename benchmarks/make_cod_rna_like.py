# SPDX-License-Identifier: BSD-3-Clause
"""Rows like those of cod-rna: 8 features in [-1, 1], a third positive, a smooth boundary with
noise.

    python benchmarks/make_cod_rna_like.py [--rows N] [--seed N] OUTPUT

One feature is an energy, one a length, six are base frequencies of two sequences (each triple sums
to less than 1). The label follows a score that bends in the energy and in how alike the sequences
are; noise on it keeps the best error near 4 %.
"""

import numpy as np
from arguments import write_made_set


def rows(rng, n):
    """(n, 8) float32 features in [-1, 1] and (n,) labels in {-1, +1}."""
    first = rng.dirichlet((3, 3, 3, 3), n)[:, :3]
    other = rng.dirichlet((3, 3, 3, 3), n)[:, :3]
    second = np.where(rng.random((n, 1)) < 0.5, 0.7 * first + 0.3 * other, other)
    length = rng.gamma(4.0, 0.1, (n, 1)).clip(0, 1)
    energy = (rng.normal(0.0, 0.4, (n, 1)) + 0.5 * (first[:, :1] - 0.25)).clip(-1, 1)
    alike = ((first - second) ** 2).sum(1, keepdims=True)
    score = 2.5 * np.sin(3 * energy) - 4 * alike + length - 1.3
    y = np.where((score + 0.25 * rng.standard_normal((n, 1)))[:, 0] > 0, 1.0, -1.0)
    return np.hstack([energy, 2 * length - 1, 2 * first - 1, 2 * second - 1]).astype(np.float32), y


def write(path, n, seed):
    """Writes n rows in LIBSVM format."""
    X, y = rows(np.random.default_rng(seed), n)
    form = "%+d " + " ".join(f"{j}:%.6g" for j in range(1, 9)) + "\n"
    with open(path, "w", encoding="ascii") as output:
        output.writelines(
            form % (label, *row) for label, row in zip(y.tolist(), X.tolist(), strict=True)
        )


if __name__ == "__main__":
    write_made_set(__doc__, 59_535, write)
