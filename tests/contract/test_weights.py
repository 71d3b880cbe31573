# SPDX-License-Identifier: BSD-3-Clause
"""Weights of examples and structures, every solver: weight k is k rows, under both units of C."""

import itertools

import numpy as np
import pytest
from drivers import cost_of, driver, way_of

from svmcut.base.errors import UsageError
from svmcut.base.records import replace
from svmcut.data.examples import Csr, Examples, MultilabelExamples, Sequences, Source
from svmcut.solvers.newton import Descent
from svmcut.spec.catalog import RESCALINGS, SOLVERS, TASKS, losses, solvers
from svmcut.spec.entries import NUMBERS
from svmcut.spec.parameters import Settings
from svmcut.spec.refusals import check
from svmcut.spec.schemas import StateError

USES = [
    (task, kernel, solver)
    for task in TASKS
    for kernel in ("linear", "rbf")
    for solver in solvers(task, kernel != "linear")
]
COSTS = [(None, 0.7), (30.0, None)]


def rows_of(X):
    return Csr.from_dense(np.ascontiguousarray(X, np.float32))


def repeated(rng, task, n=60, d=5, most=3):
    """Data with weights 1 to `most`, and the same with every row, query or sequence as often as its
    weight says."""
    size = {"sequence": 4, "rank": 5}.get(task, 1)
    v = rng.integers(1, most + 1, n // size).astype(float)
    X = rng.normal(size=(n, d)).astype(np.float32)
    noise = rng.normal(size=(n, 3))
    score = X[:, 0] + X[:, 1] * X[:, 2] + 0.7 * noise[:, 0]
    times = np.repeat(np.arange(len(v)), v.astype(int))

    def data(rows, v):
        n, part, source = len(rows), rows_of(X[rows]), Source("train")
        if task == "multilabel":
            gold = (X[rows, :3] + 0.5 * noise[rows]) > 0.3
            indptr = np.concatenate([[0], np.cumsum(gold.sum(axis=1))]).astype(np.int64)
            return MultilabelExamples(
                part, np.arange(3) + 1, indptr, np.nonzero(gold)[1].astype(np.int32), source, v
            )
        if task == "sequence":
            tags = np.digitize(score[rows], [-0.5, 0.5]).astype(np.int32)
            return Sequences(part, np.arange(0, n + 1, size), tags, source, v)
        if task == "rank":
            v = None if v is None else np.repeat(v, size)
            return Examples(part, np.round(score[rows]), np.arange(n) // size, v, source)
        if task == "multiclass":
            return Examples(
                part, np.digitize(score[rows], [-0.5, 0.5]).astype(float), None, v, source
            )
        return Examples(part, np.where(score[rows] > 0, 1.0, -1.0), None, v, source)

    return data(np.arange(n), v), data((times[:, None] * size + np.arange(size)).ravel(), None)


def both(data, costs, **known):
    """What came of data and of its repeated rows, for the same C in both units."""
    ours, theirs = (driver(part, **known).fit(*costs) for part in data)
    assert (ours.objective.C, ours.objective.c) == pytest.approx(
        (theirs.objective.C, theirs.objective.c), rel=1e-12
    )
    return ours, theirs


def check_same(ours, theirs, gap):
    """Two certificates of one minimum."""
    for outcome in (ours, theirs):
        assert outcome.converged, outcome.stopped_by
        assert outcome.gap <= gap * abs(outcome.primal)
    least, most = max(ours.dual, theirs.dual), min(ours.primal, theirs.primal)
    assert least <= most + 1e-9 * abs(most)


def check_heavier(data, found, **known):
    """Without the weights, which are at least 1, another minimum."""
    plain = driver(replace(data, weights=None), **known).fit(*COSTS[0])
    assert plain.primal < found.dual or (found.primal < plain.dual < 0)


CERTIFIED = [use for use in USES if not SOLVERS[use[2]].steps]


@pytest.mark.every(5)
@pytest.mark.parametrize(("task", "kernel", "solver"), CERTIFIED)
def test_weight_k_is_k_rows(rng, task, kernel, solver):
    """With their polish the solvers that draw or keep a budget are certified too: their points span
    the minimum."""
    data, gap = repeated(rng, task), 1e-2 if task in ("sequence", "multilabel") else 1e-3
    known = {
        "task": task,
        "solver": solver,
        "kernel": kernel,
        "gap": gap,
        **way_of(task, solver, kernel),
    }
    if solver == "bsgd":
        known["epochs"] = 100.0
    found = [both(data, costs, **known) for costs in COSTS]
    for ours, theirs in found:
        check_same(ours, theirs, gap)
    check_heavier(data[0], found[0][0], **known)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "kernel", "solver"), [use for use in CERTIFIED if use[0] != "one-class"]
)
@pytest.mark.parametrize("scale", [1e-4, 1e4])
def test_the_unit_of_weights_is_that_of_one_over_C(rng, task, kernel, solver, scale):
    """-c does not change with the unit, but of numbers, of which it is the weight of an example;
    one class has no C."""
    data, _ = repeated(rng, task)
    known = {
        "task": task,
        "solver": solver,
        "kernel": kernel,
        "gap": 1e-3,
        **way_of(task, solver, kernel),
    }
    if solver == "bsgd":
        known["epochs"] = 100.0
    ours = driver(replace(data, weights=scale * data.weights), **known).fit(None, 0.7 / scale)
    theirs = driver(data, **known).fit(None, 0.7)
    unit = scale if TASKS[task].labels == NUMBERS else 1.0
    assert unit * ours.objective.c == pytest.approx(theirs.objective.c, rel=1e-12)
    check_same(ours, theirs, 1e-3)


def held_by(plan, task):
    """What of a plan holds the weights."""
    if task in ("sequence", "multilabel"):
        return plan.model
    if task == "one-class":
        return plan.room.vectors.risk
    return plan.classes.risk if task == "multiclass" else plan.vectors.risk


@pytest.mark.parametrize("task", TASKS)
def test_weights_of_one_are_none(rng, task):
    """Whatever trains on them, it does what it did without: no bit of a model changes."""
    data, _ = repeated(rng, task)
    weights = np.ones(len(data))
    plan = driver(replace(data, weights=weights), task=task).plan
    held = held_by(plan, task)
    assert held.weights is None
    weights[-5:] = 2.0
    plan = driver(replace(data, weights=weights), task=task).plan
    held = held_by(plan, task)
    assert held.weights.max() == 2.0


def is_trained(task, **known):
    """Whether cutting planes take these settings, and a weight of a structure is its number."""
    if task == "one-class" or known["loss"] == "propensities":  # whose weights are those of clicks
        return False
    try:
        check(Settings(task=task, **cost_of(task, 1.0), threads=1, **known))
    except UsageError:
        return False
    return task != "classification"


LOSSES = [
    (task, {"loss": loss, "slack_norm": norm, "rescaling": rescaling, "kernel": kernel})
    for task in TASKS
    for loss, norm, rescaling, kernel in itertools.product(
        losses(task), (1, 2), RESCALINGS, ("linear", "rbf")
    )
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "known"), [case for case in LOSSES if is_trained(case[0], **case[1])], ids=str
)
def test_weights_in_every_loss_of_structures(rng, task, known):
    data = repeated(rng, task, n=40)
    solver = "subspace" if task == "rank" and known["kernel"] == "rbf" else "cutting-plane"
    known = {"task": task, "solver": solver, "gap": 1e-2, **known}
    for costs in COSTS:
        check_same(*both(data, costs, **known), 1e-2)


#: Parts of the minimum by which a solver without polish may miss it, on weighted and on repeated
#: rows: ascent in the dual goes to the minimum, averages of T steps miss it by one over the root of
#: T at most, cuts of 50 draws by more.
APART = {
    "sampled-cuts": 0.01,
    "constant-cuts": 0.1,
    "bsca": 1e-5,
    "bsgd": 0.01,
    "sbp": 0.03,
    "pegasos": 0.01,
    "sdca": 1e-5,
}


@pytest.mark.parametrize("solver", APART)
def test_bare_solvers_near_the_minimum_of_weighted_rows(rng, solver):
    data = repeated(rng, "classification")
    known = {"kernel": "rbf", "gamma": 0.5}
    exact, _ = both(data, COSTS[0], solver="smo", free_bias=False, gap=1e-6, **known)
    own = {"polish": False}
    if SOLVERS[solver].steps or SOLVERS[solver].plan == "budget":
        own["epochs"] = 200.0
    else:
        own["gap"] = 1e-3
    if solver == "sbp":
        own |= {"free_bias": False}
    for outcome in both(data, COSTS[0], solver=solver, **known, **own):
        assert outcome.primal <= (1 + APART[solver]) * exact.primal
        assert outcome.primal >= exact.dual
        assert not outcome.dual > exact.primal * (1 + 1e-9)


@pytest.mark.parametrize("solver", ["pegasos", "perceptron"])
def test_visits_are_as_many_as_the_weight_says(rng, solver):
    """As many visits of repeated rows give the same objective, but for the draws and their looks: a
    mean over seeds."""
    weighted, whole = repeated(rng, "classification", n=40)
    known = {
        "kernel": "rbf",
        "gamma": 0.5,
        "solver": solver,
        "polish": False,
        "sampling": "independent",
    }

    def primals(data, epochs):
        return [
            driver(data, epochs=epochs, seed=seed, **known).fit(None, 0.7).primal
            for seed in range(30)
        ]

    epochs = 3.0
    ours = primals(weighted, epochs * float(weighted.weights.sum()) / len(weighted))
    theirs = primals(whole, epochs)
    spread = np.hypot(np.std(ours), np.std(theirs)) / np.sqrt(30)
    print(np.mean(ours), np.mean(theirs), spread)
    assert abs(np.mean(ours) - np.mean(theirs)) <= 4 * spread
    assert np.mean(primals(replace(weighted, weights=None), epochs)) < 0.9 * np.mean(ours)


@pytest.mark.parametrize("solver", ["bsca", "sdca", "sbp"])
def test_errors_of_rows_held_out_count_by_weight(rng, solver):
    """A fifth of the rows: the error is that of their weights."""
    data, _ = repeated(rng, "classification", n=100)
    known = {
        "kernel": "rbf",
        "gamma": 0.5,
        "solver": solver,
        "polish": False,
        "hold_out": 0.2,
        "seed": 3,
    }
    outcome = driver(data, **known).fit(None, 0.7)
    details = next(iter(outcome.details.values()))
    held = np.random.default_rng(3).permutation(100)[:20]
    wrong = (outcome.model.scores(data.X, 1)[held] > 0) != (data.y[held] > 0)
    assert 0 < wrong.sum() < 20
    assert details["held_out_error"] == pytest.approx(
        100 * data.weights[held] @ wrong / data.weights[held].sum()
    )
    assert details["held_out_error"] != pytest.approx(100 * wrong.mean())


def test_newton_begins_at_a_weighted_sample(rng, monkeypatch):
    """Of every eighth row, twice over, with C scaled to the weight of all: its minimum is near that
    of all rows."""
    monkeypatch.setattr(Descent, "SAMPLE", (40, 20))
    data, _ = repeated(rng, "classification", n=4000)
    data = replace(data, weights=np.where(rng.random(4000) < 0.1, 20.0, 0.1))
    known = {"solver": "newton", "gap": 1e-4}
    trainer = driver(data, **known)
    problem = trainer.plan.next(trainer.plan.units.objective(None, 0.5), None).problem
    w, _ = Descent.sample_start(problem, problem.space.zero(), 1.0)
    outcome = trainer.fit(None, 0.5)
    scores = problem.space.scores(w)
    primal = 0.5 * problem.space.dot(w, w) + 0.5 * problem.risk.linearize(scores).value
    assert outcome.converged and outcome.dual <= primal <= 1.2 * outcome.primal
    exact = driver(data, solver="cutting-plane", gap=1e-4).fit(None, 0.5)
    assert max(exact.dual, outcome.dual) <= min(exact.primal, outcome.primal)


def test_a_polish_on_a_sample_of_rows_stands_for_the_weight_of_all(rng, monkeypatch):
    monkeypatch.setattr("svmcut.training.steps.POLISH_MB", 1e-3)
    data, _ = repeated(rng, "classification", n=1500)
    data = replace(data, weights=np.where(data.y > 0, 3.0, 0.3))
    known = {"kernel": "rbf", "gamma": 0.5, "solver": "bsca", "budget": 40, "epochs": 5.0}
    outcome = driver(data, **known).fit(None, 0.1)
    basis = outcome.details["basis"]
    assert basis["rows"] == 400
    assert outcome.primal == pytest.approx(basis["dual"] + basis["gap"], rel=0.15)
    losses = np.maximum(0, 1 - data.y * outcome.model.scores(data.X, 1))
    assert outcome.primal == pytest.approx(
        0.5 * outcome.norm**2 + 0.1 * data.weights @ losses, rel=0.02
    )


@pytest.mark.parametrize("solver", ["dual-cd", "smo"])
def test_multipliers_above_the_C_of_their_row_are_no_state(rng, solver):
    data, _ = repeated(rng, "classification")
    known = {"solver": solver, "gap": 1e-6, "kernel": "rbf" if solver == "smo" else "linear"}
    trainer, states = driver(data, **known), []
    trainer.fit(None, 0.7, lambda progress, objective: states.append(trainer.state()))
    own = states[-1]["solver"]
    n = len(data)  # smo keeps five numbers, v, and beta
    alpha = (
        own["descent"]["alpha"]
        if solver == "dual-cd"
        else own["native"]["reals"][5 + n : 5 + 2 * n]
    )
    driver(data, **known).fit(None, 0.7, None, states[-1])
    light = int(np.argmax(np.isclose(np.abs(alpha), 0.7)))
    assert np.isclose(abs(alpha[light]), 0.7)
    alpha[light] *= 2  # no more than the C of other rows
    with pytest.raises(StateError):
        driver(data, **known).fit(None, 0.7, None, states[-1])
