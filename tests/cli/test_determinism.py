# SPDX-License-Identifier: BSD-3-Clause
"""Models and predictions have the same bytes for 1, 2, 3 and 8 threads and in a second run, for every solver.

The sets are large enough for the threads to take part. Going on from a checkpoint: tests/contract/test_resume.py.
"""

import numpy as np
import pytest
from programs import call

LINEAR = ("--gap", "1e-2")
RBF = ("-t", "2", "-g", "0.05", "--example-cost", "1")
RUNS = {
    "cutting-plane": ("learn", "wide", *LINEAR, "--solver", "cutting-plane", "--example-cost", "0.01"),
    "dual-cd": ("learn", "wide", *LINEAR, "--solver", "dual-cd", "--example-cost", "0.01"),
    "newton": ("learn", "wide", *LINEAR, "--solver", "newton", "--example-cost", "0.01"),
    "f1": ("learn", "wide", *LINEAR, "-l", "f1", "-c", "10"),
    "roc-area": ("learn", "wide", *LINEAR, "-l", "roc-area", "-c", "10"),
    "rank": ("rank", "wide", *LINEAR, "-c", "1"),
    "smo": ("learn", "small", *RBF, "--solver", "smo"),
    "smo, no bias": ("learn", "small", *RBF, "--solver", "smo", "--no-free-bias"),
    "kernel cutting-plane": ("learn", "small", *RBF, "--solver", "cutting-plane", "-e", "5"),
    "subspace": ("learn", "small", *RBF, "--solver", "subspace", "--k", "100"),
    "sampled-cuts": ("learn", "small", *RBF, "--solver", "sampled-cuts", "--k", "100"),
    "bsca": ("learn", "small", *RBF, "--solver", "bsca", "--budget", "50", "--epochs", "1"),
    "sbp": ("learn", "small", *RBF, "--solver", "sbp", "--epochs", "0.3"),
    "pegasos": ("learn", "small", *RBF, "--solver", "pegasos", "--epochs", "0.5"),
    "sdca": ("learn", "small", *RBF, "--solver", "sdca", "--epochs", "0.5"),
    "perceptron": ("learn", "small", *RBF, "--solver", "perceptron", "--epochs", "0.5"),
    "bsgd": ("learn", "small", *RBF, "--solver", "bsgd", "--budget", "50", "--epochs", "1"),
    "constant-cuts": ("learn", "small", *RBF, "--solver", "constant-cuts", "--k", "100", "--sample-size", "100"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("determinism")
    rng = np.random.default_rng(11)
    for name, n, d in (("wide", 20_000, 60), ("small", 5_000, 10)):
        X = rng.integers(1, 1000, size=(n, d)) / 1000
        y = np.where(X[:, :3].sum(1) + 0.3 * rng.normal(size=n) > 1.5, 1, -1)
        pairs = [f"{j + 1}:%g" for j in range(d)]
        rows = np.column_stack([y, np.arange(n) // 20 + 1, X])
        np.savetxt(folder / name, rows, " ".join(["%d", "qid:%d", *pairs]))
    return folder


@pytest.mark.parametrize("name", RUNS)
def test_same_bytes_for_any_number_of_threads(folder, monkeypatch, tmp_path, name):
    monkeypatch.chdir(tmp_path)
    command, examples, *options = RUNS[name]
    found = []
    for threads in (1, 2, 3, 8, 2):
        words = ("-v", 0, "--threads", threads)
        assert call(f"svmcut {command}", *words, *options, folder / examples, "model") == 0
        assert call("svmcut classify", *words, folder / examples, "model", "scores") == 0
        found.append(((tmp_path / "model").read_bytes(), (tmp_path / "scores").read_bytes()))
    assert len(found[0][0]) > 500
    assert all(other == found[0] for other in found)
