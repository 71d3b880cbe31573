# SPDX-License-Identifier: BSD-3-Clause
"""Entry points of svm_learn and svm_classify."""

from __future__ import annotations

from svmcut.cli.originals import Flag, Grammar, run_original
from svmcut.svm_light.options import PROGRAMS
from svmcut.typing import Any


def svm_learn(argv: list[str] | None = None) -> int:
    """Entry point of ``svm_learn``."""

    def work(values: dict[str, Any], arguments: list[str]) -> int:
        from svmcut.svm_light.learn import learn

        return learn(values, *[*arguments, "svm_model"][:2])

    return run_original(grammar("svm_learn"), work, argv)


def svm_classify(argv: list[str] | None = None) -> int:
    """Entry point of ``svm_classify``."""

    def work(values: dict[str, Any], arguments: list[str]) -> None:
        from svmcut.svm_light.classify import classify

        classify(
            *[*arguments, "svm_predictions"][:3],
            verbosity=values["verbosity"],
            signed=values["format"] == 0,
        )

    return run_original(grammar("svm_classify"), work, argv)


def grammar(program: str) -> Grammar:
    """The command line of svm_learn or of svm_classify."""
    arguments, summary, least, helps, *tables = PROGRAMS[program]
    short, long = ({letter: Flag(*row) for letter, row in table.items()} for table in tables)
    return Grammar(program, arguments, summary, short, long, helps, least)
