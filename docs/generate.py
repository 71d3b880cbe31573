#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the pages of commands in docs/ and man/svmcut.1 from the help texts of the programs (make
docs)."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 100

HEAD = """\
# Commands

Every option of learn and rank, as their help prints it. This page is written by `make docs`; edit the help texts
instead.
"""  # noqa: E501

EXIT_STATUS = (
    ("0", "Done."),
    (
        "1",
        "Bad data, a bad model, failed training, or a path that is missing or cannot be read or "
        "written.",
    ),
    ("2", "Wrong usage."),
    (
        "3",
        "Stopped by a limit or by rounding before the gap was reached; the best model is "
        "written, the gap stated.",
    ),
    (
        "75",
        "Stopped by SIGTERM or SIGHUP with --checkpoint; the same command with --resume goes on.",
    ),
    (
        "130",
        "Interrupted; the best model so far is written. Before the first iteration nothing is.",
    ),
    ("143", "Stopped by SIGTERM or SIGHUP; nothing is written."),
)

ENVIRONMENT = (
    ("SVMCUT_DEADLINE", "A Unix time at which training stops, as --time-limit would."),
    ("SVMCUT_DEBUG", "With 1, errors show their traceback."),
)


def subcommands():
    """Name, click command and context of svmcut and of each of its commands."""
    import click

    from svmcut.cli.commands import COMMANDS
    from svmcut.cli.learn import TASK
    from svmcut.cli.main import svmcut
    from svmcut.cli.options import LEARNT

    def context(command, name, parent=None):
        settings = command.context_settings | {"terminal_width": WIDTH, "max_content_width": WIDTH}
        return click.Context(command, info_name=name, parent=parent, **settings)

    def alone(command, name, task=None):
        """A context that shares nothing with the others: click's contexts of one parent have one
        `meta`."""
        own = context(command, name, context(svmcut, "svmcut"))
        if task:
            own.meta[TASK] = task
        return f"svmcut {name}", command, own

    top = context(svmcut, "svmcut")
    yield "svmcut", svmcut, top
    for name in COMMANDS:
        command = svmcut.get_command(top, name)
        yield alone(command, name)
        for task in LEARNT if name == "learn" else ():
            if task != LEARNT[0]:
                yield alone(command, f"{name} --task {task}", task)


def originals():
    """Name and help text of each program that bears an original's name."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "scripts"
    ]
    for name, target in scripts.items():
        if name == "svmcut":
            continue
        module, function = target.split(":")
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            getattr(importlib.import_module(module), function)(["-?"])
        yield name, text.getvalue()


ORIGINALS_HEAD = """\
# Programs with the originals' names

Every option, as their help prints it. This page is written by `make docs`; edit the help texts instead.
"""  # noqa: E501


DIFFERENCES = (
    (
        "Wrong usage is told on standard output, a key is waited for, the status is 0.",
        "One line on standard error, status 1.",
    ),
    (
        "A value that is no number is read as 0, `-c 0` and a missing value may crash.",
        "Refused, with the range.",
    ),
    (
        "Options whose names begin with two dashes count by their third character.",
        "So here, but for `--help` and `--version`.",
    ),
    (
        "nan, infinity, numbers beyond float, labels that are text, empty files and NUL bytes "
        "are accepted or hang.",
        "Refused with file, line and column; nothing is written.",
    ),
    (
        "Blank lines end the run; pipes give no examples; a long last line without its end is "
        "cut; names are "
        "limited to 200 bytes.",
        "All of them work; `-` is standard input, compressed files are read.",
    ),
    (
        "A path that cannot be written is found after training.",
        "Before.",
    ),
    (
        "The algorithms of `-w` stop at different points within epsilon.",
        "All reach the optimum of the same objective; `-w 9` is what `svmcut learn` runs without "
        "`-w`. "
        "Iterations, calls and constraints are counted as they happen here.",
    ),
    (
        "`-w 4 -b 50` runs for ever with one structure.",
        "Trains.",
    ),
    (
        "`-o 1` approximates the score of the right labels, and its values are not those of an "
        "objective.",
        "Solved as it is defined.",
    ),
    (
        "`-p 2` looks for the most violated labels without the root of the loss and stops early.",
        "Solved exactly, and certified: [units of C](certificates.md#units-of-c).",
    ),
    (
        "Models of `-p 2` of svm_hmm and svm_multiclass hold the slacks of their training "
        "sequences or rows.",
        "They load, without the slacks; ours have none.",
    ),
    (
        "svm_perf's `-p 2` with `-l 10` and `-l 11` ends at one constraint.",
        "Trained to the optimum of C xi^2, xi being the slack of `-p 1`.",
    ),
    (
        "With a kernel svm_rank_classify drops features of test rows beyond the model's highest "
        "index, "
        "svm_multiclass_classify those beyond its base features, svm_perf_classify none.",
        "So here. `svmcut classify` computes every kernel on whole rows, whatever trained the "
        "model.",
    ),
    (
        "One class only: every loss trains.",
        "So here. Precision, recall and F1 are 0 where they are undefined, and a loss of pairs "
        "of both classes is 0.",
    ),
    (
        "svm_hmm_learn `--b N` searches N states a token, and misses labellings.",
        "It trains on all of them, to a certificate; svm_hmm_classify `--b N` searches N.",
    ),
    (
        "svm_hmm with a kernel writes a model that means nothing.",
        "Trains functions of the kernel, in a model file of svmcut.",
    ),
    (
        "A kernel model has a line for every constraint and row.",
        "One for every row with a weight.",
    ),
    (
        "`-l 10` and `-l 11` print scores within the iterations, `-v 2` and above sizes, shares "
        "and tables.",
        "Learners print at `-v 2` what they print at `-v 1`, and the shares, of which caches of "
        "constraints have "
        "none; `svm_perf_classify -v 2` prints losses and tables.",
    ),
    (
        "svm_multiclass takes any option of two dashes.",
        "So here, without effect. `-l` is 0 or 1, as there.",
    ),
    (
        "svm_multiclass's `-w 9` writes a model and crashes; an empty file trains one class.",
        "Refused.",
    ),
    (
        "Viterbi timing has two parts.",
        "The first is 0, the second is the time of training.",
    ),
    (
        "`-l`, `-o` and `-t` take numbers.",
        "Names too: `-l f1`, `-t rbf`; but those of svm_learn.",
    ),
    (
        "svm_learn's iterations are of ten variables and more, its `maxdiff` is each example's.",
        "Iterations are steps of a pair or of all weights, `maxdiff` is LIBSVM's: at most twice "
        "as much. Training ends "
        "at `-e`, at 0.01 at the most.",
    ),
    (
        "svm_learn -z p forms all pairs.",
        "Up to 2,000 pairs are formed, and every figure is that of their multipliers. More are "
        "trained without "
        "forming one, to a certified gap: `maxdiff` is the gap over C and the pairs, a support "
        "vector is a pair "
        "whose multiplier is above 1 % of C, at its bound within 1 %, and `-k` searches nothing "
        "(`depth=0`). More"
        " than 10^7 pairs need `-c`, and figures of a part of them say so.",
    ),
    (
        "svm_learn -z p takes or ignores `-y`, `-j` other than 1, `cost:`, `-x` and `-i`.",
        "Those options are refused, and `-j`, `-x`, `-i` with -z r too.",
    ),
    (
        "svm_learn trains kernels that need not be positive semidefinite (`-t 3`, `-t 2` with "
        "`-g` below 0, `-t "
        "1` with `-s` or `-r` below 0).",
        "So here, to a point that meets the KKT conditions; the norm of w is nan where its "
        "square is negative. -z"
        " p takes 10,000 pairs at most with them.",
    ),
    (
        "svm_learn -v 2 tells what part of the time each part took.",
        "So here, of the clock since training began: `update` holds the choice of a pair's first "
        "row, `check` all"
        " beside the compiled steps, and `optimizer` the whole of a machine without kernel on "
        "many rows.",
    ),
    (
        "svm_learn on labels of 0 alone writes a model without support vectors.",
        "Refused without `-p`.",
    ),
    (
        "Transduction switches pairs of labels of the unlabelled rows, whose start ties decide.",
        "The same start, bounds and rule of switching, the earlier row first where scores are "
        "equal; the search "
        "may end at other labels.",
    ),
    (
        "svm_light V6.02 and V6.20 refuse each other's models.",
        "svm_learn writes V6.02, svm_classify reads both.",
    ),
)
"""What the originals do, and what is done here."""

ORIGINALS_NOTES = """
They end with 0 or 1 only: 1 after an error, and where the gap was not reached; the best model is written then.

## Where they differ from the originals on purpose

The programs are meant for scripts of svm_perf, svm_rank, svm_hmm, svm_multiclass and svm_light: same options, same
lines on standard output, same files. What is different:

| the originals | here |
|---|---|
"""  # noqa: E501


def sections(texts) -> list[str]:
    """A heading and a block of text for every program."""
    parts = []
    for name, text in texts:
        clean = "\n".join(line.rstrip() for line in text.strip().splitlines())
        parts.append(f"\n## {name}\n\n```text\n{clean}\n```\n")
    return parts


def originals_page() -> str:
    """docs/originals.md."""
    table = (f"| {theirs} | {here} |\n" for theirs, here in DIFFERENCES)
    return "".join([ORIGINALS_HEAD, *sections(originals()), ORIGINALS_NOTES, *table])


CLASSES_HEAD = """\
# Several classes, and numbers

`svmcut learn --task multiclass` and `--task regression` have options of their own. This page is written by `make docs`;
edit the help texts instead.
"""  # noqa: E501

TASKS_HEAD = """\
# Structured tasks of svmcut learn

Sequences and label sets have options of their own. This page is written by `make docs`; edit the help texts instead.

[examples/tagging.sh](../examples/tagging.sh) and [examples/label_sets.sh](../examples/label_sets.sh) train on sets in
[data/](../data/README.md). Of the words of `tags.test` 12.5 % get a wrong tag, 34.4 % where each is tagged alone. Of
the rows of `labels.test` 56.0 % get exactly their set with weights of pairs, 41.0 % with `--pairs none`.
"""  # noqa: E501


#: Tasks of learn that have weights of features for classes or numbers, and a page of their own.
CLASSES = ("multiclass", "regression")

MODELS_HEAD = """\
# Commands on models and files

Every option of the commands beside learn and rank. This page is written by `make docs`; edit the help texts instead.
What `svmcut inspect` shows is told [here](inspect.md).
"""  # noqa: E501
#: The commands of that page.
BESIDE = ("svmcut classify", "svmcut inspect", "svmcut scale")


def helps(of_tasks: bool):
    """Name and help text of the commands, or of learn with its other tasks."""
    return [
        (name, context.get_help())
        for name, _, context in subcommands()
        if ("--task" in name) == of_tasks
    ]


def of_classes(name: str) -> bool:
    return name.endswith(CLASSES)


def models_page() -> str:
    """docs/models.md."""
    return "".join(
        [MODELS_HEAD, *sections(text for text in helps(of_tasks=False) if text[0] in BESIDE)]
    )


def tasks_page() -> str:
    """docs/tasks.md."""
    return "".join(
        [TASKS_HEAD, *sections(each for each in helps(of_tasks=True) if not of_classes(each[0]))]
    )


def classes_page() -> str:
    """docs/classes.md."""
    return "".join(
        [CLASSES_HEAD, *sections(each for each in helps(of_tasks=True) if of_classes(each[0]))]
    )


def commands_page() -> str:
    """docs/commands.md."""
    parts = [HEAD, *sections(text for text in helps(of_tasks=False) if text[0] not in BESIDE)]
    parts.append(
        "\n[Several classes and regression](classes.md), [sequences and label sets](tasks.md) "
        "have options\n"
        "of their own; [classify, inspect and scale](models.md) have a page of their own.\n"
    )
    parts.append("\n## Exit statuses of svmcut\n\n| status | meaning |\n|---|---|\n")
    parts += [f"| {status} | {meaning} |\n" for status, meaning in EXIT_STATUS]
    parts.append("\n[Programs with the originals' names](originals.md) end with 0 or 1 only.\n")
    parts.append("\n## Environment\n\n| variable | meaning |\n|---|---|\n")
    parts += [f"| `{variable}` | {meaning} |\n" for variable, meaning in ENVIRONMENT]
    return "".join(parts)


def roff(text: str) -> str:
    """Plain text in roff; a line may not begin with a dot or a quote."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def man_page() -> str:
    """man/svmcut.1."""
    import click

    from svmcut._version import __version__

    lines = [f'.TH SVMCUT 1 "" "svmcut {__version__}" "User Commands"', ".SH NAME"]
    lines.append(r"svmcut \- support vector machines by cutting planes")
    lines.append(".SH SYNOPSIS")
    found = list(subcommands())
    for _, _, context in found[1:]:
        usage = context.command.get_usage(context).removeprefix("Usage: ")
        lines += [".B " + roff(" ".join(usage.split())), ".br"]
    for name, command, context in found[1:]:
        lines += [
            f".SH {roff(name.upper())}",
            *(f"{roff(' '.join(part.split()))}\n.PP" for part in command.help.split("\n\n")),
        ]
        for parameter in command.get_params(context):
            record = (
                parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
            )
            if record:
                lines += [".TP", f".B {roff(record[0])}", roff(" ".join(record[1].split()))]
    lines.append(".SH EXIT STATUS")
    for status, meaning in EXIT_STATUS:
        lines += [".TP", f".B {status}", roff(meaning)]
    lines += [".SH ENVIRONMENT"]
    for variable, meaning in ENVIRONMENT:
        lines += [".TP", f".B {variable}", roff(meaning)]
    return "\n".join(lines) + "\n"


PAGES = {
    "docs/commands.md": commands_page,
    "docs/classes.md": classes_page,
    "docs/models.md": models_page,
    "docs/tasks.md": tasks_page,
    "docs/originals.md": originals_page,
    "man/svmcut.1": man_page,
}

if __name__ == "__main__":
    os.chdir(ROOT)
    for name, make in PAGES.items():
        Path(name).write_text(make(), encoding="utf-8", newline="\n")
        print(name)
