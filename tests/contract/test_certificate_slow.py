# SPDX-License-Identifier: BSD-3-Clause
"""Certificates recomputed with NumPy in float64, from the rows and the coefficients of the cuts
alone.

Nothing of the solvers' own sums is used: a cut must have coefficients -y c with c in [0, 1], its
offset must be sum c, its normal is formed anew, and the bound is that of the multipliers. The
primal is that of the returned w.
"""

import gzip
from pathlib import Path

import numpy as np
import pytest
from conftest import SHARED

from svmcut.cutting.bundle import CutBundle
from svmcut.data.examples import Csr
from svmcut.files.examples import read_examples
from svmcut.risks.hinge import HingeRisk
from svmcut.solvers.protocol import Problem, StoppingRule
from svmcut.spaces import linear
from svmcut.spaces.linear import LinearSpace
from svmcut.spec.catalog import solvers
from svmcut.spec.parameters import Settings
from svmcut.training.driver import make_solver

DATA = Path(__file__).resolve().parents[2] / "data"
GAPS = {"cutting-plane": 1e-2, "dual-cd": 1e-5, "newton": 1e-5}
#: cdn's penalty is another; its certificates are those of test_cdn.
assert set(solvers("classification", False)) - set(GAPS) == {"cdn"}

pytestmark = pytest.mark.slow


def dense(rng, n, d, noise):
    X = rng.normal(size=(n, d)).astype(np.float32)
    return Csr.from_dense(X), np.where(
        X @ rng.normal(size=d) + noise * rng.normal(size=n) > 0, 1.0, -1.0
    )


def sparse(rng, n, d):
    X = np.where(rng.random((n, d)) < 0.02, rng.lognormal(size=(n, d)), 0).astype(np.float32)
    return Csr.from_dense(X), np.where(X @ rng.normal(size=d) > 0, 1.0, -1.0)


def from_file(path):
    examples = read_examples(str(path))
    return examples.X, np.where(examples.y > 0, 1.0, -1.0)


def from_shared(name):
    path = SHARED / "data" / name
    if not path.exists():
        pytest.skip("no reference data beside the project")
    with gzip.open(path) as file:
        assert file.read(1)
    return from_file(path)


SETS = {
    "breast cancer": lambda rng: from_file(DATA / "breast_cancer.train"),
    "text": lambda rng: from_file(DATA / "text.train"),
    "unbalanced": lambda rng: from_file(DATA / "unbalanced.train"),
    "dense, noisy": lambda rng: dense(rng, 5_000, 30, 3.0),
    "dense, separable": lambda rng: dense(rng, 3_000, 100, 0.0),
    "sparse, wide": lambda rng: sparse(rng, 600, 3_000),
    "adult": lambda rng: from_shared("adult/a9a.gz"),
    "covtype": lambda rng: from_shared("covtype/covtype.class1.scale.20k.train.gz"),
    "rcv1": lambda rng: from_shared("rcv1/rcv1_ccat_small.train.gz"),
}


class Recomputed:
    """A with the constant feature in float64, and the best bound of all multipliers met."""

    def __init__(self, X, y, bias):
        from scipy.sparse import csr_array, hstack

        rows = csr_array(
            (X.data.astype(np.float64), X.indices, X.indptr), shape=(X.n_rows, X.n_features)
        )
        self.A = csr_array(hstack([rows, np.full((X.n_rows, 1), bias)])) if bias else rows
        self.y, self.best, self._normals = y, 0.0, {}

    def take(self, cut, element):
        c = -self.y * cut.coef
        assert c.min() >= 0 and c.max() <= 1
        assert cut.b == pytest.approx(c.sum(), rel=1e-12)
        self._normals[id(element)] = (
            self.A.T @ cut.coef,
            c.sum(),
            element,
        )  # kept alive: ids stay unique

    def bound(self, C, beta, elements):
        assert beta.min() >= 0 and beta.sum() == pytest.approx(1.0, abs=1e-12)
        w, offset = np.zeros(self.A.shape[1]), 0.0
        for multiplier, element in zip(beta[1:], elements[1:], strict=True):
            if multiplier > 0:
                a, b, _ = self._normals[id(element)]
                w -= C * multiplier * a
                offset += C * multiplier * b
        found = offset - 0.5 * w @ w
        self.best = max(self.best, found)
        return found

    def primal(self, w, C):
        return 0.5 * w @ w + C * np.maximum(0.0, 1.0 - self.y * (self.A @ w)).sum()


@pytest.mark.parametrize("kept", ["normals", "coefficients"])
@pytest.mark.parametrize("C", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("solver", GAPS)
def test_certificates_are_honest(rng, monkeypatch, solver, name, C, kept):
    X, y = SETS[name](rng)
    if kept == "coefficients":
        if 2 * X.n_rows > X.n_features:
            pytest.skip("rows are not fewer than features")
        monkeypatch.setattr(linear, "LARGE_DIM", 1)
    truth = Recomputed(X, y, 1.0)
    add, dual = CutBundle.add, CutBundle._dual

    def adding(self, cut):
        coef = np.array(cut.coef)
        add(self, cut)
        truth.take(cut._replace(coef=coef), self._elements[-1])

    def bounding(self, C, beta, squared):
        answer = dual(self, C, beta, squared)
        found = truth.bound(C, beta, self._elements)
        size = C * float(self._b[: len(beta)] @ beta)
        assert answer == pytest.approx(found, rel=1e-9, abs=1e-9 * size)
        return answer

    monkeypatch.setattr(CutBundle, "add", adding)
    monkeypatch.setattr(CutBundle, "_dual", bounding)
    problem = Problem(HingeRisk().bind(y), LinearSpace(X, 1.0), C, StoppingRule(0, GAPS[solver]))
    last = list(make_solver(solver, Settings()).start(problem))[-1]
    primal = truth.primal(last.solution(), C)
    assert last.primal == pytest.approx(primal, rel=1e-11)
    assert last.dual == pytest.approx(truth.best, rel=1e-9)
    assert primal - truth.best <= GAPS[solver] * primal * (1 + 1e-6)
