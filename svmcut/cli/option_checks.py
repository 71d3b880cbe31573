# SPDX-License-Identifier: BSD-3-Clause
"""The refusals of command lines: svmcut.spec.refusals, and those of options that are no
parameters."""

from __future__ import annotations

import os

from svmcut.base.errors import UsageError
from svmcut.base.messages import Parameter
from svmcut.base.records import replace
from svmcut.base.typing import TYPE_CHECKING
from svmcut.cli import options as table
from svmcut.cli.advice import in_options
from svmcut.cli.options import LearnOptions
from svmcut.cli.proving import check_deciding, check_proving
from svmcut.cli.updating import check_updating
from svmcut.data.examples import Examples
from svmcut.data.labels import distinct, label_text, refuse_classes
from svmcut.files.text import open_text
from svmcut.spec import refusals, trainers
from svmcut.spec.catalog import (
    AUTO,
    CUTTING_PLANE,
    KERNEL_PARAMETERS,
    TABLES,
    TASKS,
    measures,
)
from svmcut.spec.entries import TAGS
from svmcut.spec.options import warn_of_inert
from svmcut.spec.parameters import DEFAULTS, task_defaults
from svmcut.spec.places import USUAL_CONFIDENCE
from svmcut.tables.options import TABLE_OPTIONS

if TYPE_CHECKING:
    from svmcut.scoring.thresholds import Promises


def check(options: LearnOptions) -> list[str]:
    """Refuses what no run can honour, with a UsageError that names the options and the remedy;
    returns warnings of the originals' options that were given and have no effect."""
    _check_outputs(options)
    _check_input(options)
    _check_algorithm(options)
    settings = options.settings()
    idle = refusals.check(settings)
    check_proving(options)
    if options.weights is not None:
        refusals.check_weights(settings, "weights")
    _check_preimages(options)
    if options.alphas and options.labels == TAGS:
        by_cuts = settings.solver == CUTTING_PLANE or trainers.variant(options)
        if not by_cuts:
            raise UsageError("-a writes the multipliers of cuts; add {solver=}", CUTTING_PLANE)
    given = options.given or frozenset()
    read = {
        name
        for solver in trainers.candidates(settings)
        for name in trainers.reads(settings, solver)
    }
    if options.basis != DEFAULTS["basis"] and "basis" not in given | read:
        idle.append("--k has no effect without a subspace or a polish")
    if options.algorithm == 9 and "rescaling" in given:
        idle.append("-o has no effect with -w 9")
    if "preimage" in given and not options.has_kernel:
        idle.append("--i has no effect with the linear kernel")
    return [*map(in_options, idle), *warn_of_inert(table.rows(options.task), given)]


def named_by_labels(options: LearnOptions, examples: Examples) -> LearnOptions:
    """The options of two classes with the task multiclass in its place, and its defaults. Raises
    UsageError for options that are no parameters and mean nothing there."""
    own = {
        name: value
        for name, value in task_defaults("multiclass").items()
        if getattr(options, name) is None
    }
    of_classes, reason = replace(options, **(own | {"task": "multiclass"})), ""
    if options.algorithm not in (None, *TASKS[of_classes.task].algorithms):
        reason = f"-w {options.algorithm} is an algorithm for two; leave it out"
    elif options.at_least is not None:
        reason = "--at-least chooses a threshold between two; leave it out"
    elif options.select and options.select not in measures(of_classes.task):
        known = ", ".join(name.replace("_", "-") for name in measures(of_classes.task))
        reason = (
            f"--select {options.select.replace('_', '-')} is a measure of two; expected one of "
            f"{known}"
        )
    if reason:
        y = examples.y
        raise refuse_classes(
            examples.source.path, len(distinct(y)), reason, label_text(float(y.max()))
        )
    return of_classes


def _check_outputs(options: LearnOptions) -> None:
    if len({cost.text for cost in options.path}) < len(options.path):
        raise UsageError("the same C stands twice; each value of a path names a model file")
    _check_grid(options)
    if options.weights == "-" == options.example_file:
        raise UsageError("--weights - and EXAMPLE_FILE - are one standard input; name a file")
    if options.select and not (options.validate or options.cv):
        measure = options.select.replace("_", "-")
        raise UsageError(
            "--select {} needs --validate FILE to measure the models on, or --cv K", measure
        )
    _check_threshold(options)
    check_deciding(options)
    check_updating(options)
    if options.alphas and len(options.path) > 1 and not options.searches:
        raise UsageError("-a writes the multipliers of one model; give a single C")
    if "checkpoint_every" in (options.given or ()) and options.checkpoint is None:
        raise UsageError(
            "--checkpoint-every is the time between checkpoints; name them with --checkpoint FILE"
        )
    if options.scheduler is not None and options.scheduler_file is not None:
        raise UsageError(
            "--scheduler and --scheduler-file name one scheduler; leave one of them out"
        )
    if options.work_dir is not None and not options.scheduled:
        raise UsageError(
            "--work-dir is a folder for the workers of a scheduler; name one with --scheduler"
        )
    if options.reads_table:
        _check_table(options)
    if options.resume and options.checkpoint is None:
        raise UsageError("--resume goes on from a checkpoint; name it with --checkpoint FILE")


def _check_table(options: LearnOptions) -> None:
    """Refusals of what goes with examples in LIBSVM's text alone."""
    if options.cache is not None:
        raise UsageError(
            "{cache} is for examples in LIBSVM's text; leave it out, or write them with svmcut "
            "convert"
        )
    if options.initial is not None:
        raise UsageError(
            "{initial} has the features of its own table, and these are fitted afresh; leave it "
            "out, or write both files with svmcut convert"
        )


def _check_threshold(options: LearnOptions) -> None:
    """Refusals of what a threshold is to promise."""
    if options.at_least is None:
        for name in ("maximise", "confidence"):
            if getattr(options, name) is not None:
                raise UsageError("{} is for a threshold; add {at_least}", Parameter(name))
        return
    promises_of(options)
    if options.validate is None:
        raise UsageError(
            "{at_least} chooses a threshold on rows that took no part in training; add {validate}"
        )
    if options.select or options.searches or len(options.path) > 1:
        raise UsageError(
            "{at_least} promises nothing of rows that chose the model too; train it alone, and "
            "give others to svmcut threshold"
        )
    if options.scheduled:
        raise UsageError(
            "{at_least} does not go with {scheduler} in this version; use svmcut threshold"
        )


def promises_of(options: LearnOptions) -> Promises:
    """Return the promises of the threshold of a run."""
    from svmcut.scoring.thresholds import make_promises

    confidence = USUAL_CONFIDENCE if options.confidence is None else options.confidence
    return make_promises(dict(options.at_least or ()), options.maximise, confidence)


def _check_input(options: LearnOptions) -> None:
    """Refuses options of tables and of tokens that the examples cannot use."""
    idle = ({*TABLE_OPTIONS} & (options.given or frozenset())) - {*options.table_options}
    if not idle:
        return
    if options.labels == TAGS:
        raise UsageError("{} is for {input=conll}; leave it out", Parameter(min(idle)))
    if os.path.isfile(options.example_file) or os.path.isdir(options.example_file):
        with open_text(options.example_file) as text:
            text.check_kind()
    raise UsageError(
        "{} is for tables and texts, and {} is none by its name; add {input=}, or leave it out",
        Parameter(min(idle)),
        options.example_file,
        TABLES[0],
    )


def _check_grid(options: LearnOptions) -> None:
    """Refusals of lists of kernel parameters that were given."""
    names = [name for name in KERNEL_PARAMETERS if name in (options.given or ())]
    grid = {name: [typed.value for typed in getattr(options, name)] for name in names}
    lists = {name: values for name, values in grid.items() if len(values) > 1}
    if lists:
        from svmcut.selection.grid import check_grid

        check_grid(options.kernel, lists)
        if options.cv is None and not (options.validate and options.select):
            raise UsageError(
                "several values of {} are a grid to choose from; add --cv K, or --validate FILE "
                "and "
                "--select MEASURE",
                Parameter(next(iter(lists))),
            )


def _check_algorithm(options: LearnOptions) -> None:
    algorithm = options.algorithm
    if options.qp_new > options.qp_size:
        raise UsageError("-n {} exceeds -q {}", options.qp_new, options.qp_size)
    if algorithm is None:
        return
    known = TASKS[options.task].algorithms
    if algorithm not in known:
        raise UsageError(
            "-w {} is no algorithm; expected one of {}", algorithm, ", ".join(map(str, known))
        )
    if algorithm == 9 and options.loss != TASKS[options.task].loss:
        raise UsageError(
            "-w 9 trains for {} only; use -w 3 with loss '{}'",
            TASKS[options.task].loss,
            options.loss,
        )
    if algorithm == 4 and options.constraint_cache <= 0:
        raise UsageError("-f must be at least 1 with -w 4")
    if algorithm != 9 and options.solver not in (AUTO, CUTTING_PLANE):
        raise UsageError("-w {} trains with cutting planes; leave it out with --solver", algorithm)
    if options.slack_norm == 2 and algorithm not in (0, 1):
        raise UsageError("-p 2 (squared slack) goes with -w 0 or 1")


def check_basis(options: LearnOptions) -> None:
    """Refuses, as a UsageError, what --t does not go with."""
    if options.basis_method and options.algorithm == 9:
        raise UsageError("--t chooses the basis in advance and does not go with -w 9; use -w 3")
    if options.basis_method and options.preimage:
        raise UsageError("--t {} needs --i 0", options.basis_method)


def _check_preimages(options: LearnOptions) -> None:
    """Refusals of --t, --i and -w with a kernel, as svm_perf has them."""
    if not options.has_kernel:
        return
    if options.preimage not in (0, 1, 2, 4):
        raise UsageError("--i {} is unknown; expected 0, 1, 2 or 4", options.preimage)
    check_basis(options)
    if options.algorithm == 9 and options.preimage == 0:
        raise UsageError(
            "-w 9 with a kernel trains on a basis of its own and needs --i 1, 2 or 4; use -w 3 "
            "with --i 0"
        )
    if options.algorithm == 9 and options.preimage in (2, 4) and options.kernel != "rbf":
        raise UsageError(
            "--i {} is for the rbf kernel; use --i 1 with the {} kernel",
            options.preimage,
            options.kernel,
        )
