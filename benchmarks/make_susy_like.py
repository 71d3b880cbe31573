# SPDX-License-Identifier: BSD-3-Clause
"""Rows like those of SUSY: 18 dense features of two kinds of collisions that overlap, 4.5 million
by default.

    python benchmarks/make_susy_like.py [--rows N] [--seed N] OUTPUT

Eight "measured" features are a latent vector seen through noise; ten "derived" ones are smooth
functions of it. The signal differs from the background in the spread and in products of the
latents, so that no linear function does well and the best error stays near a fifth.
"""

import numpy as np
from arguments import write_made_set

BLOCK = 100_000


def rows(rng, n):
    """(n, 18) float32 features and (n,) labels in {-1, +1}."""
    y = np.where(rng.random(n) < 0.457, 1.0, -1.0)
    signal = (y > 0)[:, None]
    z = rng.standard_normal((n, 8)) * np.where(signal, 1.35, 0.9)
    z[:, 0] += np.where(signal[:, 0], 0.55 * z[:, 1] * z[:, 2], -0.2 * z[:, 3])
    z[:, 4] += np.where(signal[:, 0], 0.6 * np.abs(z[:, 5]), 0.0)
    measured = z + 0.35 * rng.standard_normal((n, 8))
    derived = [
        np.abs(z[:, 0] - z[:, 1]),
        np.hypot(z[:, 2], z[:, 3]),
        z[:, 4] * z[:, 5],
        np.tanh(z[:, 6] + z[:, 7]),
        np.log1p(z[:, 0] ** 2),
        np.sqrt(np.abs(z[:, 1] * z[:, 4])),
        np.cos(z[:, 2] - z[:, 5]),
        np.maximum(z[:, 3], z[:, 6]),
        z[:, 0] + z[:, 4] + z[:, 7],
        np.abs(z[:, 5]) - np.abs(z[:, 6]),
    ]
    X = np.column_stack([measured, *derived])
    X[:, 8:] += 0.2 * rng.standard_normal((n, 10))
    return X.astype(np.float32), y


def write(path, n, seed):
    """Writes n rows in LIBSVM format, a block of them at a time."""
    rng = np.random.default_rng(seed)
    form = "%+d " + " ".join(f"{j}:%.5g" for j in range(1, 19)) + "\n"
    with open(path, "w", encoding="ascii") as output:
        for start in range(0, n, BLOCK):
            X, y = rows(rng, min(BLOCK, n - start))
            output.writelines(
                form % (label, *row) for label, row in zip(y.tolist(), X.tolist(), strict=True)
            )


if __name__ == "__main__":
    write_made_set(__doc__, 4_500_000, write)
