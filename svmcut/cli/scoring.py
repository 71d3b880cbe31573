# SPDX-License-Identifier: BSD-3-Clause
"""One run of classify, whatever command line asked for it."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from svmcut import __version__
from svmcut.cli.files import log_beside
from svmcut.cli.report import classification_lines, contingency_lines, loss_lines, ranking_lines, write_report
from svmcut.errors import ModelError, UsageError
from svmcut.files.models import read_model
from svmcut.files.roles import File, check_roles
from svmcut.measures import classification_measures, contingency_table, ranking_measures, sequence_measures
from svmcut.models import ChainModel, KernelChainModel, MultilabelModel
from svmcut.predict import predict, predict_tags

if TYPE_CHECKING:
    from svmcut.predict import Predictions


@dataclass(frozen=True, slots=True)
class Scoring:
    """What a run of classify is asked to do.

    Attributes
    ----------
    examples, model, predictions : str
        Files.
    measures : {"classification", "ranking", "sequence", None}
        What is reported; None lets the model and the file say: ranking where it has queries.
    verbosity : int
        0 prints the measures alone; 2 adds the contingency table.
    threads : int
    labels : bool
        Write labels instead of scores.
    report : str or None
        Where a JSON document goes.
    beam : int
        States kept a token of a sequence, 0 for all.
    command : str
        As the JSON document names it.
    arguments : tuple of str
        Names of the three files in messages.
    """

    examples: str
    model: str
    predictions: str
    measures: Literal["classification", "ranking", "sequence"] | None = None
    verbosity: int = 1
    threads: int = 1
    labels: bool = False
    report: str | None = None
    beam: int = 0
    command: str = "classify"
    arguments: tuple[str, str, str] = ("EXAMPLE_FILE", "MODEL_FILE", "PREDICTIONS_FILE")


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # a model may have scores beyond float64
def run_scoring(job: Scoring) -> list[str]:
    """Score, write, print the report; returns warnings.

    Raises
    ------
    SvmcutError
        Whatever the files or the system refuse; no prediction file is written then.
    """
    examples, model, predictions = map(File, job.arguments, (job.examples, job.model, job.predictions))
    outputs = [predictions] if job.report is None else [predictions, File("--report", job.report)]
    check_roles((examples, model), outputs)
    with log_beside(outputs):
        return _run(job)


def _run(job: Scoring) -> list[str]:
    began = time.perf_counter()
    say = _Narrator(job.verbosity >= 1)
    with say:
        say("Reading model...")
        model = read_model(job.model)
        say("done.\nReading test examples...")
        if isinstance(model, ChainModel | KernelChainModel):
            return _run_tagging(job, model, say, began)
        if isinstance(model, MultilabelModel):
            from svmcut.cli.multilabel import run_labelling

            return run_labelling(job, model, say, began)
        if job.measures == "sequence":
            message = (
                "no model of sequences; expected one that starts with 'SVM-HMM Version V3.10' or 'svmcut kernel chain "
                "model 1'"
            )
            raise ModelError(job.model, message, 1, 1)
        predicted = predict(
            model,
            job.examples,
            job.predictions,
            threads=job.threads,
            labels=job.labels,
            grouped=job.measures != "classification",
        )
        say("done.\nClassifying test examples...")
    kind = job.measures or ("classification" if predicted.qid is None else "ranking")
    if kind == "ranking":
        lines, keys, warnings = _measure_ranking(predicted)
    else:
        lines, keys, warnings = _measure_classification(predicted)
        if job.verbosity > 1:
            say(contingency_lines(keys, contingency_table(predicted.y, predicted.scores)))
    loss, rest = lines
    say("done\n" + loss)
    print(rest, end="", flush=True)
    warnings += _warn_of_scores(predicted)
    if job.report is not None:
        seconds = dict(predicted.seconds, total=time.perf_counter() - began)
        head = {"command": job.command, "version": __version__, "examples": len(predicted.y)}
        write_report(job.report, head | keys | {"seconds": seconds, "warnings": warnings})
    return warnings


def _run_tagging(job: Scoring, model: ChainModel | KernelChainModel, say: _Narrator, began: float) -> list[str]:
    """The rest of `run_scoring` for a model of sequences."""
    if job.measures not in (None, "sequence"):
        raise ModelError(job.model, "a model of sequences; score with svm_hmm_classify or svmcut classify", 1, 1)
    if job.labels:
        raise UsageError("--labels has no meaning for sequences; their predictions are tags already")
    predicted = predict_tags(model, job.examples, job.predictions, threads=job.threads, beam=job.beam)
    measures = sequence_measures(predicted.wrong, predicted.lengths)
    n, tokens = measures.sequences, measures.tokens
    say(f" {n} examples, {tokens} tokens, {predicted.features} features, {predicted.tags} classes... done.\n")
    say("Classifying test examples...done\n")
    say(loss_lines(predicted.cpu_seconds, measures.wrong / n, measures.correct, n))
    print(f"Average loss per token: {measures.wrong / tokens:.4f}", flush=True)
    warnings = []
    if predicted.tags > model.shape.n_tags:
        warnings.append(f"tags above {model.shape.n_tags} are not in the model and count as wrong")
    if job.report is not None:
        seconds = dict(predicted.seconds, total=time.perf_counter() - began)
        head = {"command": job.command, "version": __version__, "examples": n, "tokens": tokens}
        write_report(job.report, head | measures.as_dict() | {"seconds": seconds, "warnings": warnings})
    return warnings


class _Narrator:
    """Prints what is being done; on the way out of a failure it ends the line it left open."""

    def __init__(self, speaks: bool):
        self.speaks = speaks

    def __call__(self, text: str) -> None:
        if self.speaks:
            print(text, end="", flush=True)

    def __enter__(self) -> None:
        pass

    def __exit__(self, failure, *rest) -> None:
        if failure is not None:
            with contextlib.suppress(OSError):
                self("\n")


def _measure_classification(predicted: Predictions) -> tuple[tuple[str, str], dict[str, Any], list[str]]:
    measures = classification_measures(predicted.y, predicted.scores)
    loss = measures["error_rate"]
    positives = int((predicted.y > 0).sum())
    warnings = []
    if positives in (0, len(predicted.y)):
        sign = "positive" if positives else "negative"
        warnings.append(f"all {len(predicted.y)} examples are {sign}: a label is positive where it is above 0")
    lines = loss_lines(predicted.cpu_seconds, loss, int(loss == 0), 1), classification_lines(measures)
    return lines, dict(measures), warnings


def _measure_ranking(predicted: Predictions) -> tuple[tuple[str, str], dict[str, Any], list[str]]:
    qid = np.zeros(len(predicted.y), np.int64) if predicted.qid is None else predicted.qid
    measures = ranking_measures(predicted.y, predicted.scores, qid)
    loss = loss_lines(predicted.cpu_seconds, measures.swapped_percent / 100, measures.correct, measures.queries)
    return (loss, ranking_lines(measures)), measures.as_dict(), []


def _warn_of_scores(predicted: Predictions) -> list[str]:
    bad = int((~np.isfinite(predicted.scores)).sum())
    return [f"{bad} scores are not finite: the kernel overflows on these examples"] if bad else []
