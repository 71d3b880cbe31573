# SPDX-License-Identifier: BSD-3-Clause
"""Points of a checkerboard: uniform in [-2, 2)^2, the label is the colour of the unit square, some labels are flipped.

    python benchmarks/make_checkers.py [--rows N] [--side 4] [--flip 0.05] [--seed N] OUTPUT

After the checkers of Yu and Joachims (KDD 2008).
"""

import argparse

import numpy as np

SIDE = 4


def rows(rng, n, side=SIDE, flip=0.05):
    """(n, 2) float64 points of four decimals in [-side/2, side/2) and (n,) labels in {-1, +1}."""
    squares = rng.integers(side, size=(n, 2))
    within = rng.integers(10_000, size=(n, 2)) / 10_000
    y = np.where(squares.sum(axis=1) % 2 == 0, 1, -1)
    return squares + within - side / 2, np.where(rng.random(n) < flip, -y, y)


def write(path, n, seed, side=SIDE, flip=0.05):
    """Writes n rows in LIBSVM format."""
    X, y = rows(np.random.default_rng(seed), n, side, flip)
    with open(path, "w", encoding="ascii") as output:
        output.writelines(f"{label:+d} 1:{a:.4f} 2:{b:.4f}\n" for label, (a, b) in zip(y.tolist(), X.tolist()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--side", type=int, default=SIDE, help="squares along an edge")
    parser.add_argument("--flip", type=float, default=0.05, help="part of the labels that is flipped")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    write(arguments.output, arguments.rows, arguments.seed, arguments.side, arguments.flip)
