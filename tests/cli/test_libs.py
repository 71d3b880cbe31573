# SPDX-License-Identifier: BSD-3-Clause
"""svm-train, svm-predict, svm-scale, liblinear-train and liblinear-predict: their machines beside
scikit-learn's, printed lines, refusals."""

import importlib
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from programs import call
from sklearn import linear_model, svm

from svmcut.formats.library_text import read_kernel, read_linear
from svmcut.originals.libs import kernel_machines
from svmcut.originals.libs.liblinear_predict import decisions
from svmcut.originals.libs.rows import read_rows
from svmcut.originals.libs.svm_predict import Predictor
from svmcut.originals.names import LAUNCHERS

RNG = np.random.default_rng(7)
X = np.round(RNG.normal(size=(90, 4)) * (RNG.random((90, 4)) < 0.8), 4)
PLANE = X @ [1.0, -2.0, 0.5, 1.0]
TWO = np.where(PLANE + RNG.normal(size=90) > 0, 1, -1)
THREE = np.digitize(PLANE + RNG.normal(size=90), [-1.0, 1.0]) + 1
NUMBERS = np.round(PLANE + 0.3 * RNG.normal(size=90), 4)


def text(y, rows=X):
    lines = []
    for label, row in zip(y, rows):
        pairs = (f"{j + 1}:{value:g}" for j, value in enumerate(row) if value)
        lines.append(" ".join([f"{label:g}", *pairs]))
    return "\n".join(lines) + "\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, y in (("two", TWO), ("three", THREE), ("numbers", NUMBERS)):
        Path(name).write_text(text(y))


def run(line):
    """Exit status of a program."""
    name, *words = line.split()
    module, function = LAUNCHERS[name].split(":")
    return getattr(importlib.import_module(module), function)(words)


KERNELS = {
    "svm-train -t 2 -g 0.5 -c 2 two": svm.SVC(C=2, gamma=0.5),
    "svm-train -t 1 -d 2 -g 0.5 -r 1 three": svm.SVC(
        kernel="poly", degree=2, gamma=0.5, coef0=1, decision_function_shape="ovo"
    ),
    "svm-train -t 0 -w1 3 -w2 0.5 three": svm.SVC(
        kernel="linear", class_weight={1: 3, 2: 0.5}, decision_function_shape="ovo"
    ),
    "svm-train -s 1 -n 0.4 -g 0.5 three": svm.NuSVC(
        nu=0.4, gamma=0.5, decision_function_shape="ovo"
    ),
    "svm-train -s 2 -n 0.3 -g 0.5 two": svm.OneClassSVM(nu=0.3, gamma=0.5),
    "svm-train -s 3 -p 0.2 -c 3 -g 0.2 numbers": svm.SVR(C=3, epsilon=0.2, gamma=0.2),
    "svm-train -s 4 -n 0.4 -c 3 -g 0.2 numbers": svm.NuSVR(C=3, nu=0.4, gamma=0.2),
}


@pytest.mark.parametrize("line", KERNELS)
def test_machines_with_a_kernel_are_those_of_scikit_learn(line, capsys):
    program, *options, data = line.split()
    assert run(" ".join([program, "-e", "1e-6", *options, data, "model"])) == 0
    y = {"two": TWO, "three": THREE, "numbers": NUMBERS}[data]
    other = KERNELS[line].set_params(tol=1e-6).fit(X, y)
    found = Predictor(read_kernel("model")).decisions(read_rows(data, 0))
    if data == "numbers":
        expected = other.predict(X)[:, None]
    else:
        expected = other.decision_function(X).reshape(len(X), -1)
    if data == "three":  # the first class of a pair is the one that is first in the file
        names = read_kernel("model").labels
        pairs = [(names[i], names[j]) for i in range(3) for j in range(i + 1, 3)]
        ordered = [(1, 2), (1, 3), (2, 3)]
        columns = [ordered.index(tuple(sorted(pair))) for pair in pairs]
        expected = expected[:, columns] * [1 if a < b else -1 for a, b in pairs]
    np.testing.assert_allclose(found, expected, atol=2e-3)
    out = capsys.readouterr().out
    assert "optimization finished, #iter = " in out and re.search(r"nSV = \d+, nBSV = \d+", out)
    assert run(f"svm-predict {data} model out") == 0
    labels = np.loadtxt("out")
    wanted = other.predict(X)
    clear = (np.abs(found) > 1e-3).all(axis=1)  # support vectors of one class are at 0
    np.testing.assert_allclose(labels[clear], wanted[clear], atol=2e-3)


def gram(y, K, serials):
    """A file of kernel values."""
    lines = []
    for label, serial, row in zip(y, serials, K):
        pairs = " ".join(f"{j + 1}:{value:.17g}" for j, value in enumerate(row))
        lines.append(f"{label:g} 0:{serial} {pairs}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    "line",
    ["-c 2 three", "-s 1 -n 0.3 two", "-s 2 -n 0.2 two", "-s 3 -b 1 numbers", "-s 4 numbers"],
)
def test_given_values_train_what_their_kernel_does(line, capsys):
    *options, data = line.split()
    y = {"two": TWO, "three": THREE, "numbers": NUMBERS}[data]
    order = np.random.default_rng(1).permutation(len(X))  # serial numbers in any order
    K, serials = np.zeros((len(X), len(X))), order + 1
    K[:, order] = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    Path("given").write_text(gram(y, K, serials))
    words = " ".join(["-q -e 1e-6", *options])
    assert run(f"svm-train -t 4 {words} given model") == 0
    assert run(f"svm-train -g 0.5 {words} {data} other") == 0
    found, other = read_kernel("model"), read_kernel("other")
    np.testing.assert_allclose(found.rho, other.rho, atol=1e-4)
    np.testing.assert_allclose(
        Predictor(found).decisions(read_rows("given", 0)),
        Predictor(other).decisions(read_rows(data, 0)),
        atol=1e-3,
    )
    Path("short").write_text(Path("given").read_text() + "1 0:1 1:1\n")
    assert run("svm-predict -q short model out") == 1
    assert f"line {len(X) + 1}: kernel values end at 1, but" in capsys.readouterr().err
    Path("given").write_text(gram(y, K + np.triu(np.ones_like(K), 1), serials))
    assert run(f"svm-train -t 4 {words} given model") == 1
    assert "must be equal" in capsys.readouterr().err


LINEAR = {
    "-s 0 -c 2 two": (linear_model.LogisticRegression(C=2, fit_intercept=False), 1),
    "-s 1 -c 2 two": (svm.LinearSVC(C=2, fit_intercept=False), 1),
    "-s 2 -c 2 -w-1 3 two": (svm.LinearSVC(C=2, fit_intercept=False, class_weight={-1: 3}), 1),
    "-s 3 two": (svm.LinearSVC(loss="hinge", fit_intercept=False), 1),
    "-s 3 -B 1 three": (svm.LinearSVC(loss="hinge"), 3),
    "-s 4 three": (svm.LinearSVC(multi_class="crammer_singer", fit_intercept=False), 3),
    "-s 5 -c 0.2 two": (svm.LinearSVC(penalty="l1", dual=False, C=0.2, fit_intercept=False), 1),
    "-s 7 -B 2 three": (None, 3),
    "-s 11 -p 0.1 numbers": (
        svm.LinearSVR(
            epsilon=0.1, loss="squared_epsilon_insensitive", dual=False, fit_intercept=False
        ),
        1,
    ),
    "-s 13 -p 0.3 -c 2 numbers": (svm.LinearSVR(epsilon=0.3, C=2, fit_intercept=False), 1),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("line", LINEAR)
def test_linear_machines_are_those_of_scikit_learn(line, capsys):
    *options, data = line.split()
    assert run(" ".join(["liblinear-train", "-e", "1e-6", *options, data, "model"])) == 0
    model, (other, columns) = read_linear("model"), LINEAR[line]
    assert model.W.shape == (4 + (model.bias >= 0), columns)
    found = decisions(model, read_rows(data, 1))
    if other is None:
        return
    y = {"two": TWO, "three": THREE, "numbers": NUMBERS}[data]
    other.set_params(tol=1e-8, max_iter=200_000).fit(X, y)
    if columns == 1 and data == "numbers":
        expected = other.predict(X)[:, None]
    else:
        expected = other.decision_function(X).reshape(len(X), -1)
    if columns == 3:
        expected = expected[:, np.array(model.labels) - 1]
    np.testing.assert_allclose(found, expected, atol=0.02)


@pytest.mark.parametrize("solver", [0, 2, 11])
def test_a_bias_that_is_not_regularized(solver):
    data = "numbers" if solver == 11 else "two"
    assert run(f"liblinear-train -q -e 1e-6 -s {solver} -R -B 1 -c 2 {data} model") == 0
    model = read_linear("model")
    w, b = model.W[:4, 0], model.W[4, 0]
    if solver == 0:
        other = linear_model.LogisticRegression(C=2, tol=1e-8).fit(X, TWO)
        np.testing.assert_allclose([*w, b], [*other.coef_[0], *other.intercept_], atol=1e-3)
        return
    y = NUMBERS if solver == 11 else TWO
    miss = y - X @ w - b if solver == 11 else y * np.maximum(0, 1 - y * (X @ w + b))
    slope = -4 * np.sign(miss) * np.maximum(0, np.abs(miss) - (0.1 if solver == 11 else 0))
    np.testing.assert_allclose([*(w + X.T @ slope), slope.sum()], 0, atol=0.05)


def test_labels_stand_as_they_come_but_for_minus_one_first(capsys):
    Path("data").write_text(text([-1, 1, -1, 1], X[:4]))
    assert run("liblinear-train -q data") == 0 and run("svm-train -q data data.svm") == 0
    assert read_linear("data.model").labels == [1, -1] == read_kernel("data.svm").labels
    Path("data").write_text(text([7, 3, 7, 3], X[:4]))
    assert run("liblinear-train -q data model") == 0
    assert read_linear("model").labels == [7, 3]
    assert capsys.readouterr().out == ""


def test_cross_validation_and_the_search_write_no_model(capsys):
    assert run("svm-train -v 3 -q three model") == 0
    assert run("liblinear-train -s 2 -v 3 -q three model") == 0
    assert run("svm-train -s 3 -v 3 -q numbers model") == 0
    out = capsys.readouterr().out.splitlines()
    assert [re.sub(r"[-0-9.e]+%?$", "#", line) for line in out] == [
        "Cross Validation Accuracy = #",
        "Cross Validation Accuracy = #",
        "Cross Validation Mean squared error = #",
        "Cross Validation Squared correlation coefficient = #",
    ]
    assert run("liblinear-train -C -s 0 -v 3 -c 8 two model") == 0
    out = capsys.readouterr().out
    assert out.startswith("Doing parameter search with 3-fold cross validation.\n")
    assert re.search(r"^log2c=   3.00\trate=[0-9.]+$", out, re.MULTILINE)
    assert re.search(r"^Best C = \d+  CV accuracy = [0-9.]+%$", out, re.MULTILINE)
    assert run("liblinear-train -C -s 11 -q -c 262144 -p 0.5 numbers") == 0
    assert re.search(r"Best C = [0-9.]+ Best p = [0-9.]+  CV MSE = ", capsys.readouterr().out)
    assert not Path("model").exists()


def test_probabilities(capsys):
    assert run("svm-train -b 1 -q three model") == 0
    assert run("svm-predict three model out") == 0
    assert "Model supports probability estimates, but disabled" in capsys.readouterr().out
    assert run("svm-predict -b 1 three model out") == 0
    head, *lines = Path("out").read_text().splitlines()
    assert head.split()[0] == "labels" and sorted(head.split()[1:]) == ["1", "2", "3"]
    P = np.array([line.split() for line in lines], float)
    np.testing.assert_allclose(P[:, 1:].sum(axis=1), 1, atol=1e-5)
    names = np.array(head.split()[1:], float)
    assert (names[P[:, 1:].argmax(axis=1)] == P[:, 0]).all()
    assert run("svm-train -s 3 -b 1 numbers model") == 0
    assert "sigma= " in capsys.readouterr().out
    assert run("svm-predict -b 1 numbers model out") == 0
    assert "z: Laplace distribution" in capsys.readouterr().out
    assert run("svm-train -s 2 -b 1 -n 0.2 two model") == 0
    marks = read_kernel("model").marks
    assert len(marks) == 10 and sorted(marks) == marks
    assert run("svm-predict -b 1 two model out") == 0
    P = np.array([line.split() for line in Path("out").read_text().splitlines()[1:]], float)
    assert set(P[:, 0]) == {-1.0, 1.0} and ((P[:, 1] >= 0.5) == (P[:, 0] > 0)).mean() > 0.9


def test_one_class_on_features(capsys):
    Path("far").write_text(text(TWO, X + 3))
    assert run("liblinear-train -s 21 -n 0.1 far model") == 0
    assert re.search(r"^rho = [0-9.]+$", capsys.readouterr().out, re.MULTILINE)
    assert run("liblinear-predict -q far model out") == 0
    assert 0 < np.mean(np.loadtxt("out") < 0) < 0.2
    assert call("svmcut", "classify", "-v", 0, "far", "model", "scores") == 0
    assert ((np.loadtxt("scores") > 0) == (np.loadtxt("out") > 0)).mean() > 0.95


REFUSED = [
    ("svm-train", "Usage: svm-train", "out"),
    ("liblinear-train -c", "needs a value", "err"),
    ("svm-train -z 1 two", "Unknown option: -z", "err"),
    ("liblinear-train --help two", "unknown option: --help", "err"),
    ("liblinear-predict -z two model out", "invalid option -- 'z'", "err"),
    ("liblinear-predict -b 2 two model out", "expected 0 or 1", "err"),
    ("svm-train -c 0 missing model", "can't open input file missing", "err"),
    ("svm-train -c 0 two model", "ERROR: C <= 0", "err"),
    ("svm-train -c nan two model", "no finite number", "err"),
    ("svm-train -s 1 -n 1 three model", "ERROR: specified nu is infeasible", "err"),
    ("svm-train -s 5 two model", "ERROR: unknown svm type", "err"),
    ("svm-train -w1 0 two model", "the weight of class 1 is 0", "err"),
    ("svm-train -v 1 two", "n must >= 2", "err"),
    ("svm-train -t 4 two model", "0:sample_serial_number (line 1", "err"),
    ("svm-train bad model", "Wrong input format at line 2", "err"),
    ("svm-train blank model", "Wrong input format at line 2", "err"),
    ("svm-train nan model", "nan:2: the value of feature 3 is nan", "err"),
    ("svm-train huge model", "beyond single precision", "err"),
    ("svm-train empty model", "empty: the file has no rows", "err"),
    ("svm-train -q two nowhere/model", "can't save model to file nowhere/model", "err"),
    ("liblinear-train -s 9 two model", "ERROR: unknown solver type", "err"),
    ("liblinear-train -R -s 0 two model", "give -B 1", "err"),
    ("liblinear-train -R -B 1 -s 3 two model", "-R is for -s 0, 2, 5, 6 and 11", "err"),
    ("liblinear-train -s 21 -n 1 two model", "ERROR: nu <= 0 or nu >= 1", "err"),
    ("liblinear-train -s 21 -B 1 two model", "ERROR: prob->bias >=0, but this is ign", "err"),
    ("svm-train -s x two model", "'x' is refused; expected a whole number", "err"),
    ("svm-train -b 1e400 -c 1e400 two model", "no finite number", "err"),
    ("liblinear-train -C -s 1 two", "only available for -s 0, -s 2 and -s 11", "err"),
    ("liblinear-train zero model", "Wrong input format at line 1", "err"),
    ("svm-predict two missing out", "can't open model file missing", "err"),
    ("svm-predict two two out", "can't open model file two: unknown text", "err"),
    ("svm-scale -l 1 -u 0 two", "inconsistent lower/upper", "err"),
    ("svm-scale -r a -s b two", "cannot use -r and -s", "err"),
    ("svm-scale -l", "needs a value", "err"),
    ("svm-scale bad", "bad:2", "err"),
]


#: Odd command lines, and what the Debian binaries of LIBSVM 3.24 and LIBLINEAR 2.3 print for them.
FOLDS_AS_ROWS = "Will use # folds = # data instead"
ODD = [
    ("liblinear-train -q -w5 0 two", "", "class label 5 specified in weight is not found"),
    ("svm-train -q -w5 -1 two", "", "class label 5 specified in weight is not found"),
    ("liblinear-train -q -s 11 -w1 0 numbers", "", ""),
    ("liblinear-train -q -v 2 one", "Cross Validation Accuracy = 0%\n", FOLDS_AS_ROWS),
    ("svm-train -q -v 2 one", "Cross Validation Accuracy = 0%\n", FOLDS_AS_ROWS),
    (
        "liblinear-train -q -v 2 -s 11 one",
        "Cross Validation Mean squared error = 25\n"
        "Cross Validation Squared correlation coefficient = -nan\n",
        FOLDS_AS_ROWS,
    ),
    ("svm-train -q -s 3 -b 1 one model", "", FOLDS_AS_ROWS),
    (
        "liblinear-train -C -q -c 4096 -s 0 -v 2 pair",
        "Doing parameter search with 2-fold cross validation.\nBest C = 1024  CV accuracy = 0%\n",
        "",
    ),
    (
        "liblinear-train -C -q -c 3e6 -p 0 -s 11 -v 2 pair",
        "Doing parameter search with 2-fold cross validation.\n"
        "Best C = 1.04858e+06 Best p = 0.95  CV MSE = 1.1025\n",
        "",
    ),
    ("svm-scale zero", "2 0:-1 1:-1 \n4 0:1 1:1 \n", "minimal feature index is 0, but"),
    ("svm-scale -s ranges zero", "2 0:-1 1:-1 \n4 0:1 1:1 \n", "not stored to the file ranges"),
    ("svm-scale -r from_zero zero", "2 0:-1 1:0.2 \n4 0:1 1:1 \n", "minimal feature index is 0"),
    ("svm-scale comment", "1 1:1 \n-1 1:-1 \n", ""),
    ("svm-predict infinite machine out", "Accuracy = 50% (1/2) (classification)\n", ""),
    ("liblinear-predict infinite features out", "Accuracy = 100% (2/2)\n", ""),
    ("liblinear-predict -b 1 infinite odds out extra", "Accuracy = 100% (2/2)\n", ""),
    ("liblinear-predict -b x infinite odds out", "Accuracy = 100% (2/2)\n", ""),
    ("liblinear-predict nothing features out", "Accuracy = -nan% (0/0)\n", ""),
    ("svm-scale nothing", "", ""),
    ("svm-scale -y -1 1 -s ranges nothing", "", ""),
    ("svm-scale -r from_zero nothing", "", ""),
]


@pytest.mark.parametrize(("line", "out", "err"), ODD)
def test_odd_command_lines(line, out, err, capfd):
    Path("one").write_text("5 1:1\n")
    Path("pair").write_text("1 1:1\n-1 1:1\n")
    Path("zero").write_text("2 0:1 1:3\n4 0:3 1:5\n")
    Path("from_zero").write_text("x\n-1 1\n0 1 3\n1 0 5\n")
    Path("comment").write_text("1 1:1 # a note\n-1 1:-1\n")
    Path("infinite").write_text("1 1:inf\n-1 1:-1\n")
    Path("nothing").write_text("")
    head = "nr_class 2\nlabel 1 -1\nnr_feature 2\nbias -1\nw\n1 \n0 \n"
    Path("features").write_text(f"solver_type L2R_L2LOSS_SVC\n{head}")
    Path("odds").write_text(f"solver_type L2R_LR\n{head}")
    Path("machine").write_text(
        "svm_type c_svc\nkernel_type rbf\ngamma 1\nnr_class 2\ntotal_sv 2\nrho 0\nlabel 1 -1\n"
        "nr_sv 1 1\nSV\n1 1:1 \n-1 1:-1 \n"
    )
    assert run(line) == 0
    said = capfd.readouterr()
    assert said.out == out and (err in said.err if err else said.err == "")


@pytest.mark.parametrize(
    ("line", "same"),
    [
        ("svm-train -q -t 1.9 -d 2x -g 0.5y two", "svm-train -q -t 1 -d 2 -g 0.5 two"),
        ("svm-train -q -v 2.9 three", "svm-train -q -v 2 three"),
        ("svm-train -q -w1.5 2 -b x two", "svm-train -q -w1 2 -b 0 two"),
        (
            "liblinear-train -q -s 2.5 -c 2,5 -wx 3 -B 1z two",
            "liblinear-train -q -s 2 -c 2 -B 1 two",
        ),
    ],
)
def test_numbers_are_read_as_far_as_they_go(line, same, capsys):
    said = []
    for words in (line, same):
        assert run(f"{words} model") == 0
        text = Path("model").read_text() if "-v" not in words else ""
        said.append((text, capsys.readouterr().out))
        Path("model").unlink(missing_ok=True)
    assert said[0] == said[1]


#: Rows of which no nu below 1 leaves a margin: all in both classes, classes around each other on a
#: line, noise.
SIDES = np.tile([1, -1], 15)
NO_MARGIN = {
    "both": np.repeat(X[:15], 2, axis=0),
    "line": np.tile([[1.0], [2.0], [3.0], [4.0], [2.5], [2.5]], (5, 1)),
    "noise": np.round(np.random.default_rng(2).normal(size=(30, 2)), 2),
}


@pytest.mark.parametrize("name", NO_MARGIN)
@pytest.mark.parametrize("words", ["-t 0 -n 0.3", "-t 0 -n 0.1 -b 1"])
def test_nu_that_leaves_no_margin_gives_a_model(name, words, capsys):
    Path("data").write_text(text(SIDES, NO_MARGIN[name]))
    assert run(f"svm-train -s 1 {words} data model") == 0
    said = capsys.readouterr()
    nu = words.split()[3]
    assert said.err == "" and f"WARNING: -n {nu} leaves no margin between two classes" in said.out
    model = read_kernel("model")
    coefs = model.coefs[:, 0]
    assert np.isfinite(coefs).all() and np.isfinite(model.rho).all()
    # still multipliers of nu-SVC: as much of either class, none above the sum by nu n / 2
    assert coefs.sum() == pytest.approx(0, abs=1e-6 * np.abs(coefs).sum())
    assert np.abs(coefs).max() <= np.abs(coefs).sum() / (float(nu) * 30) * (1 + 1e-6)
    assert run("svm-predict data model out") == 0
    assert run(f"svm-train -q -s 1 {words} -v 3 data") == 0
    assert re.search(r"^Cross Validation Accuracy = [0-9.]+%$", capsys.readouterr().out, re.M)


def test_folds_may_lack_the_rows_that_nu_asks_for(capsys):
    Path("data").write_text(text(np.tile([1, -1], 8)[:15], X[:15]))
    assert run("svm-train -q -s 1 -n 0.93 -v 4 data") == 0
    assert run("svm-train -q -s 1 -n 0.93 -b 1 data model") == 0
    assert run("svm-train -q -s 1 -n 0.94 -v 4 data") == 1
    assert "infeasible" in capsys.readouterr().err


@pytest.mark.parametrize("nu", [0.2, 0.5])
def test_marks_of_one_class_are_halfway_between_fifths_of_scores(nu, capsys):
    """The bounds are written from their definition; rows on the boundary are half inside."""
    assert run(f"svm-train -q -s 2 -b 1 -g 0.5 -e 1e-7 -n {nu} two model") == 0
    model = read_kernel("model")
    f = np.sort(Predictor(model).decisions(read_rows("two", 0))[:, 0])
    on = np.abs(f) < 1e-5
    assert on.sum() > 2
    m = int((f < -1e-5).sum() + on.sum() // 2)
    low = [f[k * m // 5] for k in range(5)]
    high = [f[m - 1 + k * (len(f) - m) // 5] for k in range(1, 6)]
    bounds = np.array([*low, 0.0, *high])
    np.testing.assert_allclose(model.marks, (bounds[1:] + bounds[:-1]) / 2, atol=1e-5)
    assert run("svm-predict -q -b 1 two model out") == 0
    assert Path("out").read_text().startswith("label normal outlier\n")
    assert capsys.readouterr().err == ""


def test_one_class_of_few_rows_has_no_marks(capsys):
    Path("few").write_text(text(TWO[:9], X[:9]))
    assert run("svm-train -q -s 2 -b 1 -n 0.5 few model") == 0
    assert "too few to do a probability estimation" in capsys.readouterr().err
    assert read_kernel("model").marks is None
    assert run("svm-predict -b 1 few model out") == 1
    assert "does not support" in capsys.readouterr().err


def test_an_objective_of_zero_has_no_sign(capsys):
    Path("constant").write_text("5 1:1\n5 1:2\n")
    assert run("svm-train -s 3 constant model") == 0
    assert "obj = 0.000000, rho = -5" in capsys.readouterr().out


@pytest.mark.slow
def test_the_search_begins_where_the_loss_stays_near_that_of_w_0(capsys):
    """The first C of the Debian binary of LIBLINEAR 2.3, which the width of the tube moves."""
    Path("data").write_text("1.5 1:1 2:1\n2.5 1:-1 2:0.5\n-3 1:2\n0 2:1\n1e1 1:0.3 2:0.2\n")
    for tube, first in ((0.01, -13), (3, -15), (100, -22)):
        assert run(f"liblinear-train -C -s 11 -v 2 -p {tube} data") == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[1].startswith(f"log2c={first:7.2f}\tp=")


@pytest.mark.parametrize(("line", "message", "stream"), REFUSED)
def test_what_is_refused_ends_with_status_1_and_no_model(line, message, stream, capsys):
    files = {"bad": "1 1:1\n2 2:x\n", "blank": "1 1:1\n\n2 1:1\n", "nan": "1 1:1\n2 3:nan\n"}
    files |= {"huge": "1 1:1e300\n2 1:1\n", "empty": "", "zero": "1 0:1\n"}
    for name, content in files.items():
        Path(name).write_text(content)
    assert run(line) == 1
    said = capsys.readouterr()
    assert message in getattr(said, stream), said
    assert "Traceback" not in said.err and not Path("model").exists()


def test_rows_before_a_bad_one_are_predicted(capsys):
    assert run("liblinear-train -q two model") == 0
    Path("test").write_text("1 1:1\n-1 2:1\n1 x:1\n")
    assert run("liblinear-predict test model out") == 1
    assert "line 3" in capsys.readouterr().err and len(Path("out").read_text().splitlines()) == 2


def test_common_names_are_written_where_no_other_program_has_them(tmp_path, monkeypatch):
    other, folder = tmp_path / "other", tmp_path / "bin"
    other.mkdir()
    (other / "predict").write_text("#!/bin/sh\n")
    (other / "predict").chmod(0o755)
    monkeypatch.setenv("PATH", str(other))
    assert call("svmcut", "names", "--into", folder) == 0
    written = {path.name for path in folder.iterdir()}
    assert "train" in written and "svm-train" in written and "predict" not in written
    monkeypatch.setenv("PATH", str(folder))
    assert call("svmcut", "names", "--into", folder) == 0  # again, over launchers
    assert (folder / "predict").exists()


def test_launchers_run_and_no_other_file_is_replaced(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    folder = tmp_path / "a folder" / "bin"
    assert call("svmcut", "names", "--into", folder, "train", "svm-scale") == 0
    assert sorted(path.name for path in folder.iterdir()) == ["svm-scale", "train"]
    assert call("svmcut", "names", "--into", folder) == 0
    assert len([*folder.iterdir()]) == 8
    done = subprocess.run(
        [folder / "train", "-q", "two", "model"], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert Path("model").exists()
    (folder / "predict").write_text("another program")
    assert call("svmcut", "names", "--into", folder, "predict") == 2
    assert "name another folder" in capsys.readouterr().err
    assert (folder / "predict").read_text() == "another program"
    assert call("svmcut", "names", "--into", folder, "nothing") == 2
    assert call("svmcut", "names") == 2
    assert "--into" in capsys.readouterr().err


@pytest.mark.parametrize("options", ["-t 2 -g 0.5", "-t 0 -c 100", "-t 1 -w1 3 -w2 0.5", "-m 1"])
def test_pairs_in_one_loop_are_those_of_one_by_one(options, monkeypatch, capfd):
    assert run(f"svm-train {options} three together") == 0
    told = capfd.readouterr().out
    monkeypatch.setattr(kernel_machines, "_fit_together", lambda data, own, *more: iter([None] * 3))
    assert run(f"svm-train {options} three apart") == 0
    assert capfd.readouterr().out == told
    assert Path("apart").read_bytes() == Path("together").read_bytes()
