# SPDX-License-Identifier: BSD-3-Clause
"""One run of svm_learn from read to written model."""

from __future__ import annotations

import numpy as np

from svmcut.cli.files import log_beside
from svmcut.cli.training_report import out
from svmcut.files.examples import Comments, read_examples
from svmcut.files.roles import File, check_roles
from svmcut.resources import usable_cpus
from svmcut.spec.catalog import load
from svmcut.svm_light.options import KERNELS, check
from svmcut.svm_light.report import LightReport
from svmcut.typing import Any

#: By -z; "0" of classes where there are labels of 0.
_MODES = {
    "c": "svmcut.svm_light.classes:Classes",
    "0": "svmcut.svm_light.unlabelled:Transduction",
    "r": "svmcut.svm_light.numbers:Numbers",
    "p": "svmcut.svm_light.rankings:Pairs",
}

#: Where the labels of transduction go without -l.
LABELS = "trans_predictions"


@np.errstate(
    over="ignore", invalid="ignore", divide="ignore"
)  # what is not finite is found where it matters
def learn(values: dict[str, Any], example_file: str, model_file: str) -> int:
    """Reads, trains, reports and writes; values are those of the options.

    Returns
    -------
    int
        Exit status.

    Raises
    ------
    SvmcutError
        Whatever the options, the files or the system refuse.
    """
    check(values)
    named = (("-a", values["alphas"]), ("-l", values["labels"]))
    outputs = [
        File("model_file", model_file),
        *(File(flag, path) for flag, path in named if path is not None),
    ]
    inputs = [File("example_file", example_file)]
    if values["restart"] is not None:
        inputs.append(File("-y", values["restart"]))
    check_roles(inputs, outputs)
    with log_beside(outputs):
        if values["final"] == 0 and KERNELS[values["kernel"]] == "linear":
            out("\nIt does not make sense to skip the final optimality check for linear kernels.\n")
        report, comments = LightReport(values["verbosity"]), Comments()
        report.say("Scanning examples...done")
        report.say("Reading examples into memory...", end="")
        try:
            examples = read_examples(example_file, threads=usable_cpus(), comments=comments)
        except BaseException:
            report.say()
            raise
        report.say(f"OK. ({len(examples)} examples read)")
        mode = "0" if values["mode"] == "c" and (examples.y == 0).any() else values["mode"]
        if mode == "0" and values["labels"] is None:
            values["labels"] = LABELS
            check_roles(inputs, [*outputs, File("prediction file", LABELS)])
        load(_MODES[mode])(values, examples, comments, report).run(model_file)
    return 0
