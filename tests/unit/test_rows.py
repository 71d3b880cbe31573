# SPDX-License-Identifier: BSD-3-Clause
"""Few rows and many features: combinations of rows are known by their coefficients, with the
answers of weights."""

import numpy as np
import pytest
from drivers import driver
from reference import hinge

from svmcut.data.examples import Csr, Examples, Source
from svmcut.risks.hinge import HingeRisk
from svmcut.solvers.cutting_plane import CuttingPlane
from svmcut.solvers.protocol import Problem, StoppingRule
from svmcut.spaces import rows
from svmcut.spaces.linear import LinearSpace
from svmcut.spaces.rows import RowSpace, are_rows_few


def wide(rng, n=24, d=600, each=40):
    X = np.zeros((n, d), np.float32)
    for row in X:
        row[rng.choice(d, each, replace=False)] = rng.normal(size=each)
    return X, np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0, 1.0, -1.0)


@pytest.fixture(params=["Gram matrix", "passes"])
def kept(request, monkeypatch):
    monkeypatch.setattr(rows, "MAX_GRAM_ROWS", 512 if request.param == "Gram matrix" else 0)


@pytest.mark.parametrize("bias", [0.0, 1.0, -2.5])
def test_elements_are_the_vectors_they_stand_for(rng, kept, bias):
    X, _ = wide(rng)
    short, long = RowSpace(Csr.from_dense(X), bias), LinearSpace(Csr.from_dense(X), bias)
    coefs = [rng.normal(size=len(X)) for _ in range(3)]
    elements, vectors = [short.adjoint(c) for c in coefs], [long.adjoint(c) for c in coefs]
    close = {"rtol": 1e-10, "atol": 1e-10}
    for a, v in zip(elements, vectors):
        np.testing.assert_allclose(short.scores(a), long.scores(v), **close)
        np.testing.assert_allclose(short.split(a)[0], long.split(v)[0], **close)
        assert short.split(a)[1] == pytest.approx(long.split(v)[1])
        np.testing.assert_allclose(short.dots(elements, a), long.dots(vectors, v), **close)
        assert list(short.dots(elements, a)) == [short.dot(element, a) for element in elements]
    weights = [0.5, -2.0, 1.0]
    sums = short.combine(weights, elements), long.combine(weights, vectors)
    np.testing.assert_allclose(short.scores(sums[0]), long.scores(sums[1]), **close)
    blends = short.blend(0.3, elements[0], 0.7, sums[0]), long.blend(0.3, vectors[0], 0.7, sums[1])
    assert short.dot(blends[0], blends[0]) == pytest.approx(
        long.dot(blends[1], blends[1]), rel=1e-10
    )
    assert short.dot(short.zero(), sums[0]) == 0


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_the_certificate_is_that_of_the_weights(rng, kept, bias):
    X, y = wide(rng)
    _, minimum = hinge.optimum(X, y, 5.0, bias)
    space = RowSpace(Csr.from_dense(X), bias)
    last = list(
        CuttingPlane().start(Problem(HingeRisk().bind(y), space, 5.0, StoppingRule(0, 1e-6)))
    )[-1]
    w, constant = space.split(last.solution())
    if bias:
        w = np.append(w, constant / bias)
    assert last.primal == pytest.approx(hinge.primal(X, y, w, 5.0, bias), rel=1e-12)
    assert last.dual <= minimum * (1 + 1e-9)
    assert last.primal <= minimum * (1 + 1.1e-6)


def test_the_shape_alone_decides(rng):
    X, y = wide(rng)
    dense = rng.normal(size=(24, 600)).astype(np.float32)
    assert are_rows_few(Csr.from_dense(X), 0.0)
    assert not are_rows_few(Csr.from_dense(X[:, :300]), 0.0)  # features are no longer many
    assert not are_rows_few(
        Csr.from_dense(dense), 0.0
    )  # passes over the features are the work, not vectors of them
    data = Examples(Csr.from_dense(X), y, None, None, Source("train"))
    found = {
        name: type(driver(data, **words).plan.space)
        for name, words in {
            "cuts": {"solver": "cutting-plane"},
            "auto for f1": {"loss": "f1"},
            "auto for the hinge": {},
            "newton": {"solver": "newton"},
            "dual-cd": {"solver": "dual-cd"},
        }.items()
    }
    own = {name for name, space in found.items() if space is RowSpace}
    assert own == {"cuts", "auto for f1"}


def test_every_measure_and_a_path_of_C(rng, monkeypatch):
    """Objective, model and warm starts are those of the space of weights."""
    X, y = wide(rng)
    data = Examples(Csr.from_dense(X), y, None, None, Source("train"))
    for loss in ("f1", "roc-area", "average-precision", "error-rate"):
        known = {"loss": loss, "solver": "cutting-plane", "gap": 1e-5}
        trainer = driver(data, **known)
        found = [trainer.fit(C, None) for C in (0.1, 3.0)]
        with monkeypatch.context() as patch:
            patch.setattr("svmcut.spaces.rows.are_rows_few", lambda X, bias: False)
            trainer = driver(data, **known)
        assert isinstance(trainer.plan.space, LinearSpace)
        for here, there in zip(found, [trainer.fit(C, None) for C in (0.1, 3.0)]):
            assert (here.stopped_by, here.gap <= 1e-5 * here.primal) == (there.stopped_by, True)
            assert here.primal == pytest.approx(there.primal, rel=2e-5)
            assert here.primal_of_file == pytest.approx(here.primal, rel=1e-4)
            assert here.norm == pytest.approx(
                np.hypot(np.linalg.norm(here.model.w), here.model.b), rel=1e-9
            )
            np.testing.assert_allclose(
                here.model.w, there.model.w, atol=0.01 * np.abs(there.model.w).max()
            )
