# SPDX-License-Identifier: BSD-3-Clause
"""A bias that is not regularised: the best one, cuts that know none, and Newton's method bordered
by it."""

import functools

import numpy as np
import pytest
from reference import hinge
from reference import losses as truth

import svmcut
from svmcut.data.examples import Csr
from svmcut.models.kernels import Kernel
from svmcut.originals.svm_light.machines import MachineProblem
from svmcut.risks.free_bias import FreeBias, find_root
from svmcut.risks.hinge import BoundHinge
from svmcut.risks.losses import BoundEpsilonInsensitive, BoundLogistic, BoundSquaredHinge
from svmcut.solvers.cutting_plane import CuttingPlane
from svmcut.solvers.newton import Newton
from svmcut.solvers.protocol import Problem, StoppingRule
from svmcut.solvers.span_newton import SpanNewton
from svmcut.spaces.linear import LinearSpace
from svmcut.spaces.subspace import Subspace

RISKS = {
    "hinge": BoundHinge,
    "squared-hinge": BoundSquaredHinge,
    "logistic": BoundLogistic,
    "epsilon-insensitive": functools.partial(BoundEpsilonInsensitive, tube=truth.TUBE),
}
every_loss = pytest.mark.parametrize("loss", RISKS)
C = 0.7


def data(loss, n=80, d=6, seed=2):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, d)) + rng.normal(size=d)).astype(np.float32)
    s = X @ rng.normal(size=d) + 0.8 * rng.normal(size=n) + 3
    return X, s if loss == "epsilon-insensitive" else np.where(s > np.median(s) - 1, 1.0, -1.0)


def weights(n):
    return np.random.default_rng(8).integers(0, 4, n).astype(float)


def free(loss, y, v=None):
    return FreeBias(RISKS[loss](y, weights=v))


def value(loss, y, s, v=None):
    """sum v loss from the definition, over the last axis of s."""
    v, m = np.ones(len(y)) if v is None else v, y * s
    losses = {
        "hinge": lambda: np.maximum(0, 1 - m),
        "squared-hinge": lambda: np.maximum(0, 1 - m) ** 2,
        "logistic": lambda: np.logaddexp(0, -m),
        "epsilon-insensitive": lambda: np.maximum(0, np.abs(y - s) - truth.TUBE),
    }[loss]()
    return losses @ v


def least(loss, y, s, v):
    """min over b of sum v loss(s + b), by finer and finer grids."""
    low, high = -60.0, 60.0
    for _ in range(12):
        grid = np.linspace(low, high, 41)
        at = int(np.argmin(value(loss, y, s + grid[:, None], v)))
        low, high = grid[max(0, at - 1)], grid[min(40, at + 1)]
    return value(loss, y, s + low, v)


@pytest.mark.parametrize("ties", [False, True])
@every_loss
def test_the_best_bias_and_a_cut_that_knows_none(rng, loss, ties):
    _, y = data(loss, 30)
    y = np.round(y) if ties else y
    v = weights(30)
    risk = free(loss, y, v)
    for size in (0.1, 1.0, 10.0):
        s = size * rng.normal(size=30)
        s = np.round(s) if ties else s
        known = risk.linearize(s)
        assert known.value == pytest.approx(value(loss, y, s + risk.bias(s), v), rel=1e-12)
        assert known.value == pytest.approx(least(loss, y, s, v), rel=1e-9)
        assert known.offset + known.coef @ s == pytest.approx(known.value, rel=1e-9)
        assert abs(known.coef.sum()) <= 1e-12 * np.abs(known.coef).sum()
        foreseen = risk.nearest_cut(known.coef + rng.normal(size=30))
        narrow = risk.smooth(s, 0.3 if risk.initial_width() else 0.0)
        assert narrow.excess == pytest.approx(
            narrow.value - narrow.offset - narrow.coef @ s, abs=1e-9 * narrow.value
        )
        for coef, offset in ((known.coef, known.offset), foreseen, (narrow.coef, narrow.offset)):
            assert abs(coef.sum()) <= 1e-12 * np.abs(coef).sum()
            for _ in range(10):
                other = 3 * rng.normal(size=30)
                assert offset + coef @ other <= least(loss, y, other, v) * (1 + 1e-9) + 1e-9


@functools.cache
def optimum(loss, weighted):
    """The least of 1/2 |w|^2 + C sum v loss(w.x + b), by SMO, or with a constant feature that costs
    next to nothing."""
    X, y = data(loss)
    v = weights(len(y)) if weighted else None
    if loss in ("hinge", "epsilon-insensitive"):
        tube = truth.TUBE if loss == "epsilon-insensitive" else None
        X = Csr.from_dense(X)
        problem = MachineProblem(X, y, Kernel(), C, True, v, tube, tolerance=1e-9)
        machine = problem.train()
        return problem.squared_norm(machine) / 2 + C * value(loss, y, machine.scores, v)
    return truth.optimum(loss, hinge.with_constant(X.astype(float), 1e5), y, C, v)


def dual(loss, X, y, coef, v):
    """The dual value of alpha = -C coef from the definition, which asks sum alpha y = 0 of it."""
    v = np.ones(len(y)) if v is None else v
    g = np.divide(-coef, v, out=np.zeros(len(y)), where=v > 0)
    if loss != "hinge":
        return truth.dual(loss, X, y, g, C, v)
    assert np.all((y * g >= 0) & (y * g <= 1))
    w = C * X.T @ (v * g)
    return C * float(v @ (y * g)) - 0.5 * float(w @ w)


@pytest.mark.parametrize("weighted", [False, True])
@every_loss
def test_newton_bordered_by_the_bias_reaches_the_optimum(loss, weighted):
    X, y = data(loss)
    v = weights(len(y)) if weighted else None
    risk, space, best = (
        free(loss, y, v),
        LinearSpace(Csr.from_dense(X), 0.0),
        optimum(loss, weighted),
    )
    run = Newton().start(Problem(risk, space, C, StoppingRule(0, 1e-7)))
    history = list(run)
    last = history[-1]
    assert run.state()["stage"] == "descent" and len(history) < 80
    assert (
        last.gap <= 1e-7 * last.primal
        and last.dual <= best * (1 + 1e-9)
        and best * (1 - 1e-7) <= last.primal
    )
    w, A = last.solution(), X.astype(float)
    s = A @ w + risk.bias(A @ w)
    assert last.primal == pytest.approx(w @ w / 2 + C * value(loss, y, s, v), rel=1e-11)
    at = run._descent.at
    assert abs(at.coef.sum()) <= 1e-12 * np.abs(at.coef).sum()
    assert dual(loss, A, y, at.coef, v) <= best * (1 + 1e-9)


@every_loss
def test_cutting_planes_and_a_span_reach_it_too(loss):
    X, y = data(loss)
    risk, best, rule = free(loss, y), optimum(loss, False), StoppingRule(0, 1e-5)
    spaces = {
        CuttingPlane: LinearSpace(Csr.from_dense(X), 0.0),
        SpanNewton: Subspace(X.astype(np.float64)),
    }
    for solver, space in spaces.items():
        *_, last = solver().start(Problem(risk, space, C, rule))
        assert last.gap <= 1e-5 * last.primal
        assert last.dual <= best * (1 + 1e-9) and best * (1 - 1e-9) <= last.primal


@every_loss
def test_many_features_take_products_and_a_state_goes_on_to_the_same_bytes(loss):
    X, y = data(loss, 50, 1100)
    problem = Problem(
        free(loss, y), LinearSpace(Csr.from_dense(X), 0.0), 0.01, StoppingRule(0, 1e-6)
    )
    run, states = Newton().start(problem), []
    *_, last = (states.append(run.state()) or step for step in run)
    assert last.gap <= 1e-6 * last.primal and not run._descent._curvature.factored
    *_, again = Newton().start(problem, None, states[len(states) // 2])
    assert again.solution().tobytes() == last.solution().tobytes() and again.dual == last.dual


@every_loss
def test_the_bias_costs_nothing_however_far_the_scores_are(loss):
    X, y = data(loss)
    far = X + np.float32(1000)
    values = []
    for rows in (X, far):
        problem = Problem(
            free(loss, y), LinearSpace(Csr.from_dense(rows), 0.0), C, StoppingRule(0, 1e-6)
        )
        values.append(list(Newton().start(problem))[-1].primal)
    assert values[1] == pytest.approx(values[0], rel=1e-3)  # the rows are rounded to float32


def test_labels_of_one_sign_need_no_weights():
    X = Csr.from_dense(np.random.default_rng(1).normal(size=(30, 3)))
    for loss in ("hinge", "squared-hinge", "logistic"):
        *_, last = Newton().start(
            Problem(free(loss, np.ones(30)), LinearSpace(X), C, StoppingRule(1e-6))
        )
        assert last.primal <= 1e-6 and np.abs(last.solution()).max() <= 1e-3


def test_a_root_is_found_from_far_and_on_flat_slopes():
    def rate(b):
        return float(np.clip(b - 1e7, -1, 1)), float(abs(b - 1e7) < 1)

    assert find_root(rate, 1e-16) == pytest.approx(1e7, rel=1e-15)
    assert find_root(lambda b: (max(0.0, b - 3), float(b > 3)), 1e-16) == 0.0


@pytest.mark.parametrize("solver", ["newton", "cutting-plane"])
@pytest.mark.parametrize("loss", ["logistic", "squared-hinge"])
def test_bounds_hold_where_all_losses_are_nearly_0(loss, solver):
    """Coefficients of 1e-13 add up to 0 only where the bias and the cut have all their digits."""
    X = np.float32([
        [7966.81592, -9567.70508, -3691.90259, 4922.32324, 447.642609, 9179.38574],
        [7966.81592, -27365.9043, 13167.7275, 11753.8232, -9307.72656, -3290.94165],
        [7966.81592, -2550.2251, 445.00296, -9051.3623, 8410.27441, 6923.96094],
    ])  # fmt: skip
    y, how = np.array([-1, 1, -1]), {"free_bias": True, "example_cost": 3.98e5, "gap": 1e-3}
    outcome = svmcut.train((X, y), loss=loss, solver=solver, **how)
    assert outcome.stopped_by != "mistake" and outcome.dual <= outcome.primal
    best = svmcut.train((X, y), loss=loss, solver="newton", **how | {"gap": 1e-9})
    assert outcome.dual <= best.primal * (1 + 1e-9)


def test_cuts_of_tiny_fractions_have_all_digits():
    bound = BoundLogistic.from_labels(np.array([-1.0, 1.0, -1.0]), None, 1)
    coef = np.array([1.6e-13, -2.4e-13, 8e-20])
    found, offset = bound.nearest_cut(coef)
    u = np.abs(coef)
    assert found == pytest.approx(coef, rel=1e-12)
    assert offset == pytest.approx((-u * np.log(u) - (1 - u) * np.log1p(-u)).sum(), rel=1e-12)
