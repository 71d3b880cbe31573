# SPDX-License-Identifier: BSD-3-Clause
"""Files of two classes, of three and of numbers for tests of penalties and free biases."""

import functools
import json
from pathlib import Path

import numpy as np
from programs import forked


@functools.cache
def data():
    rng = np.random.default_rng(12)
    X = np.round(np.where(rng.random((150, 25)) < 0.5, rng.normal(size=(150, 25)), 0), 3)
    s = X @ np.where(np.arange(25) < 6, 2.0, 0.0) + rng.normal(size=150)
    return X.astype(np.float32), s, np.digitize(s, [-2.0, 2.0])


def write(folder):
    """The files two, three and numbers; the features with a constant one, and the two classes."""
    X, s, classes = data()
    for name, y in (("two", np.where(s > 0, 1, -1)), ("three", classes), ("numbers", s.round(3))):
        lines = (
            f"{label:g} " + " ".join(f"{j + 1}:{x:g}" for j, x in enumerate(row) if x) + "\n"
            for label, row in zip(y, X, strict=True)
        )
        (folder / name).write_text("".join(lines))
    return np.hstack([X.astype(float), np.ones((150, 1))]), np.where(s > 0, 1.0, -1.0)


def learnt(*words):
    done = forked("svmcut", "learn", *words, "--report", "r.json")
    assert done.returncode == 0, done.stderr
    return json.loads(Path("r.json").read_text()), done.stdout
