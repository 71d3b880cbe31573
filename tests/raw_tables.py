# SPDX-License-Identifier: BSD-3-Clause
"""Random tables whose columns, values and labels have hostile names, models of them, and what
svmcut classify says of raw rows."""

from pathlib import Path

import numpy as np
import pyarrow as pa
from programs import call
from pyarrow import parquet

from svmcut.base.messages import escape
from svmcut.formats import read_model

NAMES = [
    *("age", 'ci"ty', "mail", "new\nline", "*/ int x = y", "double", "Double", "größe", "a'b\\"),
    *("__proto__", "select", "𝒳 и", "a b", "a-b", "2x", "</script>", "-- ;", "??/", "\u202eevil"),
]
VALUES = ["a b", "ü", "x'y", '"', "*/", "\\", "𝒳", "line\nbreak", "true", "a", "ab", "${1}", "??="]
LABELS = ['*/ system("id"); /*', "'; DROP TABLE input; --", "ham\n", "größe", "\\", "zz"]
TEXTS = [
    "free",
    "Money",
    "Äpfel",
    "hello",
    "x2",
    "a",
    "ΟΔΟΣ",
    "İstanbul",
    "straße",
    "日本",
    "-",
    "٣٤",
]
RBF = ["-t", "2", "-g", "0.3"]
POLYNOMIAL = ["-t", "1", "-d", "2", "-s", "0.5", "-r", "1"]
#: Task, number of labels, options and columns beside numbers.
MODELS = {
    "two": (2, [], "nbc"),
    "two, odds": (2, ["-l", "logistic"], "nnb"),
    "two, probability": (2, ["--probability", "--cv", "3"], "ncc"),
    "two, rbf": (2, [*RBF, "--probability", "--cv", "3"], "nnc"),
    "two, polynomial": (2, POLYNOMIAL, "nbc"),
    "two, sigmoid": (2, ["-t", "3", "-s", "0.1", "-r", "0"], "ncc"),
    "two, text": (2, ["--ngrams", "1,2", "--sublinear", "on"], "t"),
    "two, text, rbf": (2, RBF, "tn"),
    "two, hashed": (2, ["--hash-bits", "6", "--ngrams", "1,2"], "tn"),
    "two, raw": (2, ["--standardise", "off"], "nnnc"),
    "classes": (3, [], "nct"),
    "classes, temperature": (4, ["--probability", "--cv", "3"], "nnc"),
    "classes, odds": (3, ["--multiclass", "one-vs-rest", "-l", "logistic"], "nnc"),
    "classes, pairs": (3, RBF, "nnc"),
    "classes, rest": (3, [*POLYNOMIAL, "--multiclass", "one-vs-rest"], "nnb"),
    "classes, at once": (3, [*RBF, "--multiclass", "crammer-singer"], "nnc"),
    "numbers": (0, ["--task", "regression"], "nbc"),
    "numbers, rbf": (0, ["--task", "regression", *RBF], "nnc"),
    "survival": (0, ["--task", "survival"], "ncb"),
    "one class": (1, ["--task", "one-class", "--nu", "0.2", *RBF], "nnn"),
}


def column(rng, kind, y, values):
    """Cells of a column of numbers, booleans, texts or these categories; some are missing."""
    n = len(y)
    if kind == "t":
        odds = [np.where(np.arange(len(TEXTS)) % 4 == k, 6.0, 1.0) for k in y.astype(int)]
        return ["; ".join(rng.choice(TEXTS, 5, p=p / p.sum())) for p in odds]
    if kind == "n":
        cells = (rng.normal(y, 1) * 10.0 ** (len(values[0]) % 7 - 3)).tolist()
    elif kind == "b":
        cells = (rng.random(n) < 0.3 + 0.4 * (y > 0)).tolist()
    else:
        cells = [values[k] for k in (y.astype(int) + rng.integers(0, 3, n)) % len(values)]
        cells = [f" {cell}\t" if rng.random() < 0.2 else cell for cell in cells]
    return [None if rng.random() < 0.1 else cell for cell in cells]


def tables(rng, classes, kinds):
    """A table to train on, one whose categories have more values, and the kinds of their columns
    by name."""
    *names, label = rng.permutation(NAMES)[: len(kinds) + 1].tolist()
    words = sorted(rng.permutation(LABELS)[:classes].tolist())
    values = [rng.permutation(VALUES)[:6].tolist() for _ in kinds]
    found = []
    for known in (4, 6):
        y = rng.integers(0, max(classes, 2), 48).astype(float)
        table = {
            name: column(rng, kind, y, own[:known])
            for name, kind, own in zip(names, kinds, values, strict=True)
        }
        numbers = (y + rng.random(48) + 0.1).tolist()
        table[label] = [words[int(k)] for k in y] if classes > 1 else numbers
        found.append(table)
    return found, label, dict(zip(names, kinds, strict=True))


def trained(kind, seed=0):
    """A model in the file "model", rows without labels, and the kinds of their columns."""
    classes, options, kinds = MODELS[kind]
    rng = np.random.default_rng([seed, sum(map(ord, kind))])
    (train, test), label, columns = tables(rng, classes, kinds)
    for path, table in (("train.parquet", train), ("test.parquet", test)):
        parquet.write_table(pa.table(table), path)
    texts = [word for name, kind in columns.items() if kind == "t" for word in ("--text", name)]
    cost = [] if "--nu" in options else ["--example-cost", "1"]
    words = ["learn", "-v", "0", "--label", label, *texts, *cost, *options]
    assert call("svmcut", *words, "train.parquet", "model") in (0, 3)
    rows = [dict(zip(columns, cells)) for cells in zip(*(test[name] for name in columns))]
    return read_model("model"), rows, columns


def answers(model):
    """Labels, scores and probabilities of the rows as svmcut classify writes them."""
    assert call("svmcut", "classify", "-v", "0", "test.parquet", "model", "scores") == 0
    lines = Path("scores").read_text(encoding="utf-8").splitlines()
    several = hasattr(model, "names")
    places = len(model.names) if several else 1
    scores = [line.rsplit(" ", places)[-places:] for line in lines]
    labels = [None] * len(lines)
    if several or model.loss in (None, "logistic", "one-class"):
        words = ["classify", "-v", "0", "--labels", "test.parquet", "model", "labels"]
        assert call("svmcut", *words) == 0
        labels = Path("labels").read_text(encoding="utf-8").splitlines()
    probabilities = [None] * len(lines)
    if model.has_probabilities and not getattr(model, "paired", False):
        words = ["classify", "-v", "0", "--probability", "test.parquet", "model", "odds"]
        assert call("svmcut", *words) == 0
        probabilities = [line.split() for line in Path("odds").read_text().splitlines()]
    return [*zip(labels, scores, probabilities)]


def shown(label, scores, probabilities):
    """The answer of a program in the digits of svmcut classify."""
    if label is not None:
        label = escape(f"{label:g}" if isinstance(label, float) else str(label))
    scores = [f"{value:.8f}" for value in np.atleast_1d(scores)]
    if probabilities is not None:
        probabilities = [f"{value:.8g}" for value in np.atleast_1d(probabilities)]
    return label, scores, probabilities
