# SPDX-License-Identifier: BSD-3-Clause
"""Models as one ES module without dependencies, for node and browsers: score(row), label(row) and,
where the model has them, probability(row), of an object by column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from string import Template

from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.scorers.description import LARGEST, NUMBER, SIGN, VOTES, Scorer, describe
from svmcut.scorers.literals import in_javascript, real, wrap
from svmcut.scorers.notes import column_note, head, weight_notes
from svmcut.scorers.pieces import read_pieces
from svmcut.tables.encoding import Category, Number

if TYPE_CHECKING:
    from svmcut.files.output import Output


def write(path: str, first: bytes, output: Output, model: Any) -> None:
    """Writes the whole file; see svmcut.spec.entries.Format. Raises as `describe`."""
    output.write(_Module(describe(path, model)).text().encode())


class _Module:
    """The text of a module."""

    def __init__(self, scorer: Scorer):
        self._scorer, self._pieces = scorer, read_pieces("javascript.mjs")

    def text(self) -> str:
        """The whole file."""
        columns = self._columns() if self._scorer.columns else [self._piece("sparse")]
        parts = [
            *(f"// {line}" for line in head(self._scorer)),
            *self._labels(),
            *columns,
            *self._sums(),
            *self._answers(),
        ]
        return "\n".join(parts) + "\n"

    def _piece(self, name: str, **values: Any) -> str:
        row = "Object<string, (string|number|boolean|null)>"
        return Template(self._pieces[name]).substitute({"row": row} | values)

    def _labels(self) -> Iterator[str]:
        scorer = self._scorer
        if scorer.labels:
            words = (
                text if scorer.has_numbers and text != "rest" else in_javascript(text)
                for text in scorer.labels
            )
            yield _array("export const LABELS", words)

    def _columns(self) -> Iterator[str]:
        """Functions of cells, and the columns that they take."""
        lines, used = [], {"cell": ""}
        for column, first in self._scorer.columns:
            name, missing = in_javascript(column.name), getattr(column, "missing", False)
            lines.append(f"  // {column_note(column)}")
            if isinstance(column, Number):
                used["number"] = ""
                last = str(first + 1) if missing else "null"
                how = ", ".join(map(real, (column.mean, column.scale, column.fill)))
                boolean = "true" if column.boolean else "false"
                lines.append(f"  [{name}, encodeNumber, {first}, {how}, {last}, {boolean}],")
            elif isinstance(column, Category):
                used["category"] = ""
                last = str(first + len(column.values)) if missing else "null"
                lines.append(f"  [{name}, encodeCategory, {_map(column.values, first)}, {last}],")
            else:
                places = _map(column.terms, 0)
                if column.hash_bits is not None:
                    used["hash"], places = "", str(column.hash_bits)
                used["text"] = ""
                idf = column.idf_weights()
                weights = "null" if idf is None else f"[\n{wrap(map(real, idf))}\n  ]"
                low, high = column.ngrams
                flags = ", ".join(
                    "true" if flag else "false" for flag in (column.log, column.normed)
                )
                how = f"{places}, {weights}, [{low}, {high}], {flags}"
                lines.append(f"  [{name}, encodeText, {first}, {how}],")
        yield from map(self._piece, used)
        yield "\n".join(["const COLUMNS = [", *lines, "];", ""])
        yield self._piece("features")

    def _sums(self) -> Iterator[str]:
        scorer, machines = self._scorer, self._scorer.machines
        yield _array("const CONSTANTS", map(real, scorer.constants))
        if scorer.weights is not None:
            yield "// of every feature the weights of all scores\nconst WEIGHTS = ["
            for row, note in zip(scorer.weights.tolist(), weight_notes(scorer), strict=True):
                yield f"  [{', '.join(map(real, row))}]," + f" // {note}" * bool(note)
            yield "];\n\n" + self._piece("linear")
            return
        assert machines is not None
        yield "// of every support vector its features and their values\nconst SUPPORT = ["
        for indices, values in machines.rows():
            pairs = (f"[{j}, {value!r}]" for j, value in zip(indices, values, strict=True))
            yield f"  [\n{wrap(pairs)}\n  ],"
        yield "];"
        yield _array("const PLACES", map(str, machines.places))
        yield _array("const ALPHA", map(real, machines.alpha))
        yield _array("const STARTS", map(str, machines.starts))
        kernel = machines.kernel
        inner = f"{real(kernel.scale)} * value + {real(kernel.offset)}"
        form = {
            "rbf": f"Math.exp({real(-kernel.gamma)} * value)",
            "polynomial": f"({inner}) ** {kernel.degree}",
            "sigmoid": f"Math.tanh({inner})",
        }[kernel.name]
        is_rbf = kernel.name == "rbf"
        distance = self._piece("distance", gamma=real(kernel.gamma)) if is_rbf else ""
        own = "  const own = norm((x) => x, features.values());\n" if is_rbf else ""
        yield self._piece("kernel", form=form, distance=distance, own=own)

    def _answers(self) -> Iterator[str]:
        scorer = self._scorer
        if scorer.answer in (LARGEST, VOTES):
            yield self._piece("votes" if scorer.answer == VOTES else "scores")
            yield self._piece("largest")
            if scorer.temperature is not None:
                yield self._piece("softmax", t=real(scorer.temperature))
            elif scorer.sigmoid is not None:
                yield self._piece("shares")
            return
        yield self._piece("score")
        if scorer.answer != NUMBER:
            yield self._piece("label", sign=">" if scorer.answer == SIGN else ">=")
        if scorer.sigmoid is not None:
            A, B = map(real, scorer.sigmoid)
            shift = f" + {real(scorer.threshold)}" if scorer.threshold else ""
            yield self._piece("sigmoid", slope=A, offset=B, shift=shift)


def _array(name: str, words: Iterable[str]) -> str:
    return f"{name} = [\n{wrap(words, '  ')}\n];"


def _map(names: tuple[str, ...], first: int) -> str:
    """Places of names."""
    pairs = (f"[{in_javascript(name)}, {k}]" for k, name in enumerate(names, first))
    return f"new Map([\n{wrap(pairs)}\n  ])"
