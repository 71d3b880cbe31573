# SPDX-License-Identifier: BSD-3-Clause
"""Every input, task and feature beside every other: twenty rows are trained on, written, read back
and predicted. All ends in status 0, or in a refusal of the catalog."""

import contextlib
import functools
import importlib.util
import io
import json
import os
import time
from collections import defaultdict
from typing import Any, NamedTuple

import crossings
import numpy as np
import pytest
from crossings import DEV, GIVEN, TEST, TRAIN, file_input
from programs import call

import svmcut
from svmcut.base.errors import UsageError
from svmcut.formats import read_model
from svmcut.formats.exported import can_express
from svmcut.loading import Model
from svmcut.spec.catalog import COLUMNS, EXPORTS, INPUTS, MARKED, TABLES, TASKS
from svmcut.spec.entries import SETS, TAGS
from svmcut.tasks.calibration import score_of
from svmcut.tasks.protocol import presentation


class Runner:
    """Runs cells in one folder, and knows what plain cells predict."""

    def __init__(self, folder):
        self.folder, self._plain = folder, {}
        self.told = defaultdict(lambda: [0, 0, 0.0])

    def path(self, name):
        return self.folder / name

    def svmcut(self, words, statuses=(0,)):
        """Status and lines of a command line, which ends in one of these statuses."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = call("svmcut", *words)
        told = f"svmcut {' '.join(map(str, words))}\n{err.getvalue()}"
        assert "internal error" not in told and "Traceback" not in told, told
        assert status in statuses, f"status {status}: {told}"
        if status in (1, 2):
            assert err.getvalue().count("\n") == 1, told
        return status

    def write(self, cell):
        """The files that a cell reads."""
        for part in (TRAIN, DEV, TEST):
            crossings.write_part(cell, part, self.folder)
        weights = crossings.weights_of(cell)
        self.path("weights").write_text("".join(f"{weight:g}\n" for weight in weights))

    def learn(self, cell):
        """Trains a cell and writes its model."""
        words = cell.words(f"{self.folder}/", report="learnt")
        if cell.limits is not None:
            self.svmcut(cell.words(f"{self.folder}/", **cell.limits), (0, 3))
            words.append("--resume")
        self.svmcut([*words, "-v", "0"], (0, 3) if cell.may_stop else (0,))
        json.loads(self.path("learnt").read_text(encoding="utf-8"))

    def train(self, cell):
        """The same in memory; the model read back predicts what the fitted one does."""
        given = cell.parameters()
        self.path("learnt").unlink(missing_ok=True)
        data = [GIVEN[cell.input].memory(cell.task, part) for part in (TRAIN, TEST)]
        given |= {} if "task" in given else {"task": cell.task}
        if given.pop("weights", None):
            given["weights"] = crossings.weights_of(cell)
        folds, within = given.pop("cv", None), given.pop("certify_choice", None)
        if within is not None:
            low, high = map(float, given.pop("example_cost").split(":"))
            fitted = svmcut.certified_choice(
                data[0], (low, high), within, folds=folds, **given
            ).outcome
        elif folds is not None:
            fitted = svmcut.cross_validate(data[0], folds, **given).outcome
        else:
            fitted = svmcut.train(data[0], **given)
        fitted.save(self.path("model"))
        rows = data[1] if not isinstance(data[1], tuple) else data[1][0]
        more = (data[1][2],) if TASKS[cell.task].labels == TAGS else ()
        loaded = svmcut.load(self.path("model"))
        found, expected = loaded.predict(rows, *more), fitted.predict(rows, *more)
        if np.asarray(found).dtype.kind == "f":
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        else:
            assert np.array_equal(found, expected)

    def predictions(self, cell, model="model"):
        """What a model of a cell says of the test rows."""
        test, out = crossings.name_of(cell, TEST), self.path("out")
        words = ["classify", "-v", "0", *self.paths(test, model, "out"), *cell.reading]
        self.svmcut(words)
        return out.read_bytes()

    def paths(self, *names):
        return [f"{self.folder}/{name}" for name in names]

    def expected(self, cell):
        """What the plain cell that is like this one predicts."""
        plain = cell.like
        if plain not in self._plain:
            self.write(plain)
            self.learn(plain)
            self._plain[plain] = self.predictions(plain)
        return self._plain[plain]

    def refuse(self, cell):
        """A cell that the catalog refuses is refused, before anything is written."""
        began = time.perf_counter()
        self.write(cell)
        self.path("model").unlink(missing_ok=True)
        if cell.in_memory:
            with pytest.raises(UsageError):
                self.train(cell)
        else:
            self.svmcut(cell.words(f"{self.folder}/"), (2,))
        assert not self.path("model").exists()
        self.tell(cell, 1, began)

    def run(self, cell, uses):
        """A cell that is trained, and what is done with its model."""
        began = time.perf_counter()
        expected = None if cell == cell.like else self.expected(cell)
        self.write(cell)
        (self.train if cell.in_memory else self.learn)(cell)
        expected = self._plain.setdefault(cell.like, expected or self.predictions(cell))
        assert self.predictions(cell) == expected, f"{cell}: other predictions than {cell.like}"
        model = read_model(str(self.path("model")))
        for use in uses:
            told = use.words(cell) if callable(use.words) else use.words
            words = [self.placed(word, cell) for word in told]
            words += cell.reading if {"TEST", "DEV"} & {*told} else []
            if use.takes(cell, model):
                self.svmcut(words)
                use.check(self, cell)
            else:
                self.svmcut(words, (1, 2))
        self.tell(cell, 0, began)

    def placed(self, word, cell):
        """A word of a command line, with the files of a cell."""
        files = {"TEST": TEST, "DEV": DEV, "TRAIN": TRAIN}
        if word in files:
            return self.paths(crossings.name_of(cell, files[word]))[0]
        return self.paths(word[1:])[0] if word.startswith("@") else word

    def tell(self, cell, place, began):
        self.told[cell.task][place] += 1
        self.told[cell.task][2] += time.perf_counter() - began

    def table(self):
        """Cells, refusals and seconds by task."""
        lines = [f"{'task':16}{'cells':>8}{'refused':>9}{'seconds':>9}"]
        for task, (cells, refused, seconds) in self.told.items():
            lines.append(f"{task:16}{cells:8}{refused:9}{seconds:9.1f}")
        return "\n".join(lines)


# What is done with a model


class Use(NamedTuple):
    """One way to use a model, or its rows: a command line or what makes one of a cell, where @NAME
    is a file of the folder; which cells and models it takes, as it refuses the others; and what
    holds then."""

    words: Any
    takes: Any = lambda cell, model: True
    check: Any = lambda runner, cell: None


def _has_report(runner, cell):
    json.loads(runner.path("report").read_text(encoding="utf-8"))


def _has_json(runner, cell):
    json.loads(runner.path("exported").read_text(encoding="utf-8"))


def _is_read_back(runner, cell):
    """The exported model scores the rows as the model does."""
    name = crossings.name_of(cell, TEST)
    model, other = (svmcut.load(runner.path(name)) for name in ("model", "exported"))
    if GIVEN[cell.input].family == "rows":
        rows = crossings.matrix(cell.task, TEST)
    else:
        rows = model._rows(runner.path(name))
    if hasattr(model.model, "threshold"):
        model = Model(model.model.without_threshold())
    scores = [one.decision_function(rows) for one in (other, model)]
    if scores[0].ndim == scores[1].ndim == 1:
        np.testing.assert_allclose(*scores, rtol=1e-4, atol=1e-4)
    else:  # of classes by pairs votes are counted
        assert np.shape(other.predict(rows)) == np.shape(model.predict(rows))


def _labels(*kinds):
    return lambda cell, model: TASKS[cell.task].labels in kinds


def _is_written(runner, cell):
    assert runner.path("exported").stat().st_size


def _exports(to):
    return lambda cell, model: can_express(to, model)


def _convert(cell):
    """The command line that makes examples of the training rows."""
    input = file_input(cell.input)
    words = ["convert", "TRAIN", "@converted"]
    for name, value in cell.table().items():
        words += [f"--{name}", value]
    if TASKS[cell.task].labels == SETS:
        words.append("--sets")
    return [*words, "--input", input] if input == "text" else words


def _trains_alike(runner, cell):
    """The examples are as many as the rows, and train for the task too."""
    lines = runner.path("converted").read_text(encoding="utf-8").splitlines()
    assert len(lines) == crossings.N
    row = TASKS[cell.task]
    task = [] if cell.task == "rank" else ["--task", cell.task]
    costs = ["-c", "1"] if row.has_cost else []
    runner.svmcut([row.command, *task, *costs, *runner.paths("converted", "remade")], (0, 3))
    runner.svmcut(["classify", *runner.paths("converted", "remade", "out")])


CLASSIFY = ("classify", "TEST", "@model", "@out")
USES = {
    "report": Use((*CLASSIFY, "--report", "@report"), check=_has_report),
    "labels": Use(
        (*CLASSIFY, "--labels"), lambda cell, model: not presentation(cell.task).no_labels
    ),
    "unlabelled": Use(
        (*CLASSIFY, "--unlabelled"), lambda cell, model: not presentation(cell.task).no_missing
    ),
    "probability": Use(
        (*CLASSIFY, "--probability"), lambda cell, model: getattr(model, "has_probabilities", False)
    ),
    "certify": Use(
        (*CLASSIFY, "--certify"),
        lambda cell, model: getattr(model, "certificate", None) is not None,
    ),
    "bounds": Use(
        (*CLASSIFY, "--bounds", "@bounds"),
        lambda cell, model: (
            getattr(model, "certificate", None) is not None and not model.of_sequences
        ),
    ),
    "top": Use((*CLASSIFY, "--top", "2"), _labels(SETS)),
    "n best": Use((*CLASSIFY, "--n-best", "2"), _labels(TAGS)),
    "confidence": Use((*CLASSIFY, "--confidence"), _labels(TAGS)),
    "scheme": Use(
        (*CLASSIFY, "--scheme", "iob2"),
        lambda cell, model: model.of_sequences and model.names is not None,
    ),
    "partial": Use((*CLASSIFY, "--partial"), lambda cell, model: cell.input == COLUMNS),
    "beam": Use(
        (*CLASSIFY, "--beam", "2"),
        lambda cell, model: TASKS[cell.task].labels == TAGS or getattr(model, "has_beam", False),
    ),
    "convert": Use(
        _convert,
        lambda cell, model: file_input(cell.input) in TABLES and not model.of_sequences,
        _trains_alike,
    ),
    "inspect": Use(("inspect", "@model", "--json")),
    "inspect report": Use(
        ("inspect", "@model", "--report", "@learnt", "--html", "@page"),
        lambda cell, model: not cell.in_memory,
    ),
    "inspect data": Use(("inspect", "@model", "--data", "TEST", "--html", "@page")),
    "threshold": Use(
        (
            "threshold",
            "DEV",
            "@model",
            "@careful",
            "--at-least",
            "recall=0.2",
            "--confidence",
            "0.6",
        ),
        lambda cell, model: hasattr(model, "threshold") and model.loss not in MARKED,
        lambda runner, cell: runner.predictions(cell, "careful"),
    ),
    "conformal": Use(
        ("conformal", "DEV", "@model", "@careful", "--coverage", "0.6"),
        lambda cell, model: score_of(model) is not None,
        lambda runner, cell: runner.predictions(cell, "careful"),
    ),
    **{
        f"export {to}": Use(
            ("export", "@model", "@exported", "--to", to),
            _exports(to),
            {"json": _has_json}.get(
                to, (lambda runner, cell: None) if row.ending else _is_read_back
            ),
        )
        for to, row in EXPORTS.items()
        if to != "onnx" or importlib.util.find_spec("onnx")
    },
}


def uses_of(cells):
    """Of every cell what is done with its model, so that every use meets every value there is."""
    met, found = set(), []
    for cell in cells:
        chosen = []
        for name, use in USES.items():
            new = {(name, place, value) for place, value in enumerate(cell)} - met
            if new:
                chosen.append(use)
                met |= new
        found.append(chosen)
    return found


#: Tests that the cells of pairs are dealt to.
PARTS = 8


@functools.cache
def pairs():
    """Cells in which every two values that may stand together do, with what is done with their
    models, by task; and those that are refused."""
    run, refused = crossings.cells(2)
    return sorted(zip(run, uses_of(run)), key=lambda use: use[0].task), refused


@pytest.fixture(scope="module")
def shared_runner(tmp_path_factory):
    runner = Runner(tmp_path_factory.mktemp("cells"))
    yield runner
    print(runner.table())


@pytest.fixture
def runner(shared_runner, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    return shared_runner


def test_inputs_and_labels_of_the_catalog_have_rows():
    assert {*INPUTS} <= {*GIVEN}
    assert {row.labels for row in TASKS.values()} <= {*crossings.LABELS}


@pytest.mark.parametrize("part", range(PARTS))
def test_every_two_features_go_together(runner, part):
    run, _ = pairs()
    bounds = [k * len(run) // PARTS for k in (part, part + 1)]
    for cell, uses in run[slice(*bounds)]:
        runner.run(cell, uses)


#: Of three features that were wrong together.
WRONG_ONCE = (
    crossings.Cell("sequence", "svm", "quick", "cv", "iterations"),
    crossings.Cell("classification", "arrow frame", choice="certify choice", weights="file"),
)


@pytest.mark.parametrize("cell", WRONG_ONCE)
def test_what_was_wrong_once_runs(runner, cell):
    runner.run(cell, [])


def test_what_the_catalog_refuses_is_refused(runner):
    for cell in pairs()[1]:
        if cell.has_options:
            runner.refuse(cell)


@pytest.mark.slow
def test_every_three_features_go_together(runner, capsys):
    run, refused = crossings.cells(3)
    for cell, uses in zip(run, uses_of(run)):
        runner.run(cell, uses)
    for cell in dict.fromkeys([*pairs()[1], *(cell for cell in refused if cell.has_options)]):
        runner.refuse(cell)
    with capsys.disabled():
        print(f"\n{runner.table()}")
