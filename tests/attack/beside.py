# SPDX-License-Identifier: BSD-3-Clause
"""``python -m attack.beside``: random command lines of svm-train and liblinear-train, and of the
programs that predict, beside LIBSVM and LIBLINEAR themselves.

    PYTHONPATH=tests python -m attack.beside --rival PYTHON [--runs 300] [--first 0] [--seed 1]
                                             [--only 3,15] [--keep FOLDER]

PYTHON is one that has libsvm-official and liblinear-official. A run passes if both end alike, print
the same lines in the same order, tell objectives and write models that are the same to the
tolerance of -e, and say the same of rows by the same model. Of folds, which are drawn differently,
only order, status and the final problem count.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from attack import rows_beside
from attack.runs import import_all
from attack.runs import run as run_words

NUMBER = re.compile(r"[-+]?(?:nan|inf|\d+\.?\d*(?:e[-+]?\d+)?)")
#: Lines whose number or presence is no promise.
FREE = re.compile(
    r"[\s.*=]*$|\s*iter\s|init f |log2c=|\s*(?:cg|CG) |WARNING|warning|Using -s|Switching"
)
#: Fields of models that training finds; the others are given.
FITTED = ("total_sv", "rho", "nr_sv", "probA", "probB", "prob_density_marks")
#: Of an objective, and the part of rows whose label may differ where -e is 1e-5.
OBJECTIVE, LABELS = 2e-3, 0.1
#: -s of LIBSVM and of LIBLINEAR whose answers are numbers.
NUMBERS = {"svm-train": (3, 4), "liblinear-train": (11, 12, 13)}


class Rival:
    """The other side, a process that runs what it is sent."""

    def __init__(self, python):
        path = str(Path(__file__).with_name("rival.py"))
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen([python, path], text=True, **pipes)

    def run(self, folder, program, words):
        """Exit status and standard output of a run."""
        self._process.stdin.write(json.dumps([str(folder), program, words]) + "\n")
        self._process.stdin.flush()
        status = int(self._process.stdout.readline())
        return status, Path(folder, "stdout").read_text(encoding="utf-8")


def own(folder, program, words):
    """Exit status, standard output and standard error of a run of svmcut's program."""
    ended = run_words(words, str(folder), 60, program)
    return ended.status, ended.out, ended.err


def shapes(text, of_folds):
    """Lines whose order is compared, without their numbers."""
    lines = [line.rstrip() for line in text.splitlines() if not FREE.match(line)]
    if of_folds:
        lines = [line for line in lines if line.startswith("Cross Validation")]
    return [NUMBER.sub("#", line) for line in lines if line]


def objectives(text):
    """The printed ones, in order."""
    return [float(word) for word in re.findall(r"^(?:obj|Objective value) = ([^,\s]+)", text, re.M)]


def head_of(path):
    """The lines of a model that say what it is, and those without the numbers that were found."""
    lines = []
    for line in Path(path).read_text(encoding="ascii").splitlines():
        name, *rest = line.split()
        lines.append([name, *(() if name in FITTED else rest)])
        if name in ("SV", "w"):
            return lines
    raise ValueError(f"{path} has no end of its head")


def differences(case, folder, rival):
    """What is not the same, as sentences."""
    train, predict = case.program, case.program.replace("train", "predict")
    words = [*case.words, "train"]
    status, out, err = own(folder, train, [*words, "ours"])
    expected, theirs = rival.run(folder, train, [*words, "theirs"])
    if "Traceback" in err or "Warning:" in err.replace("WARNING:", ""):
        yield f"standard error: {err.strip()[-200:]}"
    if status != expected:
        yield f"status {status}, the other's is {expected}: {err.strip()[-200:]}"
        return
    if status:
        return
    lines, others = shapes(out, case.of_folds), shapes(theirs, case.of_folds)
    if case.is_drawn:  # probabilities of numbers stand before the final fit in LIBSVM 3.24
        lines, others = sorted(lines), sorted(others)
    if lines != others:
        yield f"lines {lines}, the other's are {others}"
    if case.of_folds:
        return
    convex = not case.is_loose or case.program == "liblinear-train"
    if not case.is_drawn and convex:
        for a, b in zip(objectives(out), objectives(theirs)):
            if not abs(a - b) <= OBJECTIVE * max(abs(a), abs(b)) + 1e-5:
                yield f"objective {a}, the other's is {b}"
    a, b = (head_of(folder / name) for name in ("ours", "theirs"))
    if a != b:
        yield f"head {a}, the other's is {b}"
        return
    flags = ["-b", "1"] if case.has_probabilities(b) else []
    # the same model, by both; then each its own
    for name in ("theirs", "ours"):
        mine = own(folder, predict, [*flags, "test", name, f"{name}.p"])
        if mine[0]:
            yield f"{predict} ends with {mine[0]}: {mine[2].strip()[-200:]}"
            return
    if rival.run(folder, predict, [*flags, "test", "theirs", "rival.p"])[0] >= 0:  # no crash
        answers = [(folder / f"{name}.p").read_text().split("\n") for name in ("theirs", "rival")]
        yield from (f"prediction {x!r}, the other's is {y!r}" for x, y in unlike(*answers))
    if not case.is_loose and not flags:
        values = [np.loadtxt(folder / name, ndmin=1) for name in ("ours.p", "theirs.p")]
        yield from far(case, *values)


def unlike(lines, others):
    """Lines of predictions by one model that are not the same to a digit."""
    if len(lines) != len(others):
        yield len(lines), len(others)
    for line, other in zip(lines, others):
        with contextlib.suppress(ValueError):
            a, b = (np.array(text.split(), np.float64) for text in (line, other))
            if a.shape == b.shape and np.allclose(a, b, rtol=2e-5, atol=2e-5, equal_nan=True):
                continue
        if line != other:
            yield line, other


def far(case, mine, others):
    """Predictions of both models that tolerance does not explain."""
    if case.solver in NUMBERS[case.program]:
        apart, spread = float(np.abs(mine - others).max()), max(1e-3, float(np.ptp(case.y)))
        if apart > 0.02 * spread:
            yield f"numbers are {apart:g} apart, their spread is {spread:g}"
    elif (share := float(np.mean(mine != others))) > LABELS:
        yield f"{share:.0%} of the labels differ"


def main(argv=None):
    """Prints what differs; 1 where anything does."""
    parser = argparse.ArgumentParser(prog="attack.beside", description=__doc__.split("\n")[0])
    parser.add_argument("--rival", required=True, help="a Python that has both libraries")
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="numbers of runs, in place of the first so many")
    parser.add_argument("--keep", help="folder for the files of runs that differ")
    options = parser.parse_args(argv)
    import_all()
    rival = Rival(options.rival)
    numbers = range(options.first, options.first + options.runs)
    numbers = [int(word) for word in options.only.split(",")] if options.only else numbers
    wrong = 0
    for number in numbers:
        case = rows_beside.make(options.seed, number)
        folder = Path(tempfile.mkdtemp())
        case.write(folder)
        told = list(differences(case, folder, rival))
        wrong += bool(told)
        for sentence in told[:3]:
            line = " ".join([case.program, *case.words])
            print(f"{options.seed}:{number} {sentence}\n    {line}", flush=True)
        if told and options.keep:
            shutil.copytree(folder, os.path.join(options.keep, f"{options.seed}-{number}"))
        shutil.rmtree(folder)
    print(f"{len(numbers)} runs, {wrong} differ, seed {options.seed}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
