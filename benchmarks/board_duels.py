# SPDX-License-Identifier: BSD-3-Clause
"""The close jobs of the board again, in alternating rounds: the run of svmcut and that of a peer
that got there first, on one pinned CPU; the medians take the place of what was measured before.

    python benchmarks/board_duels.py runs.jsonl --data FOLDER --made FOLDER [--seconds 280]

Close is a ratio of CPU seconds between 1/2 and 2. Jobs that stand in the record are not run again,
so that the same command goes on where --seconds ended it.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path
from typing import Any

from board import Job, arguments, command, jobs, record, recorded, seconds_of
from board_page import board


def duel(job: Job, runs: dict[str, dict[str, Any]], folder: Path, given: Any) -> dict[str, Any]:
    """Median CPU seconds of both, by "ours" and "theirs"."""
    found: dict[str, list[float]] = {side: [] for side in runs}
    longest = max(run["cpu"] for run in runs.values())
    rounds = 15 if longest < 0.5 else 5 if longest < 3 else 3
    for turn in range(rounds + 1):
        for side in sorted(runs, reverse=turn % 2 == 1):
            peer, setting = runs[side]["peer"], runs[side]["setting"]
            model = folder / "model"
            for old in folder.glob("model*"):
                old.unlink()
            words = command(job, peer, setting, str(model), given.python)
            spent = seconds_of(words, model, peer, 20 * longest + 10)
            found[side] += [spent] if turn else []
    return {side: statistics.median(seconds) for side, seconds in found.items()}


def main() -> int:
    parser = arguments(__doc__ or "")
    parser.add_argument("--within", type=float, default=2.0, help="ratios from 1 / this to this")
    given, began = parser.parse_args(), time.monotonic()
    rows = recorded(given.record)
    over = {(row["set"], row["task"], row["C"]) for row in rows if "duel" in row}
    folder = given.made / f"work.{given.record.name}"
    folder.mkdir(exist_ok=True)
    files = {(job.set, job.task, job.C): job for job in jobs(given)}
    for row in board(rows):
        key = row.set, row.task, row.C
        if key in over or key not in files or row.ratio is None:
            continue
        if not 1 / given.within <= row.ratio <= given.within:
            continue
        if time.monotonic() - began > given.seconds:
            print("more is left: the same command goes on")
            return 75
        assert row.ours is not None and row.theirs is not None
        sides = {"ours": row.ours, "theirs": row.theirs}
        seconds = duel(files[key], sides, folder, given)
        names = {side: [run["peer"], run["setting"]] for side, run in sides.items()}
        record(given.record, dict(zip(("set", "task", "C"), key)) | {"duel": seconds, "of": names})
        print(
            *key, f"{seconds['ours']:.3f} {seconds['theirs']:.3f}", names["theirs"][0], flush=True
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
