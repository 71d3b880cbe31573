# SPDX-License-Identifier: BSD-3-Clause
"""What a solver gets, what it yields, and when it may stop."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from svmcut.base.records import record
from svmcut.base.typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol
from svmcut.cutting.oracle import Oracle, RiskOracle
from svmcut.spec import schemas
from svmcut.spec.parameters import StoppingRule
from svmcut.spec.schemas import OWN, Form, Kept, State

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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
        What else a solver says of its state, by name: one without certificate what it stands for,
        one of many machines how many there are and, as ``..._over``, how many are over.
    report : bool
        Whether this is worth a line; False where only time has passed.
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


class Solution(NamedTuple):
    """f(x) = sum_i beta_i K(x_i, x) + b: (n,) float64 coefficients by row, with the labels' signs,
    and the bias."""

    beta: NDArray[np.float64]
    b: float


def kept(w: Any) -> Callable[[], Any]:
    """Gives this w whenever it is called, whatever the solver's own variable has become by then."""
    return lambda: w


def over(progress: Progress) -> tuple[str, int, int] | None:
    """What a run trains one after the other, how many are over, and all; None where it does not."""
    for name, value in (progress.extra or {}).items():
        if name.endswith("_over"):
            unit = name.removesuffix("_over")
            return unit, int(value), int((progress.extra or {})[unit])
    return None


class Unsaved:
    """Stands in a checkpoint for the solution of a run that is over: its model is kept, the
    callable cannot be."""

    __slots__ = ()

    def __call__(self) -> Any:
        raise RuntimeError("a checkpoint keeps no solutions of the runs before it")


class Interrupted(KeyboardInterrupt):
    """Ctrl-C within an iteration that a solver need not throw away.

    Parameters
    ----------
    progress : Progress
        The best point at that moment, certified. No run can go on from there to the same bytes: it
        is not to be observed, and `Run.state` is not to be asked for.
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
        """What cutting planes ask; carry as in RiskOracle."""
        return RiskOracle(self.risk, self.space, carry)

    def value(self, w) -> float:
        """R(A w), its scores formed afresh."""
        if hasattr(self.risk, "value_at"):
            return self.risk.value_at(self.space, w)  # type: ignore[no-any-return]
        s = self.space.scores(w)
        return self.risk.value(s) if hasattr(self.risk, "value") else self.risk.linearize(s).value

    def penalty(self, w) -> float:
        """l1 |w|_1 + l2/2 |w|^2."""
        square = self.l2 * self.space.dot(w, w) / 2
        return square + self.l1 * float(abs(w).sum()) if self.l1 else square


class CuttingProblem(Protocol):
    """All that cutting planes know of a problem; Problem is one."""

    @property
    def C(self) -> float: ...

    @property
    def stop(self) -> StoppingRule: ...

    @property
    def qp(self) -> str | None: ...

    def oracle(self, carry: bool = True) -> Oracle:
        """R, by points and lines."""
        ...


class Start(NamedTuple):
    """Where a solver may begin: a bundle of valid cuts of this risk, and points worth evaluating.

    Attributes
    ----------
    bundle : CutBundle or None
        Its multipliers certify a lower bound at any C.
    points : tuple
        Elements of the space; the best of them (and of 0) is the first iterate.
    fractions : (n,) float64 or None
        Coefficients in [0, 1] of one cut of the hinge risk: alpha / C of an earlier run, for the
        trainers that move alpha. They hold for any C.
    run : Run or None
        An earlier run of a solver that goes on in its memory, which ends it for good: smo's, over
        the same rows.
    """

    bundle: Any = None
    points: tuple = ()
    fractions: Any = None
    run: Any = None


class Run(Kept):
    """The steps of a solver on one problem, to be iterated once, and what it found: the state of
    training. Its form says what a checkpoint keeps of it.

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
        Of a run without bundle: the length of the longest cut normal met, nan where it is not
        known.
    ended_by : str or None
        "cap" where a run is over because it has made as many passes as it makes.
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
        Of its runs.
    patience : int or None
        For Watch; None where a run ends after a number of steps that is known beforehand.
    """

    run: ClassVar[type[Run]]
    patience: ClassVar[int | None] = 400

    def start(self, problem: Any, start: Start | None = None, state: State | None = None) -> Run:
        """A run that has taken no step.

        Parameters
        ----------
        start : Start or None
            Cuts, points and more of an earlier run (another C, another solver); None begins at w =
            0.
        state : dict or None
            What `Run.state` gave in another run on the same problem: this one goes on from there to
            the same bytes, without a start.

        Raises
        ------
        MemoryError
        """
        run = self.run(self, problem, start)
        if state is not None:
            run.restore(state)
        return run


class Stall(Kept):
    """Ends a loop that rounding keeps from its target: no measurable progress in `patience`
    iterations.

    The best solution and its gap stand; the caller reports that the target was not met.
    """

    called = "stall"

    def __init__(self, patience: int = 200):
        self._patience, self._best, self.since = patience, math.inf, 0

    def form(self) -> Form:
        return {"_best": schemas.real(infinite=True), "since": schemas.COUNT}

    def update(self, gap: float) -> bool:
        """True when the gap has not fallen by a thousandth in the last `patience` updates."""
        best = self._best  # below 0 where rounding has the dual value above the primal
        if gap < (0.999 if best > 0 else 1.001) * best:
            self._best, self.since = gap, 0
        else:
            self.since += 1
        return self.over

    @property
    def over(self) -> bool:
        return self.since >= self._patience


class Watch(Kept):
    """Ends a run that makes no progress: the rule of every solver, held by the caller that follows
    its steps.

    A run is over once its gap has not fallen by a thousandth for as many iterations as it took
    until then, for at least `patience` iterations and for LOOKS looks. A gap that falls like any
    power of the iterations, however small, falls by more. Time has no part in it, so a run ends at
    the same step everywhere.

    Parameters
    ----------
    patience : int
        In iterations of the solver.
    """

    LOOKS = 5
    called = "watch"

    def __init__(self, patience: int):
        self._patience, self._stall, self._at, self._last, self._over = (
            patience,
            Stall(self.LOOKS),
            0,
            0,
            False,
        )

    def form(self) -> Form:
        count = schemas.COUNT
        return {"_stall": OWN, "_at": count, "_last": count, "_over": schemas.flag}

    def update(self, progress: Progress) -> bool:
        """Takes in a look; one that a resumed run repeats counts once, one where only time has
        passed not at all."""
        if progress.report and progress.iteration != self._last:
            self._last = progress.iteration
            idle = self._stall.update(progress.gap)
            if self._stall.since == 0:
                self._at = progress.iteration
            self._over = idle and progress.iteration - self._at >= max(self._patience, self._at)
        return self._over
