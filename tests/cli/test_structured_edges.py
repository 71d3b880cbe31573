# SPDX-License-Identifier: BSD-3-Clause
"""Unseen tags and labels, empty sets, sequences of one token and of very many, by all programs that
take them."""

import json

import numpy as np
import pytest
from programs import call, run

LEARNERS = ("svmcut learn --task sequence", "svm_hmm_learn")
CLASSIFIERS = ("svmcut classify", "svm_hmm_classify")
SOLVERS = ("auto", "bcfw", "ssg", "cutting-plane", "gdmm", "soft-bcfw")
LABELS = ("svmcut learn --task multilabel", "-v", 0, "--example-cost", 10)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(name, text):
    with open(name, "w", encoding="ascii") as file:
        file.write(text)


def lines(name):
    with open(name, encoding="ascii") as file:
        return file.read().split("\n")[:-1]


def own_lines(name):
    """Lines of a model without its checksum."""
    return [line for line in lines(name) if not line.startswith("#@ crc32")]


SINGLE = "".join(f"{1 + n % 3} qid:{n + 1} {1 + n % 3}:1\n" for n in range(12))


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_an_unseen_tag_and_an_unseen_feature(learner, classifier, capsys):
    put("train", SINGLE)
    put("test", "3 qid:1 3:1\n9 qid:1 1:1 700:5\n0 qid:4 2:1\n2 qid:7 2:1 900000000:1\n")
    assert call(learner, "-c", 100, "train", "model") == 0
    capsys.readouterr()
    assert call(classifier, "test", "model", "tags") == 0
    assert lines("tags") == ["3", "1", "2", "2"]
    told = capsys.readouterr()
    if classifier == "svmcut classify":
        assert "Token error         50.00 %\nSequence error      66.67 %\n" in told.out
    else:
        assert "Zero/one-error on test set: 66.67% (1 correct, 2 incorrect, 3 total)" in told.out
        assert "Average loss per token: 0.5000" in told.out
    warning = "svmcut classify: warning: tags above 3 are not in the model and count as wrong\n"
    assert told.err == (warning if classifier == "svmcut classify" else "")


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_sequences_of_one_token(solver, classifier):
    put("train", SINGLE)
    assert call(LEARNERS[0], "-v", 0, "-c", 100, "--solver", solver, "train", "model") == 0
    assert call(classifier, "-v", 0, "train", "model", "tags") == 0
    assert lines("tags") == [line.split()[0] for line in lines("train")]


@pytest.mark.parametrize("options", [("--t", 0), ("--t", 2), ("--t", 3, "--e", 1), ()])
def test_sequences_of_one_token_at_other_orders(options):
    put("train", SINGLE)
    for learner, classifier in zip(LEARNERS, CLASSIFIERS):
        assert call(learner, "-v", 0, "-c", 100, *options, "train", "model") == 0
        assert call(classifier, "-v", 0, "train", "model", "tags") == 0
        assert lines("tags") == [line.split()[0] for line in lines("train")]


@pytest.mark.parametrize(
    "learner", [(LEARNERS[0], "--solver", solver) for solver in SOLVERS] + [LEARNERS[1:]]
)
@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_one_tag_alone(learner, classifier):
    """Nothing can go wrong, so no weight differs from 0."""
    put("train", "1 qid:1 1:1\n1 qid:1 2:1\n1 qid:2\n")
    assert call(*learner, "-v", 0, "-c", 10, "train", "model") == 0
    assert own_lines("model")[-1] == "1 #"
    assert call(classifier, "-v", 0, "train", "model", "tags") == 0
    assert lines("tags") == ["1", "1", "1"]


def viterbi(X, emissions, transitions):
    """The best tags from 0 of one sequence: X (T, D), emissions (D, K), transitions (K, K) from row
    to column."""
    nodes, back = X @ emissions, []
    best = nodes[0]
    for node in nodes[1:]:
        paths = best[:, None] + transitions
        back.append(paths.argmax(axis=0))
        best = paths.max(axis=0) + node
    tags = [int(best.argmax())]
    for step in reversed(back):
        tags.append(int(step[tags[-1]]))
    return tags[::-1]


@pytest.mark.slow
@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_a_sequence_of_100_000_tokens(classifier, rng):
    """The tags are those of a slow Viterbi from the numbers of the model file."""
    K = D = 3

    def rows(T, qid):
        tag = np.cumsum(rng.random(T) < 0.4) % K
        X = np.round(np.eye(K)[tag] + 0.5 * rng.normal(size=(T, D)), 2)
        return X, [
            f"{k + 1} qid:{qid} 1:{a:g} 2:{b:g} 3:{c:g}\n" for k, (a, b, c) in zip(tag, X.tolist())
        ]

    put("train", "".join(line for qid in range(30) for line in rows(8, qid)[1]))
    assert call(LEARNERS[0], "-v", 0, "-c", 50, "-e", 0.01, "train", "model") == 0
    w = np.zeros(K + K**2 + 2 + D * (K + 1))
    for pair in own_lines("model")[-1].split()[1:-1]:
        index, value = pair.split(":")
        w[int(index)] = float(value)
    base = K + K**2 + 1
    transitions = w[K + 1 : K + 1 + K**2].reshape(K, K)
    emissions = np.array([[w[base + D * k + f] for k in range(1, K + 1)] for f in range(1, D + 1)])
    X, text = rows(100_000, 1)
    put("test", "".join(text))
    done = run(classifier, "test", "model", "tags")
    assert (done.returncode, done.stderr) == (0, "")
    tags = [int(line) - 1 for line in lines("tags")]
    assert tags == viterbi(X.astype(np.float32).astype(float), emissions, transitions)
    wrong = sum(tag != int(line.split(" ")[0]) - 1 for tag, line in zip(tags, text, strict=True))
    loss = f"Average loss per token: {wrong / 100_000:.4f}"
    if classifier == "svmcut classify":
        loss = f"Token error       {wrong / 1000:7.2f} %"
    assert loss in done.stdout
    assert wrong < 20_000


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("pairs", ["all", "none"])
def test_empty_sets_and_unseen_labels(solver, pairs):
    put("train", "4 1:1\n 2:1\n4,9 1:1 3:1\n9 3:1\n 4:1\n" * 4)
    put("test", "4 1:1\n 2:1\n 9999:1\n7 2:1\n4,9,7 1:1 3:1\n")
    limit = ("--gap", 0.01, "--max-iterations", 300)
    assert call(*LABELS, *limit, "--solver", solver, "--pairs", pairs, "train", "model") in (0, 3)
    assert call("svmcut classify", "test", "model", "sets", "--report", "report") == 0
    assert lines("sets") == ["4", "", "", "", "4,9"]
    with open("report", encoding="utf-8") as file:
        report = json.load(file)
    assert report["warnings"] == ["1 labels of test are not in the model and are never predicted"]
    assert report["subset_accuracy"] == pytest.approx(60)
    assert report["hamming_loss"] == pytest.approx(100 * 2 / 15)
    assert report["micro_f1"] == pytest.approx(100 * 2 * 3 / (3 + 5))


@pytest.mark.parametrize("solver", SOLVERS)
def test_no_label_at_all(solver, capsys):
    put("train", " 1:1\n 2:1\n")
    put("test", "3 1:1\n 2:1\n")
    assert call(*LABELS, "--solver", solver, "train", "model") == 0
    assert "no example of train has a label" in capsys.readouterr().err
    assert call("svmcut classify", "-v", 0, "test", "model", "sets") == 0
    assert lines("sets") == ["", ""]
