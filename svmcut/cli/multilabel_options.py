# SPDX-License-Identifier: BSD-3-Clause
"""The options of ``svmcut learn --task multilabel``."""

from __future__ import annotations

from svmcut.cli.option_checks import check_path
from svmcut.cli.options import LEARN, LearnOptions, Option, one_of
from svmcut.errors import UsageError

SOLVERS = ("auto", "cutting-plane", "bcfw", "ssg", "soft-bcfw", "gdmm")
LOSSES = {"hamming": 1}
PAIRS = ("all", "none")
MEASURES = {
    "hamming_loss": False, "subset_accuracy": True, "micro_f1": True, "macro_f1": True, "precision@1": True,
    "precision@3": True, "precision@5": True,
}  # fmt: skip
DEFAULTS = {"task": "multilabel", "loss": "hamming", "bias": 1.0}

_HERE = {
    "task", "cost", "example_cost", "loss", "bias", "solver", "epsilon", "gap", "max_iterations", "time_limit",
    "validate", "select", "threads", "seed", "qp", "max_memory", "checkpoint", "checkpoint_every", "report", "trace",
    "verbosity",
}  # fmt: skip
_TEXTS = {
    "cost": "C as in svm_hmm: 1/2 w'w + C * wrong labels averaged over the examples. This or --example-cost is "
    "required. Several values, 1,10,100, train a path: one model each, MODEL_FILE.1 and so on.",
    "example_cost": "C as the weight of one example's wrong labels: with --pairs none the C of LIBLINEAR for every "
    "label. Several values as with -c.",
    "loss": "hamming (1): the number of wrong labels.",
    "bias": "Value of the regularised constant feature; 0 for none. Default 1.",
    "solver": "auto, cutting-plane, bcfw, ssg, soft-bcfw or gdmm.",
    "epsilon": "Stop when primal - dual <= C * epsilon (wrong labels an example). Default 0.1.",
}
_KINDS = {"loss": one_of(LOSSES), "solver": one_of(SOLVERS), "select": one_of(tuple(MEASURES))}
MULTILABEL = (
    *(
        option._replace(help=_TEXTS.get(option.field, option.help), kind=_KINDS.get(option.field, option.kind))
        for option in LEARN
        if option.field in _HERE
    ),
    Option("pairs", ("--pairs",), one_of(PAIRS),
           "all: a weight for every pair of labels that an example may have together; none: every label is learnt on "
           "its own. Default all.", "Model"),
)  # fmt: skip


def check_multilabel(options: LearnOptions) -> None:
    """Refusals that concern more than one option.

    Raises
    ------
    UsageError
        Names the options and the remedy.
    """
    check_path(options)
    if options.solver not in SOLVERS:
        raise UsageError(f"solver '{options.solver}' does not train label sets; expected one of {', '.join(SOLVERS)}")
