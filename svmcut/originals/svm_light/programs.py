# SPDX-License-Identifier: BSD-3-Clause
"""Entry points of svm_learn and svm_classify.

One run of svm_learn from read to written model.

One run of svm_classify.
"""

from __future__ import annotations

import contextlib
import time

import numpy as np

from svmcut.base.errors import ModelError, NoExamples
from svmcut.base.resources import usable_cpus
from svmcut.base.typing import Any
from svmcut.cli.files import redirect_log
from svmcut.cli.training_report import out
from svmcut.files.examples import Comments, read_examples, stream_examples
from svmcut.files.output import File, check_roles, write_atomically
from svmcut.files.predictions import write_short_scores
from svmcut.formats import read_light
from svmcut.originals.perf import Flag, Grammar, run_original
from svmcut.originals.svm_light.estimates import LightReport
from svmcut.originals.svm_light.options import KERNELS, PROGRAMS, check
from svmcut.spec.catalog import load


def svm_learn(argv: list[str] | None = None) -> int:
    """Entry point of ``svm_learn``."""

    def work(values: dict[str, Any], arguments: list[str]) -> int:

        return learn(values, *[*arguments, "svm_model"][:2])

    return run_original(grammar("svm_learn"), work, argv)


def svm_classify(argv: list[str] | None = None) -> int:
    """Entry point of ``svm_classify``."""

    def work(values: dict[str, Any], arguments: list[str]) -> None:

        classify(
            *[*arguments, "svm_predictions"][:3],
            verbosity=values["verbosity"],
            signed=values["format"] == 0,
        )

    return run_original(grammar("svm_classify"), work, argv)


def grammar(program: str) -> Grammar:
    """The command line of svm_learn or of svm_classify."""
    arguments, summary, least, helps, *tables = PROGRAMS[program]
    short, long = ({letter: Flag(*row) for letter, row in table.items()} for table in tables)
    return Grammar(program, arguments, summary, short, long, helps, least)


#: By -z; "0" of classes where there are labels of 0.
_MODES = {
    "c": "svmcut.originals.svm_light.classes:Classes",
    "0": "svmcut.originals.svm_light.unlabelled:Transduction",
    "r": "svmcut.originals.svm_light.rankings:Numbers",
    "p": "svmcut.originals.svm_light.rankings:Pairs",
}

#: Where the labels of transduction go without -l.
LABELS = "trans_predictions"


@np.errstate(
    over="ignore", invalid="ignore", divide="ignore"
)  # what is not finite is found where it matters
def learn(values: dict[str, Any], example_file: str, model_file: str) -> int:
    """Reads, trains, reports and writes, and returns the exit status; values are those of the
    options. Raises an SvmcutError for whatever the options, the files or the system refuse."""
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
    with redirect_log(outputs):
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


class _Counts:
    """Signs that are right and wrong; `known` is whether every label is -1 or +1."""

    def __init__(self) -> None:
        self.known = True
        self.table = np.zeros((2, 2), np.int64)  # by predicted and true positives

    def add(self, y, scores) -> None:
        self.known &= bool((np.trunc(y * y) == 1).all())
        np.add.at(self.table, ((scores > 0).astype(int), (y > 0).astype(int)), 1)

    def lines(self) -> list[str]:
        total = int(self.table.sum())
        right = int(np.trace(self.table))
        hits = int(self.table[1, 1])
        precision, recall = (
            f"{100 * hits / count:.2f}" if count else "nan"
            for count in (int(self.table[1].sum()), int(self.table[:, 1].sum()))
        )
        accuracy = f"{100 * right / total:.2f}" if total else "nan"
        return [
            f"Accuracy on test set: {accuracy}% ({right} correct, {total - right} incorrect, "
            f"{total} total)",
            f"Precision/recall on test set: {precision}%/{recall}%",
        ]


@np.errstate(over="ignore", invalid="ignore")  # a model may have scores beyond float64
def classify(examples: str, model: str, predictions: str, *, verbosity: int, signed: bool) -> None:
    """Scores, writes and prints. Raises an SvmcutError for whatever the files or the system refuse;
    no prediction file is written then."""
    names = "example_file", "model_file", "output_file"
    *inputs, output = map(File, names, (examples, model, predictions))
    check_roles(inputs, [output])

    def say(level: int, text: str, end: str = "\n") -> None:
        if verbosity >= level:
            print(text, end=end, flush=True)

    counts, seconds, threads = _Counts(), 0.0, usable_cpus()
    with redirect_log([output]):
        say(1, "Reading model...", end="")
        try:
            scorer, vectors = read_light(model)
        except ModelError:
            say(1, "")
            raise
        say(1, f"OK. ({vectors} support vectors read)")
        say(2, "Classifying test examples..", end="")
        with write_atomically(predictions) as file, contextlib.suppress(NoExamples):
            for part in stream_examples(examples, threads=threads):
                began = time.process_time()
                scores = scorer.scores(part.X, threads)
                seconds += time.process_time() - began
                counts.add(part.y, scores)
                write_short_scores(file, scores, signed)
        say(2, "done")
        say(2, f"Runtime (without IO) in cpu-seconds: {seconds:.2f}")
        for line in counts.lines() if counts.known else ():
            say(1, line)
