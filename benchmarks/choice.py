# SPDX-License-Identifier: BSD-3-Clause
"""How many trainings a certified choice of C takes, beside a plain grid of 20 values; the claim is
held against many values of C.

    python benchmarks/choice.py [VALUES] [SET ...]      by default 200 and four sets of data/

Hinge, C from 1e-3 to 10 by the errors on the test file, one thread. "below" is how many of so many
values of C, trained by themselves to a gap of 1e-6, have fewer errors than is claimed possible:
none is to be there.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from svmcut.selection.grid import held_out
from svmcut.selection.interval import CertifiedChoice, Interval
from svmcut.spec.parameters import Settings
from svmcut.spec.refusals import plain
from svmcut.tasks.protocol import make_task

DATA = Path(__file__).resolve().parent.parent / "data"
SETS, LOW, HIGH, GRID = ("text", "breast_cancer", "wine", "digits"), 1e-3, 10.0, 20
TASK = make_task("classification")


def trained(data, held, values: np.ndarray, gap: float | None) -> list[float]:
    """Shares of errors of values of C, each trained from the last."""
    asked = {"example_cost": LOW, "threads": 1, "gap": gap}
    driver = TASK.plan(data, plain(Settings(**asked, given=frozenset())))
    found = []
    for C in values.tolist():
        f = driver.fit(None, C).model.scores(held.X)
        found.append(float(((f > 0) != (held.y > 0)).mean()))
    return found


def main(words: list[str]) -> None:
    count, sets = int(words[0]) if words else 200, words[1:] or SETS
    print("| set | E | trainings | seconds | errors, % | proven, % | 20 values | seconds | below |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name in sets:
        data = TASK.read(str(DATA / f"{name}.train"))
        held = TASK.read(str(DATA / f"{name}.test"), test=True)
        values = np.geomspace(LOW, HIGH, count)
        exact = np.array(trained(data, held, values, 1e-6))
        began = time.perf_counter()
        plainly = min(trained(data, held, np.geomspace(LOW, HIGH, GRID), None))
        grid = time.perf_counter() - began
        for most in (0.05, 0.02, 0.01):
            asked = {"example_cost": 1.0, "threads": 1}
            driver = TASK.plan(data, plain(Settings(**asked, given=frozenset(asked))))
            parts, settings = held_out(data, held, driver.settings)
            interval = Interval(LOW, HIGH, most)
            began = time.perf_counter()
            choice = CertifiedChoice(TASK, settings, interval, parts, driver, 60.0)
            choice.run()
            seconds, errors = time.perf_counter() - began, choice.best[1]
            least = errors - choice.slack
            cells = (
                name,
                f"{most:g}",
                f"{choice.trainings}" + ("" if choice.proven else " (a limit)"),
                f"{seconds:.1f}",
                f"{100 * errors:.2f}",
                f"{100 * least:.2f}",
                f"{100 * plainly:.2f}",
                f"{grid:.2f}",
                f"{int((exact < least - 1e-9).sum())} of {count}",
            )
            print("|", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
