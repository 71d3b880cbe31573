# SPDX-License-Identifier: BSD-3-Clause
"""Budgeted solvers: the best look is the answer, states go on to the same bytes, duals where they
exist."""

import copy
import itertools

import numpy as np
import pytest
from reference.kernel import matrix, maximum, tube_maximum, tube_primal
from reference.kernel_rows import gram

from svmcut.base import records
from svmcut.data.examples import Csr
from svmcut.models.kernels import Kernel
from svmcut.solvers.budget import Bsca, Bsgd
from svmcut.solvers.smo import KernelProblem

SOLVERS = (Bsca, Bsgd)
KERNEL = Kernel("rbf", gamma=0.5)


def problem(seed=0, n=600, d=3, C=2.0, noise=0.3, tube=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    y = X[:, 0] * X[:, 1] + noise * rng.normal(size=n)
    return KernelProblem(
        Csr.from_dense(X), np.where(y > 0, 1.0, -1.0) if tube is None else y, KERNEL, C, tube=tube
    )


def primal(problem, f):
    X = problem.X.to_dense()
    scores = gram(KERNEL, X, f.Z) @ f.beta
    if problem.tube is not None:
        return 0.5 * f.beta @ gram(KERNEL, f.Z, f.Z) @ f.beta + tube_loss(problem, scores)
    return (
        0.5 * f.beta @ gram(KERNEL, f.Z, f.Z) @ f.beta
        + problem.C * np.maximum(0, 1 - problem.y * scores).sum()
    )


def tube_loss(p, f):
    return tube_primal(
        np.zeros((len(p.y), len(p.y))), p.y - f, np.zeros(len(p.y)), 0.0, p.C, p.tube
    )


@pytest.mark.parametrize("cls", SOLVERS)
@pytest.mark.parametrize("tube", [None, 0.1])
def test_the_answer_is_the_best_look_and_its_primal_is_true(cls, tube):
    p = problem(tube=tube)
    looks = list(cls(40, 8, threads=2, seconds_between=1e9).start(p))
    assert len(looks) == 8 and [look.passes for look in looks] == list(range(1, 9))
    seen = [look.extra["sampled_primal"] for look in looks]
    assert looks[-1].primal == min(seen) == min(look.primal for look in looks)
    assert primal(p, looks[-1].solution()) == pytest.approx(min(seen), rel=1e-4)
    assert all(look.support <= 40 and np.isnan(look.dual) for look in looks)
    assert all(a.evaluations < b.evaluations for a, b in itertools.pairwise(looks))


@pytest.mark.parametrize("cls", SOLVERS)
@pytest.mark.parametrize("maintenance", ["merge", "project", "remove"])
def test_every_maintenance_learns(cls, maintenance):
    p = problem(1, noise=0.0)
    f = list(cls(60, 10, maintenance).start(p))[-1].solution()
    accuracy = np.mean(p.y * (gram(KERNEL, p.X.to_dense(), f.Z) @ f.beta) > 0)
    assert accuracy > (0.75 if maintenance == "remove" else 0.9)


@pytest.mark.parametrize("tube", [None, 0.1])
def test_without_a_budget_the_dual_bounds_the_optimum_and_meets_it(tube):
    p = problem(2, n=200, tube=tube)
    K = matrix(KERNEL, p.X.to_dense(), p.X.to_dense())
    truth = (
        maximum(K, p.y, p.C, False, 1e-6)
        if tube is None
        else tube_maximum(K, p.y, p.C, tube, False, 1e-6)
    )
    best = truth[0]
    looks = list(Bsca(10**6, 60, seconds_between=1e9).start(p))
    duals = [look.dual for look in looks]
    assert max(duals) <= best * (1 + 1e-6)
    assert duals[-1] == pytest.approx(best, rel=1e-3)
    assert looks[-1].primal == pytest.approx(best, rel=1e-2)
    assert all(b >= a - 1e-5 * best for a, b in itertools.pairwise(duals))


@pytest.mark.every(2)
@pytest.mark.parametrize("cls", SOLVERS)
@pytest.mark.parametrize(
    "options", [{}, {"hold_out": 0.2}, {"sampling": "independent", "maintenance": "project"}]
)
@pytest.mark.parametrize("tube", [None, 0.1])
def test_a_run_goes_on_from_its_state_to_the_same_bytes(cls, tube, options):
    p = problem(3, n=900, tube=tube)
    quiet = cls(30, 5, seconds_between=1e9, **options)
    whole = list(quiet.start(p))[-1]
    for stop in (1, 4, 7):
        run, between = cls(30, 5, threads=2, seconds_between=0.0, **options).start(p), 0
        for _ in itertools.islice(run, stop):
            between += not run.looked
        last = list(quiet.start(p, state=copy.deepcopy(run.state())))[-1]
        assert last.solution().beta.tobytes() == whole.solution().beta.tobytes()
        assert last.solution().Z.tobytes() == whole.solution().Z.tobytes()
        plain = {"seconds": 0.0, "solution": None}
        assert repr(last._replace(**plain)) == repr(whole._replace(**plain))
    assert between


@pytest.mark.parametrize("cls", SOLVERS)
def test_same_bytes_for_any_number_of_threads_and_another_seed_differs(cls):
    p = problem(4, n=3000)
    runs = {
        (threads, seed): list(cls(50, 2, threads=threads, seed=seed).start(p))[-1].solution()
        for threads, seed in ((1, 0), (2, 0), (3, 0), (1, 1))
    }
    assert len({f.beta.tobytes() + f.Z.tobytes() for f in runs.values()}) == 2
    assert runs[1, 0].beta.tobytes() != runs[1, 1].beta.tobytes()


@pytest.mark.parametrize("tube", [None, 0.1])
def test_rows_held_out_are_not_trained_on_and_choose(tube):
    p = problem(5, n=500, tube=tube)
    run = Bsca(30, 6, hold_out=0.3, seconds_between=1e9).start(p)
    looks = list(run)
    alpha = run.alpha()
    assert np.count_nonzero(alpha) <= 350 and len(alpha) == 500
    errors = [look.extra["held_out_error"] for look in looks]
    assert run.criteria()["held_out_error"] == min(errors)
    held = np.setdiff1d(np.arange(500), np.flatnonzero(alpha))
    assert len(held) >= 150
    if tube is not None:
        assert 0 < min(errors) < np.abs(p.y).mean() and alpha.min() < 0 < alpha.max()
    best = looks[errors.index(min(errors))]
    assert best.primal <= max(look.extra["sampled_primal"] for look in looks)


def test_steps_may_be_limited_and_a_tenth_of_an_epoch_is_trained():
    p = problem(6)
    assert list(Bsca(30, 10, max_steps=7).start(p))[-1].iteration == 7
    assert list(Bsgd(30, 0.1).start(p))[-1].iteration == 60


@pytest.mark.parametrize("cls", SOLVERS)
@pytest.mark.parametrize("maintenance", ["merge", "project"])
def test_c_tube_and_targets_may_have_any_unit(cls, maintenance):
    p = problem(7, tube=0.1)
    k = 2.0**-12
    scaled = records.replace(p, y=k * p.y, C=k * p.C, tube=k * p.tube)
    one, other = (list(cls(30, 4, maintenance).start(each))[-1] for each in (p, scaled))
    assert (other.solution().beta / k).tobytes() == one.solution().beta.tobytes()
    assert (
        other.solution().Z.tobytes() == one.solution().Z.tobytes()
        and other.primal == k * k * one.primal
    )


def test_adaptive_frequencies_are_for_the_dual():
    with pytest.raises(ValueError, match="dual"):
        Bsgd(30, sampling="adaptive").start(problem())
    for tube in (None, 0.1):
        assert (
            list(Bsca(30, 5, sampling="adaptive").start(problem(tube=tube)))[-1].iteration == 3000
        )
