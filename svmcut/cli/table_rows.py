# SPDX-License-Identifier: BSD-3-Clause
"""Flags and help of the options of tables."""

from __future__ import annotations

from svmcut.base.records import fields
from svmcut.cli.option_entry import TABLE, Option
from svmcut.tables.options import TableOptions

_KINDS = {item.name: item.kind for item in fields(TableOptions)}
_TEXTS = {
    "label": ("Column of the labels.", "none"),
    "columns": ("Learn from these columns only.", "all"),
    "drop": ("Columns to leave out.", "none"),
    "text": ("Columns of free text, split into words; can be repeated.", "none"),
    "categories": (
        "Columns of categories, with a feature for each value; can be repeated. Columns with few "
        "different texts are recognised without it.",
        "none",
    ),
    "group": ("Column of the queries, for rankings.", "none"),
    "weight_column": ("Column of the weights of rows.", "none"),
    "standardise": ("Scale numbers to mean 0 and deviation 1 over the training rows.", "on"),
    "ngrams": ("Features are runs of LOW to HIGH words.", "1,1"),
    "min_count": ("Drop words, or features of tokens, that occur in fewer rows.", "1"),
    "tf_idf": (
        "Weigh words by tf-idf, and scale rows to length 1; off: counts.",
        "on",
    ),
    "sublinear": ("Use 1 + ln(count) instead of the count of a word.", "off"),
    "smooth": ("Smooth idf as if one more row had every word.", "on"),
    "hash_bits": (
        "Hash words, or features of tokens, to 2^N features; the model keeps no vocabulary.",
        "none",
    ),
    "template": (
        "With --input conll: file of feature templates in CRF++'s grammar, U01:%x[-1,0]/%x[0,0], "
        "with Wapiti's %m and %t. inspect prints the template of a model.",
        "words, their parts, shapes and neighbours",
    ),
}
#: One an option of `svmcut.tables.options.TableOptions`.
ROWS = tuple(
    Option(name, (f"--{name.replace('_', '-')}",), TABLE, help, default=default, kind=_KINDS[name])
    for name, (help, default) in _TEXTS.items()
)
