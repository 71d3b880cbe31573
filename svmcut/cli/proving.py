# SPDX-License-Identifier: BSD-3-Clause
"""--certify-choice: a C of an interval that no other C of it can beat by much. --until-decided:
training until labels of a file are proven to be those of the exact optimum."""

from __future__ import annotations

from collections.abc import Callable

from svmcut.base.errors import UsageError
from svmcut.base.records import replace
from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.cli.advice import in_options
from svmcut.cli.options import LearnOptions
from svmcut.spec.kinds import Typed
from svmcut.training.driver import Driver

if TYPE_CHECKING:
    from svmcut.selection.interval import CertifiedChoice


def check_proving(options: LearnOptions) -> None:
    """Raises UsageError for what --certify-choice does not go with, and for an interval without
    it."""
    if options.certify_choice is None:
        if options.span is not None:
            raise UsageError(
                "an interval of C is chosen from by {certify_choice}; add it, or give values: "
                "0.1,1,10"
            )
        return
    from svmcut.selection.interval import check_choice

    if options.span is None:
        raise UsageError("{certify_choice} chooses from an interval; give C as LOW:HIGH")
    if (options.cv is None) == (options.validate is None):
        raise UsageError(
            "{certify_choice} counts errors on rows held out; add {validate} or {cv}, one of them"
        )
    if options.select is not None:
        raise UsageError("{certify_choice} chooses by the share of errors; leave out {select}")
    if options.scheduled:
        raise UsageError(
            "{certify_choice} and {scheduler} do not go together; leave one of them out"
        )
    check_choice(options.settings())


class ProvenChoice:
    """Choice of C from an interval, with a proof that no other is better by much; it answers what
    svmcut.cli.choosing.GridChoice does."""

    needs_new_driver = True

    def __init__(self, options: LearnOptions, warnings: list[str], search: CertifiedChoice):
        self._options, self.warnings, self.search = options, warnings, search
        self._n_logged = 0

    def title(self) -> str:
        """Title of the choice."""
        options, (low, high) = self._options, self._options.path
        where = f"{options.cv} folds" if options.cv else options.validate
        return f"Choosing C from {low.text} to {high.text} by the errors on {where}"

    def progress(self) -> tuple[None, str]:
        """Text of the progress bar; the share that is done is unknown."""
        search = self.search
        text = f"{search.trainings} trainings"
        if search.slack < 1:
            text = f"proven within {_percent(search.slack)} of {_percent(search.most)}, {text}"
        return None, text

    def log_progress(self, log: Callable[[str], None]) -> None:
        """Logs what was trained and proven since the last call."""
        if self.search.trainings > self._n_logged and self.search.slack < 1:
            self._n_logged = self.search.trainings
            log(self.progress()[1])

    def table(self) -> str:
        """Result: the chosen C, its errors, and how few any other can make."""
        proven = self.search.report()
        if not proven["intervals"]:
            return ""
        low, high = self._options.path
        least, count = proven["errors"] - proven["within"], len(proven["trained"])
        return (
            f"C = {proven['C']:g} has {_percent(proven['errors'])} errors, the fewest of {count} "
            f"values of C that were trained\nNo C from {low.text} to {high.text} has fewer than "
            f"{_percent(least)}: none is better by more than {_percent(proven['within'])}\n"
        )

    def advice(self, examples: Any) -> list[str]:
        """Warnings about the choice: none."""
        return []

    def failure(self) -> str:
        """Reason why there is no proof."""
        search = self.search
        if search.stuck:
            return in_options(search.stuck)
        if search.slack >= 1:
            return "a limit came before the ends of the interval were trained"
        return f"a limit came while C may still be worse than another by {_percent(search.slack)}"

    def report(self) -> dict[str, Any]:
        """Entries of the report."""
        return {"choice": self.search.report()}

    def best_options(self) -> LearnOptions:
        """Options of one training with the chosen C, to the gap that the choice had there."""
        options, (C, _) = self._options, self.search.best
        unit = "cost" if options.cost else "example_cost"
        values: dict[str, Any] = {unit: (Typed(f"{C:g}", C),)}
        if options.until_decided is None:
            values["gap"] = self.search.gap
        return replace(options, cv=None, select=None, certify_choice=None, **values)


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def check_deciding(options: LearnOptions) -> None:
    """Raises UsageError for what --until-decided and --fraction do not go with."""
    if options.until_decided is None:
        if options.fraction is not None:
            raise UsageError("{fraction} is a share of labels to decide; add {until_decided}")
        return
    if len(options.path) > 1 and not options.searches:
        raise UsageError("{until_decided} trains one model; give a single C, or choose one by {cv}")
    if options.scheduled:
        raise UsageError(
            "{until_decided} and {scheduler} do not go together; leave one of them out"
        )
    from svmcut.training.certificate import check_decidable

    check_decidable(options.settings(), "until_decided")


def deciding_driver(options: LearnOptions, driver: Driver, examples: Any) -> Driver:
    """Driver that trains until the labels of these examples are decided."""
    from svmcut.training.update import DecidingDriver, check_fraction

    share = check_fraction(options.until_decided, options.fraction)
    return DecidingDriver(driver, examples.X, share, options.until_decided or "")


def decision_text(details: dict[str, Any]) -> str:
    """Text on the labels that had to be decided."""
    count, share = details["decided"], details["decided_fraction"]
    n, rounds = round(count / share) if share else 0, details["decided_rounds"]
    labels = f"{count:,} of {n:,} labels ({100 * share:.2f} %)" if n else "no label"
    return f"{labels} are those of the exact optimum, after {rounds} rounds of training"
