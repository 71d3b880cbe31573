# SPDX-License-Identifier: BSD-3-Clause
"""Runs of every solver of the catalog: independent, without a trace on the solver, resumed between
any two steps."""

import copy
import functools
import itertools

import numpy as np
import pytest
from svmcut._native.kernels import KernelRows

from svmcut.base import records
from svmcut.data.examples import Csr, MultilabelExamples, Sequences, Source
from svmcut.files.checkpoints import read_checkpoint, write_checkpoint
from svmcut.models import ChainShape
from svmcut.models.kernels import Kernel
from svmcut.risks.chain import ChainRisk
from svmcut.risks.free_bias import FreeBias
from svmcut.risks.hinge import HingeRisk
from svmcut.risks.losses import (
    EpsilonInsensitiveRisk,
    LogisticRisk,
    SquaredEpsilonRisk,
    SquaredHingeRisk,
)
from svmcut.risks.multiclass import CrammerSingerRisk
from svmcut.risks.multilabel import LabelRisk
from svmcut.risks.one_vs_rest import OneVsRestRisk
from svmcut.risks.survival import SurvivalRisk
from svmcut.solvers import expansion
from svmcut.solvers.constant_cuts import SampleSpace
from svmcut.solvers.expansion import ExpansionProblem
from svmcut.solvers.one_vs_rest import OneVsRest
from svmcut.solvers.protocol import Problem, Start, StoppingRule
from svmcut.solvers.relay import Relay
from svmcut.solvers.smo import KernelProblem
from svmcut.spaces.kernel import KernelSpace
from svmcut.spaces.linear import LinearSpace
from svmcut.spaces.structures import ChainSpace, LabelSpace
from svmcut.spec.catalog import SOLVERS, TASKS, losses, solver_class
from svmcut.spec.schemas import state_classes
from svmcut.structured.chain import ChainSequences
from svmcut.structured.multilabel import LabelSets
from svmcut.structured.protocol import StructuredProblem

MOST = 24
RBF = Kernel("rbf", gamma=0.3)
RULE = StoppingRule(0.0, 1e-3)


def vectors():
    rng = np.random.default_rng(14)
    X = rng.normal(size=(90, 4)).astype(np.float32)
    return Csr.from_dense(X), np.where(
        X[:, 0] + X[:, 1] * X[:, 2] + 0.7 * rng.normal(size=90) > 0, 1.0, -1.0
    )


def hinge():
    X, y = vectors()
    return Problem(HingeRisk().bind(y), LinearSpace(X, 1.0), 10.0, StoppingRule(0.0, 1e-9))


def kernel_hinge():
    X, y = vectors()
    return Problem(HingeRisk().bind(y), KernelSpace(KernelRows(X, RBF, 1)), 1.0, StoppingRule(0.9))


def samples():
    X, y = vectors()
    return Problem(HingeRisk().bind(y), SampleSpace(KernelRows(X, RBF, 1)), 1.0, StoppingRule(4.5))


def chains():
    rng = np.random.default_rng(15)
    X = Csr.from_dense(rng.normal(size=(120, 5)).astype(np.float32))
    return ChainSequences(
        Sequences(X, np.arange(0, 121, 6), rng.integers(0, 4, 120).astype(np.int32)),
        ChainShape(4, 5),
        1,
    )


def label_sets():
    rng = np.random.default_rng(16)
    X, gold = Csr.from_dense(rng.normal(size=(50, 5)).astype(np.float32)), rng.random((50, 5)) < 0.4
    indptr = np.concatenate([[0], np.cumsum(gold.sum(axis=1))]).astype(np.int64)
    return MultilabelExamples(
        X, np.arange(5), indptr, np.nonzero(gold)[1].astype(np.int32), Source("train")
    )


def chain_cuts():
    model = chains()
    return Problem(ChainRisk(model.chains), ChainSpace(model.sequences.X, model.chains), 0.3, RULE)


def label_cuts():
    examples = label_sets()
    return Problem(LabelRisk(examples.gold(), True), LabelSpace(examples.X, 5, 10, 1.0), 0.3, RULE)


def classes(risk=CrammerSingerRisk):
    X, y = vectors()
    y = np.digitize(np.asarray(X.to_dense())[:, 0] + 0.5 * y, [-0.5, 0.5])
    return Problem(risk(y, 3), LabelSpace(X, 3, 0, 1.0), 0.3, RULE)


def rest(risk):
    return lambda: classes(functools.partial(OneVsRestRisk.of_classes, risk))


def sbp_problem():
    X, y = vectors()
    return ExpansionProblem(X, y, RBF, 1.0, np.arange(90) % 9 == 0)


def smo_problem():
    X, y = vectors()
    return KernelProblem(X, y, RBF, 10.0, 1e-6)


def summed(risk):
    X, y = vectors()
    return Problem(risk.bind(y), LinearSpace(X, 1.0), 10.0, StoppingRule(0.0, 1e-9))


def regression():
    return summed(EpsilonInsensitiveRisk())


PROBLEMS = {
    "classification": hinge,
    "error-rate": hinge,
    "squared-hinge": lambda: summed(SquaredHingeRisk()),
    "logistic": lambda: summed(LogisticRisk()),
    "epsilon-insensitive": regression,
    "squared-epsilon-insensitive": lambda: summed(SquaredEpsilonRisk()),
    "regression": regression,
    "sequence": lambda: StructuredProblem(chains(), 0.3, RULE),
    "multiclass": classes,
    "multilabel": lambda: StructuredProblem(LabelSets(label_sets(), 1.0), 0.3, RULE),
    "multiclass error-rate": rest(HingeRisk()),
    "multiclass squared-hinge": rest(SquaredHingeRisk()),
    "multiclass logistic": rest(LogisticRisk()),
}
CUTS = {
    "classification": hinge,
    "rank": hinge,
    "regression": regression,
    "survival": lambda: summed(SurvivalRisk("survival-hinge")),
    "sequence": chain_cuts,
    "multilabel": label_cuts,
    "multiclass": classes,
}
PLANS = {"smo": smo_problem, "budget": smo_problem, "steps": sbp_problem}
#: Parameters without default, and those that make a run of many steps; each is said again by a
#: newly built solver.
PARAMETERS = {
    "smo": {"seconds_between": 0.0, "max_steps": 40},
    "bsca": {"budget": 15, "epochs": 3, "seconds_between": 0.0},
    "bsgd": {"budget": 15, "epochs": 3, "seconds_between": 0.0},
    "dual-cd": {"max_epochs": 0.5},
    "sbp": {"epochs": 2},
    "pegasos": {"epochs": 2},
    "sdca": {"epochs": 2},
    "perceptron": {"epochs": 2},
}


def cases():
    """(name, task or loss) of every class of the catalog, a Relay beside those that are relayed."""
    for name, row in SOLVERS.items():
        if row.penalties[1:]:  # which a problem has
            yield from ((name, loss, False) for loss in row.losses)
            yield from ((name, f"multiclass {loss}", False) for loss in row.losses[:2])
            continue
        for loss in row.others:
            yield name, loss, False
            if loss in losses("multiclass"):
                yield name, f"multiclass {loss}", False
        for task in row.where if not isinstance(row.where, str) else row.linear or row.kernel[:1]:
            yield name, task, False
            if (
                row.plan == "cuts"
                and task in ("sequence", "multilabel")
                and name != "cutting-plane"
            ):
                yield name, task, True


def made(name, task, relayed=False):
    """A solver and its problem."""
    row, more, problem = (
        SOLVERS[name],
        {} if "multiclass" in task else PARAMETERS.get(name, {}),
        None,
    )
    task, _, loss = task.partition(" ")
    if name == "sampled-cuts":
        problem = kernel_hinge()
        more = {"sampler": problem.risk.sampler(), "r": 12, "seed": 3, "trace": True}
    elif name == "constant-cuts":
        problem = samples()
        more = {"sampler": problem.risk.sampler(), "r": 20, "p": 3, "seed": 3}
    elif name == "subspace":
        problem = kernel_hinge()
    elif row.plan in PLANS:
        problem = PLANS[row.plan]()
    elif name == "cutting-plane":
        problem = CUTS[task]()
    elif task in row.binary and not loss:
        problem = rest(HingeRisk())()
    else:
        problem = PROBLEMS[f"{task} {loss}".strip()]()
    if row.penalties[1:]:
        problem = records.replace(problem, l1=0.7, l2=0.2, stop=StoppingRule(0.0, 1e-12))
    solver = solver_class(name, task, loss or (None if task in TASKS else task))(**more)
    if loss or task in row.binary:
        return OneVsRest(solver), problem
    return (Relay(solver, CUTS[task]) if relayed else solver), problem


def essence(progress, again=False):
    """What must be the same to the last bit, the clock aside; again: and what a resumed run
    computes once more."""
    w, more = progress.solution(), {"passes": 0.0, "evaluations": None} if again else {}
    parts = [getattr(w, part) for part in ("coef", "Z", "beta") if hasattr(w, part)] or [w]
    return [np.asarray(part).tobytes() for part in parts], repr(
        progress._replace(seconds=0.0, solution=None, **more)
    )


def steps(run, most=MOST, again=False):
    return [essence(progress, again) for progress in itertools.islice(run, most)]


@pytest.fixture(autouse=True)
def many_steps(monkeypatch):
    monkeypatch.setattr(
        expansion, "PIECE_SECONDS", 0.0
    )  # a step at every visit, whatever the clock says
    monkeypatch.setattr("svmcut.solvers.relay.MAX_PASSES", 5)


CASES = list(cases())


def test_every_row_is_there():
    assert {name for name, *_ in CASES} == SOLVERS.keys()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_two_runs_of_one_solver_know_nothing_of_each_other(case):
    solver, problem = made(*case)
    parameters = copy.deepcopy(
        {name: value for name, value in vars(solver).items() if name not in ("sampler", "cuts")}
    )
    alone = steps(solver.start(problem))
    assert len(alone) > 2
    _, other = made(*case)
    first, second = iter(solver.start(problem)), iter(solver.start(other))
    next(second)
    found: tuple[list, list] = [], []
    for pair in itertools.islice(itertools.zip_longest(first, second), MOST):
        for mine, progress in zip(found, pair, strict=True):
            mine += [] if progress is None else [essence(progress)]
    assert found[0] == alone
    assert found[1][: len(alone) - 1] == alone[1:]
    assert {name: vars(solver)[name] for name in parameters} == parameters


@pytest.mark.every(3)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_run_goes_on_from_the_state_between_any_two_steps(case, tmp_path):
    solver, problem = made(*case)
    run, whole, saved = solver.start(problem), [], []
    for progress in itertools.islice(run, MOST):
        whole.append(essence(progress, True))
        saved.append(run.state())
    for at in sorted(
        {0, 1, len(saved) // 2, len(saved) - 2, len(saved) - 1} & set(range(len(saved)))
    ):
        state = saved[at]
        write_checkpoint(str(tmp_path / "ck"), {}, state, state_classes())
        _, state = read_checkpoint(str(tmp_path / "ck"), state_classes())
        again, problem = made(*case)
        found = steps(again.start(problem, state=state), len(whole) - at, True)
        # budgeted runs do not say the step again that they are resumed from, where there is another
        assert found == whole[at:] or found[: len(whole) - at - 1] == whole[at + 1 :] != [], at


@pytest.mark.parametrize(
    "case", [("gdmm", "sequence", True), ("newton", "classification")], ids=str
)
def test_a_run_that_hands_over_asks_the_qp_it_was_given(case, tmp_path, monkeypatch):
    monkeypatch.setattr("svmcut.qp.DEFAULT", "osqp")
    test_a_run_goes_on_from_the_state_between_any_two_steps(case, tmp_path)


@pytest.mark.parametrize(
    ("name", "loss"),
    [("newton", None), ("cutting-plane", None), ("cdn", "squared-hinge"), ("cdn", "error-rate")],
)
def test_a_run_with_a_free_bias_goes_on_from_the_state_between_any_two_steps(name, loss):
    X, y = vectors()
    risk = FreeBias((SquaredHingeRisk() if loss == "squared-hinge" else HingeRisk()).bind(y))
    rule, penalty = StoppingRule(0.0, 1e-6), (0.8, 0.2) if name == "cdn" else ()
    problem = Problem(risk, LinearSpace(X, 0.0), 10.0, rule, None, *penalty)
    solver = solver_class(name, loss=loss)()
    run, whole, saved = solver.start(problem), [], []
    for progress in itertools.islice(run, MOST):
        whole.append(essence(progress, True))
        saved.append(run.state())
    for at, state in enumerate(saved):
        again = solver.start(problem, state=state)
        assert steps(again, len(whole) - at, True) == whole[at:], at


@pytest.mark.parametrize("C", [1e-4, 0.01, 0.02])
def test_dual_cd_goes_on_from_the_step_where_all_alpha_are_C(C):
    solver, problem = solver_class("dual-cd")(), records.replace(hinge(), C=C)
    run, whole, saved = solver.start(problem), [], []
    for progress in run:
        whole.append(essence(progress, True))
        saved.append(run.state())
    assert saved[0]["fractions"] is None and set(saved[1]["fractions"]) == {1.0}
    for at, state in enumerate(saved):
        assert steps(solver.start(problem, state=state), again=True) == whole[at:], at


def test_smo_goes_on_in_the_memory_of_an_earlier_run_alone_where_it_is_given_one():
    solver, problem = made("smo", "classification")
    first = solver.start(problem)
    cold = steps(first)
    assert steps(solver.start(problem)) == cold
    assert steps(solver.start(problem, Start(run=first))) != cold
