# SPDX-License-Identifier: BSD-3-Clause
"""One run of classify: reads, predicts, writes and prints; with a bar that counts rows, and proofs
for --certify and --bounds."""

from __future__ import annotations

import contextlib
import itertools
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from svmcut import __version__
from svmcut.base.errors import ModelError, UsageError
from svmcut.base.messages import Message, hide_secrets, join_names
from svmcut.base.records import replace
from svmcut.base.typing import Any, NamedTuple
from svmcut.cli import advice
from svmcut.cli.advice import in_options
from svmcut.cli.files import redirect_log, write_report
from svmcut.cli.score_lines import Files, ScoringOptions, check_files, print_lines
from svmcut.cli.training_report import step
from svmcut.data.examples import stack_rows
from svmcut.files.names import list_files
from svmcut.files.output import write_atomically
from svmcut.formats import ModelFile, is_model, read_file
from svmcut.models.bounds import certain_labels, intervals
from svmcut.models.order_bounds import proven_pairs, proven_tags
from svmcut.spec.catalog import COLUMNS, INPUTS, NAMED, SCHEMES, TASKS
from svmcut.spec.entries import GRADES, SETS, TAGS
from svmcut.tasks.prediction import PredictionOptions, Predictions, predict
from svmcut.tasks.protocol import Task, input_for, make_task, names_for, presentation, tasks_of


class Certifier:
    """Counts the rows whose label is proven to be that of the exact optimum, and writes the bounds
    of scores."""

    def __init__(self, model: Any, output: Any = None, threads: int = 1):
        self._model, self._output, self._threads = model, output, threads
        self.rows, self.proven, self.has_labels = 0, 0, True
        self._query: list[tuple[Any, Any]] = []  # rows and scores of one that may go on
        self._last: int | None = None

    def take(self, part: Any, predicted: Any) -> None:
        """Counts rows by their scores; where they have queries, their pairs."""
        scores = predicted.scores if self._model.of_sets else predicted
        if getattr(part, "qid", None) is not None and scores.ndim == 1:
            self._write(part, scores)
            self._take_queries(part, scores)
            return
        sure = certain_labels(self._model, part.X, scores, self._threads)
        self.rows += len(scores) if sure is None else sure.size
        self.has_labels = sure is not None
        self.proven += 0 if sure is None else int(sure.sum())
        self._write(part, scores)

    def _write(self, part: Any, scores: np.ndarray) -> None:
        if self._output is not None:
            ends = intervals(self._model, part.X, scores, self._threads).reshape(len(scores), -1)
            lines = (" ".join(f"{value:.17g}" for value in row) for row in ends.tolist())
            self._output.write("".join(f"{line}\n" for line in lines).encode())

    def _take_queries(self, part: Any, scores: np.ndarray) -> None:
        starts = np.flatnonzero(np.diff(part.qid, prepend=part.qid[0] - 1)).tolist()
        for start, stop in itertools.pairwise([*starts, len(scores)]):
            if self._last is not None and part.qid[start] != self._last:
                self._finish_query()
            self._last = int(part.qid[start])
            self._query.append((part.X.rows(start, stop), scores[start:stop]))

    def _finish_query(self) -> None:
        if not self._query:
            return
        X, scores = stack_rows([X for X, _ in self._query]), [s for _, s in self._query]
        proven, pairs = proven_pairs(self._model, X, np.concatenate(scores), self._threads)
        self._query, self._unit = [], "orders of pairs"
        self.proven, self.rows = self.proven + proven, self.rows + pairs

    _unit = "labels"

    def summary(self) -> str:
        """Line to print; empty for a model of numbers."""
        self._finish_query()
        if not self.has_labels:
            return ""
        share = 100 * self.proven / max(1, self.rows)
        return (
            f"Certified: {self.proven:,} of {self.rows:,} {self._unit} ({share:.2f} %) are those "
            "of the exact optimum\n"
        )

    def report(self) -> dict[str, Any]:
        """Entries of the report."""
        self._finish_query()
        if not self.has_labels:
            return {}
        return {"decided": self.proven, "decided_fraction": self.proven / max(1, self.rows)}


class TagCertifier(Certifier):
    """Counts the tokens whose tag is proven."""

    _unit = "tags"

    def take(self, part: Any, predicted: Any) -> None:
        """Counts the tokens of sequences."""
        sure = proven_tags(self._model, part.X, part.indptr, self._threads)
        self.rows += len(sure)
        self.proven += int(sure.sum())


@contextlib.contextmanager
def open_certifier(
    model: Any, path: str, wanted: bool, target: str | None, threads: int = 1
) -> Iterator[Any]:
    """Yields a Certifier of a model, which writes bounds to `target`; None if nothing is wanted.
    Raises ModelError, with the model's path, if the model has no certificate."""
    if not wanted and target is None:
        yield None
        return
    if getattr(model, "certificate", None) is None and model.of_sequences:
        message = (
            "the model has no certificate: svmcut learn --certify writes one of chains on features"
        )
        raise ModelError(path, Message(message))
    if getattr(model, "certificate", None) is None:
        message = (
            "the model has no certificate: svmcut learn writes one of linear machines, of label "
            "sets without pairs, and of kernels with {free_bias=False}, as long as nothing but w "
            "is regularised"
        )
        raise ModelError(path, Message(message))
    if model.of_sequences and target is not None:
        raise UsageError("--bounds is of scores of rows, and tags have none; leave it out")
    if model.of_sequences:
        yield TagCertifier(model, None, threads)
        return
    if target is None:
        yield Certifier(model, None, threads)
        return
    with write_atomically(target) as output:
        yield Certifier(model, output, threads)


def _open_covered(task: Task, model: Any, path: str, options: ScoringOptions) -> Any:
    """Context of svmcut.cli.covering.open_covered, imported for the models and options it is of."""
    asked = options.intervals is not None or options.label_sets is not None
    if getattr(model, "coverage", None) is None and not asked:
        return contextlib.nullcontext()
    from svmcut.cli.covering import open_covered

    return open_covered(task, model, path, options)


def _take_all(first: Callable[[Any, Any], None], *others: Any) -> Callable:
    """Consumer of predicted blocks that passes them to the others that are not None too."""
    takers = [first, *(other.take for other in others if other is not None)]
    if len(takers) == 1:
        return first

    def take(part: Any, predicted: Any) -> None:
        for one in takers:
            one(part, predicted)

    return take


#: Seconds before the bar is drawn, and between two draws.
BAR_DELAY, BAR_INTERVAL = 1.0, 0.2


@contextlib.contextmanager
def counting_bar(wanted: bool | None) -> Iterator[Callable[[Any, Any], None]]:
    """Yields the function that counts the rows of a block; `wanted` None draws the bar on a
    terminal only."""
    if sys.stderr is None or not (sys.stderr.isatty() if wanted is None else wanted):
        yield lambda part, predicted: None
        return
    from tqdm import tqdm

    tqdm.monitor_interval = 0
    bar = tqdm(
        desc="classifying",
        unit=" rows",
        unit_scale=True,
        file=sys.stderr,
        leave=False,
        delay=BAR_DELAY if wanted is None else 0,
        mininterval=BAR_INTERVAL if wanted is None else 0.0,
    )

    def count(part: Any, predicted: Any) -> None:
        with contextlib.suppress(OSError):
            bar.update(part.X.n_rows)

    try:
        yield count
    finally:
        with contextlib.suppress(OSError):
            bar.close()


class SpreadFiles(NamedTuple):
    """Files that workers predict, where the predictions go, and the function that starts them."""

    files: list[str]
    targets: list[str]
    predict: Callable[..., Predictions]


# a model may have scores beyond float64
@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def run_scoring(
    files: Files, options: ScoringOptions, spread: SpreadFiles | None = None
) -> Sequence[str]:
    """Scores a file, or those that workers predict, writes and prints the measures; returns
    warnings. Raises SvmcutError before any prediction file is written."""
    began = time.perf_counter()
    with redirect_log(check_files(files, options, spread[:2] if spread else ())):
        with step(options.say, "Reading model") as close:
            scorer, file = read_scorer(files, options)
            close("done.")
        with step(options.say, "Reading test examples") as close:
            options = replace(options, input=input_for(scorer, files.examples, options.input))
            task = check_model(scorer, files.model, options)
            task = ranking_task(decoding_task(task, scorer, files, options), scorer, options)
            if file.caution and (options.certify or options.bounds is not None):
                raise ModelError(files.model, file.caution)
            predicted, table = predict_files(task, scorer, files, options, spread)
            if table is not None and not table.labelled:
                options = replace(options, unlabelled=True)
            options.say_as_svm_light("Scanning examples...done")
            count = predicted.tally.counts()["examples"]
            options.say_as_svm_light(f"Reading examples into memory...OK. ({count} examples read)")
            shown = options.present(tasks_of(scorer)[0])
            close(f"{shown.sizes(predicted.tally)}.")
        if options.task is not None and options.verbosity <= 0:
            print(shown.quiet(predicted.tally), end="", flush=True)
        own, queries = tasks_of(scorer), predicted.tally.queries
        name = options.task or own[-1 if queries or options.unlabelled else 0]
        warnings = _collect_warnings(predicted, name, scorer, files, options)
        if file.is_changed and options.task is None:
            warnings.insert(0, Message("{}: {}", hide_secrets(files.model), file.caution))
        measures = print_measures(predicted, name, scorer, options)
        if options.report is not None:
            seconds = dict(predicted.seconds, total=time.perf_counter() - began)
            counts = make_task(name, input=options.input or INPUTS[0]).counts_of(predicted.tally)
            head = {"command": "classify", "version": __version__, **counts}
            if predicted.certifier is not None:
                measures = measures | predicted.certifier.report()
            if predicted.covered is not None:
                measures = measures | predicted.covered.report()
            last = {"seconds": seconds, "warnings": [*map(in_options, warnings)]}
            write_report(options.report, head | measures | last)
    return warnings


def read_scorer(files: Files, options: ScoringOptions) -> tuple[Any, ModelFile]:
    """Model of a run, and its file. Raises ModelError, with a hint if the files are in the wrong
    order."""
    own = options.task is None
    try:
        file = read_file(files.model, own, options.zero_based, options.probability)
    except ModelError:
        if not is_model(files.examples):
            raise
        swapped = (
            f"no model, but {files.examples} is one; expected {' '.join(options.names)}, in this "
            "order"
        )
        raise ModelError(files.model, swapped) from None
    scorer: Any = file.model
    # weights of features are one vector
    vectors = scorer.support.n_rows if hasattr(scorer, "support") else 1
    options.say_as_svm_light(f"Reading model...OK. ({vectors} support vectors read)")
    if options.task is not None and getattr(scorer, "labels", None):
        scorer = replace(scorer, labels=None)  # the originals know one rule for labels
    return scorer, file


def check_model(scorer: Any, model: str, options: ScoringOptions) -> Task:
    """Task that reads the examples. Raises ModelError or UsageError if the model is not of the
    given task, or lacks what an option needs."""
    own = tasks_of(scorer)
    shown = options.present(own[0])
    if options.task not in (None, *own):
        raise ModelError(model, shown.foreign, 1, 1)
    if options.labels and shown.no_labels:
        raise UsageError("--labels {}", shown.no_labels)
    if options.probability and not getattr(scorer, "has_probabilities", False):
        raise ModelError(model, Message("the model has no probabilities; {}", shown.no_probability))
    if options.unlabelled and shown.no_missing:
        raise UsageError("--unlabelled {}", shown.no_missing)
    if options.format is not None and (options.unlabelled or not shown.has_plain):
        raise UsageError("--format is for measures of classes, rankings and tags; leave it out")
    has_beam = shown.has_beam or getattr(scorer, "has_beam", False)
    if options.beam and options.task is None and not has_beam:
        raise UsageError("{beam} is for models of sequences and trees of labels; leave it out")
    task = make_task(options.task or own[-1], options.task is not None, options.input or INPUTS[0])
    if options.zero_based and options.input in (NAMED, COLUMNS):
        raise UsageError("{zero_based} has no effect on attributes by name; leave it out")
    return task


def _decoding_option(options: ScoringOptions) -> str:
    """First option of decoding that was given; "" for none."""
    names = ("scheme", "n_best", "confidence", "partial")
    return next((f"--{name.replace('_', '-')}" for name in names if getattr(options, name)), "")


def decoding_task(task: Any, scorer: Any, files: Files, options: ScoringOptions) -> Any:
    """Task that decodes as the options ask. Raises UsageError or ModelError for options that
    exclude each other, models without tags, and a scheme other than that of the model's tags."""
    name = _decoding_option(options)
    if not name:
        return task
    if options.certify:
        raise UsageError("{certify} is for the best tags; leave out {}", name)
    if TASKS[tasks_of(scorer)[0]].labels != TAGS:
        raise UsageError("{} is for models of sequences; leave it out", name)
    if options.n_best and (options.confidence or options.probability):
        raise UsageError(
            "--n-best writes scores of labellings, --confidence probabilities of tags; leave one "
            "of them out"
        )
    if options.beam and (options.n_best or options.confidence):
        raise UsageError("{} needs all states; leave out {beam}", name)
    if options.partial and options.input != COLUMNS:
        raise UsageError("--partial is for tokens in columns; leave it out")
    from svmcut.scoring.chunks import scheme_rules, split_tags
    from svmcut.tasks.decoding import Decoding

    if options.scheme is not None:
        parts = None if scorer.names is None else split_tags(scorer.names.tags)
        if scheme_rules(parts, options.scheme) is None:
            letters = [f"{letter}-TYPE" for letter in SCHEMES[options.scheme] if letter != "O"]
            message = "--scheme {} needs the tags O, {}, and the model has others"
            raise ModelError(files.model, Message(message, options.scheme, join_names(letters)))
    sure = options.confidence or options.probability
    how = options.scheme, options.n_best, sure, options.partial
    return task.decoding_as(Decoding(files.examples, *how))


def ranking_task(task: Any, scorer: Any, options: ScoringOptions) -> Any:
    """Task that ranks labels as the options ask; raises UsageError for models without label
    sets."""
    asked = [
        name
        for name, value in (
            ("--top", options.top),
            ("--propensity", options.propensity),
            ("--label-names", options.label_names),
        )
        if value
    ]
    if not asked:
        return task
    if TASKS[tasks_of(scorer)[0]].labels != SETS:
        name = asked[0]
        raise UsageError("{} is for models of label sets; leave it out", name)
    from svmcut.files.multilabel import read_label_names
    from svmcut.scoring.tops import Propensity

    names = options.label_names and read_label_names(options.label_names, scorer.names)
    return task.ranking_as(options.top, Propensity(*(options.propensity or ())), names)


def predict_files(
    task: Task, scorer: Any, files: Files, options: ScoringOptions, spread: SpreadFiles | None
) -> tuple[Predictions, Any]:
    """Predicts the examples, here or by workers, and writes the predictions; returns them with the
    reader of the table, if the examples are one."""
    reading = {"unlabelled": options.unlabelled, "zero_based": options.zero_based}
    input = options.input or INPUTS[0]
    reading |= names_for(scorer, files.model, input, options.unlabelled, options.partial)
    if options.task is not None:
        reading.pop("words", None)  # the originals know numbers alone
    how = PredictionOptions(
        options.threads,
        options.beam,
        options.labels,
        options.probability or options.confidence,
        reading,
    )
    table: Any = reading.get("table")
    if spread is None:
        wanted = options.progress if options.task is None else False
        asked = files.model, options.certify, options.bounds, options.threads
        with (
            counting_bar(wanted) as count,
            open_certifier(scorer, *asked) as certifier,
            _open_covered(task, scorer, files.model, options) as covered,
        ):
            how = how._replace(watch=_take_all(count, certifier, covered))
            predicted = predict(task, scorer, files.examples, files.predictions, how)
            predicted = predicted._replace(certifier=certifier, covered=covered)
    elif table is not None:
        raise UsageError("{scheduler} is for examples in LIBSVM's text; leave it out")
    elif options.intervals is not None or options.label_sets is not None:
        raise UsageError("--intervals and --label-sets do not go with {scheduler}; leave it out")
    elif options.certify or options.bounds is not None:
        raise UsageError("{certify} and {scheduler} do not go together; leave one of them out")
    else:
        predicted = spread.predict(task, scorer, how)
    if table is not None:
        predicted = predicted._replace(warnings=(*predicted.warnings, *table.warnings))
    return predicted, table


def _collect_warnings(
    predicted: Predictions, name: str, scorer: Any, files: Files, options: ScoringOptions
) -> list[str]:
    """Warnings about predictions that are measured for a task."""
    judge = make_task(name, input=options.input or INPUTS[0])
    warnings = [*predicted.warnings]
    if options.unlabelled:
        warnings += judge.score_warnings(predicted.tally)
    else:
        warnings += judge.warnings(predicted.tally, files.examples)
    if options.task is None:
        warnings += advice.advise_on_scores(scorer, predicted.tally, files.examples)
    if options.confidence and scorer.temperature is None:
        warnings.append(
            Message(
                "the probabilities are not calibrated, as the model has no temperature; train it "
                "with {probability}"
            )
        )
    if options.labels and (caution := presentation(tasks_of(scorer)[0]).caution(scorer)):
        warnings.append(caution)
    return warnings


def print_measures(
    predicted: Predictions, name: str, scorer: Any, options: ScoringOptions
) -> dict[str, Any]:
    """Prints and returns the measures of the predictions; {} if the rows have no labels."""
    tally, shown = predicted.tally, options.present(name)
    measured = None
    if not options.unlabelled:
        measured = make_task(name, input=options.input or INPUTS[0]).measure(tally)
    print_lines(shown, predicted, measured, scorer, options)
    if not measured:
        return {}
    skilled = shown.has_plain and TASKS[name].labels != GRADES
    skill = predicted.skill.values() if predicted.skill and skilled else {}
    if skill:
        print(shown.skill(skill), end="", flush=True)
    return measured.values | skill


def score_on(address: Sequence[str | None], files: Files, options: ScoringOptions) -> Sequence[str]:
    """Runs classify on all files of a pattern with the workers of a scheduler, which an address or
    a file names."""
    if all(address):
        raise UsageError(
            "--scheduler and --scheduler-file name one scheduler; leave one of them out"
        )
    name, parts = list_files(files.examples)
    from svmcut.distributed.engine import connect
    from svmcut.distributed.scoring import predict_files as predict_parts
    from svmcut.distributed.scoring import targets_of

    targets = targets_of(parts, files.predictions)
    with connect(*address) as client:
        spread = SpreadFiles(parts, targets, partial(predict_parts, client, parts, targets))
        return run_scoring(files._replace(examples=name), options, spread)
