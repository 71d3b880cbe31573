# SPDX-License-Identifier: BSD-3-Clause
"""Machines of LIBLINEAR and LIBSVM beside their newest versions, and l1 beside skglm too: one
table.

    python benchmarks/taken_over.py --rival /path/to/python [--set TRAIN.svm ...] [--rounds 2]

The rival is a Python that has liblinear-official, libsvm-official and skglm. One thread, CPU
seconds of training alone: rows are in memory on both sides, copies of columns count. Of l1, until
the objective is within 1e-3 of the least: the loosest -e or tol that gets there, of svmcut the
first look at all columns; skglm has the logistic loss alone, and compiles in a run that does not
count. Of the others, at each program's own default, a row at an -e that gives LIBSVM's nu-SVC the
objective of svmcut's. Without --set the sets are news20-binary (5,000 rows) of make_board_sets.py
and 20,000 sparse rows of it that are shorter.
"""

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from arguments import make_parser

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from l1 import NEAR, RISKS, ours
from make_board_sets import write

from svmcut.files.examples import read_examples
from svmcut.originals.libs.kernel_machines import train as train_kernel
from svmcut.originals.libs.liblinear_train import TOLERANCES, USUAL_TOLERANCE, Linear
from svmcut.originals.libs.liblinear_train import train as train_linear
from svmcut.originals.libs.rows import training_rows
from svmcut.originals.libs.svm_train import _options as svm_options

COSTS = (0.1, 1.0, 10.0)
#: In the rival: JSON lines of tasks on standard input, of answers on standard output.
RIVAL = """
import json, os, sys, time
import numpy as np
from scipy import sparse
answers = os.fdopen(os.dup(1), "w")
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
from liblinear import liblinearutil as linear
from libsvm import svmutil as kernel
read = {}

def rows(file, library, dense):
    if (file, library, dense) not in read:
        y, x = library.svm_read_problem(file, return_scipy=not dense)
        read[file, library, dense] = y, x
    return read[file, library, dense]

def machine(program, words, file):
    library = kernel if program == "svm-train" else linear
    given = "-t 4" in words
    y, x = rows(file, library, given)
    if library is kernel:
        problem = kernel.svm_problem(y, x, given) if given else kernel.svm_problem(y, x)
        options, train = kernel.svm_parameter(words + " -q"), kernel.svm_train
    else:
        problem = linear.problem(y, x)
        options, train = linear.parameter(words + " -q"), linear.train
    began = time.process_time()
    train(problem, options)
    return [time.process_time() - began]

def value_of(A, y, solver, C, w):
    m = (A @ w) * y
    losses = np.maximum(0, 1 - m) ** 2 if solver == 5 else np.logaddexp(0, -m)
    return float(np.abs(w).sum() + C * losses.sum())

def with_ones(file):
    y, x = rows(file, linear, False)
    return np.sign(np.asarray(y, float)), sparse.hstack([x, np.ones((x.shape[0], 1))]).tocsc()

def l1(file, solver, C, best):
    y, A = with_ones(file)
    problem = linear.problem(*rows(file, linear, False))
    for e in (1, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4):
        began = time.process_time()
        model = linear.train(problem, linear.parameter(f"-s {solver} -c {C} -e {e} -B 1 -q"))
        seconds = time.process_time() - began
        w = np.ctypeslib.as_array(model.w, (A.shape[1],)) * model.label[0]
        if value_of(A, y, solver, C, w) <= best:
            return [seconds, e]
    return [None, e]

def skglm(file, C, best):
    import warnings
    warnings.simplefilter("ignore")
    from skglm import SparseLogisticRegression as Machine
    y, A = with_ones(file)
    fit = lambda tol: Machine(1 / (C * len(y)), tol=tol, fit_intercept=False).fit(A, y)
    fit(1e-2), fit(1e-3)  # compiles
    for tol in (1e-1, 1e-2, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 1e-6):
        began = time.process_time()
        w = fit(tol).coef_.ravel()
        seconds = time.process_time() - began
        if value_of(A, y, 6, C, w) <= best:
            return [seconds, tol]
    return [None, tol]

for line in sys.stdin:
    name, *words = json.loads(line)
    print(json.dumps({"machine": machine, "l1": l1, "skglm": skglm}[name](*words)), file=answers)
    answers.flush()
"""


class Rival:
    """Another Python, which trains what it is asked to."""

    def __init__(self, python):
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([python, "-c", RIVAL], stdin=pipe, stdout=pipe, text=True)

    def __call__(self, *task):
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


def told(seconds):
    return "-" if seconds is None else f"{seconds:.3f}"


def ratio(own, theirs):
    return "-" if theirs is None else f"{own / theirs:.2f}"


def l1_rows(file, name, rival, rounds):
    """The table of a set."""
    examples = read_examples(file)
    X, _ = examples.X.compact()
    y = np.where(examples.y > 0, 1.0, -1.0)
    for solver in RISKS:
        for C in COSTS:
            _, least = ours(X, y, solver, C, 1e-4)
            best = (1 + NEAR) * least.primal
            runs, theirs, others = [], [], []
            for _ in range(rounds):
                runs.append(ours(X, y, solver, C, 1e-9, best))
                theirs.append(rival("l1", file, solver, C, best))
                if solver == 6:
                    others.append(rival("skglm", file, C, best))
            seconds, step = min(runs, key=lambda run: run[0])
            other = min(theirs, key=lambda run: run[0] or np.inf)
            third = min(others, key=lambda run: run[0] or np.inf) if others else [None]
            cells = [name, solver, C, least.support, f"{100 * step.gap / step.primal:.2g}"]
            cells += [told(seconds), told(other[0]), other[1], ratio(seconds, other[0])]
            cells += [told(third[0]), ratio(seconds, third[0])]
            print("|", " | ".join(map(str, cells)), "|", flush=True)


def silent(text):
    """For reports of training."""


def kernel_machine(words, file):
    """CPU seconds of svm-train's own training."""
    rows = training_rows(file, 0)
    given = dict(zip((word[1] for word in words[::2]), map(float, words[1::2])))
    options = svm_options(given, {}, rows, file, True)
    began = time.process_time()
    train_kernel(rows, options)
    return time.process_time() - began


def linear_machine(words, file):
    """CPU seconds of liblinear-train's own training."""
    given = {word[1]: float(value) for word, value in zip(words[::2], words[1::2]) if value}
    rows, s = training_rows(file, 1), int(given["s"])
    options = Linear(
        solver=s,
        cost=given.get("c", 1.0),
        tolerance=given.get("e", TOLERANCES.get(s, USUAL_TOLERANCE)),
        tube=0.1,
        nu=given.get("n", 0.5),
        bias=given.get("B", -1.0),
        free_bias="R" in given,
        weights={},
        say=silent,
        path=file,
    )
    began = time.process_time()
    train_linear(rows, options)
    return time.process_time() - began


def dense_rows(path, n, d):
    """Classes that overlap, in a file of so many rows and features."""
    rng = np.random.default_rng(1)
    X, w = rng.normal(size=(n, d)), rng.normal(size=d)
    y = np.where(X @ w + 0.5 * np.linalg.norm(w) * rng.normal(size=n) > 0, 1, -1)
    with path.open("w", encoding="ascii") as file:
        for label, row in zip(y, X):
            file.write(f"{label} " + " ".join(f"{j + 1}:{v:.5g}" for j, v in enumerate(row)) + "\n")
    return X, y


def gram_rows(path, n, d):
    """Values of a Gaussian kernel of such rows."""
    X, y = dense_rows(path.with_name("rows"), n, d)
    squares = (X * X).sum(axis=1)
    K = np.exp(-0.05 * (squares[:, None] + squares - 2 * X @ X.T))
    with path.open("w", encoding="ascii") as file:
        for i, (label, row) in enumerate(zip(y, K)):
            values = " ".join(f"{j + 1}:{v:.8g}" for j, v in enumerate(row))
            file.write(f"{label} 0:{i + 1} {values}\n")


def machines(folder, sparse_file, rival, rounds):
    """The other machines."""
    dense_rows(folder / "20000", 20_000, 20)
    dense_rows(folder / "5000", 5_000, 20)
    gram_rows(folder / "gram", 2_000, 20)
    nu = "-s 1 -n 0.02 -g 0.05"
    cells = [
        ("svm-train", "-s 2 -n 0.1 -g 0.05", "20000", None),
        ("svm-train", "-s 0 -t 4", "gram", None),
        ("svm-train", "-s 0 -t 4 -c 10", "gram", None),
        ("svm-train", "-s 1 -n 0.5 -g 0.05", "5000", None),
        ("svm-train", nu, "5000", None),
        ("svm-train", nu, "5000", f"{nu} -e 1e-5"),
        ("liblinear-train", "-s 21 -n 0.1", sparse_file, None),
        ("liblinear-train", "-s 0 -R 1 -B 1", sparse_file, "-s 0 -R -B 1"),
        ("liblinear-train", "-s 2 -R 1 -B 1", sparse_file, "-s 2 -R -B 1"),
    ]
    print("\n| program | options | rival's | rows | svmcut s | rival s | ratio |")
    print("|---|---|---|---|---|---|---|")
    for program, words, name, other in cells:
        file = str(folder / name)
        own = kernel_machine if program == "svm-train" else linear_machine
        runs, theirs = [], []
        for _ in range(rounds):
            runs.append(own(words.split(), file))
            theirs.append(rival("machine", program, other or words, file)[0])
        shown = words.replace("-R 1", "-R")
        row = [program, f"`{shown}`", "same" if other in (None, shown) else f"`{other}`"]
        row += [Path(name).name, told(min(runs)), told(min(theirs)), ratio(min(runs), min(theirs))]
        print("|", " | ".join(row), "|", flush=True)


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--rival", required=True)
    parser.add_argument("--set", nargs="+", help="in place of the sets that are made")
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, rival = Path(name), Rival(given.rival)
        files = given.set
        if not files:
            files = [str(folder / "news20-binary-like")]
            write("news20-binary", files[0], 5_000, 1)
        print("| set | -s | C | used | gap there % | svmcut s | LIBLINEAR s | -e | ratio |", end="")
        print(" skglm s | ratio |\n" + "|---" * 11 + "|", flush=True)
        for file in files:
            l1_rows(file, Path(file).name, rival, given.rounds)
        machines(folder, str(Path(files[0]).resolve()), rival, given.rounds)


if __name__ == "__main__":
    main()
