# SPDX-License-Identifier: BSD-3-Clause
"""Trainers asked for without the command line: tolerances, losses they cannot honour, what a
checkpoint keeps."""

import copy
import pickle

import numpy as np
import pytest
from drivers import driver
from reference.chain import noisy_chains

from svmcut.base.errors import MemoryLimitError, UsageError
from svmcut.base.records import replace
from svmcut.data.examples import Csr, Examples, MultilabelExamples, Source
from svmcut.files.checkpoints import read_checkpoint, write_checkpoint
from svmcut.spec.schemas import StateError, state_classes
from svmcut.training.steps import StepPlan


def examples(rng, n=12, queries=False):
    X = Csr.from_dense(rng.standard_normal((n, 3)))
    y = np.where(np.arange(n) % 2 > 0, 1.0, -1.0)
    return Examples(X, y, np.repeat([1, 2], n // 2) if queries else None, None, Source("train.dat"))


def test_no_epsilon_stands_for_the_custom_of_sequences(rng):
    trainer = driver(noisy_chains(rng, 3, [2, 3, 4]), task="sequence", epsilon=None)
    assert trainer.plan.units.epsilon == 0.1


def test_no_epsilon_stands_for_the_custom_of_label_sets(rng):
    X = Csr.from_dense(rng.standard_normal((4, 3)))
    names, indptr = np.array([3, 7]), np.array([0, 1, 2, 3, 4])
    sets = MultilabelExamples(
        X, names, indptr, np.array([0, 1, 0, 1], np.int32), Source("train.ml")
    )
    assert driver(sets, task="multilabel", epsilon=None).plan.units.epsilon == 0.1


def test_a_loss_that_does_not_rank_is_refused(rng):
    with pytest.raises(
        UsageError, match=r"'f1' is not for rankings; expected one of swapped-pairs"
    ):
        driver(examples(rng, queries=True), task="rank", loss="f1")


@pytest.mark.parametrize("solver", ["bsca", "sampled-cuts", "constant-cuts"])
def test_kernel_solvers_of_sums_refuse_other_losses(rng, solver):
    with pytest.raises(UsageError, match=rf"'{solver}'.*use solver='cutting-plane' or 'subspace'"):
        driver(examples(rng), loss="f1", kernel="rbf", solver=solver)


def test_a_checkpoint_keeps_an_outcome_without_its_solution(rng, tmp_path):
    outcome = driver(examples(rng)).fit(1.0, None)
    path = str(tmp_path / "state")
    write_checkpoint(path, {}, outcome.portable(), state_classes())
    _, found = read_checkpoint(path, state_classes())
    assert found.primal == outcome.primal
    assert found.model.w.tobytes() == outcome.model.w.tobytes()
    with pytest.raises(RuntimeError, match="keeps no solutions"):
        found.progress.solution()


def test_an_outcome_is_pickled_whole(rng):
    for parameters in ({}, {"kernel": "rbf", "solver": "smo"}, {"loss": "f1"}):
        outcome = driver(examples(rng), **parameters).fit(1.0, None)
        found = pickle.loads(pickle.dumps(outcome))
        assert (found.primal, found.dual, found.converged) == (
            outcome.primal,
            outcome.dual,
            outcome.converged,
        )
        assert (found.objective, found.solver) == (outcome.objective, outcome.solver)
        assert found.model.scores(examples(rng).X).shape == (12,)


def states_of(trainer):
    """Where the fit stood at every look."""
    states = []
    trainer.fit(1.0, None, lambda progress, objective: states.append(trainer.state()))
    return states


@pytest.mark.parametrize(
    "known",
    [
        {"kernel": "rbf", "solver": "smo"},
        {"kernel": "rbf", "loss": "f1"},
        {"solver": "dual-cd"},
        {"loss": "f1"},
    ],
    ids=str,
)
def test_a_resumed_fit_takes_nothing_from_the_fits_before_it(rng, known):
    data = examples(rng, 40)
    state, fresh, later = (
        states_of(driver(data, **known))[0],
        driver(data, **known),
        driver(data, **known),
    )
    later.fit(5.0, None)
    one, other = (trainer.fit(1.0, None, None, copy.deepcopy(state)) for trainer in (fresh, later))
    assert pickle.dumps(one.model) == pickle.dumps(other.model)
    assert (one.primal, one.dual, one.progress.iteration) == (
        other.primal,
        other.dual,
        other.progress.iteration,
    )
    if known.get("solver") == "smo":
        assert one.kernel_evaluations == other.kernel_evaluations


@pytest.mark.parametrize("wrong", [{"within": (0.1,)}, {"within": ("0.1", None)}, {"within": None}])
def test_a_certified_run_goes_on_from_no_other_rule(rng, wrong):
    data, known = examples(rng, 40), {"kernel": "rbf", "loss": "f1"}
    state = states_of(driver(data, **known))[0]
    with pytest.raises(StateError, match="within"):
        driver(data, **known).fit(1.0, None, None, state | {"solver": state["solver"] | wrong})


def test_a_state_of_another_stage_is_refused(rng):
    data = examples(rng, 40)
    state = states_of(driver(data, solver="newton"))[0]
    for wrong, message in (
        ({"stage": "dual-cd"}, r"state\.stage is dual-cd"),
        ({"found": {}}, "found do not fit"),
    ):
        with pytest.raises(StateError, match=message):
            driver(data, solver="newton").fit(1.0, None, None, state | wrong)
    del state["found"]
    with pytest.raises(StateError, match="state has no found"):
        driver(data, solver="newton").fit(1.0, None, None, state)


@pytest.mark.parametrize(
    "solver", ["sampled-cuts", "constant-cuts", "sbp", "pegasos", "bsca", "bsgd"]
)
def test_what_a_first_stage_found_is_checked(rng, solver):
    """The polish goes on from plain values, and takes none that no first stage leaves."""
    known = {"kernel": "rbf", "solver": solver, "epsilon": 1e-3} | (
        {"free_bias": False} if solver == "sbp" else {}
    )
    if solver in ("sbp", "pegasos"):
        del known["epsilon"]
        known["polish"] = True
    data = examples(rng, 60)
    make = lambda: driver(data, **known)  # noqa: E731
    first, *_, last = states_of(make())
    assert (first["stage"], first["found"], last["stage"]) == (solver, None, "polish")
    make().fit(1.0, None, None, last)
    found = last["found"]
    wrong = [{"evaluations": -1}, {"evaluations": None}]
    if "model" in found:
        model = found["model"]
        wider = replace(model, support=replace(model.support, n_features=4))
        wrong += [
            {"model": wider},
            {"model": replace(model, alpha=model.alpha[1:])},
            {"model": None},
        ]
    else:
        points = found["points"]
        wrong += [
            {"points": points[::-1].copy()},
            {"points": points[1:]},
            {"points": points + 60},
            {"coef": None},
        ]
    for values in wrong:
        with pytest.raises(StateError, match=r"found|model"):
            make().fit(1.0, None, None, last | {"found": found | values})
    with pytest.raises(StateError, match=r"state\.stage"):
        make().fit(1.0, None, None, last | {"found": None})


def test_a_span_without_memory_names_the_file(rng, monkeypatch):
    """Its points are laid out between two stages, where no solver runs."""

    def full(self, objective, found):
        raise MemoryError("no room for the span")

    monkeypatch.setattr(StepPlan, "span", full)
    trainer = driver(examples(rng), kernel="rbf", solver="pegasos", polish=True)
    with pytest.raises(MemoryLimitError, match=r"^train\.dat: no room for the span"):
        trainer.fit(1.0, None)


def test_without_a_line_search_every_cut_is_at_the_minimiser_of_the_model(rng):
    X = rng.normal(size=(200, 8)).astype(np.float32)
    y = np.where(X[:, 0] + rng.normal(size=200) > 0, 1.0, -1.0)
    data, runs = Examples(Csr.from_dense(X), y, None, None, Source("train")), {}
    for line_search in (None, False):
        seen = []
        trainer = driver(data, solver="cutting-plane", line_search=line_search, gap=1e-3)
        outcome = trainer.fit(
            10.0, None, lambda *_, to=(seen, trainer): to[0].append(to[1].state())
        )
        assert outcome.converged
        runs[line_search] = outcome.progress, seen
    assert (
        runs[False][0].dual <= runs[None][0].primal and runs[None][0].dual <= runs[False][0].primal
    )
    assert runs[False][0].iteration > 1.5 * runs[None][0].iteration
    resumed = driver(data, solver="cutting-plane", line_search=False, gap=1e-3).fit(
        10.0, None, None, runs[False][1][5]
    )
    assert resumed.progress.solution().tobytes() == runs[False][0].solution().tobytes()
