# SPDX-License-Identifier: BSD-3-Clause
"""How fast are exported scorers? Rows a second of a machine on numbers, and seconds of an
export, beside scikit-learn's predict, m2cgen's C and onnxruntime where these are installed.

    python benchmarks/scorers.py [--columns 10] [--vectors 0 1000] [--seconds 0.5]

--vectors 0 is the linear machine, others are rbf machines of so many support vectors. All on one
thread; the C compilers' programs score an array of structs, or of doubles, one row after the other.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from arguments import make_parser

from svmcut import __version__
from svmcut.cli.export import run_export
from svmcut.data.examples import Csr
from svmcut.formats import write_model
from svmcut.models import KernelModel, LinearModel
from svmcut.models.kernels import Kernel
from svmcut.tables.encoding import Encoding, Number

ROWS = 4096
#: A program that scores the same rows again and again.
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
{includes}
int main(void) {{
    const int n = {rows}, d = {d};
    double *x = malloc(sizeof(double) * n * d), sum = 0, seconds = 0;
    long done = 0;
    for (int k = 0; k < n * d; ++k) x[k] = rand() / (double)RAND_MAX - 0.5;
    for (clock_t start = clock(); seconds < {seconds}; done += n) {{
        for (int k = 0; k < n; ++k) sum += {call};
        seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    }}
    printf("%g\\n", done / seconds);
    return sum == 0.123;
}}
"""


def model_of(columns: int, vectors: int, rng: np.random.Generator) -> LinearModel | KernelModel:
    """A machine of a table of numbers."""
    table = Encoding(tuple(Number(f"c{k}", rng.normal(), 1.5, 0.0) for k in range(columns)))
    if not vectors:
        return LinearModel(rng.normal(size=columns), 0.5, table=table)
    Z = Csr.from_dense(rng.normal(size=(vectors, columns)).astype(np.float32))
    return KernelModel(Kernel("rbf", gamma=0.1), Z, rng.normal(size=vectors), 0.5, table=table)


def rate_of_c(call: str, includes: str, columns: int, seconds: float, name: str) -> float:
    """Rows a second of a C program."""
    values = {"rows": ROWS, "d": columns, "seconds": seconds, "call": call, "includes": includes}
    Path(f"{name}.c").write_text(PROGRAM.format(**values), encoding="utf-8")
    words = ["-std=c99", "-O2", "-D_POSIX_C_SOURCE=199309L", f"{name}.c", "-o", name, "-lm"]
    subprocess.run([os.environ.get("CC", "cc"), *words], check=True)
    return float(subprocess.run([f"./{name}"], check=True, capture_output=True).stdout)


def rate_of(score: Callable[[], object], seconds: float) -> float:
    """Rows a second of a function that scores all rows."""
    score()
    done, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        score()
        done += ROWS
    return done / (time.perf_counter() - start)


def scikit_learn(
    model: LinearModel | KernelModel, columns: int, rng: np.random.Generator
) -> object:
    """A machine of scikit-learn of the same size."""
    svm = importlib.import_module("sklearn.svm")
    X, y = rng.normal(size=(200, columns)), np.repeat([0, 1], 100)
    if isinstance(model, LinearModel):
        return svm.LinearSVC().fit(X, y)
    rows = model.support.n_rows
    X, y = rng.normal(size=(rows, columns)), np.arange(rows) % 2
    return svm.SVC(gamma=0.1, C=1e-6).fit(X, y)  # every row is a support vector


def rates(columns: int, vectors: int, seconds: float) -> Iterator[tuple[str, float]]:
    """Who scores how many rows a second."""
    rng = np.random.default_rng(0)
    model = model_of(columns, vectors, rng)
    write_model("model", model)
    began = time.perf_counter()
    run_export("model", "own.h", "c")
    yield "svmcut export, seconds", time.perf_counter() - began
    row = f"own_score((const struct own_row *)(x + k * {columns}))"
    yield "svmcut C", rate_of_c(row, '#include "own.h"', columns, seconds, "own")
    X = rng.normal(size=(ROWS, columns))
    rows = Csr.from_dense(X.astype(np.float32)).validate()
    yield "svmcut.load, all rows at once", rate_of(lambda: model.scores(rows), seconds)
    theirs = scikit_learn(model, columns, rng)
    yield "scikit-learn", rate_of(lambda: theirs.decision_function(X), seconds)  # type: ignore[attr-defined]
    if importlib.util.find_spec("m2cgen"):
        try:
            code = importlib.import_module("m2cgen").export_to_c(theirs)
            rate = rate_of_c(f"score(x + k * {columns})", code, columns, seconds, "their")
        except RecursionError:  # of its expressions, with many support vectors
            rate = float("nan")
        yield "m2cgen C", rate
    if importlib.util.find_spec("onnxruntime") and importlib.util.find_spec("onnx"):
        runtime = importlib.import_module("onnxruntime")
        run_export("model", "own.onnx")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        session = runtime.InferenceSession("own.onnx", options, providers=["CPUExecutionProvider"])
        inputs = {f"c{k}": X[:, k : k + 1].copy() for k in range(columns)}
        yield "onnxruntime, all rows at once", rate_of(lambda: session.run(None, inputs), seconds)


def main() -> None:
    """Prints the table."""
    parser = make_parser(__doc__)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--vectors", type=int, nargs="+", default=[0, 1000])
    parser.add_argument("--seconds", type=float, default=0.5)
    given = parser.parse_args()
    print(
        f"svmcut {__version__}, {given.columns} columns\n\n"
        "| vectors | scorer | rows/s |\n|---:|---|---:|"
    )
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for vectors in given.vectors:
            for name, rate in rates(given.columns, vectors, given.seconds):
                shown = f"{rate:.3g}" if "seconds" in name else f"{rate:,.0f}"
                print(f"| {vectors} | {name} | {shown} |", flush=True)
        os.chdir("/")


if __name__ == "__main__":
    main()
