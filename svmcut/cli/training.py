# SPDX-License-Identifier: BSD-3-Clause
"""One training run from read to written model, whichever command asked for it."""

from __future__ import annotations

import contextlib
import sys
import time

from svmcut.cli.guard import warn
from svmcut.cli.options import LearnOptions, check


def run(options: LearnOptions, original: bool = False) -> int:
    """Reads, trains, writes and reports.

    Parameters
    ----------
    original : bool
        Run under the original's name: warnings stay off stderr.

    Returns
    -------
    int
        Exit status: 0 done, 3 stopped by a limit, 130 interrupted; the best model is written in each case.
    """
    from svmcut.cli import training_report as report

    check(options)
    from svmcut import train
    from svmcut.cli.report import write_report
    from svmcut.files.examples import read_examples
    from svmcut.files.models import write_model
    from svmcut.files.output import check_writable, write_atomically

    for path in (options.model_file, options.report, options.trace, options.alphas):
        if path is not None:
            check_writable(path)
    say = report.out if options.verbosity > 0 else (lambda text="", end="\n": None)
    started, cpu_started = time.perf_counter(), time.process_time()

    say("Reading training examples...", end="")
    examples = read_examples(options.example_file, threads=options.threads, max_memory=options.max_memory)
    say("done")
    seconds = {"read": time.perf_counter() - started}
    config = configure(options)
    first = True

    with contextlib.ExitStack() as stack:
        trace = stack.enter_context(write_atomically(options.trace)) if options.trace else None
        bar = stack.enter_context(progress_bar(options.progress))

        def observe(progress, objective):
            nonlocal first
            if first:
                first = False
                queries = objective.structures if options.task == "rank" else None
                say(report.properties_line(examples, config.bias, queries))
                if options.task == "rank" and options.loss == "swapped-pairs":
                    say(
                        "NOTE: Adjusted stopping criterion relative to maximum loss: "
                        f"eps={max(objective.epsilon, 0.0):.6f}"
                    )
            say(report.iteration_line(progress, objective, options.algorithm))
            if trace is not None:
                trace.write((report.trace_line(progress) + "\n").encode())
            if bar is not None:
                bar.set_postfix_str(f"primal {progress.primal:.6g}, gap {progress.gap:.3g}", refresh=False)
                bar.update()

        outcome = train.train(examples, config, observe)
    seconds["train"] = outcome.seconds
    for line in report.final_lines(outcome, options.algorithm, options.slack_norm, time.process_time() - cpu_started):
        say(line)
    if options.algorithm == 4:
        report.out(f"Final number of constraints in cache: {outcome.progress.cuts}")
    if not original:
        say(f"Solver: {outcome.solver}; {stop_reason(outcome)}")

    writing = time.perf_counter()
    say("Compacting linear model...done")
    say("Writing learned model...", end="")
    write_model(options.model_file, outcome.model)
    if options.alphas:
        with write_atomically(options.alphas) as output:
            output.write("".join(f"{value:.17g}\n" for value in outcome.multipliers).encode())
    say("done")
    seconds["write"] = time.perf_counter() - writing
    seconds["total"] = time.perf_counter() - started
    if options.report:
        document = report.learn_report(options, examples, outcome, seconds)
        write_report(options.report, document)
    if not original:
        for warning in outcome.warnings:
            warn(f"svmcut {options.command}", warning)
    if outcome.stopped_by == "interrupt":
        return 130
    return 0 if outcome.converged else 3


def configure(options: LearnOptions):
    """The options as train.train takes them."""
    from svmcut.kernels import Kernel
    from svmcut.train import Config

    default_bias = 1.0 if options.task == "classification" and options.kernel == "linear" else 0.0
    return Config(
        task=options.task,
        loss=options.loss,
        cost=options.cost,
        example_cost=options.example_cost,
        p=options.p,
        rescaling="margin" if options.algorithm == 9 else options.rescaling,
        slack_norm=options.slack_norm,
        epsilon=options.epsilon,
        gap=options.gap,
        bias=default_bias if options.bias is None else options.bias,
        kernel=Kernel(options.kernel, options.degree, options.gamma, options.s, options.r, options.u),
        solver=options.solver,
        max_iterations=options.max_iterations,
        time_limit=options.time_limit,
        max_memory=options.max_memory,
        threads=options.threads,
    )


def stop_reason(outcome) -> str:
    """Why training ended, with the gap that was reached."""
    gap = f"gap {outcome.progress.gap:.6g} of primal {outcome.progress.primal:.6g}"
    if outcome.converged:
        return f"converged, {gap}"
    reasons = {
        "limit": "stopped by a limit",
        "interrupt": "interrupted",
        "rounding": "stopped where rounding forbids progress",
    }
    return f"{reasons[outcome.stopped_by]}, {gap}"


@contextlib.contextmanager
def progress_bar(wanted: bool | None):
    """A tqdm bar on stderr where it is wanted, by default on a terminal; None otherwise."""
    if wanted is None:
        wanted = sys.stderr.isatty()
    if not wanted:
        yield None
        return
    from tqdm import tqdm

    with tqdm(desc="training", unit=" iterations", file=sys.stderr, leave=False) as bar:
        yield bar
