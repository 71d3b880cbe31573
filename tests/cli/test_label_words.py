# SPDX-License-Identifier: BSD-3-Clause
"""Words as labels in LIBSVM's text are what numbers in their order are, and are kept by name."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from programs import forked, uncertified

import svmcut
from svmcut.formats import write_model

WORDS = {"ham": -1, "spam": 1}


def _rows(names, n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    labels = [
        names[k] for k in (X @ [[2, 0, -1], [0, 1, 0], [1, 0, 0], [0, 0, 0]]).argmax(1) % len(names)
    ]
    text = [" ".join(f"{j}:{v:.3f}" for j, v in enumerate(row, 1)) for row in X]
    return labels, text


def _write(path, labels, rows):
    path.write_text("".join(f"{label} {row}\n" for label, row in zip(labels, rows, strict=True)))
    return path


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labels, rows = _rows(("ham", "spam"))
    _write(Path("words"), labels, rows)
    _write(Path("numbers"), [WORDS[label] for label in labels], rows)
    return tmp_path


def _weights(path):
    return [line for line in Path(path).read_bytes().splitlines() if b":" in line[:400]]


def test_two_words_are_the_numbers_in_their_order(files):
    assert forked("svmcut learn", "words", "m").returncode == 0
    forked("svmcut learn", "numbers", "n")
    assert _weights("m") == _weights("n")
    assert uncertified("m").endswith(b"#@ label 1 ham\n#@ label 2 spam\n#@ table 2 svm\n")
    done = forked("svmcut classify", "--labels", "words", "m", "p", "--report", "r")
    assert done.stderr == "" and "Positive class: spam" in done.stdout
    forked("svmcut classify", "numbers", "n", "q")
    scores = np.loadtxt("q")
    assert Path("p").read_text().split() == ["spam" if s > 0 else "ham" for s in scores]
    truth = [line.split()[0] for line in Path("words").read_text().splitlines()]
    wrong = np.mean([a != b for a, b in zip(truth, Path("p").read_text().split())])
    assert json.loads(Path("r").read_text())["error_rate"] == pytest.approx(100 * wrong)


def test_pipes_and_packed_files_have_words_too(files):
    forked("svmcut learn", "words", "m")
    text = Path("words").read_bytes()
    front = b"".join(text.splitlines(True)[:60])
    Path("packed").write_bytes(gzip.compress(text))
    assert forked("svmcut learn", "packed", "a").returncode == 0
    assert forked("svmcut learn", "-", "b", stdin=front).returncode == 0
    Path("front").write_bytes(front)
    forked("svmcut learn", "front", "c")
    assert Path("a").read_bytes() == Path("m").read_bytes()
    assert Path("b").read_bytes() == Path("c").read_bytes()


def test_options_name_words_and_probabilities_have_them(files):
    words = ("--positive", "ham", "--class-weight", "spam=2", "--probability", "words", "m")
    assert forked("svmcut learn", *words).returncode == 0
    numbers = ("--positive", "-1", "--class-weight", "1=2", "--probability", "numbers", "n")
    forked("svmcut learn", *numbers)
    assert _weights("m") == _weights("n")
    forked("svmcut classify", "--probability", "--labels", "words", "m", "p")
    assert {line.split()[0] for line in Path("p").read_text().splitlines()} == {"ham", "spam"}
    done = forked("svmcut learn", "--positive", "egg", "words", "m")
    assert (
        done.returncode == 2
        and "--positive names 'egg', but the labels of words are ham, spam" in done.stderr
    )


def test_three_words_are_three_classes_and_validate_knows_them(files):
    labels, rows = _rows(("a", "b10", "c"))
    train, held = _write(Path("t"), labels, rows), _write(Path("v"), labels[::-1], rows[::-1])
    number = {"a": 1, "b10": 2, "c": 3}
    _write(Path("k"), [number[label] for label in labels], rows)
    done = forked("svmcut learn", "--validate", held, "--report", "r", train, "m")
    assert done.returncode == 0 and "3 classes: multiclass" in done.stdout
    forked("svmcut learn", "k", "n")
    assert _weights("m") == _weights("n")
    row = json.loads(Path("r").read_text())["path"][0]
    assert row["validation"]["accuracy"] == row["training"]["accuracy"]
    shown = forked("svmcut inspect", "m").stdout
    assert "b10" in shown and "c" in shown


def test_python_trains_and_predicts_words(files):
    outcome = svmcut.train("words")
    write_model("m", outcome.model)
    forked("svmcut learn", "words", "n")
    assert Path("m").read_bytes() == Path("n").read_bytes()
    X, _ = svmcut.load_svmlight_file("numbers")
    found = svmcut.load("m").predict(X)
    assert set(found) == {"ham", "spam"}


def test_unknown_words_of_a_test_file_count_as_errors(files):
    forked("svmcut learn", "words", "m")
    _, rows = _rows(("ham", "spam"), 10)
    _write(Path("t"), ["egg"] * 10, rows)
    done = forked("svmcut classify", "t", "m", "p", "--report", "r")
    assert done.returncode == 0 and json.loads(Path("r").read_text())["accuracy"] == 0


def test_one_word_is_the_positive_class_and_others_are_the_rest(files):
    Path("one").write_text("spam 1:1\nspam 1:2\n")
    assert forked("svmcut learn", "one", "m").returncode == 0
    done = forked("svmcut classify", "--labels", "one", "m", "p")
    assert done.returncode == 0 and Path("p").read_text() == "spam\nspam\n"


@pytest.mark.parametrize(
    ("words", "text", "message"),
    [
        (("--task", "regression"), "x 1:1\ny 1:2\n", "bad:1:1: label x is not a number"),
        ((), "spam 1:1\nham 2:x\n", "bad:2:7: feature value x is not a number"),
        ((), "5.1,3.5,setosa\n", "bad:1:1: label 5.1,3.5,setosa is not a number"),
        ((), "spam\nham\n", "bad:1:1: label spam is not a number"),
        ((), "sp\xe4m 1:1\nham 2:1\n", "is no UTF-8"),
        ((), "1 1:1\nspam,ham 2:1\n", "bad:2:1: label spam,ham is not a number"),
    ],
)
def test_what_is_no_label_is_refused(tmp_path, monkeypatch, words, text, message):
    monkeypatch.chdir(tmp_path)
    Path("bad").write_bytes(text.encode("latin-1"))
    done = forked("svmcut learn", *words, "bad", "m")
    assert done.returncode == 1 and message in done.stderr and not Path("m").exists()


def test_programs_with_originals_names_take_numbers_alone(files):
    done = forked("svm_perf_learn", "-c", "1", "words", "m")
    assert done.returncode == 1 and "label" in done.stderr and "is not a number" in done.stderr


def test_messages_of_classes_name_words(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labels, rows = _rows(("a", "b10", "c"))
    _write(Path("t"), labels, rows)
    done = forked("svmcut learn", "-l", "f1", "-c", 1, "t", "m")
    assert done.returncode == 2 and "in --positive c" in done.stderr
    _write(Path("ids"), [f"id{k}" for k in range(len(rows))], rows)
    done = forked("svmcut learn", "ids", "m")
    assert done.returncode == 1 and "the labels of 120 rows are 120 words, id0, id1" in done.stderr
