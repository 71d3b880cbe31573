#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Trains and classifies the sets in data/, shows what the programs print, and ends in one table
(make demo)."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from pathlib import Path
from typing import NamedTuple

DATA = Path(os.path.relpath(Path(__file__).resolve().parent.parent / "data"))


class Run(NamedTuple):
    """One set, the training command and the measure of the test part that the table shows."""

    set: str
    command: str
    options: tuple[str, ...]
    measure: str
    title: str


RUNS = (
    Run("breast_cancer", "learn", ("--example-cost", "10"), "error_rate", "error"),
    Run("wine", "learn", ("--example-cost", "10"), "error_rate", "error"),
    Run("digits", "learn", ("--example-cost", "0.1"), "error_rate", "error"),
    Run("text", "learn", ("--example-cost", "1"), "error_rate", "error"),
    Run("unbalanced", "learn", ("-l", "f1", "-c", "300"), "f1", "F1"),
    Run("unbalanced", "learn", ("-l", "roc-area", "-c", "10"), "roc_area", "ROC area"),
    Run("ranking", "rank", ("-c", "10"), "swapped_percent", "swapped pairs"),
    Run(
        "tags",
        "learn",
        ("--task", "sequence", "--example-cost", "0.3"),
        "token_error",
        "wrong tags",
    ),
    Run(
        "labels",
        "learn",
        ("--task", "multilabel", "--pairs", "none", "--example-cost", "1"),
        "subset_accuracy",
        "right sets",
    ),
    Run(
        "labels",
        "learn",
        ("--task", "multilabel", "--example-cost", "1"),
        "subset_accuracy",
        "right sets",
    ),
)


def show(program: Path, *arguments: str) -> None:
    """Runs one command, printed as a user would type it."""
    print(f"$ svmcut {' '.join(arguments)}", flush=True)
    subprocess.run([str(program), *arguments], check=True)
    print(flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, required=True, help="folder of the svmcut program")
    parser.add_argument(
        "--output", type=Path, required=True, help="folder for models, scores and reports"
    )
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    program = arguments.bin / "svmcut"
    rows = []
    for number, run in enumerate(RUNS, 1):
        stem = arguments.output / f"{number}-{run.set}"
        model, scores, learned, scored = (
            f"{stem}.{end}" for end in ("model", "scores", "learn.json", "classify.json")
        )
        train, test = (str(DATA / f"{run.set}.{part}") for part in ("train", "test"))
        show(
            program,
            run.command,
            "-v",
            "0",
            *run.options,
            "--gap",
            "0.001",
            "--report",
            learned,
            train,
            model,
        )
        show(program, "classify", "-v", "0", "--report", scored, test, model, scores)
        learn, classify = (json.loads(Path(path).read_text()) for path in (learned, scored))
        rows.append(
            (
                run.set,
                " ".join(run.options),
                learn["examples"],
                f"{learn['primal']:.4f}",
                f"{learn['relative_gap']:.1e}",
                f"{run.title} {classify[run.measure]:.2f} %",
                f"{learn['seconds']['total']:.2f}",
            )
        )
    head = ("set", "options", "examples", "objective", "rel. gap", "on the test part", "seconds")
    widths = [max(len(str(row[column])) for row in (head, *rows)) for column in range(len(head))]
    for row in (head, *rows):
        print(
            "  ".join(
                f"{cell!s:>{width}}" if column in (2, 3, 4, 6) else f"{cell!s:<{width}}"
                for column, (cell, width) in enumerate(zip(row, widths))
            )
        )
    print(f"\nModels, scores and JSON reports are in {arguments.output}/.")


if __name__ == "__main__":
    main()
