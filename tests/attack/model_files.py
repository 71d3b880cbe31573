# SPDX-License-Identifier: BSD-3-Clause
"""Model files as docs/formats.md describes them, parsed line by line into plain arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

KERNELS = ("linear", "polynomial", "rbf", "sigmoid", "precomputed")


@dataclass
class Line:
    """A number in front, then index:value pairs; a value counts in single precision, as it is
    read."""

    factor: float
    pairs: list[tuple[int, float]]

    def dense(self, width):
        """Values by index - 1."""
        out = np.zeros(width, np.longdouble)
        for index, value in self.pairs:
            out[index - 1] = value
        return out


@dataclass
class Kernel:
    name: str
    degree: int
    gamma: float
    scale: float
    offset: float


@dataclass
class Vectors:
    """Support vectors and a threshold: models of svm_light's layout."""

    kernel: Kernel
    threshold: float
    lines: list[Line]


@dataclass
class Fourier:
    """Weights of cosines and sines of frequencies, and a threshold."""

    gamma: float
    threshold: float
    cosines: list[float]
    lines: list[Line]  # the factor is the weight of the sine


@dataclass
class Chain:
    """Weights of chains, by their index in the file."""

    features: int
    tags: int
    transitions: int
    emissions: int
    weights: dict[int, float]


@dataclass
class KernelChain:
    """Weights of transitions by their index; support tokens with weights of tags and features."""

    kernel: Kernel
    features: int
    tags: int
    transitions: int
    weights: dict[int, float]
    tokens: list[Line]


@dataclass
class LabelSets:
    """Constants, weights and pairs of labels."""

    labels: list[int]
    features: int
    rows: list[Line]
    pairs: list[Line]


@dataclass
class Classes:
    """Weights of classes by the index of their feature; of the constant feature apart."""

    names: list[float]
    rows: list[dict[int, float]]
    constant: list[float]


@dataclass
class Expansions:
    """A sum over support vectors for every class: the class of each by its place, its factor and
    its features."""

    kernel: Kernel
    names: list[float]
    classes: list[int]
    lines: list[Line]


@dataclass
class Machines:
    """Machines of two classes over support vectors they share: coefficients of every machine, by
    support vector."""

    kernel: Kernel
    names: list[float]
    paired: bool
    thresholds: list[float]
    coefficients: list[dict[int, float]]
    lines: list[Line]


def _lines(text):
    found = []
    for line in text:
        words = line.split("#")[0].split()
        pairs = [
            (int(word.split(":")[0]), float(np.float32(word.split(":")[1]))) for word in words[1:]
        ]
        found.append(Line(float(words[0]), pairs))
    return found


def _kernel(head):
    number, degree, *reals = (line.split("#")[0] for line in head[:5])
    return Kernel(KERNELS[int(number)], int(degree), *map(float, reals))


def _weights(line):
    return {index: line.factor * value for index, value in line.pairs}


def marks_of(path):
    """What stands behind #@, by its first word."""
    with open(path, encoding="utf-8") as file:
        return dict(line[3:].rstrip("\n").split(" ", 1) for line in file if line.startswith("#@ "))


def parse(path):
    """The model of a file, one of the classes above.

    Raises
    ------
    ValueError
        When the first line is none of theirs, or lines are missing.
    """
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if not text.endswith("\n"):
        raise ValueError("the last line does not end")
    lines = [line for line in text.split("\n")[:-1] if not line.startswith("#@")]
    marks = marks_of(path)

    def count(number):
        return int(lines[number - 1].split("#")[0])

    if lines[0] in ("SVM-light Version V6.20", "SVM-light Version V6.02"):
        body = _lines(lines[11:])
        if len(body) != count(10) - 1:
            raise ValueError(f"{len(body)} support vectors, {count(10) - 1} announced")
        return Vectors(_kernel(lines[1:6]), float(lines[10].split("#")[0]), body)
    if lines[0] == "svmcut fourier 1":
        rows = [line.split(" ", 1) for line in lines[7:]]
        if len(rows) != count(4):
            raise ValueError(f"{len(rows)} frequencies, {count(4)} announced")
        gamma, threshold = (float(lines[k].split("#")[0]) for k in (1, 6))
        return Fourier(
            gamma, threshold, [float(word) for word, _ in rows], _lines([rest for _, rest in rows])
        )
    if lines[0] == "SVM-HMM Version V3.10":
        (line,) = _lines(lines[15:])
        return Chain(count(9), count(10), count(11), count(12), _weights(line))
    if lines[0] == "svmcut kernel chain model 1":
        first, *tokens = _lines(lines[12:])
        return KernelChain(
            _kernel(lines[1:6]), count(9), count(11), count(12), _weights(first), tokens
        )
    if lines[0] == "svmcut multilabel model 1":
        labels = [int(word) for word in lines[4].split("#")[0].split()]
        body = _lines(lines[5:])
        if len(body) != 2 * len(labels):
            raise ValueError(f"{len(body)} lines of {len(labels)} labels")
        return LabelSets(labels, count(3), body[: len(labels)], body[len(labels) :])
    if lines[0] == "SVM-multiclass Version V2.20":
        K, F = count(2), count(3)
        names = [
            float(word) for word in marks.get("labels", " ".join(map(str, range(1, K + 1)))).split()
        ]
        if not lines[4].startswith("0 "):
            words = [line.split(" ", 2) for line in lines[14:]]
            if len(words) != count(13) - 1:
                raise ValueError(f"{len(words)} support vectors, {count(13) - 1} announced")
            body = _lines([f"{alpha} {rest}" for alpha, _, rest in words])
            own = [int(word[1].removeprefix("qid:")) - 1 for word in words]
            for line, k in zip(body, own):
                line.pairs = [(index - k * F, value) for index, value in line.pairs]
            return Expansions(_kernel(lines[4:9]), names, own, body)
        (line,) = _lines([lines[14].replace("qid:0 ", "")])
        at = _weights(line)
        rows = [
            {f: value for f in range(1, F + 1) if (value := at.get(k * F + f))} for k in range(K)
        ]
        constant = [
            row.pop(F, 0.0) * float(marks["bias"]) if "bias" in marks else 0.0 for row in rows
        ]
        return Classes(names, rows, constant)
    if lines[0] == "svmcut multiclass 1":
        K, halves = count(11), [line.split(" | ") for line in lines[13:]]
        body = _lines([f"1 {features}" for _, features in halves])
        if len(body) != count(10) - 1:
            raise ValueError(f"{len(body)} support vectors, {count(10) - 1} announced")
        parts = [[pair.split(":") for pair in own.split()] for own, _ in halves]
        shares = [{int(machine) - 1: float(value) for machine, value in part} for part in parts]
        names = [
            float(word) for word in marks.get("labels", " ".join(map(str, range(1, K + 1)))).split()
        ]
        thresholds = [float(word) for word in lines[12].split("#")[0].split()]
        return Machines(
            _kernel(lines[1:6]), names, "one-vs-one" in lines[11], thresholds, shares, body
        )
    raise ValueError(f"unknown first line {lines[0]!r}")
