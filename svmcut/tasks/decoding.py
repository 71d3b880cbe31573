# SPDX-License-Identifier: BSD-3-Clause
"""Tags of sequences under the options of decoding: of a scheme, with some tags given, the best few,
or with their probabilities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import DataError
from svmcut.base.messages import Message, escape
from svmcut.base.typing import Any, NamedTuple
from svmcut.data.examples import Sequences
from svmcut.files.output import Output
from svmcut.models import ChainModel, KernelChainModel
from svmcut.models.decoding import Lattice
from svmcut.scoring.chunks import scheme_rules, split_tags


class Decoding(NamedTuple):
    """Options of decoding."""

    #: The file, for messages.
    path: str
    #: "iob1", "iob2" or "iobes" allows only the tag sequences of that scheme.
    scheme: str | None = None
    #: Labellings of every sequence; 0 for the best one, without its score.
    n_best: int = 0
    #: True writes tags with their probabilities.
    confidence: bool = False
    #: True keeps the tags in the file and predicts the others.
    partial: bool = False


class Decoded(NamedTuple):
    """Decoded sequences."""

    #: (tokens,) from 0.
    tags: NDArray[np.int32]
    #: (n + 1,) starts of the sequences.
    indptr: NDArray[np.int64]
    #: With n_best, (count * tokens,) tags of the best labellings and (n, count) their scores, as of
    #: `Lattice.best`.
    best: tuple[NDArray[np.int32], NDArray[np.float64]] | None = None
    #: With confidence, (tokens, K) probabilities of the tags.
    probabilities: NDArray[np.float64] | None = None


def decoder(
    model: ChainModel | KernelChainModel, how: Decoding, threads: int = 1, beam: int = 0
) -> Callable[[Sequences], Decoded]:
    """Function that decodes the parts of a file one after the other. It raises DataError for a
    sequence without a labelling of the scheme that has the given tags."""
    names = model.names
    rules = None
    if how.scheme is not None and names is not None:
        rules = scheme_rules(split_tags(names.tags), how.scheme)
    seen = 0

    def decode(part: Sequences) -> Decoded:
        nonlocal seen
        given = part.tags if how.partial else None
        lattice = Lattice(model, part.X, part.indptr, rules, given, threads)
        tags, values = lattice.tags(beam)
        if (none := np.flatnonzero(np.isneginf(values))).size:
            number = seen + int(none[0]) + 1
            scheme = f"of scheme {how.scheme}" if how.scheme else "with a score"
            message = Message("sequence {}: no labelling {} has the given tags", number, scheme)
            raise DataError(how.path, message)
        seen += len(part)
        best = lattice.best(how.n_best) if how.n_best else None
        probabilities = _probabilities(model, lattice) if how.confidence else None
        return Decoded(tags, part.indptr, best, probabilities)

    return decode


def tag_probabilities(
    model: ChainModel | KernelChainModel, part: Sequences, threads: int = 1
) -> NDArray[np.float64]:
    """(tokens, K) probabilities of the tags of sequences; uncalibrated if the model has no
    temperature."""
    return _probabilities(model, Lattice(model, part.X, part.indptr, threads=threads))


def _probabilities(model: ChainModel | KernelChainModel, lattice: Lattice) -> NDArray[np.float64]:
    scale = 1.0 if model.temperature is None else model.temperature
    marginals = lattice.sums(scale, marginals=True)[2]
    assert marginals is not None
    return marginals


def write_decoded(
    output: Output,
    decoded: Decoded,
    names: tuple[str, ...],
    apart: bool,
    *,
    confidence: bool = False,
) -> None:
    """Writes lines of tags: with confidence ``TAG P``; of the best few every labelling after a line
    ``# RANK SCORE``. `apart` ends every sequence with an empty line."""
    names = tuple(map(escape, names))
    if decoded.best is not None:
        lines = _best_lines(decoded, names, apart)
    else:
        own = [names[tag] for tag in decoded.tags.tolist()]
        if confidence and decoded.probabilities is not None:
            sure = decoded.probabilities[np.arange(len(own)), decoded.tags].tolist()
            own = [f"{tag} {p:.8g}" for tag, p in zip(own, sure, strict=True)]
        lines = [f"{line}\n" for line in own]
        if apart:
            for end in (decoded.indptr[1:] - decoded.indptr[0]).tolist():
                lines[end - 1] += "\n"
    output.write("".join(lines).encode("utf-8", "surrogateescape"))


def _best_lines(decoded: Decoded, names: tuple[str, ...], apart: bool) -> list[str]:
    lines: list[str] = []
    assert decoded.best is not None
    labels, scores = decoded.best
    count, start = scores.shape[1], 0
    flat: Any = labels.tolist()
    for length, row in zip(np.diff(decoded.indptr).tolist(), scores.tolist(), strict=True):
        for rank, score in enumerate(row, 1):
            if np.isneginf(score):
                break
            at = start + (rank - 1) * length
            lines.append(f"# {rank} {score:.8g}\n")
            lines += [f"{names[tag]}\n" for tag in flat[at : at + length]]
        start += count * length
        if apart:
            lines.append("\n")
    return lines
