# SPDX-License-Identifier: BSD-3-Clause
"""SurvivalSVM: structured arrays, files, and scikit-survival where it is there."""

import numpy as np
import pytest

import svmcut
from svmcut import SurvivalSVM


@pytest.fixture
def rows():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 3))
    times = np.exp(-X[:, 0] + 0.3 * rng.normal(size=80))
    y = np.empty(80, [("event", bool), ("time", float)])
    y["event"], y["time"] = rng.random(80) < 0.6, times
    return X, y


def test_structured_arrays_and_signed_times_are_one(rows, tmp_path):
    X, y = rows
    signed = np.where(y["event"], y["time"], -y["time"])
    one, two = (SurvivalSVM(random_state=0).fit(X, times) for times in (y, signed))
    assert one.coef_.tobytes() == two.coef_.tobytes()
    assert one.score(X, y) == two.score(X, signed) > 0.8
    assert one.converged_ and one.gap_ <= 1e-3 * one.primal_
    one.save(tmp_path / "model")
    loaded = svmcut.load(tmp_path / "model")
    np.testing.assert_allclose(loaded.decision_function(X), one.predict(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda y: y["event"], "no array of times"),
        (lambda y: y[["time"]], "expected an event"),
        (lambda y: np.array([(True, 0.0)] * 80, y.dtype), "time that is not above 0"),
        (lambda y: -y["time"], "no two times can be compared"),
    ],
)
def test_other_times_are_refused(rows, change, message):
    X, y = rows
    with pytest.raises(ValueError, match=message):
        SurvivalSVM().fit(X, change(y))


def test_scikit_survival_has_the_same_optimum(rows):
    sksurv = pytest.importorskip("sksurv.svm")
    X, y = rows
    theirs = sksurv.FastSurvivalSVM(alpha=0.1, max_iter=1000, tol=1e-12, random_state=0).fit(X, y)
    times, seen = y["time"], y["event"]
    pairs = int((seen[:, None] & (times[:, None] < times[None, :])).sum())
    ours = SurvivalSVM(C=0.1 / 2 * pairs / len(y), tol=1e-10, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.coef_, -theirs.coef_, atol=1e-5)
