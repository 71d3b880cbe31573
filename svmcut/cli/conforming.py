# SPDX-License-Identifier: BSD-3-Clause
"""One run of conformal."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from svmcut import __version__
from svmcut.base.errors import ModelError, TrainingError, UsageError
from svmcut.base.messages import Message, escape, hide_secrets
from svmcut.base.records import record, replace
from svmcut.base.resources import usable_cpus
from svmcut.base.typing import Any
from svmcut.cli.files import redirect_log, write_report
from svmcut.cli.guard import warn
from svmcut.cli.training_report import fact
from svmcut.files.output import File, check_roles
from svmcut.formats import read_file, write_model
from svmcut.scoring.conformal import ABSOLUTE, Coverage, check_coverage, least_rows
from svmcut.spec.parameters import DEFAULTS
from svmcut.spec.places import USUAL_COVERAGE
from svmcut.tasks.calibration import calibrate_on, score_of
from svmcut.tasks.protocol import input_for, make_task, names_for, tasks_of


@record
class ConformalOptions:
    """Options of a run of conformal."""

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


# a model may have scores beyond float64
@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def run_conformal(dev: str, model_file: str, target: str, options: ConformalOptions) -> None:
    """Calibrates, writes the model, and prints what is promised. Raises SvmcutError if nothing can
    be promised; nothing is written then."""
    report, zero_based = options.report, options.zero_based
    outputs = [File("OUT", target), *([] if report is None else [File("--report", report)])]
    check_roles([File("DEV", dev), File("MODEL", model_file)], outputs)
    check_coverage(options.coverage, "--coverage")
    file = read_file(model_file, zero_based=zero_based)
    model: Any = file.model
    check_conformal(model, model_file, options.by_class)
    input = input_for(model, dev, options.input)
    task, threads = make_task(tasks_of(model)[0], input=input), options.threads or usable_cpus()
    reading = {"zero_based": zero_based} | names_for(model, model_file, input)
    try:
        blocks = task.stream(dev, threads=threads, **reading)
        asked = options.coverage, options.by_class
        promised = calibrate_on(task, model, blocks, *asked, threads)
    except TrainingError as error:
        raise TrainingError("{}: {}", dev, error) from None
    labels = model.label_texts() if promised.by_class else []
    with redirect_log(outputs):
        write_model(target, replace(model, coverage=promised))
        for line in coverage_lines(promised, labels):
            print(escape(line))
        print(fact("Model", escape(hide_secrets(target))))
    if file.is_changed:
        warn("svmcut conformal", Message("{}: {}", hide_secrets(model_file), file.caution))
    if report is not None:
        head = {"command": "conformal", "version": __version__}
        write_report(report, head | promised.facts(labels))


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
