# SPDX-License-Identifier: BSD-3-Clause
"""Label sets of a file, predicted in blocks: rows, measures and refusals are those of the file as a
whole."""

import gzip
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from drivers import driver
from reference.measures import label_precision
from sklearn.metrics import f1_score, hamming_loss

from svmcut.base.errors import DataError
from svmcut.files.multilabel import read_multilabel, stream_multilabel
from svmcut.formats import write_model
from svmcut.models import MultilabelModel
from svmcut.tasks import label_sets as module
from svmcut.tasks.prediction import measure, predict

TASK = module.Labelling()
NAMES = np.array([2, 3, 7], np.int64)
SIZES = (1, 50, 1000, 1 << 20)


def model_of(rng):
    pairs = np.array([0, 1], np.int32), np.array([2, 2], np.int32)
    return MultilabelModel(
        rng.normal(size=(5, 3)), rng.normal(size=3), *pairs, rng.normal(size=2), NAMES
    )


def text_of(rng, labels, n=60, first=0):
    lines = ["# head\n"]
    for _ in range(n):
        row = np.flatnonzero(rng.random(len(labels)) < 0.4)
        features = np.flatnonzero(rng.random(6) < 0.7)
        lines.append(
            ",".join(map(str, rng.permutation(labels[row])))
            + " "
            + " ".join(f"{j + first}:{rng.normal():.3f}" for j in features)
            + "\n"
        )
    return "".join(lines)


def put(tmp_path, text):
    path = tmp_path / "rows"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


@pytest.mark.parametrize("block_bytes", SIZES)
@pytest.mark.parametrize("header", [False, True])
@pytest.mark.parametrize("packed", [False, True])
def test_blocks_are_the_file(tmp_path, rng, block_bytes, header, packed):
    text = text_of(rng, np.array([0, 4, 5, 11]), first=0 if header else 1)
    text = ("60 6 12\n" if header else "") + text
    path = put(tmp_path, gzip.compress(text.encode()) if packed else text)
    whole, blocks = read_multilabel(path), list(stream_multilabel(path, block_bytes=block_bytes))
    assert len(blocks) > 1 or block_bytes > len(text)
    sets = [
        block.names[block.labels[a:b]].tolist()
        for block in blocks
        for a, b in zip(block.indptr, block.indptr[1:])
    ]
    assert sets == [
        whole.names[whole.labels[a:b]].tolist() for a, b in zip(whole.indptr, whole.indptr[1:])
    ]
    lines = [block.source.line_of(i) for block in blocks for i in range(len(block))]
    assert lines == [whole.source.line_of(i) for i in range(len(whole))]
    np.testing.assert_array_equal(np.concatenate([block.X.data for block in blocks]), whole.X.data)
    np.testing.assert_array_equal(
        np.concatenate([block.X.indices for block in blocks]), whole.X.indices
    )
    assert not header or {block.X.n_features for block in blocks} == {6}


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("61 6 12\n{}", 1, "the header announces 61 examples, and the file holds 60"),
        ("59 6 12\n{}", 1, "the header announces 59 examples, and the file holds 60"),
        ("61 6 12\n{}1 6:1\n", 63, "feature index of 6 or more"),
        ("61 6 12\n{}1,12 5:1\n", 63, "label 12; the header"),
        ("{}4,0,4 1:1\n", 62, "label 4 stands twice"),
        ("{}4,x 1:1\n", 62, "label x is not a whole number"),
        ("# nothing\n\n", None, "no examples"),
    ],
)
@pytest.mark.parametrize("block_bytes", SIZES)
def test_refusals_name_the_line_of_the_file(tmp_path, rng, text, line, says, block_bytes):
    rows = text_of(rng, np.array([0, 4, 5, 11]), first=0 if text[0] == "6" or text[0] == "5" else 1)
    path = put(tmp_path, text.format(rows))
    for read in (
        read_multilabel,
        lambda path: list(stream_multilabel(path, block_bytes=block_bytes)),
    ):
        with pytest.raises(DataError) as error:
            read(path)
        assert says in str(error.value)
        assert str(error.value).startswith(f"{path}:{line}:" if line else f"{path}: ")


@pytest.mark.parametrize("labels", [[2, 3, 7], [0, 3, 9], [0, 2, 3, 4, 7, 9, 30], [9]])
@pytest.mark.parametrize("block_bytes", [1, 300, 1 << 20])
def test_measures_and_lines_of_a_file_in_blocks(tmp_path, rng, monkeypatch, labels, block_bytes):
    """Labels the model has not count, and rank nowhere."""
    model, path = model_of(rng), put(tmp_path, text_of(rng, np.array(labels), first=1))
    monkeypatch.setattr(module, "BLOCK_NUMBERS", 21)
    monkeypatch.setattr(
        module,
        "stream_multilabel",
        lambda path, threads: stream_multilabel(path, block_bytes=block_bytes),
    )
    tally, *_ = predict(TASK, model, path, str(tmp_path / "sets"))
    whole = read_multilabel(path)
    y, scores, halves = model.decode(whole.X)
    expected = "".join(",".join(map(str, NAMES[row])) + "\n" for row in y)
    assert (tmp_path / "sets").read_text() == expected
    assert tally.counts() == {"examples": 60, "halves": halves.sum()}
    union = np.union1d(NAMES, labels)
    place = np.searchsorted(union, NAMES)
    gold, predicted, ranked = (np.full((60, len(union)), fill) for fill in (False, False, -np.inf))
    gold[:, np.searchsorted(union, whole.names)] = whole.gold()
    predicted[:, place], ranked[:, place] = y, scores + y @ model.pair_weights()
    can_be = np.isin(union, NAMES)
    measured = TASK.measure(tally)
    measures = measured.values
    assert len(tally.others) == len(set(labels) - set(NAMES.tolist()))
    assert measures == measure(TASK, model, whole)
    assert measured.loss == pytest.approx(np.mean(np.sum(gold != predicted, axis=1)))
    assert (measured.correct, measured.total) == ((gold == predicted).all(axis=1).sum(), 60)
    assert measures["hamming_loss"] == pytest.approx(100 * hamming_loss(gold, predicted))
    assert measures["subset_accuracy"] == pytest.approx(
        100 * np.mean((gold == predicted).all(axis=1))
    )
    assert measures["micro_f1"] == pytest.approx(100 * f1_score(gold, predicted, average="micro"))
    used = (gold | predicted).any(axis=0)
    assert measures["macro_f1"] == pytest.approx(
        100 * f1_score(gold[:, used], predicted[:, used], average="macro")
    )
    for k in (1, 3, 5):
        assert measures[f"precision@{k}"] == pytest.approx(
            100 * label_precision(gold & can_be, ranked, k)
        )


@pytest.mark.every(2)
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peaks are read from /proc")
@pytest.mark.parametrize("header", ["", "{} 20 8\n"])
def test_memory_does_not_grow_with_the_file(tmp_path, rng, header):
    """Read as a whole the large file takes 100 MB more than the small one."""
    row = "1,7 " + " ".join(f"{j}:1" for j in range(1, 20)) + "\n"
    for name, n in (("small", 30_000), ("large", 300_000)):
        (tmp_path / name).write_text(header.format(n) + row * n)
    write_model(str(tmp_path / "model"), model_of(rng))
    code = """
        import re
        from svmcut.formats import read_model
        from svmcut.tasks.label_sets import Labelling
        from svmcut.tasks.prediction import predict
        status = lambda: open("/proc/self/status").read()
        peak = lambda: int(re.search(r"VmHWM:\\s+(\\d+)", status())[1]) >> 10
        model = read_model("model")
        predict(Labelling(), model, "small", "sets")
        before = peak()
        assert predict(Labelling(), model, "large", "sets").tally.counts()["examples"] == 300_000
        print(peak() - before)
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(run.stdout) < 20


def test_a_model_without_the_weights_of_pairs_that_were_asked_for_says_so():
    data = read_multilabel(str(Path(__file__).resolve().parents[2] / "data" / "labels.train"))
    for known, warned in (
        ({"max_iterations": 1}, True),
        ({"gap": 0.01}, False),
        ({"pairs": "none"}, False),
    ):
        solver = {} if "pairs" in known else {"solver": "gdmm"}
        outcome = driver(data, task="multilabel", cost=None, **solver, **known).fit(None, 0.1)
        assert any("no weights of pairs" in warning for warning in outcome.warnings) == warned, (
            known
        )
