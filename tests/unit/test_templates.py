# SPDX-License-Identifier: BSD-3-Clause
"""Templates: their grammar, and features against the definition."""

import re
import zlib

import numpy as np
import pytest
from reference import templates as truth

from svmcut.base.errors import DataError
from svmcut.tables import templates
from svmcut.tables.templates import (
    Column,
    Template,
    default_lines,
    hash_features,
    learn_features,
    number_features,
    translate_regex,
    word_shape,
)

WORDS = ["The", "dog", "U.S.", "ran", "42nd", "a-b", "ÄRGER", "über", "x", "%s", "été", "-", "IBM"]


def columns_of(sequences):
    """Columns as a reader has them."""
    rows = [row for sequence in sequences for row in sequence]
    found = []
    for texts in zip(*rows, strict=True):
        known = {}
        ids = [known.setdefault(text, len(known)) for text in texts]
        found.append(Column(np.array(ids, np.int32), list(known)))
    return found, np.cumsum([0, *map(len, sequences)])


def drawn(seed, n=30):
    rng = np.random.default_rng(seed)
    return [
        [
            (str(rng.choice(WORDS)), str(rng.choice(["N", "V", "D"])))
            for _ in range(rng.integers(1, 7))
        ]
        for _ in range(n)
    ]


def named(found, known):
    names = list(known)
    return [[names[k] for k in row] for row in found.tolist()]


LINES = (
    "# a comment",
    "",
    "U00:%x[-2,0]",
    "U01:%x[ 0,0]/%x[+1,1]/%x[-1,0]",
    "u02:%X[0,0]",
    'u03:%m[0,0,"^.?.?"] # of two letters',
    'u04:%t[1,0,"^\\u\\u*$"]',
    'u05:%m[-1,0,"\\a*$"]|%t[0,0,"\\d"]|%M[0,0,"\\U\\L?"]',
    'u06:%m[0,0,"\\p\\w*"]%t[0,0,"x*$"]%t[0,0,"\\."]%t[0,0,"%s"]',
    "U07:%s[0,0]%S[1,0]",
    "U08:%x[@1,0]%x[@-1,0]%x[@4,1]%x[@-3,1]",
    "U09:%x[9,0]%x[-12,0]",
    "U",
    "*10:%x[0,1]",
    "B",
)


@pytest.mark.parametrize("lines", [LINES, default_lines(2)])
@pytest.mark.parametrize("seed", [0, 1])
def test_features_are_those_of_the_definition(lines, seed):
    sequences = drawn(seed)
    columns, bounds = columns_of(sequences)
    template, known = Template(lines), {}
    found = learn_features(template, columns, bounds, known)
    plain = [re.sub(r"\s+#.*", "", line) if '"' not in line else line for line in lines]
    plain = [line.replace(" # of two letters", "") for line in plain if not line.startswith("#")]
    expected = truth.features(plain, sequences)
    if lines is LINES:  # what follows an expression in quotes belongs to the name
        expected = [
            [text + " # of two letters" * (k == 3) for k, text in enumerate(row)]
            for row in expected
        ]
    assert named(found, known) == expected
    # numbers rise along a row, so that rows need no sorting
    assert (np.diff(found, axis=1) > 0).all()


def test_many_texts_are_numbered_without_an_overflow(monkeypatch):
    sequences = drawn(3)
    columns, bounds = columns_of(sequences)
    line = "U:%x[-1,0]/%x[0,0]/%x[1,0]/%x[2,0]/%x[0,1]"
    monkeypatch.setattr(templates, "_MAX_NUMBER", 5000)
    known = {}
    found = learn_features(Template([line]), columns, bounds, known)
    assert named(found, known) == truth.features([line], sequences)


def number_in(known):
    return lambda name: known.get(name, -1)


def test_hashes_are_those_of_names_whatever_the_order():
    template, learnt = Template(LINES), {}
    columns, bounds = columns_of(drawn(4))
    found = learn_features(template, columns, bounds, learnt)
    names, mask = [*learnt], (1 << 6) - 1
    expected = [[zlib.crc32(names[k].encode()) & mask for k in row] for row in found.tolist()]
    hashed = hash_features(template, columns, bounds, 6)
    assert hashed.tolist() == expected
    counts = np.bincount(hashed.ravel(), minlength=64)
    rare = hash_features(template, columns, bounds, 6, int(np.median(counts)) + 1)
    assert np.array_equal(rare < 0, counts[hashed] <= np.median(counts)) and (rare < 0).any()


def test_rare_features_are_left_out_and_unknown_ones_are_none():
    sequences = drawn(4)
    columns, bounds = columns_of(sequences)
    template, all_names, some = Template(LINES), {}, {}
    every = learn_features(template, columns, bounds, all_names)
    pruned = learn_features(template, columns, bounds, some, 3)
    names, counts = list(all_names), np.bincount(every.ravel())
    assert set(some) == {names[k] for k in np.flatnonzero(counts >= 3)} and len(some) < len(names)
    np.testing.assert_array_equal(pruned >= 0, counts[every] >= 3)
    np.testing.assert_array_equal(
        number_features(template, columns, bounds, number_in(some)), pruned
    )
    other, other_bounds = columns_of(drawn(5))
    found = number_features(template, other, other_bounds, number_in(some))
    fresh = {}
    names = named(learn_features(template, other, other_bounds, fresh), fresh)
    assert found.tolist() == [[some.get(text, -1) for text in row] for row in names]
    assert (found < 0).any()


@pytest.mark.parametrize(
    "regex, text, found",
    [
        ("^.?.?.?", "ab", "ab"),
        (".?.?$", "abc", "bc"),
        ("a*b", "caaab", "aaab"),
        ("\\.\\d*", "x.12y", ".12"),
        ("^\\u\\l*$", "Éte", "Éte"),
        ("a^b", "a^b", "a^b"),
        ("\\S\\S", "a bc", "bc"),
        ("x", "abc", None),
    ],
)
def test_expressions_match_first_and_longest(regex, text, found):
    here = re.compile(translate_regex(regex), re.DOTALL).search(text)
    assert (here[0] if here else None) == found == truth.search(regex, text)


def test_shapes_cut_runs():
    assert [word_shape(word) for word in ("McDonald-42", "ÉTÉ", "", "a1B2")] == [
        "XxXx-0",
        "X",
        "",
        "x0X0",
    ]


@pytest.mark.parametrize(
    "line, message",
    [
        ("W:%x[0,0]", r"t:2:1: line 'W:%x\[0,0\]' begins with none of U, B and \*"),
        ("U:%x[0]", r"t:2:3: '%x\[0\]' is no marker; expected %x\[ROW,COLUMN\]"),
        ("U:%q[0,0]", r"t:2:3: '%q\[0,0\]' is no marker"),
        ("U:%x[0,0]100%", r"t:2:13: '%' is no marker"),
        ("U:%m[0,0]", r"t:2:3: '%m\[0,0\]' is no marker"),
        ('U:%x[0,0,"a"]', "is no marker"),
        ('U:%t[0,0,""]', "has an empty expression"),
        ("U:%x[@0,0]", "names token 0; the first is @1, the last @-1"),
    ],
)
def test_what_is_no_template_is_refused_with_its_place(line, message):
    with pytest.raises(DataError, match=message):
        Template(["U", line], "t")


def test_columns_that_are_not_there_are_refused():
    with pytest.raises(DataError, match="t:1: column 2 is none of the 2 in front of the tag"):
        Template(["U:%x[0,2]"], "t").check(2)


def test_a_template_says_what_its_features_are_joined_with():
    assert not Template(["U:%x[0,0]"]).has_transitions
    assert Template(["U", "B"]).has_transitions and Template(["U", "B"]).joined is None
    assert Template(["U", "*1:%x[0,0]"]).joined.number == 2
    assert Template(["U", "b:%x[0,0]"]).joined.number == 2
