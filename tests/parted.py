# SPDX-License-Identifier: BSD-3-Clause
"""Example files cut into parts, and training on parts in this process."""

from itertools import pairwise

import numpy as np

from svmcut.distributed.parts import Reading
from svmcut.distributed.plan import Files, make_driver
from svmcut.distributed.rows import SerialRows
from svmcut.spec.parameters import Settings
from svmcut.spec.refusals import plain


def lines(n=400, d=12, *, task="classification", cost=False, seed=5):
    """Lines of examples; rows of ten are a query where queries are asked for."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5)
    target = X @ rng.normal(size=d) + rng.normal(size=n)
    labels = {
        "classification": np.where(target > 0.3, 1, -1),
        "rank": np.digitize(target, [-1, 1]),
        "multiclass": np.digitize(target, [-2, 0, 1]) + 3,
        "regression": np.round(target, 3),
    }[task]
    found = []
    for i in range(n):
        head = [f"{labels[i]:g}", *([f"qid:{i // 10}"] if task == "rank" else ())]
        head += [f"cost:{0.5 + i % 3:g}"] if cost else []
        found.append(
            " ".join([*head, *(f"{j + 1}:{X[i, j]:.6g}" for j in np.flatnonzero(X[i]))]) + "\n"
        )
    return found


def written(folder, text, parts, name="part"):
    """Paths of so many files of about equally many tens of lines; of 0 one file with all."""
    bounds = np.linspace(0, len(text), max(1, parts) + 1).astype(int) // 10 * 10
    paths = []
    for k, (start, stop) in enumerate(pairwise(bounds)):
        path = folder / (f"{name}-{k}.dat" if parts else f"{name}.dat")
        path.write_text("".join(text[start:stop]))
        paths.append(str(path))
    return paths


def settings(task="classification", **parameters):
    """As svmcut.train makes them."""
    return plain(
        Settings(task=task, **{"threads": 1, **parameters}, given=frozenset({*parameters, "task"}))
    )


def trained(paths, task="classification", rows=None, how=None, **parameters):
    """The outcome of training on these parts; how: more that `make_driver`
    takes."""
    chosen = settings(task, **parameters)
    files = Files([*map(str, paths)], Reading(False))
    _, driver = make_driver(rows or SerialRows(), files, chosen, **(how or {}))
    return driver.fit(chosen.cost, chosen.example_cost)
