# SPDX-License-Identifier: BSD-3-Clause
"""A certified choice of C: the claim holds for many C that are trained by themselves, threads and
stops change nothing."""

from pathlib import Path

import numpy as np
import pytest

import svmcut
from svmcut.base.errors import UsageError
from svmcut.base.records import replace
from svmcut.scoring.path_errors import wrong_spans
from svmcut.selection.grid import Search, Terms, cells_of, held_out, parts_of
from svmcut.selection.interval import CertifiedChoice, GridProof, Interval, check_choice
from svmcut.spec.parameters import Settings
from svmcut.spec.refusals import plain
from svmcut.tasks.protocol import make_task

TASK = make_task("classification")


def data(seed, n=90, d=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.choice([0.3, 1, 3], size=d)
    y = np.where(X @ rng.normal(size=d) + 0.8 * rng.normal(size=n) > 0, 1.0, -1.0)
    return TASK.from_arrays(X.astype(np.float32), y)


def choice(loss="error-rate", most=0.05, folds=None, ends=(0.01, 10.0), **how):
    train, held = data(0), data(1)
    given = {"loss": loss, "example_cost": 1.0, "threads": how.pop("threads", 1)}
    driver = TASK.plan(train, plain(Settings(**given, given=frozenset(given))))
    if folds is None:
        parts, settings = held_out(train, held, driver.settings)
    else:
        parts, settings, _ = parts_of(train, driver.settings, folds)
    interval, state = Interval(*ends, most), how.pop("state", None)
    made = CertifiedChoice(TASK, settings, interval, parts, driver, **how)
    if state is not None:
        made.restore(state)
    return made, parts


def errors_at(parts, loss, C):
    """The share of errors of the optimum, and which rows are wrong, fold by fold."""
    shares, rows = [], []
    for part in parts:
        train, held = part()
        given = {"loss": loss, "example_cost": C, "gap": 1e-9}
        driver = TASK.plan(train, plain(Settings(**given, given=frozenset(given))))
        f = driver.fit(None, C).model.scores(held.X)
        rows.append((f > 0) != (held.y > 0))
        shares.append(rows[-1].mean())
    return np.mean(shares), rows


@pytest.mark.every(3)
@pytest.mark.parametrize("loss", ["error-rate", "squared-hinge", "logistic"])
@pytest.mark.parametrize("folds", [None, 3])
def test_no_C_is_better_by_more(loss, folds):
    found, parts = choice(loss, 0.1, folds)
    found.run()
    report = found.report()
    assert found.proven and not found.stuck and report["within"] <= 0.1 + 1e-12
    C, errors = found.best
    assert report["trainings"] == len(report["trained"]) * len(parts)
    assert errors_at(parts, loss, C)[0] == pytest.approx(errors, abs=0.02)
    for C in np.geomspace(0.01, 10, 17):
        share, rows = errors_at(parts, loss, C)
        assert share >= errors - report["within"] - 1e-9
        least = [row["at_least"] for row in report["intervals"] if row["low"] <= C <= row["high"]]
        assert share >= max(least) - 1e-9
        for half, bad in zip(found._halves, rows, strict=True):
            for point in half.trained.values():
                low, high = wrong_spans(point.anchor)
                assert bad[(low < C) & (high > C)].all()


def test_made_points_are_bounds_too():
    found, _ = choice(most=0.3)
    found.run()
    (half,) = found._halves
    low, high = (half.trained[C] for C in found.ends)
    for C in (0.05, 0.4, 3.0):
        made = half.between(low, high, C)
        exact = half.train(C, (None, C), 1e-10, lambda *_: None)
        q = exact.anchor
        centre = (made.s + made.u) / 2
        radius = np.sqrt(made.T + (made.ww - 2 * made.wv + made.vv) / 4)
        assert (np.abs(centre - q.s) <= made.length * radius + 1e-6).all()


def test_threads_and_stops_change_nothing():
    whole, _ = choice(folds=3)
    whole.run()
    threaded, _ = choice(folds=3, threads=4)
    threaded.run()
    assert threaded.report() == whole.report()
    states = []
    again, _ = choice(folds=3)
    again.run(lambda: states.append(again.state()))
    for state in (states[0], states[len(states) // 2]):
        resumed, _ = choice(folds=3, state=state)
        resumed.run()
        assert resumed.report() == whole.report()


def test_a_limit_leaves_what_was_found():
    found, _ = choice(time_limit=0.0)
    found.run()
    assert found.late and not found.proven and found.slack == 1.0
    assert found.best == (0.01, 1.0) and found.report()["intervals"] == []


def test_closer_choices_train_more_and_smaller_gaps_where_these_bound_it():
    known = []
    for most in (0.2, 0.05, 0.02):
        found, _ = choice(most=most)
        found.run()
        known.append(found.trainings)
    assert known == sorted(known) and known[0] < known[-1]


@pytest.mark.parametrize(
    "settings",
    [
        {"loss": "f1", "cost": 1.0},
        {"kernel": "rbf"},
        {"free_bias": True, "bias": 0.0},
        {"penalty": "l1", "loss": "logistic"},
        {"epsilon": 0.1},
        {"task": "regression"},
    ],
)
def test_what_has_no_bound_is_refused(settings):
    unit = {} if "cost" in settings else {"example_cost": 1.0}
    with pytest.raises(UsageError, match="certify_choice"):
        check_choice(plain(Settings(**unit, **settings, given=frozenset(settings))))


@pytest.mark.every(2)
@pytest.mark.parametrize("folds", [None, 3])
def test_a_plain_grid_says_what_it_proves(folds):
    train, held = data(0), data(1)
    given = {"example_cost": 1.0, "gap": 1e-4, "threads": 1}
    driver = TASK.plan(train, plain(Settings(**given, given=frozenset(given))))
    if folds is None:
        parts, settings = held_out(train, held, driver.settings)
    else:
        parts, settings, _ = parts_of(train, driver.settings, folds)
    values = np.geomspace(0.02, 0.2, 16).tolist()
    assert GridProof.can_prove(driver.settings, values, "accuracy")
    proof, searches = GridProof(len(parts)), []
    for taken in (proof.take, None):
        found = Search(TASK, settings, cells_of(values, {}), parts, driver, Terms(taken=taken))
        found.run()
        searches.append(found.results)
    assert searches[0] == searches[1]  # what is measured is not changed
    report = proof.finish(values)
    assert 0 <= report["within"] < report["errors"] and report["trainings"] == 16 * len(parts)
    for C in np.geomspace(0.02, 0.2, 25):
        share = errors_at(parts, "error-rate", C)[0]
        least = [row["at_least"] for row in report["intervals"] if row["low"] <= C <= row["high"]]
        assert share >= max(least) - 1e-9 and share >= report["errors"] - report["within"] - 1e-9


def test_no_grid_proves_what_is_no_sum_of_two_classes():
    for how in (
        {"kernel": "rbf"},
        {"loss": "f1", "cost": 1.0},
        {"penalty": "l1", "loss": "logistic"},
    ):
        assert not GridProof.can_prove(plain(Settings(**how)), [0.1, 1.0], "accuracy")
    assert not GridProof.can_prove(plain(Settings()), [0.1, 1.0], "f1")
    assert not GridProof.can_prove(plain(Settings()), [0.1, 0.1], "accuracy")
    empty = GridProof(2)
    assert empty.finish([0.1, 1.0]) is None


def test_large_examples_are_not_kept(monkeypatch):
    monkeypatch.setattr("svmcut.selection.interval.ROOM", 100)
    choice = svmcut.cross_validate(rows(), 2, example_cost=[0.05, 0.1], threads=1)
    assert choice.proof is None


def rows(seed=0):
    examples = data(seed)
    return examples.X.to_dense(), examples.y


def test_python_chooses_and_proves():
    chosen = svmcut.certified_choice(rows(), (0.02, 0.2), 0.1, folds=3, threads=1)
    proof, made = chosen.proof, choice(most=0.1, folds=3, ends=(0.02, 0.2))[0]
    made.run()
    assert proof == made.report() and proof["proven"] and chosen.cells == proof["trained"]
    assert chosen.best["example_cost"] == proof["C"] and chosen.outcome.converged
    beside = svmcut.certified_choice(rows(), (0.02, 0.2), 0.1, validate=rows(1), threads=1)
    assert beside.proof["trainings"] == len(beside.cells) and beside.proof["proven"]
    grid = svmcut.cross_validate(rows(), 3, example_cost=[0.05, 0.06], gap=1e-5, threads=1)
    assert grid.proof["within"] <= grid.proof["errors"] and len(grid.proof["intervals"]) == 1


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"interval": (1.0, 0.1)}, "is no interval of C; expected two numbers above 0"),
        ({"interval": 1.0}, "is no interval of C"),
        ({"within": 0}, "is no share"),
        ({"example_cost": 1.0}, "'example_cost' does not go with an interval of C"),
        ({"kernel": "rbf"}, "is for two classes on features"),
    ],
)
def test_what_is_no_choice_is_refused_in_python(how, said):
    words = {"interval": (0.1, 1.0), "within": 0.1, **how}
    with pytest.raises(UsageError, match=said):
        svmcut.certified_choice(rows(), **words)


@pytest.mark.slow
def test_no_C_of_two_thousand_is_better_by_more():
    values, folder = np.geomspace(1e-3, 10, 2000), Path(svmcut.__file__).parents[1] / "data"
    train, held = (TASK.read(str(folder / f"wine.{name}")) for name in ("train", "test"))
    given = {"example_cost": 1.0, "gap": 1e-7, "threads": 1}
    driver = TASK.plan(train, plain(Settings(**given, given=frozenset(given))))
    signs = held.y > 0
    errors = [((driver.fit(None, C).model.scores(held.X) > 0) != signs).mean() for C in values]
    parts, settings = held_out(train, held, replace(driver.settings, gap=None))
    for most in (0.05, 0.02, 0.01):
        found = CertifiedChoice(TASK, settings, Interval(1e-3, 10.0, most), parts, driver)
        found.run()
        assert found.proven and min(errors) >= found.best[1] - found.slack - 1e-9
        for low, high, lowest in found.stretches:
            inside = (values >= low) & (values <= high)
            assert (np.array(errors)[inside] >= lowest.weight - 1e-9).all()
