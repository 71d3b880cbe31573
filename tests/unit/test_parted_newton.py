# SPDX-License-Identifier: BSD-3-Clause
"""Newton's method on rows in parts: the optimum of one machine at tight gaps, certified, by sums
that know no workers; states; the relay from cutting planes."""

import pytest
from drivers import risk_of
from parted import lines, settings, trained, written

import svmcut
from svmcut.base.errors import TrainingError, UsageError
from svmcut.distributed import newton
from svmcut.distributed.newton import smooth_of
from svmcut.distributed.parts import Reading
from svmcut.distributed.plan import Files, Shape, make_driver
from svmcut.distributed.rows import SerialRows

TEXTS = {task: lines(task=task) for task in ("classification", "regression")}
CASES = {
    "hinge": dict(loss="error-rate", example_cost=30.0),
    "class weights": dict(loss="error-rate", class_weight={1: 3.0}),
    "no bias": dict(loss="error-rate", bias=0.0),
    "squared hinge": dict(loss="squared-hinge"),
    "logistic": dict(loss="logistic"),
    "tube": dict(task="regression"),
    "squared tube": dict(task="regression", loss="squared-epsilon-insensitive"),
}


SOLVER = {"solver": "newton"}
#: The solvers of a wide and a tight gap.
LOSSES = [
    ("error-rate", ("cutting-plane", "newton")),
    ("squared-hinge", ("newton", "newton")),
    ("logistic", ("newton", "newton")),
]


@pytest.fixture(params=["formed", "products"])
def way(request, monkeypatch):
    """Hessians that are formed, and products with them."""
    if request.param == "products":
        monkeypatch.setattr(newton, "FULL_DIM", 0)
        monkeypatch.setattr(newton, "DENSE_DIM", 0)
    return request.param


@pytest.mark.every(3)
@pytest.mark.parametrize("name", CASES)
def test_parts_have_the_optimum_of_one_machine_at_a_tight_gap(tmp_path, way, name):
    case = {"task": "classification", **CASES[name]}
    text = TEXTS[case["task"]]
    (whole,) = written(tmp_path, text, 0)
    local = svmcut.train(whole, gap=1e-6, threads=1, **case)
    for parts in (1, 3):
        found = trained(written(tmp_path, text, parts, f"p{parts}"), gap=1e-6, **case, **SOLVER)
        assert found.converged and found.solver == "newton"
        assert found.primal - found.dual <= 1e-6 * found.primal
        assert found.dual <= local.primal * (1 + 1e-9) and local.dual <= found.primal * (1 + 1e-9)
        assert found.primal_of_file <= found.primal * (1 + 1e-6)


def test_the_certificate_is_that_of_the_rows(tmp_path):
    (whole,) = written(tmp_path, TEXTS["classification"], 0)
    found = trained(written(tmp_path, TEXTS["classification"], 3), gap=1e-7, **SOLVER)
    X, y = svmcut.load_svmlight_file(whole)
    w = found.progress.solution()
    value = risk_of("error-rate").bind(y).linearize(X @ w[:-1] + w[-1]).value
    assert found.primal == pytest.approx(0.5 * w @ w + found.objective.C * value, rel=1e-12)


@pytest.mark.parametrize("loss, solvers", LOSSES)
def test_the_solver_of_a_loss_and_a_gap(tmp_path, loss, solvers):
    paths = written(tmp_path, TEXTS["classification"], 3)
    given = {"loss": loss, "example_cost": 30.0}
    found = [trained(paths, gap=gap, **given) for gap in (1e-3, 1e-6)]
    assert tuple(outcome.solver for outcome in found) == solvers
    alone = trained(paths, gap=1e-6, **given, solver="cutting-plane")
    assert alone.solver == "cutting-plane"
    assert found[1].dual <= alone.primal and alone.dual <= found[1].primal
    if loss != "error-rate":
        assert found[1].details["rounds"] < alone.details["rounds"] / 3


@pytest.mark.every(4)
@pytest.mark.parametrize("solver", ["auto", "newton"])
def test_a_run_goes_on_to_the_same_bytes(tmp_path, way, solver):
    chosen = settings(gap=1e-6, solver=solver)
    files = Files(written(tmp_path, TEXTS["classification"], 3), Reading(False))
    states, steps = [], []

    def driver():
        return make_driver(SerialRows(), files, chosen)[1]

    first = driver()
    whole = first.fit(None, 1.0, lambda progress, _: states.append(first.state()))
    for state in states[1 :: max(1, len(states) // 4)]:
        steps.clear()
        again = driver().fit(None, 1.0, lambda progress, _: steps.append(progress), state)
        assert again.model.w.tobytes() == whole.model.w.tobytes() and again.dual == whole.dual
        assert len(steps) <= len(states)


def test_a_path_of_costs_starts_from_the_last_one(tmp_path):
    paths = written(tmp_path, TEXTS["classification"], 2)
    chosen = settings(gap=1e-6, **SOLVER)
    _, driver = make_driver(SerialRows(), Files(paths, Reading(False)), chosen)
    first, second = driver.fit(None, 1.0), driver.fit(None, 1.1)
    cold = trained(paths, gap=1e-6, example_cost=1.1, **SOLVER)
    assert second.dual <= cold.primal and cold.dual <= second.primal
    assert second.progress.iteration < cold.progress.iteration and first.converged


def test_hessians_are_formed_of_few_features():
    few, many = Shape(10_000, 100, 10**6), Shape(10_000, 2000, 10**6)
    middle = Shape(10_000, 1000, 10**6)
    sets = {name: settings(loss=name) for name in ("error-rate", "squared-hinge")}
    assert [smooth_of(sets["error-rate"], X).formed for X in (few, middle, many)] == [1, 1, 0]
    assert [smooth_of(sets["squared-hinge"], X).formed for X in (few, middle, many)] == [1, 0, 0]
    assert smooth_of(sets["error-rate"], few).corners
    assert not smooth_of(sets["squared-hinge"], few).corners


def test_losses_without_curvature_are_refused(tmp_path):
    paths = written(tmp_path, TEXTS["classification"], 2)
    with pytest.raises((UsageError, TrainingError), match="newton"):
        trained(paths, cost=1.0, loss="f1", **SOLVER)
    with pytest.raises(UsageError, match="needs all rows in one place; use"):
        trained(paths, solver="dual-cd")
    (one,) = written(tmp_path, lines(task="multiclass"), 1, "classes")
    with pytest.raises(UsageError, match="newton"):
        trained([one], "multiclass", **SOLVER)
