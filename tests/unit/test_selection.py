# SPDX-License-Identifier: BSD-3-Clause
"""A search trains every cell on every fold as a run by itself would, in chains that do not hang on
the threads."""

import threading

import numpy as np
import pytest

import svmcut
from svmcut.base.errors import TrainingError, UsageError
from svmcut.base.records import replace
from svmcut.data.examples import Csr, Examples, Source
from svmcut.data.folds import make_folds
from svmcut.selection.grid import CHAIN, Search, cells_of, chains_of, parts_of
from svmcut.spec.parameters import Settings
from svmcut.tasks.prediction import measure
from svmcut.tasks.protocol import make_task

TASK = make_task("classification")


def examples(rng, n=80, weights=None):
    X = rng.normal(size=(n, 3)).astype(np.float32)
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=n) > 0, 7.0, 3.0)
    return Examples(Csr.from_dense(X), y, None, weights, Source("some.dat"))


def searched(data, cells, K=3, **how):
    how = {"threads": 2, "gap": 1e-9, "example_cost": 1.0} | how
    settings = Settings(task="classification", given=frozenset(), **how)
    whole = TASK.plan(data, settings)
    parts, settings, _ = parts_of(data, whole.settings, K)
    return Search(TASK, settings, cells, parts, whole)


@pytest.mark.parametrize("parts", [1, 3])
def test_chains_hold_every_cell_once_from_the_smallest_c_on(parts):
    cells = cells_of([8.0, 1.0, 2.0, 0.5, 4.0, 0.1], {"gamma": [1.0, 0.1]})
    chains = chains_of(cells, parts)
    found = sorted((chain.part, place) for chain in chains for place in chain.cells)
    assert found == [(part, place) for part in range(parts) for place in range(12)]
    for chain in chains:
        C = [cells[place]["C"] for place in chain.cells]
        assert (
            sorted(C) == C
            and len(C) <= CHAIN
            and len({cells[place]["gamma"] for place in chain.cells}) == 1
        )
    largest = [cells[chain.cells[-1]]["C"] for chain in chains]
    assert largest == sorted(largest, reverse=True)


@pytest.mark.parametrize("unit", ["example_cost", "cost"])
def test_a_cell_is_what_training_on_its_fold_gives(rng, unit):
    data = examples(rng, weights=rng.integers(1, 4, size=80).astype(float))
    cells = cells_of([0.3, 3.0, 30.0], {})
    search = searched(data, cells, **{"example_cost": None, "cost": None} | {unit: 1.0})
    search.run()
    assert search.complete
    total = data.weights.sum()
    for part, fold in enumerate(make_folds("classification", data, 3)):
        train, held = data.take(fold.train), data.take(fold.held)
        for place, cell in enumerate(cells):
            C = cell["C"] if unit == "example_cost" else 100 * cell["C"] / total
            alone = TASK.plan(train, Settings(task="classification", example_cost=C, gap=1e-9))
            expected = measure(TASK, alone.fit(None, C).model, held)
            assert search.results[part][place]["values"] == pytest.approx(expected)
    values = search.values("accuracy")
    assert search.best("accuracy") == int(np.argmax(np.mean(values, axis=1)))


def test_the_cost_of_a_measure_of_all_examples_is_the_same_in_every_fold(rng):
    data, found = examples(rng), []
    search = searched(data, cells_of([5.0], {}), loss="f1", cost=5.0, example_cost=None, gap=1e-3)
    search.run()
    for fold in make_folds("classification", data, 3):
        driver = TASK.plan(
            data.take(fold.train), Settings(task="classification", loss="f1", cost=5.0, gap=1e-3)
        )
        found.append(measure(TASK, driver.fit(5.0, None).model, data.take(fold.held))["f1"])
    assert search.values("f1") == [pytest.approx(found)]


def test_ties_go_to_the_first_cell(rng):
    data = examples(rng)
    search = searched(data, cells_of([1.0, 2.0, 4.0], {}))
    row = {"values": {"accuracy": 50.0}, "done": True}
    search.results = [[dict(row) for _ in range(3)] for _ in range(3)]
    assert search.best("accuracy") == 0
    search.results[1][0] = None  # one fold short
    assert search.best("accuracy") == 1
    for results in search.results:
        results[1] = {"values": {"accuracy": float("nan")}, "done": True}
    assert search.best("accuracy") == 2
    rows = search.rows("accuracy")
    assert [row["selected"] for row in rows] == [False, False, True] and np.isnan(rows[0]["mean"])
    assert [row["converged"] for row in rows] == [False, True, True]


def test_a_failure_of_a_chain_is_the_failure_of_the_search(rng):
    search = searched(examples(rng), cells_of([1.0], {}))
    search._parts[1] = lambda: (_ for _ in ()).throw(TrainingError("no such part"))
    with pytest.raises(TrainingError, match="no such part"):
        search.run()


def test_what_the_look_raises_ends_all_threads_within_their_loops(rng):
    """The descents would take many seconds; no thread is left behind."""

    class Enough(Exception):
        pass

    data = replace(
        examples(rng, 3000), X=Csr.from_dense(rng.normal(size=(3000, 300)).astype(np.float32))
    )
    search = searched(data, cells_of([1e9], {}), solver="dual-cd", gap=1e-300)
    before = threading.active_count()
    with pytest.raises(Enough):
        search.run(look=lambda: (_ for _ in ()).throw(Enough))
    assert threading.active_count() == before and search.done == 0
    settings = replace(search._settings, solver="newton", gap=1e-3)
    assert TASK.plan(data, settings).fit(None, 1.0).converged  # and the next run is not ended


def test_a_state_of_another_grid_is_refused(rng):
    data = examples(rng)
    search = searched(data, cells_of([1.0, 2.0], {}))
    search.run()
    with pytest.raises(ValueError, match="length of search"):
        searched(data, cells_of([1.0], {}))._restore(search.state())
    damaged = search.state()
    damaged["results"][0][0] = {"values": {"accuracy": "high"}, "done": True}
    with pytest.raises(ValueError, match="measures"):
        searched(data, cells_of([1.0, 2.0], {}))._restore(damaged)
    damaged = search.state() | {"standing": {"17": {"at": 0, "driver": {}}}}
    with pytest.raises(ValueError, match="chains"):
        searched(data, cells_of([1.0, 2.0], {}))._restore(damaged)


def test_cross_validate_is_the_command_from_python(rng):
    data = examples(rng)
    X, words = data.X.to_dense(), {"kernel": "rbf", "gap": 1e-6}
    grid = {"example_cost": [0.3, 3.0], "gamma": [0.1, 1.0]}
    choice = svmcut.cross_validate((X, data.y), 3, select="f1", **grid, **words)
    assert [(cell["C"], cell["gamma"]) for cell in choice.cells] == [
        (0.3, 0.1),
        (0.3, 1.0),
        (3.0, 0.1),
        (3.0, 1.0),
    ]
    (best,) = (cell for cell in choice.cells if cell["selected"])
    assert best["mean"] == max(cell["mean"] for cell in choice.cells) == np.mean(best["folds"])
    assert choice.best == {"C": best["C"], "gamma": best["gamma"]}
    alone = svmcut.train((X, data.y), example_cost=best["C"], gamma=best["gamma"], **words)
    assert alone.primal == choice.outcome.primal and choice.outcome.converged
    fixed = svmcut.cross_validate((X, data.y), 3, select="f1", example_cost=3.0, gamma=1.0, **words)
    assert fixed.cells[0]["folds"] == choice.cells[3]["folds"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            {"gamma": [1.0, 2.0]},
            "'gamma' has several values and no effect with the linear kernel; leave it out",
        ),
        ({"cost": []}, "'cost' is an empty list"),
        ({"example_cost": [1.0, 1]}, "the same value stands twice in parameter 'example_cost'"),
        ({"example_cost": [1.0, -1.0]}, "'example_cost' is -1.0; expected a number above 0"),
        ({"tube": [1.0, 2.0]}, "parameter 'tube' is"),
        ({"select": "mse"}, "select='mse' is unknown; expected one of error_rate, accuracy"),
        ({"folds": 81}, "has 80 examples, too few for 81 folds"),
        ({"folds": 1}, "folds is 1; expected at least 2"),
    ],
)
def test_refusals_of_cross_validate(rng, words, message):
    data = examples(rng)
    with pytest.raises(UsageError, match=message):
        svmcut.cross_validate((data.X.to_dense(), data.y), **words)
