# SPDX-License-Identifier: BSD-3-Clause
"""The model card of inspect: Markdown with the front matter that Hugging Face and skops read, of
facts of the model file, a file of examples and the report of training alone."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from statistics import NormalDist

from svmcut.base.messages import escape
from svmcut.base.typing import Any
from svmcut.inspection import text as texts
from svmcut.spec.catalog import TASKS
from svmcut.spec.places import PRECISION, RECALL

ACCURACY = TASKS["classification"].measure

#: Of measures that are shares of rows.
LEVEL = 0.95
_TASKS = {"classification": "tabular-classification", "multiclass": "tabular-classification"}
_TASKS |= {"regression": "tabular-regression", "sequence": "token-classification"}


def card(document: dict[str, Any]) -> str:
    """The whole card of a document of inspect; `columns` and `command` are taken where they are."""
    sections = [
        ("Model", _pairs(texts.summary(document)[1:])),
        ("Columns", _columns(document.get("columns", ()))),
        ("Largest weights", _weights(document)),
        ("Evaluation", _evaluation(document.get("data"))),
        ("Certificate", _certificate(document)),
        ("Limits", [f"- {line}" for line in _limits(document)]),
        ("Use", _use(document)),
        ("How to reproduce", _reproduction(document)),
    ]
    blocks = [*_front(document), "", "# " + _plain(_stem(document["model"]))]
    for title, lines in sections:
        if lines:
            blocks += ["", f"## {title}", "", *lines]
    return "\n".join(blocks) + "\n"


def share_interval(hits: int, rows: int, level: float = LEVEL) -> tuple[float, float]:
    """The ends of the interval of a share, in percent, that has this coverage about (Wilson, JASA
    1927)."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    share, spread = hits / rows, z * z / rows
    middle = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / rows + spread / rows / 4) / (1 + spread)
    return 100 * max(0.0, middle - half), 100 * min(1.0, middle + half)


def _plain(text: object) -> str:
    """A text in which nothing is a sign of Markdown or HTML."""
    return re.sub(r"([\\`*_{}\[\]<>#|&~$])", r"\\\1", escape(text))


def _stem(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1]


def _front(document: dict[str, Any]) -> Iterator[str]:
    """YAML for machines, whose texts are quoted as in JSON."""
    task = document["tasks"][0]
    yield from ("---", "library_name: svmcut", "tags:", "- svmcut", "- support-vector-machine")
    if task in _TASKS:
        yield f"pipeline_tag: {_TASKS[task]}"
    if "data" in document:
        data = document["data"]
        yield "model-index:"
        yield f"- name: {json.dumps(_stem(document['model']))}"
        yield "  results:"
        yield f"  - task: {{type: {_TASKS.get(task, task)}}}"
        name = json.dumps(_stem(data["file"]))
        yield f"    dataset: {{name: {name}, type: {name}}}"
        yield "    metrics:"
        for key, value in data["measures"].items():
            if math.isfinite(value):
                yield f"    - {{type: {key}, value: {value:.6g}}}"
    yield "---"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    lines = [f"| {' | '.join(map(_plain, row))} |" for row in rows]
    return [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *lines] if lines else []


def _pairs(rows: Iterable[tuple[str, str]]) -> list[str]:
    return _table(["fact", "value"], rows)


def _columns(columns: Iterable[dict[str, Any]]) -> list[str]:
    rows = [(one["name"], one["became"], one["features"]) for one in columns]
    return _table(["column", "becomes", "features"], rows)


def _weights(document: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    for row in document.get("weights", ()):
        entries = [*row["highest"], *row["lowest"][::-1]]
        rows = [(texts.feature_name(entry), f"{entry['weight']:.4g}") for entry in entries]
        lines += [_plain(texts.weights_title(row, document)), ""]
        lines += [*_table(["feature", "weight"], rows), ""]
    return lines[:-1]


def _evaluation(data: dict[str, Any] | None) -> list[str]:
    if data is None:
        return ["Not measured; svmcut inspect --data FILE --card measures the model on a file."]
    known = _intervals(data)
    rows = [
        (name, value, known.get(name.lower(), "")) for name, value in texts.measure_rows(data, True)
    ]
    lines = [f"{data['examples']:,} rows of {_plain(data['file'])}", ""]
    lines += _table(["measure", "value", f"{LEVEL:.0%} interval"], rows)
    if "confusion" in data and "labels" in data:
        head, *counts = texts.confusion_table(data)
        lines += ["", *_table([*map(_plain, head)], counts)]
    return lines


def _intervals(data: dict[str, Any]) -> dict[str, str]:
    """Intervals of measures that are shares of rows, by name; rows are drawn one by one."""
    shares: dict[str, tuple[int, int]] = {}
    if {"tp", "fp", "fn", "tn"} <= data.keys():
        tp, fp, fn, tn = (data[key] for key in ("tp", "fp", "fn", "tn"))
        shares = {ACCURACY: (tp + tn, tp + fp + fn + tn), PRECISION: (tp, tp + fp)}
        shares[RECALL] = (tp, tp + fn)
    elif ACCURACY in data["measures"]:
        hits = data["measures"][ACCURACY] / 100 * data["examples"]
        shares = {ACCURACY: (round(hits), data["examples"])}
    ends = {name: share_interval(*share) for name, share in shares.items() if share[1]}
    return {name: f"{low:.2f} to {high:.2f}" for name, (low, high) in ends.items()}


def _certificate(document: dict[str, Any]) -> list[str]:
    lines = []
    if "certificate" in document:
        lines = _pairs(texts.certificate(document["certificate"]))
    if "ball" in document:
        ball = document["ball"]
        lines += [""] * bool(lines) + [
            f"The objective of this model is above the least possible one by at most "
            f"{ball['gap']:.3g}: its weights are within {ball['radius']:.3g} of the optimum's, "
            "whatever solver found them. Anyone can recompute this from the model and the "
            "training rows; svmcut classify with the option certify counts the predictions that "
            "no exact optimum would change."
        ]
    return lines or ["The file has no certificate of how near the optimum the model is."]


def _limits(document: dict[str, Any]) -> Iterator[str]:
    yield "Scores are for rows drawn like those of training; nothing is promised for others."
    if "columns" in document:
        yield "A value of a category that training did not meet counts as none of them."
    if "probabilities" in document:
        yield "Probabilities are fitted to rows held out of training, and drift as the rows do."
    elif "labels" in document:
        yield "Scores are distances and no probabilities."
    if "data" not in document:
        yield "This card has no measures on rows that took no part in training."
    else:
        yield (
            "Intervals are for rows that were drawn one by one and took no part in training; "
            "svmcut cannot see whether these were."
        )


def _use(document: dict[str, Any]) -> list[str]:
    path = json.dumps(_stem(document["model"]))
    rows = '"rows.csv"' if "columns" in document else "X"
    return [
        "```python",
        "import svmcut",
        "",
        f"model = svmcut.load({path})",
        f"model.predict({rows})",
        "```",
    ]


def _reproduction(document: dict[str, Any]) -> list[str]:
    lines = [f"svmcut {document['version']}; format {_plain(document['format'])}."]
    if "command_line" in document:
        lines += ["", f"    {escape(document['command_line'])}"]
    else:
        lines += ["", "The report of svmcut learn, given by --report, adds its command line."]
    return lines
