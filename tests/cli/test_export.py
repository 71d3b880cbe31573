# SPDX-License-Identifier: BSD-3-Clause
"""What svmcut export writes predicts as the model does; what a format cannot have is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from programs import call

import svmcut
from svmcut.data.examples import Csr
from svmcut.formats import read_model, write_model
from svmcut.formats.library_text import read_kernel, read_linear
from svmcut.originals.libs.liblinear_predict import decisions, predicted_of
from svmcut.originals.libs.rows import Rows
from svmcut.originals.libs.svm_predict import Predictor

CLASSES, NUMBERS = {"task": "multiclass"}, {"task": "regression"}
POLYNOMIAL = {"kernel": "polynomial", "degree": 2, "scale_kernel": 0.5, "coef0": 1.5}
RBF = {"kernel": "rbf", "gamma": 0.5}
ONE_CLASS = {"task": "one-class", "nu": 0.2}
MACHINES = {
    "hinge": (2, {}),
    "logistic without bias": (2, {"loss": "logistic", "bias": 0.0}),
    "numbers": (0, NUMBERS),
    "classes": (3, CLASSES),
    "classes against the rest": (3, CLASSES | {"multiclass": "one-vs-rest", "loss": "logistic"}),
    "two classes at once": (2, CLASSES),
    "one class": (0, ONE_CLASS),
    "rbf": (2, RBF),
    "one class, rbf": (0, ONE_CLASS | RBF),
    "sigmoid": (2, {"kernel": "sigmoid", "scale_kernel": 0.1, "coef0": 0.0, "solver": "smo"}),
    "numbers, rbf": (0, NUMBERS | RBF),
    "pairs": (3, CLASSES | RBF),
    "rest, polynomial": (3, CLASSES | POLYNOMIAL | {"multiclass": "one-vs-rest"}),
    "at once, rbf": (3, CLASSES | RBF | {"multiclass": "crammer-singer"}),
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def trained(kind):
    """A model in the file "model", and rows it was trained on."""
    classes, parameters = MACHINES[kind]
    rng = np.random.default_rng(5)
    X = (rng.normal(size=(60, 5)) * (rng.random((60, 5)) < 0.7)).astype(np.float32)
    y = X @ rng.normal(size=5) if not classes else rng.integers(0, classes, 60) * 2.0 - 1
    if classes:
        X[np.arange(60), (y.astype(int) + 1) // 2] += 1.5
    if "nu" in parameters:
        X += 1
    cost = {} if "nu" in parameters else {"example_cost": 1.0}
    outcome = svmcut.train((X, y), **cost, **parameters)
    write_model("model", outcome.model)
    return read_model("model"), X


def rows_of(X):
    dense = Csr.from_dense(X)
    indices, values = dense.indices + np.int32(1), dense.data.astype(float)
    return Rows(np.zeros(len(X)), dense.indptr, indices, values)


def expected(model, X):
    return model.predict(Csr.from_dense(X).validate())


@pytest.mark.parametrize("kind", MACHINES)
def test_svm_predict_reads_what_is_written_for_it(kind):
    model, X = trained(kind)
    assert call("svmcut", "export", "model", "out", "--to", "libsvm") == 0
    found, _ = Predictor(read_kernel("out")).predict(rows_of(X), False)
    np.testing.assert_allclose(found, expected(model, X), atol=1e-5)
    again = read_model("out")  # by svmcut too
    np.testing.assert_allclose(expected(again, X), found, atol=1e-5)


@pytest.mark.parametrize("kind", list(MACHINES)[:7])
def test_liblinear_predict_reads_what_is_written_for_it(kind):
    model, X = trained(kind)
    assert call("svmcut", "export", "model", "out", "--to", "liblinear") == 0
    text = read_linear("out")
    found = predicted_of(text, decisions(text, rows_of(X)))
    np.testing.assert_allclose(found, expected(model, X), atol=1e-6)
    np.testing.assert_allclose(expected(read_model("out"), X), found, atol=1e-6)


@pytest.mark.parametrize("to", ["svm_light", "svm_perf"])
@pytest.mark.parametrize("kind", ["hinge", "numbers", "rbf"])
def test_svm_light_reads_what_is_written_for_it(kind, to):
    model, X = trained(kind)
    assert call("svmcut", "export", "model", "out", "--to", to) == 0
    assert Path("out").read_bytes().startswith(b"SVM-light Version V6.")
    rows = Csr.from_dense(X).validate()
    np.testing.assert_allclose(read_model("out").scores(rows), model.scores(rows), atol=1e-6)


@pytest.mark.parametrize("kind", MACHINES)
def test_json_has_all_fields(kind):
    model, _ = trained(kind)
    assert call("svmcut", "export", "model", "out.json") == 0
    found = json.loads(Path("out.json").read_text())
    assert (found["format"], found["class"]) == ("svmcut model", type(model).__name__)
    name = next(name for name in ("w", "W", "alpha") if hasattr(model, name))
    assert np.array_equal(np.array(found[name]), getattr(model, name))
    if "support" in found:
        assert np.array_equal(found["support"]["values"], model.support.data)
        assert found["kernel"]["name"] == model.kernel.name


@pytest.mark.parametrize("kind", MACHINES)
def test_onnx_runs_what_is_written_for_it(kind):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model, X = trained(kind)
    assert call("svmcut", "export", "model", "out.onnx") == 0
    session = runtime.InferenceSession("out.onnx", providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    found = dict(zip(names, session.run(None, {"X": X})))
    rows = Csr.from_dense(X).validate()
    scores = model.scores(rows)
    if "label" in found:
        clear = np.abs(scores) > 1e-4 if scores.ndim == 1 else np.ones(len(X), bool)
        assert (found["label"][clear] == model.predict(rows)[clear]).all()
    if scores.ndim == 1:
        np.testing.assert_allclose(found["scores"][:, -1], scores, atol=2e-5)
    elif not getattr(model, "paired", False):
        np.testing.assert_allclose(found["scores"], scores, atol=2e-5)


def test_given_kernel_values_go_to_libsvm_alone(capsys):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(40, 3)), np.repeat([-1.0, 1.0], 20)
    X[y > 0] += 1
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2)).astype(np.float32)
    model = svmcut.train((K, y), kernel="precomputed", example_cost=1.0).model
    write_model("model", model)
    assert call("svmcut", "export", "model", "out", "--to", "libsvm") == 0
    indices = np.tile(np.arange(41, dtype=np.int32), 40)
    values = np.column_stack([np.arange(1, 41), K]).ravel().astype(float)
    rows = Rows(np.zeros(40), 41 * np.arange(41), indices, values)
    found, _ = Predictor(read_kernel("out")).predict(rows, False)
    assert (found == np.where(model.scores(Csr.from_dense(K).validate()) > 0, 1, -1)).all()
    for to in ("liblinear", "svm_light", "onnx"):
        assert call("svmcut", "export", "model", "other", "--to", to) == 2
        assert "libsvm and json take it" in capsys.readouterr().err


def test_probabilities_of_pairs_go_along(capsys):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(80, 3)).astype(np.float32), np.repeat([-1.0, 1.0], 40)
    X[y > 0] += 1
    write_model("model", svmcut.train((X, y), probability=True, **RBF).model)
    assert call("svmcut", "export", "model", "out", "--to", "libsvm") == 0
    assert "Left out" not in capsys.readouterr().out
    _, P = Predictor(read_kernel("out")).predict(rows_of(X), True)
    model = read_model("model")
    wanted = model.probabilities(model.scores(Csr.from_dense(X).validate()))[:, ::-1]
    np.testing.assert_allclose(P, wanted, atol=1e-6)
    assert call("svmcut", "export", "model", "out", "--to", "svm_light") == 0
    assert "Left out: the probabilities" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["model", "out"], "does not end as a format's; give --to liblinear, libsvm,"),
        (["model", "model", "--to", "json"], "model"),
        (["nothing", "out", "--to", "json"], "No such file"),
        (["model", "out", "--to", "liblinear"], "liblinear has no machine with the rbf kernel"),
    ],
)
def test_what_is_refused(words, message, capsys):
    trained("rbf")
    status = call("svmcut", "export", *words)
    assert status in (1, 2) and message in capsys.readouterr().err
    assert not Path("out").exists()


def test_labels_that_are_not_whole_are_refused(capsys):
    X, y = np.eye(4, dtype=np.float32), np.array([0.5, 0.5, 2.0, 2.0])
    write_model("model", svmcut.train((X, y)).model)
    for to in ("liblinear", "libsvm"):
        assert call("svmcut", "export", "model", "out", "--to", to) == 2
        assert "0.5 is none" in capsys.readouterr().err
    assert not Path("out").exists()


@pytest.mark.parametrize("to", ["libsvm", "onnx"])
def test_notes_of_words_are_true_of_the_format(to, capsys):
    if to == "onnx":
        pytest.importorskip("onnx")
    Path("words").write_text("ham 1:1\nspam 2:1\neggs 3:1\n" * 3)
    assert call("svmcut", "learn", "-v", "0", "--task", "multiclass", "words", "model") == 0
    capsys.readouterr()
    assert call("svmcut", "export", "model", "out", "--to", to) == 0
    notes = capsys.readouterr().out
    assert "columns" not in notes  # LIBSVM's text has none
    assert ("1 is eggs, 2 is ham and 3 is spam" in notes) == (to == "libsvm")


def test_notes_of_tables_name_their_columns(capsys):
    Path("t.csv").write_text("a,y\n1,ham\n3,spam\n2,ham\n5,spam\n")
    assert call("svmcut", "learn", "-v", "0", "--label", "y", "t.csv", "model") == 0
    assert call("svmcut", "export", "model", "out", "--to", "libsvm") == 0
    assert "Left out: what columns become" in capsys.readouterr().out
