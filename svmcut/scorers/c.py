# SPDX-License-Identifier: BSD-3-Clause
"""Models as one header of C99, which C++ takes too: no allocation, no dependency but the standard
library's mathematics, and a struct whose fields are the columns."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from string import Template

from svmcut.base.errors import UsageError
from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.scorers import description, letters
from svmcut.scorers.description import Scorer, describe
from svmcut.scorers.literals import (
    MAX_C_TEXT,
    identifiers,
    in_c,
    is_identifier,
    real,
    wrap,
)
from svmcut.scorers.notes import column_note, head, weight_notes
from svmcut.scorers.pieces import read_pieces
from svmcut.tables.encoding import Category, Number, Text

if TYPE_CHECKING:
    from svmcut.files.output import Output

#: Features of a row, and support vectors, whose values stand on the stack.
MAX_STACK = 1 << 18


def write(
    path: str,
    first: bytes,
    output: Output,
    model: Any,
    name: str = "model",
) -> None:
    """Writes the whole file; see svmcut.spec.entries.Format. Raises as `describe`, and UsageError
    for what a C program cannot hold, and for a name that is none."""
    if not is_identifier(name):
        raise UsageError(
            "the name '{}' is none of C; expected a letter, then letters and digits", name
        )
    output.write(_Header(path, describe(path, model), name).text().encode())


class _Header:
    """The text of a header."""

    def __init__(self, path: str, scorer: Scorer, name: str):
        self._path, self._scorer, self._name = path, scorer, name
        self._pieces = read_pieces("c.h")
        vectors = 0 if scorer.machines is None else scorer.machines.support.n_rows
        on_stack = bool(scorer.columns) or scorer.weights is None
        if on_stack and max(scorer.n_features, vectors) > MAX_STACK:
            raise UsageError(
                "{}: {:,} features and {:,} support vectors; C has at most {:,} on the stack; "
                "javascript and python take more",
                path,
                scorer.n_features,
                vectors,
                MAX_STACK,
            )

    def text(self) -> str:
        """The whole file."""
        scorer = self._scorer
        parts = [
            *(f"/* {line} */" for line in head(scorer)),
            self._piece("start", unit=self._name.upper()),
            *self._labels(),
            *self._of_columns(),
            *self._sums(),
            *self._inputs(),
            self._piece("end"),
        ]
        return "\n".join(parts) + "\n"

    def _piece(self, name: str, **values: Any) -> str:
        own = {"name": self._name, "d": max(1, self._scorer.n_features), "k": self._scorer.n_sums}
        return Template(self._pieces[name]).substitute(own | values)

    def _array(self, kind: str, name: str, words: Iterator[str] | list[str]) -> str:
        return f"static const {kind} {self._name}_{name}[] = {{\n{wrap(words)}\n}};"

    def _literal(self, text: str) -> str:
        literal = in_c(text)
        if len(text.encode("utf-8", "surrogateescape")) > MAX_C_TEXT:
            raise UsageError(
                "{}: '{}..' is longer than {:,} bytes, which C need not take; javascript and "
                "python take it",
                self._path,
                text[:20],
                MAX_C_TEXT,
            )
        return literal

    def _labels(self) -> Iterator[str]:
        if self._scorer.labels:
            yield self._piece("labels", count=len(self._scorer.labels))
            yield self._array("char *const", "labels", [*map(self._literal, self._scorer.labels)])

    def _of_columns(self) -> Iterator[str]:
        """The struct of a row, and the function of its features."""
        columns = [column for column, _ in self._scorer.columns]
        if not columns:
            return
        fields = identifiers([column.name for column in columns])
        yield self._piece("row")
        for column, field in zip(columns, fields, strict=True):
            kind = "double " if isinstance(column, Number) else "const char *"
            yield f"    {kind}{field}; /* {column_note(column)} */"
        yield "};\n"
        if any(isinstance(column, Number) for column in columns):
            yield self._piece("number")
        if not all(isinstance(column, Number) for column in columns):
            yield self._piece("words")
        if any(isinstance(column, Text) for column in columns):
            yield from self._letters()
        lines: list[str] = []
        for (column, first), field in zip(self._scorer.columns, fields, strict=True):
            yield from self._tables(column, first)
            lines += self._encode_cell(column, first, f"row->{field}")
        yield self._piece("features", lines="\n".join(lines))

    def _tables(self, column: Any, first: int) -> Iterator[str]:
        """The values of a category, or the terms of a text."""
        if isinstance(column, Number):
            return
        words = column.values if isinstance(column, Category) else column.terms
        places = sorted((word.encode(), k) for k, word in enumerate(words) if "\0" not in word)
        rows = [f"{{{self._literal(word.decode())}, {k}}}" for word, k in places]
        yield f"/* {column_note(column)} */"
        yield self._array(f"struct {self._name}_word", f"words_{first}", rows or ['{"", -1}'])
        if isinstance(column, Text):
            idf = column.idf_weights()
            if idf is not None:
                yield self._array("double", f"idf_{first}", [*map(real, idf)])
            yield self._piece(
                "hashed" if column.hash_bits is not None else "terms", **self._how(column, first)
            )

    def _how(self, column: Text, first: int) -> dict[str, Any]:
        log = "1 + log(value)" if column.log else "value"
        longest = max((len(term.encode()) for term in column.terms), default=0)
        return {
            "first": first,
            "low": column.ngrams[0],
            "high": column.ngrams[1],
            "count": len(column.terms),
            "width": column.width,
            "longest": longest + 1,
            "value": log if column.idf == "none" else f"({log}) * {self._name}_idf_{first}[place]",
            "size": "squares > 0 ? sqrt(squares) : 1" if column.normed else "1",
        }

    def _encode_cell(self, column: Any, first: int, cell: str) -> Iterator[str]:
        """Statements that put the features of a cell into x."""
        yield f"    /* {column_note(column)} */"
        if isinstance(column, Number):
            known = ", ".join(map(real, (column.mean, column.scale, column.fill)))
            yield f"    x[{first}] = {self._name}_number({cell}, {known});"
            if column.missing:
                yield f"    x[{first + 1}] = {cell} != {cell} ? 1 : 0;"
        elif isinstance(column, Category):
            count = sum("\0" not in value for value in column.values)
            last = first + len(column.values) if column.missing else -1
            words = f"{self._name}_words_{first}, {count}, {first}, {last}"
            yield f"    {self._name}_category({cell}, {words}, x);"
        else:
            yield f"    {self._name}_text_{first}({cell}, x + {first});"

    def _letters(self) -> Iterator[str]:
        """Tables of Unicode, as far as words of the model need them."""
        texts = [column for column, _ in self._scorer.columns if isinstance(column, Text)]
        known = {letter for column in texts for term in column.terms for letter in term}
        if any(column.hash_bits is not None for column in texts):
            known = {small for _, small in letters.capitals()} | {"\u03c2"}
        pairs = [f"{{{point}, {small}}}" for point, small in letters.lower_pairs(known)]
        pair = f"struct {self._name}_pair"
        yield self._piece("pair")
        yield self._array(pair, "letters", _pairs(letters.word_ranges()))
        yield self._array(pair, "lower", pairs or ["{0, 0}"])
        if letters.has_sigma(known):
            cased, between = letters.sigma_ranges()
            yield self._array(pair, "cased", _pairs(cased))
            yield self._array(pair, "between", _pairs(between))
        yield self._piece("decoding")
        yield self._piece("sigma" if letters.has_sigma(known) else "no sigma")
        yield self._piece("word")

    def _sums(self) -> Iterator[str]:
        scorer = self._scorer
        yield self._array("double", "constants", [*map(real, scorer.constants)])
        if scorer.weights is not None:
            rows = zip(scorer.weights.tolist(), weight_notes(scorer), strict=True)
            lines = [
                f"    {', '.join(map(real, row))}," + f" /* {note} */" * bool(note)
                for row, note in rows
            ]
            yield f"static const double {self._name}_weights[] = {{"
            yield "\n".join(lines or ["    0"]) + "\n};"
            yield self._piece("linear" if scorer.columns else "sparse linear sums")
            return
        yield from self._kernel(scorer.machines)

    def _kernel(self, machines: Any) -> Iterator[str]:
        kernel, vectors, norms = machines.kernel, machines.rows(), machines.norms()
        starts = itertools.accumulate((len(values) for _, values in vectors), initial=0)
        indices = [str(j) for own, _ in vectors for j in own]
        values = [f"{value:.9g}" for _, own in vectors for value in own]  # nine name a float32
        yield self._array("int", "starts", [*map(str, starts)])
        yield self._array("int", "indices", indices or ["0"])
        yield self._array("float", "values", values or ["0"])
        yield self._array("int", "machines", [*map(str, machines.starts)])
        yield self._array("int", "places", [*map(str, machines.places)] or ["0"])
        yield self._array("double", "alpha", [*map(real, machines.alpha)] or ["0"])
        distance = ""
        if kernel.name == "rbf":
            yield self._array("double", "norms", [*map(real, norms)] or ["0"])
            largest = real(max(norms, default=0.0))
            distance = self._piece("distance", largest=largest, gamma=real(kernel.gamma))
        inner = f"{real(kernel.scale)} * value + {real(kernel.offset)}"
        form = {
            "rbf": f"exp({real(-kernel.gamma)} * value)",
            "polynomial": f"pow({inner}, {kernel.degree})",
            "sigmoid": f"tanh({inner})",
        }[kernel.name]
        many = max(1, len(vectors))
        yield self._piece("kernel", m=len(vectors), many=many, form=form, distance=distance)
        if not self._scorer.columns:
            yield self._piece("sparse kernel sums")

    def _inputs(self) -> Iterator[str]:
        """The functions to call, of a row, a text, or numbered features."""
        row = {"suffix": "", "given": f"const struct {self._name}_row *row", "passed": "row"}
        if not self._scorer.columns:
            given = "const int *index, const double *value, int n"
            yield from self._answers(suffix="_sparse", given=given, passed="index, value, n")
            return
        yield self._piece("row sums")
        yield from self._answers(**row)
        column = self._scorer.columns[0][0]
        if len(self._scorer.columns) == 1 and isinstance(column, Text):
            (field,) = identifiers([column.name])
            yield self._piece("text sums", field=field)
            yield from self._answers(suffix="_text", given="const char *text", passed="text")

    def _answers(self, **how: str) -> Iterator[str]:
        scorer = self._scorer
        if scorer.answer in (description.LARGEST, description.VOTES):
            labels = len(scorer.labels)
            is_voted = scorer.answer == description.VOTES
            yield self._piece("votes" if is_voted else "scores", labels=labels, **how)
            yield self._piece("largest", labels=labels, **how)
            if scorer.temperature is not None:
                yield self._piece("softmax", labels=labels, t=real(scorer.temperature), **how)
            elif scorer.sigmoid is not None:
                yield self._piece("shares", labels=labels, **how)
            return
        yield self._piece("score", **how)
        if scorer.answer != description.NUMBER:
            sign = ">" if scorer.answer == description.SIGN else ">="
            yield self._piece("label", sign=sign, **how)
        if scorer.sigmoid is not None:
            A, B = map(real, scorer.sigmoid)
            shift = f" + {real(scorer.threshold)}" if scorer.threshold else ""
            yield self._piece("sigmoid", slope=A, offset=B, shift=shift, **how)


def _pairs(ranges: list[tuple[int, int]]) -> list[str]:
    return [f"{{{first}, {last}}}" for first, last in ranges]
