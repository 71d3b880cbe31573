# SPDX-License-Identifier: BSD-3-Clause
"""The bundle's two minimisers and their bounds, against the model written out."""

import numpy as np
import pytest

from svmcut.cutting.bundle import Cut, CutBundle
from svmcut.data.examples import Csr
from svmcut.qp.simplex import CheckedSimplexQp
from svmcut.spaces.linear import LinearSpace


def bundle_of(rng, count, d):
    bundle = CutBundle(LinearSpace(Csr.from_dense(np.ones((1, d)))), CheckedSimplexQp())
    A, b = rng.normal(size=(count, d)), rng.normal(size=count)
    for a, offset in zip(A, b):
        bundle.add(Cut(a, offset, 0.0))
    return bundle, A, b


@pytest.mark.parametrize("mu", [1e-3, 1.0, 300.0])
@pytest.mark.parametrize("C", [0.1, 10.0, 1e3])
def test_both_models_are_minimised_and_bounded(rng, C, mu):
    d = 6
    bundle, A, b = bundle_of(rng, 25, d)
    centre = rng.normal(size=d)

    def lower_model(w):
        return 0.5 * w @ w + C * max(0.0, (b + A @ w).max())

    def near_model(w):
        return lower_model(w) + 0.5 * mu * (w - centre) @ (w - centre)

    bound = bundle.bound(C, 1e-12)
    free = bundle.solve(C, 1e-12)
    assert (bound[0], bound[1] / C) == pytest.approx((free.lower, free.slack / C), rel=1e-9)
    assert bundle.bound(C, 1e-12) == (bundle.solution(C).lower, bundle.solution(C).slack)
    beta = bundle.beta.copy()
    near = bundle.solve_near(C, centre, mu, 1e-12)
    assert bundle.beta.tobytes() == beta.tobytes()
    assert free.lower == pytest.approx(lower_model(free.w), rel=1e-7, abs=1e-9)
    assert near.lower <= free.lower + 1e-9 * (1 + abs(free.lower))
    for found in (free, near):
        assert found.squared_norm == pytest.approx(found.w @ found.w, rel=1e-12)
        assert 0.5 * found.squared_norm + C * found.slack == pytest.approx(
            lower_model(found.w), rel=1e-9
        )
    for model, w in ((lower_model, free.w), (near_model, near.w)):
        best = model(w)
        for _ in range(300):
            other = w + rng.normal(size=d) * 10.0 ** rng.integers(-5, 1)
            assert model(other) >= best - 1e-8 * (1 + abs(best))


def test_pruning_keeps_what_either_model_uses(rng):
    bundle, _, _ = bundle_of(rng, 40, 4)
    centre = 3 * rng.normal(size=4)
    for _ in range(3):
        bundle.solve(10.0, 1e-12)
        near = bundle.solve_near(10.0, centre, 50.0, 1e-12)
    free = bundle.solution(10.0)
    assert bundle.prune(3) > 0
    assert len(bundle) >= bundle.support
    assert bundle.solution(10.0).lower == pytest.approx(free.lower, rel=1e-12)
    again = bundle.solve_near(10.0, centre, 50.0, 1e-12)
    np.testing.assert_allclose(again.w, near.w, rtol=1e-6, atol=1e-9)
