# SPDX-License-Identifier: BSD-3-Clause
"""Machines of classes on kernel values as the compiled loop leaves them
(svmcut/solvers/smo_machines.py), judged all at once by the rules of the gate.

A machine that needs more than a look at numbers, as its file may have digits that matter, is not
judged but trained anew by its own plan.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from svmcut._native.kernels import KernelRows
from svmcut._native.smo import EXACT_POINTS, MACHINE
from svmcut.base.messages import Message
from svmcut.base.records import record, replace
from svmcut.base.typing import Any, NamedTuple
from svmcut.data.examples import Csr
from svmcut.formats.rounding import most_change_in_file, read_back_number
from svmcut.models.kernels import Kernel
from svmcut.risks.hinge import BoundHinge
from svmcut.solvers.compose import Others
from svmcut.solvers.smo_machines import MachinesProblem, table_of
from svmcut.spaces.kernel import ROUNDED
from svmcut.spec.catalog import PLANS, SOLVERS
from svmcut.spec.parameters import Settings
from svmcut.training.fallback import RELATIVE_TOLERANCE
from svmcut.training.gate import (
    DIGITS_TOLERANCE,
    DUAL_TOLERANCE,
    WEAK_CERTIFICATE,
    WEAK_DUAL,
    is_in_memory,
    sum_rounding,
)
from svmcut.training.outcome import ROUNDED as ROUNDED_GAP
from svmcut.training.outcome import Outcome
from svmcut.training.settings import SMO, kernel_of

#: Rows whose K(x, x) are computed at once.
_BLOCK = 1024


class Machine(NamedTuple):
    """One machine of many, trained and judged."""

    primal: float
    dual: float
    converged: bool
    stopped_by: str | None
    iterations: int
    b: float
    alpha: NDArray[np.float64]
    multipliers: NDArray[np.float64]
    norm: float
    longest_cut: float
    sums: float
    radius: float
    primal_of_file: float | None = None
    warnings: tuple[str, ...] = ()
    #: What its own plan made of it; None of a machine of the compiled loop.
    outcome: Outcome | None = None


def is_compiled(s: Settings, risk: Any, largest: int) -> bool:
    """Decide if the compiled loop trains machines of these settings, the largest of so many
    rows."""
    return (
        largest <= EXACT_POINTS
        and PLANS[SOLVERS[s.solver].plan] == PLANS[SOLVERS[SMO].plan]
        and isinstance(risk, BoundHinge)
        and not (s.is_given or s.is_nu or s.keep_multipliers)
        and s.initial is None
        and kernel_of(s).is_definite
    )


def rows_of_machines(
    y: NDArray[np.intp], machines: Sequence[tuple[int, int | None]], paired: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int8]]:
    """First entry of each machine, rows of all and their sides: of class k against another, or all
    others."""
    n, K = len(y), int(y.max()) + 1
    if not paired:
        sides = np.where(y == np.arange(len(machines))[:, None], 1, -1).astype(np.int8)
        return np.arange(len(machines) + 1) * n, np.tile(np.arange(n), len(machines)), sides.ravel()
    number = np.zeros((K, K), np.int64)
    first, second = np.triu_indices(K, 1)
    number[first, second] = number[second, first] = np.arange(len(machines))
    others = np.arange(K - 1) + (np.arange(K - 1) >= np.arange(K)[:, None])  # (K, K - 1)
    of, rows = number[y[:, None], others[y]].ravel(), np.repeat(np.arange(n), K - 1)
    order = np.argsort(of.astype(np.min_scalar_type(len(machines))), kind="stable")
    rows = rows[order]
    sides = np.where(y[rows] == first[of[order]], 1, -1).astype(np.int8)
    return np.searchsorted(of[order], np.arange(len(machines) + 1)), rows, sides


def roots_of(X: Csr, kernel: Kernel) -> NDArray[np.float64]:
    """sqrt(K(x, x)) of all rows."""
    if kernel.row.of_distances:
        return np.ones(X.n_rows)
    starts = range(0, X.n_rows, _BLOCK)
    blocks = [X.rows(k, min(k + _BLOCK, X.n_rows)) for k in starts]
    own = np.concatenate([KernelRows(block, kernel).diagonal for block in blocks])
    return np.sqrt(np.abs(own))


@record(eq=False)
class CompiledMachines:
    """Machines as the compiled loop left them, and which of them stand."""

    problem: MachinesProblem
    table: NDArray[Any]
    beta: NDArray[np.float64]
    settings: Settings
    #: (machines,) sums of weights of both sides.
    weights: NDArray[np.float64]
    #: Whether each machine is judged, and holds.
    stands: NDArray[np.bool_]
    #: (machines,) rounding of the sums.
    sums: NDArray[np.float64]

    @classmethod
    def judge(
        cls,
        problem: MachinesProblem,
        table: NDArray[Any],
        beta: NDArray[np.float64],
        settings: Settings,
    ) -> CompiledMachines:
        """Judge every machine as svmcut.training.gate does."""
        p, first = problem, problem.starts[:-1]
        size, root = np.abs(beta), roots_of(p.X, p.kernel)[p.rows]
        v = np.ones(len(p.rows)) if p.weights is None else p.weights[p.rows]
        weights = np.add.reduceat(v, first)
        plus = np.add.reduceat(np.where(p.sides > 0, v, 0.0), first)
        primal, dual = table["primal"], table["dual"]
        scaled, sizes = np.add.reduceat(size * root, first), np.add.reduceat(size, first)
        target = _targets(p, weights, primal)
        room = DIGITS_TOLERANCE * np.abs(target)
        longest, steep = np.maximum.reduceat(root, first), p.C * weights
        sums = _sum_rounding(p, scaled * (scaled + steep * longest), primal)
        change = np.zeros(len(table))
        if not is_in_memory():
            b = 0.0 - table["b"]
            change = np.abs(np.array([*map(read_back_number, b.tolist())]) - b) * steep
            if settings.original:
                each = sizes * most_change_in_file(p.X, p.kernel)
                change = change + each * (sizes + steep)
        stands = (
            (table["met"] > 0)
            & (0.5 * ROUNDED * scaled**2 <= DUAL_TOLERANCE * np.abs(primal))
            & (change + sums <= room)
            & (dual <= primal + DUAL_TOLERANCE * np.abs(primal))
            & (primal - dual <= target)
        )
        if not settings.original:
            free = 2 * np.minimum(plus, weights - plus) if settings.free_bias else weights
            stands &= primal <= p.C * free * (1 + RELATIVE_TOLERANCE)
        return cls(p, table, beta, settings, weights, stands, sums)

    @classmethod
    def restore(
        cls, problem: MachinesProblem, known: dict[str, Any], settings: Settings
    ) -> CompiledMachines:
        """Return what a checkpoint has of them, where the `left` do not stand."""
        table = table_of(known["reals"], known["counts"])
        judged = cls.judge(problem, table, known["beta"], settings)
        stands = table["met"] > 0
        stands[known["left"]] = False
        return replace(judged, stands=stands)

    @property
    def remaining(self) -> list[int]:
        """Machines that are to be trained by their own plans."""
        return np.flatnonzero(~self.stands).tolist()

    def sum(self) -> Others:
        """Return the sums over those that stand; the kernel values of all rows are not counted."""
        table = self.table[self.stands]
        # one after the other, as those of other machines are added
        reals = {name: sum(table[name].tolist()) for name in ("primal", "dual", "risk")}
        counts = {name: int(table[name].sum()) for name in ("support", "evaluations")}
        return Others(iteration=int(table["iterations"].sum()), **reals, **counts)

    def machines(self) -> dict[int, Machine]:
        """Return those that stand, by number."""
        table, p = self.table, self.problem
        gap = table["primal"] - table["dual"]
        norm = np.sqrt(np.maximum(0.0, 2 * (table["primal"] - p.C * table["risk"])))
        slip = ROUNDED_GAP * np.abs(table["primal"]) + self.sums + 2 * np.maximum(0.0, -gap)
        radius = np.sqrt(np.maximum(0.0, gap) + slip).tolist()
        sums = [math.inf] * len(table) if self.settings.original else self.sums.tolist()
        primal, dual, _, b, steps, *_ = (table[name].tolist() for name in MACHINE.names or ())
        norms, bounds, warnings = norm.tolist(), p.starts.tolist(), self._warnings()
        machines = {}
        for j in np.flatnonzero(self.stands).tolist():
            beta = self.beta[bounds[j] : bounds[j + 1]]
            own = primal[j], dual[j], True, None, steps[j], 0.0 - b[j], beta[beta != 0], beta
            more = norms[j], 0.0, sums[j], radius[j], None, warnings.get(j, ())
            machines[j] = Machine(*own, *more)
        return machines

    def _warnings(self) -> dict[int, tuple[str, ...]]:
        p, primal, dual = self.problem, self.table["primal"], self.table["dual"]
        if p.gap is not None or self.settings.original:
            return {}
        target = _targets(p, self.weights, primal)
        weak = (dual < WEAK_DUAL * primal) & (primal <= target)
        return {
            j: (Message(WEAK_CERTIFICATE, float(target[j]), float(primal[j])),)
            for j in np.flatnonzero(weak).tolist()
        }


def _targets(p: MachinesProblem, weights: NDArray, primal: NDArray) -> NDArray[np.float64]:
    """The gaps that are to be reached."""
    return np.abs(primal) * p.gap if p.gap is not None else p.C * p.tolerance * 2 * weights


def _sum_rounding(p: MachinesProblem, terms: NDArray, primal: NDArray) -> NDArray[np.float64]:
    """See KernelRoom.rounding."""
    counts = np.maximum(np.diff(p.starts), p.X.n_features).tolist()
    parts = zip(terms.tolist(), counts, np.abs(primal).tolist(), strict=True)
    return np.array([sum_rounding(each, n) + sum_rounding(value, 1) for each, n, value in parts])
