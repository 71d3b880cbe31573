# SPDX-License-Identifier: BSD-3-Clause
"""Saved models keep the words of classes and the columns of a DataFrame, as those of svmcut learn
do; classes and weights are scikit-learn's."""

import string

import numpy as np
import pytest
import sklearn.svm as theirs
from programs import call

import svmcut
from svmcut import compat

ALPHABET = string.ascii_letters + "éß語 .,;|"
MACHINES = {
    "linear": svmcut.LinearSVM,
    "squared": lambda: svmcut.LinearSVM(loss="squared-hinge"),
    "at once": lambda: svmcut.LinearSVM(multi_class="crammer_singer"),
    "kernel": svmcut.KernelSVM,
    "pairs": lambda: svmcut.KernelSVM(multi_class="ovo"),
    "SVC": compat.SVC,
    "LinearSVC": compat.LinearSVC,
    "perf": svmcut.PerfClassifier,
}


def named_rows(K, seed, n=30):
    """Rows of K classes with random names."""
    rng = np.random.default_rng(seed)
    words: set[str] = set()
    while len(words) < K:
        words.add("".join(rng.choice(list(ALPHABET), rng.integers(1, 6))).strip() or "a b")
    X, places = rng.normal(size=(n, 3)), np.arange(n) % K
    X[np.arange(n), places % 3] += 3
    return X, np.array(sorted(words))[places]


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("name", MACHINES)
def test_saved_models_answer_in_words(name, K, tmp_path):
    if name == "perf" and K > 2:
        pytest.skip("two classes alone")
    for seed in range(2):
        X, y = named_rows(K, seed)
        machine = MACHINES[name]().fit(X, y)
        machine.save(tmp_path / "model")
        loaded = svmcut.load(tmp_path / "model").predict(X)
        np.testing.assert_array_equal(loaded, machine.predict(X))
        numbered = MACHINES[name]().fit(X, np.unique(y, return_inverse=True)[1])
        numbered.save(tmp_path / "numbers")
        assert b"#@ label " not in (tmp_path / "numbers").read_bytes()


def test_classify_reads_and_writes_the_words(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, y = [[0.0, 1], [0, 2], [1, 0], [2, 0]], ["ham", "ham", "spam", "spam"]
    svmcut.LinearSVM().fit(X, y).save("model")
    (tmp_path / "test").write_text("ham 2:1\nspam 1:1\nham 1:1\n")
    assert call("svmcut", "classify", "--labels", "test", "model", "out") == 0
    assert [line.split()[0] for line in (tmp_path / "out").read_text().splitlines()] == [
        "ham",
        "spam",
        "spam",
    ]
    assert "66.67" in capsys.readouterr().out


@pytest.fixture(params=["pandas", "polars"])
def frame(request):
    """Makes a DataFrame."""
    return pytest.importorskip(request.param).DataFrame


@pytest.mark.parametrize("name", ["LinearSVM", "KernelSVM", "LinearSVMRegressor", "OneClassSVM"])
def test_saved_models_know_the_columns_of_a_frame(name, frame, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    X = {"age": rng.normal(3, 1, 20), "in come": rng.normal(size=20)}
    y = np.where(X["age"] > 3, "old", "new")
    y = np.arange(20.0) if "Regressor" in name else y
    machine = getattr(svmcut, name)()
    machine.fit(frame(X), y).save("model")
    loaded = svmcut.load("model")
    turned = {key: X[key] for key in ("in come", "age")}
    scores = loaded.decision_function(frame(turned))
    np.testing.assert_allclose(scores, loaded.decision_function(np.column_stack([*X.values()])))
    rows = zip(*turned.values(), strict=True)
    text = "in come,age\n" + "".join(f"{a!r},{b!r}\n" for a, b in (map(float, row) for row in rows))
    (tmp_path / "table.csv").write_text(text)
    assert call("svmcut", "classify", "-v", "0", "table.csv", "model", "out") == 0
    written = np.array(
        [float(line.split()[0]) for line in (tmp_path / "out").read_text().splitlines()]
    )
    np.testing.assert_allclose(written, scores, rtol=1e-6, atol=1e-7)


def test_balanced_weights_count_rows_as_scikit_learn_does():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(24, 2)), rng.integers(0, 2 + seed % 2, 24)
        X[:, 0] += y
        own = rng.uniform(0.2, 3, 24) * (rng.random(24) < 0.8)
        how = {"kernel": "linear", "class_weight": "balanced", "tol": 1e-7}
        one = compat.SVC(**how).fit(X, y, sample_weight=own)
        other = theirs.SVC(**how).fit(X, y, sample_weight=own)
        np.testing.assert_allclose(one.class_weight_, other.class_weight_)
        scores = one.decision_function(X), other.decision_function(X)
        np.testing.assert_allclose(*scores, atol=2e-4)
        given = compat.SVC(kernel="linear", tol=1e-7)
        given.fit(X, y, sample_weight=own * one.class_weight_[y])
        np.testing.assert_allclose(given.decision_function(X), scores[0], atol=1e-9)


@pytest.mark.parametrize("dual", [True, False, "auto"])
def test_classes_whose_rows_weigh_nothing_keep_their_columns(dual, rng):
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 4
    X[np.arange(40), y % 3] += 2
    own = np.where(y == 2, 0.0, rng.uniform(0.5, 2, 40))
    machine = compat.LinearSVC(dual=dual).fit(X, y, sample_weight=own)
    assert (
        machine.classes_.tolist()
        == theirs.LinearSVC().fit(X, y, sample_weight=own).classes_.tolist()
    )
    scores = machine.decision_function(X)
    assert scores.shape == (40, 4) and machine.coef_.shape == (4, 3)
    assert (scores[y != 2, 2] < 0).mean() > 0.9
    assert machine.converged_ and len(machine.primal_) == 4
    left = compat.LinearSVC(dual=dual).fit(X[y != 2], y[y != 2], sample_weight=own[y != 2])
    np.testing.assert_allclose(np.delete(machine.coef_, 2, 0), left.coef_, atol=1e-2)


def test_probabilities_need_two_rows_of_each_class(rng):
    X, y = [[-1, -1], [1, 1], [-1.2, -1], [1.1, 0.9]], [0, 1, 0, 1]
    for machine in (
        compat.SVC(probability=True, kernel="linear"),
        svmcut.LinearSVM(probability=True),
    ):
        found = machine.fit(X, y).predict_proba(X)[:, 1]
        assert (found[[1, 3]] > 0.5).all() and (found[[0, 2]] < 0.5).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_without_a_random_state_fits_repeat(rng):
    X = rng.normal(size=(300, 5))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    for make in (
        lambda: svmcut.KernelSVM(solver="bsgd", budget=10),
        lambda: svmcut.KernelSVM(solver="subspace", basis_kind="fourier", basis=20),
        lambda: compat.SVC(probability=True),
        lambda: svmcut.LinearSVM(solver="dual-cd"),
    ):
        one, other = (make().fit(X, y).decision_function(X) for _ in range(2))
        np.testing.assert_array_equal(one, other)
