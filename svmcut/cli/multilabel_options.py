# SPDX-License-Identifier: BSD-3-Clause
"""The options of ``svmcut learn --task multilabel``."""

from __future__ import annotations

from svmcut.catalog import losses
from svmcut.cli.options import LEARN, adapted, numbered, option, solver_names
from svmcut.parameters import EPSILON

(_HAMMING,) = losses("multilabel").values()
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
    "loss": f"{numbered([_HAMMING])}: {_HAMMING.help}.",
    "bias": "Value of the regularised constant feature; 0 for none. Default 1.",
    "solver": f"{solver_names('multilabel')}.",
    "epsilon": "Stop when primal - dual <= C * epsilon (wrong labels an example). Default " f"{EPSILON:g}.",
}
MULTILABEL = (
    *adapted("multilabel", _TEXTS, {row.field for row in LEARN} - _HERE, "svm_hmm"),
    option("pairs", ("--pairs",),
           "all: a weight for every pair of labels that an example may have together; none: every label is learnt on "
           "its own. Default all.", "Model"),
)  # fmt: skip
