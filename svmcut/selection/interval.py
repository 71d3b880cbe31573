# SPDX-License-Identifier: BSD-3-Clause
"""A choice of C that is proven: no C of an interval errs less, on rows held out, by more than a
share of them.

Training at some C bounds the scores of the exact optimum at every other, and so the number of rows
that are certainly wrong there (svmcut.scoring.path_errors). Between two neighbours seven more
points are made of theirs: w on the line between them, scored from the scores there are, and the
mean cut that gives the best bound. Where the least number of certain errors is too low to end with,
C is trained halfway between the neighbours; where a trained C itself is known too loosely, it is
trained again to a tenth of its gap. A point starts from the nearest one below, and from nothing
else: what is trained, and so what is chosen, does not hang on threads or on stops.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from svmcut._native.interrupt import Cancelled
from svmcut.base.errors import UsageError
from svmcut.base.messages import Message
from svmcut.base.records import replace
from svmcut.base.typing import Any, NamedTuple
from svmcut.cutting.bundle import CutBundle
from svmcut.data.labels import classes_of
from svmcut.models import LinearModel
from svmcut.models.bounds import lengths
from svmcut.qp import make_qp
from svmcut.scoring.path_errors import Anchor, Lowest, find_lowest, unite, wrong_spans
from svmcut.selection.grid import Crew, Part, costs_of
from svmcut.solvers.protocol import Start
from svmcut.spec import schemas
from svmcut.spec.catalog import SOLVERS, TASKS, losses
from svmcut.spec.entries import DUAL_CD, L2, TWO_CLASSES
from svmcut.spec.parameters import DEFAULTS, Settings
from svmcut.tasks.protocol import Task
from svmcut.training.driver import Driver
from svmcut.training.outcome import ROUNDED, Outcome

#: Relative gap of a point unless told otherwise, and the least one that is asked for.
GAP, LEAST_GAP = 1e-5, 1e-13
#: Numbers that are kept of a plain grid, to prove something of it.
ROOM = 25_000_000
#: Points made between two neighbours; neighbours that are closer than this are not parted.
BETWEEN, CLOSE = 7, 1 + 1e-9


def check_choice(settings: Settings) -> None:
    """Refuses, as a UsageError, settings whose errors on rows held out no C bounds."""
    s = settings
    if s.labels != TWO_CLASSES or s.has_kernel or not s.of_scores:
        sums = SOLVERS[DUAL_CD].losses or ()
        raise UsageError(
            "{certify_choice} is for two classes on features, trained for {loss=}; leave it out",
            tuple(name for name in losses(DEFAULTS["task"]) if name in sums),
        )
    if s.free_bias:
        raise UsageError("{certify_choice} needs {free_bias=False}: no gap bounds a free bias")
    if s.penalty != L2:
        raise UsageError("{certify_choice} needs {penalty=}: no other gap bounds the weights", L2)
    if s.initial is not None:
        raise UsageError("{certify_choice} and {initial} do not go together; leave one of them out")
    if s.epsilon is not None:
        raise UsageError("{certify_choice} trains to a relative gap; give {gap}, not {epsilon}")


class Interval(NamedTuple):
    """The interval that C is chosen from, in the user's unit, and the share of the rows by which
    another C may be better."""

    low: float
    high: float
    most: float


class Trained(NamedTuple):
    """A trained point of one part: numbers that a checkpoint keeps, and scores."""

    #: In the user's unit.
    C: float
    #: C in the unit of the risk.
    inner: float
    #: The relative gap that was asked for.
    gap: float
    #: (dim,) the primal vector.
    w: Any
    #: (dim,) the dual vector.
    v: Any
    #: The lower bound of v.
    dual: float
    #: (n,) the start of trainers that move alpha.
    fractions: Any
    #: (n,) of the rows trained on.
    scores: NDArray[np.float64]
    #: Of the rows held out.
    anchor: Anchor


#: What a checkpoint keeps of a point.
KEPT = Trained._fields[:7]


class Half:
    """Rows to train on and rows held out, with all that was trained there.

    driver: of the rows to train on. held: the others. share: the share of their weights.
    """

    def __init__(self, driver: Driver, held: Any, share: float):
        self.driver, self._held = driver, held
        settings, plan = driver.settings, cast("Any", driver.plan)
        self._plan, self._space = plan, plan.space
        positive, unknown = classes_of(self._held.y, self.driver.task_fields.get("labels"))
        self._known, n = ~unknown, max(1, len(unknown))
        self.signs = np.where(positive, 1.0, -1.0)[self._known]
        self.weights = np.full(len(self.signs), share / n)
        self.always = share * float(unknown.sum()) / n
        model = self._model(self._space.zero())
        bounded = replace(model, certificate=(0.0, 0.0, float(settings.bias or 0.0)))
        self._lengths = lengths(bounded, self._held.X)[self._known]
        self.trained: dict[float, Trained] = {}

    def train(
        self, C: float, costs: tuple[float | None, float | None], gap: float, observe: Any
    ) -> Trained | None:
        """The point of C; None where the time is over before."""
        driver, plan = self.driver, self._plan
        if driver.is_late():
            return None
        plan.settings = replace(plan.settings, gap=gap)
        driver.warm = self._start(C)
        outcome = driver.fit(*costs, observe)
        inner, bundle = outcome.objective.C, driver.run.bundle
        if bundle is None:
            raise UsageError(
                "{certify_choice} needs a solver that keeps its cuts; leave out {solver}"
            )
        if driver.is_late():
            return None
        lowest_point = bundle.solve(inner, 1e-3 * gap * max(outcome.primal, 1e-300) / inner)
        w = np.array(outcome.progress.solution())
        fractions = driver.run.fractions
        kept = None if fractions is None else fractions.copy()
        known = (C, inner, gap, w, np.array(lowest_point.w), float(lowest_point.lower), kept)
        return self.point(dict(zip(KEPT, known, strict=True)))

    def take(self, C: float, outcome: Outcome) -> None:
        """Takes in what the driver has trained at C, unless its solver keeps no cuts."""
        inner, bundle = outcome.objective.C, self.driver.run.bundle
        if bundle is not None:
            lowest_point, w = bundle.solution(inner), np.array(outcome.progress.solution())
            gap = min(1.0, max(0.0, outcome.gap / max(abs(outcome.primal), 1e-300)))
            known = (C, inner, gap, w, np.array(lowest_point.w), float(lowest_point.lower), None)
            self.trained[C] = self.point(dict(zip(KEPT, known, strict=True)))

    def recall(self, C: float, outcome: Outcome) -> None:
        """Takes in an outcome alone, which has a dual vector."""
        assert outcome.below is not None
        w, (v, lower) = self._plan.weights_of(outcome.model), outcome.below
        gap = min(1.0, max(0.0, outcome.gap / max(abs(outcome.primal), 1e-300)))
        known = (C, outcome.objective.C, gap, w, np.array(v), float(lower), None)
        self.trained[C] = self.point(dict(zip(KEPT, known, strict=True)))

    def point(self, kept: dict[str, Any]) -> Trained:
        """A point of what a checkpoint keeps of it."""
        w, v = kept["w"], kept["v"]
        scores, held = self._space.scores(w), (self._held_scores(w), self._held_scores(v))
        made = self._anchor(kept["C"], kept["inner"], w, v, kept["dual"], scores, *held)
        return Trained(**{key: kept[key] for key in KEPT}, scores=scores, anchor=made)

    def form(self) -> schemas.Check:
        """The schema of a point in a checkpoint."""
        element = schemas.reals(self._space.dim)
        above, n = schemas.real(0), len(self._plan.vectors.examples)
        return schemas.fields(
            C=above,
            inner=above,
            gap=schemas.real(0, 1),
            w=element,
            v=element,
            dual=schemas.REAL,
            fractions=schemas.maybe(schemas.reals(n)),
        )

    def between(self, a: Trained, b: Trained, C: float) -> Anchor:
        """A point of C between two that are trained."""
        space, risk, inner = self._space, self._plan.vectors.risk, a.inner * (C / a.C)
        step = space.blend(1.0, b.w, -1.0, a.w)
        rates = b.scores - a.scores
        wd, dd = space.dot(a.w, step), space.dot(step, step)
        t = float(risk.line_minimum(a.scores, rates, wd, dd, inner))
        w, scores = space.blend(1.0, a.w, t, step), a.scores + t * rates
        p, other = space.blend(1 / a.inner, a.v, 0.0, a.v), space.blend(1 / b.inner, b.v, 0.0, b.v)
        offsets = [(each.dual + 0.5 * space.dot(each.v, each.v)) / each.inner for each in (a, b)]
        apart = space.blend(1.0, p, -1.0, other)
        width = inner * space.dot(apart, apart)
        rise = offsets[1] - offsets[0] + inner * space.dot(p, apart)
        u = min(max(rise / width, 0.0), 1.0) if width > 0 else float(rise > 0)
        v = space.blend(inner * (1 - u), p, inner * u, other)
        offset = (1 - u) * offsets[0] + u * offsets[1]
        dual = inner * offset - 0.5 * space.dot(v, v)
        s = a.anchor.s + t * (b.anchor.s - a.anchor.s)
        m = inner * ((1 - u) / a.inner * a.anchor.u + u / b.inner * b.anchor.u)
        return self._anchor(C, inner, w, v, dual, scores, self.signs * s, self.signs * m)

    def _anchor(
        self, C: float, inner: float, w: Any, v: Any, dual: float, scores: Any, *held: Any
    ) -> Anchor:
        space = self._space
        ww, wv, vv = space.dot(w, w), space.dot(w, v), space.dot(v, v)
        primal = 0.5 * ww + inner * self._plan.vectors.risk.linearize(scores).value
        T = primal - dual - 0.5 * (ww - 2 * wv + vv) + ROUNDED * abs(primal)
        s, u = (self.signs * each for each in held)
        return Anchor(C, s, u, self._lengths, ww, wv, vv, max(0.0, T))

    def _held_scores(self, w: Any) -> NDArray[np.float64]:
        return self._model(w).scores(self._held.X, self.driver.settings.threads)[self._known]

    def _model(self, w: Any) -> LinearModel:
        weights, constant = self._space.split(w)
        return LinearModel(np.array(weights), 0.0 - constant, self._plan.vectors.columns)

    def _start(self, C: float) -> tuple[float, Start] | None:
        """The start of a training: the same point again, or the nearest below, or above."""
        if not self.trained:
            return None
        below = [other for other in self.trained if other <= C]
        near = self.trained[max(below) if below else min(self.trained)]
        bundle = CutBundle(self._space, make_qp(self.driver.settings.qp))
        return near.inner, Start(bundle, (near.w,), near.fractions)


class Stretch(NamedTuple):
    """Proof for the values of C between two neighbours: the least share of errors, and at which
    C."""

    low: float
    high: float
    lowest: Lowest


class Proof:
    """Proof, from the points of all parts, for every C between them."""

    ends = 1.0, 1.0

    def __init__(self, halves: list[Half]):
        self._halves = halves
        self._gaps: dict[float, float] = {}
        self._stretches: dict[tuple[float, float], Stretch] = {}

    @property
    def slack(self) -> float:
        """The share by which another C may be better at most: the fewest errors met less the
        fewest that are certain; 1 before the ends are trained."""
        if len(self._gaps) < 2:
            return 1.0
        return self.best[1] - min(stretch.lowest.weight for stretch in self.stretches)

    @property
    def best(self) -> tuple[float, float]:
        """The C that is chosen, the first of those with the fewest errors, and their share."""
        if not self._gaps:
            return self.ends[0], 1.0
        met = {C: self._error_share(C) for C in sorted(self._gaps)}
        chosen = min(met, key=lambda C: (round(met[C], 12), C))
        return chosen, met[chosen]

    def points(self) -> dict[str, list[dict[str, float]]]:
        """The points that were trained, and the proof for every stretch between."""
        return {
            "trained": [
                {
                    "C": C,
                    "errors": self._error_share(C),
                    "at_least": self._at(C),
                    "gap": self._gaps[C],
                }
                for C in sorted(self._gaps)
            ],
            "intervals": [
                {"low": low, "high": high, "at_least": least.weight}
                for low, high, least in self.stretches
            ],
        }

    @property
    def stretches(self) -> list[Stretch]:
        """The proof between neighbours."""
        return [self._stretch(*ends) for ends in itertools.pairwise(sorted(self._gaps))]

    def _stretch(self, low: float, high: float) -> Stretch:
        """The proof between two neighbours; computed once."""
        if (low, high) not in self._stretches:
            places = np.geomspace(low, high, BETWEEN + 2)[1:-1].tolist()

            def anchors(half: Half) -> list[Anchor]:
                a, b = half.trained[low], half.trained[high]
                return [a.anchor, b.anchor, *(half.between(a, b, C) for C in places)]

            self._stretches[low, high] = Stretch(low, high, self._lowest(anchors, low, high))
        return self._stretches[low, high]

    def _at(self, C: float) -> float:
        """The share of errors that the exact optimum certainly makes at a C that is trained."""
        return self._lowest(lambda half: [half.trained[C].anchor], C, C).weight

    def _lowest(self, anchors: Callable[[Half], list[Anchor]], low: float, high: float) -> Lowest:
        spans = []
        for half in self._halves:
            starts, ends, rows = unite([wrong_spans(anchor) for anchor in anchors(half)])
            spans.append((starts, ends, half.weights[rows]))
        starts, ends, weights = map(np.concatenate, zip(*spans, strict=True))
        least = find_lowest(starts, ends, weights, low, high)
        return least._replace(weight=least.weight + sum(half.always for half in self._halves))

    def _error_share(self, C: float) -> float:
        """The share of errors of what is trained at C."""
        total = 0.0
        for half in self._halves:
            s = half.trained[C].anchor.s
            total += half.always + float(
                half.weights[(s < 0) | ((s == 0) & (half.signs > 0))].sum()
            )
        return total


class GridProof(Proof):
    """Proof, from a plain grid over C, for the values between, without more trainings."""

    def __init__(self, parts: int):
        super().__init__([])
        self._found: list[list[Half]] = [[] for _ in range(parts)]
        self._lock, self._room = threading.Lock(), ROOM

    @staticmethod
    def can_prove(settings: Settings, values: Sequence[float], measure: str) -> bool:
        """Tells whether a grid over these values of C, with a choice by this measure, proves
        anything."""
        s = settings
        plain = s.of_scores and s.penalty == L2 and not (s.has_kernel or s.free_bias or s.original)
        usual = s.labels == TWO_CLASSES and measure == TASKS[s.task].measure
        return plain and usual and s.certify is not False and len(set(values)) > 1

    def take(self, part: int, driver: Driver, held: Any, C: float, outcome: Outcome) -> None:
        """Takes in what a driver has trained at C; of large examples nothing is kept."""
        plan: Any = driver.plan
        X = plan.space.X
        with self._lock:
            known = next((half for half in self._found[part] if half.driver is driver), None)
            self._room -= 2 * plan.space.dim + X.n_rows + (0 if known else 2 * X.nnz)
            if self._room < 0:
                self._found[part].clear()
                return
            if known is None:
                known = Half(driver, held, 1 / len(self._found))
                self._found[part].append(known)
        known.take(C, outcome)

    def recall(self, driver: Driver, held: Any, known: Sequence[tuple[float, Outcome]]) -> None:
        """Takes in a path of models that one driver trained, or others did on the same examples."""
        X = cast("Any", driver.plan).space.X
        small = len(known) * (2 * X.n_features + X.n_rows) <= self._room
        if small and all(outcome.below is not None for _, outcome in known):
            half = Half(driver, held, 1.0)
            for C, outcome in known:
                half.recall(C, outcome)
            self._found[0].append(half)

    def finish(self, values: Sequence[float]) -> dict[str, Any] | None:
        """Keys of the report, as those of CertifiedChoice; None where values of C are missing."""
        for halves in self._found:
            for other in halves[1:]:
                halves[0].trained |= other.trained
        if not all(halves and {*values} <= halves[0].trained.keys() for halves in self._found):
            return None
        self._halves = [halves[0] for halves in self._found]
        points = [half.trained for half in self._halves]
        self._gaps = {C: max(point[C].gap for point in points) for C in values}
        C, errors = self.best
        trainings = len(self._gaps) * len(self._halves)
        proven = {"C": C, "errors": errors, "within": self.slack, "trainings": trainings}
        return proven | self.points()


class CertifiedChoice(Proof):
    """Trains at values of C until none between the ends can be better than the best by more than a
    share of the rows.

    settings: as `check_choice` leaves them, resolved. parts: as svmcut.selection.grid.parts_of and
    held_out give them. whole: as in svmcut.selection.grid.Search. time_limit: seconds.
    """

    def __init__(
        self,
        task: Task,
        settings: Settings,
        interval: Interval,
        parts: list[Part],
        whole: Driver,
        time_limit: float | None = None,
    ):
        gap = settings.gap if "gap" in settings.wishes() and settings.gap else GAP
        self._threads = min(settings.threads, len(parts))
        settings = replace(
            settings,
            time_limit=None,
            threads=settings.threads // self._threads,
            probability=False,
            gap=gap,
        )
        self._gap, self._whole = gap, whole
        self.ends, self.most = (interval.low, interval.high), interval.most
        self._user = settings
        share = 1 / len(parts)
        super().__init__([])
        for train, held in (part() for part in parts):
            self._halves.append(Half(task.plan(train, settings, time_limit), held, share))
        #: trainings: trainings of all parts.
        #: stuck: the reason why it ended without a proof though no limit stopped it.
        self.trainings, self.stuck, self.late = 0, "", False

    def run(self, look: Callable[[], None] = lambda: None) -> None:
        """Trains until the choice is proven, or the time is over; look: called in this thread
        several times a second; what it raises ends the run."""
        todo = [(C, self._gap) for C in self.ends if C not in self._gaps]
        while not (self.late or self.stuck):
            for C, gap in todo:
                self._train(C, gap, look)
                if self.late:
                    return
            if self.proven:
                return
            todo = self._next()

    @property
    def complete(self) -> bool:
        """True once it has ended with a proof."""
        return self.proven

    @property
    def proven(self) -> bool:
        """True when no C can be better than the best by more than that share."""
        return self.slack <= self.most + 1e-12

    @property
    def gap(self) -> float:
        """The relative gap to which the chosen C was trained."""
        return self._gaps.get(self.best[0], self._gap)

    def state(self) -> dict[str, Any]:
        """The state of the choice, for `look` or after the end."""
        return {
            "trainings": self.trainings,
            "gaps": [[C, gap] for C, gap in self._gaps.items()],
            "parts": [
                [{key: getattr(half.trained[C], key) for key in KEPT} for C in self._gaps]
                for half in self._halves
            ],
        }

    def report(self) -> dict[str, Any]:
        """Keys of the report: what was chosen and what is proven of it."""
        C, errors = self.best
        return {
            "C": C,
            "errors": errors,
            "within": self.slack,
            "proven": self.proven,
            "trainings": self.trainings,
            **self.points(),
        }

    def _train(self, C: float, gap: float, look: Callable[[], None]) -> None:
        """All parts at one C; nothing is taken in where the time is over before."""
        costs, done = costs_of(self._user, self._whole, C), dict[int, Any]()
        failures: dict[int, Exception] = {}

        def work(k: int) -> None:
            def observe(progress: Any, objective: Any) -> None:
                crew.check()

            try:
                done[k] = self._halves[k].train(C, costs, gap, observe)
            except Cancelled:
                raise
            except Exception as failure:
                failures[k], crew.stopping = failure, True

        with Crew([*range(len(self._halves))], work, self._threads) as crew:
            crew.add(self._threads)
            crew.wait(lambda: not crew.working, look)
        if failures:
            raise failures[min(failures)]
        if any(point is None for point in done.values()):
            self.late = True
            return
        for k, half in enumerate(self._halves):
            half.trained[C] = done[k]
        self.trainings += len(done)
        self._gaps[C] = gap
        self._stretches = {
            ends: stretch for ends, stretch in self._stretches.items() if C not in ends
        }
        look()

    def _next(self) -> list[tuple[float, float]]:
        """The trainings to do next: ends of the worst stretch known too loosely, or C halfway."""
        low, high, _ = min(self.stretches, key=lambda stretch: stretch.lowest.weight)
        floor = self.best[1] - self.most
        loose = [C for C in (low, high) if self._at(C) < floor - 1e-12]
        if not loose and high / low > CLOSE:
            return [(_halfway(low, high), self._gap)]
        closer = [(C, self._gaps[C] / 10) for C in loose or (low, high)]
        if min(gap for _, gap in closer) < LEAST_GAP:
            self.stuck = Message(
                "rounding forbids a proof near C = {:g}; give a larger {certify_choice}", low
            )
            return []
        return closer

    def restore(self, state: dict[str, Any]) -> None:
        """Goes on from what `state` gave in another choice of the same; raises StateError."""
        pair, n = schemas.row(schemas.real(0), schemas.real(0, 1)), len(self._halves)
        parts = schemas.many(schemas.instance(list), n, n)
        known = {"trainings": schemas.COUNT, "gaps": schemas.many(pair), "parts": parts}
        schemas.checked(state, schemas.fields(**known), "choice")
        m = len(state["gaps"])
        for half, points in zip(self._halves, state["parts"], strict=True):
            schemas.checked(points, schemas.many(half.form(), m, m), "choice.parts")
            for (C, _), kept in zip(state["gaps"], points, strict=True):
                half.trained[C] = half.point(kept)
        self.trainings, self._gaps = state["trainings"], dict(map(tuple, state["gaps"]))


def _halfway(low: float, high: float) -> float:
    """Between two C on their logarithmic scale, with few digits where there is room for them."""
    middle = math.sqrt(low) * math.sqrt(high)
    for digits in (3, 4, 6, 9, 12, 15):
        rounded = float(f"{middle:.{digits}g}")
        if low < rounded < high and max(rounded / middle, middle / rounded) < (high / low) ** 0.1:
            return rounded
    return middle
