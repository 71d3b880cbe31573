# SPDX-License-Identifier: BSD-3-Clause
"""The page of svmcut inspect: it stands alone, is well formed, and its pictures show the numbers of
the document."""

import json
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from programs import call

from svmcut.formats import write_model
from svmcut.inspection.page import convergence, ticks
from svmcut.models import LinearModel

DATA = Path(__file__).resolve().parents[2] / "data"
MODELS = sorted((DATA.parent / "tests" / "earlier").glob("*/model"))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Page(HTMLParser):
    """Refuses tags that do not match; the titles of the figures and all attributes."""

    def __init__(self, text):
        super().__init__()
        self.open, self.attributes, self.text, self.tags = [], [], "", []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "!doctype"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def page(*words):
    """The page of a run, and its pictures by their titles."""
    assert call("svmcut inspect", "--html", "page.html", *words) == 0
    text = Path("page.html").read_text(encoding="utf-8")
    figures = [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL)]
    return text, {figure.get("aria-label"): figure for figure in figures}


def numbers(element, *names):
    return [float(element.get(name)) for name in names]


def points(figure, kind):
    (line,) = figure.findall(f".//polyline[@class='{kind}']")
    return np.array([pair.split(",") for pair in line.get("points").split()], float)


@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.parent.name)
def test_a_page_of_every_kind_stands_alone(model):
    text, figures = page(model)
    shown = Page(text)
    assert not {"script", "link", "img", "iframe"} & set(shown.tags)
    assert not re.search(r"https?:|url\(|@import|src=", text)
    assert ("name", "viewport") in shown.attributes and "prefers-color-scheme: dark" in text
    assert all(figure.get("viewBox").startswith("0 0 360 ") for figure in figures.values())
    for figure in figures.values():
        for box in figure.iter("rect"):
            x, width = numbers(box, "x", "width")
            assert width >= 0 and x >= -0.1 and x + width <= 360.1


def test_bars_are_as_long_as_their_weights_and_names_are_text():
    write_model("model", LinearModel(np.array([0, 2.0, 1.0, 0, -0.5]), 0.5))
    Path("names").write_text("x\n<b>&\n" + 40 * "long" + "\nd\ne\n")
    text, figures = page("--names", "names", "model")
    Page(text)
    ((title, figure),) = figures.items()
    assert title == "Weights for 1 (above 0) and for -1 (below): 3 features, norm 2.29129"
    names = [text.text for text in figure.iter("text") if text.get("text-anchor") == "end"]
    assert names == ["<b>&", "longlonglonglong…", "e"]
    bars = [(box.get("class"), *numbers(box, "x", "width")) for box in figure.iter("rect")]
    assert [kind for kind, _, _ in bars] == ["high", "high", "low"]
    lengths = [length for _, _, length in bars]
    assert np.allclose(np.array(lengths) / lengths[0], [1, 0.5, 0.25], atol=2e-3)
    zero = bars[0][1]
    assert bars[1][1] == zero and bars[2][1] + bars[2][2] == pytest.approx(zero, abs=0.2)


def test_curves_scores_and_convergence(capsys):
    words = ("--solver", "cutting-plane", "--trace", "trace", "--report", "report.json")
    assert (
        call(
            "svmcut learn", "-v", 0, "--no-progress", *words, DATA / "breast_cancer.train", "model"
        )
        == 0
    )
    given = (
        *("--data", DATA / "breast_cancer.test", "--trace", "trace", "--report", "report.json"),
        "model",
    )
    capsys.readouterr()
    text, figures = page("--json", *given)
    found = json.loads(capsys.readouterr().out)
    Page(text)
    report = json.loads(Path("report.json").read_text())
    assert f"<td>{report['primal']:.6g}</td>" in text
    (roc,) = (figure for title, figure in figures.items() if title.startswith("ROC"))
    drawn, frame = points(roc, "line0"), points(roc, "guide")
    shown = 100 * (drawn - frame[0]) / (frame[1] - frame[0])
    assert np.allclose(shown, found["data"]["curves"]["roc"], atol=0.1)
    assert len([title for title in figures if title.startswith("Precision and recall")]) == 1
    primal, dual = (
        points(figures["Convergence: primal and dual"], kind) for kind in ("line0", "line1")
    )
    assert len(primal) == len(dual) == found["trace"]["lines"]
    assert (primal[:, 1] <= dual[:, 1] + 0.1).all()  # y grows downwards
    gaps = points(figures["Convergence: gap"], "line0")
    values = np.log([point["gap"] for point in found["trace"]["points"]])
    assert np.corrcoef(values, gaps[:, 1])[0, 1] == pytest.approx(-1, abs=1e-4)
    areas = [area.get("class") for area in figures["Scores"].iter("polygon")]
    assert areas == ["area0", "area1"]


def test_a_square_of_transitions():
    assert (
        call(
            "svmcut learn",
            *("-v", 0, "--task", "sequence", "--gap", 0.2, DATA / "tags.train", "model"),
        )
        == 0
    )
    _, figures = page("model")
    boxes = list(figures["Transitions of order 1: from row to column"].iter("rect"))
    line = Path("model").read_text().splitlines()[15]
    weights = {int(index): float(value) for index, value in re.findall(r"(\d+):(\S+)", line)}
    expected = np.array([[weights[i + 6 * p] for i in range(1, 7)] for p in range(1, 7)])
    signs = [1 if box.get("class") == "high" else -1 for box in boxes]
    shades = np.array([float(box.get("fill-opacity")) for box in boxes]) * signs
    assert np.allclose(shades.reshape(6, 6), expected / np.abs(expected).max(), atol=0.006)


@pytest.mark.parametrize(
    "low, high, expected",
    [
        (0, 100, [0, 20, 40, 60, 80, 100]),
        (3, 3, [3]),
        (-0.3, 0.4, [-0.2, 0, 0.2, 0.4]),
        (0, 1e-6, [0, 2e-7, 4e-7, 6e-7, 8e-7, 1e-6]),
    ],
)
def test_ticks_are_round_numbers(low, high, expected):
    assert ticks(low, high) == pytest.approx(expected)


def test_the_page_goes_to_standard_output_too_and_never_over_an_input(capsys):
    write_model("model", LinearModel(np.ones(2), 0.0))
    assert call("svmcut inspect", "--html", "-", "model") == 0
    assert "Norm of weights" in capsys.readouterr().err
    assert call("svmcut inspect", "--html", "model", "model") == 2
    assert "are the same file" in capsys.readouterr().err


def test_a_page_has_a_table_of_labels_and_words_for_keys(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 3))
    labels = X.argmax(axis=1) + 1
    rows = [
        f"{label} " + " ".join(f"{j}:{value:.3f}" for j, value in enumerate(row, 1))
        for label, row in zip(labels, X, strict=True)
    ]
    Path("train").write_text("\n".join([*rows, ""]))
    for words in ((), ("--positive", "2", "-t", "rbf", "-c", "100", "--trace", "trace")):
        assert call("svmcut learn", "-v", "0", *words, "train", "model") == 0
        more = ("--trace", "trace") if words else ()
        page = ("--html", "page.html", "--json")
        assert call("svmcut inspect", "model", "--data", "train", *more, *page) == 0
        text = Path("page.html").read_text(encoding="utf-8")
        body = text.partition("<h3>True and predicted labels</h3>")[2].partition("</table>")[0]
        table = re.findall(r"<tr><td>([^<]+)</td>(.*?)</tr>", body)
        assert [name for name, _ in table] == (["rest", "2"] if words else ["1", "2", "3"])
        counts = [int(count) for _, row in table for count in re.findall(r">(\d+)<", row)]
        assert len(counts) == len(table) ** 2 and sum(counts) == 90
        assert '<th scope="row">Accuracy</th>' in text and "balanced_error" not in text
        assert ("Convergence: gap" in text) == bool(words)  # of smo, too


def test_a_run_of_one_look_is_a_dot():
    (figure,) = convergence([{"seconds": 0.5, "primal": 2.0, "dual": 1.0, "gap": 1.0}])
    assert re.findall(r'<circle class="(\w+)"', figure) == ["fill0", "fill1"]
    assert "<polyline" not in figure
