# SPDX-License-Identifier: BSD-3-Clause
"""What is wrong with a run: nothing, or a list of violations."""

from __future__ import annotations

import json
import math
import os
import re

from attack.cases import BY_EPOCHS, ON_BUDGET
from attack.model_files import parse
from attack.scored import Numbers, Smooth, classes
from attack.truths import LabelSets, Rankings, Sequences, Vectors

ROUNDING = 4e-15
"""Relative rounding of the sums that double precision makes of a model's terms."""
CLOSE = 1e-9
"""A bound may be above a primal value by so much of it."""
SAME = 1e-6
"""Relative difference of a primal value reported and the one of the file."""
SINGLE = 1e-5
"""In place of both for sequences with a kernel, whose kernel values are in single precision."""
NOISE = re.compile(r"Traceback|internal error|\w*Warning:|\.py:\d+")
STATED = re.compile(r"warning: .*gap \S*\d")
UNBOUNDED = re.compile(r"warning: .*no certified gap of primal \S*\d")
ENDS = ("epochs", "span", "samples")
"""What stands under stopped_by where training did what it was asked for, and that was no gap."""
PRINTED = {"dual": re.compile(r"dval=(\S+)"), "primal": re.compile(r"pval=(\S+)")}
SAMPLING = ("subspace", "sampled-cuts", "constant-cuts", *BY_EPOCHS, *ON_BUDGET)
TRUTHS = {
    "learn": Vectors, "kernel": Vectors, "rank": Rankings, "sequence": Sequences, "multilabel": LabelSets,
    "smooth": Smooth, "regression": Numbers, "classes": classes,
}  # fmt: skip
SCALES = (0.0, 0.25, 0.5, 0.9, 0.99, 0.999, 1.001, 1.01, 1.1, 2.0)


def judge(case, ended, folder):
    """Violations, each as (kind, sentence)."""
    if ended.status < 0:
        return [("ends", f"ended by signal {-ended.status} after {ended.seconds:.1f} CPU seconds")]
    found = []
    if NOISE.search(ended.err) or NOISE.search(ended.out):
        found.append(("stderr", NOISE.search(ended.err + ended.out).string[-300:].strip()))
    if ended.status not in (0, 1, 2, 3):
        return [*found, ("status", f"exit status {ended.status}")]
    if ended.status in (1, 2):
        if os.path.exists(os.path.join(folder, "model")):
            found.append(("status", f"exit status {ended.status}, but a model is written"))
        if not ended.err.strip():
            found.append(("stderr", f"exit status {ended.status} without a message"))
        return found
    with open(os.path.join(folder, "report"), encoding="utf-8") as file:
        report = json.load(file)
    done = report["converged"] or report["stopped_by"] in ENDS
    if done != (ended.status == 0) or (report["stopped_by"] in ENDS and report["solver"] not in SAMPLING):
        stopped = f"converged {report['converged']}, stopped by {report['stopped_by']}"
        found.append(("status", f"{report['solver']}: exit status {ended.status}, {stopped}"))
    if report["stopped_by"] == "mistake":
        found.append(("dual", f"a mistake, it says: {ended.err[-200:]}"))
    stated = STATED if report["dual"] is not None else UNBOUNDED
    if ended.status == 3 and not stated.search(ended.err):
        found.append(("status", f"exit status 3 does not state the gap: {ended.err[-200:]}"))
    try:
        truth = TRUTHS[case.family](case, parse(os.path.join(folder, "model")))
    except ValueError as error:
        return [*found, ("model", f"the model file: {error}")]
    return found + held(case, truth, report) + printed(ended.out, report)


def held(case, truth, report):
    """Violations of the report's numbers by what the model is worth."""
    primal, size = truth.primal()
    rounding = ROUNDING * size
    stated = report.get("primal_of_file")
    single = case.family == "sequence" and "kernel" in case.facts
    close, same, exact = (SINGLE, SINGLE, SINGLE) if single else (CLOSE, SAME, 1e-8)
    found = []
    if stated is not None:
        if not abs(stated - primal) <= exact * abs(primal) + rounding:
            found.append(("primal", f"primal_of_file {stated!r}, the file's is {primal!r}"))
    elif report["primal"] is None or not abs(report["primal"] - primal) <= same * abs(primal) + truth.written:
        found.append(("primal", f"reported primal {report['primal']!r}, the file's is {primal!r}"))
    dual = report["dual"]
    if dual is None:
        return found + without_dual(case, report)
    own = report["primal"] if report["primal"] is not None else math.nan
    if not abs(report["gap"] - (own - dual)) <= 1e-9 * abs(own):
        found.append(("gap", f"gap {report['gap']!r} is not primal - dual, {own!r} - {dual!r}"))
    if not truth.definite:
        return found
    points = [(primal, size, 1.0), *((*truth.primal(t), t) for t in SCALES)]
    for value, terms, t in points:
        if not dual <= value + close * abs(value) + ROUNDING * min(terms, size):
            found.append(("dual", f"dual {dual!r} is above {value!r}, the primal of {t:g} times the model"))
            break
    if report["converged"]:
        found += reached(case, truth, report, primal, rounding)
    return found


def without_dual(case, report):
    """Only trainers that say so have no bound."""
    solver = report["solver"]
    free = solver in (*BY_EPOCHS, *ON_BUDGET) or (solver == "sampled-cuts" and not case.facts.get("polish", True))
    return [] if free or not report["converged"] else [("gap", f"{solver}: converged without a dual")]


def reached(case, truth, report, primal, rounding):
    """Violations of the target by a run that has converged."""
    solver, target = report["solver"], truth.target
    if target is None or (solver == "smo" and target[1] is None):
        return []
    if solver in BY_EPOCHS and solver != "sdca" and not case.facts.get("polish"):
        return []
    if solver in (*ON_BUDGET, "sampled-cuts") and case.facts.get("polish") is False:
        return []
    absolute, relative = target
    wanted = absolute if relative is None else relative * abs(primal)
    gap = primal - report["dual"]
    if gap <= wanted * (1 + 1e-3) + CLOSE * 1e-3 * abs(primal) + rounding:
        return []
    kind = "gap" if report["gap"] > wanted * (1 + 1e-3) else "file"  # the report's own gap, or only that of the file
    return [(kind, f"{solver}: converged, but the file's gap is {gap:.6g} and {wanted:.6g} was the target "
             f"(primal {primal:.10g}, dual {report['dual']:.10g}, reported gap {report['gap']:.6g})")]  # fmt: skip


def printed(out, report):
    """Violations of the report by the lines on standard output."""
    found = []
    for name, pattern in PRINTED.items():
        seen, value = pattern.findall(out), report[name]
        text = "nan" if value is None else f"{value:.5f}"
        if not seen or seen[-1] == text or abs(float(seen[-1]) - float(text)) <= 2e-5 + 1e-9 * abs(float(text)):
            continue
        found.append(("printed", f"{pattern.pattern[:4]}={seen[-1]} is printed, the report's {name} is {text}"))
    return found
