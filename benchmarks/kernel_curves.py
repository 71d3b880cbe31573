# SPDX-License-Identifier: BSD-3-Clause
"""Rows of the curves of kernel trainers, what records them, and the CSV files they stand in."""

from __future__ import annotations

import csv
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import perceptron
from budget import Case, curve, polished
from kernel import libsvm, plain

from svmcut.solvers.smo import Smo


class Growth(NamedTuple):
    """One training of a whole process: x is the number of rows or of drawn examples; errors in
    percent."""

    panel: str
    curve: str
    x: float
    seed: float
    seconds: float
    iterations: float
    points: float
    train_error: float
    error: float


class Evaluation(NamedTuple):
    """Test error in percent, mean of the seeds, after x kernel values in units of n^2; deviation
    nan where unknown."""

    panel: str
    curve: str
    x: float
    error: float
    deviation: float


class Epoch(NamedTuple):
    """Test error in percent after an epoch of a trainer with a budget, CPU seconds of training.

    What ends a training stands there too: epoch is nan then, and so is the budget of a trainer that
    has none.
    """

    panel: str
    curve: str
    budget: float
    epoch: float
    seconds: float
    error: float


class EpochState(NamedTuple):
    """A trainer with a budget after an epoch: objectives, dual nan for none, accuracy and merging
    steps in percent."""

    panel: str
    curve: str
    budget: float
    epoch: float
    primal: float
    dual: float
    accuracy: float
    merging: float


Rows = list[Growth] | list[Evaluation] | list[Epoch] | list[EpochState]


def evaluated(options) -> Iterator[Evaluation]:
    """Trainers step by step, beside smo, at equal numbers of kernel values."""
    for name in options.sets:
        panel = name if options.rows is None else f"{name}, {options.rows:,} rows"
        for trainer, passes, *found in perceptron.curves(name, options):
            for x, error, deviation in zip(passes, *found, strict=True):
                if error == error:
                    yield Evaluation(panel, trainer, x, error, deviation)


def budgeted(options) -> Iterator[Epoch]:
    """bsca and bsgd by epoch and polished; smo, and LIBSVM's whole process where it is
    installed."""
    nan = float("nan")
    for text in options.sets:
        case = Case(text, threads=options.threads)
        for budget in options.budgets:
            for solver in ("bsca", "bsgd"):
                for row in curve(case, solver, budget, options.epochs, options.seed):
                    yield Epoch(
                        case.name,
                        solver,
                        budget,
                        row["epoch"],
                        row["seconds"],
                        100 - row["accuracy"],
                    )
                seconds, _, accuracy, *_ = polished(
                    case, solver, budget, options.epochs, options.seed
                )
                yield Epoch(case.name, f"{solver}, polished", budget, nan, seconds, 100 - accuracy)
        yield Epoch(case.name, "smo", nan, nan, *_exact(case))
        if options.peers and shutil.which("svm-train"):
            files, cost, gamma = text.partition("=")[2].rsplit(":", 2)
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                run = libsvm(
                    *(plain(path, folder) for path in files.split(",")), cost, gamma, folder
                )
            yield Epoch(case.name, "svm-train", nan, nan, run["cpu"], run["error"])


def _exact(case: Case) -> tuple[float, float]:
    """CPU seconds and test error of smo without bias."""
    from svmcut.models import KernelModel

    began, run = time.process_time(), Smo(free_bias=False, threads=case.threads).start(case.problem)
    for _ in run:
        pass
    seconds, beta = time.process_time() - began, run.expansion().beta
    used = beta.nonzero()[0]
    return seconds, 100 - case.accuracy(
        KernelModel(case.kernel, case.train.X.take(used), beta[used], 0.0)
    )


def write(path: Path, rows: Iterator[NamedTuple]) -> None:
    """A line as soon as its row is known; a file that is there gets further lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with path.open("a", newline="", encoding="ascii") as stream:
        out = csv.writer(stream, lineterminator="\n")
        for row in rows:
            if new:
                out.writerow(row._fields)
            new = False
            out.writerow([f"{value:.6g}" if isinstance(value, float) else value for value in row])
            stream.flush()


def read(path: Path) -> Rows:
    """The rows of a file that `write` wrote; its head says which they are."""
    with path.open(newline="", encoding="ascii") as stream:
        head, *lines = csv.reader(stream)
    kinds = {kind._fields: kind for kind in (Growth, Evaluation, Epoch, EpochState)}
    if tuple(head) not in kinds:
        raise SystemExit(f"{path}:1: its columns are none of kernel_plots.py; record the file anew")
    kind = kinds[tuple(head)]
    return [kind(*line[:2], *map(float, line[2:])) for line in lines]
