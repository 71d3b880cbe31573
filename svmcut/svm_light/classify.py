# SPDX-License-Identifier: BSD-3-Clause
"""One run of svm_classify."""

from __future__ import annotations

import contextlib
import time

import numpy as np

from svmcut.cli.files import log_beside
from svmcut.errors import ModelError, NoExamples
from svmcut.files.examples import stream_examples
from svmcut.files.models import read_light
from svmcut.files.output import write_atomically
from svmcut.files.predictions import write_short_scores
from svmcut.files.roles import File, check_roles
from svmcut.resources import usable_cpus


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
    """Scores, writes and prints.

    Raises
    ------
    SvmcutError
        Whatever the files or the system refuse; no prediction file is written then.
    """
    names = "example_file", "model_file", "output_file"
    *inputs, output = map(File, names, (examples, model, predictions))
    check_roles(inputs, [output])

    def say(level: int, text: str, end: str = "\n") -> None:
        if verbosity >= level:
            print(text, end=end, flush=True)

    counts, seconds, threads = _Counts(), 0.0, usable_cpus()
    with log_beside([output]):
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
