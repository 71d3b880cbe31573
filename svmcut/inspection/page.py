# SPDX-License-Identifier: BSD-3-Clause
"""The page of inspect, with pictures: no script, no other file, light or dark as the reader has
it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path
from string import Template

from svmcut.base.typing import Any
from svmcut.inspection import pictures
from svmcut.inspection import text as texts

#: Classes of the largest table of true and predicted labels.
_CLASSES = 30


def page(document: dict[str, Any]) -> str:
    """The whole page of a document of inspect."""
    sections = []
    if "certificate" in document:
        rows = _pairs(texts.certificate(document["certificate"]))
        sections.append(_section("Certificate", rows))
    if "choice" in document:
        rows = _pairs(texts.choice(document["choice"]))
        sections.append(_section("Choice of C", rows, [pictures.choice(document["choice"])]))
    if "trace" in document:
        drawn = pictures.convergence(document["trace"]["points"])
        rows = _pairs(texts.convergence(document["trace"]))
        sections.append(_section("Convergence", rows, drawn))
    if "data" in document:
        sections.append(_of_data(document["data"]))
    sections += _of_weights(document)
    return _template("page").substitute(
        title=escape(f"svmcut: {document['model']}"),
        summary=_pairs(texts.summary(document)[1:]),
        sections="\n".join(filter(None, sections)),
        warnings="\n".join(f"<p>{escape(text)}</p>" for text in document["warnings"]),
        version=escape(document["version"]),
    )


def _template(name: str) -> Template:
    """A file beside this one, whose words behind $ are filled in."""
    path = Path(__file__).with_name(f"{name}.html")
    return Template(path.read_text(encoding="utf-8"))


def _of_weights(document: dict[str, Any]) -> list[str]:
    drawn = [
        _ends(texts.weights_title(row, document), row, _feature)
        for row in document.get("weights", ())
    ]
    parts = [_section("Weights", "", drawn)]
    drawn = []
    for row in document.get("transitions", ()):
        title = f"Transitions of order {row['order']}"
        if "matrix" in row:
            drawn.append(
                pictures.matrix(f"{title}: from row to column", document["labels"], row["matrix"])
            )
        drawn.append(_ends(title, row, texts.transition_name))
    parts.append(_section("Transitions", "", drawn))
    if "machines" in document:
        rows = [
            (texts.machine_name(row), float(row["support_vectors"])) for row in document["machines"]
        ]
        parts.append(_section("Machines", "", [pictures.bars("Support vectors", rows)]))
    if "pairs" in document:
        drawn = [_ends("Pairs of labels", document["pairs"], texts.pair_name)]
        parts.append(_section("Pairs", "", drawn))
    return parts


def _of_data(data: dict[str, Any]) -> str:
    drawn = []
    if "scores" in data:
        drawn.append(pictures.histogram("Scores", data["scores"], "curves" in data))
    if "curves" in data:
        points = data["curves"]
        if points["roc"]:
            names = ("false positives, %", "true positives, %")
            drawn.append(pictures.curve("ROC curve", points["roc"], names, diagonal=True))
        if points["precision_recall"]:
            names = ("recall, %", "precision, %")
            drawn.append(pictures.curve("Precision and recall", points["precision_recall"], names))
    if "reliability" in data:
        title = "Calibration of the probabilities; larger dots, more examples"
        drawn.append(pictures.reliability(title, data["reliability"]))
    tables = _pairs(texts.measure_rows(data, words=True))
    if len(data.get("confusion", ())) in range(1, _CLASSES + 1):
        tables += _numbers("True and predicted labels", texts.confusion_table(data))
    if "scores" in data:
        tables += _numbers("Scores", texts.scores_table(data["scores"]))
    return _section(f"{data['examples']} examples of {data['file']}", tables, drawn)


def _numbers(title: str, table: Sequence[Sequence[str]]) -> str:
    head, *rows = table
    lines = "\n".join([_row("th", head), *(_row("td", row) for row in rows)])
    wide = f'<div class="wide"><table class="numbers">{lines}</table></div>'
    return f"\n<h3>{escape(title)}</h3>\n{wide}"


def _ends(title: str, row: dict[str, Any], name: Callable[[dict[str, Any]], str]) -> str:
    entries = [*row["highest"], *row["lowest"][::-1]]
    return pictures.bars(title, [(name(entry), entry["weight"]) for entry in entries])


def _feature(row: dict[str, Any]) -> str:
    return row.get("name") or str(row["feature"])


def _section(title: str, text: str, drawn: Iterable[str] = ()) -> str:
    """A heading, text and pictures; nothing where there is neither."""
    shown = "\n".join(figure for figure in drawn if figure)
    if not shown and not text:
        return ""
    return _template("section").substitute(title=escape(title), text=text, pictures=shown)


def _row(cell: str, texts: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{cell}>{escape(text)}</{cell}>" for text in texts) + "</tr>"


def _pairs(rows: Iterable[tuple[str, str]]) -> str:
    cells = (
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in rows
    )
    return '<div class="wide"><table>\n' + "\n".join(cells) + "\n</table></div>"
