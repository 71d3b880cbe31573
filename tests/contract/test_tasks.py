# SPDX-License-Identifier: BSD-3-Clause
"""Every task of the catalog: what it reads, trains, predicts and measures of a file, in blocks, and
in memory."""

import importlib
import math
import re
from pathlib import Path

import numpy as np
import pytest
from drivers import cost_of

import svmcut
from svmcut import models
from svmcut.base.errors import DataError
from svmcut.data.examples import Csr
from svmcut.formats import read_model, write_model
from svmcut.scoring.measures import Measures
from svmcut.spec.catalog import LOSSES, MEASURES, TASKS, losses, measures, solvers
from svmcut.tasks.prediction import PredictionOptions, measure, predict
from svmcut.tasks.protocol import make_task, tasks_of

N = 48
STREAMS = {
    "classification": "vectors",
    "rank": "vectors",
    "regression": "vectors",
    "one-class": "vectors",
    "survival": "vectors",
    "sequence": "sequences",
    "multilabel": "label_sets",
    "multiclass": "vectors",
}


def arrays(task):
    """Few examples that no model fits without error, as a caller has them."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(N, 5)).astype(np.float32) * (rng.random((N, 5)) < 0.8)
    noise, qid = rng.normal(size=N), np.arange(N) // 4
    if task == "one-class":
        X = X + np.float32(0.7)  # the origin is outside
    if task == "multilabel":
        return X, X[:, :3] + 0.5 * rng.normal(size=(N, 3)) > 0
    if task in ("classification", "one-class"):
        return X, np.where(X[:, 0] + noise > 0, 1, -1)
    if task == "regression":
        return X, np.round(X[:, 0] + noise, 3)
    if task == "survival":
        return X, np.round(1.0 + np.arange(N) / 5 + noise**2, 2) * np.where(noise > -0.5, 1, -1)
    if task == "multiclass":
        return X, np.digitize(X[:, 0] + noise, [-0.5, 0.5]) + 3.0
    return X, (np.digitize(X[:, 0] + noise, [-0.5, 0.5]) + 1).astype(float), qid


def text(task):
    """The same as lines of a file."""
    X, y, *more = arrays(task)
    lines = []
    for i, row in enumerate(X):
        label = ",".join(map(str, np.flatnonzero(y[i]))) if task == "multilabel" else f"{y[i]:g}"
        query = f" qid:{more[0][i]}" if more else ""
        lines.append(
            f"{label}{query} " + " ".join(f"{j + 1}:{x:.9g}" for j, x in enumerate(row) if x) + "\n"
        )
    return "".join(lines)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for task in TASKS:
        (tmp_path / task).write_text(text(task))
    return tmp_path


def parameters(task):
    C = cost_of(task, 0.2, "example_cost")
    return {"task": task, **C, "gap": 0.01, "seed": 3, "threads": 2}


def in_blocks(monkeypatch, task, block_bytes, numbers):
    """Smaller blocks of a file, and smaller parts of a block."""
    module = importlib.import_module(f"svmcut.tasks.{STREAMS[task]}")
    files = importlib.import_module("svmcut.files.sequences") if task == "sequence" else module
    name = "stream_multilabel" if task == "multilabel" else "stream_examples"
    stream = getattr(files, name)
    monkeypatch.setattr(
        files, name, lambda path, **given: stream(path, **given, block_bytes=block_bytes)
    )
    if hasattr(module, "BLOCK_NUMBERS"):
        monkeypatch.setattr(module, "BLOCK_NUMBERS", numbers)


def same(found, expected):
    """Equal numbers under equal names, nan with nan."""
    assert found.keys() == expected.keys()
    for name, value in found.items():
        assert value == pytest.approx(expected[name], rel=1e-12, nan_ok=True), name


USES = [
    (task, kernel)
    for task in TASKS
    for kernel in ("linear", "rbf")
    if kernel == "linear" or solvers(task, True)
]


@pytest.mark.parametrize(("task", "kernel"), USES)
def test_a_file_predicted_in_blocks_is_the_file_in_memory(folder, monkeypatch, task, kernel):
    outcome, own = (
        svmcut.train(task, **parameters(task), kernel=kernel, gamma=0.05),
        make_task(task),
    )
    write_model("model", outcome.model)
    model = read_model("model")
    assert task in tasks_of(model)
    whole = predict(own, model, task, "whole")
    measured = own.measure(whole.tally)
    known = {name for name, row in measures(task).items() if not (row.of_chunks or row.of_counts)}
    assert measured.values.keys() == known
    assert all(map(math.isfinite, measured.values.values()))
    assert 0 <= measured.correct <= measured.total <= N
    error = next(value for name, value in measured.values.items() if not measures(task)[name].rises)
    assert error > 0 and measured.loss > 0, "a test of measures needs an error"
    same(measure(own, model, own.read(task)), measured.values)
    same(measure(own, model, own.read(task, test=True), threads=3), measured.values)
    for block_bytes, numbers in ((1, 1), (60, 20), (1000, 100)):
        with monkeypatch.context() as patch:
            in_blocks(patch, task, block_bytes, numbers)
            assert len(list(own.stream(task))) > 1 or block_bytes == 1000
            found = predict(own, model, task, "blocks", PredictionOptions(threads=2))
            assert (folder / "blocks").read_bytes() == (folder / "whole").read_bytes()
            assert found.tally.counts() == whole.tally.counts()
            same(own.measure(found.tally).values, measured.values)
            assert own.measure(found.tally)[2:] == measured[2:]
            same(measure(own, model, own.read(task)), measured.values)


@pytest.mark.parametrize("task", TASKS)
def test_arrays_are_what_the_file_is(folder, task):
    own = make_task(task)
    from_file, from_arrays = own.read(task), own.from_arrays(*arrays(task))
    assert own.counts(from_file) == own.counts(from_arrays)
    assert own.counts(from_file)["examples"] == len(from_file)
    for name, data in (("a", task), ("b", arrays(task))):
        write_model(name, svmcut.train(data, **parameters(task)).model)
    same(measure(own, read_model("a"), from_file), measure(own, read_model("b"), from_arrays))
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()


@pytest.mark.parametrize("task", TASKS)
def test_a_tally_starts_empty_and_tasks_hold_no_state(folder, task):
    own = make_task(task)
    model = svmcut.train(task, **parameters(task)).model
    assert not vars(own)
    first, second = (own.measure(predict(own, model, task, "lines").tally) for _ in range(2))
    assert isinstance(first, Measures)
    same(first.values, second.values)


def test_rows_of_tasks_are_complete():
    """Each model has a task, each task a default loss, measures and one that falls and heads a
    column."""
    names = {name for row in TASKS.values() for name in row.models}
    unions = {"Model", "ScoringModel", "ClassModel", "SetModel"}
    assert names == {name for name in models.__all__ if name.endswith("Model")} - unions
    for name, row in TASKS.items():
        assert row.loss in losses(name) and row.where.startswith("svmcut.tasks.")
        assert any(item.heading and not item.rises for item in MEASURES if item.task == name)
        assert any(item.line or item.plain for item in MEASURES if item.task == name)


#: What promises precision and recall names them.
THRESHOLDS = (
    "cli/thresholding.py",
    "spec/places.py",
    "loading.py",
)


def test_names_of_measures_stand_in_their_rows_and_where_they_are_computed():
    names = {item.name for item in MEASURES} - {loss.name for loss in LOSSES}
    root = Path(svmcut.__file__).parent
    found = {
        (str(path.relative_to(root)), name)
        for path in root.rglob("*.py")
        for name in names
        if re.search(rf"""["'`]{name}["'`]""", path.read_text(encoding="utf-8"))
    }
    assert {path for path, _ in found} == {
        "spec/tasks.py",
        "spec/spellings.py",
        "scoring/measures.py",
        "scoring/survival.py",
        *THRESHOLDS,
    }
    rows = (root / "spec/tasks.py").read_text(encoding="utf-8")
    capitals = {name for name in names if f'"{name.upper()}"' in rows}
    typed = {name for path, name in found if path == "spec/tasks.py"}
    assert typed | capitals == names


def test_queries_make_it_ranking(folder):
    model = svmcut.train("rank", **parameters("rank")).model
    assert tasks_of(model) == ["classification", "rank"]
    for task, queries in (("rank", True), ("classification", False)):
        assert predict(make_task("rank"), model, task, "scores").tally.queries is queries
    (folder / "falls").write_text("1 qid:2 1:1\n2 qid:1 1:1\n")
    with pytest.raises(DataError, match=r"^falls:2:.*qid 1 follows 2"):
        predict(make_task("rank"), model, "falls", "scores")
    assert predict(make_task("classification"), model, "falls", "scores").tally.queries


def test_tags_that_nobody_knows_are_for_test_files_alone(folder):
    (folder / "zero").write_text("0 qid:1 1:1\n1 qid:1 1:1\n")
    own, model = make_task("sequence"), svmcut.train("sequence", **parameters("sequence")).model
    with pytest.raises(DataError, match=r"^zero:1:.*tag 0 is refused"):
        own.read("zero")
    whole = predict(own, model, "zero", "tags")
    same(measure(own, model, own.read("zero", test=True)), own.measure(whole.tally).values)
    assert own.measure(whole.tally).correct == 0
    assert own.warnings(whole.tally, "zero") == []
    (folder / "many").write_text("7 qid:1 1:1\n")
    assert "tags above 3" in own.warnings(predict(own, model, "many", "tags").tally, "many")[0]


def test_parts_of_data_are_views(folder):
    """No row is copied, lost or met twice."""
    for task in ("sequence", "multilabel"):
        own, data = make_task(task), make_task(task).read(task)
        model = svmcut.train(task, **parameters(task)).model
        parts = [data.part(start, start + 3) for start in range(0, len(data), 3)]
        assert all(np.shares_memory(part.X.data, data.X.data) for part in parts)
        assert sum(map(len, parts)) == len(data)
        rows = np.concatenate([Csr.to_dense(part.X) for part in parts])
        np.testing.assert_array_equal(rows, data.X.to_dense())
        assert sum(map(len, own.parts(data, model))) == len(data)
