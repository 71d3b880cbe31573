# SPDX-License-Identifier: BSD-3-Clause
"""Labels that a model does not know, in files: every one is a class of its own in the averages."""

import json

import numpy as np
import pytest
from programs import call
from reference import chunks as chunk_truth
from sklearn import metrics

KNOWN, OTHERS = ("ant", "bee", "cat"), ("dog", "eel", "")


def drawn(seed, n, words):
    """Labels of n rows, and one feature that says little of them."""
    rng = np.random.default_rng(seed)
    labels = [str(word) for word in rng.choice(words, n)]
    return labels, rng.integers(1, 9, n).tolist()


def written(path, kind, labels, values):
    line = "{},{}\n" if kind == "csv" else "{} 1:{}\n"
    head = "y,x\n" if kind == "csv" else ""
    path.write_text(head + "".join(map(line.format, labels, values)))
    return path


def reported(tmp_path, test, model, *words):
    out, report = tmp_path / "out", tmp_path / "report"
    assert call("svmcut classify", "-v", 0, "--report", report, *words, test, model, out) == 0
    return json.loads(report.read_text()), out.read_text().splitlines()


@pytest.mark.parametrize("kind", ["csv", "svm"])
@pytest.mark.parametrize("several", [False, True])
def test_words(tmp_path, kind, several):
    known = KNOWN[: 2 + several]
    train = written(tmp_path / f"train.{kind}", kind, *drawn(1, 60, known))
    how = ["--label", "y"] if kind == "csv" else []
    how += ["--task", "multiclass"] if several else []
    assert call("svmcut learn", "-v", 0, *how, train, tmp_path / "model") == 0
    others = OTHERS if kind == "csv" else OTHERS[:2]
    labels, values = drawn(2, 40, (*known, *others))
    test = written(tmp_path / f"test.{kind}", kind, labels, values)
    report, found = reported(tmp_path, test, tmp_path / "model", "--labels")
    one = {} if several else {"labels": [known[-1]]}
    macro = {"average": "macro", "zero_division": 0, **one}
    assert report["accuracy"] == pytest.approx(100 * metrics.accuracy_score(labels, found))
    for name in ("precision", "recall", "f1"):
        value = getattr(metrics, f"{name}_score")(labels, found, **macro)
        assert report[name] == pytest.approx(100 * value), name


def test_sets_of_words(tmp_path):
    rng = np.random.default_rng(3)

    def sets(words, n):
        return ["|".join(word for word in words if rng.random() < 0.5) for _ in range(n)]

    train = written(tmp_path / "train.csv", "csv", sets(KNOWN, 60), drawn(4, 60, KNOWN)[1])
    how = ("--label", "y", "--task", "multilabel")
    assert call("svmcut learn", "-v", 0, *how, train, tmp_path / "model") == 0
    gold = sets((*KNOWN, "dog", "eel"), 30)
    test = written(tmp_path / "test.csv", "csv", gold, drawn(5, 30, KNOWN)[1])
    report, found = reported(tmp_path, test, tmp_path / "model")
    words = sorted({*"|".join(gold).split("|"), *",".join(found).split(",")} - {""})
    right, predicted = (
        [[word in one.split(sign) for word in words] for one in rows]
        for rows, sign in ((gold, "|"), (found, ","))
    )
    for name in ("macro", "micro"):
        value = metrics.f1_score(right, predicted, average=name, zero_division=0)
        assert report[f"{name}_f1"] == pytest.approx(100 * value)


@pytest.mark.parametrize("kind", ["conll", "crfsuite"])
def test_chunks_of_unknown_tags(tmp_path, kind):
    rng = np.random.default_rng(6)
    between = " " if kind == "conll" else "\t"

    def written_sequences(name, tags):
        rows = [[str(tag) for tag in rng.choice(tags, rng.integers(1, 6))] for _ in range(20)]
        words = [[str(word) for word in rng.choice(list("abc"), len(row))] for row in rows]
        pairs = [zip(*pair, strict=True) for pair in zip(words, rows, strict=True)]
        order = (0, 1) if kind == "conll" else (1, 0)
        lines = [
            "".join(between.join(pair[k] for k in order) + "\n" for pair in one) for one in pairs
        ]
        (tmp_path / name).write_text("\n".join(lines))
        return tmp_path / name, rows

    train, _ = written_sequences("train", ("O", "B-X", "B-Y", "I-X"))
    test, right = written_sequences("test", ("O", "B-X", "B-Y", "I-X", "I-Y", "B-Z", "I-Z"))
    how = ("--task", "sequence", "--input", kind, "--example-cost", 1)
    assert call("svmcut learn", "-v", 0, *how, train, tmp_path / "model") == 0
    report, out = reported(tmp_path, test, tmp_path / "model", "--input", kind)
    predicted = [one.split() for one in "\n".join(out).split("\n\n") if one]
    names = ("chunk_precision", "chunk_recall", "chunk_f1")
    assert [report[name] for name in names] == pytest.approx(
        chunk_truth.scores(right, predicted)[0]
    )
