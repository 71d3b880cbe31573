# SPDX-License-Identifier: BSD-3-Clause
"""Guesses at the command or option that a user meant by an unknown one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from svmcut.base.messages import join_names
from svmcut.cli.commands import COMMANDS, TRAINING
from svmcut.cli.options import LEARNT, ROWS, named_task, offered
from svmcut.cli.score_lines import SCORING
from svmcut.spec.catalog import TASKS
from svmcut.spec.options import Option
from svmcut.spec.spellings import nearest

#: How others call a command.
_COMMANDS = {
    "train": "learn",
    "fit": "learn",
    "predict": "classify",
    "test": "classify",
    "score": "classify",
    "evaluate": "classify",
    "show": "inspect",
    "normalize": "scale",
    "standardize": "scale",
    "ranking": "rank",
}
#: How others call an option, and what to give in its place.
_OPTIONS = {
    "--C": "-c C, or --example-cost C for that of LIBLINEAR",
    "--tol": "--gap",
    "--tolerance": "--gap",
    "--max-iter": "--max-iterations",
    "--random-state": "--seed",
    "--n-jobs": "--threads",
    "--jobs": "--threads",
    "--folds": "--cv",
    "--cross-validation": "--cv",
    "--coef0": "-r",
    "--class-weights": "--class-weight",
    "--fit-intercept": "--b",
    "--verbose": "-v",
    "--scoring": "--select",
    "-B": "--b",
}


def command_meant(word: str) -> str | None:
    """Nearest command to an unknown word."""
    return _COMMANDS.get(word.lower()) or nearest(word, tuple(COMMANDS))


#: Characters of a flag that say too little to be taken for its beginning.
_MIN_PREFIX = len("--ab")


def option_meant(flag: str, words: Sequence[str]) -> str | None:
    """Remedy for an unknown option, None if there is none; `words` are the command and all that
    follows it."""
    command, *rest = words or ("",)
    if command not in COMMANDS:
        return None
    trains = command in TRAINING
    task = named_task(command, rest)
    if flag == "--version":
        return "svmcut --version prints it"
    own = _flags(row for row in ROWS if row.field in offered(task)) if trains else _flags(SCORING)
    elsewhere = _other_places(flag, command, task)
    if elsewhere:
        return f"it belongs to {elsewhere}"
    other = _OPTIONS.get(flag)
    if other and other.split()[0].rstrip(",") in own:
        return f"give {other}"
    own.append("--help")
    begun = [name for name in own if name.startswith(flag) and flag[_MIN_PREFIX:]]
    near = begun[0] if len(begun) == 1 else nearest(flag, own, 0.75)
    return near and f"did you mean {near}?"


def _flags(rows: Iterable[Option]) -> list[str]:
    return [flag for row in rows for spelt in row.flags for flag in spelt.split("/")]


def _other_places(flag: str, command: str, task: str) -> str:
    """Places that have an option of this name, if this command has not."""
    fields = {row.field for row in ROWS if flag in _flags([row])}
    if command not in TRAINING:
        return "svmcut learn" if fields else ""
    tasks = [name for name in TASKS if name != task and fields & offered(name)]
    learnt = [name for name in tasks if name in LEARNT]
    places = [f"--task {join_names(learnt, 'or')}"] if 0 < len(learnt) < len(LEARNT) else []
    if command != "learn" and learnt:
        places = [" ".join(["svmcut learn", *places])]
    places += [f"svmcut {TASKS[name].command}" for name in tasks if name not in learnt]
    if not tasks and flag in _flags(SCORING):
        places = ["svmcut classify"]
    return join_names(places, "or")
