# SPDX-License-Identifier: BSD-3-Clause
"""What is wrong with a run: nothing, or a list of violations."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re

import numpy as np

from attack.cases import BY_EPOCHS, ON_BUDGET
from attack.given_values import given_truth
from attack.labellings import LabelSets, Sequences
from attack.model_files import marks_of, parse
from attack.named_machines import wrongs
from attack.nu_machines import NuMachine
from attack.originals import printed_numbers
from attack.own_measures import OwnMeasure
from attack.proofs import unproven
from attack.scored import Numbers, Smooth, classes
from attack.truths import Rankings, Vectors, claims

ROUNDING = 4e-15
"""Relative rounding of the sums that double precision makes of a model's terms."""
CLOSE = 1e-9
"""A bound may be above a primal value by so much of it."""
SAME = 1e-6
"""Relative difference of a primal value reported and the one of the file."""
NOISE = re.compile(r"Traceback|an error of svmcut|internal error|\w*Warning:|\.py:\d+")
STATED = re.compile(r"warning: .*gap \S*\d")
UNBOUNDED = re.compile(r"warning: .*no certified gap of primal \S*\d")
ENDS = ("epochs", "span", "samples", "held-out", "stationary")
"""What stands under stopped_by where training did what it was asked for, and that was no gap."""
STOPS = ("limit", "rounding", "basis", "file", "float32", "cap")
"""What else may stand there; none of these runs is interrupted."""
UNTOLD = "untold"
"""In its place for a model of a path that is not the last one."""
PRINTED = {"dual": re.compile(r"dval=(\S+)"), "primal": re.compile(r"pval=(\S+)")}
SAMPLING = ("subspace", "sampled-cuts", "constant-cuts", *BY_EPOCHS, *ON_BUDGET)
TRUTHS = {
    "learn": Vectors,
    "kernel": Vectors,
    "rank": Rankings,
    "sequence": Sequences,
    "multilabel": LabelSets,
    "smooth": Smooth,
    "regression": Numbers,
    "classes": classes,
    "nu": NuMachine,
    "given": given_truth,
    "measures": OwnMeasure,
}
SCALES = (0.0, 0.25, 0.5, 0.9, 0.99, 0.999, 1.001, 1.01, 1.1, 2.0)


def judge(case, ended, folder):
    """Violations, each as (kind, sentence)."""
    if ended.status < 0:
        return [("ends", f"ended by signal {-ended.status} after {ended.seconds:.1f} CPU seconds")]
    found = []
    if noise := [line for line in (ended.err + ended.out).split("\n") if NOISE.search(line)]:
        found.append(("stderr", noise[-1][-300:].strip()))
    if ended.status not in (0, 1, 2, 3):
        return [*found, ("status", f"exit status {ended.status}")]
    if case.facts.get("refused") and ended.status != 2:
        return [*found, ("refusal", f"exit status {ended.status} where the kernel is none")]
    written, theirs = os.path.exists(os.path.join(folder, "model")), case.program.startswith("svm_")
    if ended.status in (1, 2) and not (theirs and written and "stopped" in ended.err):
        if written and not case.after:
            found.append(("status", f"exit status {ended.status}, but a model is written"))
        if not ended.err.strip() and not (ended.out.strip() and theirs):
            found.append(("stderr", f"exit status {ended.status} without a message"))
        return found
    if theirs:
        return found + original(case, ended, os.path.join(folder, "model"))
    if case.kind == "named":
        return found + wrongs(os.path.join(folder, "report"))
    with open(os.path.join(folder, "report"), encoding="utf-8") as file:
        report = json.load(file)
    if case.program == "svmcut":
        found += told(ended, report)
    if report["stopped_by"] == "mistake":
        found.append(("dual", f"a mistake, it says: {ended.err[-200:]}"))
    if report["stopped_by"] not in (None, "mistake", *ENDS, *STOPS):
        found.append(("status", f"stopped by {report['stopped_by']}"))
    for path, own, part in trained(case, report, folder):
        try:
            model = parse(path)
            truth = TRUTHS[case.kind](part, model)
            truth.told(own)
        except (ValueError, IndexError, OSError) as error:
            return [*found, ("model", f"the model file: {error}")]
        found += given(part, model) + held(part, truth, own)
        if case.family == "proofs":
            found += unproven(case, folder)
        elif case.after:
            found += probable(part, truth, path, os.path.join(folder, case.after[-1]))
    return found + (printed(ended.out, report) if case.program == "svmcut" else [])


def told(ended, report):
    """Violations of the end of the run by the exit status and the warnings."""
    found, rows = [], report.get("path", [])
    done = report["converged"] or report["stopped_by"] in ENDS
    unlike = (
        report["stopped_by"] in ("epochs", "span", "samples") and report["solver"] not in SAMPLING
    )
    if (done if not rows else ended.status == 0) != (ended.status == 0) or unlike:
        stopped = f"converged {report['converged']}, stopped by {report['stopped_by']}"
        found.append(("status", f"{report['solver']}: exit status {ended.status}, {stopped}"))
    duals = [row["dual"] for row in rows or [report]]
    if ended.status == 3 and not any(
        (STATED if dual is not None else UNBOUNDED).search(ended.err) for dual in duals
    ):
        found.append(("status", f"exit status 3 does not state the gap: {ended.err[-200:]}"))
    return found


def trained(case, report, folder):
    """File, report and case of every model of a run."""
    facts, unit = case.facts, "cost" if "cost" in case.facts else "example_cost"
    if "cv" in report:
        (row,) = [row for row in report["cv"] if row["selected"]]
        grid = {"C": facts.get("costs", [facts[unit]]), **facts.get("grid", {})}
        if any(row[name] not in values for name, values in grid.items()):
            raise ValueError(f"the cell {row} is none of the grid {grid}")
        own = {unit if name == "C" else name: row[name] for name in grid}
        yield os.path.join(folder, "model"), report, dataclasses.replace(case, facts=facts | own)
        return
    for row in report.get("path", []):
        part = dataclasses.replace(case, facts=facts | {unit: row["C"]})
        last = {} if row is report["path"][-1] else {"primal_of_file": None, "stopped_by": UNTOLD}
        yield os.path.join(folder, row["model"]), report | last | row, part
    if "path" not in report:
        yield os.path.join(folder, "model"), report, case


def given(case, model):
    """Violations of the kernel in the file by the one that was asked for: a file that is read back
    is that machine."""
    facts, kernel, found = case.facts, getattr(model, "kernel", model), []
    names = {
        "rbf": ("gamma",),
        "polynomial": ("scale_kernel", "coef0", "degree"),
        "sigmoid": ("scale_kernel", "coef0"),
    }
    fields = {"scale_kernel": "scale", "coef0": "offset"}
    for name in names.get(facts.get("kernel"), ()):
        stands = getattr(kernel, fields.get(name, name))
        if name in facts and stands != facts[name]:
            found.append(
                ("kernel", f"{name} is {stands!r} in the file, and was given as {facts[name]!r}")
            )
    return found


def held(case, truth, report):
    """Violations of the report's numbers by what the model is worth."""
    primal, size = truth.primal()
    rounding = ROUNDING * size
    stated, memory = report.get("primal_of_file"), case.facts.get("memory")
    found = []
    if stated is not None:
        if not abs(stated - primal) <= 1e-8 * abs(primal) + rounding:
            found.append(("primal", f"primal_of_file {stated!r}, the file's is {primal!r}"))
    elif (
        report["primal"] is None
        or not abs(report["primal"] - primal) <= SAME * abs(primal) + truth.written + rounding
    ):
        found.append(("primal", f"reported primal {report['primal']!r}, the file's is {primal!r}"))
    nothing = truth.primal(0.0)[0]
    indefinite = truth.kernel is not None and not claims(truth.kernel)
    early = report["stopped_by"] in ("epochs", "limit", "rounding", "cap", "float32", UNTOLD)
    best = report["stopped_by"] == "file" or (
        report["primal"] is not None and report["primal"] <= nothing * (1 + CLOSE)
    )
    room = rounding + (truth.written if best else 0.0)  # the digits that are not written
    close = SAME if indefinite else CLOSE
    if primal > nothing * (1 + close) + room and (indefinite or not early):
        found.append(
            ("worse", f"{report['solver']}: primal {primal:.10g}, where w = 0 has {nothing:.10g}")
        )
    if "scores" in report:
        found += scored(truth, np.array(report["scores"], float))
    dual = report["dual"]
    if indefinite:
        ended = report["stopped_by"] in (
            "stationary",
            UNTOLD,
            *STOPS,
            *(ENDS if report["solver"] in SAMPLING else ()),
        )
        if dual is not None or report["converged"] or not (ended or memory):
            found.append(
                (
                    "claim",
                    f"{report['solver']}: dual {dual}, converged {report['converged']}, stopped by "
                    f"{report['stopped_by']}, where the kernel has no bound",
                )
            )
        return found
    if dual is None:
        return found + without_dual(case, report)
    own = report["primal"] if report["primal"] is not None else math.nan
    if not abs(report["gap"] - (own - dual)) <= 1e-9 * abs(own):
        found.append(("gap", f"gap {report['gap']!r} is not primal - dual, {own!r} - {dual!r}"))
    if not truth.definite:
        return found
    digits = truth.written if memory else 0.0  # the file is not the machine that has the bound
    found += bounded(truth, dual - digits, CLOSE, primal, size)
    if report["converged"]:
        found += reached(case, truth, report, primal, rounding + digits)
    return found


def bounded(truth, dual, close, primal, size):
    """A violation where a dual is above the primal of a multiple of the model."""
    points = [(primal, size, 1.0), *((*truth.primal(t), t) for t in SCALES)]
    for value, terms, t in points:
        if not dual <= value + close * abs(value) + ROUNDING * min(terms, size):
            return [
                ("dual", f"dual {dual!r} is above {value!r}, the primal of {t:g} times the model")
            ]
    return []


def scored(truth, scores):
    """A violation where an estimator's scores of the rows are not those of the file it saved."""
    own = np.asarray(truth.s, float)
    own = own[:, 0] if own.ndim > scores.ndim else own
    apart = np.abs(scores - own) - 1e-6 * np.asarray(truth.size, float).reshape(len(own), -1).max(
        1
    ).reshape(-1, *[1] * (own.ndim - 1))
    if scores.shape != own.shape or apart.max() > 0:
        return [
            (
                "scores",
                "decision_function is apart from the file's scores by "
                f"{np.abs(scores - own).max():.6g}",
            )
        ]
    return []


def probable(case, truth, path, written):
    """Violations of the probabilities of the rows."""
    with open(written, encoding="ascii") as file:
        rows = np.array([[float(word) for word in line.split()] for line in file])
    if rows.ndim != 2 or len(rows) != len(case.X):
        return [("probability", f"probabilities of shape {rows.shape} of {len(case.X)} rows")]
    if not (np.all(rows >= 0) and np.all(rows <= 1) and np.allclose(rows.sum(1), 1, atol=1e-6)):
        return [
            (
                "probability",
                "not between 0 and 1, or their sum is not 1: "
                f"{rows[np.argmax(abs(rows.sum(1) - 1))]}",
            )
        ]
    marks, s = marks_of(path), np.asarray(truth.s, float)
    if s.ndim == 1:
        A, B = map(float, marks.get("sigmoid", "-1 0").split())
        exact = 0.5 * (1 - np.tanh((A * s + B) / 2))
        order = np.argsort(s)
        slopes = np.diff(rows[order, 1]) * (1 if A <= 0 else -1)
        room = 1e-6 + 1e-6 * abs(A) * np.asarray(truth.size, float).max()
        if np.abs(rows[:, 1] - exact).max() > room:
            return [
                (
                    "probability",
                    f"apart from 1 / (1 + exp(A s + B)) by {np.abs(rows[:, 1] - exact).max():.6g}",
                )
            ]
        if slopes.min(initial=0.0) < -room:
            return [("probability", "they do not follow the scores")]
    elif "temperature" in marks and float(marks["temperature"]) > 0:
        best = np.argmax(s, axis=1)
        if (rows.max(1) - rows[np.arange(len(rows)), best]).max() > 1e-6:
            return [("probability", "the class of the largest score is not the most probable one")]
    return []


def original(case, ended, path):
    """Violations of what a program with an original's name prints."""
    found, numbers = [], printed_numbers(ended.out)
    try:
        model = parse(path)
    except (ValueError, IndexError, OSError) as error:
        return [("model", f"the model file: {error}")]
    if "kernel" in case.facts:  # the file has eight digits of its parameters, as the originals'
        found += exactly(case, model.kernel)
    truth = TRUTHS[case.kind](case, model)
    primal, size = truth.primal()
    unit = 1e4 if case.program == "svm_multiclass_learn" else 1.0
    room = 1e-5 + unit * (SAME * abs(primal) + truth.written + ROUNDING * size)
    told = re.search(r"the primal is (\S+) with the digits of the model file", ended.err)
    stated = unit * float(told[1]) if told else math.inf
    as_read = abs(stated - unit * primal) <= room + unit * 1e-5 * abs(primal)
    if "primal" in numbers and not (as_read or abs(numbers["primal"] - unit * primal) <= room):
        found.append(
            ("primal", f"pval {numbers['primal']!r} is printed, the file's is {unit * primal!r}")
        )
    if "loss" in numbers:
        (loss, terms), half = map(float, truth.risk(1)), float(truth.half_norm)
        if not abs(numbers["loss"] - loss) <= 1e-5 + 1e-6 * terms + SAME * loss:
            found.append(("primal", f"loss {numbers['loss']!r} is printed, the file's is {loss!r}"))
        room = 2e-5 * math.sqrt(abs(2 * half)) + 1e-10 + 2e-6 * float(truth.half_size)
        below = (
            truth.kernel is not None and not claims(truth.kernel) and math.isnan(numbers["norm"])
        )
        told = 0.0 if below else numbers["norm"] ** 2
        if half >= 0 and not abs(told - 2 * half) <= room:
            found.append(
                (
                    "primal",
                    f"|w| {numbers['norm']!r} is printed, the file's is {math.sqrt(2 * half)!r}",
                )
            )
    nothing, indefinite = (
        truth.primal(0.0)[0],
        truth.kernel is not None and not claims(truth.kernel),
    )
    gap = re.search(r"maxdiff=(\S+)\)", ended.out)  # of the conditions, where svm_learn says so
    open_end = gap is not None and float(gap[1]) > 1
    warned = open_end or told is not None
    if primal > nothing * (1 + SAME) + ROUNDING * size and not (indefinite or warned):
        found.append(
            ("worse", f"{case.program}: primal {primal:.10g}, where w = 0 has {nothing:.10g}")
        )
    dual = numbers.get("dual", math.nan)
    if math.isnan(dual) or not truth.definite:
        return found
    if indefinite and "--k" not in case.words:  # of a basis it is that of its span
        return [*found, ("claim", f"dval {dual} is printed, where the kernel has no bound")]
    return found + bounded(truth, (dual - 1e-5) / unit, SAME, primal + truth.written, size)


def exactly(case, kernel):
    """Puts the parameters that were given in the place of the file's; a violation where they are
    not the same."""
    names, found = {"gamma": "gamma", "scale": "scale_kernel", "offset": "coef0"}, []
    for field, name in names.items():
        value = case.facts.get(name)
        if value is not None and not (field == "gamma") ^ (kernel.name == "rbf"):
            if abs(getattr(kernel, field) - value) > 1e-7 * abs(value):
                found.append(
                    (
                        "kernel",
                        f"{name} is {getattr(kernel, field)!r} in the file, given as {value!r}",
                    )
                )
            setattr(kernel, field, value)
    return found


def without_dual(case, report):
    """Only trainers that say so have no bound."""
    solver = report["solver"]
    free = solver in (*BY_EPOCHS, *ON_BUDGET) or (
        solver == "sampled-cuts" and not case.facts.get("polish", True)
    )
    return (
        [] if free or not report["converged"] else [("gap", f"{solver}: converged without a dual")]
    )


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
    kind = (
        "gap" if report["gap"] > wanted * (1 + 1e-3) else "file"
    )  # the report's own gap, or only that of the file
    return [
        (
            kind,
            f"{solver}: converged, but the file's gap is {gap:.6g} and {wanted:.6g} was the target "
            f"(primal {primal:.10g}, dual {report['dual']:.10g}, reported gap {report['gap']:.6g})",
        )
    ]


def printed(out, report):
    """Violations of the report by the lines on standard output."""
    found = []
    for name, pattern in PRINTED.items():
        seen, value = pattern.findall(out), report[name]
        text = "nan" if value is None else f"{value:.5f}"
        if (
            not seen
            or seen[-1] == text
            or abs(float(seen[-1]) - float(text)) <= 2e-5 + 1e-9 * abs(float(text))
        ):
            continue
        found.append(
            (
                "printed",
                f"{pattern.pattern[:4]}={seen[-1]} is printed, the report's {name} is {text}",
            )
        )
    return found
