# SPDX-License-Identifier: BSD-3-Clause
"""What no run can honour: combinations of options, refused with the remedy."""

from __future__ import annotations

from svmcut.cli.options import KERNEL_SOLVERS, LINEAR_ONLY, LearnOptions
from svmcut.errors import UsageError
from svmcut.kernel_options import BUDGET_SOLVERS, STOCHASTIC_SOLVERS


def check(options: LearnOptions) -> None:
    """Refusals that concern more than one option.

    Raises
    ------
    UsageError
        Names the options and the remedy.
    """
    check_path(options)
    _check_vector_machine(options)


def check_path(options: LearnOptions) -> None:
    """Refusals of C, of paths of C and of what is asked of a path.

    Raises
    ------
    UsageError
    """
    if options.cost is None and options.example_cost is None:
        raise UsageError(
            "C is missing; give -c (the original's unit) or --example-cost (weight of one example)",
            original="C is missing; give -c",
        )
    if options.cost is not None and options.example_cost is not None:
        raise UsageError("-c and --example-cost exclude each other")
    if len({cost.text for cost in options.path}) < len(options.path):
        raise UsageError("the same C stands twice; each value of a path names a model file")
    if options.select and not options.validate:
        raise UsageError(f"--select {options.select} needs --validate FILE to measure the models on")
    if options.alphas and len(options.path) > 1:
        raise UsageError("-a writes the multipliers of one model; give a single C")
    if options.resume and options.checkpoint is None:
        raise UsageError("--resume goes on from a checkpoint; name it with --checkpoint FILE")


def _check_vector_machine(options: LearnOptions) -> None:
    algorithms = (0, 1, 2, 3, 4) if options.task == "rank" else (0, 1, 2, 3, 4, 9)
    if options.algorithm is not None and options.algorithm not in algorithms:
        known = ", ".join(map(str, algorithms))
        raise UsageError(f"-w {options.algorithm} is no algorithm; expected one of {known}")
    if options.algorithm == 9 and options.loss != "error-rate":
        raise UsageError(f"-w 9 trains for error-rate only; use -w 3 with loss '{options.loss}'")
    if options.algorithm == 4 and options.constraint_cache <= 0:
        raise UsageError("-f must be at least 1 with -w 4")
    if options.qp_new > options.qp_size:
        raise UsageError(f"-n {options.qp_new} exceeds -q {options.qp_size}")
    if options.algorithm in (0, 1, 2, 3, 4) and options.solver not in ("auto", "cutting-plane"):
        raise UsageError(f"-w {options.algorithm} trains with cutting planes; leave it out with --solver")
    if options.slack_norm == 2 and options.algorithm not in (0, 1, None):
        raise UsageError("-p 2 (squared slack) goes with -w 0 or 1")
    if options.has_kernel:
        check_kernel(options)
    elif options.solver in LINEAR_ONLY and (options.task == "rank" or options.loss != "error-rate"):
        raise UsageError(f"solver '{options.solver}' trains for error-rate only; use --solver cutting-plane")
    elif options.free_bias:
        raise UsageError("--free-bias needs a solver with an unregularised bias; add --solver smo")
    elif options.basis_method:
        raise UsageError("--t chooses a basis for a kernel; give -t 1, 2 or 3")
    from svmcut.risks import make_risk

    make_risk(options.loss, p=options.p, rescaling=options.rescaling, slack_norm=options.slack_norm)


def check_kernel(options: LearnOptions) -> None:
    """Refusals of runs with a kernel; of --t, --i and -w as svm_perf refuses them.

    Raises
    ------
    UsageError
    """
    what = f"the {options.kernel} kernel" if options.kernel != "linear" else f"solver '{options.solver}'"
    if options.bias:
        refusal = f"{what} takes no constant feature, but --b {options.bias:g} asks for one; give --b 0"
        raise UsageError(f"{refusal} (and --solver smo for an unregularised bias)", original=refusal)
    solver = solver_name(options)
    if options.free_bias and solver not in ("auto", "smo", "sbp"):
        raise UsageError(f"solver '{solver}' has no unregularised bias; use --solver smo or sbp")
    check_stochastic(options, solver)
    if options.preimage not in (0, 1, 2, 4):
        raise UsageError(f"--i {options.preimage} is unknown; expected 0, 1, 2 or 4")
    if options.maintenance == "merge" and options.kernel != "rbf":
        raise UsageError(f"--maintenance merge is for the rbf kernel; with {what} use project or remove")
    if options.maintenance == "project" and options.kernel == "sigmoid":
        raise UsageError("--maintenance project needs a positive definite kernel; with the sigmoid kernel use remove")
    losses = KERNEL_SOLVERS.get(solver)
    if losses and (options.loss not in losses or options.rescaling == "slack"
                   or options.slack_norm == 2):  # fmt: skip
        known = ", ".join(losses)
        raise UsageError(f"solver '{solver}' trains for {known} only; use --solver cutting-plane or subspace")
    if options.basis_method and options.algorithm == 9:
        raise UsageError("--t chooses the basis in advance and does not go with -w 9; use -w 3")
    if options.basis_method and options.preimage:
        raise UsageError(f"--t {options.basis_method} needs --i 0")
    if options.basis_method and solver != "subspace":
        raise UsageError(f"--t chooses a basis for solver 'subspace', not for '{solver}'")
    if options.basis_file and not options.basis_method:
        raise UsageError("--f names the basis for --t 1 or 2")
    if options.algorithm == 9 and options.preimage == 0:
        raise UsageError("-w 9 with a kernel trains on a basis of its own and needs --i 1, 2 or 4; use -w 3 with --i 0")
    if options.algorithm == 9 and options.preimage in (2, 4) and options.kernel != "rbf":
        raise UsageError(f"--i {options.preimage} is for the rbf kernel; use --i 1 with the {options.kernel} kernel")


def check_stochastic(options: LearnOptions, solver: str) -> None:
    """Refusals of the options of stochastic trainers, with and without one.

    Raises
    ------
    UsageError
    """
    if options.hold_out and solver not in (*BUDGET_SOLVERS, *STOCHASTIC_SOLVERS):
        known = ", ".join((*BUDGET_SOLVERS, *STOCHASTIC_SOLVERS))
        raise UsageError(f"--hold-out is for stochastic and budgeted trainers; give --solver one of {known}")
    if options.sampling == "adaptive" and solver != "bsca":
        raise UsageError("--sampling adaptive follows the rises of the dual in budgeted ascent; use --solver bsca")
    if options.nu is not None and solver != "sbp":
        raise UsageError(f"--nu is for --solver sbp; solver '{solver}' takes C alone")
    if solver not in STOCHASTIC_SOLVERS:
        return
    if options.epsilon is not None or (options.gap is not None and solver != "sdca"):
        raise UsageError(f"solver '{solver}' ends after --epochs, or by --hold-out; leave out -e and --gap "
                         "(sdca takes --gap)")  # fmt: skip
    if options.polish and solver == "sbp" and options.free_bias is not False:
        raise UsageError("--polish trains without the free bias; add --no-free-bias")


def solver_name(options: LearnOptions) -> str:
    """The solver that -w, --t and --solver name together."""
    if options.solver != "auto" or (options.algorithm is None and not options.basis_method):
        return options.solver
    if options.has_kernel and (options.basis_method or options.algorithm == 9):
        return "subspace"
    return "auto" if options.algorithm == 9 else "cutting-plane"
