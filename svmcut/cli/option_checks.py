# SPDX-License-Identifier: BSD-3-Clause
"""What no command line can honour: svmcut.refusals, and what hangs on options that are no parameters."""

from __future__ import annotations

from svmcut import refusals
from svmcut.catalog import AUTO
from svmcut.cli.options import LearnOptions
from svmcut.errors import UsageError

#: The originals' -w by task; label sets have none.
ALGORITHMS = {"classification": (0, 1, 2, 3, 4, 9), "rank": (0, 1, 2, 3, 4), "sequence": (0, 1, 2, 3, 4)}


def check(options: LearnOptions) -> None:
    """Refuses what no run can honour.

    Raises
    ------
    UsageError
        Names the options and the remedy.
    """
    _check_outputs(options)
    _check_algorithm(options)
    refusals.check(options.settings())
    _check_preimages(options)
    if options.alphas and options.task == "sequence":
        by_cuts = options.settings().solver == "cutting-plane" or refusals.variant(options)
        if not by_cuts:
            raise UsageError("-a writes the multipliers of cuts; add solver='cutting-plane'")


def _check_outputs(options: LearnOptions) -> None:
    if len({cost.text for cost in options.path}) < len(options.path):
        raise UsageError("the same C stands twice; each value of a path names a model file")
    if options.select and not options.validate:
        raise UsageError(f"--select {options.select} needs --validate FILE to measure the models on")
    if options.alphas and len(options.path) > 1:
        raise UsageError("-a writes the multipliers of one model; give a single C")
    if options.resume and options.checkpoint is None:
        raise UsageError("--resume goes on from a checkpoint; name it with --checkpoint FILE")


def _check_algorithm(options: LearnOptions) -> None:
    algorithm = options.algorithm
    if options.qp_new > options.qp_size:
        raise UsageError(f"-n {options.qp_new} exceeds -q {options.qp_size}")
    if algorithm is None:
        return
    known = ALGORITHMS[options.task]
    if algorithm not in known:
        raise UsageError(f"-w {algorithm} is no algorithm; expected one of {', '.join(map(str, known))}")
    if algorithm == 9 and options.loss != "error-rate":
        raise UsageError(f"-w 9 trains for error-rate only; use -w 3 with loss '{options.loss}'")
    if algorithm == 4 and options.constraint_cache <= 0:
        raise UsageError("-f must be at least 1 with -w 4")
    if algorithm != 9 and options.solver not in (AUTO, "cutting-plane"):
        raise UsageError(f"-w {algorithm} trains with cutting planes; leave it out with --solver")
    if options.slack_norm == 2 and algorithm not in (0, 1):
        raise UsageError("-p 2 (squared slack) goes with -w 0 or 1")


def _check_preimages(options: LearnOptions) -> None:
    """Refusals of --t, --i and -w with a kernel, as svm_perf has them."""
    if not options.has_kernel:
        return
    if options.preimage not in (0, 1, 2, 4):
        raise UsageError(f"--i {options.preimage} is unknown; expected 0, 1, 2 or 4")
    if options.basis_method and options.algorithm == 9:
        raise UsageError("--t chooses the basis in advance and does not go with -w 9; use -w 3")
    if options.basis_method and options.preimage:
        raise UsageError(f"--t {options.basis_method} needs --i 0")
    if options.algorithm == 9 and options.preimage == 0:
        raise UsageError("-w 9 with a kernel trains on a basis of its own and needs --i 1, 2 or 4; use -w 3 with --i 0")
    if options.algorithm == 9 and options.preimage in (2, 4) and options.kernel != "rbf":
        raise UsageError(f"--i {options.preimage} is for the rbf kernel; use --i 1 with the {options.kernel} kernel")
