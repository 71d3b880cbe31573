# SPDX-License-Identifier: BSD-3-Clause
"""Prediction files: one line per example; control characters in labels are escaped."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from svmcut._native.text import format_integers, format_scores
from svmcut.base.messages import escape
from svmcut.files.output import Output


def write_scores(output: Output, scores: NDArray[np.float64]) -> None:
    """Write (n,) scores as ``%.8f`` lines."""
    output.write(format_scores(scores))


def write_short_scores(output: Output, scores: NDArray[np.float64], signed: bool = False) -> None:
    """Write (n,) scores as svm_light's ``%.8g`` lines; with `signed`, as ``SCORE:+1 -SCORE:-1`` or
    ``|SCORE|:-1 -|SCORE|:+1``."""
    if not signed:
        output.write(b"%.8g\n" * len(scores) % tuple(scores.tolist()))
        return
    for score in scores.tolist():
        size, sign = abs(score), "+-" if score > 0 else "-+"
        output.write(f"{size:.8g}:{sign[0]}1 {-size:.8g}:{sign[1]}1\n".encode())


def write_labels(output: Output, scores: NDArray[np.float64], labels: tuple[str, ...]) -> None:
    """Write the label that each of (n,) scores predicts: the second if the score is above 0, else
    the first."""
    lines = np.array([f"{escape(label)}\n".encode() for label in labels], object)
    output.write(b"".join(lines[(scores > 0).astype(np.int8)].tolist()))


def write_classes(
    output: Output,
    scores: NDArray[np.float64],
    labels: list[str],
    alone: bool = False,
    number: str = "%.8f",
) -> None:
    """Write (n, K) scores as lines ``LABEL s1 .. sK`` with the first class of the largest score;
    with `alone`, only the label."""
    texts = [*map(escape, labels)]
    names = [texts[k] for k in np.argmax(scores, axis=1).tolist()] if scores.size else []
    if alone:
        output.write("".join(f"{name}\n" for name in names).encode())
        return
    row = " ".join([number] * scores.shape[1])
    lines = (
        f"{name} {row % tuple(values)}\n"
        for name, values in zip(names, scores.tolist(), strict=True)
    )
    output.write("".join(lines).encode())


def write_probabilities(
    output: Output,
    probabilities: NDArray[np.float64],
    labels: Sequence[str] | None,
    chosen: NDArray,
) -> None:
    """Write (n, K) probabilities as lines of K numbers of eight digits; `labels` adds that of the
    chosen place (n,) in front."""
    row = " ".join(["%.8g"] * probabilities.shape[1]) + "\n"
    lines = (row % tuple(values) for values in probabilities.tolist())
    if labels is not None:
        texts = [*map(escape, labels)]
        lines = (f"{texts[k]} {line}" for k, line in zip(chosen.tolist(), lines, strict=True))
    output.write("".join(lines).encode())


def write_tags(output: Output, tags: NDArray[np.int32]) -> None:
    """Write (tokens,) tags from 0 as the file numbers them, from 1, one per line; no line between
    sequences."""
    output.write(format_integers(tags.astype(np.int64) + 1))


def write_names(
    output: Output, tags: NDArray[np.int32], indptr: NDArray[np.int64], names: tuple[str, ...]
) -> None:
    """Write the names of (tokens,) tags, one per line, and an empty line after every sequence, as
    crfsuite tag does."""
    texts = [f"{escape(name)}\n" for name in names]
    lines = [texts[tag] for tag in tags.tolist()]
    for end in (indptr[1:] - indptr[0]).tolist():
        lines[end - 1] += "\n"
    output.write("".join(lines).encode("utf-8", "surrogateescape"))


def write_label_sets(output: Output, ends: NDArray, names: Sequence[str]) -> None:
    """Write the names (m,) of labels as lines with commas in between; row i has those from ends[i]
    to ends[i + 1], maybe none."""
    lines = [",".join(names[start:stop]) for start, stop in pairwise(ends.tolist())]
    output.write(("\n".join(lines) + "\n").encode())


def write_top_labels(
    output: Output,
    ends: NDArray,
    names: Sequence[str],
    scores: NDArray[np.float64],
    between: str = " ",
) -> None:
    """Write the names (m,) of labels as lines of ``label:score``, best first, joined by `between`;
    row i has those from ends[i] to ends[i + 1]."""
    pairs = [f"{name}:{score:.8g}" for name, score in zip(names, scores.tolist(), strict=True)]
    lines = [between.join(pairs[start:stop]) for start, stop in pairwise(ends.tolist())]
    output.write(("\n".join(lines) + "\n").encode())
