# SPDX-License-Identifier: BSD-3-Clause
"""What is asked of a table: which of its columns are what, and how they become features."""

from __future__ import annotations

from svmcut.base.errors import UsageError
from svmcut.base.messages import Parameter
from svmcut.base.records import fields, record
from svmcut.base.typing import Any
from svmcut.spec import catalog
from svmcut.spec.kinds import PATH, Kind, integer
from svmcut.spec.parameters import param


def _names(value: Any) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else tuple(value)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ValueError
    return names


def _switch(value: Any) -> bool:
    known = {"on": True, "off": False, True: True, False: False}
    if not isinstance(value, str | bool) or value not in known:
        raise ValueError
    return known[value]


def _lengths(value: Any) -> tuple[int, int]:
    low, high = value
    if not 1 <= low <= high <= LONGEST_RUN:
        raise ValueError
    return int(low), int(high)


def _pair(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


#: Words of a run, and bits of a hash.
LONGEST_RUN, MOST_BITS = 20, 30
COLUMN = Kind("COLUMN", "the name of a column", str, lambda value: _names((value,))[0])
COLUMNS = Kind(
    "COLUMN[,COLUMN...]",
    "names of columns",
    lambda text: tuple(text.split(",")),
    _names,
    repeats=True,
)
SWITCH = Kind("on|off", "on or off", str, _switch, words=("on", "off"))
LENGTHS = Kind(
    "LOW,HIGH",
    f"two lengths from 1 to {LONGEST_RUN} that do not fall, as in 1,2",
    _pair,
    _lengths,
    words=("1,1", "1,2", "1,3"),
)


@record(kw_only=True)
class TableOptions:
    """What is asked of a table. None and () leave the choice to the table.

    Attributes
    ----------
    label : str or None
        The column of the labels; required to train.
    columns, drop : tuple of str
        The columns to learn from, all but the others when none is named; columns to leave out.
    text, categories : tuple of str
        Columns of texts, which become words, and of names, a feature each.
    group, weight_column : str or None
        Columns of the queries, and of what rows weigh.
    standardise : bool
        Whether numbers get mean 0 and deviation 1 over the training rows.
    ngrams : (int, int)
        How many words in a row make a feature.
    min_count : int
        Rows that a word must stand in, or tokens that must have a feature.
    tf_idf, sublinear, smooth : bool
        Whether words weigh by how few rows they stand in; 1 + ln of their count; as if one more row
        had all of them.
    hash_bits : int or None
        Words go by their hashes to 2^hash_bits features, as HashingVectorizer has them; features
        of tokens too, by others.
    template : str or None
        File of the templates that make features of tokens in columns; None for those of
        `svmcut.tables.templates.default_lines`.
    """

    label: str | None = param(None, COLUMN)
    columns: tuple[str, ...] = param((), COLUMNS)
    drop: tuple[str, ...] = param((), COLUMNS)
    text: tuple[str, ...] = param((), COLUMNS)
    categories: tuple[str, ...] = param((), COLUMNS)
    group: str | None = param(None, COLUMN)
    weight_column: str | None = param(None, COLUMN)
    standardise: bool = param(True, SWITCH)
    ngrams: tuple[int, int] = param((1, 1), LENGTHS)
    min_count: int = param(1, integer(1))
    tf_idf: bool = param(True, SWITCH)
    sublinear: bool = param(False, SWITCH)
    smooth: bool = param(True, SWITCH)
    hash_bits: int | None = param(None, integer(1, MOST_BITS))
    template: str | None = param(None, PATH)

    def check_hashing(self) -> None:
        """Refuses what words by hash leave without effect, as no word is known or counted."""
        if self.hash_bits is None:
            return
        for name in ("min_count", "tf_idf", "sublinear", "smooth"):
            if getattr(self, name) != TABLE_DEFAULTS[name]:
                raise UsageError(
                    "{} has no effect on words beside {hash_bits}, which keeps none of them and "
                    "scales rows to length 1; leave one of them out",
                    Parameter(name),
                )


TABLE_DEFAULTS: dict[str, Any] = {item.name: item.default for item in fields(TableOptions)}
OPTIONS = tuple(item.name for item in fields(TableOptions))
#: Those of tokens in columns, and of tables.
OF_TOKENS = ("template", "min_count", "hash_bits")
OF_TABLES = tuple(name for name in OPTIONS if name != "template")


def options_for(input: str) -> tuple[str, ...]:
    """Those that examples of this input can use."""
    if input in catalog.TABLES:
        return OF_TABLES
    return OF_TOKENS if input == catalog.COLUMNS else ()


def table_options(given: dict[str, Any]) -> TableOptions:
    """The options of these values; a UsageError for one out of range."""
    values = {}
    for item in fields(TableOptions):
        value = given.get(item.name)
        if value is None:
            continue
        try:
            values[item.name] = item.kind.take(value)
        except (ValueError, TypeError):
            raise UsageError(
                "{} is {!r}; expected {}", Parameter(item.name), value, item.kind.expected
            ) from None
    return TableOptions(**values)


def is_frame(data: Any) -> bool:
    """Whether data is a table in memory: a DataFrame, or what Arrow takes as one."""
    named = hasattr(data, "columns") and hasattr(data, "dtypes")
    return named or hasattr(data, "__arrow_c_stream__")
