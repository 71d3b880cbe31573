# SPDX-License-Identifier: BSD-3-Clause
"""docs/board.md and docs/plots/board.svg from what benchmarks/board.py recorded.

    python benchmarks/board_page.py runs.jsonl [more.jsonl ...]

Records of several runs count as one. Where a job was run again in turns (benchmarks/board_duels.py)
those seconds count.
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
    "labels": "Label sets, every label against the rest, hinge loss",
    "rbf": "Kernel exp(-g |x - z|^2), hinge loss",
    "tags": "Sequences: wrong tokens of a test set",
    "ranking": "Rankings: 100 (1 - NDCG@10) of a test set",
}
INTRODUCTION = """# The whole board

For readers who want every number, losses included. Two figures each: CPU seconds of svmcut and of the quickest peer, on one core
and from the text file to the written model. They are those of the quickest run that came within 1e-3 of the least objective that
any program found, computed in float64 from the written weights; every program was tried with tolerances from loose to tight.
Peers called from Python (scikit-learn, vowpal wabbit, crfsuite, LightGBM, XGBoost) are not charged for their start, svmcut is.
What svmcut loses is **bold**; `-s N` is LIBLINEAR's. Sequences and rankings: the time to the least error that a peer reached.

    python benchmarks/board.py runs.jsonl --data FOLDER --made FOLDER --seconds 280
    python benchmarks/board_duels.py runs.jsonl --data FOLDER --made FOLDER
    python benchmarks/board_page.py runs.jsonl

The first is run until it no longer says that more is left (`--quick`: the jobs that decide most); the second runs close
jobs again, in turns. Sets that benchmarks/make_board_sets.py names, rcv1 and cod-rna are generated stand-ins in the size and
shape of public ones; the others are public, covtype a part of it. Runs of more than 30 CPU seconds were ended, with
`--quick` a peer's after five times what svmcut took: "-" says that none came near before. Jobs that no program ended in time
are left out.
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


def board(record: Iterable[dict[str, Any]]) -> list[Row]:
    """The rows, in the order of the record."""
    entries: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    duels: dict[tuple[str, str, str], dict[str, Any]] = {}
    tried = set()  # by a peer
    for run in record:
        if "versions" in run:
            continue
        key = run["set"], run["task"], run["C"]
        if "duel" in run:
            duels[key] = run
        else:
            entries[key] += [run] if "value" in run else []
            tried |= {key} if run["peer"] != "svmcut" else set()
    found = []
    for (name, task, C), runs in entries.items():
        ours = [run for run in runs if run["peer"] == "svmcut"]
        peers = [run for run in runs if run["peer"] != "svmcut"]
        if not runs or (name, task, C) not in tried or (task in ERRORS and not peers):
            continue
        least = min(run["value"] for run in (peers if task in ERRORS else runs))
        limit = least if task in ERRORS else least + NEAR * abs(least)
        mine, other = (quickest(side, limit) for side in (ours, peers))
        mine, other = again(duels.get((name, task, C)), mine, other)
        found.append(Row(name, task, C, mine, other, reason(task, ours, mine, other, least)))
    return found


def again(duel: dict[str, Any] | None, mine: Any, other: Any) -> tuple[Any, Any]:
    """Both runs with the seconds of a duel of these two."""
    if duel is None or mine is None or other is None:
        return mine, other
    sides = {"ours": mine, "theirs": other}
    if any(duel["of"][side] != [run["peer"], run["setting"]] for side, run in sides.items()):
        return mine, other
    return mine | {"cpu": duel["duel"]["ours"]}, other | {"cpu": duel["duel"]["theirs"]}


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


def cell(row: Row | None) -> str:
    """Seconds of both, and who the peer is; bold where it is first."""
    if row is None:
        return ""
    ours, theirs = (f"{run['cpu']:.2f}" if run else "-" for run in (row.ours, row.theirs))
    peer = row.theirs["peer"].removeprefix("liblinear ") if row.theirs else ""
    words = f"{ours} / {theirs} {peer}".rstrip()
    return f"**{words}**" if row.reason else words


def table(rows: list[Row], task: str) -> str:
    """Markdown of one task: a row a set, a column a C."""
    jobs = {(row.set, row.C): row for row in rows if row.task == task}
    names = list(dict.fromkeys(name for name, _ in jobs))
    costs = sorted({C for _, C in jobs}, key=float)
    lines = [
        "| set | " + " | ".join(f"C = {C}" for C in costs) + " |",
        "|---|" + "---|" * len(costs),
    ]
    lines += [
        f"| {name} | " + " | ".join(cell(jobs.get((name, C))) for C in costs) + " |"
        for name in names
    ]
    return "\n".join(lines)


def lost(rows: list[Row]) -> str:
    """Markdown of the long jobs that are lost, the worst first."""
    worst = sorted(
        (row for row in rows if row.reason and not is_short(row)),
        key=lambda row: -(row.ratio or float("inf")),
    )
    lines = ["| set | task | C | ratio | why |", "|---|---|---:|---:|---|"]
    for row in worst:
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        lines.append("| " + " | ".join([row.set, row.task, row.C, ratio, row.reason]) + " |")
    return "\n".join(lines)


def is_short(row: Row) -> bool:
    """Whether the quickest peer takes so little that starting decides."""
    return row.theirs is not None and row.theirs["cpu"] < SHORT


def summary(rows: list[Row]) -> str:
    """How many are won: of those in which a peer works for a while, and of the others."""
    parts = [[row for row in rows if is_short(row) == short] for short in (False, True)]
    won = [sum(not row.reason for row in part) for part in parts]
    clearly = sum(bool(row.reason) and (row.ratio or 2.0) > 1.05 for row in parts[0])
    return (
        f"Of {len(parts[0])} jobs that take the quickest peer {SHORT:g} s or more {won[0]} are won "
        f"and {clearly} lost by more than 5 %; of {len(parts[1])} shorter ones {won[1]} are won: "
        "there starting decides."
    )


def peers(record: Iterable[dict[str, Any]]) -> str:
    """What was compared, with versions."""
    found = next((run["versions"] for run in record if "versions" in run), {})
    return ", ".join(f"{name} {version}" for name, version in found.items())


def plot(rows: list[Row]) -> None:
    """Seconds of svmcut over seconds of the quickest peer, one mark a job."""
    from style import GREY, legend, look, save, two_wide

    figure, (axes,) = two_wide(1)
    pairs = [row for row in rows if row.ratio is not None]
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
    lines = [json.loads(line) for path in records for line in Path(path).read_text().splitlines()]
    rows = board(lines)
    plot(rows)
    caption = (
        "Time of svmcut over time of the quickest peer: marks below the line are won, those far "
        "below by most"
    )
    parts = [INTRODUCTION]
    parts += [f"Versions: {told}.", ""] if (told := peers(lines)) else []
    parts += [summary(rows), "", f"![{caption}](plots/board.svg)"]
    if any(row.reason and not is_short(row) for row in rows):
        parts += ["", f"## Lost, of those of {SHORT:g} s or more", "", lost(rows)]
    for task, title in TITLES.items():
        if any(row.task == task for row in rows):
            parts += ["", f"## {title}", "", table(rows, task)]
    (DOCS / "board.md").write_text("\n".join(parts) + "\n", encoding="utf-8")
    print(summary(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
