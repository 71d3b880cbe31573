# SPDX-License-Identifier: BSD-3-Clause
"""The command lines of svm_learn and svm_classify, as rows of `svmcut.originals.perf.Flag`, and
what they refuse."""

from __future__ import annotations

from svmcut.base.errors import UsageError
from svmcut.base.typing import Any

#: By svm_learn's numbers.
KERNELS = ("linear", "polynomial", "rbf", "sigmoid")
_LEARN: dict[str, tuple[str, type, Any, str]] = {
    "z": ("mode", str, "c", "c two classes, r regression, p pairs of rankings  [default: c]"),
    "c": ("cost", float, 0.0, "C of an example's loss; 0 for 1 / (mean |x|)^2  [default: 0]"),
    "w": ("tube", float, 0.1, "errors up to this cost nothing in regression  [default: 0.1]"),
    "j": ("factor", float, 1.0, "C of a positive example is so many times C  [default: 1]"),
    "b": ("bias", int, 1, "1 for an unregularised threshold, 0 for none  [default: 1]"),
    "i": (
        "remove",
        int,
        0,
        "1 takes examples at the upper bound out and trains again  [default: 0]",
    ),
    "x": ("leave_out", int, 0, "1 computes leave-one-out estimates  [default: 0]"),
    "o": ("rho", float, 1.0, "of the XiAlpha and leave-one-out estimates  [default: 1]"),
    "k": (
        "depth",
        int,
        0,
        "most rows of the search that sharpens the XiAlpha estimates  [default: 0]",
    ),
    "p": (
        "fraction",
        float,
        -1.0,
        "fraction of the unlabelled examples that becomes positive  [default: as labelled]",
    ),
    "t": (
        "kernel",
        int,
        0,
        "0 x.z, 1 (s x.z + r)^d, 2 exp(-g |x-z|^2), 3 tanh(s x.z + r)  [default: 0]",
    ),
    "d": ("degree", int, 3, "d of the polynomial kernel  [default: 3]"),
    "g": ("gamma", float, 1.0, "g of the rbf kernel  [default: 1]"),
    "s": ("scale", float, 1.0, "s of the polynomial and sigmoid kernels  [default: 1]"),
    "r": ("offset", float, 1.0, "r of the polynomial and sigmoid kernels  [default: 1]"),
    "u": ("text", str, "empty", "text stored with the model  [default: empty]"),
    "e": ("tolerance", float, 0.001, "of the KKT conditions  [default: 0.001]"),
    "a": ("alphas", str, None, "write alpha y of every example, one a line, to this file"),
    "y": ("restart", str, None, "begin at the alphas of this file"),
    "l": (
        "labels",
        str,
        None,
        "write the labels of transduction to this file  [default: trans_predictions]",
    ),
    "v": ("verbosity", int, 1, "0 for silence  [default: 1]"),
    "m": ("cache", float, 40.0, "kernel rows kept, in MB, at least 100  [default: 40]"),
    "q": ("variables", int, 10, "no effect  [default: 10]"),
    "n": ("new", int, 0, "no effect; at most q  [default: q]"),
    "h": ("shrinking", int, 100, "no effect  [default: 100]"),
    "f": ("final", int, 1, "no effect; 0 says so where there is no kernel  [default: 1]"),
    "#": ("iterations", int, 100000, "no effect  [default: 100000]"),
}
_CLASSIFY: dict[str, tuple[str, type, Any, str]] = {
    "v": ("verbosity", int, 2, "1 leaves out the progress, 0 says nothing  [default: 2]"),
    "f": ("format", int, 1, "0 for lines score:+1 -score:-1  [default: 1]"),
}
_EXACT = (
    "exact",
    int,
    0,
    "with -x 1: retrain without every example whose error retraining decides  [default: 0]",
)
#: Arguments, summary, fewest arguments, letters of help, options of one and of two dashes.
PROGRAMS: dict[str, tuple[str, str, int, str, dict, dict]] = {
    "svm_learn": (
        "example_file [model_file]",
        "Trains a support vector machine.",
        1,
        "?",
        _LEARN,
        {"e": _EXACT},
    ),
    "svm_classify": (
        "example_file model_file [output_file]",
        "Scores examples with a model of svm_learn.",
        2,
        "?h",
        _CLASSIFY,
        {},
    ),
}


def check(values: dict[str, Any]) -> None:
    """Refuses what svm_learn refuses, by a UsageError."""
    new = values["new"] or values["variables"]
    expected = {
        "-z": (values["mode"] in ("c", "r", "p"), values["mode"], "c, r or p"),
        "-c": (values["cost"] >= 0, values["cost"], "0 or more"),
        "-j": (values["factor"] >= 0, values["factor"], "0 or more"),
        "-e": (values["tolerance"] > 0, values["tolerance"], "a number above 0"),
        "-q": (values["variables"] >= 2, values["variables"], "2 or more"),
        "-n": (new <= values["variables"], values["new"], f"at most {values['variables']}, as -q"),
        "-p": (values["fraction"] <= 1, values["fraction"], "at most 1"),
        "-k": (0 <= values["depth"] <= 100, values["depth"], "0 to 100"),
        "-t": (
            0 <= values["kernel"] < len(KERNELS),
            values["kernel"],
            f"a kernel from 0 to {len(KERNELS) - 1}",
        ),
        "-d": (values["degree"] >= 0, values["degree"], "0 or more"),
    }
    for flag, (holds, value, wanted) in expected.items():
        if not holds:
            value = f"{value:g}" if isinstance(value, float) else value
            raise UsageError("option {}: {} is refused; expected {}", flag, value, wanted)
    if values["mode"] != "c":
        for flag, given in (
            ("-x", values["leave_out"] == 1),
            ("-i", values["remove"] == 1),
            ("-j", values["factor"] != 1),
            ("-p", values["fraction"] >= 0),
        ):
            if given:
                raise UsageError("option {} is for -z c; leave it out", flag)
    if values["mode"] == "p" and values["restart"] is not None:
        raise UsageError("option -y is for -z c and -z r; leave it out")
    if values["leave_out"] == 1 and values["remove"] == 1:
        raise UsageError("options -x 1 and -i 1 exclude each other; leave one out")
