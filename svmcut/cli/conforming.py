# SPDX-License-Identifier: BSD-3-Clause
"""One run of conformal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from svmcut.base.errors import ModelError, UsageError
from svmcut.base.records import record, replace
from svmcut.base.typing import Any, ClassVar
from svmcut.cli.promising import Promise, outputs_for, run_promise
from svmcut.cli.training_report import fact
from svmcut.scoring.conformal import ABSOLUTE, Coverage, check_coverage, least_rows
from svmcut.spec.parameters import DEFAULTS
from svmcut.spec.places import USUAL_COVERAGE
from svmcut.tasks.calibration import calibrate_on, score_of
from svmcut.tasks.protocol import Task


@record
class ConformalOptions:
    """Options of a run of conformal."""

    command: ClassVar[str] = "conformal"
    coverage: float = USUAL_COVERAGE
    by_class: bool = False
    input: str | None = None
    zero_based: bool = DEFAULTS["zero_based"]
    report: str | None = None
    threads: int | None = None


def check_conformal(model: Any, path: str, by_class: bool) -> None:
    """Raises ModelError for a model of neither numbers nor classes, and UsageError for classes of
    numbers."""
    score = score_of(model)
    if score is None:
        message = "predicts neither numbers nor classes, and has no coverage to promise"
        raise ModelError(path, message)
    if by_class and score == ABSOLUTE:
        raise UsageError("--by-class is for classes, and the model predicts numbers; leave it out")


def run_conformal(dev: str, model_file: str, target: str, options: ConformalOptions) -> None:
    """Calibrates, writes the model, and prints what is promised. Raises SvmcutError if nothing can
    be promised; nothing is written then."""
    outputs = outputs_for(dev, model_file, target, options.report)
    check_coverage(options.coverage, "--coverage")

    def check(model: Any, path: str) -> None:
        check_conformal(model, path, options.by_class)

    def make(task: Task, model: Any, blocks: Iterable[Any], threads: int) -> Promise:
        asked = options.coverage, options.by_class
        promised = calibrate_on(task, model, blocks, *asked, threads)
        labels = model.label_texts() if promised.by_class else []
        lines = coverage_lines(promised, labels)
        return Promise(replace(model, coverage=promised), lines, promised.facts(labels))

    run_promise(dev, model_file, outputs, options, check, make)


def coverage_lines(promised: Coverage, labels: list[str]) -> Iterator[str]:
    """Lines on what is promised, and by which rows."""
    sets = "intervals" if promised.score == ABSOLUTE else "sets of labels"
    given = ", of each class" if labels else ""
    share = f"{100 * promised.share:g} %"
    yield fact("Promised", f"{sets} hold {share} of new rows like these{given}")
    least = least_rows(promised.share)
    for k, (n, limit) in enumerate(zip(promised.rows, promised.limits, strict=True)):
        of = f"{labels[k]}: " if labels else ""
        if math.isinf(limit):
            told = f"{of}in every set, as {least:,} rows are needed and there are {n:,}"
        else:
            told = f"{of}{promised.score} {limit:.6g}, rank {promised.ranks[k]:,} of {n:,} rows"
        yield fact("Up to", told)
