# SPDX-License-Identifier: BSD-3-Clause
"""svm-scale."""

from __future__ import annotations

import sys

import numpy as np

from svmcut.base.records import record
from svmcut.files.scaling import Ranges, ScaleLimits, read_ranges, round_limit, scale_examples
from svmcut.originals.libs.rows import read_rows
from svmcut.originals.libs.words import Refused, bad_usage, real_of


@record
class _Options:
    lower: float = -1.0
    upper: float = 1.0
    labels: tuple[float, float] | None = None
    save: str | None = None
    restore: str | None = None


def run(words: list[str]) -> None:
    """Scales the rows of a file, to standard output."""
    options, path = _options(words)
    if options.save is not None and options.restore is not None:
        raise Refused("cannot use -r and -s simultaneously")
    for lower, upper in ((options.lower, options.upper), options.labels or (0.0, 1.0)):
        if not lower < upper:
            raise Refused("inconsistent lower/upper specification")
    ranges = None if options.restore is None else read_ranges(options.restore, 0)
    done = scale_examples(
        path,
        ScaleLimits((options.lower, options.upper), options.labels),
        restored=None if options.restore is None or ranges is None else (options.restore, ranges),
        save=options.save,
        libsvm=True,
    )
    if done.zeros:
        _warn("WARNING: minimal feature index is 0, but indices should start from 1")
        if options.save is not None:
            _warn(f"WARNING: the range of feature 0 is not stored to the file {options.save}.")
    if ranges is not None and done.missing:
        _warn(*_above(path, ranges, done.first_missing))
    if done.after > done.before:
        _warn(
            f"WARNING: original #nonzeros {done.before}",
            f"       > new      #nonzeros {done.after}",
            "Where feature values are not negative and sparse, -l 0 keeps zeros as they are.",
        )


def _warn(*lines: str) -> None:
    for line in lines:
        print(line, file=sys.stderr)


def _above(path: str, ranges: Ranges, first: list[int]) -> list[str]:
    """A warning of the features above the highest that has a range; those below it are left out
    without a word."""
    highest = int(ranges.features[0].max(initial=0))
    try:
        indices = np.unique(read_rows(path, 0).indices).tolist()
    except Refused:  # standard input, which has been read
        indices = sorted(first)
    above = [index for index in indices if index > highest]
    if not above:
        return []
    named = ", ".join([*map(str, above[:10]), *(["..."] if len(above) > 10 else [])])
    return [f"WARNING: the range file has no feature {named}; left out, as if scaled to 0"]


def _options(words: list[str]) -> tuple[_Options, str]:
    given: dict = {}
    names: list[str] = []
    coming = iter(words)

    def value(word: str) -> str:
        word_after = next(coming, None)
        if word_after is None:
            raise bad_usage(f"option {word} needs a value")
        return word_after

    for word in coming:
        if not word.startswith("-"):
            names.append(word)
            break
        letter = word[1:2]
        if letter in ("l", "u"):
            given["lower" if letter == "l" else "upper"] = round_limit(real_of(value(word)))
        elif letter == "y":
            given["labels"] = round_limit(real_of(value(word))), round_limit(real_of(value(word)))
        elif letter in ("s", "r"):
            given["save" if letter == "s" else "restore"] = value(word)
        else:
            raise bad_usage("unknown option")
    if len(names) != 1 or next(coming, None) is not None:
        raise bad_usage()
    return _Options(**given), names[0]
