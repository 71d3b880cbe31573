# SPDX-License-Identifier: BSD-3-Clause
"""Tables become the features that scikit-learn makes of them, fitted to training rows alone."""

import gzip

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from svmcut.base.errors import DataError, NoExamples, UsageError
from svmcut.files.names import input_by_ending
from svmcut.spec.entries import NUMBERS, SETS
from svmcut.tables.encoded import TestTable, read_encoded
from svmcut.tables.options import TableOptions

MAIL = """label,text,size,from
spam,"Free money, free",10,bob
ham,"Meeting at ten
tomorrow",12,eve
spam,free free offer,NA,bob
ham,hello Bob,3,
ham,,5,eve
"""


BEHIND = ["hello Bob", None]


@pytest.fixture
def mail(tmp_path):
    return written(tmp_path / "mail.csv", MAIL)


def written(path, text):
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


def read(path, input=None, kind="classes", **options):
    options = TableOptions(**({"label": "label", "text": ("text",)} | options))
    return read_encoded(path, input or input_by_ending(path), options, kind)


def test_a_table_becomes_what_scikit_learn_makes_of_it(mail):
    found = read(mail)
    X, names = found.X.to_dense(), found.table.encoding.features()
    texts = ["Free money, free", "Meeting at ten\ntomorrow", "free free offer", "hello Bob", ""]
    theirs = TfidfVectorizer().fit(texts)
    words = [f"text:{word}" for word in theirs.get_feature_names_out()]
    own = ["size", "size (missing)", "from=bob", "from=eve", "from=(missing)"]
    assert names == [*words, *own]
    np.testing.assert_allclose(X[:, : len(words)], theirs.transform(texts).toarray(), rtol=1e-6)
    size = np.array([10, 12, 7.5, 3, 5.0])
    known = StandardScaler().fit(size[[0, 1, 3, 4], None])
    np.testing.assert_allclose(X[:, -5], known.transform(size[:, None])[:, 0], rtol=1e-6)
    assert X[:, -4].tolist() == [0, 0, 1, 0, 0]
    people = np.array([["bob", "eve", "bob", "~", "eve"]]).T
    assert X[:, -3:].tolist() == OneHotEncoder().fit_transform(people).toarray().tolist()
    assert found.y.tolist() == [2, 1, 2, 1, 1]
    assert found.table.encoding.words == ("ham", "spam")


@pytest.mark.parametrize("smooth", [True, False])
@pytest.mark.parametrize("sublinear", [True, False])
def test_weights_of_words_are_those_of_the_tfidf_vectorizer(tmp_path, smooth, sublinear):
    rng = np.random.default_rng(1)
    texts = [" ".join(f"w{k}" for k in rng.zipf(1.5, 20) % 50) for _ in range(60)]
    text = "".join(f"{k % 2}\t{line}\n" for k, line in enumerate(texts))
    options = {"smooth": smooth, "sublinear": sublinear, "min_count": 3, "ngrams": (1, 2)}
    found = read(written(tmp_path / "lines", text), "text", **options)
    theirs = TfidfVectorizer(
        smooth_idf=smooth, sublinear_tf=sublinear, min_df=3, ngram_range=(1, 2)
    )
    expected = theirs.fit_transform(texts).toarray()
    assert found.table.encoding.features() == [*theirs.get_feature_names_out()]
    np.testing.assert_allclose(found.X.to_dense(), expected, rtol=3e-7)


def test_what_is_fitted_to_some_rows_serves_the_others(mail):
    table = read(mail).table
    train, held = np.array([0, 1, 3]), np.array([2, 4])
    own, X, other = table.split(train, held)
    texts = ["Free money, free", "Meeting at ten\ntomorrow", "hello Bob"]
    theirs = TfidfVectorizer().fit(texts)
    words = len(theirs.get_feature_names_out())
    np.testing.assert_allclose(
        X.to_dense()[:, :words], theirs.transform(texts).toarray(), rtol=1e-6
    )
    rest = theirs.transform(["free free offer", ""]).toarray()
    np.testing.assert_allclose(other.to_dense()[:, :words], rest, rtol=1e-6)
    assert "text:offer" not in own.encoding.features()
    # no row of these misses a size: what is missing is the mean then
    assert own.encoding.features()[words:] == ["size", "from=bob", "from=eve", "from=(missing)"]
    assert other.to_dense()[:, words:].tolist()[0] == [0, 1, 0, 0]


def test_every_format_gives_the_same_examples(tmp_path, mail):
    expected = read(mail)
    rows = pa.table(
        {
            "label": ["spam", "ham", "spam", "ham", "ham"],
            "text": ["Free money, free", "Meeting at ten\ntomorrow", "free free offer", *BEHIND],
            "size": [10, 12, None, 3, 5],
            "from": ["bob", "eve", "bob", None, "eve"],
        }
    )
    parquet.write_table(rows, tmp_path / "mail.parquet")
    feather.write_feather(rows, tmp_path / "mail.feather")
    with pa.ipc.new_stream(str(tmp_path / "mail.arrow"), rows.schema) as stream:
        stream.write_table(rows)
    import json

    lines = "".join(json.dumps(row) + "\n" for row in rows.to_pylist())
    written(tmp_path / "mail.jsonl", lines)
    written(tmp_path / "mail.tsv", '"label"\ttext\tsize\tfrom\n' + _tabbed(rows))
    written(tmp_path / "mail.csv.gz", gzip.compress(b"\xef\xbb\xbf" + MAIL.encode()))
    written(tmp_path / "mail.jsonl.gz", gzip.compress(lines.encode()))
    written(tmp_path / "crlf.csv", MAIL.replace("\n", "\r\n").replace("ten\r\n", "ten\n"))
    written(tmp_path / "semicolons.csv", MAIL.replace(",", ";").replace("money;", "money,"))
    found = sorted(path for path in tmp_path.iterdir() if path.name != "mail.csv")
    assert len(found) == 9
    for path in found:
        examples = read(str(path))
        assert examples.X.to_dense().tolist() == expected.X.to_dense().tolist(), path
        assert examples.y.tolist() == expected.y.tolist()


def _tabbed(rows):
    cells = ([row[name] for name in rows.column_names] for row in rows.to_pylist())
    return "".join(
        "\t".join("" if cell is None else f'"{cell}"' for cell in row) + "\n" for row in cells
    )


def test_a_test_table_is_read_as_the_training_table_was(tmp_path, mail):
    encoding = read(mail).table.encoding
    text = "size,more,text,from\n10,1,free money and gold,eva\n,2,hello,bob\n"
    table = TestTable(encoding, "csv")
    (block,) = table.stream(written(tmp_path / "test.csv", text), "classes")
    names, X = encoding.features(), block.X.to_dense()
    assert block.X.n_features == len(names)
    assert {names[k] for k in np.flatnonzero(X[0])} == {"text:free", "text:money", "size"}
    assert {names[k] for k in np.flatnonzero(X[1])} == {"text:hello", "size (missing)", "from=bob"}
    assert not table.labelled and "columns more" in table.warnings[0]
    path = written(tmp_path / "short.csv", "label,text,from\nspam,a b,bob\n")
    with pytest.raises(DataError, match="no column 'size', which the model was trained on"):
        [*TestTable(encoding, "csv").stream(path, "classes")]
    path = written(tmp_path / "word.csv", "text,size,from,label\na,many,bob,egg\n")
    with pytest.raises(DataError, match="row 1, column 'size': 'many' is no number, which the"):
        [*TestTable(encoding, "csv").stream(path, "classes")]
    path = written(tmp_path / "label.csv", "text,size,from,label\na,1,bob,egg\nb,1,eve,spam\n")
    (block,) = TestTable(encoding, "csv").stream(path, "classes")
    assert block.y.tolist() == [3, 2]  # a name that the model has not comes behind its own


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b\n1,2\n1,2,3\n", {}, "row 2 has 3 columns; expected 2, as in the header"),
        ("1,2\n1,2,3\n", {"label": "1"}, "row 2 has 3 columns; expected 2, as in row 1"),
        ("a,b,a\n1,2,3\n", {}, "the columns 1 and 3 are all named 'a'; rename all but one"),
        (b"a,b\n1,caf\xe9\n", {"text": "b"}, "row 1, column 'b': 'caf.xe9' is no UTF-8"),
        (b"a,b\nx\xff,1\n", {}, "row 1, column 'a': 'x.xff' is no UTF-8"),
        ("a,b\n1,1e400\n", {}, "row 1, column 'b': '1e400' is no finite number"),
        ("a,b\n1,3\n,3\n", {}, "row 2, column 'a': has no label"),
        ('a,b\n1,"2\n2,3\n', {}, "row 1: a quote stands open up to the end of the file"),
        ("a,b\n1,2020-01-01\n2,2020-02-01\n", {}, "column 'b' holds dates; make numbers"),
        ("a,b\n1,\n2,\n", {}, "all columns are empty"),
        ("a,b\n1,.\n2,x\n", {"text": "b"}, "column 'b' has no words"),
        (
            "a,b\n1,1e39\n2,1\n",
            {"standardise": False},
            "row 1, column 'b': the number does not fit",
        ),
        (
            MAIL,
            {"label": "label"},
            "column 'text' holds 4 different texts in 5 rows, such as 'Free",
        ),
        (
            "a,b,c\n1,2,x\n1,3,y\n1,2,x\n",
            {"group": "c"},
            "row 3, column 'c': the group 'x' returns",
        ),
        ("a,b,c\n1,2,-1\n", {"weight_column": "c"}, "row 1, column 'c': no weight; expected"),
        ("a,b\n1,2\nx,2\n", {"kind": NUMBERS}, "row 2, column 'a': 'x' is no number"),
        (b"\xff\xfea\0,\0", {}, "is UTF-16; save the file as UTF-8"),
    ],
)
def test_what_a_table_must_not_hold(tmp_path, text, options, message):
    path = written(tmp_path / "bad.csv", text)
    with pytest.raises(DataError, match=message) as found:
        read(path, **{"label": "a", "text": ()} | options)
    assert "\n" not in str(found.value)


def test_what_names_no_column(tmp_path, mail):
    for options, message in [
        ({"label": None}, "has the columns label, text, size and from; name the label as in"),
        ({"label": "no"}, "names 'no', which is no column of"),
        ({"drop": ("size", "no")}, "names 'no', which is no column of"),
        ({"text": ("label",)}, "'label' has two uses"),
        ({"drop": ("text", "size", "from"), "text": ()}, "has no column to learn from"),
    ]:
        with pytest.raises(UsageError, match=message):
            read(mail, **options)
    for text in ("", "label,text\n", "\n\n"):
        with pytest.raises(NoExamples):
            read(written(tmp_path / "empty.csv", text))


def test_names_may_look_like_numbers(tmp_path):
    path = written(tmp_path / "a.csv", "a,b,c\n1,00123,7\n2,00124,8\n1,00123,8\n")
    names = read(path, label="a", text=(), categories=("c",)).table.encoding.features()
    assert names == ["b=00123", "b=00124", "c=7", "c=8"]
    # numbers first: what follows makes names of all, which takes another look at the file
    rows = "".join(f"{k % 2},{k % 9}\n" for k in range(400_000)) + "1,x\n"
    found = read(written(tmp_path / "late.csv", "a,b\n" + rows), label="a", text=())
    assert found.table.encoding.features() == ["b=0", *(f"b={k}" for k in range(1, 9)), "b=x"]


def test_booleans_labels_weights_groups_and_sets(tmp_path):
    path = written(tmp_path / "a.csv", "q,y,w,b\nx,1.5,2,True\nx,2,1,false\ny,-1,0.5,\n")
    found = read(path, kind=NUMBERS, label="y", text=(), group="q", weight_column="w")
    assert found.y.tolist() == [1.5, 2, -1] and found.table.encoding.words == ()
    assert found.qid.tolist() == [1, 1, 2] and found.weights.tolist() == [2, 1, 0.5]
    assert found.table.encoding.features() == ["b", "b (missing)"]
    assert found.X.to_dense().tolist() == [[1, 0], [0, 0], [0, 1]]
    path = written(tmp_path / "sets.csv", "y,x\nb|a,1\n,2\na,3\na|a|c,4\n")
    found = read(path, kind=SETS, label="y", text=())
    assert found.table.encoding.words == ("a", "b", "c") and found.names.tolist() == [1, 2, 3]
    assert found.indptr.tolist() == [0, 2, 2, 3, 5] and found.labels.tolist() == [0, 1, 0, 0, 2]
    parquet.write_table(
        pa.table({"y": [["b", "a"], None, ["a"], ["a", "c"]], "x": [1, 2, 3, 4]}),
        tmp_path / "sets.parquet",
    )
    again = read(str(tmp_path / "sets.parquet"), kind=SETS, label="y", text=())
    assert again.indptr.tolist() == found.indptr.tolist() and again.labels.tolist() == [
        0,
        1,
        0,
        0,
        2,
    ]


def test_labels_with_tabs_and_of_fasttext(tmp_path):
    text = "spam\tfree money\n\nham\thello\r\n__label__ham __label__x hi there\n"
    found = read(written(tmp_path / "a.txt", text), "text", kind=SETS)
    assert found.table.encoding.words == ("ham", "spam", "x")
    assert found.indptr.tolist() == [0, 1, 2, 4]
    assert found.table.encoding.features() == ["free", "hello", "hi", "money", "there"]
    with pytest.raises(DataError, match=r"bad.txt:2:1: no tab behind a label"):
        read(written(tmp_path / "bad.txt", "spam\tfree\nham hello\n"), "text")


def test_wide_tables_are_read(tmp_path):
    names = ",".join(f"c{k}" for k in range(1000))
    rows = "".join(",".join(str((i * k) % 7) for k in range(1000)) + "\n" for i in range(4))
    found = read(written(tmp_path / "wide.csv", f"{names}\n{rows}"), label="c1", text=())
    assert found.X.n_features == 999 and "and 996 others: number" in found.table.encoding.describe()
