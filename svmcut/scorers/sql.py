# SPDX-License-Identifier: BSD-3-Clause
"""Linear models of tables as one SELECT of score, label and, where the model has it, probability of
every row of a table; without the rounding of features to single precision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from svmcut.base.errors import UsageError
from svmcut.base.typing import TYPE_CHECKING, Any, NamedTuple
from svmcut.scorers.description import INSIDE, LARGEST, NUMBER, Scorer, describe
from svmcut.scorers.literals import in_sql, quote_sql, real
from svmcut.scorers.notes import column_note, head
from svmcut.tables.encoding import Category, Number

if TYPE_CHECKING:
    from svmcut.files.output import Output

#: Terms of a sum before it is split: SQLite nests a thousand.
MAX_TERMS = 100
#: Larger exponents are errors in PostgreSQL.
_MAX_EXPONENT = 700


class Dialect(NamedTuple):
    """Words of a database for what others say otherwise."""

    character: str
    least: str
    most: str
    trim: str = "TRIM"
    #: A number, or NULL where it is missing.
    number: str = "NULLIF(CAST({} AS DOUBLE PRECISION), CAST('NaN' AS DOUBLE PRECISION))"
    #: True if a text may hold a NUL.
    has_nul: bool = True
    #: True if names of columns may differ by case alone.
    has_case: bool = False


DIALECTS = {
    "sqlite": Dialect("CHAR", "MIN", "MAX", number="CAST(NULLIF({}, '') AS REAL)"),
    "postgresql": Dialect("CHR", "LEAST", "GREATEST", trim="BTRIM", has_nul=False, has_case=True),
    "duckdb": Dialect("CHR", "LEAST", "GREATEST"),
}


def write(
    path: str,
    first: bytes,
    output: Output,
    model: Any,
    dialect: str = "sqlite",
    table: str = "input",
) -> None:
    """Writes the whole file; see svmcut.spec.entries.Format. Raises as `describe`, and
    UsageError for columns that the database does not tell apart."""
    scorer, known = describe(path, model), DIALECTS[dialect]
    names = [column.name for column, _ in scorer.columns]
    for place, name in enumerate(names):
        if not known.has_case and name.lower() in map(str.lower, names[:place]):
            raise UsageError(
                "{}: two columns are called '{}' but for case, which {} takes for one; rename one",
                path,
                name,
                dialect,
            )
    output.write(_Query(scorer, known).text(table).encode())


class _Query:
    """The text of a query."""

    def __init__(self, scorer: Scorer, dialect: Dialect):
        self._scorer, self._dialect = scorer, dialect

    def text(self, table: str) -> str:
        """The query of all rows of a table."""
        scorer = self._scorer
        lines = [f"-- {line}" for line in head(scorer)]
        source = ".".join(map(quote_sql, table.split(".")))
        names = [f"s{k}" for k in range(1, scorer.n_sums + 1)]
        sums = [f"{self._sum(k)}\n    AS {name}" for k, name in enumerate(names)]
        lines += ["WITH sums AS (", "  SELECT", ",\n".join(sums), f"  FROM {source}", ")"]
        if scorer.answer == LARGEST:
            most = f"{self._dialect.most}({', '.join(names)})"
            lines += [f", best AS (SELECT sums.*, {most} AS score FROM sums)"]
            answers = ["score", f"{self._largest(names)} AS label", *self._shares(names)]
            lines += ["SELECT", ",\n".join(f"  {answer}" for answer in answers), "FROM best;"]
        else:
            answers = ["s1 AS score", *self._label(), *self._sigmoid()]
            lines += ["SELECT", ",\n".join(f"  {answer}" for answer in answers), "FROM sums;"]
        return "\n".join(lines) + "\n"

    def _sum(self, k: int) -> str:
        """The sum of a score, a line for every column."""
        terms = [*self._terms(k)]
        groups = [terms[at : at + MAX_TERMS] for at in range(0, len(terms), MAX_TERMS)]
        sums = ["\n    + ".join(group) for group in groups]
        if len(sums) > 1:
            sums = [f"({group}\n    )" for group in sums]
        return "    " + "\n    + ".join([real(self._scorer.constants[k]), *sums])

    def _terms(self, k: int) -> Iterator[str]:
        assert self._scorer.weights is not None
        w = self._scorer.weights[:, k].tolist()
        for column, first in self._scorer.columns:
            cell, note = quote_sql(column.name), f" -- {column_note(column)}"
            if isinstance(column, Number):
                value = self._number(column, cell)
                known = f"(COALESCE({value}, {real(column.fill)}) - {real(column.mean)})"
                yield f"{real(w[first])} * {known} * {real(column.scale)}{note}"
                if column.missing:
                    yield f"CASE WHEN {value} IS NULL THEN {real(w[first + 1])} ELSE 0.0 END"
            elif isinstance(column, Category):
                yield f"{self._category(column, cell, w[first:])}{note}"

    def _number(self, column: Number, cell: str) -> str:
        if not column.boolean:
            return self._dialect.number.format(cell)
        words = {"1.0": ("true", "1", "1.0"), "0.0": ("false", "0", "0.0")}
        cases = " ".join(
            f"WHEN '{word}' THEN {value}" for value, known in words.items() for word in known
        )
        return f"CASE LOWER(CAST({cell} AS TEXT)) {cases} END"

    def _category(self, column: Category, cell: str, w: Sequence[float]) -> str:
        dialect = self._dialect
        blanks = " || ".join(f"{dialect.character}({code})" for code in (9, 10, 13))
        text = f"{dialect.trim}(CAST({cell} AS TEXT), ' ' || {blanks})"
        cases = [
            f"WHEN {in_sql(value, dialect.character)} THEN {real(weight)}"
            for value, weight in zip(column.values, w, strict=False)
            if dialect.has_nul or "\0" not in value
        ]
        missing = f"WHEN '' THEN {real(w[len(column.values)])}" if column.missing else ""
        lines = "\n        ".join(filter(None, [*cases, missing]))
        return f"CASE COALESCE({text}, '')\n        {lines}\n        ELSE 0.0 END"

    def _label(self) -> Iterator[str]:
        if self._scorer.answer == NUMBER:
            return
        negative, positive = self._words()
        sign = ">=" if self._scorer.answer == INSIDE else ">"
        yield f"CASE WHEN s1 {sign} 0 THEN {positive} ELSE {negative} END AS label"

    def _words(self) -> list[str]:
        labels = self._scorer.labels
        if self._scorer.has_numbers and "rest" not in labels:
            return [*labels]
        return [in_sql(label, self._dialect.character) for label in labels]

    def _largest(self, names: list[str]) -> str:
        pairs = zip(names, self._words(), strict=True)
        return f"CASE {' '.join(f'WHEN {name} = score THEN {word}' for name, word in pairs)} END"

    def _sigmoid(self) -> Iterator[str]:
        if self._scorer.sigmoid is not None:
            A, B = map(real, self._scorer.sigmoid)
            z = f"({A} * (s1 + {real(self._scorer.threshold)}) + {B})"
            yield f"{self._share(z)} AS probability"

    def _share(self, z: str) -> str:
        """1 / (1 + exp(z)), in numbers that are no errors."""
        least = f"EXP(-{self._dialect.least}(ABS({z}), {_MAX_EXPONENT}))"
        return f"CASE WHEN {z} >= 0 THEN {least} ELSE 1.0 END / (1.0 + {least})"

    def _shares(self, names: list[str]) -> Iterator[str]:
        """The probability of the label."""
        scorer, most = self._scorer, self._dialect.most
        if scorer.temperature is not None:
            t = real(scorer.temperature)
            parts = [f"EXP({most}({t} * ({name} - score), -{_MAX_EXPONENT}))" for name in names]
            yield f"1.0 / ({' + '.join(parts)}) AS probability"
        elif scorer.sigmoid is not None:
            parts = [self._share(f"(-{name})") for name in names]
            yield f"({self._share('(-score)')}) / ({' + '.join(parts)}) AS probability"
