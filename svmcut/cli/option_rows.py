# SPDX-License-Identifier: BSD-3-Clause
"""Flags, panel and help of every option of training, once; what stands in braces is filled in for
the task.

What help says of options that hang on the losses of a task.
"""

from __future__ import annotations

from svmcut.base.messages import join_names
from svmcut.base.typing import TYPE_CHECKING
from svmcut.cli import choice_rows, objective_rows
from svmcut.cli.option_entry import COMPATIBILITY, DATA, OUTPUT, RUNNING, STOPPING, Option, idle
from svmcut.spec.catalog import SOLVERS, losses, takers
from svmcut.spec.entries import FLOOR, NEWTON, PLACES, RANGE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svmcut.spec.entries import Loss


ROWS = (
    Option(
        "task",
        ("--task",),
        DATA,
        "What to learn: {tasks}. Each task has its own options: see --task sequence --help.",
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
        "File with one number per line, the weight of each {single}: 2 counts it twice, 0 leaves "
        "it out. It multiplies any cost: in EXAMPLE_FILE.",
    ),
    Option(
        "class_weight",
        ("--class-weight",),
        DATA,
        "Weights of the classes, multiplied with the others: by label, as in 1=5,-1=0.5, or "
        "balanced, so that every class weighs the same. Weights of any kind work with -l "
        "{weighing} only.",
    ),
    Option(
        "cv",
        ("--cv",),
        DATA,
        "Cross-validate on this many folds each combination of C and the kernel's parameters; the "
        "best by --select is trained on all examples. Without C it tries --example-cost 2^-7, "
        "2^-5, ..., 2^7; with -t rbf and without -g each with a quarter of -g scale, that, and "
        "four times that.",
    ),
    Option("validate", ("--validate",), DATA, "Measure every model on this file."),
    Option(
        "certify_choice",
        ("--certify-choice",),
        DATA,
        "Choose C from an interval, -c LOW:HIGH or --example-cost LOW:HIGH, with a proof: no other "
        "C of it has fewer errors on --validate, or on the folds of --cv, by more than this share "
        "of the examples (0.01: one in a hundred). Without C the interval is --example-cost "
        "2^-7:2^7. "
        "For two classes on features.",
        default="none",
    ),
    Option(
        "zero_based",
        ("--zero-based",),
        DATA,
        "Feature indices in the files start at 0: index k is feature k + 1 of the model. Give it "
        "to classify too.",
        default="off",
    ),
    Option(
        "input",
        ("--input",),
        DATA,
        "Format of the files: {inputs}. The model keeps the names.",
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
        "Stop when a share (--fraction) of the labels that the model predicts for this file are "
        "proven to be those of the exact optimum, instead of --gap.",
        default="none",
    ),
    Option(
        "fraction",
        ("--fraction",),
        STOPPING,
        "Share of labels to prove for --until-decided.",
        default="0.99",
    ),
    Option(
        "max_iterations",
        ("--max-iterations",),
        STOPPING,
        "Stop after this many iterations, write the best model so far and exit with 3.",
    ),
    Option(
        "time_limit",
        ("--time-limit",),
        STOPPING,
        "The same after this much time, reading included: seconds, or 30s, 5m, 1h, 2d.",
    ),
    Option(
        "epochs",
        ("--epochs",),
        STOPPING,
        "Passes of {takers} over the examples.",
        default="{epochs}",
    ),
    Option(
        "hold_out",
        ("--hold-out",),
        STOPPING,
        "Share of the examples on which {takers} do not train but choose their best state. Those "
        "without a budget stop once the error there has not fallen for half of the run. 0: choose "
        "by the primal value.",
    ),
    Option(
        "line_search",
        ("--line-search/--no-line-search",),
        RUNNING,
        "Line search of {takers}. Off: the plain Algorithm 1 of KDD 2006.",
        default="on",
    ),
    Option(
        "parts",
        ("--parts",),
        RUNNING,
        "Split the {parts} into this many parts; each visit of {takers} searches one random part "
        "and those in use. The gap covers all.",
        default="{parts_default}",
    ),
    Option(
        "quick",
        ("--quick",),
        STOPPING,
        "Early stopping with {takers}: train until the error on a held-out tenth of the "
        "sequences stops falling, or the chunk F1 rising where tags say chunks, then make as many "
        "passes over all; the tenth also calibrates confidences. The report states the gap that is "
        "left.",
        default="off",
    ),
    Option(
        "select",
        ("--select",),
        OUTPUT,
        "Measure that chooses; --validate also writes the best model as MODEL_FILE, --cv (default "
        "{measure}) it alone: {measures}.",
    ),
    Option("report", ("--report",), OUTPUT, "Write the report as one JSON document."),
    Option("trace", ("--trace",), OUTPUT, "Write one JSON object per iteration, a line each."),
    Option(
        "alphas",
        (),
        OUTPUT,
        "Write the multipliers of the final constraints, one per line.",
        letter="-a",
    ),
    Option(
        "format",
        ("--format",),
        OUTPUT,
        "Report on standard output: plain (a summary) or original (the lines of {original}).",
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
    Option(
        "qp", ("--qp",), RUNNING, "Solver of the small QP in cutting planes: {qps}.", default="{qp}"
    ),
    Option(
        "beam",
        ("--beam",),
        RUNNING,
        "Keep this many states per token while searching for the best tags; 0 keeps all and is "
        "exact. With a beam, the certificate covers only the labellings it finds.",
        letter="--b",
    ),
    Option(
        "threads",
        ("--threads",),
        RUNNING,
        "Number of threads; the model is byte-identical for any number.",
        default="all",
    ),
    Option("seed", ("--seed",), RUNNING, "Seed of the random number generator."),
    Option(
        "cache_size",
        ("--cache-size",),
        RUNNING,
        "Memory for kernel rows, in MB.",
        more="Or with a unit: 500K, 2G.",
        letter="-m",
    ),
    Option(
        "max_memory",
        ("--max-memory",),
        RUNNING,
        "Refuse work that needs more than this: MB, or 512M, 2G.",
    ),
    Option(
        "checkpoint",
        ("--checkpoint",),
        RUNNING,
        "Save the state of training to this file at intervals and on SIGUSR1, SIGTERM and "
        "SIGHUP. It is removed at the end.",
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
        "Continue from --checkpoint if the file exists.",
        default="off",
    ),
    Option(
        "cache",
        ("--cache",),
        RUNNING,
        "Folder for parsed rows as binary arrays, which later runs read instead of the text. "
        "--solver cutting-plane can then train on more rows than fit in memory.",
    ),
    Option(
        "scheduler",
        ("--scheduler",),
        RUNNING,
        "Train on the workers of this Dask scheduler; local:N starts N workers here. {spread} "
        "With --cv and grids the workers train the cells, by any solver.",
    ),
    Option(
        "scheduler_file",
        ("--scheduler-file",),
        RUNNING,
        "The same, with the file that the Dask scheduler wrote.",
    ),
    Option(
        "work_dir",
        ("--work-dir",),
        RUNNING,
        "Folder that all workers see; weights above 10 MB are passed through files there, which "
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
        "Choose the basis of the subspace in advance: 1 evenly spaced rows, 2 incomplete "
        "Cholesky; needs --i 0.",
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


#: What --at is, with the losses that take it.
AT_HELP = {
    PLACES: "Number of top places that {} counts",
    FLOOR: "least value of the second measure of {}",
    RANGE: "LOW,HIGH, the range of false-positive rates of {}",
}

#: What workers do, of rows that lie in parts or of sets of labels.
SPREAD = {
    True: "EXAMPLE_FILE may be a quoted pattern: every file is a part that a worker reads by the "
    "same name. Cutting planes or Newton's method; same bytes for any number of workers.",
    False: "Each trains blocks of labels or of the nodes of a tree, to the bytes of one machine.",
}


def placed(rows: Sequence[Loss]) -> str:
    """What --at is of these losses."""
    texts = [
        text.format(join_names([loss.name for loss in rows if loss.place == place]))
        for place, text in AT_HELP.items()
        if any(loss.place == place for loss in rows)
    ]
    text = "; ".join(texts)
    return text[:1].upper() + text[1:]


def biased(task: str) -> str:
    """Where a bias may be free."""
    taking = takers(task, "free_bias")
    kernel = [name for name in taking if SOLVERS[name].free_bias]
    own = SOLVERS[NEWTON].losses or ()
    sums = [loss.name for loss in losses(task).values() if loss.name in own]
    on_features = f"instead of the constant feature, for {join_names(sums)}"
    if not kernel:
        return on_features
    return f"with kernels for solvers {join_names(kernel)}; on features {on_features}"
