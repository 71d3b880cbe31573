# SPDX-License-Identifier: BSD-3-Clause
"""The page of inspect with its pictures as SVG: no script, no other file, light or dark as the
reader's device."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path
from string import Template

from svmcut.base.typing import Any
from svmcut.inspection import text as texts

#: A picture's width; narrow, so that its text is as large as that of the page on a telephone too.
WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM, _PLOT = 360, 52, 10, 8, 40, 190
_ROW = 18


def _figure(height: float, title: str, parts: Sequence[str]) -> str:
    head = f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{escape(title)}">'
    return "\n".join(
        [f"<figure><figcaption>{escape(title)}</figcaption>", head, *parts, "</svg></figure>"]
    )


def _text(x: float, y: float, text: str, anchor: str = "start", kind: str = "") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(text)}</text>'
    )


def _short(text: str, most: int = 17) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def bars(title: str, rows: Sequence[tuple[str, float]]) -> str:
    """Names and values, a bar each from a common zero; negative ones to the left."""
    if not rows:
        return ""
    least, most = min(0.0, *(value for _, value in rows)), max(0.0, *(value for _, value in rows))
    left, room = 130, WIDTH - 130 - 50
    scale = room / (most - least) if most > least else 0.0
    zero = left + 4 - least * scale
    parts = [
        f'<line class="axis" x1="{zero:.1f}" x2="{zero:.1f}" y1="2" y2="{_ROW * len(rows) + 2}"/>'
    ]
    for k, (name, value) in enumerate(rows):
        y, length = _ROW * k + 4, abs(value) * scale
        start = zero if value > 0 else zero - length
        hint = f"<title>{escape(name)}: {value:.6g}</title>"
        kind = "high" if value > 0 else "low"
        parts.append(
            f'<g>{hint}<rect class="{kind}" x="{start:.1f}" y="{y}" width="{length:.1f}" '
            f'height="{_ROW - 5}"/>'
        )
        parts.append(_text(left - 4, y + 11, _short(name), "end"))
        parts.append(
            _text(max(zero, start + length) + 4, y + 11, f"{value:.3g}", kind="small") + "</g>"
        )
    return _figure(_ROW * len(rows) + 6, title, parts)


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers from low to high."""
    if not high > low:
        return [low]
    step = 10.0 ** math.floor(math.log10((high - low) / most))
    step *= next(k for k in (1, 2, 5, 10) if (high - low) / (k * step) <= most)
    return [
        step * k for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    ]


class _Axes:
    """A frame whose axes run from low to high, y by its logarithm where told."""

    def __init__(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        names: tuple[str, str],
        log: bool = False,
    ):
        self._x, self._y, self._log = x, tuple(map(math.log10, y)) if log else y, log
        self.parts = []
        for tick in ticks(*x):
            at = self.x(tick)
            self.parts.append(
                f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{_TOP}" y2="{_TOP + _PLOT}"/>'
            )
            anchor = "end" if at > WIDTH - _RIGHT - 12 else "middle"  # within the picture
            self.parts.append(_text(at, _TOP + _PLOT + 14, f"{tick:.4g}", anchor, "small"))
        for tick in self._decades() if log else ticks(*y):
            at = self.y(tick)
            self.parts.append(
                f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{at:.1f}" '
                f'y2="{at:.1f}"/>'
            )
            self.parts.append(_text(_LEFT - 4, at + 4, f"{tick:.4g}", "end", "small"))
        self.parts.append(
            _text((_LEFT + WIDTH - _RIGHT) / 2, _TOP + _PLOT + 30, names[0], "middle")
        )
        turned = f'<g transform="translate(11 {_TOP + _PLOT / 2}) rotate(-90)">'
        self.parts.append(turned + _text(0, 0, names[1], "middle") + "</g>")

    def _decades(self) -> list[float]:
        low, high = math.ceil(self._y[0] - 1e-9), math.floor(self._y[1] + 1e-9)
        return [10.0**k for k in range(low, high + 1, max(1, (high - low) // 5))]

    def x(self, value: float) -> float:
        """The position of a value from the left."""
        low, high = self._x
        return _LEFT + (WIDTH - _RIGHT - _LEFT) * (
            (value - low) / (high - low) if high > low else 0.5
        )

    def y(self, value: float) -> float:
        """The position of a value from above."""
        low, high = self._y
        value = math.log10(value) if self._log else value
        return _TOP + _PLOT * (1 - ((value - low) / (high - low) if high > low else 0.5))

    def line(self, points: Sequence[Sequence[float]], kind: str) -> None:
        """A line through the points, a dot where there is one alone."""
        if len(points) == 1:
            (x, y), colour = points[0], kind.replace("line", "fill")
            place = f'cx="{self.x(x):.1f}" cy="{self.y(y):.1f}"'
            self.parts.append(f'<circle class="{colour}" {place} r="4"/>')
            return
        path = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        self.parts.append(f'<polyline class="{kind}" points="{path}"/>')

    def figure(self, title: str, keys: Sequence[tuple[str, str]] = ()) -> str:
        """The picture, its title and what its colours mean."""
        x = float(_LEFT)
        for kind, name in keys:
            self.parts.append(
                f'<rect class="{kind}" x="{x:.0f}" y="{_TOP + _PLOT + 38}" width="10" height="10"/>'
            )
            self.parts.append(_text(x + 14, _TOP + _PLOT + 47, _short(name, 12)))
            x += 24 + 7 * len(_short(name, 12))
        return _figure(_TOP + _PLOT + _BOTTOM + (14 if keys else -4), title, self.parts)


def curve(
    title: str, points: Sequence[Sequence[float]], names: tuple[str, str], diagonal: bool = False
) -> str:
    """A curve in percent of both axes."""
    axes = _Axes((0, 100), (0, 100), names)
    if diagonal:
        axes.line([(0, 0), (100, 100)], "guide")
    axes.line(points, "line0")
    return axes.figure(title)


def reliability(title: str, points: Sequence[Sequence[float]]) -> str:
    """Shares over probabilities in percent, as svmcut.scoring.probabilities.Reliability has them; a
    dot is as large as many."""
    axes = _Axes((0, 100), (0, 100), ("predicted probability, %", "observed frequency, %"))
    axes.line([(0, 0), (100, 100)], "guide")
    axes.line([(p, share) for p, share, _ in points], "line0")
    most = max(count for *_, count in points)
    for p, share, count in points:
        place = (
            f'cx="{axes.x(p):.1f}" cy="{axes.y(share):.1f}" '
            f'r="{2 + 5 * math.sqrt(count / most):.1f}"'
        )
        axes.parts.append(
            f'<circle class="high" {place}><title>{count:g}: {share:.1f} %</title></circle>'
        )
    return axes.figure(title)


def histogram(title: str, scores: dict[str, Any], threshold: bool) -> str:
    """Counts of scores in bins, as the percentage of each group; with threshold a line at 0."""
    edges = scores["edges"]
    groups = [row for row in scores["groups"] if "counts" in row]
    if not groups:
        return ""
    shares = [[100.0 * count / sum(row["counts"]) for count in row["counts"]] for row in groups]
    axes = _Axes((edges[0], edges[-1]), (0.0, max(map(max, shares))), ("score", "% of each group"))
    zero = axes.y(0.0)
    for k, share in enumerate(shares):
        steps = [(edges[0], 0.0)]
        for j, height in enumerate(share):
            steps += [(edges[j], height), (edges[j + 1], height)]
        steps.append((edges[-1], 0.0))
        path = " ".join(f"{axes.x(x):.1f},{axes.y(y):.1f}" for x, y in steps)
        axes.parts.append(f'<polygon class="area{k % 8}" points="{path}"/>')
    if threshold and edges[0] < 0 < edges[-1]:
        at = axes.x(0.0)
        axes.parts.append(
            f'<line class="guide" x1="{at:.1f}" x2="{at:.1f}" y1="{_TOP}" y2="{zero:.1f}"/>'
        )
    return axes.figure(title, [(f"fill{k % 8}", row["of"]) for k, row in enumerate(groups)])


def convergence(points: Sequence[dict[str, Any]]) -> list[str]:
    """Primal and dual, and their gap, over time."""
    figures, known = [], [point for point in points if point["primal"] is not None]
    x = (0.0, max([point["seconds"] for point in points], default=0.0) or 1.0)
    lines = [
        [(p["seconds"], p[key]) for p in known if p[key] is not None] for key in ("primal", "dual")
    ]
    values = sorted(value for line in lines for _, value in line)
    if values:
        # what is far above the last primal is cut off: of the first steps nothing else could be
        # seen
        top = min(values[-1], 3 * abs(known[-1]["primal"]) or values[-1])
        axes = _Axes(
            x, (min(0.0, values[0]) if values[0] > -top else -top, top), ("seconds", "objective")
        )
        for kind, line in zip(("line0", "line1"), lines, strict=True):
            axes.line([(at, max(-top, min(value, top))) for at, value in line], kind)
        figures.append(
            axes.figure("Convergence: primal and dual", [("fill0", "primal"), ("fill1", "dual")])
        )
    gaps = [(p["seconds"], p["gap"]) for p in points if p["gap"] is not None and p["gap"] > 0]
    if len(gaps) > 1:
        low, high = min(gap for _, gap in gaps), max(gap for _, gap in gaps)
        axes = _Axes(x, (low, high if high > low else 10 * low), ("seconds", "gap"), log=True)
        axes.line(gaps, "line0")
        figures.append(axes.figure("Convergence: gap"))
    return figures


def choice(proven: dict[str, Any]) -> str:
    """Errors of what was trained over C, and the least that is proven between; in percent."""
    trained = proven["trained"]
    if len(trained) < 2:
        return ""
    x = math.log10(trained[0]["C"]), math.log10(trained[-1]["C"])
    top = 100 * max(row["errors"] for row in trained)
    axes = _Axes(x, (0.0, top or 1.0), ("log10 of C", "errors, %"))
    for row in proven["intervals"]:
        height = 100 * max(0.0, row["at_least"])
        axes.line([(math.log10(row[end]), height) for end in ("low", "high")], "line1")
    axes.line([(math.log10(row["C"]), 100 * row["errors"]) for row in trained], "line0")
    for row in trained:
        at, up = axes.x(math.log10(row["C"])), axes.y(100 * row["errors"])
        size = 5 if row["C"] == proven["C"] else 2.5
        axes.parts.append(
            f'<circle class="high" cx="{at:.1f}" cy="{up:.1f}" r="{size}"><title>C {row["C"]:g}: '
            f"{100 * row['errors']:.2f} %</title></circle>"
        )
    keys = [("fill0", "trained"), ("fill1", "proven")]
    return axes.figure("Errors over C, and the least that any C can make", keys)


def matrix(title: str, names: Sequence[str], values: Sequence[Sequence[float]]) -> str:
    """A square of values: blue above 0, orange below, paler towards 0; rows come before columns."""
    most = max((abs(value) for row in values for value in row), default=0.0) or 1.0
    left, size = 34, (WIDTH - 34 - 6) / len(names)
    every = math.ceil(14 / size)
    parts = []
    for j, before in enumerate(names):
        if j % every == 0:
            parts.append(
                _text(left - 4, 18 + size * (j + 0.5) + 4, _short(before, 5), "end", "small")
            )
            parts.append(_text(left + size * (j + 0.5), 12, _short(before, 5), "middle", "small"))
        for k, name in enumerate(names):
            value = values[j][k]
            kind, shade = ("high" if value > 0 else "low"), abs(value) / most
            place = (
                f'x="{left + size * k:.1f}" y="{18 + size * j:.1f}" width="{size:.1f}" '
                f'height="{size:.1f}"'
            )
            hint = f"<title>{escape(before)} &gt; {escape(name)}: {value:.4g}</title>"
            parts.append(f'<rect class="{kind}" {place} fill-opacity="{shade:.2f}">{hint}</rect>')
    return _figure(18 + size * len(names) + 6, title, parts)


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
        sections.append(_section("Choice of C", rows, [choice(document["choice"])]))
    if "trace" in document:
        drawn = convergence(document["trace"]["points"])
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
            drawn.append(matrix(f"{title}: from row to column", document["labels"], row["matrix"]))
        drawn.append(_ends(title, row, texts.transition_name))
    parts.append(_section("Transitions", "", drawn))
    if "machines" in document:
        rows = [
            (texts.machine_name(row), float(row["support_vectors"])) for row in document["machines"]
        ]
        parts.append(_section("Machines", "", [bars("Support vectors", rows)]))
    if "pairs" in document:
        drawn = [_ends("Pairs of labels", document["pairs"], texts.pair_name)]
        parts.append(_section("Pairs", "", drawn))
    return parts


def _of_data(data: dict[str, Any]) -> str:
    drawn = []
    if "scores" in data:
        drawn.append(histogram("Scores", data["scores"], "curves" in data))
    if "curves" in data:
        points = data["curves"]
        if points["roc"]:
            names = ("false positives, %", "true positives, %")
            drawn.append(curve("ROC curve", points["roc"], names, diagonal=True))
        if points["precision_recall"]:
            names = ("recall, %", "precision, %")
            drawn.append(curve("Precision and recall", points["precision_recall"], names))
    if "reliability" in data:
        title = "Calibration of the probabilities; larger dots, more examples"
        drawn.append(reliability(title, data["reliability"]))
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
    return bars(title, [(name(entry), entry["weight"]) for entry in entries])


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
