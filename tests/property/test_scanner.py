# SPDX-License-Identifier: BSD-3-Clause
"""The scanner against a slow one, on good lines and on damaged ones."""

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from reference import scanner as slow
from svmcut._native.scan import Scanner

from svmcut.base.errors import DataError
from svmcut.data.examples import Source


def many(examples: int):
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow],
    )


BLANKS = [" ", " ", " ", " ", "  ", "\t", " \t ", "\r", "\f"]

digits = st.text("0123456789", min_size=1, max_size=20)
plain = st.one_of(
    st.integers(0, 99).map(str),
    st.floats(0, 1, width=32).map(lambda x: f"{x:.6f}"),
    st.floats(-1e3, 1e3).map(lambda x: f"{x:.5g}"),
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(repr),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda x: f"{x:.9e}"),
    st.floats(-1e9, 1e9).map(repr),
    st.builds("{}.{}".format, digits, digits),
    st.builds(".{}".format, digits),
    st.builds("{}.".format, digits),
    st.builds("{}{}e{}".format, st.sampled_from(["", "+", "-"]), digits, st.integers(-60, 30)),
    # beside the midpoint of two floats
    st.builds(
        lambda x, more: (
            f"{(float(x) + float(np.nextafter(x, np.float32(np.inf)))) / 2:.30f}"[:32] + more
        ),
        st.floats(0.001953125, 1, exclude_max=True, width=32).map(np.float32),
        st.sampled_from(["", "0", "1", "00000001"]),
    ),
)
not_finite = ["nan", "inf", "-Infinity", "1e39", "3.4028236e38", "-1e999"]
extreme = ["3.4028235e38", "1.4e-45", "7e-46", "1e-400", "1e-99999999999999999999"]
malformed = [
    "",
    "+",
    *("-", ".", "e5", "1e", "1e+", "0x10", "+-1", "1.2.3", "1,5", "1_0", "é", "\0", "1\0"),
]
odd = st.sampled_from(not_finite + extreme + malformed)
number = st.one_of(plain, plain, plain, plain, plain, plain, odd)
index = st.one_of(
    st.integers(1, 30).map(str),
    st.sampled_from(
        ["+1", "007", "0", "-3", "2147483646", "2147483647", "4294967297", "9223372036854775809"]
    ),
    st.sampled_from(["1.5", "", "a", "1" * 20, "00000000000000000005"]),
)
feature = st.builds("{}:{}".format, index, number)
keyed = st.one_of(
    st.builds("qid:{}".format, st.integers(-(2**63), 2**63 - 1)),
    st.sampled_from(
        [
            "qid:72048431380967004",
            "qid:9223372036854775808",
            "qid:-9223372036854775809",
            "qid:",
            "qid:a",
        ]
    ),
    st.sampled_from(
        ["sid:1", "sid:0", "sid:-4", "cost:2.5", "cost:-1", "cost:nan", "qid", "cost:1\0", "quid:3"]
    ),
)
label = st.one_of(st.sampled_from(["1", "-1", "+1", "0", "2.5"]), number)


@st.composite
def good_line(draw):
    """A line that is refused for its numbers at most."""
    indices = sorted(draw(st.sets(st.integers(1, 200000), max_size=25)))
    tokens = [draw(st.sampled_from(["1", "-1", "0", "+1", "3"]))]
    if draw(st.booleans()):
        tokens.append(f"qid:{draw(st.integers(0, 2**62))}")
    tokens += [f"{i}:{draw(plain)}" for i in indices]
    blank = draw(st.sampled_from(BLANKS)) if draw(st.integers(0, 5)) == 0 else " "
    return blank.join(tokens) + draw(st.sampled_from(["", "", "", " ", "\r", " # text 1:2", "#"]))


@st.composite
def any_line(draw):
    tokens = draw(st.lists(st.one_of(feature, feature, keyed, number), max_size=6))
    tokens.insert(0, draw(label))
    line = draw(st.sampled_from(["", "", " "]))
    for token in tokens:
        line += token + draw(st.sampled_from(BLANKS))
    return line + draw(st.sampled_from(["", "", "# c", "#\0", "\r"]))


line = st.one_of(
    good_line(),
    good_line(),
    any_line(),
    st.sampled_from(["", " ", "# comment", "  # more", "\t\r"]),
)
texts = st.builds(
    lambda mark, lines, end: (mark + "\n".join(lines) + end).encode(),
    st.sampled_from(["", "", "", "\ufeff"]),
    st.lists(line, max_size=8),
    st.sampled_from(["\n", "\n", "", "\n\n"]),
)


def fast(text: bytes, blocks=None, **options):
    """What the scanner says: a tuple of bytes, or the place of a refusal."""
    scanner = Scanner("t", **options)
    try:
        rest = b""
        for block in blocks or ():
            rest += block
            rest = rest[scanner.feed(rest) :]
        assert scanner.feed(rest if blocks else text, last=True) == len(rest if blocks else text)
    except DataError as error:
        assert error.message.isprintable()
        return error.line, error.column
    rows = scanner.take()
    lines = [Source("t", rows["skips"]).line_of(i) for i in range(len(rows["y"]))]
    arrays = [rows[name] for name in ("y", "indptr", "indices", "values", "qid", "cost")]
    return (*(None if a is None else a.tobytes() for a in arrays), rows["n_features"], lines)


def truth(text: bytes):
    try:
        rows = slow.scan(text)
    except slow.Refused as refused:
        return refused.place
    columns = []
    for column, absent, dtype in ((rows.qid, 0, np.int64), (rows.cost, 1.0, np.float64)):
        filled = [absent if entry is None else entry for entry in column]
        columns.append(
            None if all(entry is None for entry in column) else np.array(filled, dtype).tobytes()
        )
    return (
        np.array(rows.y, np.float64).tobytes(),
        np.array(rows.indptr, np.int64).tobytes(),
        np.array(rows.indices, np.int32).tobytes(),
        np.array(rows.values, np.float32).tobytes(),
        *columns,
        max(rows.indices, default=-1) + 1,
        rows.lines,
    )


def agree(text: bytes):
    expected = truth(text)
    assert fast(text) == expected
    assert fast(text, force_portable=True) == expected
    assert fast(text, piece_bytes=7, threads=2) == expected


@many(30)
@given(texts)
def test_equals_the_slow_scanner(text):
    agree(text)


@many(30)
@given(texts, st.data())
@example(b"1 1:1\n" * 30, None)
def test_damaged_text_is_refused_at_the_same_place(text, data):
    damaged = bytearray(text)
    if data is not None and damaged:
        for _ in range(data.draw(st.integers(1, 3))):
            at = data.draw(st.integers(0, max(0, len(damaged) - 1)))
            damaged[at : at + data.draw(st.integers(0, 2))] = data.draw(
                st.sampled_from(
                    [
                        b"",
                        b":",
                        b" ",
                        b"\n",
                        b"-",
                        b"9",
                        b".",
                        b"#",
                        b"\0",
                        b"e",
                        b"\x01",
                        b"\xff",
                        b"q",
                        b"\r",
                    ]
                )
            )
    agree(bytes(damaged))


@many(10)
@given(st.lists(st.one_of(good_line(), any_line()), min_size=2, max_size=5))
def test_block_boundaries_do_not_show(lines):
    text = "\n".join(lines).encode()
    expected = fast(text)
    for at in range(len(text) + 1):
        assert fast(text, [text[:at], text[at:]]) == expected


@many(60)
@given(texts, st.integers(1, 200))
def test_threads_and_pieces_do_not_show(text, piece_bytes):
    text = text * 3
    expected = fast(text)
    for threads in (1, 2, 3, 8):
        assert fast(text, threads=threads, piece_bytes=piece_bytes) == expected


@pytest.mark.parametrize("decimals", [1, 5, 9, 14, 17])
def test_round_trip_of_many_rows(rng, decimals):
    n, d, per_row = 400, 5000, 40
    values = rng.normal(size=(n, per_row)) * 10.0 ** rng.integers(-8, 8, size=(n, 1))
    columns = np.sort([rng.choice(d, per_row, replace=False) for _ in range(n)], axis=1)
    text = "\n".join(
        "1 " + " ".join(f"{j + 1}:{x:.{decimals}g}" for j, x in zip(columns[i], values[i]))
        for i in range(n)
    ).encode()
    expected = np.array([float(f"{x:.{decimals}g}") for x in values.ravel()], np.float32)
    for options in ({}, {"force_portable": True}, {"threads": 3, "piece_bytes": 1000}):
        scanner = Scanner("t", **options)
        scanner.feed(text, last=True)
        rows = scanner.take()
        np.testing.assert_array_equal(rows["values"], expected)
        np.testing.assert_array_equal(rows["indices"], columns.ravel())
        np.testing.assert_array_equal(rows["indptr"], np.arange(n + 1) * per_row)
