# SPDX-License-Identifier: BSD-3-Clause
"""Defaults in their place, and costs in the units of every original."""

import numpy as np
import pytest
from drivers import driver

from svmcut.base.errors import UsageError
from svmcut.data.examples import Csr, Examples, Source
from svmcut.spec.parameters import EPSILON, KKT_TOLERANCE, Settings
from svmcut.training.outcome import PERCENT, Units
from svmcut.training.settings import CERTIFIED_ROWS, resolve_settings

RBF = {"kernel": "rbf"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {},
            {
                "loss": "error-rate",
                "solver": "auto",
                "bias": 1.0,
                "epsilon": EPSILON,
                "certify": True,
            },
        ),
        ({"bias": 0.0, "epsilon": 0.5}, {"bias": 0.0, "epsilon": 0.5}),
        ({"task": "rank"}, {"loss": "swapped-pairs", "bias": 0.0, "epsilon": 0.001}),
        ({"task": "sequence"}, {"loss": "hamming", "bias": 0.0, "epsilon": EPSILON}),
        ({"task": "multilabel"}, {"bias": 1.0, "epsilon": EPSILON}),
        ({"task": "multiclass"}, {"bias": 1.0, "epsilon": EPSILON}),
        (RBF, {"solver": "smo", "free_bias": False, "bias": 0.0, "epsilon": KKT_TOLERANCE}),
        ({**RBF, "solver": "smo"}, {"free_bias": True}),
        ({**RBF, "solver": "smo", "free_bias": False}, {"free_bias": False}),
        (
            {**RBF, "loss": "f1"},
            {"solver": "cutting-plane", "epsilon": EPSILON, "free_bias": False},
        ),
        ({**RBF, "task": "rank"}, {"solver": "cutting-plane", "epsilon": 0.001}),
        (
            {**RBF, "task": "regression"},
            {"solver": "smo", "free_bias": True, "bias": 0.0, "gap": 1e-3},
        ),
        (
            {**RBF, "task": "regression", "epsilon": 0.01},
            {"solver": "smo", "epsilon": 0.01, "gap": None},
        ),
        (
            {**RBF, "task": "regression", "solver": "bsca"},
            {"free_bias": False, "polish": True, "epochs": 10.0},
        ),
        ({**RBF, "task": "sequence"}, {"solver": "auto", "epsilon": EPSILON}),
        ({**RBF, "basis_method": 1}, {"solver": "subspace"}),
        ({**RBF, "solver": "sampled-cuts"}, {"polish": True}),
        ({**RBF, "solver": "sampled-cuts", "polish": False}, {"polish": False}),
        ({**RBF, "solver": "sbp"}, {"polish": False, "free_bias": True, "epochs": 3.0}),
        (
            {**RBF, "solver": "pegasos", "polish": True},
            {"polish": True, "free_bias": False, "epochs": 10.0},
        ),
        ({**RBF, "solver": "bsca"}, {"maintenance": "merge", "polish": True}),
        ({"kernel": "polynomial", "solver": "bsca"}, {"maintenance": "project"}),
        (
            {"kernel": "sigmoid", "solver": "bsgd", "epochs": 2.0},
            {"maintenance": "remove", "epochs": 2.0},
        ),
        ({**RBF, "certify": False, "time_limit": 9.0}, {"certify": False, "time_limit": 9.0}),
    ],
)
def test_every_default_is_in_its_place(given, expected):
    settings = resolve_settings(Settings(cost=1.0, **given), 100)
    assert {name: getattr(settings, name) for name in expected} == expected
    assert resolve_settings(settings, 100) == settings


def test_what_hangs_on_the_size_and_on_the_clock():
    known = Settings(cost=1.0, kernel="rbf", time_limit=5.0)
    assert resolve_settings(known, CERTIFIED_ROWS).certify is False
    assert resolve_settings(known, CERTIFIED_ROWS + 1).solver == "subspace"
    numbers = resolve_settings(
        Settings(task="regression", cost=1.0, kernel="rbf"), CERTIFIED_ROWS + 1
    )
    assert (numbers.solver, numbers.free_bias) == ("subspace", False)
    assert resolve_settings(known, 10, time_limit=0.0).time_limit == 0.0
    assert known == Settings(cost=1.0, kernel="rbf", time_limit=5.0)


@pytest.mark.parametrize(
    ("given", "summed"),
    [
        ({}, True),
        ({"loss": "squared-hinge"}, True),
        ({"loss": "logistic"}, True),
        ({"slack_norm": 2}, False),
        ({"rescaling": "slack"}, False),
        ({"loss": "f1"}, False),
        ({"task": "rank"}, False),
    ],
)
def test_sums_over_examples_are_known(given, summed):
    data = Examples(
        Csr.from_dense(np.eye(4)), np.array([1.0, -1.0, 1.0, -1.0]), None, None, Source("train.dat")
    )
    assert driver(data, **given).plan.vectors.units.is_sum == summed


def test_costs_in_the_units_of_the_originals():
    percent = Units("error-rate", 0.1, 60, PERCENT, is_sum=True)
    for objective in (
        percent.objective(0.6, None),
        percent.objective(None, 1.0),
    ):  # svm_perf -c 0.6 is svm_light -c 1
        assert (objective.C, objective.c, objective.unit) == pytest.approx((1.0, 0.6, 100 / 60))
    whole = Units("f1", 0.1)
    assert whole.objective(3.0, None).C == whole.objective(3.0, None).c == 3.0
    queries = Units("swapped-pairs", 0.1, 4, structures=4)
    assert (queries.objective(2.0, None).C, queries.objective(None, 2.0).C) == (2.0, 8.0)
    sequences = Units("hamming", 0.1, 5, is_sum=True, structures=5)
    assert (sequences.objective(10.0, None).C, sequences.objective(None, 2.0).c) == (2.0, 10.0)
    with pytest.raises(UsageError, match="'f1' with these options is no sum over examples"):
        whole.objective(None, 1.0)
    for costs in ((1.0, 1.0), (None, None)):
        with pytest.raises(UsageError, match="exactly one of parameter 'cost'"):
            percent.objective(*costs)
