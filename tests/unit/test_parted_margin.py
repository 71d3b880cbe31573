# SPDX-License-Identifier: BSD-3-Clause
"""Rows near the margin, or the edge of the tube, in one place: what parts answer, by NumPy; the
optimum of one machine in few rounds; states; what goes on where too many rows are near."""

import numpy as np
import pytest
from parted import lines, settings, trained, written

import svmcut
from svmcut.distributed import margin, newton
from svmcut.distributed.margin import EDGES, ENTRY_BYTES, ROW_BYTES
from svmcut.distributed.oracle import Carried
from svmcut.distributed.parts import Reading
from svmcut.distributed.plan import Files, make_driver
from svmcut.distributed.rows import SerialRows
from svmcut.solvers.protocol import StoppingRule
from svmcut.spec.schemas import StateError

TUBE = {"task": "regression", "tube": 0.3}
TEXTS = {task: lines(task=task, cost=True) for task in ("classification", "regression")}
TEXT = TEXTS["classification"]
CASES = {
    "bias": {},
    "no bias": {"bias": 0.0},
    "classes": {"class_weight": {1: 3.0}},
    "tube": TUBE,
    "no tube": {"task": "regression", "tube": 0.0, "bias": 0.0},
}


def text_of(case):
    return TEXTS[case.get("task", "classification")]


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    """Few features are as many ones: no Hessian is formed."""
    monkeypatch.setattr(newton, "FULL_DIM", 0)
    monkeypatch.setattr(newton, "DENSE_DIM", 0)


def loaded(paths, **chosen):
    """Bound parts and a driver over them."""
    rows = SerialRows()
    return rows, make_driver(rows, Files(paths, Reading(False)), settings(**chosen))[1]


@pytest.mark.parametrize("weighed", [False, True])
def test_what_parts_say_of_rows_near_the_margin(tmp_path, rng, weighed):
    text = TEXT if weighed else lines()
    rows, _ = loaded(written(tmp_path, text, 3))
    X, y = svmcut.load_svmlight_file(*written(tmp_path, lines(), 0, "whole"))
    X, w = np.column_stack([X.toarray(), np.ones(len(y))]), rng.normal(size=13)
    v, delta = 0.5 + np.arange(len(y)) % 3 if weighed else np.ones(len(y)), EDGES[70]
    z = y * (X @ w)
    far, here = np.abs(1 - z) > delta, [Carried(w)]
    found = rows.sum(margin.count_near, here, 1.0)
    assert found[0] == pytest.approx(v @ np.maximum(0, 1 - z), rel=1e-12)
    sizes = ENTRY_BYTES * np.count_nonzero(X[:, :-1], axis=1) + ROW_BYTES
    wanted = [sizes[np.abs(1 - z) <= edge].sum() for edge in EDGES]
    np.testing.assert_array_equal(np.cumsum(found[1:]), wanted)
    c = v * (far & (z < 1))
    cut = rows.sum(margin.cut_far, here, delta)
    np.testing.assert_allclose(cut, [c.sum(), *(-(c * y) @ X)], rtol=1e-12, atol=1e-12)
    near = margin.join_near(rows.gather(margin.gather_near, here, delta), 12)
    np.testing.assert_array_equal(near.rows, np.flatnonzero(~far))
    np.testing.assert_array_equal(near.X.to_dense(), X[~far, :-1].astype(np.float32))
    np.testing.assert_array_equal(near.y, y[~far])
    assert near.weights is None if not weighed else (near.weights == v[~far]).all()
    none = margin.join_near([(3, None)], 12)
    assert none.X.n_rows == len(none.rows) == 0 and none.X.n_features == 12


@pytest.mark.parametrize("weighed", [False, True])
def test_what_parts_say_of_rows_near_the_edge_of_the_tube(tmp_path, rng, weighed):
    text = lines(task="regression", cost=weighed)
    rows, _ = loaded(written(tmp_path, text, 3), **TUBE)
    whole = written(tmp_path, lines(task="regression"), 0, "whole")
    X, y = svmcut.load_svmlight_file(*whole)
    X, w = np.column_stack([X.toarray(), np.ones(len(y))]), rng.normal(size=13)
    v, delta = 0.5 + np.arange(len(y)) % 3 if weighed else np.ones(len(y)), 0.8
    rest, here = y - X @ w, [Carried(w)]
    distances = np.abs(np.abs(rest) - 0.3)
    found = rows.sum(margin.count_near, here, 1.7)
    assert found[0] == pytest.approx(v @ np.maximum(0, np.abs(rest) - 0.3), rel=1e-12)
    sizes = ENTRY_BYTES * np.count_nonzero(X[:, :-1], axis=1) + ROW_BYTES
    wanted = [sizes[distances <= 1.7 * edge].sum() for edge in EDGES]
    np.testing.assert_array_equal(np.cumsum(found[1:]), wanted)
    c = v * np.sign(rest) * ((distances > delta) & (np.abs(rest) > 0.3))
    cut = rows.sum(margin.cut_far, here, delta)
    np.testing.assert_allclose(cut, [c @ y - 0.3 * v @ np.abs(c / v), *(-c @ X)], rtol=1e-11)
    near = margin.join_near(rows.gather(margin.gather_near, here, delta), 12)
    np.testing.assert_array_equal(near.rows, np.flatnonzero(distances <= delta))
    np.testing.assert_array_equal(near.y, y[near.rows])


@pytest.mark.parametrize("unit", [1e-4, 1e9])
def test_targets_have_a_unit_of_their_own(tmp_path, unit):
    heads = [line.split(" ", 1) for line in lines(task="regression")]
    text = [f"{unit * float(head):.12g} cost:1e8 {rest}" for head, rest in heads]
    case = dict(task="regression", tube=0.3 * unit, gap=1e-6, example_cost=3e-8 * unit)
    found = trained(written(tmp_path, text, 3), **case)
    assert found.converged and found.solver == "dual-cd" and found.details["rounds"] < 130


@pytest.mark.parametrize("name", CASES)
def test_few_rounds_to_the_optimum_of_one_machine(tmp_path, name):
    case = {"gap": 1e-6, "example_cost": 3.0, **CASES[name]}
    text = text_of(case)
    local = svmcut.train(*written(tmp_path, text, 0, "whole"), threads=1, **case)
    for parts in (1, 3):
        found = trained(written(tmp_path, text, parts), **case)
        assert found.converged and found.solver == "dual-cd"
        assert found.dual <= local.primal * (1 + 1e-12) and local.dual <= found.primal
        assert found.primal_of_file <= found.primal * (1 + 1e-6)
        assert found.details["rounds"] < 130


@pytest.mark.parametrize("most", [0.0, 1000.0])
def test_newton_goes_on_where_too_many_rows_are_near(tmp_path, monkeypatch, most):
    monkeypatch.setattr(margin, "MOST_BYTES", most)
    found = trained(written(tmp_path, TEXT, 3), gap=1e-7, example_cost=3.0)
    assert found.converged and found.solver == "newton"


@pytest.mark.every(3)
@pytest.mark.parametrize("most, case", [(256e6, {}), (1000.0, {}), (256e6, TUBE)])
def test_a_run_goes_on_to_the_same_bytes(tmp_path, monkeypatch, most, case):
    monkeypatch.setattr(margin, "MOST_BYTES", most)
    paths = written(tmp_path, text_of(case), 3)
    chosen = dict(gap=1e-8, example_cost=3.0, **case)
    states, first = [], loaded(paths, **chosen)[1]
    whole = first.fit(None, 3.0, lambda progress, _: states.append(first.state()))
    for state in states[-9:]:
        again = loaded(paths, **chosen)[1].fit(None, 3.0, None, state)
        assert again.model.w.tobytes() == whole.model.w.tobytes() and again.dual == whole.dual


def test_a_state_has_a_multiplier_for_every_row(tmp_path):
    _, driver = loaded(written(tmp_path, TEXT, 2))
    problem = driver.plan.vectors.problem(driver.plan.space, 1.0, StoppingRule(1e-3))
    run = margin.Margin().start(problem)
    next(iter(run))
    state = run.state()
    with pytest.raises(StateError, match="multiplier"):
        run.restore({**state, "near": np.arange(3)})
