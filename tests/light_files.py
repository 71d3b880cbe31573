# SPDX-License-Identifier: BSD-3-Clause
"""Files of svm_learn and svm_classify for tests: examples written, models and scores read."""

import re

import numpy as np


def write_examples(tmp_path, rng):
    """60 rows of `train` and 20 of `test` in the folder, every third with a comment; the folder."""
    X = rng.normal(size=(80, 5))
    y = np.where(X[:, 0] - X[:, 1] + 0.6 * rng.normal(size=80) > 0, 1, -1)
    lines = [
        f"{y[i]:+d} " + " ".join(f"{j + 1}:{X[i, j]:.4f}" for j in range(5)) for i in range(80)
    ]
    lines[::3] = [f"{line} # row {3 * i}" for i, line in enumerate(lines[::3])]
    (tmp_path / "train").write_text("".join(f"{line}\n" for line in lines[:60]))
    (tmp_path / "test").write_text("".join(f"{line}\n" for line in lines[60:]))
    return tmp_path


def vectors(path):
    """The header, and (alpha y, pairs, comment) of every line behind it."""
    lines = path.read_text().splitlines()
    parts = [re.fullmatch(r"(\S+) ((?:\d+:\S+ )*)#(.*)", line).groups() for line in lines[11:]]
    return lines[:11], [(float(alpha), pairs, comment) for alpha, pairs, comment in parts]


def scores(path="svm_predictions"):
    return np.loadtxt(path, ndmin=1)
