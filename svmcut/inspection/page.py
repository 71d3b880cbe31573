# SPDX-License-Identifier: BSD-3-Clause
"""What inspect finds as one page with pictures: no script, no other file, light or dark as the
reader has it."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from svmcut.inspection import pictures
from svmcut.inspection import text as texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

#: Classes of the largest table of true and predicted labels.
_CLASSES = 30
_STYLE = """\
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1f24; --pale: #5a6270; --rule: #d9dde3;
  --card: #f6f7f9;
  --c0: #1f6feb; --c1: #c2540a; --c2: #1a7f45; --c3: #8250df; --c4: #b3261e; --c5: #00758a;
  --c6: #7a5c00;
  --c7: #bf3989; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171c; --ink: #e6e9ee; --pale: #9aa4b2;
  --rule: #333a44;
  --card: #1c2129; --c0: #6aa9ff; --c1: #ff9d5c; --c2: #5fd08c; --c3: #c4a2ff; --c4: #ff8a80;
  --c5: #5cd0e6;
  --c6: #e3c04d; --c7: #ff8ac4; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 76rem; background: var(--paper); color: var(--ink);
  font: 16px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.35rem; overflow-wrap: anywhere; } h2 { font-size: 1.1rem; margin: 1.6rem 0 .5rem;
  }
h3 { font-size: 1rem; margin: .8rem 0 .3rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .15rem .9rem .15rem 0;
  border-bottom: 1px solid var(--rule);
  overflow-wrap: anywhere; }
th { font-weight: 500; color: var(--pale); white-space: nowrap; }
.numbers td, .numbers th { text-align: right; }
.numbers { white-space: nowrap; }
.pictures { display: grid; gap: 1rem; margin-top: .8rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 21rem), 1fr)); }
figure { margin: 0; max-width: 34rem; padding: .7rem; background: var(--card); border-radius: 6px;
  border: 1px solid var(--rule); }
figcaption { font-weight: 500; margin-bottom: .3rem; } svg { display: block; width: 100%;
  height: auto; }
svg text { font: 12px system-ui, sans-serif; fill: var(--ink); } svg text.small { font-size: 11px;
  fill: var(--pale); }
line.grid, line.axis { stroke: var(--rule); } line.guide, polyline.guide { stroke: var(--pale);
  stroke-dasharray: 4 3; }
polyline { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.high { fill: var(--c0); } .low { fill: var(--c1); } .line0 { stroke: var(--c0); }
.line1 { stroke: var(--c1); }
"""


def page(document: dict[str, Any]) -> str:
    """The whole page of a document of inspect."""
    colours = "".join(
        f".fill{k} {{ fill: var(--c{k}); }} .area{k} {{ fill: var(--c{k}); fill-opacity: .2; "
        f"stroke: var(--c{k}); }}\n"
        for k in range(8)
    )
    title = f"svmcut: {document['model']}"
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta '
        f'charset="utf-8">\n<title>{escape(title)}</title>',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>\n{_STYLE}{colours}</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>",
        _pairs(texts.summary(document)[1:]),
    ]
    if "certificate" in document:
        parts += _section("Certificate", _pairs(texts.certificate(document["certificate"])))
    if "trace" in document:
        drawn = pictures.convergence(document["trace"]["points"])
        parts += _section("Convergence", _pairs(texts.convergence(document["trace"])), drawn)
    if "data" in document:
        parts += _of_data(document["data"])
    parts += _of_weights(document)
    parts += [f"<p>{escape(text)}</p>" for text in document["warnings"]]
    parts.append(f"<p><small>svmcut {escape(document['version'])}</small></p>\n</body>\n</html>\n")
    return "\n".join(parts)


def _of_weights(document: dict[str, Any]) -> list[str]:
    drawn = [
        _ends(texts.weights_title(row, document), row, _feature)
        for row in document.get("weights", ())
    ]
    parts = _section("Weights", "", drawn)
    drawn = []
    for row in document.get("transitions", ()):
        title = f"Transitions of order {row['order']}"
        if "matrix" in row:
            drawn.append(
                pictures.matrix(f"{title}: from row to column", document["labels"], row["matrix"])
            )
        drawn.append(_ends(title, row, texts.transition_name))
    parts += _section("Transitions", "", drawn)
    if "machines" in document:
        rows = [
            (texts.machine_name(row), float(row["support_vectors"])) for row in document["machines"]
        ]
        parts += _section("Machines", "", [pictures.bars("Support vectors", rows)])
    if "pairs" in document:
        parts += _section(
            "Pairs", "", [_ends("Pairs of labels", document["pairs"], texts.pair_name)]
        )
    return parts


def _of_data(data: dict[str, Any]) -> list[str]:
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
        title = "Reliability of the probabilities; larger dots, more examples"
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


def _section(title: str, text: str, drawn: Iterable[str] = ()) -> list[str]:
    """A heading, text and pictures; nothing where there is neither."""
    shown = [figure for figure in drawn if figure]
    grid = ['<div class="pictures">', *shown, "</div>"] if shown else []
    return [f"<h2>{escape(title)}</h2>", text, *grid] if shown or text else []


def _row(cell: str, texts: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{cell}>{escape(text)}</{cell}>" for text in texts) + "</tr>"


def _pairs(rows: Iterable[tuple[str, str]]) -> str:
    cells = (
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in rows
    )
    return '<div class="wide"><table>\n' + "\n".join(cells) + "\n</table></div>"
