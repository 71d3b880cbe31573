# SPDX-License-Identifier: BSD-3-Clause
"""Steps on a budget against the slow truth; merging; the rates of Lemma 2; states; same bytes."""

import itertools

import numpy as np
import pytest
from reference.budget import SlowBudget, best_place, merge_loss, visits
from reference.kernel_rows import gram
from svmcut._native.budget import Budget, merge_place, merge_table

from svmcut.data.examples import Csr
from svmcut.models.kernels import Kernel
from svmcut.solvers.smo import KernelProblem, Smo

RBF = Kernel("rbf", gamma=0.5)
KERNELS = {
    "rbf": RBF,
    "polynomial": Kernel("polynomial", degree=2, scale=0.5, offset=1.0),
    "linear": Kernel(),
}


def data(seed=0, n=80, d=3, noise=0.5, density=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    X[rng.random((n, d)) > density] = 0.0
    return X, np.where(X[:, 0] * X[:, 1] + noise * rng.normal(size=n) > 0, 1.0, -1.0)


def test_the_place_of_a_merge_is_the_best():
    closeness = (1e-30, 1e-3, 0.1, 0.13, 0.14, 0.5, 0.9, 0.9999)
    for m, kappa in itertools.product((1e-6, 0.01, 0.2, 0.4, 0.499, 0.5), closeness):
        h, best = merge_place(m, kappa), best_place(m, kappa)
        weight = [m * kappa ** ((1 - x) ** 2) + (1 - m) * kappa ** (x * x) for x in (h, best)]
        assert 0 <= h <= 0.5
        assert weight[0] >= weight[1] * (1 - 1e-13), (m, kappa, h, best)
    assert merge_place(0.5, 0.5) == pytest.approx(0.5, abs=1e-6)
    assert (
        merge_place(0.5, 0.05) < 0.08
    )  # two places are equally good below kappa = e^-2; never the one between
    assert merge_place(0.3, 0.0) == 0 and merge_place(0.0, 0.5) == 0


def test_the_table_holds_the_loss_and_interpolates_it():
    table = merge_table(2)
    assert table.tobytes() == merge_table(1).tobytes()
    assert np.all(table[:, 0] == 1) and np.all(table[:, -1] == 0)
    assert np.all(np.diff(table, axis=1) <= 1e-7)  # closer points lose less
    for i, k in itertools.product((1, 7, 100, 398, 399), (1, 5, 54, 55, 200, 390, 398)):
        assert table[i, k] == pytest.approx(merge_loss(i / 798, k / 399), rel=1e-5, abs=1e-7)
    rng = np.random.default_rng(1)
    for m, kappa in zip(0.5 * rng.random(300), rng.random(300), strict=True):
        i, k = min(int(798 * m), 398), min(int(399 * kappa), 398)
        x, y = 798 * m - i, 399 * kappa - k
        between = (1 - x) * ((1 - y) * table[i, k] + y * table[i, k + 1])
        between += x * ((1 - y) * table[i + 1, k] + y * table[i + 1, k + 1])
        assert between == pytest.approx(merge_loss(m, kappa), abs=3e-3 if kappa < 0.01 else 2e-4)


@pytest.mark.every(4)
@pytest.mark.parametrize(("instructions", "tube"), [(0, None), (1, None), (0, 0.2), (2, None)])
@pytest.mark.parametrize("dual", [True, False])
@pytest.mark.parametrize(
    "name, maintenance",
    [
        ("rbf", "merge"),
        ("rbf", "project"),
        ("rbf", "remove"),
        ("polynomial", "project"),
        ("linear", "remove"),
    ],
)
def test_steps_are_those_of_the_slow_truth(name, maintenance, tube, dual, instructions):
    X, y = data(3, n=70, d=6, density=0.6 if name == "rbf" else 1.0)
    if tube is not None:
        y = y + X[:, 0].astype(float)
    budget, steps = (5 if name == "linear" else 14), 70
    slow = SlowBudget(X, y, KERNELS[name], 2.0, budget, dual, maintenance, tube=tube)
    run = Budget(
        Csr.from_dense(X),
        y,
        KERNELS[name],
        2.0,
        budget,
        dual,
        maintenance,
        "shuffled",
        5,
        False,
        1,
        instructions,
        tube=tube,
    )
    for i in visits(len(y), steps, seed=5):
        slow.step(i)
        assert run.run(1) == 1
    Z, beta = run.expansion()
    counts = run.counts()
    assert (counts["moves"], counts["maintained"]) == (slow.moves, slow.maintained)
    assert slow.maintained > 10 and len(beta) == len(slow.beta) <= budget
    np.testing.assert_allclose(Z, np.array(slow.Z), atol=2e-4)
    np.testing.assert_allclose(
        beta, slow.scale * np.array(slow.beta), rtol=2e-3, atol=2e-4 * np.abs(slow.beta).max()
    )


def test_independent_draws_and_points_appended_as_in_the_paper():
    X, y = data(4)
    slow = SlowBudget(X, y, RBF, 2.0, 10**6)
    run = Budget(Csr.from_dense(X), y, RBF, 2.0, 10**6, sampling="independent", seed=9)
    twice = Budget(
        Csr.from_dense(X), y, RBF, 2.0, 10**6, sampling="independent", seed=9, append=True
    )
    for i in visits(len(y), 200, "independent", 9):
        slow.step(i)
    run.run(200)
    twice.run(200)
    np.testing.assert_allclose(run.expansion()[1], slow.beta, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        run.scores(Csr.from_dense(X)), twice.scores(Csr.from_dense(X)), atol=1e-4
    )
    assert twice.counts()["centres"] == twice.counts()["moves"] > run.counts()["centres"]


@pytest.mark.parametrize("d, gamma", [(2, 0.5), (6, 0.5), (6, 500.0)])
def test_scores_and_norm_are_those_of_the_expansion(d, gamma):
    X, y = data(5, n=300, d=d)
    kernel = Kernel("rbf", gamma=gamma)
    for dual in (True, False):
        run = Budget(Csr.from_dense(X), y, kernel, 3.0, 100, dual, threads=2)
        run.run(700)
        Z, beta = run.expansion()
        f = gram(kernel, X, Z) @ beta
        np.testing.assert_allclose(run.scores(Csr.from_dense(X)), f, atol=1e-5 * np.abs(beta).sum())
        rows = np.array([7, 3, 299])
        np.testing.assert_array_equal(
            run.scores(Csr.from_dense(X), rows), run.scores(Csr.from_dense(X))[rows]
        )
        assert run.squared_norm() == pytest.approx(beta @ gram(kernel, Z, Z) @ beta, rel=1e-5)
        run.threads = 1
        assert run.scores(Csr.from_dense(X)).tobytes() == run.scores(Csr.from_dense(X)).tobytes()


def test_without_a_budget_the_rates_are_those_of_lemma_2():
    """The dual's until its steps are below the resolution of alpha, which is float32."""
    X, y = data(6, n=1000, d=4, noise=0.3)
    rows, kernel, C = Csr.from_dense(X), Kernel("rbf", gamma=1.0), 2.0
    alpha = np.abs(
        list(Smo(False).start(KernelProblem(rows, y, kernel, C, 1e-9)))[-1].solution().beta
    )
    rates = {
        True: np.mean((alpha > 1e-6 * C) & (alpha < (1 - 1e-6) * C)),
        False: np.mean(alpha) / C,
    }
    assert rates[True] > 0.1
    for dual, rate in rates.items():
        run = Budget(rows, y, kernel, C, 10**6, dual, seed=1)
        run.run(70 * 1000)
        before = run.counts()["moves"]
        run.run(40 * 1000)
        assert (run.counts()["moves"] - before) / (40 * 1000) == pytest.approx(rate, rel=0.02)


def test_adaptive_frequencies_reach_the_optimum_in_fewer_visits():
    X, y = data(7, n=500, d=2, noise=0.2)
    rows, C = Csr.from_dense(X), 10.0
    best = list(Smo(False).start(KernelProblem(rows, y, RBF, C, 1e-7)))[-1].dual
    visits_needed = {}
    for sampling in ("shuffled", "adaptive"):
        run = Budget(rows, y, RBF, C, 10**6, sampling=sampling)
        while run.counts()["sum_alpha"] - 0.5 * run.squared_norm() < 0.999 * best:
            run.run(250)
            assert run.counts()["steps"] < 500_000
        visits_needed[sampling] = run.counts()["steps"]
    assert visits_needed["adaptive"] < 0.8 * visits_needed["shuffled"]


@pytest.mark.parametrize(
    "dual, maintenance, sampling",
    [
        (True, "merge", "shuffled"),
        (True, "project", "independent"),
        (True, "merge", "adaptive"),
        (True, "remove", "adaptive"),
        (False, "merge", "shuffled"),
        (False, "project", "shuffled"),
    ],
)
def test_a_run_goes_on_from_its_state_to_the_same_bytes(dual, maintenance, sampling):
    X, y = data(8, n=150, d=4)
    arguments = (Csr.from_dense(X), y, RBF, 4.0, 30, dual, maintenance, sampling, 3)
    whole = Budget(*arguments)
    for steps in (0, 1, 77, 150, 333):
        whole.run(steps)
        state = whole.state()
        other = Budget(*arguments)
        other.run(40)
        other.restore(state)
        whole.run(200)
        other.run(200)
        for name, value in whole.state().items():
            assert np.array_equal(value, other.state()[name]), name


def test_states_that_do_not_fit_are_refused():
    X, y = data(9)
    run = Budget(Csr.from_dense(X), y, RBF, 1.0, 10)
    run.run(50)
    state = run.state()
    with pytest.raises(ValueError, match=r"state.scheduled is 80; .* 79"):
        Budget(Csr.from_dense(X[:-1]), y[:-1], RBF, 1.0, 10).restore(state)
    with pytest.raises(ValueError, match="owner"):
        run.restore(state | {"owner": np.full_like(state["owner"], 80)})
    with pytest.raises(ValueError, match=r"state.alpha is an array \(79,\) of float32"):
        run.restore(state | {"alpha": state["alpha"][:-1]})
    with pytest.raises(ValueError, match="state has no beta"):
        run.restore({name: value for name, value in state.items() if name != "beta"})


def test_arguments_that_make_no_sense_are_refused():
    X, y = data(10)
    rows = Csr.from_dense(X)
    for arguments in (
        (rows, y[:-1], RBF, 1.0, 10),
        (rows, y, RBF, 1.0, 0),
        (rows, y, RBF, 0.0, 10),
        (rows, y, Kernel(), 1.0, 10),
        (rows, y, RBF, 1.0, 10, False, "merge", "adaptive"),
    ):
        with pytest.raises(ValueError):
            Budget(*arguments)


def test_rows_of_zero_equal_rows_and_a_budget_of_one():
    for X in (np.zeros((20, 2), np.float32), np.ones((20, 2), np.float32)):
        y = np.where(np.arange(20) % 3 > 0, 1.0, -1.0)
        for kernel, maintenance in (
            (RBF, "merge"),
            (RBF, "project"),
            (Kernel(), "project"),
            (Kernel(), "remove"),
        ):
            for dual, budget in itertools.product((True, False), (1, 3)):
                run = Budget(Csr.from_dense(X), y, kernel, 1.0, budget, dual, maintenance)
                run.run(200)
                Z, beta = run.expansion()
                assert len(beta) <= budget and np.all(np.isfinite(beta)) and np.all(np.isfinite(Z))


def test_a_run_stops_when_its_seconds_have_passed():
    X, y = data(11, n=2000, d=20)
    run = Budget(Csr.from_dense(X), y, RBF, 1.0, 500)
    assert 0 < run.run(10**8, 0.02) < 10**7
