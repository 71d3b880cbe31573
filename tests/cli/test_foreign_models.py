# SPDX-License-Identifier: BSD-3-Clause
"""Models of LIBLINEAR and LIBSVM: by their formulas in NumPy, beside their own programs, and what
is refused."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from libsvm_texts import LIBSVM
from programs import call
from reference.kernel import matrix
from refusals import refused

import svmcut
from svmcut.base.errors import ModelError
from svmcut.data.examples import Csr
from svmcut.formats import read_model
from svmcut.models.kernels import Kernel

DATA = Path(__file__).resolve().parents[2] / "data"
SETS = ("breast_cancer", "wine", "text", "unbalanced")
LIBLINEAR = """\
solver_type L2R_LR
nr_class 2
label 3 7
nr_feature 3
bias 2
w
0.5 
-1.25e-1 
0 
0.75 
"""  # noqa: W291
SUPPORT, ALPHA = np.array([[0.5, 0, -1], [0, 0, 0], [0, 2, 0.25]]), np.array([0.5, 0.25, -0.75])
ROWS = "3 1:1 2:4\n7 3:2\n7 2:-1 3:0.5 4:100\n"
X = np.array([[1.0, 4, 0, 0], [0, 0, 2, 0], [0, -1, 0.5, 100]])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("rows").write_text(ROWS)
    return tmp_path


def test_a_model_of_liblinear(capsys):
    Path("model").write_text(LIBLINEAR)
    assert (
        call("svmcut", "classify", "-v", 0, "--report", "report.json", "rows", "model", "scores")
        == 0
    )
    expected = X[:, :3] @ [0.5, -0.125, 0] + 2 * 0.75
    np.testing.assert_allclose(np.loadtxt("scores"), expected, atol=1e-8)
    report = json.loads(Path("report.json").read_text())
    assert (report["labels"], report["tp"], report["fp"], report["tn"]) == ([7, 3], 1, 2, 0)
    assert call("svmcut", "classify", "-v", 0, "--labels", "rows", "model", "labels") == 0
    assert Path("labels").read_text() == "3\n3\n3\n"
    capsys.readouterr()
    assert call("svmcut", "inspect", "--json", "model") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["format"], found["loss"], found["labels"]) == (
        "solver_type L2R_LR",
        "logistic",
        ["7", "3"],
    )
    assert (found["threshold"], found["weights"][0]["lowest"]) == (
        -1.5,
        [{"feature": 2, "weight": -0.125}],
    )
    assert call("svmcut", "inspect", "model") == 0
    assert "Loss              logistic\n" in capsys.readouterr().out
    assert call("svmcut", "classify", "-v", 0, "--probability", "rows", "model", "chances") == 0
    positive = 1 / (1 + np.exp(-expected))
    np.testing.assert_allclose(
        np.loadtxt("chances"), np.column_stack([1 - positive, positive]), atol=1e-8
    )
    Path("model").write_text(LIBLINEAR.replace("L2R_LR", "L2R_L1LOSS_SVC_DUAL"))
    capsys.readouterr()
    assert call("svmcut", "inspect", "model") == 0
    assert "Loss              not in the file\n" in capsys.readouterr().out


def test_weights_of_both_classes_and_no_bias():
    text = LIBLINEAR.replace("L2R_LR", "MCSVM_CS").replace("bias 2", "bias -1").split("w\n")[0]
    Path("model").write_text(text + "w\n1 0.5 \n2 4 \n0 -1 \n")
    model = read_model("model")
    assert (model.w.tolist(), model.b, model.labels) == ([0.5, -2, 1], 0, (7, 3))


@pytest.mark.parametrize(
    "kernel, lines",
    [
        (Kernel(), ""),
        (Kernel("polynomial", 2, scale=0.25, offset=-1.0), "degree 2\ngamma 0.25\ncoef0 -1\n"),
        (Kernel("rbf", gamma=0.25), "gamma 0.25\n"),
        (Kernel("sigmoid", scale=0.25, offset=0.5), "gamma 0.25\ncoef0 0.5\n"),
    ],
    ids=lambda part: getattr(part, "name", ""),
)
def test_a_model_of_libsvm(kernel, lines):
    text = LIBSVM.format(kernel=f"{kernel.name}\n{lines}".rstrip())
    Path("model").write_text(text.replace("label -1 1", "label 2 5"))
    model = read_model("model")
    x = X[:, :3]
    products = x @ SUPPORT.T
    values = {
        "linear": products,
        "polynomial": (0.25 * products - 1) ** 2,
        "sigmoid": np.tanh(0.25 * products + 0.5),
        "rbf": np.exp(-0.25 * ((x[:, None] - SUPPORT) ** 2).sum(axis=2)),
    }[kernel.name]
    np.testing.assert_allclose(
        model.scores(Csr.from_dense(x.astype(np.float32))), values @ ALPHA + 0.5, rtol=1e-6
    )
    assert model.labels == (5, 2)
    if not kernel.is_linear:
        assert model.kernel == kernel
        np.testing.assert_allclose(matrix(model.kernel, x, SUPPORT), values, rtol=1e-6)


def test_the_usual_labels_are_kept_as_the_usual_ones():
    Path("model").write_text(LIBLINEAR.replace("label 3 7", "label 1 -1"))
    assert read_model("model").labels is None
    Path("model").write_text(LIBLINEAR.replace("label 3 7", "label -1 1"))
    assert read_model("model").labels == (1, -1)


def peers(program, options):
    """The program's predictions of the test part of a set, trained on its other part; and svmcut's
    with its model."""
    for name in SETS:
        test = str(DATA / f"{name}.test")
        for words in (
            [f"{program}-train", "-q", *options, str(DATA / f"{name}.train"), "model"],
            [f"{program}-predict", test, "model", "theirs"],
        ):
            subprocess.run(words, check=True, capture_output=True, timeout=60)
        assert call("svmcut", "classify", "-v", 0, "--labels", test, "model", "ours") == 0
        yield name, np.loadtxt("theirs"), np.loadtxt("ours")


@pytest.mark.skipif(shutil.which("liblinear-train") is None, reason="needs liblinear-train")
@pytest.mark.parametrize("solver, bias", [(0, 1), (1, -1), (3, 1), (4, 1), (5, 0.5), (7, -1)])
def test_labels_are_those_of_liblinear_predict(solver, bias):
    for name, theirs, ours in peers("liblinear", ["-s", str(solver), "-B", str(bias)]):
        assert np.array_equal(theirs, ours), name


@pytest.mark.every(2)
@pytest.mark.skipif(shutil.which("svm-train") is None, reason="needs svm-train")
@pytest.mark.parametrize(
    "options", ["-t 0", "-t 1 -g 0.5 -r 1 -d 2", "-t 2 -g 0.1 -b 1", "-t 3 -g 0.01 -r 0.1"]
)
def test_labels_are_those_of_svm_predict(options):
    for name, theirs, ours in peers("svm", options.split()):
        assert np.array_equal(theirs, ours), name


@pytest.mark.parametrize(
    "old, new, message",
    [
        (
            "nr_class 2",
            "nr_class 3",
            "model:3:1: label '3 7' is refused; expected 3 finite numbers",
        ),
        (
            "nr_class 2",
            "nr_class 1",
            "model:2:1: nr_class '1' is refused; expected two classes or more",
        ),
        (
            "label 3 7",
            "label 3 7 9",
            "model:3:1: label '3 7 9' is refused; expected 2 finite numbers",
        ),
        ("label 3 7", "label 3 3", "model:3:1: label '3 3' is refused; expected different labels"),
        ("label 3 7\n", "", "model: there is no line 'label'; expected 2 finite numbers"),
        (
            "L2R_LR",
            "L3R_LR",
            "model:1:1: solver_type 'L3R_LR' is refused; expected L2R_LR, ",
        ),
        (
            "nr_feature 3",
            "nr_feature -3",
            "model:4:1: nr_feature '-3' is refused; expected an integer from 0 to ",
        ),
        (
            "nr_feature 3",
            "nr_feature 2147483646",
            "model:11: the file ends before the last of 2147483647 lines of weights",
        ),
        ("bias 2", "bias nan", "model:5:1: bias 'nan' is refused; expected a finite number"),
        (
            "bias 2",
            "nr_feature 3",
            "model:5:1: line 'nr_feature' is refused; expected solver_type, nr_class, label, ",
        ),
        ("w\n0.5", "x\n0.5", "model:6:1: line 'x' is refused"),
        (
            "0.75 \n",
            "",
            "model:10: the file ends before the last of 4 lines of weights; it was cut short",
        ),
        (
            "0.75 \n",
            "0.75",
            "model:10: the file ends before the last of 4 lines of weights; it was cut short",
        ),
        ("0.75 \n", "0.75 \n1 \n", "model:11: more weights than the 4 of its header"),
        ("-1.25e-1", "one", "model:8: no finite number; expected a weight"),
        ("-1.25e-1", "inf", "model:8: no finite number; expected a weight"),
    ],
)
def test_what_is_refused_of_liblinear(old, new, message):
    assert refused(Path("model"), LIBLINEAR, old, new).startswith(message)


@pytest.mark.parametrize(
    "old, new, message",
    [
        (
            "c_svc",
            "many_class",
            "model:1:1: svm_type 'many_class' is refused; expected c_svc, nu_svc, epsilon_svr, "
            "nu_svr or one_class",
        ),
        (
            "label -1 1",
            "label -1 1\nprobA -2",
            "model: there is no line 'probB'; expected a finite number",
        ),
        (
            "rbf\ngamma 1",
            "precomputed",
            "model:2:1: kernel_type 'precomputed' is refused; expected linear, polynomial, ",
        ),
        ("gamma 1\n", "", "model: there is no line 'gamma'; expected a finite number"),
        (
            "nr_class 2\ntotal_sv 3\nrho -0.5\nlabel -1 1",
            "nr_class 3\ntotal_sv 3\nrho -0.5\nlabel -1 1 2",
            "model:6:1: rho '-0.5' is refused; expected 3 finite numbers",
        ),
        (
            "nr_class 2\ntotal_sv 3\nrho -0.5\nlabel -1 1",
            "nr_class 3\ntotal_sv 3\nrho 0 0 1\nlabel -1 1 2",
            "model:8:1: nr_sv '2 1' is refused; expected 3 finite numbers",
        ),
        (
            "nr_class 2\ntotal_sv 3\nrho -0.5\nlabel -1 1\nnr_sv 2 1",
            "nr_class 3\ntotal_sv 3\nrho 0 0 1\nlabel -1 1 2\nnr_sv 2 1 1",
            "model:8:1: nr_sv '2 1 1' is refused; expected 3 whole numbers that add up to total_sv",
        ),
        (
            "nr_class 2\ntotal_sv 3\nrho -0.5\nlabel -1 1\nnr_sv 2 1",
            "nr_class 3\ntotal_sv 3\nrho 0 0 1\nlabel -1 1 2\nnr_sv 2 1 0",
            "model:10:1: expected 2 finite coefficients of a support vector",
        ),
        ("rho -0.5", "rho -0.5 1", "model:6:1: rho '-0.5 1' is refused; expected a finite number"),
        ("total_sv 3", "total_sv 2", "model:12:1: more lines than total_sv announces"),
        (
            "total_sv 3",
            "total_sv 4",
            "model:13:1: the file ends before its last support vector; it was cut short",
        ),
        ("3:-1", "0:-1", "model:10:11: feature index outside 1 to 2147483646"),
        ("SV\n", "", "model:9:1: line '0.5' is refused"),
    ],
)
def test_what_is_refused_of_libsvm(old, new, message):
    assert refused(Path("model"), LIBSVM.format(kernel="rbf\ngamma 1"), old, new).startswith(
        message
    )


CLASSES = """\
solver_type MCSVM_CS
nr_class 3
label 7 -2 5
nr_feature 2
bias {bias}
w
0.5 0 1
-1 0.25 0
1 1 0
"""


@pytest.mark.parametrize("bias", [2, 0, -1])
def test_several_classes_of_liblinear_in_the_order_of_the_file(capsys, bias):
    text = (
        CLASSES.format(bias=bias)
        if bias >= 0
        else CLASSES.format(bias=bias).removesuffix("1 1 0\n")
    )
    Path("model").write_text(text)
    Path("several").write_text("-2 1:1 2:4\n5 2:-1\n7 1:3\n9\n")
    assert call("svmcut", "classify", "-v", 0, "--report", "report", "several", "model", "out") == 0
    W, constant = np.array([[0.5, 0, 1], [-1, 0.25, 0]]), max(0, bias) * np.array([1, 1, 0])
    scores = np.array([[1, 4], [0, -1], [3, 0], [0, 0]]) @ W + constant
    labels = np.array([7, -2, 5])[scores.argmax(axis=1)]
    np.testing.assert_allclose(np.loadtxt("out"), np.column_stack([labels, scores]), atol=1e-8)
    report = json.loads(Path("report").read_text())
    assert report["labels"] == [7, -2, 5] and report["accuracy"] == 100 * np.mean(
        labels == [-2, 5, 7, 9]
    )
    assert (
        np.trace(report["confusion"]) == (labels == [-2, 5, 7, 9]).sum()
        and np.sum(report["confusion"]) == 3
    )
    capsys.readouterr()
    assert call("svmcut", "inspect", "--json", "model") == 0
    assert json.loads(capsys.readouterr().out)["labels"] == ["7", "-2", "5"]
    assert svmcut.load("model").predict(np.array([[0.0, 0]])).tolist() == [
        7
    ]  # the first of equal scores


@pytest.mark.parametrize(
    "text",
    [
        "solver_type L2R_L2LOSS_SVR\nnr_class 2\nnr_feature 2\nbias 1\nw\n0.5 \n-1 \n3 \n",
        "svm_type epsilon_svr\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho -3\nprobA "
        "0.1\nSV\n0.5 1:1 \n-1 2:1 \n",
        "svm_type nu_svr\nkernel_type polynomial\ndegree 1\ngamma 1\ncoef0 0\nnr_class "
        "2\ntotal_sv 2\nrho -3\nSV\n"
        "0.5 1:1 \n-1 2:1 \n",
    ],
    ids=["liblinear", "linear", "kernel"],
)
def test_models_of_numbers(text, capsys):
    Path("model").write_text(text)
    Path("numbers").write_text("1 1:2 2:4\n2.5 2:-1\n")
    assert call("svmcut", "classify", "-v", 0, "--report", "report", "numbers", "model", "out") == 0
    np.testing.assert_allclose(np.loadtxt("out"), [0, 4], atol=1e-8)
    assert json.loads(Path("report").read_text())["mse"] == pytest.approx((1 + 1.5**2) / 2)
    capsys.readouterr()
    assert call("svmcut", "inspect", "--json", "model") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["tasks"] == ["regression"] and "labels" not in found
    assert call("svmcut", "classify", "--probability", "numbers", "model", "out") == 1


@pytest.mark.parametrize("order", ["1 -1", "-1 1"])
def test_probabilities_of_libsvm(order):
    text = LIBSVM.format(kernel="linear").replace(
        "label -1 1", f"label {order}\nprobA -1.5\nprobB 0.25"
    )
    Path("model").write_text(text)
    assert call("svmcut", "classify", "-v", 0, "--probability", "rows", "model", "out") == 0
    first = 1 / (1 + np.exp(-1.5 * (X[:, :3] @ SUPPORT.T @ ALPHA + 0.5) + 0.25))
    np.testing.assert_allclose(np.loadtxt("out"), np.column_stack([1 - first, first]), atol=1e-7)


def sets_of_classes():
    """Four sets of several classes in two parts: three of scikit-learn, and words with tags."""
    datasets = pytest.importorskip("sklearn.datasets")
    for name in ("iris", "wine", "digits"):
        values, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(y))
        values = np.round(values / np.maximum(values.max(axis=0), 1) * 64) / 64  # exact in float32
        pairs = [
            " ".join(f"{j + 1}:{value:.9g}" for j, value in enumerate(row) if value)
            for row in values
        ]
        lines = np.array([f"{y[i]} {pairs[i]}" for i in order])
        for part, chosen in (
            ("train", np.arange(len(y)) % 3 > 0),
            ("test", np.arange(len(y)) % 3 == 0),
        ):
            Path(f"{name}.{part}").write_text("\n".join(lines[chosen]) + "\n")
    for part in ("train", "test"):
        lines = (line.split() for line in (DATA / f"tags.{part}").read_text().splitlines())
        Path(f"tags.{part}").write_text(
            "".join(" ".join([line[0], *line[2:]]) + "\n" for line in lines)
        )
    return "iris", "wine", "digits", "tags"


def several(program, options, theirs=(), ours=("--labels",)):
    """Predictions of the program's models of these options, by it and by svmcut, with options of
    either."""
    asked = theirs, ours
    for name in sets_of_classes():
        for words in (
            [f"{program}-train", "-q", *options, f"{name}.train", "model"],
            [f"{program}-predict", *asked[0], f"{name}.test", "model", "theirs"],
        ):
            subprocess.run(words, check=True, capture_output=True, timeout=60)
        assert call("svmcut", "classify", "-v", 0, *asked[1], f"{name}.test", "model", "ours") == 0
        yield name, np.loadtxt("theirs", skiprows=1 if asked[0] else 0), np.loadtxt("ours")


@pytest.mark.every(3)
@pytest.mark.skipif(shutil.which("liblinear-train") is None, reason="needs liblinear-train")
@pytest.mark.parametrize("solver, bias", [(0, 1), (2, -1), (3, 1), (4, 1), (5, 0.5), (7, -1)])
def test_several_labels_are_those_of_liblinear_predict(solver, bias):
    for name, theirs, ours in several("liblinear", ["-s", str(solver), "-B", str(bias)]):
        assert np.array_equal(theirs, ours), name


@pytest.mark.skipif(shutil.which("liblinear-train") is None, reason="needs liblinear-train")
def test_probabilities_are_those_of_liblinear_predict():
    for name, theirs, ours in several(
        "liblinear", ["-s", "0"], ("-b", "1"), ("--labels", "--probability")
    ):
        assert np.array_equal(theirs[:, 0], ours[:, 0]), name
        np.testing.assert_allclose(ours, theirs, atol=1e-5, err_msg=name)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "program, options",
    [
        ("liblinear", "-s 11 -B 1"),
        ("liblinear", "-s 12"),
        ("liblinear", "-s 13 -B 1"),
        ("svm", "-s 3 -t 2"),
        ("svm", "-s 3 -t 0"),
        ("svm", "-s 4 -t 1 -d 2 -g 0.5"),
    ],
)
def test_numbers_are_those_of_their_programs(program, options):
    if shutil.which(f"{program}-train") is None:
        pytest.skip(f"needs {program}-train")
    for name, theirs, ours in several(program, options.split(), ours=()):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4, err_msg=name)


@pytest.mark.every(2)
@pytest.mark.skipif(shutil.which("svm-train") is None, reason="needs svm-train")
@pytest.mark.parametrize("options", ["-t 0", "-t 2", "-t 1 -d 2 -g 0.5 -s 1 -n 0.1"])
def test_several_labels_are_those_of_svm_predict(options):
    for name, theirs, ours in several("svm", options.split()):
        assert np.array_equal(theirs, ours), name


@pytest.mark.skipif(shutil.which("svm-train") is None, reason="needs svm-train")
def test_probabilities_of_several_classes_are_those_of_svm_predict():
    """Labels too, which are not those of the votes."""
    for name, theirs, ours in several(
        "svm", ["-b", "1"], ("-b", "1"), ("--labels", "--probability")
    ):
        np.testing.assert_allclose(ours[:, 1:], theirs[:, 1:], rtol=1e-4, atol=1e-6, err_msg=name)
        assert np.array_equal(ours[:, 0], theirs[:, 0]), name


@pytest.mark.parametrize("order", [[5, 2, 9], [9, 5, 2]])
def test_several_classes_of_libsvm_by_their_formula(order):
    rng = np.random.default_rng(0)
    Z, coef, rho = (
        np.round(rng.normal(size=(6, 3)) * 8) / 8,
        rng.normal(size=(6, 2)),
        rng.normal(size=3),
    )
    coef[1, 0] = 0
    rows = (" ".join(f"{j + 1}:{value:g}" for j, value in enumerate(z) if value) for z in Z)
    lines = "".join(f"{a:.17g} {b:.17g} {row} \n" for (a, b), row in zip(coef, rows, strict=True))
    sigmoids = "probA -1 -2 -0.5\nprobB 0.1 0 -0.2\n"
    head = "svm_type c_svc\nkernel_type rbf\ngamma 0.25\nnr_class 3\ntotal_sv 6\n"
    head += (
        f"rho {' '.join(map(repr, rho.tolist()))}\nlabel "
        f"{' '.join(map(str, order))}\n{sigmoids}nr_sv 1 3 2\nSV\n"
    )
    Path("model").write_text(head + lines)
    x = X[:, :3]
    K, own = np.exp(-0.25 * ((x[:, None] - Z) ** 2).sum(axis=2)), np.repeat(np.arange(3), [1, 3, 2])
    expected = []
    for k, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        weights = np.where(own == i, coef[:, j - 1], np.where(own == j, coef[:, i], 0))
        expected.append(K @ weights - rho[k])
    model = read_model("model")
    np.testing.assert_allclose(
        model.decisions(Csr.from_dense(x.astype(np.float32))).T, expected, rtol=1e-5, atol=1e-6
    )
    assert model.names.tolist() == order and model.sigmoids == ((-1, 0.1), (-2, 0), (-0.5, -0.2))
    assert not (model.alpha == 0).any()


@pytest.mark.skipif(shutil.which("svm-train") is None, reason="needs svm-train")
def test_probabilities_are_those_of_svm_predict():
    for name in SETS:
        test = str(DATA / f"{name}.test")
        for words in (
            ["svm-train", "-q", "-b", "1", "-g", "0.1", str(DATA / f"{name}.train"), "model"],
            ["svm-predict", "-b", "1", test, "model", "theirs"],
        ):
            subprocess.run(words, check=True, capture_output=True, timeout=60)
        assert call("svmcut", "classify", "-v", 0, "--probability", test, "model", "ours") == 0
        theirs, ours = np.loadtxt("theirs", skiprows=1)[:, 1:], np.loadtxt("ours")
        # they have the first label of the file first, which is the positive class here
        np.testing.assert_allclose(ours[:, ::-1], theirs, atol=1e-5, err_msg=name)


@pytest.mark.parametrize(
    "text", [LIBLINEAR, LIBSVM.format(kernel="linear")], ids=["liblinear", "libsvm"]
)
def test_no_file_cut_short_is_taken_and_the_executables_take_none(text, capsys):
    Path("model").write_text(text)
    read_model("model")
    for length in range(len(text)):
        Path("model").write_text(text[:length])
        with pytest.raises(ModelError):
            read_model("model")
    Path("model").write_text(text)
    for program in ("svm_perf_classify", "svm_rank_classify", "svm_hmm_classify"):
        assert call(program, "rows", "model", "scores") == 1
        assert "is not supported; expected 'SVM-light Version V6.20'" in capsys.readouterr().err
    assert not Path("scores").exists()


@pytest.mark.parametrize("first", ["+1 1:2 5:1", "3 qid:2 1:0.5", "spam 7:1"])
def test_examples_in_the_place_of_a_model_are_told(tmp_path, capsys, first):
    (tmp_path / "rows").write_text(f"{first}\n")
    for program in ("svmcut classify", "svmcut inspect", "svm_perf_classify"):
        *words, paths = *program.split(), [str(tmp_path / "rows")] * (2 - ("inspect" in program))
        assert call(*words, *paths) == 1
        expected = f"rows:1:1: '{first}' is an example; expected a model"
        assert expected in capsys.readouterr().err
