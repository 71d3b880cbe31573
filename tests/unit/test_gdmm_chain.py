# SPDX-License-Identifier: BSD-3-Clause
"""GDMM on chains: the search of pairs against all pairs, the certificate against the optimum of
another trainer."""

from pathlib import Path

import numpy as np
import pytest

from svmcut._native import gdmm_chain
from svmcut.data.examples import Csr, Sequences
from svmcut.files.sequences import read_sequences
from svmcut.models import ChainShape
from svmcut.solvers.auto import choose_chain
from svmcut.solvers.bcfw import Bcfw, SoftBcfw
from svmcut.solvers.gdmm import ChainFactors, Gdmm
from svmcut.solvers.protocol import Interrupted, StoppingRule
from svmcut.structured.chain import ChainSequences
from svmcut.structured.protocol import StructuredProblem

TAGS = Path(__file__).resolve().parents[2] / "data" / "tags.train"


def sequences_of(rng, K=6, n=14, d=9):
    lengths = rng.integers(1, 7, n)
    tokens = int(lengths.sum())
    tags = rng.integers(0, K, tokens).astype(np.int32)
    X = np.eye(K, d)[tags] + (rng.random((tokens, d)) < 0.3)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Sequences(Csr.from_dense(X), indptr, tags)


def problem_of(rng, C=0.5, gap=1e-3, **shape):
    sequences = sequences_of(rng, **shape)
    K = int(sequences.tags.max()) + 1
    return StructuredProblem(ChainSequences(sequences, ChainShape(K, 9)), C, StoppingRule(0.0, gap))


@pytest.mark.parametrize("filling", [0.1, 0.6, 1.0])
def test_the_ordered_search_finds_the_best_of_all_pairs(rng, filling):
    for _ in range(150):
        K = int(rng.integers(2, 12))
        V = rng.normal(size=(K, K)) * (rng.random((K, K)) < filling)
        V -= rng.choice([0, 3]) * (V != 0)
        a, b = (rng.normal(size=K) * (rng.random(K) < 0.3) for _ in range(2))
        gold, rho = rng.integers(0, K, 2), float(rng.choice([0.1, 1.0, 4.0]))
        values = V + rho * (a[:, None] + b)
        values[tuple(gold)] = -np.inf
        for brute in (False, True):
            left, right, value = gdmm_chain.pair_max(V, a, b, rho, gold, brute)
            assert (left, right) != tuple(gold)
            assert value == pytest.approx(values.max(), abs=1e-12)
            assert values[left, right] == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("C", [0.1, 1.0])
def test_gdmm_and_bcfw_reach_one_certified_optimum(rng, C):
    problem = problem_of(rng, C)
    *_, other = Bcfw().start(problem)
    for progress in Gdmm().start(problem):
        assert progress.dual <= other.primal * (1 + 1e-9)
        assert progress.primal >= other.dual * (1 - 1e-9)
    assert progress.gap <= 1e-3 * progress.primal
    w = progress.solution()
    assert 0.5 * w @ w + C * problem.model.separate(w).slacks.sum() == pytest.approx(
        progress.primal
    )


@pytest.mark.parametrize("rho", [0.05, 1.0, 20.0])
def test_every_iterate_repairs_below_the_optimum(rng, rho):
    problem = problem_of(rng, 1.0, 1e-4)
    *_, best = Bcfw().start(problem)
    w = np.zeros(problem.model.dim)
    descent = gdmm_chain.Gdmm(problem.model.chains, w, 1.0, rho, 1, True, 0)
    for _ in range(30):
        descent.run()
        V2, linear, _, _ = descent.repair()
        emissions = w[: len(w) - len(V2)]
        assert linear - 0.5 * (emissions @ emissions + V2 @ V2) <= best.primal * (1 + 1e-12)


def test_both_searches_and_parts_of_the_tags_lead_to_the_same_place(rng):
    problem = problem_of(rng, 0.5, 1e-4)
    *_, best = Bcfw().start(problem)
    weights = []
    for parts, brute in ((1, True), (1, False), (3, False)):
        w = np.zeros(problem.model.dim)
        descent = gdmm_chain.Gdmm(problem.model.chains, w, 0.5, 1.5, parts, brute, 0)
        for _ in range(400):
            descent.run()
        assert 0.5 * w @ w + 0.5 * problem.model.separate(w).slacks.sum() == pytest.approx(
            best.primal, rel=2e-3
        )
        weights.append(w)
    np.testing.assert_allclose(weights[0], weights[1], atol=1e-6)


def test_soft_agreement_nears_the_optimum_as_rho_grows(rng):
    problem = problem_of(rng, 1.0, 1e-4)
    *_, best = Bcfw().start(problem)
    primals = []
    for rho in (0.3, 30.0):
        for progress in SoftBcfw(rho=rho).start(problem):
            assert progress.dual <= best.primal * (1 + 1e-9)
            if progress.iteration > 3000:
                break
        primals.append(progress.primal)
    assert best.dual <= primals[1] <= 1.02 * best.primal < primals[0]


def test_the_seed_decides_the_bytes(rng):
    problem = problem_of(rng, 1.0, 1e-2)
    runs = []
    for _ in range(2):
        *_, last = Gdmm(seed=9).start(problem)
        runs.append(last.solution().tobytes())
    assert runs[0] == runs[1]


def test_one_tag_and_one_token_are_no_trouble(rng):
    one = Sequences(
        Csr.from_dense(rng.normal(size=(3, 9))), np.array([0, 1, 3]), np.zeros(3, np.int32)
    )
    problem = StructuredProblem(ChainSequences(one, ChainShape(1, 9)), 1.0, StoppingRule(0.0, 1e-3))
    *_, last = Gdmm().start(problem)
    assert last.primal == last.dual == 0


def passes_per_decade(looks):
    """Passes from a relative gap of 10^-k to 10^-(k+1), k = 1 to 4, of (passes, gap); gaps are the
    least so far."""
    marks, least = [], np.inf
    for passes, gap in looks:
        least = min(least, gap)
        while len(marks) < 5 and least <= 10.0 ** -(len(marks) + 1):
            marks.append(passes)
    return np.diff(marks)


def is_linear(passes):
    """Whether the third and fourth decade take no more than three times the passes of the first and
    second."""
    assert len(passes) == 4
    return passes[2:].sum() <= 3 * passes[:2].sum()


def test_sublinear_curves_are_not_linear():
    passes = np.arange(1.0, 3e5, 3)
    assert is_linear(passes_per_decade(zip(passes, 0.9**passes, strict=True)))
    assert not is_linear(passes_per_decade(zip(passes, 2 / passes, strict=True)))
    assert not is_linear(passes_per_decade(zip(passes, 2 / passes**2, strict=True)))


@pytest.mark.parametrize(("data", "C"), [("tags", 0.1), ("generated", 1.0)])
def test_the_rate_is_linear(rng, data, C):
    problem = problem_of(rng, C, 1e-5)
    if data == "tags":
        sequences = read_sequences(str(TAGS)).part(0, 60)
        shape = ChainShape(int(sequences.tags.max()) + 1, sequences.X.n_features)
        problem = StructuredProblem(ChainSequences(sequences, shape), C, StoppingRule(0.0, 1e-5))
    run = Gdmm().start(problem)
    passes = passes_per_decade(
        (progress.passes, progress.gap / progress.primal) for progress in run
    )
    assert is_linear(passes), passes


def test_the_first_looks_are_early_and_the_later_as_far_apart_as_they_are_dear(rng):
    sequences = sequences_of(rng, K=6)
    model = ChainSequences(sequences, ChainShape(1000, 9))
    factors, at = ChainFactors(model, 1.0, 0), [0]
    while at[-1] < 200:
        at.append(factors.due(at[-1]))
    assert at == [0, 1, 2, 4, 8, 16, 32, 64, 115, 166, 217]


def test_of_many_tags_only_the_weights_of_few_transitions_are_decoded(rng, monkeypatch):
    sequences = sequences_of(rng, K=70, n=300)
    model = ChainSequences(sequences, ChainShape(70, 9))
    factors = ChainFactors(model, 1.0, 0)
    factors.run()
    monkeypatch.setattr("svmcut.solvers.gdmm.FILLED", 0.0)
    _, found = factors.look()
    transitions = factors._descent.repair()[0]
    more = np.count_nonzero(transitions) > np.count_nonzero(factors.w[-len(transitions) :])
    assert more and len(found) == 1
    monkeypatch.setattr("svmcut.solvers.gdmm.FILLED", 1.0)
    (primal, _), (other, weights) = factors.look()[1]
    assert primal == found[0][0]
    np.testing.assert_array_equal(weights()[-len(transitions) :], transitions)
    assert other == pytest.approx(factors.primal(weights()))


@pytest.mark.parametrize("solver", [Gdmm, Bcfw])
def test_a_run_that_ends_before_its_first_look_has_a_model(rng, solver, monkeypatch):
    problem = problem_of(rng, 1.0)
    kind = {Gdmm: "gdmm.ChainFactors.primal", Bcfw: "bcfw.BcfwRun._look"}[solver]
    module, name = f"svmcut.solvers.{kind}".rsplit(".", 1)
    run, calls = solver().start(problem), []
    steps = iter(run)
    assert not next(steps).solution().any()
    owner = type(run) if solver is Bcfw else type(run._factors)
    whole = getattr(owner, name)

    def ended(self, w):
        calls.append(w)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return whole(self, w)

    monkeypatch.setattr(f"{module}.{name}", ended)
    with pytest.raises(Interrupted) as end:
        next(steps)
    last, model = end.value.progress, problem.model
    w = last.solution()
    assert model.is_model(w) and not model.is_model(np.zeros(model.dim))
    risk = model.weighted_sum(model.separate(w).slacks)
    assert last.primal == pytest.approx(0.5 * w @ w + risk)
    assert 0 <= last.dual <= last.primal


@pytest.mark.parametrize(
    ("shape", "chosen"),
    [
        ((299, 20.0), "bcfw"),
        ((300, 20.0), "gdmm"),
        ((20, 2000.0), "bcfw"),
        ((20, 50_000.0), "gdmm"),
    ],
)
def test_many_tags_and_long_sequences_are_trained_factor_by_factor(shape, chosen):
    assert choose_chain(*shape, True) == chosen
    assert choose_chain(*shape, False) == "bcfw"
