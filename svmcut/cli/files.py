# SPDX-License-Identifier: BSD-3-Clause
"""The files of a training run by the options that name them, and where its log goes."""

from __future__ import annotations

import contextlib
import sys

from svmcut.errors import UsageError
from svmcut.files.roles import File, check_roles
from svmcut.spec.catalog import COLUMNS, INPUTS
from svmcut.tasks.protocol import OF_CLASSES
from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from svmcut.cli.options import LearnOptions


def model_files(options: LearnOptions) -> list[str]:
    """Where each model goes: MODEL_FILE for one, MODEL_FILE.C for those of a path of several values
    of C."""
    if len(options.path) == 1 or options.searches:
        return [options.model_file]
    return [f"{options.model_file}.{cost.text}" for cost in options.path]


def check_training_files(options: LearnOptions, original: bool) -> list[File]:
    """All that a run may write, in the words of its command or of the executable.

    Raises
    ------
    UsageError, OutputError
        For what is an input or another output too, or cannot be written.
    """
    models = model_files(options)
    if options.model_file == "-" and len(models) > 1:
        raise UsageError(
            "several values of C train several models, for which standard output is no place; "
            "name a file"
        )
    if options.select and len(models) > 1:
        models.append(options.model_file)
    read = (
        ("EXAMPLE_FILE", options.example_file),
        ("--validate", options.validate),
        ("--until-decided", options.until_decided),
        ("--added", options.added),
        ("--removed", options.removed),
        ("--f", options.basis_file),
        ("--initial", options.initial),
        ("--weights", options.weights),
    )
    written: list[tuple[str, str | None]] = [
        *(("MODEL_FILE", path) for path in models),
        ("--report", options.report),
        ("--trace", options.trace),
        ("-a", options.alphas),
    ]
    if options.checkpoint is not None:
        from svmcut.files.generations import lock_of, newest, previous

        written += [
            ("--checkpoint", name(options.checkpoint)) for name in (newest, previous, lock_of)
        ]
    inputs, outputs = (
        [File(name.lower() if original else name, path) for name, path in named if path is not None]
        for named in (read, written)
    )
    check_roles(inputs, outputs)
    return outputs


def log_beside(outputs: Iterable[File]) -> contextlib.AbstractContextManager:
    """What the run prints goes to standard error where one of its outputs is ``-``, standard
    output."""
    if any(file.path == "-" for file in outputs):
        return contextlib.redirect_stdout(sys.stderr)
    return contextlib.nullcontext()


def reading_of(options: LearnOptions, original: bool) -> dict[str, Any]:
    """What reading the examples takes of the options: of threads, of tables, and of labels that may
    be words."""
    given: dict[str, Any] = {
        "threads": options.threads,
        "max_memory": options.max_memory,
        "zero_based": options.zero_based,
    }
    if options.cache is not None:
        given["cache"] = options.cache
    if options.reads_table:
        from svmcut.files.encoded import TrainingTable

        return given | {"table": TrainingTable(options.table, options.input)}
    if options.input == COLUMNS:
        return given | {"table": options.table}
    if options.is_given:
        given["given"] = 0
    words = not original and options.task in OF_CLASSES and options.input == INPUTS[0]
    return given | ({"words": ()} if words else {})
