# SPDX-License-Identifier: BSD-3-Clause
"""The options of tables: roles of columns, and how columns become features."""

from __future__ import annotations

from svmcut.base.errors import UsageError
from svmcut.base.messages import Parameter
from svmcut.base.records import fields, record
from svmcut.base.typing import Any
from svmcut.spec import catalog
from svmcut.spec.kinds import PATH, Kind, integer
from svmcut.spec.options import TABLE, options_of, param


def _names(value: Any) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else tuple(value)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ValueError
    return names


def _is_on(value: Any) -> bool:
    known = {"on": True, "off": False, True: True, False: False}
    if not isinstance(value, str | bool) or value not in known:
        raise ValueError
    return known[value]


def _lengths(value: Any) -> tuple[int, int]:
    low, high = value
    if not 1 <= low <= high <= MAX_NGRAM:
        raise ValueError
    return int(low), int(high)


def _pair(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


#: Most words of an n-gram, and bits of a hash.
MAX_NGRAM, MAX_HASH_BITS = 20, 30
COLUMN = Kind("COLUMN", "the name of a column", str, lambda value: _names((value,))[0])
COLUMNS = Kind(
    "COLUMN[,COLUMN...]",
    "names of columns",
    lambda text: tuple(text.split(",")),
    _names,
    repeats=True,
    type="str | Sequence[str]",
)
SWITCH = Kind("on|off", "on or off", str, _is_on, words=("on", "off"), type="bool | str")
LENGTHS = Kind(
    "LOW,HIGH",
    f"two lengths from 1 to {MAX_NGRAM} that do not fall, as in 1,2",
    _pair,
    _lengths,
    words=("1,1", "1,2", "1,3"),
    type="tuple[int, int]",
)


@record(kw_only=True)
class TableOptions:
    """Choices for reading a table. None and () leave them to the table."""

    label: str | None = param(None, COLUMN, TABLE).describe("Column of the labels.")
    columns: tuple[str, ...] = param((), COLUMNS, TABLE, shown="all").describe(
        "Learn from these columns only."
    )
    drop: tuple[str, ...] = param((), COLUMNS, TABLE).describe("Columns to leave out.")
    text: tuple[str, ...] = param((), COLUMNS, TABLE).describe(
        "Columns of free text, split into words; can be repeated."
    )
    categories: tuple[str, ...] = param((), COLUMNS, TABLE).describe(
        "Columns of categories, with a feature for each value; can be repeated. Columns with few "
        "different texts are recognised without it."
    )
    group: str | None = param(None, COLUMN, TABLE).describe("Column of the queries, for rankings.")
    weight_column: str | None = param(None, COLUMN, TABLE).describe(
        "Column of the weights of rows."
    )
    standardise: bool = param(True, SWITCH, TABLE).describe(
        "Scale numbers to mean 0 and deviation 1 over the training rows."
    )
    ngrams: tuple[int, int] = param((1, 1), LENGTHS, TABLE).describe(
        "Features are runs of LOW to HIGH words."
    )
    min_count: int = param(1, integer(1), TABLE).describe(
        "Drop words, or features of tokens, that occur in fewer rows."
    )
    tf_idf: bool = param(True, SWITCH, TABLE).describe(
        "Weigh words by tf-idf, and scale rows to length 1; off: counts."
    )
    sublinear: bool = param(False, SWITCH, TABLE).describe(
        "Use 1 + ln(count) instead of the count of a word."
    )
    smooth: bool = param(True, SWITCH, TABLE).describe(
        "Smooth idf as if one more row had every word."
    )
    #: Words hash to the features of HashingVectorizer, features of tokens to others.
    hash_bits: int | None = param(None, integer(1, MAX_HASH_BITS), TABLE).describe(
        "Hash words, or features of tokens, to 2^N features; the model keeps no vocabulary."
    )
    #: None stands for the templates of `svmcut.tables.templates.default_lines`.
    template: str | None = param(
        None, PATH, TABLE, shown="words, their parts, shapes and neighbours"
    ).describe(
        "With --input conll: file of feature templates in CRF++'s grammar, U01:%x[-1,0]/%x[0,0], "
        "with Wapiti's %m and %t. inspect prints the template of a model."
    )

    def check_hashing(self) -> None:
        """Raise UsageError for options without effect on hashed words, which are neither known nor
        counted."""
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
TABLE_OPTIONS = tuple(item.name for item in fields(TableOptions))
ROWS = options_of(TableOptions)
#: The options of tokens in columns, and those of tables.
TOKEN_OPTIONS = ("template", "min_count", "hash_bits")
COLUMN_OPTIONS = tuple(name for name in TABLE_OPTIONS if name != "template")


def options_for(input: str) -> tuple[str, ...]:
    """Return the options that have an effect on examples of this input."""
    if input in catalog.TABLES:
        return COLUMN_OPTIONS
    return TOKEN_OPTIONS if input == catalog.COLUMNS else ()


def table_options(given: dict[str, Any]) -> TableOptions:
    """Return the options with these values; raise UsageError for one out of range."""
    values = {}
    for item in fields(TableOptions):
        value = given.get(item.name)
        if value is None:
            continue
        try:
            values[item.name] = item.option.kind.take(value)
        except (ValueError, TypeError):
            raise UsageError(
                "{} is {!r}; expected {}", Parameter(item.name), value, item.option.kind.expected
            ) from None
    return TableOptions(**values)


def is_frame(data: Any) -> bool:
    """Return whether data is a table in memory: a DataFrame, or one by Arrow's interface."""
    named = hasattr(data, "columns") and hasattr(data, "dtypes")
    return named or hasattr(data, "__arrow_c_stream__")
