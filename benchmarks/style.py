# SPDX-License-Identifier: BSD-3-Clause
"""One look for all figures: type, colours, legends, files. Needs matplotlib (extra `plot`).

A trainer has the same colour and mark in every figure, of the palette of Okabe and Ito, whose
colours those who see fewer can tell apart; marks and dashes tell the rest. Figures are two panels
wide, so that their words can be read on a phone, and have a white ground, for pages that are dark.
"""

from __future__ import annotations

from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, LogLocator, MaxNLocator, NullFormatter

WIDTH, HEIGHT = 5.8, 2.1  # of a figure, and of a row of panels; inches
BLACK, ORANGE, SKY, GREEN, BLUE, RED, PINK, GREY = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
    "#7F7F7F",
)
matplotlib.rcParams |= {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.3,
    "lines.markersize": 4,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "figure.facecolor": "white",
    "svg.fonttype": "none",
    "svg.hashsalt": "svmcut",
}
#: Colour, mark and dashes by name; crfsuite's are grey, exact programs to compare with black and
#: grey.
LOOKS = {
    "svmcut auto": (BLUE, "o", "-"),
    "svmcut cutting-plane": (BLACK, "s", "-"),
    "LIBLINEAR": (RED, "x", "--"),
    "svmcut": (BLUE, "o", "-"),
    "scikit-learn": (RED, "x", "--"),
    "sampled-cuts": (RED, "o", "-"),
    "constant-cuts": (ORANGE, "s", "-"),
    "subspace": (GREEN, "D", "-"),
    "smo": (BLACK, "v", "-"),
    "svm-train": (GREY, "x", "--"),
    "sbp": (RED, "o", "-"),
    "pegasos": (GREEN, "s", "-"),
    "sdca": (BLUE, "D", "-"),
    "sdca iid": (SKY, "v", "--"),
    "perceptron": (ORANGE, "^", "-"),
    "bsca": (RED, "o", "-"),
    "bsgd": (BLUE, "s", "-"),
    "gdmm": (RED, "o", "-"),
    "gdmm-sublinear": (RED, "o", "-"),
    "gdmm-all-pairs": (ORANGE, "s", "-"),
    "bcfw": (BLUE, "D", "-"),
    "ssg": (GREEN, "v", "-"),
    "cutting-plane": (BLACK, "s", "-"),
    "soft-bcfw:1": (PINK, "^", "-"),
    "soft-bcfw:10": (SKY, "^", "-"),
    "crfsuite ap": (GREY, "x", ":"),
    "crfsuite pa": (GREY, "+", ":"),
    "crfsuite l2sgd": (GREY, "1", ":"),
    "crfsuite lbfgs": (GREY, "2", ":"),
}
_others = cycle(zip((BLUE, RED, GREEN, ORANGE, PINK, SKY, BLACK), "osDv^<P", strict=True))


def look(name: str, **changes: Any) -> dict[str, Any]:
    """Colour, mark and dashes of a name, of a new one the next that is free; words behind a comma
    do not count."""
    family = name.partition(",")[0]
    if family not in LOOKS:
        LOOKS[family] = (*next(_others), "-")
    color, marker, linestyle = LOOKS[family]
    return {"color": color, "marker": marker, "linestyle": linestyle, "label": name} | changes


def panels(rows: int, columns: int, **options: Any):
    """A figure and its axes (rows, columns)."""
    figure = Figure(figsize=(WIDTH, HEIGHT * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def two_wide(count: int):
    """A figure and axes for so many panels of one kind, two in a row where there are several."""
    columns = min(count, 2)
    figure, axes = panels(-(-count // columns), columns)
    if columns == 1:
        figure.set_figheight(1.5 * HEIGHT)
    for spare in axes.flat[count:]:
        spare.set_axis_off()
    return figure, axes.flat[:count]


def named(axes, title: str, *ylabels: str) -> None:
    """A row of panels with one title, and what each shows."""
    for axis, ylabel in zip(axes, ylabels, strict=True):
        axis.set(title=title, ylabel=ylabel)


def legend(figure, title: str | None = None) -> None:
    """What every colour and mark of the figure means, once, below its panels."""
    entries: dict[str, Any] = {}
    for axis in figure.axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    longest = max(map(len, entries))
    columns = max(1, min(len(entries), 70 // (longest + 6)))
    figure.legend(
        entries.values(), entries.keys(), loc="outside lower center", ncols=columns, title=title
    )


def legend_by_epoch(figure, axes, title: str | None = None) -> None:
    """The legend of panels whose lowest row goes by epochs."""
    for axis in axes[-1]:
        axis.set_xlabel("epoch")
    legend(figure, title)


def mark(axis) -> None:
    """Plain numbers along logarithmic axes: powers of ten, 1, 2 and 5 where they are few, even
    steps at last."""
    for own, scale, (low, high) in (
        (axis.xaxis, axis.get_xscale(), axis.get_xlim()),
        (axis.yaxis, axis.get_yscale(), axis.get_ylim()),
    ):
        if scale == "log" and not isinstance(own.get_major_locator(), FixedLocator):
            few = high < 200 * low
            powers = LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,), numticks=12 if few else 6)
            own.set_major_locator(powers if high > 3 * low else MaxNLocator(4))
            own.set_minor_formatter(NullFormatter())
            if low >= 1e-3 and high <= 1e5:
                own.set_major_formatter("{x:g}")


def save(figure, target: Path) -> None:
    """Writes the figure as SVG, whatever the ending; the same figure gives the same bytes."""
    for axis in figure.axes:
        mark(axis)
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target.with_suffix(".svg"), metadata={"Date": None})
