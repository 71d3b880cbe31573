# SPDX-License-Identifier: BSD-3-Clause
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from svmcut._native.text import (
    ExpansionFault,
    format_integers,
    format_pairs,
    format_scores,
    parse_expansion,
)

floats32 = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(st.lists(st.floats(), max_size=20))
@example(
    [0.0, -0.0, 5e-324, -1e-9, 1.7976931348623157e308, 0.5e-8, 1.5e-8, float("nan"), float("-inf")]
)
def test_scores_are_written_as_python_writes_them(scores):
    assert format_scores(np.array(scores, float)).decode() == "".join(f"{s:.8f}\n" for s in scores)


@given(st.lists(st.tuples(st.integers(0, 2**31 - 2), st.floats(width=32)), max_size=20))
@example([(0, -0.0), (2**31 - 2, 1.401298464324817e-45), (3, 3.4028234663852886e38), (4, 0.1)])
def test_pairs_are_written_as_python_writes_them(pairs):
    columns = np.array([c for c, _ in pairs], np.int32)
    values = np.array([v for _, v in pairs], np.float32)
    expected = "".join(f"{c + 1}:{v:.8g} " for c, v in zip(columns.tolist(), values.tolist()))
    assert format_pairs(columns, values).decode() == expected


@given(st.lists(floats32, max_size=20))
@example([0.1, 1 / 3, 16777217.0, 1.401298464324817e-45, 3.4028234663852886e38, 0.001, -0.0])
def test_exact_pairs_have_the_fewest_digits_that_read_back(values):
    values = np.array(values, np.float32)
    words = format_pairs(np.arange(len(values), dtype=np.int32), values, True).decode().split()
    for number, (word, value) in enumerate(zip(words, values.tolist(), strict=True), 1):
        short = f"{value:.8g}"
        assert word == f"{number}:{short if np.float32(short) == value else format(value, '.9g')}"
        assert np.float32(word.split(":")[1]).tobytes() == np.float32(value).tobytes()


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_integers_are_written_as_python_writes_them(values):
    assert format_integers(np.array(values, np.int64)).decode() == "".join(f"{v}\n" for v in values)


def test_many_scores_cross_the_pieces(rng):
    scores = rng.normal(size=10_000)
    assert format_scores(scores).decode() == "".join(f"{s:.8f}\n" for s in scores)


@given(st.floats(allow_nan=False, allow_infinity=False), st.lists(floats32, max_size=20))
def test_numbers_are_read_back(alpha, values):
    pairs = " ".join(f"{3 * i + 1}:{v!r}" for i, v in enumerate(values))
    found, indptr, columns, read = parse_expansion(
        f"{alpha!r} {pairs} # a comment: 3:4\n".encode(), 1, 100
    )
    assert found.tobytes() == np.array([alpha]).tobytes()
    assert indptr.tolist() == [0, len(values)]
    assert columns.tolist() == [3 * i for i in range(len(values))]
    assert read.tobytes() == np.array(values, np.float32).tobytes()


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**38), max_value=10**38))
def test_values_are_rounded_once(value):
    _, _, _, read = parse_expansion(f"1 1:{value}\n".encode(), 1, 1)
    ours = read[0]
    # The nearest float32: no neighbour is nearer to the decimal.
    exact, mine = Fraction(value), Fraction(float(ours))
    for neighbour in (
        np.nextafter(ours, np.float32(np.inf)),
        np.nextafter(ours, np.float32(-np.inf)),
    ):
        if np.isfinite(neighbour):
            assert abs(exact - mine) <= abs(exact - Fraction(float(neighbour)))


@pytest.mark.parametrize(
    "text", ["1e-400", "-1e-400", "0." + "0" * 400 + "1", "0e999", "0." + "0" * 500 + "1e300"]
)
def test_tiny_is_zero(text):
    _, _, _, read = parse_expansion(f"1 1:{text}\n".encode(), 1, 1)
    assert read[0] == 0


@pytest.mark.parametrize(
    "text, kind, where",
    [
        ("", "short", 0),
        ("1 1:2", "unended", 5),
        ("\n", "alpha", 0),
        ("# 1:2\n", "alpha", 0),
        ("1:2 2:3\n", "alpha", 0),
        ("nan 1:2\n", "alpha", 0),
        ("1e999 1:2\n", "alpha", 0),
        ("0x1 1:2\n", "alpha", 0),
        ("+-1 1:2\n", "alpha", 0),
        ("1 x\n", "pair", 2),
        ("1 1.5:2\n", "pair", 2),
        ("1 qid:x 1:2\n", "pair", 2),
        ("1 :2\n", "pair", 2),
        ("1 1: 2\n", "value", 4),
        ("1 0:2\n", "index", 2),
        ("1 -1:2\n", "pair", 2),
        ("1 11:2\n", "index", 2),
        ("1 99999999999999999999999:2\n", "index", 2),
        ("1 3:2 3:2\n", "order", 6),
        ("1 3:2 2:2\n", "order", 6),
        ("1 3:\n", "value", 4),
        ("1 3:2x\n", "value", 4),
        ("1 3:2:5\n", "value", 4),
        ("1 3:0x10\n", "value", 4),
        ("1 3:1e\n", "value", 4),
        ("1 3:inf\n", "value", 4),
        ("1 3:1e39\n", "value", 4),
        ("1 3:1\0\n", "value", 4),
        ("1 3:1\n1 3:1\n", "trailing", 6),
    ],
)
def test_faults_say_what_and_where(text, kind, where):
    with pytest.raises(ExpansionFault) as caught:
        parse_expansion(text.encode(), 1, 10)
    assert (caught.value.kind, caught.value.where) == (kind, where)


def test_counts_are_not_believed():
    with pytest.raises(ExpansionFault):
        parse_expansion(b"1 1:2\n", 2**40, 10)
