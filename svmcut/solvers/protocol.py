# SPDX-License-Identifier: BSD-3-Clause
"""The protocol of solvers: the problem they get, the progress they yield, when they may stop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from svmcut.base.records import record
from svmcut.base.typing import Any, ClassVar, NamedTuple, Protocol
from svmcut.cutting.oracle import Oracle, RiskOracle
from svmcut.spec import schemas
from svmcut.spec.parameters import StoppingRule
from svmcut.spec.schemas import OWN, Form, Kept, State


class Progress(NamedTuple):
    """The best solution so far and its certificate.

    Attributes
    ----------
    iteration : int
        1-based.
    passes : float
        Passes over the features so far (a score and an adjoint count one each).
    primal, dual : float
        1/2 |w|^2 + C R(w) of the best w, and a lower bound of the minimum; dual is nan where a
        solver has none.
    gap : float
        primal - dual.
    seconds : float
        Since the solver started.
    solution : Callable
        Gives the best w, an element of the problem's space.
    cuts, support : int
        Cuts in the bundle, and those with a positive multiplier.
    slack, risk : float
        max_t b_t + a_t.w over the bundle at its own minimiser, and R at the best w, in units of the
        risk.
    evaluations : int or None
        Kernel values computed so far, where there is a kernel.
    extra : mapping of str to float, or None
        Other numbers by name: of a solver without certificate those by which it chooses, of one of
        many machines how many there are and, as ``..._over``, how many are finished.
    report : bool
        False where only time has passed, which is worth no line.
    """

    iteration: int
    passes: float
    primal: float
    dual: float
    gap: float
    seconds: float
    solution: Callable[[], Any]
    cuts: int = 0
    support: int = 0
    slack: float = 0.0
    risk: float = 0.0
    evaluations: int | None = None
    extra: Mapping[str, float] | None = None
    report: bool = True

    @classmethod
    def since(
        cls,
        began: float,
        iteration: int,
        passes: float,
        primal: float,
        dual: float,
        *more,
        **fields,
    ) -> Progress:
        """The progress of a run that began at this time of the performance counter; the other
        fields follow from the solution on."""
        seconds = time.perf_counter() - began
        return cls(iteration, passes, primal, dual, primal - dual, seconds, *more, **fields)


class Solution(NamedTuple):
    """f(x) = sum_i beta_i K(x_i, x) + b: (n,) float64 coefficients by row, with the labels' signs,
    and the bias."""

    beta: NDArray[np.float64]
    b: float


def constant(w: Any) -> Callable[[], Any]:
    """Return a function that gives this w, whatever becomes of the solver's own variable."""
    return lambda: w


def count_finished(progress: Progress) -> tuple[str, int, int] | None:
    """Return the name of the machines that a run trains one after the other, how many are finished
    and how many there are; None for other runs."""
    for name, value in (progress.extra or {}).items():
        if name.endswith("_over"):
            unit = name.removesuffix("_over")
            return unit, int(value), int((progress.extra or {})[unit])
    return None


class Unsaved:
    """Placeholder in a checkpoint for the solution of a finished run: its model is saved, a
    callable cannot be."""

    __slots__ = ()

    def __call__(self) -> Any:
        raise RuntimeError("a checkpoint keeps no solutions of the runs before it")


class Interrupted(KeyboardInterrupt):
    """Ctrl-C within an iteration whose work the solver can still report.

    Parameters
    ----------
    progress : Progress
        The best point at that moment, certified. No run can go on from there to the same bytes, so
        callers must neither show it as a step nor save `Run.state`.
    """

    def __init__(self, progress: Progress):
        super().__init__()
        self.progress = progress


@record
class Problem:
    """min over w of l1 |w|_1 + l2/2 |w|^2 + C R(A w).

    Attributes
    ----------
    risk : BoundRisk
        R, a function of the scores.
    space : Space
        A; see svmcut/spaces.
    C : float
        In the unit of the risk.
    stop : StoppingRule
    qp : str or None
        A name of svmcut.qp.QPS; None for the default.
    l1, l2 : float
        Others than 0 and 1 are for solvers whose row says so.
    """

    risk: Any
    space: Any
    C: float
    stop: StoppingRule
    qp: str | None = None
    l1: float = 0.0
    l2: float = 1.0

    def oracle(self, carry: bool = True) -> RiskOracle:
        """Return the oracle of cutting planes; carry as in RiskOracle."""
        return RiskOracle(self.risk, self.space, carry)

    def value(self, w) -> float:
        """Return R(A w) from scores that are computed afresh."""
        if hasattr(self.risk, "value_at"):
            return self.risk.value_at(self.space, w)  # type: ignore[no-any-return]
        s = self.space.scores(w)
        return self.risk.value(s) if hasattr(self.risk, "value") else self.risk.linearize(s).value

    def penalty(self, w) -> float:
        """Return l1 |w|_1 + l2/2 |w|^2."""
        square = self.l2 * self.space.dot(w, w) / 2
        return square + self.l1 * float(abs(w).sum()) if self.l1 else square


class CuttingProblem(Protocol):
    """The part of a problem that cutting planes use; Problem is one."""

    @property
    def C(self) -> float: ...

    @property
    def stop(self) -> StoppingRule: ...

    @property
    def qp(self) -> str | None: ...

    def oracle(self, carry: bool = True) -> Oracle:
        """Return R as an oracle of points and lines."""
        ...


class Start(NamedTuple):
    """A start for a solver: a bundle of valid cuts of this risk, and points worth evaluating.

    Attributes
    ----------
    bundle : CutBundle or None
        Its multipliers certify a lower bound at any C.
    points : tuple
        Elements of the space; the best of them (and of 0) is the first iterate.
    fractions : (n,) float64 or None
        Coefficients in [0, 1] of one cut of the hinge risk: alpha / C of an earlier run, for
        solvers of the dual. They are valid for any C.
    run : Run or None
        An earlier run over the same rows whose memory the solver takes over (smo); that run cannot
        be used again.
    """

    bundle: Any = None
    points: tuple = ()
    fractions: Any = None
    run: Any = None


class Run(Kept):
    """The steps of a solver on one problem, to be iterated once, and their results. Its form
    declares what a checkpoint saves.

    The caller owns the progress bar, the log, limits, checkpoints and signals.

    Parameters
    ----------
    solver : Solver
    problem, start
        As Solver.start takes them.

    Attributes
    ----------
    bundle : CutBundle or None
        The cuts.
    fractions : (n,) float64 or None
        As in Start.
    longest_cut : float
        The length of the longest cut normal of a run without bundle; nan where it is unknown.
    ended_by : str or None
        "cap" where a run ended at its largest number of passes.
    """

    bundle: Any = None
    fractions: Any = None
    longest_cut: float = math.nan
    ended_by: str | None = None
    _resumed = False

    def __init__(self, solver: Any, problem: Any, start: Start | None):
        self._solver, self._problem = solver, problem

    def restore(self, state: State) -> None:
        super().restore(state)
        self._resumed = True

    def __iter__(self) -> Iterator[Progress]:
        raise NotImplementedError


class Solver:
    """An algorithm with its parameters, which no run changes.

    Attributes
    ----------
    run : type
        The class of its runs.
    patience : int or None
        Iterations for Watch; None where runs end by themselves.
    """

    run: ClassVar[type[Run]]
    patience: ClassVar[int | None] = 400

    def start(self, problem: Any, start: Start | None = None, state: State | None = None) -> Run:
        """Return a run that has taken no step yet.

        Parameters
        ----------
        start : Start or None
            Cuts, points and more of an earlier run (another C, another solver); None begins at w =
            0.
        state : dict or None
            The `Run.state` of another run on the same problem: this one goes on from there to the
            same bytes, without a start.

        Raises
        ------
        MemoryError
        """
        run = self.run(self, problem, start)
        if state is not None:
            run.restore(state)
        return run


class Stall(Kept):
    """The rule that ends a loop which rounding keeps from its target: no measurable progress in
    `patience` iterations.

    The best solution and its gap stand; the caller reports that the target was not met.
    """

    called = "stall"

    def __init__(self, patience: int = 200):
        self._patience, self._best, self.since = patience, math.inf, 0

    def form(self) -> Form:
        return {"_best": schemas.real(infinite=True), "since": schemas.COUNT}

    def has_stalled(self, gap: float) -> bool:
        """Take in the next gap; tell whether it has not fallen by a thousandth in `patience`
        calls."""
        best = self._best  # below 0 where rounding has the dual value above the primal
        if gap < (0.999 if best > 0 else 1.001) * best:
            self._best, self.since = gap, 0
        else:
            self.since += 1
        return self.is_over

    @property
    def is_over(self) -> bool:
        return self.since >= self._patience


class Watch(Kept):
    """The rule that ends a run without progress, applied by the caller that follows its steps.

    A run is over once its gap has not fallen by a thousandth for as many iterations as it took
    until then, for at least `patience` iterations and LOOKS looks. A gap that falls like any power
    of the iterations, however small, falls by more. Time plays no part, so a run ends at the same
    step everywhere.

    Parameters
    ----------
    patience : int
        In iterations of the solver.
    """

    LOOKS = 5
    called = "watch"

    def __init__(self, patience: int):
        self._patience, self._stall = patience, Stall(self.LOOKS)
        self._at, self._last, self._over = 0, 0, False

    def form(self) -> Form:
        count = schemas.COUNT
        return {"_stall": OWN, "_at": count, "_last": count, "_over": schemas.flag}

    def has_stalled(self, progress: Progress) -> bool:
        """Take in a step and tell whether the run should end. A step that a resumed run repeats
        counts once, one where only time has passed not at all."""
        if progress.report and progress.iteration != self._last:
            self._last = progress.iteration
            idle = self._stall.has_stalled(progress.gap)
            if self._stall.since == 0:
                self._at = progress.iteration
            self._over = idle and progress.iteration - self._at >= max(self._patience, self._at)
        return self._over
