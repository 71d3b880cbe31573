# SPDX-License-Identifier: BSD-3-Clause
"""``python -m attack``: random runs, a table of their endings, and a command line for every
violation.

    PYTHONPATH=tests python -m attack [--runs 1000] [--first 0] [--seed 1] [--only 3,15]
                               [--families learn,kernel] [--keep FOLDER] [--seconds 20]

A run is made again by its name, SEED:NUMBER: --seed SEED --only NUMBER --keep FOLDER.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import collections
import multiprocessing
import shutil
import sys
import tempfile
import time
import warnings

import numpy as np

from attack.families import FAMILIES, make_case
from attack.runs import CPU_SECONDS, import_all, run
from attack.verdicts import judge


def write(case, folder):
    """The files that a run reads."""
    with open(os.path.join(folder, "train"), "w", encoding="ascii") as file:
        file.write(case.text())
    if case.program == "python":
        given = {"X": case.X, "y": case.y, "qid": case.qid, "weights": case.facts.get("weights")}
        for name, values in given.items():
            np.save(os.path.join(folder, f"{name}.npy"), np.array(values))
        with open(os.path.join(folder, "script.py"), "w", encoding="ascii") as file:
            file.write("\n".join(case.words) + "\n")


def carry_out(case, folder, seconds=CPU_SECONDS):
    """Runs all that a case is; the end of the first that failed, else of the training."""
    if case.before:
        first = run(case.before, folder, seconds)
        if first.status not in (0, 3):
            return first
    words = case.words if case.program == "python" else [*case.words, *case.files]
    fits = len(case.facts.get("costs", [1])) * case.facts.get("cells", 1) + 2 * bool(case.after)
    ended = run(words, folder, fits * seconds, case.program)
    if case.after and ended.status in (0, 3):
        after = run(case.after, folder, seconds)
        if after.status:
            return after
    return ended


def attempt(job):
    """Makes, runs and judges one case: the case, how it ended, violations; None where it is left
    out."""
    seed, number, families, keep, every, seconds = job
    case = make_case(seed, number, families)
    if case is None:
        return None
    folder = os.path.join(keep, f"{seed}-{number}") if keep else tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    violations = []
    try:
        write(case, folder)
        ended = carry_out(case, folder, seconds)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                violations = judge(case, ended, folder)
            except Exception as error:  # what no judge foresaw is looked at, too
                violations = [("judge", f"{type(error).__name__}: {error}")]
        return case, ended, violations
    finally:
        if not (keep and (every or violations)):
            shutil.rmtree(folder)


def attack(
    numbers,
    seed,
    families=tuple(FAMILIES),
    keep=None,
    every=False,
    processes=2,
    seconds=CPU_SECONDS,
):
    """The results of the runs of these numbers, in their order."""
    import_all()
    jobs = [(seed, number, families, keep, every, seconds) for number in numbers]
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        yield from (result for result in pool.imap(attempt, jobs) if result is not None)


def main(argv=None):
    """Prints the violations and the tables; 1 where there is a violation."""
    parser = argparse.ArgumentParser(
        prog="attack", description="Random runs, each held to its model file."
    )
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first run")
    parser.add_argument("--only", help="numbers of runs, in place of the first so many")
    parser.add_argument(
        "--families", default=",".join(FAMILIES), help="some of " + ", ".join(FAMILIES)
    )
    parser.add_argument(
        "--keep", help="folder for the files of runs with violations, with --only of all"
    )
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=CPU_SECONDS, help="CPU time a run may take")
    options = parser.parse_args(argv)
    families, keep = (
        tuple(options.families.split(",")),
        options.keep and os.path.abspath(options.keep),
    )
    began, statuses = time.monotonic(), collections.defaultdict(collections.Counter)
    kinds, cpu, refusals = (
        collections.defaultdict(collections.Counter),
        collections.Counter(),
        collections.Counter(),
    )
    numbers = range(options.first, options.first + options.runs)
    numbers = [int(word) for word in options.only.split(",")] if options.only else numbers
    how = (
        numbers,
        options.seed,
        families,
        keep,
        bool(options.only),
        options.processes,
        options.seconds,
    )
    for case, ended, violations in attack(*how):
        statuses[case.family][ended.status if ended.status >= 0 else "killed"] += 1
        cpu[case.family] += ended.seconds
        if ended.status in (1, 2):
            refusals[ended.err.strip().split("\n")[-1].replace("train: ", "")[:110]] += 1
        for kind, sentence in violations:
            kinds[case.family][kind] += 1
            print(f"{case.name} {case.family} {kind}: {sentence}\n    {case.line()}", flush=True)
    print(
        f"\n{'family':12} {'runs':>6} {'done':>6} {'limit':>6} {'refused':>8} {'usage':>6} "
        f"{'killed':>7} "
        f"{'CPU s':>7}  violations"
    )
    for family in [name for name in FAMILIES if statuses[name]]:
        count = statuses[family]
        line = (
            f"{family:12} {sum(count.values()):6} {count[0]:6} {count[3]:6} {count[1]:8} "
            f"{count[2]:6} "
        )
        print(line + f"{count['killed']:7} {cpu[family]:7.0f}  {dict(kinds[family]) or 'none'}")
    for text, count in refusals.most_common(12):
        print(f"{count:6} refused: {text}")
    total, wrong = (
        sum(sum(c.values()) for c in statuses.values()),
        sum(sum(c.values()) for c in kinds.values()),
    )
    print(
        f"{total} runs, {wrong} violations, {time.monotonic() - began:.0f} s, seed {options.seed}"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
