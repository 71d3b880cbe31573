# SPDX-License-Identifier: BSD-3-Clause
"""Multilabel example files and model files."""

import gzip
import io

import numpy as np
import pytest

from svmcut.base import resources
from svmcut.base.errors import DataError, MemoryLimitError, ModelError
from svmcut.data.examples import Csr
from svmcut.files.multilabel import read_multilabel, stream_multilabel
from svmcut.formats import grammar, read_model, write_model
from svmcut.models import MultilabelModel


def read(tmp_path, text, **options):
    path = tmp_path / "m"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_multilabel(str(path), **options)


def sets(examples):
    return [
        examples.names[row].tolist() for row in np.split(examples.labels, examples.indptr[1:-1])
    ]


@pytest.mark.parametrize("threads", [1, 2])
def test_libsvm_labels(tmp_path, threads):
    examples = read(
        tmp_path, "7,0 1:2 3:0.5\n 2:1\n# no row\n3, 7 1:1 # text\n12\n", threads=threads
    )
    assert sets(examples) == [[0, 7], [], [3, 7], [12]]
    np.testing.assert_array_equal(
        examples.X.to_dense(), [[2, 0, 0.5], [0, 1, 0], [1, 0, 0], [0, 0, 0]]
    )
    assert examples.source.line_of(2) == 4


def test_the_header_counts_features_and_labels_from_0(tmp_path):
    examples = read(tmp_path, "2 5 9\n8,0 0:1 3:4\n 4:1\n")
    assert sets(examples) == [[0, 8], []]
    np.testing.assert_array_equal(examples.X.to_dense(), [[1, 0, 0, 4, 0], [0, 0, 0, 0, 1]])
    assert examples.source.line_of(0) == 2


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("piped", [False, True])
def test_lines_of_blanks_and_counted_empty_ones_are_rows(tmp_path, monkeypatch, end, piped):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        kinds = rng.choice(["row", "blanks", "empty", "comment"], rng.integers(3, 12)).tolist()
        lines = {"row": "1,3 2:1", "blanks": " \t ", "empty": "", "comment": "  # no row"}
        body = "".join(lines[kind] + end for kind in kinds) + "0 1:1"
        expected = {"row": [1, 3], "blanks": [], "empty": []}
        counted = [*(expected[kind] for kind in kinds if kind != "comment"), [0]]
        without = [kind for kind in kinds if kind not in ("comment", "empty")]
        plain = [*(expected[kind] for kind in without), [0]]
        if piped:
            monkeypatch.setattr("svmcut.files.multilabel.is_file", lambda path: False)
        path = tmp_path / "m"
        for text, rows in (
            (body, plain),
            (f"{len(plain)} 4 4{end}{body}{end}{end}", None if piped else plain),
            (f"{len(counted)} 4 4{end}{body}{end}{end}", counted),
        ):
            if rows is None:
                continue
            examples = read(tmp_path, text)
            assert sets(examples) == rows
            streamed = [*stream_multilabel(str(path), block_bytes=8)]
            assert [row for part in streamed for row in sets(part)] == rows
            where = [examples.source.line_of(row) for row in range(len(rows))]
            given = text.split("\n")
            assert where[-1] == [line.rstrip("\r") for line in given].index("0 1:1") + 1
            assert where == sorted(set(where))


def test_line_ends_marks_and_compression_change_nothing(tmp_path):
    plain = "2 5 9\n8,0 0:1 3:4\n 4:1"
    for text in (plain.replace("\n", "\r\n"), "\ufeff" + plain, gzip.compress(plain.encode())):
        examples = read(tmp_path, text)
        assert sets(examples) == [[0, 8], []]
        assert examples.X.n_features == 5


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no examples"),
        ("\n# x\n", "no examples"),
        ("1:1\n", ":1:1: 1:1 stands where labels are expected"),
        ("1 1:1\nx,2 1:1\n", ":2:1: label x,2 is not a whole number"),
        ("1,x 1:1\n", ":1:3: label x is not a whole number"),
        ("-1 1:1\n", ":1:1: label -1 is not a whole number"),
        ("1.5 1:1\n", "label 1.5 is not"),
        ("3000000000 1:1\n", "is not a whole number from 0"),
        ("1, 1:1\n", ":1:4: 1:1 stands where labels"),
        ("2,1,2 1:1\n", ":1: label 2 stands twice"),
        ("1 0:1\n", ":1:3: feature index 0; indices start at 1"),
        ("1 2:1 1:1\n", "indices must increase"),
        ("1 1:nan\n", "is not finite"),
        ("3 5 9\n8 0:1\n", ":1: the header announces 3 examples, and the file holds 1"),
        ("1 2 9\n8 2:1\n", ":2: feature index of 2 or more"),
        ("1 2 8\n8 1:1\n", ":2: label 8; the header announces 8 labels"),
        ("1 2 9\n8 0:1 0:1\n", ":2:7: feature index 0 repeats 0"),
        ("1 2 9" + " " * 400 + "3:1\n1 1:1\n", ":1:3: "),
    ],
)
def test_what_is_refused(tmp_path, text, says):
    with pytest.raises(DataError) as error:
        read(tmp_path, text)
    assert says in str(error.value)


def test_both_scanners_read_the_same(tmp_path, rng):
    lines = []
    for _ in range(300):
        labels = ",".join(map(str, sorted(rng.choice(40, rng.integers(0, 5), replace=False))))
        features = " ".join(
            f"{j}:{rng.normal():.4f}" for j in sorted(rng.choice(90, 8, replace=False))
        )
        lines.append(f"{labels} {features}\n")
    text = f"300 90 40\n{''.join(lines)}"
    examples = read(tmp_path, text)
    for i, line in enumerate(lines):
        labels, *features = line.rstrip("\n").split(" ")
        assert sets(examples)[i] == [int(x) for x in labels.split(",") if x]
        row = examples.X.to_dense()[i] if i % 50 == 0 else None
        for feature in features if row is not None else ():
            j, value = feature.split(":")
            assert row[int(j)] == np.float32(value)


def model_of(rng, columns=None):
    W = rng.normal(size=(4, 3)).astype(np.float32).astype(float)
    W[1, 2] = 0
    return MultilabelModel(
        W,
        rng.normal(size=3),
        np.array([0, 1], np.int32),
        np.array([2, 2], np.int32),
        np.array([0.5, -0.25]),
        np.array([2, 5, 6]),
        columns,
    )


@pytest.mark.parametrize("columns", [None, np.array([1, 5, 6, 2_000_000_000], np.int32)])
def test_a_model_survives_its_file(tmp_path, rng, columns):
    model, path = model_of(rng, columns), str(tmp_path / "model")
    write_model(path, model)
    read_back = read_model(path)
    np.testing.assert_array_equal(read_back.W, model.W)
    np.testing.assert_array_equal(read_back.constant, model.constant)
    np.testing.assert_array_equal(read_back.pair_weights(), model.pair_weights())
    np.testing.assert_array_equal(read_back.names, model.names)
    assert (read_back.columns is None) == (columns is None)
    again = str(tmp_path / "again")
    write_model(again, read_back)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_a_model_cut_short_anywhere_is_refused(tmp_path, rng):
    path = tmp_path / "model"
    write_model(str(path), model_of(rng))
    text = path.read_bytes()
    for end in range(1, len(text) - 1):
        if end == text.rindex(b"#@"):  # no more than the line of the checksum is cut off
            continue
        if text[:end].endswith(b"#"):
            continue
        path.write_bytes(text[:end])
        with pytest.raises(ModelError):
            read_model(str(path))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (b"3 # number of labels", b"2 # number of labels", ":5:1: expected 2 labels"),
        (
            b"3 # number of labels",
            b"x # number of labels",
            ':2:1: "x" is refused; expected the number of labels',
        ),
        (b"2 5 6 # labels", b"2 6 5 # labels", ":5:1: labels must increase"),
        (b"\n5 3:-0.25 #", b"\n4 3:-0.25 #", ":10:1: label does not stand"),
        (b"\n5 3:-0.25 #", b"\n5 1:-0.25 #", ":10: pairs name the place of a later label"),
        (b"3:-0.25", b"4:-0.25", ":10:3: feature index outside"),
        (b"3:-0.25", b"3:nan", "no finite number"),
        (b"3 # number of labels", b"9" * 5000 + b" # number of labels", ':2:1: "9999'),
        (
            b"4 # number of features",
            b"9" * 5000 + b" # n",
            '9" is refused; expected the number of features',
        ),
    ],
)
def test_faults_of_a_model_name_their_line(tmp_path, rng, old, new, says):
    path = tmp_path / "model"
    write_model(str(path), model_of(rng))
    text = path.read_bytes()
    assert text.count(old) == 1
    path.write_bytes(text.replace(old, new))
    with pytest.raises(ModelError) as error:
        read_model(str(path))
    assert says in str(error.value)


def test_features_that_no_label_has_take_no_memory(tmp_path):
    """Twenty thousand labels by three hundred thousand features: 48 GB."""
    K, d = 20_000, 300_000
    names = [str(k) for k in range(K)]
    rows = ["0.5 300000:1 #", *["-1 #"] * (K - 1), *(f"{name} #" for name in names)]
    head = f"svmcut multilabel model 1\n{K}\n{d}\n1\n{' '.join(names)}\n"
    (tmp_path / "model").write_text(head + "\n".join(rows) + "\n")
    model = read_model(str(tmp_path / "model"))
    assert (model.W.shape, model.columns.tolist()) == ((1, K), [d - 1])
    X = Csr(np.ones(2, np.float32), np.array([4, d - 1], np.int32), np.array([0, 1, 2]), d)
    y, scores, _ = model.decode(X)
    assert (y.sum(axis=1).tolist(), scores[:, 0].tolist(), y[:, 0].tolist()) == (
        [1, 1],
        [0.5, 1.5],
        [True, True],
    )


def test_what_does_not_fit_is_refused_before_it_is_asked_for(tmp_path, rng, monkeypatch):
    write_model(str(tmp_path / "model"), model_of(rng))
    monkeypatch.setattr(resources, "available_memory", lambda: 1.0)
    assert read_model(str(tmp_path / "model")).W.shape == (4, 3)
    with pytest.raises(
        MemoryLimitError, match="model: its weights take 160 MB, and 1 MB are available"
    ):
        grammar.HeaderLines("model", b"", io.BytesIO(), 1).check_fits(20_000_000)
    pair = np.array([0], np.int32), np.array([2], np.int32)
    large = MultilabelModel(np.zeros((1, 5000)), np.zeros(5000), *pair, np.ones(1), np.arange(5000))
    with pytest.raises(MemoryLimitError, match="pairs of 5000 labels take 200 MB"):
        large.pair_weights()
