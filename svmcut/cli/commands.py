# SPDX-License-Identifier: BSD-3-Clause
"""The commands of svmcut, what runs them, and a parser of plain command lines.

Importing click costs more than training on a small file. Click does help, completion and refusals;
a correct command line is parsed here, to the same values.
"""

from __future__ import annotations

import os
from functools import partial

from svmcut.base.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from svmcut.cli.options import LearnOptions
    from svmcut.spec.options import Option

#: Command, the module and the function behind it, and its line in ``svmcut --help``.
COMMANDS = {
    "learn": ("svmcut.cli.learn", "learn", "Train a model on a file of examples."),
    "rank": ("svmcut.cli.learn", "rank", "Learn to rank the rows of queries."),
    "classify": ("svmcut.cli.classify", "classify", "Score examples with a model."),
    "inspect": ("svmcut.cli.inspect", "inspect", "Show what a model has learnt."),
    "threshold": (
        "svmcut.cli.threshold",
        "threshold",
        "Choose a threshold that promises precision or recall.",
    ),
    "conformal": (
        "svmcut.cli.conformal",
        "conformal",
        "Promise that intervals or sets of labels hold the truth.",
    ),
    "convert": ("svmcut.cli.convert", "convert", "Make examples of a table or of texts."),
    "export": ("svmcut.cli.export", "export", "Write a model in another program's format."),
    "scale": ("svmcut.cli.scale", "scale", "Scale features to one range."),
    "names": (
        "svmcut.originals.names",
        "names",
        "Write programs with LIBSVM's and LIBLINEAR's names.",
    ),
}
#: Those that train.
TRAINING = [name for name, (module, *_) in COMMANDS.items() if module == "svmcut.cli.learn"]


def train(options: LearnOptions) -> int:
    """Runs ``svmcut learn`` or ``svmcut rank``; returns the exit status."""
    if options.scheduled:
        from svmcut.cli.clusters import run_on

        return run_on(options)
    if options.added is not None or options.removed is not None:
        from svmcut.cli.updates import run_update

        return run_update(options)
    from svmcut.cli.linear_job import run

    return run(options)


def score(values: dict[str, Any]) -> None:
    """Runs ``svmcut classify`` with the files and options that were given."""
    from svmcut.base.resources import usable_cpus
    from svmcut.cli.guard import warn
    from svmcut.cli.linear_scores import score_linear
    from svmcut.cli.score_lines import SCORING, Files, ScoringOptions
    from svmcut.spec.options import warn_of_inert

    files = Files(*(values[name] for name in ("example_file", "model_file", "predictions_file")))
    own = {row.field: values[row.field] for row in SCORING if row.field in values and not row.inert}
    address = [own.pop(name, None) for name in ("scheduler", "scheduler_file")]
    options = ScoringOptions(**{"threads": usable_cpus()} | own)
    if any(address):
        from svmcut.cli.scoring import score_on

        warnings = score_on(address, files, options)
    elif score_linear(files, options):
        warnings = []
    else:
        from svmcut.cli.scoring import run_scoring

        warnings = run_scoring(files, options)
    for warning in [*warn_of_inert(SCORING, values), *warnings]:
        warn("svmcut classify", warning)


def plain_run(words: Sequence[str]) -> Callable[[], int | None] | None:
    """The run that a command line asks for, as click would start it; None if click has to parse the
    line."""
    if not words or os.environ.get("_SVMCUT_COMPLETE"):
        return None
    command, *rest = words
    if command in TRAINING:
        from svmcut.cli.options import collected, named_task, rows

        values = read_words(
            rest, rows(named_task(command, rest)), ("example_file", "model_file"), 1
        )
        return None if values is None else partial(train, collected(command, rest, values))
    if command == "classify":
        from svmcut.cli.score_lines import SCORING

        values = read_words(rest, SCORING, ("example_file", "model_file", "predictions_file"), 2)
        return (
            None
            if values is None
            else partial(score, {"predictions_file": "svm_predictions"} | values)
        )
    return None


def read_words(
    words: Sequence[str], rows: Iterable[Option], files: Sequence[str], least: int
) -> dict[str, Any] | None:
    """Values of the options and files of a command line; None if click has to parse it."""
    known = {
        flag: (row, k == 0)
        for row in rows
        for spelt in row.flags
        for k, flag in enumerate(spelt.split("/"))
    }
    texts: dict[str, tuple[Option, Any]] = {}
    named, coming = [], iter(words)
    value: bool | str | None
    for word in coming:
        if not word.startswith("-") or word == "-":
            named.append(word)
            continue
        flag, given, text = word.partition("=") if word.startswith("--") else (word, "", "")
        if flag not in known:
            return None
        row, value = known[flag]
        if not row.is_flag:
            value = text if given else next(coming, None)
        if value is None or (given and row.is_flag):
            return None
        if row.kind.repeats and row.field in texts:
            value = f"{texts[row.field][1]},{value}"
        texts[row.field] = row, value
    if not least <= len(named) <= len(files):
        return None
    try:
        values = {
            name: value if row.is_flag else row.kind.parse(value)
            for name, (row, value) in texts.items()
        }
    except ValueError:
        return None
    return values | dict(zip(files, named))
