# SPDX-License-Identifier: BSD-3-Clause
"""Flags and help of the options of tables."""

from __future__ import annotations

from svmcut.cli.option_entry import TABLE, Option
from svmcut.spec.records import fields
from svmcut.tables.options import TableOptions

_KINDS = {item.name: item.kind for item in fields(TableOptions)}
_TEXTS = {
    "label": ("The column of the labels.", "none"),
    "columns": ("Learn from these columns alone.", "all"),
    "drop": ("Columns to leave out.", "none"),
    "text": ("Columns of texts, which become words; may be given again.", "none"),
    "categories": (
        "Columns of names, a feature each; may be given again. Text of few different values is "
        "taken so by itself.",
        "none",
    ),
    "group": ("The column of the queries, for rankings.", "none"),
    "weight_column": ("The column of what rows weigh.", "none"),
    "standardise": ("Numbers get mean 0 and deviation 1 over the training rows.", "on"),
    "ngrams": ("How many words in a row make a feature.", "1,1"),
    "min_count": ("Leave out words, or features of tokens, that fewer rows have.", "1"),
    "tf_idf": (
        "Words weigh more the fewer rows they stand in, and rows have length 1; off: their counts.",
        "on",
    ),
    "sublinear": ("A word counts 1 + ln of how often it stands in the text.", "off"),
    "smooth": ("Words weigh as if one more row had all of them.", "on"),
    "hash_bits": (
        "Words go by their hashes to 2^N features, and the model keeps none of them.",
        "none",
    ),
    "template": (
        "With --input conll: file of the templates that make features of a token's columns, in "
        "CRF++'s grammar, U01:%x[-1,0]/%x[0,0], with Wapiti's %m and %t. inspect prints the one "
        "that a model has.",
        "words, their parts, shapes and neighbours",
    ),
}
#: One an option of `svmcut.tables.options.TableOptions`.
ROWS = tuple(
    Option(name, (f"--{name.replace('_', '-')}",), TABLE, help, default=default, kind=_KINDS[name])
    for name, (help, default) in _TEXTS.items()
)
