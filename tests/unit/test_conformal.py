# SPDX-License-Identifier: BSD-3-Clause
"""Coverages: ranks in whole numbers, sets as counted one row at a time, and draws of new rows."""

import math

import numpy as np
import pytest
from reference import conformal as slow
from scipy.stats import binom

import svmcut
from svmcut.base.errors import TrainingError, UsageError
from svmcut.loading import Model
from svmcut.scoring import conformal

SHARES = (0.5, 0.7, 0.8, 0.9, 0.941, 0.95)


@pytest.mark.parametrize("share", SHARES)
def test_sets_are_those_of_counted_p_values(share):
    rng = np.random.default_rng(int(1000 * share))
    for n in (1, 4, 9, 10, 19, 20, 57):
        scores = rng.integers(0, 8, n).astype(float)  # with ties
        if conformal.rank_of(n, share) > n:
            assert n < slow.least_rows(repr(share)) == conformal.least_rows(share)
            with pytest.raises(TrainingError, match=f"needs {conformal.least_rows(share)} rows"):
                conformal.calibrate(scores, share, conformal.ABSOLUTE)
            continue
        promised = conformal.calibrate(scores, share, conformal.ABSOLUTE)
        for new in np.arange(-1, 10).tolist():
            assert slow.is_in(scores, new, repr(share)) == (new <= promised.limits[0])


def test_ranks_do_not_round():
    # floats give 942 here, and 91 or 90 for others
    assert conformal.rank_of(999, 0.941) == 941
    assert [conformal.rank_of(n, 0.9) for n in (8, 9, 99, 199)] == [9, 9, 90, 180]


@pytest.mark.parametrize("K", [2, 3, 5])
def test_margins_are_to_the_best_other_class(K):
    outputs = np.random.default_rng(K).integers(-2, 3, (40, K)).astype(float)
    expected = [[slow.margin(row, k) for k in range(K)] for row in outputs.tolist()]
    assert conformal.class_strangeness(outputs, conformal.MARGIN).tolist() == expected


def test_no_number_is_in_every_set_and_everywhere():
    bad = np.array([[np.nan, 0.0], [np.inf, np.inf]])
    promised = conformal.calibrate(np.zeros(20), 0.9, conformal.MARGIN)
    assert conformal.label_sets(promised, bad).all()
    promised = conformal.calibrate(np.zeros(20), 0.9, conformal.ABSOLUTE)
    ends = conformal.intervals_of(promised, np.array([np.nan, 1.0]))
    assert ends[0].tolist() == [-math.inf, math.inf]
    assert ends[1, 0] <= 1.0 <= ends[1, 1] and ends[1] == pytest.approx([1, 1])
    with pytest.raises(TrainingError, match="not finite"):
        conformal.calibrate(np.array([1.0, np.inf]), 0.5, conformal.ABSOLUTE)


def test_a_calibration_row_at_the_limit_is_in_its_interval():
    rng = np.random.default_rng(3)
    for power in (-8, 0, 8):
        y, predicted = rng.normal(size=(2, 500)) * 10.0 ** rng.integers(-3, 4, (2, 500))
        predicted *= 10.0**power
        for truth, one in zip(y, predicted, strict=True):
            limit = abs(truth - one)
            promised = conformal.Coverage(0.5, conformal.ABSOLUTE, (1,), (1,), (limit,))
            ((low, high),) = conformal.intervals_of(promised, np.array([one]))
            assert low <= truth <= high


def _draw(rng, task, n):
    X = rng.normal(size=(n, 3))
    noisy = X @ [1.0, -2.0, 0.5] + rng.normal(size=n)
    if task == "regression":
        return X, 100 + 10 * noisy
    y = np.where(noisy > 0, 1, -1) if task == "classification" else 1 + np.digitize(noisy, [-1, 1])
    return X, y.astype(float)


def _is_covered(model, task, x, truth):
    if task == "regression":
        ((low, high),) = model.predict_interval(x)
        return low <= truth <= high
    return truth in model.predict_set(x)[0]


@pytest.mark.parametrize(
    ("task", "more"),
    [
        ("regression", {}),
        ("classification", {}),
        ("classification", {"loss": "logistic"}),
        ("multiclass", {}),
    ],
)
def test_new_rows_are_covered_as_promised(task, more):
    """Within the binomial band of k/(n + 1), which is what continuous scores have."""
    rng = np.random.default_rng(17)
    X, y = _draw(rng, task, 100)
    model = Model(svmcut.train((X, y), task=task, example_cost=1.0, **more).model)
    n, draws, share, hits = 30, 600, 0.9, 0
    for _ in range(draws):
        X, y = _draw(rng, task, n + 1)
        promised = model.conformal(X[:n], y[:n], coverage=share)
        hits += _is_covered(promised, task, X[n:], y[n])
    exact = conformal.rank_of(n, share) / (n + 1)
    assert share <= exact <= share + 1 / (n + 1)
    low, high = binom.interval(0.999, draws, exact)
    assert low <= hits <= high


def test_every_class_is_covered_where_few_rows_have_it():
    rng = np.random.default_rng(5)

    def drawn(n):
        y = np.where(rng.random(n) < 0.15, 1.0, -1.0)
        return np.column_stack([y + rng.normal(size=n) * 1.5, np.ones(n)]), y

    model = Model(svmcut.train(drawn(300), example_cost=1.0).model)
    hits = {}
    for by_class in (False, True):
        found = []
        for _ in range(100):
            X, y = drawn(150)
            promised = model.conformal(X, y, coverage=0.8, by_class=by_class)
            X, y = drawn(60)
            found += [
                1.0 in s for s, own in zip(promised.predict_set(X), y, strict=True) if own > 0
            ]
        hits[by_class] = np.mean(found)
    assert hits[False] < 0.7 and 0.78 < hits[True] < 0.9


def test_python_refuses_what_has_no_promise():
    rng = np.random.default_rng(0)
    X, y = _draw(rng, "regression", 60)
    numbers = svmcut.train((X, y), task="regression")
    with pytest.raises(UsageError, match="use conformal"):
        numbers.predict_interval(X)
    with pytest.raises(UsageError, match="by_class is for models of classes"):
        numbers.conformal(X, y, by_class=True)
    with pytest.raises(UsageError, match="of classes"):
        numbers.conformal(X, y).predict_set(X)
    for share in (0, 1, 1.5, math.nan, "much"):
        with pytest.raises(UsageError, match="above 0 and below 1"):
            numbers.conformal(X, y, coverage=share)
    survival = svmcut.train((X, np.abs(y)), task="survival")
    with pytest.raises(UsageError, match="numbers or classes"):
        survival.conformal(X, y)
