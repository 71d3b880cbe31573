# SPDX-License-Identifier: BSD-3-Clause
"""Training until labels are decided: the share is reached, no decided label is another at the
optimum, and a resumed run ends in the same model."""

import numpy as np
import pytest

from svmcut.base.errors import TrainingError, UsageError
from svmcut.data.examples import Csr
from svmcut.models.bounds import decided_labels, lengths, limits, reach
from svmcut.spec.parameters import Settings
from svmcut.spec.refusals import plain
from svmcut.tasks.protocol import make_task
from svmcut.training.certificate import with_certificate
from svmcut.training.update import DecidingDriver, check_fraction

MACHINES = {
    "hinge": {},
    "squared hinge": {"loss": "squared-hinge"},
    "cuts": {"loss": "f1", "cost": 3.0},
    "rbf": {"kernel": "rbf", "gamma": 0.3},
    "classes": {"task": "multiclass"},
}


def problem(name, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 5)).astype(np.float32)
    score = X[:, 0] + 0.5 * X[:, 1] + 0.7 * rng.normal(size=120)
    y = np.digitize(score, [-0.7, 0.7]) + 1.0 if name == "classes" else np.sign(score)
    return X, y


def driver_of(name, X, y, **settings):
    task = make_task(MACHINES[name].get("task", "classification"))
    asked = {**MACHINES[name], **settings}
    unit = {} if "cost" in asked else {"example_cost": 1.0}
    made = plain(Settings(**unit, **asked, given=frozenset(asked)))
    return task.plan(task.from_arrays(X, y), made)


def fitted(driver, **how):
    s = driver.settings
    outcome = driver.fit(s.cost, s.example_cost, **how)
    return outcome, with_certificate(outcome.model, outcome, s)


@pytest.mark.parametrize("name", MACHINES)
def test_the_share_is_reached_and_no_decided_label_is_wrong(name):
    X, y = problem(name)
    rows = Csr.from_dense(np.random.default_rng(1).normal(size=(80, 5)).astype(np.float32))
    outcome, model = fitted(DecidingDriver(driver_of(name, X, y), rows, 0.95, "rows"))
    sure = decided_labels(model, model.scores(rows), reach(model, rows))
    assert outcome.converged and outcome.details["decided"] == sure.sum() >= 76
    assert outcome.details["decided_fraction"] == sure.mean()
    exact, best = fitted(driver_of(name, X, y, gap=1e-11))
    labels = [
        each.scores(rows) > 0 if name != "classes" else each.scores(rows).argmax(1)
        for each in (model, best)
    ]
    assert (labels[0] == labels[1])[sure].all() and exact.gap < 1e-6


@pytest.mark.parametrize("name", ["hinge", "rbf", "classes"])
def test_a_resumed_run_ends_in_the_same_model(name):
    X, y = problem(name)
    rows, states = Csr.from_dense(X), []

    def made():
        return DecidingDriver(driver_of(name, X, y), rows, 0.99, "rows")

    driver = made()
    whole, _ = fitted(driver, observe=lambda progress, objective: states.append(driver.state()))
    assert {state["round"] for state in states} == {*range(whole.details["decided_rounds"])}
    for state in (states[0], states[len(states) // 2], states[-1]):
        again, _ = fitted(made(), state=state)
        for field in ("w", "W", "alpha"):
            if hasattr(whole.model, field):
                assert np.array_equal(getattr(again.model, field), getattr(whole.model, field))
        assert again.details["decided"] == whole.details["decided"]


def test_a_limit_leaves_the_share_that_was_reached():
    X, y = problem("hinge")
    driver = driver_of("hinge", X, y, max_iterations=1)
    outcome, _ = fitted(DecidingDriver(driver, Csr.from_dense(X), 1.0, "rows"))
    assert not outcome.converged and outcome.stopped_by == "limit"
    assert outcome.details["decided_fraction"] < 1


def test_a_label_that_no_gap_decides_ends_training():
    X, y = problem("hinge")
    rows = Csr.from_dense(np.zeros((2, 5), np.float32))
    driver = driver_of("hinge", X, y, bias=0.0)
    outcome, _ = fitted(DecidingDriver(driver, rows, 0.5, "rows"))
    assert not outcome.converged and outcome.stopped_by in ("rounding", "file")
    assert outcome.details["decided"] == 0


def test_limits_are_the_radius_below_which_a_label_is_decided():
    X, y = problem("classes")
    rows = Csr.from_dense(X)
    _, model = fitted(driver_of("classes", X, y, gap=0.03))
    scores, length = model.scores(rows), lengths(model, rows)
    found = limits(model, scores, length)
    for radius in np.quantile(found, [0.1, 0.5, 0.9]) * (1 + 1e-9):
        assert ((found > radius) == decided_labels(model, scores, radius * length)).all()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"penalty": "l1", "loss": "logistic"}, "penalty='l2'"),
        ({"free_bias": True, "bias": 0.0}, "free_bias=False"),
        ({"gap": 0.1}, "does not go with parameter 'gap'"),
        ({"certify": False}, "certify=False"),
        ({"kernel": "sigmoid"}, "positive definite"),
    ],
)
def test_training_that_proves_no_label_is_refused(settings, said):
    X, y = problem("hinge")
    driver = driver_of("hinge", X, y, **settings)
    with pytest.raises(UsageError, match=said):
        DecidingDriver(driver, Csr.from_dense(X), 0.9, "rows")


def test_no_rows_and_no_share_are_refused():
    X, y = problem("hinge")
    with pytest.raises(TrainingError, match="no row has a label"):
        empty = Csr.from_dense(np.zeros((0, 5), np.float32))
        DecidingDriver(driver_of("hinge", X, y), empty, 0.9, "rows")
    for share in (0, 1.5, "half"):
        with pytest.raises(UsageError, match="no share"):
            check_fraction(X, share)
    with pytest.raises(UsageError, match="until_decided"):
        check_fraction(None, 0.5)
    assert check_fraction(None, None) == 0.99
