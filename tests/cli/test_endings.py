# SPDX-License-Identifier: BSD-3-Clause
"""Problems that rounding or a huge C makes hopeless: every run ends, and what it says of its model
is true."""

import json
import resource

import numpy as np
import pytest
from drivers import driver
from programs import call, run

from svmcut.data.examples import Csr, Sequences

SECONDS = 20  # of CPU


def gaussian(label, n=30, d=5, scale=1.0, seed=1):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d)) * scale
    return "".join(
        f"{label(i, rng)} " + " ".join(f"{j + 1}:{x:.7g}" for j, x in enumerate(row)) + "\n"
        for i, row in enumerate(rows)
    )


def sign(i, rng):
    return 1 if i % 2 else -1


def labels(i, rng):
    return ",".join(str(k) for k in range(3) if rng.random() < 0.5) or "0"


CASES = {
    "smo, features of 1e12": (
        3,
        gaussian(sign, scale=1e12),
        "learn",
        *("-t", "0", "--solver", "smo", "-c", "1"),
    ),
    "smo without bias": (
        3,
        gaussian(sign, scale=1e12),
        "learn",
        *("-t", "0", "--solver", "smo", "--no-free-bias", "-c", "1", "--gap", "1e-3"),
    ),
    "constant cuts": (
        None,
        gaussian(sign, 200, scale=3.0),
        "learn",
        *("-t", "1", "--b", "0", "--solver", "constant-cuts", "-c", "1e4"),
    ),
    "labels, auto": (
        0,
        gaussian(labels, 12, 4),
        "learn",
        *("--task", "multilabel", "-c", "1e8", "--gap", "1e-6"),
    ),
    "labels, gdmm": (
        0,
        gaussian(labels, 12, 4),
        "learn",
        *("--task", "multilabel", "--solver", "gdmm", "-c", "1e8", "--gap", "1e-4"),
    ),
    "labels, bcfw": (
        0,
        gaussian(labels, 12, 4),
        "learn",
        *("--task", "multilabel", "--solver", "bcfw", "--pairs", "none", "-c", "1e3"),
        *("--gap", "1e-6"),
    ),
    "labels, soft-bcfw": (
        0,
        gaussian(labels, 12, 4),
        "learn",
        *("--task", "multilabel", "--solver", "soft-bcfw", "-c", "1e3", "--gap", "1e-3"),
    ),
    "chains, soft-bcfw": (
        0,
        gaussian(lambda i, rng: f"{i % 3 + 1} qid:{i // 5 + 1}", 20),
        "learn",
        *("--task", "sequence", "--solver", "soft-bcfw", "-c", "1e3", "--gap", "1e-4"),
    ),
}


@pytest.mark.every(4)
@pytest.mark.parametrize("name", CASES)
def test_every_run_ends(tmp_path, name):
    status, rows, *words = CASES[name]
    (tmp_path / "train").write_text(rows)

    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))

    done = run(
        "svmcut", *words, "--report", "report", "train", "model", cwd=tmp_path, preexec_fn=limit
    )
    assert done.returncode == status or (status is None and done.returncode in (0, 3)), done.stderr
    report = json.loads((tmp_path / "report").read_text())
    assert report["dual"] <= report["primal"] * (1 + 1e-9)
    assert report["converged"] == (done.returncode == 0)
    if status == 3:
        assert "stopped where rounding forbids progress, gap " in done.stdout


@pytest.mark.parametrize("solver", ["gdmm", "soft-bcfw"])
@pytest.mark.parametrize("indptr", [(0, 1, 2), (0, 2)], ids=["alone", "together"])
def test_tiny_features_leave_bounds_that_are_bounds(solver, indptr):
    """Steps of 1e12 times C left the simplex by more than the answer."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        csr = Csr.from_dense(rng.normal(size=(2, 3)) * 10 ** rng.uniform(-14, -8))
        tags, parts = rng.integers(0, 3, 2).astype(np.int32), np.array(indptr, np.int64)
        known = {"task": "sequence", "solver": solver, "gap": 1e-3, "max_iterations": 100}
        trainer = driver(Sequences(csr, parts, tags), **known)
        outcome = trainer.fit(None, 10 ** rng.uniform(-2, 6))
        assert outcome.dual <= outcome.primal * (1 + 1e-9), seed


def test_a_row_of_many_labels(tmp_path):
    """Pairs were searched one by one for each that entered: a minute a pass at 2,000 labels."""
    (tmp_path / "train").write_text(",".join(map(str, range(0, 1200, 2))) + " 1:1 2:0.5\n3 1:1\n")
    words = ("--task", "multilabel", "--solver", "gdmm", "-c", "1", "train", "model")

    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))

    assert run("svmcut learn", *words, cwd=tmp_path, preexec_fn=limit).returncode == 0


def test_the_time_limit_counts_reading(tmp_path, monkeypatch):
    from svmcut.cli import training

    (tmp_path / "train").write_text("1 1:1 2:0.5\n-1 1:-1\n" * 50)
    clock = iter([0.0, *range(100, 100_000)])
    monkeypatch.setattr(training.time, "perf_counter", lambda: next(clock))
    words = ("--time-limit", "90", tmp_path / "train", tmp_path / "model")
    assert call("svmcut learn", *words) == 3
    assert (tmp_path / "model").exists()
