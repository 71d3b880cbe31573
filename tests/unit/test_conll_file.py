# SPDX-License-Identifier: BSD-3-Clause
"""Files of tokens in columns."""

import numpy as np
import pytest

from svmcut.base.errors import DataError, MemoryLimitError
from svmcut.tables.conll import TestColumns, read_conll, read_template
from svmcut.tables.templates import Template

TEXT = """\
The D B-NP
dog\tN  I-NP

barks V O\r

# N O
"""
TEMPLATE = Template(["Uw=%x[0,0]", "Up=%x[-1,1]"])


@pytest.fixture
def file(tmp_path):
    def write(text, name="file"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return write


def names_in(found, names=None):
    """The features of every token by name."""
    names = (names or found.names).attributes
    dense = found.X.to_dense()
    return [{names[k] for k in np.flatnonzero(row)} for row in dense]


EXPECTED = [
    {"Uw=The", "Up=_B-1"},
    {"Uw=dog", "Up=D"},
    {"Uw=barks", "Up=_B-1"},
    {"Uw=#", "Up=_B-1"},
]


@pytest.mark.parametrize("size", [1 << 20, 7])
def test_columns_become_sequences_of_features(file, monkeypatch, size):
    monkeypatch.setattr("svmcut.tables.conll._BLOCK_BYTES", size)
    found = read_conll(file(TEXT), template=TEMPLATE)
    assert found.names.tags == ("B-NP", "I-NP", "O") and found.names.columns == 3
    assert found.tags.tolist() == [0, 1, 2, 2] and found.indptr.tolist() == [0, 2, 3, 4]
    assert names_in(found) == EXPECTED and (found.X.data == 1).all()
    assert [found.source.line_of(row) for row in range(4)] == [1, 2, 4, 6]


@pytest.mark.parametrize("size", [1 << 20, 5])
def test_test_files_have_the_features_and_tags_of_the_model(file, monkeypatch, size):
    names = read_conll(file(TEXT), template=TEMPLATE).names
    monkeypatch.setattr("svmcut.tables.conll._BLOCK_BYTES", size)
    reader = TestColumns(names)
    text = "The D X\nnew D I-NP\n\n\n\ndog V O"
    parts = list(reader.stream(file(text)))
    assert reader.labelled and len(parts) > 1
    assert [tag for part in parts for tag in part.tags.tolist()] == [-2, 1, 2]
    found = [row for part in parts for row in names_in(part, names)]
    assert found == [{"Uw=The", "Up=_B-1"}, {"Up=D"}, {"Uw=dog", "Up=_B-1"}]
    whole = read_conll(file(text), names=names)
    assert names_in(whole, names) == found
    bare = list(reader.stream(file("The D\nnew D\n\n\n\ndog V")))
    assert not reader.labelled
    assert [row for part in bare for row in names_in(part, names)] == found
    assert all((part.tags == -1).all() for part in bare)
    unlabelled = TestColumns(names, unlabelled=True)
    list(unlabelled.stream(file(text)))
    assert not unlabelled.labelled


def test_rare_features_and_those_of_two_lines(file):
    found = read_conll(file("a a O\nb a O\n"), template=Template(["U%x[0,0]", "U%x[0,1]"]))
    assert found.names.attributes == ("Ua", "Ub")
    assert found.X.to_dense().tolist() == [[2, 0], [1, 1]]
    rare = read_conll(file("a a O\nb a O\n"), template=Template(["U%x[0,0]", "U%x[0,1]"]), least=2)
    assert rare.names.attributes == ("Ua",) and rare.X.to_dense().tolist() == [[2], [1]]


def test_comments_of_conll_u_are_skipped_and_a_token_that_is_a_sign_is_none(file):
    text = "# sent_id = 1\n# text = The # dog\nThe\tD\tO\n#\tS\tO\n\n# a b\n#\tN\tO\n"
    found = read_conll(file(text), template=TEMPLATE)
    assert [row for row in names_in(found)][1:] == [
        {"Uw=#", "Up=D"},
        {"Uw=#", "Up=_B-1"},
    ]
    assert found.indptr.tolist() == [0, 2, 3]


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "no examples"),
        ("\n\n", "no examples"),
        ("a b O\nc O\n", "file:2: 2 columns, where line 1 has 3; expected as many in every line"),
        ("\na\nb\n", "file:2: the lines have one column; expected a word and, last, its tag"),
        ("a O\n", "column 1 is none of the 1 in front of the tag"),
    ],
)
def test_what_is_refused(file, text, message):
    with pytest.raises(DataError, match=message):
        read_conll(file(text), template=TEMPLATE)


def test_a_test_file_of_other_columns_is_refused(file):
    names = read_conll(file(TEXT), template=TEMPLATE).names
    with pytest.raises(DataError, match="file:1: 4 columns; the model was trained on 3"):
        list(TestColumns(names).stream(file("a b c O\n")))


def test_a_limit_of_memory_holds(file):
    with pytest.raises(MemoryLimitError, match="the limit is 1e-05 MB"):
        read_conll(file(TEXT), max_memory=1e-5)


def test_a_template_file_may_have_a_mark_and_must_have_a_feature(file):
    found = read_template(file(b"\xef\xbb\xbfU:%x[0,0]\r\n\r\nB\r\n"))
    assert found.texts == ("U:%x[0,0]", "", "B")
    with pytest.raises(DataError, match="no line begins with U"):
        read_template(file("# nothing\nB\n"))
