# SPDX-License-Identifier: BSD-3-Clause
"""Flags, panel and help of every option of training, once; what stands in braces is filled in for
the task."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from svmcut.spec.kinds import FLAG, Kind

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

DATA, TABLE, OBJECTIVE, KERNEL, STOPPING, OUTPUT, RUNNING, COMPATIBILITY = PANELS = (
    "Data",
    "Tables and texts",
    "Objective",
    "Kernel",
    "Stopping",
    "Output",
    "Running",
    "Compatibility",
)


class Option(NamedTuple):
    """One option.

    Attributes
    ----------
    field : str
        Of LearnOptions, or of what else the command fills.
    words : tuple of str
        Its flags, but for the letter.
    panel : str
    help : str
        For svmcut and the originals.
    more : str
        For svmcut alone.
    default : str or None
        What help says of it; None for the value of the field, "" for nothing.
    inert : bool
        Whether it is taken for compatibility and never has an effect.
    kind : Kind
    letter : str
        The flag that the original has, of one letter; "" for none. It stands before the words,
        unless it is one of them.
    only : str
        The one original that has it; "" for all.
    """

    field: str
    words: tuple[str, ...]
    panel: str
    help: str
    more: str = ""
    default: str | None = None
    inert: bool = False
    kind: Kind = FLAG
    letter: str = ""
    only: str = ""

    @property
    def flags(self) -> tuple[str, ...]:
        """All flags; messages name the first."""
        return self.words if self.letter in ("", *self.words) else (self.letter, *self.words)

    @property
    def full(self) -> str:
        """The flag that says most, as it is switched on."""
        return (self.words or (self.letter,))[0].split("/")[0]

    @property
    def stated(self) -> str:
        """The help with the default."""
        return self.help + (f"  [default: {self.default}]" if self.default else "")


def inert(rows: Iterable[Option], given: Container[str]) -> list[str]:
    """Warnings of options that are taken for compatibility alone."""
    return [
        f"{row.flags[0]} is taken for compatibility and has no effect"
        for row in rows
        if row.inert and row.field in given
    ]


def _idle(field: str, letter: str, help: str, only: str = "") -> Option:
    return Option(field, (), COMPATIBILITY, help, inert=True, letter=letter, only=only)


ROWS = (
    Option(
        "task",
        ("--task",),
        DATA,
        "What to learn: {tasks}. Each task has options of its own: --task sequence --help.",
        default="{first}; of three or more whole labels multiclass",
    ),
    Option(
        "positive",
        ("--positive",),
        DATA,
        "Label of the positive class, or '>0' for all labels above 0; all other labels are "
        "negative.",
        default="the larger of two labels",
    ),
    Option(
        "weights",
        ("--weights",),
        DATA,
        "File of one number a line, what each {single} weighs: 2 as if it stood there twice, 0 "
        "for none; times cost: of its lines.",
    ),
    Option(
        "class_weight",
        ("--class-weight",),
        DATA,
        "What the examples of a class weigh beside that: by label, 1=5,-1=0.5, or balanced, every "
        "class as much as another. Weights of any kind are for -l {weighing} alone.",
    ),
    Option(
        "cv",
        ("--cv",),
        DATA,
        "Cross-validate: every value of C, with every one of the kernel's parameters, is measured "
        "on so many folds, and the best by --select is trained on all examples and written as "
        "MODEL_FILE alone.",
    ),
    Option("validate", ("--validate",), DATA, "Measure every model on the examples of this file."),
    Option(
        "zero_based",
        ("--zero-based",),
        DATA,
        "Feature indices of the files start at 0: index k is feature k + 1 of the model. classify "
        "needs it too.",
        default="off",
    ),
    Option(
        "input",
        ("--input",),
        DATA,
        "What the files hold: {inputs}. The model keeps the names.",
        default="by the file's ending, else svm",
    ),
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
        "p",
        (),
        OBJECTIVE,
        "k of {at} as a fraction of the positives; 0 for {at_default}.",
        letter="--p",
    ),
    Option("at", ("--at",), OBJECTIVE, "Places of a ranking that {ranked} counts."),
    Option("tube", ("--tube",), OBJECTIVE, "Errors up to this cost nothing."),
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
        "Unregularised bias of {takers}.",
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
        "Fit probabilities of the classes to scores of rows held out, in five folds that are "
        "trained beside; classify --probability writes them. Models of -l logistic have their "
        "own.",
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
    Option("kernel", ("--kernel",), KERNEL, "{kernels}.", letter="-t"),
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
        more="Several values, 0.01,0.1,1, are a grid with those of C: add --cv, or --validate and "
        "--select.",
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
        KERNEL,
        "{takers}: mean slack of the examples at |w| = 1, in place of the one C stands for; C "
        "serves the reported objective alone then.",
        default="from C",
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
        "With a kernel, compute a dual bound and the gap.",
        default="on below {certified}",
    ),
    Option(
        "epsilon",
        ("--epsilon",),
        STOPPING,
        "Stop when primal - dual <= C * epsilon ({points}).",
        more="{kkt}",
        default="{epsilon}",
        letter="-e",
    ),
    Option(
        "gap",
        ("--gap",),
        STOPPING,
        "Stop when (primal - dual) / primal is at most this, instead of --epsilon.",
        default="{gap}",
    ),
    Option(
        "max_iterations",
        ("--max-iterations",),
        STOPPING,
        "Stop after so many iterations, write the best model so far and exit with 3.",
    ),
    Option(
        "time_limit",
        ("--time-limit",),
        STOPPING,
        "The same after this time: seconds, or 30s, 5m, 1h, 2d.",
    ),
    Option(
        "epochs",
        ("--epochs",),
        STOPPING,
        "Passes over the examples of {takers}.",
        default="{epochs}",
    ),
    Option(
        "hold_out",
        ("--hold-out",),
        STOPPING,
        "Part of the examples, 0.1 for a tenth, that {takers} do not train on but choose their "
        "best state by; those without a budget end once its error has not fallen in the second "
        "half of the run so far. 0: the best state by the primal value.",
    ),
    Option(
        "line_search",
        ("--line-search/--no-line-search",),
        RUNNING,
        "Cuts of {takers} on the line from the best point to the model's minimiser; without, "
        "every cut at that minimiser, as Algorithm 1 of KDD 2006 is printed.",
        default="on",
    ),
    Option(
        "parts",
        ("--parts",),
        RUNNING,
        "A visit of {takers} searches one of so many parts of the {parts}, drawn, and those in "
        "use; the gap is of all.",
        default="{parts_default}",
    ),
    Option(
        "quick",
        ("--quick",),
        STOPPING,
        "Train by {takers} until the error on a tenth of the sequences, held out, falls no more, "
        "then with as many passes over all; the gap is reported as it is.",
        default="off",
    ),
    Option(
        "select",
        ("--select",),
        OUTPUT,
        "Write the model that is best by this measure on --validate as MODEL_FILE too, or alone "
        "where it is best on the folds of --cv ({measure} unless given): {measures}.",
    ),
    Option("report", ("--report",), OUTPUT, "Write the report as one JSON document."),
    Option("trace", ("--trace",), OUTPUT, "Write one JSON line per iteration."),
    Option(
        "alphas",
        (),
        OUTPUT,
        "Write the multipliers of the final constraints, one a line.",
        letter="-a",
    ),
    Option(
        "format",
        ("--format",),
        OUTPUT,
        "Report on standard output: plain, a summary, or original, the lines of {original}.",
    ),
    Option(
        "verbosity",
        (),
        OUTPUT,
        "Verbosity of the report on standard output.",
        " 2 adds the lines of --format original to the summary.",
        letter="-v",
    ),
    Option(
        "progress",
        ("--progress/--no-progress",),
        OUTPUT,
        "Progress bar on standard error.",
        default="on a terminal",
    ),
    Option("solver", ("--solver",), RUNNING, "{solvers}."),
    Option("qp", ("--qp",), RUNNING, "Small QP of the cutting planes: {qps}.", default="{qp}"),
    Option(
        "beam",
        ("--beam",),
        RUNNING,
        "Keep so many states a token while the best tags are sought; 0 keeps all and is exact. A "
        "certificate is one of the beam's labellings then.",
        letter="--b",
    ),
    Option(
        "threads",
        ("--threads",),
        RUNNING,
        "Threads; the model's bytes do not depend on it.",
        default="all",
    ),
    Option("seed", ("--seed",), RUNNING, "Seed of whatever is drawn at random."),
    Option(
        "cache_size",
        ("--cache-size",),
        RUNNING,
        "Kernel rows kept, in MB.",
        more="Or with a unit: 500K, 2G.",
        letter="-m",
    ),
    Option(
        "max_memory", ("--max-memory",), RUNNING, "Refuse work that needs more: MB, or 512M, 2G."
    ),
    Option(
        "checkpoint",
        ("--checkpoint",),
        RUNNING,
        "Write the state of training to this file at intervals, on SIGUSR1, SIGTERM and SIGHUP; "
        "removed at the end.",
    ),
    Option(
        "checkpoint_every",
        ("--checkpoint-every",),
        RUNNING,
        "Time between checkpoints: seconds, or 30s, 5m, 1h.",
    ),
    Option(
        "resume",
        ("--resume",),
        RUNNING,
        "Go on from --checkpoint where there is one.",
        default="off",
    ),
    Option(
        "cache",
        ("--cache",),
        RUNNING,
        "Folder where the rows of the files are kept as binary arrays, which later runs take in "
        "place of the text; --solver cutting-plane trains on more rows than memory holds.",
    ),
    Option(
        "scheduler",
        ("--scheduler",),
        RUNNING,
        "Train on the workers of this Dask scheduler, or with local:N on N that are started here. "
        "EXAMPLE_FILE may be a quoted pattern: every file is a part that a worker reads under the "
        "same name. Cutting planes alone; the model's bytes do not depend on the workers.",
    ),
    Option(
        "scheduler_file",
        ("--scheduler-file",),
        RUNNING,
        "The same, of the scheduler that wrote this file.",
    ),
    Option(
        "work_dir",
        ("--work-dir",),
        RUNNING,
        "Folder that all workers see, by which weights above 10 MB go to them; their files there "
        "are removed.",
    ),
    Option(
        "algorithm",
        (),
        COMPATIBILITY,
        "{original}'s algorithm number {algorithms}; all lead to the same optimum.",
        letter="-w",
    ),
    Option("u", (), COMPATIBILITY, "Text stored with the model.", letter="-u"),
    _idle("light_verbosity", "-y", "svm_light's verbosity."),
    _idle("new_constraints", "-k", "New constraints before the QP is solved."),
    _idle("constraint_cache", "-f", "Constraints cached per example (-w 4)."),
    _idle("refresh", "-b", "Percent of examples refreshed (-w 4)."),
    _idle("qp_new", "-n", "New variables per QP iteration."),
    _idle("qp_size", "-q", "Variables per QP iteration."),
    _idle("shrink_after", "-h", "Iterations before shrinking."),
    _idle("qp_iterations", "-#", "QP iterations without progress."),
    Option(
        "basis_method",
        (),
        COMPATIBILITY,
        "Subspace of a basis chosen in advance: 1 evenly spaced rows, 2 incomplete Cholesky; "
        "needs --i 0.",
        letter="--t",
        only="svm_perf",
    ),
    Option(
        "basis_file",
        (),
        COMPATIBILITY,
        "File of basis vectors for --t.",
        letter="--f",
        only="svm_perf",
    ),
    Option(
        "preimage",
        (),
        COMPATIBILITY,
        "Preimage method of -w 9 with a kernel.",
        letter="--i",
        only="svm_perf",
    ),
    _idle("recompute", "--r", "Recomputations of the reduced set.", only="svm_perf"),
    _idle("shrink", "--s", "Shrinking in -w 9.", only="svm_perf"),
)
