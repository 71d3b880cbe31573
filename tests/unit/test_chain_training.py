# SPDX-License-Identifier: BSD-3-Clause
"""Trainers of chains: one objective, one optimum, honest bounds."""

import numpy as np
import pytest
from drivers import driver
from reference import chain as truth
from reference.chain import noisy_chains as make

SOLVERS = ["bcfw", "ssg", "cutting-plane"]


def fit(data, solver, C, observe=None, gap=1e-3, **options):
    return driver(data, task="sequence", solver=solver, gap=gap, **options).fit(None, C, observe)


@pytest.mark.every(3)
@pytest.mark.parametrize("t, e", [(1, 1), (0, 0), (2, 1), (1, 0)])
def test_the_optimum_is_that_of_the_quadratic_program(rng, t, e):
    data, best = make(rng, 2, [2, 3, 3, 4]), None
    for solver in SOLVERS:
        outcome = fit(
            data, solver, 0.7, gap=1e-4 if solver != "ssg" else 1e-3, transitions=t, emissions=e
        )
        best = best or truth.optimum(data, outcome.model.shape, 0.7)
        progress = outcome.progress
        assert outcome.converged, solver
        assert progress.dual <= best + 1e-6, solver
        assert progress.primal >= best - 1e-6, solver
        assert progress.primal - best <= 2e-3 * best, solver


@pytest.mark.parametrize("C", [0.05, 1.0])
def test_all_trainers_reach_the_same_certified_objective(rng, C):
    data = make(rng, 5, rng.integers(1, 12, 40).tolist(), D=6)
    found = {solver: fit(data, solver, C).progress for solver in SOLVERS}
    for progress in found.values():
        assert progress.gap <= 1e-3 * progress.primal
        for other in found.values():
            assert progress.dual <= other.primal * (1 + 1e-9)
            assert progress.primal == pytest.approx(other.primal, rel=1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_bounds_are_those_of_the_weights_and_never_fall(rng, solver):
    data = make(rng, 4, rng.integers(1, 9, 30).tolist())
    seen = []
    outcome = fit(data, solver, 0.5, observe=lambda progress, objective: seen.append(progress))
    duals, primals = [p.dual for p in seen], [p.primal for p in seen]
    assert duals == sorted(duals) and primals == sorted(primals, reverse=True)
    assert all(p.gap >= -1e-9 * p.primal for p in seen)
    w, sequences, shape = outcome.model.w, data, outcome.model.shape
    risk = 0.0
    for n in range(len(sequences)):
        rows = slice(sequences.indptr[n], sequences.indptr[n + 1])
        x, gold = sequences.X.to_dense()[rows].astype(float), sequences.tags[rows]
        node = x @ w[: shape.dim - shape.transitions].reshape(-1, shape.stride)[:, :4] + 1
        node[np.arange(len(gold)), gold] -= 1
        V = w[shape.dim - shape.transitions :].reshape(4, shape.stride)[:, :4]
        value = node[0]
        for t in range(1, len(gold)):
            value = (value[:, None] + V).max(axis=0) + node[t]
        risk += value.max() - node[np.arange(len(gold)), gold].sum() - V[gold[:-1], gold[1:]].sum()
    assert seen[-1].primal == pytest.approx(0.5 * w @ w + 0.5 * risk, rel=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_same_seed_gives_the_same_bytes_for_any_number_of_threads(rng, solver):
    data = make(rng, 3, rng.integers(1, 40, 60).tolist())
    first, second = (fit(data, solver, 0.3, threads=threads, seed=7).model.w for threads in (1, 3))
    assert first.tobytes() == second.tobytes()


def test_costs_of_a_path_start_from_the_last_and_certify_their_own(rng):
    data = make(rng, 3, rng.integers(2, 9, 25).tolist())
    for solver in SOLVERS:
        trainer = driver(data, task="sequence", solver=solver, gap=1e-3)
        path = [trainer.fit(None, C).progress for C in (0.1, 1.0, 0.1)]
        assert path[0].primal == pytest.approx(path[2].primal, rel=2e-3)
        assert path[1].gap <= 1e-3 * path[1].primal


def test_costs_in_the_unit_of_svm_hmm_are_means_over_sequences(rng):
    data = make(rng, 3, [4] * 10)
    trainer = driver(data, task="sequence", gap=1e-4)
    assert trainer.plan.units.objective(5.0, None).C == 0.5
    assert trainer.plan.units.objective(None, 0.5).C == 0.5
    assert trainer.plan.units.objective(None, 0.5).c == pytest.approx(5.0)


def test_one_tag_and_sequences_of_one_token_train(rng):
    for K, lengths in ((1, [3, 1]), (3, [1, 1, 1])):
        data = make(rng, K, lengths)
        for solver in SOLVERS:
            assert fit(data, solver, 1.0).converged
