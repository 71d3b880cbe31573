# SPDX-License-Identifier: BSD-3-Clause
"""Flags, panel and help of every option of training, once; what stands in braces is filled in for
the task."""

from svmcut.cli import choice_rows, objective_rows
from svmcut.cli.option_entry import COMPATIBILITY, DATA, OUTPUT, RUNNING, STOPPING, Option, idle

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
        "MODEL_FILE alone. Without C it compares --example-cost 2^-7, 2^-5, ..., 2^7; with the rbf "
        "kernel and no -g each of them with a quarter of -g scale, with it and with four times it.",
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
    *objective_rows.ROWS,
    *choice_rows.ROWS,
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
        "until_decided",
        ("--until-decided",),
        STOPPING,
        "Stop when so many labels that the model gives the examples of this file are proven to be "
        "those of the exact optimum, instead of --gap.",
        default="none",
    ),
    Option(
        "fraction",
        ("--fraction",),
        STOPPING,
        "Share of the labels of --until-decided.",
        default="0.99",
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
        "The same after this time, reading included: seconds, or 30s, 5m, 1h, 2d.",
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
    idle("light_verbosity", "-y", "svm_light's verbosity."),
    idle("new_constraints", "-k", "New constraints before the QP is solved."),
    idle("constraint_cache", "-f", "Constraints cached per example (-w 4)."),
    idle("refresh", "-b", "Percent of examples refreshed (-w 4)."),
    idle("qp_new", "-n", "New variables per QP iteration."),
    idle("qp_size", "-q", "Variables per QP iteration."),
    idle("shrink_after", "-h", "Iterations before shrinking."),
    idle("qp_iterations", "-#", "QP iterations without progress."),
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
    idle("recompute", "--r", "Recomputations of the reduced set.", only="svm_perf"),
    idle("shrink", "--s", "Shrinking in -w 9.", only="svm_perf"),
)
