# SPDX-License-Identifier: BSD-3-Clause
"""The options that choose a threshold, of learn and of threshold."""

from svmcut.cli.option_entry import OBJECTIVE, Option
from svmcut.spec.places import CONFIDENCE, FLOORS, MAXIMISED, USUAL_CONFIDENCE

ROWS = (
    Option(
        "at_least",
        ("--at-least",),
        OBJECTIVE,
        "What to promise of new rows like these: precision=0.95, recall=0.9 or specificity=0.99; "
        "may be given several times.",
        default="none",
        kind=FLOORS,
    ),
    Option(
        "maximise",
        ("--maximise",),
        OBJECTIVE,
        "What is highest among the thresholds that keep the promises: precision or recall.",
        default="recall, of a floor under recall alone precision",
        kind=MAXIMISED,
    ),
    Option(
        "confidence",
        ("--confidence",),
        OBJECTIVE,
        "Probability that all promises hold, over the draw of these rows.",
        default=f"{USUAL_CONFIDENCE:g}",
        kind=CONFIDENCE,
    ),
)
