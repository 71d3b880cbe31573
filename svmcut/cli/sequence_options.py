# SPDX-License-Identifier: BSD-3-Clause
"""The options of ``svmcut learn --task sequence``: svm_hmm_learn's and those that svmcut adds."""

from __future__ import annotations

from svmcut.catalog import AUTO, listed, losses, solvers
from svmcut.cli.options import MAIN, adapted, kernel_formulas, numbered, option
from svmcut.kinds import one_of
from svmcut.parameters import DEFAULTS, EPSILON

_LINEAR = solvers("sequence", False)
_FIRST_ORDER = [name for name, row in _LINEAR.items() if row.first_order]
_ANY_ORDER = [name for name in _LINEAR if name not in _FIRST_ORDER]
_HAMMING, _ZERO_ONE = losses("sequence").values()
_NOT_HERE = {"p", "bias", "basis_method", "preimage", "basis", "recompute", "shrink", "basis_file", "rescaling",
             "slack_norm"}  # fmt: skip
_TEXTS = {
    "cost": "C in svm_hmm's unit: 1/2 w'w + C * wrong tags averaged over the sequences. This or --example-cost is "
    "required. Several values, 1,10,100, train a path: one model each, MODEL_FILE.1 and so on.",
    "example_cost": "C as the weight of one sequence's wrong tags. Several values as with -c.",
    "loss": f"{numbered([_HAMMING])}, the default: {_HAMMING.help}; {numbered([_ZERO_ONE])}: {_ZERO_ONE.help}.",
    "solver": f"{', '.join((AUTO, *_ANY_ORDER))}; with --t 1 and --e 0 also {listed(_FIRST_ORDER)}; no pass of gdmm "
    "costs the square of the tags. -l zero-one, -o slack and -p 2 train by cutting-plane alone, which auto takes then. "
    "With a kernel cutting-plane and sampled-cuts, which auto takes where four bytes for every pair of tokens, and the "
    "cuts, would not fit in 4 GB.",
    "algorithm": "svm_hmm's algorithm number 0-4; all lead to the same optimum, by cutting planes.",
    "epsilon": "Stop when primal - dual <= C * epsilon (wrong tags a sequence; with -p 2 the mean of xi^2). "
    f"Default {EPSILON:g}.",
    "kernel": f"Emissions are functions of a kernel: {kernel_formulas()}. The model file is one of svmcut "
    "then, but with linear.",
    "sample_size": f"Sequences drawn for a cut of sampled-cuts. Default {DEFAULTS['sample_size']}.",
    "cache_size": "Kernel rows that sampled-cuts keeps, in MB.",
}


SEQUENCE = (
    *adapted("sequence", _TEXTS, _NOT_HERE, "svm_hmm"),
    option("rescaling", ("-o", "--rescaling"),
           "margin (2), the default, or slack (1) rescaling, whose time and memory grow with the square of a "
           "sequence's tokens.",
           MAIN),
    option("slack_norm", ("-p",),
           "1 for C xi of every sequence, 2 for C xi^2 with the root of the loss inside xi, at the cost of -o slack.",
           MAIN),
    option("transitions", ("--t", "--transitions"),
           "How many tags before it a tag depends on: 0 to 3, default 1. Time and memory grow K-fold with each.",
           "Model"),
    option("emissions", ("--e", "--emissions"),
           "1 for weights of features at two neighbouring tags too; needs --t of at least 1. Default 0.", "Model"),
    option("beam", ("--b", "--beam"),
           "Keep so many states a token while the best tags are sought; 0, the default, keeps all and is exact. A "
           "certificate is one of the beam's labellings then.", "Model"),
)  # fmt: skip
#: svm_hmm_learn knows no zero/one loss.
ORIGINAL = tuple(
    row._replace(kind=one_of({_HAMMING.name: _HAMMING.number}), help=f"{numbered([_HAMMING])}: {_HAMMING.help}.")
    if row.field == "loss"
    else row
    for row in SEQUENCE
)
