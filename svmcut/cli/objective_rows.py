# SPDX-License-Identifier: BSD-3-Clause
"""The options of training that say what is minimised, and with which kernel."""

from svmcut.cli.option_entry import KERNEL, OBJECTIVE, OUTPUT, RUNNING, Option

ROWS = (
    Option(
        "cost",
        ("--cost",),
        OBJECTIVE,
        "C: {objective}.",
        more="In the unit of {original}.{needed} Several values, 0.1,1,10, train a path, "
        "MODEL_FILE.0.1 and so on; --cv compares them.",
        default="",
        letter="-c",
    ),
    Option(
        "example_cost",
        ("--example-cost",),
        OBJECTIVE,
        "C as the weight of one {one}. Takes several values, as -c does.",
        default="{example_cost}",
    ),
    Option("loss", ("--loss",), OBJECTIVE, "What to minimise: {losses}.", letter="-l"),
    Option(
        "propensities",
        ("--propensities",),
        OBJECTIVE,
        "Lines with label 1 are clicks; their cost: is 1 / propensity (1 if missing). The same "
        "as -l propensities.",
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
    Option("tube", ("--tube",), OBJECTIVE, "Errors up to this size cost nothing."),
    Option(
        "penalty",
        ("--penalty",),
        OBJECTIVE,
        "Penalty on the weights: l2, 1/2 w'w; l1, the sum of |w|, which leaves many weights at "
        "0; elastic-net, a mix of both.",
        more="On features: l1 works with {sparse}; elastic-net with {penalised}.",
    ),
    Option(
        "l1_ratio",
        ("--l1-ratio",),
        OBJECTIVE,
        "R of --penalty elastic-net: R times the sum of |w| plus 1 - R times 1/2 w'w.",
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
        "Order of the transitions: a tag depends on this many tags before it, 0 to 3. Time and "
        "memory grow K-fold with each.",
        letter="--t",
    ),
    Option(
        "emissions",
        ("--emissions",),
        OBJECTIVE,
        "1 adds weights of features for pairs of neighbouring tags; needs --t of at least 1.",
        letter="--e",
    ),
    Option(
        "multiclass",
        ("--multiclass",),
        OBJECTIVE,
        "With three or more classes: crammer-singer trains all at once (with a kernel by "
        "dual-cd, cutting-plane or sampled-cuts); one-vs-rest trains each class against the "
        "rest, and is the only way for other losses than the default on features; one-vs-one "
        "trains each pair, with a kernel.",
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
        "Start from the weights or support vectors of this model, of any format and with the "
        "same classes. The optimum stays the same. Works with newton, cutting-plane and smo.",
    ),
    Option(
        "keep_multipliers",
        ("--keep-multipliers",),
        RUNNING,
        "Keep the multipliers of the rows in the model, for --added and --removed later.",
        default="off",
    ),
    Option(
        "added",
        ("--added",),
        RUNNING,
        "With --initial MODEL, and the file that this was trained on with --keep-multipliers as "
        "EXAMPLE_FILE: the optimum with the rows of this file, too. What the multipliers prove of "
        "it is known at once; training follows with --gap, --epsilon or --until-decided alone.",
    ),
    Option(
        "removed",
        ("--removed",),
        RUNNING,
        "The same without the rows of this file, which are some of EXAMPLE_FILE.",
    ),
    Option(
        "pairs",
        ("--pairs",),
        OBJECTIVE,
        "all: a weight for every pair of labels; none: every label is learnt on its own.",
    ),
    Option(
        "tree",
        ("--tree",),
        OBJECTIVE,
        "With --pairs none: group labels of like examples and learn a tree of the groups, in a "
        "fraction of the time; classify searches it with --beam.",
        default="off",
    ),
    Option(
        "prune",
        ("--prune",),
        OBJECTIVE,
        "With --pairs none: leave weights closer to 0 than this out of the model; the report says "
        "what that costs. auto: as many of every label as --gap allows.",
        default="none",
    ),
    Option(
        "label_block",
        ("--label-block",),
        RUNNING,
        "With --pairs none: train so many labels at once, a multiple of 64; the model is the same.",
        default="by --max-memory",
    ),
    Option(
        "model_format",
        ("--model-format",),
        OUTPUT,
        "With --pairs none: text, or binary, which svmcut reads in place and checks.",
        default="text below a million weights",
    ),
    Option("kernel", ("--kernel",), KERNEL, "{kernels}.", more="{given}", letter="-t"),
    Option(
        "degree",
        ("--degree",),
        KERNEL,
        "d of the {kernels_of}.",
        more="Takes several values, as -g does.",
        letter="-d",
    ),
    Option(
        "gamma",
        ("--gamma",),
        KERNEL,
        "g of the {kernels_of}.",
        more="scale is 1 / (features x variance of all values) of the training rows, auto is 1 / "
        "features. Several values, 0.01,0.1,1, make a grid with those of C: add --cv, or "
        "--validate and --select.",
        letter="-g",
    ),
    Option(
        "scale_kernel",
        ("--scale-kernel",),
        KERNEL,
        "s of the {kernels_of}.",
        more="Takes several values, as -g does.",
        letter="-s",
    ),
    Option(
        "coef0",
        ("--coef0",),
        KERNEL,
        "r of the {kernels_of}.",
        more="Takes several values, as -g does.",
        letter="-r",
    ),
    Option(
        "basis",
        ("--basis", "--k"),
        KERNEL,
        "Maximum number of vectors that span a subspace.",
        more="Used by {spanned}{polished}.",
        letter="--k",
    ),
    Option(
        "basis_kind",
        ("--basis-kind",),
        KERNEL,
        "What spans the subspace: pivoted rows (incomplete Cholesky), even (evenly spaced rows), "
        "or fourier (random Fourier features of the rbf kernel; --seed).",
    ),
    Option("sample_size", ("--sample-size",), KERNEL, "{examples} drawn for each cut of {takers}."),
    Option(
        "patience",
        ("--patience",),
        KERNEL,
        "{takers}: stop after this many samples in a row without progress.",
    ),
    Option(
        "budget",
        ("--budget",),
        KERNEL,
        "Maximum number of support vectors of {takers}, which need not be training points. "
        "Example: --solver bsca --budget 200.",
    ),
    Option(
        "maintenance",
        ("--maintenance",),
        KERNEL,
        "How {takers} remove a support vector beyond the budget: merge it with another (rbf "
        "only), project it on the others (not with sigmoid), or remove it.",
        default="{maintenance}",
    ),
    Option(
        "sampling",
        ("--sampling",),
        KERNEL,
        "Order in which {takers} visit examples: shuffled (a new order every epoch), independent "
        "draws, or adaptive (more often where the dual rose; {adaptive} only).",
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
        "{takers}: the model is the average of the last half of the iterates (suffix) or of all "
        "(full).",
    ),
    Option(
        "polish",
        ("--polish/--no-polish",),
        KERNEL,
        "Afterwards train exactly in the span of the points that {takers} chose.",
        default="{polish}",
    ),
    Option(
        "certify",
        ("--certify/--no-certify",),
        KERNEL,
        "With a kernel, compute a dual bound and the gap. The model keeps the part of the "
        "certificate that classify --certify needs.",
        default="on below {certified}",
    ),
)
