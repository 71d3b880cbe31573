# SPDX-License-Identifier: BSD-3-Clause
"""Kernel trainers beside LIBSVM's svm-train, whole processes, alternating runs: medians and their
ratio.

    python benchmarks/kernel.py NAME=TRAIN[,TEST]:COST:GAMMA ... [--repeats N] [--threads N] [--cpu]
    [--rank 500]

Files may be gzip-compressed. --cpu compares user + system time instead of wall time, on a machine
that is shared.
--rank adds trainers in a subspace of so many points, svmcut's and scikit-learn's Nystroem with
LinearSVC
(benchmarks/nystroem.py); theirs has the hinge loss too, LinearSVC's own bias, and LIBLINEAR's
tolerance.
"""

import gzip
import importlib.util
import json
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from arguments import make_parser


def timed(words):
    """(wall seconds, CPU seconds, standard output) of a process."""
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))} ended with {done.returncode}: {done.stderr}")
    return time.perf_counter() - began, sum(after[:2]) - sum(before[:2]), done.stdout


def plain(path, folder):
    """The file without gzip."""
    target = folder / Path(path).name.removesuffix(".gz")
    with (
        gzip.open(path) if str(path).endswith(".gz") else open(path, "rb") as source,
        open(target, "wb") as sink,
    ):
        shutil.copyfileobj(source, sink)
    return str(target)


def libsvm(train, test, cost, gamma, folder):
    model = str(folder / "libsvm.model")
    wall, cpu, output = timed(["svm-train", "-c", cost, "-g", gamma, train, model])
    numbers = {
        "wall": wall,
        "cpu": cpu,
        "objective": -float(re.findall(r"obj = (\S+),", output)[-1]),
    }
    numbers["support"] = int(re.findall(r"Total nSV = (\d+)", output)[-1])
    if test:
        scored = timed(["svm-predict", test, model, str(folder / "out")])[2]
        numbers["error"] = 100 - float(re.search(r"Accuracy = ([\d.]+)%", scored)[1])
    return numbers


def svmcut(train, test, cost, gamma, folder, threads, extra=()):
    model, report = str(folder / "model"), str(folder / "report")
    command = [sys.executable, "-m", "svmcut.cli.start"]
    words = [
        *("-t", "2", "-g", gamma, "--example-cost", cost, "--threads", str(threads)),
        *("--report", report, "-v", "0"),
    ]
    wall, cpu, _ = timed([*command, "learn", *words, *extra, train, model])
    found = json.loads(Path(report).read_text())
    objective = found["primal" if "subspace" in extra else "dual"]
    numbers = {
        "wall": wall,
        "cpu": cpu,
        "objective": objective,
        "support": found["support_vectors"],
    }
    numbers["evaluations"] = found["kernel_evaluations"]
    if test:
        timed(
            [*command, "classify", "-v", "0", "--report", report, test, model, str(folder / "out")]
        )
        numbers["error"] = json.loads(Path(report).read_text())["error_rate"]
    return numbers


def nystroem(train, test, cost, gamma, folder, rank):
    """scikit-learn in a process of its own; its objective is one in the subspace, with the bias
    regularised."""
    program = [sys.executable, str(Path(__file__).parent / "nystroem.py"), train, test or train]
    wall, cpu, output = timed([*program, "--cost", cost, "--gamma", gamma, "--rank", str(rank)])
    found = json.loads(output.splitlines()[-1])
    # scoring the test rows belongs to classifying, not to training
    spent = found["scoring"]
    numbers = {
        "wall": wall - spent["wall"],
        "cpu": cpu - spent["cpu"],
        "objective": found["objective"],
    }
    end = "converged" if found["converged"] else "stopped at its limit of iterations"
    numbers |= {
        "support": found["points"],
        "remark": f"{found['fit']:.2f} CPU s of fitting, LinearSVC {end}",
    }
    return numbers | ({"error": found["error"]} if test else {})


def main():
    parser = make_parser(__doc__)
    parser.add_argument("sets", nargs="+", metavar="NAME=TRAIN[,TEST]:COST:GAMMA")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--rank", type=int, help="points of a subspace, for two trainers more")
    arguments = parser.parse_args()
    clock = "cpu" if arguments.cpu else "wall"
    print(
        f"{'set':>10} {'trainer':>12} {clock + ' s':>8} {'objective':>14} {'error %':>8} "
        f"{'SVs':>7} {'values':>12}"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for text in arguments.sets:
            label, _, rest = text.partition("=")
            files, cost, gamma = rest.rsplit(":", 2)
            train, test = [plain(path, folder) for path in files.split(",")] + [None] * (
                1 - files.count(",")
            )
            case = (train, test, cost, gamma, folder)
            trainers = (
                {"svm-train": lambda case=case: libsvm(*case)} if shutil.which("svm-train") else {}
            )
            trainers |= {
                "smo": lambda case=case: svmcut(*case, arguments.threads, ("--solver", "smo")),
                "smo, no bias": lambda case=case: svmcut(*case, arguments.threads),
            }
            if arguments.rank:
                words = ("--solver", "subspace", "--basis", str(arguments.rank))
                trainers["subspace"] = lambda case=case, words=words: svmcut(
                    *case, arguments.threads, words
                )
                if importlib.util.find_spec("sklearn"):
                    trainers["Nystroem"] = lambda case=case: nystroem(*case, arguments.rank)
            results = {trainer: [] for trainer in trainers}
            for _ in range(arguments.repeats):
                for trainer, run in trainers.items():
                    results[trainer].append(run())
            middle = {
                trainer: statistics.median(run[clock] for run in runs)
                for trainer, runs in results.items()
            }
            for trainer, runs in results.items():
                last = runs[-1]
                error = f"{last['error']:.2f}" if "error" in last else "-"
                print(
                    f"{label:>10} {trainer:>12} {middle[trainer]:>8.2f} "
                    f"{last['objective']:>14.4f} {error:>8} "
                    f"{last['support']:>7} {last.get('evaluations', 0):>12.3g}"
                )
                if "remark" in last:
                    print(f"{label:>10} {trainer}: {last['remark']}")
            if "svm-train" in middle:
                ratio = middle["smo"] / middle["svm-train"]
                print(f"{label:>10} ratio of medians, smo / svm-train: {ratio:.3f}", flush=True)


if __name__ == "__main__":
    main()
