# SPDX-License-Identifier: BSD-3-Clause
"""From a table to a model and back to words: learn, classify, inspect, svmcut.train and load."""

import json

import numpy as np
import pyarrow as pa
import pytest
from programs import call
from pyarrow import csv
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import svmcut
from svmcut.base.errors import DataError, ModelError, UsageError
from svmcut.formats import read_model, write_model
from svmcut.tables.encoded import read_encoded
from svmcut.tables.options import TableOptions

WORDS = ["free", "money", "offer", "meeting", "hello", "ten", "bob", "café"]
OPTIONS = ["--label", "label", "--text", "text", "-v", "0"]


def mails(n=60, seed=0, words=("ham", "spam")):
    rng = np.random.default_rng(seed)
    lines = ["label,text,size,who"]
    for _ in range(n):
        k = int(rng.integers(len(words)))
        own = rng.choice(WORDS, 4, p=np.roll([0.3, 0.2, 0.2, 0.1, 0.05, 0.05, 0.05, 0.05], 3 * k))
        who = rng.choice(["eve", "bob"])
        lines.append(f"{words[k]},{' '.join(own)},{rng.normal(k):.3f},{who}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def mail(tmp_path):
    path = tmp_path / "mail.csv"
    path.write_text(mails(), encoding="utf-8")
    return path


def test_a_table_is_learnt_classified_and_inspected_by_name(mail, tmp_path, capsys):
    model, out, report = (tmp_path / name for name in ("model", "out", "report"))
    words = ["--label", "label", "--text", "text", "--report", report]
    assert call("svmcut learn", mail, model, *words) == 0
    assert (
        "Columns        text: 8 words; size: number; who: 2 categories" in capsys.readouterr().out
    )
    learnt = json.loads(report.read_text(encoding="utf-8"))
    assert learnt["options"]["text"] == ["text"] and learnt["labels"] == ["ham", "spam"]
    became = [(row["name"], row["became"], row["features"]) for row in learnt["columns"]]
    assert became[0] == ("text", "8 words", 8) and became[-1] == ("label", "label", 0)
    turned = tmp_path / "turned.csv"
    rows = [line.split(",") for line in mail.read_text(encoding="utf-8").splitlines()]
    turned.write_text("".join(",".join(row[::-1]) + "\n" for row in rows), encoding="utf-8")
    assert call("svmcut classify", turned, model, out, "--labels", "--report", report) == 0
    shown = capsys.readouterr().out
    assert "Positive class: spam" in shown and "true \\ predicted  ham  spam" in shown
    assert {*out.read_text().split()} == {"ham", "spam"}
    found = json.loads(report.read_text(encoding="utf-8"))
    assert found["labels"] == ["ham", "spam"] and found["accuracy"] > 80
    assert call("svmcut inspect", model, "--data", mail) == 0
    shown = capsys.readouterr().out
    assert "text:free" in shown and "who=eve" in shown and "Weights for spam" in shown


def test_the_objective_is_that_on_the_matrix_of_scikit_learn(mail):
    found = svmcut.train(str(mail), label="label", text=["text"], gap=1e-9, bias=0)
    rows = [line.split(",") for line in mail.read_text(encoding="utf-8").splitlines()[1:]]
    table = np.array(rows, object)
    parts = [("text", TfidfVectorizer(), 1), ("size", StandardScaler(), [2])]
    encoder = ColumnTransformer([*parts, ("who", OneHotEncoder(), [3])])
    X, y = encoder.fit_transform(table), np.where(table[:, 0] == "spam", 1, -1)
    theirs = svmcut.train((X, y), gap=1e-9, bias=0)
    assert found.primal == pytest.approx(theirs.primal, rel=1e-6)
    predicted = found.model.predict(read_encoded(str(mail), "csv", options()).X)
    assert (predicted == np.where(theirs.model.predict(_csr(X)) > 0, 2, 1)).all()


def options():
    return TableOptions(label="label", text=("text",))


def _csr(X):
    from svmcut.data.arrays import as_rows

    return as_rows(X)


def leaky(n=200):
    """Pairs of rows of one class that share a word, which nothing else tells."""
    rng = np.random.default_rng(5)
    order, lines = rng.permutation(n), [""] * n
    for pair in range(n // 2):
        for k in order[2 * pair : 2 * pair + 2]:
            lines[k] = f"{'yes' if pair % 2 else 'no'}\tcommon word{pair}\n"
    return "".join(lines)


def test_nothing_of_a_row_that_is_held_out_leaks_into_the_encoding(tmp_path):
    """A word of two rows is in the vocabulary of both with --min-count 2, and of neither where the
    rows are in different folds: all that is known of the second would be the first's label."""
    path = tmp_path / "leak.txt"
    path.write_text(leaky(), encoding="utf-8")
    how = {"input": "text", "min_count": 2}
    whole = read_encoded(str(path), "text", TableOptions(min_count=2))
    arrays = whole.X.to_scipy(), whole.y
    leaked = svmcut.cross_validate(arrays, 2, task="classification", select="accuracy")
    honest = svmcut.cross_validate(str(path), 2, select="accuracy", **how)
    assert leaked.cells[0]["mean"] > 65 and honest.cells[0]["mean"] < 56
    theirs = svmcut.train(arrays, probability=True, task="classification")
    ours = svmcut.train(str(path), probability=True, **how)
    assert theirs.details["log_loss"] < 0.6 and ours.details["log_loss"] > 0.68


def test_validation_is_read_as_a_test_set(mail, tmp_path, capsys):
    dev, model, report = tmp_path / "dev.csv", tmp_path / "model", tmp_path / "report"
    dev.write_text(mails(30, 1) + "spam,unheard words,,bill\n", encoding="utf-8")
    words = [*OPTIONS, "--validate", dev, "--report", report]
    assert call("svmcut learn", mail, model, *words) == 0
    row = json.loads(report.read_text(encoding="utf-8"))["path"][0]
    out = tmp_path / "out"
    assert call("svmcut classify", dev, model, out, "-v", "0", "--report", report) == 0
    assert json.loads(report.read_text())["accuracy"] == row["validation"]["accuracy"]
    assert call("svmcut learn", mail, model, *OPTIONS, "--cv", "3", "--example-cost", "1,2") == 0


def test_words_name_classes_on_the_command_line(mail, tmp_path, capsys):
    model = tmp_path / "model"
    assert call("svmcut learn", mail, model, *OPTIONS, "--positive", "ham") == 0
    assert read_model(str(model)).label_texts() == ["spam", "ham"]
    assert call("svmcut learn", mail, model, *OPTIONS, "--class-weight", "spam=2,ham=1") == 0
    doubled = read_model(str(model))
    assert call("svmcut learn", mail, model, *OPTIONS) == 0
    assert not np.array_equal(doubled.w, read_model(str(model)).w)
    assert call("svmcut learn", mail, model, *OPTIONS, "--positive", "egg") == 2
    assert "--positive names 'egg', but the labels" in capsys.readouterr().err


def test_a_table_without_a_label_proposes_one(mail, tmp_path, capsys):
    assert call("svmcut learn", mail, tmp_path / "model") == 2
    shown = capsys.readouterr().err
    assert "has the columns label, text, size and who; name the label as in --label label" in shown


@pytest.mark.parametrize("task", ["multiclass", "kernel", "regression", "rank", "multilabel"])
def test_every_task_learns_tables(tmp_path, capsys, task):
    rng = np.random.default_rng(1)
    colours, lines = ["red", "green", "blue"], ["y,q,x,z"]
    for k in range(45):
        colour, x = colours[k % 3], rng.normal()
        labels = {"regression": f"{x:.3f}", "rank": f"{k % 3}", "multilabel": f"{colour}|{k % 2}"}
        lines.append(f"{labels.get(task, colour)},{k // 5},{x:.3f},{colour}")
    path, model, out = (tmp_path / name for name in ("a.csv", "model", "out"))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    words = {
        "regression": ["--task", "regression", "--drop", "q"],
        "multilabel": ["--task", "multilabel", "--drop", "q", "--pairs", "none"],
        "kernel": ["-t", "2", "--drop", "q"],
        "multiclass": ["--drop", "q"],
        "rank": ["--group", "q", "-c", "1"],
    }[task]
    program = "svmcut rank" if task == "rank" else "svmcut learn"
    assert call(program, path, model, "--label", "y", "-v", "0", *words) == 0
    assert call("svmcut classify", path, model, out) == 0
    shown, predicted = capsys.readouterr().out, out.read_text().splitlines()
    assert len(predicted) == 45
    if task in ("multiclass", "kernel"):
        assert [line.split()[0] for line in predicted] == colours[:3] * 15
        assert "blue" in shown
    if task == "multilabel":
        assert {*predicted[0].split(",")} <= {"red", "green", "blue", "0", "1"}
    if task == "rank":
        assert "wapped" in shown
    loaded = svmcut.load(model).predict(pa.table({"x": [0.5, 1.0], "z": ["red", "green"]}))
    assert len(loaded) == 2
    if task in ("multiclass", "kernel"):
        assert loaded.tolist() == ["red", "green"]


def test_python_reads_tables_and_frames(mail, tmp_path):
    found = svmcut.train(str(mail), label="label", text=["text"])
    write_model(str(tmp_path / "model"), found.model)
    model = svmcut.load(tmp_path / "model")
    assert model.predict(mail).shape == (60,) and {*model.predict(mail)} == {"ham", "spam"}
    frame = pa.table({"who": ["eve", "zoe"], "text": ["free money", "a"], "size": [1.0, None]})
    assert model.predict(frame).shape == model.decision_function(frame).shape == (2,)
    again = svmcut.train(csv.read_csv(mail), label="label", text="text")
    assert again.primal == found.primal and np.array_equal(again.model.w, found.model.w)


class LikeFrame:
    """A table that compares cell by cell, as DataFrames do."""

    def __init__(self, table):
        self._table = table

    def __eq__(self, other):
        raise ValueError("the truth of a table is ambiguous")

    __hash__ = None

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def test_frames_are_not_compared(mail):
    frame, how = LikeFrame(csv.read_csv(mail)), {"label": "label", "text": "text"}
    found = svmcut.train(str(mail), **how)
    assert svmcut.train(frame, **how).primal == found.primal
    choice = svmcut.cross_validate(frame, folds=2, example_cost=[0.1, 1], **how)
    assert choice.cells == svmcut.cross_validate(mail, folds=2, example_cost=[0.1, 1], **how).cells
    for data in ((), [], (1,), 3, None):
        with pytest.raises(UsageError, match="neither a path nor"):
            svmcut.train(data)


def test_a_frame_is_held_out_of_a_choice_of_c(mail):
    rows, how = csv.read_csv(mail), {"label": "label", "text": "text", "probability": True}
    held = rows.slice(40)
    found = svmcut.certified_choice(LikeFrame(rows), (0.1, 1), 0.5, validate=LikeFrame(held), **how)
    weighed = svmcut.certified_choice(rows, (0.1, 1), 0.5, folds=2, weights=[2.0] * 60, **how)
    assert found.proof["proven"] and weighed.proof["proven"]
    assert found.outcome.model.has_probabilities


@pytest.mark.parametrize(
    ("words", "limit"),
    [
        ([], ["--max-iterations", "1"]),
        (["--probability"], ["--max-iterations", "1"]),
        (["--cv", "2", "--example-cost", "0.1,1"], ["--time-limit", "1e-9"]),
    ],
)
def test_training_on_a_table_is_resumed_and_on_another_table_not(mail, tmp_path, words, limit):
    whole, model, state = (tmp_path / name for name in ("whole", "model", "state"))
    told = [*OPTIONS, *words, "--solver", "cutting-plane", "--gap", "1e-6"]
    assert call("svmcut learn", mail, whole, *told) == 0
    kept = [*told, "--checkpoint", state]
    assert call("svmcut learn", mail, model, *kept, *limit) == 3
    other = tmp_path / "other.csv"
    other.write_text(mail.read_text(encoding="utf-8").replace("eve", "zoe"), encoding="utf-8")
    assert call("svmcut learn", other, model, *kept, "--resume") == 1
    assert call("svmcut learn", mail, model, *kept, "--resume") == 0
    assert model.read_bytes() == whole.read_bytes()


def test_examples_without_features_have_checkpoints(tmp_path):
    path = tmp_path / "train"
    path.write_text("1\n-1\n1\n")
    words = ["-v", "0", "--checkpoint", tmp_path / "state"]
    assert call("svmcut learn", path, tmp_path / "model", *words) == 0


@pytest.mark.parametrize("tree", [False, True])
@pytest.mark.parametrize("pad", range(4))
def test_a_binary_model_of_a_table_is_read_back(tmp_path, tree, pad):
    rng, names = np.random.default_rng(pad), [f"name{k}\n" for k in range(7 + pad)]
    sets = ["|".join({*rng.choice(names, 2)}) for _ in range(30)]
    rows = pa.table({"x": rng.normal(size=30), "labels": sets, "#@ table": ["a", "#@"] * 15})
    how = {"task": "multilabel", "pairs": "none", "model_format": "binary", "label": "labels"}
    found, path = svmcut.train(rows, tree=tree, **how), tmp_path / "model"
    found.save(path)
    model = svmcut.load(path)
    assert np.array_equal(model.decision_function(rows), found.decision_function(rows))
    assert model.model.table.words == found.model.table.words
    assert model.model.table.features() == found.model.table.features()


def test_a_model_of_a_table_reads_no_other_rows(mail, tmp_path, capsys):
    model, rows = tmp_path / "model", tmp_path / "rows.svm"
    assert call("svmcut learn", mail, model, *OPTIONS) == 0
    rows.write_text("1 1:1 2:1\n")
    assert call("svmcut classify", rows, model, tmp_path / "out") == 1
    assert "no column 'text', which the model was trained on" in capsys.readouterr().err
    assert call("svmcut classify", rows, model, tmp_path / "out", "--input", "svm") == 1
    assert "is trained on a table" in capsys.readouterr().err
    assert call("svmcut learn", "data/text.train", model, "-v", "0") == 0
    assert call("svmcut classify", mail, model, tmp_path / "out") == 1
    assert "is not trained on a table" in capsys.readouterr().err


def test_lines_of_a_table_are_read_as_they_are_written_and_no_others(mail, tmp_path):
    text = "c \\,text,b,n,e\n" + 'a b,"x yy\\",true,1,\n"c\\nd",yy zz,,NA,\na b,zz,false,2,\n'
    path = tmp_path / "odd.csv"
    path.write_text("y,d," + text.replace("\n", "\n1,,", 1).replace("\na b,zz", "\n2,,a b,zz")
                    .replace('\n"c', '\n1,,"c'), encoding="utf-8")  # fmt: skip
    for more in ({"text": ("text",), "ngrams": (1, 2)}, {"text": ("text",), "hash_bits": 4}):
        found = read_encoded(str(path), "csv", TableOptions(label="y", drop=("d",), **more))
        model = svmcut.train((found.X.to_dense(), found.y)).model
        from svmcut.base.records import replace

        write_model(str(tmp_path / "model"), replace(model, table=found.table.encoding))
        again = read_model(str(tmp_path / "model")).table
        assert again.features() == found.table.encoding.features()
        assert (again.words, again.unused) == (
            found.table.encoding.words,
            found.table.encoding.unused,
        )
        pairs = zip(again.columns, found.table.encoding.columns, strict=True)
        assert all(str(one) == str(other) for one, other in pairs)
    good = (tmp_path / "model").read_text(encoding="utf-8")
    for old, new in [
        ("hash=2^4", "hash=2^99"),
        ("number 1.5", "number nan"),
        ("#@ column b boolean", "#@ column b spoon"),
        ("#@ column b boolean", "#@ colour b boolean"),
    ]:
        assert old in good
        (tmp_path / "bad").write_text(good.replace(old, new), encoding="utf-8")
        with pytest.raises(ModelError, match=r"bad:\d+:1: line '#@ colo?umn|colour"):
            read_model(str(tmp_path / "bad"))
    (tmp_path / "cut").write_text(good.rpartition("#@ table")[0], encoding="utf-8")
    with pytest.raises((ModelError, DataError)):
        read_model(str(tmp_path / "cut"))


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        (mails(), "--input csv"),
        ("a;b\n1;2\n", "--input csv"),
        ("a\tb\tc\n1\t2\t3\n", "--input tsv"),
        ("spam\tfree money\nham\thello\n", "--input text"),
        ("__label__spam free money\n", "--input text"),
        ("x,y 1:2\n", None),
    ],
)
def test_a_table_given_as_svm_is_answered_with_what_reads_it(tmp_path, capsys, text, remedy):
    path = tmp_path / "data"
    path.write_text(text, encoding="utf-8")
    assert call("svmcut learn", path, tmp_path / "model") == 1
    shown = capsys.readouterr().err
    assert remedy is None or f"it looks like another kind of file; add {remedy}" in shown
    assert remedy is not None or "looks like" not in shown


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("--cache", "kept"), 2, "--cache is for examples in LIBSVM's text"),
        (("--initial", "other"), 2, "--initial has the features of its own table"),
        (("--hash-bits", "4", "--min-count", "2"), 2, "--min-count has no effect on words beside"),
        (("--hash-bits", "4", "--tf-idf", "off"), 2, "--tf-idf has no effect on words beside"),
        (("--max-memory", "0.001"), 1, "the rows take more than 0.001 MB, the limit"),
    ],
)
def test_what_a_table_cannot_honour_is_refused(mail, tmp_path, capsys, words, status, message):
    assert call("svmcut learn", mail, tmp_path / "m", *OPTIONS, *words) == status
    assert message in capsys.readouterr().err and not (tmp_path / "m").exists()


def test_options_of_tables_are_refused_of_other_files(tmp_path, capsys):
    (tmp_path / "train").write_text("1 1:1\n-1 2:1\n")
    for words in (["--label", "x"], ["--text", "y"], ["--ngrams", "1,2"]):
        assert call("svmcut learn", *words, tmp_path / "train", tmp_path / "m") == 2
        told = capsys.readouterr().err
        assert f"{words[0]} is for tables and texts" in told and "add --input csv" in told
