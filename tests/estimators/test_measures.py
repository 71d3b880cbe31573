# SPDX-License-Identifier: BSD-3-Clause
"""PerfClassifier trains for every measure and scores by it."""

import numpy as np
import pytest
from reference import tables

from svmcut import PerfClassifier
from svmcut.risks.contingency import NUMBERS
from svmcut.spec.catalog import losses


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    y = np.where(rng.random(300) < 0.15, "yes", "no")
    return rng.normal(size=(300, 4)) + 2.5 * (y == "yes")[:, None] * [1, 0, 0, 1], y


@pytest.mark.filterwarnings("ignore:.*may be underfitted")
@pytest.mark.parametrize("loss", NUMBERS)
def test_the_score_is_one_less_the_loss(rows, loss):
    X, y = rows
    takes = losses("classification")[loss].takes
    own = {"at": 0.6} if "at" in takes else {"beta": 2.0} if "beta" in takes else {}
    machine = PerfClassifier(loss, C=200.0, **own).fit(X, y)
    assert machine.converged_
    scores, positive = machine.decision_function(X), y == "yes"
    lost = tables.of_predictions(loss, positive, scores, **own)
    worth = machine.score(X, y)
    if "at" in takes:
        assert worth >= 1 - lost / 100 - 1e-9
    else:
        assert worth == pytest.approx(-lost if loss == "kld" else 1 - lost / 100)


def test_parameters_of_other_losses_are_refused(rows):
    X, y = rows
    with pytest.raises(ValueError, match=r"beta.*fbeta.*leave it out"):
        PerfClassifier("f1", beta=2.0).fit(X, y)
    with pytest.raises(ValueError, match="at=2"):
        PerfClassifier("recall-at-precision", at=2).fit(X, y)


def test_a_part_of_the_area(rows):
    X, y = rows
    machine = PerfClassifier("partial-auc", C=100.0, at=(0.0, 0.2)).fit(X, y)
    lost = tables.partial_auc_loss(machine.decision_function(X), y == "yes", (0.0, 0.2))
    assert machine.score(X, y) == pytest.approx(1 - lost / 100)
    assert machine.score(X, y) > 0.4
