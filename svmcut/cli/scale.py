# SPDX-License-Identifier: BSD-3-Clause
"""``svmcut scale``."""

from __future__ import annotations

import math

import click

from svmcut.base.errors import UsageError
from svmcut.base.messages import escape
from svmcut.cli.guard import warn
from svmcut.cli.panels import FILE
from svmcut.files.output import File, check_roles, descriptor_of
from svmcut.files.scaling import ScaleCounts

_EPILOG = """\b
Examples:
  svmcut scale -l 0 -s ranges train.dat >train.scaled      zeros stay out
  svmcut scale -r ranges test.dat >test.scaled             the same scale
  zcat test.gz | svmcut scale -r ranges | svmcut classify - model scores
"""


@click.command(
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-?", "--help"], "max_content_width": 110},
)
@click.option(
    "-l", "lower", type=float, help="Where the lowest value of a feature goes.  [default: -1]"
)
@click.option("-u", "upper", type=float, help="Where the highest value goes.  [default: 1]")
@click.option(
    "-y",
    "labels",
    type=(float, float),
    metavar="LOWER UPPER",
    help="Scale labels too, to these limits.",
)
@click.option(
    "-s", "save", metavar="RANGE_FILE", type=FILE, help="Write the ranges of the features, for -r."
)
@click.option(
    "-r",
    "restore",
    metavar="RANGE_FILE",
    type=FILE,
    help="Scale by these ranges and limits; one pass.",
)
@click.argument("example_file", metavar="[EXAMPLE_FILE]", default="-", type=FILE)
def scale(lower, upper, labels, save, restore, example_file):
    """Scale every feature of EXAMPLE_FILE to the same range and print the result.

    The lowest value of a feature becomes -1 and the highest 1; -l and -u change that. Missing
    features are 0. Use -l 0 for sparse files: otherwise zeros become nonzero and the file grows.
    Features with the same value in all rows are dropped. Options, numbers and range files are those
    of LIBSVM's svm-scale; qid:, sid:, cost: and comments, which svm-scale does not know, are kept.

    The file is read twice; standard input (the default) is copied to a temporary file (TMPDIR).
    With -r it is read once.
    """
    from svmcut.files.scaling import ScaleLimits, read_ranges, round_limit, scale_examples

    _check_files(save, restore, example_file)
    limits = (
        round_limit(-1 if lower is None else lower),
        round_limit(1 if upper is None else upper),
    )
    label_limits = (round_limit(labels[0]), round_limit(labels[1])) if labels else None
    _check_limits("-l and -u", limits)
    _check_limits("-y", label_limits or (0, 1))
    inputs = [File("EXAMPLE_FILE", example_file)]
    inputs += [File("-r", restore)] if restore is not None else []
    check_roles(inputs, [File("-s", save)] if save is not None else ())
    restored = None
    if restore is not None:
        restored = restore, read_ranges(restore)
        has_limits = lower is not None or upper is not None
        _warn_of_idle_limits(restore, has_limits, bool(labels and restored[1].labels))
    done = scale_examples(
        example_file,
        ScaleLimits(limits, label_limits),
        restored=restored,
        save=save,
    )
    if restore is not None and done.missing:
        _warn_of_missing(done, restore, example_file)
    if done.after > done.before:
        warn(
            "svmcut scale",
            f"{done.after} values were written and {done.before} read: zeros are no zeros any "
            "more; -l 0 keeps them where values are not negative",
        )


def _check_files(save: str | None, restore: str | None, example_file: str) -> None:
    if save is not None and restore is not None:
        raise UsageError("-s writes ranges and -r reads them; give one of the two")
    if save is not None and descriptor_of(save) == 1:
        raise UsageError("-s: standard output takes the scaled examples; name a file")
    if restore == example_file == "-":
        raise UsageError("-r and EXAMPLE_FILE cannot both be standard input; name one of them")


def _check_limits(flags: str, limits: tuple[float, float]) -> None:
    low, high = limits
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise UsageError(
            "{}: limits {:g} and {:g}; the first must be below the second", flags, low, high
        )


def _warn_of_idle_limits(restore: str, has_limits: bool, has_label_limits: bool) -> None:
    file = escape(restore)
    if has_limits:
        warn("svmcut scale", f"-l and -u have no effect: the limits are those of {file}")
    if has_label_limits:
        warn("svmcut scale", f"-y has no effect: the limits are those of {file}")


def _warn_of_missing(done: ScaleCounts, restore: str, example_file: str) -> None:
    more = ", ..." if done.missing > len(done.first_missing) else ""
    warn(
        "svmcut scale",
        f"{escape(restore)}: no range for {done.missing} features of "
        f"{escape(example_file)}, left out: {', '.join(map(str, done.first_missing))}{more}",
    )
