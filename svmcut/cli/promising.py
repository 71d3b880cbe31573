# SPDX-License-Identifier: BSD-3-Clause
"""One run of a command that has a model promise something by the rows of DEV."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from svmcut import __version__
from svmcut.base.errors import TrainingError
from svmcut.base.messages import Message, escape, hide_secrets
from svmcut.base.resources import usable_cpus
from svmcut.base.typing import Any, NamedTuple
from svmcut.cli.files import redirect_log, write_report
from svmcut.cli.guard import warn
from svmcut.cli.training_report import fact
from svmcut.files.output import File, check_roles
from svmcut.formats import read_file, write_model
from svmcut.tasks.protocol import Task, input_for, make_task, names_for, tasks_of


class Promise(NamedTuple):
    """Result of a run."""

    model: Any
    #: Printed once the model is written.
    lines: Iterable[str]
    #: Entries of the report.
    document: dict[str, Any]


def outputs_for(dev: str, model_file: str, target: str, report: str | None) -> list[File]:
    """Return what a run writes. Raises UsageError where that is an input or another output."""
    outputs = [File("OUT", target), *([] if report is None else [File("--report", report)])]
    check_roles([File("DEV", dev), File("MODEL", model_file)], outputs)
    return outputs


# a model may have scores beyond float64
@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def run_promise(
    dev: str,
    model_file: str,
    outputs: list[File],
    options: Any,
    check: Callable[[Any, str], None],
    make: Callable[[Task, Any, Iterable[Any], int], Promise],
) -> None:
    """Reads and checks the model, makes the promise on blocks of DEV, writes the model, and prints
    what is promised. Raises SvmcutError if nothing can be promised; nothing is written then."""
    command, zero_based, target = options.command, options.zero_based, outputs[0].path
    file = read_file(model_file, zero_based=zero_based)
    model: Any = file.model
    check(model, model_file)
    input = input_for(model, dev, options.input)
    task, threads = make_task(tasks_of(model)[0], input=input), options.threads or usable_cpus()
    reading = {"zero_based": zero_based} | names_for(model, model_file, input)
    try:
        blocks = task.stream(dev, threads=threads, **reading)
        made = make(task, model, blocks, threads)
    except TrainingError as error:
        raise TrainingError("{}: {}", dev, error) from None
    with redirect_log(outputs):
        write_model(target, made.model)
        for line in made.lines:
            print(escape(line))
        print(fact("Model", escape(hide_secrets(target))))
    if file.is_changed:
        warn(f"svmcut {command}", Message("{}: {}", hide_secrets(model_file), file.caution))
    if options.report is not None:
        write_report(options.report, {"command": command, "version": __version__} | made.document)
