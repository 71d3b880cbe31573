# SPDX-License-Identifier: BSD-3-Clause
"""svmcut.load_svmlight_file and svmcut.load: files as arrays, models applied to arrays."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file
from sklearn.datasets import load_svmlight_file as reference

import svmcut
from svmcut.base.errors import DataError, UsageError
from svmcut.data.arrays import as_rows
from svmcut.data.examples import Csr
from svmcut.formats import write_model

DATA = Path(__file__).resolve().parents[2] / "data"
FILES = sorted(
    path
    for path in DATA.iterdir()
    if path.suffix in (".train", ".test") and path.stem != "chunks"  # which has columns
)


def test_importing_svmcut_imports_nothing_heavy():
    code = (
        "import sys, svmcut\nprint(sorted({'numpy', 'scipy', 'sklearn', 'importlib.resources'} & "
        "set(sys.modules)))\n"
        "print(sorted(set(svmcut.__all__) - set(dir(svmcut))))"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
        == "[]\n[]\n"
    )


def test_without_scikit_learn_names_are_there_and_an_estimator_says_what_to_install():
    code = (
        "import sys, pydoc\nsys.modules['sklearn'] = None\nimport svmcut\nfrom svmcut import *\n"
        "assert all(hasattr(svmcut, name) for name in dir(svmcut)) and hasattr(svmcut, 'SVC')\n"
        "assert 'LinearSVM' in pydoc.render_doc(svmcut)\nprint('here')\nLinearSVM(C=1)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (
        done.stdout == "here\n"
        and "ImportError: the estimators need scikit-learn" in done.stderr
        and "pip install scikit-learn" in done.stderr
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_are_what_scikit_learn_reads(path):
    multilabel = path.stem == "labels"
    queries = not multilabel and "qid:" in path.read_text()
    found = svmcut.load_svmlight_file(path, multilabel=multilabel, query_id=queries)
    X, y, *qid = reference(
        str(path), dtype=np.float32, multilabel=multilabel, query_id=queries, zero_based=False
    )
    assert found[0].shape == X.shape and found[0].dtype == X.dtype
    np.testing.assert_array_equal(found[0].data, X.data)
    np.testing.assert_array_equal(found[0].indices, X.indices)
    np.testing.assert_array_equal(found[0].indptr, X.indptr)
    if multilabel:
        sets = [tuple(row.indices.tolist()) for row in found[1]]
        assert sets == [tuple(sorted(map(int, labels))) for labels in y]
    else:
        np.testing.assert_array_equal(found[1], y)
    if queries:
        np.testing.assert_array_equal(found[2], qid[0])


def test_a_matrix_read_is_one_that_scikit_learn_takes(tmp_path):
    X, y = svmcut.load_svmlight_file(DATA / "wine.train", n_features=40)
    assert X.shape[1] == 40 and X.indices.dtype == X.indptr.dtype == np.int32
    dump_svmlight_file(X, y, str(tmp_path / "zero"), zero_based=True)
    back, _ = svmcut.load_svmlight_file(
        tmp_path / "zero", n_features=40, zero_based=True, threads=2
    )
    assert (back != X).nnz == 0


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("1 1:2\n", {"query_id": True}, "no line has a qid; leave out query_id"),
        ("1 1:2 7:1\n", {"n_features": 6}, "has 7 features; expected at most n_features=6"),
        ("1 cost:2 1:2\n", {}, "the lines have weights"),
        ("1 0:2\n", {}, "index"),
    ],
)
def test_refusals_say_what_to_do(tmp_path, text, options, message):
    (tmp_path / "file").write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        svmcut.load_svmlight_file(tmp_path / "file", **options)
    assert isinstance(caught.value, DataError)


def test_label_sets_have_no_queries():
    with pytest.raises(UsageError, match="label sets have no queries"):
        svmcut.load_svmlight_file("nowhere", query_id=True, multilabel=True)


def test_csr_as_scipy_shares_data_and_indices():
    X = as_rows(np.array([[0, 1, 2], [3, 0, 0], [0, 0, 4]], np.float32))
    whole, part = X.to_scipy(), X.rows(1, 3).to_scipy(5)
    assert np.shares_memory(whole.data, X.data) and np.shares_memory(whole.indices, X.indices)
    assert whole.indices.dtype == whole.indptr.dtype == np.int32
    assert np.shares_memory(part.data, X.data) and part.shape == (2, 5)
    np.testing.assert_array_equal(part.toarray(), [[3, 0, 0, 0, 0], [0, 0, 4, 0, 0]])


@pytest.mark.parametrize("zeros", [0, 1, 9, 12])
def test_dense_rows_keep_their_nonzeros(rng, zeros):
    dense = rng.normal(size=(4, 3)).astype(np.float32)
    dense.ravel()[:zeros] = 0
    X, expected = Csr.from_dense(dense).validate(), sp.csr_matrix(dense)
    np.testing.assert_array_equal(X.data, expected.data)
    np.testing.assert_array_equal(X.indices, expected.indices)
    np.testing.assert_array_equal(X.indptr, expected.indptr)


def test_float32_rows_are_not_copied(rng):
    matrix = sp.random(50, 20, 0.3, "csr", np.float32, rng)
    X = as_rows(matrix)
    assert np.shares_memory(X.data, matrix.data) and np.shares_memory(X.indices, matrix.indices)


def trained(tmp_path, name, **options):
    """A model file of a set in data/."""
    write_model(str(tmp_path / "model"), svmcut.train(DATA / f"{name}.train", **options).model)
    return svmcut.load(tmp_path / "model")


@pytest.mark.parametrize("options", [{}, {"kernel": "rbf", "gamma": 0.01}], ids=["linear", "rbf"])
def test_scores_and_labels_are_those_of_classify(tmp_path, options):
    from svmcut.cli.start import main

    model = trained(tmp_path, "breast_cancer", **options)
    X, y = svmcut.load_svmlight_file(DATA / "breast_cancer.test")
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
        model.decision_function(X), np.loadtxt(tmp_path / "out"), rtol=1e-6, atol=1e-6
    )
    assert set(model.predict(X)) == {-1.0, 1.0} and np.mean(model.predict(X) == y) > 0.9


def test_tags_of_rows(tmp_path):
    model = trained(tmp_path, "tags", task="sequence", gap=0.1)
    X, y, qid = svmcut.load_svmlight_file(DATA / "tags.test", query_id=True)
    assert np.mean(model.predict(X, qid) == y) > 0.7
    with pytest.raises(UsageError, match=r"predict\(X, qid\)"):
        model.predict(X)
    with pytest.raises(UsageError, match=r"predict\(X, qid\)"):
        model.decision_function(X)


def test_label_sets_of_rows(tmp_path):
    model = trained(tmp_path, "labels", task="multilabel", gap=0.1)
    X, Y = svmcut.load_svmlight_file(DATA / "labels.test", multilabel=True)
    sets = model.predict(X)
    assert np.mean(sets[:, : Y.shape[1]] == (Y.toarray()[:, : sets.shape[1]] == 1)) > 0.8
    assert model.decision_function(X).shape == (X.shape[0], len(model.model.names))


def test_models_of_classes_predict_labels_and_those_of_numbers_predict_numbers():
    earlier = Path(__file__).resolve().parents[1] / "earlier"
    for name, column in (("multiclass", slice(1, None)), ("regression", 0)):
        folder = earlier / name
        X, _ = svmcut.load_svmlight_file(folder / "examples", n_features=7)
        model, written = svmcut.load(folder / "model"), np.loadtxt(folder / "predictions", ndmin=2)
        np.testing.assert_allclose(model.decision_function(X), written[:, column], atol=1e-7)
        np.testing.assert_allclose(model.predict(X), written[:, 0], atol=1e-7)


def test_the_names_of_scikit_learn_are_found_at_the_top_too():
    from svmcut import SVC, LinearSVR, compat

    assert (SVC, LinearSVR) == (compat.SVC, compat.LinearSVR)
    theirs = set(compat.__all__) - {"OneClassSVM"}  # which svmcut has of its own
    assert theirs == set(svmcut._THEIRS) and not hasattr(svmcut, "SVCs")


@pytest.mark.parametrize("path", ["rows.svm", Path("rows.svm")])
def test_a_path_given_to_a_model_without_a_table_says_what_to_give(path):
    model = svmcut.train((np.eye(4), [1, -1, 1, -1]), example_cost=1.0)
    for use in (model.predict, model.decision_function):
        with pytest.raises(UsageError, match=r"rows.svm: a file is read by models of tables alone"):
            use(path)
