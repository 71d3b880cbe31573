# SPDX-License-Identifier: BSD-3-Clause
"""Runs of learn and classify on label sets: what differs from other runs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from svmcut import __version__
from svmcut.cli import training_report as report
from svmcut.cli.report import write_report
from svmcut.cli.training import Training, time_limit
from svmcut.config import configure
from svmcut.errors import ModelError, UsageError
from svmcut.files.multilabel import read_multilabel
from svmcut.models import MultilabelModel
from svmcut.predict_labels import predict_labels, tally
from svmcut.train_multilabel import MultilabelTrainer

if TYPE_CHECKING:
    from svmcut.cli.scoring import Scoring
    from svmcut.data import MultilabelExamples
    from svmcut.training import Outcome

_LINES = {
    "hamming_loss": "Hamming loss     ", "subset_accuracy": "Subset accuracy  ", "micro_f1": "Micro F1         ",
    "macro_f1": "Macro F1         ", "precision@1": "Precision@1      ", "precision@3": "Precision@3      ",
    "precision@5": "Precision@5      ",
}  # fmt: skip


class MultilabelTraining(Training):
    """Label sets in memory, and the models trained on them so far."""

    def _read(self):
        options = self.options
        with report.step(self._say, "Reading training examples"):
            examples = self._read_validation(options.example_file)
        self._seconds = {"read": time.perf_counter() - self._began, "train": 0.0, "write": 0.0}
        self._config = configure(options.settings(), time_limit=time_limit(options))
        return examples, MultilabelTrainer(examples, self._config, options.pairs == "all")

    def _read_validation(self, path: str) -> MultilabelExamples:
        return read_multilabel(path, threads=self.options.threads, max_memory=self.options.max_memory)

    def _introduce(self) -> None:
        examples = self.examples
        features = examples.X.n_features + (self._config.bias != 0)
        self._say(
            f"Training set properties: {features} features, {len(examples)} examples, {len(examples.names)} labels, "
            f"{len(examples.labels) / len(examples):.2f} a row"
        )

    def _final_lines(self, outcome: Outcome, cpu_seconds: float) -> list[str]:
        progress, model = outcome.progress, outcome.model
        assert isinstance(model, MultilabelModel)
        return [
            f"Upper bound on duality gap: {max(0.0, outcome.gap):.5f}",
            f"Dual objective value: dval={outcome.dual:.5f}",
            f"Primal objective value: pval={outcome.primal:.5f}",
            f"Number of iterations: {progress.iteration}",
            f"Number of pair weights: {len(model.v)}, {int((model.v > 0).sum())} of them positive",
            f"Norm of weight vector: |w|={outcome.norm:.5f}",
            f"Runtime in cpu-seconds: {cpu_seconds:.2f}",
        ]

    def _counts(self) -> dict[str, int]:
        return {"labels": len(self.examples.names)}

    def _measure(self, model: MultilabelModel, examples: MultilabelExamples) -> dict[str, Any]:
        return tally(model, examples, threads=self.options.threads).measures()


def run_labelling(job: Scoring, model: MultilabelModel, say, began: float) -> list[str]:
    """The rest of svmcut.cli.scoring.run_scoring for a model of label sets.

    Raises
    ------
    ModelError, UsageError
        When a report of another task or scores were asked for.
    """
    if job.measures is not None:
        raise ModelError(job.model, "a model of label sets; score with svmcut classify", 1, 1)
    if job.labels:
        raise UsageError("--labels has no meaning for label sets; their predictions are labels already")
    predicted = predict_labels(model, job.examples, job.predictions, threads=job.threads)
    measures = predicted.tally.measures()
    n = predicted.tally.rows
    say(f"done.\nClassifying test examples...done\nRuntime (without IO) in cpu-seconds: {predicted.cpu_seconds:.2f}\n")
    for key, text in _LINES.items():
        print(f"{text}: {measures[key]:6.2f}")
    warnings = []
    others = predicted.tally.others
    if others:
        warnings.append(f"{others} labels of {job.examples} are not in the model and are never predicted")
    if job.report is not None:
        seconds = dict(predicted.seconds, total=time.perf_counter() - began)
        head = {"command": job.command, "version": __version__, "examples": n, "halves": predicted.halves}
        write_report(job.report, head | measures | {"seconds": seconds, "warnings": warnings})
    return warnings
