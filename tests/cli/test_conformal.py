# SPDX-License-Identifier: BSD-3-Clause
"""svmcut conformal, and what classify writes and measures of it."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from programs import call
from reference import conformal as slow

import svmcut
from svmcut.base.errors import ModelError
from svmcut.formats import read_file

WORDS = ("very big", "-", "low")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write_rows(name, n, seed, kind):
    """A table of two columns and a price, or a word that is a label."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    noisy = X @ [2.0, -1.0] + rng.normal(size=n) * 0.5
    y = 1000 + 50 * noisy if kind == "price" else [WORDS[k] for k in np.digitize(noisy, [-1, 1])]
    with open(name, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["a", "b", kind], *([*x, t] for x, t in zip(X, y))])
    return y


def learn(kind, *words):
    write_rows("train.csv", 200, 0, kind)
    task = ("--task", "regression") if kind == "price" else ("--task", "multiclass")
    assert call("svmcut", "learn", "-v", 0, *task, "--label", kind, *words, "train.csv", "m") == 0


def read_sets(path):
    texts = re.findall(r'"(?:[^"\\]|\\.)*"|\S+|\n', Path(path).read_text(encoding="utf-8"))
    lines = "".join(f"{text} " if text != "\n" else "\n" for text in texts).splitlines()
    parts = [re.findall(r'"(?:[^"\\]|\\.)*"|\S+', line) for line in lines]
    return [[json.loads(t) if t[0] == '"' else t for t in row if t != "-"] for row in parts]


def test_intervals_are_in_the_units_of_the_target(capfd):
    learn("price", "--standardise", "on")
    y = write_rows("dev.csv", 100, 1, "price")
    assert call("svmcut", "conformal", "dev.csv", "m", "out", "--coverage", 0.8) == 0
    assert "intervals hold 80 % of new rows like these" in capfd.readouterr().out
    truth = write_rows("new.csv", 400, 2, "price")
    words = ("--intervals", "ends", "--report", "report")
    assert call("svmcut", "classify", "new.csv", "out", "scores", *words) == 0
    ends, scores = np.loadtxt("ends"), np.loadtxt("scores")
    model = svmcut.load("out")
    strangeness = np.abs(y - model.predict("dev.csv")).tolist()
    inside = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
    expected = [
        slow.is_in(strangeness, abs(t - s), "0.8")
        for t, s in zip(truth, model.predict("new.csv"), strict=True)
    ]
    assert inside.tolist() == expected
    assert ends.mean(axis=1) == pytest.approx(scores)
    report = json.loads(Path("report").read_text())
    assert report["coverage"] == inside.mean()
    assert report["mean_width"] == pytest.approx(np.diff(ends).mean())
    assert model.predict_interval("new.csv").tolist() == ends.tolist()
    told = capfd.readouterr().out
    assert f"Coverage: {100 * inside.mean():.2f} % of 400 rows, 80 % promised" in told
    again = svmcut.load("m").conformal("dev.csv", y, coverage=0.8)
    again.save("again")
    assert Path("again").read_bytes() == Path("out").read_bytes()


@pytest.mark.parametrize("more", [(), ("--probability",), ("--kernel", "rbf"), ("--by-class",)])
def test_sets_have_words_that_are_quoted_where_they_need_it(more):
    by_class = more == ("--by-class",)
    learn("size", *(() if by_class else more))
    y = write_rows("dev.csv", 120, 1, "size")
    words = ("--coverage", 0.7, *(more if by_class else ()))
    assert call("svmcut", "conformal", "dev.csv", "m", "out", *words) == 0
    truth = write_rows("new.csv", 300, 2, "size")
    words = ("--label-sets", "sets", "--report", "report")
    assert call("svmcut", "classify", "new.csv", "out", "scores", *words) == 0
    sets = read_sets("sets")
    assert sets == svmcut.load("out").predict_set("new.csv")
    assert {label for row in sets for label in row} == {*WORDS}
    assert '"-"' in Path("sets").read_text() and '"very big"' in Path("sets").read_text()
    report = json.loads(Path("report").read_text())
    hits = [label in row for label, row in zip(truth, sets, strict=True)]
    assert report["coverage"] == pytest.approx(np.mean(hits))
    assert report["mean_set_size"] == pytest.approx(np.mean([*map(len, sets)]))
    again = svmcut.load("m").conformal("dev.csv", y, coverage=0.7, by_class=by_class)
    again.save("again")
    assert Path("again").read_bytes() == Path("out").read_bytes()
    assert call("svmcut", "classify", "-v", 0, "--unlabelled", *words, "new.csv", "out", "s") == 0
    assert "coverage" not in (unlabelled := json.loads(Path("report").read_text()))
    assert unlabelled["mean_set_size"] == report["mean_set_size"] and read_sets("sets") == sets


def test_the_line_is_sealed_with_the_certificate():
    learn("price")
    write_rows("dev.csv", 100, 1, "price")
    assert call("svmcut", "conformal", "dev.csv", "m", "out") == 0
    before, after = read_file("m"), read_file("out")
    assert after.model.certificate == before.model.certificate is not None and not after.caution
    text = Path("out").read_text()
    share = after.model.coverage.share
    assert f"\n#@ coverage {share:g} rows 100 k 91 score absolute limit " in text
    for old, new, told in (
        ("limit .*", "limit 3", "was changed"),
        ("k 91", "k 90", "is refused"),
        ("score absolute", "score relative", "is refused"),
        ("0.9 rows", "0.9 class 1 rows", "do not fit the model"),
        ("limit .*", "limit nan", "is refused"),
    ):
        Path("changed").write_text(re.sub(f"(#@ coverage .*){old}", rf"\g<1>{new}", text))
        if told == "was changed":
            assert told in read_file("changed").caution
            continue
        with pytest.raises(ModelError, match=told):
            read_file("changed")


def test_a_threshold_moves_labels_and_no_set():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.where(X @ [1.0, 1.0] + rng.normal(size=300) > 0, 1, -1)
    lines = [f"{label} 1:{a:.6f} 2:{b:.6f}\n" for label, (a, b) in zip(y, X, strict=True)]
    Path("rows").write_text("".join(lines))
    assert call("svmcut", "learn", "-v", 0, "rows", "m") == 0
    assert call("svmcut", "conformal", "rows", "m", "out") == 0
    assert call("svmcut", "threshold", "rows", "out", "moved", "--at-least", "recall=0.95") == 0
    for name in ("out", "moved"):
        words = ("--label-sets", f"{name}.sets", "rows", name, f"{name}.scores")
        assert call("svmcut", "classify", "-v", 0, *words) == 0
    assert Path("out.sets").read_bytes() == Path("moved.sets").read_bytes()
    assert {*Path("out.sets").read_text().split()} == {"-1", "1"}
    assert Path("out.scores").read_bytes() != Path("moved.scores").read_bytes()


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (("conformal", "dev.csv", "m", "o", "--coverage", 0.995), 1, "needs 199 rows, and there"),
        (("conformal", "dev.csv", "m", "o", "--coverage", 1), 2, "above 0 and below 1"),
        (("conformal", "dev.csv", "m", "o", "--by-class"), 2, "--by-class is for classes"),
        (("conformal", "dev.csv", "m", "m"), 2, "MODEL"),
        (("classify", "dev.csv", "m", "o", "--intervals", "i"), 1, "svmcut conformal DEV MODEL"),
        (("classify", "dev.csv", "out", "o", "--label-sets", "i"), 2, "use --intervals"),
    ],
)
def test_what_cannot_be_promised_is_refused_in_a_line(words, status, told, capfd):
    learn("price")
    write_rows("dev.csv", 100, 1, "price")
    assert call("svmcut", "conformal", "dev.csv", "m", "out") == 0
    capfd.readouterr()
    assert call("svmcut", *words) == status
    error = capfd.readouterr().err
    assert told in error and error.count("\n") == 1
    assert not Path("o").exists() and not Path("i").exists()


def test_classes_with_too_few_rows_are_told_and_always_in(capfd):
    learn("size")
    y = write_rows("dev.csv", 60, 1, "size")
    with open("dev.csv", encoding="utf-8") as file:
        head, *rows = file.readlines()
    few = [row for row in rows if "very big" in row][:5]
    Path("few.csv").write_text("".join([head, *few, *(r for r in rows if "very big" not in r)]))
    assert {*y} == {*WORDS}
    assert call("svmcut", "conformal", "few.csv", "m", "out", "--by-class", "--report", "r") == 0
    assert "very big: in every set, as 9 rows are needed and there are 5" in capfd.readouterr().out
    assert json.loads(Path("r").read_text())["classes"]["very big"]["limit"] is None
    assert call("svmcut", "inspect", "out", "--json") == 0
    told = json.loads(capfd.readouterr().out)["promise"]
    report = json.loads(Path("r").read_text())
    assert told == {name: report[name] for name in ("coverage", "score", "classes")}
    assert call("svmcut", "inspect", "out", "--html", "page", "--card", "card") == 0
    assert "90 % of new rows of each class" in capfd.readouterr().out
    assert all("very big" in row for row in svmcut.load("out").predict_set("dev.csv"))


def test_labels_nobody_knows_and_models_of_neither_are_refused(capfd):
    Path("rows").write_text("".join(f"{k % 3 + 1} 1:{k % 3} 2:{k % 7}\n" for k in range(60)))
    Path("more").write_text(Path("rows").read_text() + "7 1:1\n")
    assert call("svmcut", "learn", "-v", 0, "--task", "multiclass", "rows", "m") == 0
    assert call("svmcut", "conformal", "more", "m", "o") == 1
    assert "labels that the model does not know are in 1 rows; leave" in capfd.readouterr().err
    assert call("svmcut", "learn", "-v", 0, "--task", "one-class", "--nu", 0.1, "rows", "n") == 0
    assert call("svmcut", "conformal", "rows", "n", "o") == 1
    assert "neither numbers nor classes" in capfd.readouterr().err


def test_rows_count_once_or_not_at_all(capfd):
    rows = [f"{k % 3 + 1} 1:{k % 3} 2:{k % 7}" for k in range(60)]
    Path("rows").write_text("\n".join(rows) + "\n")
    assert call("svmcut", "learn", "-v", 0, "--task", "multiclass", "rows", "m") == 0
    label, features = rows[0].split(" ", 1)
    for cost in (0, 2):
        Path("dev").write_text("\n".join([*rows, f"{label} cost:{cost} {features}"]) + "\n")
        assert call("svmcut", "conformal", "dev", "m", f"o{cost}") == (cost == 2)
    assert "weights other than 0 and 1 are on 1 rows" in capfd.readouterr().err
    Path("none").write_text(f"{label} cost:0 {features}\n")
    assert call("svmcut", "conformal", "none", "m", "o") == 1
    assert "there are no examples" in capfd.readouterr().err
    assert read_file("o0").model.coverage.rows == (60,) and not Path("o2").exists()


def test_foreign_models_keep_their_order_or_are_refused(capfd):
    """LIBSVM numbers labels as it meets them, and svmcut's files hold rising ones."""
    labels = [k % 3 + 1 for k in range(60)]
    for name, order in (("rising", labels), ("met", labels[::-1])):
        lines = [f"{k} 1:{k} 2:{(k * k) % 4}\n" for k in order]
        Path(name).write_text("".join(lines))
        assert call("svmcut", "learn", "-v", 0, "--task", "multiclass", name, f"{name}.own") == 0
        exported = ("export", f"{name}.own", f"{name}.lib", "--to", "liblinear")
        assert call("svmcut", *exported) == 0
    text = Path("met.lib").read_text()
    Path("met.lib").write_text(text.replace("label 1 2 3", "label 3 1 2"))
    assert call("svmcut", "conformal", "rising", "rising.lib", "out", "--by-class") == 0
    assert read_file("out").model.coverage.rows == (20, 20, 20)
    capfd.readouterr()
    assert call("svmcut", "conformal", "met", "met.lib", "o", "--by-class") == 1
    assert "its labels 3, 1, 2 do not rise" in capfd.readouterr().err and not Path("o").exists()
