# SPDX-License-Identifier: BSD-3-Clause
"""Words of texts are those of scikit-learn's CountVectorizer and HashingVectorizer."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from svmcut._native.words import CellFault, Words, numbers, rows

from svmcut.tables.cells import Texts

#: Capitals of one and two letters, a sigma that hangs on its place, marks, digits, other scripts.
SIGNS = [*"abcXYZé ßΣσİ日本 _1٣.,-ÀÇ\u0301Ωﬁ", " ", "\n", "𐐀", "\u2028"]


def texts(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(SIGNS, rng.integers(0, 60))) for _ in range(n)]


def cells(found):
    return Texts.from_list([text if isinstance(text, bytes) else text.encode() for text in found])


def counted(words, found, low, high):
    ends, ids, counts = words.count(*cells(found)[:2], low, high, True)
    return {
        "ends": np.concatenate([[0], ends]),
        "ids": ids,
        "counts": counts,
        "kind": 2,
        "first": 0,
        "width": len(words.texts()),
    }


@pytest.mark.parametrize("lengths", [(1, 1), (1, 2), (2, 3)])
def test_words_are_those_of_the_count_vectorizer(lengths):
    found, words = texts(), Words()
    column = counted(words, found, *lengths)
    theirs = CountVectorizer(ngram_range=lengths)
    X = theirs.fit_transform(found)
    X.sort_indices()
    names = [word.decode() for word in words.texts()]
    order = {name: k for k, name in enumerate(theirs.get_feature_names_out())}
    assert names != sorted(names) and len(names) == len(order) > 100
    places = np.array([order[name] for name in names], np.int32)
    indptr, indices, data = rows(
        [column | {"places": places, "n_places": len(places)}], 0, len(found)
    )
    assert indptr.tolist() == X.indptr.tolist() and indices.tolist() == X.indices.tolist()
    assert data.tolist() == X.data.tolist()


@pytest.mark.parametrize("lengths", [(1, 1), (1, 2)])
def test_hashed_words_are_those_of_the_hashing_vectorizer(lengths):
    found = texts()
    column = counted(Words(6), found, *lengths) | {"n_places": 64, "width": 64, "normed": 1}
    X = HashingVectorizer(ngram_range=lengths, n_features=64).transform(found)
    X.eliminate_zeros()
    X.sort_indices()
    indptr, indices, data = rows([column], 0, len(found))
    assert indptr.tolist() == X.indptr.tolist() and indices.tolist() == X.indices.tolist()
    np.testing.assert_allclose(data, X.data, rtol=1e-6)


def test_a_text_that_is_no_utf8_is_named():
    for bad in (
        b"\xff",
        b"caf\xe9",
        b"\xc0\x80",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\xe6\x97",
    ):
        with pytest.raises(CellFault) as found:
            Words().count(*cells(["fine", bad])[:2], 1, 1, True)
        assert (found.value.kind, found.value.cell) == ("encoding", 1)
        with pytest.raises(CellFault):
            Words().cells(*cells(["fine", bad]), True)


def test_offsets_that_fall_or_leave_the_text_are_no_cells():
    """Whatever the offsets, a cell is read within the text or refused, and the first such is
    named."""
    rng, text = np.random.default_rng(4), np.frombuffer(b"one two three 4 5.5 six", np.uint8)
    edge, refused = [-(2**63), -1, 0, 1, 22, 23, 24, 2**31, 2**63 - 1], 0
    for _ in range(300):
        offsets = np.sort(rng.integers(0, len(text) + 1, 9))
        offsets[rng.integers(0, 9, 2)] = rng.choice(edge, 2)
        wrong = (offsets[:-1] < 0) | (np.diff(offsets) < 0) | (offsets[1:] > len(text))
        wrong |= offsets[1:] < offsets[:-1]
        for read in (
            lambda cells: Words().count(*cells, 1, 2, True),
            lambda cells: Words(4).count(*cells, 1, 2, True),
            lambda cells: Words().cells(*cells, None, True),
            lambda cells: numbers(*cells),
        ):
            try:
                read((text, offsets))
            except CellFault as fault:
                refused += fault.kind == "offsets"
                if fault.kind == "offsets":
                    assert wrong[fault.cell] and not wrong[: fault.cell].any()
            else:
                assert not wrong.any()
    assert refused > 300
    for read in (
        lambda: numbers(text, np.zeros(0, np.int64)),
        lambda: numbers(text, np.zeros(3, np.int64), np.zeros(1, np.uint8)),
        lambda: Words().cells(text, np.zeros(3, np.int64), np.zeros(3, np.uint8), True),
        lambda: Words().count(text, np.zeros(3, np.int64), 0, 1, True),
        lambda: Words(31),
    ):
        with pytest.raises(ValueError):
            read()


@pytest.mark.parametrize(
    "change",
    [
        {"ends": np.array([0, 2, 9])},
        {"ends": np.array([0, 2, -1])},
        {"ends": np.array([3, 2, 3])},
        {"ends": np.array([0, 2])},
        {"ids": np.zeros(2, np.int32)},
        {"counts": np.zeros(2, np.float32)},
        {"weights": np.ones(1)},
        {"places": np.zeros(1, np.int32)},
        {"ids": None},
        {"kind": 0, "values": np.zeros(1)},
        {"kind": 1, "ids": np.zeros(1, np.int32)},
    ],
)
def test_rows_that_a_column_does_not_have_are_refused(change):
    column = {
        "kind": 2,
        "first": 0,
        "width": 2,
        "ends": np.array([0, 2, 3]),
        "ids": np.array([0, 1, 1], np.int32),
        "counts": np.ones(3, np.float32),
        "n_places": 2,
        "weights": np.ones(2),
    }
    assert rows([column], 0, 2)[1].tolist() == [0, 1, 1]
    # a place beyond the features of the column is none
    assert rows([column | {"width": 1, "weights": np.ones(1)}], 0, 2)[1].tolist() == [0]
    for begin, end in ((0, 3), (-1, 1)):
        with pytest.raises(ValueError, match="that a column does not have"):
            rows([column], begin, end)
    with pytest.raises(ValueError):
        rows([column | change], 0, 2)


def test_cells_are_numbered_as_they_come_without_blanks():
    words = Words()
    assert words.cells(*cells([" b", "a", "", "b "]), True).tolist() == [0, 1, -1, 0]
    assert words.cells(*cells(["a", "c"]), False).tolist() == [1, -2]
    many = [str(k) for k in range(5000)]
    assert Words().cells(*cells(many * 2), True).tolist() == [*range(5000)] * 2
    assert words.texts() == [b"b", b"a"]


def test_numbers_are_read_as_they_stand():
    found = numbers(*cells(["1", "-2.5e3", " 7\t", "0.1", "+.5", "NA", "", "nan", "None", "?"])[:2])
    assert found[:5].tolist() == [1, -2500, 7, 0.1, 0.5] and np.isnan(found[5:]).all()
    assert numbers(*cells(["-0", "0", "0.25"])[:2]).tolist() == [0, 0, 0.25]
    for text, kind in [("00123", "text"), ("1_0", "text"), ("inf", "text"), ("1e400", "overflow")]:
        with pytest.raises(CellFault) as fault:
            numbers(*cells(["1", text])[:2])
        assert (fault.value.kind, fault.value.cell) == (kind, 1)
