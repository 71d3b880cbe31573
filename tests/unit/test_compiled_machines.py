# SPDX-License-Identifier: BSD-3-Clause
"""Machines of the compiled loop are those of their own plans, and what it leaves is trained by
them."""

import numpy as np
import pytest

import svmcut
from svmcut.formats import write_model
from svmcut.solvers import smo_machines
from svmcut.training import kernel_classes
from svmcut.training.compiled_machines import CompiledMachines, rows_of_machines

KERNELS = {
    "rbf": {"gamma": 0.5},
    "linear": {},
    "polynomial": {"degree": 2, "scale_kernel": 0.3, "coef0": 1.0},
}


def examples(rng, classes=6, each=9, d=5):
    centres = rng.normal(size=(classes, d))
    y = rng.permutation(np.repeat(np.arange(classes), each))
    return (centres[y] + 0.7 * rng.normal(size=(len(y), d))).astype(np.float32), y


def trained(X, y, **parameters):
    known = {"task": "multiclass", "kernel": "rbf", "solver": "smo", "threads": 1}
    known |= {"multiclass": "one-vs-one", "example_cost": 1.0, **parameters}
    return svmcut.train((X, y), **known | KERNELS[known["kernel"]])


def by_plans(monkeypatch, X, y, **parameters):
    with monkeypatch.context() as patched:
        patched.setattr(kernel_classes, "is_compiled", lambda *known: False)
        return trained(X, y, **parameters)


def assert_same(one, other):
    for name in ("starts", "places", "alpha", "b"):
        np.testing.assert_array_equal(getattr(one.model, name), getattr(other.model, name))
    np.testing.assert_array_equal(one.model.support.to_dense(), other.model.support.to_dense())
    np.testing.assert_array_equal(one.multipliers, other.multipliers)
    np.testing.assert_allclose(one.radii, other.radii, rtol=1e-6, atol=1e-7)
    assert one.converged == other.converged and one.primal_of_file == other.primal_of_file
    assert one.progress.iteration == other.progress.iteration
    for told, known in zip(one.details["machines"], other.details["machines"], strict=True):
        for key in ("labels", "stopped_by"):
            assert told.pop(key) == known.pop(key)
        assert told == pytest.approx(known, rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("way", ["one-vs-one", "one-vs-rest"])
@pytest.mark.parametrize("free_bias", [True, False])
@pytest.mark.parametrize("C", [0.1, 1000.0])
def test_machines_have_the_bytes_of_their_own_plans(rng, monkeypatch, kernel, way, free_bias, C):
    X, y = examples(rng)
    v = rng.uniform(0.2, 3.0, len(y)) if C < 1 else None
    gap = None if free_bias else 1e-4
    how = {"kernel": kernel, "multiclass": way, "free_bias": free_bias, "example_cost": C}
    how |= {"weights": v, "gap": gap}
    assert_same(trained(X, y, **how), by_plans(monkeypatch, X, y, **how))


@pytest.mark.parametrize("cache", [40.0, 0.001])
def test_values_of_all_rows_change_nothing(rng, monkeypatch, cache):
    X, y = examples(rng)
    X = np.round(X, 0)  # with equal rows
    one = trained(X, y, cache_size=cache, threads=2)
    assert_same(one, by_plans(monkeypatch, X, y, cache_size=cache))
    assert one.kernel_evaluations > 0


def test_machines_that_do_not_stand_are_trained_by_their_plans(rng, monkeypatch):
    X, y = examples(rng)
    whole, judge = trained(X, y), CompiledMachines.judge

    def judge_some(*known):
        judged = judge(*known)
        judged.stands[::3] = False
        return judged

    monkeypatch.setattr(CompiledMachines, "judge", judge_some)
    some = trained(X, y)
    assert_same(some, whole)
    assert some.primal == pytest.approx(whole.primal, rel=1e-12)
    assert some.dual == pytest.approx(whole.dual, rel=1e-12)


@pytest.mark.parametrize("over", [0, 1, 7, 14])
def test_an_interrupted_loop_leaves_machines_at_zero(rng, monkeypatch, over):
    X, y = examples(rng)
    whole, train = trained(X, y), smo_machines.train_machines
    monkeypatch.setattr(smo_machines, "FIRST_CALL", 15)

    def stop(*known):
        starts, table = known[5][: over + 1], known[-1]
        if over:
            train(*known[:5], starts, *known[6:-1], table[:over])
        raise KeyboardInterrupt

    monkeypatch.setattr(smo_machines, "train_machines", stop)
    if not over:
        with pytest.raises(KeyboardInterrupt):
            trained(X, y)
        return
    some = trained(X, y)
    assert not some.converged and some.stopped_by == "interrupt"
    assert some.details["machines"] == whole.details["machines"][:over]
    assert (some.model.starts[over:] == some.model.starts[over]).all()
    at_zero = 2 * 9 * (15 - over)
    done = sum(machine["primal"] for machine in some.details["machines"])
    assert some.primal == pytest.approx(done + at_zero)


def test_every_checkpoint_goes_on_to_the_same_bytes(rng, monkeypatch, tmp_path):
    X, y = examples(rng)
    monkeypatch.setattr(smo_machines, "FIRST_CALL", 2)
    monkeypatch.setattr(smo_machines, "SECONDS", 0.0)
    judge = CompiledMachines.judge

    def judge_some(*known):
        judged = judge(*known)
        judged.stands[4:6] = False
        return judged

    monkeypatch.setattr(CompiledMachines, "judge", judge_some)
    states = []

    def keep(driver):
        return lambda progress, objective: states.append(driver.state())

    outcome = _fit(X, y, keep)
    assert len(states) > 10
    for state in states[:: len(states) // 6]:
        resumed = _fit(X, y, None, state)
        assert _text(tmp_path, resumed.model) == _text(tmp_path, outcome.model)
        assert resumed.primal == outcome.primal and resumed.dual == outcome.dual


def _fit(X, y, keep, state=None):
    from svmcut.data.examples import Csr, Examples, Source
    from svmcut.spec.parameters import Settings
    from svmcut.training.driver import make_driver

    settings = Settings(
        task="multiclass", kernel="rbf", gamma=0.5, solver="smo", multiclass="one-vs-one",
        example_cost=1.0, threads=1, free_bias=True,
    )  # fmt: skip
    driver = make_driver(
        settings, Examples(Csr.from_dense(X), y.astype(np.float64), None, None, Source("memory"))
    )
    return driver.fit(None, 1.0, keep and keep(driver), state)


def _text(folder, model):
    write_model(str(folder / "model"), model)
    return (folder / "model").read_bytes()


def test_rows_of_machines_are_those_of_their_classes(rng):
    y = np.unique(rng.integers(0, 7, 60), return_inverse=True)[1]
    K = int(y.max()) + 1
    pairs = [(a, b) for a in range(K) for b in range(a + 1, K)]
    starts, rows, sides = rows_of_machines(y, pairs, True)
    for j, (a, b) in enumerate(pairs):
        own = slice(starts[j], starts[j + 1])
        np.testing.assert_array_equal(rows[own], np.flatnonzero((y == a) | (y == b)))
        np.testing.assert_array_equal(sides[own], np.where(y[rows[own]] == a, 1, -1))
