# SPDX-License-Identifier: BSD-3-Clause
"""--until-decided: training until labels of a file are proven to be those of the exact optimum."""

from __future__ import annotations

from svmcut.errors import UsageError
from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from svmcut.cli.options import LearnOptions
    from svmcut.training.driver import Driver


def check_deciding(options: LearnOptions) -> None:
    """Refuses, as a UsageError, what --until-decided and --fraction do not go with."""
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
    from svmcut.training.balls import check_decidable

    check_decidable(options.settings(), "until_decided")


def deciding(options: LearnOptions, driver: Driver, examples: Any) -> Driver:
    """The driver that trains until the labels of these examples are decided."""
    from svmcut.training.until import DecidingDriver, check_fraction

    share = check_fraction(options.until_decided, options.fraction)
    return DecidingDriver(driver, examples.X, share, options.until_decided or "")


def decided(details: dict[str, Any]) -> str:
    """What is said of the labels that were to be decided."""
    count, share = details["decided"], details["decided_fraction"]
    n, rounds = round(count / share) if share else 0, details["decided_rounds"]
    labels = f"{count:,} of {n:,} labels ({100 * share:.2f} %)" if n else "no label"
    return f"{labels} are those of the exact optimum, after {rounds} rounds of training"
