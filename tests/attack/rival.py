# SPDX-License-Identifier: BSD-3-Clause
"""LIBSVM's and LIBLINEAR's own training and prediction, a process a run: for a Python that has the
packages libsvm-official and liblinear-official, and without svmcut.

A line of standard input is a run, [folder, program, words]; its exit status is answered, its
streams lie in the folder.
"""

import json
import os
import sys

from liblinear import liblinearutil as linear
from libsvm import svmutil as kernel

SEPARATE = {kernel: "stdhgrncpmebv", linear: "scpenBv"}


def train(library, words):
    """Trains as svm-train or LIBLINEAR's train."""
    at = 0
    while words[at].startswith("-"):
        at += 1 + (words[at][1] == "w" or words[at][1] in SEPARATE[library])
    options, (path, model_file) = words[:at], words[at:]
    y, X = kernel.svm_read_problem(path)
    if library is kernel:
        given = "-t" in options and options[options.index("-t") + 1] == "4"
        model = kernel.svm_train(kernel.svm_problem(y, X, isKernel=given), " ".join(options))
        save = kernel.svm_save_model
    else:
        parameter = linear.parameter(" ".join(options))
        model = linear.train(linear.problem(y, X, parameter.bias), parameter)
        save = linear.save_model
    if not isinstance(model, (float, tuple)):
        save(model_file, model)


def predict(library, words):
    """Predicts as svm-predict or LIBLINEAR's predict, without a report."""
    probability, (path, model_file, output) = words[0] == "-b", words[-3:]
    y, X = kernel.svm_read_problem(path)
    load, apply = (
        (kernel.svm_load_model, kernel.svm_predict)
        if library is kernel
        else (linear.load_model, linear.predict)
    )
    model = load(model_file)
    labels, _, P = apply(y, X, model, f"-q -b {int(probability)}")
    kind = model.get_svm_type() if library is kernel else 0
    with open(output, "w", encoding="ascii") as file:
        if probability and kind < 3:
            names = ["label normal outlier"] if kind == 2 else ["labels", *model.get_labels()]
            print(*names, file=file)
        for label, row in zip(labels, P):
            shown = [label, *row] if probability and kind < 3 else None
            print(*([f"{v:g}" for v in shown] if shown else [f"{label:.17g}"]), file=file)


def run(folder, program, words):
    """The status of a run."""
    sys.stdout.flush()
    process = os.fork()
    if process:
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    status = 1
    try:
        os.chdir(folder)
        for number, name in enumerate(("stdout", "stderr"), 1):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        library = kernel if program.startswith("svm") else linear
        (train if program.endswith("train") else predict)(library, words)
        sys.stdout.flush()
        status = 0
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: {error}".encode())
    os._exit(status)


if __name__ == "__main__":
    for line in sys.stdin:
        print(run(*json.loads(line)), flush=True)
