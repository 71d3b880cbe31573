# SPDX-License-Identifier: BSD-3-Clause
"""What LIBSVM's and LIBLINEAR's programs are made of: rows, numbers, texts of models, sums."""

import numpy as np
import pytest
from reference import library_rows
from svmcut._native.strict import strict_rows

from svmcut.base.errors import ModelError
from svmcut.formats.library_text import KernelText, LinearText, read_kernel, read_linear
from svmcut.originals.libs import predicting, svm_predict
from svmcut.originals.libs.liblinear_train import joint_support
from svmcut.originals.libs.rows import Rows, classes_of, folds, take_rows, whole_labels
from svmcut.originals.libs.svm_predict import Expansion, one_class_probabilities
from svmcut.originals.libs.words import Refused, integer_of, kind_of, leading_options, real_of

WORDS = ["1", "-1", "+2.5e3", "0x1p3", "nan", "inf", "1e999", "x", "", "1:2", "3:4", "2:0x1", "9"]
WORDS += [
    "5:",
    ":",
    "1:nan",
    "7: 1",
    "#",
    "a:1",
    *("-1:2", "0:1", "8:1e-400", "2147483646:1", "9:1_0"),
]
WORDS += ["2147483646:1", "99999999999:1", "4:1:2", "6:1,5", "\t", "\r", "10:+.5"]


@pytest.mark.parametrize("first", [0, 1])
def test_rows_are_those_of_a_slow_reader(first):
    rng, met = np.random.default_rng(3), 0
    for _ in range(1500):
        lines = [
            " ".join(WORDS[k] for k in np.sort(rng.integers(0, len(WORDS), rng.integers(1, 5))))
            for _ in range(rng.integers(1, 4))
        ]
        text = "\n".join(lines) + ("\n" if rng.random() < 0.7 else "")
        expected, fault = library_rows.rows(text, first)
        labels, indptr, indices, values, found = strict_rows(text.encode(), first)
        assert (found, len(labels)) == (fault, len(expected)), text
        met += len(expected)
        for k, (label, pairs) in enumerate(expected):
            own = slice(indptr[k], indptr[k + 1])
            np.testing.assert_equal(labels[k], label)
            np.testing.assert_equal(dict(zip(indices[own], values[own])), pairs)
    assert met > 200


def test_an_empty_text_has_no_rows():
    labels, indptr, *_, fault = strict_rows(b"", 1)
    assert (len(labels), indptr.tolist(), fault) == (0, [0], 0)


WHOLE = {"3": 3, "011": 11, "": 0, "+4": 4, " -2": -2, "1.9": 1, "0x2": 0, "2x": 2, "1_0": 1}
WHOLE |= {"x": 0, "-": 0, "--1": 0, "١": 0, "4294967297": 1, "9" * 30: -1, "-" + "9" * 30: 0}


@pytest.mark.parametrize("word", WHOLE)
def test_whole_numbers_are_what_a_word_begins_with(word):
    """As atoi has it on computers of 64 bits."""
    assert integer_of(word) == WHOLE[word]


@pytest.mark.parametrize("word", ["abc", "", "-", " x", ".5"])
def test_no_word_without_a_number_chooses_what_is_trained(word):
    with pytest.raises(Refused):
        kind_of(word)
    assert kind_of("2.9") == 2


REAL = {"0x10": 16.0, "": 0.0, " +.5": 0.5, "1e3": 1000.0, "inf": np.inf, "-INFINITY": -np.inf}
REAL |= {"1,5": 1.0, "2x": 2.0, "1_0": 1.0, "1e400": np.inf, "0x": 0.0, "--1": 0.0, "١": 0.0}
REAL |= {"0x1p-1z": 0.5, "-0x1p9999": -np.inf, "1e": 1.0, "1.e-2e": 0.01, "x": 0.0, ".": 0.0}


@pytest.mark.parametrize("word", REAL)
def test_numbers_are_what_a_word_begins_with(word):
    assert real_of(word) == REAL[word]
    assert np.isnan(real_of("nanny"))


def test_options_come_first_and_one_letter_counts():
    words = ["-cost", "3", "-qq", "-w-1", "2", "file", "-c", "9"]
    found, rest = leading_options(words, "q", "cw", "unknown option")
    assert found == [("-cost", "3"), ("-qq", ""), ("-w-1", "2")]
    assert rest == ["file", "-c", "9"]
    for bad in (["-"], ["--"], ["-z", "1"], ["-c"]):
        with pytest.raises(Refused) as caught:
            leading_options(bad, "q", "c", "unknown option")
        assert caught.value.usage


def test_labels_are_cut_and_classes_stand_as_they_come():
    labels = whole_labels(np.array([1.9, -0.5, np.nan, 1e12, -7.0]))
    assert labels.tolist() == [1, 0, -(2**31), -(2**31), -7]
    assert classes_of(np.array([-1, 1, -1]))[0] == [1, -1]
    names, places = classes_of(np.array([3, -1, 3, 2]))
    assert (names, places.tolist()) == ([3, -1, 2], [0, 1, 0, 2])
    assert classes_of(np.array([-1, 0]))[0] == [-1, 0]


def test_folds_part_the_rows_and_the_classes():
    classes = np.repeat([0, 1], [22, 2])
    held = np.array([*folds(24, 2, classes)])
    assert (held.sum(axis=0) == 1).all() and held[0, 22:].sum() == 1
    assert sorted(held.sum(axis=1)) == [12, 12]
    held = np.array([*folds(10, 3)])
    assert (held.sum(axis=0) == 1).all() and sorted(held.sum(axis=1)) == [3, 3, 4]


def written(tmp_path, text):
    (tmp_path / "model").write_bytes(b"".join(text.lines()))
    return str(tmp_path / "model")


@pytest.mark.parametrize(
    "model",
    [
        LinearText(0, [3, -7], 2.5, np.array([[0.1], [-1e-17], [1 / 3]])),
        LinearText(4, [3, 1], -1.0, np.arange(6.0).reshape(3, 2) / 7),
        LinearText(12, None, -1.0, np.ones((2, 1))),
        LinearText(21, None, -1.0, np.ones((2, 1)), 0.25),
    ],
)
def test_texts_of_liblinear_read_back(tmp_path, model):
    found = read_linear(written(tmp_path, model))
    assert np.array_equal(found.W, model.W)
    for name in ("solver", "labels", "bias", "rho"):
        assert getattr(found, name) == getattr(model, name)


ROWS = np.array([0, 2, 2, 3]), np.array([1, 9, 4], np.int32), np.array([0.5, -2.0, 1e-9])
KERNELS = [
    KernelText(0, 2, [0.5], np.array([[1.0], [0.25], [-1.25]]), ROWS, [5, 2], [2, 1], gamma=0.1),
    KernelText(1, 1, [1, 2, 3], np.ones((3, 2)), ROWS, [1, 2, 3], [1, 1, 1], degree=2, coef0=3.0),
    KernelText(3, 3, [0.1], np.ones((3, 1)) / 3, ROWS, sigmoids=([0.7], None), gamma=2.0),
    KernelText(2, 0, [0.1], np.ones((3, 1)), ROWS, marks=[*range(10)]),
]


@pytest.mark.parametrize("model", KERNELS)
def test_texts_of_libsvm_read_back(tmp_path, model):
    found = read_kernel(written(tmp_path, model))
    assert found.head() == model.head()
    assert np.array_equal(found.coefs, model.coefs)
    for own, other in zip(found.rows, model.rows):
        assert np.array_equal(own, other)


@pytest.mark.parametrize("model", KERNELS)
def test_a_text_that_is_cut_short_is_refused(tmp_path, model):
    path, whole = tmp_path / "model", b"".join(model.lines())
    for end in range(0, whole.rindex(b"\n", 0, -1)):
        path.write_bytes(whole[:end])
        with pytest.raises(ModelError):
            read_kernel(str(path))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("model", KERNELS)
def test_sums_of_kernel_values(model, sparse, monkeypatch):
    if sparse:
        monkeypatch.setattr(svm_predict, "_DENSE", -1)
        monkeypatch.setattr(svm_predict, "_FILL", 0)
    monkeypatch.setattr(svm_predict, "_BLOCK", 4)
    rng = np.random.default_rng(1)
    X, Z = rng.normal(size=(5, 12)), np.zeros((3, 12))
    X[rng.random(X.shape) < 0.4] = 0
    Z[0, 1], Z[0, 9], Z[2, 4] = model.rows[2]
    row, column = np.nonzero(X)
    bounds = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=5))])
    rows = Rows(np.zeros(5), bounds, column.astype(np.int32), X[row, column])
    dot, far = X @ Z.T, ((X[:, None] - Z[None]) ** 2).sum(axis=2)
    product = model.gamma * dot + model.coef0
    K = [dot, product**model.degree, np.exp(-model.gamma * far), np.tanh(product)][model.kernel]
    np.testing.assert_allclose(Expansion(model).sums(rows, model.coefs), K @ model.coefs)


def test_rows_are_taken():
    rows = Rows(np.arange(3.0), *ROWS[:1], *ROWS[1:])
    found = take_rows(rows, np.array([2, 0]))
    assert found.labels.tolist() == [2, 0] and found.indices.tolist() == [4, 1, 9]
    assert take_rows(rows, np.array([False, True, False])).indptr.tolist() == [0, 0]


def test_a_correlation_is_rounded_row_by_row():
    """Sums in the order of rows, as a loop makes them; of a constant -nan, like the original."""
    rng = np.random.default_rng(3)
    for n in (1, 5, 1000):
        p, t = np.round(rng.normal(size=n), 3), rng.normal(size=n)
        sp = st = pp = tt = pt = 0.0
        for a, b in zip(p.tolist(), t.tolist()):
            sp, st, pp, tt, pt = sp + a, st + b, pp + a * a, tt + b * b, pt + a * b
        found = predicting.squared_correlation(p, t)
        if n == 1:
            assert np.isnan(found)
            continue
        cross = n * pt - sp * st
        assert found == cross * cross / ((n * pp - sp * sp) * (n * tt - st * st))
    constant = predicting.crossed_report(True, np.zeros(4), np.arange(4.0))
    assert constant[1] == "Cross Validation Squared correlation coefficient = -nan"
    assert predicting.report(False, np.zeros(0), np.zeros(0)) == ["Accuracy = -nan% (0/0)"]


def test_marks_part_the_probabilities_of_one_class():
    """What LIBSVM 3.37 says of scores between, on and beyond its ten marks."""
    marks = [-5.0, -4.0, -3.0, -2.0, -1.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    scores = [-6, -5, -4.5, -4, -1, 0, 1, 4.5, 6, np.nan]
    expected = [0.001, 0.1, 0.1, 0.2, 0.5, 0.5, 0.6, 0.9, 0.999, 0]
    P = one_class_probabilities(np.array(scores), marks)
    np.testing.assert_allclose(P, np.column_stack([expected, 1 - np.array(expected)]))


def test_multipliers_of_classes_at_once_are_those_of_the_largest_losses():
    scores = np.array(
        [
            [0.0, 0.0, -2.0],  # one rival
            [0.2, 0.5, 0.5],  # two that tie
            [1.0, 0.0, -1.0],  # one at the margin
            [1.2, 0.0, 0.0],  # beyond it, and near
            [3.0, 0.0, 0.0],
        ]
    )
    counts = [joint_support(row[None], np.array([0])) for row in scores]
    assert counts == [2, 3, 2, 1, 0]
    assert joint_support(scores, np.zeros(5, np.int64)) == sum(counts)
    assert joint_support(np.ones((3, 1)), np.zeros(3, np.int64)) == 0
