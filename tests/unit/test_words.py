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
    return Texts.of([text if isinstance(text, bytes) else text.encode() for text in found])


def counted(words, found, low, high):
    ends, ids, counts = words.count(*cells(found)[:2], low, high, True)
    return {
        "ends": np.concatenate([[0], ends]),
        "ids": ids,
        "counts": counts,
        "kind": 2,
        "first": 0,
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
    column = counted(Words(6), found, *lengths) | {"n_places": 64, "normed": 1}
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
