# SPDX-License-Identifier: BSD-3-Clause
"""CRFsuite's text: what is read, what is refused and where; names in model files."""

import gzip
import re

import numpy as np
import pytest
from programs import uncertified

from svmcut.base.errors import DataError, MemoryLimitError, ModelError
from svmcut.base.records import replace
from svmcut.data.examples import Csr, Names
from svmcut.formats import read_model, write_model
from svmcut.models import ChainModel, ChainShape, KernelChainModel
from svmcut.models.kernels import Kernel
from svmcut.tables.crfsuite import read_crfsuite, stream_crfsuite

TEXT = b"""\
VERB\tw=go\tlen:2\tup\\:2:-1.5e0

DET\tw=the\tbias\tbias:0.5\t
NOUN\ta\\\\b c\tw=the\r


DET
"""


@pytest.fixture
def file(tmp_path):
    def write(text, name="file"):
        (tmp_path / name).write_bytes(text)
        return str(tmp_path / name)

    return write


def check(found):
    assert found.names == Names(
        ("DET", "NOUN", "VERB"), ("w=go", "len", "up:2", "w=the", "bias", "a\\b c")
    )
    np.testing.assert_array_equal(found.tags, [2, 0, 1, 0])
    np.testing.assert_array_equal(found.indptr, [0, 1, 3, 4])
    expected = [[1, 2, -1.5, 0, 0, 0], [0, 0, 0, 1, 1.5, 0], [0, 0, 0, 1, 0, 1], [0] * 6]
    np.testing.assert_array_equal(found.X.to_dense(), expected)
    np.testing.assert_array_equal(found.source.lines_of(np.arange(4)), [1, 3, 4, 7])
    replace(found.X, proven=False).validate()


@pytest.mark.parametrize(
    "text",
    [TEXT, TEXT[:-1], b"\xef\xbb\xbf" + TEXT, gzip.compress(TEXT)],
    ids=["plain", "no last newline", "with a mark", "gzip"],
)
def test_tags_and_attributes_by_name(file, text):
    check(read_crfsuite(file(text)))


def test_a_file_that_ends_within_a_block_is_what_it_is_in_one(file, monkeypatch):
    for size in (1, 7, 64):
        monkeypatch.setattr("svmcut.tables.crfsuite._BLOCK_BYTES", size)
        check(read_crfsuite(file(TEXT)))


def test_names_of_another_file_leave_out_what_they_do_not_know(file, monkeypatch):
    names = Names(("NOUN", "DET"), ("w=the", "len"))
    whole = read_crfsuite(file(TEXT), names=names)
    np.testing.assert_array_equal(whole.tags, [-2, 1, 0, 1])
    np.testing.assert_array_equal(whole.X.to_dense(), [[0, 2], [1, 0], [1, 0], [0, 0]])
    monkeypatch.setattr("svmcut.tables.crfsuite._BLOCK_BYTES", 16)
    parts = list(stream_crfsuite(file(TEXT), names))
    assert len(parts) == 3
    np.testing.assert_array_equal(np.concatenate([part.tags for part in parts]), whole.tags)
    np.testing.assert_array_equal(
        np.vstack([part.X.to_dense() for part in parts]), whole.X.to_dense()
    )
    assert [part.source.line_of(0) for part in parts] == [1, 3, 7]
    unlabelled = list(stream_crfsuite(file(b"\tlen\n:x\\y\tw=the\n"), names, unlabelled=True))
    np.testing.assert_array_equal(unlabelled[0].tags, [-1, -1])
    np.testing.assert_array_equal(unlabelled[0].X.to_dense(), [[0, 1], [1, 0]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            b"A\tx\nB\tw=a:b\n",
            ":2:3: 'b' is no number that a float of 32 bits holds; expected NAME or NAME",
        ),
        (b"A\tx\ty:nan\n", ":1:5: 'nan' is no number"),
        (b"A\ty:1e39\n", ":1:3: '1e39' is no number"),
        (b"A\ty:1_0\n", ":1:3: '1_0' is no number"),
        (b"A\ty:\n", ":1:3: '' is no number"),
        (b"A\ty:3e38\ty:3e38\n", "beyond a float of 32 bits"),
        (b"A\t:3\n", ":1:3: the attribute has no name"),
        (b"A\ta\\nb\n", r":1:3: a backslash stands before neither"),
        (b"A\ta\\\n", r":1:3: a backslash stands before neither"),
        (b"A\\b\ta\n", r":1:1: a backslash stands before neither"),
        (b"\n\tx\ty\n", ":2:1: the line has no tag; expected TAG, a tab"),
        (b"\n\n \n", "no examples"),
        (b"", "no examples"),
        (gzip.compress(TEXT, mtime=0)[:-9], "gzip|cut|end"),
    ],
)
def test_what_is_refused_is_named_with_its_place(file, text, message):
    with pytest.raises(DataError, match=message):
        read_crfsuite(file(text))
    with pytest.raises(DataError, match=message):
        list(stream_crfsuite(file(text), Names(("A",), ("x", "y"))))


def test_a_limit_of_memory_is_kept(file):
    with pytest.raises(MemoryLimitError, match=r"the examples take .* MB, and the limit is"):
        read_crfsuite(file(TEXT * 100), max_memory=0.001)


def models():
    shape = ChainShape(2, 3)
    names = Names(("A b", "B"), ("x", "", "\tü:\\ #@ tag 1 \r"))
    support = Csr.from_dense(np.eye(2, 3)).validate()
    kernel = KernelChainModel(
        Kernel("rbf"), support, np.eye(2), np.eye(1, shape.transitions)[0], shape, names=names
    )
    return [ChainModel(np.eye(1, shape.dim)[0], shape, names=names), kernel]


@pytest.mark.parametrize("model", models(), ids=lambda model: type(model).__name__)
def test_names_stand_behind_the_last_line_of_a_model(tmp_path, model):
    path = str(tmp_path / "model")
    write_model(path, model)
    assert read_model(path).names == model.names
    text = uncertified(path)
    head = text[: text.index(b"#@ ")]
    assert text == head + b"#@ tag 1 A b\n#@ tag 2 B\n#@ attribute 1 x\n#@ attribute 2 \n" + (
        "#@ attribute 3 \tü:\\ #@ tag 1 \r\n".encode()
    )
    lines = text[len(head) :].split(b"\n")
    first = head.count(b"\n") + 1
    for damaged, message in (
        (lines[:-2], "does not end in a newline|cut short"),
        ([*lines[:3], b""], f":{first + 3}: the file names 1 of 3 attributes; it was cut short"),
        (
            [lines[1], lines[0], *lines[2:]],
            f":{first}:1: line '#@ tag 2 B' is refused; expected '#@ tag 1 NAME'",
        ),
        ([lines[0], b"#@ tag 2 A b", *lines[2:]], "tag 'A b' stands twice"),
        (
            [*lines[:-1], b"#@ attribute 4 y", b""],
            f":{first + 5}:1: line .* is refused; expected nothing behind",
        ),
        ([b"#@ labels 1 2", *lines], "is refused"),
    ):
        (tmp_path / "damaged").write_bytes(head + b"\n".join(damaged))
        with pytest.raises(ModelError, match=message):
            read_model(str(tmp_path / "damaged"))


def test_a_name_with_a_newline_is_refused(tmp_path):
    shape = ChainShape(1, 1)
    model = ChainModel(np.ones(shape.dim), shape, names=Names(("A",), ("a\nb",)))
    with pytest.raises(ModelError, match=r"attribute 'a\\nb' has a newline"):
        write_model(str(tmp_path / "model"), model)
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    "text, told",
    [
        (
            "The DT B-NP\ndog NN I-NP\n\n",
            "no line has a tab; it looks like columns between blanks, as of CoNLL's files; use "
            "input='conll' for these",
        ),
        (
            "1 qid:1 1:1 2:0.5\n2 qid:1 3:1\n",
            "no line has a tab; it looks like svm text, LABEL INDEX:VALUE ...; leave out "
            "parameter 'input'",
        ),
        ("1 1:1\n-1 2:1 # x\n", "no line has a tab; it looks like svm text"),
    ],
)
def test_a_text_of_words_without_tabs_is_none_of_crfsuite(tmp_path, text, told):
    path = tmp_path / "train"
    path.write_text(text)
    with pytest.raises(DataError, match="^" + re.escape(f"{path}: {told}")):
        read_crfsuite(str(path))
    with pytest.raises(DataError, match=re.escape(told)):
        list(stream_crfsuite(str(path), Names(("A", "B"), ("x",))))
    path.write_text(text + "\nA\tx\n")  # tokens may have no attributes
    assert len(read_crfsuite(str(path)).tags) > 1
