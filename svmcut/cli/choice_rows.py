# SPDX-License-Identifier: BSD-3-Clause
"""The options that choose a threshold, of learn and of threshold."""

from svmcut.cli.option_entry import OBJECTIVE, Option
from svmcut.spec.places import CONFIDENCE, FLOORS, MAXIMISED, USUAL_CONFIDENCE

ROWS = (
    Option(
        "at_least",
        ("--at-least",),
        OBJECTIVE,
        "Promise for new rows like these: precision=0.95, recall=0.9 or specificity=0.99; can be "
        "repeated.",
        default="none",
        kind=FLOORS,
    ),
    Option(
        "maximise",
        ("--maximise",),
        OBJECTIVE,
        "What to maximise among the thresholds that keep the promises: precision or recall.",
        default="recall; precision if only recall is promised",
        kind=MAXIMISED,
    ),
    Option(
        "confidence",
        ("--confidence",),
        OBJECTIVE,
        "Probability that all promises hold.",
        default=f"{USUAL_CONFIDENCE:g}",
        kind=CONFIDENCE,
    ),
)
