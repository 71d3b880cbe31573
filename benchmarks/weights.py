# SPDX-License-Identifier: BSD-3-Clause
"""Do weights mean what they say? Every trainer on weighted rows beside rows repeated; -wi of
others; time.

    python benchmarks/weights.py [--only REGEX] [--least 0] [--gap 1e-3]    weight k is row k times,
    0 is no row python benchmarks/weights.py --peers [--weights 3,0.5] [FILE:C:G ...]   LIBLINEAR
    and LIBSVM with -wi python benchmarks/weights.py --time [--repeats 5] [FILE ...]
    random weights beside none

The first table takes the example sets of data/: every row (query, sequence, label set) gets a whole
number from
--least to 3, as cost: on the line, and is written that many times to a second file. Both are
trained with the same
-c. `difference` is that of the two objectives, `gap` what the certificates leave open, both as
parts of the
objective; where a trainer has none there is a dash. Trainers that end after some passes make as
many visits of either file, 100 passes of the longer. The second table holds objectives of both
programs with weights of the classes +1 and
-1, linear ones by one evaluator on the models' files. The third has CPU seconds of whole processes
in turns, medians;
ratios are medians over the rounds.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from arguments import make_parser
from objective import Evaluator, read_liblinear, read_svm_light
from timing import alternate, medians, time_process

from svmcut.spec.catalog import SOLVERS, solvers

DATA = Path(__file__).resolve().parent.parent / "data"
PROGRAM = str(Path(sys.executable).parent / "svmcut")
SETS = {
    "classification": ("breast_cancer.train", "20"),
    "rank": ("ranking.train", "10"),
    "sequence": ("tags.train", "30"),
    "multilabel": ("labels.train", "30"),
}
KERNELS = {"linear": (), "rbf": ("-t", "2", "-g", "0.1")}
#: The largest weight, and passes over repeated rows of the trainers that end after some.
MOST, EPOCHS = 3, 100


def learn(path: Path, model: Path, *words: str) -> dict:
    """The report of a training."""
    report = model.with_suffix(".json")
    command = [
        *(PROGRAM, *words, "-v", "0", "--threads", "1", "--report", str(report), str(path)),
        str(model),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 3):
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    return json.loads(report.read_text())


def with_cost(line: str, weight: float) -> str:
    """A line with its weight behind the label and the query."""
    head, rest = line.split(" ", 1)
    if rest.startswith("qid:"):
        query, rest = rest.split(" ", 1)
        head = f"{head} {query}"
    return f"{head} cost:{weight:.9g} {rest}"


def structures(path: Path) -> list[list[str]]:
    """The lines of a file, those of one query together."""
    found: list[list[str]] = []
    last = None
    for line in path.read_text(encoding="ascii").splitlines():
        query = re.search(r" qid:(\d+)", line)
        if query is None or query[1] != last:
            found.append([])
        last = query and query[1]
        found[-1].append(line)
    return found


def write_both(path: Path, folder: Path, least: int) -> tuple[tuple[Path, Path], float]:
    """The file with weights, and with rows repeated, the queries numbered anew; the mean of the
    weights above 0."""
    rng, weighted, repeated, count, kept = np.random.default_rng(1), [], [], 0, 0
    for lines in structures(path):
        weight = int(rng.integers(least, MOST + 1))
        weighted += [with_cost(line, weight) for line in lines]
        kept += weight > 0
        for _ in range(weight):
            count += 1
            repeated += [re.sub(r" qid:\d+", f" qid:{count}", line) for line in lines]
    paths = folder / f"{path.name}.weighted", folder / f"{path.name}.repeated"
    for target, lines in zip(paths, (weighted, repeated)):
        target.write_text("\n".join(lines) + "\n", encoding="ascii")
    return paths, count / kept


def trainers() -> Iterator[tuple[str, str, str]]:
    """Tasks, kernels and solvers."""
    for task in SETS:
        for kernel in KERNELS:
            for solver in solvers(task, kernel != "linear"):
                yield task, kernel, solver


def equivalence(folder: Path, only: str, least: int, gap: float) -> None:
    """The first table."""
    print("| task | kernel | solver | weighted | repeated | difference | gap | within |")
    print("|---|---|---|---|---|---|---|---|")
    for task, kernel, solver in trainers():
        if not re.search(only, f"{task} {kernel} {solver}"):
            continue
        name, cost = SETS[task]
        words = ["rank"] if task == "rank" else ["learn", "--task", task]
        words += ["-c", cost, *KERNELS[kernel], "--solver", solver]
        stochastic, (paths, mean) = SOLVERS[solver].steps, write_both(DATA / name, folder, least)
        ends = [
            ["--epochs", f"{EPOCHS * part:g}"] if stochastic else ["--gap", f"{gap:g}"]
            for part in (mean, 1)
        ]
        found = [learn(path, folder / "model", *words, *end) for path, end in zip(paths, ends)]
        ours, theirs = (report["primal"] for report in found)
        lower = [report["dual"] for report in found]
        open_ = (
            math.nan
            if None in lower
            else max(primal - dual for primal, dual in zip((ours, theirs), lower))
        )
        within = (
            "-"
            if stochastic or math.isnan(open_)
            else "yes"
            if abs(ours - theirs) <= open_
            else "NO"
        )
        cells = [
            f"{ours:.9g}",
            f"{theirs:.9g}",
            f"{abs(ours - theirs) / theirs:.1e}",
            f"{open_ / theirs:.1e}",
            within,
        ]
        print("|", " | ".join([task, kernel, solver, *cells]).replace("nan", "-"), "|", flush=True)


def run(*command: str) -> str:
    """What a program prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def peers(files: list[str], folder: Path, positive: float, negative: float) -> None:
    """The second table."""
    print("| set | C | svmcut | objective | beside | objective | difference |")
    print("|---|---|---|---|---|---|---|")
    for text in files:
        name, cost, gamma = text.rsplit(":", 2)
        path, model = Path(name), str(folder / "peer")
        own = (
            *("--class-weight", f"1={positive},-1={negative}", "--example-cost", cost),
            *("--gap", "1e-6"),
        )
        classes = ("-w1", str(positive), "-w-1", str(negative), "-c", cost)
        rows: list[tuple[str, float, str, float]] = []
        if shutil.which("liblinear-train"):
            evaluate = Evaluator(path, (positive, negative))
            learn(path, folder / "model", "learn", *own)
            ours = evaluate(*read_svm_light(folder / "model"), float(cost))
            run("liblinear-train", "-s", "3", "-B", "1", "-e", "1e-4", *classes, str(path), model)
            theirs = evaluate(*read_liblinear(Path(model)), float(cost))
            rows.append(("learn", ours, "liblinear-train -s 3", theirs))
        if shutil.which("svm-train"):
            kernel = ("-t", "2", "-g", gamma)
            dual = learn(path, folder / "model", "learn", *kernel, "--solver", "smo", *own)["dual"]
            text = run("svm-train", *kernel, "-e", "1e-5", *classes, str(path), model)
            theirs = -float(re.findall(r"obj = (\S+),", text)[-1])
            rows.append(("smo, rbf, dual", dual, "svm-train", theirs))
        for what, ours, other, theirs in rows:
            cells = [f"{ours:.9g}", other, f"{theirs:.9g}", f"{(ours - theirs) / theirs:.1e}"]
            print("|", " | ".join([path.name, cost, what, *cells]), "|", flush=True)


def times(files: list[Path], folder: Path, repeats: int, only: str) -> None:
    """The third table."""
    print("| set | solver | CPU s | with weights | ratio |")
    print("|---|---|---|---|---|")
    rng = np.random.default_rng(1)
    for path in files:
        weighted = folder / "weighted"
        lines = path.read_text(encoding="ascii").splitlines()
        marked = [with_cost(line, rng.uniform(0.5, 1.5)) for line in lines]
        weighted.write_text("\n".join(marked) + "\n", encoding="ascii")
        for solver in filter(
            re.compile(only).search, ("cutting-plane", "dual-cd", "newton", "smo")
        ):
            kernel = KERNELS["rbf"] if solver == "smo" else ()
            words = [
                *(PROGRAM, "learn", "-v", "0", "--threads", "1", "--example-cost", "1"),
                *("--gap", "1e-3", *kernel),
            ]
            words += ["--solver", solver]

            def job(data: Path, words: list[str] = words) -> Callable:
                return lambda: time_process(
                    [*words, str(data), str(folder / "model")], statuses=(0, 3)
                )

            found, failures = alternate({"without": job(path), "with": job(weighted)}, repeats)
            if failures:
                sys.exit("; ".join(failures.values()))
            cpu = [medians(runs).cpu for runs in found.values()]
            ratio = float(np.median([b.cpu / a.cpu for a, b in zip(*found.values())]))
            print(
                f"| {path.name} | {solver} | {cpu[0]:.2f} | {cpu[1]:.2f} | {ratio:.2f} |",
                flush=True,
            )


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--only", default="")
    parser.add_argument("--least", type=int, default=0)
    parser.add_argument("--gap", type=float, default=1e-3)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--weights", default="3,0.5")
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.peers:
            own = [f"{DATA / 'breast_cancer.train'}:1:0.1", f"{DATA / 'unbalanced.train'}:1:0.1"]
            peers(options.files or own, folder, *map(float, options.weights.split(",")))
        elif options.time:
            known = [Path(file) for file in options.files] or [
                DATA / "text.train",
                DATA / "unbalanced.train",
            ]
            times(known, folder, options.repeats, options.only)
        else:
            equivalence(folder, options.only, options.least, options.gap)


if __name__ == "__main__":
    main()
