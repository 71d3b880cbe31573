# SPDX-License-Identifier: BSD-3-Clause
"""Chains with slack rescaling, zero/one loss and squared slack: the optimum, its certificate,
refusals."""

import numpy as np
import pytest
from drivers import driver
from reference import chain as truth

from svmcut.base.errors import MemoryLimitError, UsageError

RISKS = {
    "margin, squared": {"slack_norm": 2},
    "slack": {"rescaling": "slack"},
    "slack, squared": {"rescaling": "slack", "slack_norm": 2},
    "zero-one": {"loss": "zero-one"},
    "zero-one, squared": {"loss": "zero-one", "rescaling": "slack", "slack_norm": 2},
}


def fit(data, C=0.7, observe=None, gap=1e-4, **options):
    return driver(data, task="sequence", gap=gap, **options).fit(None, C, observe)


@pytest.mark.parametrize("t, e", [(0, 0), (1, 0), (1, 1), (2, 0)])
@pytest.mark.parametrize("name", RISKS)
def test_the_optimum_is_that_of_the_quadratic_program(rng, name, t, e):
    data, options = truth.noisy_chains(rng, 2, [2, 3, 3, 4]), RISKS[name]
    outcome = fit(data, transitions=t, emissions=e, **options)
    best = truth.optimum(data, outcome.model.shape, 0.7, name)
    progress = outcome.progress
    assert outcome.solver == "cutting-plane" and outcome.converged
    assert progress.dual <= best * (1 + 1e-6)
    assert best * (1 - 1e-6) <= progress.primal <= best * (1 + 2e-4)
    assert outcome.model.loss == (0 if "zero-one" in name else 1)


@pytest.mark.parametrize("name", RISKS)
def test_bounds_never_fall_and_the_primal_is_that_of_the_weights(rng, name):
    data, options, seen = (
        truth.noisy_chains(rng, 3, rng.integers(1, 6, 20).tolist()),
        RISKS[name],
        [],
    )
    outcome = fit(data, C=0.5, observe=lambda progress, objective: seen.append(progress), **options)
    duals, primals = [p.dual for p in seen], [p.primal for p in seen]
    assert duals == sorted(duals) and primals == sorted(primals, reverse=True)
    w, sequences, risk = outcome.model.w, data, 0.0
    for n in range(len(sequences)):
        gold = sequences.tags[sequences.indptr[n] : sequences.indptr[n + 1]]
        H = truth.slack(truth.dense_rows(sequences, n), w, outcome.model.shape, gold, name)[0]
        risk += H**2 if name.endswith("squared") else H
    assert seen[-1].primal == pytest.approx(0.5 * w @ w + 0.5 * risk, rel=1e-9)


@pytest.mark.parametrize("name", RISKS)
def test_the_bytes_do_not_depend_on_threads(rng, name):
    data = truth.noisy_chains(rng, 3, rng.integers(1, 40, 40).tolist())
    first, second = (
        fit(data, C=0.3, gap=1e-2, threads=threads, **RISKS[name]).model.w for threads in (1, 2)
    )
    assert first.tobytes() == second.tobytes()


def test_a_path_starts_from_the_last_cuts(rng):
    data = truth.noisy_chains(rng, 3, rng.integers(2, 9, 25).tolist())
    trainer = driver(data, task="sequence", rescaling="slack", gap=1e-3)
    path = [trainer.fit(None, C).progress for C in (0.1, 1.0, 0.1)]
    assert path[0].primal == pytest.approx(path[2].primal, rel=2e-3)


@pytest.mark.parametrize("K, lengths", [(1, [3, 1]), (3, [1, 1, 1])])
@pytest.mark.parametrize("name", RISKS)
def test_one_tag_and_sequences_of_one_token_train(rng, name, K, lengths):
    assert fit(truth.noisy_chains(rng, K, lengths), **RISKS[name]).converged


@pytest.mark.parametrize("solver", ["bcfw", "ssg", "gdmm", "soft-bcfw"])
@pytest.mark.parametrize("name", RISKS)
def test_trainers_of_the_plain_hinge_refuse(rng, name, solver):
    with pytest.raises(
        UsageError, match=f"solver '{solver}' does not train with .* give solver='cutting-plane'"
    ):
        fit(truth.noisy_chains(rng, 2, [3, 4]), solver=solver, **RISKS[name])


def test_a_beam_keeps_too_few_states(rng):
    data = truth.noisy_chains(rng, 4, rng.integers(2, 9, 25).tolist())
    names = {
        "slack": "rescaling='slack'",
        "zero-one": "loss='zero-one'",
        "margin, squared": "slack_norm=2",
    }
    for options, text in ((RISKS[name], text) for name, text in names.items()):
        with pytest.raises(
            UsageError, match=f"beam=2 keeps a part of the states, but {text} needs them all"
        ):
            fit(data, beam=2, **options)


def test_states_that_do_not_fit_are_refused_before_training(rng):
    data = truth.noisy_chains(rng, 3, [2000, 4, 1000])
    need = (
        "rescaling='slack' counts the wrong tags of sequences of up to 2000 tokens, which needs "
        "about 80 MB for 2"
    )
    with pytest.raises(MemoryLimitError, match=need):
        driver(data, task="sequence", rescaling="slack", max_memory=50, threads=2)
    driver(data, task="sequence", loss="zero-one", max_memory=50, threads=2)
    with pytest.raises(MemoryLimitError, match="slack_norm=2 counts"):
        driver(data, task="sequence", slack_norm=2, max_memory=50, threads=2)


def test_epsilon_is_a_mean_over_sequences(rng):
    data = truth.noisy_chains(rng, 3, [4] * 10)
    trainer = driver(data, task="sequence", slack_norm=2, epsilon=0.01)
    progress = trainer.fit(5.0, None).progress
    assert trainer.plan.units.objective(5.0, None).C == 0.5
    assert 0.005 * 0.05 < progress.gap <= 5.0 * 0.01
    assert np.isfinite(progress.primal)
