# SPDX-License-Identifier: BSD-3-Clause
"""Many machines of two classes of few rows each by SMO, in one compiled loop
(csrc/kernels/smo_machines.cc).

The steps of every machine, its bias and its certificate are those of svmcut/solvers/smo.py; where
that would do more than step and form v anew, the machine is left to it. The kernel values of all
rows may be known before.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from svmcut._native.smo import MACHINE, train_machines
from svmcut.base.records import record
from svmcut.base.typing import Any, ClassVar
from svmcut.data.examples import Csr
from svmcut.models.kernels import Kernel
from svmcut.solvers.protocol import Interrupted, Progress, Run, Solver, Start, constant
from svmcut.solvers.smo import HASTY
from svmcut.spec import schemas
from svmcut.spec.schemas import Form

#: Machines of the first call; those of the next ones take about so many seconds.
FIRST_CALL, SECONDS = 16, 0.1


@record
class MachinesProblem:
    """The machines, and how many rows are on which side of each."""

    X: Csr
    kernel: Kernel
    C: float
    #: Largest violation of the KKT conditions.
    tolerance: float
    #: The largest (P - D) / P of a machine, in place of the tolerance.
    gap: float | None
    #: (n,) weights of all rows; None for 1 each.
    weights: NDArray[np.float64] | None
    #: (n, n) float64 kernel values of all rows, or None.
    values: NDArray[np.float64] | None
    #: (machines + 1,) first entry of each machine.
    starts: NDArray[np.int64]
    #: (entries,) rows of the machines, increasing in each.
    rows: NDArray[np.int64]
    #: (entries,) their sides, 1 or -1.
    sides: NDArray[np.int8]
    #: (machines,) primal values of the machines at w = 0.
    at_zero: NDArray[np.float64]


def table_of(reals: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[Any]:
    """Return (machines,) MACHINE of its two halves."""
    table = np.empty(len(reals), MACHINE)
    table.view(np.float64).reshape(-1, 8)[:, :4] = reals
    table.view(np.int64).reshape(-1, 8)[:, 4:] = counts
    return table


def form_of_machines(machines: int, entries: int) -> dict[str, schemas.Check]:
    """Return the form of `MachinesRun.results`."""
    return {
        "reals": schemas.reals(machines, 4),
        "counts": schemas.array(np.int64, machines, 4, low=-1),
        "beta": schemas.reals(entries),
    }


class MachinesRun(Run):
    """A step after some machines; `table` and `beta` have what is known of each."""

    def __init__(self, solver: SmoMachines, problem: MachinesProblem, start: Start | None):
        super().__init__(solver, problem, start)
        #: (machines,) MACHINE
        self.table = np.zeros(len(problem.starts) - 1, MACHINE)
        #: (entries,) coefficients.
        self.beta = np.zeros(len(problem.rows))
        self._next = 0

    @property
    def reals(self) -> NDArray[np.float64]:
        """(machines, 4) of `table`, to be written in place."""
        return self.table.view(np.float64).reshape(-1, 8)[:, :4]

    @property
    def counts(self) -> NDArray[np.int64]:
        """(machines, 4) of `table`, likewise."""
        return self.table.view(np.int64).reshape(-1, 8)[:, 4:]

    def form(self) -> Form:
        machines = len(self.table)
        own = form_of_machines(machines, len(self.beta))
        return {**own, "_next": schemas.count(0, machines)}

    def results(self) -> dict[str, NDArray]:
        """Return what is known of the machines, as plain arrays."""
        return {"reals": self.reals.copy(), "counts": self.counts.copy(), "beta": self.beta.copy()}

    def __iter__(self) -> Iterator[Progress]:
        began, size, machines = time.perf_counter(), FIRST_CALL, len(self.table)
        if self._next:  # of a run that goes on
            yield self._progress(began)
        while self._next < machines:
            called, last = time.perf_counter(), min(self._next + size, machines)
            try:
                self._train(slice(self._next, last))
            except KeyboardInterrupt:
                if not self._is_over.any():
                    raise
                raise Interrupted(self._progress(began)) from None
            seconds = time.perf_counter() - called
            self._next, size = last, max(1, int(size * min(8.0, SECONDS / max(seconds, 1e-9))))
            self._keep_steps()
            yield self._progress(began)

    def _keep_steps(self) -> None:
        """Leave the machine with which there are too many steps, and those behind it."""
        most = self._solver.max_steps
        if most is None:
            return
        over = np.flatnonzero(np.cumsum(self.table["iterations"]) > most)
        if len(over):
            self.table[over[0] :] = np.zeros((), MACHINE)
            self.beta[self._problem.starts[over[0]] :] = 0.0
            self._next = len(self.table)

    def _train(self, machines: slice) -> None:
        p, s, rule = self._problem, self._solver, self._rule
        starts, table = p.starts[machines.start : machines.stop + 1], self.table[machines]
        how = p.X, p.kernel, p.values, p.weights, rule, starts, p.rows, p.sides
        train_machines(*how, s.cache_mb, s.threads, self.beta, table)

    @property
    def _rule(self) -> tuple[float, float, float, int, bool]:
        p = self._problem
        gap = -1.0 if p.gap is None else p.gap
        return p.C, p.tolerance, gap, HASTY, self._solver.free_bias

    @property
    def _is_over(self) -> NDArray[np.bool_]:
        over: NDArray[np.bool_] = self.table["met"] > 0
        return over

    def _progress(self, began: float) -> Progress:
        p, over = self._problem, self._is_over
        done = self.table[over]
        primal = float(np.where(over, self.table["primal"], p.at_zero).sum())
        dual, risk = float(done["dual"].sum()), float(done["risk"].sum())
        counts = {key: int(done[key].sum()) for key in ("support", "evaluations")}
        steps = int(done["iterations"].sum())
        more: Any = {"risk": risk, "slack": risk, **counts}
        more["evaluations"] += self._solver.evaluations
        return Progress.since(began, steps, 0.0, primal, dual, constant(None), **more)


@record
class SmoMachines(Solver):
    """SMO of many machines, as they come."""

    run = MachinesRun
    patience: ClassVar[int | None] = None
    free_bias: bool = True
    #: Megabytes of kernel rows kept for a machine.
    cache_mb: float = 40.0
    threads: int = 1
    #: Kernel values that were computed before.
    evaluations: int = 0
    #: The most steps of all machines.
    max_steps: int | None = None
