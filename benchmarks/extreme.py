#!/usr/bin/env python3
"""Labels by the thousand: time, peak memory, model size and P@k beside a loop of scikit-learn's
LinearSVC, Omikuji and napkinXC.

    python benchmarks/extreme.py SET [--trainers svmcut prune-0.05 tree linear-svc omikuji ...]

SET is one of those below, each of which takes less than five minutes with its own trainers, or two
files TRAIN TEST of the extreme classification repository:

    yeast, scene, reuters    real ones, in a folder `data` beside this repository's
    small, eurlex            generated: 2,000 and 15,539 rows, 500 and 3,993 labels
    wiki10, amazoncat        generated, in the shape of both at a tenth of their rows
    many                     generated here: 25,000 rows, 100,000 labels, each of which a row has

Every trainer runs in a process of its own, on one thread; CPU seconds and peak memory are the
system's count of that process and hold reading and writing, and predicting for those that are no
programs. C is 1, and the gap of svmcut 0.01. "prune-D" is --prune D, "auto" --prune auto, "tree"
--tree, and "tree+prune-D" both. LinearSVC has the hinge loss and its own tolerance;
"linear-svc-tenth" trains every tenth label, and its time and memory are told tenfold. Omikuji
trains three trees with its own defaults, napkinXC one against the rest (napkinxc-br) and one tree
(napkinxc); both run in the interpreter of --python. PSP@k has the propensities of --propensity.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from arguments import make_parser

from svmcut.files.multilabel import read_multilabel
from svmcut.scoring.tops import Propensity

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
ALL = ("svmcut", "auto", "tree", "linear-svc", "omikuji", "napkinxc")


class Shape(NamedTuple):
    """What the generator is given: rows for training and testing, other words; and the trainers of
    a set."""

    rows: tuple[int, int]
    words: str
    trainers: tuple[str, ...]


SHAPES = {
    "small": Shape((2000, 1000), "-L 500", ("svmcut", "auto", "prune-0.05", *ALL[2:])),
    "eurlex": Shape(
        (15539, 3809),
        "",
        ("svmcut", "prune-0.05", "tree", "tree+prune-0.05", "linear-svc-tenth", "omikuji"),
    ),
    "wiki10": Shape(
        (1415, 661),
        "-N 101938 -L 30938 --labels 22 --words 900",
        ("prune-0.05", "tree+prune-0.05", "omikuji"),
    ),
    "amazoncat": Shape(
        (118624, 5000),
        "-N 203882 -L 13330 --labels 6.5 --words 80",
        ("tree+prune-0.05", "omikuji"),
    ),
    "many": Shape((25000, 2000), "", ("tree+prune-0.05",)),
}
#: Labels of the set `many`.
MANY = 100_000
REAL = {
    "yeast": "yeast/{}.ml.gz",
    "scene": "scene/{}.ml.gz",
    "reuters": "reuters21578/r90.multilabel.{}.gz",
}

LINEAR_SVC = """
import pickle, sys, numpy as np
from scipy.sparse import csr_matrix
from sklearn.svm import LinearSVC
from svmcut.files.multilabel import read_multilabel
train, test, model, out = sys.argv[1:]
data = read_multilabel(train)
X = csr_matrix((data.X.data.astype(float), data.X.indices, data.X.indptr),
               (len(data), data.X.n_features))
row, label = data.entries()
W = np.zeros((data.X.n_features, len(data.names)), np.float32)
b = np.zeros(len(data.names))
step = int(model.endswith("-tenth.model")) * 9 + 1
for k in range(0, len(data.names), step):
    y = np.full(len(data), -1)
    y[row[label == k]] = 1
    machine = LinearSVC(C=1.0, loss="hinge", max_iter=10000).fit(X, y)
    W[:, k], b[k] = machine.coef_[0], machine.intercept_[0]
with open(model, "wb") as file:
    pickle.dump((W, b), file, protocol=5)
data = read_multilabel(test)
X = csr_matrix((data.X.data, data.X.indices, data.X.indptr), (len(data), W.shape[0]))
names = read_multilabel(train).names
with open(out, "w") as file:
    for first in range(0, len(data), 500):
        scores = X[first : first + 500] @ W + b
        for best in np.argsort(-scores, axis=1)[:, :5]:
            print(*(f"{names[k]}:0" for k in best), file=file)
"""
OMIKUJI = """
import sys, omikuji
train, test, model, out = sys.argv[1:]
made = omikuji.Model.train_on_data(train, n_threads=1)
made.save(model)
with open(out, "w") as file, open(test) as lines:
    next(lines)
    for line in lines:
        pairs = [pair.split(":") for pair in line.split(" ")[1:] if ":" in pair]
        best = made.predict([(int(j), float(x)) for j, x in pairs], top_k=5)
        print(*(f"{label}:{score}" for label, score in best), file=file)
"""


NAPKINXC = """
import sys
from napkinxc.datasets import load_libsvm_file
from napkinxc.models import BR, PLT
kind, train, test, model, out = sys.argv[1:]
X, Y = load_libsvm_file(train)
made = (BR if kind == "br" else PLT)(model, threads=1)
made.fit(X, Y)
X, _ = load_libsvm_file(test)
with open(out, "w") as file:
    for best in made.predict(X, top_k=5):
        print(*(f"{label}:0" for label in best), file=file)
"""


class Used(NamedTuple):
    """CPU seconds and peak memory in MB of a process."""

    seconds: float
    megabytes: float


def run(words: list[str]) -> Used:
    """Runs a program on one thread.

    Raises
    ------
    SystemExit
        With its last line, where it fails.
    """
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"), "1")
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(words, stdout=said, stderr=said, env=os.environ | one)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            said.seek(0)
            lines = said.read().decode(errors="replace").strip().splitlines() or ["no output"]
            raise SystemExit(f"{words[0]}: status {child.returncode}: {lines[-1]}")
    return Used(used.ru_utime + used.ru_stime, _megabytes(used))


def _megabytes(used: resource.struct_rusage) -> float:
    return used.ru_maxrss * (1.0 if sys.platform == "darwin" else 1024.0) / 1e6


def size_of(path: Path) -> float:
    """Megabytes of a file, or of all files in a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


def precisions(train: str, test: str, predictions: Path, propensity: Propensity) -> list[float]:
    """P@1, 3 and 5 and PSP@1, 3 and 5 in percent of lines of LABEL:SCORE."""
    known, data = read_multilabel(train), read_multilabel(test)
    counts = np.bincount(known.labels, minlength=len(known.names))
    worth = dict(
        zip(known.names.tolist(), propensity.inverse(counts, len(known)).tolist(), strict=True)
    )
    unknown = float(propensity.inverse(np.zeros(1), len(known))[0])
    row, label = data.entries()
    right: list[set[int]] = [set() for _ in range(len(data))]
    for i, k in zip(row.tolist(), data.names[label].tolist(), strict=True):
        right[i].add(k)
    lines = predictions.read_text().splitlines()
    best = [[int(pair.split(":")[0]) for pair in line.split()] for line in lines]
    possible = [sorted((worth.get(k, unknown) for k in own), reverse=True) for own in right]
    found = []
    for k in (1, 3, 5):
        hits = [[label for label in top[:k] if label in own] for own, top in zip(right, best)]
        found.append(100 * sum(map(len, hits)) / (k * len(data)))
    for k in (1, 3, 5):
        hits = [[label for label in top[:k] if label in own] for own, top in zip(right, best)]
        gained = sum(worth.get(label, unknown) for own in hits for label in own)
        found.append(100 * gained / sum(sum(own[:k]) for own in possible))
    return found


def program(name: str) -> list[str]:
    """The command line of svmcut that trains as the name of a trainer says, but for the files."""
    words = [sys.executable, "-m", "svmcut", "learn", "--task", "multilabel", "--pairs", "none"]
    words += ["--example-cost", "1", "--gap", "0.01", "--threads", "1"]
    words += ["--model-format", "binary"]
    for word in name.split("+"):
        if word == "tree":
            words.append("--tree")
        elif word != "svmcut":
            words += ["--prune", word.removeprefix("prune-")]
    return words


def trained(name: str, files: list[str], python: str) -> tuple[Used, float | None]:
    """What training took, and CPU milliseconds of a predicted row where a program predicts."""
    if name.startswith("linear-svc"):
        used = run([sys.executable, "-c", LINEAR_SVC, *files])
        times = 10 if name.endswith("-tenth") else 1
        return Used(times * used.seconds, used.megabytes), None
    if name == "omikuji":
        return run([python, "-c", OMIKUJI, *files]), None
    if name.startswith("napkinxc"):
        kind = "br" if name.endswith("-br") else "plt"
        return run([python, "-c", NAPKINXC, kind, *files]), None
    train, test, model, out = files
    used = run([*program(name), train, model])
    classify = [sys.executable, "-m", "svmcut", "classify", "--threads", "1", "--top", "5"]
    predicted = run([*classify, test, model, out])
    return used, 1000 * predicted.seconds / len(read_multilabel(test))


def numbered(path: str) -> str:
    """A file of label sets with the first line that rivals need, and features from 0 on."""
    data = read_multilabel(path)
    row, label = data.entries()
    bounds, X = np.searchsorted(row, np.arange(len(data) + 1)), data.X
    lines = [f"{len(data)} {X.n_features} {int(data.names.max()) + 1}"]
    for i in range(len(data)):
        own, at = slice(X.indptr[i], X.indptr[i + 1]), slice(bounds[i], bounds[i + 1])
        labels = ",".join(map(str, data.names[label[at]].tolist()))
        pairs = zip(X.indices[own].tolist(), X.data[own].tolist(), strict=True)
        lines.append(" ".join([labels, *(f"{j}:{x:.8g}" for j, x in pairs)]))
    return "\n".join(lines) + "\n"


def many_labels(n: int, stream: int) -> str:
    """Rows of MANY labels, which have four words each: half of the labels of a row are frequent
    ones; the other half of 25,000 rows are every label once."""
    words = np.random.default_rng(0).integers(0, 20_000, (MANY, 4))
    rng = np.random.default_rng(stream + 1)
    rare = rng.permutation(MANY)[: 4 * n].reshape(n, -1)
    frequent = (MANY * rng.random((n, 4)) ** 3).astype(int)
    lines = [f"{n} 20000 {MANY}"]
    for labels in np.hstack([rare, frequent]):
        own = np.unique(labels)
        shown = words[own[rng.random(len(own)) < 0.9]].ravel()
        columns, times = np.unique(
            np.append(shown, rng.integers(0, 20_000, 16)), return_counts=True
        )
        values = (times / np.linalg.norm(times)).tolist()
        pairs = zip(columns.tolist(), values, strict=True)
        text = " ".join(f"{j}:{x:.4g}" for j, x in pairs)
        lines.append(",".join(map(str, own.tolist())) + " " + text)
    return "\n".join(lines) + "\n"


def files_of(given: argparse.Namespace) -> tuple[str, str, tuple[str, ...]]:
    """The files for training and testing, and the set's own trainers.

    Raises
    ------
    SystemExit
        Where the data are not there.
    """
    if len(given.files) == 2:
        return *given.files, ALL
    (name,) = given.files
    folder = Path(given.folder)
    folder.mkdir(parents=True, exist_ok=True)
    parts = [folder / f"{name}.{part}" for part in ("train", "test")]
    for stream, part in enumerate(parts):
        if part.exists():
            continue
        if name == "many":
            part.write_text(many_labels(SHAPES[name].rows[stream], stream))
            continue
        own = REAL[name].format(part.suffix[1:]) if name in REAL else "generators/gen_xmc.py"
        source = Path(given.data) / own
        if not source.exists():
            raise SystemExit(f"{source}: not there; give --data, or files TRAIN TEST")
        if name in REAL:
            part.write_text(numbered(str(source)))
        else:
            shape, whole = SHAPES[name], part.with_suffix(f"{part.suffix}.part")
            words = ["-n", str(shape.rows[stream]), "--stream", str(stream + 1), "-o", str(whole)]
            run([sys.executable, str(source), *words, *shape.words.split()])
            whole.rename(part)
    return str(parts[0]), str(parts[1]), ALL if name in REAL else SHAPES[name].trainers


def main(words: list[str] | None = None) -> None:
    """Prints a table."""
    parser = make_parser(__doc__)
    parser.add_argument("files", nargs="+", metavar="SET | TRAIN TEST")
    parser.add_argument("--trainers", nargs="+", metavar="NAME")
    parser.add_argument("--python", default=sys.executable, help="an interpreter with the rivals")
    parser.add_argument("--propensity", default="0.55,1.5", metavar="A,B")
    parser.add_argument("--data", default=str(DATA), help="the folder of real sets")
    kept = Path(tempfile.gettempdir()) / "svmcut-extreme"
    parser.add_argument("--folder", default=str(kept), help="where generated sets are kept")
    given = parser.parse_args(words)
    if len(given.files) > 2 or (len(given.files) == 1 and given.files[0] not in {*SHAPES, *REAL}):
        parser.error(f"expected TRAIN TEST, or one of {', '.join([*REAL, *SHAPES])}")
    train, test, trainers = files_of(given)
    A, B = map(float, given.propensity.split(","))
    print("| trainer | CPU seconds | peak MB | model MB | P@1/3/5 | PSP@1/3/5 | ms a row |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in given.trainers or trainers:
            model, out = Path(folder) / f"{name}.model", Path(folder) / f"{name}.out"
            used, row = trained(name, [train, test, str(model), str(out)], given.python)
            cells = [f"{used.seconds:.1f}", f"{used.megabytes:.0f}", f"{size_of(model):.1f}"]
            if name.endswith("-tenth"):
                cells += ["", ""]
            else:
                found = precisions(train, test, out, Propensity(A, B))
                cells += [
                    " ".join(f"{value:.1f}" for value in part) for part in (found[:3], found[3:])
                ]
            cells.append("" if row is None else f"{row:.2f}")
            print("| " + " | ".join([name, *cells]) + " |", flush=True)


if __name__ == "__main__":
    main()
