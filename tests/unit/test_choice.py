# SPDX-License-Identifier: BSD-3-Clause
"""A certified choice of C: the claim holds for many C that are trained by themselves, threads and
stops change nothing."""

import numpy as np
import pytest

from svmcut.choice import CertifiedChoice, Interval, check_choice
from svmcut.errors import UsageError
from svmcut.scoring.path_errors import wrong
from svmcut.selection import held_out, parts_of
from svmcut.spec.parameters import Settings
from svmcut.spec.refusals import plain
from svmcut.tasks.protocol import named

TASK = named("classification")


def data(seed, n=90, d=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.choice([0.3, 1, 3], size=d)
    y = np.where(X @ rng.normal(size=d) + 0.8 * rng.normal(size=n) > 0, 1.0, -1.0)
    return TASK.from_arrays(X.astype(np.float32), y)


def choice(loss="error-rate", most=0.05, folds=None, ends=(0.01, 10.0), **how):
    train, held = data(0), data(1)
    given = {"loss": loss, "example_cost": 1.0, "threads": how.pop("threads", 1)}
    driver = TASK.plan(train, plain(Settings(**given, given=frozenset(given))))
    if folds is None:
        parts, settings = held_out(train, held, driver.settings)
    else:
        parts, settings, _ = parts_of(train, driver.settings, folds)
    interval, state = Interval(*ends, most), how.pop("state", None)
    made = CertifiedChoice(TASK, settings, interval, parts, driver, **how)
    if state is not None:
        made.restore(state)
    return made, parts


def errors_at(parts, loss, C):
    """The share of errors of the optimum, and which rows are wrong, fold by fold."""
    shares, rows = [], []
    for part in parts:
        train, held = part()
        given = {"loss": loss, "example_cost": C, "gap": 1e-9}
        driver = TASK.plan(train, plain(Settings(**given, given=frozenset(given))))
        f = driver.fit(None, C).model.scores(held.X)
        rows.append((f > 0) != (held.y > 0))
        shares.append(rows[-1].mean())
    return np.mean(shares), rows


@pytest.mark.parametrize("loss", ["error-rate", "squared-hinge", "logistic"])
@pytest.mark.parametrize("folds", [None, 3])
def test_no_C_is_better_by_more(loss, folds):
    found, parts = choice(loss, 0.1, folds)
    found.run()
    report = found.report()
    assert found.proven and not found.stuck and report["within"] <= 0.1 + 1e-12
    C, errors = found.best
    assert report["trainings"] == len(report["trained"]) * len(parts)
    assert errors_at(parts, loss, C)[0] == pytest.approx(errors, abs=0.02)
    for C in np.geomspace(0.01, 10, 17):
        share, rows = errors_at(parts, loss, C)
        assert share >= errors - report["within"] - 1e-9
        least = [row["at_least"] for row in report["intervals"] if row["low"] <= C <= row["high"]]
        assert share >= max(least) - 1e-9
        for half, bad in zip(found._halves, rows, strict=True):
            for point in half.trained.values():
                low, high = wrong(point.anchor)
                assert bad[(low < C) & (high > C)].all()


def test_made_points_are_bounds_too():
    found, _ = choice(most=0.3)
    found.run()
    (half,) = found._halves
    low, high = (half.trained[C] for C in found.ends)
    for C in (0.05, 0.4, 3.0):
        made = half.between(low, high, C)
        exact = half.train(C, (None, C), 1e-10, lambda *_: None)
        q = exact.anchor
        centre = (made.s + made.u) / 2
        radius = np.sqrt(made.T + (made.ww - 2 * made.wv + made.vv) / 4)
        assert (np.abs(centre - q.s) <= made.length * radius + 1e-6).all()


def test_threads_and_stops_change_nothing():
    whole, _ = choice(folds=3)
    whole.run()
    threaded, _ = choice(folds=3, threads=4)
    threaded.run()
    assert threaded.report() == whole.report()
    states = []
    again, _ = choice(folds=3)
    again.run(lambda: states.append(again.state()))
    for state in (states[0], states[len(states) // 2], states[-1]):
        resumed, _ = choice(folds=3, state=state)
        resumed.run()
        assert resumed.report() == whole.report()


def test_a_limit_leaves_what_was_found():
    found, _ = choice(time_limit=0.0)
    found.run()
    assert found.late and not found.proven and found.slack == 1.0
    assert found.best == (0.01, 1.0) and found.report()["intervals"] == []


def test_closer_choices_train_more_and_smaller_gaps_where_these_bound_it():
    known = []
    for most in (0.2, 0.05, 0.02):
        found, _ = choice(most=most)
        found.run()
        known.append(found.trainings)
    assert known == sorted(known) and known[0] < known[-1]


@pytest.mark.parametrize(
    "settings",
    [
        {"loss": "f1", "cost": 1.0},
        {"kernel": "rbf"},
        {"free_bias": True, "bias": 0.0},
        {"penalty": "l1", "loss": "logistic"},
        {"epsilon": 0.1},
        {"task": "regression"},
    ],
)
def test_what_has_no_bound_is_refused(settings):
    unit = {} if "cost" in settings else {"example_cost": 1.0}
    with pytest.raises(UsageError, match="certify_choice"):
        check_choice(plain(Settings(**unit, **settings, given=frozenset(settings))))
