# SPDX-License-Identifier: BSD-3-Clause
"""What a kernel run reports, held against the written model in float64, whatever C is."""

import json
from pathlib import Path

import numpy as np
import pytest
from cli.test_learn import write_rows
from programs import call
from reference.kernel import matrix, primal
from svmcut._native.smo import Smo as NativeSmo

from svmcut.data.examples import Csr
from svmcut.formats import read_model
from svmcut.models.kernels import Kernel
from svmcut.solvers.protocol import Progress, StoppingRule
from svmcut.solvers.smo import KernelProblem, Smo, SmoRun
from svmcut.training.outcome import Outcome

SOLVERS = {
    "smo": ("--solver", "smo"),
    "smo, no bias": ("--solver", "smo", "--no-free-bias"),
    "cutting-plane": ("--solver", "cutting-plane", "--max-iterations", 60),
    "subspace": ("--solver", "subspace", "--k", 40, "--max-iterations", 60),
    "bsca": ("--solver", "bsca", "--budget", 30, "--epochs", 2, "--no-polish"),
}


def rows(rng, n=150, d=10):
    """Rows no wide rbf kernel separates."""
    X = rng.normal(size=(n, d)).astype(np.float32)
    return X, np.where(X[:, 0] + 2.0 * rng.normal(size=n) > 0, 1.0, -1.0)


@pytest.fixture
def files(tmp_path, rng, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = rows(rng)
    write_rows(tmp_path / "train", X, y)
    return X, y


def learn(*words):
    """The exit status, the report, and the model."""
    status = call("svmcut learn", "-t", 2, "--report", "report", *words, "train", "model")
    with open("report", encoding="ascii") as file:
        return status, json.load(file), read_model("model")


def true_primal(model, X, y, C, tube=None):
    Z = np.zeros((model.support.n_rows, X.shape[1]))
    Z[:, : model.support.n_features] = model.support.to_dense()
    f = matrix(model.kernel, X, Z) @ model.alpha - model.b
    losses = np.maximum(0, 1 - y * f if tube is None else np.abs(y - f) - tube)
    return 0.5 * model.alpha @ matrix(model.kernel, Z, Z) @ model.alpha + C * losses.sum()


@pytest.mark.parametrize(
    ("C", "tube"), [(1.0, None), (1e3, None), (1e5, None), (1e6, None), (1.0, 0.2), (1e5, 0.2)]
)
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_report_is_that_of_the_file(files, solver, C, tube):
    X, y = files
    words = ("-g", 0.02, "--example-cost", C, "--gap", 1e-3, "--time-limit", 5)
    if tube is not None:
        y = np.round(X[:, 0] + 2.0 * X[:, 1].astype(float) ** 2, 3)
        write_rows(Path("train"), X, y)
        words += ("--task", "regression", "--tube", tube)
    status, report, model = learn(*words, *SOLVERS[solver])
    truth = true_primal(model, X, y, C, tube)
    assert report.get("primal_of_file", report["primal"]) == pytest.approx(truth, rel=1e-6)
    assert report["dual"] is None or report["dual"] <= truth * (1 + 1e-9)
    assert not report["converged"] or truth - report["dual"] <= 1.0001e-3 * truth
    assert (status == 0) == (report["converged"] or report["stopped_by"] == "epochs")
    assert report["converged"] == (report["stopped_by"] is None)
    if solver.startswith("smo") and C <= 1e5:
        assert report["converged"]


def test_the_printed_numbers_are_those_of_the_report(files, capsys):
    words = ("--example-cost", 10, "--gap", 1e-3, "--solver", "subspace", "--k", 20)
    status, report, _ = learn("--format", "original", "-g", 0.02, *words)
    printed = capsys.readouterr().out
    assert f"dval={report['dual']:.5f}\n" in printed and f"pval={report['primal']:.5f}\n" in printed
    assert f"Upper bound on duality gap: {report['gap']:.5f}\n" in printed
    assert (status, report["converged"], report["stopped_by"]) == (3, False, "basis")
    assert report["basis"]["gap"] <= 1e-3 * report["primal"] < report["gap"]
    assert "raise --basis" in printed


def test_a_span_without_a_target_of_its_own_does_what_it_was_asked_for(files):
    status, report, _ = learn("-g", 0.02, "--example-cost", 10, "--solver", "subspace", "--k", 20)
    assert (status, report["converged"], report["stopped_by"], report["warnings"]) == (
        0,
        False,
        "span",
        [],
    )


def test_a_span_goes_on_while_a_closer_target_can_help(files):
    """All rows as basis leave nothing out but the rounding of the factor."""
    words = ("-g", 0.02, "--example-cost", 10, "--solver", "subspace", "--k", 150, "--gap", 1e-4)
    status, report, _ = learn(*words)
    assert (status, report["converged"]) == (0, True)
    assert report["relative_gap"] <= 1e-4


def test_digits_of_the_file_are_looked_at_in_linear_models_too(files):
    rng = np.random.default_rng(5)
    y = rng.choice([-1.0, 1.0], 60)
    X = np.column_stack(
        [1e4 * rng.normal(size=60), y * rng.uniform(1, 2, 60), rng.normal(size=(60, 2))]
    )
    write_rows(Path("train"), X.astype(np.float32), y)
    words = (
        *("--example-cost", 1e6, "--gap", 1e-8, "--solver", "dual-cd", "--report", "report"),
        *("train", "model"),
    )
    status = call("svmcut learn", *words)
    with open("report", encoding="ascii") as file:
        report = json.load(file)
    model = read_model("model")
    s = model.scores(Csr.from_dense(X.astype(np.float32)))
    truth = 0.5 * (model.w @ model.w + model.b**2) + 1e6 * np.maximum(0, 1 - y * s).sum()
    assert report["primal_of_file"] == pytest.approx(truth, rel=1e-9)
    assert truth > report["primal"] * (1 + 1e-8)
    assert (status, report["converged"], report["stopped_by"]) == (3, False, "file")


@pytest.mark.parametrize("free_bias", [True, False])
def test_many_rows_are_refreshed_until_their_float64_certificate_meets_the_rule(
    rng, monkeypatch, free_bias
):
    n, C = 2050, 1e5
    X = rng.normal(size=(n, 10)).astype(np.float32)
    y = np.where(X @ np.ones(10) + 0.1 * rng.normal(size=n) > 0, 1.0, -1.0)
    kernel, calls = Kernel("rbf", gamma=0.02), []
    problem = KernelProblem(Csr.from_dense(X), y, kernel, C, gap=3e-2)
    solver = Smo(free_bias, cache_mb=100)
    refreshed = SmoRun._refresh
    monkeypatch.setattr(SmoRun, "_refresh", lambda self: calls.append(1) or refreshed(self))
    last = list(solver.start(problem))[-1]
    beta, b = last.solution()
    squared = (X.astype(float) ** 2).sum(1)
    K = np.exp(
        -kernel.gamma
        * np.maximum(squared[:, None] + squared - 2 * X.astype(float) @ X.T.astype(float), 0)
    )
    assert calls
    assert last.primal == pytest.approx(primal(K, y, beta, b, C), rel=1e-9)
    assert last.dual == pytest.approx(beta @ y - 0.5 * beta @ K @ beta, rel=1e-9)
    assert last.gap <= 3e-2 * last.primal


def test_a_refresh_reads_the_rows_that_can_matter_alone(rng):
    X = rng.normal(size=(2100, 4)).astype(np.float32)
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    run = NativeSmo(Csr.from_dense(X), y, Kernel("rbf", gamma=0.1), 1.0, False)
    run.run(1e-3, 10**6)
    before = run.evaluations
    beta, _ = run.solution()
    run.refresh(0.0)
    fresh = y - matrix(Kernel("rbf", gamma=0.1), X, X[beta != 0]) @ beta[beta != 0]
    matter = (beta != 0) | (y * fresh > 0)
    assert run.evaluations - before < 0.9 * 2100 * np.count_nonzero(beta)
    assert np.abs(run.solution()[1] - fresh)[matter].max() < 1e-10
    assert np.array_equal(run.solution()[0], beta)


def outcome(primal, dual, **more):
    progress = Progress(1, 1.0, primal, dual, primal - dual, 0.0, lambda: None)
    return Outcome(None, None, progress, "smo", **more)


def test_one_place_gives_the_verdict():
    rule = StoppingRule(0.0, 1e-3)
    assert outcome(1.0, 0.9995).judge(rule, "limit").converged
    for given, stopped_by, expected in (
        (outcome(1.0, 0.5), None, "rounding"),
        (outcome(1.0, 0.5), "limit", "limit"),
        (outcome(1.0, float("nan")), None, "rounding"),
        (outcome(1.0, 0.9995, certificate=(1.1, 0.9995)), None, "rounding"),
        (outcome(1.0, 0.9995, primal_of_file=1.01), None, "file"),
        (outcome(1.0, 0.9995, primal_of_file=float("nan")), None, "file"),
        (outcome(1.0, 1.0 + 2e-9), None, "mistake"),
        (outcome(-2e24, 0.0), None, "mistake"),
    ):
        given.judge(rule, stopped_by)
        assert (given.converged, given.done, given.stopped_by) == (False, False, expected)
    wrong = outcome(1.0, 1.0 + 2e-9).judge(rule, None)
    assert "error of svmcut" in wrong.warnings[0]
    assert outcome(1.0, 1.0 + 5e-10).judge(rule, None).converged
    assert outcome(1.0, 0.5).judge(rule, None, "epochs").done


def test_at_an_ordinary_cost_some_points_show_that_no_refresh_is_due(rng, monkeypatch):
    n, C = 2100, 1.0
    X = rng.normal(size=(n, 5)).astype(np.float32)
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    monkeypatch.setattr(SmoRun, "_refresh", lambda self: pytest.fail("a refresh"))
    last = list(Smo().start(KernelProblem(Csr.from_dense(X), y, Kernel("rbf", gamma=0.2), C)))[-1]
    beta, b = last.solution()
    squared = (X.astype(float) ** 2).sum(1)
    K = np.exp(-0.2 * (squared[:, None] + squared - 2 * X.astype(float) @ X.T.astype(float)))
    assert last.primal == pytest.approx(primal(K, y, beta, b, C), rel=1e-6)
    assert last.dual == pytest.approx(beta @ y - 0.5 * beta @ K @ beta, rel=1e-6)
