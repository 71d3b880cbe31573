# SPDX-License-Identifier: BSD-3-Clause
"""The whole product of the catalog: trained to its certificate or refused with a remedy, by Python and shell alike."""

import itertools
import random
import re
from pathlib import Path

import click
import numpy as np
import pytest

import svmcut
from svmcut import refusals
from svmcut.catalog import AUTO, KERNELS, RESCALINGS, SOLVERS, TASKS, losses, solvers
from svmcut.cli import option_checks
from svmcut.cli.main import options_of
from svmcut.errors import UsageError
from svmcut.parameters import DEFAULTS, Settings

ROOT = Path(__file__).resolve().parent.parent.parent
#: What ends a message that refuses: something to do.
REMEDY = re.compile(r"\b(use|give|add|leave out|leave one|leave it|leave those|expected|lower|did you mean)\b")
OPTION = re.compile(r"(^|[\s(\"'])--?[a-zA-Z]")


def product():
    """Every task, loss, solver, kernel, rescaling and norm; solvers of other tasks once."""
    for task in TASKS:
        for loss, solver in itertools.product(losses(task), (AUTO, *SOLVERS)):
            known = solver == AUTO or solver in solvers(task)
            variants = itertools.product(KERNELS, RESCALINGS, (1, 2)) if known else [("rbf", "margin", 1)]
            for kernel, rescaling, norm in variants:
                yield {"task": task, "loss": loss, "solver": solver, "kernel": kernel, "rescaling": rescaling,
                       "slack_norm": norm}  # fmt: skip


PRODUCT = list(product())


def refusal(check, *parts):
    """What a refusal says; None where there is none."""
    try:
        check(*parts)
    except UsageError as error:
        return str(error)
    except click.ClickException as error:
        return error.format_message()
    return None


def from_python(case):
    return refusal(refusals.check, Settings(**case, cost=1.0, threads=1))


def from_shell(case):
    """The verdict of a command line, before anything is read."""
    task = case["task"]
    words = ["rank"] if task == "rank" else ["learn", "--task", task]
    flags = {"loss": "-l", "solver": "--solver", "kernel": "-t", "rescaling": "-o", "slack_norm": "-p"}
    for name, flag in flags.items():
        if case[name] not in (DEFAULTS[name], AUTO):
            words += [flag, str(case[name])]
    return refusal(lambda: option_checks.check(options_of([*words, "-c", "1", "train"])))


def test_python_and_the_shell_agree_and_every_refusal_names_a_remedy():
    assert 2000 < len(PRODUCT) < 3000
    refused = 0
    for case in PRODUCT:
        here, there = from_python(case), from_shell(case)
        assert (here is None) == (there is None), (case, here, there)
        if here is not None:
            refused += 1
            assert REMEDY.search(here), here
            assert not OPTION.search(here), here
    assert 0.2 < refused / len(PRODUCT) < 0.9


def data(task):
    """Few examples that no model fits without error."""
    rng = np.random.default_rng(5)
    n = {"sequence": 24, "rank": 30}.get(task, 40)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    X /= np.sqrt((X**2).sum(axis=1, keepdims=True))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1, -1)
    if task == "multilabel":
        return X, X[:, :3] + 0.3 * rng.normal(size=(n, 3)) > 0
    if task == "classification":
        return X, y
    qid = np.arange(n) // 4
    return (X, (y > 0) + 1, qid) if task == "sequence" else (X, np.round(2 * X[:, 0] + rng.normal(size=n)), qid)


def trained(case):
    """Trains one accepted case of the product."""
    row = SOLVERS.get(case["solver"])
    limits = {} if row is not None and (row.steps or row.name == "smo") else {"gap": 0.05}
    if row is not None and "epochs" in row.takes:
        limits["epochs"] = 5.0
    if case["kernel"] in ("polynomial", "sigmoid"):
        limits |= {"degree": 2, "scale_kernel": 0.1, "coef0": 0.0}
    return svmcut.train(data(case["task"]), cost=0.5, threads=1, **case, **limits)


def check_certificate(case):
    """The gap that was asked for, or the end of a solver that promises none."""
    outcome, row = trained(case), SOLVERS.get(case["solver"])
    assert outcome.solver == case["solver"] or row is None
    assert np.isfinite(outcome.primal), case
    if case["kernel"] == "sigmoid":  # need not be positive semidefinite
        return
    assert outcome.done and outcome.gap >= -1e-6 * outcome.primal, case
    if outcome.converged:
        assert outcome.gap <= 0.05 * outcome.primal * (1 + 1e-9), case
    else:
        assert row is not None and (row.steps or row.plan == "budget" or row.drawn), case


ACCEPTED = [case for case in PRODUCT if from_python(case) is None]
SHARE = random.Random(3).sample(ACCEPTED, 40)


def test_what_is_accepted_trains():
    for case in SHARE:
        check_certificate(case)


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_all_that_is_accepted_trains(task):
    for case in ACCEPTED:
        if case["task"] == task:
            check_certificate(case)
