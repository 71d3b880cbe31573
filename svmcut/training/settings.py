# SPDX-License-Identifier: BSD-3-Clause
"""Settings in which every choice is made that was left to the task, the kernel, the solver or the
size of the data."""

from __future__ import annotations

from svmcut.base.records import replace
from svmcut.models.kernels import Kernel
from svmcut.spec.catalog import (
    AUTO,
    CUTTING_PLANE,
    KERNELS,
    MULTICLASS,
    SMO,
    SOLVERS,
    SUBSPACE,
    TASKS,
    losses,
)
from svmcut.spec.parameters import CERTIFIED_ROWS, EPSILON, KKT_TOLERANCE, Settings
from svmcut.spec.refusals import plain
from svmcut.spec.trainers import chosen_solver

#: Rows up to which "auto" takes smo, and exact cutting planes, whose Gram matrix has n^2 values.
SMO_ROWS, GRAM_ROWS = 50_000, 10_000
#: Relative gap of nu machines where nothing is said.
NU_GAP = 1e-3
#: nu of one class where none is given.
NU = 0.5
_BIAS = 1.0


def resolve_settings(settings: Settings, n: int, time_limit: float | None = None) -> Settings:
    """Return checked settings for n rows or tokens with every default in its place; "auto" where C
    or memory decides.

    `time_limit` takes the place of the one there; it is 0 where it was over before the run.
    """
    s, named = plain(settings), chosen_solver(settings)
    solver = _solver_for(s, named, n)
    row = SOLVERS.get(solver)
    s = _with_bias(_with_stopping_rule(s, solver), named, solver)
    return replace(
        s,
        solver=solver,
        polish=bool(row and row.polished) if s.polish is None else s.polish,
        epochs=row.defaults.get("epochs") if row and s.epochs is None else s.epochs,
        multiclass=s.multiclass or MULTICLASS[-1 if s.has_kernel else 0],
        maintenance=s.maintenance or KERNELS[s.kernel].maintenance[0],
        certify=n < CERTIFIED_ROWS if s.certify is None else s.certify,
        time_limit=s.time_limit if time_limit is None else time_limit,
    )


def _solver_for(s: Settings, named: str, n: int) -> str:
    if not s.has_kernel or s.is_joint or s.task not in SOLVERS[SUBSPACE].kernel:
        return named
    exact = s.task in SOLVERS[SMO].kernel and s.is_usual
    return choose_kernel_solver(named, n, exact, s.free_bias, s.is_definite or s.original)


def _with_stopping_rule(s: Settings, solver: str) -> Settings:
    task, loss = TASKS[s.task], losses(s.task)[s.loss or ""]
    has_rule = s.gap is not None or s.epsilon is not None
    gap = s.gap
    if not (has_rule or s.original or (s.cost is not None and task.original is not None)):
        gap = task.gap
    elif s.is_nu and not has_rule:
        gap = NU_GAP
    usual = task.defaults.get("epsilon", KKT_TOLERANCE if solver == SMO else EPSILON)
    epsilon = (loss.epsilon or usual) if s.epsilon is None else s.epsilon
    return replace(s, gap=gap, epsilon=epsilon)


def _with_bias(s: Settings, named: str, solver: str) -> Settings:
    task, free = TASKS[s.task], s.free_bias
    if s.is_nu:
        s, free = replace(s, nu=NU if s.nu is None else s.nu), True
    elif free is None:  # "auto" is without where it has the objective of svm_perf
        row = SOLVERS.get(solver if task.original is None else named)
        free = row is not None and bool(row.free_bias)
    usual = _BIAS if "bias" in task.takes and not (s.has_kernel or free) else 0.0
    return replace(s, free_bias=free, bias=usual if s.bias is None else s.bias)


def kernel_of(settings: Settings) -> Kernel:
    """The kernel with all its parameters, as a model file holds it."""
    s = settings
    text = s.kernel if KERNELS[s.kernel].given else s.u
    return Kernel(s.kernel, s.degree, s.gamma, s.scale_kernel, s.coef0, text)


def choose_kernel_solver(
    solver: str, n: int, exact: bool, free_bias: bool | None = None, definite: bool = True
) -> str:
    """The solver that "auto" stands for with a kernel on n rows: exact while n allows it, a
    subspace beyond; another solver is returned as it is.

    `exact` tells whether smo trains for the risk; a free bias leaves smo only. Where the kernel is
    not `definite`, smo and a subspace are left, whose problem is convex where that of all functions
    need not be. On a 4x4 checkerboard and on adult the subspace of 500 points certified a gap of
    0.3 and 0.7 % in less time than the sampled cuts took to choose their points for the polish, and
    ended no higher; so the sampled cuts are never chosen.
    """
    if solver != AUTO:
        return solver
    if exact and (n <= SMO_ROWS or free_bias):
        return SMO
    return CUTTING_PLANE if n <= GRAM_ROWS and definite else SUBSPACE
