# SPDX-License-Identifier: BSD-3-Clause
"""The options of training that say what is minimised, and with which kernel."""

from svmcut.cli.option_entry import KERNEL, OBJECTIVE, RUNNING, Option

ROWS = (
    Option(
        "cost",
        ("--cost",),
        OBJECTIVE,
        "C: {objective}.",
        more="The unit is that of {original}.{needed} Several values, 0.1,1,10, train a path: one "
        "model each, MODEL_FILE.0.1 and so on; with --cv they are compared.",
        default="",
        letter="-c",
    ),
    Option(
        "example_cost",
        ("--example-cost",),
        OBJECTIVE,
        "C as the weight of one {one}. Several values as with -c.",
        default="{example_cost}",
    ),
    Option("loss", ("--loss",), OBJECTIVE, "What to minimise: {losses}.", letter="-l"),
    Option(
        "propensities",
        ("--propensities",),
        OBJECTIVE,
        "Lines of label 1 are clicks, whose cost: is 1 over the propensity, and 1 where none "
        "stands: the same as -l propensities.",
        default="off",
    ),
    Option(
        "p",
        (),
        OBJECTIVE,
        "k of {at} as a fraction of the positives; 0 for {at_default}.",
        letter="--p",
    ),
    Option("at", ("--at",), OBJECTIVE, "{placed}.", default="{place}"),
    Option("beta", ("--beta",), OBJECTIVE, "beta of {mixed}."),
    Option("tube", ("--tube",), OBJECTIVE, "Errors up to this cost nothing."),
    Option(
        "penalty",
        ("--penalty",),
        OBJECTIVE,
        "What stands for 1/2 w'w: l2, that itself; l1, the sum of |w|, which leaves features "
        "without weight; elastic-net, a sum of both.",
        more="l1 and elastic-net are for {penalised}, on features.",
    ),
    Option(
        "l1_ratio",
        ("--l1-ratio",),
        OBJECTIVE,
        "R of --penalty elastic-net: R times the sum of |w|, and 1 - R times 1/2 w'w.",
    ),
    Option(
        "rescaling",
        ("--rescaling",),
        OBJECTIVE,
        "Rescaling of the loss: {rescalings}.",
        letter="-o",
    ),
    Option("slack_norm", (), OBJECTIVE, "1 for C xi, 2 for C xi^2.", letter="-p"),
    Option(
        "bias",
        ("--bias",),
        OBJECTIVE,
        "Value of the regularised constant feature; 0 for none.",
        default="{bias}",
        letter="--b",
    ),
    Option(
        "free_bias",
        ("--free-bias/--no-free-bias",),
        OBJECTIVE,
        "Unregularised bias: {biased}.",
        default="{free_bias}",
    ),
    Option(
        "transitions",
        ("--transitions",),
        OBJECTIVE,
        "How many tags before it a tag depends on: 0 to 3. Time and memory grow K-fold with each.",
        letter="--t",
    ),
    Option(
        "emissions",
        ("--emissions",),
        OBJECTIVE,
        "1 for weights of features at two neighbouring tags too; needs --t of at least 1.",
        letter="--e",
    ),
    Option(
        "multiclass",
        ("--multiclass",),
        OBJECTIVE,
        "Of three classes or more: crammer-singer trains all at once, with a kernel by dual-cd, "
        "cutting-plane or sampled-cuts; one-vs-rest each against the rest, the one way of losses "
        "other than the default on features; one-vs-one each against each, with a kernel.",
        default="crammer-singer; one-vs-one with a kernel",
    ),
    Option(
        "probability",
        ("--probability",),
        OBJECTIVE,
        "{probability}",
        default="off",
    ),
    Option(
        "initial",
        ("--initial",),
        RUNNING,
        "Start from the weights or support vectors of this model, of any format and the same "
        "classes; the optimum is the same. Trains with newton, cutting-plane or smo.",
    ),
    Option(
        "pairs",
        ("--pairs",),
        OBJECTIVE,
        "all: a weight for every pair of labels that an example may have together; none: every "
        "label is learnt on its own.",
    ),
    Option("kernel", ("--kernel",), KERNEL, "{kernels}.", more="{given}", letter="-t"),
    Option(
        "degree",
        ("--degree",),
        KERNEL,
        "d of the {kernels_of} kernel.",
        more="Several values as with -g.",
        letter="-d",
    ),
    Option(
        "gamma",
        ("--gamma",),
        KERNEL,
        "g of the {kernels_of} kernel exp(-g |x-z|^2).",
        more="scale is 1 / (features x variance of all values) of the training rows, auto 1 / "
        "features. Several values, 0.01,0.1,1, are a grid with those of C: add --cv, or --validate "
        "and --select.",
        letter="-g",
    ),
    Option(
        "scale_kernel",
        ("--scale-kernel",),
        KERNEL,
        "s of the {kernels_of} kernels.",
        more="Several values as with -g.",
        letter="-s",
    ),
    Option(
        "coef0",
        ("--coef0",),
        KERNEL,
        "r of the {kernels_of} kernels.",
        more="Several values as with -g.",
        letter="-r",
    ),
    Option(
        "basis",
        ("--basis", "--k"),
        KERNEL,
        "Most vectors that span a subspace.",
        more="Used by {spanned}{polished}.",
        letter="--k",
    ),
    Option(
        "basis_kind",
        ("--basis-kind",),
        KERNEL,
        "What spans a subspace: pivoted rows (incomplete Cholesky), even ones, or fourier, random "
        "Fourier features of the rbf kernel (--seed).",
    ),
    Option("sample_size", ("--sample-size",), KERNEL, "{examples} drawn for a cut of {takers}."),
    Option(
        "patience", ("--patience",), KERNEL, "Samples in a row without progress that end {takers}."
    ),
    Option(
        "budget",
        ("--budget",),
        KERNEL,
        "Most support vectors of {takers}; they need not be training points: --solver bsca "
        "--budget 200.",
    ),
    Option(
        "maintenance",
        ("--maintenance",),
        KERNEL,
        "What {takers} do with a support vector too many: merge it with another (the rbf kernel "
        "only), project it on the others (no sigmoid kernel) or remove it.",
        default="{maintenance}",
    ),
    Option(
        "sampling",
        ("--sampling",),
        KERNEL,
        "Examples {takers} visit: shuffled in a new order every epoch, independent draws, or "
        "adaptive, more often where that raised the dual ({adaptive} only).",
    ),
    Option(
        "nu",
        ("--nu",),
        OBJECTIVE,
        "{nu}",
        more="{nu_of_sbp}",
        default="{nu_default}",
    ),
    Option(
        "average",
        ("--average",),
        KERNEL,
        "{takers}: the model is the average of the last half of the iterates (suffix), or of all "
        "(full).",
    ),
    Option(
        "polish",
        ("--polish/--no-polish",),
        KERNEL,
        "Exact training in the span of the points that {takers} chose.",
        default="{polish}",
    ),
    Option(
        "certify",
        ("--certify/--no-certify",),
        KERNEL,
        "With a kernel, compute a dual bound and the gap. The model keeps what classify --certify "
        "needs of the certificate.",
        default="on below {certified}",
    ),
)
