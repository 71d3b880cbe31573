# SPDX-License-Identifier: BSD-3-Clause
"""Training of classes: optimum, units, weights, path, files and predictions."""

import functools
import math

import numpy as np
import pytest
from reference import hinge
from reference import losses as losses_truth
from reference import multiclass as truth
from refusals import refused

import svmcut
from svmcut.base.errors import DataError, UsageError
from svmcut.base.records import replace
from svmcut.data.examples import Csr
from svmcut.formats import read_model, write_model
from svmcut.models import MulticlassModel
from svmcut.spec.catalog import MULTICLASS
from svmcut.spec.parameters import Settings
from svmcut.tasks.prediction import PredictionOptions, measure, predict
from svmcut.tasks.protocol import make_task

N, K = 40, 4


def examples(rng, n=N):
    X = (rng.normal(size=(n, 5)) * (rng.random((n, 5)) < 0.8)).astype(np.float32)
    return X, np.argmax(X[:, :4] + 0.6 * rng.normal(size=(n, 4)), axis=1)


def trained(X, y, **parameters):
    return svmcut.train((X, y), task="multiclass", **{"gap": 1e-4, "threads": 1, **parameters})


def weights(model):
    return np.vstack([model.W, model.constant])


@functools.cache
def at_once(C):
    """Examples, and the minimum of all classes at once."""
    X, y = examples(np.random.default_rng(20060820))
    return X, y, truth.optimum(X, y, K, C, 1.0)[1]


@pytest.mark.every(2)
@pytest.mark.parametrize("solver", ["dual-cd", "cutting-plane"])
@pytest.mark.parametrize("C", [0.02, 1.0])
def test_all_classes_at_once_reach_the_reference_optimum(solver, C):
    X, y, best = at_once(C)
    outcome = trained(X, y, example_cost=C, solver=solver)
    W = weights(outcome.model)
    assert outcome.converged and outcome.solver == solver
    assert outcome.dual <= best * (1 + 1e-6) and best * (1 - 1e-6) <= outcome.primal <= best * (
        1 + 1e-4
    )
    assert truth.primal(truth.with_constant(X, 1.0), y, W, C) == pytest.approx(
        outcome.primal, rel=1e-9
    )


@pytest.mark.parametrize("solver", ["dual-cd", "newton", "cutting-plane"])
def test_one_against_the_rest_is_a_machine_for_every_class(rng, solver):
    X, y = examples(rng)
    outcome = trained(X, y, example_cost=0.3, solver=solver, multiclass=MULTICLASS[1])
    best = [hinge.optimum(X, np.where(y == k, 1.0, -1.0), 0.3, 1.0)[1] for k in range(K)]
    found = [
        hinge.primal(
            X.astype(float), np.where(y == k, 1.0, -1.0), weights(outcome.model)[:, k], 0.3, 1.0
        )
        for k in range(K)
    ]
    assert outcome.converged
    assert sum(found) == pytest.approx(outcome.primal, rel=1e-9)
    assert outcome.dual <= sum(best) <= outcome.primal
    assert all(value <= least * (1 + 1e-4) for value, least in zip(found, best, strict=True))


@pytest.mark.parametrize("solver", ["dual-cd", "newton", "cutting-plane"])
@pytest.mark.parametrize("loss", ["squared-hinge", "logistic"])
@pytest.mark.parametrize("weighed", [False, True])
def test_other_losses_have_a_machine_for_every_class(rng, solver, loss, weighed):
    X, y = examples(rng)
    v = rng.uniform(0.2, 3.0, N) if weighed else None
    outcome = trained(
        X, y, example_cost=0.3, solver=solver, multiclass=MULTICLASS[1], loss=loss, weights=v
    )
    full, best, found = truth.with_constant(X, 1.0), 0.0, 0.0
    for k in range(K):
        signs = np.where(y == k, 1.0, -1.0)
        best += losses_truth.optimum(loss, full, signs, 0.3, v)
        found += losses_truth.primal(loss, full, signs, weights(outcome.model)[:, k], 0.3, v)
    assert outcome.converged and found == pytest.approx(outcome.primal, rel=1e-9)
    assert outcome.dual <= best * (1 + 1e-9) and best * (1 - 1e-9) <= outcome.primal <= best * (
        1 + 1e-4
    )


@pytest.mark.parametrize("loss", ["squared-hinge", "logistic"])
def test_other_losses_have_the_weights_of_a_unit_loss_in_either_unit_of_c(rng, loss, tmp_path):
    X, y = examples(rng)
    known = {"multiclass": MULTICLASS[1], "loss": loss}
    ours, plain = (
        trained(X, y, cost=2.0, **known),
        trained(X, y, example_cost=2.0 * 100 / N, **known),
    )
    assert np.array_equal(weights(ours.model), weights(plain.model)) and ours.primal == plain.primal
    write_model(str(tmp_path / "model"), ours.model)
    assert f"#@ loss {loss}\n" in (tmp_path / "model").read_text()
    assert read_model(str(tmp_path / "model")).loss == loss
    with pytest.raises(
        UsageError,
        match=f"loss '{loss}' trains each class against the rest; give multiclass='one-vs",
    ):
        trained(X, y, loss=loss)


def test_the_unit_of_c_is_svm_multiclass_s(rng):
    """C of one loss is c / (100 n), the weights of the file are 100 times as long, epsilon counts
    in percent."""
    X, y = examples(rng)
    ours, plain = trained(X, y, cost=400.0), trained(X, y, example_cost=400.0 / (100 * N))
    np.testing.assert_allclose(weights(ours.model), 100 * weights(plain.model), rtol=1e-12)
    assert (ours.primal, ours.dual) == (plain.primal, plain.dual)
    loose = trained(X, y, example_cost=1.0, gap=None, epsilon=0.5)
    assert loose.gap <= N * 0.5 / 100 and loose.objective.c == pytest.approx(N / 100)


@pytest.mark.parametrize("way", MULTICLASS[:2])
def test_a_weight_of_k_is_k_rows(rng, way):
    X, y = examples(rng)
    v = rng.integers(0, 4, N)
    v[: K * 2] = 1
    rows = np.repeat(np.arange(N), v)
    for cost in ({"cost": 300.0}, {"example_cost": 0.2}):
        one, two = (
            svmcut.train(data, task="multiclass", multiclass=way, weights=w, gap=1e-6, **cost)
            for data, w in (((X, y), v), ((X[rows], y[rows]), None))
        )
        assert pytest.approx(two.objective.C) == one.objective.C
        assert one.primal == pytest.approx(two.primal, rel=1e-5)
        np.testing.assert_allclose(
            weights(one.model), weights(two.model), atol=1e-2 * np.abs(one.model.W).max()
        )


def test_balanced_classes_weigh_the_same(rng):
    X, y = examples(rng)
    counts = np.bincount(y)
    outcome = trained(X, y, example_cost=0.3, class_weight="balanced")
    best = truth.optimum(X, y, K, 0.3, 1.0, (N / (K * counts))[y])[1]
    assert outcome.dual <= best * (1 + 1e-6) and best * (1 - 1e-6) <= outcome.primal <= best * (
        1 + 1e-4
    )


@pytest.mark.parametrize(
    ("way", "loss"), [(MULTICLASS[0], None), (MULTICLASS[1], None), (MULTICLASS[1], "logistic")]
)
@pytest.mark.parametrize("weighed", [False, True])
def test_the_digits_of_a_file_change_the_risk_no_more_than_is_told(rng, way, loss, weighed):
    """Whatever the signs of the changes; the worst of them come near it where the losses are
    straight."""
    X, y = examples(rng)
    task, v = make_task("multiclass"), rng.uniform(0.1, 5.0, N) if weighed else None
    settings = Settings(task="multiclass", multiclass=way, loss=loss, example_cost=1.0, bias=-2.0)
    plan = task.plan(replace(task.from_arrays(X, y), weights=v), settings).plan
    risk = plan.classes.risk
    for scale in (0.1, 1.0, 30.0):
        w, e, changes = scale * rng.normal(size=plan.space.dim), 1e-3, []
        here = risk.linearize(plan.space.scores(w))
        worst = np.sign(plan.space.adjoint(here.coef)) * np.sign(w)
        for signs in (worst, -worst, *rng.choice([-1.0, 1.0], (20, len(w)))):
            changes.append(
                abs(risk.linearize(plan.space.scores(w * (1 + e * signs))).value - here.value)
            )
        rise = plan.classes.sensitivity(plan.space, w)
        assert 0.005 * e * rise < max(changes) <= e * rise


def test_a_path_goes_on_from_the_multipliers_before(rng):
    X, y = examples(rng, 400)
    task = make_task("multiclass")
    settings = Settings(task="multiclass", example_cost=1.0, gap=1e-3, threads=1)
    driver = task.plan(task.from_arrays(X, y), settings)
    driver.fit(None, 1.0)
    warm = driver.fit(None, 1.3)
    cold = trained(X, y, example_cost=1.3, gap=1e-3)
    assert warm.converged and warm.progress.passes < cold.progress.passes
    best = trained(X, y, example_cost=1.3, gap=1e-6).primal
    assert best * (1 - 1e-6) <= warm.primal <= best * (1 + 1e-3)


def test_one_class_alone_is_predicted(rng):
    X, _ = examples(rng)
    outcome = trained(X, np.full(N, 7), example_cost=1.0)
    assert outcome.primal == 0 and "no other class to learn" in outcome.warnings[0]
    assert (outcome.model.predict(Csr.from_dense(X)) == 7).all()


def test_a_machine_of_w_0_among_others_has_no_support_vectors():
    X = np.zeros((3, 8), np.float32)
    X[0, 2], X[0, 6], X[1, 4:8] = -0.345, -1.41, (-0.742, -0.52, 0.955, 0.867)
    X[2, 5], X[2, 7] = -0.00184, -0.0735
    way = {"task": "multiclass", "multiclass": "one-vs-rest", "solver": "smo"}
    kernel = {"kernel": "polynomial", "degree": 3, "scale_kernel": 0.1, "coef0": 0.0}
    rows = (X, np.array([-4.0, 14.0, 9.0]))
    weights = np.array([2.0, 2.0, 1.0])
    found = svmcut.train(rows, weights=weights, example_cost=0.02813, gap=1e-2, **way, **kernel)
    assert found.converged and np.all(found.model.alpha != 0)


def test_labels_that_are_not_whole_are_refused(rng):
    X, y = examples(rng)
    with pytest.raises(DataError, match=r"label 1\.5 is not whole"):
        trained(X, np.where(y == 2, 1.5, y), example_cost=1.0)


@pytest.mark.parametrize("bias", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("first", [1, -3])
def test_a_model_survives_its_file(rng, tmp_path, bias, first):
    X, y = examples(rng)
    model = trained(X, y + first, example_cost=0.5, bias=bias).model
    path = str(tmp_path / "model")
    write_model(path, model)
    text = (tmp_path / "model").read_text()
    lines = text.splitlines()
    assert lines[:4] == [
        "SVM-multiclass Version V2.20",
        "4 # number of classes",
        f"{5 + (bias != 0)} # number of base features",
        "0 # loss function",
    ]
    assert ("#@ bias" in text) == (bias != 0) and ("#@ labels -3 -2 -1 0" in text) == (first != 1)
    again = read_model(path)
    np.testing.assert_allclose(again.W, model.W, rtol=1e-6)
    rows = Csr.from_dense(X)
    np.testing.assert_allclose(again.scores(rows), model.scores(rows), rtol=1e-5, atol=1e-6)
    assert np.array_equal(again.names, model.names)
    write_model(path, again)
    assert (tmp_path / "model").read_text() == text


def test_features_far_apart_take_no_memory(tmp_path):
    X = Csr(
        np.ones(4, np.float32),
        np.array([3, 400_000_000] * 2, np.int32),
        np.array([0, 1, 2, 4]),
        400_000_001,
    )
    model = trained(X, [1, 2, 3], example_cost=1.0).model
    write_model(str(tmp_path / "model"), model)
    again = read_model(str(tmp_path / "model"))
    assert again.W.shape == (2, 3) and again.columns.tolist() == [3, 400_000_000]
    np.testing.assert_allclose(again.scores(X), model.scores(X), rtol=1e-6)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("0 # kernel type", "2 # kernel type", "line '#@ bias 1' is refused; expected"),
        ("0 # kernel type", "4 # kernel type", 'kernel type "4" is unknown'),
        ("#@ bias 1", "#@ bias zero", "is refused; expected '#@ labels L1 L2"),
        ("#@ labels 0 1 2 3", "#@ labels 0 1 2", "names 3 classes; expected 4"),
        ("#@ labels 0 1 2 3", "#@ labels 0 1 1 3", "is refused; expected '#@ labels L1 L2"),
        ("#@ bias 1", "#@ loss f1", "is refused; expected '#@ labels L1 L2"),
        ("4 # number of classes", "0 # number of classes", "expected the number of classes"),
        ("6 # number of base", "0 # number of base", "'#@ bias' needs a base feature"),
        ("6 # number of base", "2147483647 # number of base", "have weights above number"),
    ],
)
def test_a_damaged_model_is_refused(rng, tmp_path, old, new, told):
    X, y = examples(rng)
    write_model(str(tmp_path / "model"), trained(X, y, example_cost=0.5).model)
    assert told in refused(tmp_path / "model", (tmp_path / "model").read_text(), old, new)


def test_predictions_and_measures(tmp_path):
    model = MulticlassModel(np.eye(3), np.zeros(3), 0.0, np.array([2.0, 5.0, 9.0]))
    lines = ["2 1:1", "5 1:1 2:0.5", "5 2:2", "9 3:1", "7 3:1", "9 1:0.5 3:0.5"]
    (tmp_path / "test").write_text("\n".join(lines) + "\n")
    task, path = make_task("multiclass"), str(tmp_path / "test")
    found = predict(task, model, path, str(tmp_path / "out"))
    out = (tmp_path / "out").read_text().splitlines()
    assert out[1] == "2 1.00000000 0.50000000 0.00000000" and out[5].startswith(
        "2 "
    )  # the first of equal scores
    values = task.measure(found.tally).values
    assert values["accuracy"] == pytest.approx(100 * 3 / 6)
    assert values["precision"] == pytest.approx(100 * (1 / 3 + 1 + 0 + 1 / 2) / 4)
    assert values["recall"] == pytest.approx(100 * (1 + 1 / 2 + 0 + 1 / 2) / 4)
    assert values["f1"] == pytest.approx(100 * (1 / 2 + 2 / 3 + 0 + 1 / 2) / 4)
    assert task.counts_of(found.tally)["confusion"] == [[1, 0, 0], [1, 1, 0], [1, 0, 1]]
    told = "1 labels of test are of no class the model knows, and count as errors"
    assert task.warnings(found.tally, "test") == [told]
    predict(task, model, path, str(tmp_path / "out"), PredictionOptions(labels=True))
    assert (tmp_path / "out").read_text().split() == ["2", "2", "5", "9", "9", "2"]
    broken = replace(model, W=np.full((3, 3), math.inf))
    with np.errstate(invalid="ignore"):
        assert (
            "not finite"
            in task.warnings(predict(task, broken, path, str(tmp_path / "out")).tally, "test")[-1]
        )
    assert measure(task, model, task.read(path)) == values
