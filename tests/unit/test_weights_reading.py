# SPDX-License-Identifier: BSD-3-Clause
"""Costs of lines, weights that are given and those of classes multiply; what weighs 0 is gone,
lines stay."""

import numpy as np
import pytest

import svmcut
from svmcut.base.errors import DataError, UsageError
from svmcut.base.records import replace
from svmcut.data.examples import Source
from svmcut.files.weights import read_weights
from svmcut.spec.catalog import TASKS
from svmcut.spec.kinds import class_weights
from svmcut.spec.parameters import Settings
from svmcut.spec.refusals import plain
from svmcut.tasks.protocol import make_task
from svmcut.tasks.weights import apply_weights

COSTS = [2.0, 1.0, 0.5, 0.0, 3.0, 1.0, 1.0, 4.0]


def lines_of(task, costs):
    """Rows of every task, two a structure where rows make structures, with comments and blank lines
    between."""
    labels = {
        "sequence": "1 2 1 3 1 2 2 1",
        "multilabel": "1,4 4 2 7 1 2 4 1",
        "rank": "1 0 2 1 0 1 1 0",
    }
    labels = labels.get(task, "1 -1 1 -1 1 1 -1 -1").split()
    pairs = task in ("rank", "sequence")
    lines = ["# head"]
    for k, label in enumerate(labels):
        cost = costs[k // 2 if pairs else k]
        lines.append(
            f"{label} "
            f"{f'qid:{k // 2 + 1} ' if pairs else ''}{'' if cost is None else f'cost:{cost} '}"
            f"{k % 3 + 1}:{k + 1} {10 + k}:1"
        )
        lines += [""] if k % 3 == 1 else []
    return lines


def of_file(path, task, costs=(None,) * 8, given=None, **parameters):
    (path / task).write_text("\n".join(lines_of(task, costs)) + "\n")
    own = make_task(task)
    settings = plain(Settings(task=task, cost=1.0, **parameters))
    return apply_weights(own, own.read(str(path / task), costs=True), settings, given)


def same(one, two):
    """Whether two sets of examples are one, their weights and lines aside."""
    for name in ("y", "qid", "tags", "names", "indptr", "labels"):
        if hasattr(one, name) and getattr(one, name) is not None:
            np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert one.X.n_features == two.X.n_features
    np.testing.assert_array_equal(one.X.to_dense(), two.X.to_dense())


@pytest.mark.parametrize("task", TASKS)
def test_costs_of_lines_are_what_weights_in_a_file_beside_it_are(tmp_path, task):
    n = 4 if task in ("rank", "sequence") else 8
    costs = COSTS[:n]
    by_line, left_out = of_file(tmp_path, task, costs)
    given, also = of_file(tmp_path, task, given=np.array(costs))
    assert left_out == also == 1
    same(by_line, given)
    found = by_line.weights if task != "rank" else by_line.weights[::2]
    np.testing.assert_array_equal(found, [cost for cost in costs if cost])
    np.testing.assert_array_equal(by_line.weights, given.weights)
    assert len(by_line.weights) == (6 if task == "rank" else n - 1)
    both, _ = of_file(tmp_path, task, costs, np.array(costs))
    np.testing.assert_array_equal(both.weights, by_line.weights**2)


@pytest.mark.parametrize("task", TASKS)
def test_weight_zero_is_a_file_without_the_line_and_lines_keep_their_numbers(tmp_path, task):
    pairs = task in ("rank", "sequence")
    n, gone = (4, [1, 3]) if pairs else (8, [0, 3, 7])
    weights = np.array([0.0 if k in gone else 1.0 for k in range(n)])
    lines = lines_of(task, [None] * 8)
    rows = [k for k, line in enumerate(lines) if line and not line.startswith("#")]
    left = [rows[k] for k in range(8) if weights[k // 2 if pairs else k]]
    found, left_out = of_file(tmp_path, task, given=weights)
    (tmp_path / "short").write_text("\n".join(lines[k] for k in left) + "\n")
    assert (left_out, found.weights) == (len(gone), None)
    same(found, make_task(task).read(str(tmp_path / "short")))
    assert [found.source.line_of(k) for k in range(len(left))] == [k + 1 for k in left]


@pytest.mark.parametrize("task", TASKS)
def test_weights_of_one_are_none(tmp_path, task):
    n = 4 if task in ("rank", "sequence") else 8
    for costs, given in (([1] * 8, None), ([None] * 8, np.ones(n)), ([4] * 8, np.full(n, 0.25))):
        found, left_out = of_file(tmp_path, task, costs, given)
        assert (found.weights, left_out) == (None, 0)


@pytest.mark.parametrize("task", TASKS)
def test_costs_have_no_effect_on_what_is_measured(tmp_path, task):
    (tmp_path / task).write_text("\n".join(lines_of(task, [-1, 0, 3, 2] * 2)))
    for given in ({}, {"test": True}):
        assert make_task(task).read(str(tmp_path / task), **given).weights is None


def test_lines_of_a_structure_agree(tmp_path):
    for task, one in (("rank", "query"), ("sequence", "sequence")):
        lines = lines_of(task, [2.0] * 8)
        lines[4] = lines[4].replace("cost:2.0 ", "cost:3 ")
        lines[5] = lines[5].replace("cost:2.0 ", "")
        (tmp_path / task).write_text("\n".join(lines))
        with pytest.raises(DataError) as refused:
            own = make_task(task)
            apply_weights(own, own.read(str(tmp_path / task), costs=True), Settings(task=task))
        assert str(refused.value) == (
            f"{tmp_path / task}:6: cost 1 (1 where a line has none) stands in a {one} of cost 3; "
            "give all lines of a "
            f"{one} the same"
        )


@pytest.mark.parametrize("task", TASKS)
def test_weights_that_are_none_are_refused_with_the_line(tmp_path, task):
    n, second = (4, 5) if task in ("rank", "sequence") else (8, 3)
    costs = [1.0, -2.5, 1.0, 1.0] + [1.0] * 4
    path = tmp_path / task
    with pytest.raises(DataError, match=f"^{path}:{second}: cost -2.5 is negative; expected"):
        of_file(tmp_path, task, costs)
    large = np.array([1.0, 1e9] + [1.0] * (n - 2))
    with pytest.raises(
        DataError, match=f"^{path}:{second}: the weights multiply to 1e.15; expected at most 1e.12$"
    ):
        of_file(tmp_path, task, [1.0, 1e6, 1.0, 1.0] * 2, large)
    with pytest.raises(DataError, match=f"^{path}: all weights are 0; give a weight above 0 to "):
        of_file(tmp_path, task, given=np.zeros(n))
    one = TASKS[task].unit
    with pytest.raises(
        DataError, match=f"^weights: 3 weights for {path}; expected {n}, one for every {one}$"
    ):
        of_file(tmp_path, task, given=np.ones(3))


def test_balanced_classes_weigh_the_same_in_all(tmp_path):
    """V / (K V_k): the weights of classes, not their counts; what weighs 0 makes no class."""
    given = np.array([1.0, 2.0, 0.5, 1.0, 0.0, 3.0, 1.0, 1.0])
    y = np.array([1, -1, 1, -1, 1, 1, -1, -1])
    found, left_out = of_file(tmp_path, "classification", given=given, class_weight="balanced")
    v = given * np.where(y > 0, 9.5 / (2 * 4.5), 9.5 / (2 * 5.0))
    np.testing.assert_allclose(found.weights, v[given > 0], rtol=1e-15)
    assert left_out == 1 and found.weights.sum() == pytest.approx(9.5, rel=1e-15)
    alone, _ = of_file(
        tmp_path, "classification", given=np.maximum(y, 0.0), class_weight="balanced"
    )
    assert alone.weights is None and (alone.y == 1).all()
    equal, _ = of_file(tmp_path, "classification", class_weight="balanced")
    assert equal.weights is None


def test_classes_of_any_labels_weigh():
    X, _ = arrays()
    y = np.repeat([3.0, 7.0, 5.0], [6, 14, 10])

    def weights(labels, **parameters):
        settings, own = plain(Settings(cost=1.0, **parameters)), make_task("classification")
        return apply_weights(own, own.from_arrays(X[: len(labels)], labels), settings)[0]

    two = y[:20]
    np.testing.assert_allclose(
        weights(two, class_weight="balanced").weights, np.where(two == 7, 20 / 28, 20 / 12)
    )
    found = weights(y, class_weight="balanced", positive=7)
    np.testing.assert_allclose(found.weights, np.where(y == 7, 30 / 28, 30 / 32))
    found = weights(
        y, class_weight={3: 2, 5: 4}, positive=7
    )  # labels weigh, whichever class they are of
    np.testing.assert_array_equal(found.weights, np.select([y == 3, y == 5], [2.0, 4.0], 1.0))
    with pytest.raises(DataError, match="the labels are 3, 5, 7, but two classes are trained"):
        weights(y, class_weight="balanced", given=frozenset({"task"}))
    found = weights(y, class_weight="balanced")  # three classes, where no task is named
    np.testing.assert_allclose(
        found.weights, np.select([y == 3, y == 5], [30 / 18, 30 / 30], 30 / 42)
    )
    assert set(weights(y, class_weight="5=0").y) == {3, 7}
    outcome = svmcut.train(
        (X, y), cost=1.0, gap=0.01, threads=1, class_weight={5: 0}
    )  # two labels are left
    assert outcome.model.labels == (3, 7)


@pytest.mark.parametrize(
    "given",
    ["-1=0.5,1=5", " +1 = 5, -1.0=5e-1", {-1: 0.5, 1: 5}, {np.float32(1): np.int64(5), -1.0: 0.5}],
    ids=str,
)
def test_labels_are_compared_as_numbers(tmp_path, given):
    found, _ = of_file(tmp_path, "classification", class_weight=given)
    np.testing.assert_array_equal(found.weights, np.where(found.y > 0, 5.0, 0.5))
    assert class_weights().take(given) == "-1=0.5,1=5"


def test_a_class_that_is_not_named_weighs_one_and_one_that_is_not_there_is_refused(tmp_path):
    found, _ = of_file(tmp_path, "classification", class_weight="1=3")
    np.testing.assert_array_equal(found.weights, np.where(found.y > 0, 3.0, 1.0))
    found, left_out = of_file(tmp_path, "classification", class_weight={-1: 0, 1: 0.1})
    assert left_out == 4 and (found.weights == 0.1).all()
    with pytest.raises(
        DataError, match=r"no row has the label 2 of parameter 'class_weight'; expected -1, 1$"
    ):
        of_file(tmp_path, "classification", class_weight="2=3")


@pytest.mark.parametrize(
    "given",
    [
        "",
        "1",
        "1=",
        "=1",
        "1=5,",
        "1=-5",
        "1=nan",
        "inf=2",
        "1=inf",
        "1=2,+1=3",
        "x=",
        "1=2=3",
        {},
        5,
        b"1=2",
        {"a": None},
        "Balanced",
        {1: None},
        [1, 2],
    ],
    ids=str,
)
def test_what_weighs_no_class_is_refused(given):
    with pytest.raises(
        UsageError, match=r"^parameter 'class_weight' is .*; expected 'balanced', or weights"
    ):
        svmcut.train("no file", cost=1.0, class_weight=given)


def test_a_file_of_weights(tmp_path):
    (tmp_path / "w").write_bytes(b"1\r\n 2.5 \n0\n+1e-3")
    np.testing.assert_array_equal(read_weights(str(tmp_path / "w")), [1, 2.5, 0, 1e-3])
    for text, line, found in (
        (b"1\n-2\n", 2, "'-2'"),
        (b"nan\n", 1, "'nan'"),
        (b"1\ninf", 2, "'inf'"),
        (b"1\n\n2\n", 2, "a blank line"),
        (b"1 2\n", 1, "'1 2'"),
        (b"# 1\n", 1, "'# 1'"),
        (b"1_0\n", 1, "'1_0'"),
        (b"1\n1e999\n", 2, "'1e999'"),
        (b"\xff\n", 1, "'\ufffd'"),
    ):
        (tmp_path / "w").write_bytes(text)
        with pytest.raises(DataError) as refused:
            read_weights(str(tmp_path / "w"))
        message = f"{found} is no weight; expected one number of at least 0 a line"
        assert str(refused.value) == f"{tmp_path / 'w'}:{line}: {message}"


def test_lines_of_taken_rows():
    source = Source("x", np.array([[0, 2], [3, 5], [7, 6]]))
    rows = np.array([0, 1, 3, 6, 7, 9])
    taken = source.take(rows)
    assert (
        [taken.line_of(k) for k in range(6)]
        == [source.line_of(row) for row in rows]
        == [3, 4, 9, 12, 14, 16]
    )
    np.testing.assert_array_equal(
        Source("x").take(np.arange(5)).lines_of(np.arange(5)), np.arange(1, 6)
    )


def arrays():
    rng = np.random.default_rng(4)
    X = np.hstack([rng.normal(size=(30, 3)), np.zeros((30, 2))]).astype(np.float32)
    return X, np.where(X[:, 0] + rng.normal(size=30) > 0, 1, -1)


def test_arrays_of_weights(tmp_path):
    X, y = arrays()
    v = np.arange(30) % 3 > 0
    X[~v, 4] = 1
    few = svmcut.train((X[v], y[v]), cost=1.0, gap=1e-3, threads=1)
    (tmp_path / "w").write_text("".join(f"{value:d}\n" for value in v))
    for weights in (v, v.astype(float), list(v), str(tmp_path / "w"), tmp_path / "w"):
        found = svmcut.train((X, y), cost=1.0, gap=1e-3, threads=1, weights=weights)
        assert found.model.w.tobytes() == few.model.w.tobytes() and found.primal == few.primal
    for weights, message in (
        (np.where(v, 1, -1), "weights: entry 0 is -1; expected a finite number of at least 0"),
        ([np.nan] * 30, "weights: entry 0 is nan; expected"),
        (v[None], "weights: is 2-dimensional; expected"),
        (["x"], "weights: is no column of numbers"),
        (v[1:], "weights: 29 weights for X; expected 30"),
    ):
        with pytest.raises(DataError, match="^" + message):
            svmcut.train((X, y), cost=1.0, weights=weights)


def test_queries_and_sequences_of_arrays_take_one_weight_each():
    X, y = arrays()
    qid = np.arange(30) // 3
    v = (np.arange(10) % 2).astype(float)
    rows = np.repeat(v > 0, 3)
    for task, labels in (("rank", y), ("sequence", (y > 0) + 1)):
        given = {"task": task, "cost": 1.0, "gap": 0.01, "threads": 1}
        few = svmcut.train((X[rows], labels[rows], qid[rows]), **given)
        found = svmcut.train((X, labels, qid), weights=v, **given)
        assert found.model.w.tobytes() == few.model.w.tobytes()
        with pytest.raises(
            DataError, match=r"^weights: 30 weights for X; expected 10, one for every"
        ):
            svmcut.train((X, labels, qid), weights=np.ones(30), **given)
    with pytest.raises(DataError, match="qid 0 follows 9; query ids start at 0"):
        svmcut.train((X, y, np.roll(qid, 3)), task="rank", cost=1.0, weights=v)


def test_label_sets_of_rows_left_out_are_not_known(tmp_path):
    found, _ = of_file(tmp_path, "multilabel", given=np.array([0, 0, 1, 1, 1, 1, 0, 1]))
    assert found.names.tolist() == [1, 2, 7]
    assert found.names[found.labels].tolist() == [2, 7, 1, 2, 1]
    same(found.validate(), replace(found, X=replace(found.X, proven=False)).validate())
