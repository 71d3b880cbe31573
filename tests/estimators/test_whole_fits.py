# SPDX-License-Identifier: BSD-3-Clause
"""A fit that is refused or interrupted, wherever, leaves every attribute as it was; one that ends
sets all of them."""

import pickle
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import svmcut
from svmcut import compat
from svmcut.estimators import base, clusters
from svmcut.estimators.base import Trained, whole
from svmcut.tasks.protocol import make_task

ESTIMATORS = [
    thing
    for name in sorted(svmcut.__all__)
    if isinstance(thing := getattr(svmcut, name), type) and issubclass(thing, Trained)
]
THEIRS = [getattr(compat, name) for name in sorted(compat.__all__)]
ALL = [*ESTIMATORS, *THEIRS, clusters.LinearSVM]
FILES = str(Path(base.__file__).parent)


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch):
    """What the workers of Dask would do is done here, on a matrix in the place of files."""

    def make_driver(rows, files, settings):
        data = files.paths[0]
        own = make_task("classification")
        return SimpleNamespace(X=data.X, table=None), own.plan(
            own.from_arrays(data.X, data.y), settings
        )

    monkeypatch.setattr(clusters, "here", lambda client: client)
    monkeypatch.setattr(clusters, "DaskRows", lambda client: SimpleNamespace(close=lambda: None))
    monkeypatch.setattr(clusters, "list_files", lambda parts: ("X", parts))
    monkeypatch.setattr(clusters, "make_driver", make_driver)


def examples(Estimator, seed, n=12, d=3):
    """Arguments of fit: other seeds have other classes and, where d differs, other features."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)).astype(np.float32), np.arange(n) % 2 + 10 * seed
    if Estimator is svmcut.ChainSVM:
        return [
            list(map(lambda row: {f"f{seed}": row[0], "b": row[1]}, X[k : k + 2]))
            for k in range(0, n, 2)
        ], [["u", f"t{seed}"] for _ in range(0, n, 2)]
    if Estimator is svmcut.MultilabelSVM:
        return X, np.column_stack([y == y[0], y != y[0], X[:, 0] > 0]).astype(int)[:, : 1 + seed]
    if Estimator is svmcut.RankSVM:
        return X, y, np.arange(n) // 4
    if Estimator is svmcut.SurvivalSVM:
        return X, (1.0 + np.arange(n)) * np.where(y == y[0], 1, -1)
    if Estimator is clusters.LinearSVM:
        return ([SimpleNamespace(X=base.as_rows(X), y=y.astype(float))],)
    return X, y


def made(Estimator, **parameters):
    one = {"warm_start": True} if "warm_start" in Estimator().get_params() else {}
    one |= {"probability": True} if Estimator is svmcut.LinearSVM else {}
    one |= {"dual": True} if Estimator is svmcut.compat.LinearSVC else {}  # machine by machine
    return Estimator(tol=0.3, **one, **parameters)


def state(machine):
    """Every attribute by identity and by its bytes; what the next fit may start from by what it
    holds."""
    found = {
        name: (id(value), pickle.dumps(value))
        for name, value in vars(machine).items()
        if name != "_starts"
    }
    known, starts = vars(machine).get("_starts", (b"", {}))
    return found, known, {key: id(value) for key, value in starts.items()}


def throws(error):
    def function(*arguments):
        raise error

    return function


class Lines:
    """Raises KeyboardInterrupt at the k-th line that the estimators run; -1 counts them."""

    def __init__(self, at):
        self.at, self.met = at, 0

    def __call__(self, frame, event, argument):
        if not frame.f_code.co_filename.startswith(FILES):
            return None
        if event == "line":
            self.met += 1
            if self.met == self.at:
                raise KeyboardInterrupt
        return self


def traced(lines, machine, given):
    before = sys.gettrace()
    sys.settrace(lines)
    try:
        machine.fit(*given)
    finally:
        sys.settrace(before)


@pytest.mark.every(2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("Estimator", ALL, ids=lambda one: f"{one.__module__}.{one.__name__}")
def test_an_interrupt_at_any_line(Estimator):
    machine = made(Estimator).fit(*examples(Estimator, 1))
    before, other = state(machine), examples(Estimator, 2, 16, 4)
    traced(count := Lines(-1), made(Estimator), other)
    assert count.met > 15
    # all lines at the end, where attributes are set, and some before
    for at in sorted({*range(1, count.met, 17), *range(count.met - 9, count.met - 1)}):
        with pytest.raises(KeyboardInterrupt):
            traced(Lines(at), machine, other)
        assert state(machine) == before, at
    machine.fit(*other)
    assert all(state(machine)[0][name] != before[0][name] for name in ("primal_", "dual_", "gap_"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("Estimator", ALL, ids=lambda one: f"{one.__module__}.{one.__name__}")
@pytest.mark.parametrize(
    "where", ["parameter", "data", "observer", "later machine", "solver", "warning"]
)
def test_what_refuses_or_ends_a_fit(Estimator, where, monkeypatch):
    machine = made(Estimator).fit(*examples(Estimator, 1))
    other = list(examples(Estimator, 2, 16, 4))
    expected = {"observer": KeyboardInterrupt, "solver": MemoryError}.get(where, ValueError)
    if where == "parameter":
        machine.set_params(**{"C" if "C" in machine.get_params() else "nu": -1.0})
    elif where == "data" and Estimator in (svmcut.ChainSVM, clusters.LinearSVM):
        other[0] = [*other[0], []] if Estimator is svmcut.ChainSVM else [None]
        expected = (ValueError, AttributeError)
    elif where == "data":
        other[0] = np.where(other[0] > 1, np.nan, other[0])
    elif where == "observer":
        monkeypatch.setattr(base.ProgressBar, "show", throws(KeyboardInterrupt))
    elif where == "solver":
        monkeypatch.setattr(svmcut.training.driver.Driver, "_follow", throws(MemoryError))
    elif where == "warning":
        monkeypatch.setattr(base, "warn", throws(ValueError))
        monkeypatch.setattr(base, "machines_of", lambda outcome: [(2.0, 1.0, 3, "limit", 2.0)])
    else:
        several = Estimator is svmcut.LinearSVM  # one machine a class
        other[1:2] = [np.arange(16) % 3] if several else other[1:2]
        drive = [Trained._drive] * several
        monkeypatch.setattr(Trained, "_drive", lambda *run: drive.pop()(*run))
        monkeypatch.setattr(clusters, "fit_all", throws(IndexError))
        expected = IndexError
    before = state(machine)
    with pytest.raises(expected):
        machine.fit(*other)
    assert state(machine) == before


@pytest.mark.parametrize("Estimator", ALL, ids=lambda one: f"{one.__module__}.{one.__name__}")
def test_every_fit_is_whole(Estimator):
    owner = next(kind for kind in Estimator.__mro__ if "fit" in vars(kind))
    assert vars(owner)["fit"].__code__ is whole(lambda self: None).__code__


@pytest.mark.parametrize("Estimator", ESTIMATORS, ids=lambda one: one.__name__)
def test_texts_in_the_place_of_flags_and_numbers_are_refused(Estimator):
    bad = {
        "C": None,
        "intercept_scaling": -1.0,
        "n_jobs": "all",
        "verbose": "no",
        "fit_intercept": "no",
        "probability": "x",
        "warm_start": 2,
        "quick": "x",
    }
    defaults = Estimator().get_params()
    for name in bad.keys() & defaults.keys():
        if bad[name] is defaults[name]:  # None is ChainSVM's own C
            continue
        with pytest.raises(ValueError, match=f"{name}={bad[name]!r} is not (True or False|a )"):
            Estimator(**{name: bad[name]}).fit(*examples(Estimator, 1))
    with pytest.raises(ValueError, match="no sequence has a token"):
        svmcut.ChainSVM().fit([], [])


def test_what_was_fitted_is_what_predicts_and_is_scored_and_saved(tmp_path, rng):
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    machine = svmcut.PerfClassifier("prec-at-k", C=1.0, k=0.5).fit(X, y)
    value = machine.score(X, y)
    assert machine.set_params(loss="f1", k=None).score(X, y) == value
    smooth = svmcut.LinearSVM(loss="logistic", probability=True, tol=0.1).fit(X, y)
    smooth.save(tmp_path / "one")
    smooth.set_params(loss="hinge", probability=False).save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    plain = svmcut.LinearSVM(tol=0.1).fit(X, y).set_params(probability=True)
    with pytest.raises(ValueError, match="the last fit was without probability=True; fit again"):
        plain.predict_proba(X)
