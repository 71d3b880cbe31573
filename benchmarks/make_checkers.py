# SPDX-License-Identifier: BSD-3-Clause
"""Points of a checkerboard: uniform in [-2, 2)^2, the label is the colour of the unit square, some
labels are flipped.

    python benchmarks/make_checkers.py [--rows N] [--side 4] [--flip 0.05] [--sigma 0] [--seed N]
    OUTPUT

With --sigma the points move by Gaussian noise once they have their labels, as those of the checkers
of Yu and Joachims (KDD 2008) do; those flip no labels.
"""

import numpy as np
from arguments import make_parser

SIDE = 4


def rows(rng, n, side=SIDE, flip=0.05, sigma=0.0):
    """(n, 2) float64 points of four decimals in [-side/2, side/2), before the noise, and (n,)
    labels in {-1, +1}."""
    squares = rng.integers(side, size=(n, 2))
    within = rng.integers(10_000, size=(n, 2)) / 10_000
    y = np.where(squares.sum(axis=1) % 2 == 0, 1, -1)
    y = np.where(rng.random(n) < flip, -y, y)
    noise = np.round(rng.normal(scale=sigma, size=(n, 2)), 4) if sigma else 0.0
    return squares + within - side / 2 + noise, y


def write(path, n, seed, side=SIDE, flip=0.05, sigma=0.0):
    """Writes n rows in LIBSVM format."""
    X, y = rows(np.random.default_rng(seed), n, side, flip, sigma)
    with open(path, "w", encoding="ascii") as output:
        output.writelines(
            f"{label:+d} 1:{a:.4f} 2:{b:.4f}\n" for label, (a, b) in zip(y.tolist(), X.tolist())
        )


if __name__ == "__main__":
    parser = make_parser(__doc__)
    parser.add_argument("output")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--side", type=int, default=SIDE, help="squares along an edge")
    parser.add_argument(
        "--flip", type=float, default=0.05, help="part of the labels that is flipped"
    )
    parser.add_argument(
        "--sigma", type=float, default=0.0, help="standard deviation of the noise on points"
    )
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    write(
        arguments.output,
        arguments.rows,
        arguments.seed,
        arguments.side,
        arguments.flip,
        arguments.sigma,
    )
