# SPDX-License-Identifier: BSD-3-Clause
"""Which small problems take long? CPU seconds of training on 3 to 98 rows whose columns are far
apart in scale, at any C, with every task, loss, penalty and kernel.

    python benchmarks/few_rows.py --runs 1500 --seed 7

A line for every run over a second, then how many took longer than 1, 2 and 5. A run is stopped
after 20 seconds.
"""

from __future__ import annotations

import argparse
import signal
import time
import warnings
from typing import Any

import numpy as np
from arguments import make_parser

import svmcut
from svmcut.base.errors import SvmcutError

LIMITS = (1.0, 2.0, 5.0)
LONGEST = 20.0
TASKS = ("classification", "regression", "multiclass", "survival", "rank")
SHARES = (0.4, 0.25, 0.25, 0.05, 0.05)


def draw_rows(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return rows, some of whose columns are large or far from 0, and a target of all of them."""
    n, d = int(rng.integers(3, 99)), int(rng.choice([1, 2, 3, 5, 10, 40]))
    X = rng.normal(size=(n, d))
    if rng.random() < 0.6:
        large = rng.random(d) < 0.4
        X[:, large] *= 10.0 ** rng.uniform(-3, 7, large.sum())
        X[:, large] += rng.integers(0, 2, large.sum()) * 10.0 ** rng.uniform(0, 8, large.sum())
    noise = rng.choice([0.0, 0.3, 1.0]) * rng.normal(size=n)
    return X, (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-30) @ rng.normal(size=d) + noise


def draw_problem(rng: np.random.Generator) -> tuple[tuple, dict[str, Any]]:
    """Return data for svmcut.train, and its parameters."""
    X, f = draw_rows(rng)
    task = str(rng.choice(TASKS, p=SHARES))
    words: dict[str, Any] = {"task": task, "example_cost": float(10 ** rng.uniform(-3, 5))}
    data: tuple = (X, np.digitize(f, np.quantile(f, [0.3, 0.6])) + 1.0)
    if task == "classification":
        data = X, np.where(f > np.quantile(f, rng.choice([0.5, 0.2])), 1.0, -1.0)
        words["loss"] = str(rng.choice(["hinge", "squared-hinge", "logistic"]))
        if rng.random() < 0.3:
            l1 = words["loss"] != "hinge" and rng.random() < 0.5
            words["penalty"] = "l1" if l1 else "elastic-net"
        elif rng.random() < 0.3:
            words["free_bias"] = True
    elif task == "regression":
        data = X, f * 10 ** rng.uniform(-1, 4)
        words["loss"] = "epsilon-insensitive"
        if rng.random() < 0.5:
            words["loss"] = "squared-epsilon-insensitive"
    elif task == "multiclass":
        words["multiclass"] = str(rng.choice(["crammer-singer", "one-vs-rest"]))
    elif task == "survival":
        times = np.exp((f - f.mean()) / (f.std() + 1e-9)) + 0.01
        data = X, np.where(rng.random(len(f)) < 0.3, -times, times)
    else:
        data = (*data, np.repeat([1, 2], [len(f) // 2, len(f) - len(f) // 2]))
    with_kernels = words.get("loss", "hinge") in ("hinge", "epsilon-insensitive")
    if task in TASKS[:3] and with_kernels and "penalty" not in words and rng.random() < 0.35:
        words["kernel"] = str(rng.choice(["rbf", "polynomial"]))
        if words["kernel"] == "rbf":
            words["gamma"] = float(10 ** rng.uniform(-3, 1))
    return data, words


def stop(*_: Any) -> None:
    raise TimeoutError


def train(data: tuple, words: dict[str, Any]) -> tuple[float, str]:
    """Return CPU seconds, and how the training ended."""
    began = time.process_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST)
    try:
        found = svmcut.train(data, threads=1, **words)
        end = found.stopped_by or "converged"
    except TimeoutError:
        end = "stopped"
    except SvmcutError as error:
        end = str(error)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return time.process_time() - began, end


def main(arguments: argparse.Namespace) -> None:
    seconds = []
    for k in range(arguments.runs):
        data, words = draw_problem(np.random.default_rng([arguments.seed, k]))
        spent, end = train(data, words)
        seconds.append(spent)
        if spent > LIMITS[0]:
            print(f"{k}: {spent:.2f} s, {end}, {data[0].shape}, {words}", flush=True)
    counts = ", ".join(f"{sum(s > limit for s in seconds)} over {limit:g} s" for limit in LIMITS)
    print(f"{len(seconds)} runs: {counts}; median {np.median(seconds):.3f} s")


if __name__ == "__main__":
    parser = make_parser(__doc__)
    parser.add_argument("--runs", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    signal.signal(signal.SIGVTALRM, stop)
    warnings.simplefilter("ignore")
    main(parser.parse_args())
