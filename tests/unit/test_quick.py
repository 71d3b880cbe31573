# SPDX-License-Identifier: BSD-3-Clause
"""Training of chains that a part held out ends: what is chosen, what is claimed, what is
refused."""

import itertools

import numpy as np
import pytest
from drivers import driver
from reference.chain import noisy_chains
from reference.chunks import scores

from svmcut import ChainSVM
from svmcut._native import chain_ssg
from svmcut.base.errors import UsageError
from svmcut.base.records import replace
from svmcut.data.examples import Csr, Names
from svmcut.files.checkpoints import read_checkpoint, write_checkpoint
from svmcut.models import ChainModel, ChainShape
from svmcut.models.decoding import HeldSequences, Lattice, fit_temperature
from svmcut.spec.parameters import Settings
from svmcut.spec.refusals import plain
from svmcut.spec.schemas import state_classes
from svmcut.structured.chain import ChainSequences, run_argmax
from svmcut.training.settings import resolve_settings


def chains(rng, n=60, K=4):
    return noisy_chains(rng, K, rng.integers(1, 12, n).tolist(), D=6)


def quick(data, **options):
    return driver(data, task="sequence", quick=True, **options)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_bound_is_below_the_optimum_and_the_gap_is_stated_as_it_is(rng, weighted):
    data = chains(rng)
    if weighted:
        data = replace(data, weights=rng.uniform(0.2, 3.0, len(data)))
    best = driver(data, task="sequence", gap=1e-4).fit(None, 0.3).progress
    outcome = quick(data).fit(None, 0.3)
    assert not outcome.converged and outcome.done and outcome.stopped_by == "held-out"
    assert 0 < outcome.dual <= best.primal and outcome.primal >= best.dual
    w, model = outcome.model.w, quick(data).plan.model
    assert outcome.primal < 0.3 * model.weighted_sum(np.diff(model.parts))  # that of w = 0
    risk = model.weighted_sum(model.separate(w).slacks)
    assert outcome.primal == pytest.approx(0.5 * w @ w + 0.3 * risk, rel=1e-12)


def test_the_weights_are_the_average_of_as_many_passes_over_all_as_were_best_on_the_part_held_out(
    rng,
):
    data, steps = chains(rng, 200), []
    trainer = quick(data, seed=3)
    outcome = trainer.fit(None, 0.3, lambda progress, objective: steps.append(progress))
    told, model, n = outcome.details["quick"], trainer.plan.model, len(data)
    assert told["held_out"] == 20
    k, first = told["passes"], len(steps) - told["passes"]
    errors = [step.extra["held_out_error"] for step in steps[:first]]
    assert errors[k - 1] == told["held_out_error"] <= min(errors) / 0.99
    assert len(errors) == k + 5 and min(errors[: k - 1], default=np.inf) > errors[k - 1]
    assert all(step.extra["held_out_error"] == errors[-1] for step in steps[first:])
    rng = np.random.default_rng(3)
    held = rng.permutation(n) < 20
    for _ in errors:
        rng.permutation(np.flatnonzero(~held).astype(np.int32))
    z, weighted, visits = np.zeros(model.dim), np.zeros(model.dim), 0
    for _ in range(k):
        visits, _, _ = chain_ssg.visit(
            model.chains, 0.3, rng.permutation(n).astype(np.int32), visits, z, weighted
        )
    average = 2 * n * 0.3 / (visits * (visits + 1)) * (visits * z - weighted)
    np.testing.assert_allclose(outcome.model.w, average, rtol=1e-12)


def test_a_fit_that_goes_on_and_one_on_more_threads_have_the_same_bytes(rng, tmp_path):
    data, states = chains(rng), []
    data = replace(data, weights=rng.uniform(0.2, 3.0, len(data)))
    trainer = quick(data, threads=3)
    whole = trainer.fit(None, 0.3, lambda progress, objective: states.append(trainer.state()))
    assert len(states) > 6
    for at in (0, 2, len(states) // 2, len(states) - 2, len(states) - 1):
        write_checkpoint(str(tmp_path / "ck"), {}, states[at], state_classes())
        _, state = read_checkpoint(str(tmp_path / "ck"), state_classes())
        resumed = quick(data).fit(None, 0.3, None, state)
        assert resumed.model.w.tobytes() == whole.model.w.tobytes()
        assert (resumed.primal, resumed.dual, resumed.details) == (
            whole.primal,
            whole.dual,
            whole.details,
        )
    states[2]["solver"]["visits"] += 1
    with pytest.raises(ValueError, match="visits of the state"):
        quick(data).fit(None, 0.3, None, states[2])


def test_a_limit_leaves_the_weights_whose_primal_is_stated(rng):
    data = chains(rng)
    outcome = quick(data, max_iterations=3).fit(None, 0.3)
    model, w = quick(data).plan.model, outcome.model.w
    assert outcome.stopped_by == "limit" and not outcome.done
    risk = model.weighted_sum(model.separate(w).slacks)
    assert outcome.primal == pytest.approx(0.5 * w @ w + 0.3 * risk, rel=1e-12)


def test_weights_that_are_too_long_for_c_are_shortened(rng, monkeypatch):
    data, C = chains(rng), 300.0
    outcome = quick(data).fit(None, C)
    model, w = quick(data).plan.model, outcome.model.w
    primal = {
        t: 0.5 * t * t * float(w @ w) + C * model.weighted_sum(model.separate(t * w).slacks)
        for t in (0, 0.8, 1, 1.25)
    }
    assert outcome.primal == pytest.approx(primal[1], rel=1e-12)
    assert primal[1] < min(primal[0], primal[0.8], primal[1.25])
    monkeypatch.setattr("svmcut.solvers.quick.QuickRun._shorten", lambda run, w: None)
    longer = quick(data).fit(None, C)
    assert longer.primal > primal[0] and longer.details["quick"] == outcome.details["quick"]
    X, bounds = data.X, data.indptr
    assert longer.model.tags(X, bounds).tolist() == outcome.model.tags(X, bounds).tolist()


@pytest.mark.parametrize(
    "options, message",
    [
        (
            {"solver": "bcfw"},
            "parameter 'quick' is for solver='ssg'; leave it out with solver 'bcfw'",
        ),
        ({"kernel": "rbf"}, "parameter 'quick' is for solver='ssg'"),
        ({"loss": "zero-one"}, "parameter 'quick' is for solver='ssg'"),
        ({"gap": 0.1}, "parameter 'quick' reaches for no gap"),
        ({"epsilon": 0.1}, "parameter 'quick' reaches for no gap"),
        ({"qp": "osqp"}, "parameter 'qp' has no effect beside parameter 'quick'"),
    ],
)
def test_it_is_refused_where_it_has_no_effect(rng, options, message):
    with pytest.raises(UsageError, match=message):
        quick(chains(rng, 5), **options)


def test_other_tasks_and_a_single_sequence_are_refused(rng):
    with pytest.raises(UsageError, match="parameter 'quick' has no effect on label sets"):
        driver(None, task="multilabel", quick=True)
    with pytest.raises(UsageError, match="parameter 'quick' has no effect on two classes"):
        driver(None, quick=True)
    with pytest.raises(UsageError, match="of 1 sequence"):
        quick(chains(rng, 1)).fit(None, 0.3)


def test_the_estimator_takes_it_whatever_its_tol(rng):
    data = chains(rng)
    parts = [data.X.to_dense()[a:b] for a, b in zip(data.indptr, data.indptr[1:])]
    tags = [data.tags[a:b].tolist() for a, b in zip(data.indptr, data.indptr[1:])]
    machine = ChainSVM(C=0.3, quick=True, random_state=0).fit(parts, tags)
    assert machine.solver_ == "ssg" and not machine.converged_ and machine.gap_[0] > 0
    assert machine.score(parts, tags) > 0.6


def test_chunks_decide_where_tags_say_chunks_and_the_part_held_out_gives_the_temperature(rng):
    tags = ("B-NP", "I-NP", "B-VP", "O")
    data = replace(chains(rng, 80), names=Names(tags, ()))
    trainer, steps = quick(data, seed=1), []

    def observe(progress, objective):
        if "refit" in (state := trainer.state()["solver"]) and not state["refit"]:
            steps.append(state["seen"])

    outcome = trainer.fit(None, 0.3, observe)
    told, run = outcome.details["quick"], trainer.run
    watched, w = run.watched, steps[-1]
    assert watched.n_samples == 8 and told["passes"] == len(steps) - 5
    found = run_argmax(watched.chains, w, 0)[0]
    bounds = [*zip(watched.parts, watched.parts[1:])]
    named = [[[tags[k] for k in side[a:b]] for a, b in bounds] for side in (watched.gold, found)]
    assert told["held_out_chunk_f1"] == pytest.approx(scores(*named)[0][2])
    wrong = 100 * np.mean(found != watched.gold)
    assert told["held_out_error"] == pytest.approx(wrong)

    model = ChainModel(w * run.scale, watched.shape)
    lattice = Lattice(model, watched.sequences.X, watched.parts)
    held = [HeldSequences(lattice, watched.gold, np.ones(8))]
    best = fit_temperature(held, smooth=True)
    assert outcome.model.temperature == pytest.approx(best, rel=2e-3)
    p = lattice.sums(outcome.model.temperature, marginals=True)[2]
    loss = -np.log(p[np.arange(len(p)), watched.gold]).mean()
    assert outcome.details["log_loss"] == pytest.approx(loss)


def test_the_smoothed_temperature_has_the_least_loss_by_enumeration(rng):
    K, lengths = 3, [2, 3]
    nodes, V = 4 * rng.normal(size=(5, K)), rng.normal(size=(K, K))
    w, shape = np.zeros(5 * 4 + K * 4), ChainShape(K, 5)
    w[:20].reshape(5, 4)[:, :K], w[20:].reshape(K, 4)[:, :K] = nodes, V
    X = Csr(np.ones(5, np.float32), np.arange(5, dtype=np.int32), np.arange(6), 5)
    ends = np.cumsum([0, *lengths])

    def score(a, y):
        own = sum(nodes[a + t, k] for t, k in enumerate(y))
        return own + sum(V[pair] for pair in itertools.pairwise(y))

    scores = [
        {y: score(a, y) for y in itertools.product(range(K), repeat=b - a)}
        for a, b in itertools.pairwise(ends)
    ]
    gold = [max(found, key=found.__getitem__) for found in scores]

    def loss(t):
        share, total = 1 / 7, 0.0
        for found, right in zip(scores, gold):
            values = np.array([*found.values()])
            aim = (1 - share) * found[right] + share * values.mean()
            total += np.log(np.exp(t * values).sum()) - t * aim
        return total

    lattice = Lattice(ChainModel(w, shape), X, ends)
    held = [HeldSequences(lattice, np.array([*itertools.chain(*gold)], np.int32), np.ones(2))]
    t = fit_temperature(held, smooth=True)
    assert 0.1 < t < 20 and loss(t) < min(loss(0.99 * t), loss(1.01 * t))
    assert fit_temperature(held) > 5 * t  # where the right tags are the best ones


def test_a_run_that_a_limit_ends_has_no_temperature(rng):
    assert quick(chains(rng), max_iterations=3).fit(None, 0.3).model.temperature is None


def test_the_usual_c_of_sequences_is_smaller_than_that_of_rows():
    assert resolve_settings(plain(Settings(task="sequence")), 10).example_cost == 0.1
    assert resolve_settings(plain(Settings(task="sequence", quick=True)), 10).example_cost == 0.3
    assert resolve_settings(plain(Settings()), 10).example_cost == 1.0


def test_long_sequences_are_learnt_in_pieces_and_certified_whole(rng):
    data = noisy_chains(rng, 4, [900, 3, 1100], D=6)
    model = quick(data).plan.model
    pieces = model.in_pieces(100)
    assert pieces.parts.tolist() == [*range(0, 901, 100), 903, *range(1003, 2004, 100)]
    assert pieces.gold is model.gold and model.in_pieces(1100) is model
    assert model.in_pieces(400).parts.tolist() == [0, 300, 600, 900, 903, 1269, 1636, 2003]
    weighted = ChainSequences(
        replace(data, weights=np.array([1.0, 2.0, 3.0])), model.shape
    ).in_pieces(1000)
    assert weighted.weights.tolist() == [1.0, 2.0, 3.0, 3.0]
    outcome = quick(data).fit(None, 0.3)
    w = outcome.model.w
    assert np.mean(outcome.model.tags(data.X, data.indptr) != data.tags) < 0.2
    risk = model.weighted_sum(model.separate(w).slacks)
    assert outcome.primal == pytest.approx(0.5 * w @ w + 0.3 * risk, rel=1e-12)
    best = driver(data, task="sequence", gap=1e-2).fit(None, 0.3).progress
    assert 0 <= outcome.dual <= best.primal


def test_one_long_sequence_is_enough(rng):
    data = noisy_chains(rng, 3, [500], D=6)
    assert quick(data).fit(None, 0.3).details["quick"]["held_out"] == 1
