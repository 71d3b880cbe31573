# SPDX-License-Identifier: BSD-3-Clause
"""Models of LIBSVM: labels beside probabilities, features from 0, and one class."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from libsvm_texts import LIBSVM
from programs import call

import svmcut

X = np.array([[1.0, 4, 0, 0], [0, 0, 2, 0], [0, -1, 0.5, 100]])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.skipif(shutil.which("svm-train") is None, reason="needs svm-train")
@pytest.mark.parametrize("K", [2, 3, 4, 5, 6])
def test_labels_are_those_of_svm_predict_with_and_without_probabilities(K, capsys):
    """Of classes that overlap and are unlike in number: the labels of the two differ."""
    rng = np.random.default_rng(K + 10)
    for part, n in (("train", 150), ("test", 300)):
        y = rng.choice(K, n, p=np.arange(1, K + 1) / sum(range(1, K + 1)))
        x = np.round(rng.normal(size=(n, 3)) + 0.8 * np.stack([y, y % 2, y % 3], axis=1), 3)
        rows = (
            f"{3 * label + 1} " + " ".join(f"{j}:{v:g}" for j, v in enumerate(z, 1))
            for label, z in zip(y, x)
        )
        Path(part).write_text("\n".join(rows) + "\n")
    subprocess.run(
        ["svm-train", "-q", "-b", "1", "train", "model"], check=True, capture_output=True
    )
    found, shares = [], []
    for theirs, ours in (("0", []), ("1", ["--probability"])):
        told = subprocess.run(
            ["svm-predict", "-b", theirs, "test", "model", "theirs"],
            check=True,
            capture_output=True,
        )
        capsys.readouterr()
        words = ["--labels", *ours, "test", "model", "ours", "--report", "report"]
        assert call("svmcut", "classify", "-v", 0, *words) == 0
        labels = [
            line.split()[0] for line in Path("theirs").read_text().splitlines()[theirs == "1" :]
        ]
        found.append([line.split()[0] for line in Path("ours").read_text().splitlines()])
        assert found[-1] == labels
        shares.append(json.loads(Path("report").read_text())["accuracy"])
        assert f"Accuracy = {shares[-1]:.6g}%" in told.stdout.decode()
    assert found[0] != found[1]


def coupled_model(first, probabilities):
    """A model of LIBSVM of three classes and one feature of this number: votes say 1, coupled
    probabilities 3."""
    tail = "probA -1 -1 -1\nprobB 0 6 9\n" if probabilities else ""
    head = "svm_type c_svc\nkernel_type linear\nnr_class 3\ntotal_sv 3\nrho 0 0 0\nlabel 1 2 3\n"
    head += f"{tail}nr_sv 1 1 1\nSV\n"
    return head + "".join(f"{a} {b} {first}:1 \n" for a, b in ((1, 1), (0, 0), (0, 0)))


def test_the_label_beside_probabilities_is_the_most_probable_class(capsys):
    """Where all pairs' scores are for the first, P(1 before 3) is below a half."""
    Path("model").write_text(coupled_model(1, True))
    Path("rows").write_text("3 1:1\n3 1:2\n")
    assert call("svmcut", "classify", "-v", 0, "--labels", "rows", "model", "votes") == 0
    assert (
        call("svmcut", "classify", "-v", 0, "--labels", "--probability", "rows", "model", "coupled")
        == 0
    )
    coupled = np.loadtxt("coupled")
    assert np.loadtxt("votes").tolist() == [1, 1] and coupled[:, 0].tolist() == [3, 3]
    assert np.array_equal(coupled[:, 0], 1 + np.argmax(coupled[:, 1:], axis=1))
    page = Path(__file__).parents[2] / "docs" / "formats.md"
    told = " ".join(page.read_text(encoding="utf-8").split())
    assert "vote over pairs, but with `--probability` the most probable class" in told


def test_two_classes_of_libsvm_beside_probabilities():
    """P(-1 first) = 1 / (1 + exp(-f + 1)): of a score between 0 and 1 the label is another one."""
    Path("model").write_text(
        LIBSVM.format(kernel="linear").replace("nr_sv", "probA -1\nprobB 1\nnr_sv")
    )
    Path("rows").write_text("1 1:0.01\n1 1:4\n1 2:4\n")
    scores = svmcut.load("model").decision_function(np.array([[0.01, 0, 0], [4, 0, 0], [0, 4, 0]]))
    assert (scores > 0).tolist() == [True, True, False] and 0 < scores[0] < 1
    for words, expected in (
        (["--labels"], [-1, -1, 1]),
        (["--labels", "--probability"], [1, -1, 1]),
    ):
        assert (
            call(
                "svmcut", "classify", "-v", 0, *words, "rows", "model", "out", "--report", "report"
            )
            == 0
        )
        assert np.loadtxt("out", ndmin=2)[:, 0].tolist() == expected


@pytest.mark.parametrize(
    "text", [LIBSVM.format(kernel="linear"), coupled_model(0, False)], ids=["two", "three"]
)
def test_models_of_libsvm_from_feature_0(text, capsys):
    zero = (
        text
        if " 0:1 " in text
        else text.replace("1:0.5", "0:0.5").replace("2:2", "1:2").replace("3:", "2:")
    )
    one = coupled_model(1, False) if zero is text else text
    Path("zero").write_text(zero)
    Path("one").write_text(one)
    Path("rows0").write_text("3 0:1 1:4\n1 2:2\n1 1:-1 2:0.5 3:100\n")
    Path("rows1").write_text("3 1:1 2:4\n1 3:2\n1 2:-1 3:0.5 4:100\n")
    assert call("svmcut", "classify", "rows1", "one", "p1") == 0
    assert call("svmcut", "classify", "--zero-based", "rows0", "zero", "p0") == 0
    assert Path("p0").read_bytes() == Path("p1").read_bytes()
    capsys.readouterr()
    for words in (("classify", "rows1", "zero", "p"), ("inspect", "zero")):
        assert call("svmcut", *words) == 1
        assert capsys.readouterr().err.endswith("where they begin at 0 give --zero-based\n")
    assert call("svmcut", "inspect", "--zero-based", "zero", "--data", "rows0", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert call("svmcut", "inspect", "one", "--data", "rows1", "--json") == 0
    same = json.loads(capsys.readouterr().out)
    given = dict.fromkeys(("model", "data", "warnings"))
    assert told | given == same | given
    assert told["data"]["measures"] == same["data"]["measures"]
    ours, theirs = svmcut.load("zero", zero_based=True), svmcut.load("one")
    assert ours.decision_function(X).tolist() == theirs.decision_function(X).tolist()
    assert (
        call("svmcut", "inspect", "--zero-based", "--input", "crfsuite", "one", "--data", "rows1")
        == 2
    )


def test_a_model_of_one_class_says_what_is_inside(tmp_path):
    text = LIBSVM.format(kernel="linear").replace("c_svc", "one_class").replace("label -1 1\n", "")
    (tmp_path / "model").write_text(text)
    model = svmcut.load(tmp_path / "model")
    X = np.random.default_rng(2).normal(size=(20, 3)).astype(np.float32)
    assert model.model.loss == "one-class"
    inside = np.where(model.decision_function(X) >= 0, 1.0, -1.0)
    assert model.predict(X).tolist() == inside.tolist()
