# SPDX-License-Identifier: BSD-3-Clause
"""Training until labels are decided: the gap falls until a share of them is proven to be that of
the exact optimum.

A ball of radius r decides the label of x where |f(x)| > r |x|, and r^2 is proportional to the gap
(svmcut.training.certificate). So the scores of any model say which gap would decide a given share,
if they were those of the optimum; they nearly are. Training goes in rounds, each to the gap that
the scores of the last one ask for, from the solution of the last one where the plan has it so.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import TrainingError, UsageError
from svmcut.base.records import replace
from svmcut.base.typing import Any
from svmcut.data.examples import Csr
from svmcut.models.bounds import lengths, limits
from svmcut.solvers.protocol import Progress, State
from svmcut.spec import schemas
from svmcut.spec.kinds import number
from svmcut.training.certificate import check_decidable, with_certificate
from svmcut.training.driver import Cost, Driver, Observe
from svmcut.training.gate import judge_by_proof
from svmcut.training.outcome import Outcome
from svmcut.training.update import UpdatingDriver

#: Share that is decided where nothing is said.
FRACTION = 0.99
#: Relative gap of the first round, and the least that is asked for.
FIRST_GAP, MIN_GAP = 1e-2, 1e-15
#: What is aimed at of the gap that the scores ask for; of the last gap, at most and at least.
SAFETY, MAX_GAP_RATIO, MIN_GAP_RATIO = 0.8, 0.5, 1e-3


class DecidingDriver(Driver):
    """Trains as the driver it takes over from, in rounds of smaller gaps, until the labels of a
    `fraction` in (0, 1] of the rows X are decided; `path` names the rows in messages. The driver is
    just made, and not to be used any more.

    Raises UsageError where no gap proves labels (svmcut.training.certificate.check_decidable), and
    TrainingError where there is no row.
    """

    def __init__(self, driver: Driver, X: Csr, fraction: float, path: str):
        check_decidable(driver.settings, "until_decided")
        super().__init__(driver.plan)
        self._updating = driver if isinstance(driver, UpdatingDriver) else None
        self.task_fields, self.counts, self.notes = driver.task_fields, driver.counts, driver.notes
        if not X.n_rows:
            raise TrainingError("{}: no row has a label to decide; give some", path)
        self._X, self._wanted = X, math.ceil(fraction * X.n_rows)
        self._gap, self._limits = FIRST_GAP, np.zeros(0)

    def fit(
        self, cost: Cost, example_cost: Cost, observe: Observe = None, state: State | None = None
    ) -> Outcome:
        """See Driver.fit. `converged` says if the labels are decided; the details ``decided``,
        ``decided_fraction`` and ``decided_rounds`` count them and the rounds."""
        self._gap, rounds, seconds = FIRST_GAP, 0, 0.0
        if state is not None:
            known = schemas.fields(round=schemas.COUNT, round_gap=schemas.real(0, 1))
            schemas.checked(state, known)
            self._gap, rounds = state["round_gap"], state["round"]
        elif self._updating is not None:
            outcome = self._updating.bound_optimum(cost, example_cost)
            gap, count = self._count_decided(outcome)
            if count >= self._wanted:
                return self._add_counts(judge_by_proof(outcome, True), count, 0)
            self._gap = gap
        while True:
            self._round, rounds = rounds, rounds + 1
            self.plan.settings = replace(self.plan.settings, gap=self._gap)
            outcome, state = super().fit(cost, example_cost, observe, state), None
            seconds += outcome.seconds
            gap, count = self._count_decided(outcome)
            reached, over = count >= self._wanted, gap < MIN_GAP or self.is_late()
            if not (reached or over) and (outcome.converged or outcome.stopped_by == "file"):
                self._gap = gap
                continue
            judge_by_proof(outcome, reached, "rounding" if gap < MIN_GAP else "limit")
            outcome.seconds = seconds
            return self._add_counts(outcome, count, rounds)

    def _add_counts(self, outcome: Outcome, count: int, rounds: int) -> Outcome:
        """The outcome, which says how many labels are decided."""
        n, updating = self._X.n_rows, self._updating
        shares = {"decided": count, "decided_fraction": count / n, "decided_rounds": rounds}
        outcome.details |= shares
        if updating is not None:
            updating.add_row_counts(outcome)
            model = with_certificate(outcome.model, outcome, self.settings)
            if model.certificate is not None:
                outcome.details["unchanged"] = updating.count_unchanged(model, self._X)
        return outcome

    def state(self) -> State:
        return super().state() | {"round": self._round, "round_gap": self._gap}

    def tell(self, progress: Progress) -> str:
        """About how many labels the gap of a Progress decides, by the scores of the last round."""
        if not len(self._limits):
            return ""
        decided = float((self._limits > math.sqrt(2 * max(0.0, progress.gap))).mean())
        return f"about {100 * decided:.1f} % decided"

    def _count_decided(self, outcome: Outcome) -> tuple[float, int]:
        """The relative gap that the scores of a model ask for, and how many labels are decided."""
        model: Any = with_certificate(outcome.model, outcome, self.settings)
        if model.certificate is None:
            return 0.0, 0
        gap, radius = model.certificate[:2]
        radii = self._decision_radii(model)
        count = int((radii > radius).sum())
        if not radius > 0:
            return 0.0, count
        self._limits = radii * (math.sqrt(2 * gap) / radius)
        n = len(radii)
        needed = float(np.partition(radii, n - self._wanted)[n - self._wanted])
        asked = SAFETY * (needed / radius) ** 2 * gap / abs(outcome.written)
        return min(max(asked, MIN_GAP_RATIO * self._gap), MAX_GAP_RATIO * self._gap), count

    def _decision_radii(self, model: Any) -> NDArray[np.float64]:
        """(n,) the radius below which each label is decided."""
        scores = model.scores(self._X, self.settings.threads)
        return limits(model, scores, lengths(model, self._X))


def check_fraction(until: Any, fraction: Any) -> float:
    """The share of labels to decide. Raises UsageError if it is no share, or there are no labels to
    decide."""
    if fraction is None:
        return FRACTION
    if until is None:
        raise UsageError("{fraction} is a share of labels to decide; add {until_decided}")
    try:
        return number(0, 1, above=True).take(fraction)
    except ValueError:
        raise UsageError(
            "{fraction=} is no share; expected a number above 0 and at most 1", fraction
        ) from None
