# SPDX-License-Identifier: BSD-3-Clause
"""Drivers of training as the tests ask for them."""

from svmcut.risks import make_risk
from svmcut.spec.catalog import AUTO, MULTICLASS, SOLVERS, TASKS
from svmcut.spec.parameters import Settings
from svmcut.training.driver import make_driver


def driver(data, **parameters):
    """On one thread unless the parameters say otherwise; the C is that of every fit."""
    task = parameters.get("task", "classification")
    return make_driver(Settings(**{**cost_of(task, 1.0), "threads": 1, **parameters}), data)


def cost_of(task, value, name="cost"):
    """C as a parameter, of a task that has one."""
    return {name: value} if TASKS[task].has_cost else {}


def risk_of(loss, **parameters):
    """The risk of a loss, with these parameters."""
    return make_risk(Settings(loss=loss, **parameters))


def way_of(task, solver, kernel="linear"):
    """The parameters that a solver of two classes needs where there are more or several labels, or
    one of all at once, or one that does not know the task's first loss."""
    if solver != AUTO and kernel != "linear" and task in SOLVERS[solver].joint:
        return {"multiclass": MULTICLASS[0]}
    alone = {"multiclass": {"multiclass": MULTICLASS[1]}, "multilabel": {"pairs": "none"}}
    if solver == AUTO:
        return {}
    row, found = SOLVERS[solver], {}
    if row.losses is not None and TASKS[task].loss not in row.losses:
        found["loss"] = next(loss.name for loss in TASKS[task].losses if loss.name in row.losses)
    return found | (alone[task] if task in row.binary else {})


def kernel_parameters(kernel):
    """A svmcut.models.kernels.Kernel as parameters."""
    return {
        "kernel": kernel.name,
        "degree": kernel.degree,
        "gamma": kernel.gamma,
        "scale_kernel": kernel.scale,
        "coef0": kernel.offset,
    }
