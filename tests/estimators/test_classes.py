# SPDX-License-Identifier: BSD-3-Clause
"""Classifiers: their certificate, their bytes, what they take and what they refuse."""

import doctest
import pickle
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import dump_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import svmcut
from svmcut import KernelSVM, LinearSVM, PerfClassifier
from svmcut.cli.start import main
from svmcut.estimators import kernel, linear
from svmcut.formats import write_model
from svmcut.models import MulticlassModel
from svmcut.tasks import weights as task_weights

DATA = Path(__file__).resolve().parents[2] / "data"


@pytest.fixture(scope="module")
def cancer():
    return svmcut.load_svmlight_file(DATA / "breast_cancer.train")


@pytest.fixture(scope="module")
def digits():
    return svmcut.load_svmlight_file(DATA / "digits.train")


@pytest.fixture
def classes(rng):
    """300 rows of float32 in three classes, half of their entries 0."""
    X = rng.normal(size=(300, 12)).astype(np.float32) * (rng.random((300, 12)) < 0.5)
    return X.astype(np.float32), np.array(["a", "b", "c"])[
        np.argmax(X[:, :3] + rng.normal(size=(300, 3)), axis=1)
    ]


def hinge(machine, X, y, weights=1.0, C=1.0):
    """1/2 w'w + C sum_i v_i hinge of every machine, from the definition."""
    labels = machine.classes_ if len(machine.classes_) > 2 else machine.classes_[1:]
    scores = X @ machine.coef_.T.astype(np.float64) + machine.intercept_
    signs = np.where(np.asarray(y)[:, None] == labels, 1.0, -1.0)
    losses = C * (np.asarray(weights) * np.maximum(0, 1 - signs * scores).T).sum(axis=1)
    return 0.5 * (np.square(machine.coef_).sum(axis=1) + machine.intercept_**2) + losses


@pytest.mark.parametrize("module", [linear, kernel], ids=lambda module: module.__name__)
def test_examples_of_the_docstrings(module):
    found = doctest.testmod(module)
    assert found.attempted and not found.failed


def test_the_certificate_is_that_of_the_weights(classes):
    X, y = classes
    machine = LinearSVM(tol=1e-4, random_state=0).fit(X, y)
    assert machine.coef_.shape == (3, 12) and machine.primal_.shape == (3,) and machine.converged_
    np.testing.assert_allclose(machine.primal_, hinge(machine, X.astype(np.float64), y), rtol=1e-9)
    np.testing.assert_allclose(machine.gap_, machine.primal_ - machine.dual_)
    assert np.all(machine.gap_ <= 1e-4 * machine.primal_) and np.all(machine.gap_ >= 0)
    theirs = LinearSVC(loss="hinge", tol=1e-8, max_iter=1_000_000, random_state=0).fit(X, y)
    theirs = hinge(theirs, X.astype(np.float64), y)
    assert np.all(machine.primal_ <= (1 + 1e-4) * theirs) and np.all(machine.dual_ <= theirs)


def test_a_kernel_machine_is_that_of_svc(classes):
    X, y = classes
    machine, theirs = KernelSVM(tol=1e-7).fit(X, y == "a"), SVC(tol=1e-7).fit(X, y == "a")
    np.testing.assert_allclose(machine.decision_function(X), theirs.decision_function(X), atol=2e-3)
    scores = KernelSVM(kernel="linear").fit(X, y)
    expected = scores.support_vectors_ @ X.T
    np.testing.assert_allclose(
        scores.decision_function(X),
        expected.T @ scores.dual_coef_.T + scores.intercept_,
        rtol=1e-5,
        atol=1e-5,
    )
    with pytest.warns(ConvergenceWarning, match=r"training ended \(basis\) at gap"):
        budgeted = KernelSVM(solver="bsca", budget=20, random_state=0).fit(X, y == "a")
    assert budgeted.support_vectors_.shape[0] <= 20 and budgeted.solver_ == "bsca"


def bytes_of(machine):
    return machine.coef_.tobytes() + machine.intercept_.tobytes() + machine.primal_.tobytes()


@pytest.mark.parametrize("Estimator", [LinearSVM, PerfClassifier])
def test_same_bytes_for_threads_types_and_copies(classes, Estimator):
    X, y = classes
    y = y if Estimator is LinearSVM else y == "a"
    machine = Estimator(random_state=3)
    expected = bytes_of(machine.fit(X, y))
    assert bytes_of(pickle.loads(pickle.dumps(machine))) == expected
    assert len(pickle.dumps(machine)) < 4000
    inputs = [
        X.astype(np.float64),
        np.asfortranarray(X),
        sp.csr_matrix(X),
        sp.csc_matrix(X),
        sp.csr_array(X),
    ]
    for other in inputs:
        assert bytes_of(clone(machine).fit(other, y)) == expected
    for n_jobs in (2, 4, -1):
        assert bytes_of(clone(machine).set_params(n_jobs=n_jobs).fit(X, y)) == expected
    for found in Parallel(2, "threading")(delayed(clone(machine).fit)(X, y) for _ in range(2)):
        assert bytes_of(found) == expected


@pytest.mark.slow
@pytest.mark.parametrize("Estimator", [LinearSVM, PerfClassifier])
def test_other_processes_fit_the_same_bytes(classes, Estimator):
    X, y = classes
    y, machine = y if Estimator is LinearSVM else y == "a", Estimator(random_state=3)
    expected = bytes_of(machine.fit(X, y))
    for found in Parallel(2, "loky")(delayed(clone(machine).fit)(X, y) for _ in range(2)):
        assert bytes_of(found) == expected


def test_the_callers_matrix_is_left_alone(classes):
    X, y = sp.csr_matrix(classes[0]), classes[1]
    expected = bytes_of(LinearSVM(random_state=0).fit(X, y))
    shuffled = X.copy()
    for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        for part in (shuffled.indices, shuffled.data):
            part[start:stop] = part[start:stop][::-1].copy()
    wide = sp.csr_matrix((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), X.shape)
    twice = sp.csr_matrix(
        (np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), X.shape
    )
    for matrix in (shuffled, wide, twice, X):
        before = [part.copy() for part in (matrix.data, matrix.indices, matrix.indptr)]
        for part in (matrix.data, matrix.indices, matrix.indptr):
            part.setflags(write=False)
        assert bytes_of(LinearSVM(random_state=0).fit(matrix, y)) == expected
        for part, kept in zip((matrix.data, matrix.indices, matrix.indptr), before, strict=True):
            np.testing.assert_array_equal(part, kept)
            assert part.dtype == kept.dtype


def test_a_weight_of_two_is_a_row_twice_and_of_zero_none(classes, rng):
    X, y = classes
    weights = rng.integers(0, 4, len(y))
    weighed = LinearSVM(tol=1e-6, random_state=0).fit(X, y, weights)
    repeated = LinearSVM(tol=1e-6, random_state=0).fit(
        np.repeat(X, weights, axis=0), np.repeat(y, weights)
    )
    np.testing.assert_allclose(weighed.primal_, repeated.primal_, rtol=1e-6)
    np.testing.assert_allclose(
        weighed.primal_, hinge(weighed, X.astype(np.float64), y, weights), rtol=1e-9
    )


def test_classes_weigh(classes):
    X, y = classes
    share = {label: len(y) / (3 * np.sum(y == label)) for label in "abc"}
    by_name, balanced = (
        LinearSVM(class_weight=each, random_state=0).fit(X, y) for each in (share, "balanced")
    )
    np.testing.assert_allclose(balanced.primal_, by_name.primal_, rtol=2e-3)
    weights = np.array([share[label] for label in y])
    np.testing.assert_allclose(
        balanced.primal_, hinge(balanced, X.astype(np.float64), y, weights), rtol=1e-9
    )


@pytest.mark.parametrize(
    ("estimator", "weights", "message"),
    [
        (LinearSVM(C=-1), None, "parameter 'C' is -1; expected"),
        (LinearSVM(tol=2), None, "parameter 'tol' is 2; expected"),
        (LinearSVM(loss="absolute"), None, "expected one of hinge, squared-hinge, logistic"),
        (LinearSVM(multi_class="ovo"), None, "expected one of crammer_singer, ovr"),
        (
            LinearSVM(multi_class="crammer_singer", loss="logistic"),
            None,
            "the rest; give multi_class='ovr'",
        ),
        (
            LinearSVM(multi_class="crammer_singer", solver="newton"),
            None,
            "trains two classes; give multi_class='ovr'",
        ),
        (LinearSVM(solver="smo"), None, "expected one of auto, cutting-plane, dual-cd, newton"),
        (LinearSVM(class_weight={"z": 2}), None, "no row is of class 'z'; expected 'a', 'b', 'c'"),
        (LinearSVM(), -np.ones(300), "expected a finite number of at least 0"),
        (LinearSVM(), np.zeros(300), "all weights are zero"),
        (LinearSVM(), np.ones(3), "3 weights for X; expected 300"),
        (KernelSVM(multi_class="crammer_singer"), None, "expected one of ovr, ovo"),
        (KernelSVM(kernel="cosine"), None, "expected one of linear, poly, rbf, sigmoid"),
        (KernelSVM(solver="dual-cd"), None, "knows no kernel"),
        (KernelSVM(budget=7), None, "parameter 'budget' is for solver='bsca' or 'bsgd'"),
    ],
    ids=lambda value: None,
)
def test_refusals_are_value_errors_in_words_of_estimators(classes, estimator, weights, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(*classes, weights)


def test_values_beyond_float32_and_single_classes_are_refused():
    with pytest.raises(ValueError, match="beyond a float of 32 bits"):
        LinearSVM().fit(np.array([[1e39], [1.0]]), [0, 1])
    with pytest.raises(ValueError, match="one class, 'yes'; LinearSVM needs two"):
        LinearSVM().fit([[1.0], [2.0]], ["yes", "yes"])
    with pytest.raises(ValueError, match="expected one of zero-one, f1"):
        PerfClassifier("hinge").fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(ValueError, match="no measure of single examples"):
        PerfClassifier().fit([[1.0], [2.0]], [0, 1]).score([[1.0]], [1], [1.0])


def test_the_gap_is_told_where_training_ends_early(digits):
    X, y = digits
    with pytest.warns(
        ConvergenceWarning,
        match=r"machines? .*gap .* of primal .*, above tol=1e-09; raise max_iter",
    ):
        machine = LinearSVM(tol=1e-9, max_iter=2, random_state=0, C=100).fit(
            X, np.arange(len(y)) % 3
        )
    assert not machine.converged_ and machine.n_iter_ == 2


def test_ctrl_c_ends_the_fit_and_leaves_no_model(rng):
    X, y = rng.normal(size=(4000, 300)).astype(np.float32), rng.integers(0, 2, 4000)
    machine = LinearSVM(C=1e4, tol=1e-12, solver="dual-cd", random_state=0)
    threading.Thread(target=lambda: (time.sleep(0.3), signal.raise_signal(signal.SIGINT))).start()
    with pytest.raises(KeyboardInterrupt):
        machine.fit(X, y)
    assert not hasattr(machine, "coef_")


@pytest.mark.parametrize(
    "loss", ["f1", "prbep", "roc-area", "average-precision", "prec-at-k", "rec-at-k", "zero-one"]
)
def test_the_score_is_the_measure_trained(cancer, loss):
    X, y = cancer
    machine = PerfClassifier(loss, C=1e5 if loss == "zero-one" else 10, tol=0.01).fit(X, y)
    positive, scores = y == 1, machine.decision_function(X)
    ranked = positive[np.lexsort((positive, -scores))]
    P, hits, predicted = positive.sum(), (positive & (scores > 0)).sum(), (scores > 0).sum()
    expected = {
        "f1": 2 * hits / (P + predicted),
        "prbep": ranked[:P].mean(),
        "prec-at-k": ranked[: P // 2].mean(),
        "rec-at-k": ranked[: 2 * P].sum() / P,
        "zero-one": float(np.all((scores > 0) == positive)),
        "roc-area": np.mean(scores[positive][:, None] > scores[~positive]),
        "average-precision": np.mean(np.arange(1, P + 1) / (1 + np.flatnonzero(ranked))),
    }
    assert machine.score(X, y) == pytest.approx(expected[loss]) and machine.converged_


def test_searches_pipelines_and_calibration(cancer):
    X, y = cancer[0].toarray(), cancer[1]
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LinearSVM(random_state=0)),
        {"linearsvm__C": [0.01, 1]},
        cv=3,
    )
    assert search.fit(X, y).best_score_ > 0.9
    assert CalibratedClassifierCV(LinearSVM(random_state=0), cv=2).fit(X, y).predict_proba(
        X
    ).shape == (len(y), 2)


@pytest.mark.parametrize(
    "estimator", [LinearSVM(random_state=0), KernelSVM(), PerfClassifier("roc-area", C=10)]
)
def test_a_model_saved_classifies_the_same_file(tmp_path, cancer, estimator):
    X, y = cancer
    estimator.fit(X, np.where(y > 0, 7, 3)).save(tmp_path / "model")
    test = svmcut.load_svmlight_file(DATA / "breast_cancer.test", n_features=X.shape[1])[0]
    assert (
        main(
            [
                "classify",
                str(DATA / "breast_cancer.test"),
                str(tmp_path / "model"),
                str(tmp_path / "out"),
            ]
        )
        == 0
    )
    np.testing.assert_allclose(
        estimator.decision_function(test), np.loadtxt(tmp_path / "out"), rtol=1e-5, atol=1e-5
    )
    np.testing.assert_array_equal(
        svmcut.load(tmp_path / "model").predict(test), estimator.predict(test)
    )


def crammer_singer(machine, X, y, C=1.0):
    """1/2 sum_k |w_k|^2 + C sum_i max_k(1 where k is wrong + f_k) - f_right, from the
    definition."""
    right = np.searchsorted(machine.classes_, y)
    scores = X @ machine.coef_.T.astype(np.float64) + machine.intercept_
    margins = scores + 1 - np.eye(len(machine.classes_))[right]
    losses = margins.max(axis=1) - scores[np.arange(len(y)), right]
    return (
        0.5 * (np.square(machine.coef_).sum() + np.square(machine.intercept_).sum())
        + C * losses.sum()
    )


def test_all_classes_at_once(classes):
    X, y = classes
    machine = LinearSVM(multi_class="crammer_singer", tol=1e-4, random_state=0).fit(X, y)
    assert (
        machine.coef_.shape == (3, 12) and machine.intercept_.shape == (3,) and machine.converged_
    )
    wide = X.astype(np.float64)
    assert machine.primal_ == pytest.approx(
        crammer_singer(machine, wide, y), rel=1e-9
    ) and machine.gap_.shape == (1,)
    assert 0 <= machine.gap_ <= 1e-4 * machine.primal_
    theirs = LinearSVC(
        multi_class="crammer_singer", tol=1e-8, max_iter=1_000_000, random_state=0
    ).fit(wide, y)
    theirs = crammer_singer(theirs, wide, y)
    assert machine.primal_ <= (1 + 1e-4) * theirs and machine.dual_ <= theirs
    weighed = LinearSVM(multi_class="crammer_singer", class_weight={"a": 3}, random_state=0).fit(
        X, y
    )
    twice = np.repeat(np.arange(len(y)), np.where(y == "a", 3, 1))
    assert weighed.primal_ == pytest.approx(
        crammer_singer(weighed, wide[twice], y[twice]), rel=1e-9
    )


def test_two_classes_at_once_are_half_of_the_problem_at_twice_the_C(classes):
    X, y = classes[0], classes[1] == "a"
    both = LinearSVM(multi_class="crammer_singer", tol=1e-7, random_state=0).fit(X, y)
    alone = LinearSVM(2.0, tol=1e-7, random_state=0).fit(X, y)
    assert both.coef_.shape == (1, 12) and both.decision_function(X).shape == (300,)
    assert both.primal_ == pytest.approx(alone.primal_ / 2, rel=1e-6)
    np.testing.assert_allclose(both.coef_, alone.coef_, atol=1e-3)


@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("named", [False, True])
def test_a_model_of_more_classes_saved_classifies_the_same_file(
    tmp_path, classes, multi_class, fit_intercept, named
):
    X, y = classes
    labels = y if named else np.searchsorted(["a", "b", "c"], y) * 5 - 3
    machine = LinearSVM(multi_class=multi_class, fit_intercept=fit_intercept, random_state=0).fit(
        X, labels
    )
    machine.save(tmp_path / "model")
    numbers = np.zeros(len(X)) if named else labels
    dump_svmlight_file(X, numbers, str(tmp_path / "rows"), zero_based=False)
    if named:
        lines = (tmp_path / "rows").read_text().splitlines()
        parts = zip(labels, lines, strict=True)
        (tmp_path / "rows").write_text("".join(f"{y}{line[1:]}\n" for y, line in parts))
    assert main(["classify", *(str(tmp_path / name) for name in ("rows", "model", "out"))]) == 0
    written = np.loadtxt(tmp_path / "out", str)
    if named:
        written[:, 0] = np.searchsorted(machine.classes_, written[:, 0]) + 1
    found = written.astype(float)
    np.testing.assert_allclose(machine.decision_function(X), found[:, 1:], rtol=1e-6, atol=1e-6)
    clear = np.diff(np.sort(found[:, 1:], axis=1)[:, 1:]).ravel() > 1e-6  # eight digits decide
    labels = machine.classes_[found[:, 0].astype(int) - 1] if named else found[:, 0]
    assert clear.sum() > 250
    np.testing.assert_array_equal(labels[clear], machine.predict(X)[clear])
    predicted = machine.classes_[found[:, 0].astype(int) - 1] if named else found[:, 0]
    np.testing.assert_array_equal(svmcut.load(tmp_path / "model").predict(X), predicted)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_kernels_of_more_classes_share_support_vectors_and_a_model_file(
    tmp_path, classes, multi_class
):
    X, y = classes
    machine = KernelSVM(multi_class=multi_class, gamma=0.2, tol=1e-5).fit(
        X, np.searchsorted(["a", "b", "c"], y) * 2
    )
    coef, scores = machine.dual_coef_, machine.decision_function(X)
    assert (
        coef.shape == (3, machine.support_vectors_.shape[0])
        and machine.primal_.shape == (3,)
        and machine.converged_
    )
    assert (
        np.all(machine.gap_ <= 1e-5 * machine.primal_)
        and np.all(machine.gap_ >= 0)
        and machine.n_iter_ > 1
    )
    values = rbf_kernel(X, machine.support_vectors_.toarray(), 0.2) @ coef.T + machine.intercept_
    if multi_class == "ovr":
        np.testing.assert_allclose(scores, values, atol=1e-4)
        alone = KernelSVM(gamma=0.2, tol=1e-5).fit(X, y == "b")
        assert machine.primal_[1] == pytest.approx(alone.primal_[0], rel=1e-4)
    else:
        votes = np.zeros((300, 3))
        for (first, second), value in zip([(0, 1), (0, 2), (1, 2)], values.T, strict=True):
            votes[np.arange(300), np.where(value > 0, first, second)] += 1
        assert np.mean(scores == votes) > 0.99
        theirs = SVC(gamma=0.2, tol=1e-5).fit(X, y)
        assert (
            np.mean(theirs.predict(X) == np.array(["a", "b", "c"])[machine.predict(X) // 2]) > 0.99
        )
    machine.save(tmp_path / "model")
    dump_svmlight_file(
        X, np.searchsorted(["a", "b", "c"], y) * 2, str(tmp_path / "rows"), zero_based=False
    )
    assert main(["classify", *(str(tmp_path / name) for name in ("rows", "model", "out"))]) == 0
    np.testing.assert_allclose(scores, np.loadtxt(tmp_path / "out")[:, 1:], atol=1e-5)
    np.testing.assert_array_equal(svmcut.load(tmp_path / "model").predict(X), machine.predict(X))
    assert pickle.loads(pickle.dumps(machine)).decision_function(X).tobytes() == scores.tobytes()
    with pytest.warns(ConvergenceWarning, match=r"ended \(limit\)"):
        KernelSVM(multi_class=multi_class, gamma=0.2, max_iter=1, tol=1e-9).fit(X, y)


def test_models_that_a_file_has_no_place_for_are_not_written(tmp_path, classes):
    with pytest.raises(ValueError, match="keep the estimator with pickle"):
        KernelSVM(probability=True).fit(*classes).save(tmp_path / "model")
    W = np.zeros((1, 3))
    model = MulticlassModel(W, W[0], 0.0, np.arange(3.0), np.array([5], np.int32), 1 << 30)
    with pytest.raises(ValueError, match="3 classes of 1073741824 features"):
        write_model(str(tmp_path / "model"), model)
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("Estimator", "options"),
    [
        (LinearSVM, {}),
        (LinearSVM, {"solver": "dual-cd"}),
        (LinearSVM, {"solver": "cutting-plane"}),
        (LinearSVM, {"multi_class": "crammer_singer"}),
        (PerfClassifier, {}),
    ],
)
def test_a_warm_start_is_that_of_a_path_of_C_and_never_of_other_rows(classes, Estimator, options):
    X, y = classes
    y = y if Estimator is LinearSVM else y == "a"
    made = {"tol": 1e-4, "random_state": 0, **options}
    machine, cold = (
        Estimator(C=1.0, warm_start=True, **made).fit(X, y),
        Estimator(C=1.5, **made).fit(X, y),
    )
    first = bytes_of(machine)
    machine.set_params(C=1.5).fit(X, y)
    assert machine.converged_ and bytes_of(machine) != bytes_of(cold)
    np.testing.assert_allclose(machine.primal_, cold.primal_, rtol=1e-4)
    assert np.all(machine.dual_ <= cold.primal_) and np.all(cold.dual_ <= machine.primal_)
    if "multi_class" in options:
        expected = crammer_singer(machine, X.astype(np.float64), y, 1.5)
        np.testing.assert_allclose(machine.primal_, expected, rtol=1e-9)
    elif Estimator is LinearSVM:
        np.testing.assert_allclose(
            machine.primal_, hinge(machine, X.astype(np.float64), y, C=1.5), rtol=1e-9
        )
    if Estimator is PerfClassifier:
        assert machine.n_iter_ < cold.n_iter_
    assert len(pickle.dumps(machine)) < 4000
    other = X.copy()
    X[0, 0] += 1  # the rows it was fitted to, changed where they stand
    assert (
        bytes_of(machine.fit(X, y))
        == bytes_of(Estimator(C=1.5, **made).fit(X, y))
        != bytes_of(cold)
    )
    for changed in ({"tol": 1e-3}, {"C": 1.0, "tol": 1e-4}):
        machine.set_params(**changed)
        assert bytes_of(machine.fit(other, y)) == bytes_of(
            clone(machine).set_params(warm_start=False).fit(other, y)
        )
        machine.fit(X, y)
    assert bytes_of(machine.fit(other, y)) == first


def test_a_bar_is_drawn_where_it_is_asked_for(classes, capsys):
    LinearSVM(random_state=0).fit(*classes)
    assert capsys.readouterr().err == ""
    LinearSVM(random_state=0, verbose=1).fit(*classes)
    assert "training" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("Estimator", "how"),
    [
        (LinearSVM, {}),
        (LinearSVM, {"solver": "dual-cd"}),
        (LinearSVM, {"solver": "dual-cd", "loss": "logistic"}),
        (LinearSVM, {"solver": "cutting-plane"}),
        (LinearSVM, {"loss": "squared_hinge", "penalty": "l1"}),
        (LinearSVM, {"multi_class": "crammer_singer"}),
        (svmcut.LinearSVMRegressor, {"solver": "dual-cd"}),
        (svmcut.LinearSVMRegressor, {"loss": "squared_epsilon_insensitive"}),
    ],
    ids=str,
)
def test_a_row_of_weight_0_does_not_copy_the_others(Estimator, how, monkeypatch):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(900, 30)).astype(np.float32)
    y = np.digitize(X[:, 0] + rng.normal(size=900), [-0.5, 0.5])
    y = y if "multi_class" in how else (y > 1).astype(int)
    weights = np.ones(900)
    weights[[0, 300, 899]], weights[5] = 0.0, 2.5
    kept = weights > 0
    made = {"tol": 1e-4, "random_state": 0, **how}
    alone = Estimator(**made).fit(X[kept], y[kept], weights[kept])
    monkeypatch.setattr(task_weights, "MIN_UNCOPIED_ENTRIES", 1000)
    monkeypatch.setattr(task_weights, "take", None)
    machine = Estimator(**made).fit(X, y, weights)
    assert machine.converged_ and (machine.primal_ >= alone.dual_ * (1 - 1e-9)).all()
    assert (alone.primal_ >= machine.dual_ * (1 - 1e-9)).all()
    monkeypatch.undo()
    monkeypatch.setattr(task_weights, "MIN_UNCOPIED_ENTRIES", 1000)
    y[0] = 7  # a class of rows without weight alone is none
    again = Estimator(**made).fit(X, y, weights)
    assert again.primal_.tolist() == alone.primal_.tolist() or Estimator is not LinearSVM


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_of_a_dense_matrix_have_the_bytes_of_its_sparse_form(n_classes):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(301, 11))
    X[rng.random(X.shape) < 0.4] = 0
    y = np.argmax(X[:, :n_classes], axis=1)
    machine = LinearSVM(random_state=0).fit(X, y)
    scores = machine.decision_function(X)
    for same in (sp.csr_matrix(X), X.astype(np.float32), np.asfortranarray(X)):
        np.testing.assert_array_equal(machine.decision_function(same), scores)
    np.testing.assert_array_equal(machine.decision_function(X[7:9]), scores[7:9])
    np.testing.assert_array_equal(
        clone(machine).set_params(n_jobs=2).fit(X, y).decision_function(X), scores
    )
    X[1, 1] = 1e39
    with pytest.raises(ValueError, match="32 bits"):
        machine.decision_function(X)


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_a_row_of_weight_0_does_not_copy_the_rows_of_a_kernel(kernel, monkeypatch):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(60, 3))
    y, v = (X[:, 0] * X[:, 1] > 0).astype(int), rng.integers(1, 3, 60).astype(np.float64)
    X = rbf_kernel(X, gamma=0.5) if kernel == "precomputed" else X
    v[17] = 0
    taken = KernelSVM(kernel=kernel, tol=1e-6).fit(X, y, v)
    monkeypatch.setattr(task_weights, "MIN_UNCOPIED_ENTRIES", 0)
    monkeypatch.setattr(task_weights, "take", None)  # what would copy them
    kept = KernelSVM(kernel=kernel, tol=1e-6).fit(X, y, v)
    assert kept.converged_
    np.testing.assert_allclose(kept.primal_, taken.primal_, rtol=1e-6)
    np.testing.assert_allclose(kept.decision_function(X), taken.decision_function(X), atol=1e-3)
