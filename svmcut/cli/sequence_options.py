# SPDX-License-Identifier: BSD-3-Clause
"""The options of ``svmcut learn --task sequence``: svm_hmm_learn's and those that svmcut adds."""

from __future__ import annotations

from svmcut.cli.kinds import Kind
from svmcut.cli.option_checks import check_path
from svmcut.cli.options import LEARN, MAIN, RESCALINGS, LearnOptions, Option, integer, one_of
from svmcut.errors import UsageError

SOLVERS = ("auto", "cutting-plane", "bcfw", "ssg", "soft-bcfw", "gdmm", "sampled-cuts")
#: Solvers that train with a kernel, and those that do for vectors alone.
KERNEL_SOLVERS = ("auto", "cutting-plane", "sampled-cuts")
VECTORS_ONLY = ("subspace", "constant-cuts")
LOSSES = {"hamming": 1, "zero-one": 0}
ORIGINAL_LOSSES = {"hamming": 1}
MEASURES = {"token_error": False, "sequence_error": False}
DEFAULTS = {"task": "sequence", "loss": "hamming"}

_NOT_HERE = {
    "p", "bias", "basis_method", "preimage", "basis_size", "recompute", "shrink", "basis_file", "rescaling",
    "slack_norm", "patience", "budget", "maintenance", "sampling", "nu", "average", "epochs", "hold_out",
}  # fmt: skip
_TEXTS = {
    "cost": "C in svm_hmm's unit: 1/2 w'w + C * wrong tags averaged over the sequences. This or --example-cost is "
    "required. Several values, 1,10,100, train a path: one model each, MODEL_FILE.1 and so on.",
    "example_cost": "C as the weight of one sequence's wrong tags. Several values as with -c.",
    "loss": "hamming (1), the default: the number of wrong tags; zero-one (0): 1 for a sequence with any.",
    "solver": "auto, cutting-plane, bcfw, ssg; with --t 1 and --e 0 also gdmm, no pass of which costs the square of "
    "the tags, and soft-bcfw. -l zero-one, -o slack and -p 2 train by cutting-plane alone, which auto takes then. "
    "With a kernel cutting-plane and sampled-cuts, which auto takes where four bytes for every pair of tokens, and the "
    "cuts, would not fit in 4 GB.",
    "algorithm": "svm_hmm's algorithm number 0-4; all lead to the same optimum, by cutting planes.",
    "epsilon": "Stop when primal - dual <= C * epsilon (wrong tags a sequence; with -p 2 the mean of xi^2). "
    "Default 0.1.",
    "kernel": "Emissions linear (0) in the features, or functions of a kernel: polynomial (1) (s x.z + r)^d, rbf (2), "
    "sigmoid (3) tanh(s x.z + r). The model file is one of svmcut then.",
    "sample_size": "Sequences drawn for a cut of sampled-cuts. Default 400.",
    "cache_size": "Kernel rows that sampled-cuts keeps, in MB.",
}


def _solver(text: str) -> str:
    if text in VECTORS_ONLY:
        raise ValueError(f"{text!r} does not train sequences; with a kernel use cutting-plane or sampled-cuts")
    return one_of(SOLVERS).parse(text)


_KINDS = {
    "loss": one_of(LOSSES),
    "solver": Kind("NAME", _solver),
    "algorithm": integer(0, 4),
    "select": one_of(tuple(MEASURES)),
}
SEQUENCE = (
    *(
        option._replace(
            help=_TEXTS.get(option.field, option.help),
            kind=_KINDS.get(option.field, option.kind),
            section=option.section.replace("svm_perf", "svm_hmm"),
        )
        for option in LEARN
        if option.field not in _NOT_HERE
    ),
    Option("rescaling", ("-o", "--rescaling"), one_of(RESCALINGS),
           "margin (2), the default, or slack (1) rescaling, whose time and memory grow with the square of a "
           "sequence's tokens.",
           MAIN),
    Option("slack_norm", ("-p",), integer(1, 2),
           "1 for C xi of every sequence, 2 for C xi^2 with the root of the loss inside xi, at the cost of -o slack.",
           MAIN),
    Option("transition_order", ("--t", "--transitions"), integer(0, 3),
           "How many tags before it a tag depends on: 0 to 3, default 1. Time and memory grow K-fold with each.",
           "Model"),
    Option("emission_order", ("--e", "--emissions"), integer(0, 1),
           "1 for weights of features at two neighbouring tags too; needs --t of at least 1. Default 0.", "Model"),
    Option("beam", ("--b", "--beam"), integer(0),
           "Keep so many states a token while the best tags are sought; 0, the default, keeps all and is exact. A "
           "certificate is one of the beam's labellings then.", "Model"),
)  # fmt: skip
#: svm_hmm_learn knows no zero/one loss.
ORIGINAL = tuple(
    option._replace(kind=one_of(ORIGINAL_LOSSES), help="hamming (1): the number of wrong tags.")
    if option.field == "loss"
    else option
    for option in SEQUENCE
)


def check_sequence(options: LearnOptions) -> None:
    """Refusals that concern more than one option.

    Raises
    ------
    UsageError
        Names the options and the remedy.
    """
    from svmcut.train_sequences import check_scaled, scaled_by

    check_path(options)
    if options.emission_order > options.transition_order:
        raise UsageError(
            f"--e {options.emission_order} exceeds --t {options.transition_order}; emissions depend on no more tags "
            "than transitions do"
        )
    if options.algorithm is not None and options.solver not in ("auto", "cutting-plane"):
        raise UsageError(f"-w {options.algorithm} trains with cutting planes; leave it out with --solver")
    if options.algorithm == 4 and options.constraint_cache <= 0:
        raise UsageError("-f must be at least 1 with -w 4")
    if options.qp_new > options.qp_size:
        raise UsageError(f"-n {options.qp_new} exceeds -q {options.qp_size}")
    if options.has_kernel:
        _check_emissions(options)
    if options.solver in ("gdmm", "soft-bcfw") and (options.transition_order, options.emission_order) != (1, 0):
        raise UsageError(f"{options.solver} trains chains of --t 1 and --e 0; leave those out or use --solver bcfw")
    check_scaled(options, options.beam)
    if options.slack_norm == 2 and options.algorithm not in (0, 1, None):
        raise UsageError("-p 2 (squared slack) goes with -w 0 or 1")
    by_cuts = options.solver == "cutting-plane" or options.algorithm is not None or scaled_by(options)
    if options.beam and not by_cuts:
        raise UsageError(f"--b {options.beam} trains with cutting planes alone; add --solver cutting-plane")
    if options.alphas and not by_cuts:
        raise UsageError("-a writes the multipliers of cuts; add --solver cutting-plane")


def _check_emissions(options: LearnOptions) -> None:
    from svmcut.train_sequences import scaled_by

    what = f"the {options.kernel} kernel" if options.kernel != "linear" else f"--solver {options.solver}"
    if options.solver not in KERNEL_SOLVERS:
        raise UsageError(
            f"{options.solver} trains linear chains; with {what} use --solver cutting-plane or sampled-cuts"
        )
    if scaled_by(options):
        raise UsageError(f"{scaled_by(options)} does not go with {what} in this version; leave one of them out")
    if options.emission_order:
        raise UsageError(f"--e {options.emission_order} does not go with {what}; use --e 0, or -t 0 without it")
    for given, flag in ((options.polish, "--polish"), (options.free_bias, "--free-bias")):
        if given:
            raise UsageError(f"{flag} is for machines of vectors; leave it out for sequences")
