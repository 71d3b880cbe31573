# SPDX-License-Identifier: BSD-3-Clause
"""Machines of LIBSVM and LIBLINEAR under their own command lines: CPU seconds beside the rivals'
compiled libraries.

    python benchmarks/libraries.py TRAIN.svm --rival /path/to/python [--program svm-train] [--rounds
    3] -- -s 2 -n 0.1 -g 0.05

svmcut's is a whole process of the program, with start, reading and writing, one thread; the rival
is a Python that has libsvm-official or liblinear-official, whose training alone counts, without
start, reading and the copy of the rows. Runs alternate; medians. --rows makes the training file's
kernel values precomputed first, linear ones of its first rows.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from arguments import make_parser
from timing import time_process

from svmcut.data.precomputed import dense_columns
from svmcut.files.examples import read_examples

RIVAL = """
import json, os, sys, time
program, file, words = sys.argv[1], sys.argv[2], sys.argv[3]
if program == "svm-train":
    from libsvm.svmutil import svm_parameter as parameter, svm_problem as problem
    from libsvm.svmutil import svm_train as train
    from libsvm.svmutil import svm_read_problem as read
else:
    from liblinear.liblinearutil import parameter, problem, train, svm_read_problem as read
y, x = read(file, return_scipy="-t 4" not in words)
given = problem(y, x, True) if "-t 4" in words else problem(y, x)
if program == "svm-train" and "-g " not in words:
    words += f" -g {1 / (x.shape[1] if hasattr(x, 'shape') else len(x)):.17g}"
shown, nothing = os.dup(1), os.open(os.devnull, os.O_WRONLY)
os.dup2(nothing, 1)
began = time.process_time()
model = train(given, parameter(words + " -q"))
seconds = time.process_time() - began
os.dup2(shown, 1)
print(json.dumps(seconds))
"""
CALL = "import sys; from svmcut.originals.libs.programs import {0}; sys.exit({0}(sys.argv[1:]))"


def write_values(train: str, n: int, path: Path) -> None:
    """LIBSVM's text of the linear kernel values of the first n rows."""
    examples = read_examples(train)
    rows = examples.X.rows(0, n)
    X = dense_columns(rows, np.arange(rows.n_features), np.float64)
    K = X @ X.T
    with path.open("w", encoding="ascii") as file:
        for k in range(n):
            values = " ".join(f"{j + 1}:{value:.8g}" for j, value in enumerate(K[k]))
            file.write(f"{examples.y[k]:g} 0:{k + 1} {values}\n")


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("train")
    parser.add_argument("--rival", required=True)
    parser.add_argument("--program", default="svm-train", choices=["svm-train", "liblinear-train"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, help="of linear kernel values in place of the features")
    parser.add_argument("options", nargs="+")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        train, model = given.train, f"{folder}/model"
        if given.rows:
            train = f"{folder}/values"
            write_values(given.train, given.rows, Path(train))
        call = CALL.format(given.program.replace("-", "_"))
        own = [sys.executable, "-c", call, *given.options, "-q", train, model]
        theirs = [given.rival, "-c", RIVAL, given.program, train, " ".join(given.options)]
        ours, peers = [], []
        for _ in range(given.rounds):
            ours.append(time_process(own).cpu)
            done = subprocess.run(theirs, capture_output=True, check=True, text=True)
            peers.append(json.loads(done.stdout))
    a, b = statistics.median(ours), statistics.median(peers)
    print(f"| {' '.join(given.options)} | {a:.2f} | {b:.2f} | {a / b:.2f} |")


if __name__ == "__main__":
    main()
