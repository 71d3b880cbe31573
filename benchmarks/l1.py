# SPDX-License-Identifier: BSD-3-Clause
"""l1 penalties: CPU seconds of cdn and of LIBLINEAR to an objective within 1e-3 of the least.

    python benchmarks/l1.py TRAIN.svm --rival /path/to/python [-c 0.1 1 10]

The rival is a Python that has liblinear-official; the loosest of its -e that ends within 1e-3
counts, of svmcut the first look at all columns. Both on one thread, without reading, the copies of
columns included; the constant feature 1 is penalised in both.
"""

import json
import os
import subprocess
import time

from arguments import make_parser

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from svmcut.files.examples import read_examples
from svmcut.risks.losses import LogisticRisk, SquaredHingeRisk
from svmcut.solvers.cdn import Cdn
from svmcut.solvers.protocol import Problem, StoppingRule
from svmcut.spaces.linear import LinearSpace

RISKS = {5: SquaredHingeRisk(), 6: LogisticRisk()}
NEAR = 1e-3
RIVAL = """
import json, os, sys, time
import numpy as np
from scipy import sparse
from liblinear.liblinearutil import parameter, problem, svm_read_problem, train
file, solver, C, best = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
y, x = svm_read_problem(file, return_scipy=True)
A, prob = sparse.hstack([x, np.ones((x.shape[0], 1))]).tocsr(), problem(y, x)
shown = os.dup(1)
for e in (1, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4):
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    began = time.process_time()
    model = train(prob, parameter(f"-s {solver} -c {C} -e {e} -B 1 -q"))
    seconds = time.process_time() - began
    os.dup2(shown, 1)
    w = np.ctypeslib.as_array(model.w, (A.shape[1],)) * model.label[0]
    m = (A @ w) * np.sign(y)
    losses = np.maximum(0, 1 - m) ** 2 if solver == 5 else np.logaddexp(0, -m)
    value = np.abs(w).sum() + C * losses.sum()
    if value <= best:
        break
print(json.dumps([seconds, value, e]))
"""


def ours(X, y, solver, C, gap, best=None):
    """CPU seconds, and the last step, to a relative gap or to a primal."""
    began = time.process_time()
    space, risk = LinearSpace(X, 1.0), RISKS[solver].bind(y)
    for step in Cdn().start(Problem(risk, space, C, StoppingRule(0.0, gap), None, 1.0, 0.0)):
        if best is not None and step.primal <= best:
            break
    return time.process_time() - began, step


def main():
    parser = make_parser(__doc__)
    parser.add_argument("train")
    parser.add_argument("--rival")
    parser.add_argument("-c", type=float, nargs="+", default=[0.1, 1.0, 10.0])
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    examples = read_examples(given.train)
    X, _ = examples.X.compact()
    y = np.where(examples.y > 0, 1.0, -1.0)
    print("| -s | C | features used | svmcut s | gap there % | LIBLINEAR s | -e | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for solver in RISKS:
        for C in given.c:
            _, least = ours(X, y, solver, C, 1e-5)
            best = (1 + NEAR) * least.primal
            runs = [ours(X, y, solver, C, 1e-9, best) for _ in range(given.rounds)]
            seconds, step = min(runs, key=lambda run: run[0])
            row = [
                solver,
                C,
                least.support,
                f"{seconds:.3f}",
                f"{100 * step.gap / step.primal:.2g}",
            ]
            if given.rival:
                words = [given.rival, "-c", RIVAL, given.train, *map(str, (solver, C, best))]
                found = [
                    json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
                    for _ in range(given.rounds)
                ]
                theirs = min(found)
                row += [f"{theirs[0]:.3f}", theirs[2], f"{seconds / theirs[0]:.2f}"]
            print("|", " | ".join(map(str, row)), "|", flush=True)


if __name__ == "__main__":
    main()
