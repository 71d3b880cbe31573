# SPDX-License-Identifier: BSD-3-Clause
"""Labels and names with line breaks and signs that steer terminals: one line a row, everywhere."""

import json
import re

import numpy as np
import pytest
from programs import call

#: What ends a line for some reader, moves the cursor, or turns the direction of letters round.
ODD = [
    "\n",
    "\r\n",
    "\x1b[31m",
    "\x00",
    "\x0b",
    "\x0c",
    "\x85",
    "\u2028",
    "\u2029",
    "\u202e",
    "\x7f",
]
STEERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def odd(rng, n):
    """Different labels with odd signs within."""
    signs = rng.choice(len(ODD), (n, 2))
    return [f"l{k}{ODD[a]}x{ODD[b]}y" for k, (a, b) in enumerate(signs)]


def rows_of(rng, labels, n):
    for k in range(n):
        label = labels[k % len(labels)]
        yield {"y\x1b[1m": label, "x\nz": float(k % len(labels) + rng.random() / 2), "c": label}


@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize(
    ("how", "classes"),
    [
        ([], 2),
        (["--probability"], 2),
        (["--task", "multiclass"], 3),
        (["--task", "multiclass", "--probability"], 3),
        (["--task", "multiclass", "-t", "rbf"], 3),
        (["--task", "multilabel"], 3),
    ],
)
def test_every_label_stands_on_its_line(tmp_path, capfd, monkeypatch, seed, how, classes):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng([seed, classes, len(how)])
    labels, n = odd(rng, classes), 12 * classes
    sets = "multilabel" in how
    for name in ("train", "test"):
        lines = []
        for row in rows_of(rng, labels, n):
            row = {k: [v] if sets and k[0] == "y" else v for k, v in row.items()}
            lines.append(json.dumps(row) + "\n")
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))
    words = ("--label", "y\x1b[1m", "--categories", "c", "--report", "report")
    assert call("svmcut learn", "-v", 2, *how, *words, "train.jsonl", "model") == 0
    files = {"out": ["--labels"] if not sets else []}
    if "--probability" in how:
        files["sure"] = ["--labels", "--probability"]
    if sets:
        files["best"] = ["--top", 2]
    for name, own in files.items():
        assert call("svmcut classify", "-v", 2, *own, "test.jsonl", "model", name) == 0
        text = (tmp_path / name).read_bytes().decode()
        assert text.count("\n") == n and text.endswith("\n") and not STEERS.search(text), text
    found = (tmp_path / "out").read_text().splitlines()
    escaped = {label: ascii(label)[1:-1] for label in labels}
    right = [escaped[labels[k % classes]] for k in range(n)]
    assert np.mean([a == b for a, b in zip(found, right, strict=True)]) > 0.9
    assert call("svmcut inspect", "--top", 3, "model") == 0
    assert call("svmcut inspect", "--data", "test.jsonl", "model") == 0
    sets_too = ["--sets"] if sets else []
    line = ("svmcut convert", *sets_too, "--label", "y\x1b[1m", "--names", "names")
    assert call(*line, "--categories", "c", "train.jsonl", "converted") == 0
    names = (tmp_path / "names").read_bytes().decode()
    assert names.count("\n") == len(labels) + 1 and not STEERS.search(names)
    told = capfd.readouterr()
    assert not STEERS.search(told.out + told.err)
    for label in labels:
        assert label not in told.out + told.err
    again = json.loads((tmp_path / "report").read_text())
    assert sets or again["labels"] == sorted(labels)  # as they are where the format has escapes


def test_tags_too(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tags = ["B-\x1b[31m", "I-\x85", "O", "\u202ex"]
    lines = [f"{tag}\tw{k}\n" for k, tag in enumerate(tags)] * 5
    (tmp_path / "train").write_text("\n".join(lines))
    how = ("--task", "sequence", "--input", "crfsuite", "--example-cost", 1, "--gap", 0.01)
    assert call("svmcut learn", "-v", 2, *how, "train", "model") == 0
    for own in ([], ["--confidence"], ["--n-best", 2]):
        line = ("svmcut classify", "-v", 2, "--input", "crfsuite", *own)
        assert call(*line, "train", "model", "tags") == 0
        assert not STEERS.search((tmp_path / "tags").read_text())
    assert call("svmcut inspect", "--top", 5, "model") == 0
    told = capfd.readouterr()
    assert not STEERS.search(told.out + told.err)
