# SPDX-License-Identifier: BSD-3-Clause
"""docs/board.md and docs/plots/board.svg from what benchmarks/board.py recorded.

python benchmarks/board_page.py runs.jsonl
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

DOCS = Path(__file__).resolve().parent.parent / "docs"
#: An objective this close to the best one known counts as reached.
NEAR = 1e-3
#: Seconds below which a job is a short one.
SHORT = 0.3
ERRORS = ("tags", "ranking")
TITLES = {
    "hinge": "Hinge loss",
    "squared-hinge": "Squared hinge loss",
    "logistic": "Logistic loss",
    "crammer-singer": "Crammer and Singer's classes",
    "one-vs-rest": "One class against the rest, hinge loss",
    "rbf": "Kernel exp(-g |x - z|^2), hinge loss",
    "tags": "Sequences: wrong tokens of a test set",
    "ranking": "Rankings: 100 (1 - NDCG@10) of a test set",
}
INTRODUCTION = """# The whole board

For readers who want every number, losses included. Every set, loss and C, with svmcut and every peer that can be installed.
A figure is the CPU seconds, on one core and from the text file to the written model, of the quickest run that came within
1e-3 of the least objective that any program found, computed in float64 from the written weights; every program was tried
with tolerances from loose to tight. Peers called from Python (scikit-learn, vowpal wabbit, crfsuite, LightGBM, XGBoost)
are not charged for their start, svmcut is. Ratios below 1 are won; what is lost is **bold**, with the reason. In sequences
and rankings the figure is the time to the least error that a peer reached.

    python benchmarks/board.py runs.jsonl --data FOLDER --made FOLDER
    python benchmarks/board_page.py runs.jsonl

Sets named rcv1, w8a, url-day, news20-binary, skin, cod-rna and news20 are generated stand-ins in the size and shape of the
public ones (benchmarks/make_board_sets.py); the others are public, covtype a part of it. Runs of more than 20 CPU seconds
were ended (60 for the hinges of news20-binary at C = 100): "not reached" says that no peer came near before. Jobs that no
program ended in time are left out.
"""  # noqa: E501


class Row(NamedTuple):
    """One job: when svmcut and the quickest peer got there (None: never), and why svmcut came
    later."""

    set: str
    task: str
    C: str
    ours: dict[str, Any] | None
    theirs: dict[str, Any] | None
    reason: str

    @property
    def ratio(self) -> float | None:
        return self.ours["cpu"] / self.theirs["cpu"] if self.ours and self.theirs else None


def quickest(runs: Iterable[dict[str, Any]], limit: float) -> dict[str, Any] | None:
    """The run that took least of those that are good enough."""
    return min(
        (run for run in runs if run["value"] <= limit), key=lambda run: run["cpu"], default=None
    )


def rows(record: Path) -> list[Row]:
    """The board, in the order of the record."""
    board: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for run in map(json.loads, record.read_text(encoding="ascii").splitlines()):
        board[run["set"], run["task"], run["C"]] += [run] if "value" in run else []
    found = []
    for (name, task, C), runs in board.items():
        ours = [run for run in runs if run["peer"] == "svmcut"]
        peers = [run for run in runs if run["peer"] != "svmcut"]
        if not runs or (task in ERRORS and not peers):
            continue
        least = min(run["value"] for run in (peers if task in ERRORS else runs))
        limit = least if task in ERRORS else least + NEAR * abs(least)
        mine, other = (quickest(side, limit) for side in (ours, peers))
        found.append(Row(name, task, C, mine, other, reason(task, ours, mine, other, least)))
    return found


def reason(task, ours, mine, other, least) -> str:
    """Why svmcut is not first; empty where it is."""
    if other is None or (mine is not None and mine["cpu"] <= other["cpu"]):
        return ""
    if not ours:
        return "was ended before it was there"
    if mine is None:
        best = min(run["value"] for run in ours)
        return (
            f"least error {best:.2f}, of {other['peer']} {least:.2f}"
            if task in ERRORS
            else (f"ends {best / least - 1:.1e} above the best objective")
        )
    seconds = mine["seconds"]
    start = max(0.0, mine["cpu"] - seconds["read"] - seconds["train"] - seconds["write"])
    if mine["cpu"] - start <= other["cpu"]:
        return f"start-up, {start:.2f} s"
    longest = max(("read", "train", "write"), key=lambda part: seconds[part])
    word = {"read": "reading", "train": f"training by {mine['solver']}", "write": "writing"}[
        longest
    ]
    return f"{word} takes {seconds[longest]:.2f} s, start-up {start:.2f} s"


def cell(run: dict[str, Any] | None) -> str:
    """Seconds and who."""
    if run is None:
        return "not reached"
    return f"{run['cpu']:.2f}" if run["peer"] == "svmcut" else f"{run['cpu']:.2f}, {run['peer']}"


def table(board: list[Row], task: str) -> str:
    """Markdown of one task."""
    lines = ["| set | C | svmcut s | quickest peer s | ratio | |", "|---|---:|---:|---|---:|---|"]
    for row in board:
        if row.task == task:
            ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
            words = [row.set, row.C, cell(row.ours), cell(row.theirs), ratio]
            bold = [f"**{word}**" if row.reason and word else word for word in words]
            lines.append("| " + " | ".join([*bold, row.reason]) + " |")
    return "\n".join(lines)


def summary(board: list[Row]) -> str:
    """How many are won: of those in which a peer works for a while, and of the others, which the
    start decides."""
    long = [row for row in board if row.theirs is None or row.theirs["cpu"] >= SHORT]
    short = [row for row in board if row.theirs is not None and row.theirs["cpu"] < SHORT]
    won = [sum(not row.reason for row in part) for part in (long, short)]
    return (
        f"Of {len(long)} jobs that take the quickest peer {SHORT:g} s or more {won[0]} are won; "
        f"of {len(short)} "
        f"shorter ones {won[1]}: there the start of Python and its libraries decides, most of "
        "svmcut's time in them."
    )


def plot(board: list[Row]) -> None:
    """Seconds of svmcut over seconds of the quickest peer, one mark a job."""
    from style import GREY, legend, look, save, two_wide

    figure, (axes,) = two_wide(1)
    pairs = [row for row in board if row.ratio is not None]
    low = min(min(row.ours["cpu"], row.theirs["cpu"]) for row in pairs) / 1.5
    high = max(max(row.ours["cpu"], row.theirs["cpu"]) for row in pairs) * 1.5
    axes.plot([low, high], [low, high], color=GREY, label="as quick as the quickest peer")
    for task, title in TITLES.items():
        points = [(row.theirs["cpu"], row.ours["cpu"]) for row in pairs if row.task == task]
        if points:
            wins = sum(y <= x for x, y in points)
            name = f"{title.split(':')[0].split(',')[0]}: {wins} of {len(points)} won"
            axes.plot(*zip(*points, strict=True), **look(task, label=name, linestyle="none"))
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high))
    axes.set_xlabel("quickest peer, CPU seconds from text to model")
    axes.set_ylabel("svmcut, CPU seconds")
    legend(figure)
    figure.set_figheight(4.4)
    save(figure, DOCS / "plots" / "board.svg")


def main(*records: str) -> None:
    board = [row for record in records for row in rows(Path(record))]
    plot(board)
    caption = (
        "Time of svmcut over time of the quickest peer: marks below the line are won, those far "
        "below by most"
    )
    parts = [INTRODUCTION, summary(board), "", f"![{caption}](plots/board.svg)"]
    for task, title in TITLES.items():
        if any(row.task == task for row in board):
            parts += ["", f"## {title}", "", table(board, task)]
    (DOCS / "board.md").write_text("\n".join(parts) + "\n", encoding="utf-8")
    print(summary(board))


if __name__ == "__main__":
    main(*sys.argv[1:])
