# SPDX-License-Identifier: BSD-3-Clause
"""Bounds of the full problem: of models that another problem gave, and of weights as their file has
them.

What a gap says of the exact optimum: a ball of weights around the model's.

    P is 1-strongly convex in w and D <= P(w*):    1/2 |w - w*|^2 <= P(w) - P(w*) <= P(w) - D = gap
    every score of the exact optimum:              |f(x) - f*(x)| <= |x| r,    r = sqrt(2 gap)

|x|^2 has the square of the constant feature, or is K(x, x). Of classes that are trained at once or
one by one w is that of all; scores of two of them differ from the optimum's difference by sqrt(2)
|x| r at most. Shibagaki et al., NIPS 2015, and Ndiaye et al., JMLR 2017.

With the v that D is the dual value of, 1/2 |w - w*|^2 + 1/2 |v - w*|^2 <= P(w) - D. So w* is in the
ball about (w + v)/2 of radius q, q^2 = P(w) - D - |w - v|^2/4, and r = q + |w - v|/2 will do, which
is sqrt(gap) where w is v.

The file has w with fewer digits, at some w~, whose primal may be much higher: r is the least one of
sqrt(2 (P(w~) - D)), and of the others with |w~ - w| added.

Every P - D here is raised by `Outcome.gap_rounding`, and r by the rounding of a score: no bound is
closer than the accuracy of its sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from svmcut._native import sparse
from svmcut.base.errors import ModelError, UsageError
from svmcut.base.messages import Parameter
from svmcut.base.records import record, replace
from svmcut.base.typing import Any
from svmcut.cutting.bundle import CutBundle
from svmcut.data.labels import distinct
from svmcut.files.output import KEPT
from svmcut.formats.rounding import read_back
from svmcut.models.bounds import lengths
from svmcut.risks.free_bias import FreeBias
from svmcut.risks.weights import total
from svmcut.solvers.cutting_plane import CuttingPlane
from svmcut.solvers.protocol import Problem, Progress, Run, Solver, Start, StoppingRule
from svmcut.spaces.linear import LinearSpace
from svmcut.spec import schemas
from svmcut.spec.catalog import KERNELS, PAIRS, SOLVERS
from svmcut.spec.entries import CLASSES, L2, SETS, TWO_CLASSES
from svmcut.spec.parameters import Settings
from svmcut.spec.schemas import OWN, Form, State
from svmcut.training.gate import BOUNDED, SCORED, Part, Reading, ball_of, sum_rounding
from svmcut.training.outcome import Outcome

Certify = Callable[[Any, Progress], tuple[float, float]]


#: Weights of a part of a model that is written and read back where its digits cannot matter.
MAX_SAMPLED = 1000
#: Weights looked at together, so that what is made of them takes little memory.
_CHUNK = 1 << 18


def scaled_bound(offset: float, squared: float, most: float = 1.0) -> float:
    """A lower bound of the full problem from a combination (offset, coef) of its cuts, squared
    being coef'K coef.

    C R(s) >= offset - coef.s for every s, whatever point the cuts were made at; times theta it
    holds too, for theta up to 1 (the rest of beta goes to the flat plane) or `most`. theta
    maximises the bound theta offset - theta^2 coef'K coef / 2.
    """
    if offset <= 0:
        return 0.0
    theta = min(most, offset / squared) if squared > 0 else most
    return theta * offset - 0.5 * theta * theta * squared


def in_columns(
    values: NDArray, own: NDArray | None, wanted: NDArray | None, width: int
) -> NDArray[np.float64]:
    """Rows of weights (k, ...), one a feature, in another numbering: (width, ...) float64.

    `own` (k,) has the increasing features the rows belong to, None for 0 to k - 1; `wanted`
    (width,) those of the rows that are returned. One of them that has no weight gets 0, and where a
    weight belongs to none of them, all are nan.
    """
    # the very columns of training, or all
    if own is wanted and len(values) == width and values.dtype == np.float64:
        return values
    if own is None and wanted is not None:  # both in order: no search
        count = np.count_nonzero(wanted < len(values))
        out = np.zeros((width, *values.shape[1:]))
        out[:count] = values[wanted[:count]]
        if np.count_nonzero(out) < np.count_nonzero(values):
            out[:] = np.nan
        return out
    own = np.arange(len(values)) if own is None else own
    places = own if wanted is None else np.searchsorted(wanted, own)
    known = places < width
    if wanted is not None:
        known[known] = wanted[places[known]] == own[known]
    out = np.zeros((width, *values.shape[1:]))
    out[places[known]] = values[known]
    if np.any(values[~known]):
        out[:] = np.nan
    return out


def weights_reading(
    w_of: Callable[[Any], NDArray],
    problem: Problem,
    outcome: Outcome,
    rise: float,
    original: bool,
    part: Callable[[], Part] | None = None,
) -> Reading:
    """The reading of a model of weights of features for the gate.

    `w_of` gives the element of the problem's space that a model is. R changes by at most e times
    `rise` where no weight changes by more than the fraction e of it; `rise` is inf if that is
    unknown. The norm of `outcome` counts; for `part` and `original` see Reading.
    """

    def value(model: Any) -> float:
        w = w_of(model)
        with np.errstate(over="ignore", invalid="ignore"):
            return float(problem.penalty(w) + problem.C * problem.value(w))

    def at_zero() -> float:
        risk = problem.risk.risk if isinstance(problem.risk, FreeBias) else problem.risk
        zero = problem.space.scores(problem.space.zero())
        return float(problem.C * risk.linearize(zero).value)

    size = 2 * problem.penalty(w_of(outcome.model)) if problem.l1 else outcome.norm**2
    change = KEPT * (problem.C * rise + size)

    def sums() -> float:
        w, slopes = w_of(outcome.model), rise
        if not math.isfinite(rise) and hasattr(getattr(problem.space, "X", None), "indptr"):
            slopes = outcome.norm * slope_bound(problem, w)
        return sum_rounding(problem.C * slopes + size + abs(outcome.primal), len(w))

    return Reading(value, change, part, original, size=at_zero, sums=sums)


def slope_bound(problem: Problem, w: Any) -> float:
    """A bound of the sum over rows of |x| times the slope of the risk in its score, at w."""
    space = problem.space
    squares = np.empty(space.X.n_rows)
    sparse.row_norms(sparse.Rows(space.X), squares, space.threads)
    coef = problem.risk.linearize(space.scores(w)).coef
    lengths = float(np.sum(squares)) + space.X.n_rows * space.bias**2
    return math.sqrt(sparse.dot(coef, coef) * lengths)


def sample_nonzeros(values: NDArray) -> NDArray[np.int64]:
    """Places of about MAX_SAMPLED nonzero weights, spread over all."""
    step, before, places = (
        max(1, int(np.count_nonzero(values)) // MAX_SAMPLED),
        0,
        [np.zeros(0, np.int64)],
    )
    for first in range(0, len(values), _CHUNK):
        used = first + np.flatnonzero(values[first : first + _CHUNK])
        places.append(used[-before % step :: step])
        before += len(used)
    return np.concatenate(places)


def is_close(kept: Any, trained: Any) -> bool:
    """Check that numbers read back are those of training, up to the digits of a file."""
    return bool(np.allclose(kept, trained, rtol=KEPT, atol=1e-37))


def part_of_features(model: Any, K: int) -> Part:
    """The weights of some features of a model of (d, K) W, and of the constant one."""
    places = distinct(sample_nonzeros(model.W.ravel()) // max(1, K))
    columns = places.astype(np.int32) if model.columns is None else model.columns[places]
    part = replace(model, W=model.W[places], columns=columns)

    def holds(kept: Any) -> bool:
        W = in_columns(kept.W, kept.columns, columns, len(columns))
        return is_close(W, part.W) and is_close(kept.constant, part.constant)

    return Part(part, holds)


def read_back_features(model: Any) -> Any:
    """A model of (d, K) W and constants as a reader gets it; a few weights are text at a time.
    Raises ModelError where float32 does not hold a weight."""
    both = np.empty((len(model.W) + 1, model.W.shape[1]))  # as one_below takes them
    W = both[: len(model.W)]
    own, kept = np.ascontiguousarray(model.W).reshape(-1), W.reshape(-1)
    for first in range(0, len(own), _CHUNK):
        kept[first : first + _CHUNK] = read_back(own[first : first + _CHUNK])
    both[len(W)] = read_back(model.constant)
    constant = both[len(W)]
    if not (np.isfinite(W).all() and np.isfinite(constant).all()):
        raise ModelError("the model", "a weight is not finite in float32")
    return replace(model, W=W, constant=constant)


def stack_constant(W: Any, constant: NDArray) -> NDArray[np.float64]:
    """(d + 1, K) W and the constants; their own memory where one lies behind the other."""
    both, other = (getattr(part, "base", None) for part in (W, constant))
    if both is other and isinstance(both, np.ndarray) and both.shape == (len(W) + 1, W.shape[1]):
        first, last = (part.__array_interface__["data"][0] for part in (W, constant))
        if W.flags.c_contiguous and last - first == W.nbytes:
            return both
    return np.vstack([W, constant])


def score_sensitivity(space: LinearSpace, w, K: int, weights, each: bool) -> float:
    """The sum over rows of the most by which scores of W (dim, K) change where no weight changes by
    more than the part e of it, over e: |x|.|W_k|, of all K where `each`, else of the k where it is
    largest."""
    X, W = space.X, w.reshape(-1, K)
    data, constant = np.abs(X.data[X.stored]), abs(space.bias) * total(weights, X.n_rows)
    if weights is not None:
        data = np.repeat(weights, np.diff(X.indptr)) * data
    sizes = np.append(
        np.bincount(X.indices[X.stored], data, X.n_features), [constant] * (space.bias != 0)
    )
    with np.errstate(over="ignore"):
        if not each:
            return sparse.dot(sizes, np.maximum(W.max(axis=1), -W.min(axis=1)))
        rows = max(1, _CHUNK // K)
        parts = (slice(first, first + rows) for first in range(0, len(W), rows))
        return sum(sparse.dot(np.repeat(sizes[part], K), np.abs(W[part]).ravel()) for part in parts)


CUTS = CuttingPlane()


class CertifiedRun(Run):
    """A run of Certified; it has the bundle of the solver's run."""

    def __init__(self, solver: Certified, problem: Problem, start: Start | None):
        super().__init__(solver, problem, start)
        self._found: tuple[Progress | None, tuple[float, float]] = None, (math.nan, math.nan)
        self._within = problem.stop
        self._begin(start, None)

    def form(self) -> Form:
        return {"_run": OWN}

    def state(self) -> State:
        return super().state() | {"within": (self._within.absolute, self._within.relative)}

    def restore(self, state: State) -> None:
        within = schemas.row(schemas.REAL, schemas.maybe(schemas.REAL))
        schemas.checked(state, schemas.fields(within=within))
        self._within = StoppingRule(*state["within"])
        self._begin(None, None)
        super().restore(state)

    def _begin(self, start: Start | None, state: State | None) -> None:
        self._run = self._solver.solver.start(
            replace(self._problem, stop=self._within), start, state
        )

    @property
    def bundle(self) -> CutBundle:
        return self._run.bundle

    def __iter__(self) -> Iterator[Progress]:
        while True:
            for progress in self._run:
                yield progress
            if self._solver.certify is None or not self._within.met(progress.primal, progress.dual):
                return
            primal, dual = self.certificate(progress)
            target = self._problem.stop.target(primal)
            closer = 0.5 * (target - (primal - dual - progress.gap))
            if (
                self._problem.stop.met(primal, dual)
                or not 1e-3 * target < closer < 0.9 * progress.gap
            ):
                return
            self._within = StoppingRule(closer)
            self._begin(None, _reopen(self._run.state()))

    def certificate(self, progress: Progress) -> tuple[float, float]:
        """Primal and dual of the full problem, computed once."""
        if self._found[0] is not progress:
            self._found = progress, self._solver.certify(self, progress)
        return self._found[1]


@record
class Certified(Solver):
    """A solver that ends where the certificate of the full problem meets the rule, or all they can
    do is done.

    Where the solver's own numbers meet the rule and the certificate does not, it goes on to a
    closer target, as long as what else makes up the certified gap (the part outside a span, kernel
    values in float32) leaves room for one."""

    run = CertifiedRun
    #: Primal and dual of the full problem at a Progress of a run; None leaves the solver alone.
    certify: Certify | None
    #: Cutting planes, or what has a bundle of cuts as they do.
    solver: Solver = CUTS


def _reopen(state: State) -> State:
    """The state of a run that met its rule, for one with a closer rule."""
    if "then" in state:
        following = state["then"]["next"]
        return state | {"then": state["then"] | {"next": following and _reopen(following)}}
    return {**state, "ends": False}


def finish_model(outcome: Outcome, examples: Any, settings: Settings) -> Any:
    """The model of a run with its certificate, and where they were to be kept with the multipliers
    of the rows it was trained on."""
    model = with_certificate(outcome.model, outcome, settings)
    if outcome.fractions is None:
        return model
    from svmcut.data.changes import row_keys

    used = np.flatnonzero(outcome.fractions)
    keys = row_keys(examples.X, examples.y)[used]
    return replace(model, multipliers=(outcome.objective.C, keys, outcome.fractions[used]))


def with_certificate(model: Any, outcome: Outcome, settings: Settings) -> Any:
    """The model of an outcome with the gap of its file, the radius and the constant feature, where
    its training has such a ball. `settings` are those of the run, resolved."""
    if not model.has_ball or (model.of_sequences and "certify" not in settings.wishes()):
        return model
    if settings.certify is False or settings.original or not _has_ball(outcome, settings):
        return model
    bias = float(settings.bias or 0.0)

    def size(gap: float) -> float:
        return _size(replace(model, certificate=(gap, 0.0, bias)), outcome)

    ball = ball_of(outcome, size)
    if ball is None:
        return model
    gap, radius, known = ball
    radii, cost = _radii(model, outcome, known, radius), outcome.objective.example_cost
    return replace(model, certificate=(gap, radius, bias, *radii), cost=cost)


def _radii(model: Any, outcome: Outcome, size: float, radius: float) -> list[float]:
    """The radius of every machine, if each was trained by itself, rounded up."""
    if outcome.radii is None:
        return []
    radii = np.array(outcome.radii)
    squares = radii * radii + 2.0 * outcome.gap_rounding
    near = outcome.scale * (np.sqrt(squares) + (KEPT + SCORED) * size)
    return [float(f"{1.00001 * min(r, radius):.6g}") for r in near.tolist()]


def _size(model: Any, outcome: Outcome) -> float:
    """A model whose numbers change by at most a part of themselves has weights within so much of
    what they were times this."""
    if not hasattr(model, "support"):
        return outcome.norm
    length = lengths(model, model.support)
    places = getattr(model, "places", slice(None))  # of the vectors that machines share
    return float(np.abs(model.alpha) @ length[places])


def _has_ball(outcome: Outcome, settings: Settings) -> bool:
    """Decide if the objective is 1/2 |w|^2 plus a convex function of scores without a free
    constant, and the dual value is one of the whole problem."""
    if settings.free_bias or settings.penalty != L2 or settings.nu is not None:
        return False
    if settings.labels == SETS and settings.pairs != PAIRS[-1]:
        return False
    if settings.beam:  # labellings that it misses may lie above the bound
        return False
    return outcome.converged or outcome.stopped_by == BOUNDED or not settings.has_kernel


def check_decidable(settings: Settings, asking: str) -> None:
    """Refuses, as a UsageError, training whose gap proves no label. `settings` are as they were
    given, or resolved, which may say more; `asking` is the parameter that asks for labels that are
    proven."""
    s, what = settings, Parameter(asking)
    if s.labels not in (TWO_CLASSES, CLASSES) or (s.labels == CLASSES and s.has_kernel):
        raise UsageError(
            "{} is for two classes, and for more on features, whose labels a gap can prove; leave "
            "it out",
            what,
        )
    if s.certify is False:
        raise UsageError("{} asks for what {certify=False} leaves out; leave one of them out", what)
    for name in ("epsilon", "gap", "quick", "probability", "nu"):
        if name in s.wishes() and getattr(s, name) is not None:
            raise UsageError("{} does not go with {}; leave one of them out", what, Parameter(name))
    if s.penalty != L2:
        raise UsageError("{} needs {penalty=}: no other gap bounds the weights", what, L2)
    if s.free_bias:
        raise UsageError("{} needs {free_bias=False}: no gap bounds a free bias", what)
    if not s.is_definite or KERNELS[s.kernel].given:
        raise UsageError("{} needs a kernel that is known to be positive definite", what)
    row = SOLVERS.get(s.solver)
    if row is not None and row.steps:
        raise UsageError("{} lowers the gap, which solver '{}' does not aim at", what, s.solver)
