# SPDX-License-Identifier: BSD-3-Clause
"""Objectives and their units, and outcomes: a model, its certificate, and the verdict on it.

One factor multiplies a risk's value, coefficients and offset, and C is divided by it; nothing else
in svmcut rescales.
"""

from __future__ import annotations

import math

from svmcut.base.errors import UsageError
from svmcut.base.messages import Message
from svmcut.base.records import field, fields, record, replace
from svmcut.base.typing import TYPE_CHECKING, Any, NamedTuple
from svmcut.spec.entries import NUMBERS, ONE_CLASS
from svmcut.spec.refusals import refuse_example_cost
from svmcut.training.gate import ENDS, judge

if TYPE_CHECKING:
    from svmcut.models import ChainModel, Model
    from svmcut.solvers.protocol import Progress
    from svmcut.spec.parameters import Settings, StoppingRule
    from svmcut.training.gate import Reading

PERCENT = 100.0
#: A model may be underfitted whose slack is above this part of that of w = 0, and |w|^2 of C times
#: what the risk fell.
UNDERFITTED, STRAIGHT = 0.9, 0.7
#: Rounding of P - D in float64 as a part of P, and where nothing is known of its sums.
ROUNDED, UNKNOWN = 1e-13, 1e-9
#: Ends before the aim.
STOPS = ("limit", "interrupt", "cap", "rounding", "float32", "basis", "file", "mistake")
#: What a run says whose sampled cuts ended before their stopping rule was met.
FULL = Message("the cuts filled their memory; raise {max_memory} or {sample_size}")
#: What is said where w = 0 is the model.
WORSE = "w = 0 has a lower primal than the best point found, and is the model; {}"


@record
class Objective:
    """1/2 |w|^2 + C R(A w), and its numbers in the units of the original programs."""

    #: In the unit of the risk.
    C: float
    #: In the unit of the original's -c.
    c: float
    #: The original's loss in units of the risk: loss = unit * risk and C = unit * c.
    unit: float
    #: In the unit of the original's loss; gap <= c epsilon ends training.
    epsilon: float
    #: 1 sample, or the number of queries, sequences or label sets, without weights.
    structures: int = 1
    #: C of a sample's loss; None where the loss is no sum over samples.
    example_cost: float | None = None


class Units(NamedTuple):
    """The original programs' weight of a risk: c times the mean over samples.

    svm_perf minimises 1/2 w'w + c * (100/n) sum_i max(0, 1 - y_i w.x_i): its loss is the error rate
    in percent (observed: svm_perf -c 0.6 on 60 examples is svm_light -c 1). svm_rank and svm_hmm
    average over queries and sequences. The C of LIBLINEAR, LIBSVM and svm_light weighs one
    example's hinge loss.
    """

    loss: str
    #: In the unit of the original's loss.
    epsilon: float
    #: Total weight of the examples, queries, sequences or label sets whose losses add up; 0 if the
    #: loss is of all examples together.
    samples: float = 0
    #: The original's loss is the mean loss of a sample times this.
    scale: float = 1.0
    #: True if the risk is the sum over the samples; otherwise it is the original's loss itself.
    is_sum: bool = False
    #: See Objective.
    structures: int = 1
    #: The risk of w = 0 if training may stay near it and it is positive, else inf.
    at_zero: float = math.inf
    #: Advice for that case.
    remedy: str = Message("compare larger values of {cost}")
    #: The original's C is this times c.
    original: float = 1.0

    def objective(self, cost: float | None, example_cost: float | None) -> Objective:
        """The objective of c, or of the weight of one sample's loss; exactly one of them is given.

        Raises UsageError for both or none, or for a sample's weight if the loss is no sum over
        samples.
        """
        if (cost is None) == (example_cost is None):
            raise UsageError(
                "exactly one of {cost} (the original's C) and {example_cost} is required"
            )
        if example_cost is not None and not self.samples:
            raise refuse_example_cost(self.loss)
        if example_cost is None:
            assert cost is not None
            c = cost / self.original
        else:
            c = example_cost * self.samples / self.scale
        known = self.epsilon, self.structures, self.example_cost(c)
        if not self.is_sum:
            return Objective(c, c, 1.0, *known)
        C = c * self.scale / self.samples if example_cost is None else example_cost
        return Objective(C, c, self.scale / self.samples, *known)

    def example_cost(self, c: float) -> float | None:
        """The weight of one sample's loss under the original's c; None where the loss is no sum
        over samples."""
        return c * self.scale / self.samples if self.samples else None

    def underfit_warnings(self, outcome: Outcome, slack_norm: int) -> list[str]:
        """A warning where |w| holds training near w = 0, for a risk of all examples together.

        With w the minimiser and R convex, |w|^2 <= C (R(0) - R(w)), and the two are equal where R
        falls in a straight line from 0 to w: a larger C would lengthen w and do nothing else. Where
        the examples forbid a smaller slack,
        |w|^2 is a small part of it.
        """
        progress, at_zero = outcome.progress, self.at_zero
        if not (outcome.converged and progress.risk > UNDERFITTED**slack_norm * at_zero):
            return []
        if outcome.norm**2 < STRAIGHT * outcome.objective.C * (at_zero - progress.risk):
            return []
        share = 100 * (progress.risk / at_zero) ** (1 / slack_norm)
        sentence = (
            "C = {:g} leaves {:.4g} % of the slack of w = 0: the model may be underfitted; {}"
        )
        return [Message(sentence, outcome.objective.c, share, self.remedy)]


def units_of_examples(s: Settings, weight: float) -> Units:
    """The units of a sum over examples of this weight; C of numbers weighs an example in either
    unit."""
    scale = weight if s.labels in (NUMBERS, ONE_CLASS) else PERCENT
    return Units(s.loss or "", s.epsilon or 0.0, weight, scale, is_sum=True)


def class_units(
    loss: str, epsilon: float, samples: float, n: int, margin: float, scale: float = PERCENT
) -> Units:
    """The units of n examples of several classes with the total weight `samples`; svm_multiclass
    asks for this margin, so its C is the square of it times that of the scale alone."""
    return Units(loss, epsilon, samples, scale, True, n, original=margin**2)


def _no_numbers() -> Any:
    import numpy as np

    return np.zeros(0)


@record(frozen=False)
class Outcome:
    """A trained model, its certificate and how the run went."""

    model: Model | ChainModel
    objective: Objective
    #: The last one.
    progress: Progress
    #: The solver that ran.
    solver: str
    #: Length of w with the weight of the constant feature, and of the longest cut normal, in the
    #: unit of the risk.
    norm: float = 0.0
    longest_cut: float = 0.0
    #: (cuts,) float64 Of the final cuts, for C in the unit of the original.
    multipliers: Any = field(default_factory=_no_numbers)
    #: Of training.
    seconds: float = 0.0
    #: True if the certificate of the model, as its file has it, meets the stopping rule;
    #: svmcut.training.gate says so.
    converged: bool = False
    #: Where it does not: "limit", "interrupt"; "cap" where the solver had made all the passes it
    #: makes; "rounding" where float64 leaves no smaller gap, "float32" where kernel values in
    #: single precision do not, "basis" where the span of the basis does not, "file" where the
    #: digits of the model file do not; "mistake" where the certificate cannot be. "epochs", "span",
    #: "samples", "held-out" and "bounded" where training did what it was asked for, which was no
    #: gap of the full problem; "stationary" where there is none, as the kernel need not be
    #: definite.
    stopped_by: str | None = None
    #: What a user should know of this run; the driver's own `warnings` are those of the data.
    warnings: list[str] = field(default_factory=list)
    #: Primal of the model and a dual bound (nan for none) of the full problem, where
    #: the solver's own are those of another: the span of a basis, sampled cuts, kernel values in
    #: float32.
    certificate: tuple[float, float] | None = None
    #: Primal of the model as it is read back, where the rounding of its file may matter.
    primal_of_file: float | None = None
    #: The digits of the file change the primal by at most this, where `primal_of_file` is None.
    rounding: float = 0.0
    #: The rounding of the sums of primal and dual changes their gap by at most this; inf where that
    #: is not known.
    sums: float = math.inf
    kernel_evaluations: int | None = None
    #: What else the report says of this solver.
    details: dict[str, Any] = field(default_factory=dict)
    #: P(w) - D of a dual vector v, and |w - v|, where v is known: a closer ball than
    #: that of the gap alone (svmcut.training.certificate).
    apart: tuple[float, float] | None = None
    #: (n,) float64 Multipliers of the rows as parts of C, where they are to be kept.
    fractions: Any = None
    #: The model's weights are those of training times this.
    scale: float = 1.0
    #: (M,) float64 Of machines that were trained one by one: how far each can be from its own
    #: optimum, before the scale and the digits of the file.
    radii: Any = None
    #: The dual vector of the last cuts on features, and its bound; a checkpoint has
    #: none.
    below: Any = None

    def __repr__(self) -> str:
        end = "converged" if self.converged else f"ended: {self.stopped_by}"
        numbers = f"primal {self.primal:.6g}, dual {self.dual:.6g}, gap {self.gap:.3g}"
        return (
            f"<{type(self).__name__} of {self.solver}: {type(self.model).__name__}, {numbers}, "
            f"C {self.objective.c:g}, {end}>"
        )

    def __reduce__(self):
        own = self.portable()
        return type(own), tuple(getattr(own, item.name) for item in fields(own))

    def portable(self) -> Outcome:
        """This without the solver's callables, as a checkpoint keeps it."""
        from svmcut.solvers.protocol import Unsaved

        return replace(self, progress=self.progress._replace(solution=Unsaved()), below=None)

    def validate(self) -> Outcome:
        """This, where a checkpoint may hold it; raises StateError."""
        from svmcut.spec import schemas

        self.model.validate()
        numbers = schemas.row(schemas.ANY_REAL, schemas.ANY_REAL)
        stopped_by = schemas.maybe(schemas.text(*STOPS, *ENDS))
        schemas.checked(
            self,
            schemas.fields(
                multipliers=schemas.reals(None),
                warnings=schemas.many(schemas.text()),
                certificate=schemas.maybe(numbers),
                sums=schemas.ANY_REAL,
                apart=schemas.maybe(numbers),
                fractions=schemas.maybe(schemas.reals(None)),
                radii=schemas.maybe(schemas.reals(None, low=0)),
                stopped_by=stopped_by,
                solver=schemas.text(),
            ),
            "outcome",
        )
        return self

    def judge(
        self,
        rule: StoppingRule,
        stopped_by: str | None,
        otherwise: str = "rounding",
        reading: Reading | None = None,
    ) -> Outcome:
        """This, with the verdict of the gate: see svmcut.training.gate.judge."""
        return judge(self, rule, stopped_by, otherwise, reading)

    def give_way(self, model: Any, at_zero: float, dual: float, remedy: str) -> Outcome:
        """This, with the model of w = 0 instead, whose primal is `at_zero`, and a warning that says
        what to do."""
        import numpy as np

        self.warnings.append(Message(WORSE, remedy))
        self.model, self.certificate, self.norm = model, (at_zero, dual), 0.0
        self.multipliers = np.zeros_like(self.multipliers)
        self.primal_of_file = None if self.primal_of_file is None else at_zero
        return self

    @property
    def done(self) -> bool:
        """True if training reached its aim."""
        return self.converged or self.stopped_by in ENDS

    @property
    def primal(self) -> float:
        return self.certificate[0] if self.certificate else self.progress.primal

    @property
    def dual(self) -> float:
        return self.certificate[1] if self.certificate else self.progress.dual

    @property
    def written(self) -> float:
        """The larger one of the primal and that of the file."""
        return self.primal if self.primal_of_file is None else max(self.primal, self.primal_of_file)

    @property
    def gap(self) -> float:
        return self.primal - self.dual

    @property
    def gap_rounding(self) -> float:
        """A bound of the rounding of P - D in float64: a fraction of P, the rounding of their sums,
        and twice the amount by which D is above P."""
        primal = abs(self.primal)
        sums = self.sums if math.isfinite(self.sums) else UNKNOWN * primal
        return ROUNDED * primal + sums + 2.0 * max(0.0, -self.gap)
