# SPDX-License-Identifier: BSD-3-Clause
"""Random small files and command lines for LIBSVM's and LIBLINEAR's programs."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

#: -s of LIBSVM and of LIBLINEAR.
SOLVERS = {"svm-train": range(5), "liblinear-train": [*range(8), 11, 12, 13, 21]}


@dataclass
class Beside:
    """A run.

    Attributes
    ----------
    program : str
    words : list of str
        Its options.
    solver : int
        -s
    y : (n,) float64
    X, test : (n, d) float64
    is_given : bool
        Whether rows are kernel values of all rows.
    is_loose : bool
        Whether solutions that are as good may differ, or rows tie: a kernel that may be indefinite,
        a nu that may leave no margin, rows around the origin as one class, classes at once.
    """

    program: str
    words: list
    solver: int
    y: np.ndarray
    X: np.ndarray
    test: np.ndarray
    is_given: bool
    is_loose: bool

    @property
    def of_folds(self):
        """Whether folds are all that is reported."""
        return "-v" in self.words

    @property
    def is_drawn(self):
        """Whether parts of the rows that are drawn stand in the report."""
        return self.program == "svm-train" and "-b" in self.words

    def has_probabilities(self, head):
        """Whether a model with such a head gives them."""
        known = {line[0] for line in head} & {"probA", "prob_density_marks"}
        return bool(known) or (self.program == "liblinear-train" and self.solver in (0, 6, 7))

    def write(self, folder):
        """The files of training and of test rows."""
        for name, rows in (("train", self.X), ("test", self.test)):
            lines = []
            for k, (label, row) in enumerate(zip(self.y, rows), 1):
                values = [f"{j}:{v:.6g}" for j, v in enumerate(row, 1) if v or self.is_given]
                lines.append(" ".join([f"{label:g}", *([f"0:{k}"] * self.is_given), *values]))
            Path(folder, name).write_text("\n".join(lines) + "\n", encoding="ascii")


def _labels(rng, scores, solver, program):
    if solver in ((3, 4) if program == "svm-train" else (11, 12, 13)):
        return np.round(scores, 3)
    if (program, solver) in (("svm-train", 2), ("liblinear-train", 21)):
        return np.ones(len(scores))
    names = rng.permutation([1, -1] if rng.random() < 0.4 else [3, 7, -2, 0])
    K = int(rng.integers(2, len(names) + 1))
    cuts = np.quantile(scores, np.linspace(0, 1, K + 1)[1:-1])
    return names[np.digitize(scores, cuts)].astype(np.float64)


def make(seed, number):
    """The run of this number."""
    rng = np.random.default_rng([seed, number])
    program = str(rng.choice([*SOLVERS]))
    solver = int(rng.choice([*SOLVERS[program]]))
    n, d = int(rng.integers(8, 50)), int(rng.integers(1, 7))
    X = np.round(rng.normal(size=(n, d)) * (rng.random((n, d)) < rng.choice([0.5, 1.0])), 3)
    if program == "liblinear-train" and solver == 4:
        X[:, 0] = np.where(X.any(axis=1), X[:, 0], 1.0)  # LIBLINEAR leaves out rows of nothing
    if solver == 21:
        X = np.abs(X) + 0.5
    scores = X @ rng.normal(size=d) + rng.choice([0.1, 1.0]) * rng.normal(size=n)
    y = _labels(rng, scores, solver, program)
    test, words = np.round(X + 0.3 * rng.normal(size=X.shape), 3), ["-s", str(solver)]
    words += ["-e", "1e-5", "-c", str(rng.choice(["0.1", "1", "5"]))]
    is_given = False
    if rng.random() < 0.3:
        words += [f"-w{int(y[0])}", str(rng.choice(["0.5", "2", "3.5"]))]
    if program == "svm-train":
        kernel = int(rng.integers(0, 5))
        words += ["-t", str(kernel), "-n", str(rng.choice(["0.2", "0.5", "0.75"]))]
        if kernel in (1, 2, 3) and rng.random() < 0.6:
            words += ["-g", str(rng.choice(["0.05", "0.5"])), "-r", str(rng.choice(["0", "1"]))]
        if kernel == 1:
            words += ["-d", "2"]
        if kernel == 4:
            is_given, X, test = True, np.round(X @ X.T, 5), np.round(test @ X.T, 5)
        if rng.random() < 0.3:
            words += ["-b", "1"]
        is_loose = kernel == 3 or solver == 1 or (solver == 2 and kernel != 2)
    else:
        is_loose = solver == 4
        if rng.random() < 0.5 and solver != 21:
            words += ["-B", "1", *(["-R"] * (solver in (0, 2, 5, 6, 11) and rng.random() < 0.3))]
        if rng.random() < 0.5:
            words += ["-n", str(rng.choice(["0.1", "0.5"]))]
    if rng.random() < 0.2:
        words += ["-v", str(int(rng.integers(2, 6)))]
    return Beside(program, words, solver, y, X, test, is_given, is_loose)
