# SPDX-License-Identifier: BSD-3-Clause
"""What svmcut learn and rank say of a run in plain words: one line a fact, its name in front."""

from __future__ import annotations

import math

from svmcut.cli.endings import stop_reason
from svmcut.messages import as_word, printable
from svmcut.spec.catalog import AUTO, KERNELS, measures
from svmcut.spec.kinds import GAMMAS
from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from svmcut.cli.options import LearnOptions
    from svmcut.data.examples import Csr
    from svmcut.training.outcome import Outcome

_WIDTH = 15
#: Values of the examples up to which their error is measured: a pass over them is nothing then.
MEASURED_VALUES = 2_000_000
#: Scores of label sets, likewise: there are as many of a row as labels.
MEASURED_SCORES = 20_000_000


def is_quick(X: Csr, model: Any) -> bool:
    """Whether the error on the examples is measured in no time."""
    scores = X.n_rows * len(model.names) if model.of_sets else 0
    return X.nnz <= MEASURED_VALUES and scores <= MEASURED_SCORES


def fact(name: str, text: str) -> str:
    """A line."""
    return f"{name:<{_WIDTH}}{text}"


def chosen(options: LearnOptions, outcome: Outcome, X: Csr | None = None) -> list[str]:
    """What was trained, and by what."""
    kernel = KERNELS[options.kernel]
    values = ", ".join(f"{name} {getattr(options, name)[0].text}" for name in kernel.takes)
    why = ""
    if options.solver == AUTO:
        why = f", chosen by {AUTO}"
    lines = [fact("Loss", str(options.loss)), fact("Solver", f"{outcome.solver}{why}")]
    if options.has_kernel:
        left = "gamma" not in (options.given or ()) and "(" not in options.gamma[0].text
        if X is not None and left and "gamma" in kernel.takes:
            from svmcut.data.gamma import gamma_of

            values += f" by default; -g {GAMMAS[0]} is {gamma_of(GAMMAS[0], X):.4g}"
        lines.insert(1, fact("Kernel", f"{options.kernel}{values and ', '}{values}"))
    return lines


def certificate(outcome: Outcome) -> list[str]:
    """How training ended, and what the gap says of the model."""
    primal, dual = outcome.primal, outcome.dual
    if dual is None or math.isnan(dual):
        bound = "none: no lower bound of the objective is known"
    elif primal == 0:
        bound = "the objective is 0, and none is lower"
    else:
        above = 100 * max(0.0, outcome.gap) / abs(primal)
        shown = f"{above:.0f}" if above > 10 else f"{above:.2g}"
        bound = (
            f"no model has an objective lower by more than {shown} % "
            f"(primal {primal:.6g}, dual {dual:.6g})"
        )
    lines = [
        fact("Training", f"{stop_reason(outcome)}; {steps(outcome)}"),
        fact("Certificate", bound),
    ]
    details = outcome.details
    if "rows_removed" in details:
        from svmcut.cli.updating import updated

        lines.insert(0, fact("Rows", updated(details)))
    if "decided" in details:
        from svmcut.cli.deciding import decided

        lines.append(fact("Decided", decided(details)))
    if "unchanged" in details:
        from svmcut.cli.updating import unchanged

        lines.append(fact("Unchanged", unchanged(details)))
    return lines


def steps(outcome: Outcome) -> str:
    """Iterations and seconds."""
    count = outcome.progress.iteration
    return f"{count:,} iteration{'s' * (count != 1)} in {outcome.seconds:.2f} s"


def errors(task: str, values: dict[str, float]) -> list[str]:
    """The error on the training examples, as the first measure of the task that falls."""
    for measure in measures(task).values():
        if measure.heading is not None and not measure.rises and measure.name in values:
            value = f"{values[measure.name]:.{measure.digits}f}"
            unit = "%" if measure.digits == 2 else ""
            if measure.heading != "error":
                unit = f"{unit} ({measure.heading})".strip()
            return [fact("Training error", f"{value} {unit}")]
    return []


def model_of_path(text: str, outcome: Outcome) -> str:
    """One line of a model of a path of C."""
    count, used = outcome.progress.iteration, outcome.details.get("features_used")
    more = "" if used is None else f", {used:,} features used"
    return f"C = {text}: {outcome.solver}, {stop_reason(outcome)}; {count:,} iterations{more}"


def calibration(details: dict[str, Any]) -> str:
    """How good the probabilities of a model are."""
    loss, brier = details["log_loss"], details["brier"]
    return f"log loss {loss:.4f}, Brier score {brier:.4f} on rows held out"


def written(target: str, details: dict[str, Any]) -> list[str]:
    """The model's file, where it is one, and what to do with it."""
    lines = []
    if "features_used" in details:
        lines.append(fact("Features used", f"{details['features_used']:,}"))
    if "sigma" in details:
        text = f"Laplace noise of sigma {details['sigma']:.6g} around predictions"
        lines.append(fact("Noise", f"{text}, of rows held out"))
    if "log_loss" in details:
        lines.append(fact("Probabilities", calibration(details)))
    if target == "-":
        return lines
    scoring = f"svmcut classify TEST_FILE {printable(as_word(target))} PREDICTIONS"
    return [*lines, fact("Model", printable(target)), fact("Next", scoring)]
