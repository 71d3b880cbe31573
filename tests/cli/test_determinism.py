# SPDX-License-Identifier: BSD-3-Clause
"""Models and predictions have the same bytes for 1, 2, 3 and 8 threads, which are four runs too,
for every solver.

The sets are large enough for the threads to take part: pieces of work are 256 tokens, or 64 rows
with sets of labels. Going on from a checkpoint: tests/contract/test_resume.py.
"""

import numpy as np
import pytest
from programs import call

LINEAR = ("--gap", "1e-2")
RBF = ("-t", "2", "-g", "0.05", "--example-cost", "1")
RUNS = {
    "cutting-plane": (
        "learn",
        "wide",
        *(*LINEAR, "--solver", "cutting-plane", "--example-cost", "0.01"),
    ),
    "dual-cd": ("learn", "weighted wide", *LINEAR, "--solver", "dual-cd", "--example-cost", "0.01"),
    "newton": ("learn", "weighted wide", *LINEAR, "--solver", "newton", "--example-cost", "0.01"),
    "f1": ("learn", "wide", *LINEAR, "-l", "f1", "-c", "10"),
    "roc-area": ("learn", "wide", *LINEAR, "-l", "roc-area", "-c", "10"),
    "rank": ("rank", "weighted wide", *LINEAR, "-c", "1"),
    "smo": ("learn", "weighted small", *RBF, "--solver", "smo"),
    "smo, no bias": ("learn", "small", *RBF, "--solver", "smo", "--no-free-bias"),
    "kernel cutting-plane": (
        "learn",
        "weighted small",
        *(*RBF, "--solver", "cutting-plane", "-e", "5"),
    ),
    "subspace": ("learn", "small", *RBF, "--solver", "subspace", "--k", "100"),
    "fourier": ("learn", "weighted small", *RBF, "--basis-kind", "fourier", "--basis", 30),
    "sampled-cuts": ("learn", "weighted small", *RBF, "--solver", "sampled-cuts", "--k", "100"),
    "bsca": (
        "learn",
        "weighted small",
        *(*RBF, "--solver", "bsca", "--budget", "50", "--epochs", "1"),
    ),
    "sbp": ("learn", "weighted small", *RBF, "--solver", "sbp", "--epochs", "0.3"),
    "pegasos": ("learn", "weighted small", *RBF, "--solver", "pegasos", "--epochs", "0.5"),
    "sdca": ("learn", "small", *RBF, "--solver", "sdca", "--epochs", "0.5"),
    "perceptron": ("learn", "weighted small", *RBF, "--solver", "perceptron", "--epochs", "0.5"),
    "bsgd": (
        "learn",
        "weighted small",
        *(*RBF, "--solver", "bsgd", "--budget", "50", "--epochs", "1"),
    ),
    "constant-cuts": (
        "learn",
        "weighted small",
        *(*RBF, "--solver", "constant-cuts", "--k", "90", "--sample-size", "90"),
    ),
}
STRUCTURED = ("auto", "bcfw", "ssg", "cutting-plane", "gdmm", "soft-bcfw")
SHORT = ("--gap", "0.1", "--max-iterations", "20", "--example-cost", "0.1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("determinism")
    rng = np.random.default_rng(11)
    for name, n, d in (("wide", 17_000, 60), ("small", 4_200, 10)):
        X = rng.integers(1, 1000, size=(n, d)) / 1000
        y = np.where(X[:, :3].sum(1) + 0.3 * rng.normal(size=n) > 1.5, 1, -1)
        pairs = [f"{j + 1}:%g" for j in range(d)]
        queries = np.arange(n) // 20 + 1
        rows = np.column_stack([y, queries, X])
        np.savetxt(folder / name, rows, " ".join(["%d", "qid:%d", *pairs]))
        rows = np.column_stack([y, queries, 1 + queries % 7 / 4, X])
        np.savetxt(folder / f"weighted {name}", rows, " ".join(["%d", "qid:%d", "cost:%g", *pairs]))
    return folder


@pytest.fixture(scope="module")
def structured(tmp_path_factory):
    folder = tmp_path_factory.mktemp("structured")
    rng = np.random.default_rng(12)
    X = rng.integers(-500, 500, size=(3000, 6)) / 500
    scores = X @ rng.normal(size=(6, 5)) + 0.3 * rng.normal(size=(3000, 5))
    rows = [" ".join(f"{j + 1}:{value:g}" for j, value in enumerate(row)) for row in X]
    tags, starts = scores.argmax(axis=1) + 1, np.cumsum(rng.random(3000) < 0.12)
    lines = [
        f"{tag} qid:{start} cost:{1 + start % 5 / 4:g} {row}\n"
        for tag, start, row in zip(tags, starts, rows, strict=True)
    ]
    (folder / "sequence").write_text("".join(lines))
    weighted = [f"cost:{1 + i % 5 / 4:g} {row}" for i, row in enumerate(rows)]
    sets = [",".join(map(str, np.flatnonzero(row))) for row in scores[:1000] > 0.8]
    (folder / "multilabel").write_text(
        "".join(f"{labels} {row}\n" for labels, row in zip(sets, weighted))
    )
    return folder


def check(tmp_path, examples, command, *options):
    """One model and one file of predictions, whatever the threads; the exit statuses of
    training."""
    found, statuses = [], set()
    for threads in (1, 2, 8):
        words = ("-v", 0, "--threads", threads)
        statuses.add(call(f"svmcut {command}", *words, *options, examples, "model"))
        assert call("svmcut classify", *words, examples, "model", "scores") == 0
        found.append(((tmp_path / "model").read_bytes(), (tmp_path / "scores").read_bytes()))
    assert len(found[0][0]) > 500
    assert all(other == found[0] for other in found)
    return statuses


@pytest.mark.every(6)
@pytest.mark.parametrize("name", sorted(RUNS))
def test_same_bytes_for_any_number_of_threads(folder, monkeypatch, tmp_path, name):
    monkeypatch.chdir(tmp_path)
    command, examples, *options = RUNS[name]
    assert check(tmp_path, folder / examples, command, *options) == {0}


@pytest.mark.every(2)
@pytest.mark.parametrize("solver", STRUCTURED)
@pytest.mark.parametrize("task", ["sequence", "multilabel"])
def test_same_bytes_of_structured_models(structured, monkeypatch, tmp_path, task, solver):
    monkeypatch.chdir(tmp_path)
    statuses = check(
        tmp_path, structured / task, "learn", "--task", task, *SHORT, "--solver", solver
    )
    assert statuses in ({0}, {3})


def test_same_bytes_of_the_other_choice_of_auto(structured, monkeypatch, tmp_path):
    """Labels without pairs are trained factor by factor."""
    monkeypatch.chdir(tmp_path)
    assert check(
        tmp_path,
        structured / "multilabel",
        "learn",
        *("--task", "multilabel", *SHORT, "--pairs", "none"),
    ) == {0}


@pytest.mark.parametrize(
    "words", [("--t", 2), ("--t", 1, "--e", 1), ("--solver", "cutting-plane", "--b", 3)]
)
def test_same_bytes_of_chains_of_other_orders(structured, monkeypatch, tmp_path, words):
    monkeypatch.chdir(tmp_path)
    assert (
        len(check(tmp_path, structured / "sequence", "learn", "--task", "sequence", *SHORT, *words))
        == 1
    )
