# SPDX-License-Identifier: BSD-3-Clause
"""Refusals and texts of --added and --removed."""

from __future__ import annotations

from svmcut.base.errors import UsageError
from svmcut.base.messages import Parameter
from svmcut.base.typing import Any
from svmcut.cli.options import LearnOptions
from svmcut.spec.refusals import check_kept

_EXCLUDED = ("cv", "certify_choice", "at_least", "weights", "probability", "alphas")


def check_updating(options: LearnOptions) -> None:
    """Raises UsageError for what --added and --removed do not go with."""
    names = [name for name in ("added", "removed") if getattr(options, name) is not None]
    if options.scheduled and options.keep_multipliers:
        raise UsageError("{keep_multipliers} does not go with {scheduler}; leave one of them out")
    if not names:
        return
    what = Parameter(names[0])
    if options.initial is None:
        raise UsageError(
            "{} changes the rows of a model; name it with {initial}, one that was trained with "
            "{keep_multipliers}",
            what,
        )
    for name in (*_EXCLUDED, "scheduler", "scheduler_file", "select", "validate"):
        if getattr(options, name):
            raise UsageError("{} does not go with {}; leave one of them out", what, Parameter(name))
    if len(options.path) > 1 or options.searches:
        raise UsageError("{} is for one model; give a single C", what)
    if options.certify is False:
        raise UsageError("{} asks for what {certify=False} leaves out; leave one of them out", what)
    check_kept(options.settings(), names[0])


def changed_rows_text(details: dict[str, Any]) -> str:
    """Text on how many rows changed."""
    removed, added = details["rows_removed"], details["rows_added"]
    return f"{removed:,} removed and {added:,} added since the earlier model"


def kept_labels_text(details: dict[str, Any]) -> str:
    """Text on how many labels cannot have changed."""
    n = round(details["decided"] / details["decided_fraction"]) if details["decided"] else 0
    same, which = details["unchanged"], "are those of the earlier model, proven for the new optimum"
    if n and same == n:
        return f"all {n:,} labels {which}"
    return f"{same:,} of the labels {which}"
