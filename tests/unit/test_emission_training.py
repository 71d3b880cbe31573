# SPDX-License-Identifier: BSD-3-Clause
"""Trainers of chains with kernel emissions: the optimum, honest bounds, the same bytes."""

import math

import numpy as np
import pytest
from drivers import driver, kernel_parameters
from reference import kernel_chain as truth
from reference.chain import noisy_chains
from reference.kernel_rows import gram

from svmcut.base import records
from svmcut.base.errors import MemoryLimitError, UsageError
from svmcut.data.examples import Csr, Sequences, Source
from svmcut.models.kernels import Kernel
from svmcut.spec.parameters import Settings
from svmcut.training.driver import Driver
from svmcut.training.emissions import Emissions
from svmcut.training.settings import resolve_settings

RBF = Kernel("rbf", gamma=0.5)


LINEAR = Kernel("linear")


def trainer(data, order=1, r=10, kernel=LINEAR, **options):
    options |= {"task": "sequence", "transitions": order, **kernel_parameters(kernel)}
    if options.get("solver") != "cutting-plane":
        options["sample_size"] = r
    if kernel is not LINEAR:
        return driver(data, **options)
    return Driver(
        Emissions(data, resolve_settings(Settings(threads=1, **options), data.X.n_rows))
    )  # else features would do


def fit(data, C, order=1, observe=None, **options):
    return trainer(data, order, **options).fit(None, C, observe)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_the_linear_kernel_finds_the_optimum_and_the_tags_of_the_linear_chain(rng, order):
    data = noisy_chains(rng, 4, rng.integers(1, 9, 30).tolist())
    linear = driver(data, task="sequence", solver="cutting-plane", gap=1e-6, transitions=order).fit(
        None, 0.5
    )
    outcome = fit(data, 0.5, order, solver="cutting-plane", gap=1e-6)
    assert outcome.primal == pytest.approx(linear.primal, rel=2e-6)
    assert outcome.dual <= linear.primal * (1 + 1e-6)
    apart = 2 * np.sqrt(
        2e-6 * linear.primal
    )  # at most, for two points of these gaps: P is strongly convex
    assert outcome.norm == pytest.approx(linear.norm, abs=apart)
    X, indptr = data.X, data.indptr
    w = linear.model.w[: 4 * linear.model.shape.stride].reshape(4, -1)
    assert outcome.model.node_scores(X) == pytest.approx(X.to_dense() @ w, abs=5e-3)
    same = outcome.model.tags(X, indptr) == linear.model.tags(X, indptr)
    assert np.mean(same) > 0.98  # a tag or two lie on the margin


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize(
    "kernel", [RBF, Kernel("polynomial", 2, scale=0.5)], ids=lambda kernel: kernel.name
)
def test_the_optimum_is_that_of_the_quadratic_program_over_all_labellings(rng, kernel, order):
    data = noisy_chains(rng, 2, [2, 3, 3, 4])
    outcome = fit(data, 0.7, order, solver="cutting-plane", gap=1e-4, kernel=kernel)
    x = data.X.to_dense()
    best = truth.minimum(gram(kernel, x, x), data, outcome.model.shape, 0.7)
    assert outcome.converged
    assert outcome.dual <= best * (1 + 1e-6) and outcome.primal >= best * (1 - 1e-6)
    assert outcome.gap <= 1e-4 * outcome.primal


def primal_of(model, data, C, kernel):
    """1/2 |f|^2 + C sum H_n of a model by its definition, at transition order 1."""
    z, sequences, K = model.support.to_dense(), data, model.shape.n_tags
    nodes = gram(kernel, sequences.X.to_dense(), z) @ model.alpha
    V = model.transitions.reshape(K, -1)[:, :K]
    risk = 0.0
    for n in range(len(sequences)):
        rows = slice(sequences.indptr[n], sequences.indptr[n + 1])
        s, gold = nodes[rows], sequences.tags[rows]
        value = s[0] + (np.arange(K) != gold[0])
        for t in range(1, len(gold)):
            value = (value[:, None] + V).max(axis=0) + s[t] + (np.arange(K) != gold[t])
        risk += value.max() - s[np.arange(len(gold)), gold].sum() - V[gold[:-1], gold[1:]].sum()
    squared = np.trace(model.alpha.T @ gram(kernel, z, z) @ model.alpha) + (V**2).sum()
    return 0.5 * squared + C * risk


@pytest.mark.parametrize("solver", ["cutting-plane", "sampled-cuts"])
def test_bounds_are_those_of_the_model(rng, solver):
    data, seen = noisy_chains(rng, 4, rng.integers(1, 9, 40).tolist()), []
    outcome = fit(
        data, 0.5, observe=lambda p, _: seen.append(p), solver=solver, gap=0.01, kernel=RBF
    )
    assert (outcome.converged, outcome.stopped_by) == (
        (True, None) if solver == "cutting-plane" else (False, "samples")
    )
    assert outcome.primal == pytest.approx(primal_of(outcome.model, data, 0.5, RBF), rel=1e-5)
    primals = [p.primal for p in seen]
    assert primals == sorted(primals, reverse=True)
    exact = fit(data, 0.5, solver="cutting-plane", gap=1e-3, kernel=RBF)
    assert 0 < outcome.dual <= exact.primal * (1 + 1e-5)
    assert exact.dual <= outcome.primal * (1 + 1e-5)
    if solver == "sampled-cuts":
        assert all(math.isnan(p.dual) for p in seen)
        assert math.isnan(fit(data, 0.5, solver=solver, gap=0.1, kernel=RBF, certify=False).dual)


def test_sampled_cuts_come_near_the_exact_objective_and_all_draws_reach_it(rng):
    data = noisy_chains(rng, 6, rng.integers(3, 10, 100).tolist(), D=8, noise=0.4)
    exact = fit(data, 1.0, solver="cutting-plane", gap=1e-3, kernel=RBF)
    few = fit(data, 1.0, solver="sampled-cuts", gap=0.01, kernel=RBF, r=20)
    most = fit(data, 1.0, solver="sampled-cuts", gap=0.01, kernel=RBF, r=100)
    assert few.primal <= 1.25 * exact.primal
    assert most.primal <= 1.02 * exact.primal
    assert most.dual >= 0.95 * exact.dual


def test_sampled_cuts_whose_digits_make_them_worse_than_nothing_are_w_0():
    """Features at 20,254: scores of float32 kernel values have one digit left."""
    rows = "3.4434 4.1621 4.0996 3.2188 3.373 4.5918 4.3086 5.4238 3.918 3.7949 5.0371 2.8496 "
    X = np.float32([*rows.split(), "4.4199", "4.9434", "4.1465", "5.7734"]).reshape(8, 2) + 20250
    tags = np.int32([1, 1, 0, 0, 1, 1, 0, 0])
    data = Sequences(Csr.from_dense(X), np.int64([0, 4, 6, 8]), tags, Source("made"))
    outcome = fit(data, 5.783, 0, solver="sampled-cuts", gap=1e-4, r=400)
    assert outcome.written <= 5.783 * 8 * (1 + 1e-6)
    assert any("w = 0 has a lower primal" in text for text in outcome.warnings)


@pytest.mark.parametrize("solver", ["cutting-plane", "sampled-cuts"])
def test_the_same_seed_gives_the_same_bytes_for_any_number_of_threads(rng, solver):
    data = noisy_chains(rng, 3, rng.integers(1, 20, 60).tolist())
    models = [
        fit(data, 0.3, solver=solver, gap=0.05, kernel=RBF, threads=t, seed=7).model for t in (1, 3)
    ]
    assert models[0].alpha.tobytes() == models[1].alpha.tobytes()
    assert models[0].transitions.tobytes() == models[1].transitions.tobytes()
    tags = [models[0].tags(data.X, data.indptr, threads) for threads in (1, 3)]
    assert tags[0].tobytes() == tags[1].tobytes()


def test_the_rows_kept_do_not_change_the_model(rng):
    data = noisy_chains(rng, 3, rng.integers(1, 9, 40).tolist())
    options = {"solver": "sampled-cuts", "gap": 0.05, "kernel": RBF}
    few, many = (fit(data, 0.3, cache_size=megabytes, **options) for megabytes in (1e-3, 10.0))
    assert few.model.alpha.tobytes() == many.model.alpha.tobytes()
    assert many.kernel_evaluations < few.kernel_evaluations


def test_costs_of_a_path_start_from_the_last_and_certify_their_own(rng):
    one = trainer(
        noisy_chains(rng, 3, rng.integers(2, 9, 25).tolist()),
        solver="cutting-plane",
        gap=1e-3,
        kernel=RBF,
    )
    path = [one.fit(None, C) for C in (0.1, 1.0, 0.1)]
    assert path[0].primal == pytest.approx(path[2].primal, rel=2e-3)
    assert path[1].gap <= 1e-3 * path[1].primal


def test_auto_takes_exact_cuts_while_they_fit_and_says_when_nothing_does(rng, monkeypatch):
    data = noisy_chains(rng, 3, [5] * 200)
    assert trainer(data, kernel=RBF).plan.solver == "cutting-plane"
    assert trainer(data, kernel=RBF, max_memory=3.0, cache_size=1.0).plan.solver == "sampled-cuts"
    with pytest.raises(MemoryLimitError, match="use solver='sampled-cuts' or fewer tokens"):
        trainer(data, kernel=RBF, solver="cutting-plane", max_memory=3.0, cache_size=1.0)
    with pytest.raises(MemoryLimitError, match="lower parameter 'cache_size', or use fewer tokens"):
        trainer(data, kernel=RBF, max_memory=0.1)
    monkeypatch.setattr("svmcut.training.emissions.BUDGET", 1.0)
    assert trainer(data, kernel=RBF).plan.solver == "sampled-cuts"


def test_cuts_that_fill_their_memory_end_the_run_with_a_warning(rng):
    data = noisy_chains(rng, 3, [5] * 40)
    outcome = fit(
        data,
        100.0,
        solver="sampled-cuts",
        gap=1e-6,
        kernel=RBF,
        max_memory=0.3,
        cache_size=0.01,
        r=3,
    )
    assert not outcome.converged and outcome.stopped_by == "limit"
    assert "'max_memory'" in outcome.warnings[0]
    assert outcome.primal == pytest.approx(primal_of(outcome.model, data, 100.0, RBF), rel=1e-5)


def test_weights_that_no_file_could_number_are_refused(rng):
    sequences = noisy_chains(rng, 3, [4, 4])
    sequences.tags[0] = 60_000
    with pytest.raises(UsageError, match="lower parameter 'transitions'"):
        trainer(sequences, kernel=RBF)


def test_other_risks_than_the_number_of_wrong_tags_are_refused(rng):
    for option in ({"loss": "zero-one"}, {"rescaling": "slack"}, {"slack_norm": 2}):
        with pytest.raises(UsageError, match="does not go with the rbf kernel"):
            trainer(noisy_chains(rng, 3, [4, 4]), kernel=RBF, **option)


def test_one_tag_trains_and_a_sigmoid_is_refused(rng):
    data = noisy_chains(rng, 1, [3, 1])
    with pytest.raises(UsageError, match="need not be positive definite"):
        trainer(data, kernel=Kernel("sigmoid", scale=0.1))
    outcome = trainer(data, kernel=RBF).fit(None, 1.0)
    assert outcome.converged and outcome.model.support.n_rows == 0
    assert (outcome.model.tags(data.X, data.indptr) == 0).all()


def test_ill_conditioned_values_have_a_true_certificate(rng):
    data = noisy_chains(rng, 3, [1] * 60, D=3)
    data = records.replace(
        data, X=Csr.from_dense((100 * rng.normal(size=(60, 3))).astype(np.float32))
    )
    outcome = fit(data, 0.01, 0, solver="cutting-plane", gap=0.01, kernel=Kernel("polynomial", 2))
    assert outcome.stopped_by in (None, "file") and outcome.gap <= 0.01 * outcome.primal
    for t in np.linspace(0, 2, 41):
        scaled = records.replace(outcome.model, alpha=t * outcome.model.alpha)
        assert outcome.dual <= primal_of(scaled, data, 0.01, Kernel("polynomial", 2)) * (1 + 1e-9)
