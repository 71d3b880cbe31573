# SPDX-License-Identifier: BSD-3-Clause
"""svmcut inspect: what is in the model file, by the layout of docs/formats.md; certificates,
traces, measures."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from programs import call, uncertified

from svmcut.formats import write_model
from svmcut.inspection.text import curves, distribution
from svmcut.models import ChainModel, ChainShape, LinearModel, MultilabelModel
from svmcut.models.base import BaseModel
from svmcut.models.kernels import Kernel
from svmcut.scoring.measures import classification_measures
from svmcut.spec import catalog

DATA = Path(__file__).resolve().parents[2] / "data"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def inspected(capsys, *words):
    """The JSON document of a run."""
    capsys.readouterr()
    assert call("svmcut inspect", "--json", *words) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys, *words, status=1):
    """What a run that is refused says; nothing else is printed."""
    capsys.readouterr()
    assert call("svmcut inspect", *words) == status
    out, err = capsys.readouterr()
    assert out == ""
    return err


def options(folder):
    """What a model of tests/earlier is read with."""
    return (folder / "options").read_text().split() if (folder / "options").exists() else []


def learn(*words):
    assert call("svmcut learn", "-v", 0, "--no-progress", *words) == 0


def pairs_of(line):
    """Index and value of every pair in a line of a model, read as float32."""
    return [
        (int(index), float(np.float32(value))) for index, value in re.findall(r"(\d+):(\S+)", line)
    ]


def ends(weights, top):
    """(name, weight) from the highest and from the lowest."""
    order = sorted(weights.items(), key=lambda item: -item[1])
    return [item for item in order[:top] if item[1] > 0], [
        item for item in order[::-1][:top] if item[1] < 0
    ]


def named(row, key):
    """(name, weight) of both ends of a list of weights."""
    return tuple(
        [(tuple(e[key]) if isinstance(e[key], list) else e[key], e["weight"]) for e in row[end]]
        for end in ("highest", "lowest")
    )


def test_every_kind_of_model_says_what_a_checkpoint_and_inspect_ask():
    for name in {name for row in catalog.FORMATS for name in row.models}:
        kind = catalog.load(f"svmcut.models:{name}")
        own = {ask for base in kind.__mro__ if base is not BaseModel for ask in vars(base)}
        assert {"form", "facts", "n_features"} <= own


def test_a_linear_model_with_labels_and_names(capsys):
    w = np.array([0, 2.0, 2.0, 0, -0.5, -7, 0.25, 0])
    write_model("model", LinearModel(w, 0.5, labels=(None, 3.0), loss="f1"))
    Path("names").write_text("ape\nbee\ncat\n\ndog\newe\nfox\n")
    found = inspected(capsys, "--top", 3, "--names", "names", "model")
    assert (found["kind"], found["format"], found["tasks"]) == (
        "linear",
        "SVM-light Version V6.20",
        ["classification", "rank"],
    )
    assert (found["loss"], found["labels"], found["threshold"]) == ("f1", ["rest", "3"], 0.5)
    assert found["features"] == {
        "highest": 7,
        "weighted": 5,
        "sparsity": pytest.approx(100 * 2 / 7),
    }
    (weights,) = found["weights"]
    assert weights["norm"] == pytest.approx(np.linalg.norm(w)) and weights["of"] == "3"
    assert named(weights, "name") == (
        [("bee", 2.0), ("cat", 2.0), ("fox", 0.25)],
        [("ewe", -7.0), ("dog", -0.5)],
    )
    assert [entry["feature"] for entry in weights["highest"]] == [2, 3, 7]
    assert call("svmcut inspect", "--top", 1, "model") == 0
    text = capsys.readouterr().out
    assert "Labels            rest, 3\n" in text
    assert text.endswith(
        "Weights for 3 (above 0) and for rest (below): 5 features, norm 7.5705\n  2  2  -7  6\n"
    )
    assert inspected(capsys, "--top", 0, "model")["weights"][0]["highest"] == []


def test_few_names_are_told(capsys):
    write_model("model", LinearModel(np.array([1.0, -1.0, 2.0]), 0.0))
    Path("names").write_text("a\nb\n")
    assert call("svmcut inspect", "--names", "names", "model") == 0
    out, err = capsys.readouterr()
    assert err == "svmcut inspect: warning: names names 2 features, the model has 3\n"
    assert re.search(r"2  3\s+-1  2 b\n", out)


def test_support_vectors_and_the_bounds_of_their_multipliers(capsys):
    learn("-t", 2, "-g", 0.25, "--example-cost", 2, DATA / "breast_cancer.train", "model")
    found = inspected(capsys, "model")
    lines = uncertified("model").decode().splitlines()[11:]
    alpha = np.array([float(line.split()[0]) for line in lines])
    size = np.abs(alpha)
    assert found["kernel"] == {"name": "rbf", "gamma": 0.25}
    assert found["support_vectors"] == {
        "number": len(lines),
        "nonzeros": sum(len(pairs_of(line)) for line in lines),
        "least": size.min(),
        "most": 2.0,
        "positive": (alpha > 0).sum(),
        "negative": (alpha < 0).sum(),
        "at_most": (size == 2.0).sum(),
    }
    assert found["support_vectors"]["at_most"] > 5
    assert call("svmcut inspect", "model") == 0
    assert f"{(size == 2).sum()} of the largest" in capsys.readouterr().out


@pytest.mark.parametrize("order, emission", [(1, 0), (2, 1), (3, 0)])
def test_a_chain_by_the_indices_of_its_file(order, emission, rng, capsys):
    """Against the numbering of docs/formats.md."""
    K, F, shape = 3, 4, ChainShape(3, 4, order, emission)
    w = np.zeros(shape.dim)
    nodes = w[: F * shape.node_size].reshape(-1, shape.stride)
    for table in (nodes, w[F * shape.node_size :].reshape(-1, shape.stride)):
        table[:, :K] = np.float32(rng.normal(size=(len(table), K)))
    write_model("model", ChainModel(w, shape))
    entries = dict(pairs_of(Path("model").read_text().splitlines()[15]))
    found = inspected(capsys, "--top", 5, "model")
    E = 1 + sum(K**m for m in range(1, order + 2))
    for row in found["weights"]:
        i, p = int(row["of"]), int(row.get("behind", 0))
        expected = {f: entries[E + F * (i + K * p) + f] for f in range(1, F + 1)}
        assert named(row, "feature") == ends(expected, 5)
        assert row["norm"] == pytest.approx(np.linalg.norm(list(expected.values())))
    assert len(found["weights"]) == K * (K + 1 if emission else 1)
    for m, row in enumerate(found["transitions"], 1):
        assert row["order"] == m and row["weighted"] == K ** (m + 1)
        for end in ("highest", "lowest"):
            for entry in row[end]:
                *before, i = map(int, entry["tags"])
                index = i + sum(K ** (j + 1) * p for j, p in enumerate(before[::-1]))
                assert entries[index] == pytest.approx(entry["weight"], rel=1e-6)
        least = sum(K**j for j in range(m + 1))
        values = [entries[index] for index in range(least, least + K ** (m + 1))]
        assert row["highest"][0]["weight"] == pytest.approx(max(values))
        assert row["lowest"][0]["weight"] == pytest.approx(min(values))
    matrix = found["transitions"][0]["matrix"]
    assert matrix == [[pytest.approx(entries[i + K * p]) for i in (1, 2, 3)] for p in (1, 2, 3)]
    assert call("svmcut inspect", "model") == 0
    assert ("Weights of tag 2 behind tag 3" in capsys.readouterr().out) == bool(emission)


def test_a_chain_with_a_kernel(capsys):
    assert (
        call("svmcut inspect", DATA.parent / "tests" / "earlier" / "kernel-sequence" / "model") == 0
    )
    text = capsys.readouterr().out
    assert (
        re.search(r"Kernel +\w+", text)
        and "Transitions of order 1" in text
        and "Multipliers" in text
    )


def test_label_sets_and_their_pairs(capsys):
    W = np.array([[1.0, 0, -2], [0.5, 0, 4]])
    first, second, v = (
        np.array([0, 0], np.int32),
        np.array([1, 2], np.int32),
        np.array([-0.5, 0.25]),
    )
    write_model(
        "model", MultilabelModel(W, np.array([0.1, -1, 2]), first, second, v, np.array([0, 4, 7]))
    )
    found = inspected(capsys, "model")
    assert (found["kind"], found["labels"]) == ("label sets", ["0", "4", "7"])
    assert [row["constant"] for row in found["weights"]] == [0.1, -1, 2]
    assert [named(row, "feature") for row in found["weights"]] == [
        ([(1, 1.0), (2, 0.5)], []),
        ([], []),
        ([(2, 4.0)], [(1, -2.0)]),
    ]
    pairs = found["pairs"]
    assert (pairs["number"], pairs["positive"]) == (2, 1)
    assert named(pairs, "labels") == ([(("0", "7"), 0.25)], [(("0", "4"), -0.5)])
    assert call("svmcut inspect", "model") == 0
    assert (
        "Pairs of labels: 2 with a weight, 1 of them positive\n  0.25  0 and 7  -0.5  0 and 4\n"
        in (capsys.readouterr().out)
    )


def test_the_certificate_of_each_model_of_a_path(capsys):
    learn("-c", "0.5,5", "--report", "report.json", DATA / "wine.train", "--positive", 1, "model")
    report = json.loads(Path("report.json").read_text())
    for row in report["path"]:
        run = inspected(capsys, "--report", "report.json", row["model"])["certificate"]
        assert (run["cost"], run["primal"], run["gap"]) == (row["C"], row["primal"], row["gap"])
        assert run["relative_gap"] == pytest.approx(row["gap"] / row["primal"])
    Path("copy").write_bytes(Path("model.5").read_bytes())
    run = inspected(capsys, "--report", "report.json", "copy")["certificate"]
    assert (run["cost"], run["primal"], run["converged"]) == (5, report["primal"], True)
    assert call("svmcut inspect", "--report", "report.json", "copy") == 0
    assert "C               5 (-c), loss error-rate\n" in capsys.readouterr().out


def test_a_report_of_another_model_or_none_is_refused(capsys):
    write_model("model", LinearModel(np.ones(20), 0.0, loss="f1"))
    learn("--report", "report.json", DATA / "wine.train", "--positive", 1, "own")
    said = refused(capsys, "--report", "report.json", "model")
    assert said.startswith(
        "report.json: is the report of another model: classification with the loss error-rate on 13"
    )
    assert "no report of svmcut learn" in refused(capsys, "--report", "own", "model")
    Path("list").write_text("[]")
    assert "no report of svmcut learn" in refused(capsys, "--report", "list", "model")
    assert "No such file" in refused(capsys, "--report", "none", "model")


def test_a_trace_shows_its_last_C(capsys):
    learn("-c", "0.5,5", "--trace", "trace", DATA / "wine.train", "--positive", 1, "model")
    lines = [json.loads(line) for line in Path("trace").read_text().splitlines()]
    last = [line for line in lines if line["C"] == lines[-1]["C"]]
    assert 1 < len(last) < len(lines)
    found = inspected(capsys, "--trace", "trace", "model.5")["trace"]
    assert found["lines"] == len(last)
    assert [point["dual"] for point in found["points"]] == [line["dual"] for line in last]
    with open("trace", "a") as file:
        file.write("{}\n")
    assert refused(capsys, "--trace", "trace", "model.5").startswith(
        f"trace:{len(lines) + 1}: no line of a trace"
    )
    Path("trace").write_text("")
    assert "the trace is empty" in refused(capsys, "--trace", "trace", "model.5")


@pytest.mark.parametrize(
    "name, task",
    [("breast_cancer", ()), ("tags", ("--task", "sequence")), ("labels", ("--task", "multilabel"))],
)
def test_measures_are_those_of_classify(name, task, capsys):
    learn(*task, "--max-iterations", 100, "--gap", 0.1, DATA / f"{name}.train", "model")
    test = DATA / f"{name}.test"
    assert call("svmcut classify", "-v", 0, "--report", "report.json", test, "model", "scores") == 0
    report, data = (
        json.loads(Path("report.json").read_text()),
        inspected(capsys, "--data", test, "model")["data"],
    )
    rows = catalog.measures(data["task"]).items()
    values = {key: report[key] for key, row in rows if not row.of_chunks and key in report}
    assert values
    assert data["measures"] == values and data["examples"] == report["examples"]
    assert call("svmcut inspect", "--data", test, "model") == 0
    text = capsys.readouterr().out
    assert all(re.search(rf"  {key} +{value:.2f}", text) for key, value in values.items())


def test_scores_of_queries_are_grouped_by_grade(capsys):
    assert call("svmcut rank", "-v", 0, DATA / "ranking.train", "model") == 0
    data = inspected(capsys, "--data", DATA / "ranking.test", "model")["data"]
    grades = [line.split()[0] for line in (DATA / "ranking.test").read_text().splitlines()]
    assert data["task"] == "rank" and "curves" not in data
    assert {row["of"]: row["examples"] for row in data["scores"]["groups"]} == {
        g: grades.count(g) for g in set(grades)
    }


def test_scores_and_curves_of_ties_and_of_what_is_not_finite(rng):
    scores, positive = rng.integers(0, 12, 150) / 4.0, rng.random(150) < 0.4
    values = classification_measures(positive, scores).values
    found = curves(positive, scores, most=1000)
    x, y = np.array(found["roc"]).T
    assert np.trapezoid(y, x) / 100 == pytest.approx(values["roc_area"])
    assert (x[0], y[0], x[-1], y[-1]) == (0, 0, 100, 100)
    assert np.mean(found["precision_recall"], axis=0)[1] == pytest.approx(
        values["average_precision"]
    )
    assert len(curves(positive, scores, most=20)["roc"]) == 20
    assert curves(np.zeros(3, bool), np.ones(3)) == {"roc": [], "precision_recall": []}
    scores[3] = np.nan
    spread = distribution(scores, {"a": positive, "b": ~positive})
    own = scores[positive & np.isfinite(scores)]
    first = spread["groups"][0]
    assert sum(first["counts"]) == len(own) and first["examples"] == positive.sum()
    assert (first["quartiles"], first["mean"]) == (
        np.quantile(own, [0.25, 0.5, 0.75]).tolist(),
        own.mean(),
    )
    assert distribution(np.full(2, np.nan), {"a": np.ones(2, bool)}) == {
        "edges": [],
        "groups": [{"of": "a", "examples": 2}],
    }


def test_what_is_refused(capsys):
    Path("model").write_text("hello\n")
    assert "no model; it starts with 'hello'" in refused(capsys, "model")
    write_model("model", LinearModel(np.ones(2), 0.0, kernel=Kernel()))
    assert "--names and --data cannot both be" in refused(
        capsys, "--names", "-", "--data", "-", "model", status=2
    )
    assert "option --top" in refused(capsys, "--top", -1, "model", status=2)
    assert "No such file" in refused(capsys, "--names", "none", "model")
    assert "--input is the text of --data" in refused(
        capsys, "--input", "crfsuite", "model", status=2
    )


EARLIER = sorted((Path(__file__).resolve().parents[1] / "earlier").iterdir())


@pytest.mark.parametrize("kept", EARLIER, ids=lambda kept: kept.name)
def test_a_model_of_any_format_is_looked_at_with_data_and_drawn(kept, capsys):
    found = inspected(
        capsys, *options(kept), "--data", kept / "examples", "--html", "page.html", kept / "model"
    )
    assert found["data"]["measures"] and "<svg" in Path("page.html").read_text(encoding="utf-8")
    assert found["features"]["weighted"] > 0


def test_models_of_classes_have_weights_of_each_and_those_of_numbers_no_labels(capsys):
    classes, numbers = (
        next(f for f in EARLIER if f.name == name) for name in ("multiclass", "regression")
    )
    found = inspected(capsys, classes / "model")
    assert found["labels"] == [row["of"] for row in found["weights"]] == ["1", "3", "7"]
    line = (classes / "model").read_text().splitlines()[14]
    weights = dict(pairs_of(line))  # eight of a class, the last that of the constant feature
    assert found["weights"][1]["constant"] == pytest.approx(weights[16])
    assert {
        row["feature"]: row["weight"] for row in found["weights"][1]["highest"]
    } == pytest.approx(
        {index - 8: value for index, value in weights.items() if 8 < index < 16 and value > 0}
    )
    assert call("svmcut inspect", classes / "model") == 0
    assert "Weights of class 7: " in capsys.readouterr().out
    found = inspected(capsys, "--data", numbers / "examples", numbers / "model")
    assert "labels" not in found and "curves" not in found["data"]
    assert [row["of"] for row in found["data"]["scores"]["groups"]] == ["all"]
